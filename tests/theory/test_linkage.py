"""A22: record linkage of a release to an external table (Liu 2007, §3.3; Ketel)."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.integrate import quad

import veil
from _tables import published, within_standard_errors
from veil.attacks.knowledge import ExternalTable
from veil.attacks.linkage.likelihood import Background, EqualityClue, FactorClue
from veil.attacks.linkage.linkage import LinkageAttack
from veil.attacks.linkage.search import link_records
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.measures.linkage import linkage_baseline, linkage_rate
from veil.numerics.factor_law import FactorLaw
from veil.release.models import UnknownModel
from veil.release.release import memory_release


def people(n, d, seed=0):
    return np.random.default_rng(seed).lognormal(size=(n, d))


def rate(found, true_rows):
    return float(np.mean(found.rows == true_rows))


def error(p, n):
    return np.sqrt(p * (1 - p) / n)


# -- solved exactly ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        veil.AdditiveNoise(1e-5, random_state=0),
        veil.AdditiveNoise(1e-5, distribution="uniform", random_state=0),
        veil.AdditiveNoise(1e-5, distribution="laplace", random_state=0),
        veil.AdditiveNoise(1e-5, similarity=0.9, random_state=0),
        veil.MultiplicativeNoise(1e-5, random_state=0),
        veil.CombinedNoise(1e-5, scale=1e-5, random_state=0),
        veil.LogNormalNoise(1e-9, random_state=0),
        veil.OrthogonalTransform(random_state=0),
    ],
    ids=lambda method: method.describe(),
)
def test_tiny_noise_finds_everybody(method):
    x = people(400, 3)
    rows = np.random.default_rng(1).permutation(400)[:60]
    found = link_records(published(x, method), ExternalTable(x[rows]))
    np.testing.assert_array_equal(found.rows, rows)
    assert found.probability.min() > 0.99


def test_public_columns_that_are_unique_together():
    zip_codes, births = np.divmod(np.random.default_rng(0).permutation(400), 20)
    frame = pd.DataFrame({"zip": zip_codes.astype(str), "born": 1950 + births, "income": people(400, 1)[:, 0]})
    release = published(frame, veil.AdditiveNoise(100.0, random_state=0), roles={"zip": "public", "born": "public"})
    rows = np.arange(0, 400, 7)
    found = link_records(release, ExternalTable(frame.loc[rows, ["zip", "born"]]))
    np.testing.assert_array_equal(found.rows, rows)
    assert found.columns == ("zip", "born")
    assert found.probability.min() > 0.99
    # One of the two leaves the twenty rows of a zip code, all as likely.
    half = link_records(release, ExternalTable({"zip": frame["zip"][rows].tolist()}))
    np.testing.assert_allclose(half.probability, 1 / 20, rtol=1e-3)
    assert (frame["zip"].to_numpy()[half.rows] == frame["zip"].to_numpy()[rows]).all()


def test_narrow_classes_and_lengths():
    x = people(300, 2)
    classes = published(x, veil.Discretize(edges={"x0": np.sort(x[:, 0])[1:].tolist(), "x1": [1.0]}))
    np.testing.assert_array_equal(link_records(classes, ExternalTable(x[:50])).rows, np.arange(50))
    turned = published(x, veil.OrthogonalTransform(translation=1.0, random_state=0))
    with pytest.raises(NotApplicableError, match="do not tell rows apart"):
        link_records(turned, ExternalTable(x))
    with pytest.raises(NotApplicableError, match="do not tell rows apart"):
        link_records(published(x, veil.OrthogonalTransform()), ExternalTable({"x0": x[:, 0]}))


# -- no better than guessing ---------------------------------------------------------------


@pytest.mark.parametrize("distribution", ["normal", "uniform", "laplace"])
def test_huge_noise_leaves_guessing(distribution):
    n, hits, said = 50, 0, []
    for seed in range(40):
        x = people(n, 2, seed)
        found = link_records(
            published(x, veil.AdditiveNoise(1e4, distribution=distribution, random_state=seed)), ExternalTable(x)
        )
        hits += int((found.rows == np.arange(n)).sum())
        said.append(found.probability)
    # A value at the very end of uniform noise rules some people out: that happens to one value in some thousands.
    assert np.mean(np.abs(np.array(said) * n - 1) < 0.05) > 0.97
    assert np.mean(said) == pytest.approx(1 / n, rel=0.05)
    assert within_standard_errors(hits / (40 * n), linkage_baseline(n), error(1 / n, 40 * n))


def test_coins_tell_nothing():
    """A response that does not depend on the truth leaves every row as likely."""
    frame = pd.DataFrame({"smokes": np.random.default_rng(0).choice(["yes", "no"], size=200)})
    found = link_records(published(frame, veil.RandomizedResponse(keep=0.5, random_state=0)), ExternalTable(frame))
    # The reports' shares differ a little from one half, which the attacker takes for a difference.
    reported = np.mean(found.probability) * 200
    assert 1.0 <= reported < 1.0 + 4 * 0.5 / np.sqrt(200) / 0.5


# -- closed forms --------------------------------------------------------------------------


@pytest.mark.parametrize("gap", [0.5, pytest.param(2.0, marks=pytest.mark.slow)])
def test_two_people_are_told_apart_as_often_as_theory_says(gap, monkeypatch):
    """Two people, two rows, one normal column: right when the noisy order is, P = Φ(gap / (σ√2))."""
    monkeypatch.setattr("veil.attacks.linkage.search.LEAST_STRANGERS", 1e-12)  # the two are known to be the two
    right, claimed, runs = 0, 0.0, 1_000
    x = np.array([[0.0], [gap]])
    for seed in range(runs):
        release = published(x, veil.AdditiveNoise(1.0, relative=False, random_state=seed))
        found = link_records(release, ExternalTable(x))
        y = release.to_numpy()[:, 0]
        right += int(found.rows[0] == 0)
        claimed += float(found.probability[0])
        # Bayes' rule for the two ways to give the rows: odds exp(gap·(y1 − y0)/σ²).
        exact = 1 / (1 + np.exp(-gap * abs(y[1] - y[0])))
        assert found.probability[0] == pytest.approx(exact, abs=1e-6)
    expected = NormalDist().cdf(gap / np.sqrt(2))
    assert within_standard_errors(right / runs, expected, error(expected, runs))
    # The claim is at least ½ and at most 1, so that its standard error is below ½/√runs.
    assert within_standard_errors(claimed / runs, expected, 0.5 / np.sqrt(runs))


def test_the_density_under_additive_and_multiplicative_noise_is_the_integral():
    """f(y | x) = ∫ law(r) N(y − x r; τ²) dr over both pieces of a notched law."""
    law, tau = FactorLaw(1.0, 0.2, (0.5, 1.6), notch=0.05), 0.3
    x, y = np.array([[2.0], [0.0], [-1.5]]), np.array([[2.3], [0.1], [-2.0], [1.0]])
    flat = Background(y, np.ones(1))
    general = flat.log_density(np.array([True]))
    found = FactorClue(x, y, flat, law, np.array([tau])).score(slice(None)) + general

    def density(known, seen):
        def inside(r):
            factor = np.exp(-0.5 * ((r - law.mean) / law.std) ** 2) / law.std / np.sqrt(2 * np.pi) / law.acceptance
            return factor * np.exp(-0.5 * ((seen - known * r) / tau) ** 2) / tau / np.sqrt(2 * np.pi)

        return sum(quad(inside, low, high)[0] for low, high in law.pieces)

    wanted = np.log([[density(a, b) for b in y[:, 0]] for a in x[:, 0]])
    told = wanted - general > -20.0  # less likely than that is not told apart any more
    assert told.sum() == 8
    np.testing.assert_allclose(found[told], wanted[told], atol=1e-5)
    assert (found[~told] - wanted[~told] > -1e-5).all()


def test_what_is_claimed_is_true():
    """The mean posterior of the links is the share of right ones; the likelihood alone would claim too much."""
    x = people(1_500, 4, 3) @ np.random.default_rng(4).uniform(size=(4, 4))
    found = link_records(published(x, veil.AdditiveNoise(0.2, random_state=5)), ExternalTable(x))
    hit = rate(found, np.arange(1_500))
    assert within_standard_errors(hit, found.probability.mean(), error(hit, 1_500))


# -- more knowledge, better links ----------------------------------------------------------


@pytest.mark.parametrize(
    "method", [veil.MultiplicativeNoise(0.15, random_state=0), veil.CombinedNoise(0.15, scale=0.02, random_state=0)]
)
def test_the_bayesian_form_beats_the_nearest_neighbour(method):
    x = people(1_000, 3)
    release, everybody = published(x, method), ExternalTable(x)
    best, nearest = (link_records(release, everybody, variant=v) for v in ("best", "nearest"))
    own = np.arange(1_000)
    assert rate(best, own) > rate(nearest, own) + 4 * error(rate(best, own), 1_000) * np.sqrt(2)
    assert np.isnan(nearest.probability).all()


def test_a_plan_with_two_parts_uses_both():
    x = people(800, 2)
    frame = pd.DataFrame(x, columns=["a", "b"])
    plan = veil.Plan([("a", veil.AdditiveNoise(0.05, random_state=0)), ("b", veil.MultiplicativeNoise(0.05))])
    release, _ = veil.publish(frame, plan, key=veil.Key.from_seed(1))
    own = np.arange(800)
    one, other, both = (rate(link_records(release, ExternalTable(frame[c])), own) for c in (["a"], ["b"], ["a", "b"]))
    assert both > max(one, other) + 0.1
    links = LinkageAttack().run(release, ExternalTable(frame))
    assert links.columns == ("a", "b")
    assert len(links.rows) == len(links.probability) == len(links.present) == 800
    assert not isinstance(links, veil.Guess)
    assert float(linkage_rate(own, links.rows)) == both


@pytest.mark.parametrize("joint", [False, True])
def test_categories_by_randomized_response(joint):
    """Right posterior of a report: P[reported, true] over its share; a column that is not known is averaged out."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 300, p=[0.6, 0.3, 0.1]), "b": rng.integers(0, 4, 300)})
    release = published(frame, veil.RandomizedResponse(keep=0.8, joint=joint, random_state=0))
    known = ExternalTable({"a": ["z", "x", None, "unheard of"], "b": [3, 0, 1, 2]})
    found = link_records(release, known)
    shown = release.data
    assert (shown["a"][found.rows[0]], shown["b"][found.rows[0]]) == ("z", 3)
    assert shown["b"][found.rows[3]] == 2
    if not joint:
        alike = int(((shown["a"] == "z") & (shown["b"] == 3)).sum())
        ratio = 0.8 / np.mean(shown["a"] == "z") * 0.8 / np.mean(shown["b"] == 3)
        assert found.probability[0] == pytest.approx(ratio / 300, rel=0.2)
        assert found.probability[0] * alike < 1


