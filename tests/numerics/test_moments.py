"""One-pass moments: right, stable, and the same bits however the rows arrive."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.data.blocks import BLOCK_ROWS, TILE_ROWS, array_blocks, recut
from veil.numerics.moments import MomentTree, moments_of, tile_moments


def of(array, **options):
    return moments_of((block for _, block in array_blocks(array)), **options)


def test_agrees_with_numpy():
    x = np.random.default_rng(0).normal(size=(3 * TILE_ROWS + 17, 4)) @ np.diag([1, 10, 0.1, 3]) + [
        0,
        5,
        -2,
        100,
    ]
    m = of(x)
    assert m.n_rows == len(x)
    np.testing.assert_allclose(m.mean, x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(m.covariance, np.cov(x.T, ddof=0), rtol=1e-10, atol=1e-14)
    np.testing.assert_array_equal(m.minimum, x.min(axis=0))
    np.testing.assert_array_equal(m.maximum, x.max(axis=0))


def test_a_mean_of_1e9_costs_a_variance_of_1_nothing():
    noise = np.random.default_rng(1).normal(size=(200_000, 2))
    shifted = of(noise + 1e9)
    # The stored doubles themselves are rounded to 1.2e-7, which moves the variance by about 1e-15.
    exact = np.cov(((noise + 1e9) - 1e9).T, ddof=0)
    np.testing.assert_allclose(shifted.covariance, exact, rtol=1e-9, atol=1e-9)
    textbook = np.mean((noise + 1e9) ** 2, axis=0) - np.mean(noise + 1e9, axis=0) ** 2
    assert abs(textbook[0] - 1) > 1, "the textbook formula would fail this test"


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(1, 40_000), min_size=1, max_size=12), seed=st.integers(0, 99))
def test_batch_sizes_do_not_change_a_bit(cuts, seed):
    x = np.random.default_rng(seed).lognormal(size=(BLOCK_ROWS + 4_321, 2))
    table = pa.table({"a": x[:, 0], "b": x[:, 1]})
    whole = moments_of(b.matrix(["a", "b"]) for b in recut(table.to_batches()))
    batches, start = [], 0
    while start < len(x):
        for size in cuts:
            batches += table.slice(start, size).to_batches()
            start += size
    parts = moments_of(b.matrix(["a", "b"]) for b in recut(batches))
    assert parts.comoment.tobytes() == whole.comoment.tobytes()
    assert parts.mean.tobytes() == whole.mean.tobytes()


def test_the_tree_is_the_one_a_parallel_reduction_builds():
    x = np.random.default_rng(2).normal(size=(4 * TILE_ROWS, 3))
    tiles = [tile_moments(np.ascontiguousarray(t.T)) for t in np.split(x, 4)]
    parallel = (tiles[0] + tiles[1]) + (tiles[2] + tiles[3])
    assert of(x).comoment.tobytes() == parallel.comoment.tobytes()


def test_missing_values():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20_000, 3)) + 7
    x[rng.random(x.shape) < 0.1] = np.nan
    m = of(x)
    np.testing.assert_allclose(m.mean, np.nanmean(x, axis=0), rtol=1e-12)
    np.testing.assert_allclose(m.variance, np.nanvar(x, axis=0), rtol=1e-10)
    complete = x[~np.isnan(x).any(axis=1)]
    np.testing.assert_allclose(m.covariance, np.cov(complete.T, ddof=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(m.missing, np.isnan(x).sum(axis=0))


def test_a_column_may_be_absent_from_a_whole_tile():
    x = np.random.default_rng(4).normal(size=(2 * TILE_ROWS, 2))
    x[:TILE_ROWS, 0] = np.nan
    m = of(x)
    np.testing.assert_allclose(m.mean[0], np.nanmean(x[:, 0]), rtol=1e-12)
    assert m.minimum[0] == np.nanmin(x[:, 0])
    assert m.n_complete == TILE_ROWS


def test_without_covariance_the_matrix_is_not_formed():
    m = of(np.ones((10, 3)), covariance=False)
    with pytest.raises(TypeError, match="without the covariance"):
        _ = m.covariance


def test_nothing_added_is_nothing():
    assert MomentTree().result() is None
