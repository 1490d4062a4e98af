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

import numba
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

    def log_joint(self, z: Matrix, present: Mask, reports: Sequence[Codes], tables: Sequence[Matrix]) -> Matrix:
        """ln of w_c times the density of what is seen (n × m), for records that have just the numbers ``present``.

        ``z`` is in standard units; ``reports`` and their ``tables`` (:meth:`report_tables`) are of the candidates'
        variables, in their order.
        """
        logs, n = np.log(self.weights), len(z)
        out = np.empty((n, len(logs)))
        if present.any():
            first = np.searchsorted(self.group, np.arange(self.n_groups + 1))
            for k in range(self.n_groups):
                own = slice(first[k], first[k + 1])
                total = (self.spreads[k] + self.noise)[np.ix_(present, present)]
                lower = np.linalg.cholesky(total)
                a = solve_triangular(lower, z[:, present].T, lower=True, check_finite=False)
                b = solve_triangular(lower, self.centres[own, present].T, lower=True, check_finite=False)
                # −½|a − b|² as one product of matrices, together with what depends on the candidate alone.
                constant = np.log(np.diag(lower)).sum() + 0.5 * len(lower) * np.log(2 * np.pi)
                of_records = np.vstack([a, -0.5 * (a * a).sum(axis=0), np.ones(n)])
                of_candidates = np.vstack(
                    [b, np.ones(len(logs[own])), logs[own] - 0.5 * (b * b).sum(axis=0) - constant]
                )
                out[:, own] = of_records.T @ of_candidates
        else:
            out[:] = logs
        product: Matrix | None = None
        seen = [(codes, table) for codes, table in zip(reports, tables, strict=True) if (codes >= 0).any()]
        for i, (codes, table) in enumerate(seen):
            product = np.ones_like(out) if product is None else product
            times_rows(product, table, codes)
            if i % 8 == 7 or i == len(seen) - 1:
                out += np.log(product)
                product[:] = 1.0
        return out

    def report_tables(self, channels: Sequence[Matrix]) -> list[Matrix]:
        """The probability of each report of each variable for each candidate; a last row of ones is for no report."""
        tables = []
        for v, channel in enumerate(channels):
            mixed = np.maximum(channel @ self.tables[v].T, LEAST)[:, self.group]
            own = np.maximum(channel[:, np.maximum(self.states[:, v], 0)], LEAST)
            shares = np.where(self.states[:, v] < 0, 1.0, self.shares)
            tables.append(np.vstack([(1.0 - shares) * own + shares * mixed, np.ones(len(shares))]))
        return tables

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
    """ln of the sum of each row's exponentials, and their shares, which take the place of the logarithms."""
    top = logs.max(axis=1, keepdims=True)
    logs -= top
    shares = np.exp(logs, out=logs)
    total = shares.sum(axis=1, keepdims=True)
    shares /= total
    return (top + np.log(total))[:, 0], shares


@numba.njit(cache=True, nogil=True)
def times_rows(out: Matrix, table: Matrix, at: Codes) -> None:
    """Multiply every row by one of a table; −1 is its last one."""
    for i in range(len(at)):
        row, own = table[at[i]], out[i]
        for c in range(len(row)):
            own[c] *= row[c]


@numba.njit(cache=True, nogil=True)
def over_rows(out: Matrix, table: Matrix, at: Codes) -> Matrix:
    """Every row divided by one of a table; −1 is its last one."""
    ratios = np.empty_like(out)
    for i in range(len(at)):
        row, own, ratio = table[at[i]], out[i], ratios[i]
        for c in range(len(row)):
            ratio[c] = own[c] / row[c]
    return ratios


@numba.njit(cache=True, nogil=True)
def plus_rows(out: Matrix, table: Matrix, at: Codes) -> None:
    """Add one of a table's rows to every row; −1 is its last one."""
    for i in range(len(at)):
        row, own = table[at[i]], out[i]
        for c in range(len(row)):
            own[c] += row[c]


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
    tables = candidates.report_tables([variable.channel for variable in chosen])
    for present, where in patterns(standard):
        for part in np.array_split(where, max(1, len(where) * len(candidates.weights) // CELLS)):
            reports = [variable.reports[rows[part]] for variable in chosen]
            joint = candidates.log_joint(standard[part], present, reports, tables)
            out[part] = log_sum(joint)[0] - np.log(candidates.unit[present & ~given]).sum()
            if (given & present).any() or exact:
                known = [codes if v in exact else np.full(len(codes), -1) for v, codes in enumerate(reports)]
                alone = candidates.log_joint(standard[part], given & present, known, tables)
                out[part] -= log_sum(alone)[0]
    return out


def is_covariate(variable: Variable) -> bool:
    """Whether a variable is known of everybody, and not to be guessed."""
    return variable.encode is None
