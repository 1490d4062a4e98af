"""The passes over two files, in their order: compare, count, and score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from veil.arguments import number, whole
from veil.attacks.findings import Guess, Links
from veil.attacks.guess_files import row_name
from veil.auditing.comparison.beside import Beside, Common
from veil.auditing.comparison.cells import ColumnCells, count_cells, edges_for
from veil.auditing.comparison.comparing import First, compare_block
from veil.auditing.comparison.judging import column_measures, counted_unit, private_spread, table_measures
from veil.auditing.comparison.links import is_links, links_table, measure_links
from veil.auditing.comparison.result import ColumnMeasures, FileMeasures, TextMeasures
from veil.auditing.comparison.scoring import Hits, Scoring, count_and_score, of_numbers
from veil.data.blocks import Block, Matrix, Vector
from veil.data.passes import Engine, summed
from veil.data.sources import as_table
from veil.data.sums import Summable
from veil.data.tables import MemoryTable, Table
from veil.errors import InputError
from veil.measures.units import heavy_tailed, scored_columns
from veil.progress import Progress, Watch
from veil.release.manifest import RowOrder
from veil.release.sources import as_release
from veil.report.progress import watched

S = TypeVar("S", bound=Summable)
MOST_SAMPLED, FEWEST_SAMPLED = 8192, 2048
_ALL_SAMPLED = 1 << 18
PASSES = (("comparing", 3.0), ("counting", 2.0), ("scoring", 1.0))
"""The passes and how long each takes, about; the last is not always needed."""
_NEARLY = 1.1
"""How much less heavy-tailed than the rule a sample may look before breaches wait for all quartiles."""


def measure(
    truth: Any,
    guess: Any,
    *,
    tolerance: float = 0.1,
    seed: int = 0,
    roles: Mapping[str, str] | None = None,
    engine: Engine | None = None,
    progress: Watch = None,
) -> FileMeasures:
    """Compare a private table with another one of the same records, without loading either.

    Both are read in lockstep, twice; once more where a column is heavy-tailed, so that its unit is known before
    breaches are counted. Results do not depend on the kind of file, its chunks or the engine.

    Parameters
    ----------
    truth, guess
        Files, folders of Parquet files, frames or arrays. ``guess`` may be a guess (:func:`veil.attack` or
        ``veil attack -o``), a restored table, a release or its folder, or a release made elsewhere; a guess's column of
        row numbers must count 0, 1, 2, ... Of links of people to rows, :attr:`FileMeasures.links` tells how many are
        right: the private table has the people in the order of the external table, or a column ``row`` with the row of
        each.
    tolerance
        How near a guess must be to give a value away, in standard units.
    seed
        Decides which rows are sampled.
    roles
        By private column; identifier, public and drop are not compared.
    engine
        Runs the passes; all cores of this machine by default.
    progress
        True for a bar, or a callback: what is done, how many rows of it, and of how many.

    >>> import numpy as np
    >>> x = np.arange(6.0)[:, None]
    >>> measures = measure(x, x + 0.5)
    >>> measures.columns[0].correlation, measures.columns[0].n_both
    (1.0, 6)
    """
    tolerance, seed = number(tolerance, "tolerance", least=0.0), whole(seed, "seed")
    mine, theirs = as_table(truth), _opened(guess)
    if is_links(theirs) and not is_links(mine):
        return _of_links(mine, theirs, tolerance)
    with watched(progress, passes=PASSES) as report:
        return _compared(mine, theirs, Common.of(mine, theirs, roles), tolerance, seed, engine, report)


def _compared(
    mine: Table,
    theirs: Table,
    common: Common,
    tolerance: float,
    seed: int,
    engine: Engine | None,
    progress: Progress,
) -> FileMeasures:
    passes = _Passes(Beside(mine, theirs), common, engine, progress)
    first = passes.first(seed)
    _check(first, common)
    columns: tuple[ColumnMeasures, ...] = ()
    table = None
    if common.numbers:
        cells, units, hits = _counted(passes, first, tolerance)
        columns = column_measures(first, common.numbers, cells, units, hits, tolerance)
        table = table_measures(first, columns, hits, seed)
    equal, compared = first.texts
    return FileMeasures(
        n_rows=first.n_rows,
        n_complete=first.moments.n_complete if common.numbers else first.n_rows,
        n_sampled=len(first.sample.hashes) if common.numbers else 0,
        tolerance=tolerance,
        columns=columns,
        texts=tuple(
            TextMeasures(name, int(n), float(same / n) if n else math.nan)
            for name, same, n in zip(common.texts, equal, compared, strict=True)
        ),
        table=table,
        left_out=common.left_out,
        absent=common.absent,
    )


class _Passes:
    """Runs passes over two tables side by side."""

    def __init__(self, table: Beside, common: Common, engine: Engine | None, progress: Progress) -> None:
        self._table, self._common, self._engine, self._progress = table, common, engine, progress

    def first(self, seed: int) -> First:
        """Everything that needs no units."""
        most = min(MOST_SAMPLED, max(FEWEST_SAMPLED, _ALL_SAMPLED // max(len(self._common.numbers), 1)))
        leaf = partial(compare_block, self._common, most, seed, self._table.n_rows)
        return self._run(leaf, self._common.columns, "comparing")

    def later(self, work: Callable[[Matrix], S], what: str) -> S:
        """A function of the numbers of each block, added up."""
        return self._run(partial(of_numbers, self._common, work), self._common.number_columns, what)

    def _run(self, leaf: Callable[[Block], S], columns: tuple[str, ...], what: str) -> S:
        total: S | None = summed(leaf, self._table, columns, engine=self._engine, what=what, progress=self._progress)
        if total is None:
            raise InputError("the tables have no rows, so there is nothing to compare")
        return total


def _counted(passes: _Passes, first: First, tolerance: float) -> tuple[list[ColumnCells], Matrix, Hits]:
    """Counts between edges, units with their errors, and breaches in these units."""
    spread, edges = private_spread(first), _edges(first)
    hits = None
    if _looks_heavy(first):
        counts = passes.later(partial(count_cells, edges), "counting")
    else:
        both = passes.later(partial(count_and_score, edges, _scoring(first, spread, tolerance)), "counting")
        counts, hits = both.cells, both.hits
    cells = [counts.column(edges, j) for j in range(len(edges))]
    units = np.array([counted_unit(c, s) for c, s in zip(cells, spread, strict=True)]).T
    if hits is None or (units[0] != spread).any():
        hits = passes.later(_scoring(first, units[0], tolerance).hits, "scoring")
    return cells, units, hits


def _of_links(truth: Table, links: Table, tolerance: float) -> FileMeasures:
    found = measure_links(truth, links)
    n = found.n_people + found.n_strangers
    return FileMeasures(n, n, 0, tolerance, columns=(), texts=(), table=None, left_out=(), absent=(), links=found)


def _opened(other: Any) -> Table:
    """The other table; of a release its data, of a guess in memory its values with their rows."""
    if isinstance(other, Guess):
        values = {name: pa.array(other.values[:, j], from_pandas=True) for j, name in enumerate(other.columns)}
        return MemoryTable(pa.table({row_name(other.columns): pa.array(other.rows), **values}))
    if isinstance(other, Links):
        return links_table(other)
    release = as_release(other)
    if release is None:
        return as_table(other)
    if release.manifest.row_order is RowOrder.SHUFFLED:
        raise InputError("the release has its rows in a secret order, so they cannot be compared; restore it first")
    return release.table


def _check(first: First, common: Common) -> None:
    """Refuse infinite values, and spreads that float64 cannot measure."""
    places = [(side, name) for side in ("private", "other") for name in common.numbers]
    for count, (side, name) in zip(first.infinite, places, strict=True):
        if count:
            raise InputError(
                f"column {name!r} of the {side} table has {count} infinite values; replace them by a finite value or "
                "mark them missing"
            )
    moments = first.moments
    with np.errstate(invalid="ignore"):
        spread, varied = moments.std, moments.minimum < moments.maximum
        unmeasured = (moments.count > 0) & (~np.isfinite(spread) | ((spread == 0.0) & varied))
    for (side, name), bad in zip(places, unmeasured, strict=True):
        if bad:
            raise InputError(
                f"column {name!r} of the {side} table: its values are too large or too close together for float64 to "
                "measure their spread (about 1e150 and 1e-150 are the limits); rescale the column"
            )


def _edges(first: First) -> tuple[Vector, ...]:
    d = len(first.moments.mean) // 2
    low, high = first.moments.minimum.reshape(2, d).min(axis=0), first.moments.maximum.reshape(2, d).max(axis=0)
    sampled = first.sample.values.reshape(2, d, -1)
    return tuple(edges_for(sampled[0, j], sampled[1, j], float(low[j]), float(high[j]), d) for j in range(d))


def _looks_heavy(first: First) -> bool:
    """Whether the sample leaves it open that the unit of some column is not its standard deviation."""
    spread = private_spread(first)
    for values, deviation in zip(first.sample.values[: len(spread)], spread, strict=True):
        present = values[~np.isnan(values)]
        if present.size and deviation > 0.0:
            lower, upper = np.percentile(present, (25.0, 75.0))
            if heavy_tailed(deviation, upper - lower, margin=_NEARLY):
                return True
    return False


def _scoring(first: First, units: Vector, tolerance: float) -> Scoring:
    d, moments, deviation = len(units), first.moments, private_spread(first)
    varies = deviation > 0.0
    variance = deviation**2
    return Scoring(
        units=units,
        tolerance=tolerance,
        scored=scored_columns(deviation),
        mean=moments.mean[:d],
        variance=variance,
        count=moments.count[:d],
        errors=np.where(varies, first.errors.squares / np.where(varies, variance, 1.0), 0.0),
        cells=int(first.pairs.count[varies].sum()),
    )
