"""The direction along which records tell a public number: that of the private column it is a copy of.

*Model.* ``p = f(z_j, e)``, f rising in z_j, e independent of the other columns, and the release a linear map of z. Then
E(p | y) rises along one direction of y, which is what takes y to z_j. Estimates are least squares of p, and of its
ranks, where E(z_l | z_j) must be straight lines; and the logistic fit of every threshold of p with one direction for
all, where it need not: if p is a band of z_j, every threshold parts the records without error, and the fit with a
vanishing penalty tends to the widest gap. Of these, that is taken along which p rises most clearly, as Cavanagh and
Sherman's (1998) monotone rank estimator has it.

*Theory.* Of least squares with a share r² explained, the direction has the standard error ``sqrt((1 − r²) / (n r²))``
along each direction of unit variance. A direction that parts n records without error has one of the order of k / n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import rankdata

from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import size_order

Mask = npt.NDArray[np.bool_]
MOST_LEVELS: Final = 16
MOST_RECORDS: Final = 20_000
_FEWEST_BEYOND: Final = 4
"""Records on either side of a threshold, for each column: fewer are parted by chance."""
_PENALTIES: Final = 10.0 ** -np.arange(2, 10)
_STEPS: Final = 25
_CONVERGED: Final = 1e-13
_CLEARLY: Final = 1e-9
_PARTED: Final = 1e-3
"""Share of records on the wrong side of a threshold where a column is a band of another."""


@dataclass(frozen=True, eq=False)
class Index:
    """A direction of the release.

    Attributes
    ----------
    weights
        Of the released columns; the index ``(y − mean) @ weights`` has unit variance and rises with the public number.
    share
        The squared rank correlation of the index and the public number.
    error
        The standard error of the index along each other direction of unit variance.
    exact
        Whether the index parts every level of the public number from the next.
    """

    weights: Vector
    share: float
    error: float
    exact: bool


def whitening(y: Matrix) -> Matrix:
    """A k × k matrix that takes y to unit covariance, along directions that vary at all."""
    size, axes = np.linalg.eigh(np.atleast_2d(np.cov(y.T, ddof=0)))
    kept = size > 1e-12 * max(float(size[-1]), 1e-300)
    return np.asarray(axes[:, kept] / np.sqrt(size[kept]))


def single_index(y: Matrix, p: Vector) -> Index:
    """The direction of y (n × k) along which p rises most clearly."""
    if len(p) > MOST_RECORDS:
        some = np.sort(size_order(y)[:MOST_RECORDS])
        y, p = y[some], p[some]
    if np.ptp(p) == 0:
        return Index(np.zeros(y.shape[1]), 0.0, np.inf, exact=False)
    root = whitening(y)
    x = (y - y.mean(axis=0)) @ root
    ranks = rankdata(p)
    codes = _levels(p)
    directions = [_least_squares(x, each) for each in (p, ranks)]
    logistic, wrong = _parting(x, codes, directions[1])
    if logistic is not None:
        directions.append(logistic)
    shares = [float(np.corrcoef(rankdata(x @ each), ranks)[0, 1]) for each in directions]
    clear = _CLEARLY + (1.0 - max(shares) ** 2) * x.shape[1] / len(p)  # less is luck, and least squares are sharper
    best = next(i for i, share in enumerate(shares) if share >= max(shares) - clear)
    exact = logistic is not None and wrong <= _PARTED
    best = len(directions) - 1 if exact else best
    share, n, k = max(shares[best], 1e-9) ** 2, len(p), x.shape[1]
    error = float(np.sqrt((1.0 - min(share, 1.0)) / (n * share)))
    return Index(root @ directions[best], share, min(error, k / n) if wrong == 0.0 and exact else error, exact)


def _least_squares(x: Matrix, p: Vector) -> Vector:
    weights = x.T @ (p - p.mean())
    return np.asarray(weights / max(float(np.linalg.norm(weights)), 1e-300))


def _levels(p: Vector) -> Vector:
    """Numbers as places among their levels, of which the smallest are joined where there are many."""
    levels = np.unique(p)
    if len(levels) > MOST_LEVELS:
        levels = np.unique(np.quantile(p, np.arange(1, MOST_LEVELS) / MOST_LEVELS, method="lower"))
        return np.searchsorted(levels, p, side="left").astype(np.float64)
    return np.searchsorted(levels, p).astype(np.float64)


def _parting(x: Matrix, codes: Vector, start: Vector) -> tuple[Vector | None, float]:
    """The direction of the logistic fits of all thresholds, and the share of records on a wrong side."""
    n, k = x.shape
    above = codes[:, None] > np.arange(codes.max())
    beyond = np.minimum(above.sum(axis=0), n - above.sum(axis=0))
    above = above[:, beyond >= _FEWEST_BEYOND * k]
    if not above.shape[1]:
        return None, 1.0
    w = 0.5 * start
    c = np.array([np.quantile(x @ w, 1.0 - each) for each in above.mean(axis=0)])
    for penalty in _PENALTIES:
        w, c = _fitted(x, above, w, c, penalty)
    wrong = float((((x @ w)[:, None] > c) != above).mean(axis=0).max())
    return np.asarray(w / np.linalg.norm(w)), wrong


def _fitted(x: Matrix, above: Mask, w: Vector, c: Vector, penalty: float) -> tuple[Vector, Vector]:
    """Damped Newton steps on the mean logistic loss of all thresholds, with ``penalty · |w|² / 2``."""
    n, k = x.shape
    loss = _loss(x, above, w, c, penalty)
    for _ in range(_STEPS):
        chance = expit((x @ w)[:, None] - c)
        miss, doubt = chance - above, chance * (1.0 - chance)
        slope_w, slope_c = x.T @ miss.sum(axis=1) / n + penalty * w, -miss.sum(axis=0) / n
        mixed, own = -x.T @ doubt / n, doubt.sum(axis=0) / n + 1e-12
        curve = (x * doubt.sum(axis=1)[:, None]).T @ x / n + penalty * np.eye(k) - (mixed / own) @ mixed.T
        step_w = np.linalg.solve(curve, slope_w - mixed @ (slope_c / own))
        step_c = (slope_c - mixed.T @ step_w) / own
        if slope_w @ step_w + slope_c @ step_c <= _CONVERGED * loss:
            return w - step_w, c - step_c
        size = 1.0
        while size > 1e-4:
            after = _loss(x, above, w - size * step_w, c - size * step_c, penalty)
            if after < loss:
                break
            size /= 2
        if size <= 1e-4:
            break
        w, c, loss = w - size * step_w, c - size * step_c, after
    return w, c


def _loss(x: Matrix, above: Mask, w: Vector, c: Vector, penalty: float) -> float:
    signed = np.where(above, 1.0, -1.0) * ((x @ w)[:, None] - c)
    return float(np.logaddexp(0.0, -signed).sum() / len(x) + penalty * (w @ w) / 2)
