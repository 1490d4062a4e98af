"""What memory and processes bring an audit: the same audit remembered, and on two processes, against one alone.

Prints ratios to the first audit of the same process; the table is scikit-learn's breast cancer data.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable

import veil
from veil.demonstration import demo_table

RUNS = 5
SETTINGS = {"roles": {"diagnosis": "public"}, "seed": 0, "repetitions": 5}


def timed(run: Callable[[], object]) -> float:
    """Seconds of one run."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    table, candidates = demo_table(), [veil.AdditiveNoise(0.5), veil.OrthogonalTransform()]
    alone = timed(lambda: veil.audit(table, candidates, workers=1, **SETTINGS))
    print(f"one process, nothing remembered: {alone:.1f} s = 1.00")
    spread = timed(lambda: veil.audit(table, candidates, workers=2, **SETTINGS))
    print(f"two processes: {spread:.1f} s = {spread / alone:.2f}")
    with tempfile.TemporaryDirectory() as home:
        first = timed(lambda: veil.audit(table, candidates, workers=1, cache=home, **SETTINGS))
        print(f"one process, remembering: {first:.1f} s = {first / alone:.2f}")
        again = [timed(lambda: veil.audit(table, candidates, workers=1, cache=home, **SETTINGS)) for _ in range(RUNS)]
        print(
            f"remembered, median of {RUNS}: {statistics.median(again):.2f} s = {statistics.median(again) / alone:.3f}"
        )


if __name__ == "__main__":
    main()
