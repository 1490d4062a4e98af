"""Trying settings: all of them under every attack in one go, judged by the number that the goals are held against."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from veil.attacks import every_attack, find_attack
from veil.auditing import AuditRow, Candidate, Goals, Grants
from veil.auditing.exposure import Exposures
from veil.auditing.scores import Score
from veil.auditing.spread import KeySpread
from veil.auditing.trials.schedule import Schedule
from veil.auditing.trials.trial import TrialRunner
from veil.progress import Progress, silent
from veil.publishing.plan import Plan
from veil.report.values import Scored
from veil.report.words import compared, knowing, percent, within

CERTAINTY = 0.99
LUCK = 2.0
"""Standard errors that the luckiest of many attacks is taken to be over what it gains."""
RUNS = 10
"""Keys over which a setting is confirmed, and over which an audit settles an attack."""


@dataclass(frozen=True)
class Tried:
    """A setting under every attack.

    Attributes
    ----------
    risk
        The highest mean advantage of any attack, overall, on a column or on far-out values.
    limit
        What the goals would be held against in another audit, with 99 % confidence.
    expected
        The same without the luck of one key: the strongest of many attacks is partly the luckiest. It says where to
        look, and equals the limit over several keys.
    worst
        The row that decides the limit.
    runs
        Keys that it was tried with.
    candidate
        The setting as an audit has it.
    """

    plan: Plan
    risk: float
    limit: float
    expected: float
    worst: AuditRow | None
    runs: int
    candidate: Candidate

    @property
    def utilities(self) -> dict[str, float]:
        """The utilities by name."""
        return {name: float(value) for name, value in self.candidate.utility.items()}

    @property
    def words(self) -> str:
        """The strongest attack and what it gains."""
        return "no attack applies" if self.worst is None else gains(self.worst)


def limit_of(
    scores: Sequence[Score],
    share: float = 1.0,
    *,
    confidence: float = 0.95,
    shown: bool = False,
    unclear: float = math.inf,
    hopeful: bool = False,
) -> tuple[float, float]:
    """The mean advantage over runs, and the end that another audit of ten keys has with 99 % probability.

    ``scores`` are of one run each, on a ``share`` of the table's records; ``confidence`` is that of their intervals.
    The goal is held against the upper end of the next audit's interval, or, where only a goal ``shown`` to break counts,
    against the lower one; so it is where half the interval is wider than ``unclear``, which an audit takes for too few
    records. How means over keys vary is :class:`veil.auditing.spread.KeySpread`'s matter. ``hopeful`` takes
    :data:`LUCK` standard errors off one run, which is the luckiest of many, and holds the rest as ten runs: that says
    where to look.
    """
    gains = np.array([float(score.advantage) for score in scores])
    if np.isnan(gains).any():
        return math.nan, math.nan
    quantile = float(ndtri((1.0 + confidence) / 2.0))
    errors = np.array([(score.advantage.high - float(score.advantage)) / quantile for score in scores])
    of_one, mean = math.sqrt(float((errors**2).mean())), float(gains.mean())
    error = of_one * math.sqrt(share / len(gains))
    spread = KeySpread.of([float(gain) for gain in gains], error)
    if hopeful and len(gains) == 1:
        mean -= LUCK * of_one
        spread = KeySpread(error / math.sqrt(RUNS), RUNS, apart=False)
    lower = shown or KeySpread(spread.error * math.sqrt(spread.n / RUNS), RUNS, spread.apart).half(confidence) > unclear
    return mean, mean + spread.next_end(RUNS, confidence, CERTAINTY, lower=lower)


class SettingTrials:
    """A table on which settings are tried."""

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
    ) -> None:
        self._table, self._roles, self._grants, self._goals = table, dict(roles), grants, goals
        self._uses, self._target, self._seed, self._workers = dict(uses), target, seed, workers
        self._n_rows, self._progress = n_rows, progress
        self.n_records, self.columns = table.num_rows, tuple[str, ...]()

    def of_columns(self, roles: Mapping[str, str]) -> SettingTrials:
        """The same with other roles."""
        other = copy.copy(self)
        other._roles = {**self._roles, **roles}
        return other

    def tried(self, plans: Sequence[Plan], runs: int) -> list[Tried]:
        """Every setting under every attack, ``runs`` times with other keys and grants."""
        candidates, board, levels = self._run(plans, runs, None, exactly=True)
        tried = []
        for i, (plan, candidate) in enumerate(zip(plans, candidates, strict=True)):
            each = [[row for row in board.run_rows(i, run) if self._counts(row, levels)] for run in range(runs)]
            rows: dict[tuple[Any, ...], list[AuditRow]] = {}
            for row in (row for run in each for row in run):
                rows.setdefault((row.attack, row.level, row.part), []).append(row)
            judged = [
                (*self._judged(runs_of, runs), runs_of[0]) for runs_of in rows.values() if not runs_of[0].one_matrix
            ]
            # Few keys that fail do not show that the next one will: there the audit's own limit counts.
            lottery = [row for row in candidate.rows if row.one_matrix and self._counts(row, levels)]
            ends = [self._held(row) for row in lottery]
            judged += [(mean, end, end, row) for (mean, end), row in zip(ends, lottery, strict=True)]
            risk = max((mean for mean, *_ in judged), default=math.inf)
            expected = max((likely for *_, likely, _ in judged), default=math.inf)
            limit, worst = max(
                ((end, row) for _, end, _, row in judged), key=lambda pair: pair[0], default=(math.inf, None)
            )
            tried.append(Tried(plan, risk, limit, expected, worst, runs, candidate))
        return tried

    def audited(
        self,
        plans: Sequence[Plan],
        runs: int,
        *,
        seconds: float | None = None,
        attacks: Sequence[str] | None = None,
    ) -> list[Candidate]:
        """Settings as an audit has them: run until a verdict is settled."""
        candidates: list[Candidate] = self._run(plans, runs, seconds, exactly=False, attacks=attacks)[0]
        return candidates

    def _run(
        self,
        plans: Sequence[Plan],
        runs: int,
        seconds: float | None,
        *,
        exactly: bool,
        attacks: Sequence[str] | None = None,
    ) -> Any:
        exposures = Exposures(self._table, plans, roles=self._roles, grants=self._grants, seed=self._seed)
        self.columns = exposures.columns
        self._goals.check_against(exposures.levels)
        labels = exposures.labels(self._target)
        chosen = every_attack() if attacks is None else [find_attack(name)() for name in attacks]
        schedule = Schedule(
            TrialRunner(exposures, plans, chosen, self._goals.tolerance),
            self._goals,
            repetitions=runs,
            seconds=seconds,
            workers=self._workers,
            uses={**self._uses, "labels": labels},
            progress=self._progress,
            exactly=exactly,
        )
        return schedule.candidates(time.monotonic()), schedule.board, exposures.levels

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

    def _judged(self, rows: Sequence[AuditRow], runs: int) -> tuple[float, float, float]:
        """The highest mean advantage of an attack over its runs, limit and expected limit, as for the whole table."""
        most, nothing = self._goals.limits, (0.0, 0.0, 0.0)
        settings: dict[str, Any] = {"share": self.n_records / self._n_rows}
        scores: list[tuple[Scored, list[Score], dict[str, Any]]] = []
        if rows[0].links:
            scores.append((Scored.LINKS, [row.record for row in rows], {}))
        else:
            scores.append((Scored.VALUES, [row.value for row in rows], {}))
            scores.append((Scored.RECORDS, [row.record for row in rows], {}))
            width = {
                "confidence": 1.0 - 0.05 / max(len(rows[0].columns), 1),
                "unclear": most.get(Scored.COLUMN, math.inf),
            }
            for name in rows[0].columns:
                scores.append((Scored.COLUMN, [row.columns[name] for row in rows if name in row.columns], width))
            far_out = [row.far_out for row in rows if row.far_out is not None]
            scores += [(Scored.FAR_OUT, far_out, {"shown": True})] if len(far_out) == len(rows) else []
        counted = [each for each in scores if each[0] in most]
        ends = []
        for scored, of_runs, special in counted:
            mean, end = limit_of(of_runs, **settings, **special)
            likely = limit_of(of_runs, **settings, **special, hopeful=True)[1]
            if not math.isnan(mean):
                ends.append([self._of_goal(scored, number) for number in (mean, end, likely)])
        if not ends:
            return (math.inf, math.inf, math.inf) if counted else nothing
        mean, end, likely = (max(column) for column in zip(*ends, strict=True))
        return mean, end, likely

    def _of_goal(self, scored: Scored, advantage: float) -> float:
        """An advantage, moved as far as its own goal is from the strictest one, which all are then held against."""
        return advantage - self._goals.limits[scored] + self._goals.max_advantage


def gains(row: AuditRow) -> str:
    """What an attack gains, in a sentence.

    The strongest of its scores is named: values, records, links, one column, or far-out values.
    """
    place = within(tuple(row.columns)) if row.target else ""
    scores = [("links", row.record)] if row.links else [("values", row.value), (f"records{place}", row.record)]
    if not row.links:
        scores.append((f"values of column {row.worst_column!r}", row.column))
        scores += [("far-out values", row.far_out)] if row.far_out is not None else []
    what, score = max(scores, key=lambda named: _gain(named[1]))
    return (
        f"{row.name} with {knowing(row.level)} gets {percent(float(score.rate))} of the {what} right; "
        f"{compared(score.control, score.baseline)}"
    )


def _gain(score: Score) -> float:
    gain = float(score.advantage)
    return -math.inf if math.isnan(gain) else gain
