"""Reconstruction errors: closed forms, coverage of the intervals, missing values and limits."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures import (
    Measure,
    frobenius_error,
    mean_squared_error,
    nrmse,
    relative_error,
    variance_privacy,
)

SEEDS = st.integers(0, 2**32 - 1)
ALL = [variance_privacy, mean_squared_error, nrmse, frobenius_error, relative_error]


def tables(seed: int, n: int = 50, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, d)) * [1.0, 7.0, 0.2] + [3.0, -20.0, 0.0]
    return truth, truth + rng.normal(size=(n, d)) * [0.5, 1.0, 0.3] + [0.2, 0.0, -0.1]


@given(seed=SEEDS)
def test_totals_are_the_textbook_formulas(seed: int) -> None:
    truth, guess = tables(seed)
    error = guess - truth
    about = truth - truth.mean(axis=0)
    expected = {
        variance_privacy: np.mean(error.var(axis=0) / truth.var(axis=0)),
        mean_squared_error: np.mean(error**2),
        nrmse: np.sqrt(np.mean((error / truth.std(axis=0)) ** 2)),
        frobenius_error: np.linalg.norm(error) / np.linalg.norm(truth),
        relative_error: np.mean(np.linalg.norm(error, axis=1) / np.linalg.norm(truth, axis=1)),
    }
    for function, value in expected.items():
        measure = function(truth, guess)
        assert measure == pytest.approx(value, rel=1e-9)
        assert measure.low <= measure <= measure.high
        assert measure.higher_is == "private"
    assert frobenius_error(truth, guess, centred=True) == pytest.approx(
        np.linalg.norm(error) / np.linalg.norm(about), rel=1e-9
    )
    assert relative_error(truth, guess, centred=True) == pytest.approx(
        np.mean(np.linalg.norm(error, axis=1) / np.linalg.norm(about, axis=1)), rel=1e-9
    )


@pytest.mark.parametrize("function", ALL)
def test_a_column_scores_as_the_table_of_that_column(function: Callable[..., Measure]) -> None:
    truth, guess = tables(1)
    by_column = function(truth, guess, per_column=True)
    assert isinstance(by_column, np.ndarray)
    alone = [float(function(truth[:, [j]], guess[:, [j]])) for j in range(3)]
    np.testing.assert_allclose(by_column, alone, rtol=1e-12)
    if function in (frobenius_error, relative_error):
        centred = function(truth, guess, centred=True, per_column=True)
        alone = [float(function(truth[:, [j]], guess[:, [j]], centred=True)) for j in range(3)]
        np.testing.assert_allclose(centred, alone, rtol=1e-12)


def test_guessing_the_mean_scores_one() -> None:
    truth, _ = tables(2)
    guess = np.tile(truth.mean(axis=0), (50, 1))
    assert variance_privacy(truth, guess) == pytest.approx(1.0, rel=1e-12)
    assert nrmse(truth, guess) == pytest.approx(1.0, rel=1e-12)
    assert frobenius_error(truth, guess, centred=True) == pytest.approx(1.0, rel=1e-12)


def test_noise_has_its_own_variance() -> None:
    """Released as it is (A1): m.s.e. = σ² and M1 = σ²/Var(X), the theory of Huang et al. 4.1."""
    rng = np.random.default_rng(3)
    n, sigma, spread = 50_000, 0.8, 2.0
    truth = rng.normal(5.0, spread, size=(n, 2))
    guess = truth + rng.normal(scale=sigma, size=(n, 2))
    # Relative standard errors: √(2/2n) for a mean square of normals, √(2·2/2n) for a ratio of two.
    assert mean_squared_error(truth, guess) == pytest.approx(sigma**2, rel=4 * math.sqrt(1 / n))
    assert variance_privacy(truth, guess) == pytest.approx((sigma / spread) ** 2, rel=4 * math.sqrt(2 / n))


@pytest.mark.parametrize(
    ("function", "options", "expected"),
    [
        (variance_privacy, {}, 0.36 / 2.25),
        (mean_squared_error, {}, 0.36),
        (nrmse, {}, 0.6 / 1.5),
        (frobenius_error, {}, math.sqrt(0.36 / (2.25 + 4.0))),
        (frobenius_error, {"centred": True}, 0.6 / 1.5),
    ],
)
def test_intervals_cover_at_their_level(
    function: Callable[..., Measure], options: dict[str, bool], expected: float
) -> None:
    # 1,000 tables of 150 records; 4 standard errors of a coverage of .95 are .028, and the columns of a
    # record share their noise, so an interval over cells instead of records would cover about .83.
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(1_000):
        truth = rng.normal(2.0, 1.5, size=(150, 2))
        guess = truth + rng.normal(scale=0.6, size=(150, 1))
        measure = function(truth, guess, **options)
        hits += measure.low <= expected <= measure.high
    assert 0.915 < hits / 1_000 < 0.98


def test_relative_error_interval_is_that_of_the_mean() -> None:
    truth, guess = tables(5)
    shares = np.linalg.norm(guess - truth, axis=1) / np.linalg.norm(truth, axis=1)
    measure = relative_error(truth, guess)
    # Student's t at 49 degrees of freedom is 2.0096.
    half = 2.0096 * shares.std(ddof=1) / math.sqrt(50)
    assert (measure.low, measure.high) == pytest.approx((shares.mean() - half, shares.mean() + half), rel=1e-4)


@pytest.mark.parametrize("function", ALL)
@given(seed=SEEDS, power=st.floats(-6, 6))
def test_row_order_and_one_common_unit(function: Callable[..., Measure], seed: int, power: float) -> None:
    truth, guess = tables(seed)
    order, factor = np.random.default_rng(seed).permutation(50), 10.0**power
    expected = float(function(truth, guess)) * (factor**2 if function is mean_squared_error else 1.0)
    assert function(truth[order] * factor, guess[order] * factor) == pytest.approx(expected, rel=1e-9)


@given(seed=SEEDS, shift=st.floats(-1e3, 1e3))
def test_what_the_origin_changes_and_what_not(seed: int, shift: float) -> None:
    truth, guess = tables(seed)
    for function, options in (
        (variance_privacy, {}),
        (mean_squared_error, {}),
        (nrmse, {}),
        (frobenius_error, {"centred": True}),
        (relative_error, {"centred": True}),
    ):
        moved = function(truth + shift, guess + shift, **options)
        assert moved == pytest.approx(float(function(truth, guess, **options)), rel=1e-6)
    assert variance_privacy(truth, guess + shift) == pytest.approx(float(variance_privacy(truth, guess)), rel=1e-6)


@pytest.mark.parametrize("function", ALL)
def test_missing_cells_are_left_out(function: Callable[..., Measure]) -> None:
    truth, guess = tables(6)
    holed, silent = truth.copy(), guess.copy()
    holed[:5] = np.nan
    silent[5:12] = np.nan
    if function is nrmse:  # its unit is that of all known values, guessed or not
        error = ((guess - truth) / truth[5:].std(axis=0))[12:]
        assert function(holed, silent) == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-12)
        return
    expected = function(truth[12:], guess[12:])
    measure = function(holed, silent)
    assert (measure, measure.low, measure.high) == pytest.approx((expected, expected.low, expected.high), rel=1e-12)


def test_partly_guessed_records_are_compared_where_guessed() -> None:
    truth = np.array([[3.0, 4.0, 12.0], [1.0, 2.0, 2.0]])
    guess = np.array([[3.0, 9.0, np.nan], [1.0, 2.0, 5.0]])
    assert relative_error(truth, guess) == pytest.approx((5 / 5 + 3 / 3) / 2)
    assert mean_squared_error(truth, guess) == pytest.approx((25 + 9) / 5)
    np.testing.assert_allclose(mean_squared_error(truth, guess, per_column=True), [0.0, 12.5, 9.0])


@pytest.mark.parametrize("function", ALL)
def test_a_silent_attack_has_no_error(function: Callable[..., Measure]) -> None:
    truth, _ = tables(7)
    measure = function(truth, np.full_like(truth, np.nan))
    assert all(math.isnan(part) for part in (measure, measure.low, measure.high))
    assert np.isnan(function(truth, np.full_like(truth, np.nan), per_column=True)).all()


def test_constant_columns_have_no_unit() -> None:
    truth, guess = tables(8)
    wide_truth = np.column_stack([truth, np.full(50, 0.1)])
    wide_guess = np.column_stack([guess, np.full(50, 0.3)])
    for function in (variance_privacy, nrmse):
        assert function(wide_truth, wide_guess) == pytest.approx(float(function(truth, guess)), rel=1e-12)
        assert math.isnan(function(wide_truth, wide_guess, per_column=True)[3])
        assert math.isnan(function(wide_truth[:, 3:], wide_guess[:, 3:]))
    assert math.isnan(frobenius_error(wide_truth[:, 3:], wide_guess[:, 3:], centred=True))
    assert math.isnan(relative_error(wide_truth[:, 3:], wide_guess[:, 3:], centred=True))


def test_records_of_norm_zero_are_left_out() -> None:
    truth = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 2.0]])
    guess = np.array([[9.0, 9.0], [3.0, 5.0], [1.0, 2.0]])
    assert relative_error(truth, guess) == pytest.approx((0.2 + 0.5) / 2)
    np.testing.assert_allclose(relative_error(truth, guess, per_column=True), [0.0, 0.125])
    assert math.isnan(frobenius_error(np.zeros((2, 2)), np.ones((2, 2))))
    assert math.isnan(relative_error(np.zeros((2, 2)), np.ones((2, 2))))


@pytest.mark.parametrize("function", [mean_squared_error, frobenius_error, relative_error])
def test_one_record_has_a_value_and_no_interval(function: Callable[..., Measure]) -> None:
    measure = function([[3.0, 4.0]], [[3.0, 5.0]])
    assert measure > 0.0
    assert (measure.low, measure.high) == (0.0, math.inf)


def test_a_perfect_guess_has_no_error() -> None:
    truth, _ = tables(9)
    for function in ALL:
        measure = function(truth, truth)
        assert (measure, measure.low, measure.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("function", ALL)
def test_infinite_guesses_are_refused(function: Callable[..., Measure]) -> None:
    with pytest.raises(InputError, match=r"^guess: holds 1 infinite"):
        function([[1.0], [2.0]], [[np.inf], [2.0]])
