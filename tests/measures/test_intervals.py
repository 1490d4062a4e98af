"""Intervals: closed forms, coverage by simulation, and limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from veil.errors import InputError
from veil.measures import ratio_interval, repetition_interval, wilson


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (3, 10), (10, 10), (57, 400), (1, 1)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_agrees_with_scipy(successes: int, n: int, confidence: float) -> None:
    expected = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert wilson(successes, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_ends_solve_the_score_equation_for_fractional_successes() -> None:
    share, n, z = 6.4 / 25, 25, stats.norm.ppf(0.975)
    for end in wilson(6.4, n):
        assert abs(share - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n), rel=1e-12)


def test_wilson_without_trials_knows_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(n=st.integers(1, 10_000), share=st.floats(0, 1))
def test_wilson_holds_the_share_inside_the_unit_interval(n: int, share: float) -> None:
    low, high = wilson(share * n, n)
    assert 0.0 <= low <= share * n / n <= high <= 1.0


def test_wilson_reaches_zero_and_one_exactly() -> None:
    assert wilson(0, 7)[0] == 0.0
    assert wilson(7, 7)[1] == 1.0


def test_wilson_covers_at_its_level() -> None:
    # Exact coverage at n = 200, p = .1, from the binomial law: no simulation error at all.
    n, p = 200, 0.1
    inside = [low <= p <= high for low, high in (wilson(k, n) for k in range(n + 1))]
    coverage = float(stats.binom.pmf(np.arange(n + 1), n, p) @ np.array(inside, dtype=float))
    assert 0.93 < coverage < 0.97


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (math.nan, 5), (1, -1), (1, 2.5), (True, 5)])
def test_wilson_refuses(successes: float, n: int) -> None:
    with pytest.raises(InputError, match=r"^(successes|n) must be "):
        wilson(successes, n)


def test_repetition_interval_is_students() -> None:
    values = [0.30, 0.45, 0.38, 0.41, 0.33]
    expected = stats.t.interval(0.9, 4, loc=np.mean(values), scale=stats.sem(values))
    assert repetition_interval(values, 0.9) == pytest.approx(expected, rel=1e-12)


def test_repetition_interval_is_clipped_to_the_bounds() -> None:
    assert repetition_interval([0.0, 1.0, 0.0, 1.0]) == (0.0, 1.0)
    low, high = repetition_interval([-0.9, 0.9], lower=-math.inf, upper=1.0)
    assert low < -5.0
    assert high == 1.0


def test_one_repetition_knows_nothing() -> None:
    assert repetition_interval([0.4]) == (0.0, 1.0)
    assert repetition_interval([0.4], lower=-2.0, upper=3.0) == (-2.0, 3.0)


@pytest.mark.parametrize("values", [[], [0.2, math.nan], [0.2, 1.5], [-0.1, 0.2], ["a", "b"]])
def test_repetition_interval_refuses(values: list[float]) -> None:
    with pytest.raises(InputError, match=r"^values: "):
        repetition_interval(values)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95.0, math.nan])
def test_confidence_must_be_a_share(confidence: float) -> None:
    for call in (lambda: wilson(1, 2, confidence), lambda: repetition_interval([0.1, 0.2], confidence)):
        with pytest.raises(InputError, match=r"^confidence(:| must be) "):
            call()


def test_ratio_interval_of_equal_denominators_is_the_mean_interval() -> None:
    values = np.random.default_rng(1).gamma(2.0, size=50)
    expected = stats.t.interval(0.95, 49, loc=values.mean(), scale=stats.sem(values))
    assert ratio_interval(values, np.ones(50))[1:] == pytest.approx(expected, rel=1e-10)


def test_ratio_interval_covers_at_its_level() -> None:
    # 2,000 tables of 60 records; the standard error of a coverage of .95 is .0049, 4 of them .0195,
    # and linearisation at n = 60 may cost about .01 more on the low side.
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(2_000):
        below = rng.uniform(1, 3, size=60)
        above = 0.7 * below + rng.normal(scale=0.5, size=60)
        _, low, high = ratio_interval(above, below, lower=-math.inf)
        hits += low <= 0.7 <= high
    assert 0.92 < hits / 2_000 < 0.97


def test_ratio_interval_ignores_records_that_say_nothing() -> None:
    informative = ratio_interval([1.0, 3.0, 2.0], [2.0, 2.0, 1.0])
    assert ratio_interval([1.0, 0.0, 3.0, 2.0, 0.0], [2.0, 0.0, 2.0, 1.0, 0.0]) == informative


def test_ratio_interval_limits() -> None:
    assert ratio_interval([2.0], [4.0]) == (0.5, 0.0, math.inf)
    assert all(math.isnan(end) for end in ratio_interval([], []))
    with pytest.raises(InputError, match=r"^denominators: "):
        ratio_interval([1.0, 2.0], [1.0])
