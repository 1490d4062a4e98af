"""Geometry kept by a release: closed forms, sampling of pairs, and limits."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group

from _tables import within_standard_errors
from veil.errors import InputError
from veil.measures import (
    Measure,
    covariance_distortion,
    distance_distortion,
    distribution_distance,
    inner_product_distortion,
)

SEEDS = st.integers(0, 2**32 - 1)
PAIRWISE = [distance_distortion, inner_product_distortion]


def records(seed: int, n: int = 60, d: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) + 1.0


@given(seed=SEEDS)
def test_distances_over_all_pairs(seed: int) -> None:
    x, y = records(seed), records(seed + 1)
    measure = distance_distortion(x, y)
    assert measure == pytest.approx(np.mean(np.abs(pdist(y) / pdist(x) - 1)), rel=1e-9)
    assert measure.low == measure.high == measure
    assert measure.higher_is == "distorted"


@given(seed=SEEDS)
def test_inner_products_over_all_pairs(seed: int) -> None:
    x, y = records(seed), records(seed + 1, d=3)
    lengths = np.linalg.norm(x, axis=1)
    ratio = np.abs(y @ y.T - x @ x.T) / np.outer(lengths, lengths)
    assert inner_product_distortion(x, y) == pytest.approx(ratio[np.triu_indices(60, 1)].mean(), rel=1e-9)


@pytest.mark.parametrize("function", PAIRWISE)
def test_an_orthogonal_release_keeps_both(function: Callable[..., Measure]) -> None:
    x = records(1, n=500)
    assert function(x, x @ ortho_group.rvs(4, random_state=1)) < 1e-12


def test_scaling_by_c_distorts_by_c_minus_one() -> None:
    x = records(2)
    assert distance_distortion(x, 1.3 * x) == pytest.approx(0.3)
    assert distance_distortion(x, 1.3 * x + 5.0) == pytest.approx(0.3)
    shared = inner_product_distortion(x, math.sqrt(2.0) * x)  # |2−1|·|cos|
    cosines = 1 - pdist(x, "cosine")
    assert shared == pytest.approx(np.abs(cosines).mean())


def test_gaussian_projection_has_the_distortion_of_a_chi_variable() -> None:
    """y = xR/√k: d_y/d_x is χ_k/√k for each pair, so the mean over matrices is E|χ_k/√k − 1|."""
    rng = np.random.default_rng(3)
    x, k, matrices = records(3, n=40, d=30), 8, 300
    values = [float(distance_distortion(x, x @ rng.normal(size=(30, k)) / math.sqrt(k))) for _ in range(matrices)]
    chi = np.sqrt(rng.chisquare(k, size=400_000) / k)
    expected = np.abs(chi - 1).mean()
    # Matrices are independent, pairs are not: 4.5 standard errors over matrices.
    assert within_standard_errors(np.mean(values), expected, np.std(values) / math.sqrt(matrices), 4.5)


@pytest.mark.parametrize("function", PAIRWISE)
def test_drawn_pairs_estimate_the_value_over_all(function: Callable[..., Measure]) -> None:
    # 200 seeds: 4 standard errors of a coverage of .95 are .062.
    x = records(4, n=300)
    y = x + np.random.default_rng(5).normal(scale=0.3, size=x.shape)
    exact = function(x, y, n_pairs=10**6)
    drawn = [function(x, y, n_pairs=400, random_state=seed) for seed in range(200)]
    assert exact.low == exact.high
    assert sum(measure.low <= exact <= measure.high for measure in drawn) / 200 > 0.888
    assert all(measure.low < measure.high for measure in drawn)


def test_a_record_is_never_paired_with_itself() -> None:
    # Orthogonal records: twice as long, they change ⟨x_i, x_i⟩ by 3 and every other product by nothing.
    assert inner_product_distortion(np.eye(10), 2 * np.eye(10), n_pairs=40) == 0.0


@pytest.mark.parametrize("function", PAIRWISE)
def test_the_seed_fixes_the_pairs(function: Callable[..., Measure]) -> None:
    x, y = records(6, n=300), records(7, n=300)
    assert function(x, y, n_pairs=100, random_state=1) == function(x, y, n_pairs=100, random_state=1)
    assert function(x, y, n_pairs=100, random_state=1) != function(x, y, n_pairs=100, random_state=2)


@pytest.mark.parametrize("function", PAIRWISE)
@given(seed=SEEDS, power=st.floats(-6, 6))
def test_a_common_unit_and_the_order_of_records_change_nothing(
    function: Callable[..., Measure], seed: int, power: float
) -> None:
    x, y = records(seed, n=25), records(seed + 1, n=25)
    order, factor = np.random.default_rng(seed).permutation(25), 10.0**power
    assert function(x[order] * factor, y[order] * factor) == pytest.approx(float(function(x, y)), rel=1e-9)


def test_pairs_without_a_ratio_are_left_out() -> None:
    x = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
    y = np.array([[0.0, 0.0], [9.0, 9.0], [6.0, 8.0]])
    pairs = [np.hypot(6, 8) / 5, np.hypot(3, 1) / 5]
    assert distance_distortion(x, y) == pytest.approx(np.mean(np.abs(np.array(pairs) - 1)))
    assert math.isnan(inner_product_distortion(x, y))
    assert math.isnan(distance_distortion(np.ones((3, 2)), y))


@pytest.mark.parametrize("function", PAIRWISE)
def test_incomplete_records_are_left_out(function: Callable[..., Measure]) -> None:
    x, y = records(8), records(9)
    holed, silent = x.copy(), y.copy()
    holed[3, 1] = np.nan
    silent[[5, 6], 0] = np.nan
    kept = np.delete(np.arange(60), [3, 5, 6])
    assert function(holed, silent) == function(x[kept], y[kept])


@pytest.mark.parametrize("function", PAIRWISE)
def test_refusals(function: Callable[..., Measure]) -> None:
    x = records(10)
    for call, name in (
        (lambda: function(x, x[:-1]), "released"),
        (lambda: function(x[:1], x[:1]), "original"),
        (lambda: function(x, np.full_like(x, np.nan)), "original"),
        (lambda: function(x, x, n_pairs=0), "n_pairs"),
        (lambda: function(x, x, random_state=-1), "random_state"),
        (lambda: function(x, x * np.inf), "released"),
    ):
        with pytest.raises(InputError, match=rf"^{name}(:| must be) "):
            call()


def test_covariance_distortion_is_relative_frobenius() -> None:
    before = np.array([[4.0, 1.0], [1.0, 2.0]])
    after = np.array([[4.0, 0.0], [0.0, 5.0]])
    measure = covariance_distortion(before, after)
    assert measure == pytest.approx(math.sqrt(1 + 1 + 9) / math.sqrt(16 + 1 + 1 + 4))
    assert measure.higher_is == "distorted"
    assert covariance_distortion(before, before) == 0.0
    assert covariance_distortion(7 * before, 7 * after) == pytest.approx(float(measure))


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (np.ones((2, 3)), np.ones((2, 3)), "original_cov"),
        (np.eye(2), np.eye(3), "released_cov"),
        (np.zeros((2, 2)), np.eye(2), "original_cov"),
        (np.eye(2), np.full((2, 2), np.nan), "released_cov"),
    ],
)
def test_covariance_refusals(before: np.ndarray, after: np.ndarray, name: str) -> None:
    with pytest.raises(InputError, match=rf"^{name}(:| must be) "):
        covariance_distortion(before, after)


def test_distribution_distance_agrees_with_scipy_and_ignores_the_order_of_records():
    rng = np.random.default_rng(0)
    x, y = rng.gamma(2.0, size=(300, 2)), rng.normal(size=(200, 2))
    for form, reference in (
        ("wasserstein", lambda a, b: stats.wasserstein_distance(a, b) / a.std()),
        ("kolmogorov", lambda a, b: stats.ks_2samp(a, b).statistic),
    ):
        found = distribution_distance(x, y, form=form)
        each = [reference(x[:, j], y[:, j]) for j in range(2)]
        np.testing.assert_allclose([float(found), found.low, found.high], [np.mean(each), min(each), max(each)])
        assert distribution_distance(x, x[rng.permutation(300)], form=form) == 0
    with pytest.raises(InputError, match="1 columns where original has 2"):
        distribution_distance(x, y[:, :1])


@pytest.mark.parametrize("form", ["wasserstein", "kolmogorov"])
def test_weighted_distributions_are_those_of_repeated_records(form):
    """Records of weight w count as w of them; a weight of 0 leaves one out, and gaps are left out with theirs."""
    rng = np.random.default_rng(5)
    x, times = rng.normal(size=(200, 2)), rng.integers(0, 5, 200)
    y = x + rng.normal(size=(200, 2))
    x[::9, 0] = np.nan
    weighted = distribution_distance(x, y, form=form, weights=times)
    repeated = distribution_distance(np.repeat(x, times, axis=0), np.repeat(y, times, axis=0), form=form)
    assert float(weighted) == pytest.approx(float(repeated))
    assert float(weighted) != pytest.approx(float(distribution_distance(x, y, form=form)), rel=1e-3)
    with pytest.raises(InputError, match="weights"):
        distribution_distance(x, y, weights=times[1:])
