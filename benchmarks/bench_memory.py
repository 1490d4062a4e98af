"""Peak memory from file to file: the same for a table and for one ten times as long.

Each work runs in a process of its own, which says its greatest resident memory (VmHWM) when it is done. 20,000,000 rows
of 20 columns need about 10 GB of disk in the temporary folder; ``--quick`` takes 1,000,000 and 4,000,000 rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from claims import Claims
from samples import numbers_file

MOST_MB, MOST_GROWTH = 500.0, 1.1
WORKS = ("P6", "P1", "A6", "recover", "measure")


def work_in(home: Path) -> dict[str, Callable[[], object]]:
    """What is measured, on the files of a folder."""
    import veil
    from veil.attacks.folders import KnowledgeFiles, attack_file
    from veil.recovery.folders import recover

    table, release, key, guess = (home / n for n in ("table.parquet", "release", "key", "guess.parquet"))
    return {
        "P6": lambda: veil.publish_file(table, veil.OrthogonalTransform(), home / "rotated", new_key=home / "other"),
        "P1": lambda: veil.publish_file(table, veil.AdditiveNoise(), release, new_key=key),
        "A6": lambda: attack_file(release, veil.BayesEstimateAttack(), guess, KnowledgeFiles()),
        "recover": lambda: recover(release),
        "measure": lambda: veil.measure(table, guess),
    }


def child(name: str, home: Path) -> None:
    """Do one work and print its seconds and peak memory in MB."""
    work = work_in(home)[name]
    began = time.perf_counter()
    work()
    spent = time.perf_counter() - began
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    print(spent, peak / 1024)


def peaks(rows: int) -> dict[str, tuple[float, float]]:
    """Seconds and MB of every work on a table of so many rows."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="veil-bench-") as folder:
        home = Path(folder)
        numbers_file(home / "table.parquet", rows)
        for name in WORKS:
            command = [sys.executable, __file__, "--child", name, folder]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            found[name] = float(said[0]), float(said[1])
            shutil.rmtree(home / "rotated", ignore_errors=True)
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--more", type=int, default=20_000_000)
    parser.add_argument("--quick", action="store_true", help="1,000,000 and 4,000,000 rows")
    parser.add_argument("--child", nargs=2, metavar=("WORK", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child[0], Path(given.child[1]))
        return 0
    few, many = (1_000_000, 4_000_000) if given.quick else (given.rows, given.more)
    print(f"load {os.getloadavg()[0]:.2f}", flush=True)
    claims = Claims(judge=not given.quick)
    small, large = peaks(few), peaks(many)
    for name in WORKS:
        (first, low), (last, high) = small[name], large[name]
        growth = high / low
        said = (
            f"{name}, memory: {few:,} rows {low:.0f} MB in {first:.1f} s, {many:,} rows {high:.0f} MB in {last:.1f} s, "
            f"ratio {growth:.2f} (must be at most {MOST_GROWTH:g}, and each below {MOST_MB:.0f} MB)"
        )
        kept = growth <= MOST_GROWTH and low >= high / MOST_GROWTH and max(low, high) < MOST_MB
        claims.verdict(name, said, kept)
    return claims.status()


if __name__ == "__main__":
    sys.exit(main())
