"""Far-out values: definition, exact baseline against brute force, and limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures import far_out_baseline, far_out_rate, standard_units, wilson

SEEDS = st.integers(0, 2**32 - 1)


def crowd_and_strangers(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(80, 2)) * [1.0, 50.0]
    table[:9] *= rng.uniform(3, 12, size=(9, 2))
    table[rng.random((80, 2)) < 0.1] = np.nan
    return table


@given(seed=SEEDS, tolerance=st.floats(0.01, 0.9), beyond=st.floats(0.5, 4))
def test_rate_is_the_definition(seed: int, tolerance: float, beyond: float) -> None:
    truth = crowd_and_strangers(seed)
    guess = truth * np.random.default_rng(seed).uniform(0.3, 1.7, size=truth.shape)
    s, medians = standard_units(truth), np.nanmedian(truth, axis=0)
    hits, far, records = 0, 0, set()
    for i, j in zip(*np.nonzero(~np.isnan(truth)), strict=True):
        distance = abs(truth[i, j] - medians[j])
        if distance > beyond * s[j]:
            far += 1
            records.add(i)
            hits += abs(guess[i, j] - truth[i, j]) <= tolerance * distance
    rate = far_out_rate(truth, guess, tolerance, beyond=beyond)
    if far == 0:
        assert math.isnan(rate)
        return
    assert rate == hits / far
    assert (rate.low, rate.high) == wilson(hits / far * len(records), len(records))


@given(seed=SEEDS, tolerance=st.floats(0.0, 1.5), beyond=st.floats(0.5, 3))
def test_baseline_is_the_brute_force_optimum(seed: int, tolerance: float, beyond: float) -> None:
    truth = crowd_and_strangers(seed)
    s, medians = standard_units(truth), np.nanmedian(truth, axis=0)
    hits = far = 0
    for j in range(2):
        distance = np.abs(truth[:, j] - medians[j])
        values = truth[distance > beyond * s[j], j]
        reach = tolerance * np.abs(values - medians[j])
        ends = np.concatenate([values - reach, values + reach, values])
        far += len(values)
        inside = np.abs(values[None] - ends[:, None]) <= reach * (1 + 1e-9) + 1e-12
        hits += int(inside.sum(axis=1).max()) if len(values) else 0
    baseline = far_out_baseline(truth, tolerance, beyond=beyond)
    if far == 0:
        assert math.isnan(baseline)
    else:
        assert baseline == pytest.approx(hits / far, abs=1e-12)
        assert baseline.low == baseline.high == baseline


def test_intervals_that_only_touch_share_their_point() -> None:
    # At tolerance 1 every interval ends at the median: guessing it is always close enough.
    column = np.random.default_rng(0).standard_t(2, size=300) + 0.1
    assert far_out_baseline(column, 1.0) == 1.0


@pytest.mark.parametrize("tolerance", [0.0, 0.2])
def test_no_constant_beats_the_baseline(tolerance: float) -> None:
    truth = np.random.default_rng(1).standard_cauchy(400)
    baseline = far_out_baseline(truth, tolerance)
    for constant in np.linspace(truth.min(), truth.max(), 2_000):
        assert far_out_rate(truth, np.full(400, constant), tolerance) <= baseline


def test_nobody_far_out_is_not_a_number() -> None:
    for truth in (np.arange(20.0), np.full(5, 3.0), [7.0], [[math.nan], [1.0]]):
        rate = far_out_rate(truth, truth, 0.1)
        baseline = far_out_baseline(truth, 0.1)
        assert all(math.isnan(part) for part in (rate, rate.low, rate.high, baseline, baseline.low, baseline.high))


def test_a_silent_attack_gives_nobody_away() -> None:
    truth = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 100.0])
    assert far_out_rate(truth, np.full(6, np.nan), 0.5) == 0.0


def test_a_guess_on_the_boundary_counts() -> None:
    truth = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 77.7])
    median = np.median(truth)
    for sign in (1, -1):
        guess = truth + sign * 0.1 * np.abs(truth - median)
        assert far_out_rate(truth, guess, 0.1) == 1.0
        assert far_out_rate(truth, truth + sign * 0.1002 * np.abs(truth - median), 0.1) == 0.0


def test_scoring_a_part_with_the_units_and_centre_of_the_whole() -> None:
    whole = np.array([*range(20), 500.0, 520.0])
    part = whole[20:]
    assert math.isnan(far_out_rate(part, part, 0.1))
    rate = far_out_rate(part, [500.0, 0.0], 0.1, units=standard_units(whole), centre=[np.median(whole)])
    assert rate == 0.5
    assert far_out_baseline(part, 0.1, units=standard_units(whole), centre=[np.median(whole)]) == 1.0


@given(seed=SEEDS, power=st.floats(-6, 6), shift=st.floats(-5, 5))
def test_units_origin_and_row_order_change_nothing(seed: int, power: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    truth = crowd_and_strangers(seed)
    guess = truth * rng.uniform(0.5, 1.5, size=truth.shape)
    order, factor = rng.permutation(80), 10.0**power
    moved = [(table[order] + shift) * factor for table in (truth, guess)]
    np.testing.assert_equal(float(far_out_rate(*moved, 0.2)), float(far_out_rate(truth, guess, 0.2)))
    np.testing.assert_equal(float(far_out_baseline(moved[0], 0.2)), float(far_out_baseline(truth, 0.2)))


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"^beyond(:| must be) "):
        far_out_rate([1.0, 2.0], [1.0, 2.0], 0.1, beyond=-1.0)
    with pytest.raises(InputError, match=r"^centre(:| must be) "):
        far_out_baseline([1.0, 2.0], 0.1, centre=[1.0, 2.0])
    with pytest.raises(InputError, match=r"^tolerance(:| must be) "):
        far_out_rate([1.0, 2.0], [1.0, 2.0], math.nan)
