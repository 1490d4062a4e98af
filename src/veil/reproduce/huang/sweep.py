"""Errors of Huang's attacks over one changing quantity: rows, series and the picture that Figures 1 to 3 have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.reproduce.experiment import Context, Table
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
    repeats = context.pick(REPEATS, 1)
    for n in sizes:
        for i, at in enumerate(points):
            values, p = spectrum_at(at)
            basis = fourier_basis(len(values))
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


def table(rows: Rows, name: str = "errors") -> Table:
    """All numbers of a sweep."""
    return Table(name, COLUMNS, tuple(rows))


def curves(rows: Rows, n: int, title: str, label: str, *, log: str = "", **more: Any) -> Curves:
    """Measured errors with bands over repetitions, and the closed forms dashed."""
    at = sorted({row[1] for row in rows})
    drawn = [
        Curve(a, at, series(rows, n, a), series(rows, n, a, LOW), series(rows, n, a, HIGH), colour=i)
        for i, a in enumerate(ATTACKS)
    ]
    drawn += [
        Curve(f"{a}, closed form", at, series(rows, n, a, CLOSED), kind="dashed", colour=i)
        for i, a in enumerate(ATTACKS)
        if a in ("UDR", "PCA-DR", "BE-DR")
    ]
    return Curves(title, label, "mean squared error per value", tuple(drawn), log=log, **more)
