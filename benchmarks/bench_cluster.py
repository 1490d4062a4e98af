"""Two Dask workers against one, on work that is bound by computing: the mechanism of Laplace on numbers, to Parquet.

Both clusters are started before anything is timed, and each has had one run; the passes over a table of 8 parts and the
writing of its release are counted. The same on threads, without a cluster. Nothing else should run: two workers, the
scheduler and the client share the machine.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from claims import RUNS, Claims, alternating, options
from samples import GROUP_ROWS, numbers_file

import veil
from veil.attacks.folders import KnowledgeFiles, attack_file
from veil.data.passes import Engine, Threads

LEAST = 1.6
COLUMNS = 5


def works(home: Path, engine: Engine) -> dict[str, Callable[[], object]]:
    """What is run on an engine."""
    table = home / "table.parquet"
    mechanism = veil.LaplaceMechanism(1.0, (0.0, 100.0))
    laplace = veil.AdditiveNoise(distribution="laplace")

    def publish(method: veil.Perturbation) -> None:
        veil.publish_file(table, method, home / "release", new_key=home / "key", engine=engine)

    def attack(each: veil.Attack) -> None:
        attack_file(home / "noisy", each, home / "guess.parquet", KnowledgeFiles(), engine=engine)

    return {
        "P21 Laplace": partial(publish, mechanism),
        "P1 Laplace": partial(publish, laplace),
        "A2": partial(attack, veil.UnivariateBayesAttack()),
    }


def clean(home: Path) -> None:
    """Remove what a run left."""
    for name in ("release", "guess.parquet"):
        path = home / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    (home / "key").unlink(missing_ok=True)


def main() -> int:
    """Measure and print."""
    size = options(__doc__, parts=8)
    claims = Claims(judge=not size.quick)
    warnings.filterwarnings("ignore", message="Port")  # of the second cluster's dashboard
    parts = max(size.parts, 4)
    with tempfile.TemporaryDirectory(prefix="veil-bench-") as folder:
        home = Path(folder)
        numbers_file(home / "table.parquet", parts * GROUP_ROWS, COLUMNS)
        veil.publish_file(home / "table.parquet", veil.AdditiveNoise(), home / "noisy", new_key=home / "noisy.key")
        shape = f"{parts} parts × {COLUMNS} columns"
        with veil.Cluster(workers=1) as one, veil.Cluster(workers=2) as two:
            first, second = works(home, one), works(home, two)
            for name in first:
                ours, alone = alternating(second[name], first[name], clean=partial(clean, home), runs=RUNS)
                claims.speed_up(f"{name}, {shape}, two Dask workers against one", ours, alone, LEAST)
        first, second = works(home, Threads(1)), works(home, Threads(2))
        for name in first:
            ours, alone = alternating(second[name], first[name], clean=partial(clean, home), runs=RUNS)
            claims.speed_up(f"{name}, {shape}, two threads against one", ours, alone)
    return claims.status()


if __name__ == "__main__":
    sys.exit(main())
