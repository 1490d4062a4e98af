"""The shape of a method in one value: what it takes, what a released cell is made of, and how its noise is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from veil.data.schema import Kind, Role


class Takes(StrEnum):
    """What the columns of a method hold. Dates are numbers whose zero means nothing, so they are no amounts."""

    NUMBERS = "numbers"
    AMOUNTS = "numbers with a zero"
    POSITIVE = "positive numbers"
    BITS = "zeros and ones"
    CATEGORIES = "categories"
    IDENTIFIERS = "identifiers"
    KEYS = "numbers and categories"


class MadeOf(StrEnum):
    """What a released cell is made of: one private cell, the cells of one record, or all records."""

    CELL = "cell"
    RECORD = "record"
    TABLE = "table"


class Noise(StrEnum):
    """How noise is drawn: not at all; cell by cell, so that a cell can keep it with an id; or for whole records."""

    NONE = "none"
    CELL = "cell"
    RECORD = "record"


_COVERS = {
    Takes.NUMBERS: frozenset({Kind.NUMERIC, Kind.DATE, Kind.TIME}),
    Takes.AMOUNTS: frozenset({Kind.NUMERIC}),
    Takes.POSITIVE: frozenset({Kind.NUMERIC}),
    Takes.BITS: frozenset({Kind.NUMERIC, Kind.BOOLEAN}),
    Takes.CATEGORIES: frozenset({Kind.CATEGORY, Kind.TEXT, Kind.BOOLEAN, Kind.NUMERIC}),
    Takes.IDENTIFIERS: frozenset({Kind.CATEGORY, Kind.TEXT, Kind.BOOLEAN, Kind.NUMERIC}),
    Takes.KEYS: frozenset({Kind.CATEGORY, Kind.TEXT, Kind.BOOLEAN, Kind.NUMERIC}),
}


@dataclass(frozen=True)
class Layout:
    """The shape of a method.

    Attributes
    ----------
    takes, made_of, noise
        What its columns hold, what a released cell is made of, and how its noise is drawn.
    covariance, quantiles, combinations, grids, extremes, tails
        What ``learn`` wants to be told beside means and variances (of categories: beside how often each occurs).
    spread
        Whether it measures the spread of each column, for which a table needs 2 rows.
    missing_is_category
        Whether a missing value is a category like any other; else one among categories is refused.
    apart
        Whether, of noise for whole records, some columns can have a draw per group while others have one per record.

    Examples
    --------
    >>> Layout(made_of=MadeOf.RECORD, noise=Noise.NONE).passes_missing
    False
    """

    takes: Takes = Takes.NUMBERS
    made_of: MadeOf = MadeOf.CELL
    noise: Noise = Noise.CELL
    covariance: bool = False
    quantiles: bool = False
    combinations: bool = False
    grids: bool = False
    extremes: bool = False
    tails: bool = False
    spread: bool = False
    missing_is_category: bool = False
    apart: bool = False

    @property
    def covers(self) -> frozenset[Kind]:
        """Kinds of columns that it can change."""
        return _COVERS[self.takes]

    @property
    def natural_role(self) -> Role:
        """The role of a column that a plan gives to the method without saying one; a pseudonym stands for a person."""
        return Role.QUASI if self.takes is Takes.IDENTIFIERS else Role.SENSITIVE

    @property
    def scored(self) -> bool:
        """Whether its columns hold values that an attacker can guess; a pseudonym is none."""
        return self.takes is not Takes.IDENTIFIERS

    @property
    def tabular(self) -> bool:
        """Whether its columns need not be numbers, so that it works on tables and not on arrays."""
        return self.takes in (Takes.CATEGORIES, Takes.IDENTIFIERS, Takes.KEYS)

    @property
    def fewest_rows(self) -> int:
        """Rows that a table must have."""
        return 2 if self.spread else 1

    @property
    def passes_missing(self) -> bool:
        """Whether a missing cell is released as missing; columns then keep their names, too."""
        return self.made_of is MadeOf.CELL

    @property
    def reduces(self) -> bool:
        """Whether records are summed up into fewer rows, which are none."""
        return self.made_of is MadeOf.TABLE

    @property
    def addressed(self) -> bool:
        """Whether there is noise, addressed by the table's fingerprint."""
        return self.noise is not Noise.NONE

    def per_group(self, columns: Sequence[str], constant: Mapping[str, str]) -> dict[str, str]:
        """Of its columns that are constant within groups, those whose noise can be one per group, with the groups.

        Noise that is drawn for whole records together can be so where all of them are constant in the same groups.

        >>> Layout().per_group(["rent", "age"], {"rent": "home"})
        {'rent': 'home'}
        >>> Layout(noise=Noise.RECORD).per_group(["rent", "age"], {"rent": "home"})
        {}
        """
        shared = {name: group for name, group in constant.items() if name in columns}
        if not self.addressed or self.made_of is not MadeOf.CELL:
            return {}
        whole = len(shared) == len(columns) and len(set(shared.values())) == 1
        return shared if self.noise is Noise.CELL or self.apart or whole else {}

    @property
    def keeps_cells(self) -> bool:
        """Whether the noise of a single cell can be kept with an id (``consistent_on``)."""
        return self.noise is Noise.CELL
