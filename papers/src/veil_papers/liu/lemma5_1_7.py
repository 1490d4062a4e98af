"""Lemma 5.1.7: binary projection keeps Hamming distances within a range."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

D, L, EPSILON, K = 200, 20, 0.25, 2_000
P = EPSILON**2 / L
LOW, HIGH = L / 4, L / (2 * EPSILON)
MORE = (2_000, 8_000, 32_000)
"""Numbers of released bits for which the chance of a failure is computed."""


def run(context: Context) -> Result:
    """Released distances of records at every Hamming distance from one, over matrices."""
    repeats = context.pick(100, 8)
    h = np.arange(1.0, D + 1)
    table = np.vstack([np.zeros(D), np.tril(np.ones((D, D)))])
    distances, estimates = [], []
    for r in range(repeats):
        seed = int(context.rng(r).integers(2**31))
        method = veil.BinaryProjection(K, epsilon=EPSILON, scale=L, random_state=seed)
        u = veil.publish(table, method)[0].to_numpy()
        distances.append((u[1:] != u[0]).sum(axis=1))
        estimates.append(veil.recovery.hamming_estimate(np.repeat(u[:1], D, axis=0), u[1:], p=P, d=D).value)
        context.step("matrices", r + 1, repeats)
    released, back = np.array(distances, dtype=float), np.array(estimates)
    expected = K * (1 - (1 - 2 * P) ** h) / 2
    q = expected / K
    se = np.sqrt(K * q * (1 - q) / repeats)
    far = np.abs(released.mean(axis=0) - expected) / se
    near, middle, out = h < LOW, (h >= LOW) & (h <= HIGH), h > HIGH
    holds = regimes(released, h)
    mean_holds = regimes(expected[None, :], h)
    bias = float(np.abs(np.median(back, axis=0)[middle] / h[middle] - 1).max())
    shares = [float(holds[:, part].mean()) for part in (near, middle, out)]
    likely = chances(K, h)
    spread = np.sqrt(np.maximum(likely * (1 - likely), 1 / repeats) / repeats)
    off = float((np.abs(holds.mean(axis=0) - likely) / spread).max())
    worst = [1 - float(chances(k, h).min()) for k in MORE]
    linear = np.abs(expected / (K * P * h) - 1)
    claims = (
        Claim(
            "Three regimes: below l/4, up to l/(2ε), beyond",
            "hold with probability 1 − 2exp(−Cε⁴k)",
            f"hold on average at every distance; in single releases for {shares[0]:.0%}, {shares[1]:.0%} and "
            f"{shares[2]:.0%} of the distances. Most likely failure of all distances: "
            + ", ".join(f"{v:.1g} at k = {k:,}" for v, k in zip(worst, MORE, strict=True)),
            agrees=bool(mean_holds.all() and (np.diff(np.log(worst)) < 0).all()),
            why="C is not stated; with k = 2,000 a short distance is a count of some 30 bits and scatters",
            holds=bool(mean_holds.all() and off < 4.5),
        ),
        Claim(
            "Expected distance",
            "(1 ± ε)kp·h between l/4 and l/(2ε)",
            f"within {linear[middle].max():.0%} of kp·h there; k(1 − (1 − 2p)^h)/2 everywhere, all means within "
            f"{far.max():.1f} standard errors",
            agrees=linear[middle].max() <= EPSILON,
            why=f"beyond the range, where nothing is claimed, kp·h is up to {K * P * D / expected[-1]:.1f} times too "
            "much",
            holds=far.max() < 4.5,
        ),
        Claim(
            "The distance can be had back",
            "–",
            f"medians of the inverted formula within {bias:.0%} of h in the range",
            agrees=None,
            holds=bias < 4 * 1.25 * float((se[middle] / (K * P * h[middle])).max()),
        ),
    )
    rows: list[tuple[Any, ...]] = [
        (int(a), float(b), *(float(v) for v in c), float(e), float(s))
        for a, b, c, e, s in zip(
            h,
            expected,
            np.quantile(released, (0.05, 0.5, 0.95), axis=0).T,
            np.median(back, axis=0),
            holds.mean(axis=0),
            strict=True,
        )
    ]
    low, high = np.quantile(released, (0.05, 0.95), axis=0)
    figure = Curves(
        f"Released against true Hamming distance (n = {D}, k = {K:,}, l = {L}, ε = {EPSILON})",
        "Hamming distance of the records",
        "Hamming distance of the releases",
        (
            Curve("released, 5–95 % over matrices", h[::5], released.mean(axis=0)[::5], low[::5], high[::5]),
            Curve("k(1 − (1 − 2p)^h)/2", h, expected, kind="dashed", colour=1),
            Curve("kp·h", h[:120], np.asarray(K * P * h[:120]), kind="dashed", colour=5),
        ),
        marks=((LOW, "l/4"), (HIGH, "l/(2ε)")),
    )
    columns = ("h", "expected", "q05", "median", "q95", "estimate of h", "lemma holds")
    return Result(claims, (Table("distances", columns, tuple(rows)),), (figure,))


def regimes(distances: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Whether the lemma's statement holds, by release and distance."""
    scale = K * P
    return np.where(
        h < LOW,
        distances < (1 + EPSILON) * scale * LOW,
        np.where(
            h <= HIGH,
            (distances >= (1 - EPSILON) * scale * h) & (distances <= (1 + EPSILON) * scale * h),
            distances > (1 - EPSILON) * scale * HIGH,
        ),
    )


def chances(k: int, h: np.ndarray) -> np.ndarray:
    """The probability that the lemma's statement holds at a distance: released bits differ independently."""
    from scipy.stats import binom

    q, scale = (1 - (1 - 2 * P) ** h) / 2, k * P
    below = binom.cdf(np.ceil((1 + EPSILON) * scale * LOW) - 1, k, q)
    least, most = np.ceil((1 - EPSILON) * scale * h - 1e-9), np.floor((1 + EPSILON) * scale * h + 1e-9)
    within = binom.cdf(most, k, q) - binom.cdf(least - 1, k, q)
    above = binom.sf(np.floor((1 - EPSILON) * scale * HIGH), k, q)
    return np.asarray(np.where(h < LOW, below, np.where(h <= HIGH, within, above)))


EXPERIMENT = Experiment(
    id="liu-lemma5.1.7",
    title="Binary projection and Hamming distances",
    stated="u = Rx mod 2, entries 1 with probability p = ε²/l; three regimes of distances",
    chosen="n = 200, l = 20, ε = .25, k = 2,000, 100 matrices; distances 1 … 200 from one record",
    run=run,
)
