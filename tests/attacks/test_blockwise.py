"""Attacks that learn from passes: the same bits from memory, files and workers, and never the whole table at once."""

import pickle
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import veil
from veil.attacks.blockwise import BlockwiseAttack, guess_all
from veil.attacks.changed import ChangedTable, logarithm
from veil.attacks.knowledge import KnownAttributes, KnownMatrix, KnownNoise, KnownRanges, KnownSample
from veil.attacks.noise.partial import PartialDisclosureAttack
from veil.attacks.projection.disclosed_blocks import disclosed_guess
from veil.auditing.exposure import secret_matrix
from veil.data.blocks import BLOCK_ROWS
from veil.data.passes import Lane
from veil.data.tables import MemoryTable, Table
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.numerics.column_priors import deconvolve
from veil.numerics.priors import GridPrior
from veil.release.release import Release, memory_release

N, D = 200_000, 3
SEED = {"random_state": 1}


def private():
    """Skewed and correlated numbers, the first of two modes; the same with gaps, as whole numbers and as bits."""
    rng = np.random.default_rng(0)
    x = rng.gamma(2.0, size=(N, D)) @ (rng.uniform(0.1, 1.0, size=(D, D)) + np.eye(D)) + 1.0
    x[:, 0] += rng.choice([0.0, 9.0], N)
    gaps = np.where(rng.random(x.shape) < 0.02, np.nan, x)
    whole = x.round().astype(np.int64)
    whole[::50_000] += 40  # beyond any box that a sample spans
    return {"numbers": x, "gaps": gaps, "whole": whole, "bits": np.asarray(x > np.median(x, axis=0), dtype=np.float64)}


PRIVATE = private()
PERTURBATIONS = {
    "noise": (veil.AdditiveNoise(**SEED), "numbers"),
    "laplace": (veil.AdditiveNoise(distribution="laplace", **SEED), "numbers"),
    "shared noise": (veil.AdditiveNoise(similarity=0.7, **SEED), "numbers"),
    "gaps": (veil.AdditiveNoise(**SEED), "gaps"),
    "whole": (veil.AdditiveNoise(0.1, **SEED), "whole"),
    "factors": (veil.MultiplicativeNoise(**SEED), "numbers"),
    "factors and noise": (veil.CombinedNoise(**SEED), "numbers"),
    "classes": (veil.Discretize(**SEED), "numbers"),
    "rotation": (veil.OrthogonalTransform(translation=1.0, scaling=None, dither=False, **SEED), "whole"),
    "z-scores": (veil.PairwiseRotation(**SEED), "numbers"),
    "projection": (veil.RandomProjection(2, scaling=None, dither=False, **SEED), "whole"),
    "real projection": (veil.RandomProjection(2, **SEED), "numbers"),
    "parities": (veil.BinaryProjection(4, **SEED), "bits"),
}
COVARIATE = PRIVATE["numbers"].sum(axis=1) + np.random.default_rng(1).normal(size=N)
PLAYS = [
    ("noise", veil.NoiseDistributionAttack(), ()),
    ("factors", veil.NoiseDistributionAttack(), ()),
    ("classes", veil.NoiseDistributionAttack(), ()),
    ("noise", veil.UnivariateBayesAttack(), ()),
    ("noise", veil.UnivariateBayesAttack(variant="paper"), ()),
    ("gaps", veil.UnivariateBayesAttack(), ()),
    ("laplace", veil.UnivariateBayesAttack(), ()),
    ("whole", veil.UnivariateBayesAttack(aim="hit"), ("sample",)),
    ("noise", veil.SpectralFilterAttack(), ()),
    ("shared noise", veil.PCAAttack(), ()),
    ("noise", veil.SVDAttack(shrink=True), ()),
    ("noise", veil.BayesEstimateAttack(), ()),
    ("gaps", veil.BayesEstimateAttack(variant="paper"), ()),
    ("factors", veil.LogAttack(), ()),
    ("factors", veil.LogAttack(veil.PCAAttack()), ()),
    ("factors and noise", veil.LogAttack(veil.UnivariateBayesAttack()), ()),
    ("noise", veil.PartialDisclosureAttack(), ("other",)),
    ("shared noise", veil.PartialDisclosureAttack(), ("private",)),
    ("rotation", veil.DisclosedMatrixAttack(), ("matrix", "sample")),
    ("z-scores", veil.DisclosedMatrixAttack(), ("matrix", "sample")),
    ("projection", veil.DisclosedMatrixAttack(), ("matrix",)),
    ("projection", veil.DisclosedMatrixAttack(), ("matrix", "sample")),
    ("real projection", veil.DisclosedMatrixAttack(), ("matrix", "ranges")),
    ("real projection", veil.DisclosedMatrixAttack(variant="paper"), ("matrix",)),
    ("parities", veil.DisclosedMatrixAttack(), ("matrix",)),
]


