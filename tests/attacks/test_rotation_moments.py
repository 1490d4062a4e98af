"""A27: rotations of normalized columns, undone by the variances and ranges that such columns must have."""

from __future__ import annotations

import numpy as np
import pytest

import veil
from veil.attacks.rotation.unturned import unturned

KEYS = 20


def private(d, seed, n=400):
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, size=(n, d)) @ (np.eye(d) + 0.4 * rng.random((d, d)))


def normalized(x, how):
    return (x - x.mean(axis=0)) / x.std(axis=0) if how == "zscore" else (x - x.min(axis=0)) / np.ptp(x, axis=0)


@pytest.mark.parametrize("how", ["zscore", "minmax"])
@pytest.mark.parametrize("d", [2, 6])
def test_the_release_alone_shows_every_normalized_column(d, how):
    for key in range(KEYS):
        x = private(d, key)
        release, _ = veil.publish(x, veil.PairwiseRotation(normalize=how, random_state=key))
        guess = veil.RotationMomentsAttack().run(release)
        assert guess.up_to == ("order", "sign", "scale")
        match = np.abs(np.corrcoef(guess.details.normalized.T, normalized(x, how).T)[:d, d:])
        assert (match.max(axis=0) > 1 - 1e-9).all()


@pytest.mark.parametrize("how", ["zscore", "minmax"])
@pytest.mark.parametrize("d", [2, 3, 5, 6])
def test_three_known_records_give_everything(d, how):
    for key in range(KEYS):
        x = private(d, key)
        release, _ = veil.publish(x, veil.PairwiseRotation(normalize=how, random_state=key))
        guess = veil.RotationMomentsAttack().run(release, veil.KnownPairs(x[:3], range(3)))
        assert np.allclose(guess.values, x, atol=1e-5)


@pytest.mark.parametrize("how", ["zscore", "minmax"])
def test_ranges_give_everything_where_columns_are_skewed(how):
    x = private(4, 1)
    release, _ = veil.publish(x, veil.PairwiseRotation(normalize=how, random_state=1))
    guess = veil.RotationMomentsAttack().run(release, veil.KnownRanges(x.min(axis=0), x.max(axis=0)))
    assert np.allclose(guess.values, x)


def test_columns_that_were_turned_twice_are_no_pairs():
    x = private(4, 2)
    method = veil.PairwiseRotation(pairs=[(0, 1), (2, 3), (1, 2)], random_state=2)
    release, _ = veil.publish(x, method)
    with pytest.raises(veil.NotApplicableError, match="pairs"):
        veil.RotationMomentsAttack().run(release)


def test_uncorrelated_columns_show_no_angle():
    # Variances of 1 and a covariance of 0 are the same at every angle.
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.sqrt(2) * np.column_stack([np.cos(angle), np.sin(angle)])
    assert unturned(circle, "zscore") is None
