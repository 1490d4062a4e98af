"""Where the work of an audit is done: here, and in more processes once it proves long."""

from __future__ import annotations

import os
import pickle  # between this process and its own children; never written to a file
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic, TypeVar

from veil.secret import allow_key_pickling

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = 8.0
"""Seconds of work after which other processes, which take a few to start, are worth it."""


class Pool(Generic[T, R]):
    """Does tasks with a shared worker, in several processes when that pays.

    Parameters
    ----------
    worker
        Called with a task; sent to each process once, so that a large table travels once.
    workers
        Processes at most; None is one per processor.
    deadline
        The time (:func:`time.monotonic`) after which no task is begun.
    """

    def __init__(self, worker: Callable[[T], R], *, workers: int | None = None, deadline: float | None = None) -> None:
        self._worker, self._deadline = worker, deadline
        self._n = workers if workers is not None else len(os.sched_getaffinity(0))
        self._spent = 0.0
        self._executor: Any = None

    def __enter__(self) -> Pool[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, kill_workers=True)

    def late(self, seconds: float = 0.0) -> bool:
        """Whether work of so many seconds would end after the deadline."""
        return self._deadline is not None and time.monotonic() + seconds > self._deadline

    def map(self, tasks: Sequence[T]) -> Iterator[tuple[T, R]]:
        """Each task with its result, in no certain order; tasks that the deadline leaves no time for are left out."""
        left = list(tasks)
        while left and (self._executor is None and (self._n < 2 or self._spent < PATIENCE or len(left) < 2)):
            if self.late():
                return
            task = left.pop(0)
            began = time.monotonic()
            result = self._worker(task)
            self._spent += time.monotonic() - began
            yield task, result
        if left:
            yield from self._spread(left)

    def _spread(self, left: list[T]) -> Iterator[tuple[T, R]]:
        if self._executor is None:
            self._executor = _processes(self._n, self._worker)
        running: dict[Future[R], T] = {}
        try:
            while left or running:
                while left and len(running) < self._n and not self.late():
                    task = left.pop(0)
                    running[self._executor.submit(_do, task)] = task
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task = running[future]
                    yield task, future.result()
                    del running[future]
        except BrokenProcessPool:  # a process was killed, perhaps for its memory: go on here, one at a time
            self._executor, self._n = None, 1
            yield from self.map([*running.values(), *left])


_work: Callable[[Any], Any] | None = None


def _processes(n: int, worker: Callable[[Any], Any]) -> Any:
    from joblib.externals.loky import ProcessPoolExecutor  # type: ignore[import-untyped]

    with allow_key_pickling():
        told = pickle.dumps(worker)
    return ProcessPoolExecutor(n, initializer=_learn, initargs=(told,), env={"OMP_NUM_THREADS": "1"})


def _learn(told: bytes) -> None:
    global _work
    _work = pickle.loads(told)  # noqa: S301 - from the parent process


def _do(task: Any) -> Any:
    assert _work is not None  # noqa: S101 - set when the process starts
    return _work(task)
