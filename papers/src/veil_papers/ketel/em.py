"""The EM reconstruction: the printed update is right for densities; as probabilities it needs the widths."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil.recovery import NoiseLaw, reconstruct
from veil_papers.arrays import Vector
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

EDGES = np.array([0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 0.9, 1.0])
"""Ten intervals, the widest four times the narrowest."""
NOISE = 0.05
STEPS = 200
FORMS = ("probabilities", "densities, as printed", "widths dropped")


def run(context: Context) -> Result:
    """The product's reconstruction, the printed update and the one without widths, all after 200 steps."""
    n, repeats = context.pick(20_000, 10_000), context.pick(20, 4)
    rows: list[tuple[Any, ...]] = []
    shown: dict[str, Vector] = {}
    fitted = 0.0
    for r in range(repeats):
        rng = context.rng(r)
        x = np.where(rng.random(n) < 0.5, rng.triangular(0, 0.2, 0.5, n), rng.triangular(0.5, 0.8, 1, n))[:, None]
        noise = veil.AdditiveNoise(NOISE, relative=False, random_state=int(rng.integers(2**31)))
        release, _ = veil.publish(x, noise)
        truth = np.histogram(x, EDGES)[0] / n
        fit = veil.DistributionRecovery("em", support={"x0": EDGES.tolist()}, stop=0.0, max_iter=STEPS).fit(release)
        y = release.to_numpy()[:, 0]
        bins = np.linspace(y.min() - 1e-9, y.max() + 1e-9, 257)
        counts = np.histogram(y, bins)[0].astype(float)
        kernel = NoiseLaw("normal", NOISE).kernel(bins, EDGES)
        widths = np.diff(EDGES)
        own = reconstruct(counts, bins, EDGES, kernel, method="em", stop=0.0, max_iter=STEPS)
        wrong = reconstruct(counts, bins, EDGES, kernel * widths, method="em", stop=0.0, max_iter=STEPS)
        estimates = (own.probabilities, printed(counts, kernel, widths), wrong.probabilities)
        fitted = max(fitted, float(np.abs(fit.probabilities_["x0"] - own.probabilities).max()))
        for form, p in zip(FORMS, estimates, strict=True):
            likelihood = float((counts * np.log(kernel @ p)).sum())
            rows.append(
                (
                    r,
                    form,
                    likelihood,
                    float(np.abs(p - truth).sum() / 2),
                    bool((np.diff(own.log_likelihood) > -1e-6).all()),
                )
            )
        shown = dict(zip(("true", *FORMS), (truth, *estimates), strict=True))
        context.step("repetitions", r + 1, repeats)
    columns = ("repetition", "form", "log-likelihood", "total variation", "likelihood never falls")
    densities = Table.of(
        "densities",
        {"from": EDGES[:-1].tolist(), "to": EDGES[1:].tolist()}
        | {name: (p / np.diff(EDGES)).tolist() for name, p in shown.items()},
    )
    return Result(claims(rows, fitted), (Table("runs", columns, tuple(rows)), densities), (figure(shown),))


def printed(counts: Vector, kernel: Vector, widths: Vector) -> Vector:
    """The update as the paper prints it, θ a density that starts at 1/L; Pr(Y ∈ z − D) is kernel × width."""
    theta, chances = np.full(len(widths), 1 / len(widths)), kernel * widths
    for _ in range(STEPS):
        theta = theta / (widths * counts.sum()) * (chances.T @ (counts / (chances @ theta)))
    return np.asarray(theta * widths)


def claims(rows: list[tuple[Any, ...]], fitted: float) -> tuple[Claim, ...]:
    """Likelihoods of the three forms."""
    likelihood = {form: np.array([row[2] for row in rows if row[1] == form]) for form in FORMS}
    distance = {form: np.array([row[3] for row in rows if row[1] == form]) for form in FORMS}
    gap = float(np.abs(likelihood[FORMS[0]] - likelihood[FORMS[1]]).max())
    lost = likelihood[FORMS[0]] - likelihood[FORMS[2]]
    return (
        Claim(
            "the printed update, θ a density",
            "“converges to the maximum likelihood estimate”",
            f"log-likelihood within {gap:.0e} of the probability form; total variation to the true histogram "
            f"{distance[FORMS[1]].mean():.3f}",
            f"{distance[FORMS[0]].mean():.3f} (the product; another choice of noisy bins moves it by {fitted:.3f})",
            agrees=gap < 1e-6 * float(np.abs(likelihood[FORMS[0]]).max()),
            holds=gap < 1e-6 * float(np.abs(likelihood[FORMS[0]]).max()),
        ),
        Claim(
            "the same without the widths (θ read as a probability)",
            "–",
            f"log-likelihood lower by {lost.mean():.0f}, total variation {distance[FORMS[2]].mean():.3f}",
            agrees=None,
            why="K-e: the update is exact for densities only",
            holds=bool((lost > 0).all() and (distance[FORMS[2]] > distance[FORMS[0]]).all()),
        ),
        Claim(
            "the likelihood never falls",
            "“expectation maximization”",
            "never" if all(row[4] for row in rows) else "falls",
            agrees=all(row[4] for row in rows),
            holds=all(row[4] for row in rows),
        ),
    )


def figure(shown: dict[str, Vector]) -> Curves:
    """Densities over the intervals, as steps."""
    at = np.repeat(EDGES, 2)[1:-1]
    kinds = {"true": "dashed", "densities, as printed": "paper"}
    middle = (EDGES[:-1] + EDGES[1:]) / 2
    curves = []
    for i, (name, p) in enumerate(shown.items()):
        density = p / np.diff(EDGES)
        points = name != "true"
        x, y = (middle, density) if points else (at, np.repeat(density, 2))
        curves.append(Curve(name, x, y, kind=kinds.get(name, "points"), colour=(5, 0, 3, 1)[i]))
    return Curves(f"EM over unequal intervals, {STEPS} steps (one repetition)", "x", "density", tuple(curves))


EXPERIMENT = Experiment(
    id="ketel-em",
    title="EM reconstruction over unequal intervals",
    stated="L intervals D_l of lengths m_l, start 1/L, θ_l ← θ_l/(m_l n) Σ_i Pr(Y ∈ z_i − D_l)/Σ_t θ_t Pr(…)",
    chosen="two triangles on [0, 1], normal noise of .05, ten intervals of widths .05 to .2, 20,000 values, 200 steps, "
    "20 repetitions. With equal widths all forms agree",
    run=run,
    errata=("K-e",),
)
