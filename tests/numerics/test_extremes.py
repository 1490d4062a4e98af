"""The spread of a column without the values that dominate it."""

import numpy as np
import pytest

from veil.numerics.extremes import extremes_of
from veil.numerics.moments import block_moments


def spread(values, *cuts):
    total = None
    for part in np.split(np.asarray(values, dtype=float), cuts):
        block = np.ascontiguousarray(part[None])
        (extremes,) = extremes_of(block, block_moments(block))
        total = extremes if total is None else total + extremes
    return total.spread()


def test_normal_columns_have_no_such_value():
    for n in (2, 10, 100, 2000):
        assert not any(spread(np.random.default_rng(seed).normal(size=n)) for seed in range(200))


@pytest.mark.parametrize("far", [[300.0], [1e9], [1e12, -9e11], [5e6, 4e6, 3e6]])
@pytest.mark.parametrize("cuts", [(), (1, 40, 700), (999,)])
def test_far_values_are_left_out_exactly(far, cuts):
    rng = np.random.default_rng(3)
    rest = rng.normal(7.0, 2.0, 1000)
    values = rng.permutation(np.r_[rest, far])
    robust = spread(values, *cuts)
    assert robust.left_out == len(far)
    assert robust.std == pytest.approx(rest.std(), rel=1e-9)
    assert robust.share > 1 / 3


def test_a_lone_number_among_zeros():
    assert spread(np.r_[np.zeros(99), 5.0]) == (0.0, 1, pytest.approx(0.99))
