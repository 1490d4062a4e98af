"""What every attack is: it sees a release and granted knowledge, and returns a guess.

Attack code never sees the private table, not even to pick a sign or an order, and an import
contract keeps keys and audits out of its reach.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from veil.arguments import choice
from veil.attacks.findings import Ambiguity, Details, Finding, Guess, Links, Memberships
from veil.attacks.knowledge import Knowledge
from veil.attacks.knowledge.base import GROUP, known_in_classes
from veil.data.blas import one_blas_thread
from veil.data.blocks import Matrix
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError, VeilError
from veil.release.models import Model
from veil.release.models.linear import Dithered
from veil.release.registry import Register, is_own, kebab
from veil.release.release import Release

__all__ = [
    "ATTACKS",
    "Ambiguity",
    "Attack",
    "Details",
    "Finding",
    "Guess",
    "GuessingAttack",
    "Links",
    "Memberships",
    "catalogue_place",
    "check_rows",
    "check_width",
    "full_guess",
    "granted",
    "needed",
    "on_grid",
]

COARSE_GRAIN = 0.2
"""Of a column's unit: from here on a guess within a tenth of it is nearest to its own grid point."""

K = TypeVar("K", bound=Knowledge)


def catalogue_place(name: str, cls: type[Attack]) -> tuple[bool, int, str]:
    """Where an attack stands in lists and reports: Veil's own by catalogue id (A1, A2, …, A10), then others by name."""
    digits = cls.catalogue.removeprefix("A")
    return not cls.__module__.startswith("veil."), int(digits) if digits.isdecimal() else 0, name


ATTACKS: Register[Attack] = Register("attack", "veil.attacks", GROUP, order=catalogue_place, parameter="attack")
"""All attacks by their names on the command line.

>>> list(ATTACKS)[:2]
['noise-distribution-attack', 'univariate-bayes-attack']
"""


_LOOKED_AT: ContextVar[set[type[Knowledge]] | None] = ContextVar("looked_at", default=None)
"""The kinds of knowledge that the attack now running has looked at."""


class Attack(ABC):
    """Base of all attacks. A subclass states its model, knowledge and reference in its docstring.

    Class attributes
    ----------------
    catalogue
        The attack's id.
    requires
        Kinds of knowledge without which it cannot run.
    uses
        Kinds of knowledge that it uses when they are granted.
    one_matrix
        Whether it estimates one matrix for the whole release, so that its guesses fail or succeed
        together and its interval must be taken over repetitions.
    whole_release
        Whether it looks at all parts of a release at once, and at the public columns, and not at one perturbation.
    guesses_people
        Whether it can guess the people of an external table, whoever's rows are in the release.
    needs_public
        Whether it reads nothing but public columns against the rest, so that audits of releases without any leave it
        out.
    needs_groups
        Whether it compares groups (households), so that audits without a column of them leave it out.
    blind
        Whether it needs no description of the method; an audit runs it where there is none.
    variants
        Names of its variants; the first is the default.
    words
        What it does, for a privacy officer; goes after "The attack ...".
    settings_to_try
        Settings, beside the defaults, in which an audit runs it as well.
    """

    catalogue: ClassVar[str]
    requires: ClassVar[tuple[type[Knowledge], ...]] = ()
    uses: ClassVar[tuple[type[Knowledge], ...]] = ()
    one_matrix: ClassVar[bool] = False
    whole_release: ClassVar[bool] = False
    guesses_people: ClassVar[bool] = False
    needs_public: ClassVar[bool] = False
    needs_groups: ClassVar[bool] = False
    blind: ClassVar[bool] = False
    variants: ClassVar[tuple[str, ...]] = ("best",)
    words: ClassVar[str]
    settings_to_try: ClassVar[tuple[dict[str, Any], ...]] = ()

    def __init__(self, *, variant: str = "best") -> None:
        self.variant = variant

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "catalogue" not in vars(cls):  # a base of several attacks
            return
        if not getattr(cls, "words", ""):
            raise InputError(f"{cls.__name__}: words must say what the attack does, after 'The attack ...'")
        ATTACKS.add(cls.attack_name(), cls)

    @classmethod
    def attack_name(cls) -> str:
        """The name on the command line and in reports.

        >>> from veil import KnownPairsAttack
        >>> KnownPairsAttack.attack_name()
        'known-pairs-attack'
        """
        return kebab(cls.__name__)

    @property
    def label(self) -> str:
        """Name and the settings that are not the default's, so that two of one kind can be told apart."""
        settings = [f"{name} {value}" for name, value in self._settings().items()]
        return f"{self.attack_name()} ({', '.join(settings)})" if settings else self.attack_name()

    def address(self) -> list[Any]:
        """The same as values, by which audits remember what it did."""
        return [self.attack_name(), self._settings()]

    def _settings(self) -> dict[str, Any]:
        defaults = inspect.signature(type(self)).parameters
        return {
            name: getattr(self, name)
            for name, parameter in defaults.items()
            if getattr(self, name) != parameter.default
        }

    @classmethod
    @abstractmethod
    def applies_to(cls, model: Model) -> bool:
        """Whether the attack has a theory for this model of a perturbation."""

    @abstractmethod
    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Finding:
        """Find out what the attack is after."""

    def run(self, release: Release, *knowledge: Knowledge) -> Finding:
        """Attack a release with what is known.

        Raises
        ------
        MissingKnowledgeError
            When a required kind of knowledge was not granted.
        NotApplicableError
            When the attack has no theory for this kind of release.
        """
        knowledge = self._checked(release, knowledge)
        # Attacks work on small matrices, for which more threads cost more than they bring.
        with one_blas_thread():
            return self._run(release, knowledge) if is_own(type(self)) else self._run_foreign(release, knowledge)

    def run_noting(self, release: Release, *knowledge: Knowledge) -> tuple[Finding, frozenset[type[Knowledge]]]:
        """Attack a release, and say which kinds of knowledge the attack looked at."""
        looked_at: set[type[Knowledge]] = set()
        token = _LOOKED_AT.set(looked_at)
        try:
            finding = self.run(release, *knowledge)
        finally:
            _LOOKED_AT.reset(token)
        return finding, frozenset(looked_at | {*self.requires})

    def _run_foreign(self, release: Release, knowledge: Sequence[Knowledge]) -> Finding:
        """Run an attack of another package: what it raises is one line that names it, and its rows are looked at."""
        try:
            finding = self._run(release, knowledge)
        except (NotImplementedError, VeilError):
            raise
        except (Exception, SystemExit) as error:
            # What it says could quote a cell, so only its type is shown.
            where = type(self).__module__
            raise InputError(f"{self.attack_name()} of {where} failed ({type(error).__name__}); mend it") from error
        if isinstance(finding, Guess):
            rows, n_rows = finding.rows, release.table.n_rows
            outside = rows.size and (rows.min() < 0 or (n_rows is not None and rows.max() >= n_rows))
            if outside or np.unique(rows).size < rows.size:
                raise InputError(f"{self.attack_name()}: rows of its guess must be rows of the release, each once")
        return finding

    def _checked(self, release: Release, knowledge: Sequence[Knowledge]) -> tuple[Knowledge, ...]:
        """What is known, as the attack takes it: numbers of columns that are reported by class as their classes.

        What is no release, has no theory here, or lacks knowledge that is needed is refused.
        """
        if not isinstance(release, Release):
            raise InputError(f"{type(self).__name__} attacks a release; got a {type(release).__name__}")
        for item in knowledge:
            if not isinstance(item, Knowledge):
                raise InputError(
                    f"{type(self).__name__} takes a release and knowledge objects (KnownPairs, KnownSample, ...); "
                    f"got a {type(item).__name__}"
                )
        choice(self.variant, "variant", self.variants)
        parts = release.manifest.parts if self.whole_release else (release.only_part,)
        if not any(self.applies_to(part.model) for part in parts):
            raise NotApplicableError(f"{type(self).__name__} has no theory for the method {release.manifest.method}")
        for needed in self.requires:
            if granted(knowledge, needed) is None:
                raise MissingKnowledgeError(
                    f"{type(self).__name__} needs {needed.__name__}; pass it to run()", parameter=needed.parameter()
                )
        return known_in_classes(release, knowledge)

    def __repr__(self) -> str:
        return f"<{self.label}>"


