"""Links of people to rows of a release, held against whose row is whose.

An attack writes ``record`` (the person's row in the external table), ``row`` (of the release) and ``probability``. The
private table has the people in the same order as the external one, so that the link of record k is right if it names
row k; where it lists them otherwise, or the release has its rows in another order, its column ``row`` says which row is
whose (empty for people who are not in the release).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.attacks.findings import Links
from veil.data.tables import MemoryTable, Table
from veil.errors import InputError
from veil.measures import Measure, linkage_baseline, linkage_rate

RECORD, ROW, PROBABILITY = "record", "row", "probability"


@dataclass(frozen=True)
class LinkMeasures:
    """How many people an attack found.

    Attributes
    ----------
    n_people, n_linked, n_right
        People of the external table who are in the release, how many of them are linked to a row, and how many to their
        own.
    n_strangers, n_false
        People who are not in the release, and how many of them are linked to a row all the same.
    rate
        The share of people who are linked to their own row, and of a row at random (``baseline``).
    precision
        The share of links of people in the release that are right.
    stated
        The mean probability that the attack gives its links; NaN where it gives none.
    """

    n_people: int
    n_linked: int
    n_right: int
    n_strangers: int
    n_false: int
    rate: Measure
    baseline: float
    precision: float
    stated: float


def links_table(links: Links) -> Table:
    """Links as an attack writes them."""
    columns = {
        RECORD: pa.array(np.arange(len(links.rows))),
        ROW: pa.array(links.rows, mask=links.rows < 0),
        PROBABILITY: pa.array(links.probability, from_pandas=True),
    }
    return MemoryTable(pa.table(columns))


def is_links(table: Table) -> bool:
    """Whether a table is what an attack writes of links."""
    return list(table.schema.names) == [RECORD, ROW, PROBABILITY]


def measure_links(truth: Table, links: Table) -> LinkMeasures:
    """Score links of people to rows, given whose row is whose."""
    found = links.read([RECORD, ROW, PROBABILITY])
    n_rows = truth.n_rows if truth.n_rows is not None else truth.read(truth.schema.names[:1]).num_rows
    listed = ROW in truth.schema.names
    own = _rows(truth.read([ROW]).column(0), "the private table's") if listed else np.arange(n_rows, dtype=np.int64)
    record, row = (_rows(found.column(name), "the links'") for name in (RECORD, ROW))
    outside = int(((record < 0) | (record >= len(own))).sum())
    if outside:
        raise InputError(
            f"{outside} of {len(record)} links are of records that the private table of {len(own)} rows does not have; "
            "give the people in the order of the external table, or their rows in a column 'row'"
        )
    own = own[record]
    there, linked = own >= 0, row >= 0
    if not there.any():
        raise InputError("nobody who was linked is in the release; column 'row' of the private table is empty")
    stated = np.asarray(found.column(PROBABILITY).to_numpy(zero_copy_only=False), dtype=np.float64)[linked]
    n_linked, n_right = int((there & linked).sum()), int((there & linked & (own == row)).sum())
    return LinkMeasures(
        n_people=int(there.sum()),
        n_linked=n_linked,
        n_right=n_right,
        n_strangers=int((~there).sum()),
        n_false=int((~there & linked).sum()),
        rate=linkage_rate(own, row),
        baseline=float(linkage_baseline(n_rows)),
        precision=n_right / n_linked if n_linked else math.nan,
        stated=float(np.nanmean(stated)) if (~np.isnan(stated)).any() else math.nan,
    )


def _rows(values: pa.ChunkedArray, whose: str) -> npt.NDArray[np.int64]:
    """Row numbers; −1 for none."""
    try:
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise InputError(f"{whose} row numbers are not whole numbers; count rows from 0") from None
    present = ~np.isnan(numbers)
    wrong = int((present & ((numbers < 0) | (numbers != np.floor(numbers)))).sum())
    if wrong:
        raise InputError(f"{wrong} of {whose} row numbers are not whole numbers from 0; count rows from 0")
    return np.where(present, numbers, -1.0).astype(np.int64)
