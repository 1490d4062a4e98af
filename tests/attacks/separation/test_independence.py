"""Independent component analysis on arrays: laws it must follow, and cases where it must fail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, ortho_group

from veil.attacks.separation.independence import (
    fast_ica,
    marginal_entropy,
    normal_signals,
    separate,
    separate_orthogonal,
    spline_score,
    whiten,
)
from veil.attacks.separation.overcomplete import least_absolute, separate_sparse
from veil.attacks.separation.pairing import density_distances, mean_distances, pair, standardized
from veil.errors import InputError
from veil.measures.matching import match_signals

NORMAL_ENTROPY = 0.5 * np.log(2 * np.pi * np.e)


def sources(seed, n=4000):
    """Exponential, Laplace, uniform and bimodal columns of different scale and mean."""
    rng = np.random.default_rng(seed)
    bimodal = np.where(rng.random(n) < 0.4, -1.0, 2.0) + rng.normal(0, 0.3, n)
    return np.column_stack([rng.exponential(2.0, n), rng.laplace(5.0, 1.0, n), rng.uniform(-1, 3, n), bimodal])


def mixed(x, seed):
    """The records under a Haar orthogonal matrix."""
    matrix = ortho_group.rvs(x.shape[1], random_state=seed)
    return x @ matrix.T, matrix


def sparse_table(seed, n, d, share):
    rng = np.random.default_rng(seed)
    return rng.laplace(size=(n, d)) * (rng.random((n, d)) < share) + 0.01 * rng.normal(size=(n, d))


def test_whitening_is_exact_and_keeps_small_directions():
    x = np.random.default_rng(0).normal(size=(500, 3)) * [1e6, 1.0, 1e-1] + [1e7, 0.0, 3.0]
    data = whiten(x)
    np.testing.assert_allclose(data.white.T @ data.white / 500, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(data.mean + data.white @ data.root.T, x, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(data.inverse @ data.root, np.eye(3), atol=1e-9)
    assert whiten(x[:, [0, 1, 1]]).rank == 2


def test_score_of_a_normal_law_is_a_straight_line():
    """Information 1, plus what the coefficients fit of the noise: of order 1/N, a quarter at four times the records."""
    excess = []
    for n in (5_000, 20_000):
        draws = (standardized(np.random.default_rng(seed).normal(size=(n, 1)))[:, 0] for seed in range(40))
        excess.append(np.mean([spline_score(u)[1] - 1.0 for u in draws]))
    assert 0 < excess[1] < excess[0] < 0.1
    # A mean of 40 sums of about five squared normals has a relative error of .1; the ratio 4 one of .6.
    assert 4 - 4 * 0.6 < excess[0] / excess[1] < 4 + 4 * 0.6


def test_score_of_a_peaked_law_is_nearly_its_own():
    """A Laplace law of variance 1 has ψ = √2 sign(u) and information 2."""
    rng = np.random.default_rng(1)
    v = rng.laplace(size=40_000) / np.sqrt(2)
    psi, information = spline_score(v)
    # A spline is a projection of the score: at most its information (4 standard errors), at least that of tanh,
    # which is the contrast of FastICA.
    tanh = np.mean(1 - np.tanh(v) ** 2) ** 2 / np.mean(np.tanh(v) ** 2)
    assert tanh < information < 2.0 + 4 * 2.0 / np.sqrt(len(v))
    assert np.corrcoef(psi, np.sign(v))[0, 1] == pytest.approx(np.sqrt(information / 2.0), abs=0.02)


def test_entropy_is_largest_for_the_normal_law():
    """Vasicek's estimate on normal data: ½ ln 2πe; lower for any other law of the same variance."""
    n = 20_000
    normal = norm.ppf((np.arange(n) + 0.5) / n)[:, None]
    assert marginal_entropy(normal) == pytest.approx(NORMAL_ENTROPY, abs=0.03)
    uniform = np.linspace(0, 1, n)[:, None]
    assert marginal_entropy(uniform) == pytest.approx(0.5 * np.log(12), abs=0.03)


