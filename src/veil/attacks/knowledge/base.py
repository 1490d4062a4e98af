"""What a kind of knowledge is: it says its own name, reads its own file, and is drawn by its own rule.

A kind of knowledge is one class. It is registered when its module is imported, and from the registry come the options
of ``veil attack`` and ``veil audit``, the keys of a plan's ``[grants]`` and the levels that audits go through.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Matrix, Vector
from veil.errors import InputError
from veil.release.manifest import Part
from veil.release.models import Model, NumberClasses
from veil.release.registry import Register, kebab
from veil.release.release import Release

Rows = npt.NDArray[np.intp]


class Unit(StrEnum):
    """What an amount of knowledge counts."""

    RECORDS = "records"
    """Records of the private table."""
    SHARE = "share"
    """Records, as a share of the private table's."""
    COLUMNS = "columns"
    """Private columns."""
    NONE = "none"
    """Nothing: it is known or it is not."""


class Source(StrEnum):
    """Where the command line takes a kind of knowledge from."""

    FILE = "file"
    FOLDER = "folder"
    FLAG = "flag"
    """From nowhere: it is an assumption."""


@dataclass(frozen=True)
class PrivateTable:
    """The private table as audits hand it to :meth:`Knowledge.grant`; no attack ever sees it.

    Attributes
    ----------
    values
        N × d private values, categories as codes; missing values are NaN.
    columns
        Names of the private columns.
    categorical
        Which columns are codes.
    outside
        The exact columns that an outsider may have: those with the role quasi or public; None where there are none.
    own_sample
        Whether a known sample is of the table's own records, and not of other people.
    groups
        The columns of ``outside`` that say who belongs together.
    """

    values: Matrix
    columns: tuple[str, ...]
    categorical: npt.NDArray[np.bool_]
    outside: pa.Table | None = field(default=None, repr=False)
    own_sample: bool = False
    groups: tuple[str, ...] = ()

    @property
    def complete(self) -> Rows:
        """The records without missing values."""
        return np.flatnonzero(~np.isnan(self.values).any(axis=1))

    def public(self, rows: Rows) -> pa.Table | None:
        """What an outsider may have of some people besides their private values; None where there is nothing."""
        return None if self.outside is None else self.outside.drop_columns(list(self.groups)).take(pa.array(rows))


def no_rows() -> Rows:
    """An empty list of rows."""
    return np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Grant:
    """Knowledge that was drawn from a private table, and what of the table it gives away.

    Attributes
    ----------
    knowledge
        What the attacker gets.
    withheld
        Records that stay out of the release.
    given
        Records of the release that the attacker knows, which are not scored.
    columns
        Private columns that the attacker knows, which are not scored.
    people
        The records whose people an external table is about; None for all of them.
    """

    knowledge: tuple[Knowledge, ...] = ()
    withheld: Rows = field(default_factory=no_rows)
    given: Rows = field(default_factory=no_rows)
    columns: tuple[int, ...] = ()
    people: Rows | None = None

    def with_more(self, other: Grant) -> Grant:
        """Both grants together; what both hold is held once."""
        more = tuple(item for item in other.knowledge if item not in self.knowledge)
        withheld, given = (
            np.union1d(a, b).astype(np.intp) for a, b in ((self.withheld, other.withheld), (self.given, other.given))
        )
        people = self.people if other.people is None else other.people
        return Grant((*more, *self.knowledge), withheld, given, (*self.columns, *other.columns), people)

    def shuffled(self, order: Rows) -> Grant:
        """The same about a release whose rows were shuffled: row i of it was row ``order[i]``."""
        place = np.argsort(order)
        knowledge = tuple(item.shuffled(order) for item in self.knowledge)
        return replace(self, knowledge=knowledge, given=np.sort(place[self.given]))


GROUP = "veil.attacks"
"""Entry points of packages that bring attacks, and kinds of knowledge along with them."""


def _order(name: str, cls: type[Knowledge]) -> tuple[bool, int, str]:
    """Veil's own kinds by rank, then others by name."""
    return not cls.rank, cls.rank, name


KNOWLEDGE: Register[Knowledge] = Register("kind of knowledge", "veil.attacks.knowledge", GROUP, order=_order)
"""Every kind by its option on the command line."""

