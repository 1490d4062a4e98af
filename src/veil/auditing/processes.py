"""Where the work of an audit is done: here, and in more processes once it proves long.

Processes take seconds to start. Pools that follow each other share them inside :func:`kept_processes`; the worker of
each pool is sent to a process with the first task that the process gets.
"""

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
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
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
        Called with a task; sent to each process about once, so that a large table seldom travels twice.
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
        self._number, self._pickled, self._untaught = -1, b"", 0

    def __enter__(self) -> Pool[T, R]:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        kept = _kept.get()
        if self._executor is None or (error is None and kept is not None and kept.executor is self._executor):
            return
        self._executor.shutdown(wait=False, kill_workers=True)
        if kept is not None and kept.executor is self._executor:
            kept.executor = None

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
            self._executor = _processes(self._n)
            with allow_key_pickling():
                self._number, self._pickled, self._untaught = next(_numbers), pickle.dumps(self._worker), self._n
        running: dict[Future[R | _Untaught], T] = {}

        def begin(task: T, *, teach: bool) -> None:
            pickled = self._pickled if teach else None
            with _interrupts_held():  # processes that start now are not to hear them
                running[self._executor.submit(_do, self._number, pickled, task)] = task

        try:
            while left or running:
                while left and len(running) < self._n and not self.late():
                    begin(left.pop(0), teach=self._untaught > 0)
                    self._untaught -= 1
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    task, result = running[future], future.result()
                    if isinstance(result, _Untaught):
                        begin(task, teach=True)
                    else:
                        yield task, result
                    del running[future]
        except BrokenProcessPool:  # a process was killed, perhaps for its memory: go on here, one at a time
            kept = _kept.get()
            if kept is not None and kept.executor is self._executor:
                kept.executor = None
            self._executor, self._n = None, 1
            yield from self.map([*running.values(), *left])


@dataclass
class _Kept:
    """Processes that pools share."""

    executor: Any = None
    n: int = 0


_kept: ContextVar[_Kept | None] = ContextVar("kept", default=None)


@contextmanager
def kept_processes() -> Iterator[None]:
    """Pools inside use the same processes, one pool after another, instead of starting new ones."""
    kept = _Kept()
    before = _kept.set(kept)
    try:
        yield
    finally:
        _kept.reset(before)
        if kept.executor is not None:
            kept.executor.shutdown(wait=False, kill_workers=True)


class _Untaught:
    """The answer of a process that has not got the worker of a task."""


_numbers = count()
_work: tuple[int, Callable[[Any], Any]] | None = None
"""The worker that this process has, with its number in the parent process."""


def _processes(n: int) -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    kept = _kept.get()
    if kept is not None and kept.executor is not None and kept.n == n:
        return kept.executor
    filters = (list(warnings.filters),)
    executor = ProcessPoolExecutor(n, initializer=_prepare, initargs=filters, env={"OMP_NUM_THREADS": "1"})
    if kept is not None and kept.executor is None:
        kept.executor, kept.n = executor, n
    return executor


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


def _prepare(filters: Sequence[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends this process


def _do(number: int, pickled: bytes | None, task: Any) -> Any:
    global _work
    if _work is None or _work[0] != number:
        if pickled is None:
            return _Untaught()
        _work = number, pickle.loads(pickled)  # noqa: S301 - from the parent process
    return _work[1](task)
