"""An audit cut down to one edition of the report, with its verdict in words."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

from veil.auditing.goals import Failure, Goals
from veil.auditing.grants import Level
from veil.auditing.judge import SMALLEST_CELL
from veil.auditing.rows import AuditRow, Candidate
from veil.auditing.scores import Score
from veil.measures import Measure
from veil.report.model import (
    MODEL_VERSION,
    BreakView,
    CandidateView,
    ColumnView,
    Estimate,
    LevelView,
    ReportModel,
    RiskView,
    RowView,
    ScoreView,
)
from veil.report.words import knowing, listed, percent

if TYPE_CHECKING:
    from veil.auditing.result import Audit


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
        context={name: said for name, said in audit.context.items() if name != "remembered"},
        matching=audit.matching,
        remarks=audit.remarks,
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
        verdict=_verdict(candidate, goals),
        failures=_shown_first(candidate.failures),
        strongest=_row(worst) if worst else None,
        levels=tuple(_level(candidate, level, goals) for level in candidate.levels),
        utility={name: _estimate(value) for name, value in candidate.utility.items()},
        rows=tuple(_row(row) for row in candidate.rows),
        picture=worst.picture if worst else None,
        records=worst.records if worst and internal else (),
        not_run=_not_played(candidate),
        breaks=tuple(BreakView(b.level.label, b.level.kind, b.attack) for b in candidate.breaks),
        risks=tuple(_risk(candidate, name, goals) for name in RISKS),
        columns=_columns(candidate),
    )


RISKS = {
    "singling out": "Whole records come back: somebody can be picked out of the release by their own values.",
    "linkability": "People of another table are found in the release by the columns that both have.",
    "inference": "Single private values of people are guessed, also when the rest of their record is not.",
}


def _risk(candidate: Candidate, risk: str, goals: Goals) -> RiskView:
    """One of the three risks, at the strongest attack that bears on it with knowledge that counts."""
    linking = risk == "linkability"
    rows = [r for r in candidate.rows if r.states_values and r.links == linking]
    rows = [r for r in rows if goals.counts(r.level, candidate.levels)]
    if not rows:
        asked = any(level.kind == "external" for level in candidate.levels)
        note = "no attack applies with the knowledge granted"
        if linking and not asked:
            note = "not measured: no column has the role quasi"
        return RiskView(risk, RISKS[risk], None, None, None, note)

    def score(row: AuditRow) -> Score:
        return row.value if risk == "inference" else row.record

    worst = max(rows, key=lambda row: (float(score(row).advantage), -row.nrmse))
    return RiskView(risk, RISKS[risk], worst.attack, worst.knowledge, _score(score(worst)), "")


def _columns(candidate: Candidate) -> tuple[ColumnView, ...]:
    """Every scored column at the attack that gains most on it, the most exposed first."""
    best: dict[str, ColumnView] = {}
    for row in candidate.rows:
        for name, gain in row.column_gains.items() if row.states_values else ():
            if name not in best or gain > best[name].advantage:
                best[name] = ColumnView(name, round(gain, 4), row.attack, row.knowledge)
    return tuple(sorted(best.values(), key=lambda column: -column.advantage))


def _shown_first(failures: tuple[Failure, ...]) -> tuple[str, ...]:
    """Goals that are shown to break before those that are only not shown to hold."""
    return tuple(sorted(failures, key=lambda failure: not failure.shown))


def _not_played(candidate: Candidate) -> tuple[str, ...]:
    """Attacks that have a theory for the method and could not run, once for each reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for said in candidate.skipped:
        if said.applies:
            found.setdefault((said.attack, said.reason), []).append(said.knowledge)
    return tuple(
        f"{attack} with {listed([knowing(level) for level in levels])}: {reason}"
        for (attack, reason), levels in found.items()
    )


def _level(candidate: Candidate, level: Level, goals: Goals) -> LevelView:
    row = candidate.strongest(level)
    rows = [r for r in candidate.rows if r.level.within(level) and r.states_values]
    limits = [r.upper for r in rows]
    upper = None if not limits else math.nan if any(map(math.isnan, limits)) else max(limits)
    if upper is None:
        state = "no attack"
    elif not goals.names(level):
        state = "not counted"
    elif any(r.broken for r in rows):
        state = "breaks"
    else:
        state = "holds" if upper <= goals.max_advantage else "unproven"
    return LevelView(
        label=level.label,
        kind=level.kind,
        words=level.words,
        strongest=row.attack if row else None,
        advantage=_estimate(row.advantage) if row else None,
        upper=None if upper is None else round(upper, 4),
        state=state,
    )


def _row(row: AuditRow) -> RowView:
    return RowView(
        attack=row.attack,
        catalogue=row.catalogue,
        attack_words=row.attack_words,
        knowledge=row.knowledge,
        value=_score(row.value),
        record=_score(row.record),
        worst_column=row.worst_column,
        column=_score(row.column),
        far_out=_score(row.far_out) if row.far_out and row.n_far_out >= SMALLEST_CELL else None,
        nrmse=round(row.nrmse, 4),
        advantage=_estimate(row.advantage),
        ambiguity=f"scored up to {listed(row.up_to)}" if row.up_to else row.ambiguity,
        repetitions=row.repetitions,
        seconds=round(row.seconds, 3),
        passed=row.passed,
        failures=row.failures,
    )


def _verdict(candidate: Candidate, goals: Goals) -> str:
    """One or two sentences: what happens, by which attack, with which knowledge."""
    row = candidate.worst
    if row is None:
        return "No attack that Veil knows applies with the knowledge granted; that is not a proof of safety."
    failed = [r for r in candidate.rows if r.failures]
    if candidate.passed:
        gain = f"gains {percent(float(row.advantage))}" if row.advantage > 0 else "gains nothing"
        by = f"{row.attack} with {knowing(row.knowledge)}"
        return f"Every goal holds. The strongest attack, {by}, {gain} over guessing."
    if not failed:
        untested = not candidate.other_failures[0].shown
        lead = "Not shown to be safe" if untested else "Private enough, but not useful enough"
        return f"{lead}: {candidate.other_failures[0]}."
    broken = [r for r in failed if r.broken]
    if not broken:
        return f"Not shown to be safe: {failed[0].failures[0]}."
    first = knowing(candidate.breaks[0].level.label if candidate.breaks else broken[0].knowledge)
    if not row.advantage > goals.max_advantage:
        return f"Breaks with {first}: {broken[0].broken[0]}."
    by_value = row.value.advantage >= row.record.advantage
    what, score = ("values", row.value) if by_value else ("records", row.record)
    at_worst = ": " if broken[0].knowledge == row.knowledge else f". With {knowing(row.knowledge)}, "
    return (
        f"Breaks with {first}{at_worst}{row.attack} gets {percent(float(score.rate))} of the {what} right, "
        f"where guessing gets {percent(score.baseline)}."
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


def _estimate(measure: Measure) -> Estimate:
    """A measure rounded to four digits: more would be false precision."""
    return Estimate(round(float(measure), 4), round(measure.low, 4), round(measure.high, 4))


def _score(score: Score) -> ScoreView:
    return ScoreView(_estimate(score.rate), round(score.baseline, 4), _estimate(score.advantage))
