"""Slide "Kronecker Product Example": two attributes answered one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars
from veil_papers.tutorial.responses import reported

FIRST = np.array([[0.8, 0.3], [0.2, 0.7]])
SECOND = np.array([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])
SHARES = np.array([[0.20, 0.10, 0.15], [0.05, 0.30, 0.20]])


def run(context: Context) -> Result:
    """The 6×6 block form against the product of the two, and a release of both attributes."""
    n = context.pick(500_000, 50_000)
    blocks = np.block([[FIRST[i, j] * SECOND for j in range(2)] for i in range(2)])
    both = np.kron(FIRST, SECOND)
    heard = FIRST @ SHARES @ SECOND.T
    form = float(np.abs(blocks - both).max())
    applied = float(np.abs(both @ SHARES.ravel() - heard.ravel()).max())
    back = np.linalg.solve(SECOND, np.linalg.solve(FIRST, heard).T).T
    solved = float(np.abs(back - SHARES).max())
    cells = np.repeat(np.arange(6), (n * SHARES.ravel()).round().astype(int))
    truth = {"a": cells // 3, "b": cells % 3}
    release, _ = reported(context, truth, {"a": FIRST, "b": SECOND}, 0)
    estimate = veil.ProportionRecovery().fit(release).joint(["a", "b"])
    far = float(np.abs((estimate.unconstrained - SHARES) / estimate.randomization_se).max())
    claims = (
        Claim(
            "λ = (P₁ ⊗ P₂)π",
            "6×6 block form",
            f"equal to numpy.kron within {form:.0e}; applied one by one within {applied:.0e}",
            why="the last attribute runs fastest",
            agrees=bool(form == 0.0 and applied < 1e-15),
            holds=bool(form == 0.0 and applied < 1e-15),
        ),
        Claim(
            "π̂ = (P₁⁻¹ ⊗ P₂⁻¹)λ̂ is unbiased",
            "“unbiased estimate of π”",
            f"π back within {solved:.0e} from λ; from a release of {n:,} all within {far:.1f} standard errors",
            agrees=bool(far < 4.5),
            holds=bool(solved < 1e-14 and far < 4.5),
        ),
    )
    rows: list[tuple[Any, ...]] = [
        (f"a{i + 1} b{j + 1}", SHARES[i, j], heard[i, j], estimate.unconstrained[i, j], estimate.randomization_se[i, j])
        for i in range(2)
        for j in range(3)
    ]
    table = Table("cells", ("cell", "share", "reported share", "estimate", "standard error"), tuple(rows))
    figure = Bars(
        f"Two attributes answered one by one, {n:,} records",
        tuple(row[0] for row in rows),
        "share",
        (("true", SHARES.ravel()), ("reported", heard.ravel()), ("estimated", estimate.unconstrained.ravel())),
    )
    return Result(claims, (table,), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-kronecker",
    title="Two attributes answered one by one",
    stated="m = 2, t₁ = 2 and t₂ = 3 categories; λ = (P₁ ⊗ P₂)π",
    chosen="Numbers for both matrices and the six shares; the identity holds for any",
    run=run,
)
