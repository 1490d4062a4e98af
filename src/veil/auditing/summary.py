"""A candidate of an audit cut down to one edition of the report, with its verdict."""

from __future__ import annotations

import math

from veil.auditing.goals import Goals
from veil.auditing.grants import NOTHING, Level
from veil.auditing.pictures import SMALLEST_CELL
from veil.auditing.rows import AuditRow, Candidate
from veil.auditing.scores import Score, estimate
from veil.report.failures import CopiedRecords, Failure, UtilityUnderGoal, Verdict
from veil.report.model import (
    BreakView,
    CandidateView,
    ColumnView,
    LevelView,
    NotRunView,
    RiskView,
    RowView,
    TimingView,
)
from veil.report.values import AttackView, KnowledgeView, Matching, Risk, ScoreView, State, Unmeasured


def timings(candidate: Candidate) -> tuple[TimingView, ...]:
    """How long each attack took."""
    return tuple(TimingView(candidate.label, row.view, row.level.view, round(row.seconds, 3)) for row in candidate.rows)


def candidate_view(candidate: Candidate, goals: Goals, matching: Matching, *, internal: bool) -> CandidateView:
    """A candidate as reports have it; single records are in the internal edition only."""
    worst = candidate.worst
    return CandidateView(
        label=candidate.label,
        method=candidate.method,
        catalogue=candidate.catalogue,
        guarantee=candidate.guarantee,
        threat=candidate.threat,
        passed=candidate.passed,
        verdict=verdict(candidate),
        failures=_shown_first(candidate.failures),
        strongest=_row(worst, candidate, goals) if worst else None,
        levels=tuple(_level(candidate, level, goals) for level in candidate.levels),
        utility={name: estimate(value) for name, value in candidate.utility.items()},
        rows=tuple(_row(row, candidate, goals) for row in candidate.rows),
        picture=worst.picture if worst else None,
        records=worst.records if worst and internal else (),
        not_run=_not_run(candidate),
        breaks=tuple(BreakView(b.level.view, b.view) for b in candidate.breaks),
        risks=tuple(_risk(candidate, risk, goals, matching) for risk in Risk),
        columns=_columns(candidate),
    )


def _risk(candidate: Candidate, risk: Risk, goals: Goals, matching: Matching) -> RiskView:
    """One of the three risks, at the strongest attack that bears on it with knowledge that counts."""
    linking = risk == Risk.LINKABILITY
    rows = [r for r in candidate.rows if r.states_values and r.links == linking]
    rows = [r for r in rows if goals.counts(r.level, candidate.levels)]
    if not rows:
        return RiskView(risk, None, None, None, _unmeasured(candidate, matching) if linking else Unmeasured.NO_ATTACK)

    def score(row: AuditRow) -> Score:
        return row.value if risk == Risk.INFERENCE else row.record

    worst = max(rows, key=lambda row: (float(score(row).advantage), -row.nrmse))
    return RiskView(risk, worst.view, worst.level.view, _score(score(worst)))


def _unmeasured(candidate: Candidate, matching: Matching) -> Unmeasured:
    """Why nobody was linked to a row."""
    if matching == Matching.INFERRED:
        return Unmeasured.UNMATCHED
    granted = any(level.knowledge.needs_outside for level in candidate.levels)
    return Unmeasured.NO_ATTACK if granted else Unmeasured.NO_TABLE


def _columns(candidate: Candidate) -> tuple[ColumnView, ...]:
    """Every scored column at the attack that gains most on it, the most exposed first."""
    best: dict[str, ColumnView] = {}
    for row in candidate.rows:
        for name, gain in row.column_gains.items() if row.states_values else ():
            if name not in best or gain > best[name].advantage:
                best[name] = ColumnView(name, round(gain, 4), row.view, row.level.view)
    return tuple(sorted(best.values(), key=lambda column: -column.advantage))


