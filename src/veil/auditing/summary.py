"""An audit cut down to one edition of the report, with its verdict in words."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

from veil.auditing.goals import Failure, Goals
from veil.auditing.grants import Level
from veil.auditing.judge import SMALLEST_CELL
from veil.auditing.rows import AuditRow, Break, Candidate, Skipped
from veil.auditing.scores import Score
from veil.measures import Measure
from veil.report.model import (
    MODEL_VERSION,
    BreakView,
    CandidateView,
    ColumnView,
    LevelView,
    NotRunView,
    ReportModel,
    RiskView,
    RowView,
    TimingView,
)
from veil.report.values import AttackView, Edition, Estimate, KnowledgeView, Matching, Risk, ScoreView, State, Unit
from veil.report.words import knowing, listed, percent

if TYPE_CHECKING:
    from veil.auditing.result import Audit


def build_model(audit: Audit, *, internal: bool = False, today: dt.date | None = None) -> ReportModel:
    """Cut an audit down to one edition of the report."""
    candidates = tuple(_candidate(c, audit.goals, internal=internal) for c in audit.candidates)
    return ReportModel(
        model_version=MODEL_VERSION,
        edition=Edition.INTERNAL if internal else Edition.EXTERNAL,
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
        context={name: value for name, value in audit.context.items() if name != "remembered"},
        matching=Matching(audit.matching),
        remarks=audit.remarks,
        timing=tuple(
            TimingView(c.label, _attack(row), _knowledge(row.level), round(row.seconds, 3))
            for c in audit.candidates
            for row in c.rows
        ),
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
        strongest=_row(worst, candidate, goals) if worst else None,
        levels=tuple(_level(candidate, level, goals) for level in candidate.levels),
        utility={name: _estimate(value) for name, value in candidate.utility.items()},
        rows=tuple(_row(row, candidate, goals) for row in candidate.rows),
        picture=worst.picture if worst else None,
        records=worst.records if worst and internal else (),
        not_run=_not_run(candidate),
        breaks=tuple(BreakView(_knowledge(b.level), _attack(b)) for b in candidate.breaks),
        risks=tuple(_risk(candidate, risk, goals) for risk in Risk),
        columns=_columns(candidate),
    )


RISKS = {
    Risk.SINGLING_OUT: "Whole records come back: somebody can be picked out of the release by their own values.",
    Risk.LINKABILITY: "People of another table are found in the release by the columns that both have.",
    Risk.INFERENCE: "Single private values of people are guessed, also when the rest of their record is not.",
}


def _risk(candidate: Candidate, risk: Risk, goals: Goals) -> RiskView:
    """One of the three risks, at the strongest attack that bears on it with knowledge that counts."""
    linking = risk == Risk.LINKABILITY
    rows = [r for r in candidate.rows if r.states_values and r.links == linking]
    rows = [r for r in rows if goals.counts(r.level, candidate.levels)]
    if not rows:
        granted = any(level.knowledge.needs_quasi for level in candidate.levels)
        note = "no attack applies with the knowledge granted"
        if linking and not granted:
            note = "not measured: nobody is granted columns with the role quasi"
        return RiskView(risk, RISKS[risk], None, None, None, note)

    def score(row: AuditRow) -> Score:
        return row.value if risk == Risk.INFERENCE else row.record

    worst = max(rows, key=lambda row: (float(score(row).advantage), -row.nrmse))
    return RiskView(risk, RISKS[risk], _attack(worst), _knowledge(worst.level), _score(score(worst)), "")


def _columns(candidate: Candidate) -> tuple[ColumnView, ...]:
    """Every scored column at the attack that gains most on it, the most exposed first."""
    best: dict[str, ColumnView] = {}
    for row in candidate.rows:
        for name, gain in row.column_gains.items() if row.states_values else ():
            if name not in best or gain > best[name].advantage:
                best[name] = ColumnView(name, round(gain, 4), _attack(row), _knowledge(row.level))
    return tuple(sorted(best.values(), key=lambda column: -column.advantage))


def _shown_first(failures: tuple[Failure, ...]) -> tuple[str, ...]:
    """Goals that are shown to break before those that are only not shown to hold."""
    return tuple(sorted(failures, key=lambda failure: not failure.shown))


def _not_run(candidate: Candidate) -> tuple[NotRunView, ...]:
    """Attacks that have a theory for the method and could not run, once for each reason."""
    levels: dict[tuple[AttackView, str], list[KnowledgeView]] = {}
    for skipped in candidate.skipped:
        if skipped.applies:
            levels.setdefault((_attack(skipped), skipped.reason), []).append(_knowledge(skipped.level))
    return tuple(NotRunView(attack, tuple(known), reason) for (attack, reason), known in levels.items())


def _attack(of: AuditRow | Skipped | Break) -> AttackView:
    return AttackView(of.attack, of.target)


def _knowledge(level: Level) -> KnowledgeView:
    return KnowledgeView(level.kind, level.amount, Unit(level.knowledge.unit), level.label, level.article)


def _level(candidate: Candidate, level: Level, goals: Goals) -> LevelView:
    row = candidate.strongest(level)
    rows = [r for r in candidate.rows if r.level.within(level) and r.states_values]
    limits = [r.upper for r in rows]
    upper = None if not limits else math.nan if any(map(math.isnan, limits)) else max(limits)
    if upper is None:
        state = State.NO_ATTACK
    elif not goals.names(level):
        state = State.NOT_COUNTED
    elif any(r.broken for r in rows):
        state = State.BREAKS
    else:
        state = State.HOLDS if upper <= goals.max_advantage else State.UNPROVEN
    return LevelView(
        knowledge=_knowledge(level),
        words=level.words,
        strongest=_attack(row) if row else None,
        advantage=_estimate(row.advantage) if row else None,
        upper=None if upper is None else round(upper, 4),
        state=state,
    )


def _state(row: AuditRow, candidate: Candidate, goals: Goals) -> State:
    if not row.states_values or not goals.counts(row.level, candidate.levels):
        return State.NOT_COUNTED
    return State.BREAKS if row.broken else State.UNPROVEN if row.failures else State.HOLDS


def _row(row: AuditRow, candidate: Candidate, goals: Goals) -> RowView:
    return RowView(
        attack=_attack(row),
        catalogue=row.catalogue,
        attack_words=row.attack_words,
        knowledge=_knowledge(row.level),
        value=_score(row.value),
        record=_score(row.record),
        worst_column=row.worst_column,
        column=_score(row.column),
        far_out=_score(row.far_out) if row.far_out and row.n_far_out >= SMALLEST_CELL else None,
        nrmse=round(row.nrmse, 4),
        advantage=_estimate(row.advantage),
        ambiguity=str(row.ambiguity),
        up_to=tuple(row.up_to),
        repetitions=row.repetitions,
        state=_state(row, candidate, goals),
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
        by = f"{row.name} with {knowing(row.level)}"
        return f"Every goal holds. The strongest attack, {by}, {gain} over guessing."
    if not failed:
        untested = not candidate.other_failures[0].shown
        lead = "Not shown to be safe" if untested else "Private enough, but not useful enough"
        return f"{lead}: {candidate.other_failures[0]}."
    broken = [r for r in failed if r.broken]
    if not broken:
        return f"Not shown to be safe: {failed[0].failures[0]}."
    first = knowing(candidate.breaks[0].level if candidate.breaks else broken[0].level)
    if not row.advantage > goals.max_advantage:
        return f"Breaks with {first}: {broken[0].broken[0]}."
    by_value = row.value.advantage >= row.record.advantage
    what, score = ("values", row.value) if by_value else ("records", row.record)
    at_worst = ": " if broken[0].level == row.level else f". With {knowing(row.level)}, "
    return (
        f"Breaks with {first}{at_worst}{row.name} gets {percent(float(score.rate))} of the {what} right, "
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
