"""Knowledge of columns: some attributes of everybody, or the range of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veil.attacks.knowledge.base import (
    Grant,
    Knowledge,
    PrivateTable,
    Rows,
    Unit,
    counted,
    numbered_records,
    private_names,
)
from veil.attacks.knowledge.reading import as_numbers, as_records, select_columns
from veil.data.blocks import Matrix
from veil.data.files import open_table
from veil.errors import InputError
from veil.numerics.dependence import dependence
from veil.release.models import Model, NumberClasses
from veil.release.release import Release


class KnownAttributes(Knowledge):
    """Attributes of every record that are known exactly.

    Parameters
    ----------
    columns
        Their names. A private column of the release by its name, anything else as a covariate.
    values
        N × k values, one row per row of the release and in its order.
    """

    kind = "attributes"
    noun = "known columns"
    rank = 4
    unit = Unit.COLUMNS
    swept = (1,)
    audit_help = "Numbers of columns known of everybody."
    file_help = "Columns known of every record, in the release's order."

    def __init__(self, columns: Sequence[str] | str, values: Any) -> None:
        self.columns = (columns,) if isinstance(columns, str) else tuple(columns)
        if len(self.columns) == 1 and not isinstance(values, str) and np.ndim(values) == 1:
            values = as_numbers(values, "values")[:, None]
        self.values = as_records(values, "values")
        if not self.columns or self.values.shape[1] != len(self.columns):
            raise InputError(
                f"values must have one column per known attribute ({len(self.columns)}); got {self.values.shape[1]}"
            )
        if len(set(self.columns)) != len(self.columns):
            raise InputError("columns names an attribute more than once; each has one column of values")

    def describe(self) -> str:
        """How many attributes of how many records."""
        return f"{len(self.columns)} attribute{'s' if len(self.columns) != 1 else ''} of {len(self.values)} records"

    def shuffled(self, order: Rows) -> KnownAttributes:
        """The same people's values in the order of their new rows."""
        return KnownAttributes(self.columns, self.values[order])

    def in_classes(self, names: Sequence[str], classes: Mapping[str, NumberClasses]) -> KnownAttributes:
        """The same people's classes."""
        return KnownAttributes(self.columns, numbered_records(self.values, self.columns, classes))

    @property
    def amount(self) -> int:
        """The number of known columns."""
        return len(self.columns)

    @classmethod
    def from_file(cls, path: Path, release: Release) -> KnownAttributes:
        """All columns of a file with one row per row of the release."""
        table = open_table(path)
        return cls(table.schema.names, table.read())

    @classmethod
    def label(cls, amount: float) -> str:
        """The number of known columns."""
        return counted(amount, "known column")

    @classmethod
    def words(cls, amount: float) -> str:
        """Which columns are known."""
        columns = "most telling column" if amount == 1 else f"{int(amount)} most telling columns"
        return f"The attacker also knows the {columns} of everybody in the release."

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """The most telling columns of everybody."""
        at = cls.known_columns(private, amount)
        return Grant((cls([private.columns[j] for j in at], private.values[:, at]),), columns=at)

    @classmethod
    def obstacle(cls, private: PrivateTable, amount: float) -> str:
        """Too few numeric columns that vary and have no gaps."""
        n = len(_whole_numeric(private))
        return "" if n >= amount else f"it needs numeric columns that vary and have no gaps; there are {n}"

    @classmethod
    def known_columns(cls, private: PrivateTable, amount: float) -> tuple[int, ...]:
        """The complete numeric columns that say most about the others (:func:`veil.numerics.dependence.dependence`)."""
        usable = _whole_numeric(private)
        telling = np.argsort(-dependence(private.values[:, usable]).sum(axis=1), kind="stable")[: int(amount)]
        return tuple(sorted(usable[i] for i in telling))


class KnownRanges(Knowledge):
    """The least and the greatest value that each private column can have.

    Parameters
    ----------
    lower, upper
        d numbers each, or one for all columns.
    """

    kind = "ranges"
    rank = 5
    swept = (0,)
    audit_help = "Grant each column's least and greatest value."
    file_help = "Two rows: least and greatest value of each column."

    def __init__(self, lower: Any, upper: Any) -> None:
        low, high = (
            np.atleast_1d(as_numbers(v, n)).astype(np.float64) for v, n in ((lower, "lower"), (upper, "upper"))
        )
        try:
            self.lower, self.upper = (np.array(part) for part in np.broadcast_arrays(low, high))
        except ValueError:
            self.lower = np.empty((0, 0))
        if self.lower.ndim != 1 or not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            raise InputError("lower and upper must be one finite number per private column, or one for all")
        wrong = int((self.lower > self.upper).sum())
        if wrong:
            raise InputError(f"lower must not be above upper; it is in {wrong} column(s): are the two rows swapped?")

    def describe(self) -> str:
        """That ranges are known."""
        return "the range of each column"

    def for_columns(self, d: int) -> tuple[Matrix, Matrix]:
        """Lower and upper limits of ``d`` columns."""
        if len(self.lower) not in (1, d):
            raise InputError(f"KnownRanges has {len(self.lower)} ranges; the private table has {d} perturbed columns")
        return np.broadcast_to(self.lower, d).copy(), np.broadcast_to(self.upper, d).copy()

    def narrowed(self, at: Sequence[int], d: int) -> KnownRanges:
        """The ranges of some columns."""
        lower, upper = self.for_columns(d)
        return KnownRanges(lower[at], upper[at])

    @classmethod
    def from_file(cls, path: Path, release: Release) -> KnownRanges:
        """Ranges from a file of two rows with the private columns."""
        rows = as_records(select_columns(path, private_names(release), path.name), path.name)
        if len(rows) != 2:
            raise InputError(f"{path.name}: needs two rows, each column's least and greatest; it has {len(rows)}")
        return cls(rows[0], rows[1])

    @classmethod
    def idle(cls, model: Model) -> bool:
        """Categories have no range."""
        categories = model.private_categories()
        return categories is not None and None not in categories

    @classmethod
    def label(cls, amount: float) -> str:
        """That ranges are known."""
        return "column ranges"

    @classmethod
    def words(cls, amount: float) -> str:
        """What is known of each column."""
        return "The attacker also knows the least and the greatest value of each private column."

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """The exact ranges."""
        with np.errstate(all="ignore"):
            return Grant((cls(np.nanmin(private.values, axis=0), np.nanmax(private.values, axis=0)),))


def _whole_numeric(private: PrivateTable) -> list[int]:
    """Numeric columns without gaps that vary."""
    columns = zip(private.categorical, private.values.T, strict=True)
    return [j for j, (codes, c) in enumerate(columns) if not codes and not np.isnan(c).any() and np.ptp(c) > 0]
