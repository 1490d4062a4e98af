"""The clues for record linkage (A22) that published laws give: noise on single columns, factors, and responses."""

from __future__ import annotations

import numpy as np

from veil.attacks.linkage.likelihood import (
    Background,
    Clue,
    Codes,
    EqualityClue,
    FactorClue,
    IndependentClue,
    NormalClue,
    TableClue,
)
from veil.data.blocks import Matrix, Vector
from veil.numerics.laws import LAPLACE, UNIFORM
from veil.numerics.response_likelihood import most_likely
from veil.release.models import AdditiveModel, LogNormalModel, MechanismModel, MultiplicativeModel, ResponseModel


def noisy(
    model: AdditiveModel | MultiplicativeModel | LogNormalModel, shared: list[int], x: Matrix, y: Matrix
) -> list[Clue]:
    """Clues of noise on single columns ``shared`` of a part, known as x and released as y."""
    grid = model.grid[shared]
    if isinstance(model, MultiplicativeModel):
        return _factors(model, model.noise[shared], grid, x, y)
    noise = model.covariance[np.ix_(shared, shared)]
    if isinstance(model, LogNormalModel):
        x, y = (np.log(values, out=np.full(values.shape, np.nan), where=values > 0) for values in (x, y))
        return [NormalClue(x, y, Background(y, np.diag(noise)), noise)]
    if isinstance(model, MechanismModel):
        low, high = model.bounds[shared].T
        x = np.clip(x, low, high)
    background = Background(y, np.diag(noise))
    # Of a law that is not known here the variance serves.
    if model.distribution not in (UNIFORM.name, LAPLACE.name):
        return [NormalClue(x, y, background, noise)]
    # Value and noise are rounded to the grid, half a step each; the last bits of x add a little.
    slack = grid + 1e-12 * np.abs(np.where(np.isnan(y), 0.0, y)).max(axis=0, initial=0.0)
    return [IndependentClue(x, y, background, model.distribution, np.sqrt(np.diag(noise)), slack)]


def _factors(model: MultiplicativeModel, noise: Vector, grid: Vector, x: Matrix, y: Matrix) -> list[Clue]:
    """Clues of ``y = x r + e``: zeros without noise stay zeros and are compared as such."""
    zero_x, zero_y = (x == 0) & (noise == 0), (np.abs(y) <= grid / 2) & (noise == 0)
    clues: list[Clue] = [
        EqualityClue(*(np.where(np.isnan(v[:, j]), -1, zero[:, j]) for v, zero in ((x, zero_x), (y, zero_y))))
        for j in np.flatnonzero(zero_x.any(axis=0) | zero_y.any(axis=0))
    ]
    x, y = np.where(zero_x, np.nan, x), np.where(zero_y, np.nan, y)
    # An inverse hyperbolic sine is a logarithm far from 0, and near it no worse than the number itself.
    sizes = [np.abs(column[np.isfinite(column)]) for column in y.T]
    unit = np.array([float(np.median(size)) if size.any() else 1.0 for size in sizes])
    unit[unit == 0.0] = 1.0
    background = Background(
        np.arcsinh(y / unit), np.full(len(unit), model.law.std**2), -0.5 * np.log1p((y / unit) ** 2) - np.log(unit)
    )
    return [*clues, FactorClue(x, y, background, model.law, np.hypot(noise, grid / np.sqrt(12.0)))]


def responses(model: ResponseModel, reports: Codes, known: list[tuple[int, Codes]]) -> list[Clue]:
    """Clues of randomized responses: N × d reported codes, and the true codes of some columns for m people."""
    n = len(reports)
    if model.compound is None:
        clues: list[Clue] = []
        for j, codes in known:
            share = np.maximum(np.bincount(reports[:, j], minlength=len(model.matrices[j])), 1.0) / n
            clues.append(TableClue(_logs(model.matrices[j].T) - np.log(share), codes, reports[:, j]))
        return clues
    place = {combination: i for i, combination in enumerate(model.compound)}
    rows = np.array([place.get(row, -1) for row in map(tuple, reports.tolist())], dtype=np.int64)
    counts = np.bincount(rows[rows >= 0], minlength=len(place)).astype(np.float64)
    (matrix,) = model.matrices
    prior = most_likely(np.maximum(counts, 1e-9), [matrix])
    keys, codes = np.unique(np.column_stack([c for _, c in known]), axis=0, return_inverse=True)
    combinations = np.array(model.compound)[:, [j for j, _ in known]]
    fits = ((keys[:, None] == combinations) | (keys[:, None] < 0)).all(axis=2)
    weights = fits * np.maximum(prior, 1e-12)
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    table = _logs(weights @ matrix.T / total) - np.log(np.maximum(counts, 1.0) / n)
    table[(keys < 0).all(axis=1)] = 0.0
    return [TableClue(table, codes.ravel().astype(np.int64), rows)]


def _logs(probabilities: Matrix) -> Matrix:
    return np.asarray(np.log(np.maximum(probabilities, 1e-300)))
