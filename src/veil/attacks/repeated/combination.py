"""What several releases say together about one table through their noise, on arrays (A24).

*Noise.* ``y_k = x + r_k`` with published covariances S_k. The difference of two releases is pure noise, so
``x̂ = y_ref − E[r_ref | all differences]`` is the best linear unbiased estimate, and no matrix that may be singular is
inverted: independent noise gives precision weights and the covariance ``(Σ S_k⁻¹)⁻¹``; the same noise at scales s and t
gives x itself, ``(t y_1 − s y_2)/(t − s)``; the same noise at one scale gives differences of zero, and nothing new.

*Shared noise.* ``Var(y_a − y_b) = s_a² + s_b² − 2ρ s_a s_b`` tells ρ, in directions in which both noises are
independent. Independence and ρ = 1 are the hypotheses that the data must refute. A larger variance than independent
noise explains means that values have changed: that goes to the earlier release's noise, unless it is what ρ = −1 gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from veil.attacks.noise.additive import available_covariance, with_grain
from veil.attacks.noise.shrinkage import pooled_prior, whitening
from veil.data.blocks import Matrix, Vector

Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
Fit = tuple[Matrix, Vector, Flags]

REFUTED = 4.0
"""Standard errors by which a hypothesis must be off to be given up."""
NEGLIGIBLE = 1e-8
"""Variance, in units of the noise's, that is taken for rounding."""
ROUNDING = 1e-13
"""The same of covariances that should be zero."""
RANK = 1e-9
"""Relative size below which a direction of mixed columns is rounding."""


class NoisyView(NamedTuple):
    """Private columns as one release shows them.

    ``columns`` are their places; ``values`` N × k, NaN where there is none; ``noise`` k × k; ``law`` of the noise.
    """

    columns: Places
    values: Matrix
    noise: Matrix
    law: str


class Average(NamedTuple):
    """Records that the same releases hold: their rows, the columns that are there, and the noise that is left."""

    rows: Places
    columns: Places
    noise: Matrix


class Mix(NamedTuple):
    """Columns mixed by a linear map: N × q values, NaN where there is none, and the columns that they determine."""

    values: Matrix
    determined: Flags


def noise_correlation(difference: Vector, a: float, b: float) -> tuple[float, float]:
    """The correlation ρ of two noises of deviations a and b, and the variance by which values have changed.

    ``difference`` holds the two releases' differences, without missing ones. Variances are compared by Wilson and
    Hilferty's cube root, with degrees of freedom that allow for heavy tails.
    """
    least, apart, most = (a - b) ** 2, a**2 + b**2, (a + b) ** 2
    n = len(difference)
    if n < 3:
        return 0.0, 0.0
    centred = difference - difference.mean()
    variance = float(centred @ centred) / (n - 1)
    if apart == 0.0:
        return 0.0, variance
    tails = max(3.0, float(np.mean(centred**4)) / variance**2) if variance > NEGLIGIBLE * apart else 3.0
    degrees = 2.0 * (n - 1) / (tails - 1.0)
    off = _departure(variance / apart, degrees)
    if abs(off) <= REFUTED:
        return 0.0, 0.0
    if off > 0.0:
        opposed = degrees > 100 and a * b > 0.0 and abs(_departure(variance / most, degrees)) < REFUTED / 2
        return (-1.0, 0.0) if opposed else (0.0, variance - apart)
    if a * b == 0.0:
        return 0.0, 0.0
    # Weights for ρ = 1 may be taken where a ρ that cannot be told from 1 would not make them worse than none.
    safe = 3.0 * np.sqrt(2.0 / degrees) * max(a, b) < min(a, b)
    if variance <= NEGLIGIBLE * apart or (safe and least > 0.0 and _departure(variance / least, degrees) < 3.0):
        return 1.0, 0.0
    return min((apart - variance) / (2.0 * a * b), 1.0), 0.0


