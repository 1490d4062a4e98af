"""What the audit grants the attacker: levels of knowledge, dealt from the private table under a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from veil.arguments import choice, flag, numbers
from veil.attacks.knowledge import (
    ExternalTable,
    IndependentSignals,
    Knowledge,
    KnownAttributes,
    KnownMatrix,
    KnownPairs,
    KnownRanges,
    KnownRecords,
    KnownSample,
    TimeOrder,
)
from veil.errors import InputError

Rows = npt.NDArray[np.intp]
Kind = Literal["nothing", "pairs", "records", "sample", "attributes", "ranges", "external", "matrix"]
KINDS: tuple[Kind, ...] = get_args(Kind)

ASSUMPTIONS: tuple[Knowledge, ...] = (IndependentSignals(), TimeOrder())
"""What anybody may assume without knowing anybody: independent columns, and rows in the order of time."""

GRANTED: dict[Kind, tuple[type[Knowledge], ...]] = {
    "nothing": (),
    "pairs": (KnownPairs,),
    "records": (KnownRecords,),
    "sample": (KnownSample,),
    "attributes": (KnownAttributes,),
    "ranges": (KnownRanges,),
    "external": (ExternalTable,),
    "matrix": (KnownMatrix,),
}


@dataclass(frozen=True)
class Level:
    """One level of knowledge: nothing, known records, a sample, known columns, ranges, another table, or the matrix."""

    kind: Kind
    amount: float = 0

    @property
    def label(self) -> str:
        """The level in a few words.

        >>> Level("pairs", 5).label, Level("sample", 0.02).label, Level("matrix").label
        ('5 known records', '2 % sample', 'disclosed matrix')
        """
        if self.kind == "sample":
            return f"{self.amount * 100:g} % sample"
        many = f"{int(self.amount)} known record{'s' if self.amount != 1 else ''}"
        return {
            "nothing": "nothing",
            "pairs": many,
            "records": f"{many}, unmatched",
            "attributes": f"{int(self.amount)} known column{'s' if self.amount != 1 else ''}",
            "ranges": "column ranges",
            "external": "external table",
            "matrix": "disclosed matrix",
        }[self.kind]

    def size(self, n_rows: int) -> int:
        """How many records of a table the level grants; a sample has at least two."""
        return max(2, round(self.amount * n_rows)) if self.kind == "sample" else int(self.amount)

    def serves(
        self,
        requires: Sequence[type[Knowledge]],
        uses: Sequence[type[Knowledge]] = (),
        *,
        records: bool = False,
        always: Sequence[type[Knowledge]] = (),
    ) -> bool:
        """Whether an attack is to be played at this level: it has what it requires, and knows more than with nothing.

        What anybody may assume counts as granted, and what is known ``always``; an attack that the level's own
        knowledge does not change is played once, with nothing. ``records`` says that a sample comes from the table, so
        that its records are known.
        """
        own = {*GRANTED[self.kind], *((KnownRecords,) if records and self.kind == "sample" else ())}
        free = {*(type(item) for item in ASSUMPTIONS), *always}
        return set(requires) <= own | free and (self.kind == "nothing" or bool(own & {*requires, *uses}))

    def within(self, upper: Level) -> bool:
        """Whether somebody with the knowledge ``upper`` could also run what needs this."""
        return self.kind == "nothing" or (self.kind == upper.kind and self.amount <= upper.amount)

    @property
    def words(self) -> str:
        """The level in plain words."""
        telling = "most telling column" if self.amount == 1 else f"{int(self.amount)} most telling columns"
        who = "one person" if self.amount == 1 else f"{int(self.amount)} people"
        return {
            "nothing": "The attacker has the release and its public description, and knows nobody in it.",
            "pairs": f"The attacker also knows all private values of {who} and which released rows are theirs.",
            "records": f"The attacker also knows all private values of {who}, but not which rows are theirs.",
            "sample": (
                f"The attacker also holds {self.amount * 100:g} % as many records of other people from the same "
                "population."
            ),
            "attributes": f"The attacker also knows the {telling} of everybody in the release.",
            "ranges": "The attacker also knows the least and the greatest value of each private column.",
            "external": (
                "The attacker also holds another table about the same people, with the exact values of the columns "
                "that have the role quasi."
            ),
            "matrix": (
                "The attacker also has the secret matrix, because the key has leaked, and the smallest sample and the "
                "ranges that this audit grants."
            ),
        }[self.kind]


ALL_COLUMNS = "d"
"""Stands for as many known records as there are perturbed columns: what a linear map is solved with."""


@dataclass(frozen=True)
class Grants:
    """The knowledge levels that an audit plays through.

    What anybody may assume (independent columns, rows in time order) is granted at every level, and the release
    alone is always played.

    Parameters
    ----------
    pairs
        Numbers of records that the attacker knows together with their rows; "d" is as many as perturbed columns.
    sample
        Sizes of a known sample, as shares of the table.
    sample_from
        ``"population"`` withholds the sampled rows from the release (the papers' setting);
        ``"table"`` leaves them in, and does not score them.
    records
        Numbers of records that the attacker knows without their rows.
    attributes
        Numbers of numeric columns that the attacker knows of everybody; the most telling ones, which are not scored.
    ranges
        Whether the attacker knows each column's least and greatest value.
    external
        Whether the attacker holds the exact ``quasi`` columns of everybody, where there are such columns.
    matrix
        Whether the secret matrix has leaked, for methods that have one.
    fitting
        Leave out levels that a table is too small for; otherwise they are an error.

    Examples
    --------
    >>> [level.label for level in Grants.sweep().levels(1_000, 7)][:5]
    ['nothing', '1 known record', '2 known records', '5 known records', '7 known records']
    """

    pairs: int | str | Sequence[int | str] = (1, 5)
    sample: float | Sequence[float] = 0.02
    sample_from: Literal["population", "table"] = "population"
    records: int | Sequence[int] = ()
    attributes: int | Sequence[int] = ()
    ranges: bool = False
    external: bool = True
    matrix: bool = False
    fitting: bool = False

    def __post_init__(self) -> None:
        given = [self.pairs] if isinstance(self.pairs, str) else self.pairs
        every = isinstance(given, Sequence) and ALL_COLUMNS in given
        counted = [k for k in given if k != ALL_COLUMNS] if isinstance(given, Sequence) and every else given
        for name, value in (("pairs", counted), ("records", self.records), ("attributes", self.attributes)):
            rule = "whole numbers of at least 1, or () for none" + (', or "d"' if name == "pairs" else "")
            counts = numbers(value, f"grants: {name}", rule=rule)
            if any(k < 1 or not k.is_integer() for k in counts):
                raise InputError(
                    f"grants: {name} must be whole numbers of at least 1; leave out 0, it is always played"
                )
            also = (ALL_COLUMNS,) if name == "pairs" and every else ()
            object.__setattr__(self, name, (*(int(k) for k in counts), *also))
        sample = numbers(self.sample, "grants: sample", rule="shares between 0 and 1, or () for none")
        if any(not 0 < share < 1 for share in sample):
            raise InputError("grants: sample must be a share between 0 and 1, for example 0.02; use () for none")
        choice(self.sample_from, "grants: sample_from", ("population", "table"))
        for name in ("ranges", "external", "matrix", "fitting"):
            flag(getattr(self, name), f"grants: {name}")
        object.__setattr__(self, "sample", tuple(sample))

    @classmethod
    def sweep(cls, **settings: Any) -> Grants:
        """From nothing to everything: 1, 2, 5 and d known records, samples, a column, ranges, and the leaked matrix.

        ``settings`` replace parts of it.
        """
        full = {"pairs": (1, 2, 5, ALL_COLUMNS), "sample": (0.005, 0.02, 0.1), "attributes": 1}
        return cls(**{**full, "ranges": True, "matrix": True, "fitting": True, **settings})

    def levels(self, n_rows: int, n_columns: int, *, quasi: bool = False) -> list[Level]:
        """Nothing first, then each kind by size; a table too small for one is an error unless ``fitting``."""
        counts = {n_columns if k == ALL_COLUMNS else int(k) for k in self.pairs}  # type: ignore[union-attr]
        found = [Level("pairs", k) for k in sorted(counts)]
        found += [Level("records", k) for k in sorted(set(self.records))]  # type: ignore[arg-type]
        found += [Level("sample", share) for share in sorted(set(self.sample))]  # type: ignore[arg-type]
        found = [level for level in found if self._fits(level, n_rows)]
        for k in sorted(set(self.attributes)):  # type: ignore[arg-type]
            if k < n_columns:
                found.append(Level("attributes", k))
            elif not self.fitting:
                raise InputError(
                    f"grants: {k} known attributes leave none of {n_columns} columns to guess; grant fewer (attributes)"
                )
        found += [Level("ranges")] * bool(self.ranges) + [Level("external")] * (bool(self.external) and quasi)
        return [Level("nothing"), *found, *[Level("matrix")] * bool(self.matrix)]

    def too_large(self, n_rows: int, n_columns: int) -> list[str]:
        """The levels that a table is too small for, in words."""
        counted = [Level("pairs", n_columns if k == ALL_COLUMNS else int(k)) for k in self.pairs]  # type: ignore[union-attr]
        counted += [Level("records", k) for k in self.records]  # type: ignore[union-attr]
        counted += [Level("sample", share) for share in self.sample]  # type: ignore[union-attr]
        found = [f"{lv.label}: the table has {n_rows} records" for lv in counted if lv.size(n_rows) > n_rows - 2]
        many = [Level("attributes", k) for k in self.attributes if k >= n_columns]  # type: ignore[union-attr]
        return found + [f"{lv.label}: the table has {n_columns} that are perturbed" for lv in many]

    def _fits(self, level: Level, n_rows: int) -> bool:
        wanted = level.size(n_rows)
        if wanted <= n_rows - 2:
            return True
        if self.fitting:
            return False
        raise InputError(
            f"grants: {level.label} needs {wanted} records and leaves fewer than 2 of {n_rows} to attack; "
            f"grant less ({level.kind} is the parameter)"
        )


def as_grants(grants: Any) -> Grants:
    """Grants from an object, or the whole sweep."""
    if grants is None:
        return Grants.sweep()
    if isinstance(grants, Grants):
        return grants
    raise InputError("grants must be a veil.Grants object")
