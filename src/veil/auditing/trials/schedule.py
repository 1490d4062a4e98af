"""The course of an audit: rounds of runs, in the time there is, until every verdict is settled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from veil._version import __version__
from veil.attacks import Attack, GuessingAttack
from veil.attacks.knowledge import Unit
from veil.attacks.linkage.membership import MembershipAttack
from veil.auditing.goals import Goals
from veil.auditing.grants import NOTHING, Level
from veil.auditing.membership import Membership
from veil.auditing.memory import Answers, Cache, as_text, candidate_words
from veil.auditing.processes import Pool
from veil.auditing.rows import AuditRow, Break, Candidate, strongest_of
from veil.auditing.trials.remembered import membership_from, outcome_from, to_json, utilities_from
from veil.auditing.trials.scoreboard import FEWEST_REPETITIONS, Scoreboard
from veil.auditing.trials.target import WHOLE, PartTarget
from veil.auditing.trials.trial import Outcome, Run, Trial, TrialRunner
from veil.auditing.utility import averaged
from veil.measures import Measure
from veil.perturbations import Perturbation
from veil.progress import Progress, silent
from veil.report.failures import OutOfTime, UntestedKnowledge

KEYS_OF_UTILITY, MOST_KEYS_OF_UTILITY, RECORDS_OF_UTILITY = 3, 12, 15_000
"""Releases whose utilities are measured: as many as let it see so many records, from the first to the second."""


@dataclass(frozen=True)
class UtilityTask:
    """The task of measuring the utility of one of a candidate's releases."""

    candidate: int
    repetition: int = 0


@dataclass(frozen=True)
class MembershipTask:
    """The task of telling who is in the table, by one attack."""

    candidate: int
    attack: int


Task = Run | UtilityTask | MembershipTask


def perform(runner: TrialRunner, uses: Mapping[str, Any], task: Task) -> Outcome | dict[str, Measure] | Membership:
    """Make a run or measure a utility or membership, in this process or another."""
    if isinstance(task, UtilityTask):
        return runner.utilities(task.candidate, task.repetition, **uses)
    if isinstance(task, MembershipTask):
        return runner.membership(task.candidate, task.attack)
    return runner.outcome(task)


