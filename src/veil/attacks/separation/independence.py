"""Independent component analysis of a square mixture: rotations that make signals independent.

*Model.* ``y = A s + c``: d independent signals s, at most one of them normal, A square and secret.
*Knowledge.* The release, and that the signals are independent (Liu 2007, §4.6; tutorial T).

1. *FastICA.* Whiten, then parallel FastICA with the log cosh contrast from several starts; the start with the
   lowest sum of marginal entropies (m-spacings) wins. The entropy, and not the contrast, compares starts: it is
   minimal at the independent signals whatever their laws.
2. *Likelihood.* Each signal's score ``ψ = −f′/f`` is fitted by least squares on linear splines
   (``min E ψ² − 2 E ψ′``, which needs no density), and pairs of signals are turned by Newton steps

       θ_ij = −(E ψ_i u_j − E ψ_j u_i) / (κ_i σ_j² + κ_j σ_i² − 2),   κ = E ψ′.

   It adapts to skewed, flat and peaked laws, where log cosh is one compromise for all.
3. *Orthogonal mixing.* If A is known to be orthogonal, the same step on the data as they are, neither centred nor
   whitened, estimates A itself: the signals come back in their own scale and origin, and only order and sign remain
   (errata, A12). The denominator is zero only for two normal signals of one variance, so normal signals of different
   variances are separated too, which whitening would forbid; and signals may correlate in the sample.

The paper's attack is step 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from scipy.linalg import expm

from veil.attacks.rotation.thinning import thin_rows
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError
from veil.numerics.ordering import row_order

MOST_RECORDS: Final = 50_000
"""Records used to estimate a matrix; some of a longer release."""

_FEWER: Final = (2_500, 8_000)  # records on which a rotation is fitted before it is on all, where these are many more
_START_RECORDS: Final = 2_500  # of which starts are compared
_UNSETTLED_STEPS: Final = 25  # on more records, where fewer had no best angles
_FOLLOWED: Final = 2  # starts that are followed to the end on all records
_RANK: Final = 1e-10
_ROUGH: Final = 1e-6  # at which a start has shown where it leads
_LONGEST_TURN: Final = 0.3
_NULL_RUNS: Final = 20
_NULL_RECORDS: Final = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Signals found in a release: ``y ≈ mean(y) + (signals − mean(signals)) mixingᵀ``.

    Attributes
    ----------
    signals
        N × r, in arbitrary order and sign, not centred; of variance 1, or in their own scale if M is orthogonal.
    mixing
        k × r, one column per signal.
    entropy
        Sum of the marginal entropies of the unit-variance signals; lower is more independent.
    starts_agreeing
        How many of the starts reached the winner's entropy (within 0.01).
    converged
        Whether the last iteration met its tolerance.
    """

    signals: Matrix
    mixing: Matrix
    entropy: float
    starts_agreeing: int
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Whitened:
    """``y − mean = white rootᵀ``: uncorrelated columns of variance 1, as many as the release has dimensions."""

    white: Matrix
    root: Matrix
    inverse: Matrix
    mean: Vector

    @property
    def rank(self) -> int:
        """Dimensions that the release spans."""
        return int(self.root.shape[1])


def whiten(y: Matrix, *, most: int | None = None) -> Whitened:
    """Whiten a release along its principal components, at most ``most`` of them.

    >>> import numpy as np
    >>> whiten(np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]])).rank
    1
    """
    missing = int((~np.isfinite(y)).sum())
    if missing:
        raise InputError(
            f"the release has {missing} missing or infinite value(s); independent signals need all of them"
        )
    if len(y) < 2:
        raise InputError(f"the release has {len(y)} record(s); independent signals need at least 2")
    mean = y.mean(axis=0)
    # The SVD of the records, not of their covariance: it keeps small directions to full precision.
    _, size, axes = np.linalg.svd(y - mean, full_matrices=False)
    size = size / math.sqrt(len(y))
    rank = int((size > _RANK * size[0]).sum()) if size[0] > 0 else 0
    if rank == 0:
        raise InputError("all records of the release are equal; there is no signal in it")
    rank = min(rank, most) if most is not None else rank
    inverse = axes[:rank] / size[:rank, None]
    return Whitened((y - mean) @ inverse.T, axes[:rank].T * size[:rank], inverse, mean)


def listed(y: Matrix) -> Matrix:
    """The records that a matrix is estimated from, in an order of their own: the last bits may choose the optimum."""
    return thin_rows(y[row_order(y)], MOST_RECORDS)


def separate(y: Matrix, *, most: int | None = None, refine: bool = True, starts: int = 6, seed: int = 0) -> Separation:
    """Separate a release into independent signals of variance 1 (steps 1 and 2).

    Parameters
    ----------
    y
        N × k release.
    most
        The number of signals, where the release has more columns than there are signals.
    refine
        Whether to follow FastICA by the likelihood step.
    starts, seed
        Random starts of FastICA, and their seed.
    """
    data = whiten(listed(y), most=most)
    rotation, entropy, agreeing, converged = fast_ica(data.white, starts=starts, seed=seed)
    if refine:
        turned, settled = likelihood_rotation(data.white, rotation)
        after = marginal_entropy(data.white @ turned.T)
        if after < entropy:
            rotation, entropy, converged = turned, after, settled
    signals = y @ (rotation @ data.inverse).T
    return Separation(signals, data.root @ rotation.T, entropy, agreeing, converged)


