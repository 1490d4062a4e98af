"""A28 from file to file: seconds, peak memory and hits on tables of 20 columns, the largest of a million rows.

The table has 12 numbers and 8 categories of four states, from 20 clusters; numbers are released behind normal noise of
one deviation, categories by randomized response of ε = 1. Each attack runs in a process of its own, which says its
greatest resident memory when it is done. Beyond the rows that A28 learns from, memory is not to grow. With
``--whole`` a last line has the hits of the way with the whole table in memory, on the first guess file's rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from claims import Claims

SIZES = (100_000, 300_000, 1_000_000)
NUMBERS, CATEGORIES, STATES, CLUSTERS = 12, 8, 4, 20
MOST_MB, MOST_SECONDS, MOST_GROWTH = 1_000.0, 60.0, 1.05
TOLERANCE = 0.1
TEXTS = np.array(["a", "b", "c", "d"])


def table_of(rows: int) -> pa.Table:
    """Clustered numbers and categories."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLUSTERS, NUMBERS)) * 1.5
    shares = np.cumsum(rng.dirichlet(np.full(STATES, 0.4), size=(CATEGORIES, CLUSTERS)), axis=2)
    label = rng.integers(CLUSTERS, size=rows)
    columns = {f"x{j}": centres[label, j] + 0.5 * rng.normal(size=rows) for j in range(NUMBERS)}
    for j in range(CATEGORIES):
        codes = (rng.random(rows)[:, None] > shares[j][label]).sum(axis=1)
        columns[f"c{j}"] = TEXTS[np.minimum(codes, STATES - 1)]
    return pa.table(columns)


def publish(home: Path, rows: int) -> None:
    """The table and its release in a folder."""
    import veil

    pq.write_table(table_of(rows), home / "table.parquet")
    texts = [f"c{j}" for j in range(CATEGORIES)]
    plan = veil.Plan([(texts, veil.RandomizedResponse(epsilon=1.0)), (None, veil.AdditiveNoise(1.0))])
    roles = dict.fromkeys([f"x{j}" for j in range(NUMBERS)] + texts, "sensitive")
    veil.publish_file(home / "table.parquet", plan, home / "release", new_key=home / "key", roles=roles)


def attack(home: Path, target: str, *, whole: bool) -> None:
    """Attack the release of a folder and print seconds and peak memory in MB."""
    import veil
    from veil.attacks.folders import attack_file

    tool = veil.JointPosteriorAttack()
    if whole:
        tool.learn = lambda *_: None  # type: ignore[method-assign]
    began = time.perf_counter()
    attack_file(home / "release", tool, home / target)
    spent = time.perf_counter() - began
    # Not ru_maxrss, which has that of the parent as well.
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    print(spent, next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)


def hits(home: Path, target: str) -> tuple[float, float]:
    """The shares of numbers and of categories that a guess hits."""
    truth = pq.read_table(home / "table.parquet")
    guess = ds.dataset(home / target, format="parquet").to_table()
    numbers = [_near(truth, guess, f"x{j}") for j in range(NUMBERS)]
    same = [np.mean(_texts(truth, f"c{j}") == _texts(guess, f"c{j}")) for j in range(CATEGORIES)]
    return float(np.mean(numbers)), float(np.mean(same))


def _near(truth: pa.Table, guess: pa.Table, name: str) -> float:
    x, y = truth.column(name).to_numpy(), guess.column(name).to_numpy()
    return float(np.mean(np.abs(x - y) <= TOLERANCE * x.std()))


def _texts(table: pa.Table, name: str) -> npt.NDArray[np.object_]:
    return np.array(table.column(name).to_pylist(), dtype=object)


def run(home: Path, target: str, *, whole: bool = False) -> tuple[float, float]:
    """Seconds and MB of an attack in a process of its own."""
    command = [sys.executable, __file__, "--child", str(home), target, *(["--whole"] if whole else [])]
    spent, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(spent), float(peak)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of every size, not judged")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--whole", action="store_true", help="the way in memory as well")
    parser.add_argument("--child", nargs=2, metavar=("FOLDER", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        attack(Path(given.child[0]), given.child[1], whole=given.whole)
        return 0
    print(f"load {os.getloadavg()[0]:.2f}", flush=True)
    claims, peaks = Claims(judge=not given.quick), {}
    for size in given.sizes:
        rows = size // 10 if given.quick else size
        with tempfile.TemporaryDirectory(prefix="veil-bench-") as folder:
            home = Path(folder)
            publish(home, rows)
            for whole in (False, True) if given.whole else (False,):
                target = "whole.parquet" if whole else "guess.parquet"
                spent, peak = run(home, target, whole=whole)
                numbers, same = hits(home, target)
                way = "in memory" if whole else "from file to file"
                said = f"A28 {way}, {rows:,} rows: {spent:.1f} s, {peak:.0f} MB, hits {numbers:.4f} and {same:.4f}"
                kept = whole or (peak < MOST_MB and (spent < MOST_SECONDS or rows > SIZES[0]))
                claims.verdict(f"A28, {rows:,}", said, kept)
                if not whole:
                    peaks[rows] = peak
    beyond = [peak for rows, peak in sorted(peaks.items()) if rows > SIZES[0]]
    if len(beyond) > 1:
        growth = beyond[-1] / beyond[0]
        said = f"A28, memory of the largest by that of the second: {growth:.3f} (must be at most {MOST_GROWTH:g})"
        claims.verdict("A28, growth", said, growth <= MOST_GROWTH)
    return claims.status()


if __name__ == "__main__":
    sys.exit(main())
