"""The same attacker, the person absent: what the rest of a release teaches about somebody who is not in it.

*Model.* An attack guesses every record of a release. Take the row of one person out: the attacker still has the guesses
of all others, and of the person what is known or public about everybody (known columns, public columns). From these he
guesses the person like anybody who resembles them: by the value that most others are guessed to have, by a linear
regression of the guesses on what is known, or by the people nearest in it. What he gets right so is what the release
teaches about people like this one; what the attack gets right beyond it is about the person (verdict of a release:
individual advantage).

*Cross-fitting.* People are dealt into folds, in an order that their values decide. A person's guess is
learned on the other folds, and which guesser serves a column best is decided there, too, so that neither has seen the
person. Every person in the release is thus a control of their own, and the comparison is paired; persons withheld from
the release give the same rates with a tenth of the numbers (a test compares both).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from veil import measures
from veil.data.blocks import Matrix, Vector

FOLDS = 5
NEIGHBOURS = 20
MOST_LEARNED = 5_000
"""Records from whose guesses the nearest are taken."""
MOST_DIRECTIONS = 6
"""Principal directions of what is known in which people are compared."""
_BLOCK = 2_000
Mask = npt.NDArray[np.bool_]
Fold = npt.NDArray[np.intp]
T = TypeVar("T", np.float64, np.bool_)


def folds(n: int) -> Fold:
    """The fold of each of n people, who are in an order that their values decide."""
    return np.arange(n, dtype=np.intp) % FOLDS


def absent_guesses(
    values: Matrix, features: Matrix | None, tolerance: float, units: Vector, fold: Fold
) -> list[Matrix]:
    """Guesses of everybody without their own rows, N × d each, the simplest first.

    ``values`` are an attack's guesses (NaN where it says nothing), ``features`` what is known of everybody as numbers
    that vary, N × p. The first guess is one constant; with features, there are a regression, and the mean and the
    fullest window of the nearest people.
    """
    finite = np.where(np.isfinite(values), values, np.nan)
    guesses = [np.full(values.shape, np.nan) for _ in range(1 if features is None else 4)]
    directions = None if features is None else principal_directions(features)
    # Of a column that the attack says nothing about, or that is known, there is no mean.
    means = np.nan_to_num(finite).sum(axis=0) / np.maximum(np.isfinite(finite).sum(axis=0), 1)
    for f in range(FOLDS):
        own, others = fold == f, fold != f
        if not own.any() or not others.any():
            continue
        guesses[0][own] = measures.best_constant_guess(finite[others], tolerance, units)
        if features is None or directions is None:
            continue
        filled = np.where(np.isnan(finite[others]), means, finite[others])
        guesses[1][own] = _regressed(features[others], np.nan_to_num(filled), features[own])
        guesses[2][own], guesses[3][own] = _of_nearest(
            directions[others][:MOST_LEARNED], filled[:MOST_LEARNED], directions[own], tolerance * units
        )
    return guesses


def _regressed(features: Matrix, values: Matrix, at: Matrix) -> Matrix:
    """Least squares of the values on the features, with a constant; by normal equations, as features may be many."""
    design, there = (np.column_stack([np.ones(len(x)), x]) for x in (features, at))
    return np.asarray(there @ np.linalg.lstsq(design.T @ design, design.T @ values, rcond=1e-12)[0])


def _of_nearest(features: Matrix, values: Matrix, at: Matrix, reach: Vector) -> tuple[Matrix, Matrix]:
    """The mean, and the middle of the fullest window of the values, of those with the nearest features."""
    k = min(NEIGHBOURS, len(features))
    _, near = cKDTree(features).query(at, k=k)
    near = near.reshape(len(at), k)
    columns = np.ascontiguousarray(values.T)
    means, windows = (np.empty((len(at), values.shape[1])) for _ in range(2))
    for start in range(0, len(at), _BLOCK):
        block = slice(start, start + _BLOCK)
        # Columns before people, so that sorting runs along memory; then places first, so that comparing does.
        some = np.ascontiguousarray(np.sort(columns[:, near[block]], axis=2).transpose(2, 0, 1))
        means[block] = (some.sum(axis=0) / k).T
        windows[block] = _fullest(some, 2.0 * reach[:, None]).T
    return means, windows


def _fullest(rising: npt.NDArray[np.float64], width: Matrix) -> Matrix:
    """The middle of the window of a width that holds most of the values that rise along the first axis."""
    upper = rising + width
    count = np.ones(rising.shape, dtype=np.int8)
    for m in range(1, len(rising)):
        inside = rising[m:] <= upper[:-m]
        if not inside.any():  # nor is anything farther on
            break
        count[:-m] += inside
    first = count.argmax(axis=0)[None]
    last = first + np.take_along_axis(count, first, axis=0) - 1
    ends = np.take_along_axis(rising, first, axis=0) + np.take_along_axis(rising, last, axis=0)
    return np.asarray(ends[0] / 2.0)


def best_by_column(hits: Sequence[Mask], fold: Fold) -> npt.NDArray[np.intp]:
    """Which of several guesses serves each column best, by fold: the one with most hits outside it.

    F × d numbers of guesses; of equally good ones the first.
    """
    choice = np.empty((FOLDS, hits[0].shape[1]), dtype=np.intp)
    for f in range(FOLDS):
        outside = fold != f
        choice[f] = np.argmax([each[outside].sum(axis=0) for each in hits], axis=0)
    return choice


def chosen(choice: npt.NDArray[np.intp], guesses: Sequence[npt.NDArray[T]], fold: Fold) -> npt.NDArray[T]:
    """Each cell of the guess, or the hit, that serves its column best outside its fold."""
    return np.asarray(np.choose(choice[fold], list(guesses))).astype(guesses[0].dtype, copy=False)


def principal_directions(features: Matrix) -> Matrix:
    """Standardised features in their main directions, each of unit variance times its share."""
    centred = features - features.mean(axis=0)
    spread = centred.std(axis=0)
    centred = centred[:, spread > 0] / spread[spread > 0]
    if centred.shape[1] <= MOST_DIRECTIONS:
        return np.asarray(centred)
    _, axes = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ axes[:, ::-1][:, :MOST_DIRECTIONS])
