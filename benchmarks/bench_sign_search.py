"""Gray-code sign search against one cross-distance evaluation per sign pattern (A11).

Both run in this process on the same normal data: 12 attributes, 5,000 records, 250 samples, 4,096
patterns. The baseline is timed on some of the patterns and scaled up; that both find the same pattern
is checked in full on a smaller case.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from claims import Claims, options
from scipy.spatial.distance import cdist

from veil.attacks.rotation.gray_code import gray_signs, pattern_energies

COLUMNS, RECORDS, SAMPLE, TIMED = 12, 5000, 250, 64


def problem(columns: int, records: int, sample: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    mean, spread = rng.normal(0.0, 1.0, columns), np.geomspace(3.0, 1.0, columns)
    return rng.normal(mean, spread, (records, columns)), rng.normal(mean, spread, (sample, columns))


def clock(function, *arguments) -> tuple[float, object]:  # type: ignore[no-untyped-def]
    start = time.perf_counter()
    value = function(*arguments)
    return time.perf_counter() - start, value


def per_pattern(a: np.ndarray, b: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return np.array([cdist(a, b * gray_signs(int(code), a.shape[1])).mean() for code in codes])


def main() -> int:
    columns = 9 if options(__doc__).quick else COLUMNS
    claims = Claims()
    compiling, _ = clock(pattern_energies, *problem(2, 3, 3))
    print(f"first call (numba import and compilation, or cache load): {compiling:.2f} s")

    a, b = problem(8, 500, 60)
    same = np.argmin(pattern_energies(a, b)) == np.argmin(per_pattern(a, b, np.arange(256)))
    print(f"same pattern on all 256 patterns of 8 attributes, 500 records, 60 samples: {bool(same)}")

    a, b = problem(columns, RECORDS, SAMPLE)
    fast, energies = clock(pattern_energies, a, b)
    codes = np.linspace(0, (1 << columns) - 1, TIMED).astype(int)
    timed, direct = clock(per_pattern, a, b, codes)
    slow = timed * (1 << columns) / TIMED
    error = float(np.abs(np.asarray(energies)[codes] / np.asarray(direct) - 1).max())
    shape = f"{1 << columns:,} patterns, {RECORDS:,} records, {SAMPLE} samples, one core"
    claims.speed_up(f"A11 Gray code, {shape}, against distances per pattern", fast, slow)
    print(f"  the baseline is {TIMED} patterns in {timed:.2f} s, scaled up")
    print(f"  largest relative difference of energies on those {TIMED}: {error:.1e}")
    assert same
    assert error < 1e-9
    return claims.status()


if __name__ == "__main__":
    sys.exit(main())
