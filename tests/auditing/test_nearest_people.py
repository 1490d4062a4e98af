"""What the people nearest to somebody absent say: their mean, and the window that holds most of their values."""

import numpy as np
import pytest

from veil.auditing.absent import _of_nearest


@pytest.mark.parametrize(("decimals", "reach"), [(8, 0.1), (0, 0.1), (0, 1.0), (8, 0.0), (1, 5.0)])
def test_the_nearest_are_averaged_and_their_fullest_window_is_the_first_of_the_fullest(
    decimals: int, reach: float
) -> None:
    rng = np.random.default_rng(3)
    features, at = rng.normal(size=(60, 2)), rng.normal(size=(9, 2))
    values = np.round(3.0 * rng.normal(size=(60, 3)), decimals)
    values[:, 2] = np.nan
    means, windows = _of_nearest(features, values, at, np.full(3, reach))
    assert np.isnan(means[:, 2]).all()
    assert np.isnan(windows[:, 2]).all()
    for i, place in enumerate(at):
        near = np.argsort(np.linalg.norm(features - place, axis=1))[:20]
        for j in range(2):
            rising = np.sort(values[near, j])
            inside = [rising[(rising >= low) & (rising <= low + 2.0 * reach)] for low in rising]
            fullest = inside[
                int(np.argmax([np.count_nonzero(rising[a:] <= rising[a] + 2.0 * reach) for a in range(20)]))
            ]
            assert windows[i, j] == (fullest[0] + fullest[-1]) / 2.0
            assert means[i, j] == pytest.approx(values[near, j].mean())