class Schedule:
    """Every candidate under every attack at every level.

    Parameters
    ----------
    runner, goals
        What is run, and for what.
    repetitions, seconds, workers
        Runs of an attack at most, the time there is (None: as long as it takes), and processes at most.
    of_records
        Runs at most of an attack on single records; ``repetitions`` unless given.
    uses
        What the utilities need.
    cache
        Where results are remembered; None for nowhere.
    answered
        Answers of earlier schedules on the same table, grants and seed, by candidate and address; new ones are added.
    again
        Says whether an attack is run again, by its row and the rows of its runs, while nothing is shown to break; the
        least that breaks is not searched for then.
    """

    def __init__(
        self,
        runner: TrialRunner,
        goals: Goals,
        *,
        repetitions: int,
        seconds: float | None,
        workers: int | None,
        uses: Mapping[str, Any],
        cache: Cache | None = None,
        answered: MutableMapping[str, Any] | None = None,
        progress: Progress = silent,
        again: Callable[[AuditRow, Sequence[AuditRow]], bool] | None = None,
        of_records: int | None = None,
    ) -> None:
        self._runner, self._goals, self._progress = runner, goals, progress
        self._seconds, self._workers = seconds, workers
        self._worker = partial(perform, runner, dict(uses))
        self._own_rule, self._repetitions = again is not None, repetitions
        patient = seconds is not None
        self.board = Scoreboard(runner, goals, repetitions, patient=patient, again=again, of_records=of_records)
        self._utilities: dict[int, list[dict[str, Measure]]] = {}
        self._memberships: dict[int, Membership] = {}
        self._memory: list[Answers] = self._opened(cache, uses) if cache is not None else []
        self._answered = answered
        self._done = self._total = self.remembered = 0

    def utilities(self, candidate: int) -> list[dict[str, Measure]]:
        """The utilities of a candidate's releases, each with a key of its own."""
        return self._utilities.get(candidate, [])

    def candidates(self, began: float) -> list[Candidate]:
        """Run every trial until every verdict is settled or the time, counted from ``began``, is over."""
        deadline = None if self._seconds is None else began + self._seconds
        first = self._first_round()
        exposures = self._runner.exposures
        n_releases = utility_keys(len(exposures.truth)) if exposures.fresh else 1
        n_releases = min(n_releases, self._repetitions) if self._own_rule else n_releases
        measured = [UtilityTask(i, k) for k in range(n_releases) for i in range(len(self._runner.candidates))]
        members = self._membership_tasks()
        self._total = len(first) + len(measured) + len(members)
        breaks: dict[int, tuple[Break, ...]] = {}
        try:
            with Pool[Task, Any](self._worker, workers=self._workers, deadline=deadline) as pool:
                alone = [run for run in first if run.trial.level.kind == NOTHING]
                self._perform(pool, [*measured, *alone, *members])
                granted = [run for run in first if run.trial.level.kind != NOTHING]
                granted = [run for run in granted if not self.board.needs_nothing(run.trial)]
                self._perform(pool, granted)
                first = [*alone, *granted]
                for run in first if self._seconds is not None else ():
                    self.board.skip(run.trial, f"no time was left of {self._seconds:g} s", late=True)
                while runs := [run for run in self.board.next_round() if not pool.late(self.board.seconds(run))]:
                    self._total += len(runs)
                    self._perform(pool, runs)
                for i in range(len(self._runner.candidates)) if not self._own_rule else ():
                    breaks[i] = tuple(self._breaks(pool, i))
        finally:
            for answers in self._memory:
                answers.save()
        return [self._candidate(i, breaks.get(i, ())) for i in range(len(self._runner.candidates))]

    def _membership_tasks(self) -> list[MembershipTask]:
        """One for each candidate; advice that tries settings has no use for them."""
        numbers = [k for k, attack in enumerate(self._runner.attacks) if isinstance(attack, MembershipAttack)]
        candidates = range(0 if self._own_rule else len(self._runner.candidates))
        return [MembershipTask(i, k) for i in candidates for k in numbers]

    def remarks(self) -> tuple[str, ...]:
        """What a reader should know about how the candidates were attacked; the same is said once."""
        remarks = [
            remark
            for i in range(len(self._runner.candidates))
            for remark in remarks_on_parts(self._runner.targets(i), self._runner.attacks)
        ]
        return tuple(dict.fromkeys(remarks))

    def _first_round(self) -> list[Run]:
        exposures, runs = self._runner.exposures, list[Run]()
        for i in range(len(self._runner.candidates)):
            targets = self._runner.targets(i)
            for level in exposures.levels:
                for number, attack in enumerate(self._runner.attacks):
                    if isinstance(attack, MembershipAttack) or not exposures.serves(level, attack):
                        continue
                    if attack.whole_release:  # looks at all parts at once
                        runs.append(Run(Trial(i, level, number, WHOLE), 0))
                        continue
                    for target in targets:
                        trial = Trial(i, level, number, target.index)
                        if attack.applies_to(target.part.model) and not (attack.blind and target.described):
                            runs.append(Run(trial, 0))
                        else:
                            self.board.skip(trial, f"no theory for {target.part.method}", applies=False)
        return runs

    def _perform(self, pool: Pool[Task, Any], tasks: Sequence[Task]) -> None:
        """Do the tasks and take their answers in, in the order of the tasks, whichever is done first."""
        answers: dict[Task, Any] = {}
        for task, answer in self._answers(pool, tasks):
            answers[task] = answer
            self._done += 1
            if isinstance(task, Run):
                trial, rerun = task.trial, f", run {task.repetition + 1}" if task.repetition else ""
                label = self._runner.candidates[trial.candidate].describe()
                self._progress(f"{label}: {trial.level.label}{rerun}", self._done, self._total)
        for task in tasks:
            if task not in answers:
                continue
            if isinstance(task, UtilityTask):
                self._utilities.setdefault(task.candidate, []).append(answers[task])
            elif isinstance(task, MembershipTask):
                self._memberships[task.candidate] = answers[task]
            else:
                self.board.add(task, answers[task])

    def _answers(self, pool: Pool[Task, Any], tasks: Sequence[Task]) -> Iterator[tuple[Any, Any]]:
        """Answers that are known already first, then from runs."""
        new = []
        for task in tasks:
            known = self._known(task)
            if known is None:
                new.append(task)
            else:
                yield task, known
        for task, answer in pool.map(new):
            if self._memory:
                self._memory[_candidate_of(task)].put(self._address(task), to_json(answer))
            if self._answered is not None:
                self._answered[self._name(task)] = answer
            yield task, answer

    def _known(self, task: Task) -> Any:
        """The answer to a task from an earlier schedule or audit; None where there is none."""
        if self._answered is not None and (answer := self._answered.get(self._name(task))) is not None:
            return answer
        if not self._memory:
            return None
        read = {UtilityTask: utilities_from, MembershipTask: membership_from}.get(type(task), outcome_from)
        answer = read(self._memory[_candidate_of(task)].get(self._address(task)))
        self.remembered += answer is not None
        return answer

    def _opened(self, cache: Cache, uses: Mapping[str, Any]) -> list[Answers]:
        table = self._runner.exposures.digest(cache)
        common = [__version__, table, self._runner.tolerance, self._runner.exposures.words(), dict(uses)]
        return [cache.answers([*common, candidate_words(plan)]) for plan in self._runner.candidates]

    def _address(self, task: Task) -> list[Any]:
        """Where the answer to a task about a candidate is remembered."""
        if isinstance(task, UtilityTask):
            return ["utility", task.repetition]
        if isinstance(task, MembershipTask):
            return ["membership", *self._runner.attacks[task.attack].address()]
        trial = task.trial
        attack, level = self._runner.attacks[trial.attack], self._runner.exposures.address(trial.level)
        return [*level, task.repetition, *attack.address(), trial.part]

    def _name(self, task: Task) -> str:
        """The address of a task, with its candidate, as a text."""
        return as_text([candidate_words(self._runner.candidates[_candidate_of(task)]), self._address(task)])

    def _breaks(self, pool: Pool[Task, Any], candidate: int) -> Iterator[Break]:
        """The least knowledge of each kind that breaks a goal; between counts that were run, it is searched."""
        levels = self._runner.exposures.levels
        if self.board.broken(candidate, levels[0]):
            yield self._break(candidate, levels[0])
            return
        for kind in dict.fromkeys(level.kind for level in levels[1:]):
            rising = sorted((lv for lv in levels if lv.kind == kind), key=lambda lv: lv.amount)
            broken = [level for level in rising if self.board.broken(candidate, level)]
            if not broken:
                continue
            least, holds = broken[0], max((int(lv.amount) for lv in rising if lv.amount < broken[0].amount), default=0)
            while least.knowledge.unit is Unit.RECORDS and least.amount - holds > 1 and not pool.late():
                middle = Level(least.kind, (holds + int(least.amount)) // 2)
                if self._breaks_at(pool, candidate, least, middle):
                    least = middle
                else:
                    holds = int(middle.amount)
            yield self._break(candidate, least)

    def _breaks_at(self, pool: Pool[Task, Any], candidate: int, upper: Level, level: Level) -> bool:
        """Whether the attacks that break at the upper level break at this one too."""
        for trial in self.board.breakers(candidate, upper):
            lower = Trial(candidate, level, trial.attack, trial.part)
            n = FEWEST_REPETITIONS if self._runner.one_matrix(trial) else 1
            self._total += n
            self._perform(pool, [Run(lower, i) for i in range(n)])
        return self.board.broken(candidate, level)

    def _break(self, candidate: int, level: Level) -> Break:
        """A level that breaks a goal, with the strongest attack that does it."""
        rows = [self.board.row(trial) for trial in self.board.breakers(candidate, level)]
        row = strongest_of(rows, lambda row: max(failure.advantage.value for failure in row.broken)) or rows[0]
        return Break(level, row.attack, row.target)

    def _candidate(self, index: int, breaks: tuple[Break, ...]) -> Candidate:
        plan, exposures = self._runner.candidates[index], self._runner.exposures
        manifest, rows = self._runner.manifest(index), self.board.rows(index, [each.level for each in breaks])
        utility, skipped = over_keys(self._utilities.get(index, [])), self.board.skipped(index)
        untested = tuple(self._untested(index, rows))
        membership = self._memberships.get(index)
        late = sum(trial.late for trial in skipped)
        not_run = [OutOfTime(late)] if late else []
        return Candidate(
            label=plan.describe(),
            method=manifest.method,
            catalogue=" + ".join(part.catalogue for part in manifest.parts),
            guarantee=manifest.guarantee,
            threat=" ".join(_threat(p) for p in plan.perturbations),
            rows=tuple(rows),
            skipped=tuple(skipped),
            levels=tuple(exposures.levels),
            utility=utility,
            other_failures=(
                *not_run,
                *self._goals.membership_failures(membership),
                *self._asked_for(untested),
                *self._goals.utility_failures(utility),
            ),
            breaks=breaks,
            untested=untested,
            membership=membership,
            keys=self._runner.keys(index),
        )

    def _asked_for(self, untested: Sequence[UntestedKnowledge]) -> list[UntestedKnowledge]:
        """What of the untested knowledge the owner asked for, by grants or goals: there the goal does not hold.

        What a sweep grants of itself is only said to be untested. A release that was not attacked at all is never safe.
        """
        exposures, named = self._runner.exposures, self._goals.against is not None
        failures = []
        for each in untested:
            kinds = [k for k in each.knowledge if named or k.kind == NOTHING or exposures.asked_for(k.kind)]
            failures += [replace(each, knowledge=tuple(kinds))] if kinds else []
        return failures

    def _untested(self, candidate: int, rows: Sequence[AuditRow]) -> list[UntestedKnowledge]:
        """Levels at which some part that can be guessed was not attacked at all."""
        failures: list[UntestedKnowledge] = []
        targets = self._runner.targets(candidate)
        private = [target for target in targets if (target.scored or target.sensitive) and not target.joins]
        for target in private or targets:
            joins = [other.index for other in targets if target.index in other.joins]
            joins += [WHOLE] if target.scored else []
            rows_on = [row for row in rows if row.part in (target.index, *joins)]
            method = target.part.method if len(targets) > 1 else ""
            exposures = self._runner.exposures
            levels = [level for level in exposures.levels if not target.is_known(exposures.known_columns(level))]
            failures += self._goals.untested(rows_on, levels, target.part.model, method)
        return failures


def _candidate_of(task: Task) -> int:
    return task.trial.candidate if isinstance(task, Run) else task.candidate


def remarks_on_parts(targets: Sequence[PartTarget], attacks: Sequence[Attack]) -> tuple[str, ...]:
    """Parts that no attack looks at together with others: what others say about them is not used."""
    alone = [target for target in targets if target.scored and not target.joins]
    joined = {i for target in targets for i in target.joins}
    # What requires knowledge of its own is not run on every release.
    whole = [a for a in attacks if a.whole_release and isinstance(a, GuessingAttack) and not a.requires]
    apart = [target for target in alone if not any(attack.applies_to(target.part.model) for attack in whole)]
    if len(alone) < 2 or not apart or {target.index for target in alone} <= joined:
        return ()
    methods = ", ".join(dict.fromkeys(target.part.method for target in apart))
    return (
        f"Parts of the plan were attacked one by one, apart from linkage ({methods}): no attack weighs their columns "
        "together with the others. Columns that vary together and lie in such parts can betray each other: what holds "
        "here may break.",
    )


def utility_keys(n_records: int) -> int:
    """Releases whose utilities an audit of so many records averages.

    >>> utility_keys(1_000), utility_keys(4_000), utility_keys(20_000)
    (12, 4, 3)
    """
    return int(min(max(-(-RECORDS_OF_UTILITY // max(n_records, 1)), KEYS_OF_UTILITY), MOST_KEYS_OF_UTILITY))


def over_keys(releases: Sequence[Mapping[str, Measure]]) -> dict[str, Measure]:
    """Utilities as means over releases with different keys, from the lowest end to the highest."""
    names = [name for name in (releases[0] if releases else {}) if all(name in each for each in releases)]
    return {name: averaged([measured[name] for measured in releases]) for name in names}


def _threat(perturbation: Perturbation) -> str:
    """What the method says of its threat, as plain text."""
    return perturbation.threat.replace("``", "")