class Places:
    """The releases: in memory in odd pieces and in a Parquet file, with what may be granted."""

    def __init__(self, folder):
        self.folder, self.held = folder, {}

    def __call__(self, name):
        if name not in self.held:
            perturbation, which = PERTURBATIONS[name]
            x = PRIVATE[which]
            table = pa.table({f"x{j}": pa.array(x[:, j], from_pandas=True) for j in range(D)})
            release, key = veil.publish(table, perturbation, roles={f"x{j}": "sensitive" for j in range(D)})
            release.save(self.folder / name)
            matrix = secret_matrix(release, key)
            known = {
                "sample": KnownSample(PRIVATE["whole" if which == "whole" else "numbers"][1:301].astype(np.float64)),
                "other": KnownAttributes("other", COVARIATE),
                "private": KnownAttributes(["x1", "other"], np.column_stack([PRIVATE["numbers"][:, 1], COVARIATE])),
                "ranges": KnownRanges(np.nanmin(x, axis=0), np.nanmax(x, axis=0)),
                "matrix": None if matrix is None else KnownMatrix(matrix),
            }
            self.held[name] = in_odd_pieces(release), Release.load(self.folder / name), known
        return self.held[name]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    return Places(tmp_path_factory.mktemp("releases"))


def in_odd_pieces(release):
    table = release.table.read()
    cuts = [0, 7, 40_009, 65_537, 65_538, 131_071, 199_999, table.num_rows]
    pieces = [table.slice(a, b - a) for a, b in pairwise(cuts)]
    return memory_release(pa.concat_tables(pieces), release.manifest, "pyarrow", {})