def test_any_square_mixture_is_separated_up_to_scale():
    x = sources(2)
    mixing = np.random.default_rng(2).normal(size=(4, 4))
    found = separate(x @ mixing.T)
    match = match_signals(x, found.signals)
    assert match.correlations.min() > 0.995
    assert found.converged
    assert found.starts_agreeing >= 1
    np.testing.assert_allclose(found.signals.std(axis=0), 1.0, atol=1e-9)
    # The release is its signals under the mixing.
    centred = found.signals - found.signals.mean(axis=0)
    np.testing.assert_allclose(centred @ found.mixing.T, (x - x.mean(axis=0)) @ mixing.T, atol=1e-8)


def test_orthogonal_mixing_returns_scale_and_origin():
    """Errata A12: order and sign remain. FastICA on whitened data has unit variances instead."""
    x = sources(3)
    for seed in range(3):
        y, matrix = mixed(x, seed)
        found = separate_orthogonal(y)
        match = match_signals(x, found.signals)
        recovered = found.signals[:, match.order] * match.sign
        # An angle's error is of order 1/√N; it acts on the other columns' deviations and means.
        size = np.sqrt((x**2).mean())
        assert np.sqrt(np.mean((recovered - x) ** 2)) < 3 * size / np.sqrt(len(x))
        np.testing.assert_allclose(found.mixing.T @ found.mixing, np.eye(4), atol=1e-9)
        np.testing.assert_allclose(found.mixing[:, match.order] * match.sign, matrix, atol=0.05)
        paper = separate(y, refine=False).signals[:, match_signals(x, separate(y, refine=False).signals).order]
        assert np.abs(paper.std(axis=0) / x.std(axis=0) - 1).max() > 0.3


def test_likelihood_steps_are_more_precise_than_fast_ica():
    """Mean squared leak 1 − ρ² over draws: less than two thirds of FastICA's with skewed and flat signals."""
    leaks = []
    for seed in range(8):
        x = sources(seed, 1000)
        y, _ = mixed(x / x.std(axis=0), seed)
        leaks.append(
            [np.mean(1 - match_signals(x, separate(y, refine=refine).signals).correlations ** 2) for refine in (0, 1)]
        )
    plain, refined = np.mean(leaks, axis=0)
    assert refined < plain * 2 / 3


def test_normal_signals_of_different_variance_fall_to_an_orthogonal_matrix():
    """Whitening forbids it; the orthogonal likelihood finds principal axes, of angle error about √(ab)/(a−b)/√N."""
    x = np.random.default_rng(4).normal(size=(5000, 3)) * [1.0, 3.0, 9.0]
    y, _ = mixed(x, 4)
    assert match_signals(x, separate_orthogonal(y).signals).correlations.min() > 0.98


def test_equal_normal_signals_cannot_be_separated():
    """A rotation of a round normal table is the same law: |correlations| as for a random rotation, and it is said."""
    n, correlations = 2000, []
    for seed in range(6):
        x = np.random.default_rng(seed).normal(size=(n, 4))
        y, _ = mixed(x, seed)
        found = separate_orthogonal(y)
        correlations.append(match_signals(x, found.signals).correlations.mean())
        assert len(normal_signals(found.signals)) >= 3
    chance = [match_signals(np.eye(4), ortho_group.rvs(4, random_state=s)).correlations.mean() for s in range(200)]
    assert np.mean(correlations) < np.mean(chance) + 5 * np.std(chance) / np.sqrt(6)


def test_counts_the_normal_signals():
    rng = np.random.default_rng(5)
    x = np.column_stack([rng.normal(size=(3000, 3)), rng.exponential(size=(3000, 2))])
    found = separate(x @ rng.normal(size=(5, 5)).T)
    assert len(normal_signals(found.signals)) == 3


