"""What known records say for a map from released to private columns: evidence, and weights of hypotheses (A25).

*Model.* ``x = f(y) + a + bᵀφ(y) + e`` with normal b, e and a; f and φ are one hypothesis, a cell, and

* the share λ of variance that φ leaves unexplained, from 1 (y says nothing: guess the default) to 0 (exact). The sizes
  S of b and e together have a prior that is log-uniform up to a standard unit and falls as 1/S² beyond. With r = x − f
  in the n directions that the offset leaves and Q = rᵀK⁻¹r, K = (1 − λ) ΦΦᵀ + λI, S integrates out to
  ``E ∝ Γ(n/2) (πQ)^(−n/2) |K|^(−½) / (1 + Q/n)``, the last factor taken at the likeliest S² = Q/n.

Columns are judged together as well as apart: with even odds either one hypothesis holds for all or each column has its
own. Columns that vary together are no independent witnesses, so their common evidence counts as often as the known
records have effective dimensions. A third of the prior is on exact maps, a third on no relation beyond the default; an
exact map with the better half of the posterior is taken alone, so that it holds to the last digits.

Where the features reach every direction of the known records, nothing is left over but rounding, and it counts as none;
where they do not, what is left is at least rounding. Else an order of rows, which rounds differently, would change the
evidence of shares as small as the square of rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

EXACT: Final = (1e-24, 1e-20, 1e-16, 1e-12)
NOISY: Final = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.07, 0.15, 0.25, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 1.0)
SHARES: Final = np.array(EXACT + NOISY)
OFFSETS: Final = (0.01, 1.0)
"""Variance of the offset in units of the column's, where there is a default to be near to."""
ANYWHERE: Final = 0.005
"""Density of an offset that may be anywhere, per standard unit."""
LEAST_SIZE: Final = 1e-10
SIZES: Final = math.log(1e4 / LEAST_SIZE)
"""Sizes from 1e-10 to 1e4 standard units."""
RELATED: Final = 0.2
POSSIBLE: Final = 0.003
"""With just enough pairs: the odds of an exact map against none, and its probability, from which it is taken."""
UNLIKELY: Final = 0.05
LEAST_RANKED: Final = 1e-3
ROUNDING: Final = 2e-15
"""Of the known values: what arithmetic may leave of nothing."""

Cell = tuple[int, int]
"""A default and a design, by their numbers."""
Cells = dict[Cell, Vector]


class Affine(NamedTuple):
    """``constant + u·slope`` of a released record in standard units."""

    constant: float
    slope: Vector


@dataclass(frozen=True)
class Design:
    """Features ``base · turn`` of a record, decomposed at the known rows.

    ``basis`` spans the directions that an unknown offset leaves; ``offset`` is its variance, None for anywhere.
    """

    known: Matrix
    turn: Matrix
    ranked: bool
    offset: float | None
    basis: Matrix
    left: Matrix
    size: Vector
    right: Matrix

    @classmethod
    def of(cls, known: Matrix, turn: Matrix, offset: float | None, *, ranked: bool = False) -> Design:
        features = known @ turn
        k = len(known)
        basis = np.eye(k)
        if offset is None:
            basis = np.linalg.qr(np.ones((k, 1)), mode="complete")[0][:, 1:]
        else:
            features = np.column_stack([np.full(k, math.sqrt(offset)), features])
        left, size, right = np.linalg.svd(basis.T @ features, full_matrices=False)
        varying = size > ROUNDING * len(features) * size.max(initial=0.0)
        return cls(known, turn, ranked, offset, basis, left[:, varying], size[varying], right[varying].T)

    def weigh(self, residual: Vector) -> tuple[Vector, Matrix]:
        """Log evidence for each of `SHARES`, and the coefficients."""
        n = self.basis.shape[1]
        inside = self.basis.T @ residual
        scores = self.left.T @ inside
        outside = inside - self.left @ scores
        left_over = 0.0
        if len(self.size) < n:
            left_over = max(float(outside @ outside), ROUNDING**2 * max(float(residual @ residual), 1.0))
        signal = (1.0 - SHARES)[:, None]
        spread = signal * self.size**2 + SHARES[:, None]
        misfit = (scores**2 / spread).sum(axis=1) + left_over / SHARES + n * LEAST_SIZE**2
        evidence = -(np.log(spread).sum(axis=1) + (n - len(self.size)) * np.log(SHARES)) / 2
        if n:
            evidence += math.lgamma(n / 2) - math.log(2 * SIZES) - n / 2 * np.log(math.pi * misfit)
            evidence -= np.log1p(misfit / n)  # the prior of sizes over 1, at the likeliest size
        if self.offset is None:
            evidence += math.log(ANYWHERE) - math.log(len(residual)) / 2
        if self.ranked:
            evidence[SHARES < LEAST_RANKED] = -np.inf
        return evidence, (signal * self.size * scores / spread) @ self.right.T

    def affine(self, coefficients: Vector, residual: Vector) -> Affine:
        """What the features and the offset add to the default."""
        if self.offset is not None:
            return Affine(float(coefficients[0]) * math.sqrt(self.offset), self.turn @ coefficients[1:])
        slope = self.turn @ coefficients
        return Affine(float((residual - self.known @ slope).mean()), slope)


