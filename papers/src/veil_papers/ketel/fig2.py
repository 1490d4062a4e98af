"""Figure 2: the privacy Π(X|Z) = √(2πe(1 − ρ²)) that is left, against the correlation ρ."""

from __future__ import annotations

import numpy as np

from veil import measures
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

GRID = np.linspace(0, 1, 101)
CHECKS = (0.0, 0.5, 0.7071, 0.9, 1.0)
LISTED = (4.1327, 3.579, 2.9223, 1.801, 0.0)
PAPER = {"rho": (0.5**0.5,), "privacy": (2.921,)}
"""The one value that the paper prints."""


def run(_: Context) -> Result:
    """The product's measure beside the closed form."""
    privacy = np.asarray(measures.conditional_privacy(GRID))
    formula = np.sqrt(2 * np.pi * np.e * (1 - GRID**2))
    off = float(np.abs(privacy - formula).max())
    at = np.asarray(measures.conditional_privacy(np.array(CHECKS)))
    claims = (
        Claim(
            "privacy against ρ",
            "√(2πe(1 − ρ²)): falls to 0",
            f"{at[0]:.4f} at ρ = 0, {at[1]:.3f} at .5, {at[3]:.3f} at .9, {at[4]:g} at 1; within {off:.0e} of it",
            agrees=off < 1e-12,
            holds=off < 1e-12 and bool((np.abs(at - LISTED) < 6e-4).all() and (np.diff(privacy) < 0).all()),
        ),
        Claim(
            "the entropy is always positive",
            "“always positive since the logarithm of probabilities is always negative”",
            f"privacy under 1 (entropy under 0) from ρ = {GRID[privacy < 1][0]:.2f} on",
            agrees=False,
            why="K-b: a differential entropy is negative for anything narrow enough",
            holds=bool((privacy < 1).any()),
        ),
    )
    tables = (
        Table.of("privacy", {"rho": GRID.tolist(), "privacy": privacy.tolist()}),
        Table.of("points", {"rho": CHECKS, "privacy": at.tolist(), "an independent list": LISTED}),
    )
    curves = (
        Curve("√(2πe(1 − ρ²))", GRID, privacy, kind="dashed"),
        Curve("paper, θ = π/4", PAPER["rho"], PAPER["privacy"], kind="paper"),
    )
    label = "privacy Π(X|Z) (standard deviations)"
    figure = Curves("Privacy left to a normal value", "correlation ρ with the release", label, curves)
    return Result(claims, tables, (figure,))


EXPERIMENT = Experiment(
    id="ketel-fig2",
    title="Privacy against correlation",
    stated="privacy Π(X|Z) = √(2πe(1 − ρ²)) against ρ from 0 to 1, standard normal X",
    chosen="a grid of 101. Nothing is random",
    run=run,
    errata=("K-b",),
)
