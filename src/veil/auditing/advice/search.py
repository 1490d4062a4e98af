"""D6: search methods and parameters so that every goal holds at the best utility.

Closed forms say where to begin. From there the strength at which a method begins to keep the goals is enclosed, under
every attack, on at most 4,000 records and with intervals as for the whole table; strengths that are stronger than the
goals on utility allow are left out. The weakest setting that keeps the goals is confirmed on the whole table: it is
accepted when the 99 % limit of its risk over ten keys meets the goal, so that the next audit, with yet another key, can
be expected to agree. A method with one secret matrix breaks for all records or for none, so it takes 73 keys to show
that it holds; it is tried like that only after few keys have not broken it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from veil.attacks import every_attack
from veil.auditing import Audit, Candidate, Goals, Grants
from veil.auditing.advice.choices import Choices
from veil.auditing.advice.families import RESPONSE, Family, rounded_up
from veil.auditing.advice.findings import Crossing, Findings, broken_words, tested
from veil.auditing.advice.result import Advice
from veil.auditing.advice.setting_trials import RUNS, SettingTrials, Tried
from veil.auditing.advice.wording import miss, nearest_miss, outdone, recommendation
from veil.auditing.run import audit_context
from veil.auditing.sampling import MOST_RECORDS, audited_records
from veil.data.sources import as_table
from veil.progress import Progress
from veil.publishing.plan import Plan, as_plan
from veil.report.values import AdviceState
from veil.report.words import percent

TRIES = 4
FIRST = (0.6, 1.3)
"""Strengths that are tried first, as shares of the one that theory expects."""
STEP, CLOSE = 2.0, 1.5
"""How far the next strength is away while all hold or none, and the ends of an enclosure that is narrow enough."""
ROUNDS = 7
LEAST_UTILITY = 0.02
"""A setting that keeps less is not worth a stronger one."""
MATRIX_RUNS = 5
MANY_KEYS = 120
SECONDS_FOR_MATRICES = 40.0
QUICK = ("known-pairs", "projection-map", "disclosed-matrix")
"""Attacks that break most secret matrices in no time."""
OUT_OF_TIME = "not tried: out of time"
MARGIN = 0.1
"""How much under the goal, as a share of it, the first setting to confirm is aimed."""


class Search:
    """One search over the families and the settings that are tried as they are."""

    def __init__(
        self,
        table: Any,
        candidates: Sequence[Any] | None,
        *,
        goals: Goals,
        grants: Grants,
        roles: dict[str, str],
        target: str | None,
        n_clusters: int,
        seconds: float | None,
        seed: int | None,
        workers: int | None,
        progress: Progress,
    ) -> None:
        self._goals, self._grants, self._roles, self._seed = goals, grants, roles, seed
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._table, self._sampled = audited_records(as_table(table), MOST_RECORDS, seed)
        self._findings = Findings(goals)
        self._choices = Choices(self._table, roles, tolerance=goals.tolerance, seed=seed)
        self._families, self._fixed = self._choices.methods(candidates)
        self._family_of: dict[str, str] = {}
        self._cut: set[str] = set()
        shared: dict[str, Any] = {
            "roles": roles,
            "grants": grants,
            "goals": goals,
            "uses": {"n_clusters": n_clusters},
            "target": target,
            "seed": seed,
            "workers": workers,
            "n_rows": self._table.num_rows,
            "progress": progress,
        }
        self._whole = SettingTrials(self._table, **shared)
        self._small = SettingTrials(self._choices.thinned(), **shared)

    # -- the search -------------------------------------------------------------------------

    def advice(self) -> Advice:
        """Try, confirm, and say."""
        if self._choices.categories:
            self._settle_categories()
        crossings = self._crossings()
        accepted = self._fixed_ones()
        for crossing in sorted(crossings, key=lambda crossing: -crossing.utility):
            if accepted and crossing.utility <= max(self._findings.utility(t) for t in accepted):
                best = max(accepted, key=self._findings.utility)
                label = self._choices.plan(crossing.family.make(crossing.strength)).describe()
                words = outdone(label, crossing.utility, best.candidate.label, self._findings.utility(best))
                self._findings.rejected[crossing.family.name] = words
                continue
            confirmed = self._confirmed(crossing)
            accepted += [confirmed] if confirmed is not None else []
        if accepted:
            return self._recommended(max(accepted, key=self._findings.utility))
        return self._impossible()

    def _settle_categories(self) -> None:
        """The weakest randomized response that keeps the goals on the categories alone."""
        numbers = [f.name for f in self._table.schema if f.name not in self._choices.categories]
        unperturbed = ("public", "identifier")
        bench = self._small.of_columns({n: "drop" for n in numbers if self._roles.get(n) not in unperturbed})
        strengths = RESPONSE.grid(1.0, (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 5.0, 10.0, 20.0))
        low, high = 0, len(strengths) - 1
        while low < high and not self._late():
            middle = (low + high) // 2
            (tried,) = bench.tried([as_plan(RESPONSE.make(strengths[middle]))], runs=1)
            low, high = (low, middle) if tried.expected <= self._aim() else (middle + 1, high)
        self._choices.doubt = strengths[high]
        self._fixed = [self._with_doubt(plan) for plan in self._fixed]

    def _with_doubt(self, plan: Plan) -> Plan:
        """A plan made before the strength of the responses was known."""
        if len(plan.parts) == 2 and plan.parts[1][0] == tuple(self._choices.categories):
            return self._choices.plan(plan.parts[0][1])
        return plan

    def _crossings(self) -> list[Crossing]:
        """For each family, the weakest strength that the grid expects to keep the goal."""
        survey = self._choices.survey() if self._families else None
        begins = {f.name: f.beginning(survey, self._goals.max_advantage) for f in self._families if survey}
        curves: dict[str, dict[float, Tried]] = {f.name: {} for f in self._families}
        for _ in range(ROUNDS):
            best = self._best(curves)
            wanted = [
                (f, s)
                for f in self._families
                for s in self._open(f, begins[f.name], curves[f.name])
                if not self._outdone(curves[f.name], s, best)
            ]
            if not wanted:
                break
            if self._late():
                self._cut = {family.name for family, _ in wanted}
                break
            plans = [self._choices.plan(f.make(s)) for f, s in wanted]
            for (family, strength), tried in zip(wanted, self._small.tried(plans, runs=1), strict=True):
                curves[family.name][strength] = tried
                self._findings.note(tried, family.name, strength)
        best = self._best(curves)
        crossings = [self._crossing(family, curves[family.name], best) for family in self._families]
        return [crossing for crossing in crossings if crossing is not None]

    def _best(self, curves: Mapping[str, Mapping[float, Tried]]) -> float:
        """The highest utility of a setting that holds, as far as was tried."""
        tried = (tried for curve in curves.values() for tried in curve.values())
        return max((self._findings.utility(t) for t in tried if t.expected <= self._aim()), default=0.0)

    def _outdone(self, curve: Mapping[float, Tried], strength: float, best: float) -> bool:
        """Whether a weaker setting of the method already keeps less than another that holds: utility falls."""
        weaker = [curve[s] for s in curve if s < strength]
        return any(self._findings.utility(tried) < best for tried in weaker)

    def _open(self, family: Family, begin: float, curve: Mapping[float, Tried]) -> list[float]:
        """Strengths still to try: two about the beginning, then beyond the end while all hold or none, then between.

        A strength is worth trying only where a weaker one is still useful.
        """
        if not curve:
            return family.grid(begin, FIRST)
        aim, weakest, strongest = self._aim(), min(curve), max(curve)
        if all(tried.expected > aim for tried in curve.values()):
            useful = self._findings.utility(curve[strongest]) >= LEAST_UTILITY and not self._goals.utility_failures(
                curve[strongest].candidate.utility
            )
            return [s for s in family.grid(strongest, [STEP]) if s > strongest] if useful else []
        keeps = [s for s in curve if all(curve[t].expected <= aim for t in curve if t >= s)]
        if not keeps:  # the strongest fails where a weaker one holds, by chance
            return [s for s in family.grid(strongest, [STEP]) if s > strongest]
        high = min(keeps)
        if high == weakest:
            return [s for s in family.grid(weakest, [1.0 / STEP]) if s < weakest]
        low = max(s for s in curve if s < high)
        middle = family.grid(math.sqrt(low * high), [1.0])
        return [s for s in middle if low < s < high] if high / low > CLOSE else []

    def _aim(self) -> float:
        return self._goals.max_advantage * (1.0 - MARGIN)

    def _crossing(self, family: Family, curve: Mapping[float, Tried], best: float) -> Crossing | None:
        strengths, aim = sorted(curve), self._aim()
        keeps = [s for s in strengths if all(curve[t].expected <= aim for t in strengths if t >= s)]
        if not keeps:
            strongest = curve[strengths[-1]] if strengths else None
            reason = OUT_OF_TIME
            if strongest is not None and family.name not in self._cut:
                utility = self._findings.utility(strongest)
                less = f" and keeps {percent(utility)} where another method that holds keeps {percent(best)}"
                label = strongest.candidate.label
                reason = f"even as {label}, {strongest.words}" if utility >= best else f"{label} fails{less}"
            self._findings.rejected[family.name] = reason
            return None
        high = keeps[0]
        lower = [s for s in strengths if s < high]
        slope = -aim
        strength, utility = high, self._findings.utility(curve[high])
        if lower:
            low = lower[-1]
            run = math.log(high / low)
            slope = min((curve[high].expected - curve[low].expected) / run, -1e-6)
            way = min(max((aim - curve[low].expected) / slope, 0.0), run) / run
            strength = low * math.exp(way * run)
            utility = (1.0 - way) * self._findings.utility(curve[low]) + way * utility
        return Crossing(family, rounded_up(strength), slope, utility)

    def _confirmed(self, crossing: Crossing) -> Tried | None:
        """The setting on the whole table, stronger until the 99 % limit over ten keys meets the goal."""
        family, strength, goal = crossing.family, crossing.strength, self._goals.max_advantage
        tried: Tried | None = None
        for _ in range(TRIES):
            if self._late():
                self._findings.rejected[family.name] = OUT_OF_TIME
                return None
            (tried,) = self._whole.tried([self._choices.plan(family.make(strength))], runs=RUNS)
            holds = tried.limit <= goal and not any(row.failures for row in tried.candidate.rows) and tested(tried)
            self._findings.note(tried, family.name, strength, confirmed=holds)
            if holds:
                break
            if self._choices.categories and tried.worst is not None and tried.worst.part > 0:
                self._choices.doubt = min(1.6 * self._choices.doubt, RESPONSE.strengths[1])
                continue
            step = (tried.limit - self._aim()) / -crossing.slope
            stronger = rounded_up(strength * math.exp(min(max(step, math.log(1.1)), math.log(3.0))))
            if strength >= family.strengths[1]:
                break
            strength = min(stronger, family.strengths[1])
        if tried is None or not holds:
            self._findings.rejected[family.name] = f"not confirmed: {tried.words if tried else 'no time'}"
            return None
        short = self._goals.utility_failures(tried.candidate.utility)
        if short:
            self._findings.rejected[family.name] = (
                f"keeps the privacy goal from {tried.candidate.label} on, where {short[0]}"
            )
            return None
        self._family_of[tried.candidate.label] = family.name
        return tried

    def _fixed_ones(self) -> list[Tried]:
        """Methods that are tried as they are: few keys show a break, and many are needed to show none."""
        accepted = []
        left = self._unbroken(self._unbroken(self._fixed, attacks=QUICK), attacks=None)
        for plan in left:
            if self._late():
                self._findings.rejected[plan.describe()] = OUT_OF_TIME
                continue
            (tried,) = self._whole.tried([plan], runs=RUNS)
            holds = tried.limit <= self._goals.max_advantage and tried.candidate.passed
            if not holds and tried.risk <= self._goals.max_advantage and self._affordable(tried):
                (candidate,) = self._whole.audited([plan], runs=MANY_KEYS, seconds=self._patience())
                ends = [row.upper for row in candidate.rows]
                holds, tried = candidate.passed, replace(tried, candidate=candidate, limit=max(ends), runs=MANY_KEYS)
            self._findings.note(tried, tried.candidate.method, None, confirmed=holds)
            short = self._goals.utility_failures(tried.candidate.utility)
            if holds and not short:
                accepted.append(tried)
                continue
            over = f"its risk is {percent(tried.risk)} on average over {RUNS} keys; {tried.words}"
            few = f"{RUNS} keys leave a risk of up to {percent(tried.limit)}, and to exclude it takes some 80"
            reason = over if tried.risk > self._goals.max_advantage else few
            self._findings.rejected[plan.describe()] = str(short[0]) if holds else f"not shown to be safe: {reason}"
        return accepted

    def _unbroken(self, plans: Sequence[Plan], *, attacks: Sequence[str] | None) -> list[Plan]:
        """The methods that few keys do not break."""
        if self._late():
            return list(plans)
        left = None if self._deadline is None else max(1.0, (self._deadline - time.monotonic()) / 4)
        candidates = self._small.audited(plans, runs=MATRIX_RUNS, attacks=attacks, seconds=left) if plans else []
        for candidate in candidates:
            if candidate.breaks:
                self._findings.rejected[candidate.label] = broken_words(candidate)
                self._findings.note_candidate(candidate, broken_words(candidate))
        return [plan for plan, candidate in zip(plans, candidates, strict=True) if not candidate.breaks]

    def _affordable(self, tried: Tried) -> bool:
        """Whether 80 more keys can be tried in the time there is."""
        return 80 * sum(row.seconds for row in tried.candidate.rows) <= 2 * self._patience()

    def _patience(self) -> float:
        left = math.inf if self._deadline is None else self._deadline - time.monotonic()
        return max(1.0, min(SECONDS_FOR_MATRICES, left))

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    # -- the answer -------------------------------------------------------------------------

    def _recommended(self, tried: Tried) -> Advice:
        label = tried.candidate.label
        self._findings.rejected.pop(self._family_of.get(label, label), None)
        plan = tried.plan
        single = len(plan.parts) == 1 and plan.parts[0][0] is None
        words = recommendation(tried, self._goals)
        method = plan.parts[0][1] if single else plan
        return self._answer(method, words, None, tried.candidate, AdviceState.RECOMMENDED)

    def _impossible(self) -> Advice:
        """No method keeps every goal, or none was shown to in time: say which comes nearest."""
        points = self._findings.points()
        cut = OUT_OF_TIME in self._findings.rejected.values()
        state = AdviceState.OUT_OF_TIME if cut else AdviceState.IMPOSSIBLE
        if not points:
            first = self._fixed[0] if not self._families else self._choices.plan(self._families[0].make(1.0))
            words = "No setting was tried in the time there was; give more (budget)."
            audited = self._small.audited([first], runs=1, seconds=self._patience())
            return self._answer(None, words, None, audited[0], state)
        near = nearest_miss(points, self._goals)
        family = next((f for f in self._families if f.name == near.method), None)
        plan = next((p for p in self._fixed if p.describe() == near.label), None)
        plan = self._choices.plan(family.make(near.strength)) if family and near.strength else plan
        words = miss(near, self._goals)
        (candidate,) = self._whole.audited([plan], runs=MATRIX_RUNS, seconds=self._patience()) if plan else (None,)
        what = "Of what was tried in the time there was, the nearest is" if cut else "The nearest miss is"
        return self._answer(None, f"{what} {words}.", words, candidate, state)

    def _answer(
        self, chosen: Any, words: str, nearest: str | None, candidate: Candidate | None, state: AdviceState
    ) -> Advice:
        context = audit_context(self._seed, RUNS, None, self._grants, every_attack())
        audit = Audit(
            (candidate,) if candidate is not None else (),
            self._goals,
            self._table.num_rows,
            self._whole.columns or self._small.columns,
            context,
            remarks=self._sampled,
        )
        findings = self._findings
        points, utilities = findings.points(), findings.utilities()
        return Advice(chosen, points, dict(findings.rejected), words, nearest, utilities, audit, state)
