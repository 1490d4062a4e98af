"""A candidate of an audit cut down to one edition of the report, with its verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from veil.auditing.goals import Goals
from veil.auditing.grants import NOTHING, Level, in_order
from veil.auditing.pictures import SMALLEST_CELL
from veil.auditing.rows import AuditRow, Candidate, strongest_of
from veil.auditing.scores import Score, estimate
from veil.report.failures import (
    AdvantageOverGoal,
    CopiedRecords,
    Failure,
    MembershipOverGoal,
    OutOfTime,
    TooFewRecords,
    UntestedKnowledge,
    UtilityUnderGoal,
    Verdict,
)
from veil.report.model import (
    BreakView,
    CandidateView,
    ColumnView,
    LargestView,
    LevelView,
    MembershipView,
    NotRunView,
    RiskView,
    RowView,
    TimingView,
)
from veil.report.values import AttackView, KnowledgeView, Matching, Risk, RocView, Scored, ScoreView, State, Unmeasured


def timings(candidate: Candidate) -> tuple[TimingView, ...]:
    """How long each attack took."""
    return tuple(TimingView(candidate.label, row.view, row.level.view, round(row.seconds, 3)) for row in candidate.rows)


def candidate_views(
    candidates: Sequence[Candidate], goals: Goals, matching: Matching, *, internal: bool
) -> tuple[CandidateView, ...]:
    """Candidates as reports have them, all with the same levels; single records are in the internal edition only."""
    granted = candidates[0].levels if candidates else ()
    levels = in_order(granted, [level for candidate in candidates for level in candidate.searched])
    return tuple(_view(candidate, levels, goals, matching, internal=internal) for candidate in candidates)


def _view(
    candidate: Candidate, levels: Sequence[Level], goals: Goals, matching: Matching, *, internal: bool
) -> CandidateView:
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
        levels=tuple(level_view(candidate, level, goals) for level in levels),
        utility={name: estimate(value) for name, value in candidate.utility.items()},
        rows=tuple(_row(row, candidate, goals) for row in sorted(candidate.rows, key=lambda r: levels.index(r.level))),
        picture=worst.picture if worst else None,
        records=worst.records if worst and internal else (),
        not_run=_not_run(candidate),
        breaks=tuple(BreakView(b.level.view, b.view) for b in candidate.breaks),
        risks=tuple(_risk(candidate, risk, goals, matching) for risk in Risk),
        columns=_columns(candidate),
        untested=candidate.untested,
        too_few=_too_few(candidate, goals),
        membership=_membership(candidate, goals),
        largest=_largest(candidate, goals, internal=internal),
        keys=candidate.keys if internal or candidate.keys is None else candidate.keys.external(SMALLEST_CELL),
    )


def _risk(candidate: Candidate, risk: Risk, goals: Goals, matching: Matching) -> RiskView:
    """One of the three risks, at the strongest attack that bears on it with knowledge that counts.

    Somebody is singled out by as much of the record as an attack guesses: of several parts of a release, the one with
    the most columns counts, or all of them together.
    """
    linking = risk == Risk.LINKABILITY
    rows = [r for r in candidate.rows if r.states_values and r.links == linking]
    rows = [r for r in rows if goals.counts(r.level, candidate.levels)]
    if risk == Risk.SINGLING_OUT and rows:
        widths = {
            target: max(len(r.columns) for r in rows if r.target == target) for target in {r.target for r in rows}
        }
        rows = [r for r in rows if widths[r.target] == max(widths.values())]
    scores = {id(row): row.value if risk == Risk.INFERENCE else row.record for row in rows}
    worst = strongest_of(rows, lambda row: scores[id(row)].advantage)
    if worst is None:
        return RiskView(risk, None, None, None, _unmeasured(candidate, matching, linking=linking))
    return RiskView(risk, worst.view, worst.level.view, _score(scores[id(worst)]), part=_part(worst, candidate))


def _membership(candidate: Candidate, goals: Goals) -> MembershipView | None:
    """What is told about who is in the table; None where nobody asked."""
    found = candidate.membership
    if found is None:
        return None
    alone, all_but_one = (
        None if roc is None else RocView(estimate(roc.area), estimate(roc.advantage))
        for roc in (found.alone, found.all_but_one)
    )
    counted = goals.max_membership is not None
    attack = AttackView(found.attack)
    return MembershipView(attack, alone, all_but_one, found.n_members, found.n_strangers, counted, found.reason)


def _part(row: AuditRow, candidate: Candidate) -> tuple[str, ...]:
    """The columns that an attack guesses where it is on one part of a release; empty where these are all."""
    everything = {name for other in candidate.rows for name in other.columns}
    return tuple(row.columns) if row.target and {*row.columns} != everything else ()


def _too_few(candidate: Candidate, goals: Goals) -> tuple[TooFewRecords, ...]:
    """Columns that the records are too few for, each with the largest need of any attack that counts."""
    need: dict[str, TooFewRecords] = {}
    for row in candidate.rows:
        for name, n in goals.too_few(row).items() if goals.counts(row.level, candidate.levels) else ():
            if name not in need or n > need[name].n_needed:
                need[name] = TooFewRecords(name, row.n_scored, n, goals.limit(Scored.COLUMN, name))
    return tuple(replace(each, n_needed=_about(each.n_needed)) for each in need.values())


def _about(n: int) -> int:
    """A number to two digits, rounded up."""
    step: int = 10 ** max(0, len(str(n)) - 2)
    return -(-n // step) * step


def _unmeasured(candidate: Candidate, matching: Matching, *, linking: bool) -> Unmeasured:
    """Why no attack bears on a risk."""
    if linking and matching == Matching.INFERRED:
        return Unmeasured.UNMATCHED
    if linking and not any(level.knowledge.needs_outside for level in candidate.levels):
        return Unmeasured.NO_TABLE
    return Unmeasured.OUT_OF_TIME if any(skipped.late for skipped in candidate.skipped) else Unmeasured.NO_ATTACK


def _columns(candidate: Candidate) -> tuple[ColumnView, ...]:
    """Every scored column at the attack that gains most on it, the most exposed first."""
    best: dict[str, ColumnView] = {}
    rows = [row for row in candidate.rows if row.states_values]
    for name in dict.fromkeys(name for row in rows for name in row.columns):
        scored = [row for row in rows if name in row.columns]
        worst = strongest_of(scored, lambda row, name=name: row.columns[name].advantage)  # type: ignore[misc]
        if worst is not None:
            best[name] = ColumnView(name, _score(worst.columns[name]), worst.view, worst.level.view)
    return tuple(sorted(best.values(), key=lambda column: -column.score.advantage.value))


def _largest(candidate: Candidate, goals: Goals, *, internal: bool) -> tuple[LargestView, ...]:
    """The largest values of every column with a heavy tail, at the attack that tells most; of few people internally."""
    views = []
    rows = [row for row in candidate.rows if row.states_values]
    for name in dict.fromkeys(name for row in rows for name in row.largest):
        scored = [row for row in rows if name in row.largest]
        worst = strongest_of(scored, lambda row, name=name: row.largest[name].score.advantage)  # type: ignore[misc]
        if worst is None or (worst.largest[name].n < SMALLEST_CELL and not internal):
            continue
        told, most = worst.largest[name], goals.limit(Scored.LARGEST, name)
        first = round(told.first, 4) if internal else None
        goal = most if math.isfinite(most) else None
        views.append(LargestView(name, told.n, _score(told.score), worst.view, worst.level.view, goal, first))
    return tuple(sorted(views, key=lambda view: -view.score.advantage.value))


def _shown_first(failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    """Copies first, then goals that are shown to break, then those that are only not shown to hold."""
    return tuple(sorted(failures, key=lambda failure: (not isinstance(failure, CopiedRecords), not failure.shown)))


def _not_run(candidate: Candidate) -> tuple[NotRunView, ...]:
    """Attacks that have a theory for the method and could not run, once for each reason."""
    levels: dict[tuple[AttackView, str], list[KnowledgeView]] = {}
    for skipped in candidate.skipped:
        if skipped.applies:
            levels.setdefault((skipped.view, skipped.reason), []).append(skipped.level.view)
    return tuple(NotRunView(attack, tuple(known), reason) for (attack, reason), known in levels.items())


def level_view(candidate: Candidate, level: Level, goals: Goals) -> LevelView:
    """How the goals fare with a level of knowledge."""
    rows = [r for r in candidate.rows if r.level.within(level) and r.states_values]
    state = _level_state(candidate, level, goals, rows)
    tested = state not in (State.NOT_TESTED, State.OUT_OF_TIME)
    worst = candidate.strongest(level) if tested else None
    limits = [r.upper for r in rows if tested]
    upper = None if not limits else math.nan if any(map(math.isnan, limits)) else max(limits)
    return LevelView(
        knowledge=level.view,
        words=level.words,
        strongest=worst.view if worst else None,
        advantage=estimate(worst.advantage) if worst else None,
        upper=None if upper is None else round(upper, 4),
        state=state,
        score=_score(worst.record if worst.scored == Scored.RECORDS else worst.value) if worst else None,
        searched=level not in candidate.levels,
    )


def _level_state(candidate: Candidate, level: Level, goals: Goals, rows: Sequence[AuditRow]) -> State:
    larger = [upper for upper in candidate.levels if upper.kind == level.kind and upper.amount > level.amount]
    late = any(skipped.late and skipped.level == level for skipped in candidate.skipped)
    if not rows:
        return State.OUT_OF_TIME if late else State.NO_ATTACK
    if not goals.counts(level, candidate.levels) if level not in candidate.levels else not goals.names(level):
        return State.NOT_COUNTED
    if any(r.broken for r in rows):
        return State.BREAKS
    if any(level.view in each.knowledge for each in candidate.untested):
        return State.OUT_OF_TIME if late else State.NOT_TESTED
    if any(r.failures or goals.failures(r, candidate.levels) for r in rows):
        return State.UNPROVEN
    if level in candidate.levels or level in candidate.searched:
        return State.HOLDS
    # Another candidate's search came to this level: here it holds where it does with more knowledge.
    above = level_view(candidate, larger[0], goals).state if larger else State.NOT_TESTED
    return State.NOT_TESTED if above in (State.BREAKS, State.UNPROVEN) else above


def _state(row: AuditRow, candidate: Candidate, goals: Goals) -> State:
    if not row.states_values or not goals.counts(row.level, candidate.levels):
        return State.NOT_COUNTED
    return State.BREAKS if row.broken else State.UNPROVEN if row.failures else State.HOLDS


def _row(row: AuditRow, candidate: Candidate, goals: Goals) -> RowView:
    many = {name: each for name, each in row.largest.items() if each.n >= SMALLEST_CELL}
    told = max(many, key=lambda name: (many[name].score.advantage.low, float(many[name].score.advantage)), default="")
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
        scored=row.scored,
        part=_part(row, candidate),
        tested=row.tested,
        largest_column=told,
        largest=_score(many[told].score) if told else None,
    )


def verdict(candidate: Candidate) -> Verdict:
    """How a candidate fares, and what decides it: a break before time that ran out, then doubts, then a lack of use."""
    copied = [failure for failure in candidate.other_failures if isinstance(failure, CopiedRecords)]
    if copied:
        return Verdict(State.BREAKS, _useful(candidate), Level(NOTHING).view, copied[0])
    told = [failure for failure in candidate.other_failures if isinstance(failure, MembershipOverGoal)]
    broken = [row for row in candidate.rows if row.broken]
    if not broken and told and told[0].shown:
        return Verdict(State.BREAKS, _useful(candidate), Level(NOTHING).view, told[0])
    if broken:
        least = candidate.breaks[0].level if candidate.breaks else broken[0].level
        return Verdict(State.BREAKS, _useful(candidate), least.view, broken[0].broken[0])
    reasons: dict[State, Sequence[Failure]] = {
        State.OUT_OF_TIME: [f for f in candidate.failures if isinstance(f, OutOfTime)],
        State.UNPROVEN: [
            *(f for f in candidate.failures if isinstance(f, AdvantageOverGoal)),
            *(failure for failure in told if failure.advantage is not None),
        ],
        State.NO_ATTACK: candidate.other_failures[:1] if candidate.worst is None else [],
        State.NOT_TESTED: [*(f for f in candidate.failures if isinstance(f, UntestedKnowledge)), *told],
        State.HOLDS: [f for f in candidate.failures if isinstance(f, UtilityUnderGoal)],
    }
    state = next((state for state, why in reasons.items() if why), State.HOLDS)
    if candidate.worst is None and state is State.HOLDS:
        state = State.NO_ATTACK
    return Verdict(state, _useful(candidate), None, next(iter(reasons[state]), None))


def _useful(candidate: Candidate) -> bool:
    return not any(isinstance(failure, UtilityUnderGoal) for failure in candidate.other_failures)


def gives_more_away(candidate: Candidate, other: Candidate) -> bool:
    """Whether a candidate fares worse in one audit than in another: by its verdict, then by the strongest attack."""
    return _severity(candidate) > _severity(other)


def _severity(candidate: Candidate) -> tuple[int, float]:
    """What was not tested is worse than what holds."""
    place = {State.HOLDS: 0, State.OUT_OF_TIME: 2, State.UNPROVEN: 2, State.BREAKS: 3}.get(
        verdict(candidate).privacy, 1
    )
    return place, float(candidate.worst.advantage) if candidate.worst is not None else 0.0


def _score(score: Score) -> ScoreView:
    return ScoreView(
        estimate(score.rate),
        round(score.control, 4),
        round(score.baseline, 4),
        estimate(score.advantage),
        estimate(score.taught),
    )
