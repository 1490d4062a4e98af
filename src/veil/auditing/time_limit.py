"""A limit to how long a piece of work runs in this process.

A timer interrupts the work between two instructions of Python, so a long call into compiled code ends first. Timers are
the main thread's; in another one, and where a program has an alarm of its own, nothing is interrupted.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = 0.05
"""Seconds until work that must not be interrupted is looked at again."""
REPEATED = 1.0
"""Seconds after which work that took no notice is interrupted once more."""
_WHOLE = ("<frozen importlib", "/numba/", "/llvmlite/")
"""Where an interrupt would leave something half made: imports and compilers."""


class TimeOver(BaseException):
    """The time of a piece of work is over; no error, so that no attack takes it for one of its own."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise :class:`TimeOver` in the work inside after so many seconds; None is no limit.

    >>> import time
    >>> try:
    ...     with limited(0.02):
    ...         while True:
    ...             time.sleep(0.001)
    ... except TimeOver:
    ...     print("over")
    over
    """
    if seconds is None or not _possible():
        yield
        return
    inside, fired = True, False

    def interrupt(_: int, frame: FrameType | None) -> None:
        nonlocal fired
        if not inside:
            return
        if _is_whole(frame):
            signal.setitimer(signal.ITIMER_REAL, AGAIN, REPEATED)
            return
        fired = True
        raise TimeOver

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), REPEATED)
        yield
    except Exception:
        if not fired:  # else compiled code made another error of the interrupt
            raise
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    if fired:  # also where compiled code went on as if nothing had happened: its result is not to be trusted
        raise TimeOver


def _possible() -> bool:
    """Whether there are timers, this thread may have one, and nobody else has."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)


def _is_whole(frame: FrameType | None) -> bool:
    """Whether the work is at something that must be done in one go."""
    while frame is not None:
        if any(part in frame.f_code.co_filename for part in _WHOLE):
            return True
        frame = frame.f_back
    return False
