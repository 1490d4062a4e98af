"""Trying settings: all of them under every attack in one go, judged by the number that the goals are held against."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from veil.attacks import every_attack, find_attack
from veil.auditing import AuditRow, Candidate, Goals, Grants
from veil.auditing.advice.limits import CERTAINTY, at_least, limit_of
from veil.auditing.advice.settings import Gains
from veil.auditing.advice.time_left import TimeIsOver, TimeLeft
from veil.auditing.exposure import Exposures
from veil.auditing.grants import NOTHING, Level
from veil.auditing.memory import as_text, candidate_words
from veil.auditing.scores import Score, leave_some
from veil.auditing.spread import ENOUGH_KEYS, keys_for
from veil.auditing.trials.schedule import Schedule
from veil.auditing.trials.scoreboard import LOOKS
from veil.auditing.trials.trial import TrialRunner
from veil.measures import Measure
from veil.progress import Course, Progress, silent
from veil.publishing.plan import Plan
from veil.report.values import Scored
from veil.report.words import compared, knowing, percent, within

SPARED = 0.2
"""What a mean over few keys may be too high by, as a share of what its limit over as many keys is over it."""
SHARE_OF_TRIAL = 0.3
"""What a trial is of the progress that is left of a family, since nobody knows how many there will be."""
PROBED = 4_000
"""Records that say where to look."""


@dataclass(frozen=True)
class Tried:
    """A setting under every attack.

    Attributes
    ----------
    risk
        The highest mean advantage of any attack, overall, on a column, on far-out or on the largest values.
    limit
        What the goals would be held against in another audit, with 99 % confidence.
    expected
        The same without the luck of few keys: the strongest of many attacks is partly the luckiest. It says where to
        look, and equals the limit over several keys.
    gains
        What is expected by column, and for everything else under an empty name.
    worst
        The row that decides the limit.
    runs
        Keys that it was tried with at most.
    confidence
        That of the limit.
    candidate
        The setting as an audit has it.
    kept
        What another audit's utilities are at least, with the same confidence; empty with one release of few keys.
    """

    plan: Plan
    risk: float
    limit: float
    expected: float
    gains: Gains
    worst: AuditRow | None
    runs: int
    candidate: Candidate
    confidence: float = CERTAINTY
    kept: Mapping[str, float] = field(default_factory=dict)

    @property
    def utilities(self) -> dict[str, float]:
        """The utilities by name."""
        return {name: float(value) for name, value in self.candidate.utility.items()}

    @property
    def words(self) -> str:
        """The strongest attack and what it gains."""
        return "no attack applies" if self.worst is None else gains(self.worst)


class SettingTrials:
    """A table on which settings are tried.

    ``keys`` are those that a setting is confirmed with, as in an audit, and ``few_keys`` those that say where to look:
    one, or some where there are few records.
    """

    def __init__(
        self,
        table: pa.Table,
        *,
        roles: Mapping[str, str],
        grants: Grants,
        goals: Goals,
        uses: Mapping[str, Any],
        target: str | None,
        seed: int | None,
        workers: int | None,
        n_rows: int,
        progress: Progress = silent,
        time_left: TimeLeft = TimeLeft(None),  # noqa: B008 - frozen
    ) -> None:
        self._time = time_left
        self._table, self._roles, self._grants, self._goals = table, dict(roles), grants, goals
        self._uses, self._target, self._seed, self._workers = dict(uses), target, seed, workers
        self._n_rows = n_rows
        self._course = progress if isinstance(progress, Course) else Course(progress, share=SHARE_OF_TRIAL)
        self.keys, self.few_keys = keys_for(n_rows), min(ENOUGH_KEYS - 1, -(-PROBED // max(table.num_rows, 1)))
        self.n_records, self.columns = table.num_rows, tuple[str, ...]()
        self.strong: set[tuple[str, str, int]] = set()
        self._given_up: Sequence[AuditRow] = ()
        self._largest: dict[str, float] = {}
        self._attacks = every_attack()
        self._answered: dict[str, dict[str, Any]] = {}

    def of_columns(self, roles: Mapping[str, str]) -> SettingTrials:
        """The same with other roles."""
        other = copy.copy(self)
        other._roles, other._answered = {**self._roles, **roles}, {}
        return other

    def hopeless(self, plan: Plan, worst: AuditRow | None) -> Tried | None:
        """A setting under the attack that was strongest before, with few keys, where that is enough to see it fail."""
        if worst is None or worst.one_matrix or self._goals.against is not None or self.keys > 2 * ENOUGH_KEYS:
            return None
        one = self._under(worst, every_amount=True)
        tried = one.tried(plan, self.keys, most=ENOUGH_KEYS)
        return tried if one._given_up or any(row.broken for row in tried.candidate.rows) else None

    def still_fails(self, plan: Plan, worst: AuditRow | None, aim: float) -> Tried | None:
        """A setting under the attack that was strongest before, where that alone is expected to gain more than the aim.

        As with all attacks, few keys say where to look.
        """
        return self._fails(plan, worst, aim, self.few_keys)

    def fails_closely(self, plan: Plan, worst: AuditRow | None, aim: float) -> bool:
        """The same with as many keys as still are few."""
        return self._fails(plan, worst, aim, ENOUGH_KEYS - 1) is not None

    def _fails(self, plan: Plan, worst: AuditRow | None, aim: float, keys: int) -> Tried | None:
        if worst is None or worst.one_matrix or self._goals.against is not None:
            return None
        tried = self._under(worst).tried(plan, keys)
        return tried if tried.worst is not None and tried.expected > aim else None

    def _under(self, worst: AuditRow, *, every_amount: bool = False) -> SettingTrials:
        """The same with one attack and its kind of knowledge alone, at its largest share if it is of shares.

        Or at ``every_amount`` of it: with less knowledge keys may differ more.
        """
        one, kind, along = copy.copy(self), worst.level.kind, worst.level.knowledge.along
        one._attacks = [attack for attack in self._attacks if attack.label == worst.attack]
        one._grants, one.strong = self._grants.limited_to(kind, *along), {(worst.attack, kind, worst.part)}
        amounts = one._grants[kind] if kind != NOTHING else ()
        shares = isinstance(amounts, tuple) and all(isinstance(each, float) for each in amounts)
        if shares and len(amounts) > 1 and not every_amount:
            one._grants = one._grants.adapted(**{kind: max(amounts)})
        return one

    def tried(self, plan: Plan, runs: int, *, most: int | None = None) -> Tried:
        """A setting under every attack, once, and again with other keys while that can change the answer.

        ``runs`` are the keys that would settle it; with ``most`` there are no more than so many. Where the time is over
        before it is answered, it raises :class:`TimeIsOver`.
        """
        self._given_up = ()
        schedule, (candidate,), levels = self._run([plan], most or runs, None, again=partial(self._is_open, runs))
        for rows in schedule.board.runs(0) if most is not None else ():
            if not self._given_up and self._counts(rows[0], levels) and self._is_lost(rows, runs):
                self._given_up = rows
        ends: list[tuple[tuple[Scored, str], float, float, float, AuditRow]] = []
        # Attacks that were not run again since another one is over the goal have too few keys to say anything.
        for rows in [self._given_up] if self._given_up else schedule.board.runs(0):
            if self._counts(rows[0], levels) and not rows[0].one_matrix:
                ends += [(*end, rows[0]) for end in self._ends(rows)]
                if max((mean for _, mean, *_ in self._ends(rows)), default=0.0) > self._goals.max_advantage:
                    self.strong.add((rows[0].attack, rows[0].level.kind, rows[0].part))
        # Few keys that fail do not show that the next one will: there the audit's own limit counts.
        lottery = [row for row in candidate.rows if row.one_matrix and self._counts(row, levels) and not self._given_up]
        ends += [((Scored.RECORDS, ""), mean, end, end, row) for row in lottery for mean, end in [self._held(row)]]
        gains: dict[tuple[Scored, str], float] = {}
        for place, _, _, likely, _ in ends:
            gains[place] = max(gains.get(place, 0.0), likely)
        worst = max(ends, key=lambda each: each[2], default=None)
        return Tried(
            plan,
            risk=max((mean for _, mean, *_ in ends), default=math.inf),
            limit=worst[2] if worst else math.inf,
            expected=max((likely for *_, likely, _ in ends), default=math.inf),
            gains=gains,
            worst=worst[4] if worst else None,
            runs=runs,
            candidate=candidate,
            kept=at_least(schedule.utilities(0)),
        )

    def _is_open(self, runs: int, row: AuditRow, rows: Sequence[AuditRow]) -> bool:
        """Whether an attack that is not shown to keep the goal, nor to break it, could be with more keys."""
        n = len(rows)
        if self._given_up:
            return False
        if n > 1 and n not in LOOKS:
            return True
        if not row.states_values:
            return False
        if row.one_matrix:
            return True
        # One key that a strong attack happens to fail on says little: it is run with enough to see how keys differ, at
        # the level with the most knowledge of its kind.
        strong, goal = (row.attack, row.level.kind, row.part), self._goals.max_advantage
        ends = self._ends(rows)
        if any(end > goal for _, _, end, _ in ends):
            self.strong.add(strong)
            self._given_up = rows if self._is_lost(rows, runs) else ()
            return not self._given_up
        most = row.level.amount == self._largest[row.level.kind]
        return bool(row.failures) or (most and strong in self.strong and n < min(ENOUGH_KEYS, runs))

    def _is_lost(self, rows: Sequence[AuditRow], runs: int) -> bool:
        """Whether the limit stays over the goal if the keys to come are as these, and a little luckier."""
        if len(rows) < ENOUGH_KEYS or 2 * len(rows) < runs:
            return False
        luck = SPARED * math.sqrt(runs / len(rows))
        with_all = self._ends([*rows] * (runs // len(rows)))
        return any(mean + (end - mean) * (1.0 - luck) > self._goals.max_advantage for _, mean, end, _ in with_all)

    def audited(
        self,
        plans: Sequence[Plan],
        runs: int,
        *,
        seconds: float | None = None,
        attacks: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> list[Candidate]:
        """Settings as an audit has them: run until a verdict is settled, or until the ``deadline``."""
        return self._run(plans, runs, seconds, attacks=attacks, deadline=deadline)[1]

    def utilities(self, plan: Plan) -> dict[str, Measure]:
        """The utilities of one release of a setting, which is not attacked."""
        exposures = Exposures(self._table, [plan], roles=self._roles, grants=self._grants, seed=self._seed)
        runner = TrialRunner(exposures, [plan], [], self._goals.tolerance)
        return runner.utilities(0, 0, **self._uses, labels=exposures.labels(self._target))

    def _run(
        self,
        plans: Sequence[Plan],
        runs: int,
        seconds: float | None,
        *,
        again: Callable[[AuditRow, Sequence[AuditRow]], bool] | None = None,
        attacks: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> tuple[Schedule, list[Candidate], tuple[Level, ...]]:
        exposures = Exposures(self._table, plans, roles=self._roles, grants=self._grants, seed=self._seed)
        self.columns = exposures.columns
        levels = exposures.levels
        self._largest = {each.kind: max(level.amount for level in levels if level.kind == each.kind) for each in levels}
        self._goals.check_against(exposures.levels, exposures.columns)
        labels = exposures.labels(self._target)
        chosen = self._attacks if attacks is None else [find_attack(name)() for name in attacks]
        schedule = Schedule(
            TrialRunner(exposures, plans, chosen, self._goals.tolerance, self._goals.largest),
            self._goals,
            repetitions=runs,
            seconds=seconds,
            workers=self._workers,
            uses={**self._uses, "labels": labels},
            progress=self._course,
            answered=self._answers(plans),
            again=again,
            deadline=deadline or self._time.deadline,
        )
        candidates = schedule.candidates(time.monotonic())
        self._course.next_step()
        if again is not None and schedule.cut:
            raise TimeIsOver
        return schedule, candidates, tuple(exposures.levels)

    def _answers(self, plans: Sequence[Plan]) -> dict[str, Any]:
        """What runs of these settings have brought; of others it is forgotten, since they are not tried again."""
        text = as_text([candidate_words(plan) for plan in plans])
        if text not in self._answered:
            self._answered.clear()
        return self._answered.setdefault(text, {})

    def _counts(self, row: AuditRow, levels: Any) -> bool:
        return row.states_values and self._goals.counts(row.level, levels)

    def _held(self, row: AuditRow) -> tuple[float, float]:
        """The highest advantage and upper limit of an attack on what counts."""
        scores = (
            [(Scored.LINKS, row.record)] if row.links else [(Scored.VALUES, row.value), (Scored.RECORDS, row.record)]
        )
        ends = [
            (self._of_goal(scored, max(0.0, score.advantage)), self._of_goal(scored, score.advantage.high))
            for scored, score in scores
            if scored in self._goals.limits
        ]
        return max((mean for mean, _ in ends), default=0.0), max((end for _, end in ends), default=0.0)

    def _ends(self, rows: Sequence[AuditRow]) -> list[tuple[tuple[Scored, str], float, float, float]]:
        """What an attack gains on everything that counts, over its runs: mean, limit and expected limit.

        As for the whole table, and as far as each goal is from ``max_advantage``, which all are then held against.
        """
        scores: list[tuple[Scored, str, list[Score], dict[str, Any]]] = []
        if rows[0].links:
            scores.append((Scored.LINKS, "", [row.record for row in rows], {}))
        else:
            scores.append((Scored.VALUES, "", [row.value for row in rows], {}))
            scores.append((Scored.RECORDS, "", [row.record for row in rows], {}))
            confidence = 1.0 - 0.05 / max(len(rows[0].columns), 1)
            for name in rows[0].columns:
                of_runs = [row.columns[name] for row in rows if name in row.columns]
                width = {"confidence": confidence, "unclear": self._goals.limit(Scored.COLUMN, name)}
                scores.append((Scored.COLUMN, name, of_runs, width))
            far_out = [row.far_out for row in rows if row.far_out is not None]
            scores += [(Scored.FAR_OUT, "", far_out, {"shown": True})] if len(far_out) == len(rows) else []
            for name in rows[0].largest:
                told = [row.largest[name] for row in rows if name in row.largest]
                of_runs = [each.score for each in told] if leave_some(told) else []
                confidence = 1.0 - 0.05 / len(rows[0].largest)
                if len(of_runs) == len(rows):
                    scores.append((Scored.LARGEST, name, of_runs, {"confidence": confidence, "shown": True}))
        ends = []
        for scored, name, of_runs, special in scores:
            if math.isinf(self._goals.limit(scored, name)):
                continue
            # A larger table has more records, but no more of the largest values.
            share = 1.0 if scored is Scored.LARGEST else self.n_records / self._n_rows
            special = {**special, "share": share, "keys": self.keys}
            mean, end = limit_of(of_runs, **special)
            likely = limit_of(of_runs, **special, hopeful=True)[1]
            if not math.isnan(mean):
                mean, end, likely = (self._of_goal(scored, number, name) for number in (mean, end, likely))
                ends.append(((scored, name), mean, end, likely))
        return ends

    def _of_goal(self, scored: Scored, advantage: float, column: str = "") -> float:
        """An advantage, moved as far as its own goal is from ``max_advantage``, which all are then held against."""
        return advantage - self._goals.limit(scored, column) + self._goals.max_advantage


def gains(row: AuditRow) -> str:
    """What an attack gains, in a sentence.

    The strongest of its scores is named: values, records, links, one column, far-out or the largest values.
    """
    place = within(tuple(row.columns)) if row.target else ""
    scores = [("links", row.record)] if row.links else [("values", row.value), (f"records{place}", row.record)]
    if not row.links:
        scores.append((f"values of column {row.worst_column!r}", row.column))
        scores += [("far-out values", row.far_out)] if row.far_out is not None else []
        scores += [(f"largest values of column {name!r}", each.score) for name, each in row.largest.items()]
    what, score = max(scores, key=lambda named: _gain(named[1]))
    gain, low, high = float(score.advantage), score.advantage.low, score.advantage.high
    return (
        f"{row.name} with {knowing(row.level)} gets {percent(float(score.rate))} of the {what} right; "
        f"{compared(score.control, score.baseline)} (advantage {percent(gain)}, {percent(low)} to {percent(high)})"
    )


def _gain(score: Score) -> float:
    gain = float(score.advantage)
    return -math.inf if math.isnan(gain) else gain
