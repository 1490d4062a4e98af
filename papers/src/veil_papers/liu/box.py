"""Section 5.3.1: the most likely records are those of the sphere inside the box, and the box's lengths are others."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil import measures
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves, Histogram

N, EPSILON = 6, 0.5
RECORD = np.full(N, 0.7)
EXPECTED = {"sphere": 0.005, "box": 0.9}
LOWER, UPPER = np.full(N, -1.0), np.full(N, 2.0)
"""A box that straddles 0, for its lengths."""
TOLERANCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def run(context: Context) -> Result:
    """Guesses on the sphere, those of them in the box, and their mean; lengths of a box that straddles 0."""
    draws = context.pick(400_000, 60_000)
    rng = context.rng(0)
    points = on_sphere(rng, draws)
    # All 64 orthants are alike, so each point also tells of the one without negative values.
    folded = np.abs(points)
    allowed = (folded <= 1).all(axis=1)
    sphere, inside = away(points, RECORD), away(folded[allowed], RECORD)
    x = rng.uniform(size=(context.pick(300, 60), N))
    lengths = np.linalg.norm(x, axis=1) / np.linalg.norm(RECORD)
    some = [within(folded[:20_000] * length, each) for length, each in zip(lengths, x, strict=True)]
    means = away(in_box(rng, x), x)
    rows: list[tuple[Any, ...]] = []
    for epsilon in TOLERANCES:
        cap = float(measures.sphere_breach_probability(epsilon, N, radius_ratio=1.0))
        printed = float(measures.breach_probability(epsilon / 2, N, variant="paper"))
        shares = [float((part <= epsilon).mean()) for part in (sphere, inside, means)]
        each = np.array([float((part <= epsilon).mean()) for part in some])
        se = ((cap * (1 - cap) + 1 / draws) / draws) ** 0.5, float(each.std(ddof=1)) / len(x) ** 0.5
        rows.append((epsilon, printed, cap, *shares, float(each.mean()), *se))
    at = next(row for row in rows if row[0] == EPSILON)
    off = max(abs(row[3] - row[2]) / row[7] for row in rows)
    spread = (at[4] * (1 - at[4]) / len(inside)) ** 0.5
    ends = measures.norm_range([0] * N, [1] * N)
    bound = float(measures.breach_bound(float(np.linalg.norm(RECORD)), EPSILON, N, ends))
    squares = (rng.uniform(LOWER, UPPER, (draws, N)) ** 2).sum(axis=1)
    printed_ends = float((LOWER**2).sum()), float((UPPER**2).sum())
    least, greatest = (end**2 for end in measures.norm_range(LOWER, UPPER))
    lost = float((squares < printed_ends[0]).mean())
    claims = (
        Claim(
            "breach at ε = .5, [0, 1]⁶, x = (.7, …, .7)",
            "any point of the sphere; (2/π) asin(ε/2)",
            f"{at[1]:.3f} by the printed formula, {at[2]:.4f} on the sphere (exact cap; {at[3]:.4f} of {draws:,} "
            "guesses)",
            f"{at[4]:.3f} ± {spread:.3f} on the sphere inside the box",
            agrees=False,
            why="L-p: the uniform prior is 0 outside the box, so most of the sphere is no maximum at all",
            holds=abs(at[2] - EXPECTED["sphere"]) < 5e-4
            and abs(at[4] - EXPECTED["box"]) < 0.05 + 4.5 * spread
            and off < 4.5,
        ),
        Claim(
            f"the same for {len(x)} records drawn from the box",
            "any point of the sphere",
            f"{at[2]:.4f} on the sphere",
            f"{at[6]:.2f} ± {at[8]:.2f} on the sphere inside the box; {at[5]:.0%} for its mean, the best guess",
            agrees=False,
            why="L-p; (.7, …, .7) lies in the middle of its part of the sphere, most records do not",
            holds=at[6] - 4.5 * at[8] > at[2] and at[5] > at[6],
        ),
        Claim(
            "the sphere's probability bounds the breach",
            "an upper bound",
            f"{bound:.4f} over all records of the box",
            f"{at[4]:.2f} in the box",
            agrees=False,
            why="L-p: it bounds only who does not use the ranges",
            holds=at[4] - 4.5 * spread > bound >= at[2],
        ),
        Claim(
            "least and greatest ‖x‖² for ranges from −1 to 2",
            "l = Σa², u = Σb²",
            f"{printed_ends[0]:g} and {printed_ends[1]:g}: {lost:.0%} of the box's records are shorter",
            f"{least:g} and {greatest:g}: none is; seen {squares.min():.2f} to {squares.max():.1f}",
            agrees=False,
            why="L-p: a range that straddles 0 adds 0 to the least and its farther end to the greatest. From −3 to 2 "
            "the printed l = 54 is above u = 24; right are 0 and 54",
            holds=bool(
                least <= squares.min()
                and squares.max() <= greatest
                and lost > 0.1
                and np.allclose(measures.norm_range([-3] * N, [2] * N), (0, 54**0.5))
            ),
        ),
    )
    columns: tuple[str, ...] = ("ε", "printed formula", "cap", "sphere", "sphere in the box")
    columns += ("records: mean in the box", "records: sphere in the box", "se on the sphere", "se over records")
    return Result(claims, (Table("breach", columns, tuple(rows)),), figures(rows, squares, printed_ends, least))


def on_sphere(rng: np.random.Generator, draws: int) -> Matrix:
    """The attack's guesses of one record, released many times: points of its sphere."""
    attack = veil.HypersphereAttack(variant="paper", random_state=int(rng.integers(2**31)))
    return attack.run(released(rng, np.tile(RECORD, (draws, 1))), veil.KnownRanges([0.0] * N, [1.0] * N)).values


