"""All integer records in a box that satisfy a linear system (A15 on whole numbers, errata L-x).

*Model.* ``y = A x`` with A k × d known, x whole numbers with ``lower ≤ x ≤ upper``, y known to a tolerance
per equation. With k < d the reals leave a (d − k)-dimensional family, but whole numbers in a box rarely
share an image: a box of P points has about

    P · Π 2τ_i · (2π)^(−k/2) · det(A V Aᵀ)^(−½),   V = diag((upper − lower + 1)² / 12),

of them within ±τ of a y in the middle of its image (`LatticeSearch.expected_matches`). Float64 gives τ ≈ 1e−13, so
one equation settles six attributes of 16 levels (P = 1.7e7), and k equations about 44·k bits.

*Search.* The solutions c of ``x = U c``, U unimodular, lie in the ball ``‖B c − t‖² ≤ d + k`` with
``B = [diag(1/h); diag(1/τ) A] U``, h the box's half-widths. U comes from Lenstra–Lenstra–Lovász reduction, once per
matrix, with the equations' weight raised in stages and ``A U`` in exact integers; the ball is then
enumerated per record (Schnorr and Euchner 1994), so the answer "unique" is a proof, not a guess. The work is
estimated beforehand as the Gaussian heuristic does, ``Σ_i vol(ball_i) / Π r_jj``
(`LatticeSearch.expected_nodes`); `solve` stops a record at ``most_nodes``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector
from veil.errors import InputError
from veil.numerics.lattices import Integers, reduce_rows

FLOAT_TOLERANCE: Final = 2.0**-44
"""Least tolerance of an equation, relative to the largest ``Σ|A_ij x_j|``: what float64 sums can promise."""
_STAGE: Final = 2.0**8  # growth of the equations' weight between two reductions
_SLACK: Final = 1.05  # of the squared radius, for rounding


@dataclass(frozen=True)
class Matches:
    """Whole-number records found for each released one.

    Attributes
    ----------
    record
        For each match, the row of ``y`` that it explains; ascending.
    values
        The matches, one per row.
    count
        Matches per row of ``y``: 0 none, 1 unique, more when ambiguous (at most ``most_matches``).
    complete
        Per row of ``y``, whether all candidates were seen, so that ``count`` is final.
    """

    record: npt.NDArray[np.intp]
    values: Matrix
    count: npt.NDArray[np.intp]
    complete: npt.NDArray[np.bool_]

    @property
    def unique(self) -> npt.NDArray[np.bool_]:
        """Rows with one match and no other candidate."""
        return np.asarray((self.count == 1) & self.complete)


class LatticeSearch:
    """Prepares the search for one matrix and box; `solve` then takes any number of records.

    Parameters
    ----------
    matrix
        A, k × d, as applied to the whole numbers themselves.
    lower, upper
        The box, d whole numbers each.
    tolerance
        Half-width within which y is known, one number or one per equation; never taken
        below what float64 sums can promise.
    """

    def __init__(self, matrix: Matrix, lower: Vector, upper: Vector, *, tolerance: float | Vector = 0.0) -> None:
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        self.lower, self.upper = np.ceil(lower), np.floor(upper)
        k, d = self.matrix.shape
        if self.lower.shape != (d,) or self.upper.shape != (d,) or (self.lower > self.upper).any():
            raise InputError(f"lower and upper must be {d} whole numbers each, none of lower above upper")
        scale = np.abs(self.matrix) @ np.maximum(np.abs(self.lower), np.abs(self.upper))
        self.tolerance = np.maximum(np.broadcast_to(tolerance, k), FLOAT_TOLERANCE * scale)
        self.tolerance[scale == 0] = np.inf  # an equation without unknowns says nothing
        self.tolerance = np.maximum(self.tolerance, np.finfo(np.float64).tiny)
        self._half = np.maximum((self.upper - self.lower) / 2.0, 0.5)
        self._middle = (self.upper + self.lower) / 2.0
        self._transform = self._reduced()
        self._q, self._r = np.linalg.qr(self._basis(self._transform, 1.0 / self.tolerance))

    @property
    def expected_matches(self) -> float:
        """Candidates that fit a y in the middle of the box's image by chance; uniqueness needs much less than 1."""
        width = self.upper - self.lower + 1
        weighted = self.matrix * (width / math.sqrt(12.0)) / (2.0 * self.tolerance)[:, None]
        sizes = np.linalg.svd(weighted, compute_uv=False)
        # An equation looser than the spread of what it is about rules nothing out.
        logs = np.log(np.maximum(sizes * math.sqrt(2.0 * math.pi), 1.0))
        return float(np.exp(min(np.log(width).sum() - logs.sum(), 700.0)))

    @property
    def expected_nodes(self) -> float:
        """Nodes that the enumeration visits for one record, by the Gaussian heuristic."""
        r = np.abs(np.diag(self._r))[::-1]
        i = np.arange(1, len(r) + 1)
        ball = i / 2 * math.log(math.pi * self._radius) - np.array([math.lgamma(j / 2 + 1) for j in i])
        return float(np.exp(np.minimum(ball - np.cumsum(np.log(r)), 600.0)).sum() + len(r))

    @property
    def _radius(self) -> float:
        """Squared radius of the ball around the box and the equations."""
        return _SLACK * sum(self.matrix.shape)

    def solve(self, y: Matrix, *, most_matches: int = 32, most_nodes: int = 100_000) -> Matches:
        """All whole-number records that fit each row of ``y`` (N × k), up to the two limits per row."""
        n, d = len(y), self.matrix.shape[1]
        count = np.zeros(n, dtype=np.int64)
        complete = np.zeros(n, dtype=np.bool_)
        rows, values = [], []
        block = max(1, (1 << 22) // (most_matches * d))
        for start in range(0, n, block):
            part = np.ascontiguousarray(y[start : start + block], dtype=np.float64)
            target = np.hstack([np.broadcast_to(self._middle / self._half, (len(part), d)), part / self.tolerance])
            projected = target @ self._q
            outside = ((target - projected @ self._q.T) ** 2).sum(axis=1)
            matches = np.empty((len(part), most_matches, d))
            limits = (self.matrix, self.lower, self.upper, self.tolerance)
            here = slice(start, start + len(part))
            _compiled_enumeration()(
                self._r,
                self._transform,
                projected,
                self._radius - outside,
                part,
                *limits,
                most_nodes,
                matches,
                count[here],
                complete[here],
            )
            filled = np.arange(most_matches) < count[here, None]
            rows.append(start + np.nonzero(filled)[0])
            values.append(matches[filled])
        none = np.zeros((0, d))
        return Matches(
            np.concatenate([np.empty(0, dtype=np.intp), *rows]),
            np.concatenate([none, *values]),
            count.astype(np.intp),
            complete,
        )

    def _reduced(self) -> Integers:
        """A unimodular U for which the columns of the weighted basis are short."""
        transform: Integers = np.eye(self.matrix.shape[1], dtype=np.int64)
        final = 1.0 / self.tolerance
        # At this weight a unit step of an attribute moves the equations about as much as the box.
        sizes = np.abs(self.matrix * self._half).max(axis=1, initial=0.0)
        weight = np.minimum(1.0 / np.where(sizes > 0, sizes, np.inf), final)
        while True:
            basis = self._basis(transform, weight)
            transform = transform @ reduce_rows(np.ascontiguousarray(basis.T))[0].T
            if (weight >= final).all():
                return transform
            weight = np.minimum(weight * _STAGE, final)

    def _basis(self, transform: Integers, weight: Vector) -> Matrix:
        """``[diag(1/h) U; diag(weight) A U]`` with the cancelling sums of ``A U`` in exact integers."""
        exponent = 62 - int(np.frexp(np.abs(self.matrix).max(initial=1e-300))[1])
        exact = np.frompyfunc(int, 1, 1)(np.rint(np.ldexp(self.matrix, exponent)))
        product = np.asarray(exact @ transform.astype(object))
        image = np.ldexp(product.astype(np.float64), -exponent)
        return np.vstack([transform / self._half[:, None], weight[:, None] * image])


@cache
def _compiled_enumeration() -> Callable[..., Any]:
    from numba import njit

    compiled: Callable[..., Any] = njit(_enumerate, cache=True, nogil=True, error_model="numpy")
    return compiled


def _enumerate(
    r: Matrix,
    transform: Integers,
    projected: Matrix,
    budget: Vector,
    y: Matrix,
    matrix: Matrix,
    lower: Vector,
    upper: Vector,
    tolerance: Vector,
    most_nodes: int,
    matches: Matrix,
    count: Integers,
    complete: npt.NDArray[np.bool_],
) -> None:
    """Visit every point of the ball, nearest layers first, and keep those that fit box and equations."""
    k, d = matrix.shape
    most = matches.shape[1]
    c, step, x = np.zeros(d), np.zeros(d), np.zeros(d)
    centre, distance = np.zeros(d), np.zeros(d + 1)
    for record in range(len(y)):
        nodes, level = 0, d - 1
        centre[level] = projected[record, level] / r[level, level]
        c[level] = np.rint(centre[level])
        step[level] = 1.0 if centre[level] >= c[level] else -1.0
        complete[record] = True
        while level < d:
            nodes += 1
            if nodes > most_nodes or count[record] == most:
                complete[record] = False
                break
            gap = r[level, level] * (c[level] - centre[level])
            total = distance[level + 1] + gap * gap
            if total <= budget[record]:
                if level > 0:
                    distance[level] = total
                    level -= 1
                    rest = projected[record, level]
                    for j in range(level + 1, d):
                        rest -= r[level, j] * c[j]
                    centre[level] = rest / r[level, level]
                    c[level] = np.rint(centre[level])
                    step[level] = 1.0 if centre[level] >= c[level] else -1.0
                    continue
                fits = True
                for i in range(d):
                    whole = np.int64(0)  # exact modulo 2⁶⁴, while single terms may be huge
                    for j in range(d):
                        whole += transform[i, j] * np.int64(c[j])
                    x[i] = whole
                    fits = fits and lower[i] <= x[i] <= upper[i]
                for i in range(k):
                    miss = y[record, i]
                    for j in range(d):
                        miss -= matrix[i, j] * x[j]
                    fits = fits and abs(miss) <= tolerance[i]
                if fits:
                    matches[record, count[record]] = x
                    count[record] += 1
            else:
                level += 1
                if level == d:
                    break
            c[level] += step[level]  # the next nearest value: steps +1, −2, +3, … around the centre
            step[level] = -step[level] - (1.0 if step[level] > 0 else -1.0)
