"""What an inspection tells about a column or a pair, as data: kind, role, and what noise or rotation would leave."""

from __future__ import annotations

from dataclasses import dataclass

ROTATION_THRESHOLD = 0.3
"""The variance by which rotating a pair is to change both of its columns."""


@dataclass(frozen=True)
class ColumnFacts:
    """One column: what it is, its role (None: the owner must decide), and a remark.

    ``identifying`` says that hardly a text occurs twice, so that each may name somebody.
    """

    name: str
    kind: str
    dtype: str
    role: str | None
    missing: int
    note: str
    identifying: bool = False


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
    without: tuple[KeysAlone, ...] = ()
    pairs: tuple[KeysAlone, ...] = ()
    groups: tuple[GroupsAlone, ...] = ()
