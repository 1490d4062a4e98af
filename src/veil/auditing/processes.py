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

from veil.auditing.time_limit import TimeOver, limited
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
WORTH_STARTING = 20.0
"""Seconds that must be left until the deadline: processes do nothing while they start."""
GRACE = 0.5
"""Seconds after the deadline at which processes that do not hear of it are ended."""


class Pool(Generic[T, R]):
    """Does tasks with a shared worker, in several processes when that pays.

    Parameters
    ----------
    worker
        Called with a task; sent to each process about once, so that a large table seldom travels twice. Where it has a
        method ``prepare``, that is called first, and is no part of the time that a task may take.
    workers
        Processes at most; None is one per processor.
    deadline
        The time (:func:`time.monotonic`) at which tasks are cut short, and after which none is begun.
    """

    def __init__(self, worker: Callable[[T], R], *, workers: int | None = None, deadline: float | None = None) -> None:
        self._worker, self._deadline = worker, deadline
        self._n = min(workers if workers is not None else processors(), MOST_WORKERS)
        self._spent, self.cut = 0.0, list[T]()
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

    def map(
        self,
        tasks: Sequence[T],
        *,
        most: float | None = None,
        put_off: Callable[[T], bool] | None = None,
        following: int = 0,
    ) -> Iterator[tuple[T, R]]:
        """Each task with its result, in no certain order; tasks that the deadline leaves no time for are left out.

        Those that take longer than ``most`` seconds are cut short, and stand in ``cut`` afterwards, as do those that
        are to be ``put_off`` when their turn comes. About so many tasks are ``following`` in later calls: more
        processes may pay for all of them.
        """
        left, done, self.cut = list(tasks), 0, []
        put_off = put_off or _never
        while left and self._executor is None and (self._n < 2 or len(left) < 2 or self._soon(done, left, following)):
            if self.late():
                return
            task = left.pop(0)
            if put_off(task):
                self.cut.append(task)
                continue
            began = time.monotonic()
            try:
                result = _done(self._worker, task, most, self._left())
            except TimeOver:
                self.cut.append(task)
                continue
            finally:
                self._spent, done = self._spent + time.monotonic() - began, done + 1
            yield task, result
        if left:
            yield from self._spread(left, most, put_off)

    def _left(self) -> float | None:
        return None if self._deadline is None else self._deadline - time.monotonic()

    def _soon(self, done: int, left: Sequence[T], following: int) -> bool:
        """Whether the rest is done here, or the time is over, before other processes would have helped."""
        if _running(self._n) is not None:
            return False
        if (ending := self._left()) is not None and ending < WORTH_STARTING:
            return True
        return self._spent < PATIENCE or (done > 0 and self._spent / done * (len(left) + following) < STARTING)

    def _spread(self, left: list[T], most: float | None, put_off: Callable[[T], bool]) -> Iterator[tuple[T, R]]:
        if self._executor is None:
            self._executor = _processes(self._n)
            with allow_key_pickling():
                self._number, self._pickled, self._untaught = next(_numbers), pickle.dumps(self._worker), self._n
        running: dict[Future[R | _Untaught | _Cut], T] = {}

        def begin(task: T, *, teach: bool) -> None:
            pickled = self._pickled if teach else None
            with _interrupts_held():  # processes that start now are not to hear them
                running[self._executor.submit(_do, self._number, pickled, task, most, self._left())] = task

        try:
            while left or running:
                while left and len(running) < self._n and not self.late():
                    task = left.pop(0)
                    if put_off(task):
                        self.cut.append(task)
                        continue
                    begin(task, teach=self._untaught > 0)
                    self._untaught -= 1
                if not running:
                    return
                ending = self._left()
                finished = wait(running, None if ending is None else max(ending, 0.0) + GRACE, FIRST_COMPLETED).done
                if not finished:  # in a long call into compiled code, or not even started
                    self._abandon()
                    return
                for future in finished:
                    task, result = running[future], future.result()
                    if isinstance(result, _Untaught):
                        begin(task, teach=True)
                    elif isinstance(result, _Cut):
                        self.cut.append(task)
                    else:
                        yield task, result
                    del running[future]
        except BrokenProcessPool:  # a process was killed, perhaps for its memory: go on here, one at a time
            self._forget()
            self._n, cut = 1, self.cut
            yield from self.map([*running.values(), *left], most=most, put_off=put_off)
            self.cut = [*cut, *self.cut]

    def _abandon(self) -> None:
        """End the processes with what they are at."""
        executor = self._executor
        self._forget()
        executor.shutdown(wait=False, kill_workers=True)

    def _forget(self) -> None:
        kept = _kept.get()
        if kept is not None and kept.executor is self._executor:
            kept.executor = None
        self._executor = None


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


class _Cut:
    """The answer of a process that had no time left for a task."""


def _done(worker: Callable[[T], R], task: T, most: float | None, left: float | None) -> R:
    """The result of a task that may take ``most`` seconds of those that are ``left`` until the deadline."""
    began, prepare = time.monotonic(), getattr(worker, "prepare", None)
    if prepare is not None:
        with limited(left):
            prepare(task)
    ends = [most] if most is not None else []
    ends += [left - (time.monotonic() - began)] if left is not None else []
    with limited(min(ends, default=None)):
        return worker(task)


def _never(_: object) -> bool:
    return False


_numbers = count()
_work: tuple[int, Callable[[Any], Any]] | None = None
"""The worker that this process has, with its number in the parent process."""


def _running(n: int) -> Any:
    """So many processes that are kept and run already; None without."""
    kept = _kept.get()
    return kept.executor if kept is not None and kept.n == n else None


def _processes(n: int) -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    if (executor := _running(n)) is not None:
        return executor
    kept = _kept.get()
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


def _do(number: int, pickled: bytes | None, task: Any, most: float | None, left: float | None) -> Any:
    global _work
    if _work is None or _work[0] != number:
        if pickled is None:
            return _Untaught()
        _work = number, pickle.loads(pickled)  # noqa: S301 - from the parent process
    try:
        return _done(_work[1], task, most, left)
    except TimeOver:
        return _Cut()
