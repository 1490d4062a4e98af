"""What the audit grants the attacker: levels of knowledge, dealt from the private table under a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from veil.blocks import Matrix
from veil.errors import InputError
from veil.knowledge import (
    IndependentSignals,
    Knowledge,
    KnownMatrix,
    KnownPairs,
    KnownRanges,
    KnownRecords,
    KnownSample,
    TimeOrder,
)
from veil.parameters import numbers

Rows = npt.NDArray[np.intp]
Kind = Literal["nothing", "pairs", "records", "sample", "ranges", "matrix"]

ASSUMPTIONS: tuple[Knowledge, ...] = (IndependentSignals(), TimeOrder())
"""What anybody may assume without knowing anybody: independent columns, and rows in the order of time."""

GRANTED: dict[Kind, tuple[type[Knowledge], ...]] = {
    "nothing": (),
    "pairs": (KnownPairs,),
    "records": (KnownRecords,),
    "sample": (KnownSample,),
    "ranges": (KnownRanges,),
    "matrix": (KnownMatrix,),
}


@dataclass(frozen=True)
class Level:
    """One level of knowledge: nothing, some known records, a sample, the columns' ranges, or the secret matrix."""

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
            "ranges": "column ranges",
            "matrix": "disclosed matrix",
        }[self.kind]

    def size(self, n_rows: int) -> int:
        """How many records of a table the level grants; a sample has at least two."""
        return max(2, round(self.amount * n_rows)) if self.kind == "sample" else int(self.amount)

    def serves(
        self, requires: Sequence[type[Knowledge]], uses: Sequence[type[Knowledge]] = (), *, records: bool = False
    ) -> bool:
        """Whether an attack is to be played at this level: it has what it requires, and knows more than with nothing.

        What anybody may assume counts as granted; an attack that the level's own knowledge does not change is
        played once, with nothing. ``records`` says that a sample comes from the table, so that its records are known.
        """
        own = {*GRANTED[self.kind], *((KnownRecords,) if records and self.kind == "sample" else ())}
        free = {type(item) for item in ASSUMPTIONS}
        return set(requires) <= own | free and (self.kind == "nothing" or bool(own & {*requires, *uses}))

    def within(self, upper: Level) -> bool:
        """Whether somebody with the knowledge ``upper`` could also run what needs this."""
        return self.kind == "nothing" or (self.kind == upper.kind and self.amount <= upper.amount)

    @property
    def words(self) -> str:
        """The level in plain words."""
        who = "one person" if self.amount == 1 else f"{int(self.amount)} people"
        return {
            "nothing": "The attacker has the release and its public description, and knows nobody in it.",
            "pairs": f"The attacker also knows all private values of {who} and which released rows are theirs.",
            "records": f"The attacker also knows all private values of {who}, but not which rows are theirs.",
            "sample": (
                f"The attacker also holds {self.amount * 100:g} % as many records of other people from the same "
                "population."
            ),
            "ranges": "The attacker also knows the least and the greatest value of each private column.",
            "matrix": (
                "The attacker also has the secret matrix, because the key has leaked, and the smallest sample and the "
                "ranges that this audit grants."
            ),
        }[self.kind]


