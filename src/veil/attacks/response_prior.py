"""A joint prior over true categories, learnt from randomized reports alone.

*Model.* ``λ = (P1 ⊗ P2 ⊗ …)π``. The prior of largest likelihood over many cells fits the noise of the reports: it piles
up on few cells and makes the posterior too sure. So expectation–maximization starts from the product of the fitted
margins, which knows no dependence, and takes as many steps as foretell held-out reports best: none at all where the
attributes are independent or the records few. More steps over-fit, as in R1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from veil.blocks import Matrix
from veil.response_likelihood import em_step, mean_log_likelihood, most_likely

HELD_OUT = 0.25
STEPS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)
_WORSE = 2  # checks in a row without a gain before the search ends


class JointPrior(NamedTuple):
    """Proportions of combinations, one axis per column, and the steps taken from independence."""

    proportions: Matrix
    steps: int


def table_of(codes: npt.NDArray[np.int64], shape: tuple[int, ...]) -> Matrix:
    """Counts of combinations, one axis per column."""
    cells = np.ravel_multi_index(tuple(codes.T), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def independent_prior(counts: Matrix, matrices: Sequence[Matrix]) -> Matrix:
    """The product of each column's distribution of largest likelihood."""
    margins = []
    for axis, matrix in enumerate(matrices):
        others = tuple(a for a in range(counts.ndim) if a != axis)
        margins.append(most_likely(counts.sum(axis=others), [matrix]))
    return np.asarray(reduce(np.multiply.outer, margins))


def joint_prior(codes: npt.NDArray[np.int64], matrices: Sequence[Matrix], *, seed: int) -> JointPrior:
    """Fit the joint prior of some columns to their reported codes (N × d)."""
    shape = tuple(len(matrix) for matrix in matrices)
    whole = table_of(codes, shape)
    if len(shape) == 1:
        return JointPrior(most_likely(whole, matrices), 0)
    held = np.random.default_rng(seed).random(len(codes)) < HELD_OUT
    steps = 0
    if held.any() and not held.all():
        steps = _best_steps(table_of(codes[~held], shape), table_of(codes[held], shape), matrices)
    prior = independent_prior(whole, matrices)
    for _ in range(steps):
        prior = em_step(whole / len(codes), matrices, prior)
    return JointPrior(prior, steps)


def _best_steps(fitted: Matrix, held: Matrix, matrices: Sequence[Matrix]) -> int:
    """The number of steps on ``fitted`` under which ``held`` is most likely."""
    prior, done = independent_prior(fitted, matrices), 0
    shares, unseen = fitted / fitted.sum(), held / held.sum()
    best, best_value, worse = 0, -np.inf, 0
    for steps in STEPS:
        for _ in range(steps - done):
            prior = em_step(shares, matrices, prior)
        done, value = steps, mean_log_likelihood(unseen, matrices, prior)
        if value > best_value:
            best, best_value, worse = steps, value, 0
        else:
            worse += 1
        if worse == _WORSE:
            break
    return best
