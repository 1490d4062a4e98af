"""D6: search methods and parameters so that every goal holds at the best utility.

Theory says where each family begins (:mod:`veil.auditing.advice.prediction`). From there settings are tried with few
keys on at most 4,000 records, with intervals as for the whole table, and moved column by column by what attacks gained
(:mod:`veil.auditing.advice.settings`); strengths that are stronger than the goals on utility allow are left out. What
is expected to keep the goals is confirmed on the whole table: it is accepted when the 99 % limit of its risk, over as
many keys as an audit takes, meets the goal, so that the next audit, with yet other keys, can be expected to agree. A
method with one secret matrix breaks for all records or for none, so it takes 73 keys to show that it holds; it is tried
like that only after few keys have not broken it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from veil.attacks import every_attack
from veil.auditing import Audit, AuditRow, Candidate, Goals, Grants
from veil.auditing.advice.choices import Choices
from veil.auditing.advice.families import Family, response
from veil.auditing.advice.findings import Findings, tested
from veil.auditing.advice.fixed_methods import MATRIX_RUNS, FixedMethods
from veil.auditing.advice.result import Advice
from veil.auditing.advice.setting_trials import SHARE_OF_TRIAL, SettingTrials, Tried
from veil.auditing.advice.settings import Doubts, Setting
from veil.auditing.advice.time_left import OUT_OF_TIME, SECONDS_FOR_MATRICES, TimeIsOver, TimeLeft
from veil.auditing.advice.wording import (
    USEFUL,
    by_theory,
    miss,
    outdone,
    proof,
    recommendation,
    stronger_by_theory,
    uncertain,
)
from veil.auditing.run import audit_context
from veil.auditing.sampling import MOST_RECORDS, audited_records
from veil.auditing.trials.findings import remarks_on_largest
from veil.data.schema import Role
from veil.data.sources import as_table
from veil.perturbations.response import RandomizedResponse
from veil.progress import Course, Progress
from veil.publishing.plan import Plan, as_plan
from veil.report.values import AdviceState, Scored
from veil.report.words import percent

PROBES, TRIES = 6, 5
"""Settings of a family that are tried with one key, and that are confirmed, at most."""
MOST_CONFIRMED = 1.4
"""How much stronger the next setting to confirm is at most: many keys say more closely what is needed."""
BEGIN = 0.6
"""What theory aims at, as a share of the goal: attacks know more than one column at a time."""
WEAKER, NEAR = 0.75, 0.6
"""The next setting's strengths while all hold, and how near to the aim one is that need not be weaker."""
SURELY, STRONGER = 1.5, 1.05
"""How many times over the goal theory must be, or over similar noise, for a family not to be tried at all."""
LARGEST_SHARE = 0.3
"""Of the records that settings are tried on, the most that are given away as a sample."""
LEAST_UTILITY = 0.02
"""A setting that keeps less is not worth a stronger one."""
MARGIN = 0.1
"""How much under the goal, as a share of it, a setting is aimed."""
USEFUL_FACTORS = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001)
"""Shares of a setting's strengths, until a release is of use."""
DOUBTS = (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.5, 5.0, 10.0, 20.0, 40.0)
DOUBTS_OF_CLASSES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.85, 1.0, 1.5, 2.5, 5.0, 10.0)
Responses = Callable[[float], RandomizedResponse]
OF_RESPONSES = 0.75
"""The part of the aim that responses may take where there are numbers beside them."""


