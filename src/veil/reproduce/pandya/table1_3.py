"""Tables 1 to 3: marks of seven students, their logarithms, and the logarithms' covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil.reproduce.experiment import Claim, Context, Experiment, Result, Table
from veil.reproduce.pandya.marks import COVARIANCE, LOGS, MARKS, SUBJECTS

LOST = 2.54
"""The entry of Table 3 that lost its exponent."""


def run(_: Context) -> Result:
    """The printed logarithms and covariances beside exact ones."""
    logs = np.log(MARKS)
    shown = np.floor(100 * logs) / 100
    covariance, smaller = np.cov(logs, rowvar=False), np.cov(logs, rowvar=False, ddof=0)
    printed = np.where(COVARIANCE == LOST, 2.54e-5, COVARIANCE)
    off, other = (float(np.abs(matrix - printed).max()) for matrix in (covariance, smaller))
    rank = int(np.linalg.matrix_rank(covariance))
    lost = float(covariance[3, 5])
    lowest = float(np.linalg.eigvalsh(covariance)[0])
    claims = (
        Claim(
            "Table 2: natural logarithms",
            "49 values to two decimals",
            f"largest difference {np.abs(shown - LOGS).max():.0e}, truncated",
            why=f"P-b: cut, not rounded; rounding would change {int((np.round(logs, 2) != LOGS).sum())} of 49",
            holds=bool((np.abs(shown - LOGS) < 1e-9).all()),
        ),
        Claim(
            "Table 3: covariance of the logarithms",
            "49 values to three or four decimals",
            f"largest difference {off:.4f} with n − 1 ({other:.4f} with n)",
            why="P-b: divides by n − 1, cut after three decimals or four",
            holds=off < 1e-3 < other,
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
            "noise is drawn with that covariance (mvnrnd)",
            "possible",
            f"rank {rank} of 7, smallest eigenvalue {lowest:.0e}: a Cholesky factor fails, eigenvectors do not",
            why="P-d: seven records span six dimensions",
            holds=rank == 6 and abs(lowest) < 1e-12,
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
    return Result(claims, tables)


EXPERIMENT = Experiment(
    id="pandya-table1-3",
    title="Marks, logarithms and their covariance",
    stated="7 records of 7 marks; natural logarithms; their covariance",
    chosen="n − 1 in the covariance, which is what the printed values have",
    run=run,
    errata=("P-b", "P-d"),
    also=("table1", "table2", "table3"),
)
