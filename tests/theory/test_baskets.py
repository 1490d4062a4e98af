"""P19: reports of transactions follow their law, ε is what it says, and supports are found again without bias."""

import json
import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2

import veil
from _tables import within_standard_errors
from veil.checks import check_perturbation
from veil.errors import InputError, NotApplicableError
from veil.numerics.response_matrix import kron_solve, warner
from veil.perturbations.baskets import SIZE, MarketBasket
from veil.recovery.supports import frequent_itemsets, itemset_support
from veil.release.models import BasketModel, UnknownModel

KINDS = {
    "mask": {"keep": 0.8},
    "lopsided": {"kind": "mask", "keep": 0.6, "insert": 0.05},
    "select": {"kind": "select", "insert": 0.2, "cutoff": 2},
    "gamma": {"kind": "gamma", "gamma": 60.0},
}


def basket(name, seed=None):
    return MarketBasket(**{"kind": name, **KINDS[name]}, random_state=seed)


def model_of(fitted):
    return BasketModel(**json.loads(json.dumps(fitted.disclose())))


def law(model, t):
    """P(y | t) of every pattern y, in exact fractions, by going through all that can happen."""
    d, items = model.n_items, [a for a, has in enumerate(t) if has]
    patterns = list(product((0, 1), repeat=d))
    if model.kind == "gamma":
        x = 1 / (Fraction(model.gamma) + 2**d - 1)
        return {y: Fraction(model.gamma) * x if y == t else x for y in patterns}
    rho = Fraction(model.insert).limit_denominator(1000)
    keep = None if model.keep is None else Fraction(model.keep).limit_denominator(1000)

    def pasted(y, chances):
        return math.prod((c if r else 1 - c for r, c in zip(y, chances, strict=True)), start=Fraction(1))

    if model.kind == "mask":
        return {y: pasted(y, [keep if has else rho for has in t]) for y in patterns}
    found = dict.fromkeys(patterns, Fraction(0))
    for j in range(model.cutoff + 1):
        cuts = list(combinations(items, min(j, len(items))))
        for cut in cuts:
            for y in patterns:
                chances = [Fraction(1) if a in cut else rho for a in range(d)]
                found[y] += pasted(y, chances) / len(cuts) / (model.cutoff + 1)
    return found


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("t", [(1, 0, 1, 1), (0, 1, 0, 0), (0, 0, 0, 0)])
def test_the_law_of_reports(name, t):
    """All 16 patterns at once: Pearson's chi-square of 30,000 reports of one transaction."""
    n = 30_000
    fitted = basket(name, 7).fit(np.array([t] * n))
    y = fitted.transform(np.array([t] * n))
    expected = n * np.array([float(p) for p in law(model_of(fitted), t).values()])
    seen = np.bincount(y[:, :4].astype(int) @ [8, 4, 2, 1], minlength=16)
    assert expected.sum() == pytest.approx(n)
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-5, 15)
    if name == "select":
        assert (y[:, 4] == sum(t)).all()


def test_flips_of_different_items_and_rows_are_unrelated():
    n, d = 20_000, 6
    flips = basket("mask", 3).fit_transform(np.zeros((n, d)))
    related = np.corrcoef(np.hstack([flips[:-1], flips[1:]]).T) - np.eye(2 * d)
    assert np.abs(related).max() < 5 / math.sqrt(n)


# -- amplification ----------------------------------------------------------------------------


def largest_ratio(model, truths):
    laws = [law(model, t) for t in truths]
    return max(max(p[y] for p in laws) / min(p[y] for p in laws) for y in laws[0])


def by_size(d, m):
    return [t for t in product((0, 1), repeat=d) if sum(t) == m]


def test_amplification_of_mask():
    fitted = MarketBasket(keep=0.9).fit(np.eye(5))
    assert fitted.item_epsilon_ == pytest.approx(math.log(9), rel=1e-12)
    assert fitted.item_epsilon_ >= math.log(9)
    assert fitted.epsilon_ == pytest.approx(5 * math.log(9), rel=1e-12)
    lopsided = MarketBasket(keep=0.6, insert=0.05).fit(np.eye(3))
    exact = largest_ratio(model_of(lopsided), list(product((0, 1), repeat=3)))
    assert exact == 12**3, "p/ρ = 12 is more than (1 − ρ)/(1 − p) = 2.375"
    assert lopsided.epsilon_ == pytest.approx(math.log(exact), rel=1e-12)