def same_details(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def forbidden(*_, **__):
    raise AssertionError("the whole table was read at once")


@pytest.mark.parametrize(("name", "attack", "kinds"), PLAYS, ids=lambda value: str(value))
def test_memory_in_odd_pieces_and_a_file_give_the_same_bits(places, monkeypatch, name, attack, kinds):
    """And nobody asks for the whole table; what was learned travels."""
    held, filed, known = places(name)
    knowledge = [known[kind] for kind in kinds]
    for cls, method in ((Release, "to_numpy"), (Table, "read"), (MemoryTable, "read")):
        monkeypatch.setattr(cls, method, forbidden)
    guess, again = attack.run(held, *knowledge), attack.run(filed, *knowledge)
    assert guess.values.shape == (N, D)
    assert np.isfinite(guess.values).sum() >= 0.97 * N * D
    np.testing.assert_array_equal(guess.values, again.values)
    same_details(guess.details, again.details)
    learned = pickle.loads(pickle.dumps(attack.prepare(filed, *knowledge)))
    *_, last = filed.table.blocks(learned.columns)
    np.testing.assert_array_equal(learned.guess(last).values, guess.values[last.start :])
    assert (learned.ambiguity, learned.up_to) == (guess.ambiguity, guess.up_to)


class Elsewhere:
    """An engine whose work and results travel, as on a cluster."""

    def run(self, work, table, *, what="", progress=None):
        for span in table.spans():
            there = pickle.loads(pickle.dumps(work))
            yield pickle.loads(pickle.dumps(there(table, span, Lane())))


@pytest.mark.parametrize(
    ("name", "attack", "kinds"),
    [
        ("laplace", veil.UnivariateBayesAttack(aim="hit"), ("sample",)),
        ("factors", veil.LogAttack(veil.PCAAttack()), ()),
        ("noise", veil.PartialDisclosureAttack(), ("private",)),
        ("rotation", veil.DisclosedMatrixAttack(), ("matrix", "sample")),
    ],
    ids=lambda value: str(value),
)
def test_passes_may_run_elsewhere(places, name, attack, kinds):
    held, filed, known = places(name)
    knowledge = [known[kind] for kind in kinds]
    there = Release(filed.table, filed.manifest, Elsewhere())
    guess, again = attack.run(held, *knowledge), attack.run(there, *knowledge)
    np.testing.assert_array_equal(guess.values, again.values)
    same_details(guess.details, again.details)


@pytest.mark.parametrize("attack", [veil.BayesEstimateAttack(), veil.LogAttack()], ids=repr)
def test_a_table_of_unknown_length_is_put_together(tmp_path, attack):
    x = PRIVATE["numbers"][: BLOCK_ROWS + 100]
    noise = (
        veil.AdditiveNoise(**SEED) if isinstance(attack, veil.BayesEstimateAttack) else veil.MultiplicativeNoise(**SEED)
    )
    release, _ = veil.publish(x, noise)
    release.save(tmp_path / "csv", format="csv")
    filed = Release.load(tmp_path / "csv")
    assert filed.table.n_rows is None
    guess, again = attack.run(release), attack.run(filed)
    np.testing.assert_array_equal(guess.values, again.values)
    same_details(guess.details, again.details)


@pytest.mark.parametrize(
    ("attack", "knowledge", "error"),
    [
        (veil.BayesEstimateAttack(prior="flat"), (), InputError),
        (veil.BayesEstimateAttack(variant="worst"), (), InputError),
        (veil.BayesEstimateAttack(), (np.eye(3),), InputError),
        (veil.BayesEstimateAttack(), (KnownNoise([1.0, 2.0]),), InputError),
        (veil.UnivariateBayesAttack(aim="miss"), (), InputError),
        (veil.PCAAttack(9), (), InputError),
        (veil.PartialDisclosureAttack(), (), NotApplicableError),
        (veil.LogAttack(), (), NotApplicableError),
        (veil.DisclosedMatrixAttack(), (KnownMatrix(np.eye(3)),), NotApplicableError),
    ],
    ids=lambda value: str(value),
)
def test_preparing_refuses_like_running(attack, knowledge, error):
    release, _ = veil.publish(PRIVATE["numbers"][:200], veil.AdditiveNoise(**SEED))
    messages = []
    for call in (attack.run, attack.prepare):
        with pytest.raises(error) as caught:
            call(release, *knowledge)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_preparing_needs_a_release_and_what_is_required():
    with pytest.raises(InputError, match="attacks a release"):
        veil.BayesEstimateAttack().prepare(np.eye(3))
    release, _ = veil.publish(PRIVATE["numbers"][:200], veil.RandomProjection(2, **SEED))
    with pytest.raises(MissingKnowledgeError, match="KnownMatrix"):
        veil.DisclosedMatrixAttack().prepare(release)


def test_settings_that_need_the_whole_table_say_so_and_run():
    x = PRIVATE["numbers"][:400]
    noisy, _ = veil.publish(x, veil.AdditiveNoise(**SEED))
    holes, _ = veil.publish(PRIVATE["gaps"][:400], veil.AdditiveNoise(**SEED))
    product, _ = veil.publish(x, veil.MultiplicativeNoise(**SEED))
    records, key = veil.publish(x, veil.RandomProjection(60, axis="records", **SEED))
    for attack, release, *knowledge in (
        (veil.BayesEstimateAttack(prior="mixture"), noisy),
        (veil.PartialDisclosureAttack(), holes, KnownAttributes("other", COVARIATE[:400])),
        (veil.LogAttack(veil.IntervalAttack()), product),
        (veil.LogAttack(veil.BayesEstimateAttack(prior="mixture")), product),
        (veil.DisclosedMatrixAttack(), records, KnownMatrix(secret_matrix(records, key))),
    ):
        assert attack.prepare(release, *knowledge) is None
        assert attack.run(release, *knowledge).values.shape == (400, D)


def test_an_attack_without_another_way_says_so():
    class Silent(BlockwiseAttack):
        catalogue = "A1"
        words = "says nothing"

        @classmethod
        def applies_to(cls, model):
            return True

        def learn(self, release, knowledge):
            return None

    release, _ = veil.publish(PRIVATE["numbers"][:200], veil.AdditiveNoise(**SEED))
    with pytest.raises(NotImplementedError, match="Silent"):
        Silent().run(release)


def test_counts_of_the_search_add_up_over_blocks(places):
    """Four records lie beyond the sample's box: they are found in a wider one, and the details say so."""
    held, _, known = places("projection")
    attack, x = veil.DisclosedMatrixAttack(), PRIVATE["whole"]
    guess = attack.run(held, known["matrix"], known["sample"])
    np.testing.assert_allclose(guess.values, x, atol=1e-8)
    assert guess.details["unique"] == N
    assert guess.details["ambiguous"] == 0
    learned = attack.prepare(held, known["matrix"], known["sample"])
    narrow, *_, widest = (box.search.expected_matches for box in learned.guess.args[1].search.boxes)
    assert learned.details_with({"box": 1})["expected_matches"] == narrow < widest
    assert guess.details["expected_matches"] == widest


def test_nodes_are_shared_out_by_rows(places):
    """What is too much for the whole release is too much for each of its blocks."""
    held, _, known = places("projection")
    learned = veil.DisclosedMatrixAttack().prepare(held, known["matrix"], known["ranges"])
    columns, disclosed = learned.guess.args
    crowded = partial(disclosed_guess, columns, replace(disclosed, n_rows=10**12))
    block = next(iter(held.table.blocks(learned.columns)))
    assert learned.guess(block).tally["unique"] == BLOCK_ROWS
    assert crowded(block).tally["unique"] == 0


def test_normal_columns_are_told_from_bumps_by_halves_that_differ():
    """Halves as alike as possible would take one normal column of ten for something else; random ones, one of 100."""
    y = np.random.default_rng(5).normal(size=(60, 50_000)) * np.sqrt(2)
    found = sum(deconvolve(column, "normal", 1.0).kind == "nonparametric" for column in y)
    assert found <= 4  # of 60 at 1 %: more in fewer than one case of 2,000


def test_a_column_that_spreads_too_far_is_seen_around_its_median():
    rng = np.random.default_rng(6)
    y = rng.choice([-4.0, 4.0], 4_000) + rng.normal(size=4_000) + 300.0
    plain = deconvolve(y, "normal", 1.0)
    y[:3] = [1e12, -1e9, 5e4]
    far = deconvolve(y, "normal", 1.0)
    assert isinstance(plain, GridPrior)
    assert isinstance(far, GridPrior)
    middle = far.grid.start + far.grid.n_bins / 2 * far.grid.width
    assert abs(middle - np.median(y)) < 16
    place = np.linspace(293, 307, 50)
    np.testing.assert_allclose(far.posterior_mean(place), plain.posterior_mean(place), atol=0.05)


def test_nearly_dependent_attributes_lose_no_digits():
    """The difference of two attributes, 1e-8 of their size, is the private column: normal equations would lose it."""
    rng = np.random.default_rng(7)
    common, x = rng.normal(size=BLOCK_ROWS + 5_000), rng.normal(size=BLOCK_ROWS + 5_000)
    release, _ = veil.publish(3 * x[:, None], veil.AdditiveNoise(2.0, relative=False, **SEED))
    guess = PartialDisclosureAttack().run(
        release, KnownAttributes(["a", "b"], np.column_stack([common, common + 1e-8 * x]))
    )
    # The regression's own error is 3σ²/N, and a prior of the order of its sampling error adds (σ²√(2/N))²/σ².
    assert np.mean((guess.values[:, 0] - 3 * x) ** 2) < 4 * (3 * 4 / len(x) + 4 * 2 / len(x))


def test_public_columns_pass_through_a_changed_table():
    """So that the logarithms can be filtered with what is public."""
    x = PRIVATE["numbers"][:5_000]
    table = pa.table({"pay": x[:, 1], "debt": x[:, 2], "age": np.log(x[:, 1])})
    release, _ = veil.publish(table, veil.MultiplicativeNoise(0.4, **SEED), roles={"age": "public"})
    alone = veil.LogAttack().run(release).details["log_values"]
    told = veil.LogAttack(PartialDisclosureAttack()).run(release).details["log_values"]
    truth = np.log(x[:, 1:])
    assert np.mean((told - truth)[:, 0] ** 2) < 0.1 * np.mean((alone - truth)[:, 0] ** 2)
    changed = ChangedTable(release.table, ["pay"], logarithm)
    assert changed.read(["age"]).equals(release.table.read(["age"]))
    np.testing.assert_allclose(changed.read().column("pay"), np.log(np.abs(release.table.read().column("pay"))))


def test_zeros_have_no_logarithm():
    np.testing.assert_array_equal(logarithm(np.array([0.0, -1.0, np.nan])), [np.nan, 0.0, np.nan])


def test_no_rows_no_guesses():
    release, _ = veil.publish(PRIVATE["numbers"][:10], veil.AdditiveNoise(**SEED))
    learned = veil.NoiseDistributionAttack().prepare(release)
    empty = memory_release(release.table.read().slice(0, 0), release.manifest, "pyarrow", {})
    assert guess_all(empty, learned).values.shape == (0, D)
