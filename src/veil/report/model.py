"""The report as data: frozen, frame-free, and already cut down to its edition.

Renderers read only this. What is not in the model cannot leak through a renderer: the
external edition holds rates, intervals, binned counts with small cells suppressed and the
names of columns, and nothing about single records.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass
from typing import Any

from veil.auditing.judge import Picture, Score
from veil.auditing.result import Audit, AuditRow, Candidate
from veil.measures import Measure

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
    """A knowledge level and the strongest attack with it (None: no attack applies)."""

    label: str
    words: str
    strongest: str | None
    advantage: Estimate | None


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
    candidates = tuple(_candidate(c, audit, internal=internal) for c in audit.candidates)
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
        candidates=candidates,
        context=audit.context,
    )


def _candidate(candidate: Candidate, audit: Audit, *, internal: bool) -> CandidateView:
    worst = candidate.worst
    levels = []
    for level in candidate.levels:
        row = candidate.strongest(level)
        levels.append(
            LevelView(
                label=level.label,
                words=level.words,
                strongest=row.attack if row else None,
                advantage=Estimate.of(row.advantage) if row else None,
            )
        )
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
        levels=tuple(levels),
        utility={name: Estimate.of(value) for name, value in candidate.utility.items()},
        rows=tuple(_row(row) for row in candidate.rows),
        picture=worst.picture if worst else None,
        records=worst.records if worst and internal else (),
    )


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
    """One sentence: what happens, by which attack, with which knowledge."""
    row = candidate.worst
    if row is None:
        return "No attack that Veil knows applies with the knowledge granted; that is not a proof of safety."
    gain = max(0.0, float(row.advantage))
    share = f"{row.value.rate:.0%} of the values" if row.value.advantage >= row.record.advantage else f"{row.record.rate:.0%} of the records"
    if not candidate.passed and not any(r.failures for r in candidate.rows):
        return f"Private enough, but not useful enough: {candidate.utility_failures[0]}."
    if candidate.passed:
        return (
            f"Every goal holds. The strongest attack ({row.attack}, {row.knowledge}) gains {gain:.1%} over guessing."
        )
    first = next((r for r in candidate.rows if r.failures), row)
    need = "the release alone" if first.level.kind == "nothing" else first.knowledge
    return f"Breaks with {need}: at worst ({row.attack}, {row.knowledge}) an attacker gets {share} right."


def _headline(candidates: tuple[CandidateView, ...]) -> str:
    good = [c.label for c in candidates if c.passed]
    if len(candidates) == 1:
        return candidates[0].verdict
    if not good:
        return f"None of the {len(candidates)} candidates keeps every goal."
    if len(good) == len(candidates):
        return f"All {len(candidates)} candidates keep every goal."
    return f"{len(good)} of {len(candidates)} candidates {'keeps' if len(good) == 1 else 'keep'} every goal: {', '.join(good)}."
