"""How the time of an audit is spent: every attack tries first for a while, the slow ones go on in what is left.

How long an attack takes is learned from its own runs: one that was cut short takes longer than that, with whatever
knowledge, and one that ended about as long again. An attack that is not expected to end in time is not begun.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from veil.auditing.trials.tasks import Attacker, Task, attacker_of
from veil.auditing.trials.trial import Outcome, Run

LEAST_TRY, TRIES_OF_TIME = 0.6, 2.0
"""Seconds that an attack may take before all others were tried, at least, and as a multiple of its part of the time."""

FIRST_TRY = 5.0
"""Seconds that an attack may take before all others were tried, where there is as much time as it takes."""
LONGER = 3.0
"""How many times as long an attack may try when all others were tried once."""


class Pace:
    """What the runs of an audit have taught of how long its attacks take, and the time there is (None: any)."""

    def __init__(self, deadline: float | None) -> None:
        self.deadline = deadline
        self._seconds: dict[Attacker, float] = {}

    def learn(self, task: Task, answer: object) -> None:
        """Take in how long a run took."""
        if isinstance(task, Run) and isinstance(answer, Outcome):
            self._at_least(task, answer.seconds)

    def learn_cut(self, tasks: Sequence[Task], seconds: float) -> None:
        """Take in that runs were cut short after so many seconds, or put off for it."""
        for task in tasks:
            if isinstance(task, Run):
                self._at_least(task, seconds)

    def _at_least(self, run: Run, seconds: float) -> None:
        self._seconds[attacker_of(run)] = max(self._seconds.get(attacker_of(run), 0.0), seconds)

    def try_of(self, n: int) -> float:
        """Seconds that each of so many attacks may try; few where there is any time, since it is only for the order."""
        if self.deadline is None:
            return FIRST_TRY
        return max(LEAST_TRY, TRIES_OF_TIME * (self.deadline - time.monotonic()) / max(n, 1))

    def is_slow(self, task: Task, among: Sequence[Task]) -> bool:
        """Whether a task is a run of an attack of which another run is ``among`` those that were cut short."""
        if not isinstance(task, Run):
            return False
        return any(isinstance(other, Run) and attacker_of(other) == attacker_of(task) for other in among)

    def is_late(self, task: Task) -> bool:
        """Whether a task is a run that is not expected to end in time."""
        if self.deadline is None or not isinstance(task, Run):
            return False
        return time.monotonic() + self._seconds.get(attacker_of(task), 0.0) > self.deadline

    def quickest_first(self, tasks: Sequence[Task]) -> list[Task]:
        """Tasks by how long they are expected to take."""
        return sorted(tasks, key=lambda t: self._seconds.get(attacker_of(t), 0.0) if isinstance(t, Run) else 0.0)