def test_amplification_of_patterns():
    fitted = MarketBasket("gamma", gamma=19).fit(np.eye(4))
    assert fitted.epsilon_ == fitted.item_epsilon_ == pytest.approx(math.log(19), rel=1e-12)
    assert math.exp(fitted.epsilon_) <= 19 * (1 + 1e-14)
    assert largest_ratio(model_of(fitted), list(product((0, 1), repeat=4))) == 19


def test_amplification_of_select():
    """1 + 1/ρ + … + 1/ρ^K, reached from 2K items on, by sizes from K to half of the items."""
    ratios = {}
    for d in (3, 5):
        fitted = MarketBasket("select", insert=0.2, cutoff=2).fit(np.eye(d))
        assert fitted.epsilon_ == pytest.approx(math.log(1 + 5 + 25), rel=1e-12)
        ratios[d] = [largest_ratio(model_of(fitted), by_size(d, m)) for m in range(d + 1)]
    assert ratios[5][2] == 31
    assert max(r for m, r in enumerate(ratios[5]) if m != 2) < 31
    assert max(ratios[3]) < 31
    assert fitted.item_epsilon_ == math.inf


def test_guarantees():
    x = np.eye(4)
    said = {name: veil.publish(x, basket(name))[0].only_part.guarantee for name in KINDS}
    assert said["mask"].startswith("local differential privacy: epsilon 1.38629 for one item, 5.54518 for all 4 items")
    assert said["gamma"].startswith("local differential privacy: epsilon 4.09434 for one transaction of 4 items")
    assert "epsilon 3.43399, delta 2.78e-17" in said["select"]
    assert "sizes are released as they are" in said["select"]
    assert all(text.endswith("the number of transactions is outside it") for text in said.values())
    for name in KINDS:
        assert veil.publish(x, basket(name, 1))[0].only_part.guarantee == "none", "a seed is no secret"


# -- supports ---------------------------------------------------------------------------------

SETS = ((0,), (1, 3), (0, 1), (0, 4))


def population(n, rng):
    """Five items; 0 and 1 go together, 4 is rare."""
    x = rng.random((n, 5)) < [0.5, 0.2, 0.4, 0.6, 0.1]
    x[:, 1] |= x[:, 0] & (rng.random(n) < 0.6)
    return x.astype(float)


EXPECTED = {(0,): 0.5, (1, 3): (0.5 * 0.2 + 0.5 * 0.68) * 0.6, (0, 1): 0.5 * 0.68, (0, 4): 0.05}


@pytest.mark.parametrize("name", KINDS)
def test_supports_are_unbiased_with_the_stated_errors(name):
    """300 fresh tables and keys: bias, both standard errors, and how often two of them hold the truth."""
    runs, n, rng = 300, 250, np.random.default_rng(11)
    found, own = [], []
    for seed in range(runs):
        x = population(n, rng)
        fitted = basket(name, seed).fit(x)
        y, model = fitted.transform(x), model_of(fitted)
        found.append([itemset_support(y, items, model) for items in SETS])
        own.append([x[:, items].all(axis=1).mean() for items in SETS])
    estimates = np.array([[s.estimate for s in row] for row in found])
    for errors, truth in (
        ("randomization_se", np.array(own)),
        ("standard_error", np.array([EXPECTED[items] for items in SETS])),
    ):
        miss, said = estimates - truth, np.array([[getattr(s, errors) for s in row] for row in found])
        spread = miss.std(axis=0, ddof=1)
        assert within_standard_errors(miss.mean(axis=0), 0, spread / math.sqrt(runs), 4.5)
        tails = (miss**4).mean(axis=0) / (miss**2).mean(axis=0) ** 2
        assert within_standard_errors((said**2).mean(axis=0) / spread**2, 1, np.sqrt((tails - 1) / runs), 4.5)
        inside = (np.abs(miss) < 1.96 * said).mean(axis=0)
        assert (np.abs(inside - 0.95) < 4.5 * math.sqrt(0.05 * 0.95 / runs) + 0.01).all()


