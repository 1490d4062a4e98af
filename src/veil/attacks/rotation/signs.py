"""Which way does each eigenvector point? The sign search of the known-sample attack (A11).

*Model.* A release ``Y = X Mᵀ`` (records as rows, ``M`` orthogonal) and an independent sample ``S`` of
the same population have covariances with the same eigenvalues, ``Cov(Y) = W Λ Wᵀ`` and
``Cov(S) = Z Λ Zᵀ``. So ``M = W D Zᵀ`` for a diagonal matrix ``D`` of signs, which second moments
cannot tell (Liu 2007, §4.5). With ``A = Y W`` and ``B = S Z`` the attack takes the ``D`` for which
``A`` and ``B D`` look most alike under the two-sample energy statistic, of which only the cross term
depends on ``D``::

    energy(D) = mean over i, j of ‖a_j − D b_i‖

The paper maximises a permutation p-value of that statistic; p-values tie, the statistic does not
(errata L-i).

`exact_signs` visits all 2^d patterns, `greedy_signs` descends from a good start where d is too large
for that, and `choose_signs` picks between them. Each says how well the data identify its answer.

Where M is known to be a rotation, ``det M = 1`` gives the product of the signs, ``det W · det Z``: half
of the patterns fall away, and one sign follows from the others. That product is the ``parity``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from veil.attacks.rotation.gray_code import ROOT_ERROR, Engine, Floats, gray_signs, pair_tiles, pattern_energies
from veil.attacks.rotation.thinning import check_pair, thin_pairs

Parity = Literal[-1, 1] | None

_KEPT_VALUES: Final = 4_000_000

EXACT_LIMIT: Final = 13
"""Beyond this many columns `choose_signs` no longer visits every pattern."""


@dataclass(frozen=True, slots=True, eq=False)
class SignChoice:
    """A sign pattern and how well the data identify it.

    Attributes
    ----------
    signs
        One +1 or −1 per column.
    energy
        Mean distance ``‖a_j − D b_i‖`` over the pairs used.
    runner_up
        The second lowest energy: of all patterns when ``method`` is ``"exact"``, of those one or two
        flips away when it is ``"greedy"``. The energy itself where the parity leaves no second pattern.
    gap
        ``runner_up − energy`` in units of its standard error over sample records.
    margin
        Per column, what flipping that column alone adds to the energy, in units of its standard error
        over sample records (the scarce side). If a sign is a coin toss its margin is about |N(0, 1)|:
        below 2 the sign is a guess. Zero where the sample says nothing. With a parity, what flipping it
        together with the other column that costs least adds.
    method
        ``"exact"`` or ``"greedy"``.
    """

    signs: Floats
    energy: float
    runner_up: float
    gap: float
    margin: Floats
    method: Literal["exact", "greedy"]

    def ambiguous(self, threshold: float = 2.0) -> npt.NDArray[np.intp]:
        """Columns whose margin lies below ``threshold``."""
        return np.flatnonzero(~(self.margin >= threshold))


def choose_signs(
    a: Floats, b: Floats, *, limit: int = EXACT_LIMIT, max_pairs: int | None = 500_000, parity: Parity = None
) -> SignChoice:
    """The best sign pattern: by `exact_signs` up to ``limit`` columns, by `greedy_signs` beyond.

    ``max_pairs`` bounds the work of the exact search, which takes 2^d roots per pair. ``parity`` is the
    product of the signs where it is known.

    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal([3.0, -2.0], [1.0, 2.0], (500, 2))
    >>> b = rng.normal([-3.0, -2.0], [1.0, 2.0], (40, 2))
    >>> choose_signs(a, b).signs.tolist()
    [-1.0, 1.0]
    """
    if check_pair(a, b)[0].shape[1] <= limit:
        return exact_signs(a, b, max_pairs=max_pairs, parity=parity)
    return greedy_signs(a, b, parity=parity)


def exact_signs(
    a: Floats, b: Floats, *, max_pairs: int | None = None, engine: Engine = "numba", parity: Parity = None
) -> SignChoice:
    """The pattern of lowest energy among all 2^d, or among those whose signs have the product ``parity``.

    Patterns whose energies the compiled engine's rounding cannot separate are compared once more in
    double precision, so that both engines give the same answer.

    Parameters
    ----------
    a, b
        Release and sample in their eigenbases, records as rows.
    max_pairs
        Use at most about this many pairs of records (`thin_pairs`); all of them by default.
    engine
        ``"numba"``, or ``"numpy"`` as the slow reference.
    parity
        The product of the signs where it is known.

    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal([3.0, -2.0], [1.0, 2.0], (500, 2))
    >>> b = rng.normal([-3.0, -2.0], [1.0, 2.0], (40, 2))
    >>> found = exact_signs(a, b)
    >>> found.signs.tolist(), len(found.ambiguous())
    ([-1.0, 1.0], 0)
    """
    a, b = thin_pairs(a, b, max_pairs)
    energies = pattern_energies(a, b, engine=engine)
    if parity is not None:  # each pattern of the Gray code is one flip away from the one before
        energies[int(parity > 0) :: 2] = np.inf
    order = np.argsort(energies, kind="stable")
    tied = int(np.count_nonzero(energies <= energies[order[1]] * (1 + 4 * ROOT_ERROR)))
    patterns = [gray_signs(int(code), a.shape[1]) for code in np.sort(order[: min(tied, 32)])]
    if parity is not None:
        patterns = [signs for signs in patterns if signs.prod() == parity]
    ranked = sorted(patterns, key=lambda signs: _energy(a, b, signs))
    return _judge(a, b, ranked[0], ranked[:2][-1], "exact", parity)


def greedy_signs(
    a: Floats,
    b: Floats,
    *,
    max_pairs: int | None = 100_000,
    pairs: bool = True,
    max_steps: int = 200,
    parity: Parity = None,
) -> SignChoice:
    """A pattern that no single flip and no pair of flips improves.

    Starts from each column's own one-dimensional energy, takes the best single flip while one helps,
    then (with ``pairs``) the best pair of flips, and repeats. A step costs d roots per pair of records,
    d²/2 where pairs are tried. If the signs then have not the product ``parity``, the flip that costs
    least is made, and pairs of flips go on from there.
    """
    a, b = thin_pairs(a, b, max_pairs)
    signs, neighbour = _greedy(a, b, pairs, max_steps, parity)
    return _judge(a, b, signs, neighbour, "greedy", parity)


def rough_signs(a: Floats, b: Floats, *, max_pairs: int, parity: Parity = None) -> Floats:
    """The pattern of `greedy_signs` without pairs of flips, not judged: a start for something finer."""
    signs, _ = _greedy(*thin_pairs(a, b, max_pairs), pairs=False, max_steps=200, parity=parity)
    return signs


def _greedy(a: Floats, b: Floats, pairs: bool, max_steps: int, parity: Parity) -> tuple[Floats, Floats]:
    """The pattern of a greedy search, and the best of its neighbours."""
    columns = a.shape[1]
    tiles = _Tiles(a, b)
    signs = _columnwise_signs(a, b)
    for _ in range(max_steps):
        enough = _energy(a, b, signs) * (1 - 1e-12)
        after = tiles.flip_energies(signs, pairs=False)
        if pairs and after.min() >= enough:
            after = tiles.flip_energies(signs, pairs=True)
        r, q = divmod(int(np.argmin(after)), columns)
        neighbour = _flipped(signs, r, q)
        if after[r, q] >= enough:
            break
        signs = neighbour
    if parity is not None:
        return _with_parity(tiles, signs, parity, max_steps if pairs else 0)
    return signs, neighbour


def sign_margins(
    a: Floats, b: Floats, signs: Floats, *, max_pairs: int | None = 100_000, paired: bool = False
) -> Floats:
    """Per column, the rise in energy from flipping it alone, in standard errors over sample records.

    With ``paired``, from flipping it together with the other column that costs least: what a rival must
    do that keeps the product of the signs. Infinite for a single column, which then has no rival.
    """
    a, b = thin_pairs(a, b, max_pairs)
    base = record_energies(a, b * signs)

    def rise(r: int, q: int) -> Floats:
        return record_energies(a, b * _flipped(signs, r, q)) - base

    alone = [rise(r, r) for r in range(len(signs))]
    if not paired:
        return np.array([t_ratio(rises) for rises in alone])
    if len(signs) == 1:
        return np.full(1, np.inf)
    cheap, next_cheap = np.argsort([rises.mean() for rises in alone], kind="stable")[:2].tolist()
    return np.array([t_ratio(rise(r, next_cheap if r == cheap else cheap)) for r in range(len(signs))])


def record_energies(a: Floats, b: Floats) -> Floats:
    """Per sample record, the mean distance to the release."""
    rows = max(1, 2_000_000 // len(a))
    return np.concatenate([cdist(b[k : k + rows], a).mean(axis=1) for k in range(0, len(b), rows)])


def _energy(a: Floats, b: Floats, signs: Floats) -> float:
    return float(record_energies(a, b * signs).mean())


def _judge(
    a: Floats, b: Floats, signs: Floats, second: Floats, method: Literal["exact", "greedy"], parity: Parity
) -> SignChoice:
    base, other = record_energies(a, b * signs), record_energies(a, b * second)
    margin = sign_margins(a, b, signs, max_pairs=None, paired=parity is not None)
    return SignChoice(signs, float(base.mean()), float(other.mean()), t_ratio(other - base), margin, method)


def t_ratio(differences: Floats) -> float:
    """Mean over its standard error; 0 where the mean is 0 or one record leaves the error unknown."""
    mean = float(differences.mean())
    if mean == 0.0 or len(differences) < 2:
        return 0.0
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return mean / error if error > 0 else math.copysign(math.inf, mean)


def _flipped(signs: Floats, r: int, q: int) -> Floats:
    """``signs`` with columns r and q flipped, or r alone if they are the same."""
    flipped = signs.copy()
    flipped[list({r, q})] *= -1.0
    return flipped


def _with_parity(tiles: _Tiles, signs: Floats, parity: int, max_steps: int) -> tuple[Floats, Floats]:
    """Signs whose product is ``parity`` after the best flip and pairs of flips, and the best pattern two flips away."""
    columns = len(signs)
    alone = np.diag(tiles.flip_energies(signs, pairs=False))
    order = np.argsort(alone, kind="stable").tolist()
    if signs.prod() == parity:
        neighbour = _flipped(signs, *order[:2]) if columns > 1 else signs
    else:
        signs, neighbour = _flipped(signs, order[0], order[0]), _flipped(signs, order[:2][-1], order[:2][-1])
    for _ in range(max_steps if columns > 1 else 0):
        after = tiles.flip_energies(signs, pairs=True)
        np.fill_diagonal(after, np.inf)
        r, q = divmod(int(np.argmin(after)), columns)
        neighbour = _flipped(signs, r, q)
        if after[r, q] >= _energy(tiles.a, tiles.b, signs) * (1 - 1e-12):
            break
        signs = neighbour
    return signs, neighbour


def _columnwise_signs(a: Floats, b: Floats) -> Floats:
    """Per column, the sign of lower one-dimensional energy; +1 on a tie."""
    plus, minus = np.ones(1), -np.ones(1)
    columns = ((a[:, [r]], b[:, [r]]) for r in range(a.shape[1]))
    return np.array([1.0 if _energy(x, y, plus) <= _energy(x, y, minus) else -1.0 for x, y in columns])


class _Tiles:
    """All pairs of records in tiles (`pair_tiles`), kept between the steps of a search where they are few."""

    def __init__(self, a: Floats, b: Floats) -> None:
        self.a, self.b = a, b
        self.kept = list(pair_tiles(a, b)) if a.size * len(b) <= _KEPT_VALUES else None

    def flip_energies(self, signs: Floats, *, pairs: bool) -> Floats:
        """Energy after flipping r (diagonal) or r and q (above it); infinite where not evaluated."""
        columns = len(signs)
        total = np.zeros((columns, columns))
        for square, products in self.kept or pair_tiles(self.a, self.b):
            turn = 4.0 * signs[:, None] * products
            start = square - 0.5 * turn.sum(axis=0)
            if not pairs:
                turn += start
                np.sqrt(np.maximum(turn, 0.0, out=turn), out=turn)
                total[np.diag_indices(columns)] += turn.sum(axis=1)
                continue
            for r in range(columns):
                moved = start + turn[r] + turn[r:]
                moved[0] -= turn[r]
                total[r, r:] += np.sqrt(np.maximum(moved, 0.0)).sum(axis=1)
        evaluated = np.triu(np.ones_like(total)) if pairs else np.eye(columns)
        return np.where(evaluated > 0, total / (len(self.a) * len(self.b)), np.inf)
