"""A26: whole and decimal numbers behind rotations, linear maps and projections."""

from __future__ import annotations

import numpy as np
import pytest

import veil

KEYS = 20


def counts(d, seed, n=600):
    """Correlated whole numbers whose spreads differ in their first two digits."""
    rng = np.random.default_rng(seed)
    spread = np.round(np.geomspace(3, 900, d)) * 1.03
    mixed = rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d)))
    return np.rint((mixed / mixed.std(axis=0) + 5) * spread)


def exact(guess, x):
    return bool(np.abs(guess.values - x).max() < 1e-6 * np.abs(x).max())


@pytest.mark.parametrize("d", [2, 6, 10, 20])
def test_rotations_of_whole_numbers_are_undone_by_the_release_alone(d):
    keys = KEYS if d <= 10 else 5
    hits = 0
    for key in range(keys):
        x = counts(d, key)
        release, _ = veil.publish(x, veil.OrthogonalTransform(dither=False, random_state=key))
        hits += exact(veil.LatticeAttack().run(release), x)
    assert hits == keys


def test_decimals_and_answers_are_on_a_grid_too():
    rng = np.random.default_rng(0)
    x = counts(5, 0)
    x[:, 1] /= 10
    x[:, 2] /= 100
    x[:, 3] = rng.random(len(x)) < 0.3
    release, _ = veil.publish(x, veil.OrthogonalTransform(dither=False, random_state=0))
    guess = veil.LatticeAttack().run(release)
    assert np.allclose(guess.values, x)
    assert guess.details.grains == pytest.approx([1, 0.1, 0.01, 1, 1])


def test_columns_of_one_unit_are_told_apart_by_a_known_record():
    rng = np.random.default_rng(1)
    x = rng.poisson(100, size=(600, 3)).astype(float)
    x = np.rint((x - x.mean(axis=0)) / x.std(axis=0) * [10.1, 10.2, 10.3] + [50, 60, 70])
    release, _ = veil.publish(x, veil.OrthogonalTransform(dither=False, random_state=1))
    assert "order" in veil.LatticeAttack().run(release).ambiguity.parts
    known = veil.LatticeAttack().run(release, veil.KnownPairs(x[:1], [0]))
    assert known.ambiguity == "none"
    assert exact(known, x)


def test_a_translation_leaves_differences_and_two_known_records_the_rest():
    x = counts(5, 3)
    release, _ = veil.publish(x, veil.OrthogonalTransform(translation=1.0, dither=False, random_state=3))
    alone = veil.LatticeAttack().run(release)
    assert not alone.details.origin_settled
    steps = np.abs(np.diff(alone.values, axis=0))
    assert np.allclose(steps, np.abs(np.diff(x, axis=0)))
    assert exact(veil.LatticeAttack().run(release, veil.KnownPairs(x[:2], [0, 1])), x)


def test_a_column_of_full_precision_leaves_no_lattice():
    x = counts(4, 0)
    x[:, 0] += np.random.default_rng(0).normal(size=len(x))
    release, _ = veil.publish(x, veil.OrthogonalTransform(dither=False, random_state=0))
    with pytest.raises(veil.NotApplicableError, match="no lattice"):
        veil.LatticeAttack().run(release)


@pytest.mark.parametrize(
    "method",
    [
        lambda key: veil.LinearTransform(dither=False, random_state=key),
        lambda key: veil.RandomProjection(4, dither=False, random_state=key),
    ],
)
def test_few_known_records_undo_any_linear_map_of_whole_numbers(method):
    rates, hits = np.zeros(2), 0
    for key in range(KEYS):
        x = np.rint(counts(8, key) / np.geomspace(1, 30, 8))
        release, _ = veil.publish(x, method(key))
        for i, known in enumerate((1, 2)):
            guess = veil.LatticeAttack().run(release, veil.KnownPairs(x[:known], range(known)))
            rates[i] += np.mean(np.abs(guess.values - x) < 0.1 * x.std(axis=0)) / KEYS
        hits += exact(veil.LatticeAttack().run(release, veil.KnownPairs(x[:4], range(4))), x)
    assert rates[0] > 0.5
    assert rates[1] > 0.8
    assert hits == KEYS


def test_noise_on_a_linear_map_is_another_attack():
    assert not veil.LatticeAttack.applies_to(
        veil.publish(counts(3, 0), veil.LinearTransform(noise_scale=0.1, random_state=0))[0].only_part.model
    )


@pytest.mark.parametrize(
    ("method", "attack"),
    [
        (veil.OrthogonalTransform(dither=False, random_state=0), veil.LatticeAttack()),
        (veil.LinearTransform(dither=False, random_state=0), veil.LatticeAttack()),
        (veil.PairwiseRotation(random_state=0), veil.RotationMomentsAttack()),
    ],
)
def test_rows_that_the_release_does_not_have_are_refused(method, attack):
    x = counts(4, 0)
    release, _ = veil.publish(x, method)
    with pytest.raises(veil.InputError, match="from 0 to 599; 1 are beyond"):
        attack.run(release, veil.KnownPairs(x[:2], [0, 600]))


def test_more_columns_than_are_reduced_are_said():
    x = np.random.default_rng(0).poisson(9, size=(200, 61))
    release, _ = veil.publish(x, veil.OrthogonalTransform(dither=False, random_state=0))
    with pytest.raises(veil.NotApplicableError, match="up to 60 columns"):
        veil.LatticeAttack().run(release)