def test_reported_supports_are_not_the_supports():
    """What one reads off the release without recovery is far off."""
    rng = np.random.default_rng(5)
    x = population(20_000, rng)
    fitted = basket("mask", 0).fit(x)
    y = fitted.transform(x)
    found = itemset_support(y, (0, 1), model_of(fitted))
    own = x[:, [0, 1]].all(axis=1).mean()
    assert abs(found.estimate - own) < 4.5 * found.randomization_se
    assert abs(y[:, [0, 1]].all(axis=1).mean() - own) > 5 * found.randomization_se


@pytest.mark.parametrize("name", KINDS)
def test_weights_solve_the_law_exactly(name):
    """Over the exact law of each of the 16 transactions, the estimate has the mean 1 if t has A and 0 if not."""
    model = model_of(basket(name, 0).fit(np.eye(4)))
    for t in product((0, 1), repeat=4):
        chances = law(model, t)
        for items in ((0,), (1, 3)):
            mean = square = 0.0
            for y, p in chances.items():
                row = [[*y, sum(t)]] if model.kind == "select" else [list(y)]
                w = itemset_support(row, items, model).estimate
                mean, square = mean + float(p) * w, square + float(p) * w * w
            assert mean == pytest.approx(float(all(t[a] for a in items)), abs=1e-9)


def test_mask_is_the_inverse_of_the_kronecker_product():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, size=(500, 4))
    table = np.bincount(y[:, [0, 2, 3]] @ [4, 2, 1], minlength=8).reshape(2, 2, 2) / 500
    solved = kron_solve([warner(0.8)] * 3, table)
    found = itemset_support(y, (0, 2, 3), BasketModel("mask", 4, keep=0.8, insert=0.2))
    assert found.estimate == pytest.approx(solved[1, 1, 1], abs=1e-12)


def partial_supports(k, m, rho, cutoff):
    """P(l' of k items reported | l of them in a transaction of size m), as Evfimievski et al. write it."""
    matrix = np.zeros((k + 1, k + 1))
    for reported, had, j in product(range(k + 1), range(k + 1), range(cutoff + 1)):
        i = min(j, m)
        for q in range(max(0, i + had - m), min(i, had, reported) + 1):
            cut = math.comb(had, q) * math.comb(m - had, i - q) / math.comb(m, i)
            paste = math.comb(k - q, reported - q) * rho ** (reported - q) * (1 - rho) ** (k - reported)
            matrix[reported, had] += cut * paste / (cutoff + 1)
    return matrix


@pytest.mark.parametrize("m", [3, 5, 9])
def test_select_is_the_inverse_of_the_partial_support_matrix(m):
    k, rho, cutoff = 3, 0.15, 4
    matrix = partial_supports(k, m, rho, cutoff)
    assert matrix.sum(axis=0) == pytest.approx(1)
    inverse = np.linalg.inv(matrix)[-1]
    model = BasketModel("select", 12, insert=rho, cutoff=cutoff)
    for reported in range(k + 1):
        row = [1] * reported + [0] * (12 - reported) + [m]
        assert itemset_support([row], (0, 1, 2), model).estimate == pytest.approx(inverse[reported], rel=1e-9)
    assert np.linalg.matrix_rank(partial_supports(k, 9, rho, 2), tol=1e-9) == 3, "no more than the cutoff"
    with pytest.raises(NotApplicableError, match="at most 2 items"):
        itemset_support([[1] * 12 + [9]], (0, 1, 2), BasketModel("select", 12, insert=rho, cutoff=2))


def test_transactions_too_small_for_an_itemset_do_not_have_it():
    model = BasketModel("select", 3, insert=0.2, cutoff=2)
    found = itemset_support([[1, 1, 1, 1]] * 50, (0, 1), model)
    assert (found.estimate, found.standard_error, found.randomization_se) == (0, 0, 0)


