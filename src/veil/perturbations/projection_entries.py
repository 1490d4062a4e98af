"""Entries of random projections (P8), and draws that would release something exactly.

A sparse R may have a unit vector in its row space: that attribute (or record) would be released exactly, up to a
factor. Such draws are thrown away (errata L-ae).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix
from veil.keys.randomness import Generator

SPARSITY = {"achlioptas1": 1.0, "achlioptas3": 3.0}
KINDS = ("gaussian", "achlioptas1", "achlioptas3", "sparse")
MOST_DRAWS = 1_000
DETERMINED = 1.0 - 1e-9
"""Leverage of an attribute whose unit vector is in the row space, but for rounding (M15)."""
BIASED_COLUMNS = 64
"""Up to this many, draws that are thrown away change the mean square of the others noticeably."""


def projection_entries(source: Generator, k: int, d: int, kind: str, n: int) -> Matrix:
    """A k × d matrix of independent entries of mean 0 and variance 1; ``n`` is the dimension that is reduced."""
    if kind == "gaussian":
        return source.normal(k, d)
    s = SPARSITY.get(kind, math.sqrt(n))
    uniform = source.words(k * d).astype(np.float64) * 2.0**-64
    signs = np.where(uniform < 0.5 / s, 1.0, np.where(uniform < 1.0 / s, -1.0, 0.0))
    return np.asarray(math.sqrt(s) * signs).reshape(k, d)


def hides_all(entries: Matrix, kind: str) -> bool:
    """Whether no attribute (or record) goes out as it is, and none follows from the projection.

    At k = d everything follows from R, and that is known; then only rows of a single entry are refused.
    """
    return bool(_each_hides_all(entries[None], kind)[0])


def _each_hides_all(draws: Matrix, kind: str) -> npt.NDArray[np.bool_]:
    """:func:`hides_all` of every k × d matrix among draws."""
    _, k, d = draws.shape
    hides = (np.count_nonzero(draws, axis=2) >= 2).all(axis=1)
    if k >= d:
        hides[hides] = np.linalg.matrix_rank(draws[hides]) == d
    elif kind != "gaussian" and hides.any():
        _, size, rows = np.linalg.svd(draws[hides], full_matrices=False)
        spanned = size > 1e-10 * size[:, :1]
        hides[hides] = (rows**2 * spanned[:, :, None]).sum(axis=1).max(axis=1) < DETERMINED
    return np.asarray(hides)


@cache
def mean_square(kind: str, k: int, d: int) -> float:
    """The mean square of an entry, given that the draw hides all attributes.

    Draws that are thrown away are the emptier ones, so in few dimensions the kept ones would lengthen all distances
    (by a third at 3 × 6, s = 3). By symmetry one factor mends that; it is simulated with a fixed seed, to about 0.3 %.
    """
    if kind in ("gaussian", "achlioptas1") or d > BIASED_COLUMNS:
        return 1.0
    s = SPARSITY.get(kind, math.sqrt(d))
    rng = np.random.default_rng(0)
    wanted = int(min(max(2e5 * s / (k * d), 200), 20_000))
    squares = np.empty(0)
    for _ in range(50):
        # Every matrix draws its places, then its signs: releases made before rest on this order.
        pairs = [(rng.random((k, d)), rng.integers(0, 2, (k, d))) for _ in range(MOST_DRAWS)]
        places, signs = (np.array(each) for each in zip(*pairs, strict=True))
        draws = math.sqrt(s) * np.where(places < 1 / s, 2.0 * signs - 1.0, 0.0)
        some = draws[_each_hides_all(draws, kind)]
        squares = np.append(squares, np.mean((some**2).reshape(len(some), k * d), axis=1))
        if len(squares) >= wanted:
            break
    return float(np.mean(squares[:wanted])) if len(squares) else 1.0
