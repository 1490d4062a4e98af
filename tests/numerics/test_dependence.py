"""The informational correlation: that of Linfoot for normal columns, and 0 only without dependence."""

import numpy as np
import pytest

from veil.numerics.dependence import dependence


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.9])
def test_of_normal_columns_it_is_nearly_the_squared_correlation(rho):
    """Classes lose some of it, of a correlation of .9 about 4 % with 16 classes; 5,000 records scatter by .02."""
    z = np.random.default_rng(0).multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=5_000)
    share = dependence(z)[0, 1]
    assert 0.9 * rho**2 - 0.04 < share < rho**2 + 0.04


def test_independent_columns_tell_nothing_on_average():
    """Without the correction for chance, 16 × 16 classes of 1,280 records would show .16."""
    rng = np.random.default_rng(1)
    shares = [dependence(rng.normal(size=(1_280, 2)))[0, 1] for _ in range(60)]
    assert np.mean(shares) < 0.02


def test_an_absolute_value_and_a_category_are_seen():
    rng = np.random.default_rng(2)
    x = rng.normal(size=2_000)
    group = rng.integers(0, 3, 2_000).astype(float)
    values = np.column_stack(
        [x, np.abs(x), group, rng.normal(size=2_000) * np.array([0.1, 1.0, 10.0])[group.astype(int)]]
    )
    shares = dependence(values)
    assert shares[0, 1] > 0.7
    assert shares[2, 3] > 0.3
    assert shares[0, 2] < 0.05
    np.testing.assert_array_equal(shares, shares.T)


def test_units_and_few_records_do_not_matter():
    x = np.random.default_rng(3).normal(size=(300, 3))
    np.testing.assert_allclose(dependence(x * [1.0, 1e6, 1e-6] + [0, 3, 7]), dependence(x))
    assert dependence(x[:2]).shape == (3, 3)
