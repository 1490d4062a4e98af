"""Risk of re-identification by keys: who is alone in a table, and in the population behind it.

*Model.* Records with equal values on all keys are a cell of f records. An intruder has the keys of a person and picks
one of the rows that fit. *Prosecutor*: he knows that the person is in the table, and is right with probability 1/f.
*Journalist* and *marketer*: he does not know it; what counts are the F people of the population in that cell, and he is
right with probability 1/F. The journalist looks for anybody at all, so the largest 1/F counts; the marketer for
everybody, so its mean does (El Emam and Dankar 2008).

F is known from a table of the population, or estimated from sampling weights w by ``F̂ = Σ w`` over the cell. With
π = f/F̂, F given f is taken as negative binomial (f successes, probability π), and the individual risk is its mean of
1/F (Benedetti and Franconi 1998; Franconi and Polettini 2004)::

    r = E[1/F | f] = π^f/f ₂F₁(f, f; f + 1; 1 − π) = π/f ₂F₁(1, 1; f + 1; 1 − π)

The second form is Euler's transformation of the first: a series of positive terms, which neither overflows nor cancels
for large cells. For f = 1, 2, 3 it is elementary: with q = 1 − π, ``(π/q) ln(1/π)``, ``(π/q²)(π ln π + q)`` and
``(π/2q³)(q(3q − 2) − 2π² ln π)``. The sum of all risks is what is expected of re-identifications: the global risk.

The mean is that of a model in which a cell of h people is 1/h as frequent as one of a single person. Where small cells
are more frequent than that, the sum is too small: by a fifth in the example of the tests. 1/F̂ alone would be smaller
still (Jensen's inequality). A weight below 1, as calibration makes them, counts as 1: a record stands for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.arguments import choice
from veil.data.blocks import Vector
from veil.errors import InputError
from veil.measures.cell_columns import Codes, Column, Columns, column_of, columns_of, factorised
from veil.measures.cells import cell_numbers, compact

_NEAR_ONE = 0.02
"""Below this 1 − π the closed forms cancel; the series needs few terms there."""
_CLOSED = 3
_LARGE, _TERMS = 30, 40
"""From this size of a cell, so many terms of the series are all that double precision sees."""


@dataclass(frozen=True)
class CellCounts:
    """Cells of a table on its keys: how many there are, and the records in small ones.

    Attributes
    ----------
    n_records, n_cells
        Records, and combinations of values that occur.
    unique, below_3, below_5
        Records that are alone in their cell, or in a cell of fewer than 3 or 5.
    """

    n_records: int
    n_cells: int
    unique: int
    below_3: int
    below_5: int


@dataclass(frozen=True)
class KeyRisks:
    """Probabilities that an intruder names the right row of a person.

    Attributes
    ----------
    prosecutor, prosecutor_mean
        Largest and mean 1/f.
    journalist
        Largest 1/F over the cells of the table.
    marketer
        Mean 1/F over records: the share of all people that is found.
    expected
        Expected re-identifications: the sum of 1/F over records.
    """

    prosecutor: float
    prosecutor_mean: float
    journalist: float
    marketer: float
    expected: float


def cell_counts(columns: Columns) -> CellCounts:
    """How many cells a table has on its keys, and how many records are in small ones.

    >>> cell_counts([[20, 30, 20, 20, 20], ["M", "F", "M", "F", "M"]])
    CellCounts(n_records=5, n_cells=3, unique=2, below_3=2, below_5=5)
    """
    sizes = np.bincount(cell_numbers(columns))
    few = (int(sizes[sizes < k].sum()) for k in (2, 3, 5))
    return CellCounts(int(sizes.sum()), len(sizes), *few)


def negative_binomial_risk(sizes: npt.ArrayLike, totals: npt.ArrayLike) -> Vector:
    """E[1/F | f] for cells of f records that stand for F̂ people (Benedetti and Franconi 1998).

    Parameters
    ----------
    sizes
        Records of each cell, f.
    totals
        Sums of their weights, F̂; at least f, and taken as f where they are less.

    >>> negative_binomial_risk([1, 1, 2, 10], [1, 100, 100, 20]).round(4).tolist()
    [1.0, 0.0465, 0.0188, 0.0525]
    """
    f, total = np.asarray(sizes, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    if f.shape != total.shape or not np.isfinite(total).all() or not (f >= 1).all():
        raise InputError("sizes: must be counts of 1 or more with as many finite totals; pass one total per cell")
    share = np.minimum(f / np.maximum(total, f), 1.0)
    risk = np.empty(f.shape)
    closed = (f <= _CLOSED) & (1.0 - share > _NEAR_ONE)
    risk[closed] = _elementary(f[closed], share[closed])
    risk[~closed] = _series(f[~closed], share[~closed])
    return risk


def _elementary(f: Vector, share: Vector) -> Vector:
    """The closed forms for cells of one, two and three."""
    q, log = 1.0 - share, np.log(share)
    forms = [
        -share / q * log,
        share / q**2 * (share * log + q),
        share / (2.0 * q**3) * (q * (3.0 * q - 2.0) - 2.0 * share**2 * log),
    ]
    return np.asarray(np.select([f == 1, f == 2, f == 3], forms))


def _series(f: Vector, share: Vector) -> Vector:
    """π/f ₂F₁(1, 1; f + 1; 1 − π)."""
    from scipy.special import hyp2f1

    large, sums = f >= _LARGE, np.ones(len(f))
    sums[~large] = hyp2f1(1.0, 1.0, f[~large] + 1.0, 1.0 - share[~large])
    term = np.ones(int(large.sum()))
    for n in range(_TERMS):  # n! / (f + 1)(f + 2)... (1 − π)ⁿ, which scipy gives up on
        term = term * (n + 1.0) / (f[large] + 1.0 + n) * (1.0 - share[large])
        sums[large] += term
    return np.asarray(share / f * sums)


def individual_risk(columns: Columns, weights: npt.ArrayLike | None = None) -> Vector:
    """For each record, the probability that whoever has its keys names it.

    Parameters
    ----------
    columns
        The keys, as for :func:`cell_sizes`.
    weights
        How many people of the population each record stands for. Without them the table is all there is: 1/f.

    >>> individual_risk([[20, 30, 20]]).tolist()
    [0.5, 1.0, 0.5]
    >>> individual_risk([[20, 30, 20]], [50, 100, 50]).round(4).tolist()
    [0.0188, 0.0465, 0.0188]
    """
    cells = cell_numbers(columns)
    sizes = np.bincount(cells)
    if weights is None:
        return np.asarray((1.0 / sizes)[cells])
    return negative_binomial_risk(sizes, np.bincount(cells, _weights(weights, len(cells))))[cells]


def key_risks(columns: Columns, *, weights: npt.ArrayLike | None = None, population: Columns | None = None) -> KeyRisks:
    """Prosecutor, journalist and marketer risk of a table (El Emam and Dankar 2008).

    Parameters
    ----------
    columns
        The keys of the table, as for :func:`cell_sizes`.
    weights
        Sampling weights, from which F is estimated.
    population
        The same keys of everybody in the population, from which F is counted. Without either, the table is the
        population: F = f.

    >>> ages = [20, 30, 20, 40]
    >>> key_risks([ages])
    KeyRisks(prosecutor=1.0, prosecutor_mean=0.75, journalist=1.0, marketer=0.75, expected=3.0)
    >>> key_risks([ages], population=[[20, 20, 20, 20, 30, 30, 40, 40]])
    KeyRisks(prosecutor=1.0, prosecutor_mean=0.75, journalist=0.5, marketer=0.375, expected=1.5)
    """
    if weights is not None and population is not None:
        raise InputError("weights: F is counted in population or estimated from weights; pass one of them")
    cells = cell_numbers(columns)
    own = 1.0 / np.bincount(cells)
    if population is not None:
        risk = 1.0 / _counted(columns, population)
    elif weights is not None:
        risk = negative_binomial_risk(np.bincount(cells), np.bincount(cells, _weights(weights, len(cells))))[cells]
    else:
        risk = own[cells]
    return KeyRisks(
        float(own.max()), float(own[cells].mean()), float(risk.max()), float(risk.mean()), float(risk.sum())
    )


def diversity(columns: Columns, sensitive: npt.ArrayLike, kind: str = "distinct") -> Vector:
    """For each record, how many values of a sensitive column its cell has (l-diversity: Machanavajjhala et al. 2006).

    Whoever knows that a person is in a cell of diversity 1 knows the value without knowing the row. A missing value is
    one of its own.

    Parameters
    ----------
    columns
        The keys, as for :func:`cell_sizes`.
    sensitive
        The sensitive value of each record.
    kind : {"distinct", "entropy"}
        Different values, or the exponential of their entropy: values as if all were equally frequent.

    >>> ages, diagnoses = [20, 20, 20, 30, 30], ["flu", "flu", "cold", "flu", "flu"]
    >>> diversity([ages], diagnoses).tolist()
    [2.0, 2.0, 2.0, 1.0, 1.0]
    >>> diversity([ages], diagnoses, kind="entropy").round(2).tolist()
    [1.89, 1.89, 1.89, 1.0, 1.0]
    """
    choice(kind, "kind", ("distinct", "entropy"))
    cells = cell_numbers(columns)
    given = column_of(sensitive, "labels")
    if len(given.values) != len(cells):
        raise InputError(f"sensitive: has {len(given.values)} record(s) for {len(cells)} in columns; pass one each")
    values, count = factorised(given, "labels")
    pairs, n_pairs = compact(cells * count + values, (int(cells.max()) + 1) * count)
    home = np.empty(n_pairs, dtype=np.int64)
    home[pairs] = cells
    if kind == "distinct":
        return np.bincount(home).astype(np.float64)[cells]
    share = np.bincount(pairs) / np.bincount(cells)[home]
    return np.asarray(np.exp(np.bincount(home, -share * np.log(share)))[cells])


def _counted(columns: Columns, population: Columns) -> Vector:
    """How many people of the population are in each record's cell."""
    ours, theirs = columns_of(columns), columns_of(population)
    if len(ours) != len(theirs):
        raise InputError(f"population: has {len(theirs)} column(s) for {len(ours)} in columns; pass the same keys")
    n = len(ours[0].values)
    together = [_joined(a, b) for a, b in zip(ours, theirs, strict=True)]
    cells = cell_numbers(together)
    counts = np.bincount(cells[n:], minlength=int(cells.max()) + 1)[cells[:n]]
    outside = int((counts == 0).sum())
    if outside:
        raise InputError(f"population: has nobody in the cells of {outside} records; pass a table with these people")
    return counts.astype(np.float64)


def _joined(ours: Column, theirs: Column) -> Codes:
    """One key of the records and of the population, as numbers that are equal for equal values."""
    columns = []
    for values, missing in (ours, theirs):
        listed = values.astype(object)
        if missing is not None:
            listed[missing] = None
        columns.append(listed)
    codes, _ = factorised(column_of(np.concatenate(columns), "columns"), "columns")
    return codes


def _weights(weights: npt.ArrayLike, n: int) -> Vector:
    """One weight per record; a record stands for one person at least, itself."""
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (n,):
        raise InputError(f"weights: must be {n} numbers; pass one weight per record")
    wrong = int((~np.isfinite(given) | (given < 0)).sum())
    if wrong:
        raise InputError(f"weights: {wrong} of {n} are missing, infinite or negative; pass design weights")
    return np.maximum(given, 1.0)
