"""The report as data: frozen, frame-free, and already cut down to its edition.

Renderers read only this. What is not in the model cannot leak through a renderer: the
external edition holds rates, intervals, binned counts with small cells suppressed and the
names of columns, and nothing about single records.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass
from typing import Any

from veil.auditing.goals import Goals
from veil.auditing.grants import Level
from veil.auditing.judge import SMALLEST_CELL, Picture, Score
from veil.auditing.result import Audit, AuditRow, Candidate
from veil.measures import Measure
from veil.report.words import knowing, listed, percent

MODEL_VERSION = 1


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, measure: Measure) -> Estimate:
        """From a measure, rounded to four digits: more would be false precision."""
        return cls(round(float(measure), 4), round(measure.low, 4), round(measure.high, 4))


@dataclass(frozen=True)
class ScoreView:
    """A rate of breaches, the rate of the best constant guess, and the advantage over it."""

    rate: Estimate
    baseline: float
    advantage: Estimate

    @classmethod
    def of(cls, score: Score) -> ScoreView:
        """From a judge's score."""
        return cls(Estimate.of(score.rate), round(score.baseline, 4), Estimate.of(score.advantage))


@dataclass(frozen=True)
class RowView:
    """One attack with one level of knowledge."""

    attack: str
    catalogue: str
    attack_words: str
    knowledge: str
    value: ScoreView
    record: ScoreView
    worst_column: str
    column: ScoreView
    far_out: ScoreView | None
    nrmse: float
    advantage: Estimate
    ambiguity: str
    repetitions: int
    seconds: float
    passed: bool
    failures: tuple[str, ...]


@dataclass(frozen=True)
class LevelView:
    """A knowledge level and the strongest attack with it or less (None: no attack applies).

    ``state`` says how the goals fare: "holds", "breaks", "no attack" (none applies) or "not counted"
    (the owner set no goal against this knowledge). ``upper`` is the highest upper limit of an
    advantage, which is what the goal is held against.
    """

    label: str
    kind: str
    words: str
    strongest: str | None
    advantage: Estimate | None
    upper: float | None
    state: str


