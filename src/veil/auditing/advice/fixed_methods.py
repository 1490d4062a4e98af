"""Methods that are tried as they are: few keys show a break, and many are needed to show none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from veil.auditing import Goals
from veil.auditing.advice.findings import Findings, broken_words
from veil.auditing.advice.setting_trials import SettingTrials, Tried
from veil.auditing.advice.time_left import OUT_OF_TIME, TimeIsOver, TimeLeft
from veil.publishing.plan import Plan
from veil.report.words import percent

MATRIX_RUNS = 5
MANY_KEYS = 120
QUICK = ("known-pairs", "projection-map", "disclosed-matrix")
"""Attacks that break most secret matrices in no time."""


class FixedMethods:
    """Plans without a strength to search, on few records and on all of them."""

    def __init__(
        self, small: SettingTrials, whole: SettingTrials, findings: Findings, goals: Goals, time_left: TimeLeft
    ) -> None:
        self._small, self._whole, self._findings, self._goals, self._time = small, whole, findings, goals, time_left

    def unbroken(self, plans: Sequence[Plan]) -> list[tuple[Plan, float]]:
        """The plans that few keys on few records do not break, and what each keeps."""
        left = self._unbroken(self._unbroken([(plan, 0.0) for plan in plans], attacks=QUICK), attacks=None)
        return sorted(left, key=lambda each: -each[1])

    def confirmed(self, plan: Plan) -> Tried | None:
        """A plan that keeps every goal; of another the findings are told why not."""
        if self._time.is_over():
            self._findings.rejected[plan.describe()] = OUT_OF_TIME
            return None
        keys = self._whole.keys
        try:
            tried = self._whole.tried(plan, runs=keys)
        except TimeIsOver:
            self._findings.rejected[plan.describe()] = OUT_OF_TIME
            return None
        holds = tried.limit <= self._goals.max_advantage and tried.candidate.passed
        if not holds and tried.risk <= self._goals.max_advantage and self._affordable(tried):
            (candidate,) = self._whole.audited([plan], runs=MANY_KEYS, seconds=self._time.patience())
            ends = [row.upper for row in candidate.rows]
            tried = replace(tried, candidate=candidate, limit=max(ends), runs=MANY_KEYS, confidence=0.95)
            holds = candidate.passed
        self._findings.note(tried, tried.candidate.method, None, confirmed=holds)
        short = self._goals.utility_failures(tried.candidate.utility)
        if holds and not short:
            return tried
        over = f"its risk is {percent(tried.risk)} on average over {keys} keys; {tried.words}"
        few = f"{keys} keys leave a risk of up to {percent(tried.limit)}, and to exclude it takes some 80"
        reason = over if tried.risk > self._goals.max_advantage else few
        self._findings.rejected[plan.describe()] = str(short[0]) if holds else f"not shown to be safe: {reason}"
        return None

    def _unbroken(
        self, plans: Sequence[tuple[Plan, float]], *, attacks: Sequence[str] | None
    ) -> list[tuple[Plan, float]]:
        """The methods that few keys do not break, each with what it keeps."""
        if self._time.is_over():
            self._findings.rejected |= {plan.describe(): OUT_OF_TIME for plan, _ in plans}
            return []
        if not plans:
            return []
        left = None if self._time.deadline is None else max(1.0, self._time.left() / 4)
        tried = [plan for plan, _ in plans]
        candidates = self._small.audited(tried, runs=MATRIX_RUNS, attacks=attacks, seconds=left)
        for plan, candidate in zip(tried, candidates, strict=True):
            if candidate.breaks:
                self._findings.rejected[candidate.label] = broken_words(candidate)
                self._findings.note_candidate(plan, candidate, broken_words(candidate))
        unbroken = [(plan, each) for plan, each in zip(tried, candidates, strict=True) if not each.breaks]
        if self._time.is_over():  # nobody knows what else there was to try
            self._findings.rejected |= {plan.describe(): OUT_OF_TIME for plan, _ in unbroken}
            return []
        return [(plan, self._findings.kept(candidate)) for plan, candidate in unbroken]

    def _affordable(self, tried: Tried) -> bool:
        """Whether 80 more keys can be tried in the time there is."""
        return 80 * sum(row.seconds for row in tried.candidate.rows) <= 2 * self._time.patience()
