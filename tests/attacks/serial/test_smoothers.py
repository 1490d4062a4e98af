"""Which smoother is taken, what it expects to leave, and what monotone series gain."""

import numpy as np
import pytest

from veil.attacks.serial.smoothers import Smoother, best_smoother, nearest_monotone
from veil.attacks.serial.state_space import choose_series


def series(signal, rng):
    z = signal + rng.normal(size=len(signal))
    return z - z.mean(), signal - z.mean()


def mse(values, signal):
    return float(np.mean((values - signal) ** 2))


def test_the_risk_of_a_monotone_fit_is_estimated_by_its_levels():
    rng = np.random.default_rng(0)
    signal = np.sort(2.0 * rng.normal(size=400))
    differences = []
    for _ in range(200):
        z, truth = series(signal, rng)
        values, n_levels = nearest_monotone(z, rising=True)
        sure = np.mean((z - values) ** 2) - 1.0 + 2.0 * n_levels / 400
        differences.append(sure - mse(values, truth))
    assert abs(np.mean(differences)) < 4 * np.std(differences) / np.sqrt(200)


def test_white_values_beside_a_smooth_path_are_shrunk_by_their_share():
    """A path with white values of variance u: the guess keeps u/(1 + u) of the residuals, and its error is that."""
    rng = np.random.default_rng(1)
    n, u = 8_000, 1.5
    signal = 6.0 * np.sin(np.arange(n) / 400) + np.sqrt(u) * rng.normal(size=n)
    z, truth = series(signal, rng)
    smoother = best_smoother(z, choose_series(z))
    assert smoother.gain(z) == pytest.approx(u / (1 + u), abs=4 * np.sqrt(2 / n))
    assert mse(smoother.guess(z), truth) == pytest.approx(u / (1 + u), rel=0.06)
    assert smoother.risk(z) == pytest.approx(u / (1 + u), rel=0.1)


def test_jumps_are_taken_by_wavelets():
    rng = np.random.default_rng(2)
    z, truth = series(np.repeat(4.0 * rng.normal(size=10), 200), rng)
    model = choose_series(z)
    smoother = best_smoother(z, model)
    assert smoother.name == "haar"
    assert mse(smoother.guess(z), truth) < 0.7 * mse(model.smooth(z)[0], truth)


@pytest.mark.parametrize("falling", [False, True])
def test_sorted_series_come_out_monotone_and_nearer(falling):
    rng = np.random.default_rng(3)
    gains = []
    for _ in range(10):
        signal = np.sort(rng.lognormal(size=1_000))[:: -1 if falling else 1] * 2.0
        z, truth = series(signal, rng)
        model = choose_series(z)
        smoother = best_smoother(z, model)
        assert smoother.name.endswith("monotone")
        steps = np.diff(smoother.values)
        assert (steps <= 1e-9).all() if falling else (steps >= -1e-9).all()
        gains.append(mse(smoother.guess(z), truth) / mse(Smoother("", *model.smooth(z)).guess(z), truth))
    assert np.mean(gains) < 0.6


def test_a_path_that_turns_is_not_made_monotone():
    rng = np.random.default_rng(4)
    z, _ = series(6.0 * np.sin(np.arange(1_000) / 80), rng)
    assert "monotone" not in best_smoother(z, choose_series(z)).name


def test_gaps_stay_gaps():
    rng = np.random.default_rng(5)
    z, truth = series(np.sort(3.0 * rng.normal(size=500)), rng)
    z[rng.random(500) < 0.2] = np.nan
    smoother = best_smoother(z, choose_series(z))
    np.testing.assert_array_equal(np.isnan(smoother.values), np.isnan(z))
    assert np.nanmean((smoother.guess(z) - truth) ** 2) < 0.1