@dataclass(frozen=True)
class Grants:
    """The knowledge levels that an audit plays through.

    What anybody may assume (independent columns, rows in time order) is granted at every level.

    Parameters
    ----------
    pairs
        Numbers of records that the attacker knows together with their rows.
    sample
        Sizes of a known sample, as shares of the table.
    sample_from
        ``"population"`` withholds the sampled rows from the release (the papers' setting);
        ``"table"`` leaves them in, and does not score them.
    records
        Numbers of records that the attacker knows without their rows.
    ranges
        Whether the attacker knows each column's least and greatest value.
    matrix
        Whether the secret matrix has leaked, for methods that have one.
    """

    pairs: int | Sequence[int] = (1, 5)
    sample: float | Sequence[float] = 0.02
    sample_from: Literal["population", "table"] = "population"
    records: int | Sequence[int] = ()
    ranges: bool = False
    matrix: bool = False

    def __post_init__(self) -> None:
        for name in ("pairs", "records"):
            counts = numbers(getattr(self, name), f"grants: {name}", rule="whole numbers of at least 1, or () for none")
            if any(k < 1 or not k.is_integer() for k in counts):
                raise InputError(
                    f"grants: {name} must be whole numbers of at least 1; leave out 0, it is always played"
                )
            object.__setattr__(self, name, tuple(int(k) for k in counts))
        sample = numbers(self.sample, "grants: sample", rule="shares between 0 and 1, or () for none")
        if any(not 0 < share < 1 for share in sample):
            raise InputError("grants: sample must be a share between 0 and 1, for example 0.02; use () for none")
        if self.sample_from not in ("population", "table"):
            raise InputError("grants: sample_from must be 'population' or 'table'")
        for name in ("ranges", "matrix"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InputError(f"grants: {name} must be True or False; got a {type(getattr(self, name)).__name__}")
        object.__setattr__(self, "sample", tuple(sample))

    def levels(self, n_rows: int) -> list[Level]:
        """Nothing first, then each kind by size; a table too small for one is an error."""
        found = [Level("pairs", k) for k in self.pairs]  # type: ignore[union-attr]
        found += [Level("records", k) for k in self.records]  # type: ignore[union-attr]
        found += [Level("sample", share) for share in self.sample]  # type: ignore[union-attr]
        for level in found:
            wanted = level.size(n_rows)
            if wanted > n_rows - 2:
                raise InputError(
                    f"grants: {level.label} needs {wanted} records and leaves fewer than 2 of {n_rows} to attack; "
                    f"grant less ({level.kind} is the parameter)"
                )
        found += [Level("ranges")] * bool(self.ranges) + [Level("matrix")] * bool(self.matrix)
        return [Level("nothing"), *found]


@dataclass(frozen=True)
class Deal:
    """Knowledge as dealt once: what the attacker gets, which rows stay out of the release, which are not scored."""

    knowledge: tuple[Knowledge, ...]
    withheld: Rows
    given: Rows


def deal(level: Level, truth: Matrix, rng: np.random.Generator, *, sample_from: str) -> Deal:
    """Deal one level's knowledge from the private table. ``given`` counts rows of the release.

    The matrix is not dealt here: it is the release's own.
    """
    none = np.empty(0, dtype=np.intp)
    if level.kind == "ranges":
        return Deal((KnownRanges(np.nanmin(truth, axis=0), np.nanmax(truth, axis=0)), *ASSUMPTIONS), none, none)
    if level.kind in ("nothing", "matrix"):
        return Deal(ASSUMPTIONS, none, none)
    complete = np.flatnonzero(~np.isnan(truth).any(axis=1))
    wanted = level.size(len(truth))
    if len(complete) < wanted:
        raise InputError(f"grants: {level.label} needs {wanted} complete records; the table has {len(complete)}")
    rows = np.sort(rng.choice(complete, size=wanted, replace=False))
    if level.kind == "pairs":
        return Deal((KnownPairs(truth[rows], rows), *ASSUMPTIONS), none, rows)
    if level.kind == "records":
        return Deal((KnownRecords(truth[rng.permutation(rows)]), *ASSUMPTIONS), none, rows)
    sample = KnownSample(truth[rows])
    if sample_from == "population":
        return Deal((sample, *ASSUMPTIONS), rows, none)
    return Deal((sample, KnownRecords(truth[rng.permutation(rows)]), *ASSUMPTIONS), none, rows)


def as_grants(grants: Any) -> Grants:
    """Grants from an object or the defaults."""
    if grants is None:
        return Grants()
    if isinstance(grants, Grants):
        return grants
    raise InputError("grants must be a veil.Grants object")
