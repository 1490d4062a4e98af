"""Breach rate: definitions checked cell by cell, closed forms, invariances and limits."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from _tables import within_standard_errors
from veil.errors import InputError
from veil.measures import (
    Measure,
    advantage,
    breach_rate,
    breached,
    column_breach_rates,
    standard_units,
    wilson,
)

SEEDS = st.integers(0, 2**32 - 1)


def holed_tables(seed: int, n: int = 40, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, d)) * [1.0, 20.0, 0.01] + [0.0, 100.0, -5.0]
    guess = truth + rng.normal(size=(n, d)) * [0.1, 2.0, 0.001]
    truth[rng.random((n, d)) < 0.15] = np.nan
    guess[rng.random((n, d)) < 0.15] = np.nan
    return truth, guess


def test_units_are_the_population_standard_deviation() -> None:
    table = np.random.default_rng(0).normal(size=(500, 3)) * [1, 10, 0.2]
    np.testing.assert_allclose(standard_units(table), table.std(axis=0, ddof=0), rtol=1e-12)


def test_units_of_a_heavy_tail_are_robust() -> None:
    column = np.random.default_rng(1).standard_cauchy(2_000)
    lower, upper = np.percentile(column, [25, 75])
    assert column.std() > 2 * (upper - lower) / 1.349
    assert standard_units(column)[0] == pytest.approx((upper - lower) / 1.349, rel=1e-12)


def test_the_heavy_tail_rule_switches_where_it_says() -> None:
    # 50 values of each of −1, 1 and one pair ±a: IQR 2, and the deviation crosses 2·2/1.349 = 2.965 with a.
    def column(a: float) -> np.ndarray:
        return np.array([-1.0, 1.0] * 50 + [-a, a])

    just_below, just_above = column(19.8), column(20.0)
    assert just_below.std() < 4 / 1.349 < just_above.std()
    assert standard_units(just_below)[0] == pytest.approx(just_below.std(), rel=1e-12)
    assert standard_units(just_above)[0] == pytest.approx(2 / 1.349, rel=1e-12)


def test_units_without_a_middle_spread_stay_the_standard_deviation() -> None:
    column = np.array([0.0] * 90 + [100.0] * 10)  # IQR 0
    assert standard_units(column)[0] == pytest.approx(30.0, rel=1e-12)


def test_units_ignore_missing_values_and_are_zero_where_nothing_varies() -> None:
    table = np.column_stack([[1.0, np.nan, 3.0, np.nan], [0.1] * 4, [np.nan] * 4])
    np.testing.assert_array_equal(standard_units(table), [1.0, 0.0, 0.0])


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e200])
def test_units_follow_any_scale(scale: float) -> None:
    column = np.array([1.0, 2.0, 4.0, 9.0])
    assert standard_units(column * scale)[0] == pytest.approx(column.std() * scale, rel=1e-12)


@given(seed=SEEDS, tolerance=st.floats(0.01, 0.5))
def test_value_rate_is_the_definition(seed: int, tolerance: float) -> None:
    truth, guess = holed_tables(seed)
    s = np.nanstd(truth, axis=0)
    hits = cells = 0
    for row, guessed in zip(truth, guess, strict=True):
        for j in range(3):
            if not math.isnan(row[j]):
                cells += 1
                hits += abs(guessed[j] - row[j]) <= tolerance * s[j]
    assert breach_rate(truth, guess, tolerance, units=s) == hits / cells


@given(seed=SEEDS, tolerance=st.floats(0.01, 0.5))
def test_record_rate_is_the_definition(seed: int, tolerance: float) -> None:
    truth, guess = holed_tables(seed)
    s = np.nanstd(truth, axis=0)
    hits = records = 0
    for row, guessed in zip(truth, guess, strict=True):
        present = ~np.isnan(row)
        if present.any():
            records += 1
            errors = ((guessed - row) / s)[present]
            hits += math.sqrt(np.mean(errors**2)) <= tolerance  # a NaN guess makes this False
    assert breach_rate(truth, guess, tolerance, level="record", units=s) == hits / records


@given(seed=SEEDS, epsilon=st.floats(0.001, 0.5))
def test_paper_rates_are_the_definition(seed: int, epsilon: float) -> None:
    truth, guess = holed_tables(seed)
    truth, guess = truth[~np.isnan(truth).any(axis=1)], guess[~np.isnan(truth).any(axis=1)]
    by_record = np.linalg.norm(guess - truth, axis=1) <= epsilon * np.linalg.norm(truth, axis=1)
    by_value = np.abs(guess - truth) <= epsilon * np.abs(truth)
    assert breach_rate(truth, guess, epsilon, "record", "paper") == pytest.approx(by_record.mean(), abs=1e-12)
    assert breach_rate(truth, guess, epsilon, "value", "paper") == pytest.approx(by_value.mean(), abs=1e-12)


def test_normal_noise_has_the_normal_breach_rate() -> None:
    """Errors N(0, (σs)²): P(|e| ≤ ts) = 2Φ(t/σ) − 1; records: χ²_d(d t²/σ²)."""
    rng = np.random.default_rng(3)
    n, d, sigma, tolerance = 20_000, 4, 0.5, 0.3
    truth = rng.normal(size=(n, d)) * [1, 5, 0.1, 1000] + [0, 7, 3, -1000]
    s = np.array([1, 5, 0.1, 1000])
    guess = truth + sigma * s * rng.normal(size=(n, d))
    by_value = 2 * stats.norm.cdf(tolerance / sigma) - 1
    by_record = stats.chi2.cdf(d * (tolerance / sigma) ** 2, d)
    # 4 standard errors; the noise is independent over cells.
    assert within_standard_errors(
        breach_rate(truth, guess, tolerance, units=s), by_value, math.sqrt(by_value * (1 - by_value) / (n * d))
    )
    assert within_standard_errors(
        breach_rate(truth, guess, tolerance, "record", units=s), by_record, math.sqrt(by_record * (1 - by_record) / n)
    )


def test_guessing_the_mean_breaches_kelvin_by_the_papers_rule_only() -> None:
    """Why the default has units: temperatures N(11.5, 7.7²) °C, the guess is their mean."""
    celsius = np.random.default_rng(4).normal(11.5, 7.7, size=5_000)
    rates = {}
    for name, shift in (("celsius", 0.0), ("kelvin", 273.15)):
        truth = celsius + shift
        guess = np.full_like(truth, truth.mean())
        rates[name] = (breach_rate(truth, guess, 0.1), breach_rate(truth, guess, 0.1, variant="paper"))
    assert rates["celsius"][0] == rates["kelvin"][0]
    assert rates["celsius"][1] < 0.2
    assert rates["kelvin"][1] > 0.99


@given(seed=SEEDS, powers=st.tuples(*[st.floats(-12, 12)] * 3), level=st.sampled_from(["value", "record"]))
def test_positive_rescaling_of_columns_changes_nothing(seed: int, powers: tuple[float, ...], level: str) -> None:
    truth, guess = holed_tables(seed)
    factors = 10.0 ** np.array(powers)
    assert breach_rate(truth * factors, guess * factors, 0.1, level) == breach_rate(truth, guess, 0.1, level)


@given(seed=SEEDS, level=st.sampled_from(["value", "record"]), variant=st.sampled_from(["standard", "paper"]))
def test_the_order_of_records_and_columns_changes_nothing(seed: int, level: str, variant: str) -> None:
    truth, guess = holed_tables(seed)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(40), rng.permutation(3)
    turned = breach_rate(truth[rows][:, columns], guess[rows][:, columns], 0.1, level, variant)
    assert turned == breach_rate(truth, guess, 0.1, level, variant)


@given(seed=SEEDS, level=st.sampled_from(["value", "record"]), variant=st.sampled_from(["standard", "paper"]))
def test_a_larger_tolerance_never_breaches_less(seed: int, level: str, variant: str) -> None:
    truth, guess = holed_tables(seed)
    masks = [breached(truth, guess, t, level, variant) for t in (0.0, 0.01, 0.1, 0.5, 3.0)]
    assert all((small <= large).all() for small, large in itertools.pairwise(masks))


@given(
    seed=SEEDS,
    offset=st.sampled_from([0.0, 1.0, -300.0, 1e6]),
    scale=st.sampled_from([1e-3, 1.0, 7.3, 1e5]),
    tolerance=st.sampled_from([0.1, 0.05, 1 / 3]),
)
def test_a_guess_on_the_boundary_counts(seed: int, offset: float, scale: float, tolerance: float) -> None:
    truth = np.random.default_rng(seed).normal(size=(30, 3)) * scale + offset
    s = standard_units(truth)
    for sign in (1.0, -1.0):
        on = truth + sign * tolerance * s
        assert breach_rate(truth, on, tolerance) == 1.0
        assert breach_rate(truth, on, tolerance, "record") == 1.0
        past = truth + sign * 1.002 * tolerance * s
        assert breach_rate(truth, past, tolerance) == 0.0
        assert breach_rate(truth, past, tolerance, "record") == 0.0
        assert breach_rate(truth, truth * (1.0 + sign * tolerance), tolerance, "record", "paper") == 1.0
        assert breach_rate(truth, truth * (1.0 + sign * tolerance), tolerance, "value", "paper") == 1.0


def test_tolerance_zero_asks_for_equality() -> None:
    truth = np.array([[0.1], [1.0], [3.0]])
    guess = np.array([[0.1], [np.nextafter(1.0, 2.0)], [3.0]])
    for variant in ("standard", "paper"):
        assert breached(truth, guess, 0.0, "value", variant)[:, 0].tolist() == [True, False, True]
    assert breached(truth, guess, 0.0, "record").tolist() == [True, False, True]


def test_constant_column_is_breached_by_equality_only() -> None:
    truth = np.column_stack([np.full(4, 0.1), [0.0, 1.0, 2.0, 3.0]])
    guess = truth.copy()
    guess[:2, 0] += 1e-12
    np.testing.assert_array_equal(breached(truth, guess, 0.1)[:, 0], [False, False, True, True])
    np.testing.assert_array_equal(column_breach_rates(truth, guess, 0.1), [0.5, 1.0])
    # A constant column has nothing to give away: its rounding must not hide a breached record.
    assert breach_rate(truth, guess, 0.1, "record") == 1.0
    # With no other column, the record is as exact as its values.
    np.testing.assert_array_equal(breached(truth[:, :1], guess[:, :1], 0.1, "record"), [False, False, True, True])


def test_category_codes_with_a_tiny_unit_count_only_when_right() -> None:
    truth = np.array([[0.0, 1.5], [1.0, 2.5], [2.0, 9.5]])
    guess = np.array([[0.0, 1.5], [2.0, 2.5], [2.0, 9.5]])
    units = [1e-9, 3.0]
    assert breached(truth, guess, 0.5, "record", units=units).tolist() == [True, False, True]
    assert breached(truth, guess, 0.5, units=units)[:, 0].tolist() == [True, False, True]


def test_a_silent_attack_breaches_nothing() -> None:
    truth = np.arange(12.0).reshape(4, 3)
    silent = np.full((4, 3), np.nan)
    for level in ("value", "record"):
        for variant in ("standard", "paper"):
            rate = breach_rate(truth, silent, 5.0, level, variant)
            assert (rate, rate.low) == (0.0, 0.0)
            assert rate.high == wilson(0, 4)[1]


def test_an_infinite_guess_is_merely_wrong() -> None:
    truth = np.array([[1.0, 2.0], [3.0, 5.0]])
    guess = np.array([[np.inf, 2.0], [3.0, -np.inf]])
    assert breach_rate(truth, guess, 1.0) == 0.5
    assert breach_rate(truth, guess, 1.0, "record") == 0.0
    assert breach_rate(truth, guess, 1.0, "record", "paper") == 0.0


def test_missing_truth_is_not_scored() -> None:
    truth = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, 4.0]])
    guess = np.array([[1.0, 8.0], [1.0, 1.0], [9.0, 4.0]])
    assert breach_rate(truth, guess, 0.1, units=[1, 1]) == pytest.approx(2 / 3)
    assert breach_rate(truth, guess, 0.1, "record", units=[1, 1]) == 0.5
    assert breached(truth, guess, 0.1, "record", units=[1, 1]).tolist() == [True, False, False]
    assert breached(truth, guess, 0.1, "record", "paper").tolist() == [True, False, False]


@pytest.mark.parametrize("level", ["value", "record"])
def test_nothing_scored_is_not_a_number(level: str) -> None:
    rate = breach_rate(np.full((3, 2), np.nan), np.zeros((3, 2)), 0.1, level)
    assert all(math.isnan(part) for part in (rate, rate.low, rate.high))
    assert np.isnan(column_breach_rates(np.full((3, 2), np.nan), np.zeros((3, 2)), 0.1)).all()


def test_the_interval_counts_records_not_cells() -> None:
    truth = np.random.default_rng(5).normal(size=(50, 8))
    guess = np.where(np.arange(50)[:, None] < 20, truth, truth + 9)
    for level in ("value", "record"):
        rate = breach_rate(truth, guess, 0.1, level)
        assert (float(rate), (rate.low, rate.high)) == (0.4, wilson(20, 50))
        assert rate.higher_is == "exposed"
    narrow = breach_rate(truth, guess, 0.1, confidence=0.5)
    assert (narrow.low, narrow.high) == wilson(20, 50, 0.5)


def test_one_record() -> None:
    assert breach_rate([[1.0, 2.0]], [[1.0, 2.0]], 0.1) == 1.0
    assert breach_rate([[1.0, 2.0]], [[1.0, 2.1]], 0.1) == 0.5
    assert breach_rate([[1.0, 2.0]], [[1.0, 2.1]], 0.1, "record") == 0.0
    assert breach_rate([[1.0, 2.0]], [[1.0, 2.1]], 0.1, "record", units=[1.0, 2.0]) == 1.0


def test_column_rates_average_to_the_rate_by_present_cells() -> None:
    truth, guess = holed_tables(6)
    present = (~np.isnan(truth)).sum(axis=0)
    rates = column_breach_rates(truth, guess, 0.1)
    assert rates @ present / present.sum() == pytest.approx(float(breach_rate(truth, guess, 0.1)), rel=1e-12)


def test_inputs_are_left_as_they_were() -> None:
    truth, guess = holed_tables(7)
    kept = truth.copy(), guess.copy()
    for level in ("value", "record"):
        breach_rate(truth, guess, 0.1, level)
    np.testing.assert_array_equal(truth, kept[0])
    np.testing.assert_array_equal(guess, kept[1])


def test_advantage_and_its_interval() -> None:
    rate = Measure(0.6, low=0.5, high=0.8, higher_is="exposed")
    gain = advantage(rate, 0.2)
    assert (float(gain), gain.low, gain.high) == pytest.approx((0.5, 0.375, 0.75))
    assert advantage(rate, Measure(0.2, low=0.0, high=1.0, higher_is="exposed")).low == pytest.approx(0.375)
    assert advantage(0.1, 0.5) == pytest.approx(-0.8)
    assert advantage(0.3, 0.3) == 0.0
    assert advantage(1.0, 0.3) == 1.0


def test_advantage_where_the_constant_is_always_right() -> None:
    gain = advantage(Measure(0.6, low=0.5, high=0.8, higher_is="exposed"), 1.0)
    assert (float(gain), gain.low, gain.high) == (0.0, 0.0, 0.0)


def test_advantage_of_arrays_and_of_nothing() -> None:
    gains = advantage(np.array([0.6, 1.0, 0.5, np.nan]), np.array([0.2, 0.0, 1.0, 1.0]))
    np.testing.assert_allclose(gains, [0.5, 1.0, 0.0, np.nan])
    nothing = advantage(math.nan, 0.2)
    assert math.isnan(nothing)
    assert math.isnan(nothing.high)
    with pytest.raises(InputError, match=r"^rate: 1 of 1 lie outside"):
        advantage(1.2, 0.2)
    with pytest.raises(InputError, match=r"^baseline(:| must be) "):
        advantage(0.2, -0.1)