@dataclass(frozen=True)
class Holding:
    """A setting that is expected to keep the goals, its utility, and the strongest attack on it."""

    setting: Setting
    utility: float
    worst: AuditRow | None


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
        shuffle: bool | None,
        progress: Progress,
        plan: Plan | None = None,
    ) -> None:
        self._goals, self._grants, self._roles, self._seed = goals, grants, roles, seed
        self._time = TimeLeft.of(seconds)
        groups = [name for name, role in roles.items() if role == Role.GROUP]
        self._table, self._sampled, self._n_rows = audited_records(as_table(table), MOST_RECORDS, seed, groups)
        self._findings = Findings(goals)
        links = goals.limits.get(Scored.LINKS) if grants.external else None
        self._choices = Choices(
            self._table,
            roles,
            tolerance=goals.tolerance,
            seed=seed,
            shuffle=shuffle,
            plan=plan,
            links=links,
            in_classes=candidates is None,
        )
        self._families, self._fixed = self._choices.methods(candidates)
        # The responses and each family, then methods as they are, what is confirmed, and what is of use.
        self._course = Course(progress, stages=len(self._families) + 4, share=SHARE_OF_TRIAL)
        self._family_of: dict[str, str] = {}
        self._strongest: Setting | None = None
        self._unsettled: list[tuple[Setting, Tried]] = []
        shared: dict[str, Any] = {
            "roles": roles,
            "grants": grants,
            "goals": goals,
            "uses": {"n_clusters": n_clusters},
            "target": target,
            "seed": seed,
            "workers": workers,
            "n_rows": self._table.num_rows,
            "progress": self._course,
            "time_left": self._time,
        }
        self._whole = SettingTrials(self._table, **shared)
        thinned = self._choices.thinned()
        grown = self._table.num_rows / max(thinned.num_rows, 1)
        self._small = SettingTrials(thinned, **{**shared, "grants": _probed(grants, goals, grown)})
        self._small.strong = self._whole.strong  # an attack that was strong once is not trusted to have failed

    # -- the search -------------------------------------------------------------------------

    def advice(self) -> Advice:
        """Try, confirm, and say."""
        doubts = self._doubts()
        holding = list[Holding]()
        for family in self._families:
            self._course.next_stage(SHARE_OF_TRIAL)
            if not self._is_left_out(family, doubts, similar=any(each.setting.family.similar for each in holding)):
                best = max((each.utility for each in holding), default=0.0)
                holding += self._held(family, doubts, best)
        if doubts.categories is not None:
            self._fixed = [self._with_doubt(plan, doubts) for plan in self._fixed]
        self._course.next_stage(SHARE_OF_TRIAL)
        methods = FixedMethods(self._small, self._whole, self._findings, self._goals, self._time)
        waiting: list[tuple[float, Holding | Plan]] = [(each.utility, each) for each in holding]
        waiting += [(utility, plan) for plan, utility in methods.unbroken(self._fixed)]
        self._course.next_stage(SHARE_OF_TRIAL)
        accepted = self._accepted(waiting, methods)
        accepted += self._confirmed_after_all(max(accepted, key=self._findings.utility, default=None))
        best_of_all = max(accepted, key=self._findings.utility, default=None)
        self._course.next_stage(SHARE_OF_TRIAL)
        with suppress(TimeIsOver):
            self._try_useful(best_of_all)
        return self._impossible() if best_of_all is None else self._recommended(best_of_all)

    def _accepted(self, waiting: Sequence[tuple[float, Holding | Plan]], methods: FixedMethods) -> list[Tried]:
        """What keeps every goal on the whole table; what keeps less than something accepted is not tried there."""
        accepted: list[Tried] = []
        for utility, each in sorted(waiting, key=lambda one: -one[0]):
            leader = max(accepted, key=self._findings.utility, default=None)
            plan = each if isinstance(each, Plan) else self._choices.plan(each.setting)
            if leader is not None and utility <= (kept := self._findings.utility(leader)):
                name = plan.describe() if isinstance(each, Plan) else each.setting.family.name
                settled = None if isinstance(each, Plan) else plan.describe()
                self._findings.rejected[name] = outdone(settled, utility, leader.candidate.label, kept)
                continue
            tried = methods.confirmed(each) if isinstance(each, Plan) else self._confirmed(each.setting, each.worst)
            accepted += [tried] if tried is not None else []
        return accepted

    def _confirmed_after_all(self, best: Tried | None) -> list[Tried]:
        """A setting that may keep the usual utilities, if what is accepted does not.

        Few keys left it unsettled, or it lies between one that holds and one that keeps them.
        """
        if self._is_useful(best):
            return []
        for setting, tried in sorted(self._unsettled, key=lambda each: -each[0].strength):
            if self._is_useful(tried):
                confirmed = self._confirmed(setting, tried.worst, tries=1)
                return [confirmed] if confirmed is not None else []
        return []

    def _is_useful(self, tried: Tried | None) -> bool:
        """Whether a setting keeps what is asked for, or the usual utilities."""
        wanted = dict(self._goals.min_utility) or USEFUL
        return tried is not None and all(tried.utilities.get(name, 1.0) >= least for name, least in wanted.items())

    def _try_useful(self, best: Tried | None) -> None:
        """Attack a setting that keeps what is asked for, or the usual utilities, where what is recommended does not."""
        wanted = dict(self._goals.min_utility) or USEFUL
        if self._is_useful(best):
            return
        if self._strongest is None or self._findings.useful(wanted):
            return
        for factor in USEFUL_FACTORS:
            setting = self._strongest.weakened(factor)
            if self._time.is_over():
                return
            kept = self._whole.utilities(self._choices.plan(setting))
            if all(name not in kept or kept[name] >= least for name, least in wanted.items()):
                tried = self._whole.tried(self._choices.plan(setting), runs=self._whole.few_keys)
                self._findings.note(tried, setting.family.name, setting.strength)
                return

    def _doubts(self) -> Doubts:
        """The strengths of the responses beside numbers, each found for its columns alone."""
        choices = self._choices
        if not choices.names:
            return Doubts()
        others = [*choices.names, *choices.classes], [*choices.names, *choices.categories]
        return Doubts(
            self._doubt_in_time(others[0], DOUBTS, response) if choices.categories else None,
            self._doubt_in_time(others[1], DOUBTS_OF_CLASSES, partial(response, classes=choices.classes))
            if choices.classes
            else None,
        )

    def _doubt_in_time(self, others: Sequence[str], doubts: Sequence[float], make: Responses) -> float:
        """The strength of responses; the strongest where the time was over before one was found."""
        try:
            return self._settled_doubt(others, doubts, make)
        except TimeIsOver:
            return doubts[-1]

    def _settled_doubt(self, others: Sequence[str], doubts: Sequence[float], make: Responses) -> float:
        """The weakest randomized response that takes no more than its part of the goals without the ``others``.

        Found on few records, and then held against the strongest attack on the whole table.
        """
        dropped = dict.fromkeys(others, "drop")
        few, whole = self._small.of_columns(dropped), self._whole.of_columns(dropped)
        low, high, worst = 0, len(doubts) - 1, None
        while low < high and not self._time.is_over():
            middle = (low + high) // 2
            plan = as_plan(make(doubts[middle]))
            tried = few.still_fails(plan, worst, self._of_responses()) or few.tried(plan, runs=few.few_keys)
            worst = tried.worst
            low, high = (low, middle) if tried.expected <= self._of_responses() else (middle + 1, high)
        while high < len(doubts) - 1 and not self._time.is_over():
            if not whole.fails_closely(as_plan(make(doubts[high])), worst, self._of_responses()):
                break
            high += 1
        return doubts[high]

    def _of_responses(self) -> float:
        """What responses alone may give away; numbers tell of categories, too."""
        return OF_RESPONSES * self._aim()

    def _held(self, family: Family, doubts: Doubts, best: float) -> list[Holding]:
        """The most useful setting of a family that one key expects to keep the goals; none where another is better."""
        holding = list[Holding]()
        try:
            return self._tried(family, doubts, best, holding)
        except TimeIsOver:
            self._findings.rejected[family.name] = OUT_OF_TIME
            return holding

    def _tried(self, family: Family, doubts: Doubts, best: float, holding: list[Holding]) -> list[Holding]:
        """Settings of a family, one after another; those that hold are added to ``holding``."""
        numbers = self._choices.numbers if self._choices.names else None
        begin = family.begin(numbers.survey, BEGIN * self._goals.max_advantage) if numbers else (1.0,)
        setting = Setting(family, family.within(begin), doubts)
        failed: Setting | None = None
        last: Tried | None = None
        for _ in range(PROBES):
            if self._time.is_over():
                raise TimeIsOver
            plan = self._choices.plan(setting)
            quick = self._small.still_fails(plan, last.worst, self._aim()) if last is not None and not holding else None
            last = quick or self._small.tried(plan, runs=self._small.few_keys)
            self._findings.note(last, family.name, setting.strength)
            utility = self._findings.utility(last)
            self._strongest = self._strongest or setting
            if last.expected <= self._aim():
                weaker = setting.scaled(WEAKER) if failed is None else setting.halfway(failed)
                enough = failed is not None and (len(holding) > 0 or last.expected > NEAR * self._aim())
                holding.append(Holding(setting, utility, last.worst))
                if enough or weaker == setting:
                    break
                setting = weaker
                continue
            too_weak, failed = failed, setting
            if not any(row.broken for row in last.candidate.rows):
                self._unsettled.append((setting, last))
            if holding and too_weak is None and utility > best:
                setting = holding[-1].setting.halfway(failed)
                continue
            hopeless = utility < LEAST_UTILITY or bool(self._goals.utility_failures(last.candidate.utility))
            if holding or utility <= best or hopeless or self._is_spent(setting, last):
                break
            moved = setting.moved(last.gains, self._aim() * (1.0 - MARGIN), numbers)
            if moved == setting:
                break
            setting = moved
        if holding:
            return [max(holding, key=lambda each: each.utility)]
        self._reject(family, last, best)
        return []

    def _is_spent(self, setting: Setting, tried: Tried) -> bool:
        """Whether a number is told too well though the family is at its strongest."""
        over = any(gain > self._aim() and name in self._choices.names for (_, name), gain in tried.gains.items())
        return over and min(setting.strengths) >= setting.family.limits[1]

    def _is_left_out(self, family: Family, doubts: Doubts, *, similar: bool) -> bool:
        """Whether theory is enough to reject a family; ``similar`` says that similar noise holds already."""
        if not self._choices.names:
            return False
        survey, words = self._choices.numbers.survey, ""
        gain = family.least_gain(survey) if family.least_gain is not None else 0.0
        if gain > SURELY * self._goals.limits.get(Scored.COLUMN, math.inf):
            words = by_theory(self._choices.plan(Setting(family, family.limits[1:], doubts)).describe(), gain)
        if similar and family.by_column:
            aim = BEGIN * self._goals.max_advantage
            more = float(np.exp(np.log(survey.scales(aim) / survey.needed(aim).max()).mean()))
            words = stronger_by_theory(more) if more > STRONGER else ""
        if words:
            self._findings.rejected[family.name] = words
        return bool(words)

    def _reject(self, family: Family, last: Tried | None, best: float) -> None:
        """Why a family is not followed further."""
        if last is None:
            self._findings.rejected[family.name] = OUT_OF_TIME
            return
        utility, label = self._findings.utility(last), last.candidate.label
        less = f"{label} fails and keeps {percent(utility)} where another method that holds keeps {percent(best)}"
        self._findings.rejected[family.name] = f"even as {label}, {last.words}" if utility >= best else less

    def _aim(self) -> float:
        return self._goals.max_advantage * (1.0 - MARGIN)

    def _confirmed(self, setting: Setting, worst: AuditRow | None, tries: int = TRIES) -> Tried | None:
        """The setting on the whole table; None where it does not hold there, or the time is over."""
        try:
            return self._moved_until_it_holds(setting, worst, tries)
        except TimeIsOver:
            self._findings.rejected[setting.family.name] = OUT_OF_TIME
            return None

    def _moved_until_it_holds(self, setting: Setting, worst: AuditRow | None, tries: int) -> Tried | None:
        """The setting on the whole table, moved until the 99 % limit over an audit's keys meets the goal.

        ``worst`` is the strongest attack so far, which goes first.
        """
        family, tried, holds = setting.family, None, False
        failing: list[tuple[Setting, Tried]] = []
        self._strongest = self._strongest or setting
        numbers = self._choices.numbers if self._choices.names else None
        for _ in range(tries):
            if self._time.is_over():
                raise TimeIsOver
            plan = self._choices.plan(setting)
            short = self._goals.utility_failures(self._whole.utilities(plan)) if self._goals.min_utility else []
            if short:  # a stronger one keeps less
                words = f"expected to keep the privacy goal from {plan.describe()} on, where {short[0]}"
                self._findings.rejected[family.name] = words
                return None
            tried = self._whole.hopeless(plan, worst) or self._whole.tried(plan, runs=self._whole.keys)
            worst = tried.worst
            broken = any(row.failures for row in tried.candidate.rows)
            holds = tried.limit <= self._goals.max_advantage and not broken and tested(tried)
            self._findings.note(tried, family.name, setting.strength, confirmed=holds)
            if holds:
                self._unsettled += [(setting.halfway(weaker), failed) for weaker, failed in failing[-1:]]
                break
            failing.append((setting, tried))
            moved = setting.moved(tried.gains, self._aim(), numbers, MOST_CONFIRMED)
            if moved == setting:
                break
            setting = moved
        if tried is None or not holds:
            self._findings.rejected[family.name] = f"not confirmed: {tried.words if tried else 'no time'}"
            return None
        short = self._goals.utility_failures(tried.candidate.utility)
        lacks = [name for name, least in self._goals.min_utility.items() if tried.kept.get(name, least) < least]
        if short or lacks:
            words = str(short[0]) if short else uncertain(lacks[0], tried.utilities[lacks[0]], tried.kept[lacks[0]])
            self._findings.rejected[family.name] = (
                f"keeps the privacy goal from {tried.candidate.label} on, where {words}"
            )
            return None
        self._family_of[tried.candidate.label] = family.name
        return tried

    def _with_doubt(self, plan: Plan, doubts: Doubts) -> Plan:
        """A plan made before the strength of the responses was known."""
        if len(plan.parts) > 1 and plan.parts[1][0] == tuple(self._choices.categories):
            of_categories = replace(doubts, classes=None)
            return self._choices.of_method(plan.parts[0][1], of_categories).shuffled(plan.shuffle)
        return plan

    # -- the answer -------------------------------------------------------------------------

    def _recommended(self, tried: Tried) -> Advice:
        label, plan = tried.candidate.label, tried.plan
        self._findings.rejected.pop(self._family_of.get(label, label), None)
        plan = self._choices.ruled(plan) if label in self._family_of else plan
        ruled = plan.plausible or plan.sums
        single = len(plan.parts) == 1 and plan.parts[0][0] is None and not plan.shuffle and not ruled
        words = recommendation(tried, self._goals, self._findings.points())
        method = plan.parts[0][1] if single else plan
        return self._answer(method, words, None, tried.candidate, AdviceState.RECOMMENDED)

    def _impossible(self) -> Advice:
        """No method keeps every goal, or none was shown to in time: say what comes nearest, and what stands against."""
        cut = OUT_OF_TIME in self._findings.rejected.values()
        state = AdviceState.OUT_OF_TIME if cut else AdviceState.IMPOSSIBLE
        near = self._findings.nearest()
        if near is None:
            plans = [*self._fixed, *(self._choices.plan(Setting(f, (1.0,))) for f in self._families)]
            words = "No setting was tried in the time there was; give more (budget)."
            audited = self._small.audited(plans[:1], runs=1, **self._patience())
            return self._answer(None, words, None, audited[0], state)
        plan, point = near
        words = miss(point, self._goals)
        (candidate,) = self._whole.audited([plan], runs=MATRIX_RUNS, **self._patience())
        what = "Of what was tried in the time there was, the nearest is" if cut else "The nearest miss is"
        against = "" if cut else proof(self._findings.points(), self._goals)
        return self._answer(None, f"{what} {words}.{against}", words, candidate, state)

    def _patience(self) -> dict[str, Any]:
        """How long the audit of what is told may take."""
        left = None if self._time.end is None else max(1.0, self._time.end - time.monotonic())
        seconds = self._time.patience() if left is None else min(SECONDS_FOR_MATRICES, left)
        return {"seconds": seconds, "deadline": self._time.end}

    def _answer(
        self,
        chosen: Any,
        words: str,
        nearest: str | None,
        candidate: Candidate | None,
        state: AdviceState,
    ) -> Advice:
        context = audit_context(self._seed, self._whole.keys, None, self._grants, every_attack())
        audit = Audit(
            (candidate,) if candidate is not None else (),
            self._goals,
            self._table.num_rows,
            self._whole.columns or self._small.columns,
            context,
            remarks=(*self._sampled, *remarks_on_largest((candidate,) if candidate is not None else (), self._goals)),
            table=(self._n_rows, self._table.num_columns),
        )
        findings = self._findings
        points, utilities = findings.points(), findings.utilities()
        return Advice(chosen, points, dict(findings.rejected), words, nearest, utilities, audit, state)


def _probed(grants: Grants, goals: Goals, grown: float) -> Grants:
    """The grants of settings that are tried with one key: of samples the largest alone, unless goals name levels.

    Of a table ``grown`` times as large, a share is so many times as many records, and these are what an attacker learns
    from; so the share is larger here, as far as enough records are left to be scored.
    """
    if goals.against is not None or not isinstance(grants.sample, tuple) or not grants.sample:
        return grants
    largest = max(grants.sample)
    return grants.adapted(sample=max(largest, min(LARGEST_SHARE, round(largest * grown, 2))))
