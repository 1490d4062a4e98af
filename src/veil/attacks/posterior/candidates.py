"""The prior as a list of candidates, and the posterior weight of each for a released record (A28).

*Model.* A record is like one of m candidates. Candidate c has a group k, a weight w_c and a centre m_c: numbers u of
such a record are normal around m_c with the group's covariance C_k, and a variable has the candidate's own state with
probability 1 − λ, else one of the group's distribution π_k. What is seen of the numbers has the noise's covariance Σ on
top, and a report r of a variable has the probability ``(1 − λ) P[r, s_c] + λ (P π_k)[r]``. So::

    W_ic ∝ w_c · N(z_i; m_c, C_k + Σ) · Π_v ((1 − λ) P[r_iv, s_cv] + λ (P π_k)[r_iv])

A factor of a cell that a record does not have is left out. Given c, u is normal with mean ``G z + (I − G) m_c``,
``G = C_k (C_k + Σ)⁻¹``, and covariance ``(I − G) C_k``: the same for all candidates of a group, so that one triangular
factor per group and one product of matrices serve all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from veil.attacks.posterior.observations import Codes, Variable
from veil.data.blocks import Matrix, Vector

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
LEAST = 1e-12
"""The probability of a report that a candidate rules out: records have errors."""
CELLS = 500_000
"""Entries of a block of weights."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates, sorted by their group.

    Attributes
    ----------
    numbers, variables
        Which of the observed numbers and variables they say something about.
    mean, unit
        Of the numbers, by which they are standardised.
    noise
        Σ in standard units.
    group, weights, centres, states, shares
        For each candidate its group, weight, centre (m × q), states (m × variables; −1 for none) and λ.
    spreads, tables
        For each group C_k (K × q × q), and π_k of each variable (K × states).
    """

    numbers: npt.NDArray[np.intp]
    variables: tuple[int, ...]
    mean: Vector
    unit: Vector
    noise: Matrix
    group: npt.NDArray[np.intp]
    weights: Vector
    centres: Matrix
    states: Codes
    shares: Vector
    spreads: Matrix
    tables: tuple[Matrix, ...]

    @property
    def n_groups(self) -> int:
        """K."""
        return len(self.spreads)

    def standard(self, z: Matrix) -> Matrix:
        """Observed numbers in standard units."""
        return np.asarray((z[:, self.numbers] - self.mean) / self.unit)

    def log_joint(self, z: Matrix, present: Mask, reports: Sequence[Codes], channels: Sequence[Matrix]) -> Matrix:
        """ln of w_c times the density of what is seen (n × m), for records that have just the numbers ``present``.

        ``z`` is in standard units; ``reports`` and ``channels`` are of the candidates' variables, in their order.
        """
        out = np.tile(np.log(self.weights), (len(z), 1))
        if present.any():
            for k in range(self.n_groups):
                own = np.flatnonzero(self.group == k)
                total = (self.spreads[k] + self.noise)[np.ix_(present, present)]
                lower = np.linalg.cholesky(total)
                a = solve_triangular(lower, z[:, present].T, lower=True, check_finite=False).T
                b = solve_triangular(lower, self.centres[np.ix_(own, present)].T, lower=True, check_finite=False).T
                square = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2.0 * a @ b.T
                constant = np.log(np.diag(lower)).sum() + 0.5 * len(lower) * np.log(2 * np.pi)
                where = slice(own[0], own[-1] + 1)
                out[:, where] -= 0.5 * np.maximum(square, 0.0) + constant
        product = np.ones_like(out) if reports else None
        for v, (codes, channel) in enumerate(zip(reports, channels, strict=True)):
            if product is None or not (codes >= 0).any():
                continue
            product *= self.report_shares(v, codes, channel)
            if v % 8 == 7 or v == len(reports) - 1:
                out += np.log(product)
                product[:] = 1.0
        if product is not None:
            out += np.log(product)
        return out

    def report_shares(self, v: int, codes: Codes, channel: Matrix) -> Matrix:
        """The probability of each report of a variable for each candidate (n × m); 1 where nothing is reported."""
        reports, at = np.unique(codes, return_inverse=True)
        rows = channel[np.maximum(reports, 0)]
        mixed = np.maximum(rows @ self.tables[v].T, LEAST)[:, self.group]
        own = np.maximum(rows[:, np.maximum(self.states[:, v], 0)], LEAST)
        shares = np.where(self.states[:, v] < 0, 1.0, self.shares)
        probability = (1.0 - shares) * own + shares * mixed
        probability[reports < 0] = 1.0
        return np.asarray(probability[at.ravel()])

    def filters(self, present: Mask) -> tuple[Matrix, Matrix]:
        """For each group the gain G (K × q × present) and the variance that is left of each number (K × q)."""
        gains = np.empty((self.n_groups, len(self.unit), int(present.sum())))
        left = np.empty((self.n_groups, len(self.unit)))
        for k, spread in enumerate(self.spreads):
            total = (spread + self.noise)[np.ix_(present, present)]
            gains[k] = np.linalg.solve(total, spread[present]).T
            left[k] = np.clip(np.diag(spread) - np.einsum("ij,ij->i", gains[k], spread[:, present]), 0.0, None)
        return gains, left


def patterns(z: Matrix) -> Iterator[tuple[Mask, npt.NDArray[np.intp]]]:
    """Which numbers are present, and the rows that have just these."""
    present = ~np.isnan(z)
    if present.all():
        yield np.ones(z.shape[1], dtype=bool), np.arange(len(z))
        return
    kinds, at = np.unique(present, axis=0, return_inverse=True)
    for i, kind in enumerate(kinds):
        yield kind, np.flatnonzero(at.ravel() == i)


def log_sum(logs: Matrix) -> tuple[Vector, Matrix]:
    """ln of the sum of each row's exponentials, and their shares."""
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    total = shares.sum(axis=1, keepdims=True)
    return (top + np.log(total))[:, 0], shares / total


def leave_out(joint: Matrix, without: npt.NDArray[np.intp]) -> None:
    """Take one candidate away from each record; −1 for none."""
    rows = np.flatnonzero(without >= 0)
    joint[rows, without[rows]] = -np.inf


def log_density(
    candidates: Candidates, z: Matrix, variables: Sequence[Variable], rows: npt.NDArray[np.intp], given: Mask
) -> Vector:
    """ln of the density of what is seen of some records, given the columns that are known exactly.

    ``z`` are all observed numbers; ``given`` says which of the candidates' numbers are known. Variables without a place
    in the guess are known too.
    """
    standard = candidates.standard(z[rows])
    chosen = [variables[v] for v in candidates.variables]
    out = np.empty(len(rows))
    exact = [v for v, variable in enumerate(chosen) if is_covariate(variable)]
    for present, where in patterns(standard):
        for part in np.array_split(where, max(1, len(where) * len(candidates.weights) // CELLS)):
            reports = [variable.reports[rows[part]] for variable in chosen]
            joint = candidates.log_joint(standard[part], present, reports, [v.channel for v in chosen])
            out[part] = log_sum(joint)[0] - np.log(candidates.unit[present & ~given]).sum()
            if (given & present).any() or exact:
                known = [codes if v in exact else np.full(len(codes), -1) for v, codes in enumerate(reports)]
                alone = candidates.log_joint(standard[part], given & present, known, [v.channel for v in chosen])
                out[part] -= log_sum(alone)[0]
    return out


def is_covariate(variable: Variable) -> bool:
    """Whether a variable is known of everybody, and not to be guessed."""
    return variable.encode is None
