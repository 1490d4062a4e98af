"""Figure 1: the privacy loss 1 − √(1 − ρ²) against the correlation ρ of a value with its release."""

from __future__ import annotations

import numpy as np

from veil import measures
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

GRID = np.linspace(0, 1, 101)
CHECKS = (0.1, 0.3, 0.5, 0.7071, 0.8, 0.9, 0.95, 0.99)
LISTED = (0.005, 0.046, 0.134, 0.293, 0.400, 0.564, 0.688, 0.859)
"""1 − √(1 − ρ²) at those, to three digits."""


def run(context: Context) -> Result:
    """The product's measure beside the closed form, and estimated from normal pairs."""
    loss = np.asarray(measures.privacy_loss(GRID))
    off = float(np.abs(loss - (1 - np.sqrt(1 - GRID**2))).max())
    at = np.asarray(measures.privacy_loss(np.array(CHECKS)))
    n = context.pick(200_000, 20_000)
    sampled, far = [], []
    for i, rho in enumerate(CHECKS):
        x, y = context.rng(i).normal(size=(2, n))
        z = rho * x + np.sqrt(1 - rho**2) * y
        measured = measures.privacy_loss(x, z, method="normal")
        sampled.append(float(measured))
        far.append(abs(measured - at[i]) / (measured.high - measured.low) * 2 * 1.96)
    worst = float(np.abs(np.array(sampled) - at).max())
    claims = (
        Claim(
            "privacy loss against ρ",
            "1 − √(1 − ρ²): none at low correlation, complete at ρ = 1",
            f"{loss[0]:g} at ρ = 0, {at[2]:.3f} at .5, {at[5]:.3f} at .9, {loss[-1]:g} at 1; "
            f"within {off:.0e} of the formula",
            agrees=off < 1e-12,
            holds=off < 1e-12 and bool((np.abs(at - LISTED) < 6e-4).all()),
        ),
        Claim(
            "the same from a sample",
            "–",
            f"within {worst:.4f} of the formula, {max(far):.1f} standard errors at most, from {n:,} pairs",
            agrees=None,
            holds=bool(max(far) < 4),
        ),
    )
    tables = (
        Table.of("loss", {"rho": GRID.tolist(), "loss": loss.tolist()}),
        Table.of(
            "points", {"rho": CHECKS, "loss": at.tolist(), "an independent list": LISTED, "from a sample": sampled}
        ),
    )
    curves = (
        Curve("1 − √(1 − ρ²)", GRID, loss, kind="dashed"),
        Curve(f"estimated from {n:,} pairs", CHECKS, sampled, kind="points"),
    )
    figure = Curves("Privacy loss of a normal value", "correlation ρ with the release", "privacy loss", curves)
    return Result(claims, tables, (figure,))


EXPERIMENT = Experiment(
    id="ketel-fig1",
    title="Privacy loss against correlation",
    stated="privacy loss 1 − √(1 − ρ²) against ρ from 0 to 1, normal X and Z",
    chosen="a grid of 101; estimates from samples beside it. Nothing is random in the curve itself",
    run=run,
)
