"""What attacks find: a guess of the private values, links of people to rows, or who is in the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector
from veil.errors import InputError


class Ambiguity(StrEnum):
    """What an attack could not settle.

    >>> Ambiguity.ORDER_SIGN == "order, sign", Ambiguity.ORDER_SIGN.parts
    (True, ('order', 'sign'))
    """

    NONE = ()
    SIGN = "sign"
    ORDER = "order"
    SCALE = "scale"
    ORDER_SIGN = "order", "sign"
    ORDER_SCALE = "order", "scale"
    ORDER_SIGN_SCALE = "order", "sign", "scale"
    MATCH = "match"
    """Which rows belong to the known records."""
    MATRIX = "matrix"
    """The secret matrix."""

    parts: tuple[str, ...]
    """Each thing that is open, by itself."""

    def __new__(cls, *parts: str) -> Self:
        """The things that are open, together."""
        words = ", ".join(parts) or "none"
        member = str.__new__(cls, words)
        member._value_, member.parts = words, parts
        return member


@dataclass(frozen=True, eq=False)
class Details(Mapping[str, Any]):
    """What an attack found out beside the values; a subclass of each attack names it.

    None stands for what this release, or this setting of the attack, does not tell. Readers that do not know the class
    take it as a mapping.

    >>> @dataclass(frozen=True, eq=False)
    ... class Rank(Details):
    ...     rank: int
    >>> details = Rank(3)
    >>> details.rank, details["rank"], list(details), details.get("misfit", 0.0)
    (3, 3, ['rank'], 0.0)
    """

    def __getitem__(self, name: str) -> Any:
        if name not in self.__dataclass_fields__:
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dataclass_fields__)

    def __len__(self) -> int:
        return len(self.__dataclass_fields__)


class Finding:
    """What an attack found; base of :class:`Guess`, :class:`Links` and :class:`Memberships`.

    ``columns`` names the private columns that were guessed, or those that were compared.
    """

    columns: tuple[str, ...]


@dataclass(frozen=True)
class Guess(Finding):
    """A reconstruction of the private table.

    Attributes
    ----------
    values
        N × d guesses in the private table's units and column order; NaN where the attack says nothing.
    columns
        Names of the private columns.
    rows
        The rows of the release that ``values`` belong to.
    ambiguity
        What the attack could not settle: "none", "sign", "order", "scale", "match", "matrix", ...
    details
        What else the attack found out: :class:`Details` of its own, which reads as a mapping too.
    up_to
        What of the columns is arbitrary ("order", "sign", "scale"): only the owner can match them to the private
        ones, and a score is said to be up to that.
    units
        Where the order is open but the scale is not: what a column is to be multiplied by once it is matched.
    of_people
        Whether ``rows`` are those of an external table, about whose people the guess is, and not rows of the release.
    without
        What the same attack would say of everybody, had a row of the release not been there: a function of these
        rows, one for each guess, −1 for none. None where the guess of a person rests on the person's row alone.
    entangled
        Whether the guess of a person was made with the rows of others who are like that person, so that it does not say
        what would be guessed of them without a row.
    """

    values: Matrix
    columns: tuple[str, ...]
    rows: npt.NDArray[np.intp]
    ambiguity: Ambiguity | str = Ambiguity.NONE
    details: Mapping[str, Any] = field(default_factory=Details, repr=False)
    up_to: tuple[str, ...] = ()
    units: npt.NDArray[np.float64] | None = None
    of_people: bool = False
    without: Callable[[npt.NDArray[np.intp]], Matrix] | None = field(default=None, repr=False, compare=False)
    entangled: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "ambiguity", Ambiguity(self.ambiguity))
        values, rows = np.asarray(self.values), np.asarray(self.rows)
        if values.dtype.kind not in "fiub" or values.shape != (rows.size, len(self.columns)):
            raise InputError(
                f"values of a guess must be numbers, {rows.size} rows × {len(self.columns)} columns; "
                f"got {values.dtype} of shape {values.shape}"
            )
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise InputError(f"rows of a guess must be a list of row numbers; got {rows.dtype} of shape {rows.shape}")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "rows", rows.astype(np.intp, copy=False))

    def __repr__(self) -> str:
        n, d = self.values.shape
        return f"<Guess: {n} records × {d} columns, ambiguity {self.ambiguity}>"

    def of_columns(self, names: Sequence[str]) -> Guess:
        """The guess of the named columns in this order, NaN for those that were not guessed.

        >>> guess = Guess(np.array([[1.0, 2.0]]), ("a", "b"), np.arange(1))
        >>> guess.of_columns(["b", "c"]).values.tolist()
        [[2.0, nan]]
        """
        if tuple(names) == self.columns:
            return self
        at = {name: j for j, name in enumerate(self.columns)}
        values = np.full((len(self.values), len(names)), np.nan)
        units = None if self.units is None else np.ones(len(names))
        for i, name in enumerate(names):
            if name in at:
                values[:, i] = self.values[:, at[name]]
                if units is not None and self.units is not None:
                    units[i] = self.units[at[name]]
        return replace(self, values=values, columns=tuple(names), units=units, without=None).controlled_by(
            self, lambda guess: guess.of_columns(names)
        )

    def controlled_by(self, former: Guess, change: Callable[[Guess], Guess]) -> Guess:
        """This guess, which a change made of a former one, with that one's control changed in the same way."""
        if former.without is None:
            return self
        without = former.without

        def changed(rows: npt.NDArray[np.intp]) -> Matrix:
            return change(replace(former, values=without(rows), without=None)).values

        return replace(self, without=changed)

    @property
    def misfit(self) -> float:
        """By which share the known records miss their rows, where the attack compares the two; else 0."""
        return float(self.details.get("misfit") or 0.0)


@dataclass(frozen=True)
class Links(Finding):
    """Which rows of a release belong to which external records.

    Attributes
    ----------
    rows
        The most probable row of each record; −1 where being in no row is more probable.
    probability
        The posterior probability of that link; NaN for nearest neighbours, which have none. Its mean is the share of
        right links that the attacker expects.
    present
        The posterior probability that the person is in the release at all.
    columns
        The columns that were compared.
    """

    rows: npt.NDArray[np.intp]
    probability: Vector
    present: Vector
    columns: tuple[str, ...]

    @property
    def n_linked(self) -> int:
        """How many records were linked to a row."""
        return int((self.rows >= 0).sum())

    def __repr__(self) -> str:
        return f"<Links: {self.n_linked} of {len(self.rows)} records by {len(self.columns)} columns>"


@dataclass(frozen=True)
class Memberships(Finding):
    """Who seems to be in a table, by its release.

    Attributes
    ----------
    scores
        For each person the logarithm of the odds of being in the table, as likely as not before the release was seen.
    columns
        The columns that were compared.
    """

    scores: Vector
    columns: tuple[str, ...]

    @property
    def probability(self) -> Vector:
        """The probability of being in the table."""
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(self.scores, -700.0, 700.0))))

    def __repr__(self) -> str:
        return f"<Memberships: {len(self.scores)} people by {len(self.columns)} columns>"
