"""Figure 5.3: the probability that a squared distance stays within 1 ± ε."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

SIZES = (10, 50, 100, 200, 300, 500, 1_000)
EPSILONS = (0.05, 0.1, 0.2, 0.3, 0.5)
# By an independent calculation.
EXPECTED = {0.1: (0.175, 0.383, 0.521, 0.684, 0.780, 0.887, 0.975), 0.3: (0.502, 0.871, 0.967, 0.997, 1.0, 1.0, 1.0)}


def ratios(context: Context, k: int, draws: int, seed_at: int) -> np.ndarray:
    """|u − v|²/|x − y|² of pairs whose differences are orthogonal, so that they are independent draws."""
    drawn: list[np.ndarray] = []
    d = k + context.pick(1_000, 400)
    while sum(len(each) for each in drawn) < draws:
        seed = int(context.rng(seed_at, len(drawn)).integers(2**31))
        table = np.vstack([np.zeros(d), np.eye(d)])
        y = veil.publish(table, veil.RandomProjection(k, scaling=None, dither=False, random_state=seed))[0].to_numpy()
        drawn.append(((y[1:] - y[0]) ** 2).sum(axis=1))
    return np.concatenate(drawn)


def run(context: Context) -> Result:
    """The chi-square law, and releases beside it."""
    exact = {e: [float(veil.measures.projection_accuracy(k, e)) for k in SIZES] for e in EPSILONS}
    tried, draws = context.pick(SIZES, (10, 100)), context.pick(10_000, 800)
    rows: list[tuple[Any, ...]] = []
    for i, k in enumerate(tried):
        drawn = ratios(context, k, draws, i)
        for e in EPSILONS:
            share, p = float((np.abs(drawn - 1) <= e).mean()), exact[e][SIZES.index(k)]
            se = float(np.sqrt(max(p * (1 - p), 1 / len(drawn)) / len(drawn)))
            rows.append((k, e, p, share, se))
        context.step("sizes", i + 1, len(tried))
    far = max(abs(row[3] - row[2]) / row[4] for row in rows)
    shown = all(np.allclose(exact[e], EXPECTED[e], atol=6e-4) for e in EXPECTED)
    rising = all((np.diff(exact[e]) > -1e-12).all() for e in EPSILONS)
    across = bool((np.diff(np.array([exact[e] for e in EPSILONS]), axis=0) > -1e-12).all())
    claims = (
        Claim(
            "The surface rises with k and ε",
            "the probability increases with either",
            f"ε = .1: {', '.join(f'{v:.3f}' for v in exact[0.1])} at k = {', '.join(str(k) for k in SIZES)}",
            agrees=rising and across,
            holds=rising and across and shown,
        ),
        Claim(
            "Lemma 5.1.6: chi-square with k degrees of freedom",
            "∫ f(t; k) dt from k(1 − ε) to k(1 + ε)",
            f"releases within {far:.1f} standard errors in {len(rows)} cases",
            agrees=far < 4.5,
            holds=far < 4.5,
        ),
    )
    curves = [Curve(f"ε = {e:g}", SIZES, exact[e], kind="dashed", colour=i) for i, e in enumerate(EPSILONS)]
    for i, e in enumerate(EPSILONS):
        mine = [row for row in rows if row[1] == e]
        label = f"releases, ε = {e:g}"
        curves.append(Curve(label, [row[0] for row in mine], [row[3] for row in mine], kind="points", colour=i))
    figure = Curves(
        "Probability that a squared distance is kept within 1 ± ε",
        "reduced dimension k",
        "probability",
        tuple(curves),
        log="x",
    )
    table = Table("accuracy", ("k", "epsilon", "chi-square law", "releases", "standard error"), tuple(rows))
    return Result(claims, (table,), (figure,))


EXPERIMENT = Experiment(
    id="liu-fig5.3",
    title="Accuracy of random projection over k and ε",
    stated="probability of (1 − ε)|x − y|² ≤ |u − v|² ≤ (1 + ε)|x − y|², normal entries",
    chosen="k = 10 … 1,000, ε = .05 … .5; 10,000 independent pairs per k. The law does not depend on the data",
    run=run,
)
