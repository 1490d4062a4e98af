"""Known records against a binary projection: find the secret subsets, then solve modulo 2 (P9).

*Model.* ``u = R x mod 2`` with R sparse: a row has about d·p ones, and p is small by design. *Known*: some records with
their rows, so each released bit is known on them. A subset of one or two attributes whose parity agrees with the bit
on every known record is soon the only one: twelve records tell a thousand attributes apart. Records that span all d
dimensions give every subset, whatever its size. What the found subsets determine follows by elimination; other
attributes are guessed as the known records mostly have them.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix

Bits = npt.NDArray[np.bool_]
MOST_COLUMNS_IN_PAIRS = 1_500
"""Beyond this, subsets of two are too many to list."""


class ParityGuess(NamedTuple):
    """Guessed records (N × d), which attributes follow exactly, and how many released bits were understood."""

    values: Matrix
    determined: Bits
    understood: int


def solve_parities(known_x: Matrix, known_u: Matrix, u: Matrix, density: float) -> ParityGuess:
    """Guess all records from ``u`` (N × k) and known pairs (p × d, p × k); ``density`` is the chance of a one in R."""
    x, bits = known_x > 0.5, known_u > 0.5
    rows, solved = _subsets(x, bits, density)
    usual = np.where(x.mean(axis=0) > 0.5, 1.0, 0.0)
    determined, values = parities_of(rows[solved], u[:, solved], usual)
    return ParityGuess(values, determined, int(solved.sum()))


def parities_of(matrix: Bits, u: Matrix, usual: Matrix) -> tuple[Bits, Matrix]:
    """Which attributes follow from released parities of known subsets, and the records (others as ``usual``)."""
    determined, source = _eliminated(matrix)
    values = np.tile(usual, (len(u), 1))
    if determined.any():
        values[:, determined] = ((u > 0.5) @ source[determined].T.astype(np.int64)) % 2
    return determined, values


def _subsets(x: Bits, bits: Bits, density: float) -> tuple[Bits, Bits]:
    """The rows of R as far as the known records tell them (k × d), and which were told."""
    d, k = x.shape[1], bits.shape[1]
    rows, solved = np.zeros((k, d), dtype=bool), np.zeros(k, dtype=bool)
    basis, source = _eliminated(x)
    if basis.all():  # the known records span everything: R xᵀ = u has one solution
        return np.asarray((source.astype(np.int64) @ bits.astype(np.int64)) % 2, dtype=bool).T, np.ones(k, dtype=bool)
    patterns = _patterns(x)
    for i, pattern in enumerate(_packed(bits.T)):
        candidates = patterns.get(pattern, [])
        fewest = min((len(c) for c in candidates), default=3)
        sparsest = [c for c in candidates if len(c) == fewest]
        # A rival with one more member is less probable by the odds of a one, but there are many of them.
        rivals = sum(len(c) == fewest + 1 for c in candidates)
        if len(sparsest) == 1 and rivals * density / (1 - density) < 0.1:
            rows[i, list(sparsest[0])] = True
            solved[i] = True
    return rows, solved


def _patterns(x: Bits) -> dict[bytes, list[tuple[int, ...]]]:
    """Subsets of at most two attributes by their parities on the known records."""
    columns = _packed(x.T)
    subsets: dict[bytes, list[tuple[int, ...]]] = {bytes(len(columns[0])): [()]}
    for j, pattern in enumerate(columns):
        subsets.setdefault(pattern, []).append((j,))
    if x.shape[1] <= MOST_COLUMNS_IN_PAIRS:
        raw = np.frombuffer(b"".join(columns), dtype=np.uint8).reshape(x.shape[1], -1)
        for i, j in combinations(range(x.shape[1]), 2):
            subsets.setdefault((raw[i] ^ raw[j]).tobytes(), []).append((i, j))
    return subsets


def _packed(rows: Bits) -> list[bytes]:
    return [row.tobytes() for row in np.packbits(rows, axis=1)]


def _eliminated(matrix: Bits) -> tuple[Bits, Bits]:
    """Which unknowns a system modulo 2 determines, and for each unknown the equations whose sum is it (d × m)."""
    m, d = matrix.shape
    work, source = matrix.copy(), np.eye(m, dtype=bool)
    rank = 0
    for j in range(d):
        pivots = np.flatnonzero(work[rank:, j])
        if not len(pivots):
            continue
        at = rank + int(pivots[0])
        work[[rank, at]], source[[rank, at]] = work[[at, rank]], source[[at, rank]]
        others = work[:, j].copy()
        others[rank] = False
        work[others] ^= work[rank]
        source[others] ^= source[rank]
        rank += 1
        if rank == m:
            break
    single = np.flatnonzero(work[:rank].sum(axis=1) == 1)
    determined, solution = np.zeros(d, dtype=bool), np.zeros((d, m), dtype=bool)
    where = work[single].argmax(axis=1)
    determined[where] = True
    solution[where] = source[single]
    return determined, solution
