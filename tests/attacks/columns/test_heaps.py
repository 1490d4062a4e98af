"""Columns that heap behind a rotation: their axes, exactly; none where columns are smooth; A9 with them."""

import numpy as np
import pytest

import veil
from veil.attacks.columns.heaps import heap_axes
from veil.auditing.judge import Judge


def turned(z, seed):
    q = np.linalg.qr(np.random.default_rng(seed + 100).normal(size=(z.shape[1],) * 2))[0]
    return z @ q.T, q


def correlated(rng, n, u):
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, u)) + rng.normal(size=(n, u))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("value", [0.0, 1.3])
def test_a_heap_names_its_axis_exactly(seed, value):
    rng = np.random.default_rng(seed)
    z = correlated(rng, 800, 4)
    z[:, 2] = np.where(z[:, 2] < 0.0, value, z[:, 2])
    r, q = turned(z, seed)
    axes = heap_axes(r + rng.normal(size=4))
    assert axes.shape == (4, 1)
    assert abs(axes[:, 0] @ q[:, 2]) == pytest.approx(1.0, abs=1e-12)


def test_two_heaps_are_told_from_their_sum():
    """Where both columns are zero every sum of them is: the records there lie in many hyperplanes."""
    rng = np.random.default_rng(1)
    z = correlated(rng, 1_000, 4)
    z[:, 0], z[:, 1] = (np.where(rng.random(1_000) < p, 0.0, np.exp(z[:, j])) for j, p in enumerate((0.9, 0.8)))
    r, q = turned(z, 1)
    axes = heap_axes(r)
    np.testing.assert_allclose(np.sort(np.abs(axes.T @ q).max(axis=0)[:2]), 1.0, atol=1e-9)
    assert axes.shape == (4, 2)


@pytest.mark.parametrize("u", [1, 2, 5])
@pytest.mark.parametrize("law", ["normal", "skewed", "flat"])
def test_smooth_columns_have_none(u, law):
    rng = np.random.default_rng(u)
    z = {"normal": correlated(rng, 3_000, u), "skewed": rng.gamma(1.0, size=(3_000, u)), "flat": rng.random((3_000, u))}
    assert heap_axes(turned(z[law], u)[0]).shape == (u, 0)


def test_a_few_or_equal_records_have_none():
    assert heap_axes(np.zeros((50, 3))).shape == (3, 0)
    assert heap_axes(np.random.default_rng(0).normal(size=(3, 3))).shape == (3, 0)


def test_a_dithered_heap_is_found_to_its_dither():
    rng = np.random.default_rng(2)
    z = correlated(rng, 2_000, 3)
    z[:, 0] = np.where(rng.random(2_000) < 0.9, 0.0, 10.0 * np.exp(z[:, 0])) + 1e-4 * rng.uniform(-1, 1, 2_000)
    r, q = turned(z, 2)
    axes = heap_axes(r)
    assert abs(axes[:, 0] @ q[:, 0]) > 1.0 - 1e-6


@pytest.mark.parametrize("translation", [0.0, 1.0])
def test_a_known_column_and_a_heap_leave_one_of_three_exactly(translation):
    """The known column and the heap are two axes of three, and the third follows; signs stay open."""
    rng = np.random.default_rng(3)
    x = correlated(rng, 1_500, 3) * [2.0, 3.0, 5.0]
    x[:, 1] = np.maximum(x[:, 1], 0.0)
    release, _ = veil.publish(x, veil.OrthogonalTransform(translation=translation, random_state=3))
    guess = veil.KnownColumnsAttack().run(release, veil.KnownAttributes("x0", x[:, 0]))
    assert guess.details.how == "heaps"
    rows = np.arange(len(x))
    values = Judge(x, ["x0", "x1", "x2"], 0.1, known=[0]).matched(guess, rows).values
    correlations = [abs(np.corrcoef(values[:, j], x[:, j])[0, 1]) for j in (1, 2)]
    np.testing.assert_allclose(correlations, 1.0, atol=1e-9)
