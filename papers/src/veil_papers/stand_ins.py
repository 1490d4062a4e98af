"""Generated tables that stand in for those that cannot ship: the same sizes, and much the same shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from veil_papers.arrays import Matrix


def people(rng: np.random.Generator, n: int = 32_561) -> dict[str, npt.NDArray[np.float64]]:
    """For Adult: whole numbers with its ranges, spikes at full time and at high school."""
    age = np.clip(np.rint(17 + rng.gamma(2.2, 10.0, n)), 17, 90)
    education = rng.choice([9, 10, 13, 14, 7, 6, 11, 12, 5, 4, 16, 15], n, p=_shares(12))
    hours = np.where(rng.random(n) < 0.47, 40, np.clip(np.rint(rng.normal(40, 15, n)), 1, 99))
    weight = np.rint(np.clip(rng.lognormal(12.0, 0.55, n), 12_285, 1_484_705))
    people = {"age": age, "education-num": education, "hours-per-week": hours, "fnlwgt": weight}
    for name, k in (("sex", 2), ("race", 5)):
        people[name] = rng.choice(k, n, p=_shares(k))
    people["education"] = education
    people["income"] = rng.random(n) < np.clip(0.055 * (education - 7) + 0.004 * (age - 35), 0.02, 0.8)
    return {name: np.asarray(values, dtype=np.float64) for name, values in people.items()}


def _shares(k: int) -> npt.NDArray[np.float64]:
    weights = 0.62 ** np.arange(k)
    return np.asarray(weights / weights.sum())


def letters(rng: np.random.Generator, n: int = 20_000) -> Matrix:
    """For Letter: whole numbers 0 to 15, correlated as its first features are."""
    common = rng.normal(size=(n, 2))
    weights = np.array([[0.85, 0.0], [0.75, 0.45], [0.9, -0.1], [0.8, 0.4], [0.75, -0.2], [0.1, -0.3]])
    spread, centre = np.array([1.9, 3.3, 2.0, 2.3, 2.2, 2.0]), np.array([4.0, 7.0, 5.1, 5.4, 3.5, 6.9])
    own = np.sqrt(1 - (weights**2).sum(axis=1))
    values = common @ weights.T + rng.normal(size=(n, 6)) * own
    return np.asarray(np.clip(np.rint(values * spread + centre), 0, 15))


def control_charts(rng: np.random.Generator) -> tuple[Matrix, npt.NDArray[np.int64]]:
    """Alcock and Manolopoulos 1999: a base of 30, noise of ±6, and one of six shapes."""
    t, charts, classes = np.arange(60), [], []
    for kind in range(6):
        for _ in range(100):
            shape: npt.NDArray[Any] = np.zeros(60)
            if kind == 1:
                shape = rng.uniform(10, 15) * np.sin(2 * np.pi * t / rng.uniform(10, 15))
            elif kind in (2, 3):
                shape = rng.uniform(0.2, 0.5) * t * (1 if kind == 2 else -1)
            elif kind in (4, 5):
                shape = rng.uniform(7.5, 20) * (t >= rng.integers(20, 40)) * (1 if kind == 4 else -1)
            charts.append(30 + rng.uniform(-3, 3, 60) * 2 + shape)
            classes.append(kind)
    return np.array(charts), np.array(classes, dtype=np.int64)


def sounds(rng: np.random.Generator, n: int = 40_000) -> Matrix:
    """A chord, a beat, a sweep and filtered noise."""
    t = np.arange(n) / 8_000
    chord = np.sign(np.sin(2 * np.pi * 220 * t)) + np.sin(2 * np.pi * 331 * t)
    beat = np.exp(-8 * (t % 0.5)) * rng.normal(size=n)
    sweep = np.sin(2 * np.pi * (200 * t + 60 * t**2)) ** 3
    smooth = np.convolve(rng.laplace(size=n), np.ones(6) / 6, mode="same") * (0.2 + np.sin(2 * np.pi * 0.7 * t) ** 2)
    return np.array([chord, beat, sweep, smooth])
