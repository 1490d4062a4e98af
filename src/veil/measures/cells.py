"""Cells: records that are alike on chosen columns, and what they give away or cost (M17; Liu 2007, 2.1.1).

*Model.* Records with equal values on every chosen column form a cell (an equivalence class). *Known*: those columns of
a person; whoever is alone in a cell is found by them.

A table of cells of k or more is k-anonymous. Two costs say what generalising it to that took, where the records of
smaller cells are suppressed: how many records each one can no longer be told from (*discernibility*), and how many no
longer have their cell's class (*classification*).

*Columns* are a two-dimensional array with records as rows, an array of records with fields, a data frame of pandas,
polars or pyarrow, or a list or tuple of one-dimensional columns, which may hold numbers, text, dates or a mixture.
Values are compared as they are: whole numbers are never rounded to floats. A missing value (None, NaN, NaT, null,
masked) is a value of its own: two records that miss it are alike.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil.arguments import whole
from veil.errors import InputError
from veil.measures.cell_columns import ROOM, Codes, Columns, column_of, columns_of, factorised
from veil.measures.measure import Measure


def cell_sizes(columns: Columns) -> Codes:
    """For each record, how many records are in its cell, itself included.

    >>> cell_sizes([[20, 30, 20, 20], ["M", "F", "M", None]]).tolist()
    [2, 1, 2, 1]
    """
    cells = cell_numbers(columns)
    return np.asarray(np.bincount(cells)[cells], dtype=np.int64)


def uniqueness(columns: Columns, k: int = 2) -> Measure:
    """Share of records in cells of fewer than k (M17); with k = 2, of those that are unique. Exact.

    It is about the table at hand. Who is unique in a sample need not be so in the population.

    Parameters
    ----------
    columns
        The columns that are known of a person: a list of columns, a data frame with these columns and no others, or a
        two-dimensional array whose rows are records. A list of rows would be read as a list of columns; make it an
        array, or transpose it.
    k
        Cells of fewer than this many records count.

    >>> ages, sexes = [20, 30, 20, 26, 20], ["M", "F", "M", "M", "M"]
    >>> uniqueness([ages, sexes])
    0.4 [0.4, 0.4] higher is exposed
    >>> float(uniqueness([ages, sexes], k=4))
    1.0
    >>> float(uniqueness(np.array([[20, 1], [30, 0], [20, 1], [26, 1], [20, 1]])))  # the same, a record in each row
    0.4
    """
    least = whole(k, "k", least=1)
    return Measure(float((cell_sizes(columns) < least).mean()), higher_is="exposed")


def discernibility(columns: Columns, k: int, suppressed: npt.ArrayLike | None = None) -> Measure:
    """What k-anonymity costs in records told apart: Σ_{|E| ≥ k} |E|² + |D| Σ_{|E| < k} |E| (Bayardo and Agrawal 2005).

    A record costs as many as its cell has; one of a cell of fewer than k is suppressed and costs as many as the whole
    table D has. It lies between |D|, where all can be told apart and k = 1, and |D|². Exact.

    Parameters
    ----------
    columns
        The table after generalising, with all of its records.
    k
        Least size of a cell.
    suppressed
        One bool per record: which were suppressed whatever their cell. They count in no cell, and cost |D| each.

    >>> discernibility([["20s", "20s", "20s", "30s"]], k=2)  # 3² + 4·1
    13 [13, 13] higher is distorted
    >>> float(discernibility([["20s", "20s", "20s", "30s"]], k=2, suppressed=[True, False, False, False]))  # 2² + 4·2
    12.0
    """
    least = whole(k, "k", least=1)
    cells = cell_numbers(columns)
    n = len(cells)
    published = cells if suppressed is None else cells[~_mask(suppressed, n)]
    sizes = np.bincount(published)
    sizes = sizes[sizes >= least]
    return Measure(float(int((sizes**2).sum()) + n * (n - int(sizes.sum()))), higher_is="distorted")


def classification_cost(columns: Columns, labels: npt.ArrayLike, k: int) -> Measure:
    """What k-anonymity costs in classes: Σ_{|E| ≥ k} |minority(E)| + Σ_{|E| < k} |E| (Iyengar 2002).

    A record costs 1 unless it has its cell's most frequent class and its cell has k or more. Where several classes are
    most frequent, any one of them is the majority and the others are minorities: the cost is the same whichever it is.
    Divided by the number of records it is the error, on these records, of saying each cell's majority, with suppressed
    ones counted as wrong. Exact.

    Parameters
    ----------
    columns
        The table after generalising, with all of its records.
    labels
        The class of each record; a missing one is a class of its own.
    k
        Least size of a cell.

    >>> classification_cost([["20s", "20s", "20s", "30s"]], ["yes", "no", "yes", "no"], k=2)  # one minority, one alone
    2 [2, 2] higher is distorted
    """
    least = whole(k, "k", least=1)
    cells = cell_numbers(columns)
    given = column_of(labels, "labels")
    if len(given.values) != len(cells):
        raise InputError(
            f"labels: has {len(given.values)} record(s) for {len(cells)} in columns; pass one class per record"
        )
    classes, count = factorised(given, "labels")
    sizes = np.bincount(cells)
    pairs, n_pairs = compact(cells * count + classes, len(sizes) * count)
    home = np.empty(n_pairs, dtype=np.int64)
    home[pairs] = cells
    majority = np.zeros_like(sizes)
    np.maximum.at(majority, home, np.bincount(pairs))
    return Measure(float(np.where(sizes >= least, sizes - majority, sizes).sum()), higher_is="distorted")


def cell_numbers(columns: Columns) -> Codes:
    """The number of each record's cell, from 0 without gaps."""
    first, *others = columns_of(columns)
    cells, count = compact(*factorised(first, "columns"))
    for column in others:  # made small at each column, so that numbers stay below (records)² and do not overflow
        codes, values = factorised(column, "columns")
        if count < len(cells):  # otherwise all are alone already
            cells, count = compact(cells * values + codes, count * values)
    return cells


def _mask(suppressed: npt.ArrayLike, n: int) -> npt.NDArray[np.bool_]:
    mask, missing = column_of(suppressed, "suppressed")
    if mask.dtype != np.bool_ or len(mask) != n or (missing is not None and missing.any()):
        raise InputError(f"suppressed: must be {n} bools, none of them missing; pass one bool per record")
    return mask


def compact(codes: Codes, bound: int) -> tuple[Codes, int]:
    """Numbers below ``bound`` as numbers from 0 without gaps, and how many there are."""
    if bound <= ROOM * len(codes):
        present = np.zeros(bound, dtype=bool)
        present[codes] = True
        return np.asarray((np.cumsum(present) - 1)[codes]), int(present.sum())
    values, compact = np.unique(codes, return_inverse=True)
    return compact.astype(np.int64), len(values)
