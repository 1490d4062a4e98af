"""Laws of lattice reduction: the lattice that vectors generate, exactly, and its orthogonal basis."""

from __future__ import annotations

import numpy as np
import pytest

from veil.numerics.lattices import coordinates, generated, generated_lattice, orthogonal_basis, reduce_rows


def haar(d, rng):
    q, r = np.linalg.qr(rng.normal(size=(d, d)))
    return q * np.sign(np.diag(r))


@pytest.mark.parametrize("d", [2, 5, 12])
def test_reduction_is_a_change_of_basis(d):
    rng = np.random.default_rng(d)
    rows = rng.integers(-50, 50, size=(d, d)).astype(float)
    reduced = rows.copy()
    transform, inverse = reduce_rows(reduced)
    assert np.array_equal(transform @ inverse, np.eye(d, dtype=np.int64))
    assert np.allclose(transform @ rows, reduced)
    assert np.prod(np.linalg.norm(reduced, axis=1)) <= np.prod(np.linalg.norm(rows, axis=1))


@pytest.mark.parametrize("d", [2, 6, 15])
def test_an_orthogonal_lattice_is_found_from_what_it_generates(d):
    rng = np.random.default_rng(d)
    lengths = np.exp(rng.uniform(-3, 0, size=d))
    axes = lengths[:, None] * haar(d, rng)
    vectors = rng.poisson(np.exp(rng.uniform(0, 5, size=d)), size=(300, d)) @ axes
    basis = generated_lattice(vectors)
    assert basis is not None
    orthogonal = orthogonal_basis(basis)
    assert orthogonal is not None
    assert np.allclose(np.linalg.norm(orthogonal, axis=1), np.sort(lengths), rtol=1e-9)
    whole = coordinates(vectors, orthogonal)
    assert np.abs(whole - np.rint(whole)).max() < 1e-6


def test_columns_that_are_even_or_odd_together_hide_no_axis():
    # Two columns whose sum is always even generate half of the orthogonal lattice.
    rng = np.random.default_rng(0)
    counts = rng.poisson([5, 9, 30], size=(400, 3))
    counts[:, 1] += (counts[:, 0] + counts[:, 1]) % 2
    axes = np.diag([1.0, 0.7, 0.1]) @ haar(3, rng)
    basis = generated_lattice(counts @ axes)
    assert basis is not None
    orthogonal = orthogonal_basis(basis)
    assert orthogonal is not None
    assert np.allclose(np.linalg.norm(orthogonal, axis=1), [0.1, 0.7, 1.0])


@pytest.mark.parametrize("d", [2, 6, 15])
def test_one_column_of_full_precision_leaves_no_lattice(d):
    rng = np.random.default_rng(d)
    table = rng.poisson(20, size=(300, d)).astype(float)
    table[:, 0] = rng.normal(20, 4, size=300)
    assert generated_lattice(table @ haar(d, rng)) is None


@pytest.mark.parametrize(("d", "k"), [(6, 6), (8, 4), (6, 2)])
def test_whole_numbers_behind_any_map_are_found_up_to_a_unimodular_one(d, k):
    rng = np.random.default_rng(d * k)
    table = rng.poisson(np.exp(rng.uniform(1, 4, size=d)), size=(5 * d, d)).astype(float)
    image = table @ rng.normal(size=(d, k))
    lattice = generated(image, d)
    assert lattice is not None
    assert np.allclose(lattice.whole @ lattice.generators, image)
    mix = np.linalg.lstsq(lattice.whole, table, rcond=None)[0]
    assert np.allclose(lattice.whole @ mix, table, atol=1e-6)
    assert abs(np.linalg.det(mix)) == pytest.approx(1.0, rel=1e-3)