def taken_for_exact(posterior: list[Cells], *, saturated: bool) -> npt.NDArray[np.bool_]:
    """Which columns' maps are taken for exact.

    With just enough pairs for any linear map (``saturated``) nothing tells noise from none but the size of what is
    learned, and it can only be judged whether the pairs speak for a map rather than for no relation.
    """
    per_share = np.array([np.sum(list(weights.values()), axis=0) for weights in posterior])
    solved, nothing = per_share[:, : len(EXACT)].sum(axis=1), per_share[:, SHARES >= 0.5].sum(axis=1)
    exact = solved >= 0.5
    if saturated:
        exact |= float(solved.mean()) >= max(RELATED * float(nothing.mean()), POSSIBLE)
    return np.asarray(exact)


def posterior_weights(log_evidence: list[Cells], records: Matrix) -> list[Cells]:
    """Weights of each column's hypotheses: one for all columns, or each its own, with even odds."""
    shares = np.log(np.r_[np.full(len(EXACT), 1 / len(EXACT)), np.full(len(NOISY) - 1, 1 / (len(NOISY) - 1)), 1.0] / 3)
    cells = sorted(set().union(*log_evidence))
    nothing = np.full(len(SHARES), -np.inf)
    table = np.array([[column.get(cell, nothing) for cell in cells] for column in log_evidence])
    prior = np.broadcast_to(shares, table.shape[1:]) - math.log(len(cells))
    witnesses = _effective_dimension(records)
    with np.errstate(invalid="ignore"):
        apart, each = _normalized(table + prior)
        together, common = _normalized(table.sum(axis=0)[None] * (witnesses / len(table)) + prior)
    one = 1.0 / (1.0 + math.exp(min(each.sum() * witnesses / len(table) - common[0], 700.0)))
    weights = one * together + (1.0 - one) * apart
    return [{cell: w for cell, w in zip(cells, column, strict=True) if w.any()} for column in weights]


def _normalized(log_weights: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], Vector]:
    """Weights that sum to 1 over all but the first axis, and the log of their sums before."""
    flat = log_weights.reshape(len(log_weights), -1)
    top = flat.max(axis=1)
    if not np.isfinite(top).all():  # no hypothesis that all columns could share
        return np.zeros_like(log_weights), np.full(len(flat), -np.inf)
    weights = np.exp(flat - top[:, None])
    total = weights.sum(axis=1)
    return (weights / total[:, None]).reshape(log_weights.shape), top + np.log(total)


def _effective_dimension(records: Matrix) -> float:
    """In how many independent ways the known records vary: (Σλ)²/Σλ² of their correlations."""
    spread = records.std(axis=0)
    z = (records - records.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    power = np.linalg.svd(z, compute_uv=False) ** 2 if z.size else np.zeros(1)
    return max(float(power.sum() ** 2 / max((power**2).sum(), 1e-300)), 1.0)


def likely_defaults(weights: Cells) -> Cells:
    """Without defaults of little weight: one in other units would be wrong by more than its weight makes up for."""
    per_default: dict[tuple[int, bool], float] = {}
    for cell, weight in weights.items():
        per_default[_default(cell)] = per_default.get(_default(cell), 0.0) + float(weight.sum())
    likely = sum(total for total in per_default.values() if total >= UNLIKELY)
    return {cell: w / likely for cell, w in weights.items() if per_default[_default(cell)] >= UNLIKELY}


def _default(cell: Cell) -> tuple[int, bool]:
    """Which default a hypothesis has, and whether near it or anywhere; designs come with each offset in turn."""
    return cell[0], cell[1] % (len(OFFSETS) + 1) == len(OFFSETS)


def exact_only(weights: Cells) -> Cells:
    """The exact hypotheses with the least share that has a tenth of the best one's weight."""
    per_share = np.sum([w[: len(EXACT)] for w in weights.values()], axis=0)
    least = int(np.argmax(per_share >= 0.1 * per_share.max()))
    return {cell: np.where(np.arange(len(SHARES)) == least, w, 0.0) / per_share[least] for cell, w in weights.items()}
