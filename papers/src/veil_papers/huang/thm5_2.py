"""Theorem 5.2: the noise's part of the error of PCA-DR is σ²p/m, if the directions are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves
from veil_papers.huang.estimating import direction_cost, noise_cost
from veil_papers.huang.spectrum import NOISE, agreement, fourier_basis

D, P = 100, 20
VALUES = np.array([400.0] * P + [1.0] * (D - P))
SIZES = (300, 1_000, 3_000, 10_000, 50_000)
THEOREM = NOISE * P / D
WHOLE = THEOREM + VALUES[P:].sum() / D
NOISES = np.full(D, NOISE)
LISTED = 6.3
"""The whole error at N = 1,000 with directions from the release, by an independent simulation."""
PARTS = ("noise, directions of the data", "noise, directions of the release", "whole error, directions of the release")


def run(context: Context) -> Result:
    """The noise's part and the whole error over the number of records."""
    repeats = {n: context.pick(20, 6 if n < 5_000 else 2) for n in context.pick(SIZES, (300, 1_000, 20_000))}
    basis = fourier_basis(D, P)
    rows: list[tuple[Any, ...]] = []
    for i, (n, count) in enumerate(repeats.items()):
        draws = np.array([parts(context, n, r, basis) for r in range(count)])
        law = (THEOREM, THEOREM + noise_cost(VALUES, NOISE, P, n), WHOLE + direction_cost(VALUES, NOISES, P, n))
        for name, values, theory in zip(PARTS, draws.T, law, strict=True):
            low, high = np.quantile(values, (0.05, 0.95))
            error = float(values.std(ddof=1)) / count**0.5
            rows.append((n, name, float(values.mean()), error, float(low), float(high), theory, count))
        context.step("sizes", i + 1, len(repeats))
    columns = ("N", "part", "mse", "standard error", "5 %", "95 %", "theorem, or first order", "repetitions")
    return Result(claims(rows), (Table("errors", columns, tuple(rows)),), (figure(rows),))


def parts(context: Context, n: int, r: int, basis: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Noise that passes with the data's own directions, and with the release's; and the latter's whole error."""
    rng = context.rng(n, r)
    x = (rng.normal(size=(n, D)) * np.sqrt(VALUES)) @ basis.T
    noise = veil.AdditiveNoise(NOISE**0.5, relative=False, random_state=int(rng.integers(2**31)))
    release, _ = veil.publish(x, noise)
    guess = veil.PCAAttack(select=P, variant="paper").run(release).values
    y = release.to_numpy()
    added = y - x
    own = np.linalg.eigh(np.cov(x.T))[1][:, -P:]
    # The guess is linear in the release; its matrix tells what becomes of the noise alone.
    some = slice(0, 1_000)
    projection = np.linalg.lstsq(y[some] - y.mean(axis=0), guess[some] - guess.mean(axis=0), rcond=None)[0]
    passed = float(((added @ own) ** 2).sum() / added.size), float(((added @ projection) ** 2).mean())
    return *passed, float(((guess - x) ** 2).mean())


def claims(rows: list[tuple[Any, ...]]) -> tuple[Claim, ...]:
    """The theorem as it is stated, and what it leaves out."""
    known, noise, whole = ([row for row in rows if row[1] == name] for name in PARTS)
    off = max(abs(row[2] - row[6]) / row[3] for row in known)
    # The first order leaves out parts of the second: the square of what it adds, over the error.
    near = [
        max(abs(row[2] - row[6]) / (4 * row[3] + (row[6] - base) ** 2 / base) for row in part)
        for part, base in ((noise, THEOREM), (whole, WHOLE))
    ]
    at = {row[0]: row for row in whole}[1_000]
    listed = agreement(at[2], at[3], at[7], LISTED, 0.05)
    surplus = next(row for row in noise if row[0] == 1_000)
    return (
        Claim(
            "noise part of the error, covariance of the original data",
            f"σ²p/m = {THEOREM:g}",
            "; ".join(f"N = {row[0]:,}: {row[2]:.3f}" for row in known) + f"; within {off:.1f} standard errors",
            agrees=off < 4.5,
            holds=off < 4.5,
        ),
        Claim(
            "the same with directions from the release, which is what an attacker has",
            "–",
            "; ".join(f"N = {row[0]:,}: {row[2]:.3f}" for row in noise)
            + f"; at N = 1,000 {surplus[2] - THEOREM:.3f} more, first order {surplus[6] - THEOREM:.3f}",
            agrees=None,
            why="H-b: the release's directions lean towards its noise; the surplus goes as 1/N",
            holds=bool(near[0] < 1 and all(row[2] > THEOREM for row in noise if row[0] <= 1_000)),
        ),
        Claim(
            "whole error with directions from the release, over that with known ones",
            "–",
            "; ".join(f"N = {row[0]:,}: {row[2]:.2f}" for row in whole)
            + f"; at N = 1,000 {at[2] - WHOLE:.3f} ± {at[3]:.3f} over {WHOLE:.1f}, first order {at[6] - WHOLE:.3f}",
            agrees=None,
            why=f"H-b: {at[2] / WHOLE - 1:.0%} more at N = 1,000, {whole[0][2] / WHOLE - 1:.0%} at N = {whole[0][0]:,}",
            holds=bool(near[1] < 1 and listed < 1),
        ),
    )


def figure(rows: list[tuple[Any, ...]]) -> Curves:
    """The error over N, each part over what it is with known directions."""
    drawn = []
    for i, (name, base) in enumerate(zip(PARTS, (THEOREM, THEOREM, WHOLE), strict=True)):
        own = [row for row in rows if row[1] == name]
        at, mse, low, high, law = (np.array([row[c] for row in own]) for c in (0, 2, 4, 5, 6))
        drawn.append(Curve(name, at, mse / base, low / base, high / base, colour=i))
        if i:
            drawn.append(Curve("", at, law / base, kind="dashed", colour=i))
    drawn.append(Curve("to first order in 1/N", [], [], kind="dashed", colour=5))
    title = "What PCA-DR leaves, over what it leaves with known directions (m = 100, p = 20)"
    return Curves(title, "number of records N", "ratio", tuple(drawn), log="x")


EXPERIMENT = Experiment(
    id="huang-thm5.2",
    title="The noise's part of the error",
    stated="the part of PCA-DR's error that is due to noise is σ²p/m, with “covariance matrix from the original data”",
    chosen="100 attributes, 20 eigenvalues of 400 and 80 of 1, noise variance 25; N = 300 to 50,000; 20 repetitions. "
    "Directions of the release beside those of the data: how much they cost depends on N and on the gap",
    run=run,
    errata=("H-b",),
    chapter=5,
)
