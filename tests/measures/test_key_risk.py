"""Individual, prosecutor, journalist and marketer risk: closed forms, the law by simulation, and refusals."""

from decimal import Decimal, getcontext

import numpy as np
import pandas as pd
import pytest

import veil
from veil.measures import (
    cell_counts,
    cell_sizes,
    diversity,
    individual_risk,
    key_risks,
    negative_binomial_risk,
    uniqueness,
)


def exact(f, share):
    """π/f ₂F₁(1, 1; f + 1; 1 − π) by the recurrence of its integral, in 120 digits."""
    getcontext().prec = 120
    share = Decimal(share)
    q = 1 - share
    integral = (1 / share).ln() / q
    for m in range(1, f):
        integral = (Decimal(1) / m - share * integral) / q
    return float(share * integral)


@pytest.mark.parametrize("f", [1, 2, 3, 4, 8, 29, 30, 45])
@pytest.mark.parametrize("share", [0.979, 0.981, 0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-9])
def test_the_risk_is_the_mean_of_the_negative_binomial_law(f, share):
    assert negative_binomial_risk([f], [f / share])[0] == pytest.approx(exact(f, share), rel=1e-10)


@pytest.mark.parametrize("f", [1, 3, 100, 100_000])
def test_without_sampling_the_risk_is_that_of_the_table(f):
    assert negative_binomial_risk([f], [f])[0] == pytest.approx(1 / f, rel=1e-12)
    assert negative_binomial_risk([f], [f / 2])[0] == pytest.approx(1 / f, rel=1e-12)


def test_large_cells_neither_overflow_nor_cancel():
    f, total = np.array([500, 5_000, 100_000]), np.array([1e6, 1e7, 1e9])
    risk = negative_binomial_risk(f, total)
    share = f / total
    # Franconi and Polettini's bounds: Jensen's from below, π/(f − 1 + π) from above.
    assert (risk > 1 / total).all()
    assert (risk < share / (f - 1 + share)).all()


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_simulated_populations_have_that_mean(share):
    """F of density 1/F before, f binomial: F given f is negative binomial, which is the model's posterior."""
    rng = np.random.default_rng(0)
    sizes = np.arange(1, 400)
    prior = 1 / sizes
    population = rng.choice(sizes, 400_000, p=prior / prior.sum())
    sample = rng.binomial(population, share)
    for f in (1, 2, 3, 5):
        inverse = 1 / population[sample == f]
        error = inverse.std() / np.sqrt(len(inverse))
        assert inverse.mean() == pytest.approx(negative_binomial_risk([f], [f / share])[0], abs=4 * error)


def test_expected_reidentifications_in_a_sample_of_a_population():
    """Equal weights: the sum of the risks is a fifth below that of the true 1/F, where small cells are frequent."""
    rng = np.random.default_rng(1)
    n = 60_000
    frame = pd.DataFrame({"age": rng.integers(18, 80, n), "town": (rng.pareto(1.0, n) * 5).astype(int).clip(0, 200)})
    truth = 1 / cell_sizes(frame)
    ratios = []
    for _ in range(5):
        chosen = rng.random(n) < 0.2
        ratios.append(key_risks(frame[chosen], weights=np.full(chosen.sum(), 5.0)).expected / truth[chosen].sum())
    assert 0.7 < np.mean(ratios) < 1.1
    # 1/f, the risk without weights, is more than twice too large, and 1/F of the sums alone smaller still.
    assert key_risks(frame[chosen]).expected > 2 * truth[chosen].sum()
    assert (1 / (5 * cell_sizes(frame[chosen]))).sum() < np.mean(ratios) * truth[chosen].sum()


def test_the_population_gives_journalist_and_marketer_risk():
    rng = np.random.default_rng(2)
    people = pd.DataFrame({"age": rng.integers(0, 50, 3_000), "sex": rng.choice(list("fm"), 3_000)})
    own = people.iloc[:300]
    risks = key_risks(own, population=people)
    sizes = people.groupby(["age", "sex"])["age"].transform("size").iloc[:300]
    assert risks.journalist == pytest.approx((1 / sizes).max())
    assert risks.marketer == pytest.approx((1 / sizes).mean())
    assert risks.expected == pytest.approx((1 / sizes).sum())
    assert risks.prosecutor_mean == pytest.approx(own.groupby(["age", "sex"]).ngroups / 300)


def test_counts_are_those_of_uniqueness():
    rng = np.random.default_rng(3)
    keys = [rng.integers(0, 12, 500), rng.choice(list("abcdefg"), 500)]
    counts = cell_counts(keys)
    assert counts.unique == round(float(uniqueness(keys)) * 500)
    assert counts.below_3 == round(float(uniqueness(keys, k=3)) * 500)
    assert counts.below_5 == round(float(uniqueness(keys, k=5)) * 500)
    assert counts.n_cells == len(set(zip(*keys, strict=True)))


def test_diversity_of_a_cell_is_that_of_its_values():
    cells, values = [1, 1, 1, 1, 2, 2, 3], ["a", "b", "c", "d", "a", "a", None]
    assert diversity([cells], values).tolist() == [4, 4, 4, 4, 1, 1, 1]
    assert diversity([cells], values, kind="entropy") == pytest.approx([4, 4, 4, 4, 1, 1, 1])


def test_the_order_of_records_does_not_matter():
    rng = np.random.default_rng(4)
    keys, weights, order = rng.integers(0, 9, (2, 200)), rng.uniform(1, 30, 200), rng.permutation(200)
    one = individual_risk(list(keys), weights)
    assert individual_risk(list(keys[:, order]), weights[order]) == pytest.approx(one[order])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: individual_risk([[1, 2]], [1.0]), "weights: must be 2 numbers"),
        (lambda: individual_risk([[1, 2]], [1.0, np.nan]), "weights: 1 of 2 are missing, infinite or negative"),
        (lambda: key_risks([[1, 2]], population=[[1, 1]]), "population: has nobody in the cells of 1 records"),
        (lambda: key_risks([[1, 2]], population=[[1, 2], [1, 2]]), "population: has 2 column"),
        (lambda: key_risks([[1]], population=[[1]], weights=[1]), "pass one of them"),
        (lambda: diversity([[1, 2]], ["a"]), "sensitive: has 1 record"),
        (lambda: negative_binomial_risk([0], [1]), "sizes: must be counts of 1 or more"),
    ],
)
def test_refusals_say_what_to_do(call, message):
    with pytest.raises(veil.InputError, match=message):
        call()
