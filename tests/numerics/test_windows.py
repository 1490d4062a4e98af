"""The fullest window of a mixture: against all windows, in closed form, and by how often it holds the value."""

import numpy as np
import pytest

from veil.numerics.windows import most_probable_window, window_mass


def mixtures(n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), n).T, rng.normal(0.0, 2.0, (k, n)), rng.uniform(0.1, 1.0, k)


@pytest.mark.parametrize("reach", [0.02, 0.2, 1.0])
def test_no_window_holds_more(reach: float) -> None:
    """Within 1 % of the best of 4,001 windows, for mixtures of five normals; almost always the best."""
    weights, means, deviations = mixtures(300, 5, 0)
    grid = np.linspace(-8.0, 8.0, 4_001)
    top = window_mass(np.tile(grid[:, None], (1, 300)), weights, means, deviations, reach).max(axis=0)
    guess = most_probable_window(weights, means, deviations, reach)
    own = window_mass(guess[None], weights, means, deviations, reach)[0]
    assert (own > 0.99 * top).mean() > 0.97
    assert (own > 0.8 * top).all()


def test_one_normal_is_guessed_by_its_mean() -> None:
    means = np.random.default_rng(1).normal(size=(1, 50))
    guess = most_probable_window(np.ones((1, 50)), means, np.array([0.7]), 0.1)
    np.testing.assert_allclose(guess, means[0], atol=1e-12)


def test_two_equal_normals_near_each_other() -> None:
    """One peak, at the mean, while they are less than two deviations apart and the window is small; else two."""
    near, far = (
        float(most_probable_window(np.full((2, 1), 0.5), np.array([[-a], [a]]), np.ones(2), 0.01)[0])
        for a in (0.9, 2.0)
    )
    assert near == pytest.approx(0.0, abs=1e-3)
    assert abs(far) == pytest.approx(2.0, abs=0.01)


def test_it_hits_more_often_than_the_mean() -> None:
    """20,000 values of mixtures: paired differences of hits, at least 0 less two standard errors for every width."""
    weights, means, deviations = mixtures(20_000, 3, 2)
    rng = np.random.default_rng(3)
    kind = (rng.random(20_000) > np.cumsum(weights, axis=0)).sum(axis=0)
    x = means[kind, np.arange(20_000)] + deviations[kind] * rng.standard_normal(20_000)
    mean = (weights * means).sum(axis=0)
    gains = []
    for reach in (0.05, 0.2, 0.5):
        guess = most_probable_window(weights, means, deviations, reach)
        hits, plain = np.abs(guess - x) <= reach, np.abs(mean - x) <= reach
        difference = hits.astype(float) - plain
        gains.append(difference.mean())
        assert difference.mean() > -2 * difference.std() / np.sqrt(len(x))
        expected = window_mass(guess[None], weights, means, deviations, reach)[0].mean()
        assert hits.mean() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / len(x)))
    assert min(gains) > 0.02