def test_zeros_of_multiplicative_noise():
    """Factors keep zeros: the one person with a zero is found, and no zero is given to anybody else."""
    x = people(200, 2)
    x[7, 0] = 0.0
    release = published(x, veil.MultiplicativeNoise(0.3, random_state=0))
    found = link_records(release, ExternalTable(x))
    assert found.rows[7] == 7
    assert (np.delete(found.rows, 7) != 7).all()


def test_declared_bounds_clip_what_is_known():
    """A value beyond the bounds of a mechanism is compared as the bound: it is no stranger's."""
    x = np.array([[1e6], *([0.0] for _ in range(99))])
    release = published(x, veil.LaplaceMechanism(15.0, (0.0, 1.0), random_state=0))
    assert link_records(release, ExternalTable(x[:1])).rows[0] == 0


def test_missing_values_say_nothing():
    x = people(300, 3)
    y = x.copy()
    y[:100, 0] = np.nan
    release = published(y, veil.AdditiveNoise(0.01, random_state=0))
    known = x[:200].copy()
    known[50:150, 1] = np.nan
    found = link_records(release, ExternalTable(known))
    assert rate(found, np.arange(200)) > 0.8
    blank = link_records(release, ExternalTable(np.full((1, 3), np.nan)))
    assert blank.probability[0] == pytest.approx(1 / 300)