@dataclass(frozen=True)
class CandidateView:
    """One perturbation: verdict, strongest attack, curve over knowledge, utility, all rows."""

    label: str
    method: str
    catalogue: str
    guarantee: str
    threat: str
    passed: bool
    verdict: str
    failures: tuple[str, ...]
    strongest: RowView | None
    levels: tuple[LevelView, ...]
    utility: dict[str, Estimate]
    rows: tuple[RowView, ...]
    picture: Picture | None
    records: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class ReportModel:
    """Everything a renderer may know."""

    model_version: int
    edition: str
    date: str
    passed: bool
    headline: str
    n_rows: int
    columns: tuple[str, ...]
    max_advantage: float
    tolerance: float
    min_utility: dict[str, float]
    smallest_cell: int
    candidates: tuple[CandidateView, ...]
    context: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The model as plain JSON values."""
        return asdict(self)


ATTACK_WORDS = {
    "noise-distribution-attack": "takes the released values at face value",
    "bayes-estimate-attack": "filters the noise out with the correlations that the release itself shows",
    "known-pairs-attack": "solves for the secret matrix with records whose rows are known",
    "known-sample-attack": "lines the release up with a sample of the same population",
}


def build_model(audit: Audit, *, internal: bool = False, today: dt.date | None = None) -> ReportModel:
    """Cut an audit down to one edition of the report."""
    candidates = tuple(_candidate(c, audit.goals, internal=internal) for c in audit.candidates)
    return ReportModel(
        model_version=MODEL_VERSION,
        edition="internal" if internal else "external",
        date=(today or dt.datetime.now(dt.UTC).date()).isoformat(),
        passed=audit.passed,
        headline=_headline(candidates),
        n_rows=audit.n_rows,
        columns=audit.columns,
        max_advantage=audit.goals.max_advantage,
        tolerance=audit.goals.tolerance,
        min_utility=dict(audit.goals.min_utility),
        smallest_cell=SMALLEST_CELL,
        candidates=candidates,
        context=audit.context,
    )


def _candidate(candidate: Candidate, goals: Goals, *, internal: bool) -> CandidateView:
    worst = candidate.worst
    return CandidateView(
        label=candidate.label,
        method=candidate.method,
        catalogue=candidate.catalogue,
        guarantee=candidate.guarantee,
        threat=candidate.threat,
        passed=candidate.passed,
        verdict=_verdict(candidate),
        failures=candidate.failures,
        strongest=_row(worst) if worst else None,
        levels=tuple(_level(candidate, level, goals) for level in candidate.levels),
        utility={name: Estimate.of(value) for name, value in candidate.utility.items()},
        rows=tuple(_row(row) for row in candidate.rows),
        picture=worst.picture if worst else None,
        records=worst.records if worst and internal else (),
    )


def _level(candidate: Candidate, level: Level, goals: Goals) -> LevelView:
    row = candidate.strongest(level)
    rows = [r for r in candidate.rows if _within(r.level, level)]
    upper = max((s.advantage.high for r in rows for s in (r.value, r.record)), default=None)
    counts = goals.counts(level)
    if upper is None:
        state = "no attack"
    elif any(r.failures for r in rows) or (counts and not upper <= goals.max_advantage):
        state = "breaks"
    else:
        state = "holds" if counts else "not counted"
    return LevelView(
        label=level.label,
        kind=level.kind,
        words=level.words,
        strongest=row.attack if row else None,
        advantage=Estimate.of(row.advantage) if row else None,
        upper=None if upper is None else round(upper, 4),
        state=state,
    )


def _within(lower: Level, upper: Level) -> bool:
    """Whether somebody with the knowledge ``upper`` could also run what needs ``lower``."""
    return lower.kind == "nothing" or (lower.kind == upper.kind and lower.amount <= upper.amount)


def _row(row: AuditRow) -> RowView:
    return RowView(
        attack=row.attack,
        catalogue=row.catalogue,
        attack_words=ATTACK_WORDS.get(row.attack, ""),
        knowledge=row.knowledge,
        value=ScoreView.of(row.value),
        record=ScoreView.of(row.record),
        worst_column=row.worst_column,
        column=ScoreView.of(row.column),
        far_out=ScoreView.of(row.far_out) if row.far_out else None,
        nrmse=round(row.nrmse, 4),
        advantage=Estimate.of(row.advantage),
        ambiguity=row.ambiguity,
        repetitions=row.repetitions,
        seconds=round(row.seconds, 3),
        passed=row.passed,
        failures=row.failures,
    )


def _verdict(candidate: Candidate) -> str:
    """One or two sentences: what happens, by which attack, with which knowledge."""
    row = candidate.worst
    if row is None:
        return "No attack that Veil knows applies with the knowledge granted; that is not a proof of safety."
    attack = f"{row.attack} with {knowing(row.knowledge)}"
    failed = [r for r in candidate.rows if r.failures]
    if candidate.passed:
        gain = f"gains {percent(float(row.advantage))}" if row.advantage > 0 else "gains nothing"
        return f"Every goal holds. The strongest attack, {attack}, {gain} over guessing."
    if not failed:
        return f"Private enough, but not useful enough: {candidate.utility_failures[0]}."
    by_value = row.value.advantage >= row.record.advantage
    what, score = ("values", row.value) if by_value else ("records", row.record)
    return (
        f"Breaks with {knowing(failed[0].knowledge)}. At worst, {attack}, an attacker gets "
        f"{percent(float(score.rate))} of the {what} right; guessing gets {percent(score.baseline)}."
    )


def _headline(candidates: tuple[CandidateView, ...]) -> str:
    if len(candidates) == 1:
        return candidates[0].verdict
    n = len(candidates)
    untested = [c.label for c in candidates if c.strongest is None]
    good = [c.label for c in candidates if c.passed and c.strongest is not None]
    if not good:
        says = f"None of the {n} candidates keeps every goal"
    elif len(good) == n:
        says = f"All {n} candidates keep every goal"
    else:
        says = f"{len(good)} of {n} candidates {'keeps' if len(good) == 1 else 'keep'} every goal: {listed(good)}"
    return f"{says}. No attack was found to try on {listed(untested)}." if untested else f"{says}."