def _shown_first(failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    """Goals that are shown to break before those that are only not shown to hold."""
    return tuple(sorted(failures, key=lambda failure: not failure.shown))


def _not_run(candidate: Candidate) -> tuple[NotRunView, ...]:
    """Attacks that have a theory for the method and could not run, once for each reason."""
    levels: dict[tuple[AttackView, str], list[KnowledgeView]] = {}
    for skipped in candidate.skipped:
        if skipped.applies:
            levels.setdefault((skipped.view, skipped.reason), []).append(skipped.level.view)
    return tuple(NotRunView(attack, tuple(known), reason) for (attack, reason), known in levels.items())


def _level(candidate: Candidate, level: Level, goals: Goals) -> LevelView:
    row = candidate.strongest(level)
    rows = [r for r in candidate.rows if r.level.within(level) and r.states_values]
    limits = [r.upper for r in rows]
    upper = None if not limits else math.nan if any(map(math.isnan, limits)) else max(limits)
    untested = any(level.view in each.knowledge for each in candidate.untested)
    late = any(skipped.late and skipped.level == level for skipped in candidate.skipped)
    if upper is None:
        state = State.OUT_OF_TIME if late else State.NO_ATTACK
    elif not goals.names(level):
        state = State.NOT_COUNTED
    elif any(r.broken for r in rows):
        state = State.BREAKS
    elif untested:
        state = State.OUT_OF_TIME if late else State.NOT_TESTED
    else:
        state = State.UNPROVEN if any(r.failures for r in rows) else State.HOLDS
    return LevelView(
        knowledge=level.view,
        words=level.words,
        strongest=row.view if row else None,
        advantage=estimate(row.advantage) if row else None,
        upper=None if upper is None else round(upper, 4),
        state=state,
    )


def _state(row: AuditRow, candidate: Candidate, goals: Goals) -> State:
    if not row.states_values or not goals.counts(row.level, candidate.levels):
        return State.NOT_COUNTED
    return State.BREAKS if row.broken else State.UNPROVEN if row.failures else State.HOLDS


def _row(row: AuditRow, candidate: Candidate, goals: Goals) -> RowView:
    return RowView(
        attack=row.view,
        catalogue=row.catalogue,
        attack_words=row.attack_words,
        knowledge=row.level.view,
        value=_score(row.value),
        record=_score(row.record),
        worst_column=row.worst_column,
        column=_score(row.column),
        far_out=_score(row.far_out) if row.far_out and row.n_far_out >= SMALLEST_CELL else None,
        nrmse=round(row.nrmse, 4),
        advantage=estimate(row.advantage),
        ambiguity=str(row.ambiguity),
        up_to=tuple(row.up_to),
        repetitions=row.repetitions,
        state=_state(row, candidate, goals),
        failures=row.failures,
    )


def verdict(candidate: Candidate) -> Verdict:
    """How a candidate fares, and what decides it: a break before a doubt, a doubt before a lack of utility."""
    short = [failure for failure in candidate.other_failures if isinstance(failure, UtilityUnderGoal)]
    open_ends = [failure for failure in candidate.failures if failure not in short]
    broken = [row for row in candidate.rows if row.broken]
    reason = broken[0].broken[0] if broken else next(iter([*open_ends, *short]), None)
    if candidate.worst is None:
        state = State.NO_ATTACK
    elif broken:
        state = State.BREAKS
    else:
        state = State.UNPROVEN if open_ends else State.HOLDS
    least = candidate.breaks[0].level if candidate.breaks else broken[0].level if broken else None
    copied = [failure for failure in candidate.other_failures if isinstance(failure, CopiedRecords)]
    if copied:
        state, least, reason = State.BREAKS, Level(NOTHING), copied[0]
    return Verdict(state, not short, least.view if least else None, reason)


def gives_more_away(candidate: Candidate, other: Candidate) -> bool:
    """Whether a candidate fares worse in one audit than in another: by its verdict, then by the strongest attack."""
    return _severity(candidate) > _severity(other)


def _severity(candidate: Candidate) -> tuple[int, float]:
    """What was not tested is worse than what holds."""
    place = {State.HOLDS: 0, State.UNPROVEN: 2, State.BREAKS: 3}.get(verdict(candidate).privacy, 1)
    return place, float(candidate.worst.advantage) if candidate.worst is not None else 0.0


def _score(score: Score) -> ScoreView:
    return ScoreView(
        estimate(score.rate),
        round(score.control, 4),
        round(score.baseline, 4),
        estimate(score.advantage),
        estimate(score.taught),
    )
