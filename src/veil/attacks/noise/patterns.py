"""Records with missing values, by which of their values are there.

The pattern is public, and often tells of people: who has no income is a child. So an attack that needs whole records is
run on the records of each pattern by themselves, by the columns that they have; it learns what these people are like
from their own rows. Patterns of too few records for that are guessed by the Bayes estimate under one normal prior for
everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix
from veil.errors import NotApplicableError

FEWEST = 30
"""Records of a pattern from which it is looked at by itself."""
PER_COLUMN = 5
"""Records for each column that they have."""

D = TypeVar("D")


def patterns(y: Matrix) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """The columns that are there and the records that have just these, most records first."""
    present = ~np.isnan(y)
    listing, at, counts = np.unique(present, axis=0, return_inverse=True, return_counts=True)
    for k in np.argsort(-counts, kind="stable"):
        if listing[k].any():
            yield np.flatnonzero(listing[k]), np.flatnonzero(at.ravel() == k)


def by_pattern(
    y: Matrix,
    noise: Matrix,
    estimate: Callable[[Matrix, Matrix], tuple[Matrix, D]],
    rest: Callable[[Matrix, Matrix, Matrix], Matrix],
) -> tuple[Matrix, D]:
    """Guesses of all records, and the details of the most frequent pattern.

    ``estimate`` guesses records without gaps, given them and the noise's covariance; ``rest`` guesses the records of
    rare patterns, given them, everybody's and the noise. Records without gaps are one pattern, whatever their number.
    """
    if not np.isnan(y).any():
        return estimate(y, noise)
    values = np.full_like(y, np.nan)
    details: D | None = None
    rare = np.zeros(len(y), dtype=np.bool_)
    for columns, rows in patterns(y):
        if len(rows) < max(FEWEST, PER_COLUMN * len(columns)):
            rare[rows] = True
            continue
        guess, own = estimate(np.ascontiguousarray(y[np.ix_(rows, columns)]), noise[np.ix_(columns, columns)])
        values[np.ix_(rows, columns)] = guess
        details = own if details is None else details
    if details is None:
        raise NotApplicableError(
            f"no set of columns is complete in {FEWEST} records and in {PER_COLUMN} for each column; "
            "BayesEstimateAttack needs no whole records"
        )
    if rare.any():
        values[rare] = rest(y[rare], y, noise)
    return values, details
