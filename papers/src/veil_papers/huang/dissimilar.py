"""Noise along the data's eigenvectors, from like the data to unlike it: releases, attacks and closed forms."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

import veil
from veil_papers.arrays import Vector
from veil_papers.experiment import Context
from veil_papers.huang.estimating import bayes_cost, direction_cost
from veil_papers.huang.spectrum import NOISE, fourier_basis

Rows = list[tuple[Any, ...]]
D, P = 100, 50
VALUES = np.array([400.0] * P + [1.0] * (D - P))
ATTACKS = ("UDR", "SF", "PCA-DR", "BE-DR", "BE-DR, best")
Form = Literal["rms", "paper"]
FORMS: tuple[Form, ...] = ("rms", "paper")
"""Both forms of the correlation dissimilarity."""
COLUMNS = ("similarity", "attack or dissimilarity", "value", "5 %", "95 %", "standard error", "closed form", "cost")
MEAN, LOW, HIGH, ERROR, CLOSED, COST = range(2, 8)


def noise_spectrum(s: float) -> Vector:
    """Noise variances along the data's eigenvectors, of total power 25·d (catalogue P2)."""
    shape = VALUES / VALUES.mean() if s >= 0 else VALUES[::-1] / VALUES.mean()
    return np.asarray(NOISE * (abs(s) * shape + 1 - abs(s)))


def closed_forms(noise: Vector) -> dict[str, float]:
    """What is left when both covariances are known, from the noise's variances along the data's eigenvectors."""
    return {
        "UDR": float(VALUES.mean() * noise.mean() / (VALUES.mean() + noise.mean())),
        "PCA-DR": float((noise[:P].sum() + VALUES[P:].sum()) / D),
        "BE-DR": float((VALUES * noise / (VALUES + noise)).mean()),
    }


def costs(noise: Vector, n: int) -> dict[str, float]:
    """What estimating adds: to PCA-DR to first order, to BE-DR at most (it is clipped)."""
    return {"PCA-DR": direction_cost(VALUES, noise, P, n), "BE-DR": bayes_cost(VALUES, noise, n)}


def release_of(context: Context, s: float, n: int, r: int) -> tuple[Vector, veil.Release]:
    """A private table and its release with noise of similarity s."""
    rng = context.rng(round(10 * (s + 1)), r, n)
    x = (rng.normal(size=(n, D)) * np.sqrt(VALUES)) @ fourier_basis(D, P).T
    seed = int(rng.integers(2**31))
    release, _ = veil.publish(x, veil.AdditiveNoise(NOISE**0.5, relative=False, similarity=s, random_state=seed))
    return x, release


def published(release: veil.Release) -> Vector:
    """The noise's variances along the data's eigenvectors, as the release states them."""
    stated = release.only_part.parameters
    factor = np.array(stated["factor"]) if "factor" in stated else np.diag(stated["scale"])
    return np.asarray(((fourier_basis(D, P).T @ factor) ** 2).sum(axis=1))


def dissimilarity(x: Vector, release: veil.Release, form: Form = "rms") -> float:
    """How far the noise's correlations are from the data's."""
    return float(veil.measures.correlation_dissimilarity(x, release.to_numpy() - x, form))


def measure(context: Context, points: tuple[float, ...], n: int, repeats: int) -> Rows:
    """Errors and dissimilarities at each similarity, with closed forms for the noise as published."""
    attacks = (
        veil.UnivariateBayesAttack(variant="normal"),
        veil.SpectralFilterAttack(variant="paper"),
        veil.PCAAttack(variant="paper"),
        veil.BayesEstimateAttack(variant="paper"),
        veil.BayesEstimateAttack(),
    )
    rows: Rows = []
    for i, s in enumerate(points):
        runs: dict[str, list[float]] = {name: [] for name in (*ATTACKS, *FORMS)}
        noises = []
        for r in range(repeats):
            x, release = release_of(context, s, n, r)
            noises.append(published(release))
            for name, attack in zip(ATTACKS, attacks, strict=True):
                runs[name].append(float(((attack.run(release).values - x) ** 2).mean()))
            for form in FORMS:
                runs[form].append(dissimilarity(x, release, form))
        powers = np.mean(noises, axis=0)
        theory, cost = closed_forms(powers), costs(powers, n)
        for name, values in runs.items():
            low, high = np.quantile(values, (0.05, 0.95))
            error = float(np.std(values, ddof=1)) / repeats**0.5
            summary = (float(np.mean(values)), float(low), float(high), error)
            rows.append((s, name, *summary, theory.get(name), cost.get(name)))
        context.step("similarities", i + 1, len(points))
    return rows


def series(rows: Rows, name: str, column: int = MEAN) -> Vector:
    """One quantity over the similarities."""
    return np.array([row[column] for row in rows if row[1] == name], dtype=np.float64)
