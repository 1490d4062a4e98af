"""Knowledge of people: a table from elsewhere, such as a register."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.knowledge.base import Grant, Knowledge, PrivateTable, Rows
from veil.data.blocks import one_array, to_float
from veil.data.schema import Kind, kind_of
from veil.data.sources import as_table
from veil.errors import InputError
from veil.release.models import NumberClasses
from veil.release.release import Release

MOST_PAIRS = 100_000_000
"""Pairs of a person and a released row that an audit looks at."""
FEWEST_PEOPLE = 1_000
"""People of the external table of an audit, however large the release is; a share of them is told to 3 %."""


class ExternalTable(Knowledge):
    """A table from elsewhere about people some or all of whom are in the release, such as a register.

    Parameters
    ----------
    table
        A frame, Arrow table, dict of columns, file path or 2-D array; one row per person. Columns that the release also
        has, by name, are compared with it: its private columns and its public ones. They may hold numbers, texts, or
        true and false; a missing value says nothing.
    columns
        Names of the columns of an array.
    """

    kind = "external"
    article = "an"
    rank = 6
    usual = (0,)
    swept = (0,)
    needs_outside = True
    audit_help = "Grant the quasi and public columns of everybody."
    file_help = "A table about people who may be in the release, with columns of it."

    def __init__(self, table: Any, columns: Sequence[str] | None = None) -> None:
        try:
            people = as_table(pa.table(table) if isinstance(table, dict) else table).read()
        except (pa.ArrowException, TypeError):
            raise InputError("table must be a frame, a dict of columns of one length, a file or a 2-D array") from None
        if columns is not None:
            if len(columns) != people.num_columns or len(set(columns)) != len(columns):
                raise InputError(f"columns must name each of the table's {people.num_columns} columns once")
            people = people.rename_columns(list(columns))
        if not people.num_rows:
            raise InputError("table has no rows; it needs at least one person")
        for name in people.column_names:
            column = people.column(name)
            infinite = pc.sum(pc.is_inf(column)).as_py() if pa.types.is_floating(column.type) else 0
            if infinite:
                raise InputError(
                    f"table: column {name!r} has {infinite} infinite values; replace them, or leave it out"
                )
        self.table = people

    def describe(self) -> str:
        """The table's size."""
        return f"an external table of {self.table.num_rows} people and {self.table.num_columns} columns"

    def in_classes(self, names: Sequence[str], classes: Mapping[str, NumberClasses]) -> ExternalTable:
        """The same people's classes."""
        people = self.table
        for j, field in enumerate(people.schema):
            if field.name in classes and kind_of(field.type) is Kind.NUMERIC:
                values = to_float(people.column(field.name).combine_chunks(), field.name)
                numbers = pa.array(classes[field.name].numbered(values), from_pandas=True)
                people = people.set_column(j, field.name, numbers)
        return ExternalTable(people)

    @classmethod
    def from_file(cls, path: Path, release: Release) -> ExternalTable:
        """A table from a file."""
        return cls(path)

    @classmethod
    def label(cls, amount: float) -> str:
        """That there is another table."""
        return "external table"

    @classmethod
    def words(cls, amount: float) -> str:
        """What the other table holds."""
        return (
            "The attacker also holds another table about the same people, with the exact values of the columns "
            "that have the role quasi or public."
        )

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """The exact columns with the role quasi or public, of everybody or, in a large table, of some people.

        Who belongs together is known, too: of some people, all of their groups are there.
        """
        n, at = len(private.values), cls.known_columns(private, amount)
        most = max(FEWEST_PEOPLE, MOST_PAIRS // n)
        if private.outside is None or n <= most:
            return Grant((cls(private.outside),), columns=at)
        people = np.sort(_some(private.outside, private.groups, most, rng))
        return Grant((cls(private.outside.take(pa.array(people))),), columns=at, people=people)

    @classmethod
    def known_columns(cls, private: PrivateTable, amount: float) -> tuple[int, ...]:
        """The perturbed columns with the role quasi."""
        outside = set() if private.outside is None else {*private.outside.column_names} - {*private.groups}
        return tuple(j for j, name in enumerate(private.columns) if name in outside)


def _some(table: pa.Table, groups: Sequence[str], most: int, rng: np.random.Generator) -> Rows:
    """Some rows by lot, by whole groups of the first column that says who belongs together."""
    if not groups:
        return rng.choice(table.num_rows, most, replace=False)
    codes = one_array(table.column(groups[0])).dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    of_groups, alone = rng.random(int(codes.max(initial=-1)) + 2), rng.random(len(codes))
    return np.argsort(np.where(codes < 0, alone, of_groups[codes]), kind="stable")[:most]
