"""P6's matrix is uniform on the orthogonal group (Liu 2007, 4.1.2; errata L-d: plain QR is not).

Moments of a Haar matrix M of order d (Diaconis and Evans 2001): E tr M = 0, E (tr M)² = 1, and for d ≥ 2 also
E tr M² = 1 and E m_ij² = 1/d; for d ≥ 4, E (tr M)⁴ = 3 and Var tr M² = 2. Rotations alone (det +1) share the first two
for d ≥ 3. Any fixed rotation of a Haar matrix is Haar again.
"""

from functools import lru_cache

import numpy as np
import pytest

import veil
from _tables import within_standard_errors
from veil.keys.key import Key
from veil.perturbations.orthogonal import haar_orthogonal

N = 4_000


@lru_cache
def draws(d, proper=False):
    return np.array([haar_orthogonal(Key.from_seed(i).generator("matrix"), d, proper=proper) for i in range(N)])


def plain_qr(d):
    return np.array([np.linalg.qr(Key.from_seed(i).generator("matrix").normal(d, d))[0] for i in range(N)])


def deviation(sample, expected):
    """Distance of the mean from what it should be, in standard errors."""
    return abs(sample.mean() - expected) / (sample.std() / np.sqrt(len(sample)))


def trace_of(power, m):
    return np.trace(np.linalg.matrix_power(m, power), axis1=1, axis2=2)


@pytest.mark.parametrize("d", [2, 3, 4, 7])
def test_trace_moments(d):
    m = draws(d)
    np.testing.assert_allclose(m @ m.transpose(0, 2, 1), np.broadcast_to(np.eye(d), m.shape), atol=1e-12)
    assert deviation(trace_of(1, m), 0) < 4.5
    assert deviation(trace_of(1, m) ** 2, 1) < 4.5
    assert deviation(trace_of(2, m), 1) < 4.5
    if d >= 4:
        assert deviation(trace_of(1, m) ** 4, 3) < 4.5
        assert deviation((trace_of(2, m) - 1) ** 2, 2) < 4.5


@pytest.mark.parametrize("d", [2, 3, 7])
def test_every_entry_has_the_same_law(d):
    """E m² = 1/d and E m⁴ = 3/(d(d + 2)) at the corners, which QR treats differently."""
    m = draws(d)
    for i, j in [(0, 0), (0, d - 1), (d - 1, 0), (d - 1, d - 1)]:
        assert deviation(m[:, i, j], 0) < 4.5
        assert deviation(m[:, i, j] ** 2, 1 / d) < 4.5
        assert deviation(m[:, i, j] ** 4, 3 / (d * (d + 2))) < 4.5


@pytest.mark.parametrize("d", [2, 3, 7])
def test_reflections_come_as_often_as_rotations(d):
    positive = (np.linalg.det(draws(d)) > 0).mean()
    assert within_standard_errors(positive, 0.5, 0.5 / np.sqrt(N), 4.5)


@pytest.mark.parametrize("d", [3, 4])
def test_a_fixed_turn_changes_nothing(d):
    """Invariance: with any fixed orthogonal A, tr(A M) has the moments of tr M."""
    fixed = np.linalg.qr(np.random.default_rng(5).normal(size=(d, d)))[0]
    m = draws(d)
    for turned in (fixed @ m, m @ fixed):
        assert deviation(trace_of(1, turned), 0) < 4.5
        assert deviation(trace_of(1, turned) ** 2, 1) < 4.5


@pytest.mark.parametrize("d", [2, 3, 5])
def test_proper_keeps_to_rotations_uniformly(d):
    """On SO(2) the angle is uniform: E (tr M)² = E 4cos²θ = 2; from d = 3 on it is 1, as on O(d)."""
    m = draws(d, proper=True)
    np.testing.assert_allclose(np.linalg.det(m), 1.0)
    assert deviation(trace_of(1, m), 0) < 4.5
    assert deviation(trace_of(1, m) ** 2, 2 if d == 2 else 1) < 4.5
    for i, j in [(0, 0), (0, d - 1), (d - 1, d - 1)]:
        assert deviation(m[:, i, j] ** 2, 1 / d) < 4.5


@pytest.mark.parametrize("d", [2, 3, 5])
def test_plain_qr_would_fail(d):
    """LAPACK's Q has determinant (−1)^(d−1) always, and a first entry that is never positive."""
    m = plain_qr(d)
    np.testing.assert_allclose(np.linalg.det(m), (-1.0) ** (d - 1))
    assert (m[:, 0, 0] <= 0).all()
    assert deviation(m[:, 0, 0], 0) > 20
    assert abs((trace_of(1, m) ** 2).mean() - 1) > 0.2


def test_the_release_is_turned_by_such_a_matrix():
    """Through the door: fresh keys give both orientations, ``proper`` only one, and the matrix does not repeat."""
    x = np.random.default_rng(1).normal(size=(30, 3))
    found = {proper: [] for proper in (False, True)}
    for proper, dets in found.items():
        for seed in range(60):
            method = veil.OrthogonalTransform(scaling=None, proper=proper, random_state=seed)
            m = np.linalg.lstsq(x, method.fit_transform(x), rcond=None)[0].T
            np.testing.assert_allclose(m @ m.T, np.eye(3), atol=1e-10)
            dets.append(np.linalg.det(m))
    assert within_standard_errors(np.mean(np.array(found[False]) > 0), 0.5, 0.5 / np.sqrt(60), 4.5)
    np.testing.assert_allclose(found[True], 1.0)
