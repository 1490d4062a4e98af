"""Section 4.5.3: the time of the known-sample attack over the number of attributes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import veil
from veil.attacks import exact_signs
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

PRIVATE, SAMPLE = 5_000, 250
PAPER = {2: 143.1, 12: 124_420.0}
THINNED = 100_000
"""Pairs of records for the search pattern by pattern where all of them take too long."""


def run(context: Context) -> Result:
    """Search over all sign patterns: in Gray-code order, pattern by pattern, and as part of the whole attack."""
    widths, slow = context.pick((tuple(range(2, 13)), 8), ((2, 4, 7, 9), 4))
    whole_attack(*tables(context, 2))  # compiles
    rows: list[tuple[Any, ...]] = []
    same = []
    for i, d in enumerate(widths):
        x, sample = tables(context, d)
        fast, signs = timed(partial(exact_signs, x, sample), context.pick(2, 1))
        per_pattern = None
        if d <= slow:
            per_pattern, others = timed(partial(exact_signs, x, sample, engine="numpy"), 1)
            same.append(bool(np.array_equal(signs.signs, others.signs)))
        else:
            both = [exact_signs(x, sample, max_pairs=THINNED, engine=engine) for engine in ("numba", "numpy")]
            same.append(bool(np.array_equal(both[0].signs, both[1].signs)))
        rows.append((d, 2**d, fast, per_pattern, whole_attack(x, sample), PAPER.get(d)))
        context.step("attributes", i + 1, len(widths))
    last, before = rows[-1], rows[-2] if len(widths) < 8 else rows[-4]
    growth = (last[2] / before[2]) ** (1 / (last[0] - before[0]))
    doubles = context.pick(1.3, 1.0) < growth < context.pick(2.7, 4.0)
    claims = (
        Claim(
            "time doubles with each attribute",
            f"{PAPER[2]} s (n = 2) to {PAPER[12]:,.0f} s (n = 12): 869 times",
            f"{last[1] // rows[0][1]:,} times as many patterns; {growth:.2f} times per attribute at the end",
            f"{last[2]:.2g} s at n = {last[0]}",
            agrees=doubles,
            why="the Gray-code search costs one root per pair and pattern, and something fixed that counts at small n",
            holds=doubles,
        ),
        Claim(
            "the fast search finds the same signs",
            "–",
            f"as the search pattern by pattern in {sum(same)} of {len(same)} cases, up to n = {last[0]}",
            agrees=None,
            holds=all(same) and bool(same),
        ),
    )
    doubling = np.arange(max(2.0, last[0] - 6.0), last[0] + 1.0)
    figure = Curves(
        f"Time of the sign search ({PRIVATE:,} records, {SAMPLE} samples, one core)",
        "number of attributes n",
        "seconds",
        (
            Curve("Gray-code search", widths, [r[2] for r in rows]),
            Curve("pattern by pattern", [r[0] for r in rows if r[3]], [r[3] for r in rows if r[3]]),
            Curve("whole attack", widths, [r[4] for r in rows]),
            Curve("doubling", doubling, last[2] * 2.0 ** (doubling - last[0]), kind="dashed", colour=5),
            Curve("paper", list(PAPER), list(PAPER.values()), kind="paper", colour=4),
        ),
        log="y",
    )
    columns = ("n", "patterns", "Gray code, s", "per pattern, s", "whole attack, s", "paper, s")
    notes = ("Times are of this machine and run; the whole attack looks at no more than 500,000 pairs of records.",)
    return Result(claims, (Table("seconds", columns, tuple(rows)),), (figure,), notes)


def tables(context: Context, d: int) -> tuple[Matrix, Matrix]:
    """Normal records along their eigenvectors, and a sample with some axes the other way."""
    rng = context.rng(d)
    spread = 1.4 ** np.arange(d)
    x, sample = (rng.normal(spread, spread, (n, d)) for n in (PRIVATE, SAMPLE))
    return x, sample * rng.choice([-1.0, 1.0], d)


def timed(work: Callable[[], Any], times: int) -> tuple[float, Any]:
    """Least processor time of a few runs, and the answer."""
    best, answer = math.inf, None
    for _ in range(times):
        began = time.process_time()
        answer = work()
        best = min(best, time.process_time() - began)
    return best, answer


def whole_attack(x: Matrix, sample: Matrix) -> float:
    """Seconds of the paper's attack on a release."""
    release, _ = veil.publish(x, veil.OrthogonalTransform(scaling=None, dither=False, random_state=x.shape[1]))
    return timed(lambda: veil.KnownSampleAttack(variant="paper").run(release, veil.KnownSample(sample)), 1)[0]


EXPERIMENT = Experiment(
    id="liu-runtime",
    title="Time of the known-sample attack",
    stated="normal data, n = 2 to 12 attributes, 5,000 private records and 250 samples, energy test of every pattern",
    chosen="processor time on one core, least of two runs; the search pattern by pattern with all pairs of records up "
    "to n = 8, and with 100,000 pairs, untimed, beyond",
    run=run,
    errata=("L-i",),
    chapter=4,
)
