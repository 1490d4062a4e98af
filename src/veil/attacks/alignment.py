"""The whole known-sample attack on arrays: eigenvectors, signs, refinement, shrinkage (A11).

*Model.* ``y_j = M x_j + t`` with ``M`` orthogonal and ``t = 0`` unless a translation is allowed; an
independent sample ``s_i`` of the same population, records as rows. Nothing else is seen.

1. *Starts.* Eigenvectors of the second moments about the origin (and of the covariances), signs by
   energy. About the origin, because an error in direction moves the mean as well, and the mean is the
   largest thing there is to align. Resampled samples give further starts: one local optimum is not
   enough once columns are many or collinear.
2. *Energy.* Each start is refined by `energy_procrustes`; the lowest energy wins.
3. *Records.* `nearest_procrustes` is several times more precise on a dense release and over-fits a
   sparse one. Records held out of the sample decide which of the two it is.
4. *Shrinkage.* Refits on resampled samples agree in the directions that the sample determines and
   cancel elsewhere; recovering with their mean rather than with one orthogonal matrix guesses the
   undetermined part as zero instead of at random. It matters when m is near d or below.

Liu 2007, §4.5, is step 1 with covariances alone: `spectral_start` with ``centred=True``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np
from scipy.spatial import KDTree

from veil.attacks.gray_code import Floats
from veil.attacks.procrustes import Fit, energy_procrustes, nearest_distances, nearest_procrustes, twins
from veil.attacks.signs import SignChoice, check_pair, choose_signs, greedy_signs, t_ratio, thin_pairs, thin_rows
from veil.errors import InputError

_FOLDS: Final = 5
_TREE_ROWS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Alignment:
    """The estimated map from private records to released ones, and what speaks for it.

    Attributes
    ----------
    matrix, offset
        ``M̂`` and ``t̂`` in ``y ≈ M̂ x + t̂``.
    slope, intercept
        The estimate to use: ``x̂ = y · slope + intercept``, the mean of the refits' inverse maps.
    signs
        The sign search of the first start.
    energy
        Mean distance between all released and all mapped sample records (over the pairs used).
    refinement
        Which objective ``M̂`` minimises: distances between all pairs, or to the nearest record.
    twins
        Sample records that fall on a released record. A continuous population has none; more than d
        of them certify that ``M̂`` is exact.
    stability
        Mean squared length of ``slope``'s columns: 1 when all refits agree, 0 when they cancel.
    """

    matrix: Floats
    offset: Floats
    slope: Floats
    intercept: Floats
    signs: SignChoice
    energy: float
    refinement: Literal["energy", "nearest"]
    twins: int
    stability: float

    def recover(self, y: Floats) -> Floats:
        """Estimated private records of released ones."""
        return np.asarray(y @ self.slope + self.intercept)


def spectral_start(
    y: Floats, s: Floats, *, centred: bool = False, search: Callable[[Floats, Floats], SignChoice] = choose_signs
) -> tuple[Floats, SignChoice]:
    """``M̂ = W D Zᵀ`` from eigenvectors of both tables, with signs ``D`` by energy.

    Eigenvectors of covariances if ``centred``, of second moments about the origin otherwise. The
    signs are always searched in the coordinates given, which for centred tables leaves only skewness
    to tell them.
    """
    y, s = check_pair(y, s)
    w, z = _axes(y, centred), _axes(s, centred)
    choice = search(y @ w, s @ z)
    return np.asarray((w * choice.signs) @ z.T), choice


def align_sample(
    y: Floats, s: Floats, *, translation: bool = False, replicates: int = 16, seed: int = 0, max_pairs: int = 200_000
) -> Alignment:
    """Estimate the orthogonal map between a release and a sample of the same population.

    Parameters
    ----------
    y, s
        Release and sample, records as rows, in the units that were rotated.
    translation
        Whether the release was shifted as well. Means then say nothing, and signs rest on skewness.
    replicates
        Resampled samples, used as further starts and for the shrinkage; 0 leaves out both.
    seed
        Of the resampling.
    max_pairs
        Pairs used per start and refit. The winner is refined once more on up to 4 million.
    """
    y, s = check_pair(y, s)
    if replicates < 0:
        raise InputError(f"replicates: must not be negative, is {replicates}")
    rng = np.random.default_rng(seed)
    few_y, few_s = thin_pairs(y, s, max_pairs)
    shift = (y.mean(axis=0), s.mean(axis=0)) if translation else (0.0, 0.0)

    first, signs = spectral_start(y - shift[0], s - shift[1])
    starts = [first]
    if not translation:
        starts.append(spectral_start(y, s, centred=True)[0])
    for _ in range(replicates):
        drawn = few_s[rng.integers(0, len(few_s), len(few_s))]
        starts.append(spectral_start(few_y - shift[0], drawn - shift[1], search=greedy_signs)[0])

    quick = partial(energy_procrustes, few_y, translation=translation, max_iter=40, tol=1e-6)
    fits = sorted((quick(few_s, start) for start in starts), key=_objective)
    fit = energy_procrustes(y, s, fits[0].matrix, offset=fits[0].offset, translation=translation)
    energy = fit.objective

    tree = KDTree(thin_rows(y, _TREE_ROWS))
    nearest = partial(nearest_procrustes, tree, translation=translation)
    refit: Callable[..., Fit] = quick
    if _nearest_wins(tree, s, fit, quick, nearest):
        fit = min((nearest(s, f.matrix, offset=f.offset) for f in (fit, *fits)), key=_objective)
        refit = nearest

    refits = [refit(s[rng.integers(0, len(s), len(s))], fit.matrix, offset=fit.offset) for _ in range(replicates)] or [
        fit
    ]
    slope = np.mean([f.matrix for f in refits], axis=0)
    intercept = -np.mean([f.offset @ f.matrix for f in refits], axis=0)
    return Alignment(
        matrix=fit.matrix,
        offset=fit.offset,
        slope=slope,
        intercept=intercept,
        signs=signs,
        energy=energy,
        refinement="nearest" if refit is nearest else "energy",
        twins=twins(tree, fit, s),
        stability=float(np.sum(slope * slope) / len(slope)),
    )


def _objective(fit: Fit) -> float:
    return fit.objective


def _axes(table: Floats, centred: bool) -> Floats:
    """Eigenvectors of the second moments, largest first."""
    table = table - table.mean(axis=0) if centred else table
    return np.asarray(np.linalg.eigh(table.T @ table)[1][:, ::-1])


def _nearest_wins(tree: KDTree, s: Floats, fit: Fit, energy: Callable[..., Fit], nearest: Callable[..., Fit]) -> bool:
    """Whether fitting to nearest records brings held-out records nearer to released ones too."""
    if len(s) < 2 * _FOLDS:
        return False
    fold = np.arange(len(s)) % _FOLDS
    gain = np.empty(len(s))
    for k in range(_FOLDS):
        kept, held = s[fold != k], s[fold == k]
        coarse = energy(kept, fit.matrix, offset=fit.offset)
        fine = nearest(kept, coarse.matrix, offset=coarse.offset)
        gain[fold == k] = nearest_distances(tree, coarse, held) - nearest_distances(tree, fine, held)
    return t_ratio(gain) > 1.0
