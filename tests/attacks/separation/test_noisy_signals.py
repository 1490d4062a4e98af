"""A13 where R = I: independent signals of known densities behind additive noise."""

import numpy as np
import pytest

import veil
from veil.attacks.knowledge import KnownSample
from veil.attacks.separation.noisy_signals import (
    SignalDensity,
    kernel_density,
    posterior_signals,
    recover_noisy,
    signal_densities,
)

NORMAL = SignalDensity(np.zeros(1), np.ones(1))
TWO_POINTS = SignalDensity(np.array([-1.0, 1.0]), np.full(2, 1e-9))


def signals(n, rng):
    """Five signals that are not normal: exponential, Laplace, uniform, log-normal and of two modes."""
    both = np.where(rng.random(n) < 0.5, -2.0, 2.0) + 0.5 * rng.normal(size=n)
    columns = [rng.exponential(size=n), rng.laplace(size=n), rng.random(n), rng.lognormal(size=n), both]
    return np.column_stack([(c - c.mean()) / c.std() for c in columns])


def relative_error(guess, x):
    return float(np.linalg.norm(guess - x) / np.linalg.norm(x - x.mean(axis=0)))


def test_two_points_have_the_closed_form():
    """E[s | t] = tanh(t/v) of a signal that is −1 or 1."""
    t, v = np.array([-2.0, -0.3, 0.0, 1.1]), np.array([0.5, 1.0, 2.0, 0.7])
    mean, variance = TWO_POINTS.tilted(t, v)
    np.testing.assert_allclose(mean, np.tanh(t / v), atol=1e-6)
    np.testing.assert_allclose(variance, 1.0 - np.tanh(t / v) ** 2, atol=1e-6)
    alone, _ = posterior_signals(t[:, None], np.array([[2.0]]), [TWO_POINTS])
    np.testing.assert_allclose(alone[:, 0], np.tanh(2.0 * t), atol=1e-4)


def test_normal_signals_give_the_linear_filter():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    precision = root @ root.T + np.eye(4)
    t = rng.normal(size=(50, 4))
    values, _ = posterior_signals(t, precision, [NORMAL] * 4)
    np.testing.assert_allclose(values, t @ precision @ np.linalg.inv(precision + np.eye(4)), atol=1e-8)


def test_coupled_signals_come_near_the_exact_mean():
    """Two signals, of two modes and skewed, under correlated noise: against quadrature over the plane."""
    rng = np.random.default_rng(1)
    densities = [kernel_density(signals(4_000, rng)[:, j]) for j in (4, 0)]
    precision = np.linalg.inv(np.array([[0.5, 0.35], [0.35, 0.5]]))
    t = rng.normal(size=(200, 2))
    grid = np.linspace(-4, 7, 700)
    masses = [
        (np.exp(-0.5 * (grid[:, None] - d.centres) ** 2 / d.variances) / np.sqrt(d.variances)).sum(axis=1)
        for d in densities
    ]
    exact = np.empty_like(t)
    for i, each in enumerate(t):
        a, b = grid[:, None] - each[0], grid[None] - each[1]
        quadratic = precision[0, 0] * a**2 + 2 * precision[0, 1] * a * b + precision[1, 1] * b**2
        joint = masses[0][:, None] * masses[1] * np.exp(-0.5 * quadratic)
        exact[i] = (joint.sum(axis=1) @ grid, joint.sum(axis=0) @ grid) / joint.sum()
    found, _ = posterior_signals(t, precision, densities)
    linear = t @ precision @ np.linalg.inv(precision + np.eye(2))
    assert np.sqrt(np.mean((found - exact) ** 2)) < 0.03
    assert np.sqrt(np.mean((linear - exact) ** 2)) > 0.15


def test_densities_have_mean_0_and_variance_1_and_normal_ones_are_normal():
    rng = np.random.default_rng(2)
    for column in signals(2_000, rng).T:
        density = kernel_density(column)
        assert density.centres.mean() == pytest.approx(0.0, abs=1e-12)
        assert density.centres.var() + density.variances.mean() == pytest.approx(1.0)
    mixed = np.column_stack([rng.normal(size=1_000), rng.exponential(size=1_000) - 1.0])
    assert [len(density.centres) for density in signal_densities(mixed)] == [1, 48]


