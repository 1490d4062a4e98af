"""The whole known-sample attack on arrays: eigenvectors, signs, refinement, shrinkage (A11).

*Model.* ``y_j = M x_j + t`` with ``M`` orthogonal and ``t = 0`` unless a translation is allowed; an
independent sample ``s_i`` of the same population, records as rows. Nothing else is seen. Where ``M`` is
known to be a rotation, every step keeps to rotations: one sign then follows from the others.

1. *Starts.* Eigenvectors of the second moments about the origin (and of the covariances), signs by
   energy. About the origin, because an error in direction moves the mean as well, and the mean is the
   largest thing there is to align. Resampled samples give further starts: one local optimum is not
   enough once columns are many or collinear.
2. *Energy.* Each start is refined by `energy_procrustes`; the lowest energy wins.
3. *Records.* `nearest_procrustes` is several times more precise on a dense release and over-fits a
   sparse one. Records that fall on released ones, or records held out of the sample, decide which of
   the two it is.
4. *Shrinkage.* Refits on resampled samples, each from the optimum its records prefer, agree in the
   directions that the sample determines and cancel elsewhere. Their mean has the polar form
   ``(orthogonal) H``; recovering with ``M̂ H`` instead of ``M̂`` guesses the undetermined part as the
   sample's mean rather than at random. It matters when the sample is not many times larger than the
   number of columns.

Liu 2007, §4.5, is step 1 with covariances alone: `spectral_start` with ``centred=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

import numpy as np

from veil.attacks.rotation.gray_code import Floats
from veil.attacks.rotation.principal_axes import principal_axes, rough_start, spectral_start
from veil.attacks.rotation.procrustes import (
    Fit,
    energy_procrustes,
    nearest_distances,
    nearest_procrustes,
    snapped,
    twins,
)
from veil.attacks.rotation.record_tree import RecordTree
from veil.attacks.rotation.signs import SignChoice, record_energies, sign_margins, t_ratio
from veil.attacks.rotation.thinning import check_pair, thin_pairs, thin_rows
from veil.data.blas import one_blas_thread
from veil.errors import InputError
from veil.numerics.ordering import size_order

_FOLDS: Final = 5
_TREE_VALUES: Final = 400_000  # a tree's queries slow down with columns as well as with records
_SOME_RECORDS: Final = 400  # of the sample, where refits are repeated
_SINGLE: Final = 1e-7  # what sums in single precision can tell; the sampling error is far more
_FIRST_STEPS: Final = 6  # after which they are compared
_RIVALS: Final = 20  # starts of the search for nearest records,
_FINALISTS: Final = 10  # of which these are followed to the end
_FEW_PAIRS: Final = 30_000  # enough for the signs of one start among many
_SOME_PAIRS: Final = 400_000  # bring the winner so near that few steps on all pairs are left
_GLANCED: Final = 100  # records of the sample by which rivals are chosen
_SLACK: Final = 0.5  # in the search for nearest records, where maps are compared: few records are mistaken


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """The estimated map from private records to released ones, and what speaks for it.

    Attributes
    ----------
    matrix, offset
        ``M̂`` and ``t̂`` in ``y ≈ M̂ x + t̂``.
    reliability
        ``H``, symmetric with eigenvalues in [0, 1]: 1 for a direction of the private space that all
        refits agree on, 0 for one on which they cancel.
    centre
        The sample's mean, towards which `recover` shrinks.
    signs
        The sign search of the first start, before any refinement.
    margin
        Per eigenvector of the release, how well the final map's sign along it is identified: as
        `SignChoice.margin`, about the centre if a translation was fitted.
    energy
        Mean distance between released and mapped sample records after step 2 (over the pairs used).
    refinement
        Which objective ``M̂`` minimises: distances between all pairs, or to the nearest record.
    twins
        Sample records that fall on a released record. A continuous population has none. More than d of
        them show that ``M̂`` is exact up to a symmetry of the grid that the values lie on: columns
        swapped or flipped, or with a translation an offset by grid steps. ``stability`` near 1 rules
        the former out.
    """

    matrix: Floats
    offset: Floats
    reliability: Floats
    centre: Floats
    signs: SignChoice
    margin: Floats
    energy: float
    refinement: Literal["energy", "nearest"]
    twins: int

    def recover(self, y: Floats, *, shrink: bool = True) -> Floats:
        """Estimated private records of released ones; ``(y − t̂) M̂`` as it is without ``shrink``."""
        x = (y - self.offset) @ self.matrix
        return np.asarray(self.centre + (x - self.centre) @ self.reliability if shrink else x)

    @property
    def stability(self) -> float:
        """Mean eigenvalue of the reliability: the share of the private space that is determined."""
        return float(np.trace(self.reliability) / len(self.reliability))


def align_sample(
    y: Floats,
    s: Floats,
    *,
    translation: bool = False,
    replicates: int = 32,
    seed: int = 0,
    max_pairs: int = 100_000,
    robust: bool = False,
    proper: bool = False,
) -> Alignment:
    """Estimate the orthogonal map between a release and a sample of the same population.

    Parameters
    ----------
    y, s
        Release and sample, records as rows, in the units that were rotated.
    translation
        Whether the release was shifted as well. Means then say nothing, and signs rest on skewness.
    replicates
        Resampled samples, used as further starts and for the shrinkage; 0 leaves out both. The
        shrinkage looks at no more than 400 of the sample's records, where little is left to shrink.
    seed
        Of the resampling.
    max_pairs
        Pairs used per start and refit. The winner is refined once more on up to 4 million.
    robust
        Start from eigenvectors that outliers do not turn (see `spectral_start`) as well.
    proper
        Whether M is known to be a rotation, without reflection.
    """
    y, s = check_pair(y, s)
    if replicates < 0:
        raise InputError(f"replicates: must not be negative, is {replicates}")
    with one_blas_thread():  # thousands of small products, where more threads only wait for each other
        return _align(y, s, translation, replicates, np.random.default_rng(seed), max_pairs, robust, proper)


def _align(
    y: Floats,
    s: Floats,
    translation: bool,
    replicates: int,
    rng: np.random.Generator,
    max_pairs: int,
    robust: bool,
    proper: bool,
) -> Alignment:
    y = y[size_order(y)]  # the part that is used of a long release does not hang on how its rows were listed
    spectral = partial(spectral_start, proper=proper)
    first, signs = spectral(*_centred(y, s) if translation else (y, s))
    few_y, few_s = thin_pairs(y, s, max_pairs)
    sturdy = [spectral(y, s, centred=c, robust=True)[0] for c in (True, False)] if robust else []
    further = _further_starts(few_y, few_s, replicates, rng, translation=translation, proper=proper)
    starts = [first, *sturdy, *further]
    slow = partial(energy_procrustes, translation=translation, proper=proper)
    quick = partial(slow, few_y, max_iter=40, tol=1e-6, max_pairs=max_pairs, single=True)
    fits = sorted((quick(few_s, start) for start in starts), key=_objective)
    near_y, near_s = thin_pairs(y, s, _SOME_PAIRS)
    fit = slow(near_y, near_s, fits[0].matrix, offset=fits[0].offset, single=True, tol=_SINGLE)
    fit = slow(y, s, fit.matrix, offset=fit.offset, single=True, tol=_SINGLE)
    energy = fit.objective

    some = thin_rows(s, _SOME_RECORDS)
    modes = [fit, *fits]
    refits = _refits(some, modes, _energies(few_y, modes, some), quick, replicates, rng)

    tree = RecordTree(thin_rows(y, max(1, _TREE_VALUES // y.shape[1])))
    close = partial(nearest_procrustes, tree, translation=translation, proper=proper)
    near = partial(close, max_iter=20, tol=1e-4, slack=_SLACK)
    glance = partial(close, thin_rows(some, _GLANCED), max_iter=3, slack=_SLACK)
    promising = sorted(_distinct([*modes, *refits]), key=lambda f: glance(f.matrix, offset=f.offset).objective)
    rivals = {f: near(some, f.matrix, offset=f.offset, max_iter=_FIRST_STEPS) for f in (fit, *promising[:_RIVALS])}
    for f in sorted(rivals, key=lambda f: rivals[f].objective)[:_FINALISTS]:
        rivals[f] = near(some, rivals[f].matrix, offset=rivals[f].offset)
    best = min(rivals, key=lambda f: rivals[f].objective)
    use_nearest = twins(tree, rivals[best], some) > y.shape[1]
    if not use_nearest:
        gains = {start: _held_out_gain(tree, some, fit, start, quick, near) for start in (fit, best)}
        best = max(gains, key=lambda f: gains[f])
        use_nearest = gains[best] > 1.0
    if use_nearest:
        fit = close(s, rivals[best].matrix, offset=rivals[best].offset)
        certain = twins(tree, fit, s) > y.shape[1]
        fit = snapped(tree, fit, s, translation=translation, proper=proper) if certain else fit
        modes = [fit, *rivals.values()]
        if certain:
            modes = _exact_modes(tree, some, modes, close)
        refits = _refits(some, modes, _nearest(tree, modes, some), near, replicates, rng)

    return Alignment(
        matrix=fit.matrix,
        offset=fit.offset,
        reliability=_reliability(refits or [fit]),
        centre=s.mean(axis=0),
        signs=signs,
        margin=_margin(y, fit.forward(s), shift=translation, proper=proper),
        energy=energy,
        refinement="nearest" if use_nearest else "energy",
        twins=twins(tree, fit, s),
    )


def _further_starts(
    y: Floats, s: Floats, replicates: int, rng: np.random.Generator, *, translation: bool, proper: bool
) -> Iterator[Floats]:
    """Covariance eigenvectors of the whole sample, then eigenvectors of resampled samples."""
    rough = partial(rough_start, max_pairs=_FEW_PAIRS, proper=proper)
    if not translation:
        yield rough(y, s, centred=True)
    for _ in range(replicates):
        drawn = s[rng.integers(0, len(s), len(s))]
        yield rough(*_centred(y, drawn) if translation else (y, drawn))


def _centred(y: Floats, s: Floats) -> tuple[Floats, Floats]:
    return y - y.mean(axis=0), s - s.mean(axis=0)


def _objective(fit: Fit) -> float:
    return fit.objective


def _margin(y: Floats, mapped: Floats, *, shift: bool, proper: bool) -> Floats:
    """Sign margins of sample records that were already mapped onto the release."""
    if shift:
        y, mapped = _centred(y, mapped)
    axes = principal_axes(y, centred=False)
    return sign_margins(y @ axes, mapped @ axes, np.ones(y.shape[1]), paired=proper)


def _energies(y: Floats, modes: list[Fit], s: Floats) -> Floats:
    return np.array([record_energies(y, mode.forward(s)) for mode in modes])


def _nearest(tree: RecordTree, modes: list[Fit], s: Floats) -> Floats:
    return np.array([nearest_distances(tree, mode, s) for mode in modes])


def _distinct(fits: list[Fit], apart: float = 0.005) -> list[Fit]:
    """The fits in order, less those that nearly repeat an earlier one."""
    distinct: list[Fit] = []
    for fit in fits:
        if all(np.abs(fit.matrix - other.matrix).max() > apart for other in distinct):
            distinct.append(fit)
    return distinct


def _exact_modes(tree: RecordTree, s: Floats, modes: list[Fit], close: Callable[..., Fit]) -> list[Fit]:
    """The first mode, and others well away from it that put records on released ones as well."""
    first, *others = _distinct(modes, apart=0.1)
    polished = [close(s, mode.matrix, offset=mode.offset, max_iter=50) for mode in others]
    return _distinct([first, *(mode for mode in polished if twins(tree, mode, s) > s.shape[1])])


def _refits(
    s: Floats,
    modes: list[Fit],
    distances: Floats,
    refit: Callable[..., Fit],
    replicates: int,
    rng: np.random.Generator,
) -> list[Fit]:
    """Fits to resampled samples, each from the mode that its records prefer.

    ``distances[k, i]`` is what record i adds to the objective under mode k.
    """
    fits = []
    for _ in range(replicates):
        drawn = rng.integers(0, len(s), len(s))
        mode = modes[int(np.argmin(distances[:, drawn].mean(axis=1)))]
        fits.append(refit(s[drawn], mode.matrix, offset=mode.offset))
    return fits


def _reliability(fits: list[Fit]) -> Floats:
    """The symmetric polar factor of the mean matrix."""
    _, length, vt = np.linalg.svd(np.mean([fit.matrix for fit in fits], axis=0))
    return np.asarray((vt.T * length) @ vt)


def _held_out_gain(
    tree: RecordTree, s: Floats, fit: Fit, start: Fit, energy: Callable[..., Fit], nearest: Callable[..., Fit]
) -> float:
    """How much nearer to released records does fitting to nearest records bring held-out ones?

    In standard errors, against the energy fit; minus infinity if the sample is too small to tell.
    """
    if len(s) < 2 * _FOLDS:
        return -np.inf
    fold = np.arange(len(s)) % _FOLDS
    gain = np.empty(len(s))
    for k in range(_FOLDS):
        fitted, held = s[fold != k], s[fold == k]
        plain, base = (energy(fitted, f.matrix, offset=f.offset) for f in (fit, start))
        fine = nearest(fitted, base.matrix, offset=base.offset)
        gain[fold == k] = nearest_distances(tree, plain, held) - nearest_distances(tree, fine, held)
    return t_ratio(gain)