def separate_orthogonal(y: Matrix, *, starts: int = 6, seed: int = 0) -> Separation:
    """Undo an orthogonal mixing up to order and sign: ``y = M z``, signals ``≈ z`` in their own scale (step 3).

    Principal axes are a start too: with different variances they are already near.
    """
    some = listed(y)
    # Constant signals leave the release in fewer dimensions; the other columns of M are orthogonal to theirs.
    root = whiten(some).root
    span = root / np.linalg.norm(root, axis=0)
    some = some @ span
    separation = separate(some, refine=False, starts=starts, seed=seed)
    candidates = []
    # The span's own axes are the principal ones.
    signal_axes = nearest_orthogonal(separation.mixing / np.linalg.norm(separation.mixing, axis=0))
    for start in (signal_axes, np.eye(some.shape[1])):
        turned, settled = likelihood_rotation(some, start.T)
        candidates += [
            (_total_entropy(some @ start), start, True),
            (_total_entropy(some @ turned.T), turned.T, settled),
        ]
    _, matrix, converged = min(candidates, key=lambda candidate: candidate[0])
    signals = y @ span @ matrix
    return Separation(signals, span @ matrix, marginal_entropy(some @ matrix), separation.starts_agreeing, converged)


def fast_ica(
    white: Matrix, *, starts: int = 6, seed: int = 0, most_steps: int = 300, tolerance: float = 1e-9
) -> tuple[Matrix, float, int, bool]:
    """Parallel FastICA (log cosh) on whitened data: rotation, its entropy, starts that agree, convergence.

    Starts are compared after a third of the steps, on some of the records where these are many; the best of them go on
    with all. Signals that are not normal need a few steps; normal ones have no end.
    """
    rng = np.random.default_rng(seed)
    few = thin_rows(white, _START_RECORDS) if len(white) > 2 * _START_RECORDS else white
    attempts = []
    for _ in range(starts):
        start = nearest_orthogonal(rng.standard_normal((white.shape[1], white.shape[1])))
        attempts.append(_iterated(few, start, most_steps // 3, _ROUGH))
    attempts.sort(key=lambda attempt: attempt[0])
    agreeing = sum(other < attempts[0][0] + 0.01 for other, _, _ in attempts)
    followed = [_iterated(white, rotation, most_steps // 3, tolerance) for _, rotation, _ in attempts[:_FOLLOWED]]
    entropy, rotation, converged = min(followed, key=lambda attempt: attempt[0])
    return rotation, entropy, agreeing, converged


def _iterated(white: Matrix, rotation: Matrix, most_steps: int, tolerance: float) -> tuple[float, Matrix, bool]:
    """FastICA from one start: the entropy, the rotation, and whether it converged."""
    converged = False
    for _ in range(most_steps):
        g = np.tanh(white @ rotation.T)
        slope = 1.0 - np.einsum("ij,ij->j", g, g) / len(g)
        following = nearest_orthogonal(g.T @ white / len(white) - slope[:, None] * rotation)
        change = float(np.max(1.0 - np.abs(np.sum(following * rotation, axis=1))))
        rotation = following
        if change < tolerance:
            converged = True
            break
    return marginal_entropy(white @ rotation.T), rotation, converged


def likelihood_rotation(
    y: Matrix, rotation: Matrix, *, most_steps: int = 60, tolerance: float = 1e-4
) -> tuple[Matrix, bool]:
    """Turn ``rotation`` until the signals ``y rotationᵀ`` have the highest likelihood (step 2): rotation, convergence.

    ``y`` is whitened, or as released if the mixing is orthogonal. A long release is fitted on some of its records
    first; where these settle no angles, because signals are normal, more of them get few steps. The tolerance is an
    angle: far below the sampling error of any table.
    """
    converged = True
    for n in [*(n for n in _FEWER if len(y) > 2 * n), len(y)]:
        steps = most_steps if converged else min(most_steps, _UNSETTLED_STEPS)
        rotation, converged = _turned(thin_rows(y, n), rotation, steps, tolerance)
    return rotation, converged


def _turned(y: Matrix, rotation: Matrix, most_steps: int, tolerance: float) -> tuple[Matrix, bool]:
    centred = y - y.mean(axis=0)
    for _ in range(most_steps):
        u = centred @ rotation.T
        size = u.std(axis=0)
        if not size.all():  # a constant signal has no angle
            return rotation, False
        scores, information = zip(*(spline_score(column) for column in np.ascontiguousarray((u / size).T)), strict=True)
        gradient = (np.column_stack(scores) / size).T @ u / len(u)
        curvature = np.array(information)[:, None] * (size[None, :] / size[:, None]) ** 2
        # Two normal signals of one variance have no best angle: leave them rather than chase the sampling error.
        bend = curvature + curvature.T - 2.0
        turn = np.where(bend > 1e-3, -(gradient - gradient.T) / np.maximum(bend, 1e-3), 0.0)
        turn = np.clip(turn, -_LONGEST_TURN, _LONGEST_TURN)
        rotation = np.asarray(expm(turn) @ rotation)
        if np.abs(turn).max(initial=0.0) < tolerance:
            return rotation, True
    return rotation, False


def spline_score(u: Vector) -> tuple[Vector, float]:
    """Score ``ψ = −f′/f`` of a unit-variance sample at its points, and ``E ψ′`` (1 for a normal law, else more).

    Least squares on ``u`` and hinges ``(u − q)₊`` at quantiles q, more of them the longer the sample: minimising
    ``E (ψ − ψ_f)²`` needs only ``E ψ²`` and ``E ψ′`` (Pham and Garat 1997).
    """
    n = len(u)
    ordered = np.sort(u)
    knots = ordered[(_levels(n) * n).astype(np.intp)]
    first = np.searchsorted(ordered, knots, side="right")
    # Shares, sums and squares of what lies beyond each knot; the straight line is a hinge at 0 that all lies beyond.
    hinges, start = np.concatenate([[0.0], knots]), np.concatenate([[0], first])
    powers = np.column_stack([np.ones(n), ordered, ordered * ordered])
    pieces = np.array([powers[a:b].sum(axis=0) for a, b in pairwise([*start, n])])
    share, total, square = (pieces[::-1].cumsum(axis=0)[::-1] / n).T
    mean = total - hinges * share
    later = np.maximum.outer(np.arange(len(hinges)), np.arange(len(hinges)))
    gram = square[later] - np.add.outer(hinges, hinges) * total[later] + np.outer(hinges, hinges) * share[later]
    gram -= np.outer(mean, mean)
    # A ridge worth one record on the hinges alone, so that the straight line, the normal law's score, stays free.
    ridge = np.full(len(share), np.trace(gram) / len(gram) / n)
    ridge[0] = 0.0
    weights = np.linalg.solve(gram + np.diag(ridge), share)
    nodes = np.concatenate([ordered[:1], knots, ordered[-1:]])
    values = weights[0] * nodes + np.maximum(nodes[:, None] - knots, 0.0) @ weights[1:] - mean @ weights
    return np.interp(u, nodes, values), float(max(weights @ share, 1.0))


@lru_cache(maxsize=64)
def _levels(n: int) -> Vector:
    """Quantile levels of the knots: the cube root of n of them, at most 13, closer together in the tails."""
    count = min(max(round(n ** (1 / 3)), 2), 13)
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * (np.arange(count) + 0.5) / count))


def marginal_entropy(signals: Matrix) -> float:
    """Sum of the entropies of the columns at unit variance, by m-spacings with m = √N (Vasicek)."""
    size = signals.std(axis=0)
    ordered = np.sort(signals / np.where(size > 0, size, 1.0), axis=0)
    n = len(ordered)
    m = max(1, math.isqrt(n))
    spacing = np.maximum(ordered[m:] - ordered[:-m], 1e-9)
    return float(np.log(spacing * (n + 1) / m).mean(axis=0).sum())


def nearest_orthogonal(matrix: Matrix) -> Matrix:
    """The orthogonal factor of the polar decomposition."""
    left, _, right = np.linalg.svd(matrix)
    return np.asarray(left @ right)


def normal_signals(signals: Matrix) -> list[int]:
    """The signals that look normal: no further from it than what the search makes of normal data.

    A separation maximises non-normality, so even normal data come out slightly non-normal. The yardstick is the
    largest departure (of log cosh, or of skewness) among signals found in normal tables of the same width.
    """
    departure = _departures(signals)
    return [int(i) for i in np.flatnonzero(departure <= _largest_null(signals.shape[1]))]


@lru_cache(maxsize=32)
def _largest_null(r: int) -> float:
    """The 95 % point of the largest departure in normal data, in standard errors; it hardly depends on N."""
    rng = np.random.default_rng(r)
    largest = []
    for _ in range(_NULL_RUNS):
        white = whiten(rng.standard_normal((max(_NULL_RECORDS, 20 * r), r))).white
        rotation, *_ = fast_ica(white, starts=1, most_steps=60)
        largest.append(_departures(white @ rotation.T).max())
    return float(np.quantile(largest, 0.95))


def _departures(signals: Matrix) -> Vector:
    """Each column's departure from the normal law: the larger of its log cosh and skewness z-scores."""
    n = len(signals)
    u = (signals - signals.mean(axis=0)) / signals.std(axis=0)
    # E log cosh = .374567 and its standard deviation about the quadratic fit, .0795, for a unit normal.
    contrast = (np.logaddexp(u, -u).mean(axis=0) - math.log(2.0) - 0.374567) / 0.0795479
    skewness = (u**3).mean(axis=0) / math.sqrt(6.0)
    return np.asarray(math.sqrt(n) * np.maximum(np.abs(contrast), np.abs(skewness)))


def _total_entropy(signals: Matrix) -> float:
    """Sum of the marginal entropies in the signals' own scale."""
    return marginal_entropy(signals) + float(np.log(np.maximum(signals.std(axis=0), 1e-300)).sum())