@pytest.mark.parametrize("scale", [0.2, 0.8])
def test_signals_of_their_own_densities_beat_the_linear_filter(scale):
    gains = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = signals(4_000, rng) @ rng.normal(size=(5, 5)).T + rng.normal(size=5)
        release, _ = veil.publish(x[1_000:], veil.AdditiveNoise(scale, random_state=seed))
        guess = veil.AKICAAttack(starts=3).run(release, KnownSample(x[:1_000]))
        linear = veil.BayesEstimateAttack().run(release)
        gains.append(relative_error(guess.values, x[1_000:]) / relative_error(linear.values, x[1_000:]))
        assert guess.details.risk < guess.details.linear_risk
        assert guess.details.pairing is None
        assert guess.ambiguity == "none"
    assert np.mean(gains) < 0.98
    assert max(gains) < 1.0


def test_the_estimated_risk_is_the_error_in_units_of_the_noise():
    rng = np.random.default_rng(5)
    x = signals(6_000, rng) @ rng.normal(size=(5, 5)).T
    noise = np.diag(0.25 * x.var(axis=0))
    y = x + rng.normal(size=x.shape) @ np.sqrt(noise)
    recovery = recover_noisy(y[1_000:], noise, x[:1_000], starts=3)
    error = (recovery.values - x[1_000:]) / np.sqrt(np.diag(noise))
    assert recovery.risk == pytest.approx(float((error**2).sum(axis=1).mean()), rel=0.1)


def test_normal_records_lose_nothing():
    for seed in range(4):
        rng = np.random.default_rng(10 + seed)
        x = rng.normal(size=(3_300, 4)) @ rng.normal(size=(4, 4)).T
        release, _ = veil.publish(x[300:], veil.AdditiveNoise(0.7, random_state=seed))
        guess = veil.AKICAAttack(starts=2).run(release, KnownSample(x[:300]))
        linear = veil.BayesEstimateAttack().run(release)
        assert relative_error(guess.values, x[300:]) < 1.01 * relative_error(linear.values, x[300:])


def test_the_papers_guess_keeps_the_noise():
    """``A J s_y`` has the records' own variance, so its error is no less than the release's."""
    rng = np.random.default_rng(20)
    x = signals(3_000, rng) @ (np.eye(5) + 0.3 * rng.normal(size=(5, 5))).T + 4.0
    release, _ = veil.publish(x[1_000:], veil.AdditiveNoise(0.5, random_state=0))
    paper = veil.AKICAAttack(variant="paper", starts=3).run(release, KnownSample(x[:1_000]))
    best = veil.AKICAAttack(starts=3).run(release, KnownSample(x[:1_000]))
    assert relative_error(best.values, x[1_000:]) < 0.8 * relative_error(paper.values, x[1_000:])
    np.testing.assert_array_equal(np.abs(paper.details.pairing).sum(axis=0), 1)


def test_gaps_are_filtered_and_stay():
    rng = np.random.default_rng(21)
    x = signals(2_500, rng) @ rng.normal(size=(5, 5)).T
    x[500:][rng.random((2_000, 5)) < 0.03] = np.nan
    release, _ = veil.publish(x[500:], veil.AdditiveNoise(0.5, random_state=0))
    guess = veil.AKICAAttack(starts=2).run(release, KnownSample(x[:500]))
    np.testing.assert_array_equal(np.isnan(guess.values), np.isnan(x[500:]))
    error = np.nanmean(((guess.values - x[500:]) / np.nanstd(x[500:], axis=0)) ** 2)
    assert error < 0.25 * 0.9


def test_what_cannot_be_separated_is_refused():
    x = np.random.default_rng(22).normal(size=(200, 3))
    release, _ = veil.publish(x, veil.AdditiveNoise(0.5, random_state=0))
    with pytest.raises(veil.NotApplicableError, match="sample has 3 records"):
        veil.AKICAAttack().run(release, KnownSample(x[:3]))
    flat = np.column_stack([x[:50, 0], x[:50, 0], x[:50, 1]])
    with pytest.raises(veil.NotApplicableError, match="spans less"):
        veil.AKICAAttack().run(release, KnownSample(flat))
