"""Energy and nearest-record Procrustes: objectives, fixed points and what they recover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group, special_ortho_group

from veil.attacks.rotation.principal_axes import spectral_start
from veil.attacks.rotation.procrustes import energy_procrustes, nearest_distances, nearest_procrustes, polar, twins
from veil.attacks.rotation.record_tree import RecordTree
from veil.attacks.rotation.signs import greedy_signs
from veil.errors import InputError


def rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def normal_problem(seed, records=2000, sample=200):
    """The three-dimensional normal law of Liu 2007, figure 4.4, behind a Haar matrix."""
    rng = np.random.default_rng(seed)
    law = [10.0, 10.0, 10.0], [[1, 1.5, 0.5], [1.5, 3, 2.5], [0.5, 2.5, 75]]
    matrix = ortho_group.rvs(3, random_state=rng)
    x = rng.multivariate_normal(*law, records)
    return x, x @ matrix.T, rng.multivariate_normal(*law, sample), matrix


def integer_problem(seed, columns=4, records=3000, sample=60):
    """Whole numbers: most sample records have a twin in the release."""
    rng = np.random.default_rng(seed)
    x = rng.binomial(8, np.linspace(0.2, 0.6, columns), (records + sample, columns)).astype(float)
    matrix = ortho_group.rvs(columns, random_state=rng)
    return x[sample:], x[sample:] @ matrix.T, x[:sample], matrix


def relative_error(estimate, x):
    return float(np.mean(np.linalg.norm(estimate - x, axis=1) / np.linalg.norm(x, axis=1)))


def test_polar_is_the_nearest_orthogonal_matrix():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(4, 4))
    nearest = polar(matrix)
    np.testing.assert_allclose(nearest.T @ nearest, np.eye(4), atol=1e-12)
    for other in ortho_group.rvs(4, 50, random_state=1):
        assert np.linalg.norm(matrix - nearest) <= np.linalg.norm(matrix - other)


def test_the_nearest_rotation():
    rng = np.random.default_rng(10)
    for _ in range(6):
        matrix = rng.normal(size=(3, 3))
        nearest = polar(matrix, proper=True)
        assert np.linalg.det(nearest) == pytest.approx(1.0)
        if np.linalg.det(matrix) > 0:
            np.testing.assert_array_equal(nearest, polar(matrix))
        others = special_ortho_group.rvs(3, 50, random_state=1)
        assert all(np.linalg.norm(matrix - nearest) <= np.linalg.norm(matrix - other) for other in others)


@pytest.mark.parametrize("translation", [False, True])
@pytest.mark.parametrize("method", [energy_procrustes, nearest_procrustes])
def test_rotations_stay_rotations(method, translation):
    """Behind a reflection the best rotation is worse than the best orthogonal matrix, and is still descended to."""
    for seed in range(6):
        _, y, s, _ = normal_problem(seed, records=300, sample=40)
        start = special_ortho_group.rvs(3, random_state=seed)
        fit = method(y, s, start, translation=translation, proper=True)
        assert (np.diff(fit.history) <= 0).all()
        assert np.linalg.det(fit.matrix) == pytest.approx(1.0)
    with pytest.raises(InputError, match="start: must be a rotation"):
        method(y, s, -start, proper=True)


@pytest.mark.parametrize("translation", [False, True])
@pytest.mark.parametrize("method", [energy_procrustes, nearest_procrustes])
def test_objective_never_rises(method, translation):
    for seed in range(10):
        _, y, s, _ = normal_problem(seed, records=300, sample=40)
        start = ortho_group.rvs(3, random_state=seed)
        fit = method(y, s, start, translation=translation)
        assert (np.diff(fit.history) <= 0).all()
        assert fit.objective < fit.history[0]
        assert fit.converged
        np.testing.assert_allclose(fit.matrix.T @ fit.matrix, np.eye(3), atol=1e-10)


def test_energy_objective_is_the_mean_distance_of_all_pairs():
    _, y, s, _ = normal_problem(0, records=200, sample=30)
    fit = energy_procrustes(y, s, np.eye(3), translation=True)
    assert fit.objective == pytest.approx(cdist(y, fit.forward(s)).mean(), rel=1e-12)
    np.testing.assert_allclose(fit.back(fit.forward(s)), s, atol=1e-10)


def test_energy_minimum_in_the_plane_is_the_grid_minimum():
    rng = np.random.default_rng(1)
    y = rng.exponential(1.0, (200, 2)) * [3.0, 1.0] @ rotation(0.7).T
    s = rng.exponential(1.0, (40, 2)) * [3.0, 1.0]
    grid = [cdist(y, s @ rotation(angle).T).mean() for angle in np.linspace(0.4, 1.0, 2001)]
    fit = energy_procrustes(y, s, rotation(0.4), tol=1e-14, max_iter=2000)
    # Between grid points 3e-4 apart the objective differs by its curvature times 1e-8.
    assert fit.objective == pytest.approx(min(grid), rel=1e-7)


def test_refinement_removes_most_of_a_wrong_turn():
    # Variances 1 : 1.3 : 1.7 : 2.2 tell eigenvectors of 100 records little; skewness tells more.
    before, after = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scale = np.sqrt([1.0, 1.3, 1.7, 2.2])
        matrix = ortho_group.rvs(4, random_state=rng)
        x, s = rng.exponential(scale, (800, 4)), rng.exponential(scale, (100, 4))
        y = x @ matrix.T
        turn = rng.normal(size=(4, 4))
        start = polar(matrix @ (np.eye(4) + 0.15 * (turn - turn.T)))
        before.append(relative_error(y @ start, x))
        after.append(relative_error(energy_procrustes(y, s, start).back(y), x))
    assert np.median(after) < 0.5 * np.median(before)


def test_normal_law_of_the_paper_stays_below_two_percent():
    errors = []
    for seed in range(8):
        x, y, s, _ = normal_problem(seed, records=3000)
        start, _ = spectral_start(y, s, search=greedy_signs)
        errors.append(relative_error(energy_procrustes(y, s, start, max_pairs=200_000).back(y), x))
    assert np.median(errors) <= 0.02


def test_pairs_are_thinned_above_the_limit():
    _, y, s, matrix = normal_problem(3)
    few = energy_procrustes(y, s, matrix, max_pairs=40_000)
    assert few.objective == pytest.approx(cdist(y[::10], few.forward(s)).mean(), rel=1e-9)


def test_iteration_limit_is_reported():
    _, y, s, _ = normal_problem(4, records=300, sample=40)
    fit = energy_procrustes(y, s, np.eye(3), max_iter=1, tol=0.0)
    assert not fit.converged
    assert len(fit.history) == 2
    unmoved = energy_procrustes(y, s, np.eye(3), max_iter=0)
    np.testing.assert_array_equal(unmoved.matrix, np.eye(3))


def test_translation_is_found():
    rng = np.random.default_rng(5)
    s = rng.exponential(1.0, (150, 2)) * [4.0, 1.0]
    y = s @ rotation(0.5).T + [100.0, -50.0]
    fit = energy_procrustes(y, s, rotation(0.3), translation=True, tol=1e-12, max_iter=2000)
    np.testing.assert_allclose(fit.matrix, rotation(0.5), atol=1e-3)
    locked = nearest_procrustes(y, s, fit.matrix, offset=fit.offset, translation=True)
    np.testing.assert_allclose(locked.matrix, rotation(0.5), atol=1e-9)
    np.testing.assert_allclose(locked.offset, [100.0, -50.0], atol=1e-7)


def test_rounded_records_lock_in_exactly():
    # Records of length 6 turned by .03 are off by .2, less than half the distance between neighbours.
    for seed in range(5):
        x, y, s, matrix = integer_problem(seed)
        turn = np.random.default_rng(seed).normal(size=(4, 4))
        start = polar(matrix @ (np.eye(4) + 0.015 * (turn - turn.T)))
        fit = nearest_procrustes(y, s, start)
        np.testing.assert_allclose(fit.matrix, matrix, atol=1e-8)
        held = {tuple(record) for record in x}
        expected = sum(tuple(record) in held for record in s)
        assert expected > 20
        assert twins(RecordTree(y), fit, s) == expected
        assert twins(RecordTree(y), energy_procrustes(y, s, start), s) == 0


def test_continuous_records_have_no_twins():
    _, y, s, matrix = normal_problem(6)
    fit = nearest_procrustes(y, s, matrix)
    assert twins(RecordTree(y), fit, s) == 0
    assert nearest_distances(RecordTree(y), fit, s).mean() == pytest.approx(fit.objective)


def test_a_record_at_the_origin_is_harmless():
    y, s = np.zeros((3, 2)), np.zeros((2, 2))
    for method in (energy_procrustes, nearest_procrustes):
        assert method(y, s, np.eye(2)).objective == 0.0


@pytest.mark.parametrize("method", [energy_procrustes, nearest_procrustes])
def test_bad_input_is_refused(method):
    y, s = np.ones((3, 2)), np.ones((2, 2))
    with pytest.raises(InputError, match="start: must be an orthogonal 2 × 2 matrix"):
        method(y, s, np.ones((2, 2)))
    with pytest.raises(InputError, match="start"):
        method(y, s, np.eye(3))
    with pytest.raises(InputError, match="sample: has 3 columns"):
        method(y, np.ones((2, 3)), np.eye(2))
    with pytest.raises(InputError, match="max_iter"):
        method(y, s, np.eye(2), max_iter=-1)
