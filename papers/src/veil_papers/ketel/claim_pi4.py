"""The claim for θ = π/4: loss .293, privacy 2.921."""

from __future__ import annotations

import math

from veil import measures
from veil_papers.experiment import Claim, Context, Experiment, Result, Table

PAPER = {"loss": 0.293, "privacy": 2.921}


def run(_: Context) -> Result:
    """Both measures of a value rotated with an independent one by π/4."""
    rho = measures.rotated_correlation(math.pi / 4)
    loss, privacy = float(measures.privacy_loss(rho)), float(measures.conditional_privacy(rho))
    claims = (
        Claim(
            "privacy loss at θ = π/4",
            "0.293",
            f"{loss:.4f}",
            agrees=round(loss, 3) == PAPER["loss"],
            holds=abs(loss - (1 - math.sqrt(0.5))) < 1e-12,
        ),
        Claim(
            "privacy at θ = π/4",
            "√(πe) = 2.921",
            f"{privacy:.4f}",
            agrees=round(privacy, 3) == PAPER["privacy"],
            why="K-b: a slip of rounding, √(πe) = 2.9223",
            holds=abs(privacy - 2.9223) < 1e-4 and abs(privacy - math.sqrt(math.pi * math.e)) < 1e-12,
        ),
    )
    rows = (("loss", PAPER["loss"], loss), ("privacy", PAPER["privacy"], privacy))
    return Result(claims, (Table("values", ("measure", "paper", "ours"), rows),))


EXPERIMENT = Experiment(
    id="ketel-claim-pi4",
    title="Loss and privacy at an eighth of a turn",
    stated="θ = π/4, independent standard normal X and Y",
    chosen="nothing is left open",
    run=run,
    errata=("K-b",),
    also=("claim-π/4",),
)
