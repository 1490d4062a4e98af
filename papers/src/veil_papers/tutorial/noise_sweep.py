"""Slide "Effect of varying noise": the error of the reconstruction rises with the noise."""

from __future__ import annotations

from typing import Any

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves
from veil_papers.tutorial.correlated import SPECTRUM, bayes_error, best_rank, error, noisy, rank_error, table

NOISES = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 14.0, 20.0, 28.0, 40.0, 56.0, 80.0)
METHODS = ("noisy table", "SF", "PCA, λ̃ ≥ 2λ_V", "Bayes filter")


def run(context: Context) -> Result:
    """Relative errors over the noise variance."""
    n, repeats, noises = context.pick(30_000, 5_000), context.pick(20, 1), context.pick(NOISES, (1.0, 10.0, 80.0))
    rows: list[tuple[Any, ...]] = []
    for i, variance in enumerate(noises):
        errors = []
        for r in range(repeats):
            u = table(context, n, 0, r)
            release = noisy(context, u, variance, 1, i, r)
            guesses = (
                release.to_numpy(),
                veil.SpectralFilterAttack(variant="paper").run(release).values,
                veil.PCAAttack("twice").run(release).values,
                veil.BayesEstimateAttack().run(release).values,
            )
            errors.append([error(u, guess) for guess in guesses])
        runs = np.array(errors)
        theory = (
            float(np.sqrt(35 * variance / SPECTRUM.sum())),
            rank_error(variance, best_rank(variance)),
            bayes_error(variance),
        )
        rows.append((variance, *runs.mean(axis=0), *runs.std(axis=0), *theory))
        context.step("noise variances", i + 1, len(noises))
    values = np.array([row[1:5] for row in rows])
    off = float(np.abs(values[:, [0, 2, 3]] / np.array([row[-3:] for row in rows]) - 1).max())
    claims = (
        Claim(
            "The error rises with the noise",
            "rises",
            f"PCA {values[0, 2]:.3f} → {values[-1, 2]:.3f}, Bayes {values[0, 3]:.3f} → {values[-1, 3]:.3f}",
            agrees=bool((np.diff(values, axis=0) > 0).all()),
            holds=bool((np.diff(values, axis=0) > 0).all()),
        ),
        Claim(
            "Errors in closed form",
            "–",
            f"noisy table, PCA and Bayes within {off:.1%} of theirs",
            agrees=None,
            holds=off < 0.03,
        ),
    )
    x = [row[0] for row in rows]
    curves = [Curve(m, x, values[:, j], colour=j) for j, m in enumerate(METHODS)]
    curves += [Curve("PCA, closed form", x, [row[-2] for row in rows], kind="dashed", colour=2)]
    curves += [Curve("Bayes, closed form", x, [row[-1] for row in rows], kind="dashed", colour=3)]
    figure = Curves(
        f"Effect of varying noise (35 variables, N = {n:,})",
        "noise variance σ²",
        "relative Frobenius error",
        tuple(curves),
        log="xy",
    )
    columns = (
        "noise variance",
        *METHODS,
        *(f"spread {m}" for m in METHODS),
        "theory noisy",
        "theory PCA",
        "theory Bayes",
    )
    return Result(claims, (Table("errors", columns, tuple(rows)),), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-noise-sweep",
    title="Effect of varying noise",
    stated="the artificial table of the strategy experiment under more and more noise",
    chosen="σ² = .5 … 80, 20 repetitions, which differ by .3 %, the spectrum of the strategy experiment",
    run=run,
    errata=("T-d",),
)
