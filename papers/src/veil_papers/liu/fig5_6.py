"""Figures 5.6–5.9: what a record's length alone gives away, the share of a sphere inside a ball."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import veil
from veil import measures
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

N, EPSILON = 6, 0.6
EXPECTED = {"worst": 0.01537, "paper": 0.01195}


def run(context: Context) -> Result:
    """The closed form over ‖y‖/‖x‖, beside guesses of the attack on projections that happen to have that ratio."""
    ratios = np.linspace(0.2, 1.8, context.pick(321, 81))
    curve = np.array([float(measures.sphere_breach_probability(EPSILON, N, radius_ratio=float(r))) for r in ratios])
    worst = math.sqrt(1 - EPSILON**2)
    best, paper = (float(measures.sphere_breach_probability(EPSILON, N, variant=v)) for v in ("exact", "paper"))
    rows = [guesses(context, i) for i in range(context.pick(60, 12))]
    high = max(abs(row[2] - row[1]) / row[3] for row in rows)
    outside = curve[(ratios < 1 - EPSILON - 1e-9) | (ratios > 1 + EPSILON + 1e-9)]
    peak = float(ratios[curve.argmax()])
    missed = [row[2] for row in rows if abs(row[0] - 1) > EPSILON]
    claims = (
        Claim(
            "no breach where ‖y‖ is outside (1 ± ε)‖x‖",
            "0",
            f"{outside.max():g} at {len(outside)} ratios; no guess comes near in {len(missed)} such releases",
            agrees=not outside.any(),
            holds=not outside.any() and not any(missed),
        ),
        Claim(
            "the worst case for the owner",
            "‖y‖ = ‖x‖",
            f"{paper:.5f} at ‖y‖ = ‖x‖",
            f"{best:.5f} at ‖y‖ = {worst:.2f}‖x‖",
            agrees=False,
            why="L-q: the cap is widest where its angle is asin ε, at ‖y‖ = ‖x‖√(1−ε²)",
            holds=bool(
                abs(best - EXPECTED["worst"]) < 6e-6
                and abs(paper - EXPECTED["paper"]) < 6e-6
                and abs(peak - worst) <= ratios[1] - ratios[0]
                and curve.max() <= best + 1e-12
            ),
        ),
        Claim(
            "breach of the attack's guesses",
            "the share of the sphere's surface that is in the ball",
            f"at most {high:.1f} standard errors from the closed form on {len(rows)} projections",
            agrees=high < 4.5,
            holds=high < 4.5,
        ),
    )
    figure = Curves(
        f"A uniform guess on the sphere of radius ‖y‖ (n = {N}, ε = {EPSILON:g})",
        "length of the release ‖y‖ / ‖x‖",
        "probability of a breach",
        (
            Curve("closed form", ratios, curve, kind="dashed", colour=0),
            Curve("guesses of the attack", [r[0] for r in rows], [r[2] for r in rows], kind="points", colour=1),
            Curve("paper's worst case", [1.0], [paper], kind="paper", colour=4),
        ),
        marks=((worst, "worst ratio √(1−ε²)"), (1 - EPSILON, "1 − ε"), (1 + EPSILON, "1 + ε")),
    )
    return Result(claims, (Table("guesses", ("ratio", "closed form", "share", "se"), tuple(rows)),), (figure,))


def guesses(context: Context, i: int) -> tuple[Any, ...]:
    """One record many times over, projected by one matrix: ratio of lengths, closed form, share of near guesses."""
    rng = context.rng(i)
    n = context.pick(100_000, 20_000)
    x = np.tile(rng.uniform(1, 9, N), (n, 1))
    projection = veil.RandomProjection(4, scaling=None, dither=False, random_state=int(rng.integers(2**31)))
    release, _ = veil.publish(x, projection)
    attack = veil.HypersphereAttack(variant="paper", random_state=int(rng.integers(2**31)))
    guess = attack.run(release, veil.KnownRanges(-1e3, 1e3)).values
    share = float(measures.breach_rate(x, guess, EPSILON, level="record", variant="paper"))
    ratio = float(np.linalg.norm(release.to_numpy()[0]) / np.linalg.norm(x[0]))
    expected = float(measures.sphere_breach_probability(EPSILON, N, radius_ratio=ratio))
    return ratio, expected, share, math.sqrt(max(expected * (1 - expected) / n, 1 / n**2))


EXPERIMENT = Experiment(
    id="liu-fig5.6",
    title="Sphere and ball: what a length gives away (figures 5.6–5.9)",
    stated="a guess uniform on the sphere of radius ‖y‖ breaches where it lies in the ball of radius ε‖x‖ around x",
    chosen="n = 6, ε = .6, and k = 4 so that lengths vary; the closed form does not depend on the record",
    run=run,
    errata=("L-q",),
    also=("fig5.7", "fig5.8", "fig5.9"),
)
