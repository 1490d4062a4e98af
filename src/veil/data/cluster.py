"""A Dask cluster as an engine: one task per span, idempotent, and nothing secret outside the workers.

Workers read the table's files and write part files themselves, so both must be on storage that
they share with the client. The result is that of a single machine, bit for bit; a worker whose
arithmetic is another kind is refused. A worker that dies is replaced by any other; a scheduler that
dies ends the run, and the parts that are whole are kept for ``resume``.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from veil import errors
from veil._version import __version__
from veil.data.blas import arithmetic, one_blas_thread
from veil.data.blocks import Span
from veil.data.passes import Lane, SpanWork
from veil.data.sealed import Greeting, Session, admit, attend, dismiss, greet, sealed_result
from veil.data.tables import Table
from veil.errors import ClusterError, InputError, MissingExtraError, VeilError
from veil.progress import Progress, silent

T = TypeVar("T")
LOGGERS = ("distributed", "distributed.client", "distributed.core", "tornado", "tornado.application")
LOST = ("CommClosedError", "CancelledError", "FutureCancelledError", "TimeoutError", "FuturesTimeoutError")
CONNECT = 15.0
LOOK = 0.25
"""Seconds between looks for results, new workers and a lost scheduler."""


class Cluster:
    """An engine that runs on a Dask cluster.

    Parameters
    ----------
    scheduler
        Address of a running scheduler, for example ``tcp://10.0.0.1:8786``.
    workers
        Instead: that many worker processes on this machine, with one thread each.
    client
        Instead: a ``distributed.Client`` that is there already; it stays open.

    Examples
    --------
    >>> from veil import Cluster, publish_file
    >>> with Cluster(workers=2) as cluster:  # doctest: +SKIP
    ...     publish_file("big.parquet", method, "release", new_key="big.veilkey", engine=cluster)
    """

    def __init__(self, scheduler: str | None = None, *, workers: int | None = None, client: Any = None) -> None:
        given = [each for each in (scheduler, workers, client) if each is not None]
        if len(given) != 1:
            raise ClusterError("give a scheduler's address, a number of workers, or a client: one of the three")
        self._local: Any = None
        self._own = client is None
        self.client = client if client is not None else self._connect(scheduler, workers)

    def _connect(self, scheduler: str | None, workers: int | None) -> Any:
        distributed = _distributed()
        _hush()
        try:
            if workers is not None:
                with _deaf_to_interrupts():
                    self._local = distributed.LocalCluster(
                        n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
                    )
                return distributed.Client(self._local, timeout=CONNECT)
            return distributed.Client(scheduler, timeout=CONNECT)
        except (OSError, TypeError, ValueError, RuntimeError, TimeoutError) as error:
            self.close()
            if workers is not None:
                raise ClusterError(
                    f"{workers} worker(s) could not be started here ({type(error).__name__}); a script needs "
                    "if __name__ == '__main__': around its code"
                ) from None
            secured = "; for tls:// Dask's own settings must name the certificates" if "tls:" in str(scheduler) else ""
            raise ClusterError(
                f"no Dask scheduler answers at {scheduler} ({type(error).__name__}); start one, or check the "
                f"address{secured}"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        with _quiet():
            if self._own and getattr(self, "client", None) is not None:
                self.client.close(timeout=2)
            if self._local is not None:
                self._local.close(timeout=5)

    def run(self, work: SpanWork[T], table: Table, *, what: str = "", progress: Progress = silent) -> Iterator[T]:
        """The work's results, in the order of the spans."""
        spans = table.spans()
        with Admission(self.client, (work, table)) as session:
            futures = [self._task(session.name, table, span, what or "pass") for span in spans]
            yield from self._collected(futures, session, spans, table.n_rows, what, progress)

    def _task(self, name: str, table: Table, span: Span, what: str) -> Any:
        inputs, key = table.inputs(span), f"veil-{what}-{name}-{span.first}"
        if not inputs:
            return self.client.submit(run_span, name, span, key=key, pure=False)
        from dask import delayed

        return self.client.compute(delayed(run_span, pure=False)(name, span, *inputs, dask_key_name=key))

    def _collected(
        self,
        futures: Sequence[Any],
        session: Admission,
        spans: Sequence[Span],
        n_rows: int | None,
        what: str,
        progress: Progress,
    ) -> Iterator[Any]:
        """Results in order, as soon as each is there."""
        given = 0
        try:
            while given < len(futures):
                self._check(given, len(futures))
                session.refused()
                future = futures[given]
                if not future.done():
                    time.sleep(LOOK / 10)
                    continue
                result = session.opened(self._result(future, given, len(futures)))
                if isinstance(result, Failure):
                    raise result.raised()
                yield result
                given += 1
                done = spans[given - 1].rows[1]
                progress(what, min(done or 0, n_rows or 0) or (n_rows or 0), n_rows)
        finally:
            with _quiet():
                self.client.cancel(list(futures), force=True)

    def _check(self, done: int, total: int) -> None:
        if self.client.status != "running":
            raise _lost(done, total)

    def _result(self, future: Any, done: int, total: int) -> bytes:
        distributed = _distributed()
        try:
            sealed: bytes = future.result(timeout=CONNECT)
            return sealed
        except VeilError:
            raise
        except distributed.scheduler.KilledWorker:
            raise ClusterError(
                f"workers died again and again on the same task, {done} of {total} tasks are done; give them memory"
            ) from None
        except Exception as error:
            self._check(done, total)
            if future.status in ("cancelled", "lost") or type(error).__name__ in LOST:
                raise _lost(done, total) from None
            raise ClusterError(f"a worker failed with an internal error ({type(error).__name__})") from None


