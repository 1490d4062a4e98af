"""What an inspection tells about a table, as data: columns, groups, keys, proposals, and what noise would leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

ROTATION_THRESHOLD = 0.3
"""The variance by which rotating a pair is to change both of its columns."""
HEAVY = 4.0
"""A tail index below this is a heavy tail."""


@dataclass(frozen=True)
class ColumnFacts:
    """One column: what it is, its role (None: the owner must decide), and a remark.

    Attributes
    ----------
    missing
        Missing values; what may stand for one is in ``missing_codes``, with how often it occurs.
    identifying
        Hardly a text occurs twice, so that each may name somebody.
    n_values, exact
        Different values that occur; an estimate unless ``exact``.
    zeros
        Of numbers that are there, the share of zeros.
    tail_index, top_ten
        Hill's tail index (heavy below 4), and the share of the sum that the ten largest make, if none is negative.
    sorting
        "ascending" or "descending" if the rows are sorted by it.
    neighbours
        The correlation of neighbouring rows (for texts: equal beyond chance), where that is no chance.
    grain, whole, nonnegative, positive
        The step of the grid that numbers are on; whether that makes them whole; whether none is below zero, or at it.
    unique
        Whole numbers that do not repeat, as far as a sample tells; ``serial`` if they count records.
    code
        Whole numbers that look like codes for categories.
    """

    name: str
    kind: str
    dtype: str
    role: str | None
    missing: int
    note: str
    identifying: bool = False
    n_values: int = 0
    exact: bool = True
    zeros: float | None = None
    tail_index: float | None = None
    top_ten: float | None = None
    sorting: str | None = None
    neighbours: float | None = None
    grain: float | None = None
    whole: bool = False
    nonnegative: bool = False
    positive: bool = False
    unique: bool = False
    serial: bool = False
    code: bool = False
    missing_codes: dict[str, int] = field(default_factory=dict)

    @property
    def heavy(self) -> bool:
        """Whether a few very large values make the spread of the column."""
        return self.tail_index is not None and self.tail_index < HEAVY


@dataclass(frozen=True)
class GroupFacts:
    """A column within whose values others are constant.

    Attributes
    ----------
    column
        Its name.
    n_values, mean_size
        Values that occur, and records that share one.
    constant
        Columns that are constant within each value.
    exact
        Whether all values were looked at, or a sample.
    groups
        Whether the values may be households, firms or patients: many, of few records each. If not, the column tells
        the others, as an education tells its years.
    """

    column: str
    n_values: int
    mean_size: float
    constant: tuple[str, ...]
    exact: bool = True
    groups: bool = False


class Reason(StrEnum):
    """Why a role is proposed for a column."""

    NAME = "name"
    UNIQUE = "unique"
    SERIAL = "serial"
    TEXTS = "texts"
    NAMES_GROUP = "names_group"
    GROUP = "group"
    GROUP_NAME = "group_name"
    WEIGHT = "weight"
    KEY = "key"
    CONSTANT = "constant"
    AMOUNT = "amount"
    CATEGORY = "category"
    MANY = "many"
    CODE = "code"
    NESTED = "nested"


@dataclass(frozen=True)
class Proposal:
    """A role for a column that the owner has given none, with the reason; ``sure`` unless the owner must decide.

    ``of`` is the column that the reason is about, where it is another: the groups that texts name.
    """

    column: str
    role: str
    reason: Reason
    sure: bool = True
    of: str | None = None


@dataclass(frozen=True)
class NoiseRisk:
    """One column: the error that the Bayes estimate (A6) is predicted to leave at each noise level.

    Errors are root mean squares in units of the column's standard deviation; noise of scale s on a column
    that nothing correlates with leaves s/√(1 + s²).
    """

    name: str
    errors: tuple[float, ...]


@dataclass(frozen=True)
class RotationRange:
    """A pair of columns and the angles at which rotating it changes both by the threshold (P5, z-scores).

    ``intervals`` are in radians, ``share`` is their part of the full circle.
    """

    first: str
    second: str
    intervals: tuple[tuple[float, float], ...]
    share: float


@dataclass(frozen=True)
class KeysAlone:
    """Some keys, and how many records are alone without them, or on them alone."""

    columns: tuple[str, ...]
    unique: int


@dataclass(frozen=True)
class GroupsAlone:
    """A column of groups, how many it names, and how many are alone with the keys of all their members."""

    column: str
    n_groups: int
    unique: int


@dataclass(frozen=True)
class KeyFacts:
    """What the keys tell of people.

    Attributes
    ----------
    columns
        The key and quasi columns.
    n_cells, unique, below_3, below_5
        Combinations that occur, records that are alone, and those in cells of fewer than 3 and 5; estimates unless
        ``exact``.
    weight, expected
        The column of weights, and the expected re-identifications by it.
    proposed
        Whether these columns are proposed as keys, and the owner has named none.
    without
        By column, records that stay alone without it, fewest first.
    pairs
        By pair of columns, records that are alone on it, most first.
    groups
        By column of groups, those that are alone with the keys of all their members.
    """

    columns: tuple[str, ...]
    n_cells: int
    unique: int
    below_3: int
    below_5: int
    exact: bool = True
    weight: str | None = None
    expected: float | None = None
    proposed: bool = False
    without: tuple[KeysAlone, ...] = ()
    pairs: tuple[KeysAlone, ...] = ()
    groups: tuple[GroupsAlone, ...] = ()
