"""How every benchmark measures and prints: ours and a baseline in turn, medians of five, one line per claim."""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

RUNS = 5


def nothing() -> None:
    """Do nothing."""


def seconds(work: Callable[[], object], clean: Callable[[], object] = nothing) -> float:
    """Seconds of one run; what an earlier run left is removed first, and not timed."""
    clean()
    gc.collect()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def alternating(
    *works: Callable[[], object], clean: Callable[[], object] = nothing, runs: int = RUNS
) -> tuple[float, ...]:
    """The median seconds of each work; they take turns, after one run each that is not counted."""
    for work in works:
        seconds(work, clean)
    rounds = [[seconds(work, clean) for work in works] for _ in range(runs)]
    clean()
    return tuple(statistics.median(column) for column in zip(*rounds, strict=True))


@dataclass
class Claims:
    """The claims of one script; unless ``judge``, at a tenth of the sizes, limits are only printed."""

    judge: bool = True
    broken: list[str] = field(default_factory=list)

    def ratio(self, name: str, ours: float, baseline: float, most: float | None = None) -> None:
        """Ours takes at most so many times the baseline's time."""
        limit = "no limit" if most is None else f"must be at most {most:g}"
        self._say(name, ours, baseline, ours / baseline, limit, most is None or ours / baseline <= most)

    def speed_up(self, name: str, ours: float, baseline: float, least: float | None = None) -> None:
        """The baseline takes at least so many times our time."""
        limit = "no limit" if least is None else f"must be at least {least:g}"
        self._say(name, ours, baseline, baseline / ours, limit, least is None or baseline / ours >= least)

    def _say(self, name: str, ours: float, baseline: float, ratio: float, limit: str, kept: bool) -> None:
        said = f"{name}: ours {ours:.3g} s, baseline {baseline:.3g} s, ratio {ratio:.2f} ({limit})"
        self.verdict(name, said, kept)

    def verdict(self, name: str, said: str, kept: bool) -> None:
        """Print a claim's line, and remember it where it does not hold."""
        if self.judge and not kept:
            said += " NOT KEPT"
            self.broken.append(name)
        print(said, flush=True)

    def status(self) -> int:
        """The exit status: 1 where a limit was not kept."""
        return int(bool(self.broken))


def options(description: str | None, **sizes: int) -> argparse.Namespace:
    """Sizes from the command line: ``--rows`` and so on, or ``--quick`` for a tenth of each."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, size in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=size, help=f"default {size:,}")
    parser.add_argument("--quick", action="store_true", help="a tenth of every size that was not given")
    found = parser.parse_args()
    if found.quick:
        for name, size in sizes.items():
            if getattr(found, name) == size:
                setattr(found, name, max(size // 10, 1))
    print(f"load {os.getloadavg()[0]:.2f}", flush=True)
    return found
