"""Tables 1 to 3: marks of seven students, their logarithms, and the logarithms' covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves
from veil_papers.pandya.marks import COVARIANCE, COVARIANCE_UNITS, LOGS, MARKS, SUBJECTS

LOST = 2.54
"""The entry of Table 3 that lost its exponent."""


def run(_: Context) -> Result:
    """The printed logarithms and covariances beside exact ones."""
    logs = np.log(MARKS)
    shown = np.floor(100 * logs) / 100
    covariance, smaller = np.cov(logs, rowvar=False), np.cov(logs, rowvar=False, ddof=0)
    scale = np.where(COVARIANCE == LOST, 1e-5, 1.0)
    printed, units = COVARIANCE * scale, COVARIANCE_UNITS * scale
    off, other = (float((np.abs(matrix - printed) / units).max()) for matrix in (covariance, smaller))
    rank = int(np.linalg.matrix_rank(covariance))
    lost = float(covariance[3, 5])
    lowest = float(np.linalg.eigvalsh(covariance)[0])
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    factored, rebuilt = cholesky_works(covariance), float(np.abs(root @ root.T - covariance).max())
    claims = (
        Claim(
            "Table 2: natural logarithms",
            "49 values to two decimals",
            f"largest difference {np.abs(shown - LOGS).max():.0e}, truncated",
            agrees=(np.abs(shown - LOGS) < 1e-9).all(),
            why=f"P-b: cut, not rounded; rounding would change {int((np.round(logs, 2) != LOGS).sum())} of 49",
            holds=(np.abs(shown - LOGS) < 1e-9).all(),
        ),
        Claim(
            "Table 3: covariance of the logarithms",
            "49 values to three or four decimals",
            f"largest difference {off:.2f} units of the last printed digit with n − 1 ({other:.0f} with n)",
            agrees=off < 1,
            why="P-b: divides by n − 1, cut after three decimals or four; an entry that lost its exponent is put right",
            holds=off < 1 < other,
        ),
        Claim(
            "Table 3, entry (4, 6)",
            "2.54",
            f"{lost:.2e}",
            agrees=False,
            why="P-b: its exponent is lost",
            holds=abs(lost - 2.54e-5) < 0.01e-5,
        ),
        Claim(
            "noise is drawn with that covariance",
            "by mvnrnd() of Matlab",
            f"rank {rank} of 7, smallest eigenvalue {lowest:.0e}: a Cholesky factor "
            + ("is found" if factored else "fails")
            + f", eigenvectors give the covariance back to {rebuilt:.0e}",
            agrees=rebuilt < 1e-12,
            why="P-d: seven records span six dimensions, so that any routine needs more than a Cholesky factor",
            holds=rank == 6 and abs(lowest) < 1e-12 and not factored and rebuilt < 1e-12,
        ),
    )
    rows: list[tuple[Any, ...]] = [
        (record + 1, SUBJECTS[j], MARKS[record, j], logs[record, j], LOGS[record, j])
        for record in range(7)
        for j in range(7)
    ]
    pairs: list[tuple[Any, ...]] = [
        (SUBJECTS[i], SUBJECTS[j], covariance[i, j], COVARIANCE[i, j]) for i in range(7) for j in range(7)
    ]
    tables = (
        Table("logarithms", ("record", "subject", "mark", "logarithm", "paper"), tuple(rows)),
        Table("covariance", ("subject", "with", "covariance", "paper"), tuple(pairs)),
    )
    figure = Curves(
        "Eigenvalues of the logarithms' covariance: the seventh is 0 up to rounding",
        "eigenvalue, from the largest",
        "eigenvalue (absolute value)",
        (
            Curve("of the marks", range(1, 8), [abs(float(v)) for v in values[::-1]]),
            Curve(
                "of the printed table", range(1, 8), [float(v) for v in np.linalg.eigvalsh(printed)[::-1]], kind="paper"
            ),
        ),
        log="y",
    )
    return Result(claims, tables, (figure,))


def cholesky_works(covariance: np.ndarray) -> bool:
    """Whether the covariance has a Cholesky factor to working precision: no pivot that is 0 up to rounding."""
    try:
        pivots = np.diag(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() > 1e-7 * pivots.max())


EXPERIMENT = Experiment(
    id="pandya-table1-3",
    title="Marks, logarithms and their covariance",
    stated="7 records of 7 marks; natural logarithms; their covariance",
    chosen="n − 1 in the covariance, which is what the printed values have",
    run=run,
    errata=("P-b", "P-d"),
    also=("table1", "table2", "table3"),
)
