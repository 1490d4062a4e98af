"""What the audit grants the attacker: levels of knowledge, dealt from the private table under a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from veil.blocks import Matrix
from veil.errors import InputError
from veil.knowledge import Knowledge, KnownPairs, KnownSample
from veil.parameters import numbers

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Level:
    """One level of knowledge: nothing, some known records, or a sample."""

    kind: Literal["nothing", "pairs", "sample"]
    amount: float = 0

    @property
    def label(self) -> str:
        """The level in a few words.

        >>> Level("pairs", 5).label, Level("sample", 0.02).label
        ('5 known records', '2 % sample')
        """
        if self.kind == "nothing":
            return "nothing"
        if self.kind == "pairs":
            return f"{int(self.amount)} known record{'s' if self.amount != 1 else ''}"
        return f"{self.amount * 100:g} % sample"

    def size(self, n_rows: int) -> int:
        """How many records of a table the level grants; a sample has at least two."""
        return int(self.amount) if self.kind == "pairs" else max(2, round(self.amount * n_rows))

    def serves(self, requires: Sequence[type[Knowledge]]) -> bool:
        """Whether this level grants what an attack requires.

        An attack that requires nothing is played once, with nothing; more knowledge would not change it.
        """
        granted = {"nothing": (), "pairs": (KnownPairs,), "sample": (KnownSample,)}[self.kind]
        return set(requires) <= set(granted) and (self.kind == "nothing" or bool(requires))

    def within(self, upper: Level) -> bool:
        """Whether somebody with the knowledge ``upper`` could also run what needs this."""
        return self.kind == "nothing" or (self.kind == upper.kind and self.amount <= upper.amount)

    @property
    def words(self) -> str:
        """The level in plain words."""
        if self.kind == "nothing":
            return "The attacker has the release and its public description, and knows nobody in it."
        if self.kind == "pairs":
            who = "one person" if self.amount == 1 else f"{int(self.amount)} people"
            return f"The attacker also knows all private values of {who} and which released rows are theirs."
        return (
            f"The attacker also holds {self.amount * 100:g} % as many records of other people from the same population."
        )


@dataclass(frozen=True)
class Grants:
    """The knowledge levels that an audit plays through.

    Parameters
    ----------
    pairs
        Numbers of records that the attacker knows together with their rows.
    sample
        Sizes of a known sample, as shares of the table.
    sample_from
        ``"population"`` withholds the sampled rows from the release (the papers' setting);
        ``"table"`` leaves them in, and does not score them.
    """

    pairs: int | Sequence[int] = (1, 5)
    sample: float | Sequence[float] = 0.02
    sample_from: Literal["population", "table"] = "population"

    def __post_init__(self) -> None:
        pairs = numbers(self.pairs, "grants: pairs", rule="whole numbers of at least 1, or () for none")
        if any(k < 1 or not k.is_integer() for k in pairs):
            raise InputError("grants: pairs must be whole numbers of at least 1; leave out 0, it is always played")
        sample = numbers(self.sample, "grants: sample", rule="shares between 0 and 1, or () for none")
        if any(not 0 < share < 1 for share in sample):
            raise InputError("grants: sample must be a share between 0 and 1, for example 0.02; use () for none")
        if self.sample_from not in ("population", "table"):
            raise InputError("grants: sample_from must be 'population' or 'table'")
        object.__setattr__(self, "pairs", tuple(int(k) for k in pairs))
        object.__setattr__(self, "sample", tuple(sample))

    def levels(self, n_rows: int) -> list[Level]:
        """Nothing first, then pairs and samples by size; a table too small for one is an error."""
        pairs = [Level("pairs", k) for k in self.pairs]  # type: ignore[union-attr]
        samples = [Level("sample", share) for share in self.sample]  # type: ignore[union-attr]
        for level in (*pairs, *samples):
            wanted = level.size(n_rows)
            if wanted > n_rows - 2:
                raise InputError(
                    f"grants: {level.label} needs {wanted} records and leaves fewer than 2 of {n_rows} to attack; "
                    f"grant less ({level.kind} is the parameter)"
                )
        return [Level("nothing"), *pairs, *samples]


@dataclass(frozen=True)
class Deal:
    """Knowledge as dealt once: what the attacker gets, which rows stay out of the release, which are not scored."""

    knowledge: tuple[Knowledge, ...]
    withheld: Rows
    given: Rows


def deal(level: Level, truth: Matrix, rng: np.random.Generator, *, sample_from: str) -> Deal:
    """Deal one level's knowledge from the private table. ``given`` counts rows of the release."""
    none = np.empty(0, dtype=np.intp)
    if level.kind == "nothing":
        return Deal((), none, none)
    complete = np.flatnonzero(~np.isnan(truth).any(axis=1))
    wanted = level.size(len(truth))
    if len(complete) < wanted:
        raise InputError(f"grants: {level.label} needs {wanted} complete records; the table has {len(complete)}")
    rows = np.sort(rng.choice(complete, size=wanted, replace=False))
    if level.kind == "pairs":
        return Deal((KnownPairs(truth[rows], rows),), none, rows)
    sample = KnownSample(truth[rows])
    return Deal((sample,), rows, none) if sample_from == "population" else Deal((sample,), none, rows)


def as_grants(grants: Any) -> Grants:
    """Grants from an object or the defaults."""
    if grants is None:
        return Grants()
    if isinstance(grants, Grants):
        return grants
    raise InputError("grants must be a veil.Grants object")