GRANTABLE: Register[Knowledge] = Register(
    "kind of knowledge", "veil.attacks.knowledge", GROUP, order=_order, parameter="grants"
)
"""The kinds that audits can grant by their short names."""


class Knowledge:
    """Base of everything an attacker may be granted. Its repr tells sizes, not values.

    Class attributes
    ----------------
    kind
        The short name: a parameter of :class:`veil.Grants`, a key of a plan and an option of ``veil audit``. Empty
        where an audit cannot draw it from a private table.
    unit
        What an amount of it counts.
    usual, swept
        The amounts that an audit grants unless told otherwise, and those of a full sweep; ``"d"`` is as many as
        perturbed columns, 0 stands for a kind without amounts.
    along
        Kinds whose smallest level goes along with this one.
    article
        What stands before its label after the word "with": "a", "an", "the", or nothing before a number or a plural.
    noun
        What an amount counts, such as "known records", where several amounts are told together; empty for none.
    rank
        The place of one of Veil's own kinds among the levels of an audit; 0 for others, which come last.
    together
        Whether it is several kinds at once, for attacks that use all of them.
    needs_outside
        Whether only a table that has columns with the role quasi or public can grant it.
    of_key
        Whether it is the owner's secret: an audit takes it from the key, by :meth:`from_key`, and not from the table.
    handed
        Whether an audit is handed the knowledge itself, or its file, and does not draw it from the table.
    audit_help
        What the option of ``veil audit`` says.
    source, file_help
        What ``veil attack`` reads it from, and what its option says; a class without a text has no option.
    other_options
        Other spellings of that option.
    """

    kind: ClassVar[str] = ""
    unit: ClassVar[Unit] = Unit.NONE
    usual: ClassVar[tuple[float | str, ...]] = ()
    swept: ClassVar[tuple[float | str, ...]] = ()
    along: ClassVar[tuple[str, ...]] = ()
    article: ClassVar[str] = ""
    noun: ClassVar[str] = ""
    rank: ClassVar[int] = 0
    together: ClassVar[bool] = False
    needs_outside: ClassVar[bool] = False
    of_key: ClassVar[bool] = False
    handed: ClassVar[bool] = False
    audit_help: ClassVar[str] = ""
    source: ClassVar[Source] = Source.FILE
    file_help: ClassVar[str] = ""
    other_options: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        KNOWLEDGE.add(cls.option(), cls)
        if cls.kind:
            GRANTABLE.add(cls.kind, cls)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.describe()}>"

    @classmethod
    def option(cls) -> str:
        """The option of ``veil attack`` that grants it.

        >>> from veil import KnownPairs
        >>> KnownPairs.option()
        '--known-pairs'
        """
        return "--" + kebab(cls.__name__)

    @classmethod
    def parameter(cls) -> str:
        """The same as a name in Python, of an error and of :class:`veil.KnowledgeFiles`.

        >>> from veil import KnownPairs
        >>> KnownPairs.parameter()
        'known_pairs'
        """
        return kebab(cls.__name__).replace("-", "_")

    def describe(self) -> str:
        """What is known, in a few words."""
        return type(self).__name__

    @property
    def amount(self) -> int:
        """How many records or columns are known; 0 for a kind that has no amount."""
        return 0

    def narrowed(self, at: Sequence[int], d: int) -> Self:
        """What is known of the columns ``at`` among d private ones."""
        return self

    def shuffled(self, order: Rows) -> Self:
        """What is known of the rows of a release, after its row i has become what was row ``order[i]``."""
        return self

    def recoded(self, codes: Mapping[int, Vector]) -> Self:
        """What is known, with the codes of some columns replaced: ``codes[j][old]`` is the new one of column j."""
        return self

    def in_classes(self, names: Sequence[str], classes: Mapping[str, NumberClasses]) -> Self:
        """What is known, with the numbers of some columns as a release in classes has them; ``names``: the columns."""
        return self

    @classmethod
    def from_file(cls, path: Path, release: Release) -> Knowledge:
        """What a file says, in the order and units of the release's private columns."""
        raise InputError(f"{cls.__name__} is not read from a file; use the Python API")

    @classmethod
    def from_key(cls, matrix: Matrix) -> Knowledge:
        """What is known when the secret matrix of a part has leaked."""
        raise InputError(f"{cls.__name__} is not in a key")

    @classmethod
    def label(cls, amount: float) -> str:
        """An amount of it in two or three words, such as "5 known records"."""
        return cls.kind

    @classmethod
    def words(cls, amount: float) -> str:
        """An amount of it in a sentence for a privacy officer."""
        return f"The attacker also has: {cls.label(amount)}."

    @classmethod
    def address(cls) -> int:
        """A number that is this kind's alone, from which its randomness in an audit is addressed."""
        return cls.rank or zlib.crc32(cls.kind.encode())

    @classmethod
    def size(cls, amount: float, n_rows: int) -> int:
        """How many records of a table an amount is; a share is at least two records, a column or a fact none."""
        if cls.unit is Unit.SHARE:
            return max(2, round(amount * n_rows))
        return int(amount) if cls.unit is Unit.RECORDS else 0

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """Draw an amount of it from the private table."""
        raise InputError(f"{cls.__name__} is not drawn from a private table")

    @classmethod
    def obstacle(cls, private: PrivateTable, amount: float) -> str:
        """Why the amount cannot be drawn from a table; empty where it can."""
        needed, complete = cls.size(amount, len(private.values)), len(private.complete)
        return "" if complete >= needed else f"it needs {needed} complete records; the table has {complete}"

    @classmethod
    def gives(cls, *, own_sample: bool) -> tuple[type[Knowledge], ...]:
        """The kinds of knowledge that a grant of it holds."""
        return (cls,)

    @classmethod
    def is_used(cls, used: Collection[type[Knowledge]], *, own_sample: bool) -> bool:
        """Whether an attack that uses such kinds uses this one: any of what it gives, or all of several at once."""
        if cls.together:
            return {*cls.gives(own_sample=False)} <= {*used}
        return bool({*cls.gives(own_sample=own_sample)} & {*used})

    @classmethod
    def idle(cls, model: Model) -> bool:
        """Whether it can tell nothing about people through a model of a perturbation, whoever uses it."""
        return False

    @classmethod
    def known_columns(cls, private: PrivateTable, amount: float) -> tuple[int, ...]:
        """The private columns that the amount gives away of everybody."""
        return ()

    @classmethod
    def draw(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Rows:
        """As many complete records of the table as the amount is, in the order of their rows."""
        n = cls.size(amount, len(private.values))
        return np.sort(rng.choice(private.complete, size=n, replace=False))


def recoded_records(records: Matrix, codes: Mapping[int, Vector]) -> Matrix:
    """Records with the codes of some columns replaced."""
    records = records.copy()
    for j, new in codes.items():
        records[:, j] = new[records[:, j].astype(np.intp)]
    return records


def numbered_records(records: Matrix, names: Sequence[str], classes: Mapping[str, NumberClasses]) -> Matrix:
    """Records of some columns with private numbers as the numbers that their classes are released as."""
    if records.shape[1] != len(names):  # the attack says what is wrong
        return records
    columns = zip(names, records.T, strict=True)
    return np.column_stack([classes[n].numbered(c) if n in classes else c for n, c in columns])


def number_classes(parts: Sequence[Part]) -> dict[str, NumberClasses]:
    """The private columns of numbers that parts of a release report by class."""
    named = [pair for part in parts for pair in zip(part.names, part.model.number_classes(), strict=False)]
    return {name: classes for name, classes in named if classes is not None}


def known_in_classes(release: Release, knowledge: Sequence[Knowledge]) -> tuple[Knowledge, ...]:
    """What an attacker knows, with private numbers as a release in classes has them."""
    classes = number_classes(release.manifest.parts)
    return tuple(item.in_classes(private_names(release), classes) if classes else item for item in knowledge)


def private_names(release: Release) -> tuple[str, ...]:
    """The private columns of all parts of a release."""
    return tuple(name for part in release.manifest.parts for name in part.names)


def counted(n: float, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "known record"), counted(5, "known record")
    ('1 known record', '5 known records')
    """
    return f"{int(n)} {noun}{'' if n == 1 else 's'}"