def pair_noise(difference: Matrix, a: Matrix, b: Matrix) -> tuple[Matrix, Matrix, Vector]:
    """Covariance of two releases' noises, that of the values' change, and the correlations found.

    Works in the directions in which both noises are independent: the columns, if both are diagonal.
    """
    if not any(np.any(noise - np.diag(np.diag(noise))) for noise in (a, b)):
        back, coordinates, scales = np.eye(len(a)), difference, (np.sqrt(np.diag(a)), np.sqrt(np.diag(b)))
    else:
        root, inverse = whitening(with_grain(a, np.diag(a) + np.diag(b)))
        ratio, q = np.linalg.eigh(inverse @ b @ inverse.T)
        back, scales = root @ q, (np.ones(len(a)), np.sqrt(np.clip(ratio, 0.0, None)))
        coordinates = difference @ (inverse.T @ q)
    pairs = zip(coordinates.T, *scales, strict=True)
    correlations = [noise_correlation(c[np.isfinite(c)], float(s), float(t)) for c, s, t in pairs]
    rho, change = (np.array(part) for part in zip(*correlations, strict=True))
    return (back * (rho * scales[0] * scales[1])) @ back.T, (back * change) @ back.T, rho


def joint_noise(views: Sequence[NoisyView]) -> tuple[Matrix, dict[tuple[int, int], Vector]]:
    """Covariance of all views' noises, one after the other, and the correlations that were found, by pair of views.

    The first view is the reference: what has changed since the others is noise of theirs.
    """
    ends = np.cumsum([0, *(len(view.columns) for view in views)])
    noises = [np.array(view.noise) for view in views]
    joint = np.zeros((ends[-1], ends[-1]))
    shared: dict[tuple[int, int], Vector] = {}
    for i, first in enumerate(views):
        for j in range(i + 1, len(views)):
            _, here, there = np.intersect1d(first.columns, views[j].columns, return_indices=True)
            if not len(here):
                continue
            own, other = np.ix_(here, here), np.ix_(there, there)
            difference = first.values[:, here] - views[j].values[:, there]
            cross, change, rho = pair_noise(difference, noises[i][own], noises[j][other])
            if i == 0:
                noises[j][other] += change
            if rho.any():
                shared[i, j] = rho
                joint[np.ix_(ends[i] + here, ends[j] + there)] = cross
                joint[np.ix_(ends[j] + there, ends[i] + here)] = cross.T
    for k, noise in enumerate(noises):
        joint[ends[k] : ends[k + 1], ends[k] : ends[k + 1]] = noise
    return _semidefinite(joint), shared


def averaged(views: Sequence[NoisyView], noise: Matrix, n_columns: int) -> tuple[Matrix, list[Average]]:
    """The best linear unbiased estimate of every value (N × ``n_columns``), by which releases hold the record."""
    place, released = np.concatenate([view.columns for view in views]), np.hstack([view.values for view in views])
    present, variance = np.isfinite(released), np.diag(noise)
    values = np.full((len(released), n_columns), np.nan)
    groups = []
    for rows in same_rows(present):
        there = np.flatnonzero(present[rows[0]])
        there = there[np.argsort(variance[there], kind="stable")]
        columns, first = np.unique(place[there], return_index=True)
        lead = there[first]
        rest = np.setdiff1d(there, lead)
        which = np.searchsorted(columns, place[rest])
        base = lead[which]
        unit = np.array([np.sqrt(variance[there[place[there] == c]].max()) for c in columns])
        unit[unit == 0.0] = 1.0
        cross = noise[np.ix_(lead, rest)] - noise[np.ix_(lead, base)]
        between = noise[np.ix_(rest, rest)] - noise[np.ix_(rest, base)]
        between += noise[np.ix_(base, base)] - noise[np.ix_(base, rest)]
        gain = cross @ _inverse(between, unit[which])
        left = _semidefinite(noise[np.ix_(lead, lead)] - gain @ cross.T)
        left[np.abs(left) < ROUNDING * np.outer(unit, unit)] = 0.0
        shown = released[rows]
        values[np.ix_(rows, columns)] = shown[:, lead] - (shown[:, rest] - shown[:, base]) @ gain.T
        groups.append(Average(rows, columns, left))
    return values, groups


