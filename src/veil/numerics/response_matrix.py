"""Matrices of randomized response (P16, P19): who reports what, and how one 64-bit word decides it.

*Model.* A respondent of true category s reports r with the public probability ``P[r, s]``: P is column-stochastic (a
column is a true category; pkdd2006 tutorial, errata "P in randomized response"). True proportions π give reported ones
``λ = P π``. Several attributes answered one by one are one variable over all combinations, the last attribute fastest,
with the matrix ``P1 ⊗ P2 ⊗ …``, which is never formed here: it acts on a table with one axis per attribute.

*What is drawn is what is stated.* Reports are drawn by comparing the upper 63 bits of a word with integer thresholds,
so that the implemented probabilities are known exactly. All entries are rounded up but the largest of a column, which
takes what is left: no small probability comes out too small, and the bound ``e^ε`` holds without a rounding error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from veil.arguments import number, whole
from veil.data.blocks import Matrix, Vector, Words
from veil.errors import InputError

Codes = npt.NDArray[np.int64]

UNITS = 2**63
"""Thresholds count in units of 1/UNITS."""
SUMS = 1e-9
"""How far from 1 the sum of a column may be."""
_UP = 1.0 + 2.0**-50  # more than the rounding of exp and of a division
_UNIFORM = 2.0**-45


def check_channel(matrix: npt.ArrayLike, name: str = "matrix") -> Matrix:
    """A column-stochastic matrix, reported × true, of any shape."""
    try:
        channel = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a table of numbers, reported × true categories") from None
    if channel.ndim != 2 or channel.size == 0:
        raise InputError(f"{name} must have one row per reported and one column per true category")
    if count := int((~((channel >= 0.0) & (channel <= 1.0))).sum()):
        raise InputError(f"{name} has {count} entries that are no probabilities; all must be from 0 to 1")
    if count := int((np.abs(channel.sum(axis=0) - 1.0) > SUMS).sum()):
        raise InputError(
            f"{name} has {count} columns that do not sum to 1; a column holds the reports of one true category"
        )
    return channel


def check_response_matrix(matrix: npt.ArrayLike, k: int, name: str = "matrix") -> Matrix:
    """A column-stochastic k × k matrix."""
    channel = check_channel(matrix, name)
    if channel.shape != (k, k):
        raise InputError(f"{name} is {channel.shape[0]} × {channel.shape[1]}; {k} categories need {k} × {k}")
    return channel


def check_proportions(proportions: npt.ArrayLike, k: int, name: str = "proportions") -> Vector:
    """The shares of k categories: at least 0, with the sum 1 within 1e-9; returned with the sum 1."""
    try:
        shares = np.array(proportions, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be {k} numbers, one share per category") from None
    if shares.shape != (k,):
        raise InputError(f"{name} must be {k} numbers, one share per category; got shape {shares.shape}")
    if not (shares >= 0.0).all() or not abs(float(shares.sum()) - 1.0) <= SUMS:
        raise InputError(f"{name} must be shares of at least 0 with the sum 1")
    return np.asarray(shares / shares.sum())


def keep_matrix(keep: float, k: int) -> Matrix:
    """Report the truth with probability ``keep``, else one of the other k − 1 categories, all alike.

    >>> keep_matrix(0.7, 3)[0].round(12).tolist()
    [0.7, 0.15, 0.15]
    """
    k = whole(k, "k", least=1)
    keep = number(keep, "keep", least=0.0, most=1.0, rule="a probability from 0 to 1")
    if k == 1:
        return np.ones((1, 1))
    matrix = np.full((k, k), (1.0 - keep) / (k - 1))
    np.fill_diagonal(matrix, keep)
    return matrix


def ordered_matrix(keep: float, k: int) -> Matrix:
    """Report the truth with probability ``keep``, else another of k ordered categories, each step away half as likely.

    For ``keep`` of at least ½ a row is largest on the diagonal, and its least entry, that of the other end, makes the
    response one of local ``ε = ln(keep·(2^(k − 1) − 1)/(1 − keep))``: near errors cost a larger ε than errors that are
    all alike, of which it is ``ln(keep·(k − 1)/(1 − keep))``.

    >>> ordered_matrix(0.7, 3)[:, 0].round(12).tolist(), ordered_matrix(0.7, 3)[:, 1].round(12).tolist()
    ([0.7, 0.2, 0.1], [0.15, 0.7, 0.15])
    """
    matrix = keep_matrix(keep, k)
    if k < 3:
        return matrix
    places = np.arange(k)
    errors = 0.5 ** np.abs(places[:, None] - places)
    np.fill_diagonal(errors, 0.0)
    errors *= (1.0 - keep) / errors.sum(axis=0)
    np.fill_diagonal(errors, keep)
    return np.asarray(errors)


def warner(keep: float) -> Matrix:
    """Warner's model for yes and no: the question is put as it is with probability ``keep``, else negated.

    >>> (warner(0.7) @ [0.3, 0.7]).round(12).tolist()
    [0.42, 0.58]
    """
    return keep_matrix(keep, 2)


def gamma_matrix(gamma: float, k: int) -> Matrix:
    """The γ-diagonal matrix of FRAPP (P19): γx on the diagonal, x elsewhere, x = 1/(γ + k − 1).

    x is raised by a few units in the last place, so that no ratio exceeds γ in exact arithmetic; γ within k·2⁻⁴⁵ of 1
    gives the uniform matrix.

    >>> gamma_matrix(19, 2).round(12).tolist()
    [[0.95, 0.05], [0.05, 0.95]]
    """
    gamma = number(gamma, "gamma", least=1.0, most=1e300, rule="a number of at least 1 (and at most 1e300)")
    k = whole(k, "k", least=1)
    # What is raised elsewhere is taken from the diagonal: closer to 1 it could fall below the rest.
    if gamma - 1.0 <= max(k * _UNIFORM, k * k / (UNITS / 2)):
        return np.full((k, k), 1.0 / k)
    off = _UP / (gamma + (k - 1))
    matrix = np.full((k, k), off)
    np.fill_diagonal(matrix, 1.0 - (k - 1) * off)
    return matrix


def epsilon_matrix(epsilon: float, k: int) -> Matrix:
    """The γ-diagonal matrix of γ = e^ε: k-ary randomized response with local ε.

    >>> np.allclose(epsilon_matrix(np.log(3), 2), warner(0.75))
    True
    """
    epsilon = number(epsilon, "epsilon", least=0.0, most=690.0, rule="a number from 0 to 690")
    return gamma_matrix(math.exp(epsilon), k)


def posterior(matrix: Matrix, proportions: Vector) -> Matrix:
    """P(true | reported) by Bayes' rule, reported × true; rows sum to 1.

    A category that is never reported stands for itself.
    """
    joint = matrix * proportions
    reported = joint.sum(axis=1, keepdims=True)
    return np.where(reported > 0.0, joint / np.where(reported > 0.0, reported, 1.0), np.eye(*matrix.shape))


def invariant_matrix(matrix: npt.ArrayLike, proportions: npt.ArrayLike) -> Matrix:
    """A matrix Q that leaves ``proportions`` as they are, ``Q π = π`` (invariant PRAM, T).

    Two stages: report by P, then draw a true category from the posterior given that report. ``Q = P← P`` with
    ``P←[t, r] = P(t | r)``, so that Q π = P← λ = π, for any P. What P hides, Q hides too (it only processes the
    report), but Q carries π: with π of the private table itself no formal guarantee is left.
    """
    channel = check_channel(matrix)
    shares = check_proportions(proportions, channel.shape[1])
    channel = check_response_matrix(channel, len(shares))
    both = posterior(channel, shares).T @ channel
    return np.asarray(both / both.sum(axis=0))


def kron_apply(matrices: Sequence[Matrix], table: npt.ArrayLike) -> Matrix:
    """``(P1 ⊗ P2 ⊗ …) t`` for a table with one axis per matrix, one axis at a time.

    The flattened table has the last axis fastest, as ``numpy.kron`` wants it.
    """
    result = _fitting(matrices, table)
    if len(matrices) == 1:
        return np.asarray(matrices[0] @ result)
    for axis, matrix in enumerate(matrices):
        result = np.moveaxis(np.tensordot(matrix, result, axes=(1, axis)), 0, axis)
    return np.ascontiguousarray(result)


def kron_solve(matrices: Sequence[Matrix], table: npt.ArrayLike) -> Matrix:
    """``(P1 ⊗ P2 ⊗ …)⁻¹ t`` for a table with one axis per matrix, one axis at a time."""
    result = _fitting(matrices, table)
    for axis, matrix in enumerate(matrices):
        front = np.moveaxis(result, axis, 0)
        try:
            solved: Matrix = np.linalg.solve(matrix, front.reshape(len(front), -1)).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            raise InputError(f"matrices: number {axis + 1} is singular; its reports do not tell proportions") from None
        result = np.moveaxis(solved.reshape(front.shape), 0, axis)
    return np.ascontiguousarray(result)


def _fitting(matrices: Sequence[Matrix], table: npt.ArrayLike) -> Matrix:
    values = np.asarray(table, dtype=np.float64)
    widths = tuple(matrix.shape[1] for matrix in matrices)
    if values.shape != widths:
        raise InputError(f"table has shape {values.shape}; these matrices need {widths}")
    return values


def cumulative(matrix: npt.ArrayLike) -> Words:
    """Thresholds of a sampler: of :data:`UNITS` words, ``thresholds[r, s]`` make a respondent of s report r or less.

    Entries are rounded up to whole units and the first largest of each column takes the rest. So zeros stay zeros, and
    a γ-diagonal matrix keeps its bound exactly; :func:`implemented_epsilon` says what any other matrix comes to.
    """
    channel = check_channel(matrix)
    units = np.ceil(channel * float(UNITS)).astype(np.uint64)
    columns, largest = np.arange(channel.shape[1]), channel.argmax(axis=0)
    units[largest, columns] = 0
    units[largest, columns] = np.uint64(UNITS) - units.sum(axis=0, dtype=np.uint64)
    return np.cumsum(units, axis=0, dtype=np.uint64)


def draw_reports(thresholds: Words, codes: npt.NDArray[np.integer], words: Words) -> Codes:
    """The reported code for each true code, decided by one uniform 64-bit word each."""
    from veil.numerics.response_compiled import HEAD, find_reports  # compiled code is loaded where it is used

    columns = np.ascontiguousarray(thresholds.T)
    # Where the search begins, by the word's first bits: mostly where it ends.
    heads = np.arange(1 << HEAD, dtype=np.uint64) << np.uint64(63 - HEAD)
    guide = np.array([np.searchsorted(column, heads, side="right") for column in columns])
    reports = np.empty(len(codes), dtype=np.int64)
    find_reports(columns, guide, codes.astype(np.int64, copy=False), words, reports)
    return reports


def exact_probabilities(thresholds: Words) -> tuple[tuple[Fraction, ...], ...]:
    """The implemented matrix, ``[reported][true]``, in exact fractions of 2⁶³."""
    units = np.diff(thresholds, axis=0, prepend=np.zeros((1, thresholds.shape[1]), dtype=np.uint64))
    return tuple(tuple(Fraction(int(unit), UNITS) for unit in row) for row in units)


def implemented_epsilon(thresholds: Words) -> float:
    """ln of the largest ratio in a row of the implemented matrix, rounded up; infinite where a zero meets another."""
    units = np.diff(thresholds, axis=0, prepend=np.zeros((1, thresholds.shape[1]), dtype=np.uint64))
    pairs = [(int(row.max()), int(row.min())) for row in units if row.any()]
    if any(least == 0 for _, least in pairs):
        return math.inf
    ratio = max(Fraction(most, least) for most, least in pairs)
    return 0.0 if ratio == 1 else math.log1p(float(ratio - 1)) * _UP
