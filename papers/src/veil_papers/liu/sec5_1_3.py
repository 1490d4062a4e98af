"""Section 5.1.3: the law of a sparse projection, as printed and as Achlioptas has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

N, K = 100, 20
KINDS = {"achlioptas1": 1.0, "achlioptas3": 3.0, "sparse": math.sqrt(N)}


def run(context: Context) -> Result:
    """Shares of zeros, variances of entries and mean inner products over matrices of both laws."""
    repeats = context.pick(1_500, 100)
    pair = context.rng(0).uniform(0.5, 2.0, (2, N))
    x, y = pair
    product = float(x @ y)
    rows: list[tuple[Any, ...]] = []
    for i, (kind, s) in enumerate(KINDS.items()):
        drawn = [owned(context, kind, pair, i, r) for r in range(repeats)]
        ours = [matrix for matrix, _ in drawn]
        theirs = [printed(context.rng(9, i, r), s) for r in range(repeats)]
        products = [np.array([float((m @ x) @ (m @ y)) / K / product for m in ms]) for ms in (ours, theirs)]
        cells = repeats * K * N
        zeros = float(np.mean([(m == 0).mean() for m in ours]))
        square = [float(np.mean([(m**2).mean() for m in ms])) for ms in (ours, theirs)]
        shown = max(float(np.abs(u - pair @ matrix.T / math.sqrt(K)).max()) for matrix, u in drawn)
        # Var r² = s − 1 for entries √s·{±1, 0}: 0 at s = 1, where squares are exact.
        errors = math.sqrt((1 - 1 / s) / s / cells), math.sqrt((s - 1) / cells)
        filled = 2 / (s + 2)  # share of entries that are not 0 in the printed law
        theirs_error = s * math.sqrt(filled * (1 - filled) / cells)
        mean, se = ([float(v) for v in each] for each in zip(*(moments(f) for f in products), strict=True))
        rows.append((s, 0.5 + 1 / s, zeros, errors[0], *square, errors[1], *mean, *se, shown, theirs_error))
        context.step("kinds", i + 1, len(KINDS))
    return Result(claims(rows, repeats), (table(rows),), (figure(rows),))


def claims(rows: list[tuple[Any, ...]], repeats: int) -> tuple[Claim, ...]:
    """Probabilities, variances and inner products."""
    zeros = max(abs(row[2] - (1 - 1 / row[0])) - 4.5 * row[3] for row in rows)
    squares = max(abs(row[4] - 1) - 4.5 * row[6] for row in rows)
    off = max(abs(row[7] - 1) / row[9] for row in rows)
    theirs = max(abs(row[8] - factor(row[0])) / row[10] for row in rows)
    listed = [", ".join(f"{row[c]:.2f}" for row in rows) for c in (1, 2, 4, 5, 7, 8)]
    return (
        Claim(
            "probabilities of the entries √s·{1, 0, −1}",
            "1/(2s), 1 − 1/2, 1/(2s)",
            f"they add up to {listed[0]} at s = 1, 3, {rows[-1][0]:g}",
            f"1 − 1/s: {listed[1]} of the entries are 0",
            agrees=False,
            why="L-y: the print lost the s of 1 − 1/s; only at s = 2 are they the same",
            holds=zeros < 1e-9 and all(abs(row[1] - 1) > 0.1 for row in rows),
        ),
        Claim(
            "entries have variance 1",
            "constant variance, σ_r = 1 by the factor √s",
            f"{listed[3]} with the printed probabilities over their sum",
            listed[2],
            agrees=False,
            why="L-y: 2s/(s + 2) as printed",
            holds=squares < 1e-9 and all(abs(row[5] - factor(row[0])) < 4.5 * row[12] for row in rows),
        ),
        Claim(
            "inner products are kept on average",
            "E u·v = x·y",
            f"{listed[5]} of x·y, at most {theirs:.1f} standard errors from 2s/(s + 2)",
            f"{listed[4]} of x·y over {repeats:,} matrices, at most {off:.1f} standard errors off",
            agrees=False,
            why="L-y, with σ_r = 1",
            holds=bool(off < 4.5 and theirs < 4.5 and all(abs(row[8] - 1) > 4.5 * row[10] for row in rows)),
        ),
        Claim(
            "scale of the release",
            "1/(√k σ_r)",
            f"releases equal Rx/√k to {max(row[11] for row in rows):.0e}",
            agrees=max(row[11] for row in rows) < 1e-9,
            holds=max(row[11] for row in rows) < 1e-9,
        ),
    )


def owned(context: Context, kind: str, pair: Matrix, *address: int) -> tuple[Matrix, Matrix]:
    """The entries of a secret matrix, as its owner may read them, and the two records that it released."""
    seed = int(context.rng(1, *address).integers(2**31))
    fitted = veil.RandomProjection(K, scaling=None, dither=False, kind=kind, random_state=seed).fit(pair)
    return np.asarray(fitted.secret_matrix() * math.sqrt(K)), np.asarray(fitted.transform(pair))


def printed(rng: np.random.Generator, s: float) -> Matrix:
    """Entries by the printed probabilities, divided by their sum."""
    shares = np.array([0.5 / s, 0.5, 0.5 / s])
    return np.asarray(math.sqrt(s) * rng.choice([-1.0, 0.0, 1.0], (K, N), p=shares / shares.sum()))


def factor(s: float) -> float:
    """Variance of an entry of the printed law."""
    return 2 * s / (s + 2)


def moments(values: Matrix) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5


def table(rows: list[tuple[Any, ...]]) -> Table:
    """All numbers."""
    columns: tuple[str, ...] = (
        "s",
        "sum as printed",
        "share of zeros",
        "se of share",
        "variance",
        "variance as printed",
        "se of variance",
    )
    columns += ("inner product", "as printed", "se", "se as printed", "release against matrix")
    columns += ("se of variance as printed",)
    return Table("laws", columns, tuple(rows))


def figure(rows: list[tuple[Any, ...]]) -> Curves:
    """Mean inner products over s."""
    grid = np.geomspace(1.0, 20.0, 100)
    s = [row[0] for row in rows]
    return Curves(
        f"Inner products after a sparse projection (n = {N}, k = {K})",
        "s",
        "mean of u·v / x·y (grey: a sum)",
        (
            Curve("0 with probability 1 − 1/s", s, [row[7] for row in rows], kind="points", colour=0),
            Curve("unbiased", [1.0, 20.0], [1.0, 1.0], kind="dashed", colour=0),
            Curve("0 with probability 1 − 1/2, as printed", s, [row[8] for row in rows], kind="paper", colour=1),
            Curve("2s/(s + 2)", grid, 2 * grid / (grid + 2), kind="dashed", colour=1),
            Curve("sum of the printed probabilities", grid, 0.5 + 1 / grid, kind="dashed", colour=5),
        ),
        log="x",
        width=8.0,
    )


EXPERIMENT = Experiment(
    id="liu-sec5.1.3",
    title="Sparse projections",
    stated="entries √s·{1, 0, −1} with probabilities 1/(2s), 1 − 1/2, 1/(2s); s = 1, 3 (Achlioptas) or √n (Li)",
    chosen="two records of 100 attributes, k = 20, 1,500 matrices of each kind. The printed probabilities are divided "
    "by their sum, so that something can be drawn",
    run=run,
    errata=("L-y",),
)
