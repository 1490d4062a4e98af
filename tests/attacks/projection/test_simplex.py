"""A14's simplex search ends where the closed form is."""

import numpy as np
import pytest
from scipy.optimize import minimize

import veil
from veil.attacks.projection.maximum_posterior import log_likelihood, map_estimate
from veil.attacks.projection.simplex import climbed


def test_a_search_ends_where_scipys_does():
    """On the Rosenbrock function, many searches at once or one by one."""

    def height(z, at):
        return -(100.0 * (z[:, 1] - z[:, 0] ** 2) ** 2 + (1.0 - z[:, 0]) ** 2)

    starts = np.array([[-1.2, 1.0], [0.3, -0.7], [2.0, 2.0]])
    ends, values = climbed(starts, height)
    np.testing.assert_allclose(ends, 1.0, atol=1e-4)
    np.testing.assert_allclose(values, height(ends, None))
    for start in starts:
        alone, _ = climbed(start[None], height)
        other = minimize(lambda z: -height(z[None], None)[0], start, method="Nelder-Mead", options={"xatol": 1e-6})
        np.testing.assert_allclose(alone[0], other.x, atol=1e-4)


@pytest.mark.parametrize(("k", "p"), [(6, 5), (4, 2), (3, 1)])
def test_the_search_reaches_the_closed_form(k, p):
    """Errata L-t: the same height to rounding, and never above it."""
    rng = np.random.default_rng(k)
    x = np.rint(rng.uniform(0, 15, size=(30, 6)))
    release, _ = veil.publish(x, veil.RandomProjection(k, scaling=None, dither=False, random_state=k))
    known = veil.KnownPairs(x[:p], np.arange(p))
    guess = veil.ProjectionMAPAttack(variant="simplex", starts=10).run(release, known).values[p:]
    y = release.to_numpy()
    pairs = (x[:p], y[:p])
    top = log_likelihood(map_estimate(y[p:], *pairs, rng), y[p:], *pairs)
    here = log_likelihood(guess, y[p:], *pairs)
    assert (here <= top + 1e-7).all()
    assert np.median(top - here) < 1e-6
    np.testing.assert_array_equal(
        veil.ProjectionMAPAttack(variant="simplex", starts=1).run(release, known).rows, range(30)
    )


def test_with_one_direction_left_the_error_is_the_closed_forms():
    """p = d − 1: the maximum is one point up to the sign of w, and both variants find it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 4)) + 3.0
    release, _ = veil.publish(x, veil.RandomProjection(4, scaling=None, random_state=1))
    known = veil.KnownPairs(x[:3], np.arange(3))
    found = [
        veil.ProjectionMAPAttack(variant=variant, starts=20).run(release, known).values
        for variant in ("simplex", "paper")
    ]
    q = np.linalg.qr(x[:3].T, mode="complete")[0]
    here, there = (guess[3:] @ q for guess in found)
    near = np.abs(here[:, :3] - there[:, :3]).max(axis=1) < 1e-3
    assert near.mean() > 0.9
    np.testing.assert_allclose(np.abs(here[near, 3]), np.abs(there[near, 3]), atol=1e-3)


def test_as_many_known_records_as_columns_have_no_maximum():
    x = np.random.default_rng(1).normal(size=(20, 5))
    release, _ = veil.publish(x, veil.RandomProjection(3, random_state=1))
    known = veil.KnownPairs(x[:4], np.arange(4))
    found = [veil.ProjectionMAPAttack(variant=variant).run(release, known).values for variant in ("simplex", "paper")]
    np.testing.assert_array_equal(*found)
    with pytest.raises(veil.InputError, match="starts"):
        veil.ProjectionMAPAttack(variant="simplex", starts=0).run(release, known)