# -- frequent itemsets ------------------------------------------------------------------------


def planted(n, rng):
    """Twelve items of support .08; {0, 1, 2} bought together in 30 % and {5, 6} in 25 % of the transactions."""
    x = rng.random((n, 12)) < 0.08
    x[:, :3] |= (rng.random(n) < 0.3)[:, None]
    x[:, 5:7] |= (rng.random(n) < 0.25)[:, None]
    return x


FREQUENT = [(0,), (1,), (2,), (5,), (6,), (0, 1), (0, 2), (1, 2), (5, 6), (0, 1, 2)]


@pytest.mark.parametrize(
    ("method", "n"),
    [
        (MarketBasket(keep=0.9), 20_000),
        (MarketBasket(keep=0.8, insert=0.02), 20_000),
        (MarketBasket("select", insert=0.05, cutoff=6), 40_000),
        (MarketBasket("gamma", gamma=2000.0), 40_000),
    ],
    ids=["mask", "lopsided", "select", "gamma"],
)
def test_planted_itemsets_are_found(method, n):
    x = planted(n, np.random.default_rng(1))
    release, _ = veil.publish(x, method.set_params(random_state=4))
    found = frequent_itemsets(release.to_numpy(), BasketModel(**release.only_part.parameters), 0.18)
    assert [s.items for s in found] == FREQUENT
    for s in found:
        own = x[:, list(s.items)].all(axis=1).mean()
        assert abs(s.estimate - own) < 4.5 * s.randomization_se
        assert 0 < s.randomization_se < s.standard_error < 0.06


def test_frequent_itemsets_by_brute_force():
    """Without slack to speak of, the same as trying every itemset."""
    y = planted(3_000, np.random.default_rng(8))[:, :7]
    model = BasketModel("mask", 7, keep=0.999, insert=0.001)
    every = [c for k in (1, 2, 3) for c in combinations(range(7), k)]
    expected = [s for s in (itemset_support(y, c, model) for c in every) if s.estimate >= 0.07]
    assert frequent_itemsets(y, model, 0.07) == expected
    assert frequent_itemsets(y, model, 0.07, max_size=1) == [s for s in expected if len(s.items) == 1]


def test_slack_keeps_what_plain_pruning_loses():
    """{1} is estimated just below the least support and {0, 1} just above: pruned without the slack of two errors."""
    y = np.array([[1, 1]] * 25 + [[1, 0]] * 10 + [[0, 1]] * 3 + [[0, 0]] * 12)
    model = BasketModel("mask", 2, keep=0.8, insert=0.2)
    one, both = (itemset_support(y, items, model) for items in ((1,), (0, 1)))
    least = (one.estimate + both.estimate) / 2
    assert one.estimate < least < both.estimate, "estimates of nested itemsets need not be monotone"
    assert [s.items for s in frequent_itemsets(y, model, least)] == [(0,), (0, 1)]


def test_reports_without_information_give_no_itemsets_beyond_chance():
    """Random bits: the estimate of γ near 1 has an error so large that it says so."""
    y = np.random.default_rng(0).integers(0, 2, size=(2_000, 6))
    found = itemset_support(y, (0, 1), BasketModel("gamma", 6, gamma=1.5))
    assert found.standard_error > 0.5
    assert within_standard_errors(found.estimate, 0.25, found.standard_error, 4.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"released": [[0, 2, 1]]}, "1 values are neither"),
        ({"released": [[0, np.nan, 1]]}, "1 values are neither"),
        ({"released": [[0, 1]]}, "3 columns"),
        ({"released": np.empty((0, 3))}, "3 columns"),
        ({"items": [0, 0]}, "each once"),
        ({"items": [3]}, "places from 0"),
        ({"items": []}, "one or more"),
        ({"items": [0.5]}, "whole number"),
    ],
)
def test_refused_by_recovery(change, message):
    given = {"released": [[0, 1, 1]], "items": [0], "model": BasketModel("mask", 3, keep=0.9, insert=0.1), **change}
    with pytest.raises(InputError, match=message):
        itemset_support(**given)


