"""The audit: knowledge dealt fairly, guesses judged once, goals checked honestly."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from veil.attacks.base import Guess
from veil.auditing import Judge, Level
from veil.auditing.truth import Truth
from veil.errors import InputError


def correlated(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, 2))
    return factor @ rng.normal(size=(2, d)) + 0.3 * rng.normal(size=(n, d)) + 5


@pytest.fixture(scope="module")
def found():
    return veil.audit(
        correlated(),
        [veil.AdditiveNoise(1.0), veil.OrthogonalTransform()],
        grants=veil.Grants.only(pairs=(1, 6), sample=0.1),
        repetitions=3,
        seed=1,
    )


def test_rows_are_perturbation_by_attack_by_knowledge(found):
    noise, rotation = found.candidates
    assert {r.knowledge for r in noise.rows} == {"nothing", "10 % sample"}
    played = {r.attack for r in noise.rows}
    assert {"noise-distribution-attack", "univariate-bayes-attack", "pca-attack", "bayes-estimate-attack"} <= played
    assert "bayes-estimate-attack (prior mixture, aim hit)" in played
    (least,) = [each.level for each in rotation.breaks if each.level.kind == "pairs"]
    assert (rotation.rows[-1].level, least.label) == (least, "4 known records"), "found by a search"
    assert {(r.attack, r.knowledge) for r in rotation.rows[:-1]} == {
        ("known-pairs-attack", "1 known record"),
        ("known-pairs-attack", "6 known records"),
        ("known-sample-attack", "10 % sample"),
        ("ica-attack", "nothing"),
        ("ica-attack", "10 % sample"),
        ("akica-attack", "10 % sample"),
    }
    assert len(found.rows) == len(noise.rows) + len(rotation.rows)


def test_a_rotation_with_d_known_records_fails(found):
    row = found.candidates[1].worst
    assert (row.attack, row.knowledge) == ("known-pairs-attack", "6 known records")
    assert row.value.advantage == 1
    assert not row.passed
    assert "known-pairs-attack with 6 known records" in str(row.failures[0])
    assert found.worst is row or found.worst.advantage == 1


def test_noise_on_correlated_columns_shows_the_gain_of_the_bayes_estimate(found):
    rates = {row.attack: row.value.rate for row in found.candidates[0].rows}
    assert rates["bayes-estimate-attack"] > 1.1 * rates["noise-distribution-attack"]
    strongest = found.candidates[0].worst
    assert strongest.value.rate >= rates["bayes-estimate-attack"]


def test_the_strongest_attack_of_a_level_may_need_less(found):
    noise = found.candidates[0]
    assert noise.strongest(Level("pairs", 6)).knowledge == "nothing"
    assert found.candidates[1].strongest(Level("nothing")).attack == "ica-attack"


def test_signals_of_open_scale_are_scored_up_to_it_and_not_counted():
    """Without a sample nobody but the owner can tell order, sign and scale of separated z-scores."""
    found = veil.audit(independent(), veil.PairwiseRotation(), attacks=["ica"], grants=veil.Grants.only(), seed=0)
    (row,) = found.rows
    assert row.up_to == ("order", "sign", "scale")
    assert row.nrmse < 0.5
    assert not row.failures
    assert found.model().candidates[0].rows[0].ambiguity == "order, sign, scale"
    assert found.worst is None
    assert not found.passed


@pytest.mark.slow
def test_a_seed_makes_it_reproducible(found):
    again = veil.audit(
        correlated(),
        [veil.AdditiveNoise(1.0), veil.OrthogonalTransform()],
        grants=veil.Grants.only(pairs=(1, 6), sample=0.1),
        repetitions=3,
        seed=1,
    )
    assert [r.value for r in again.rows] == [r.value for r in found.rows]


def test_an_identity_copy_fails_any_goal():
    """Noise of a millionth: other tools call the copy safe."""
    audit = veil.audit(correlated(), veil.AdditiveNoise(1e-6), goals=veil.Goals(max_advantage=0.5), seed=0)
    assert not audit.passed
    assert audit.worst.value.rate == 1


def test_noise_far_beyond_the_data_passes():
    audit = veil.audit(correlated(), veil.AdditiveNoise(50.0), repetitions=10, seed=0)
    assert audit.passed
    assert audit.candidates[0].utility["distances"] < 0.1
    goals = veil.Goals(min_utility={"distances": 0.9})
    strict = veil.audit(correlated(), veil.AdditiveNoise(50.0), goals=goals, repetitions=10, seed=0)
    assert not strict.passed
    (short,) = strict.candidates[0].failures
    assert (short.kind, short.utility, short.shown) == ("utility", "distances", True)
    assert "utility distances" in str(short)


def test_one_broken_column_fails_the_goal_though_the_average_is_fine():
    x = np.random.default_rng(0).normal(size=(500, 30))
    scale = np.full(30, 30.0)
    scale[7] = 1e-6
    audit = veil.audit(x, veil.AdditiveNoise(scale), repetitions=10, seed=0)
    row = next(r for r in audit.rows if r.attack == "noise-distribution-attack")
    assert row.worst_column == "x7"
    assert row.value.advantage < 0.05
    (failure,) = [failure for failure in row.failures if failure.scored == "column"]
    assert (failure.column, failure.attack.label, failure.shown) == ("x7", "noise-distribution-attack", True)
    assert failure.advantage.low > failure.most == 0.05
    assert "column 'x7'" in str(failure)


@pytest.mark.parametrize("kind", ["rows", "columns", "scale"])
def test_scores_do_not_depend_on_order_or_units(kind):
    rng = np.random.default_rng(3)
    truth = correlated(seed=3)
    guess = truth + rng.normal(size=truth.shape) * truth.std(axis=0) * 0.2
    rows, columns, scale = np.arange(400), np.arange(6), np.ones(6)
    if kind == "rows":
        rows = rng.permutation(400)
    elif kind == "columns":
        columns = rng.permutation(6)
    else:
        scale = 2.0 ** rng.integers(-8, 8, 6)
    names = [f"c{j}" for j in range(6)]
    everything, nobody = np.arange(400), np.empty(0, dtype=int)

    def scored(x, y, labels):
        judge = Judge(x, labels, 0.1)
        return judge.try_guess(Guess(y, tuple(labels), everything), everything, nobody)

    base = scored(truth, guess, names)
    moved = scored((truth * scale)[rows][:, columns], (guess * scale)[rows][:, columns], [names[j] for j in columns])
    assert (moved.value, moved.record) == (base.value, base.record)
    assert moved.columns == tuple(base.columns[j] for j in columns)


def test_given_rows_are_not_scored_and_withheld_rows_are_not_released():
    truth = correlated(100)
    table = pa.table({name: truth[:, j] for j, name in enumerate("abcdef")})

    def granted(level, *, own_sample):
        private = Truth.of(table, list("abcdef")).to_grant_from(own_sample=own_sample)
        return level.knowledge.grant(private, level.amount, np.random.default_rng(0))

    pairs = granted(Level("pairs", 5), own_sample=False)
    assert len(pairs.given) == 5
    assert not len(pairs.withheld)
    np.testing.assert_array_equal(pairs.knowledge[0].records, truth[pairs.given])
    outside = granted(Level("sample", 0.1), own_sample=False)
    assert len(outside.withheld) == 10
    assert not len(outside.given)
    inside = granted(Level("sample", 0.1), own_sample=True)
    assert len(inside.given) == 10
    judge = Judge(truth, list("abcdef"), 0.1)
    guess = np.full_like(truth, np.nan)
    guess[pairs.given] = truth[pairs.given]
    trial = judge.try_guess(Guess(guess, tuple("abcdef"), np.arange(100)), np.arange(100), pairs.given)
    assert trial.value.n == 95
    assert trial.value.rate == trial.value.control
    assert trial.n_scored == 95


def test_pictures_suppress_small_cells():
    truth = correlated(2_000)
    judge = Judge(truth, list("abcdef"), 0.1)
    guess = Guess(truth, tuple("abcdef"), np.arange(len(truth)))
    picture = judge.picture(guess, np.arange(len(truth)), np.empty(0, dtype=int))
    cells = np.array(picture.counts)
    assert cells[(cells > 0)].min() >= 10
    assert cells.sum() + picture.n_suppressed + picture.n_outside == truth.size
    assert np.count_nonzero(cells - np.diag(np.diag(cells))) == 0, "a right guess lies on the diagonal"


def test_missing_values_mixed_tables_and_a_target():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(correlated(300), columns=list("abcdef"))
    frame.loc[rng.choice(300, 20, replace=False), "b"] = np.nan
    frame["group"] = np.where(frame["a"] > frame["a"].median(), "u", "v")
    audit = veil.audit(frame, veil.AdditiveNoise(0.5), roles={"group": "public"}, target="group", seed=0)
    wanted = {"distances", "means", "covariance", "distribution", "clusters", "neighbours", "classification"}
    assert set(audit.candidates[0].utility) == wanted
    assert all(0 <= u.low <= u <= u.high for u in audit.candidates[0].utility.values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: veil.audit(x, []), "perturbations must be"),
        (lambda x: veil.audit(x[:2], veil.AdditiveNoise()), "at least 4"),
        (
            lambda x: veil.audit(x, veil.AdditiveNoise(), attacks=["bayes-estimat"]),
            "did you mean 'bayes-estimate-attack'",
        ),
        (lambda x: veil.audit(x, veil.AdditiveNoise(), target="y"), "target names column 'y'"),
        (lambda x: veil.audit(x, veil.AdditiveNoise(), target="x0"), "role public"),
        (lambda x: veil.audit(x, veil.AdditiveNoise(), repetitions=0), "repetitions"),
        (lambda x: veil.Grants(pairs=0), "at least 1"),
        (lambda x: veil.Grants(sample=2.0), "between 0 and 1"),
        (lambda x: veil.Goals(max_advantage=5), "max_advantage"),
        (lambda x: veil.Goals(min_utility={"distance": 0.5}), "did you mean 'distances'"),
        (lambda x: veil.audit(x, veil.AdditiveNoise(), goals=veil.Goals(against=["9 known records"])), "not granted"),
    ],
)
def test_wrong_calls_are_one_line(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make(correlated(50))
    assert "\n" not in str(caught.value)


def independent(n=1_500, d=4, seed=5):
    return np.random.default_rng(seed).gamma(2.0, size=(n, d)) * np.array([1.0, 5.0, 0.2, 30.0])[:d]


def test_separated_signals_count_where_only_order_and_sign_are_open():
    """An orthogonal matrix and public units fix the scale: independent columns are read off the release alone."""
    found = veil.audit(independent(), veil.OrthogonalTransform(), attacks=["ica"], grants=veil.Grants.only(), seed=0)
    (row,) = found.rows
    assert row.up_to == ("order", "sign")
    assert row.value.advantage > 0.8
    assert not found.passed


def test_every_counted_level_must_be_tested():
    """More knowledge at one level must not turn an untested goal at another into a pass."""
    grants = veil.Grants.only(pairs=5, matrix=True)
    found = veil.audit(independent(60), veil.RandomProjection(20, axis="records"), grants=grants, seed=0)
    assert not found.passed
    untested = found.candidates[0].failures[-1]
    assert [known.kind for known in untested.knowledge] == ["nothing", "pairs"]
    assert "no attack used the knowledge nothing and 5 known records" in str(untested)


def test_whole_numbers_behind_a_leaked_matrix_come_back():
    x = pa.table({n: np.random.default_rng(i).integers(0, 16, 200) for i, n in enumerate("abcdef")})
    grants = veil.Grants.only(matrix=True)
    method = veil.RandomProjection(2, dither=False)
    found = veil.audit(x, method, attacks=["disclosed-matrix"], grants=grants, seed=0, repetitions=3)
    assert found.rows[0].value.advantage > 0.99


def test_constant_columns_do_not_water_the_score_down():
    x = independent(800)
    padded = np.column_stack([x, np.full((800, 4), 7.0)])
    scores = []
    for table in (x, padded):
        grants = veil.Grants.only(pairs=9)
        found = veil.audit(table, veil.OrthogonalTransform(), attacks=["known-pairs"], grants=grants, seed=0)
        scores.append(float(found.rows[0].value.advantage))
    assert scores == [1.0, 1.0]


def test_a_sample_of_the_table_is_also_known_records():
    grants = veil.Grants.only(sample=0.02, sample_from="table")
    found = veil.audit(independent(600), veil.OrthogonalTransform(), grants=grants, seed=0, repetitions=2)
    (row,) = [r for r in found.rows if r.attack == "known-records-attack"]
    assert row.value.advantage == 1


def test_odd_tables_skip_attacks_and_do_not_stop_the_audit():
    rng = np.random.default_rng(0)
    sparse = np.where(rng.uniform(size=(100, 3)) < 0.92, 0.0, rng.normal(size=(100, 3)))
    grants = veil.Grants.only(pairs=2, sample=0.05, matrix=True)
    for method in (veil.OrthogonalTransform(translation=1.0), veil.PairwiseRotation(), veil.LinearTransform()):
        found = veil.audit(sparse, method, grants=grants, seed=0, repetitions=2)
        assert found.rows