def same_rows(flags: Flags) -> list[Places]:
    """Rows of equal flags together; rows without any are left out."""
    _, which = np.unique(np.packbits(flags, axis=1), axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    starts = np.flatnonzero(np.diff(which.ravel()[order], prepend=-1))
    return [rows for rows in np.split(order, starts[1:]) if len(rows) and flags[rows[0]].any()]


def _departure(ratio: float, degrees: float) -> float:
    """A ratio of variances as a standard normal deviate (Wilson and Hilferty 1931)."""
    spread = 2.0 / (9.0 * degrees)
    return float((np.cbrt(ratio) - 1.0 + spread) / np.sqrt(spread))


def present_mean(values: Matrix) -> Vector:
    """Means of the columns over present values; NaN where there are none."""
    present = np.isfinite(values)
    count = present.sum(axis=0)
    total = np.where(present, values, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(values.shape[1], np.nan), where=count > 0))


def estimate(values: Matrix, averages: Sequence[Average], mixes: Sequence[Mix]) -> tuple[Matrix, Matrix, Flags]:
    """Bayes estimates from averaged releases and exact mixes, their expected squared errors, and columns determined.

    Without mixes this is the filter of A6 with each record's own noise; the prior comes from all records, whose
    covariance is Σx and the mean of their noises. With a mix, the regression on it takes the mean's place, and the
    prior is that of what it leaves; of columns that the mix determines it leaves nothing.
    """
    d = values.shape[1]
    noise, variance = np.zeros((d, d)), np.full_like(values, np.nan)
    together = np.zeros((d, d))
    for each in averages:
        noise[np.ix_(each.columns, each.columns)] += len(each.rows) * each.noise
        together[np.ix_(each.columns, each.columns)] += len(each.rows)
        variance[np.ix_(each.rows, each.columns)] = np.diag(each.noise)
    noise /= np.maximum(together, 1.0)
    guess, left = np.full_like(values, np.nan), np.full_like(values, np.nan)
    determined = np.zeros(d, dtype=bool)
    there = np.column_stack([np.ones(len(values), dtype=bool), *(np.isfinite(m.values).all(axis=1) for m in mixes)])
    for rows in same_rows(there):
        used = [mix for k, mix in enumerate(mixes) if there[rows[0], k + 1]]
        fitted = _regression(values, variance, used) if used else None
        if fitted is None:
            centre, error, exact = np.broadcast_to(present_mean(values), values.shape), np.zeros(d), np.zeros(d, bool)
        else:
            centre, error, exact = fitted
            guess[rows], left[rows] = centre[rows], error
            determined |= exact & np.isfinite(centre[rows]).any(axis=0)
        gap = values - centre
        prior = _prior(gap, noise, exact)
        inside = np.zeros(len(values), dtype=bool)
        inside[rows] = True
        for each in averages:
            here, c = each.rows[inside[each.rows]], each.columns
            if not len(here):
                continue
            out = c if fitted is None else np.flatnonzero(np.isfinite(centre[here[0]]))
            system = prior[np.ix_(c, c)] + with_grain(each.noise, np.diag(prior)[c] + np.diag(noise)[c])
            gain = np.linalg.solve(system, prior[np.ix_(c, out)])
            guess[np.ix_(here, out)] = centre[np.ix_(here, out)] + gap[np.ix_(here, c)] @ gain
            explained = np.einsum("co,co->o", prior[np.ix_(c, out)], gain)
            left[np.ix_(here, out)] = np.diag(prior)[out] - explained + error[out]
    return guess, left, determined


