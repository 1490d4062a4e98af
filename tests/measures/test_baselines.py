"""The best constant guess against brute force, closed forms and every other constant."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from veil.errors import InputError
from veil.measures import best_constant_guess, breach_rate, constant_guess_baseline, standard_units

SEEDS = st.integers(0, 2**32 - 1)


def brute_force(column: np.ndarray, reach: float) -> float:
    """Some best window starts at a value: try the centre of the window above each."""
    values = column[~np.isnan(column)]
    return max(float((np.abs(values - (v + reach)) <= reach * (1 + 1e-9)).sum()) for v in values) / len(values)


@given(
    st.lists(st.integers(-20, 20) | st.just(math.nan), min_size=1, max_size=40),
    st.floats(0.001, 2.0),
)
def test_value_baseline_is_the_brute_force_optimum(cells: list[float], tolerance: float) -> None:
    column = np.array(cells, dtype=float)
    if np.isnan(column).all():
        assert math.isnan(constant_guess_baseline(column, tolerance))
        return
    reach = tolerance * standard_units(column)[0]
    assert constant_guess_baseline(column, tolerance) == pytest.approx(brute_force(column, reach), abs=1e-12)


@given(seed=SEEDS)
def test_value_baseline_weighs_columns_by_their_present_cells(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(60, 3)) * [1.0, 30.0, 1e-3]
    table[rng.random((60, 3)) < [0.0, 0.3, 0.6]] = np.nan
    s = standard_units(table)
    present = (~np.isnan(table)).sum(axis=0)
    shares = [brute_force(table[:, j], 0.2 * s[j]) for j in range(3)]
    assert constant_guess_baseline(table, 0.2) == pytest.approx(np.dot(shares, present) / present.sum(), rel=1e-12)


@given(seed=SEEDS, level=st.sampled_from(["value", "record"]))
def test_the_constants_score_what_the_baseline_says(seed: int, level: str) -> None:
    table = np.random.default_rng(seed).gamma(1.0, size=(50, 2))
    constants = best_constant_guess(table, 0.1, level=level)
    rate = breach_rate(table, np.tile(constants, (50, 1)), 0.1, level)
    baseline = constant_guess_baseline(table, 0.1, level)
    assert rate == baseline
    assert baseline.low == baseline.high == baseline


@given(seed=SEEDS, level=st.sampled_from(["value", "record"]))
def test_no_simple_constant_does_better(seed: int, level: str) -> None:
    rng = np.random.default_rng(seed)
    table = np.concatenate([rng.normal(size=(30, 3)), rng.normal(3.0, 0.1, size=(20, 3))])
    baseline = constant_guess_baseline(table, 0.3, level)
    for constant in (table.mean(axis=0), np.median(table, axis=0), *table):
        assert breach_rate(table, np.tile(constant, (50, 1)), 0.3, level) <= baseline


def test_value_baseline_of_a_normal_column() -> None:
    # The best window of a normal is the central one: 2Φ(t) − 1. In a sample the maximum over windows
    # exceeds it by less than the supremum of the empirical process, √(ln(2/.0001)/(2n)) for each end (DKW).
    n, tolerance = 20_000, 0.25
    column = np.random.default_rng(0).normal(size=n)
    expected = 2 * stats.norm.cdf(tolerance) - 1
    rate = constant_guess_baseline(column, tolerance, units=1.0)
    assert abs(rate - expected) < 2 * math.sqrt(math.log(2 / 1e-4) / (2 * n))
    assert abs(best_constant_guess(column, tolerance, 1.0)[0]) < 0.3


def test_value_baseline_at_tolerance_zero_is_the_mode() -> None:
    column = np.array([0.1, 0.3, 0.3, 0.7, 0.7, 0.7, 2.0])
    assert best_constant_guess(column, 0.0).tolist() == [0.7]
    assert constant_guess_baseline(column, 0.0) == pytest.approx(3 / 7)


def test_a_window_with_values_on_both_ends_counts_both() -> None:
    # Reach 0.15 around 0.25 covers 0.1 and 0.4 only if rounding does not undo the tie.
    column = np.array([0.1, 0.4, 5.0, 9.0])
    assert constant_guess_baseline(column, 0.15, units=1.0) == 0.5
    shifted = column + 1000.0
    assert constant_guess_baseline(shifted, 0.15, units=1.0) == 0.5


def test_constant_column_and_one_record_are_always_guessed() -> None:
    for level in ("value", "record"):
        assert constant_guess_baseline(np.full((5, 2), 0.1), 0.1, level) == 1.0
        assert constant_guess_baseline([[3.0, 4.0]], 0.1, level) == 1.0


def test_a_constant_column_does_not_change_the_record_baseline() -> None:
    table = np.random.default_rng(1).normal(size=(80, 2))
    wide = np.column_stack([table, np.full(80, 0.1)])
    assert constant_guess_baseline(wide, 0.3, "record") == constant_guess_baseline(table, 0.3, "record")


def test_column_without_values_has_no_constant() -> None:
    table = np.column_stack([[1.0, 2.0, 2.0], [np.nan] * 3])
    for level in ("value", "record"):
        assert constant_guess_baseline(table, 0.1, level) == pytest.approx(2 / 3)
    constants = best_constant_guess(table, 0.1)
    assert constants[0] == 2.0
    assert math.isnan(constants[1])


def test_record_baseline_finds_a_dense_cluster() -> None:
    rng = np.random.default_rng(2)
    table = rng.uniform(-50, 50, size=(400, 4))
    table[:100] = np.array([40.0, -40.0, 40.0, -40.0]) + rng.normal(scale=0.01, size=(100, 4))
    rate = constant_guess_baseline(table, 0.05, "record")
    assert 0.25 <= rate < 0.27
    guess = best_constant_guess(table, 0.05, level="record")
    # Anywhere within reach of the cluster will do: .05 units of about 31, times √4.
    np.testing.assert_allclose(guess, [40.0, -40.0, 40.0, -40.0], atol=3.0)


def test_record_baseline_in_two_dimensions_is_nearly_the_best_disc() -> None:
    # Exhaustive: some best disc has two points on its rim (or one point), so all those centres are tried.
    rng = np.random.default_rng(3)
    table = rng.normal(size=(60, 2))
    radius = 0.4 * math.sqrt(2.0)  # RMS over two columns of unit 1 ≤ .4
    centres = list(table)
    for i in range(60):
        for j in range(i):
            gap = table[j] - table[i]
            length = np.linalg.norm(gap)
            if length <= 2 * radius:
                normal = np.array([-gap[1], gap[0]]) / length
                rise = math.sqrt(radius**2 - length**2 / 4)
                centres += [table[i] + gap / 2 + sign * rise * normal for sign in (1, -1)]
    distances = np.linalg.norm(table[:, None] - np.array(centres)[None], axis=2)
    best = int((distances <= radius * (1 + 1e-9)).sum(axis=0).max())
    found = round(60 * constant_guess_baseline(table, 0.4, "record", units=[1.0, 1.0]))
    assert found <= best
    assert found >= best - 2


def test_record_baseline_with_missing_values_scores_the_present_columns() -> None:
    table = np.array([[0.0, np.nan], [0.0, 5.0], [np.nan, 5.0], [9.0, 9.0], [np.nan, np.nan]])
    assert constant_guess_baseline(table, 0.01, "record") == 0.75


def test_record_baseline_compares_candidates_on_present_columns_only() -> None:
    # 60 records near (9, 9, 9, 9), all but 3 with two cells missing, among 240 complete strangers whose
    # single columns are 0 half of the time: 0 wins each column and about 15 whole records. A screening
    # that counted missing cells as errors would see 3 records at the 9s and stay with the 0s.
    rng = np.random.default_rng(5)
    table = np.where(rng.random((300, 4)) < 0.5, 0.0, rng.uniform(-90, 90, size=(300, 4)))
    table[:60] = 9.0 + rng.normal(scale=0.01, size=(60, 4))
    for row in table[3:60]:
        row[rng.permutation(4)[:2]] = np.nan
    assert constant_guess_baseline(table, 0.1, "record", units=[1.0] * 4) == 0.2
    assert (best_constant_guess(table, 0.1, [1.0] * 4) < 1.0).all()


@given(seed=SEEDS, power=st.floats(-8, 8), level=st.sampled_from(["value", "record"]))
def test_positive_rescaling_and_row_order_change_nothing(seed: int, power: float, level: str) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(40, 2))
    scaled = table[rng.permutation(40)] * 10.0**power
    assert constant_guess_baseline(scaled, 0.2, level) == constant_guess_baseline(table, 0.2, level)


def test_large_tables_are_worked_in_blocks() -> None:
    table = np.random.default_rng(4).normal(size=(9_000, 3))  # more than two blocks
    expected = stats.chi2.cdf(3 * 0.5**2, 3)  # the best ball of a normal is the central one
    rate = constant_guess_baseline(table, 0.5, "record", units=[1.0, 1.0, 1.0])
    assert rate > expected - 4 * math.sqrt(expected * (1 - expected) / 9_000)
    assert rate < expected * 1.15


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"^units(:| must be) "):
        constant_guess_baseline([[1.0, 2.0]], 0.1, units=[1.0])
    with pytest.raises(InputError, match=r"^level(:| must be) "):
        constant_guess_baseline([[1.0, 2.0]], 0.1, "cell")
    with pytest.raises(InputError, match=r"^tolerance(:| must be) "):
        constant_guess_baseline([[1.0, 2.0]], -0.1)
