"""Passes over a table: one function on every block, results in order, on all cores.

A *work* is a function of a block. An engine runs it over the spans of a table, each span in one
thread (or, in :mod:`veil.data.cluster`, on one worker), and hands over results in the table's
order. Arithmetic inside a block is the same everywhere, so engines differ in speed alone.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy.typing as npt

from veil.data.blas import one_blas_thread
from veil.data.blocks import BLOCK_ROWS, Block, Span
from veil.data.sums import Summable, Tree
from veil.data.tables import Table
from veil.progress import Progress, silent

A = TypeVar("A")
T = TypeVar("T")
MOST_THREADS = 16
S = TypeVar("S", bound=Summable)


class Stopped(Exception):  # noqa: N818 - not an error: the other threads are told to give up
    """Raised inside the threads of a pass that was given up."""


@dataclass
class Lane:
    """What the work on a span may use: some threads, and a place to tell of rows that are done."""

    threads: int = 1
    rows: Callable[[int], None] = field(default=lambda _: None)

    def map(self, work: Callable[[A], T], items: Iterable[A]) -> Iterator[T]:
        """``work`` of every item, in order, in as many threads as there are."""
        if self.threads < 2:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[Future[T]] = deque()
            try:
                for item in items:
                    waiting.append(pool.submit(work, item))
                    if len(waiting) > self.threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def blocks(self, table: Table, columns: Sequence[str] | None, span: Span) -> Iterator[Block]:
        """The blocks of a span; each is told of when the next one is asked for."""
        with closing(table.blocks(columns, span)) as blocks:  # type: ignore[type-var]
            for block in blocks:
                yield block
                self.rows(block.n_rows)


SpanWork = Callable[[Table, Span, Lane], T]
"""What is done with a span: a module's function, its other arguments bound by ``partial``, so that it can travel."""


class Engine(Protocol):
    """Runs work over the spans of a table."""

    def run(self, work: SpanWork[T], table: Table, *, what: str = "", progress: Progress = silent) -> Iterator[T]:
        """The work's results, in the order of the spans."""
        ...


def processors() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system can say
        return os.cpu_count() or 1


class Threads:
    """All cores of this machine."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or min(processors(), MOST_THREADS)

    def run(self, work: SpanWork[T], table: Table, *, what: str = "", progress: Progress = silent) -> Iterator[T]:
        """The work's results, in the order of the spans."""
        spans = table.spans()
        meter = _Meter(what, table.n_rows, progress)
        with one_blas_thread():
            if len(spans) == 1 or self.threads == 1:
                lane = Lane(min(self.threads, _blocks_at_most(table)) if len(spans) == 1 else 1, meter.add)
                for span in spans:
                    yield work(table, span, lane)
                return
            lane = Lane(max(self.threads // len(spans), 1), meter.add)
            with ThreadPoolExecutor(self.threads) as pool:
                waiting: deque[Future[T]] = deque()
                try:
                    for span in spans:
                        waiting.append(pool.submit(work, table, span, lane))
                        if len(waiting) > self.threads + 1:
                            yield waiting.popleft().result()
                    while waiting:
                        yield waiting.popleft().result()
                finally:
                    meter.stopped = True
                    for future in waiting:
                        future.cancel()


def _blocks_at_most(table: Table) -> int:
    """A small table is one block, which needs no thread of its own: starting one takes longer than the work."""
    return MOST_THREADS if table.n_rows is None else -(-table.n_rows // BLOCK_ROWS)


class _Meter:
    """Counts rows of all threads; tells them to give up once the pass is stopped."""

    def __init__(self, what: str, total: int | None, progress: Progress) -> None:
        self._what, self._total, self._progress = what, total, progress
        self._done, self._lock = 0, threading.Lock()
        self.stopped = False

    def add(self, n_rows: int) -> None:
        """So many more rows are done."""
        if self.stopped:
            raise Stopped
        with self._lock:
            self._done += n_rows
            self._progress(self._what, self._done, self._total)


def each_block(array: npt.NDArray[Any], work: Callable[[Any, int], T], size: int = BLOCK_ROWS) -> Iterator[T]:
    """``work`` of every block of an N × d array and of its first row's number, in order, on all cores."""
    starts = range(0, len(array), size)
    lane = Lane(min(Threads().threads, len(starts)))
    with one_blas_thread():
        yield from lane.map(lambda start: work(array[start : start + size], start), starts)


def map_blocks(
    work: Callable[[Block], T],
    table: Table,
    columns: Sequence[str] | None = None,
    *,
    engine: Engine | None = None,
    what: str = "reading",
    progress: Progress = silent,
) -> Iterator[T]:
    """``work`` of every block of the named columns, in the table's order."""
    for results in (engine or Threads()).run(partial(span_results, work, columns), table, what=what, progress=progress):
        while results:  # each is let go of once it was handed over
            yield results.popleft()


def span_results(
    work: Callable[[Block], T], columns: Sequence[str] | None, table: Table, span: Span, lane: Lane
) -> deque[T]:
    """``work`` of every block of a span."""
    return deque(lane.map(work, lane.blocks(table, columns, span)))


def span_sum(
    leaf: Callable[[Block], Any], columns: Sequence[str] | None, table: Table, span: Span, lane: Lane
) -> Tree[Any]:
    """``leaf`` of every block of a span, added up."""
    tree = Tree[Any]()
    for node in lane.map(leaf, lane.blocks(table, columns, span)):
        tree.push(node)
    return tree


def summed(
    leaf: Callable[[Block], S],
    table: Table,
    columns: Sequence[str] | None = None,
    *,
    engine: Engine | None = None,
    what: str = "reading",
    progress: Progress = silent,
) -> S | None:
    """``leaf`` of every block, added up along a fixed binary tree; None for a table without rows."""
    total = Tree[Any]()
    for tree in (engine or Threads()).run(partial(span_sum, leaf, columns), table, what=what, progress=progress):
        total.extend(tree)
    result: S | None = total.result()
    return result