def _prior(values: Matrix, noise: Matrix, exact: Flags) -> Matrix:
    """Covariance of what is behind centred values with noise; zero where it is known to be."""
    prior = np.zeros_like(noise)
    free = np.flatnonzero(~exact & np.isfinite(values).any(axis=0))
    if len(free):
        part = values[:, free]
        covariance = available_covariance(part, np.zeros(len(free)))
        own = with_grain(noise[np.ix_(free, free)], np.diag(covariance))
        prior[np.ix_(free, free)] = pooled_prior(covariance, own, int(np.isfinite(part).any(axis=1).sum()))
    return prior


def _regression(values: Matrix, variance: Matrix, mixes: Sequence[Mix]) -> Fit | None:
    """Every column on mixes, weighted by the noise's precision: fitted values, their squared error, what is determined.

    A column whose residuals exceed its noise has changed, and is not determined. None where fewer than twice as many
    records are in both as there are coefficients.
    """
    whole = np.hstack([mix.values for mix in mixes])
    there = np.isfinite(whole).all(axis=1)
    centred = whole[there] - whole[there].mean(axis=0)
    unit = np.where(np.ptp(centred, axis=0) > 0, centred.std(axis=0), 1.0)
    basis, power, _ = np.linalg.svd(centred / unit, full_matrices=False)
    basis = basis[:, power > RANK * power[:1].max(initial=0.0)] * np.sqrt(len(basis))
    design = np.column_stack([np.ones(len(basis)), basis])
    fitted, error = np.full_like(values, np.nan), np.full(values.shape[1], np.nan)
    exact = np.any([mix.determined for mix in mixes], axis=0)
    for j in np.flatnonzero(np.isfinite(values).any(axis=0)):
        known = np.isfinite(values[there, j])
        n = int(known.sum())
        if n <= 2 * design.shape[1]:
            return None
        own = variance[there, j][known]
        root = 1.0 / np.sqrt(np.maximum(own, NEGLIGIBLE * own.max()) if own.max() > 0.0 else np.ones(n))
        weighted = design[known] * root[:, None]
        inverse = np.linalg.inv(weighted.T @ weighted)
        fitted[there, j] = design @ (inverse @ (weighted.T @ (values[there, j][known] * root)))
        rest = (values[there, j][known] - fitted[there, j][known]) * root
        freedom, tails = n - design.shape[1], max(3.0, float(np.mean(rest**4) / max(np.mean(rest**2), 1e-300) ** 2))
        # White's (1980) covariance of the coefficients: noise may depend on the value.
        spread = inverse @ (weighted.T * rest**2) @ weighted @ inverse * n / freedom
        error[j] = float(np.mean(np.einsum("ip,pq,iq->i", design, spread, design, optimize=True)))
        exact[j] &= (
            own.max() > 0.0 and _departure(float(rest @ rest) / freedom, 2.0 * freedom / (tails - 1.0)) < REFUTED
        )
    return fitted, error, exact


def _inverse(matrix: Matrix, unit: Vector) -> Matrix:
    """A generalised inverse that passes over what is rounding in units of the noise."""
    power, basis = np.linalg.eigh(matrix / np.outer(unit, unit))
    varying = power > NEGLIGIBLE
    return np.asarray((basis[:, varying] / power[varying]) @ basis[:, varying].T / np.outer(unit, unit))


def _semidefinite(matrix: Matrix) -> Matrix:
    """The nearest matrix, in units of the diagonal, without negative variances."""
    unit = np.sqrt(np.clip(np.diag(matrix), 0.0, None))
    unit[unit == 0.0] = 1.0
    power, basis = np.linalg.eigh(matrix / np.outer(unit, unit))
    if power[0] >= -ROUNDING:
        return np.asarray((matrix + matrix.T) / 2)
    return np.asarray((basis * np.clip(power, 0.0, None)) @ basis.T * np.outer(unit, unit))
