"""The values of a report: states, risks, levels of knowledge, attacks, and numbers with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How the goals fare against an attack, or against every attack with one level of knowledge."""

    HOLDS = "holds"
    BREAKS = "breaks"
    UNPROVEN = "unproven"
    NO_ATTACK = "no attack"
    NOT_TESTED = "not tested"
    """No attack used the knowledge."""
    OUT_OF_TIME = "out of time"
    """No attack that would use the knowledge was run in the time there was."""
    NOT_COUNTED = "not counted"


class Over(StrEnum):
    """What an advantage is counted over: the same attacker with the person absent, or the best constant guess."""

    ABSENT = "absent"
    CONSTANT = "constant"


class Risk(StrEnum):
    """The three risks that regulators ask about.

    Singling out: whole records come back. Linkability: people of another table are found. Inference: single values are
    guessed.
    """

    SINGLING_OUT = "singling out"
    LINKABILITY = "linkability"
    INFERENCE = "inference"


class Scored(StrEnum):
    """What a score counts: all values, whole records, people linked to rows, one column, far-out values, or the largest
    values of one column."""

    VALUES = "values"
    RECORDS = "records"
    LINKS = "links"
    COLUMN = "column"
    FAR_OUT = "far-out values"
    LARGEST = "largest values"


OF_COLUMNS = (Scored.COLUMN, Scored.LARGEST)
"""What is scored for every column by itself."""


class Unmeasured(StrEnum):
    """Why a risk was not measured.

    No attack bears on it; the time was over; the attacker is granted no other table, for want of columns that it could
    share with the release or by the owner's wish; or nobody knows whose row is whose.
    """

    NO_ATTACK = "no attack"
    OUT_OF_TIME = "out of time"
    NO_TABLE = "no external table"
    UNMATCHED = "unmatched rows"


class AdviceState(StrEnum):
    """What advice comes to: a method, none that was tried, or no answer in the time that there was."""

    RECOMMENDED = "recommended"
    IMPOSSIBLE = "impossible"
    OUT_OF_TIME = "out of time"


class CopyKind(StrEnum):
    """How private records lie in a release: whole, in most of what they tell, nearly, or in other units."""

    WHOLE = "whole"
    MOST = "most"
    NEAR = "near"
    OTHER_UNITS = "other units"


class Edition(StrEnum):
    """For whom a report is: the internal edition holds single records."""

    EXTERNAL = "external"
    INTERNAL = "internal"


class Matching(StrEnum):
    """How released rows were matched to private ones."""

    KNOWN = "known"
    INFERRED = "inferred"


class Unit(StrEnum):
    """What an amount of knowledge counts: records, a share of them, columns, or nothing."""

    RECORDS = "records"
    SHARE = "share"
    COLUMNS = "columns"
    NONE = "none"


@dataclass(frozen=True)
class KnowledgeView:
    """A level of knowledge: its kind, how much of it, both in a few words, and the article before them in a text.

    ``noun`` is what the amount counts, such as "known records"; empty where several amounts have no name together.
    """

    kind: str
    amount: float
    unit: Unit
    label: str
    article: str = ""
    noun: str = ""


@dataclass(frozen=True)
class AttackView:
    """An attack and, where a release has several parts, the methods of those that it was on.

    >>> AttackView("pca-attack", ("additive-noise",)).name, AttackView("pca-attack", ("a", "b")).name
    ('pca-attack on additive-noise', 'pca-attack on 2 parts together')
    """

    label: str
    target: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The attack and its target in a few words."""
        if not self.target:
            return self.label
        return f"{self.label} on {self.target[0] if len(self.target) == 1 else f'{len(self.target)} parts together'}"


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class RocView:
    """How well people in a table are told from others: the area under the ROC curve, and the advantage TPR − FPR."""

    area: Estimate
    advantage: Estimate


@dataclass(frozen=True)
class ScoreView:
    """A rate of breaches, and what the same attacker gets of people absent from the release, and a constant guess.

    ``advantage`` is what the goals are held against, ``taught`` the advantage over the constant guess.
    """

    rate: Estimate
    control: float
    baseline: float
    advantage: Estimate
    taught: Estimate
