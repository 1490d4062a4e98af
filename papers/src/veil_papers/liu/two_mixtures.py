"""Figures 5.11 and 5.12: four signals, two mixtures; how near a component comes to a signal, over matrices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil_papers.experiment import Claim, Context
from veil_papers.liu.signals import Separated, listed

HIGH = 0.9
"""A component that correlates as much with a signal shows it."""


def nearness_claims(
    context: Context,
    signals: str,
    separation: Separated,
    alike: Separated,
    simulated: tuple[tuple[float, ...], float, int],
    *,
    real: bool,
) -> tuple[Claim, ...]:
    """What the figures say, and medians and shares beside those of an independent simulation with its matrices."""
    medians, some, matrices = simulated
    ours, own = len(separation.nearest), np.median(separation.nearest, axis=0)
    (spread, share), (their_spread, their_share) = (errors(context, separation, n) for n in (ours, matrices))
    spread, share = np.hypot(spread, their_spread), float(np.hypot(share, their_share))
    off = np.abs(own - medians) - 0.005
    near = bool((off < 4 * spread).all() and abs(separation.some - some) - 0.005 < 4 * share)
    return (
        Claim(
            "components found",
            f"only two {signals}",
            f"{separation.n_signals}",
            agrees=separation.n_signals == 2,
            holds=separation.n_signals == 2,
        ),
        Claim(
            f"no {signals[:-1]} is recovered",
            f"none of the four {signals}",
            f"the component nearest to a {signals[:-1]} has |correlation| {HIGH} or more in {separation.some:.0%} of "
            f"{ours} draws (scaled alike: {alike.some:.0%})",
            agrees=separation.some == 0 if real else None,
            why="each component is a mixture, but its strongest source often drowns the others"
            if real
            else "a stand-in was used",
            holds=separation.some > 0 if real else None,
        ),
        Claim(
            "how near a component comes to each, median over matrices",
            "–",
            f"|correlation| {listed(own)}",
            agrees=None,
            why=f"an independent simulation of {matrices} matrices has {listed(np.array(medians))} and {HIGH} in "
            f"{some:.0%}; ours are at most {float((off / spread).max()):.1f} standard errors away",
            holds=near if real else None,
        ),
    )


def errors(context: Context, separation: Separated, matrices: int) -> tuple[npt.NDArray[np.float64], float]:
    """Standard errors of the medians and of the share with so many matrices, by drawing from ours again."""
    drawn = separation.nearest[context.rng(77).integers(0, len(separation.nearest), (1_000, matrices))]
    share = min(max(separation.some, 1 / len(separation.nearest)), 1 - 1 / len(separation.nearest))
    return np.median(drawn, axis=1).std(axis=0), float(np.sqrt(share * (1 - share) / matrices))
