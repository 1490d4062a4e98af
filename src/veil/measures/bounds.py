"""Error bounds for rebuilding U from U + V by k components (M13).

The spectral attack keeps the first k right singular vectors of the release, Û = (U + V)P̃
with P̃ the projection on them. With λ_1 ≥ λ_2 ≥ … the eigenvalues of UᵀU (squared singular
values of U) and E = (U + V)ᵀ(U + V) − UᵀU:

* **Lower** (Schmidt, Mirsky): no matrix of rank k is nearer to U than U_k, so
  ‖Û − U‖_F ≥ ‖U_k − U‖_F = (Σ_{i>k} λ_i)^½. That is about matrices of rank k and about
  nothing else: a Bayes filter has full rank and goes below it.
* **Upper** (errata T): ‖Û − U‖_F ≤ ‖U‖_F·min(1, 2‖E°‖₂/(λ_k − λ_{k+1})) + (Σ_{i>k} λ_i)^½
  + ‖V P̃‖_F with E° = E − Nσ²I. Proof: Û − U = −U(I − P̃) + VP̃, U(I − P̃) = U(I − P) + U(P − P̃),
  and ‖P − P̃‖₂ is bounded by Davis and Kahan's theorem; a multiple of I moves no eigenvector.

Guo and Wu (2006), as the tutorial prints it, have ‖U‖_F·2‖E‖_F/((λ_k − ‖E‖₂) − √2‖E‖_F) + ‖V P̃‖_F.
It takes U to have rank k: the truncation term is missing, so it is violated as soon as what lies
beyond the first k components is larger than the noise.

Both work on the matrix given; centre the table first for attacks that do.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, as_table, choice, number, whole
from veil.errors import InputError
from veil.measures.measure import Measure
from veil.measures.spectrum import singular

BoundVariant = Literal["corrected", "paper"]


def lower_bound(table: npt.ArrayLike, rank: int, *, relative: bool = True) -> Measure:
    """‖U_k − U‖_F, under which no guess of rank k can come; over ‖U‖_F when ``relative``.

    It says nothing about guesses of another rank, the Bayes estimate (A6) among them.
    Missing values are refused. A table of zeros has no relative error: NaN.

    >>> float(lower_bound([[3.0, 0.0], [0.0, 4.0]], 1))
    0.6
    """
    u = _matrix(table, "table")
    k = whole(rank, "rank", least=0, most=min(u.shape))
    sizes, _ = singular(u)
    value = float(np.linalg.norm(sizes[k:]))
    return _bound(value, float(np.linalg.norm(sizes)), relative)


def upper_bound(
    table: npt.ArrayLike,
    noise: npt.ArrayLike,
    rank: int,
    *,
    variance: float | None = None,
    relative: bool = True,
    variant: BoundVariant = "corrected",
) -> Measure:
    """Over which the error ‖Û − U‖_F of the k-component attack on U + V cannot go.

    Parameters
    ----------
    table, noise
        U and V, of one shape: the owner knows both. Missing values are refused.
    rank
        k, the number of components the attack keeps, from 1 to the smaller side of the table.
    variance
        σ² of one noise cell; when left out, the mean square of ``noise``. Any number gives a
        true bound (it only cancels against I), the right one gives the best.
    relative
        Divide by ‖U‖_F (NaN when that is zero).
    variant
        ``"paper"`` is Guo and Wu's bound as printed; infinite where its condition
        λ_k > ‖E‖₂ + √2‖E‖_F fails. Do not rely on it: it can lie below the error.

    >>> u, v = [[2.0, 0.0], [0.0, 1.0]], [[0.0, 0.1], [-0.1, 0.0]]
    >>> round(upper_bound(u, v, 1), 2) >= 0.45
    True
    """
    u, v = _matrix(table, "table"), _matrix(noise, "noise")
    if u.shape != v.shape:
        raise InputError(f"noise: has shape {v.shape} where table has {u.shape}; pass tables of one shape")
    k = whole(rank, "rank", least=1, most=min(u.shape))
    chosen = choice(variant, "variant", ("corrected", "paper"))
    sigma2 = float((v * v).mean()) if variance is None else number(variance, "variance", least=0.0)
    released = u + v
    columns = u.shape[1]
    eigenvalues = np.zeros(columns + 1)
    eigenvalues[: min(u.shape)] = singular(u)[0] ** 2
    basis = singular(released)[1][:, :k]
    size = math.sqrt(float(eigenvalues.sum()))
    through = float(np.linalg.norm(v @ basis))
    e = released.T @ released - u.T @ u
    if chosen == "paper":
        total = float(np.linalg.norm(e))
        gap = float(eigenvalues[k - 1]) - float(np.linalg.norm(e, 2)) - math.sqrt(2.0) * total
        return _bound(size * 2.0 * total / gap + through if gap > 0.0 else math.inf, size, relative)
    gap = float(eigenvalues[k - 1] - eigenvalues[k])
    turn = 2.0 * float(np.linalg.norm(e - len(u) * sigma2 * np.eye(columns), 2))
    sine = min(1.0, turn / gap) if gap > 0.0 else 1.0
    if k == columns:  # everything is kept: P̃ = P = I
        sine = 0.0
    return _bound(size * sine + math.sqrt(float(eigenvalues[k:].sum())) + through, size, relative)


def _matrix(values: npt.ArrayLike, name: str) -> Array:
    matrix = as_table(values, name)
    if count := int(np.isnan(matrix).sum()):
        raise InputError(f"{name}: holds {count} missing value(s); drop those records or fill them in")
    return matrix


def _bound(value: float, size: float, relative: bool) -> Measure:
    if relative:
        value = value / size if size > 0.0 else math.nan
    return Measure(value, higher_is="private")