def in_box(rng: np.random.Generator, x: Matrix) -> Matrix:
    """The attack's best guesses: the means of the spheres inside the box."""
    return veil.HypersphereAttack().run(released(rng, x), veil.KnownRanges([0.0] * N, [1.0] * N)).values


def released(rng: np.random.Generator, x: Matrix) -> veil.Release:
    """A release that keeps every length."""
    return veil.publish(x, veil.OrthogonalTransform(scaling=None, dither=False, random_state=int(rng.integers(2**31))))[
        0
    ]


def within(points: Matrix, record: Matrix) -> Matrix:
    """Relative errors of the points that lie in the box."""
    return away(points[(points <= 1).all(axis=1)], record)


def away(guess: Matrix, truth: Matrix) -> Matrix:
    """Relative errors."""
    return np.asarray(np.linalg.norm(guess - truth, axis=-1) / np.linalg.norm(truth, axis=-1))


def figures(
    rows: list[tuple[Any, ...]], squares: Matrix, printed: tuple[float, float], least: float
) -> tuple[Curves, Histogram]:
    """Breach over ε, and the lengths of a box."""
    epsilon, asin, cap, sphere, inside, mean, some = ([row[c] for row in rows] for c in range(7))
    return (
        Curves(
            "What a length and ranges [0, 1] give away (n = 6)",
            "tolerated relative error ε",
            "probability of a breach",
            (
                Curve("its mean in the box, records of the box", epsilon, mean, colour=2),
                Curve("a point in the box, records of the box", epsilon, some, colour=3),
                Curve("a point in the box, x = (.7, …, .7)", epsilon, inside, colour=1),
                Curve("any point of the sphere", epsilon, sphere, kind="points", colour=0),
                Curve("cap of the sphere, any record", epsilon, cap, kind="dashed", colour=0),
                Curve("printed formula", epsilon, asin, kind="paper", colour=5),
            ),
        ),
        Histogram(
            "Squared lengths of the records of [−1, 2]⁶",
            "‖x‖²",
            (("records of the box", squares),),
            marks=(
                (printed[0], f"printed l = {printed[0]:g}"),
                (printed[1], f"u = {printed[1]:g}, right here"),
                (least, f"right: l = {least:g}"),
            ),
        ),
    )


EXPERIMENT = Experiment(
    id="liu-sphere-box",
    title="The sphere inside the box",
    stated="a uniform prior on Π[a, b]; any x with ‖x‖² = ‖y‖² is a MAP estimate; Σa² ≤ ‖x‖² ≤ Σb²",
    chosen="n = 6, ranges [0, 1] and the record (.7, …, .7), released by an orthogonal matrix so that ‖y‖ = ‖x‖ as in "
    "5.3.2; 400,000 points of the sphere. Beside it 300 records drawn from the box, which are "
    "breached less",
    run=run,
    errata=("L-p",),
    chapter=5,
)
