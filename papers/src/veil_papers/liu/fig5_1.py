"""Figure 5.1: a set in three dimensions, projected to two."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Histogram, Points

N, K = 120, 2


def helix(n: int) -> np.ndarray:
    """A winding line: its shape can be followed by the eye."""
    t = np.linspace(0, 4 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t), t / (2 * np.pi)])


def run(context: Context) -> Result:
    """Ratios of squared distances over many matrices."""
    x, repeats = helix(N), context.pick(2_000, 300)
    original = pdist(x, "sqeuclidean")
    means, spreads, one = [], [], []
    released = x[:, :K]
    for r in range(repeats):
        seed = int(context.rng(r).integers(2**31))
        y = veil.publish(x, veil.RandomProjection(K, scaling=None, dither=False, random_state=seed))[0].to_numpy()
        ratio = pdist(y, "sqeuclidean") / original
        means.append(float(ratio.mean()))
        spreads.append(float(((ratio - 1) ** 2).mean()))
        one.append(float(ratio[0]))
        released = y if r == 0 else released
    mean, se = float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(repeats))
    spread, spread_se = float(np.mean(spreads)), float(np.std(spreads, ddof=1) / np.sqrt(repeats))
    claims = (
        Claim(
            "The output has two dimensions",
            "3-D space onto 2-D space",
            f"{released.shape[1]}-D",
            agrees=released.shape == (N, K),
            holds=released.shape == (N, K),
        ),
        Claim(
            "Squared distances are kept",
            "E[‖u − v‖² − ‖x − y‖²] = 0",
            f"ratio {mean:.3f} ± {se:.3f} on average over {repeats:,} matrices",
            agrees=abs(mean - 1) < 4 * se,
            why="on average over matrices; in one picture the ratios scatter",
            holds=abs(mean - 1) < 4 * se,
        ),
        Claim(
            "Variance of the ratio (Lemma 5.1.5)",
            "2/k",
            f"{spread:.3f} ± {spread_se:.3f}; 2/k = {2 / K:g}",
            agrees=abs(spread - 2 / K) < 4 * spread_se,
            holds=abs(spread - 2 / K) < 4 * spread_se,
        ),
    )
    rows: list[tuple[Any, ...]] = [(r, m, s) for r, (m, s) in enumerate(zip(means, spreads, strict=True))]
    figures = (
        Points("(a) The original data, seen from the side", "x₁", "x₃", (("helix in 3-D", x[:, [0, 2]]),)),
        Points("(b) After one random projection to two dimensions", "u₁", "u₂", (("projected", released),)),
        Histogram(
            f"Squared distance of one pair over {repeats:,} matrices",
            "released / original",
            (("ratio", one),),
            marks=((1.0, "kept"),),
        ),
    )
    table = Table("ratios", ("matrix", "mean ratio", "mean squared deviation"), tuple(rows))
    return Result(claims, (table,), figures)


EXPERIMENT = Experiment(
    id="liu-fig5.1",
    title="Three dimensions projected to two",
    stated="a 3-D set mapped to 2-D, random matrix of N(0, 1) entries",
    chosen="A helix of 120 points; 2,000 matrices. The law of a pair's distance is the same for any set",
    run=run,
)
