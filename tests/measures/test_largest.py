"""The largest values of a column: which they are, when a guess tells one, and the best constant for them."""

import numpy as np
import pytest

from veil.measures import far_out_rate, largest_baseline, largest_rate, standard_units
from veil.measures.far_out import most_stabbed
from veil.measures.largest import LargestRule, best_constants, constants_of_others, largest, told


def heavy(n=500, seed=0):
    return np.random.default_rng(seed).lognormal(10, 1.2, n)


def test_the_largest_are_the_n_largest_with_all_of_a_tie():
    x = heavy()
    rising = np.sort(x)
    assert np.array_equal(np.flatnonzero(largest(x[:, None], LargestRule(7))[:, 0]), np.flatnonzero(x >= rising[-7]))
    x[x == rising[-8]] = rising[-7]
    assert largest(x[:, None], LargestRule(7)).sum() == 8


def test_values_inside_the_crowd_below_zero_or_missing_do_not_count():
    z = np.random.default_rng(0).normal(size=(1_000, 1))
    far = z > 3 * standard_units(z) + np.median(z)
    assert np.array_equal(largest(z, LargestRule(10)), far)
    assert not largest(-heavy()[:, None], LargestRule(10)).any()
    holes = heavy()[:, None]
    holes[np.argmax(holes)] = np.nan
    assert largest(holes, LargestRule(10)).sum() == 10


def test_members_of_a_group_count_as_one():
    x = np.repeat(heavy(200), 3)[:, None]
    codes = np.repeat(np.arange(200), 3)
    assert len(np.unique(codes[largest(x, LargestRule(10), groups=(codes,))[:, 0]])) == 7
    assert len(np.unique(codes[largest(x, LargestRule(5), groups=(codes,))[:, 0]])) == 5
    assert len(np.unique(codes[largest(x, LargestRule(9))[:, 0]])) == 3


def test_one_is_told_within_a_share_of_the_value_and_not_beyond():
    x = np.array([100.0, 100.0, 100.0, np.nan])
    assert told(x, np.array([110.0, 90.0, 110.1, 1.0]), 0.1).tolist() == [True, True, False, False]
    exact = heavy()
    assert float(largest_rate(exact, exact)) == 1
    assert float(largest_rate(exact, exact * 1.2)) == 0
    assert np.isnan(float(largest_rate(np.arange(20.0), np.arange(20.0))))


def test_units_do_not_matter():
    x, guess = heavy(), heavy() * np.random.default_rng(1).normal(1, 0.1, 500)
    for factor in (1e-6, 3.7, 2.0**20):
        assert float(largest_rate(x * factor, guess * factor)) == float(largest_rate(x, guess))


@pytest.mark.parametrize("seed", range(5))
def test_no_constant_tells_more_than_the_baseline(seed):
    x = heavy(seed=seed)
    baseline = float(largest_baseline(x))
    rates = [float(largest_rate(x, np.full(500, c))) for c in np.geomspace(x.min(), 1.2 * x.max(), 2_000)]
    assert max(rates) <= baseline
    most = largest(x[:, None], LargestRule())
    assert float(largest_rate(x[:, None], best_constants(x[:, None], most, 0.1))) == baseline


@pytest.mark.parametrize("seed", range(5))
def test_the_constant_of_others_is_the_best_without_the_value_itself(seed):
    x = np.random.default_rng(seed).permutation(np.sort(heavy(seed=seed))[-12:])
    others = [np.delete(x, i) for i in range(12)]
    assert constants_of_others(x, 0.1, np.arange(12)) == pytest.approx([most_stabbed(o, 0.1 * o) for o in others])
    pairs = np.repeat(x, 2)
    twice = constants_of_others(pairs, 0.1, np.repeat(np.arange(12), 2))
    assert twice[::2] == pytest.approx(constants_of_others(x, 0.1, np.arange(12)))
    assert np.isnan(constants_of_others(x[:1], 0.1, np.arange(1))).all()


def test_an_average_over_far_out_values_drowns_the_largest():
    """V17: with noise of one scale the largest are told, and the many that are barely far out are not."""
    x, rng = heavy(5_000), np.random.default_rng(1)
    releases = [x + 2.0 * standard_units(x) * rng.normal(size=5_000) for _ in range(20)]
    far_out, largest_ones = (
        np.mean([float(rate(x, y, **size)) for y in releases])
        for rate, size in ((far_out_rate, {"tolerance": 0.1}), (largest_rate, {"share": 0.1}))
    )
    assert largest_ones > 2 * far_out