def test_people_who_are_not_there():
    x = people(600, 3)
    release = published(x[:300], veil.AdditiveNoise(0.01, random_state=0))
    sure, doubting = (link_records(release, ExternalTable(x[200:400]), overlap=share) for share in (1.0, 0.5))
    assert (sure.rows >= 0).all()
    assert (doubting.rows[100:] < 0).mean() > 0.7
    own = np.where(np.arange(200, 400) < 300, np.arange(200, 400), -1)
    assert linkage_rate(own, doubting.rows).low > 0.8
    assert doubting.present[:100].mean() > 0.9 > 0.5 > doubting.present[100:].mean()


def test_a_method_that_says_nothing_is_compared_as_it_is():
    x = people(200, 2)
    release = published(x, veil.AdditiveNoise(1e-3, random_state=0))
    parts = (replace(release.only_part, method="another", model=UnknownModel()),)
    release = memory_release(release.table.read(), replace(release.manifest, parts=parts), "pyarrow", {})
    best, nearest = (link_records(release, ExternalTable(x), variant=v) for v in ("best", "nearest"))
    assert rate(best, np.arange(200)) >= rate(nearest, np.arange(200)) > 0.9


# -- invariance, blocks, inputs ------------------------------------------------------------


def test_permuted_rows_permute_the_links(monkeypatch):
    x = people(200, 2)
    release = published(x, veil.AdditiveNoise(0.3, random_state=0))
    order = np.random.default_rng(0).permutation(200)
    shuffled = memory_release(release.table.read().take(pa.array(order)), release.manifest, "pyarrow", {})
    one, other = (link_records(r, ExternalTable(x[:80])) for r in (release, shuffled))
    np.testing.assert_array_equal(one.rows, order[other.rows])
    np.testing.assert_allclose(one.probability, other.probability, rtol=1e-9)
    monkeypatch.setattr("veil.attacks.linkage.search.BLOCK", 700)
    monkeypatch.setattr("veil.attacks.linkage.search.HELD", 0)
    small = link_records(release, ExternalTable(x[:80]))
    np.testing.assert_array_equal(one.rows, small.rows)
    np.testing.assert_allclose(one.probability, small.probability, rtol=1e-9)