def test_constant_columns_leave_the_others_separable():
    x = sources(6)
    x[:, 1] = 4.0
    y, _ = mixed(x, 6)
    found = separate_orthogonal(y)
    assert found.signals.shape == (len(x), 3)
    match = match_signals(x, found.signals)
    np.testing.assert_array_equal(match.order[[1]], [-1])
    assert match.correlations[[0, 2, 3]].min() > 0.99


def test_same_seed_same_answer():
    y, _ = mixed(sources(7, 500), 7)
    np.testing.assert_array_equal(separate(y, seed=3).signals, separate(y, seed=3).signals)
    rotation, *_ = fast_ica(whiten(y).white, starts=1, seed=1)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-12)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([[1.0, np.nan], [2.0, 3.0]]), "1 missing"),
        (np.ones((1, 2)), "1 record"),
        (np.ones((5, 2)), "equal"),
    ],
)
def test_bad_releases_are_refused(y, message):
    with pytest.raises(InputError, match=message):
        separate(y)


def test_sparse_signals_are_separated_beyond_the_number_of_columns():
    """Ten signals in five columns; linear filters can have at most four of them, and here none."""
    x = sparse_table(8, 4000, 10, 0.1)
    for seed in range(3):
        y = x @ np.random.default_rng(seed).normal(size=(5, 10)).T
        found = separate_sparse(y, 10)
        assert found is not None
        assert found.signals.shape == (4000, 10)
        assert np.mean(match_signals(x, found.signals).correlations) > 0.9
        linear = match_signals(x, separate(y).signals).correlations
        assert np.sort(linear)[::-1][:5].mean() < 0.9


def test_no_lines_no_sparse_separation():
    rng = np.random.default_rng(9)
    for x in (rng.normal(size=(4000, 10)), rng.uniform(size=(4000, 10)), rng.normal(size=(300, 10))):
        assert separate_sparse(x @ rng.normal(size=(5, 10)).T, 10) is None
        assert separate_sparse(x[:, :4] @ rng.normal(size=(2, 4)).T, 4) is None
    assert separate_sparse(sources(9), 4) is None, "as many columns as signals: not under-determined"


def test_least_absolute_solution_agrees_with_linear_programming():
    from scipy.optimize import linprog

    rng = np.random.default_rng(10)
    mixing, y = rng.normal(size=(3, 6)), rng.normal(size=(8, 3))
    found = least_absolute(mixing, y, steps=400)
    np.testing.assert_allclose(found @ mixing.T, y, atol=1e-6)
    for row, target in zip(found, y, strict=True):
        exact = linprog(np.ones(12), A_eq=np.hstack([mixing, -mixing]), b_eq=target, bounds=(0, None))
        assert np.abs(row).sum() == pytest.approx(exact.fun, rel=1e-3)


def test_pairing_is_a_signed_permutation():
    """akica-J: one entry ±1 in each row and column; means decide signs that densities cannot."""
    x, other = sources(11), sources(12, 1000)
    order, signs = [2, 0, 3, 1], np.array([1.0, -1.0, -1.0, 1.0])
    turned = x[:, order] * signs
    distances = density_distances(standardized(turned), standardized(other))
    means = mean_distances(turned.mean(axis=0) / turned.std(axis=0), other.mean(axis=0) / other.std(axis=0))
    found = pair(distances + means, 1000)
    np.testing.assert_array_equal(found.columns, order)
    np.testing.assert_array_equal(found.signs, signs)
    assert found.ambiguity == "none"
    np.testing.assert_array_equal(np.abs(found.matrix).sum(axis=0), 1)
    np.testing.assert_array_equal(np.abs(found.matrix).sum(axis=1), 1)
    alone = pair(distances, 1000)
    np.testing.assert_array_equal(alone.columns, order)
    assert alone.ambiguity == "sign", "densities alone leave Laplace and uniform signals open"


def test_columns_of_one_law_leave_the_order_open():
    rng = np.random.default_rng(13)
    found = pair(density_distances(rng.exponential(size=(3000, 3)), rng.exponential(size=(500, 3))), 500)
    assert found.ambiguity == "order"
