"""Knowledge of records: some people's private values, with or without their rows, or a sample of the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.attacks.knowledge.base import (
    Grant,
    Knowledge,
    PrivateTable,
    Rows,
    Unit,
    counted,
    numbered_records,
    private_names,
    recoded_records,
)
from veil.attacks.knowledge.reading import as_numbers, as_records, select_columns
from veil.data.blocks import Vector
from veil.data.files import open_table
from veil.data.sources import as_table
from veil.errors import InputError
from veil.release.models import Model, NumberClasses
from veil.release.release import Release

ROW_COLUMN = "row"
"""The column of a file that holds rows of the release, counted from 0."""


class KnownPairs(Knowledge):
    """Records whose private values *and* row in the release are known.

    Parameters
    ----------
    records
        k × d private values.
    rows
        The k rows of the release that belong to them.
    """

    kind = "pairs"
    noun = "known records"
    rank = 1
    unit = Unit.RECORDS
    usual = (1, 5)
    swept = (1, 2, 5, "d")
    audit_help = 'Numbers of known records; "d" is as many as columns.'
    file_help = "Known records, with a column 'row' (from 0)."

    def __init__(self, records: Any, rows: Sequence[int] | npt.NDArray[np.integer[Any]]) -> None:
        self.records = as_records(records, "records")
        given = as_numbers(rows, "rows")
        if given.dtype.kind not in "iu" and given.size:
            raise InputError("rows must be whole numbers: rows of the release, counted from 0")
        self.rows = given.astype(np.intp)
        if self.rows.shape != (len(self.records),):
            raise InputError(f"rows must have one entry per known record ({len(self.records)}); got {self.rows.shape}")
        if len(np.unique(self.rows)) != len(self.rows):
            raise InputError("rows names a row of the release more than once; each known record has its own row")
        if len(self.rows) and self.rows.min() < 0:
            raise InputError("rows must be counted from 0; a negative row was given")

    def describe(self) -> str:
        """The number of known records."""
        return f"{len(self.rows)} known record{'s' if len(self.rows) != 1 else ''} with their rows"

    @property
    def amount(self) -> int:
        """The number of known records."""
        return len(self.rows)

    def narrowed(self, at: Sequence[int], d: int) -> KnownPairs:
        """The known records' values in some columns."""
        return KnownPairs(self.records[:, at], self.rows)

    def shuffled(self, order: Rows) -> KnownPairs:
        """The same people at their new rows."""
        return KnownPairs(self.records, np.argsort(order)[self.rows])

    def recoded(self, codes: Mapping[int, Vector]) -> KnownPairs:
        """The same people by other codes."""
        return KnownPairs(recoded_records(self.records, codes), self.rows)

    def in_classes(self, names: Sequence[str], classes: Mapping[str, NumberClasses]) -> KnownPairs:
        """The same people by their classes."""
        return KnownPairs(numbered_records(self.records, names, classes), self.rows)

    @classmethod
    def from_file(cls, path: Path, release: Release) -> KnownPairs:
        """Known records from a file with the private columns and a column of release rows, counted from 0."""
        table = open_table(path)
        if ROW_COLUMN not in table.schema.names:
            raise InputError(
                f"{path.name}: needs a column {ROW_COLUMN!r} with each record's row in the release, from 0"
            )
        rows = table.read([ROW_COLUMN]).column(0)
        if not pa.types.is_integer(rows.type) or rows.null_count:
            raise InputError(f"{path.name}: column {ROW_COLUMN!r} must hold whole numbers without gaps")
        return cls(select_columns(table, private_names(release), path.name), np.asarray(rows, dtype=np.intp))

    @classmethod
    def label(cls, amount: float) -> str:
        """The number of known records."""
        return counted(amount, "known record")

    @classmethod
    def words(cls, amount: float) -> str:
        """Whose values and rows are known."""
        return f"The attacker also knows all private values of {_people(amount)} and which released rows are theirs."

    @classmethod
    def idle(cls, model: Model) -> bool:
        """Where every record has draws of its own, the known ones are people of the population, as a sample's are."""
        return model.independent_records

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """Some complete records, with their rows."""
        rows = cls.draw(private, amount, rng)
        return Grant((cls(private.values[rows], rows),), given=rows)


