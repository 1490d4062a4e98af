"""The columns of a release that tell about each other's gaps, read as numbers.

Beside the private columns these are the public ones, which no noise hides: numbers as they are, and categories as one
indicator each but the last. Where gaps depend on a public column, it is what makes estimates right. A randomized answer
is read as P⁻¹e, e the indicator of its report: given the truth its mean is the indicator of the true category.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from veil.data.blocks import Block, Matrix, Vector
from veil.numerics.gap_noise import Indices
from veil.recovery.report_counts import NONE, Reports
from veil.release.release import Release, moments_of_columns

MOST_COLUMNS = 40
"""Columns from which on public ones are left out."""
MOST_CATEGORIES = 12
"""Categories of a public column that is used."""


@dataclass(frozen=True)
class Levels:
    """The different values of some columns; None of one that has too many."""

    values: tuple[frozenset[Any] | None, ...]

    def __add__(self, other: Levels) -> Levels:
        """Over both parts together."""
        return Levels(tuple(_joined(a, b) for a, b in zip(self.values, other.values, strict=True)))


def _joined(first: frozenset[Any] | None, second: frozenset[Any] | None) -> frozenset[Any] | None:
    if first is None or second is None or len(first | second) > MOST_CATEGORIES:
        return None
    return first | second


def levels(columns: tuple[str, ...], block: Block) -> Levels:
    """The different values of some columns of a block."""
    found: list[frozenset[Any] | None] = []
    for name in columns:
        values = block.column(name)
        values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        known = values.drop_null().unique()
        found.append(frozenset(known.to_pylist()) if len(known) <= MOST_CATEGORIES else None)
    return Levels(tuple(found))


@dataclass(frozen=True)
class Public:
    """Public columns: numbers less an origin, and categories but the last."""

    numbers: tuple[str, ...] = ()
    origin: tuple[float, ...] = ()
    categories: Reports = field(default_factory=lambda: Reports((), ()))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return self.numbers + self.categories.columns

    def with_others(self, others: Public) -> Public:
        """These columns, and others after them."""
        mine, theirs = self.categories, others.categories
        both = Reports(mine.columns + theirs.columns, mine.categories + theirs.categories)
        return Public(self.numbers + others.numbers, self.origin + others.origin, both)

    def matrix(self, block: Block) -> Matrix:
        """One column per number and indicator, one row per record."""
        parts = [block.matrix(self.numbers).T - np.array(self.origin)] if self.numbers else []
        for codes, known in zip(self.categories.codes(block), self.categories.categories, strict=True):
            parts.append(indicators(codes, np.eye(len(known))))
        return np.hstack(parts) if parts else np.zeros((block.n_rows, 0))


def indicators(codes: Indices, by_code: Matrix) -> Matrix:
    """The row of each code without its last entry, which the others tell; NaN where there is no code."""
    rows = by_code[np.maximum(codes, 0), :-1].astype(np.float64)
    rows[codes < 0] = np.nan
    return rows


def public_columns(release: Release, room: int, without: tuple[str, ...] = ()) -> Public:
    """The public columns of a release, up to so many numbers and indicators."""
    wanted = [c.name for c in release.manifest.public if c.name not in without and c.name in release.table.schema.names]
    numeric = [name for name in wanted if name in release.table.numeric()][: max(room, 0)]
    others = tuple(name for name in wanted if name not in release.table.numeric())
    origin: tuple[float, ...] = ()
    if numeric:
        moments = release.summed(partial(moments_of_columns, tuple(numeric)), numeric)
        usable = np.isfinite(moments.mean) & np.isfinite(moments.std) & (moments.std > 0.0)
        origin = tuple(moments.mean[usable].tolist())
        numeric = [name for name, good in zip(numeric, usable, strict=True) if good]
    room -= len(numeric)
    names, categories = [], []
    if others:
        for name, known in zip(others, release.summed(partial(levels, others), others).values, strict=True):
            if known is not None and 2 <= len(known) <= room + 1:
                names.append(name)
                categories.append(tuple(sorted(known, key=str)))
                room -= len(known) - 1
    return Public(tuple(numeric), origin, Reports(tuple(names), tuple(categories)))


@dataclass(frozen=True)
class Answers:
    """Randomized answers: columns that were answered together, their listed combinations, and P⁻¹."""

    reports: Reports
    combinations: Indices | None
    inverse: Matrix

    @property
    def size(self) -> int:
        """Categories, or combinations."""
        return len(self.inverse)

    def codes(self, block: Block) -> Indices:
        """The place of each record's report; below 0 where there is none."""
        codes = self.reports.codes(block)
        if self.combinations is None:
            return np.asarray(codes[0], dtype=np.intp)
        shape = tuple(len(known) for known in self.reports.categories)
        listed = np.ravel_multi_index(tuple(self.combinations.T), shape)
        order = np.argsort(listed)
        missing = (codes < 0).any(axis=0)
        own = np.ravel_multi_index(tuple(np.maximum(codes, 0)), shape)
        place = np.minimum(np.searchsorted(listed[order], own), len(listed) - 1)
        return np.where(missing | (listed[order][place] != own), NONE, order[place])


