"""The report as data: frozen, frame-free, and already cut down to its edition.

Renderers read only this. What is not in the model cannot leak through a renderer: the
external edition holds rates, intervals, binned counts with small cells suppressed and the
names of columns, and nothing about single records.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from veil.report.failures import Failure, TooFewRecords, UntestedKnowledge, Verdict
from veil.report.remarks import GroupSizes, OrderTest, PublicColumns, ReleasedKeys
from veil.report.values import (
    AdviceState,
    AttackView,
    Edition,
    Estimate,
    KnowledgeView,
    Matching,
    Over,
    Risk,
    RocView,
    Scored,
    ScoreView,
    State,
    Unmeasured,
)

MODEL_VERSION = 8


@dataclass(frozen=True)
class Picture:
    """Counts of (original, guess) in bins of standard units, small cells suppressed."""

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    n_values: int
    n_suppressed: int
    n_outside: int


@dataclass(frozen=True)
class RowView:
    """One attack with one level of knowledge.

    ``ambiguity`` is what the attack could not settle ("none", "sign", ...), ``up_to`` what of the columns is arbitrary
    and was matched by the judge: where that is the scale, the guess states no values and is not counted. ``scored`` is
    what the ``advantage`` is on, the higher one of values and records, and ``part`` the columns that the attack guesses
    where it is on one part of a release. ``tested`` says that the attack used the knowledge. ``largest`` is the score
    on the largest values of the column of which it tells most.
    """

    attack: AttackView
    catalogue: str
    attack_words: str
    knowledge: KnowledgeView
    value: ScoreView
    record: ScoreView
    worst_column: str
    column: ScoreView
    far_out: ScoreView | None
    nrmse: float
    advantage: Estimate
    ambiguity: str
    up_to: tuple[str, ...]
    repetitions: int
    state: State
    failures: tuple[Failure, ...]
    scored: Scored = Scored.VALUES
    part: tuple[str, ...] = ()
    tested: bool = True
    largest_column: str = ""
    largest: ScoreView | None = None

    @property
    def passed(self) -> bool:
        """Whether every goal holds against this attack."""
        return not self.failures

    @property
    def main(self) -> ScoreView:
        """The score that the advantage is of."""
        return self.record if self.scored == Scored.RECORDS else self.value


@dataclass(frozen=True)
class LevelView:
    """A knowledge level and the strongest attack with it or less (None: no attack used it).

    ``state`` says how the goals fare; it is "not counted" where the owner set no goal against this knowledge. ``upper``
    is the highest upper limit of an advantage, which is what the goal is held against. ``score`` is that of the
    strongest attack. ``searched`` says that the level was not granted: an audit searched for the least that breaks.
    """

    knowledge: KnowledgeView
    words: str
    strongest: AttackView | None
    advantage: Estimate | None
    upper: float | None
    state: State
    score: ScoreView | None = None
    searched: bool = False


@dataclass(frozen=True)
class BreakView:
    """The least knowledge of one kind with which a goal is shown to break, and the attack that does it."""

    knowledge: KnowledgeView
    attack: AttackView


@dataclass(frozen=True)
class RiskView:
    """One of the three risks that regulators ask about, at the strongest attack that bears on it.

    ``part`` are the columns that the attack guesses where it is on one part of a release. Where nothing was measured,
    ``unmeasured`` says why.
    """

    risk: Risk
    attack: AttackView | None
    knowledge: KnowledgeView | None
    score: ScoreView | None
    unmeasured: Unmeasured | None = None
    part: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnView:
    """The highest advantage on one column, and the attack and knowledge that reach it."""

    name: str
    score: ScoreView
    attack: AttackView
    knowledge: KnowledgeView


@dataclass(frozen=True)
class LargestView:
    """What an attack tells of the ``n`` largest values of a column, within the rule's share of each.

    ``most`` is the goal (None for none). ``first`` is how often the largest guess is of the largest value: that is
    about a single record, and None in the external edition.
    """

    name: str
    n: int
    score: ScoreView
    attack: AttackView
    knowledge: KnowledgeView
    most: float | None
    first: float | None = None


@dataclass(frozen=True)
class MembershipView:
    """What an attack tells about who is in the table, with people's records (``alone``) and for who knows all others.

    ``alone`` is None where it was not measured, and ``reason`` says why; ``all_but_one`` also where nobody knows whose
    row is whose. ``counted`` says that a goal is set on it.
    """

    attack: AttackView
    alone: RocView | None
    all_but_one: RocView | None
    n_members: int
    n_strangers: int
    counted: bool
    reason: str = ""


@dataclass(frozen=True)
class NotRunView:
    """An attack that has a theory for the method and could not run with some knowledge, and why."""

    attack: AttackView
    knowledge: tuple[KnowledgeView, ...]
    reason: str


@dataclass(frozen=True)
class TimingView:
    """How long an attack took, in seconds per run: the one part of a report that differs from audit to audit."""

    candidate: str
    attack: AttackView
    knowledge: KnowledgeView
    seconds: float


@dataclass(frozen=True)
class CandidateView:
    """One perturbation: verdict, strongest attack, curve over knowledge, utility, all rows.

    ``breaks`` is the least knowledge of each kind that breaks a goal, ``risks`` the three that regulators ask about,
    ``columns`` every scored column, the most exposed first. ``untested`` is the knowledge that no attack used, and
    ``too_few`` the columns that the records are too few for. ``membership`` is what is told about who is in the table,
    ``keys`` how many records are alone with the keys that are released, ``largest`` what is told of the largest values
    of columns with a heavy tail.
    """

    label: str
    method: str
    catalogue: str
    guarantee: str
    threat: str
    passed: bool
    verdict: Verdict
    failures: tuple[Failure, ...]
    strongest: RowView | None
    levels: tuple[LevelView, ...]
    utility: dict[str, Estimate]
    rows: tuple[RowView, ...]
    picture: Picture | None
    records: tuple[tuple[int, float], ...]
    not_run: tuple[NotRunView, ...] = ()
    breaks: tuple[BreakView, ...] = ()
    risks: tuple[RiskView, ...] = ()
    columns: tuple[ColumnView, ...] = ()
    untested: tuple[UntestedKnowledge, ...] = ()
    too_few: tuple[TooFewRecords, ...] = ()
    membership: MembershipView | None = None
    keys: ReleasedKeys | None = None
    largest: tuple[LargestView, ...] = ()


@dataclass(frozen=True)
class PointView:
    """One setting of a method that the advice tried: its risk, as the goals see it, and its utility."""

    label: str
    method: str
    risk: float
    utility: float
    passed: bool
    recommended: bool
    why: str


@dataclass(frozen=True)
class AdviceView:
    """What was recommended and why; ``points`` are all settings tried, ``rejected`` says per method why not.

    ``recommendation`` is None when no method keeps every goal, or none was shown to in the time that there was;
    ``nearest`` is then the nearest miss, in words.
    """

    recommendation: str | None
    words: str
    nearest: str | None
    utilities: tuple[str, ...]
    points: tuple[PointView, ...]
    rejected: tuple[tuple[str, str], ...]
    state: AdviceState = AdviceState.RECOMMENDED

    @property
    def words_for_none(self) -> str:
        """Why there is no recommendation."""
        if self.state is AdviceState.OUT_OF_TIME:
            return "The time was over before a method was shown to keep every goal"
        return "No method tried keeps every goal"


@dataclass(frozen=True)
class ReportModel:
    """Everything a renderer may know.

    ``matching`` is "inferred" for a release from elsewhere whose row order is not known. ``remarks`` are sentences
    about the audit as a whole, ``goals`` the goals as sentences. ``order`` is whether the data support the matching of
    a release from elsewhere, ``public`` the columns that are released unchanged, and ``groups`` how many groups there
    are of which sizes: not those that fewer than ``smallest_cell`` have, in the external edition. ``over`` is what
    advantages are counted over. ``n_rows`` were audited and ``columns`` perturbed, of ``table_rows`` and
    ``table_columns`` that the private table has (None: as many). ``limits`` are the most that an attack may gain on
    each of what counts, ``column_limits`` on single columns; one of the ``n_largest`` values of a column is told by a
    guess within ``largest_share`` of it. ``timing`` is apart from what was found, which is the
    same under the same seed.
    """

    model_version: int
    edition: Edition
    date: str
    passed: bool
    n_rows: int
    columns: tuple[str, ...]
    max_advantage: float
    tolerance: float
    min_utility: dict[str, float]
    smallest_cell: int
    candidates: tuple[CandidateView, ...]
    context: dict[str, Any]
    matching: Matching = Matching.KNOWN
    remarks: tuple[str, ...] = ()
    advice: AdviceView | None = None
    timing: tuple[TimingView, ...] = ()
    order: OrderTest | None = None
    public: PublicColumns | None = None
    goals: tuple[str, ...] = ()
    over: Over = Over.ABSENT
    table_rows: int | None = None
    table_columns: int | None = None
    groups: tuple[GroupSizes, ...] = ()
    limits: dict[str, float] = field(default_factory=dict)
    column_limits: dict[str, dict[str, float]] = field(default_factory=dict)
    n_largest: int = 10
    largest_share: float = 0.1

    def __post_init__(self) -> None:
        single = any(c.records or any(each.first is not None for each in c.largest) for c in self.candidates)
        if self.edition != Edition.INTERNAL and single:
            raise ValueError("single records belong in the internal edition only")

    @property
    def uses(self) -> tuple[str, ...]:
        """The uses whose mean is the utility of a candidate: those that advice counts, those with a goal, or all.

        All are those that every candidate allows.
        """
        shared = [n for n in self.candidates[0].utility if all(n in c.utility for c in self.candidates)]
        named = self.advice.utilities if self.advice is not None else [n for n in self.min_utility if n in shared]
        return tuple(named or shared)

    def utility(self, candidate: CandidateView) -> float | None:
        """The mean utility of a candidate; None where nothing was measured. In advice, what was not counts as 0."""
        measured = {name: value.value for name, value in candidate.utility.items() if not math.isnan(value.value)}
        kept = [measured.get(name, 0.0) for name in self.uses if name in measured or self.advice]
        return fmean(kept) if kept and measured else None

    def to_dict(self) -> dict[str, Any]:
        """The model as plain JSON values."""
        return asdict(self)