class KnownRecords(Knowledge):
    """Private values of some records of the release, without knowing which rows are theirs.

    Parameters
    ----------
    records
        k × d private values.
    """

    kind = "records"
    noun = "known records, unmatched"
    rank = 2
    unit = Unit.RECORDS
    audit_help = "Numbers of known records without their rows."
    file_help = "Known records whose rows are not known."

    def __init__(self, records: Any) -> None:
        self.records = as_records(records, "records")

    def describe(self) -> str:
        """The number of known records."""
        return f"{len(self.records)} known record{'s' if len(self.records) != 1 else ''} without their rows"

    @property
    def amount(self) -> int:
        """The number of known records."""
        return len(self.records)

    def narrowed(self, at: Sequence[int], d: int) -> KnownRecords:
        """The known records' values in some columns."""
        return KnownRecords(self.records[:, at])

    def recoded(self, codes: Mapping[int, Vector]) -> KnownRecords:
        """The same people by other codes."""
        return KnownRecords(recoded_records(self.records, codes))

    def in_classes(self, names: Sequence[str], classes: Mapping[str, NumberClasses]) -> KnownRecords:
        """The same people by their classes."""
        return KnownRecords(numbered_records(self.records, names, classes))

    @classmethod
    def from_file(cls, path: Path, release: Release) -> KnownRecords:
        """Known records from a file with the private columns."""
        return cls(select_columns(path, private_names(release), path.name))

    @classmethod
    def label(cls, amount: float) -> str:
        """The number of known records."""
        return f"{counted(amount, 'known record')}, unmatched"

    @classmethod
    def words(cls, amount: float) -> str:
        """Whose values are known."""
        return f"The attacker also knows all private values of {_people(amount)}, but not which rows are theirs."

    @classmethod
    def idle(cls, model: Model) -> bool:
        """Where every record has draws of its own, the known ones are people of the population, as a sample's are."""
        return model.independent_records

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """Some complete records in random order."""
        rows = cls.draw(private, amount, rng)
        return Grant((cls(private.values[rng.permutation(rows)]),), given=rows)


class KnownSample(Knowledge):
    """An independent sample of the population that the private table was drawn from.

    Parameters
    ----------
    sample
        m × d private values.
    public
        A table of the same m people with columns that releases show as they are, by their names; those that are
        unknown are left out.
    """

    kind = "sample"
    article = "a"
    noun = "sample"
    rank = 3
    unit = Unit.SHARE
    usual = (0.02,)
    swept = (0.005, 0.02, 0.1)
    audit_help = "Shares of a known sample."
    file_help = "Records of the same population."

    def __init__(self, sample: Any, *, public: Any = None) -> None:
        self.sample = as_records(sample, "sample")
        self.public = None if public is None else _same_people(public, len(self.sample))

    def describe(self) -> str:
        """The sample's size."""
        return f"a sample of {len(self.sample)} records of the same population"

    @property
    def amount(self) -> int:
        """The sample's size."""
        return len(self.sample)

    def narrowed(self, at: Sequence[int], d: int) -> KnownSample:
        """The sample's values in some columns."""
        return KnownSample(self.sample[:, at], public=self.public)

    def recoded(self, codes: Mapping[int, Vector]) -> KnownSample:
        """The same people by other codes."""
        return KnownSample(recoded_records(self.sample, codes), public=self.public)

    def in_classes(self, names: Sequence[str], classes: Mapping[str, NumberClasses]) -> KnownSample:
        """The same people by their classes."""
        return KnownSample(numbered_records(self.sample, names, classes), public=self.public)

    @classmethod
    def from_file(cls, path: Path, release: Release) -> KnownSample:
        """A sample from a file with the private columns and, where it has them, the public ones."""
        table = open_table(path)
        public = [column.name for column in release.manifest.public if column.name in table.schema.names]
        records = select_columns(table, private_names(release), path.name)
        return cls(records, public=table.read(public) if public else None)

    @classmethod
    def of(cls, private: PrivateTable, rows: Rows) -> KnownSample:
        """Some records of a private table, with what an outsider may have of these people."""
        return cls(private.values[rows], public=private.public(rows))

    @classmethod
    def label(cls, amount: float) -> str:
        """The sample's share of the table."""
        return f"{amount * 100:g} % sample"

    @classmethod
    def words(cls, amount: float) -> str:
        """How many records of others are known."""
        return f"The attacker also holds {amount * 100:g} % as many records of other people from the same population."

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """Some complete records, withheld from the release or, where they stay in it, known as records too."""
        rows = cls.draw(private, amount, rng)
        sample = cls.of(private, rows)
        if not private.own_sample:
            return Grant((sample,), withheld=rows)
        return Grant((sample, KnownRecords(private.values[rng.permutation(rows)])), given=rows)

    @classmethod
    def gives(cls, *, own_sample: bool) -> tuple[type[Knowledge], ...]:
        """The sample; of the table's own records, these too."""
        return (cls, KnownRecords) if own_sample else (cls,)


def _same_people(public: Any, n: int) -> pa.Table:
    """A table of n people's public columns, or an error that names the counts."""
    try:
        source = as_table(public)
    except InputError as error:
        raise InputError(f"public: {error}") from None
    table = source.read(list(source.schema.names))
    if table.num_rows != n:
        raise InputError(f"public has {table.num_rows} rows; it must have one for each of the sample's {n} records")
    return table


def _people(amount: float) -> str:
    return "one person" if amount == 1 else f"{int(amount)} people"
