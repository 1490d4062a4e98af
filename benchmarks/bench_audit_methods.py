"""Processor seconds of a default audit of correlated numbers, method by method, against another source tree.

    python benchmarks/bench_audit_methods.py [--before /path/to/old/src] [--rows 10000] [--columns 10] [--only rotation]

Each audit has a process of its own, in turn for both trees; compiling, which happens once on a machine, is done before.
An audit of 10,000 × 10 numbers on two processors is to take under 15 s for noise and under 40 s for a linear method:
about 25 and 70 processor seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "src"
METHODS = {
    "additive": "veil.AdditiveNoise()",
    "pairwise rotation": "veil.PairwiseRotation()",
    "rotation": "veil.OrthogonalTransform()",
    "rotation, translated": "veil.OrthogonalTransform(translation=5.0)",
    "linear": "veil.LinearTransform()",
    "projection to 2": "veil.RandomProjection()",
    "projection to half": "veil.RandomProjection(d // 2)",
    "projection to all but one": "veil.RandomProjection(d - 1)",
    "projection, Achlioptas": 'veil.RandomProjection(d // 2, kind="achlioptas3")',
    "projection, sparse": 'veil.RandomProjection(d // 2, kind="sparse")',
}
RUN = """
import resource, sys, numpy as np, veil
n, d = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(7)
x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3.0 * rng.normal(size=d)
def spent():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
veil.audit(x[:300], {method}, seed=0, repetitions=1, workers=1)
cpu = spent()
audit = veil.audit(x, {method}, seed=1, workers=1)
breaks = sorted({{each.level.label for each in audit.candidates[0].breaks}})
print(spent() - cpu, ", ".join(breaks) or "nothing", sep="|")
"""


def audited(tree: Path, method: str, rows: int, columns: int) -> tuple[float, str]:
    """Processor seconds, and what breaks the method."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    order = [sys.executable, "-c", RUN.format(method=method), str(rows), str(columns)]
    output = subprocess.run(order, env=environment, check=True, capture_output=True, text=True).stdout
    cpu, breaks = output.splitlines()[-1].split("|")
    return float(cpu), breaks


def main() -> None:
    """Print a line for every method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the other source tree")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--only", default="", help="methods whose names hold this text")
    parser.add_argument("--quick", action="store_true", help="1,000 rows of 5 columns")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rows, chosen.columns = 1_000, 5
    print(f"{'method':28} {'before':>8} {'after':>8} {'faster':>7}   breaks with (before; after)")
    for name, method in METHODS.items():
        if chosen.only not in name:
            continue
        trees = [tree for tree in (chosen.before, HERE) if tree is not None]
        results = [audited(tree, method, chosen.rows, chosen.columns) for tree in trees]
        before, after = results[0], results[-1]
        shown = f"{before[0]:8.1f} {after[0]:8.1f} {before[0] / after[0]:7.2f}" if len(results) > 1 else after[0]
        print(f"{name:28} {shown}   {'; '.join(breaks for _, breaks in results)}", flush=True)


if __name__ == "__main__":
    main()