def test_kinds_of_tables():
    x = people(100, 2)
    release = published(pd.DataFrame(x, columns=["a", "b"]), veil.AdditiveNoise(0.01, random_state=0))
    given = [
        ExternalTable(pd.DataFrame(x, columns=["a", "b"])),
        ExternalTable(pa.table({"a": x[:, 0], "b": x[:, 1], "name": ["someone"] * 100})),
        ExternalTable({"b": x[:, 1], "a": x[:, 0]}),
        ExternalTable(x, columns=["a", "b"]),
    ]
    links = [link_records(release, external).rows.tolist() for external in given]
    assert links[0] == links[1] == links[2] == links[3]
    assert repr(given[1]) == "<ExternalTable: an external table of 100 people and 3 columns>"
    assert repr(link_records(release, given[0])) == "<Links: 100 of 100 records by 2 columns>"
    assert ExternalTable.option() == "--external-table"


def test_bad_inputs():
    frame = pd.DataFrame({"a": people(50, 1)[:, 0], "town": ["here", "there"] * 25})
    release = published(frame, veil.AdditiveNoise(random_state=0), roles={"town": "public"})
    with pytest.raises(InputError, match="shares no column with the release, whose columns are 'a', 'town'"):
        link_records(release, ExternalTable({"b": [1.0]}))
    with pytest.raises(InputError, match="column 'a' must hold numbers"):
        link_records(release, ExternalTable({"a": ["one"]}))
    with pytest.raises(InputError, match="column 'town' must be of the release's type"):
        link_records(release, ExternalTable({"town": [1]}))
    with pytest.raises(InputError, match="overlap must be"):
        link_records(release, ExternalTable({"a": [1.0]}), overlap=0.0)
    with pytest.raises(InputError, match="variant must be"):
        LinkageAttack(variant="worst").run(release, ExternalTable({"a": [1.0]}))
    with pytest.raises(InputError, match="external must be"):
        link_records(release, frame)
    with pytest.raises(MissingKnowledgeError, match="needs ExternalTable"):
        LinkageAttack().run(release)
    for wrong in ({"a": [1.0], "b": [1.0, 2.0]}, {"a": []}, 3):
        with pytest.raises(InputError):
            ExternalTable(wrong)
    with pytest.raises(InputError, match="name each of the table's 2 columns"):
        ExternalTable(people(3, 2), columns=["a"])
    sums = published(people(50, 3), veil.RandomProjection(2, axis="records", random_state=0))
    with pytest.raises(NotApplicableError, match="no theory"):
        LinkageAttack().run(sums, ExternalTable(people(5, 3)))
    names = pd.DataFrame({"name": ["Ada", "Bob"]})
    with pytest.raises(NotApplicableError, match="do not tell rows apart"):
        link_records(published(names, veil.Pseudonymize(random_state=0)), ExternalTable(names))


def test_the_rate():
    found = linkage_rate([3, 1, 2, -1], [3, 1, -1, 0])
    assert found == pytest.approx(2 / 3)
    assert (found.low, found.high) == veil.measures.wilson(2, 3)
    for wrong in (([0, 1], [0]), ([0.5], [0]), ([-2], [0]), ([-1], [0]), ([[0]], [[0]])):
        with pytest.raises(InputError):
            linkage_rate(*wrong)
    with pytest.raises(InputError):
        linkage_baseline(0)


def test_a_rare_value_says_more_than_a_common_one():
    clue = EqualityClue(np.array([0, 1]), np.array([0, 0, 0, 1, -1]))
    np.testing.assert_allclose(np.exp(clue.score(slice(None))), [[4 / 3] * 3 + [1e-6, 1], [1e-6] * 3 + [4, 1]])