def test_other_models_and_sizes_are_refused():
    with pytest.raises(NotApplicableError):
        itemset_support([[0, 1]], [0], UnknownModel())
    with pytest.raises(NotApplicableError, match="kind 'other'"):
        itemset_support([[0, 1]], [0], BasketModel("other", 2))
    select = BasketModel("select", 2, insert=0.2, cutoff=2)
    with pytest.raises(InputError, match="1 sizes"):
        itemset_support([[0, 1, 3], [0, 1, 2]], [0], select)
    with pytest.raises(NotApplicableError, match="max_size"):
        frequent_itemsets([[0, 1, 2]], select, 0.1)
    with pytest.raises(InputError, match="min_support"):
        frequent_itemsets([[0, 1, 2]], select, 0.0, max_size=2)


# -- the perturbation -------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_contract(name):
    check_perturbation(basket(name))


@pytest.mark.parametrize("name", KINDS)
def test_types(name):
    """Booleans, integers and floats of pandas, polars and numpy are one table, and come out as true and false."""
    x = population(300, np.random.default_rng(4))
    names = list("abcde")
    frames = [
        pd.DataFrame(x.astype(bool), columns=names),
        pd.DataFrame(x.astype("int8"), columns=names),
        pd.DataFrame(x, columns=names),
        pl.DataFrame(x.astype(bool), schema=names),
        pl.DataFrame(x.astype("uint8"), schema=names),
    ]
    releases = [veil.publish(frame, basket(name, 9))[0] for frame in frames]
    for frame, release in zip(frames, releases, strict=True):
        assert type(release.data) is type(frame)
        assert np.array_equal(release.to_numpy(), releases[0].to_numpy())
        assert list(release.data.columns) == ([*names, SIZE] if name == "select" else names)
        assert {str(release.data[c].dtype) for c in names} <= {"bool", "boolean", "Boolean"}
    if name == "select":
        assert releases[0].data[SIZE].tolist() == x.sum(axis=1).tolist()
        assert str(releases[0].data[SIZE].dtype) == "int64"


@pytest.mark.parametrize("name", KINDS)
def test_same_table_same_reports_and_a_changed_cell_unrelated_ones(name):
    x = np.zeros((6_000, 4))
    x[:, 0] = 1
    fitted = basket(name, 1).fit(x)
    first, other = fitted.transform(x), x.copy()
    assert np.array_equal(first, fitted.transform(x))
    other[-1, 3] = 1
    second = fitted.transform(other)
    for j in range(4):
        related = np.corrcoef(first[:-1, j], second[:-1, j])[0, 1]
        assert abs(related) < 5 / math.sqrt(len(x))
    assert not np.array_equal(basket(name, 2).fit_transform(x), first)


@pytest.mark.parametrize("name", KINDS)
def test_the_manifest_says_the_law(name, tmp_path):
    release, _ = veil.publish(population(40, np.random.default_rng(0)), basket(name))
    release.save(tmp_path / "release")
    again = veil.Release.load(tmp_path / "release")
    assert again.only_part.model == BasketModel(**release.only_part.parameters)
    assert np.array_equal(again.to_numpy(), release.to_numpy())


@pytest.mark.parametrize(
    ("model", "released"),
    [
        (BasketModel("mask", 4, keep=0.9, insert=0.1), 5),
        (BasketModel("mask", 5, keep=2.0, insert=0.1), 5),
        (BasketModel("mask", 5, keep=0.1, insert=0.1), 5),
        (BasketModel("mask", 5, keep=0.9), 5),
        (BasketModel("select", 5, insert=0.1, cutoff=2), 5),
        (BasketModel("select", 5, insert=0.1, cutoff=0), 6),
        (BasketModel("gamma", 5, gamma=1.0), 5),
        (BasketModel("gamma", 5), 5),
        (BasketModel("other", 5, insert=0.1, cutoff=2), 5),
    ],
)
def test_manifests_that_say_no_law_are_refused(model, released):
    with pytest.raises(ValueError, match="do not fit"):
        model.check(5, released)


