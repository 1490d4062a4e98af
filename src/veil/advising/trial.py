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
from scipy import stats

from veil import measures
from veil.attacks import every_attack
from veil.auditing import AuditRow, Candidate, Goals, Grants
from veil.auditing.judge import Score
from veil.auditing.match import Match
from veil.auditing.play import Arena
from veil.auditing.stage import Stage
from veil.plan import Plan
from veil.progress import Progress, silent
from veil.report.words import knowing, percent

CONFIDENCE = 0.99


@dataclass(frozen=True)
class Tried:
    """A setting under every attack: the risk of each run, the worst row, and the candidate as an audit has it."""

    plan: Plan
    risks: tuple[float, ...]
    worst: AuditRow | None
    candidate: Candidate

    @property
    def risk(self) -> float:
        """The mean over runs of the highest advantage that the goals are held against."""
        return float(np.mean(self.risks))

    @property
    def limit(self) -> float:
        """What the risk of another run stays under with 99 % confidence (Student's prediction limit)."""
        n = len(self.risks)
        if n < 2:
            return math.inf
        spread = float(np.std(self.risks, ddof=1)) * math.sqrt(1.0 + 1.0 / n)
        return max(self.risk + float(stats.t.ppf(CONFIDENCE, n - 1)) * spread, *self.risks)

    @property
    def pooled(self) -> float:
        """The highest end that the goals are held against, over all runs together."""
        ends = [0.0]
        for row in self.candidate.rows:
            if row.failures:
                ends += [row.value.advantage.high, row.record.advantage.high, row.column.advantage.low]
                ends += [row.far_out.advantage.low] if row.far_out is not None else []
        return max(end for end in ends if not math.isnan(end))

    @property
    def utilities(self) -> dict[str, float]:
        """The utilities by name."""
        return {name: float(value) for name, value in self.candidate.utility.items()}

    @property
    def words(self) -> str:
        """The strongest attack and what it gains."""
        return "no attack applies" if self.worst is None else gains(self.worst)


class Bench:
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

    def of_columns(self, roles: Mapping[str, str]) -> Bench:
        """The same bench with other roles."""
        other = copy.copy(self)
        other._roles = {**self._roles, **roles}
        return other

    def tried(self, plans: Sequence[Plan], runs: int, *, seconds: float | None = None) -> list[Tried]:
        """Every setting under every attack, ``runs`` times with other keys and deals."""
        found, board, levels = self._played(plans, runs, seconds, exactly=True)
        tried = []
        for i, (plan, candidate) in enumerate(zip(plans, found, strict=True)):
            rows = [self._counted(board.run_rows(i, run), levels) for run in range(runs)]
            risks = [max((self._risk(row) for row in each), default=math.inf) for each in rows]
            worst = max(rows[0], key=self._risk, default=None) if rows else None
            tried.append(Tried(plan, tuple(risks), worst, candidate))
        return tried

    def audited(self, plans: Sequence[Plan], runs: int, *, seconds: float | None = None) -> list[Candidate]:
        """Settings as an audit has them: played until a verdict is settled."""
        found: list[Candidate] = self._played(plans, runs, seconds, exactly=False)[0]
        return found

    def _played(self, plans: Sequence[Plan], runs: int, seconds: float | None, *, exactly: bool) -> Any:
        stage = Stage(self._table, plans, roles=self._roles, grants=self._grants, seed=self._seed)
        self.columns = stage.columns
        labels = stage.labels(self._target)
        match = Match(
            Arena(stage, plans, every_attack(), self._goals.tolerance),
            self._goals,
            repetitions=runs,
            seconds=seconds,
            workers=self._workers,
            uses={**self._uses, "labels": labels},
            progress=self._progress,
            exactly=exactly,
        )
        return match.played(time.monotonic()), match.board, stage.levels

    def _counted(self, rows: Sequence[AuditRow], levels: Any) -> list[AuditRow]:
        return [row for row in rows if row.states_values and self._goals.counts(row.level, levels)]

    def _risk(self, row: AuditRow) -> float:
        """The advantage that the goals are held against, as it would be with all records of the table."""
        grown = self._n_rows / self.n_records
        overall = [self._end(score, row.n_scored * grown, upper=True) for score in (row.value, row.record)]
        if row.links:
            return overall[-1]
        parts = [self._end(row.column, row.n_scored * grown, upper=False, looked_at=len(self.columns))]
        if row.far_out is not None:
            parts.append(row.far_out.advantage.low)
        known = [risk for risk in (*overall, *parts) if not math.isnan(risk)]
        return max(known, default=math.inf)

    def _end(self, score: Score, n: float, *, upper: bool, looked_at: int = 1) -> float:
        """An end of the advantage's interval over n records."""
        if math.isnan(score.rate):
            return math.nan
        low, high = measures.wilson(float(score.rate) * int(n), int(n), 1 - 0.05 / looked_at)
        return float(measures.advantage(high if upper else low, score.baseline))


def gains(row: AuditRow) -> str:
    """What an attack gains, in a sentence.

    The strongest of its scores is named: values, records, links, one column, or far-out values.
    """
    scores = [("people linked", row.record)] if row.links else [("values", row.value), ("records", row.record)]
    if not row.links:
        scores.append((f"values of column {row.worst_column!r}", row.column))
        scores += [("far-out values", row.far_out)] if row.far_out is not None else []
    what, score = max(scores, key=lambda named: _gain(named[1]))
    return (
        f"{row.attack} with {knowing(row.knowledge)} gets {percent(float(score.rate))} of the {what} right, where "
        f"guessing gets {percent(score.baseline)}"
    )


def _gain(score: Score) -> float:
    gain = float(score.advantage)
    return -math.inf if math.isnan(gain) else gain
