"""A17 in matrix form: one matrix that turns all records into their ranges."""

import numpy as np
import pytest

import veil
from veil.attacks.knowledge import KnownRanges
from veil.attacks.projection.matrix_form import _fitted, _haar, _misses, drawn_matrix, turned_into_box
from veil.errors import NotApplicableError


def tables(d, seed, n=400):
    rng = np.random.default_rng(seed)
    mixing = np.eye(d) + 0.4 * rng.normal(size=(d, d))
    return {
        "uniform": rng.random((n, d)),
        "skewed": rng.gamma(2.0, size=(n, d)) @ mixing + 3.0,
        "normal": rng.normal(size=(n, d)) @ mixing + 1.0,
    }


def ranges(x):
    return KnownRanges(x.min(axis=0), x.max(axis=0))


def hits(guess, x):
    return float((np.abs(guess.values - x) < 0.1 * x.std(axis=0)).mean())


@pytest.mark.parametrize("kind", ["uniform", "skewed", "normal"])
@pytest.mark.parametrize("d", [2, 3])
def test_few_columns_are_determined_by_their_ranges(kind, d):
    """2d ends against d(d−1)/2 angles: every record comes back, where lengths alone hit no more than a constant."""
    for seed in range(3):
        x = tables(d, seed)[kind]
        release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=seed))
        guess = veil.HypersphereAttack(form="matrix").run(release, ranges(x))
        np.testing.assert_allclose(guess.values, x, atol=1e-4 * x.std())
        assert guess.details.n_matrices == 1
        assert guess.details.misfit < 1e-6
        assert hits(veil.HypersphereAttack().run(release, ranges(x)), x) < 0.3


def test_four_columns_are_determined_too():
    right = []
    for seed in range(4):
        x = tables(4, seed)["skewed"]
        release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=seed))
        right.append(hits(veil.HypersphereAttack(form="matrix").run(release, ranges(x)), x))
    assert np.mean(right) > 0.7


def test_many_columns_leave_a_family_of_matrices():
    """Eight columns have 28 angles and 16 ends: matrices are many, and their mean is no better than lengths."""
    x = tables(8, 0)["normal"]
    release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    guess = veil.HypersphereAttack(form="matrix").run(release, ranges(x))
    assert guess.details.n_matrices > 10
    assert hits(guess, x) < 0.2
    assert guess.details.misfit < 1e-6


def test_ranges_of_too_many_columns_are_refused():
    x = np.random.default_rng(0).normal(size=(50, 10))
    release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    with pytest.raises(NotApplicableError, match="ranges of 10 columns leave too many matrices"):
        veil.HypersphereAttack(form="matrix").run(release, ranges(x))


def test_ranges_that_are_not_attained_leave_the_lengths():
    x = tables(3, 1)["uniform"]
    release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=1))
    wide = KnownRanges(x.min(axis=0) - 0.4, x.max(axis=0) + 0.4)
    guess = veil.HypersphereAttack(form="matrix").run(release, wide)
    if guess.details.n_matrices == 0:
        np.testing.assert_array_equal(guess.values, veil.HypersphereAttack().run(release, wide).values)
    assert guess.details.misfit is not None


def test_a_rotation_is_not_taken_for_a_reflection():
    """A square's records and their mirror image fit the same ranges; that the matrix is a rotation decides."""
    rng = np.random.default_rng(2)
    x = rng.random((300, 2))
    x[:4] = [[0.0, 0.3], [1.0, 0.4], [0.2, 0.0], [0.7, 1.0]]
    for seed in range(4):
        release, _ = veil.publish(x, veil.OrthogonalTransform(proper=True, random_state=seed))
        guess = veil.HypersphereAttack(form="matrix").run(release, KnownRanges(0.0, 1.0))
        y, z = release.to_numpy(), guess.values / release.only_part.model.unit
        matrix = np.linalg.lstsq(y, z, rcond=None)[0]
        assert np.linalg.det(matrix) == pytest.approx(1.0, abs=1e-3)


def test_the_papers_matrix_keeps_all_inner_products():
    """Theorem 5.3.12: X̂ᵀX̂ = YᵀY, for rotations and projections."""
    x = tables(5, 3)["skewed"]
    for perturbation in (veil.OrthogonalTransform(random_state=0), veil.RandomProjection(3, random_state=0)):
        release, _ = veil.publish(x, perturbation)
        guess = veil.HypersphereAttack(form="matrix", variant="paper").run(release, ranges(x))
        y, z = release.to_numpy(), guess.values / release.only_part.model.unit
        np.testing.assert_allclose(z @ z.T, y @ y.T, atol=1e-8 * (y**2).sum(axis=1).max())
    matrix = drawn_matrix(5, 3, seed=0)
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(3), atol=1e-12)


def test_projections_have_no_one_matrix():
    x = np.random.default_rng(4).random((200, 4))
    release, _ = veil.publish(x, veil.RandomProjection(2, random_state=0))
    with pytest.raises(veil.NotApplicableError, match="orthogonal matrices"):
        veil.HypersphereAttack(form="matrix").run(release, KnownRanges(0.0, 1.0))


def test_fits_never_get_worse_and_the_truth_has_no_misfit():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 3))
    low, high = x.min(axis=0), x.max(axis=0)
    turn = _haar(3, 3, rng)
    assert not _misses(x @ turn.T @ turn, low, high).round(12).any()
    for _ in range(5):
        start = _haar(3, 3, rng)
        before = float((_misses(x @ turn.T @ start.T, low, high) ** 2).sum())
        assert _fitted(x @ turn.T, low, high, start)[1] <= before


def test_missing_values_and_equal_ends():
    x = tables(3, 6)["skewed"]
    y = x @ _haar(3, 3, np.random.default_rng(0)).T
    y[5] = np.nan
    found = turned_into_box(y, x[np.arange(400) != 5].min(axis=0), x[np.arange(400) != 5].max(axis=0))
    assert found.n_matrices == 1
    flat = np.column_stack([np.full(50, 2.0), np.random.default_rng(1).random(50)])
    one = turned_into_box(flat @ _haar(2, 2, np.random.default_rng(2)).T, flat.min(axis=0), flat.max(axis=0))
    assert one.n_matrices >= 1
