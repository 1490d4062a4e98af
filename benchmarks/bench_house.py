"""Two source trees of Veil side by side, alternately, in processes of their own: medians and ratios.

    python benchmarks/bench_house.py --before /path/to/old/src [--rows 1000000] [--repeats 5] [--quick]

Cases: CSV files (10 columns of numbers) and Parquet files (20 columns, in row groups as writers cut them) with additive
noise (P1) and a rotation (P6), texts with randomized response (P16), an attack, restoring, arrays in memory, and a CSV
file of 1,000 rows on the command line, of which imports are the larger part. Wall time is what a user waits; processor
time says more on a machine that does other work as well.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parents[1] / "src"
METHODS = {"P1": "veil.AdditiveNoise(0.5, random_state=1)", "P6": "veil.OrthogonalTransform(random_state=1)"}
RESPONSE = "veil.RandomizedResponse(keep=0.8, random_state=1)"
GROUPS = {"65,536": 65_536, "122,880": 122_880, "1,048,576": 1_048_576, "one": 1 << 30}
RUN = """
import resource, subprocess, sys, tempfile, time, veil
import numpy as np
source, small = sys.argv[1:]
def publish(path, method, name):
    veil.publish_file(path, method, home + "/" + name, new_key=home + "/" + name + ".key")
def command(*order):
    code = "from veil.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, *order], check=True, capture_output=True)
def spent():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
with tempfile.TemporaryDirectory(dir=sys.argv[1].rpartition("/")[0]) as home:
    {before}
    wall, cpu = time.perf_counter(), spent()
    {timed}
    print(time.perf_counter() - wall, spent() - cpu)
"""


def publishing(method: str, first: str = "small") -> str:
    """From file to file, after a first run that loads what is needed."""
    return RUN.format(before=f'publish({first}, {method}, "w")', timed=f'publish(source, {method}, "r")')


def on_release(verb: str, method: str) -> str:
    """A command on a release that was made before."""
    return RUN.format(before=f'publish(source, {method}, "r")', timed=f'command("{verb}", home + "/r", *{VERBS[verb]})')


def in_memory(method: str) -> str:
    """An array that is fitted and transformed."""
    before = f"x = np.random.default_rng(0).normal(50, 9, (1_000_000, 20)); {method}.fit_transform(x[:1000])"
    return RUN.format(before=before, timed=f"{method}.fit_transform(x)")


VERBS = {
    "attack": '["--attack", "bayes-estimate", "-o", home + "/g.parquet"]',
    "restore": '["--key", home + "/r.key", "-o", home + "/b.parquet"]',
}
COMMAND = RUN.format(
    before="pass",
    timed='command("perturb", small, "--method", "additive-noise", "-o", home + "/r", "--key", home + "/k")',
)


def measured(tree: Path, code: str, source: Path, small: Path) -> tuple[float, float]:
    """Wall and processor time of one run, in seconds."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    order = [sys.executable, "-c", code, str(source), str(small)]
    wall, cpu = subprocess.run(order, env=environment, check=True, capture_output=True, text=True).stdout.split()
    return float(wall), float(cpu)


def compared(trees: tuple[Path, Path], code: str, source: Path, small: Path, repeats: int) -> list[tuple[float, float]]:
    """Medians for each tree."""
    times: list[list[tuple[float, float]]] = [[], []]
    for _ in range(repeats):
        for runs, tree in zip(times, trees, strict=True):
            runs.append(measured(tree, code, source, small))
    return [tuple(statistics.median(column) for column in zip(*runs, strict=True)) for runs in times]


def cases(home: Path, rows: int) -> list[tuple[str, str, Path]]:
    """Name, code and table of every case."""
    rng = np.random.default_rng(0)
    table = pa.table({f"c{j}": rng.normal(50, 9, rows) for j in range(10)})
    pacsv.write_csv(table, home / "table.csv")
    wide = pa.table({f"c{j}": rng.normal(50, 9, 2 * rows) for j in range(20)})
    listed = [(f"CSV, {name}", publishing(method), home / "table.csv") for name, method in METHODS.items()]
    for name, size in GROUPS.items():
        path = home / f"{size}.parquet"
        pq.write_table(wide, path, row_group_size=size)
        listed.append((f"Parquet, row groups of {name}, P6", publishing(METHODS["P6"]), path))
    listed.append(("Parquet, one row group, P1", publishing(METHODS["P1"]), path))
    texts = home / "texts.parquet"
    words = np.array(["north", "south", "east", "west"])
    pq.write_table(pa.table({f"t{j}": words[rng.integers(0, 4, 2 * rows)] for j in range(10)}), texts)
    listed.append(("Parquet, 10 texts, P16", publishing(RESPONSE, first="source"), texts))
    groups = home / f"{GROUPS['122,880']}.parquet"
    listed.append(("Parquet, A6 on P1", on_release("attack", METHODS["P1"]), groups))
    listed += [(f"Parquet, restore {name}", on_release("restore", method), groups) for name, method in METHODS.items()]
    listed += [(f"memory, {name}", in_memory(method), groups) for name, method in METHODS.items()]
    listed.append(("veil perturb, 1,000 rows", COMMAND, home / "table.csv"))
    return listed


def main() -> None:
    """Print a line for every case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="the other source tree")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the CSV file; Parquet files have twice as many")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose names hold this text")
    parser.add_argument("--quick", action="store_true", help="100,000 rows, three times: minutes, for rough ratios")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rows, chosen.repeats = 100_000, 3
    print(f"{'case':36} {'before':>15} {'after':>15} {'wall':>6} {'cpu':>6}   (seconds of wall/cpu, times faster)")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        listed = [case for case in cases(home, chosen.rows) if chosen.only in case[0]]
        small = home / "small.csv"
        with (home / "table.csv").open() as lines:
            small.write_text("".join(next(lines) for _ in range(1_001)))
        for name, code, source in listed:
            before, after = compared((chosen.before, HERE), code, source, small, chosen.repeats)
            shown = [f"{wall:.2f}/{cpu:.2f}" for wall, cpu in (before, after)]
            ratios = [b / a for b, a in zip(before, after, strict=True)]
            print(f"{name:36} {shown[0]:>15} {shown[1]:>15} {ratios[0]:6.2f} {ratios[1]:6.2f}", flush=True)


if __name__ == "__main__":
    main()
