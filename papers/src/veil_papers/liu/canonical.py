"""Section 3.3: privacy by canonical correlation, with the matrix as printed and as it should be."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

MEAN = np.array([10.0, 20.0, 5.0])
SPREAD = np.array([2.0, 3.0, 1.0])
CORRELATION = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
COVARIANCE = CORRELATION * np.outer(SPREAD, SPREAD)
STDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
UNIT = 0.5
"""The release in other units: pairs instead of single ones."""


def run(context: Context) -> Result:
    """The largest eigenvalue of both matrices over the noise."""
    n, repeats = context.pick((30_000, 20), (10_000, 6))
    rows: list[tuple[Any, ...]] = []
    for i, std in enumerate(context.pick(STDS, (0.05, 0.15, 0.3))):
        draws = np.array([one(context, n, std, i, r) for r in range(repeats)])
        mean, se = draws.mean(axis=0), draws.std(axis=0, ddof=1) / repeats**0.5
        rows.append((std, *(float(v) for v in (*mean, se[0], se[1]))))
        context.step("noise", i + 1, len(STDS))
    off = max(abs(row[1] - row[5]) / row[8] for row in rows)
    halved = max(abs(row[3] / row[2] - UNIT) for row in rows)
    unmoved = max(abs(row[4] - row[1]) for row in rows)
    last = rows[-1]
    claims = (
        Claim(
            "λ is the largest share of variance that is explained",
            "C_XX⁻¹C_YY C_YY⁻¹C_YX",
            f"{rows[0][2]:.3f} to {last[2]:.3f} whatever the noise: privacy 1 − λ = {1 - last[2]:+.3f} at noise "
            f"{last[0]:g}",
            f"{rows[0][1]:.3f} to {last[1]:.3f}, at most {off:.1f} standard errors from the closed form",
            agrees=False,
            why="L-o: the printed product is C_XX⁻¹C_YX, and C_YX = C_XX for any noise of mean 1; C_XY is meant for "
            "the first C_YY",
            holds=bool(off < 4.5 and last[2] - last[1] > 0.1 and all(row[1] <= 1 for row in rows)),
        ),
        Claim(
            "the printed λ is 1, up to the sample",
            "“the maximum proportion of variability”",
            f"above 1 in {min(row[7] for row in rows):.0%} to {max(row[7] for row in rows):.0%} of tables",
            agrees=False,
            why="L-o: its eigenvalues are regression coefficients of Y on X, no squared correlations",
            holds=all(row[7] > 0.5 and 1 < row[2] < 1.05 for row in rows),
        ),
        Claim(
            f"the release in other units (times {UNIT:g})",
            "“proportion of variability”, which has no units",
            f"{last[3]:.3f} instead of {last[2]:.3f}",
            f"{last[4]:.3f}, as before",
            agrees=False,
            why="L-o: the printed λ is multiplied by the factor, so a release in thousands looks private",
            holds=halved < 1e-9 and unmoved < 1e-9,
        ),
        Claim(
            "no combination of X is explained better",
            "“at least 1 − λ proportion of variability will remain unexplained”",
            f"as printed at noise {last[0]:g}: everything is explained",
            f"best R² of 1,000 combinations {last[6]:.3f}, λ = {last[1]:.3f}",
            agrees=False,
            why="L-o",
            holds=all(row[6] <= row[1] + 1e-9 and row[6] > 0.97 * row[1] for row in rows),
        ),
    )
    columns: tuple[str, ...] = (
        "noise",
        "λ",
        "λ as printed",
        "as printed, other units",
        "λ, other units",
        "closed form",
        "best R²",
    )
    columns += ("share of printed λ above 1", "se of λ", "se as printed")
    return Result(claims, (Table("eigenvalues", columns, tuple(rows)),), (figure(rows),))


def one(context: Context, n: int, std: float, *address: int) -> tuple[float, ...]:
    """Eigenvalues of both matrices for one release, in two units; closed form; the best of random combinations."""
    rng = context.rng(*address)
    x = rng.multivariate_normal(MEAN, COVARIANCE, n)
    ends = max(0.01, 1 - 5 * std), min(1.99, 1 + 5 * std)
    noise = veil.MultiplicativeNoise(std, bounds=ends, random_state=int(rng.integers(2**31)))
    y = veil.publish(x, noise)[0].to_numpy()
    right, units = (1 - float(veil.measures.canonical_privacy(x, table)) for table in (y, UNIT * y))
    c_xx, c_yy, c_yx = covariances(x, y)
    combined = rng.normal(size=(1_000, len(MEAN)))
    fitted = ((combined @ c_yx.T @ np.linalg.inv(c_yy)) * (combined @ c_yx.T)).sum(axis=1)
    explained = fitted / ((combined @ c_xx) * combined).sum(axis=1)
    as_printed = printed(x, y)
    own = COVARIANCE + float(np.var(y / x)) * np.diag(SPREAD**2 + MEAN**2)
    theory = float(np.linalg.eigvals(np.linalg.solve(own, COVARIANCE)).real.max())
    return right, as_printed, printed(x, UNIT * y), units, theory, float(explained.max()), float(as_printed > 1)


def covariances(x: Matrix, y: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """C_XX, C_YY and C_YX."""
    d = x.shape[1]
    joint = np.cov(np.hstack([x, y]).T)
    return joint[:d, :d], joint[d:, d:], joint[d:, :d]


def printed(x: Matrix, y: Matrix) -> float:
    """The largest eigenvalue of C_XX⁻¹ C_YY C_YY⁻¹ C_YX."""
    c_xx, c_yy, c_yx = covariances(x, y)
    return float(np.linalg.eigvals(np.linalg.inv(c_xx) @ c_yy @ np.linalg.inv(c_yy) @ c_yx).real.max())


def figure(rows: list[tuple[Any, ...]]) -> Curves:
    """Both eigenvalues over the noise."""
    std, right, as_printed, halved, _, theory, best = ([row[c] for row in rows] for c in range(7))
    return Curves(
        "Largest share of variance that the release explains",
        "standard deviation of the noise factor",
        "λ (privacy is 1 − λ)",
        (
            Curve("as printed", std, as_printed, colour=1),
            Curve("as printed, release in units twice as large", std, halved, colour=3),
            Curve("C_XX⁻¹C_XY C_YY⁻¹C_YX, any units", std, right, kind="points", colour=0),
            Curve("its closed form", std, theory, kind="dashed", colour=0),
            Curve("best R² of 1,000 combinations", std, best, kind="paper", colour=5),
        ),
        width=8.0,
    )


EXPERIMENT = Experiment(
    id="liu-canonical",
    title="Privacy by canonical correlation",
    stated="λ is the largest eigenvalue of C_XX⁻¹C_YY C_YY⁻¹C_YX, privacy is 1 − λ (section 3.3)",
    chosen="three correlated normal attributes, multiplicative noise of .02 to .3, 30,000 records, 20 repetitions. "
    "That the printed λ is 1 holds for any table and any noise that keeps means",
    run=run,
    errata=("L-o",),
    chapter=3,
)
