"""Errors of Huang's attacks over one changing quantity: rows, series and the picture that Figures 1 to 3 have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.reproduce.experiment import Claim, Context, Table
from veil.reproduce.figures import Curve, Curves
from veil.reproduce.huang.spectrum import ATTACKS, closed_forms, errors, fourier_basis

Vector = npt.NDArray[np.float64]
Rows = list[tuple[Any, ...]]
COLUMNS = ("N", "at", "attack", "mse", "5 %", "95 %", "standard error", "closed form")
MSE, LOW, HIGH, ERROR, CLOSED = range(3, 8)
REPEATS = 20
TOLERANCE = 0.03
"""How near the closed forms come at N = 50,000; what estimating the covariance costs goes as 1/N."""


def sweep(
    context: Context, points: Sequence[float], spectrum_at: Callable[[float], tuple[Vector, int]], sizes: Sequence[int]
) -> Rows:
    """Errors at each point, for tables of each size; ``spectrum_at`` gives eigenvalues and how many are large."""
    rows: Rows = []
    for n in sizes:
        repeats = context.pick(REPEATS, 1 if n > 1_000 else 6)
        for i, at in enumerate(points):
            values, p = spectrum_at(at)
            basis = fourier_basis(len(values), p)
            address = (n, round(1000 * at))
            found = [errors(context, values, basis, n, (*address, r)) for r in range(repeats)]
            theory = closed_forms(values, basis, p)
            for attack in ATTACKS:
                runs = np.array([each[attack] for each in found])
                low, high = np.quantile(runs, (0.05, 0.95))
                spread = float(runs.std() / repeats**0.5)
                known = theory.get(attack.partition(",")[0])
                rows.append((n, at, attack, float(runs.mean()), float(low), float(high), spread, known))
            context.step(f"N = {n:,}", i + 1, len(points))
    return rows


def series(rows: Rows, n: int, attack: str, column: int = MSE) -> Vector:
    """One quantity of one attack over the points."""
    return np.array([row[column] for row in rows if (row[0], row[2]) == (n, attack)], dtype=np.float64)


def off_theory(rows: Rows, n: int, attack: str) -> float:
    """The largest relative distance from the closed form."""
    return float(np.abs(series(rows, n, attack) / series(rows, n, attack, CLOSED) - 1).max())


def allowed(n: int) -> float:
    """How far from the closed form a table of n records may be."""
    return TOLERANCE * max(1.0, 50_000 / n)


def bayes_below_pca(rows: Rows, sizes: Sequence[int], where: str = "") -> Claim:
    """BE-DR against PCA-DR at every point and N: the plug-in from 50,000 records on, the best variant always."""
    largest = {
        attack: {n: float((series(rows, n, attack) / series(rows, n, "PCA-DR")).max()) for n in sizes}
        for attack in ("BE-DR", "BE-DR, best")
    }
    plain, best = ("; ".join(f"{ratio:.3f} at N = {n:,}" for n, ratio in ratios.items()) for ratios in largest.values())
    return Claim(
        f"BE-DR errs less than PCA-DR{where}: largest ratio of the two over all points",
        "always below 1",
        plain,
        best,
        agrees=max(largest["BE-DR"].values()) <= 1,
        why="H-c: the plug-in loses on few records; with the bulk of eigenvalues pooled it does not",
        holds=max(largest["BE-DR, best"].values()) <= 1
        and all(ratio <= 1 for n, ratio in largest["BE-DR"].items() if n >= 50_000),
    )


def table(rows: Rows, name: str = "errors") -> Table:
    """All numbers of a sweep."""
    return Table(name, COLUMNS, tuple(rows))


def curves(rows: Rows, n: int, title: str, label: str, *further: Curve, log: str = "") -> Curves:
    """Measured errors with bands over repetitions, and the closed forms dashed."""
    at = sorted({row[1] for row in rows})
    drawn = [
        Curve(a, at, series(rows, n, a), series(rows, n, a, LOW), series(rows, n, a, HIGH), colour=i)
        for i, a in enumerate(ATTACKS)
    ]
    known = [(i, a) for i, a in enumerate(ATTACKS) if a in ("UDR", "PCA-DR", "BE-DR")]
    drawn += [Curve("", at, series(rows, n, a, CLOSED), kind="dashed", colour=i) for i, a in known]
    drawn += [Curve("covariance known (closed forms)", [], [], kind="dashed", colour=5)]
    return Curves(title, label, "mean squared error per value", (*drawn, *further), log=log)
