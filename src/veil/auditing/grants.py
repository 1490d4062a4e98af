"""What the audit grants the attacker: levels of knowledge, drawn from the private table under a seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from veil.arguments import choice, flag, numbers
from veil.attacks.knowledge import ASSUMPTIONS, Knowledge, PublishedResults, Unit, grantable
from veil.errors import InputError
from veil.report import values

NOTHING = "nothing"
"""The kind of the level at which the attacker has the release alone."""
ALL_COLUMNS = "d"
"""Stands for as many known records as there are perturbed columns: what a linear map is solved with."""


@dataclass(frozen=True)
class Level:
    """One level of knowledge: nothing, or an amount of one of the kinds that an audit can grant."""

    kind: str
    amount: float = 0

    @property
    def knowledge(self) -> type[Knowledge]:
        """The class of what is known; that of all knowledge where it is nothing."""
        return Knowledge if self.kind == NOTHING else grantable()[self.kind]

    @property
    def label(self) -> str:
        """The level in a few words.

        >>> Level("pairs", 5).label, Level("sample", 0.02).label, Level("matrix").label
        ('5 known records', '2 % sample', 'disclosed matrix')
        """
        return NOTHING if self.kind == NOTHING else self.knowledge.label(self.amount)

    @property
    def article(self) -> str:
        """What stands before the label in a sentence: "a", "an", "the", or nothing."""
        return self.knowledge.article

    @property
    def words(self) -> str:
        """The level in plain words."""
        if self.kind == NOTHING:
            return "The attacker has the release and its public description, and knows nobody in it."
        return self.knowledge.words(self.amount)

    @property
    def view(self) -> values.KnowledgeView:
        """The level as reports have it."""
        unit, noun = values.Unit(self.knowledge.unit), self.knowledge.noun
        return values.KnowledgeView(self.kind, self.amount, unit, self.label, self.article, noun)

    def size(self, n_rows: int) -> int:
        """How many records of a table the level grants; a sample has at least two."""
        return self.knowledge.size(self.amount, n_rows)

    def serves(
        self,
        requires: Sequence[type[Knowledge]],
        uses: Sequence[type[Knowledge]] = (),
        *,
        records: bool = False,
        always: Sequence[type[Knowledge]] = (),
    ) -> bool:
        """Whether an attack is to be run at this level: it has what it requires, and knows more than with nothing.

        What anybody may assume counts as granted, and what is known ``always``; an attack that the level's own
        knowledge does not change is run once, with nothing. ``records`` says that a sample comes from the table, so
        that its records are known.
        """
        own = set() if self.kind == NOTHING else {*self.knowledge.gives(own_sample=records)}
        free = {*(type(item) for item in ASSUMPTIONS), *always}
        if not set(requires) <= own | free:
            return False
        return self.kind == NOTHING or self.knowledge.is_used({*requires, *uses}, own_sample=records)

    def within(self, upper: Level) -> bool:
        """Whether somebody with the knowledge ``upper`` could also run what needs this."""
        return self.kind == NOTHING or (self.kind == upper.kind and self.amount <= upper.amount)


Swept = Literal["sweep"]
"""What stands for a kind that is not mentioned: the amounts of the sweep."""
SWEEP: Swept = "sweep"


def in_order(granted: Sequence[Level], others: Iterable[Level]) -> list[Level]:
    """Levels that were granted, and others before the next larger amount of their kind.

    >>> granted = [Level("nothing"), Level("pairs", 1), Level("pairs", 9), Level("sample", 0.1)]
    >>> [level.label for level in in_order(granted, [Level("pairs", 5), Level("pairs", 3)])]
    ['nothing', '1 known record', '3 known records', '5 known records', '9 known records', '10 % sample']
    """
    levels = [*granted]
    for level in sorted({*others} - {*granted}, key=lambda level: (level.kind, level.amount)):
        larger = (i for i, upper in enumerate(levels) if upper.kind == level.kind and upper.amount > level.amount)
        levels.insert(next(larger, len(levels)), level)
    return levels


@dataclass(frozen=True, init=False)
class Grants:
    """The knowledge levels that an audit goes through: a sweep over every kind of knowledge, changed where you say so.

    A kind that is not mentioned takes the sweep's amounts, as far as the table is large enough; a kind that is
    mentioned has those amounts, which must fit, or none with ``()`` and ``False``. A plan's ``[grants]`` and the
    options of ``veil audit`` mean the same. :meth:`only` grants nothing but what it is given. What anybody may assume
    (independent columns, rows in time order) is granted at every level, and the release alone is always run.

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
        Whether the attacker holds the exact ``quasi`` columns and those released unchanged of everybody, where there
        are such columns.
    matrix
        Whether the secret matrix has leaked, for methods that have one.
    results
        Published results (rules, trees, cluster centres), or the name of their file; with the exact ``quasi`` and
        ``public`` columns of everybody.
    fitting
        Leave out levels of the sweep that a table is too small for; False makes them an error.
    others
        Amounts of the kinds of knowledge that other packages bring, by their names.

    Examples
    --------
    >>> [level.label for level in Grants().levels(1_000, 7)][:5]
    ['nothing', '1 known record', '2 known records', '5 known records', '7 known records']
    >>> [level.label for level in Grants(pairs=3, sample=()).levels(1_000, 7)]
    ['nothing', '3 known records', '1 known column', 'column ranges', 'disclosed matrix']
    >>> [level.label for level in Grants.only(pairs=3).levels(1_000, 7)]
    ['nothing', '3 known records']
    """

    pairs: int | str | Sequence[int | str]
    sample: float | Sequence[float]
    sample_from: Literal["population", "table"]
    records: int | Sequence[int]
    attributes: int | Sequence[int]
    ranges: bool
    external: bool
    matrix: bool
    results: PublishedResults | str | Path | bool
    fitting: bool
    _others: Mapping[str, Any] = field(hash=False, repr=False)
    _asked_for: frozenset[str] = field(repr=False, compare=False)

    def __init__(
        self,
        pairs: int | str | Sequence[int | str] = SWEEP,
        sample: float | Sequence[float] | Swept = SWEEP,
        sample_from: Literal["population", "table"] = "population",
        records: int | Sequence[int] | Swept = SWEEP,
        attributes: int | Sequence[int] | Swept = SWEEP,
        ranges: bool | Swept = SWEEP,
        external: bool | Swept = SWEEP,
        matrix: bool | Swept = SWEEP,
        results: PublishedResults | str | Path | bool = SWEEP,
        fitting: bool = True,
        **others: Any,
    ) -> None:
        own: dict[str, Any] = {"pairs": pairs, "sample": sample, "records": records, "attributes": attributes}
        own |= {"ranges": ranges, "external": external, "matrix": matrix, "results": results}
        kinds = grantable()
        for name in others:
            if name not in kinds:
                raise InputError.from_unknown_name("kind of knowledge of grants", name, kinds)
        asked = {kind: value for kind, value in {**own, **others}.items() if not _is_swept(value)}
        amounts = {
            kind: _checked(cls, asked[kind] if kind in asked else _as_setting(cls, cls.swept or cls.usual))
            for kind, cls in kinds.items()
        }
        choice(sample_from, "grants: sample_from", ("population", "table"), parameter="sample_from")
        flag(fitting, "grants: fitting", parameter="fitting")
        values: dict[str, Any] = {kind: amounts.pop(kind) for kind in own}
        values |= {"sample_from": sample_from, "fitting": fitting, "_others": amounts, "_asked_for": frozenset(asked)}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def only(cls, **settings: Any) -> Grants:
        """Grants of nothing but the release alone and what ``settings`` name.

        >>> Grants.only(sample=0.1, sample_from="table").sample
        (0.1,)
        """
        none = {kind: _as_setting(each, ()) for kind, each in grantable().items()}
        return cls(**{**none, **settings})

    @classmethod
    def sweep(cls, **settings: Any) -> Grants:
        """The grants that audits have by default, with ``settings`` in place of parts: ``Grants(**settings)``."""
        return cls(**settings)

    def replaced(self, **settings: Any) -> Grants:
        """These grants with other settings, by their names; a kind that is named here is asked for.

        >>> Grants().replaced(pairs=3).pairs
        (3,)
        """
        return self._with(settings, self._asked_for | (settings.keys() & grantable().keys()))

    def adapted(self, **settings: Any) -> Grants:
        """These grants with settings that fit a release; nothing is asked for by it."""
        return self._with(settings, self._asked_for)

    def limited_to(self, *kinds: str) -> Grants:
        """These grants of some kinds alone."""
        return self.adapted(**{kind: _as_setting(cls, ()) for kind, cls in grantable().items() if kind not in kinds})

    def _with(self, settings: Mapping[str, Any], asked_for: frozenset[str]) -> Grants:
        own = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        grants = Grants(**{**own, **self._others, **settings})
        object.__setattr__(grants, "_asked_for", asked_for)
        return grants

    def with_offset(self, n_columns: int) -> Grants:
        """These grants for a map that nobody described: it has an offset, and takes two records more than columns."""
        pairs = self.pairs if isinstance(self.pairs, tuple) else ()
        if self.asks_for("pairs") or ALL_COLUMNS not in pairs:
            return self
        return self.adapted(pairs=(*pairs, n_columns + 2))

    def must_fit(self, level: Level) -> bool:
        """Whether a level that a table does not allow is an error, and not left out."""
        return self.asks_for(level.kind)

    def asks_for(self, kind: str) -> bool:
        """Whether a kind was named by the owner, and is not merely part of a sweep."""
        return not self.fitting or kind in self._asked_for

    def __getitem__(self, kind: str) -> Any:
        """What is granted of a kind, also of one that another package brings: amounts, or whether it is."""
        return self._others[kind] if kind in self._others else getattr(self, kind)

    def amounts(self, kind: str, n_columns: int) -> list[float]:
        """The amounts of one kind, rising; those of a kind that has none are 0 where it is granted."""
        value = self[kind]
        if isinstance(value, bool | Knowledge):
            return [0] if value is not False else []
        return sorted({n_columns if amount == ALL_COLUMNS else amount for amount in value})

    def handed(self, kind: str) -> PublishedResults | None:
        """The knowledge of a kind that is handed over, and not drawn."""
        value = None if kind == NOTHING else self[kind]
        return value if isinstance(value, PublishedResults) else None

    def levels(self, n_rows: int, n_columns: int, *, quasi: bool = False) -> list[Level]:
        """Nothing first, then each kind by size; a table too small for one is an error unless ``fitting``.

        ``quasi`` says that the table has columns with the role quasi or public.
        """
        levels = [Level(NOTHING)]
        for level in self._asked(n_columns):
            if level.knowledge.needs_outside and not quasi:
                continue
            obstacle = _too_large(level, n_rows, n_columns)
            if not obstacle:
                levels.append(level)
            elif self.must_fit(level):
                raise InputError(f"grants: {obstacle}; grant less ({level.kind} is the parameter)")
        return levels

    def too_large(self, n_rows: int, n_columns: int) -> list[str]:
        """The levels that a table is too small for, in words."""
        counts = {Unit.COLUMNS: f"{n_columns} that are perturbed"}
        return [
            f"{level.label}: the table has {counts.get(level.knowledge.unit, f'{n_rows} records')}"
            for level in self._asked(n_columns)
            if _too_large(level, n_rows, n_columns)
        ]

    def _asked(self, n_columns: int) -> list[Level]:
        return [Level(kind, amount) for kind in grantable() for amount in self.amounts(kind, n_columns)]


def _is_swept(value: Any) -> bool:
    return isinstance(value, str) and value == SWEEP


def _as_setting(cls: type[Knowledge], amounts: tuple[float | str, ...]) -> Any:
    """Amounts as they are given to :class:`Grants`: a flag for a kind that has none."""
    return bool(amounts) if cls.unit is Unit.NONE else amounts


def _too_large(level: Level, n_rows: int, n_columns: int) -> str:
    """Why a table is too small for a level; empty where it is not."""
    if level.knowledge.unit is Unit.COLUMNS and level.amount >= n_columns:
        return f"{level.label} leave none of {n_columns} columns to guess"
    needed = level.size(n_rows)
    if needed > n_rows - 2:
        return f"{level.label} needs {needed} records and leaves fewer than 2 of {n_rows} to attack"
    return ""


def _checked(cls: type[Knowledge], value: Any) -> Knowledge | bool | tuple[float | str, ...]:
    """The amounts of one kind, checked by its unit, or knowledge that is handed over."""
    name = f"grants: {cls.kind}"
    if issubclass(cls, PublishedResults):
        return cls.as_handed(value, name) or False
    if cls.unit is Unit.NONE:
        return flag(value, name, parameter=cls.kind)
    if cls.unit is Unit.SHARE:
        shares = numbers(value, name, rule="shares between 0 and 1, or () for none", parameter=cls.kind)
        if any(not 0 < share < 1 for share in shares):
            raise InputError(f"{name} must be a share between 0 and 1, for example 0.02; use () for none")
        return tuple(shares)
    given = [value] if isinstance(value, str) else value
    whole_table = ALL_COLUMNS in cls.swept and isinstance(given, Sequence) and ALL_COLUMNS in given
    rule = "whole numbers of at least 1, or () for none" + (f', or "{ALL_COLUMNS}"' if ALL_COLUMNS in cls.swept else "")
    counts = numbers(
        [k for k in given if k != ALL_COLUMNS] if whole_table else given, name, rule=rule, parameter=cls.kind
    )
    if any(k < 1 or not k.is_integer() for k in counts):
        raise InputError(f"{name} must be whole numbers of at least 1; leave out 0, it is always run")
    return (*(int(k) for k in counts), *((ALL_COLUMNS,) if whole_table else ()))


def as_grants(grants: Any) -> Grants:
    """Grants from an object, or the whole sweep."""
    if grants is None:
        return Grants()
    if isinstance(grants, Grants):
        return grants
    raise InputError("grants must be a veil.Grants object")
