"""Knowledge as it is dealt: drawn from the private table, once for each repetition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from veil.attacks.knowledge import (
    ExternalTable,
    Knowledge,
    KnownAttributes,
    KnownPairs,
    KnownRanges,
    KnownRecords,
    KnownSample,
)
from veil.auditing.grants import ASSUMPTIONS, Level, Rows
from veil.auditing.truth import Truth


def _none() -> Rows:
    return np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Deal:
    """What the attacker gets, which rows stay out of the release, and which rows and columns are not scored.

    ``given`` counts rows of the release, ``columns`` those of the private table.
    """

    knowledge: tuple[Knowledge, ...] = ASSUMPTIONS
    withheld: Rows = field(default_factory=_none)
    given: Rows = field(default_factory=_none)
    columns: tuple[int, ...] = ()

    def with_more(self, other: Deal) -> Deal:
        """Both deals together."""
        more = tuple(item for item in other.knowledge if item not in ASSUMPTIONS)
        withheld, given = (np.union1d(a, b).astype(np.intp) for a, b in self._pairs(other))
        return Deal((*more, *self.knowledge), withheld, given, (*self.columns, *other.columns))

    def _pairs(self, other: Deal) -> list[tuple[Rows, Rows]]:
        return [(self.withheld, other.withheld), (self.given, other.given)]


def deal(
    level: Level, private: Truth, table: pa.Table, rng: np.random.Generator, *, sample_from: str, quasi: Sequence[str]
) -> Deal:
    """Deal one level's knowledge. The matrix is not dealt here: it is the release's own."""
    truth = private.values
    if level.kind == "ranges":
        with np.errstate(all="ignore"):
            return Deal((KnownRanges(np.nanmin(truth, axis=0), np.nanmax(truth, axis=0)), *ASSUMPTIONS))
    if level.kind == "external":
        return Deal((ExternalTable(table.select(list(quasi))), *ASSUMPTIONS))
    if level.kind == "attributes":
        at = telling_columns(private, int(level.amount))
        known = KnownAttributes([private.columns[j] for j in at], truth[:, at])
        return Deal((known, *ASSUMPTIONS), columns=tuple(at))
    if level.kind in ("nothing", "matrix"):
        return Deal()
    complete = np.flatnonzero(~np.isnan(truth).any(axis=1))
    wanted = level.size(len(truth))
    rows = np.sort(rng.choice(complete, size=wanted, replace=False))
    if level.kind == "pairs":
        return Deal((KnownPairs(truth[rows], rows), *ASSUMPTIONS), given=rows)
    if level.kind == "records":
        return Deal((KnownRecords(truth[rng.permutation(rows)]), *ASSUMPTIONS), given=rows)
    sample = KnownSample(truth[rows])
    if sample_from == "population":
        return Deal((sample, *ASSUMPTIONS), withheld=rows)
    return Deal((sample, KnownRecords(truth[rng.permutation(rows)]), *ASSUMPTIONS), given=rows)


def undealable(level: Level, private: Truth) -> str:
    """Why a level's knowledge cannot be drawn from a table; empty where it can."""
    if level.kind == "attributes":
        n = len(_whole_numeric(private))
        return "" if n >= level.amount else f"it needs numeric columns that vary and have no gaps; there are {n}"
    if level.kind in ("pairs", "records", "sample"):
        complete = int((~np.isnan(private.values).any(axis=1)).sum())
        wanted = level.size(len(private.values))
        return "" if complete >= wanted else f"it needs {wanted} complete records; the table has {complete}"
    return ""


def _whole_numeric(private: Truth) -> list[int]:
    """Numeric columns without gaps that vary."""
    columns = zip(private.categories, private.values.T, strict=True)
    return [j for j, (listing, c) in enumerate(columns) if listing is None and not np.isnan(c).any() and np.ptp(c) > 0]


def telling_columns(private: Truth, k: int) -> list[int]:
    """The k complete numeric columns that say most about the others: by their mean squared correlation with them."""
    usable = _whole_numeric(private)
    ranks = np.corrcoef(private.values[:, usable].T).reshape(len(usable), -1)
    telling = np.argsort(-(ranks**2).sum(axis=1), kind="stable")[:k]
    return sorted(usable[i] for i in telling)
