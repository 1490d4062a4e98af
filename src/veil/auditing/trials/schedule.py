"""The course of an audit: rounds of runs, in the time there is, until every verdict is settled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from veil._version import __version__
from veil.attacks.knowledge import Unit
from veil.attacks.linkage.membership import MembershipAttack
from veil.auditing.goals import Goals
from veil.auditing.grants import NOTHING, Level
from veil.auditing.membership import Membership
from veil.auditing.memory import Answers, Cache, as_text, candidate_words
from veil.auditing.processes import Pool
from veil.auditing.rows import AuditRow, Break, Candidate, strongest_of
from veil.auditing.trials.findings import Findings, over_keys, remarks_on_parts
from veil.auditing.trials.pace import LONGER, Pace
from veil.auditing.trials.remembered import membership_from, outcome_from, to_json, utilities_from
from veil.auditing.trials.scoreboard import FEWEST_REPETITIONS, Scoreboard
from veil.auditing.trials.target import WHOLE
from veil.auditing.trials.tasks import MembershipTask, Performer, Task, UtilityTask, candidate_of, words_of
from veil.auditing.trials.trial import Run, Trial, TrialRunner
from veil.measures import Measure
from veil.progress import Course, Progress, silent
from veil.report.words import counted, few, knowing

KEYS_OF_UTILITY, MOST_KEYS_OF_UTILITY, RECORDS_OF_UTILITY = 3, 12, 15_000
"""Releases whose utilities are measured: as many as let it see so many records, from the first to the second."""


AT_ONCE = 4
"""Runs of a round where the first break is enough."""
NOT_TRIED = "not tried after the first attack that breaks a goal"
SHARE_OF_ROUND = 0.4
"""What a round of more runs is of the progress that is left, since nobody knows how many rounds there will be."""


class Schedule:
    """Every candidate under every attack at every level.

    Parameters
    ----------
    runner, goals
        What is run, and for what.
    repetitions, seconds, workers
        Runs of an attack at most, the time there is (None: as long as it takes), and processes at most.
    deadline
        The time (:func:`time.monotonic`) at which all ends, whatever time there is for more runs.
    first_break
        Whether all ends with the first attack that breaks a goal; utilities are measured when there was none.
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
        deadline: float | None = None,
        first_break: bool = False,
    ) -> None:
        self._first_break, self._broken_by, self._n_runs = first_break, dict[Trial, int](), 0
        self._deadline, self._pace = deadline, Pace(None)
        self._runner, self._goals, self._course = runner, goals, Course(progress, stages=2)
        self._seconds, self._workers = seconds, workers
        self._worker = Performer(runner, uses)
        self._own_rule, self._repetitions = again is not None, repetitions
        patient = seconds is not None
        self.board = Scoreboard(runner, goals, repetitions, patient=patient, again=again, of_records=of_records)
        self._utilities: dict[int, list[dict[str, Measure]]] = {}
        self._memberships: dict[int, Membership] = {}
        self._memory: list[Answers] = self._opened(cache, uses) if cache is not None else []
        self._answered = answered
        self._done = self._total = self.remembered = 0
        self.cut = False

    def utilities(self, candidate: int) -> list[dict[str, Measure]]:
        """The utilities of a candidate's releases, each with a key of its own."""
        return self._utilities.get(candidate, [])

    def candidates(self, began: float) -> list[Candidate]:
        """Run every trial until every verdict is settled or the time, counted from ``began``, is over."""
        ends = [self._deadline, None if self._seconds is None else began + self._seconds]
        deadline = min((end for end in ends if end is not None), default=None)
        self._pace = Pace(deadline)
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
                granted = [run for run in first if run.trial.level.kind != NOTHING]
                if self._first_break:
                    first = self._first_tries(pool, alone, granted)
                elif deadline is None:
                    self._perform(pool, [*measured, *alone, *members], following=len(granted))
                    granted = [run for run in granted if not self.board.needs_nothing(run.trial)]
                    self._perform(pool, granted)
                    first = [*alone, *granted]
                else:
                    n = len(self._runner.candidates)  # one utility of each; the rest when every attack was tried
                    self._perform(pool, measured[:n])
                    first = self._first_tries(pool, alone, granted)
                    self._perform(pool, [*members, *measured[n:]])
                self._course.next_stage(share=SHARE_OF_ROUND)
                self.cut = deadline is not None and pool.late()
                for run in first if deadline is not None and not self._broken_by else ():
                    spent = "no time was left" + (f" of {self._seconds:g} s" if self._seconds is not None else "")
                    self.board.skip(run.trial, spent, late=True)
                while runs := [run for run in self._next_round() if not pool.late(self.board.seconds(run))]:
                    self._begin(len(runs))
                    self._perform(pool, runs)
                if self._first_break:
                    self._perform(pool, [*measured, *members])
                for run in first if self._broken_by else ():
                    self.board.skip(run.trial, NOT_TRIED)
                for i in range(len(self._runner.candidates)) if not self._own_rule else ():
                    breaks[i] = tuple(self._breaks(pool, i))
        finally:
            for answers in self._memory:
                answers.save()
        return [self._found(i, breaks.get(i, ())) for i in range(len(self._runner.candidates))]

    def _found(self, index: int, breaks: tuple[Break, ...]) -> Candidate:
        """A candidate with all that was found of it."""
        utility, membership = over_keys(self._utilities.get(index, [])), self._memberships.get(index)
        return Findings(self._runner, self.board, self._goals).candidate(index, breaks, utility, membership)

    def _membership_tasks(self) -> list[MembershipTask]:
        """One for each candidate; advice that tries settings has no use for them."""
        numbers = [k for k, attack in enumerate(self._runner.attacks) if isinstance(attack, MembershipAttack)]
        candidates = range(0 if self._own_rule else len(self._runner.candidates))
        return [MembershipTask(i, k) for i in candidates for k in numbers]

    def remarks(self) -> tuple[str, ...]:
        """What a reader should know about how the candidates were attacked; the same is said once."""
        remarks = [self._stopped_words(trial, n) for trial, n in self._broken_by.items()]
        remarks += [
            remark
            for i in range(len(self._runner.candidates))
            for remark in remarks_on_parts(self._runner.targets(i), self._runner.attacks)
        ]
        return tuple(dict.fromkeys(remarks))

    def _next_round(self) -> list[Run]:
        """Runs that can still change a verdict; where one break is enough, of the attacks nearest to it."""
        if not self._first_break:
            return self.board.next_round()
        runs = [] if self._broken_by else self.board.next_round()
        gains = {run.trial: self.board.gain(run.trial) if self.board.has(run.trial) else 0.0 for run in runs}
        return sorted(runs, key=lambda run: -gains[run.trial])[:AT_ONCE]

    def _stopped_words(self, trial: Trial, n: int) -> str:
        """Which attack was the first to break a goal, after how many runs, and what was not tried after it."""
        skipped = [each for i in range(len(self._runner.candidates)) for each in self.board.skipped(i)]
        missed = list(dict.fromkeys(each.attack for each in skipped if each.reason == NOT_TRIED))
        row = self.board.row(trial)
        rest = f"Not tried: {few(missed)}." if missed else "Every other attack was run once or more."
        return (
            f"The audit stopped at the first attack that breaks a goal: {row.attack} with {knowing(row.level.view)} on "
            f"{row.perturbation}, after {counted(n, 'run')}. {rest}"
        )

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

    def _begin(self, n: int) -> None:
        """Go on to a step of so many tasks."""
        self._course.next_step()
        self._done, self._total = 0, n

    def _perform(
        self,
        pool: Pool[Task, Any],
        tasks: Sequence[Task],
        *,
        most: float | None = None,
        slow: Sequence[Task] = (),
        late: bool = False,
        following: int = 0,
    ) -> None:
        """Do the tasks and take their answers in, in the order of the tasks, whichever is done first.

        With ``most``, runs of so many seconds, and those of attacks that are ``slow`` or prove so are put off; with
        ``late``, those that are not expected to end in time. About so many tasks are ``following`` later.
        """
        answers: dict[Task, Any] = {}
        if self._broken_by:
            return

        def put_off(task: Task) -> bool:
            if most is not None:
                return self._pace.is_slow(task, [*slow, *pool.cut])
            return late and self._pace.is_late(task)

        for task, answer in self._answers(pool, tasks, most, put_off, following):
            answers[task] = answer
            self._done += 1
            label = self._runner.candidates[candidate_of(task)].describe()
            self._course(f"{label}: {words_of(task)}", self._done, self._total)
            if self._first_break and isinstance(task, Run):
                self._n_runs += 1
                self.board.add(task, answers.pop(task))
                if self.board.breaks(task.trial):
                    self._broken_by[task.trial] = self._n_runs
                    break
        if most is not None:
            self._pace.learn_cut(pool.cut, most)
        for task in tasks:
            if task not in answers:
                continue
            if isinstance(task, UtilityTask):
                self._utilities.setdefault(task.candidate, []).append(answers[task])
            elif isinstance(task, MembershipTask):
                self._memberships[task.candidate] = answers[task]
            else:
                self.board.add(task, answers[task])

    def _first_tries(self, pool: Pool[Task, Any], alone: list[Run], granted: list[Run]) -> list[Run]:
        """Every attack once, with nothing and with more: the quick ones first, as far as there is time.

        Returns those that were wanted: an attack that needs no knowledge is not run with more.
        """
        most = self._pace.try_of(len(alone) + len(granted))
        self._perform(pool, alone, most=most)
        slow = list(pool.cut)
        granted = [run for run in granted if not self.board.needs_nothing(run.trial)]
        self._perform(pool, granted, most=most, slow=slow)
        self._perform(pool, self._pace.quickest_first([*slow, *pool.cut]), most=LONGER * most)
        self._perform(pool, self._pace.quickest_first(pool.cut), late=True)
        return [*alone, *granted]

    def _answers(
        self,
        pool: Pool[Task, Any],
        tasks: Sequence[Task],
        most: float | None,
        put_off: Callable[[Task], bool] | None,
        following: int,
    ) -> Iterator[tuple[Any, Any]]:
        """Answers that are known already first, then from runs of ``most`` seconds."""
        new = []
        for task in tasks:
            known = self._known(task)
            if known is None:
                new.append(task)
            else:
                yield task, known
        for task, answer in pool.map(new, most=most, put_off=put_off, following=following):
            self._pace.learn(task, answer)
            if self._memory:
                self._memory[candidate_of(task)].put(self._address(task), to_json(answer))
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
        answer = read(self._memory[candidate_of(task)].get(self._address(task)))
        self.remembered += answer is not None
        return answer

    def _opened(self, cache: Cache, uses: Mapping[str, Any]) -> list[Answers]:
        table = self._runner.exposures.digest(cache)
        near = [self._runner.tolerance, self._runner.largest.n, self._runner.largest.share]
        common = [__version__, table, *near, self._runner.exposures.words(), dict(uses)]
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
        return as_text([candidate_words(self._runner.candidates[candidate_of(task)]), self._address(task)])

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
            while (
                not self._broken_by
                and least.knowledge.unit is Unit.RECORDS
                and least.amount - holds > 1
                and not pool.late()
            ):
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
            self._begin(n)
            self._perform(pool, [Run(lower, i) for i in range(n)])
        return self.board.broken(candidate, level)

    def _break(self, candidate: int, level: Level) -> Break:
        """A level that breaks a goal, with the strongest attack that does it."""
        rows = [self.board.row(trial) for trial in self.board.breakers(candidate, level)]
        row = strongest_of(rows, lambda row: max(failure.advantage.value for failure in row.broken)) or rows[0]
        return Break(level, row.attack, row.target)


def utility_keys(n_records: int) -> int:
    """Releases whose utilities an audit of so many records averages.

    >>> utility_keys(1_000), utility_keys(4_000), utility_keys(20_000)
    (12, 4, 3)
    """
    return int(min(max(-(-RECORDS_OF_UTILITY // max(n_records, 1)), KEYS_OF_UTILITY), MOST_KEYS_OF_UTILITY))
