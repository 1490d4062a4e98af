"""The first pass over a private table: what every part learns of a block, and when it must be made again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Block
from veil.data.groups import Grouping, GroupScan
from veil.data.schema import kind_of
from veil.errors import InputError
from veil.perturbations.scan import Scan, Summary


@dataclass(frozen=True)
class Scanned:
    """What a stretch of rows adds to the first pass of every part."""

    summaries: tuple[Summary, ...]
    ids: tuple[pa.Array, ...] = ()
    groupings: tuple[Grouping, ...] = ()

    def __add__(self, other: Scanned) -> Scanned:
        both = zip(self.summaries, other.summaries, strict=True)
        groupings = zip(self.groupings, other.groupings, strict=True)
        return Scanned(tuple(a + b for a, b in both), self.ids + other.ids, tuple(a + b for a, b in groupings))


def scan_block(
    scans: Sequence[Scan], consistent_on: str | None, block: Block, groups: GroupScan | None = None
) -> Scanned:
    """The first pass of every part over one block."""
    ids = () if consistent_on is None else (block.column(consistent_on),)
    groupings = () if groups is None else groups.of_block(block)
    return Scanned(tuple(scan.block_summary(block) for scan in scans), ids, groupings)


def reads_otherwise(before: pa.Field, after: pa.Field, by_value: Collection[str | None]) -> bool:
    """Whether a column's new type changes what the first pass reads; integers are the same numbers as floats."""
    if before.type == after.type:
        return False
    return kind_of(before.type) is not kind_of(after.type) or after.name in by_value


def check_ids(ids: pa.ChunkedArray, name: str) -> None:
    """Refuse ids that are missing or repeated."""
    if ids.null_count:
        raise InputError(f"consistent_on column {name!r} has {ids.null_count} missing ids; every record needs one")
    repeated = len(ids) - pc.count_distinct(ids).as_py()
    if repeated:
        raise InputError(f"consistent_on column {name!r} has {repeated} repeated ids; ids must be unique")
