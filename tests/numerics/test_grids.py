"""Grids of columns: exact for decimals and binary fractions, found for any step, the same however rows are cut."""

import numpy as np
import pytest

from veil.numerics.grids import Steps, grid_of, nearest_on_grid

RNG = np.random.default_rng(0)
WHOLE = RNG.poisson(50, 1000).astype(float)
COLUMNS = {
    "whole numbers": (WHOLE, 1.0),
    "every fifth": (5.0 * WHOLE + 2.0, 5.0),
    "hundredths": (np.round(RNG.normal(50, 9, 1000), 2), 0.01),
    "cents of incomes": (np.round(RNG.lognormal(10, 1, 1000), 2), 0.01),
    "quarters": (WHOLE / 4, 0.25),
    "seven decimals": (np.round(RNG.uniform(40, 50, 1000), 7), 1e-7),
    "milliseconds": (1.6e12 + RNG.integers(0, 10**10, 1000), 1.0),
    "inches in centimetres": (2.54 * WHOLE, 2.54),
    "thirds": (WHOLE / 3, 1 / 3),
    "degrees": ((WHOLE - 32) / 1.8, 1 / 1.8),
    "z-scores": ((WHOLE - WHOLE.mean()) / WHOLE.std(), 1 / WHOLE.std()),
    "two answers": (np.where(WHOLE > 50, 1.337123, -0.7123), 2.049423),
    "charges": (1.602e-19 * WHOLE, 1.602e-19),
    "sixteenths": (np.ldexp(np.rint(np.ldexp(RNG.normal(size=1000), 20)), -20), 2.0**-20),
}


def steps(values, *cuts):
    parts = np.split(values, cuts)
    grid = grid_of(parts[0])
    for part in parts[1:]:
        grid += grid_of(part)
    return grid.steps(len(values), values.min(), values.max())


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("cuts", [(), (1, 400), (333, 666, 999)])
def test_the_grain_is_found_however_rows_are_cut(name, cuts):
    values, grain = COLUMNS[name]
    grid = steps(values, *cuts)
    assert grid.grain == pytest.approx(grain, rel=1e-12)
    assert 0 <= grid.origin < grid.grain * (1 + 1e-9)
    moved = values + 0.499 * grid.grain * np.where(WHOLE % 2 == 0, 1, -1)
    back = nearest_on_grid(moved, grid)
    if name in ("inches in centimetres", "thirds", "degrees", "z-scores", "two answers", "charges"):
        np.testing.assert_allclose(back, values, rtol=1e-13, atol=1e-13 * np.abs(values).max())
    else:
        assert (back == values).all()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12, 1e18])
def test_full_precision_has_no_grid(scale):
    for seed in range(200):
        values = scale * np.random.default_rng(seed).normal(size=20)
        assert steps(values) is None
        assert steps(values, 7) is None


def test_constants_few_values_and_gaps():
    assert steps(np.full(50, np.pi)) is None
    assert steps(np.array([0.1234567891234, 2**0.5])) is None
    gaps = np.where(WHOLE > 55, np.nan, WHOLE)
    assert grid_of(gaps).steps(1000, 0.0, 55.0) == Steps(1.0, 0.0)
    assert (grid_of(np.full(5, np.nan)) + grid_of(gaps)).steps(1000, 0.0, 55.0) == Steps(1.0, 0.0)


def test_one_value_off_the_grid_makes_it_finer():
    values = WHOLE.copy()
    values[-1] += 0.25
    assert steps(values, 500).grain == 0.25
    values[-1] += np.pi * 1e-3
    assert steps(values, 500) is None
