"""D6: search methods and parameters so that every goal holds at the best utility.

Closed forms say where to begin. Then a grid of strengths is tried under every attack, on at most 4,000 records and with
intervals as for the whole table; and the weakest setting that keeps the goals is confirmed on the whole table: it is
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

from veil.arguments import duration, whole
from veil.attacks import every_attack
from veil.auditing import Audit, Candidate, Goals, Grants
from veil.auditing.advice.choices import Choices
from veil.auditing.advice.families import RESPONSE, Family, two_digits
from veil.auditing.advice.findings import Crossing, broken_words, tested
from veil.auditing.advice.result import Advice, Point
from veil.auditing.advice.trial import RUNS, Bench, Tried
from veil.auditing.grants import as_grants
from veil.auditing.run import audit_context
from veil.auditing.sampling import MOST_RECORDS, audited_records
from veil.data.schema import as_roles
from veil.data.sources import as_table
from veil.errors import InputError, NotApplicableError
from veil.perturbations import Perturbation
from veil.progress import Progress, silent
from veil.publishing.plan import Plan, as_plan
from veil.report.words import listed, percent

TRIES = 4
FACTORS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
MATRIX_RUNS = 5
MORE, MOST = (1.0, 1.5, 2.2, 3.3, 5.0), (1.0, 2.0, 4.0, 8.0)
MANY_KEYS = 120
SECONDS_FOR_MATRICES = 40.0
QUICK = ("known-pairs", "projection-map", "disclosed-matrix")
"""Attacks that break most secret matrices in no time."""
MARGIN = 0.1
"""How much under the goal, as a share of it, the first setting to confirm is aimed."""


def advise(
    table: Any,
    candidates: Sequence[Perturbation | Plan | str] | None = None,
    *,
    goals: Goals | None = None,
    grants: Grants | None = None,
    roles: Mapping[str, str] | None = None,
    target: str | None = None,
    n_clusters: int = 3,
    budget: float | str | None = None,
    seed: int | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> Advice:
    """Which method, and how strong, so that every goal holds at the best utility?

    Parameters
    ----------
    table
        The private table.
    candidates
        What to choose from: names of methods whose strength is searched ("additive-noise", "correlated-noise",
        "multiplicative-noise", "log-normal-noise"), and perturbations that are tried as they are. All by default.
    goals
        The thresholds to hold; utilities that they name are the ones that count, else the mean of all.
    grants, roles, target, n_clusters, seed, workers
        As for :func:`veil.audit`.
    budget
        Time to spend, in seconds or as "5m". When it is short, fewer settings are tried.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(400, 3))
    >>> found = veil.advise(x, ["additive-noise"], goals=veil.Goals(max_advantage=0.2), seed=0)
    >>> found.possible, found.audit.passed, type(found.recommendation).__name__
    (True, True, 'AdditiveNoise')
    """
    search = Search(
        table,
        candidates,
        goals=Goals() if goals is None else goals,
        grants=as_grants(grants),
        roles=as_roles(roles),
        target=target,
        n_clusters=whole(n_clusters, "n_clusters", least=1),
        seconds=None if budget is None else duration(budget, "budget"),
        seed=None if seed is None else whole(seed, "seed"),
        workers=None if workers is None else whole(workers, "workers", least=1),
        progress=progress,
    )
    return search.advice()


class Search(Choices):
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
        if not isinstance(goals, Goals):
            raise InputError("goals must be a veil.Goals object")
        super().__init__(goals)
        self._roles, self._seed, self._grants = roles, seed, grants
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._table, self._sampled = audited_records(as_table(table), MOST_RECORDS, seed)
        self._categories = self._categorical()
        self._families, self._fixed = self._choices(candidates)
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
        self._whole = Bench(self._table, **shared)
        self._small = Bench(self._thinned(), **shared)
        self._doubt = 1.0

    # -- the search -------------------------------------------------------------------------

    def advice(self) -> Advice:
        """Try, confirm, and say."""
        if self._categories:
            self._settle_categories()
        accepted = self._fixed_ones()
        crossings = self._crossings()
        for crossing in sorted(crossings, key=lambda found: -found.utility):
            if accepted and crossing.utility <= max(self._utility(t) for t in accepted):
                self._points_to(crossing, accepted)
                continue
            confirmed = self._confirmed(crossing)
            accepted += [confirmed] if confirmed is not None else []
        if accepted:
            return self._recommended(max(accepted, key=self._utility))
        return self._impossible()

    def _settle_categories(self) -> None:
        """The weakest randomized response that keeps the goals on the categories alone."""
        numbers = [f.name for f in self._table.schema if f.name not in self._categories]
        kept = ("public", "identifier")
        bench = self._small.of_columns({n: "drop" for n in numbers if self._roles.get(n) not in kept})
        strengths = RESPONSE.grid(1.0, (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 5.0, 10.0, 20.0))
        tried = bench.tried([as_plan(RESPONSE.make(s)) for s in strengths], runs=1)
        fits = [s for s, t in zip(strengths, tried, strict=True) if t.limit <= self._aim()]
        self._doubt = min(fits, default=strengths[-1])
        self._fixed = [self._with_doubt(plan) for plan in self._fixed]

    def _with_doubt(self, plan: Plan) -> Plan:
        """A plan made before the strength of the responses was known."""
        if len(plan.parts) == 2 and plan.parts[1][0] == tuple(self._categories):
            return self._plan(plan.parts[0][1])
        return plan

    def _crossings(self) -> list[Crossing]:
        """For each family, the weakest strength that the grid expects to keep the goal."""
        survey = self._survey() if self._families else None
        begins = {f.name: f.beginning(survey, self._goals.max_advantage) for f in self._families if survey}
        curves: dict[str, dict[float, Tried]] = {f.name: {} for f in self._families}
        for factors in (FACTORS, MORE, MOST):
            wanted = [(f, s) for f in self._families for s in self._open(f, begins[f.name], factors, curves[f.name])]
            if wanted and not self._late():
                plans = [self._plan(f.make(s)) for f, s in wanted]
                for (family, strength), tried in zip(wanted, self._small.tried(plans, runs=1), strict=True):
                    curves[family.name][strength] = tried
                    self._note(tried, family.name, strength)
        found = []
        for family in self._families:
            crossing = self._crossing(family, curves[family.name])
            if crossing is not None:
                found.append(crossing)
        return found

    def _open(
        self, family: Family, begin: float, factors: Sequence[float], curve: Mapping[float, Tried]
    ) -> list[float]:
        """Strengths still to try: around the beginning first, then beyond the end at which no verdict changes."""
        if not curve:
            return family.grid(begin, factors)
        aim = self._aim()
        if all(t.limit > aim for t in curve.values()):
            return [s for s in family.grid(max(curve), factors) if s > max(curve)]
        if all(t.limit <= aim for t in curve.values()):
            return [s for s in family.grid(min(curve), [1.0 / f for f in factors]) if s < min(curve)]
        return []

    def _aim(self) -> float:
        return self._goals.max_advantage * (1.0 - MARGIN)

    def _crossing(self, family: Family, curve: Mapping[float, Tried]) -> Crossing | None:
        strengths, aim = sorted(curve), self._aim()
        keeps = [s for s in strengths if all(curve[t].limit <= aim for t in strengths if t >= s)]
        if not keeps:
            strongest = curve[strengths[-1]] if strengths else None
            said = (
                f"even as {strongest.candidate.label}, {strongest.words}"
                if strongest
                else "there was no time to try it"
            )
            self._rejected[family.name] = said
            return None
        high = keeps[0]
        lower = [s for s in strengths if s < high]
        slope = -aim
        strength, utility = high, self._utility(curve[high])
        if lower:
            low = lower[-1]
            run = math.log(high / low)
            slope = min((curve[high].limit - curve[low].limit) / run, -1e-6)
            way = min(max((aim - curve[low].limit) / slope, 0.0), run) / run
            strength = low * math.exp(way * run)
            utility = (1.0 - way) * self._utility(curve[low]) + way * utility
        return Crossing(family, two_digits(strength), slope, utility)

    def _confirmed(self, crossing: Crossing) -> Tried | None:
        """The setting on the whole table, stronger until the 99 % limit over ten keys meets the goal."""
        family, strength, goal = crossing.family, crossing.strength, self._goals.max_advantage
        tried: Tried | None = None
        for _ in range(TRIES):
            if self._late():
                self._rejected[family.name] = "there was no time to confirm it"
                return None
            (tried,) = self._whole.tried([self._plan(family.make(strength))], runs=RUNS)
            kept = tried.limit <= goal and not any(row.failures for row in tried.candidate.rows) and tested(tried)
            self._note(tried, family.name, strength, confirmed=kept)
            if kept:
                break
            if self._categories and tried.worst is not None and tried.worst.part > 0:
                self._doubt = min(1.6 * self._doubt, RESPONSE.strengths[1])
                continue
            step = (tried.limit - self._aim()) / -crossing.slope
            stronger = two_digits(strength * math.exp(min(max(step, math.log(1.1)), math.log(3.0))))
            if strength >= family.strengths[1]:
                break
            strength = min(stronger, family.strengths[1])
        if tried is None or not kept:
            self._rejected[family.name] = f"not confirmed: {tried.words if tried else 'no time'}"
            return None
        short = self._goals.utility_failures(tried.candidate.utility)
        if short:
            self._rejected[family.name] = f"keeps the privacy goal from {tried.candidate.label} on, where {short[0]}"
            return None
        self._names[tried.candidate.label] = family.name
        return tried

    def _fixed_ones(self) -> list[Tried]:
        """Methods that are tried as they are: few keys show a break, and many are needed to show none."""
        accepted = []
        left = self._unbroken(self._unbroken(self._fixed, attacks=QUICK), attacks=None)
        for plan in left:
            if self._late():
                self._rejected[plan.describe()] = "no time was left to confirm it"
                continue
            (tried,) = self._whole.tried([plan], runs=RUNS)
            kept = tried.limit <= self._goals.max_advantage and tried.candidate.passed
            if not kept and tried.risk <= self._goals.max_advantage and self._affordable(tried):
                (candidate,) = self._whole.audited([plan], runs=MANY_KEYS, seconds=self._patience())
                ends = [row.upper for row in candidate.rows]
                kept, tried = candidate.passed, replace(tried, candidate=candidate, limit=max(ends), runs=MANY_KEYS)
            self._note(tried, tried.candidate.method, None, confirmed=kept)
            short = self._goals.utility_failures(tried.candidate.utility)
            if kept and not short:
                accepted.append(tried)
                continue
            over = f"its risk is {percent(tried.risk)} on average over {RUNS} keys; {tried.words}"
            few = f"{RUNS} keys leave a risk of up to {percent(tried.limit)}, and to exclude it takes some 80"
            said = over if tried.risk > self._goals.max_advantage else few
            self._rejected[plan.describe()] = str(short[0]) if kept else f"not shown to be safe: {said}"
        return accepted

    def _unbroken(self, plans: Sequence[Plan], *, attacks: Sequence[str] | None) -> list[Plan]:
        """The methods that few keys do not break."""
        found = self._small.audited(plans, runs=MATRIX_RUNS, attacks=attacks) if plans else []
        for candidate in found:
            if candidate.breaks:
                self._rejected[candidate.label] = broken_words(candidate)
                self._note_candidate(candidate, broken_words(candidate))
        return [plan for plan, candidate in zip(plans, found, strict=True) if not candidate.breaks]

    def _affordable(self, tried: Tried) -> bool:
        """Whether 80 more keys can be tried in the time there is."""
        return 80 * sum(row.seconds for row in tried.candidate.rows) <= 2 * self._patience()

    def _patience(self) -> float:
        left = math.inf if self._deadline is None else self._deadline - time.monotonic()
        return max(1.0, min(SECONDS_FOR_MATRICES, left))

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    # -- the answer -------------------------------------------------------------------------

    def _points_to(self, crossing: Crossing, accepted: Sequence[Tried]) -> None:
        best = max(accepted, key=self._utility)
        label = self._plan(crossing.family.make(crossing.strength)).describe()
        self._rejected[crossing.family.name] = (
            f"expected to keep the goals from {label} on, where the utility is {percent(crossing.utility)}; "
            f"{best.candidate.label} keeps {percent(self._utility(best))}"
        )

    def _recommended(self, tried: Tried) -> Advice:
        label = tried.candidate.label
        self._rejected.pop(self._names.get(label, label), None)
        kept = [f"{name} {percent(value)}" for name, value in tried.utilities.items()]
        words = (
            f"Over {tried.runs} keys the risk stays under {percent(tried.limit)} with "
            f"{99 if tried.runs == RUNS else 95} % confidence, and the goal is {percent(self._goals.max_advantage)}. "
            f"It keeps {listed(kept)}. The strongest attack: {tried.words}."
        )
        plan = tried.plan
        single = len(plan.parts) == 1 and plan.parts[0][0] is None
        return self._made(plan.parts[0][1] if single else plan, words, None, tried.candidate)

    def _impossible(self) -> Advice:
        """No method keeps every goal: say which comes nearest."""
        points = self._finished_points()
        if not points:
            raise NotApplicableError("no method could be tried in the time there was; give more (budget)")

        def miss(point: Point) -> float:
            over = max(0.0, point.risk / max(self._goals.max_advantage, 1e-3) - 1.0)
            asked = self._goals.min_utility.items()
            return over + sum(max(0.0, 1.0 - point.utilities.get(n, 0.0) / max(u, 1e-9)) for n, u in asked)

        near = min(points, key=miss)
        family = next((f for f in self._families if f.name == near.method), None)
        plan = next((p for p in self._fixed if p.describe() == near.label), None)
        plan = self._plan(family.make(near.strength)) if family and near.strength else plan
        wants = [
            f"{name} {percent(near.utilities.get(name, 0.0))} where {percent(least)} is asked"
            for name, least in self._goals.min_utility.items()
        ]
        nearest = (
            f"{near.label}: risk {percent(near.risk)} where at most {percent(self._goals.max_advantage)} is allowed"
            f"{', ' + listed(wants) if wants else ''}"
        )
        words = f"The nearest miss is {nearest}."
        (candidate,) = self._whole.audited([plan], runs=MATRIX_RUNS, seconds=self._patience()) if plan else (None,)
        return self._made(None, words, nearest, candidate)

    def _made(self, chosen: Any, words: str, nearest: str | None, candidate: Candidate | None) -> Advice:
        context = audit_context(self._seed, RUNS, None, self._grants, every_attack())
        audit = Audit(
            (candidate,) if candidate is not None else (),
            self._goals,
            self._table.num_rows,
            self._whole.columns or self._small.columns,
            context,
            remarks=self._sampled,
        )
        return Advice(
            chosen, self._finished_points(), dict(self._rejected), words, nearest, self._counted_utilities(), audit
        )
