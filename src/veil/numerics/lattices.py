"""Lattices of real vectors: reduction, the lattice that vectors generate, and an orthogonal basis of it.

Rows ``v_i = n_i B`` with whole numbers ``n_i`` and an unknown r × k matrix B generate a lattice (a dense group where
r > k). More vectors than r have whole-number relations ``Σ c_i v_i = 0``; with m vectors the shortest are of size
``det^(1/(m − r))`` (Siegel's lemma), so many vectors have small relations, which float64 tells from chance.
Lenstra–Lenstra–Lovász reduction (1982) of ``[I | w V]`` finds them: as the weight w grows, rows of the reduced matrix
become relations, whose image is 0 up to rounding, and the images of the others are a basis. Raising w in stages keeps
every number small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from operator import itemgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

Integers = npt.NDArray[np.int64]

ROUNDING: Final = 2.0**-42
"""Of the largest vector and coefficient: images below this are 0."""
_WEIGHTS: Final = tuple(10.0**exponent for exponent in range(1, 13))
MOST_COEFFICIENT: Final = 1e7
"""Relations with larger coefficients exist between any float64 vectors."""
_ORTHOGONAL: Final = 1e-6
"""Cosines below this are 0."""
_LARGEST_GROUP: Final = 6
"""Rows that are refined together; the work grows as 3 to this power."""
_REFINEMENTS: Final = 4
"""Reduced bases that are refined: rows so few reduce to nearly the same from everywhere."""
_WHOLE: Final = 0.05
"""How far from whole numbers coordinates in a basis may be while it is still coarse."""


def reduce_rows(rows: Matrix, delta: float = 0.99) -> tuple[Integers, Integers]:
    """LLL reduction of the rows in place; returns the unimodular T with ``new rows = T · old rows``, and its inverse.

    >>> rows = np.array([[4.0, 1.0], [7.0, 2.0]])
    >>> transform, inverse = reduce_rows(rows)
    >>> np.abs(rows).sum(axis=1).tolist(), (transform @ inverse).tolist()
    ([1.0, 1.0], [[1, 0], [0, 1]])
    """
    transform, inverse = (np.eye(len(rows), dtype=np.int64) for _ in range(2))
    _compiled()(rows, delta, transform, inverse)
    return transform, inverse


@cache
def _compiled() -> Callable[..., Any]:
    from numba import njit

    compiled: Callable[..., Any] = njit(_reduce, cache=True, nogil=True, error_model="numpy")
    return compiled


def _reduce(b: Matrix, delta: float, transform: Integers, inverse: Integers) -> None:
    # Whole numbers are exact modulo 2⁶⁴ also where those on the way would be larger.
    d, n = b.shape
    star, mu, square = np.zeros((d, n)), np.zeros((d, d)), np.zeros(d)
    i = 0
    while i < d:
        for _ in range(64):  # size reduction, repeated until rounding leaves nothing to reduce
            star[i] = b[i]
            for j in range(i):
                mu[i, j] = (b[i] * star[j]).sum() / square[j] if square[j] > 0.0 else 0.0
                star[i] -= mu[i, j] * star[j]
            changed = False
            for j in range(i - 1, -1, -1):
                step = np.rint(mu[i, j])
                if step != 0.0:
                    changed = True
                    b[i] -= step * b[j]
                    transform[i] -= np.int64(step) * transform[j]
                    inverse[:, j] += np.int64(step) * inverse[:, i]
                    for m in range(j):
                        mu[i, m] -= step * mu[j, m]
                    mu[i, j] -= step
            if not changed:
                break
        square[i] = (star[i] ** 2).sum()
        if i > 0 and square[i] < (delta - mu[i, i - 1] ** 2) * square[i - 1]:
            for m in range(n):
                b[i, m], b[i - 1, m] = b[i - 1, m], b[i, m]
            for m in range(d):
                transform[i, m], transform[i - 1, m] = transform[i - 1, m], transform[i, m]
                inverse[m, i], inverse[m, i - 1] = inverse[m, i - 1], inverse[m, i]
            i -= 1
            if i > 0:
                continue
            i = 0
        else:
            i += 1


@dataclass(frozen=True, eq=False)
class Generated:
    """Vectors as whole-number combinations of r others: ``vectors = whole @ generators``."""

    whole: Matrix
    generators: Matrix


def generated(vectors: Matrix, rank: int | None = None) -> Generated | None:
    """Vectors in terms of the fewest others that they are whole-number combinations of.

    ``rank`` is the number of these; by default that of the vectors' span. None where float64 shows no relations between
    the vectors, or only such as any have: there is no lattice to be seen.
    """
    m, scale = len(vectors), float(np.linalg.norm(vectors, axis=1).max(initial=0.0))
    if scale == 0.0:
        return None
    unit = vectors / scale
    if rank is None:
        rank = int(np.linalg.matrix_rank(unit, tol=1e-9 * np.sqrt(m)))
    coefficients = inverse = np.eye(m, dtype=np.int64)
    for weight in _WEIGHTS:
        transform, back = reduce_rows(np.hstack([coefficients, weight * (coefficients @ unit)]))
        coefficients, inverse = transform @ coefficients, inverse @ back
        size = np.abs(coefficients).max(axis=1)
        zero = np.linalg.norm(coefficients @ unit, axis=1) < ROUNDING * np.maximum(size, 1.0)
        if zero.sum() >= m - rank:
            if zero.sum() > m - rank or size[zero].max(initial=0) > MOST_COEFFICIENT:
                return None
            whole = inverse[:, ~zero].astype(np.float64)
            return Generated(whole, _fitted(whole, vectors))
    return None


def lattice_basis(vectors: Matrix) -> Matrix | None:
    """A basis of the lattice that some vectors generate, as exact as they are; None where they generate none."""
    lattice = generated(vectors)
    return None if lattice is None else lattice.generators


def _fitted(whole: Matrix, vectors: Matrix) -> Matrix:
    """The basis in terms of which vectors are these whole numbers, by least squares."""
    return np.asarray(np.linalg.lstsq(whole, vectors, rcond=None)[0])


def coordinates(vectors: Matrix, basis: Matrix) -> Matrix:
    """The vectors in terms of a basis of r rows, by least squares: whole numbers for members of its lattice."""
    return np.asarray(np.linalg.lstsq(basis.T, vectors.T, rcond=None)[0].T)


def in_lattice(vectors: Matrix, basis: Matrix) -> npt.NDArray[np.bool_]:
    """Which vectors are in the lattice, up to the rounding of float64."""
    whole = coordinates(vectors, basis)
    rest = np.linalg.norm(vectors - np.rint(whole) @ basis, axis=1)
    near = rest <= 1e-9 * (np.linalg.norm(vectors, axis=1) + np.linalg.norm(basis, axis=1).min())
    return np.asarray(near & (np.abs(whole - np.rint(whole)).max(axis=1) < _WHOLE))


def generated_lattice(vectors: Matrix, *, rounds: int = 12) -> Matrix | None:
    """A basis of the lattice that all vectors generate, or None where they generate none.

    The lattice of the shortest ones comes first. Then more and more of them are compared with it: those inside make the
    basis more exact, and those outside are added to it.
    """
    distinct = np.unique(vectors[np.any(vectors != 0.0, axis=1)], axis=0)
    if not len(distinct):
        return None
    distinct = distinct[np.argsort(np.linalg.norm(distinct, axis=1), kind="stable")]
    n = 2 * vectors.shape[1] + 4
    basis = lattice_basis(distinct[:n])
    for _ in range(rounds + int(np.log2(len(distinct)))):
        if basis is None:
            return None
        inside = in_lattice(distinct[:n], basis)
        if inside.all():
            basis = _fitted(np.rint(coordinates(distinct[:n], basis)), distinct[:n])
            if n >= len(distinct):
                return basis
            n *= 2
        else:
            basis = lattice_basis(np.vstack([basis, distinct[:n][~inside][: vectors.shape[1] + 4]]))
    return None


def orthogonal_basis(basis: Matrix, *, tries: int = 32, seed: int = 0) -> Matrix | None:
    """Orthogonal rows whose lattice holds the given one, in few copies; None where reduction finds none.

    Reduction is repeated from other bases of the lattice until only small groups of rows are left that are not
    orthogonal to each other. Records may have a rule in common (two columns that are even or odd together), which makes
    their lattice a part of the orthogonal one; each such group is then refined by halves and thirds.
    """
    rng, rows, refinements = np.random.default_rng(seed), basis.copy(), 0
    for _ in range(tries):
        reduce_rows(rows, 0.9999)
        groups = _groups(rows)
        if max(map(len, groups)) <= _LARGEST_GROUP:
            if refinements == _REFINEMENTS:
                return None
            refinements += 1
            refined = [_refined(rows[group]) for group in groups]
            whole = [part for part in refined if part is not None]
            if len(whole) == len(groups):
                orthogonal = np.vstack(whole)
                return np.asarray(orthogonal[np.argsort(np.linalg.norm(orthogonal, axis=1), kind="stable")])
        rows = rows[rng.permutation(len(rows))]
        for _ in range(2 * len(rows)):
            i, j = rng.choice(len(rows), 2, replace=False)
            rows[i] += rng.integers(-1, 2) * rows[j]
    return None


def _groups(rows: Matrix) -> list[npt.NDArray[np.intp]]:
    """Rows that are linked by not being orthogonal."""
    lengths = np.linalg.norm(rows, axis=1)
    linked = np.abs(rows @ rows.T) > _ORTHOGONAL * np.outer(lengths, lengths)
    for _ in range(len(rows).bit_length()):  # paths of up to 2, 4, 8, … steps
        linked = linked @ linked
    first = linked.argmax(axis=1)
    return [np.flatnonzero(first == each) for each in np.unique(first)]


def _most_linked(rows: Matrix) -> int:
    """The size of the largest group."""
    return max(map(len, _groups(rows)))


def _refined(rows: Matrix, depth: int = 3) -> Matrix | None:
    """An orthogonal basis of a lattice that holds this one 1, 2, 3, 4, … times; None where there is none."""
    if len(rows) == 1:
        return rows
    reduced = rows.copy()
    reduce_rows(reduced, 0.9999)
    groups = _groups(reduced)
    if len(groups) == len(rows):
        return reduced
    if len(groups) > 1:
        parts = [_refined(reduced[group], depth) for group in groups]
        return None if any(part is None for part in parts) else np.vstack([p for p in parts if p is not None])
    if not depth:
        return None
    finer = (_joined(reduced, share @ reduced) for share in _shares(len(rows)))
    # The fewer rows stay linked, the nearer an orthogonal basis is.
    for size, candidate in sorted(((_most_linked(each), each) for each in finer), key=itemgetter(0)):
        if size == len(rows) and depth < 2:
            break
        orthogonal = _refined(candidate, depth - 1)
        if orthogonal is not None:
            return orthogonal
    return None


def _shares(r: int) -> Iterator[Vector]:
    """Halves and thirds of sums of basis vectors: what makes a lattice finer twice or three times."""
    for parts in (2, 3):
        for digits in product(range(parts), repeat=r):
            first = next((digit for digit in digits if digit), 0)
            if first == 1:
                yield np.array(digits) / parts


def _joined(rows: Matrix, vector: Vector) -> Matrix:
    """A basis of the lattice of some rows and a vector that is a half or a third of one of its vectors."""
    stacked = np.vstack([vector, rows])
    size = np.linalg.norm(rows, axis=1).min()
    weighted = np.hstack([1e-6 * size * np.eye(len(stacked)), stacked])  # the weight tells which row is the relation
    reduce_rows(weighted, 0.99)
    images = weighted[:, len(stacked) :]
    keep = np.argsort(np.linalg.norm(images, axis=1), kind="stable")[1:]
    return np.ascontiguousarray(images[keep])