def test_no_way_back():
    x = population(60, np.random.default_rng(0))
    fitted = basket("mask").fit(x)
    assert not fitted.invertible(consistent=False)
    assert not fitted.layout.keeps_cells
    with pytest.raises(NotImplementedError):
        fitted.restore(x.T, None)
    frame = pd.DataFrame(x, columns=list("abcde")).assign(id=[f"p{i}" for i in range(60)])
    with pytest.raises(InputError, match="consistent_on"):
        veil.publish(frame, basket("mask"), roles={"id": "identifier"}, consistent_on="id")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keep": 0.5}, "reports say nothing"),
        ({"keep": 0.3, "insert": 0.3}, "reports say nothing"),
        ({"keep": 1.0}, "keep must be a probability"),
        ({"keep": 0}, "keep must be a probability"),
        ({"insert": 0.0}, "insert must be a probability"),
        ({"keep": True}, "keep must be"),
        ({"gamma": 3.0}, "gamma is no parameter of kind='mask'"),
        ({"kind": "select", "keep": 0.9}, "keep is no parameter"),
        ({"kind": "select", "cutoff": 0}, "cutoff must be a whole number"),
        ({"kind": "select", "cutoff": 21}, "at most 20"),
        ({"kind": "gamma", "gamma": 1.0}, "gamma must be a number above 1"),
        ({"kind": "cut"}, "kind must be"),
        ({"kind": None}, "kind must be"),
    ],
)
def test_refused_parameters(given, message):
    with pytest.raises(InputError, match=message):
        MarketBasket(**given).fit(np.eye(3))


@pytest.mark.parametrize("name", KINDS)
def test_refused_tables(name):
    x = population(50, np.random.default_rng(0))
    x[7, 2] = 2
    with pytest.raises(InputError, match=r"'x2' \(1\)"):
        veil.publish(x, basket(name))
    fitted = basket(name).fit(np.eye(5))
    with pytest.raises(InputError, match="1 values are neither"):
        fitted.transform(x)
    x[7, 2] = np.nan
    with pytest.raises(InputError, match=r"missing values: 'x2' \(1\)"):
        veil.publish(x, basket(name))


def test_too_many_items_for_patterns():
    with pytest.raises(InputError, match="at most 12 columns"):
        MarketBasket("gamma").fit(np.eye(13))


def test_descriptions():
    assert MarketBasket().describe() == "market basket (mask, keep 0.9)"
    assert MarketBasket("select").describe() == "market basket (select, insert 0.1, cutoff 3)"
    assert MarketBasket("gamma", gamma=7).describe() == "market basket (gamma, gamma 7)"
    disclosed = MarketBasket().fit(np.eye(3)).disclose()
    assert disclosed == {"kind": "mask", "n_items": 3, "keep": 0.9, "insert": 0.1}


def test_the_posterior_reads_flipped_items():
    """A20 on MASK: with independent items the best guess is right with probability max over reports, in closed form."""
    rng = np.random.default_rng(11)
    x = rng.uniform(size=(20_000, 3)) < [0.3, 0.5, 0.1]
    release, _ = veil.publish(pd.DataFrame(x, columns=list("abc")), MarketBasket(keep=0.8, random_state=3))
    guess = veil.ResponsePosteriorAttack().run(release)
    for j, share in enumerate([0.3, 0.5, 0.1]):
        best = max(share * 0.8, (1 - share) * 0.2) + max(share * 0.2, (1 - share) * 0.8)
        right = np.mean(guess.values[:, j] == x[:, j])
        assert abs(right - best) < 4.5 * np.sqrt(best * (1 - best) / len(x)) + 0.005
    patterns, _ = veil.publish(pd.DataFrame(x, columns=list("abc")), MarketBasket("gamma", gamma=30.0, random_state=3))
    guess = veil.ResponsePosteriorAttack().run(patterns)
    assert np.mean((guess.values == x).all(axis=1)) > 0.75
    sized, _ = veil.publish(pd.DataFrame(x, columns=list("abc")), MarketBasket("select", random_state=3))
    with pytest.raises(veil.NotApplicableError):
        veil.ResponsePosteriorAttack().run(sized)
