"""Other tools beside Veil, on tables of the same shape. The tools do different things; each line says what.

SDMetrics and pycanon are measured where they are installed (``pip install sdmetrics pycanon``, in an environment of
their own: Veil does not need them). The other figures were measured once, elsewhere, on two cores of another machine.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from claims import Claims, alternating, options, seconds

import veil


def installed(name: str) -> bool:
    """Whether a tool can be imported."""
    try:
        import_module(name)
    except ImportError:
        return False
    return True


def frame(rows: int, columns: int, seed: int = 0) -> Any:
    """Numbers with one decimal."""
    import pandas as pd

    x = np.random.default_rng(seed).normal(50, 10, (rows, columns)).round(1)
    return pd.DataFrame(x, columns=[f"c{j}" for j in range(columns)])


def once(name: str, shape: str, ours: float, theirs: str) -> None:
    """A line beside a figure that was measured elsewhere."""
    print(f"{name}: ours {ours:.3g} s on {shape}; measured once elsewhere: {theirs} (no limit)", flush=True)


def sdmetrics(claims: Claims, rows: int, runs: int) -> None:
    """Distance to the closest record, against linkage (A22), which looks for the closest record of each person."""
    from sdmetrics.single_table import DCRBaselineProtection

    real, made = frame(rows, 6), frame(rows, 6, seed=1)
    metadata = {"tables": {"t": {"columns": {name: {"sdtype": "numerical"} for name in real}}}}
    release, _ = veil.publish(real, veil.AdditiveNoise(0.2))
    known = veil.ExternalTable(real)

    def theirs() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            DCRBaselineProtection.compute_breakdown({"t": real}, {"t": made}, metadata, "t")

    ours, other = alternating(partial(veil.LinkageAttack().run, release, known), theirs, runs=runs)
    said = f"A22 against SDMetrics {version('sdmetrics')} DCRBaselineProtection"
    claims.ratio(f"{said}, {rows:,} × 6", ours, other)


def pycanon(claims: Claims, rows: int, runs: int) -> None:
    """k-anonymity of six columns, against the first pass of a release of the same table, which counts categories."""
    from pycanon import anonymity

    table = (frame(rows, 6) // 20).astype(int).astype(str)
    ours, other = alternating(
        partial(veil.publish, table, veil.RandomizedResponse(keep=0.8)),
        partial(anonymity.k_anonymity, table, list(table.columns)),
        runs=runs,
    )
    said = f"P16 of all columns against pycanon {version('pycanon')} k_anonymity"
    claims.ratio(f"{said}, {rows:,} × 6", ours, other)


def main() -> int:
    """Measure and print."""
    size = options(__doc__, rows=1_000_000, records=10_000)
    claims = Claims()
    runs = 1 if size.quick else 3
    for name, measured, rows in (("sdmetrics", sdmetrics, size.records), ("pycanon", pycanon, size.rows)):
        if installed(name):
            measured(claims, rows, runs)
        else:
            print(f"{name}: not installed; nothing measured", flush=True)

    numbers = np.random.default_rng(0).normal(50, 10, (size.rows, 5))
    noise, laplace = veil.AdditiveNoise(), veil.LaplaceMechanism(1.0, (0.0, 100.0))
    texts = frame(size.rows, 1).astype(int).astype(str)
    hundred = numbers[: size.rows // 10, :1]
    (ours,) = alternating(lambda: veil.publish(numbers, noise))
    once("P1 and sdcMicro 5.8.1 addNoise", f"{size.rows:,} × 5", ours, "0.98 s on 1,000,000 × 5")
    (ours,) = alternating(lambda: veil.publish(texts, veil.RandomizedResponse(keep=0.8)))
    once("P16 and sdcMicro 5.8.1 pram", f"{size.rows:,} × 1", ours, "4.7 s on 1,000,000 × 1")
    (ours,) = alternating(lambda: veil.publish(hundred, laplace))
    once("P21 Laplace and diffprivlib", f"{len(hundred):,} values", ours, "0.9 s on 100,000 values")
    people = frame(size.rows // 10, 6)
    release, _ = veil.publish(people, veil.AdditiveNoise(0.2))
    known = veil.ExternalTable(people[:2_000])
    ours = seconds(lambda: veil.LinkageAttack().run(release, known))
    shape = f"2,000 people in {len(people):,} × 6"
    once("A22 and an evaluator of Anonymeter", shape, ours, "24 to 28 s on 100,000 rows")
    measured = frame(size.records, 5)
    with tempfile.TemporaryDirectory(prefix="veil-bench-") as folder:
        first, second = Path(folder) / "table.csv", Path(folder) / "guess.csv"
        measured.to_csv(first, index=False)
        (measured + 1).to_csv(second, index=False)
        (ours,) = alternating(lambda: veil.measure(first, second))
    once("measures of a guess and sdcMicro 5.8.1 dRiskRMD", f"{size.records:,} × 5", ours, "11 s on 10,000 rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
