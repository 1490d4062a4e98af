"""What an audit does, task by task: runs of attacks, and measures of utility and membership."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from veil.auditing.membership import Membership
from veil.auditing.trials.trial import Outcome, Run, TrialRunner
from veil.measures import Measure


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
Attacker = tuple[int, int, int]


class Performer:
    """Makes runs and measures utilities and membership, in this process or another; ``uses`` are the utilities'."""

    def __init__(self, runner: TrialRunner, uses: Mapping[str, Any]) -> None:
        self._runner, self._uses = runner, dict(uses)

    def prepare(self, task: Task) -> None:
        """Make the release that a run attacks, which is no part of the attack's own time."""
        if isinstance(task, Run):
            self._runner.prepare(task)

    def __call__(self, task: Task) -> Outcome | dict[str, Measure] | Membership:
        """Do a task."""
        if isinstance(task, UtilityTask):
            return self._runner.utilities(task.candidate, task.repetition, **self._uses)
        if isinstance(task, MembershipTask):
            return self._runner.membership(task.candidate, task.attack)
        return self._runner.outcome(task)


def candidate_of(task: Task) -> int:
    """The number of the candidate that a task is about."""
    return task.trial.candidate if isinstance(task, Run) else task.candidate


def attacker_of(run: Run) -> Attacker:
    """The attack of a run and what it is on, whatever it knows."""
    return run.trial.candidate, run.trial.attack, run.trial.part


def words_of(task: Task) -> str:
    """A task in a few words, for who watches."""
    if not isinstance(task, Run):
        return "utility" if isinstance(task, UtilityTask) else "membership"
    return task.trial.level.label + (f", run {task.repetition + 1}" if task.repetition else "")