@dataclass(frozen=True)
class Cut:
    """A bound or heap that values of a column were set to, with their mean and standard deviation before.

    Each is read as one standard deviation above or below the mean, as its row says by chance, so that the column keeps
    its mean and its variance. What these values had to do with other columns is lost.
    """

    place: int
    released: float
    mean: float
    spread: float

    def before(self, rows: Indices) -> Vector:
        """What the values of some rows may have been."""
        return np.asarray(self.mean + self.spread * _signs(rows, self.place))


def _signs(rows: Indices, place: int) -> Vector:
    """1 or −1 for each row, as if by chance: a bit of a hash of the row's number (Steele, Lea and Flood 2014).

    >>> signs = _signs(np.arange(100_000), 0)
    >>> bool(abs(signs.mean()) < 0.01), bool(abs((signs * _signs(np.arange(100_000), 1)).mean()) < 0.01)
    (True, True)
    """
    with np.errstate(over="ignore"):
        words = (rows.astype(np.uint64) + np.uint64(place) * np.uint64(0xD1342543DE82EF95)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.where(words >> np.uint64(63) == 0, 1.0, -1.0)


def cut_ends(release: Release) -> tuple[Cut, ...]:
    """The bounds and heaps of a release's numbers."""
    manifest = release.manifest
    return tuple(
        Cut(place, *each)
        for place, name in enumerate(release.only_part.released)
        for each in manifest.cut.get(name, ())
    )


@dataclass(frozen=True)
class GapColumns:
    """Private columns, of numbers (less an origin) or randomized answers, and the public ones beside them.

    Their values are put in an ``order``, if one is given, and of that only those at ``kept`` are used.
    """

    numbers: tuple[str, ...] = ()
    origin: tuple[float, ...] = ()
    answers: tuple[Answers, ...] = ()
    public: Public = field(default_factory=Public)
    order: tuple[int, ...] | None = None
    kept: tuple[int, ...] | None = None
    cut: tuple[Cut, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        answered = tuple(name for answer in self.answers for name in answer.reports.columns)
        return self.numbers + answered + self.public.columns

    @property
    def private(self) -> tuple[str, ...]:
        """The released columns of the private ones."""
        return self.columns[: len(self.columns) - len(self.public.columns)]

    def matrix(self, block: Block) -> Matrix:
        """One row per record, NaN for what is missing."""
        parts = []
        if self.numbers:
            numbers = block.matrix(self.numbers)
            released = numbers.copy() if self.cut else numbers
            for end in self.cut:
                at = released[end.place] == end.released
                numbers[end.place, at] = end.before(np.flatnonzero(at) + block.start)
            parts = [numbers.T - np.array(self.origin)]
        parts += [indicators(answer.codes(block), answer.inverse.T) for answer in self.answers]
        values = np.hstack([*parts, self.public.matrix(block)])
        values = values if self.order is None else values[:, list(self.order)]
        return values if self.kept is None else values[:, list(self.kept)]


def offset(mean: Vector) -> tuple[float, ...]:
    """An origin near a mean; 0 of a column without values."""
    return tuple(np.where(np.isfinite(mean), mean, 0.0).tolist())