class GuessingAttack(Attack):
    """An attack that guesses private values."""

    @abstractmethod
    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        """Guess the private values."""

    def run(self, release: Release, *knowledge: Knowledge) -> Guess:
        """Attack a release with what is known: a guess of the private values; see :meth:`Attack.run`."""
        guess = super().run(release, *knowledge)
        if not isinstance(guess, Guess):
            raise TypeError(f"{type(self).__name__}._run must return a Guess; got a {type(guess).__name__}")
        return guess

    def settled(self, guess: Guess) -> GuessingAttack:
        """The same attack with all that it chose for a guess, so that another release is its control."""
        return self


def granted(knowledge: Sequence[Knowledge], kind: type[K]) -> K | None:
    """The granted knowledge of one kind, if any."""
    for item in knowledge:
        if isinstance(item, kind):
            if (looked_at := _LOOKED_AT.get()) is not None:
                looked_at.add(type(item))
            return item
    return None


def needed(knowledge: Sequence[Knowledge], kind: type[K]) -> K:
    """The granted knowledge of a kind that the attack requires."""
    item = granted(knowledge, kind)
    if item is None:
        raise MissingKnowledgeError(f"{kind.__name__} was not granted")
    return item


def check_width(records: Matrix, release: Release, parameter: str) -> None:
    """Refuse knowledge with another number of columns than the private table."""
    d = len(release.only_part.names)
    if records.shape[1] != d:
        raise InputError(f"{parameter} has {records.shape[1]} columns; the private table has {d} perturbed ones")


def check_rows(rows: npt.NDArray[np.intp], n_rows: int) -> None:
    """Refuse known records without rows of the release."""
    if not len(rows) or rows.max() >= n_rows:
        raise InputError(
            f"KnownPairs.rows must be rows of the release, from 0 to {n_rows - 1}; "
            + ("none was given" if not len(rows) else f"{int((rows >= n_rows).sum())} are beyond")
        )


def on_grid(model: Model, values: Matrix) -> Matrix:
    """Guesses of columns that were dithered by a coarse grain (over 0.2 deviations), as values that they can have."""
    if not isinstance(model, Dithered) or model.dither is None:
        return values
    dither = model.dither
    coarse = dither.columns[(dither.grain > COARSE_GRAIN * model.unit)[dither.columns]]
    return np.ascontiguousarray(dither.restored(np.array(values.T), coarse).T)


def full_guess(
    release: Release,
    values: Matrix,
    details: Mapping[str, Any] | None = None,
    *,
    ambiguity: Ambiguity | str = Ambiguity.NONE,
    up_to: tuple[str, ...] = (),
    units: npt.NDArray[np.float64] | None = None,
) -> Guess:
    """A guess for every row of the release; values that were dithered are on their grid where columns are settled."""
    details = Details() if details is None else details
    if ambiguity == Ambiguity.NONE:
        values = on_grid(release.only_part.model, values)
    return Guess(values, release.only_part.names, np.arange(len(values)), ambiguity, details, up_to, units)
