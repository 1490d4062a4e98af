"""Where the work of an audit is done: here, and in more processes once it proves long."""

from __future__ import annotations

import ctypes
import pickle  # between this process and its own children; never written to a file
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from veil.data.passes import processors
from veil.secret import allow_key_pickling

PR_SET_PDEATHSIG = 1
T = TypeVar("T")
R = TypeVar("R")

MOST_WORKERS = 64
PATIENCE = 1.5
"""Seconds of work after which it is asked whether other processes are worth it."""
STARTING = 8.0
"""Seconds of work that must be left for them: they take a few to start."""


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
        self._n = min(workers if workers is not None else processors(), MOST_WORKERS)
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
        left, done = list(tasks), 0
        while left and (self._executor is None and (self._n < 2 or len(left) < 2 or self._soon(done, len(left)))):
            if self.late():
                return
            task = left.pop(0)
            began = time.monotonic()
            result = self._worker(task)
            self._spent, done = self._spent + time.monotonic() - began, done + 1
            yield task, result
        if left:
            yield from self._spread(left)

    def _soon(self, done: int, left: int) -> bool:
        """Whether the rest is done here before other processes would have helped."""
        return self._spent < PATIENCE or (done > 0 and self._spent / done * left < STARTING)

    def _spread(self, left: list[T]) -> Iterator[tuple[T, R]]:
        if self._executor is None:
            self._executor = _processes(self._n, self._worker)
        running: dict[Future[R], T] = {}
        try:
            while left or running:
                while left and len(running) < self._n and not self.late():
                    task = left.pop(0)
                    with _interrupts_held():  # processes that start now are not to hear them
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
    from joblib.externals.loky import ProcessPoolExecutor

    with allow_key_pickling():
        pickled = pickle.dumps(worker)
    arguments = (pickled, list(warnings.filters))
    return ProcessPoolExecutor(n, initializer=_learn, initargs=arguments, env={"OMP_NUM_THREADS": "1"})


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep interrupts for later; what is started meanwhile never gets any and ends with its parent."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """Ask the system to end this process with its parent, so that a private table does not outlive it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _learn(pickled: bytes, filters: Sequence[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends this process
    global _work
    _work = pickle.loads(pickled)  # noqa: S301 - from the parent process


def _do(task: Any) -> Any:
    assert _work is not None  # noqa: S101 - set when the process starts
    return _work(task)
