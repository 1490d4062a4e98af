"""Reconstruct a distribution from 10 million noisy records: how many np.histogram passes does it take?

Target: at most three passes of ``np.histogram(y, 100)`` over the same values. Prints medians of five runs.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from claims import Claims, options

import veil
from veil.recovery import DistributionRecovery
from veil.recovery.column_counts import count_columns, fine_bins
from veil.recovery.noise import noisy_columns

REPEATS = 5
N_BINS = 100
TARGET = 3.0


def clock(work: Callable[[], Any]) -> float:
    """Median seconds of a few runs, after one to warm up."""
    work()
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def noisy_release(n: int) -> veil.Release:
    """Two humps under normal noise."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random(n) < 0.5, rng.normal(0, 1, n), rng.normal(4, 1, n))
    return veil.publish(x[:, None], veil.AdditiveNoise(1.0, relative=False, random_state=0))[0]


def main() -> int:
    """Print the ratio against one histogram pass, and where the time goes."""
    given = options(__doc__, rows=10_000_000)
    rows, claims = given.rows, Claims(judge=not given.quick)
    release = noisy_release(rows)
    y = release.to_numpy()[:, 0].copy()
    one_pass = clock(lambda: np.histogram(y, N_BINS))
    for method in ("bayes", "em"):
        recovery = DistributionRecovery(method, n_bins=N_BINS)
        whole = clock(lambda recovery=recovery: recovery.fit(release))
        columns = noisy_columns(release, None, "benchmark")
        counting = clock(lambda columns=columns: count_columns(release, columns, fine_bins(N_BINS)))
        found = recovery.reconstructions_["x0"]
        claims.ratio(f"R1 {method}, {rows:,} records, against one np.histogram pass", whole, one_pass, TARGET)
        print(
            f"  counting {counting / whole:.0%}, iterating {max(1 - counting / whole, 0):.0%} "
            f"({found.iterations} steps, converged {found.converged})"
        )
    return claims.status()


if __name__ == "__main__":
    sys.exit(main())
