"""Lemmas 3.1.1, 3.1.2 and 3.2.1: what schemes I and II do to inner products and distances of two records."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars

N = 20
"""Attributes."""
SIGMA = 0.15
C = 0.4
RECORDS = 4
"""The lemmas are about the first two; scheme II takes its noise from the spread of all."""


def run(context: Context) -> Result:
    """Releases of the same records, one below the other, and the moments of what the lemmas are about."""
    replications = context.pick(20_000, 4_000)
    rng = context.rng(0)
    x = rng.lognormal(1.0, 0.6, size=(RECORDS, N))
    many = np.tile(x, (replications, 1))
    seeds = [int(seed) for seed in rng.integers(2**31, size=2)]
    first = veil.MultiplicativeNoise(SIGMA, bounds=(0.01, 1.99), random_state=seeds[0])  # 6.6 σ: as good as normal
    second = veil.LogNormalNoise(C, random_state=seeds[1])
    rows: list[tuple[Any, ...]] = []
    for scheme, method in (("I", first), ("II", second)):
        release, _ = veil.publish(many, method)
        y = release.to_numpy().reshape(replications, RECORDS, N)
        product = (y[:, 0] * y[:, 1]).sum(axis=1) - x[0] @ x[1]
        distance = ((y[:, 0] - y[:, 1]) ** 2).sum(axis=1) - ((x[0] - x[1]) ** 2).sum()
        if scheme == "I":
            printed, right = lemma_one(x[0], x[1])
            spread = (product - product.mean()) ** 2
            rows.append(
                ("I", "inner product, variance", spread.mean(), spread.std() / replications**0.5, right[1], printed[1])
            )
        else:
            factor = np.array(release.only_part.parameters["factor"])
            printed = right = lemma_two(x[0], x[1], (factor**2).sum(axis=1))
        for name, values, at in (("inner product, bias", product, 0), ("squared distance, bias", distance, 2)):
            rows.append((scheme, name, values.mean(), values.std() / replications**0.5, right[at], printed[at]))
    plain: list[tuple[Any, ...]] = [tuple(v if isinstance(v, str) else float(v) for v in row) for row in rows]
    columns = ("scheme", "quantity", "measured", "standard error", "right", "printed")
    return Result(claims(plain), (Table("lemmas", columns, tuple(plain)),), (figure(plain),))


def lemma_one(a: Matrix, b: Matrix) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Bias and variance of the inner product and bias of the squared distance: as printed, and right."""
    both, bias = float((a * a) @ (b * b)), float(SIGMA**2 * (a @ a + b @ b))
    return (0.0, SIGMA**2 * both, bias), (0.0, (2 * SIGMA**2 + SIGMA**4) * both, bias)


def lemma_two(a: Matrix, b: Matrix, s: Matrix) -> tuple[float, float, float]:
    """The same under scheme II with noise variances s on the logarithms; the lemma has no variance."""
    grown = (a * b) @ np.exp(s)
    distance = (a * a + b * b) @ np.exp(2 * s) - 2 * grown - ((a - b) ** 2).sum()
    return float(grown - a @ b), float("nan"), float(distance)


def claims(rows: list[tuple[Any, ...]]) -> tuple[Claim, ...]:
    """One claim per formula."""
    lemmas = {
        ("I", "inner product, bias"): ("3.1.1", "0", ""),
        ("I", "inner product, variance"): ("3.1.1", "σ²Σa²b²", "L-j: (2σ² + σ⁴)Σa²b², as both records have factors"),
        ("I", "squared distance, bias"): ("3.1.2", "σ²Σ(a² + b²)", ""),
        ("II", "inner product, bias"): ("3.2.1", "Σab(e^σ² − 1)", ""),
        ("II", "squared distance, bias"): ("3.2.1", "Σ(e^2σ²(a² + b²) − 2ab e^σ²) − Σ(a − b)²", ""),
    }
    listed = []
    for scheme, quantity, measured, error, right, printed in rows:
        lemma, formula, why = lemmas[scheme, quantity]
        agrees = abs(measured - printed) < 3 * error
        listed.append(
            Claim(
                f"Lemma {lemma}: {quantity}",
                formula,
                f"{measured:.3f} ± {error:.3f}, the formula gives {printed:.3f}",
                f"the right formula {right:.3f}" if why else "",
                agrees=agrees,
                why=why,
                holds=abs(measured - right) < 3 * error and agrees == (not why),
            )
        )
    return tuple(listed)


def figure(rows: list[tuple[Any, ...]]) -> Bars:
    """What differs from zero, over the right value."""
    used = [row for row in rows if row[4] != 0]
    labels = tuple(f"{row[0]}: {row[1].replace(', ', ',' + chr(10))}" for row in used)
    series = (("measured", [row[2] / row[4] for row in used]), ("as printed", [row[5] / row[4] for row in used]))
    return Bars("Two records after multiplicative noise", labels, "over the right value", series)


EXPERIMENT = Experiment(
    id="liu-lemma3",
    title="Inner products and distances under multiplicative noise",
    stated="bias and variance of inner products and distances of two records with n attributes, normal factors",
    chosen="n = 20 lognormal attributes, σ = .15 (cut at 6.6 σ), c = .4, 20,000 replications. Only the sizes depend on "
    "them",
    run=run,
    errata=("L-j",),
    also=("lemma3.1.1", "lemma3.1.2", "lemma3.2.1", "lemma3.1.1-3.2.1"),
)
