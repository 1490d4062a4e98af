"""Columns that are sums of others, found in the covariance of one pass.

*Model.* In complete records c = Σ aᵢ if the deviation and the mean of c − Σ aᵢ are zero. Least squares with
coefficients that are not negative (Lawson and Hanson 1974) gives the terms 1 and all other columns 0 if no other
combination makes the same total; what is found is then checked, by the means of all records, too, where none of the
columns has gaps: a column that is constant in complete records may be a term in others. A column that is a sum is no
term of another: small totals come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from veil.numerics.moments import Moments

MOST_COLUMNS = 60
EXACT = 1e-6
"""Of a total's standard deviation: what may be left of it after its terms, which is rounding."""


def sums_among(names: Sequence[str], moments: Moments) -> dict[str, tuple[str, ...]]:
    """Columns that are the sum of at least two others in every complete record, by name."""
    if len(names) < 3 or moments.n_complete <= len(names):
        return {}
    from scipy.optimize import nnls

    covariance, mean = moments.covariance, moments.complete_mean
    std = np.sqrt(np.diag(covariance))
    usable = np.flatnonzero((std > 0) & np.isfinite(std))
    if not 3 <= len(usable) <= MOST_COLUMNS:
        return {}
    root = np.linalg.eigh(covariance[np.ix_(usable, usable)] / np.outer(std[usable], std[usable]))
    half = (root.eigenvectors * np.sqrt(np.maximum(root.eigenvalues, 0.0))).T * std[usable]
    found: dict[str, tuple[str, ...]] = {}
    for c in np.argsort(mean[usable]).tolist():
        others = [a for a in range(len(usable)) if a != c and names[usable[a]] not in found]
        others = [a for a in others if std[usable[a]] <= 2 * std[usable[c]]]
        if len(others) < 2:
            continue
        coefficients, _ = nnls(half[:, others] / std[usable[c]], half[:, c] / std[usable[c]])
        terms = [a for a, share in zip(others, coefficients.tolist(), strict=True) if share > 0.5]
        left = half[:, c] - half[:, terms].sum(axis=1)
        shift = abs(mean[usable[c]] - mean[usable[terms]].sum())
        if len(terms) > 1 and max(np.linalg.norm(left), shift) < EXACT * std[usable[c]]:
            places = _in_all(int(usable[c]), usable[terms].tolist(), moments)
            if places is not None:
                found[names[usable[c]]] = tuple(names[a] for a in places)
    return found


def _in_all(total: int, terms: list[int], moments: Moments) -> list[int] | None:
    """The terms of a total in all records, some constant in complete ones; None if they do not add up."""
    n, most = moments.n_rows, EXACT * float(moments.std[total])
    if any(moments.count[j] < n for j in (total, *terms)):
        return terms
    left = float(moments.mean[total] - moments.mean[terms].sum())
    constant = np.flatnonzero((np.diag(moments.covariance) == 0) & (moments.std > 0) & (moments.count == n)).tolist()
    tried = [(), *combinations(constant, 1), *combinations(constant, 2)]
    more = next((each for each in tried if abs(left - moments.mean[list(each)].sum()) < most), None)
    return None if more is None else sorted([*terms, *more])
