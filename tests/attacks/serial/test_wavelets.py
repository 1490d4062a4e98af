"""Daubechies' filters, and the estimate of the risk of thresholding averaged over shifts."""

import numpy as np
import pytest

from veil.attacks.serial.wavelets import best_threshold, daubechies, denoise


@pytest.mark.parametrize("moments", [1, 2, 3, 4])
def test_filters_are_orthonormal_and_have_their_moments(moments):
    taps = np.array(daubechies(moments))
    assert len(taps) == 2 * moments
    assert taps.sum() == pytest.approx(np.sqrt(2), abs=1e-12)
    for shift in range(moments):
        assert taps[2 * shift :] @ taps[: len(taps) - 2 * shift] == pytest.approx(float(shift == 0), abs=1e-12)
    k = np.arange(len(taps))
    for power in range(moments):
        assert ((-1.0) ** k * k**power) @ taps == pytest.approx(0.0, abs=1e-10 * 4.0**power)


def test_two_moments_have_the_closed_form():
    root = np.sqrt(3)
    np.testing.assert_allclose(
        daubechies(2), np.array([1 + root, 3 + root, 3 - root, 1 - root]) / (4 * np.sqrt(2)), atol=1e-14
    )


def test_the_threshold_of_least_estimated_risk_is_the_best_on_a_grid():
    rng = np.random.default_rng(0)
    w = np.where(rng.random(4_000) < 0.2, 6.0, 0.0) + rng.normal(size=4_000)

    def sure(threshold):
        return np.mean(1.0 - 2.0 * (np.abs(w) <= threshold) + np.minimum(w**2, threshold**2))

    at = best_threshold(w, 4_000)
    assert sure(at) <= min(sure(t) for t in np.linspace(0, 4, 400)) + 1e-12
    assert best_threshold(rng.normal(size=4_000), 4_000) == pytest.approx(np.sqrt(2 * np.log(4_000)))


@pytest.mark.parametrize("moments", [1, 2, 4])
def test_steps_of_one_size_are_kept_and_constants_returned(moments):
    constant, divergence = denoise(np.full(300, 7.0), moments)
    np.testing.assert_allclose(constant, 7.0, atol=1e-12)
    assert 0 < divergence < 0.1
    huge = np.repeat([-1e6, 1e6], 200)
    np.testing.assert_allclose(denoise(huge, moments)[0], huge, atol=50.0)


@pytest.mark.parametrize("moments", [1, 2])
def test_the_estimated_risk_is_that_of_the_estimate(moments):
    """Over 200 draws; counting every shifted coefficient as one of its own would be off by a factor of 2ʲ."""
    rng = np.random.default_rng(1)
    t = np.arange(500) / 500
    signal = 3.0 * np.sign(t - 0.37) + 2.0 * np.sin(9.0 * t)
    differences = []
    for _ in range(200):
        z = signal + rng.normal(size=500)
        values, divergence = denoise(z, moments)
        sure = np.mean((z - values) ** 2) - 1.0 + 2.0 * divergence
        differences.append(sure - np.mean((values - signal) ** 2))
    error = np.std(differences) / np.sqrt(200)
    # Thresholds are chosen on the same data, which costs a little.
    assert abs(np.mean(differences)) < 4 * error + 0.01
    assert error < 0.006