def run_span(name: str, span: Span, *frames: Any) -> bytes:
    """On a worker: one span of a run, its result sealed."""
    key, (work, table) = attend(name)
    # An error that is raised here would be logged, and travel open with all that led to it, cells included.
    try:
        with one_blas_thread():
            result: Any = work(table.holding(span, frames), span, Lane())
    except VeilError as error:
        result = Failure(type(error).__name__, str(error))
    except Exception as error:
        result = Failure("ClusterError", f"a worker failed with an internal error ({type(error).__name__})")
    return sealed_result(key, name, result)


@dataclass(frozen=True)
class Failure:
    """An error on a worker, by its name and its one line."""

    name: str
    message: str

    def raised(self) -> VeilError:
        """The error itself."""
        kind = getattr(errors, self.name, InputError)
        return InputError(self.message) if kind is errors.NotInvertibleError else kind(self.message)


class Admission(Session):
    """A session whose work every worker gets, also those that join the cluster during the run."""

    __slots__ = ("_client", "_content", "_known", "_look", "_over", "_refusal", "_thread")

    def __init__(self, client: Any, content: Any, *, look: float = LOOK) -> None:
        super().__init__()
        self._client, self._content, self._look = client, content, look
        self._known: set[tuple[str, int]] = set()
        self._refusal: ClusterError | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="veil admission", daemon=True)

    def __enter__(self) -> Self:
        try:
            self._client.wait_for_workers(1, timeout=CONNECT)
            self._greet_all()
        except ClusterError:
            self.close()
            raise
        except Exception as error:
            self.close()
            raise ClusterError(f"the cluster has no worker that answers ({type(error).__name__}); start one") from None
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let nobody in any more, and let the workers forget."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(timeout=CONNECT)
        with _quiet():
            if self._client.status == "running":
                self._client.run(dismiss, self.name, on_error="ignore")

    def refused(self) -> None:
        """Raise when a worker had to be refused."""
        if self._refusal is not None:
            raise self._refusal

    def _watch(self) -> None:
        while not self._over.wait(self._look) and self._client.status == "running":
            with suppress(Exception):
                self._greet_all()

    def _greet_all(self) -> None:
        """Let workers in that are not in yet; a worker that was restarted has another process."""
        for address, greeting in self._client.run(greet, on_error="ignore").items():
            if not isinstance(greeting, Greeting) or (address, greeting.process) in self._known:
                continue
            self._check(address, greeting)
            envelope = self.envelope(greeting, self._content)
            self._client.run(admit, self.name, self.public, envelope, workers=[address], on_error="ignore")
            self._known.add((address, greeting.process))

    def _check(self, address: str, greeting: Greeting) -> None:
        if greeting.veil != __version__:
            self._refusal = ClusterError(
                f"worker {address} has Veil {greeting.veil} and the client {__version__}; install the same version"
            )
        elif greeting.arithmetic != arithmetic():
            self._refusal = ClusterError(
                f"worker {address} computes on {greeting.arithmetic} and the client on {arithmetic()}, so bits "
                "would differ; use machines of one kind"
            )
        self.refused()


def _lost(done: int, total: int) -> ClusterError:
    return ClusterError(
        f"the scheduler was lost with {done} of {total} tasks done; what is done is kept: resume the run to continue",
        parameter="resume",
    )


class _quiet:  # noqa: N801 - reads as a word of the language
    """Leave a cluster without complaint, whatever state it is in."""

    def __enter__(self) -> None:
        self._levels = {name: logging.getLogger(name).level for name in LOGGERS}
        _hush()

    def __exit__(self, kind: Any, *_: object) -> bool:
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)
        return kind is not None and issubclass(kind, Exception)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started inside do not hear Ctrl-C: their parent does, and ends them."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # outside the main thread nothing can be set
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _hush() -> None:
    """Let what goes wrong be said once, by the error that ends the run."""
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("clusters need Dask: pip install 'veil[dask]'") from None
    return distributed
