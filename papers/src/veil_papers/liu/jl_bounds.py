"""Section 5.1: three sufficient dimensions or probabilities, against the exact law."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

M, EPSILON, GAMMA = 10_000, 0.1, 1.0
JL, ACHLIOPTAS = 8_883, 11_842


def run(context: Context) -> Result:
    """The bounds by their formulas, and what the chi-square law asks for."""
    dimension = veil.measures.johnson_lindenstrauss_dimension
    half = float(np.log(2) / np.log(M))
    first, second = dimension(M, EPSILON, "jl"), dimension(M, EPSILON, "achlioptas", GAMMA)
    exact_half, exact = dimension(M, EPSILON, "exact", half), dimension(M, EPSILON, "exact", GAMMA)
    rows: list[tuple[Any, ...]] = []
    for epsilon in context.pick((0.05, 0.1, 0.2, 0.3, 0.5), (0.1, 0.3)):
        for k in (10, 30, 100, 300, 1_000, 3_000, 10_000):
            bound = float(veil.measures.johnson_lindenstrauss_probability(k, epsilon))
            rows.append((epsilon, k, bound, float(veil.measures.projection_accuracy(k, epsilon))))
    below = all(row[2] <= row[3] + 1e-12 for row in rows)
    sizes: list[tuple[Any, ...]] = []
    for m in context.pick((100, 300, 1_000, 3_000, 10_000, 100_000), (100, 1_000, 10_000)):
        halves = dimension(m, EPSILON, "jl"), dimension(m, EPSILON, "exact", float(np.log(2) / np.log(m)))
        sizes.append((m, *halves, dimension(m, EPSILON, "achlioptas", GAMMA), dimension(m, EPSILON, "exact", GAMMA)))
    one = next(k for k in range(100, 2_000) if float(veil.measures.projection_accuracy(k, EPSILON)) >= 0.95)
    claims = (
        Claim(
            "Johnson–Lindenstrauss: k that is enough with probability ½",
            "k ≥ 9 ln m/(ε² − ⅔ε³) + 1",
            f"{first:,} for m = 10,000 and ε = .1",
            f"{exact_half:,} by the chi-square law for all pairs",
            agrees=all(row[2] <= row[1] for row in sizes),
            why="it is enough, and far more than is needed",
            holds=first == JL and all(row[2] <= row[1] for row in sizes),
        ),
        Claim(
            "Achlioptas: k that is enough with probability 1 − m^−γ",
            "k ≥ (4 + 2γ) ln m/(ε²/2 − ε³/3)",
            f"{second:,} with γ = 1",
            f"{exact:,} by the chi-square law for all pairs; {one} for 95 % of any one pair",
            agrees=all(row[4] <= row[3] for row in sizes),
            why="it is enough, and more than is needed",
            holds=second == ACHLIOPTAS and all(row[4] <= row[3] for row in sizes),
        ),
        Claim(
            "Probability that a distance is kept within 1 ± ε",
            "≥ 1 − 2exp(−(ε² − ε³)k/4)",
            f"never above the exact law in {len(rows)} cases",
            agrees=below,
            holds=below,
        ),
    )
    records = [row[0] for row in sizes]
    labels = ("Johnson–Lindenstrauss, probability ½", "exact, probability ½", "Achlioptas, 1 − 1/m", "exact, 1 − 1/m")
    kinds = ("line", "dashed", "line", "dashed")
    curves = [
        Curve(label, records, [row[1 + j] for row in sizes], kind=kinds[j], colour=j // 2)
        for j, label in enumerate(labels)
    ]
    figure = Curves(
        "Dimension that keeps all squared distances within 1 ± .1",
        "number of records m",
        "reduced dimension k",
        tuple(curves),
        log="xy",
    )
    tables = (
        Table("probabilities", ("epsilon", "k", "bound", "exact"), tuple(rows)),
        Table("dimensions", ("m", *labels), tuple(sizes)),
    )
    return Result(claims, tables, (figure,))


EXPERIMENT = Experiment(
    id="liu-jl-bounds",
    title="Bounds on the reduced dimension",
    stated="the Johnson–Lindenstrauss lemma, Achlioptas' theorem and an exponential bound",
    chosen="m = 10,000, ε = .1, γ = 1; the exact law adds up the chi-square tails of all pairs (a union bound)",
    run=run,
    chapter=5,
)
