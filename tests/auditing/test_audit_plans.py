"""Audits of plans: numbers and categories under attack side by side, each judged by its own rule."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import veil
from _tables import within_standard_errors
from veil.attacks.base import Guess
from veil.auditing import Judge
from veil.auditing.recovered import proportions_kept
from veil.auditing.truth import Truth
from veil.auditing.utility import plan_utilities
from veil.data.sources import as_table
from veil.errors import InputError
from veil.numerics.response_matrix import keep_matrix

MARK = "SECRETCELL"
SMOKES = (f"no {MARK}", f"yes {MARK}")


def patients(n=800, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 12, n)
    return pd.DataFrame(
        {
            "smokes": rng.choice(SMOKES, n, p=[0.7, 0.3]),
            "age": age,
            "job": pd.Categorical(rng.choice([f"{MARK} a", f"{MARK} b", f"{MARK} c"], n, p=[0.5, 0.3, 0.2])),
            "weight": age + rng.normal(0, 6, n),
            "ward": rng.choice(["x", "y"], n),
        }
    )


def plan(keep=0.8, scale=1.0):
    return veil.Plan(
        [(["smokes", "job"], veil.RandomizedResponse(keep=keep)), (None, veil.AdditiveNoise(scale))],
        roles={"ward": "public"},
    )


@pytest.fixture(scope="module")
def found():
    return veil.audit(patients(), plan(), grants=veil.Grants.only(pairs=2, sample=0.05), seed=1)


def table_of(shares, n, labels, seed=0):
    counts = np.round(np.asarray(shares) * n).astype(int)
    return np.random.default_rng(seed).permutation(np.repeat(labels, counts))


# -- scores ----------------------------------------------------------------------------------------------------


def test_attacks_are_named_with_their_part(found):
    attacks = {row.name for row in found.rows}
    assert "response-posterior-attack on randomized-response" in attacks
    assert "univariate-bayes-attack on additive-noise" in attacks
    assert found.candidates[0].method == "randomized-response + additive-noise"
    assert found.candidates[0].catalogue == "P16 + P1"
    assert found.columns == ("smokes", "age", "job", "weight")


def test_the_baseline_of_categories_is_the_mode(found):
    (row,) = (r for r in found.rows if r.catalogue == "A20")
    table = patients()
    modes = [table[c].value_counts(normalize=True).max() for c in ("smokes", "job")]
    assert row.value.baseline == pytest.approx(np.mean(modes), abs=1e-12)
    both = (table["smokes"] == table["smokes"].mode()[0]) & (table["job"] == table["job"].mode()[0])
    assert row.record.baseline == pytest.approx(both.mean(), abs=1e-12)
    assert row.worst_column in ("smokes", "job")
    assert row.column.baseline == pytest.approx(modes[0] if row.worst_column == "smokes" else modes[1], abs=1e-12)
    assert row.far_out is None  # codes cannot be far out


@pytest.mark.parametrize(
    ("keep", "shares"),
    [(0.7, (0.4, 0.35, 0.25)), (0.6, (0.55, 0.35, 0.1)), (0.4, (0.6, 0.3, 0.1)), (0.85, (0.9, 0.1))],
    ids=["says what is reported", "doubts rare reports", "says the mode", "Warner"],
)
def test_the_posterior_attack_has_the_rate_of_theory(keep, shares):
    """The right guesses are Σ_r max_s P[r, s] π_s."""
    n, labels = 8_000, list("abc")[: len(shares)]
    frame = pd.DataFrame({"c": table_of(shares, n, labels)})
    nothing = veil.Grants.only()
    found = veil.audit(
        frame, veil.RandomizedResponse(keep=keep), attacks=["response-posterior"], grants=nothing, seed=3
    )
    (row,) = found.rows
    theory = (keep_matrix(keep, len(shares)) * shares).max(axis=1).sum()
    # Where the mode is always said the rate is exact, else a binomial share.
    assert within_standard_errors(row.value.rate, theory, np.sqrt(theory * (1 - theory) / n), 5)
    assert row.value.baseline == pytest.approx(max(shares))
    assert row.value.rate.low <= row.value.rate <= row.value.rate.high
    if theory == pytest.approx(max(shares)):
        assert row.value.advantage == pytest.approx(0)


def test_a_wrong_category_is_never_near():
    truth = np.array([[0.0], [1.0], [2.0], [3.0]])
    judge = Judge(truth, ("c",), 5.0, np.array([True]))
    rows = np.arange(4)
    guess = Guess(truth + np.array([[0], [1], [-1], [0]]), ("c",), rows)
    trial = judge.try_guess(guess, rows, np.array([], dtype=int))
    assert judge.rates(guess, rows, np.array([], dtype=int))[0] == 0.5
    assert trial.nrmse == pytest.approx(np.sqrt(0.5))


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_missing_categories_are_not_scored():
    frame = pd.DataFrame({"c": np.random.default_rng(0).permutation(np.array(["a", "b", None, "a"] * 500))})
    response = veil.RandomizedResponse(keep=0.9, missing="category")
    rows = veil.audit(frame, response, grants=veil.Grants.only(), seed=0).rows
    assert len(rows) == 3  # A18, A20 and A28
    for row in rows:
        assert row.value.baseline == pytest.approx(2 / 3)
        assert within_standard_errors(row.value.rate, 0.9, np.sqrt(0.09 / 1_500), 5)


def test_records_without_a_value_raise_no_warning():
    frame = pd.DataFrame({"c": ["a", "b", None, "a"] * 50})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        veil.audit(frame, veil.RandomizedResponse(keep=0.9, missing="category"), seed=0)


def test_integers_under_randomized_response_are_categories():
    frame = pd.DataFrame({"age": np.random.default_rng(0).integers(0, 80, 8_000)})
    found = veil.audit(frame, veil.RandomizedResponse(keep=0.3), grants=veil.Grants.only(), seed=0)
    assert within_standard_errors(found.rows[0].value.rate, 0.3, np.sqrt(0.21 / 8_000), 5)


# -- verdicts --------------------------------------------------------------------------------------------------------


def test_a_plan_that_hides_everything_passes():
    n = 6_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": table_of((0.6, 0.3, 0.1), n, list("abc")), "x": rng.normal(size=n)})
    hidden = veil.Plan([("c", veil.RandomizedResponse(keep=0.36)), ("x", veil.AdditiveNoise(30.0))])
    attacks = ["response-posterior-attack", "noise-distribution-attack", "bayes-estimate-attack"]
    found = veil.audit(frame, hidden, attacks=attacks, grants=veil.Grants.only(), seed=2)
    assert found.passed, found.candidates[0].failures
    assert len(found.rows) == 3
    open_ = veil.Plan([("c", veil.RandomizedResponse(keep=0.95)), ("x", veil.AdditiveNoise(30.0))])
    broken = veil.audit(frame, open_, attacks=attacks, grants=veil.Grants.only(), seed=2)
    assert not broken.passed
    assert broken.worst.name == "response-posterior-attack on randomized-response"


def test_reports_that_say_nothing_can_be_audited():
    frame = pd.DataFrame({"c": table_of((0.6, 0.4), 3_000, list("ab"))})
    found = veil.audit(frame, veil.RandomizedResponse(keep=0.5), seed=0)
    assert found.passed


def test_declared_categories_that_do_not_occur_can_be_audited():
    frame = pd.DataFrame({"c": table_of((0.6, 0.4), 500, list("ab"))})
    response = veil.RandomizedResponse(keep=0.8, categories=["a", "b", "z"])
    assert veil.audit(frame, response, seed=0).candidates[0].utility["proportions"] > 0.8


def test_a_part_that_no_attack_was_played_on_is_not_called_safe():
    n = 1_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=n), "x": rng.normal(size=n)})
    plan = veil.Plan([("age", veil.Discretize(edges=np.linspace(-4, 4, 1_000))), ("x", veil.AdditiveNoise(30.0))])
    found = veil.audit(frame, plan, grants=veil.Grants.only(), goals=veil.Goals(max_advantage=0.2), seed=0)
    assert not found.passed


@pytest.mark.parametrize("method", [veil.Pseudonymize()], ids=["pseudonymize"])
def test_methods_without_an_attack_are_not_called_safe(method):
    column = np.random.default_rng(0).integers(0, 50, 200)
    found = veil.audit(pd.DataFrame({"c": column}), method, seed=0)
    assert not found.passed
    assert not found.rows
    assert "no attack was run" in str(found.candidates[0].failures[0])


def test_the_report_names_the_guarantee_that_a_release_would_have():
    table = np.random.default_rng(0).random((200, 2))
    found = veil.audit(table, veil.LaplaceMechanism(1.0, (0, 1)), grants=veil.Grants.only(), seed=0)
    assert found.candidates[0].guarantee.startswith("local differential privacy: epsilon 1")


def test_candidates_must_change_the_same_columns():
    noise = veil.Plan([("age", veil.AdditiveNoise())], roles={"smokes": "drop"})
    responses = veil.Plan([("smokes", veil.RandomizedResponse())], roles={"age": "drop"})
    with pytest.raises(InputError, match="change different columns"):
        veil.audit(patients()[["age", "smokes"]], [noise, responses])


def test_an_attack_that_fits_no_part_is_an_error_when_asked_for():
    with pytest.raises(InputError, match="known-pairs-attack was asked for and could not run: no theory for"):
        veil.audit(patients()[["age", "smokes", "job", "weight", "ward"]], plan(), attacks=["known-pairs-attack"])


# -- knowledge reaches the right columns -----------------------------------------------------------------------------


def test_known_records_break_the_rotated_part():
    table = patients(300)[["smokes", "age", "weight"]]
    rotated = veil.Plan([("smokes", veil.RandomizedResponse(keep=0.6)), (None, veil.OrthogonalTransform())])
    found = veil.audit(table, rotated, grants=veil.Grants.only(pairs=2), seed=0, repetitions=5)
    rows = {row.name: row for row in found.rows if row.level in found.candidates[0].levels}
    row = rows["known-pairs-attack on orthogonal-transform"]
    assert row.value.advantage == pytest.approx(1)
    assert row.n_scored == 298
    assert rows["response-posterior-attack on randomized-response"].knowledge == "nothing"


def test_the_truth_of_categories_is_their_place_in_the_sorted_list():
    table = as_table(
        pd.DataFrame(
            {"c": ["b", None, "a"], "f": [True, False, True], "n": [3, 1, 2], "d": pd.Categorical(["y", "x", "y"])}
        )
    ).read()
    truth = Truth.of(table, ["c", "f", "n", "d"])
    np.testing.assert_array_equal(truth.values, [[1, 1, 3, 1], [np.nan, 0, 1, 0], [0, 1, 2, 1]])
    assert truth.categories == (("a", "b"), (False, True), None, ("x", "y"))
    assert truth.categorical.tolist() == [True, True, False, True]
    part = truth.part(["d", "c"])
    np.testing.assert_array_equal(part.values[0], [1, 1])


def test_guesses_are_stated_in_the_truths_codes():
    frame = pd.DataFrame({"c": ["a", "b", "c"] * 40})
    response = veil.RandomizedResponse(keep=0.8, categories=["c", "zzz", "a", "b"])
    release, _ = veil.publish(frame, response)
    truth = Truth.of(as_table(frame).read(), ["c"])
    guess = Guess(np.array([[0.0], [1.0], [2.0], [3.0]]), ("c",), np.arange(4))
    np.testing.assert_array_equal(truth.stated(guess, release).values[:, 0], [2, -1, 0, 1])  # −1: nobody's category


# -- utility ---------------------------------------------------------------------------------------------------------


def test_utilities_of_all_parts_are_there(found):
    utility = found.candidates[0].utility
    assert {"proportions", "distances", "covariance"} <= set(utility)
    assert 0.85 < utility["proportions"] <= 1
    assert utility["proportions"].low <= utility["proportions"] <= utility["proportions"].high


def test_proportions_kept_is_one_minus_the_total_variation_over_that_of_the_majority():
    table = patients()
    release, _ = veil.publish(table[["smokes", "job"]], veil.RandomizedResponse(keep=0.6, random_state=6))
    truth = Truth.of(as_table(table).read(), ["smokes", "job"])
    recovered = veil.ProportionRecovery().fit(release).proportions_
    by_hand = []
    for column in ("smokes", "job"):
        shares = table[column].value_counts(normalize=True)
        off = 0.5 * sum(abs(shares[v] - p) for v, p in recovered[column].items())
        by_hand.append(1 - off / (1 - shares.max()))
    kept = proportions_kept(truth, release)
    assert kept == pytest.approx(np.mean(by_hand))
    assert (kept.low, kept.high) == pytest.approx((min(by_hand), max(by_hand)))


def test_more_truth_keeps_more_proportions():
    frame = pd.DataFrame({"c": table_of((0.5, 0.3, 0.2), 1_000, list("abc"))})
    truth = Truth.of(as_table(frame).read(), ["c"])

    def kept(keep):
        releases = (veil.publish(frame, veil.RandomizedResponse(keep=keep, random_state=s))[0] for s in range(20))
        return np.mean([plan_utilities(truth, r)["proportions"] for r in releases])

    assert kept(0.9) > kept(0.6) > kept(0.4)


def test_a_goal_for_proportions():
    frame = pd.DataFrame({"c": table_of((0.5, 0.5), 400, list("ab"))})
    goals = veil.Goals(max_advantage=1.0, min_utility={"proportions": 0.999})
    found = veil.audit(frame, veil.RandomizedResponse(keep=0.55), goals=goals, seed=0)
    assert any("utility proportions is" in str(failure) for failure in found.candidates[0].failures)


def test_a_target_can_be_predicted_from_the_numbers_of_a_plan():
    settings = {"attacks": ["noise-distribution-attack"], "target": "ward", "repetitions": 1, "seed": 0}
    by_age = patients().assign(ward=lambda table: np.where(table.age > 50, "x", "y"))
    assert 0.1 < veil.audit(by_age, plan(), **settings).candidates[0].utility["classification"] < 1
    at_random = veil.audit(patients(), plan(), **settings)  # where nothing can be predicted, nothing can be kept
    assert "classification" not in at_random.candidates[0].utility


# -- reports ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("internal", [False, True], ids=["external", "internal"])
def test_reports_of_plans_render(found, internal, tmp_path):
    found.to_html(tmp_path / "report.html", internal=internal)
    found.to_json(tmp_path / "report.json", internal=internal)
    page = (tmp_path / "report.html").read_text()
    document = json.loads((tmp_path / "report.json").read_text())
    assert "response-posterior-attack" in page
    assert document["candidates"][0]["catalogue"] == "P16 + P1"
    assert "proportions" in document["candidates"][0]["utility"]
    text = str(found)
    assert "randomized response (keep 0.8) on 2 columns + additive noise (scale 1.0) on the rest" in " ".join(
        text.split()
    )


def test_categories_never_appear_in_a_report(found, tmp_path):
    found.to_html(tmp_path / "report.html")
    found.to_json(tmp_path / "report.json")
    said = (tmp_path / "report.html").read_text() + (tmp_path / "report.json").read_text() + str(found) + repr(found)
    assert MARK not in said


def test_faults_of_parts_do_not_show_categories():
    table = patients()
    table.loc[3, "smokes"] = f"maybe {MARK}"
    response = veil.RandomizedResponse(keep=0.8, categories={"smokes": list(SMOKES)})
    with pytest.raises(InputError, match="column 'smokes' has 1 values outside its 2 declared") as caught:
        veil.audit(table[["smokes"]], response)
    assert MARK not in str(caught.value)


def test_the_same_seed_gives_the_same_audit():
    table = patients(300)
    one, two = (veil.audit(table, plan(), attacks=["response-posterior-attack"], seed=7).rows[0] for _ in range(2))
    assert (one.value, one.record) == (two.value, two.record)


def test_a_part_that_is_known_leaves_nothing_to_score():
    """Noise on the only number, which is known of everybody: no goal can fail on no score."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=600), "kind": rng.choice(list("abc"), 600)})
    plan = veil.Plan([(["x"], veil.AdditiveNoise(40.0)), (["kind"], veil.RandomizedResponse(epsilon=0.02))])
    audit = veil.audit(table, plan, roles={"kind": "sensitive"}, grants=veil.Grants.only(attributes=1), seed=1)
    assert audit.passed
    reasons = {each.reason for each in audit.candidates[0].skipped if each.attack == "partial-disclosure-attack"}
    assert "what is known leaves no column of this part to guess" in reasons
    assert not any(np.isnan(row.value.advantage) for row in audit.rows)
