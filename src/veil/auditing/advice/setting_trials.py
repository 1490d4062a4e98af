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

from veil.attacks import every_attack, find_attack
from veil.auditing import AuditRow, Candidate, Goals, Grants
from veil.auditing.exposure import Exposures
from veil.auditing.scores import Score
from veil.auditing.trials.schedule import Schedule
from veil.auditing.trials.trial import TrialRunner
from veil.progress import Progress, silent
from veil.publishing.plan import Plan
from veil.report.words import knowing, percent

CONFIDENCE = 0.99
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


NEXT_AUDIT = 7.6
"""Standard errors of ten runs that the upper 95 % limit of ten others stays within, with 99 % probability.

For normal runs P(m' + t s' ≤ m + 7.6 s) = 0.99, where (m, s) and (m', s') are means and standard errors of ten runs
each and t is Student's 97.5 % point: both means and both errors vary. The tests simulate it.
"""
ONE_RUN = 4.0
"""The same for one run, which only says where to look: what it finds is confirmed by ten."""


def limit_of(scores: Sequence[Score], n: float, *, whole: bool, looked_at: int = 1) -> tuple[float, float]:
    """The mean advantage over runs, and what another audit of ten keys is held to, with 99 % confidence.

    Another audit is held to its upper 95 % limit (``whole``). A column or far-out values must not be shown to break,
    and one run may show it: there the lower limit of the next run stays under Student's prediction limit of ours. One
    run alone says less: it takes the standard error that ten would have from its n records.
    """
    # A run that does worse than the constant guess is no help to the next one: its loss is not averaged in.
    gained = np.maximum([float(score.advantage) for score in scores], 0.0)
    if np.isnan(gained).any():
        return math.nan, math.nan
    mean, baseline = float(gained.mean()), scores[0].baseline
    rate = float(np.mean([float(score.rate) for score in scores]))
    by_records = math.sqrt(max(rate * (1.0 - rate), 1.0 / n) / (n * RUNS)) / max(1.0 - baseline, 1e-9)
    alone = len(gained) == 1
    error = by_records if alone else float(gained.std(ddof=1)) / math.sqrt(len(gained))
    if whole:
        return mean, mean + max(ONE_RUN * by_records if alone else NEXT_AUDIT * error, 1.96 * by_records)
    if alone:
        far = math.sqrt(2.0) * float(stats.norm.ppf(CONFIDENCE)) - float(stats.norm.ppf(1.0 - 0.025 / looked_at))
        return mean, mean + max(far, 0.0) * error
    ends = np.maximum([score.advantage.low for score in scores], 0.0)
    spread = float(ends.std(ddof=1)) * math.sqrt(1.0 + 1.0 / len(ends))
    return mean, float(ends.mean()) + float(stats.t.ppf(CONFIDENCE, len(ends) - 1)) * spread


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
            judged += [(max(0.0, row.advantage), row.upper, row) for row in lottery]
            risk = max((mean for mean, _, _ in judged), default=math.inf)
            _, limit, worst = max(judged, key=lambda judged: judged[1], default=(math.inf, math.inf, None))
            tried.append(Tried(plan, risk, limit, worst, runs, candidate))
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

    def _ends(self, row: AuditRow) -> list[float]:
        """The ends that the goals are held against."""
        parts = [row.column, *([row.far_out] if row.far_out is not None else [])] if not row.links else []
        return [row.upper, *(part.advantage.low for part in parts)]

    def _judged(self, rows: Sequence[AuditRow], runs: int) -> tuple[float, float]:
        """The highest mean advantage of an attack over its runs, and the highest limit, as for the whole table."""
        if 1 < len(rows) < runs:  # far from the goal, and so not run more often
            ends = [end for row in rows for end in self._ends(row) if not math.isnan(end)]
            return max(0.0, *(float(row.advantage) for row in rows)), max(0.0, *ends)
        n = rows[0].n_scored * self._n_rows / self.n_records
        limits = [limit_of([row.record for row in rows], n, whole=True)]
        if not rows[0].links:
            limits.append(limit_of([row.value for row in rows], n, whole=True))
            limits.append(limit_of([row.column for row in rows], n, whole=False, looked_at=len(self.columns)))
            far_out = [row.far_out for row in rows if row.far_out is not None]
            if len(far_out) == len(rows):
                limits.append(limit_of(far_out, n, whole=False))
        known = [pair for pair in limits if not math.isnan(pair[0])]
        return max((mean for mean, _ in known), default=math.inf), max((end for _, end in known), default=math.inf)


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
        f"{row.name} with {knowing(row.level)} gets {percent(float(score.rate))} of the {what} right, where "
        f"guessing gets {percent(score.baseline)}"
    )


def _gain(score: Score) -> float:
    gain = float(score.advantage)
    return -math.inf if math.isnan(gain) else gain
