"""What the known-sample experiments of chapter 4 share: tables and samples, the attack over repetitions, curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import veil
from veil_papers.arrays import Matrix, Vector
from veil_papers.experiment import Claim, Context, Table
from veil_papers.figures import Curve, Curves

Draw = Callable[[Any, np.random.Generator], tuple[Matrix, Matrix]]
Shares = dict[tuple[Any, float], float]
N = 10_000
MEAN = (10.0, 10.0, 10.0)
COVARIANCE = ((1.0, 1.5, 0.5), (1.5, 3.0, 2.5), (0.5, 2.5, 75.0))
STATED = "eigenvectors of both sample covariances, signs by the energy test"
SAID = {
    "size": "“the larger the sample size, the better the quality of data recovery”",
    "epsilon": "“the higher the relative error bound […], the higher the probability of privacy breach”",
}
ROUNDING, LIMIT = 0.005, 4.0
"""Of simulated shares with two decimals, and how many standard errors they may differ from ours."""


def normal_table(share: float, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """The paper's normal records, and a sample drawn anew."""
    x, sample = (rng.multivariate_normal(MEAN, COVARIANCE, n) for n in (N, round(N * share)))
    return x, sample


def split(table: Matrix, share: float, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """A random disjoint split: the private part, and a sample of that share of its size."""
    n = round(len(table) * share / (1 + share))
    order = rng.permutation(len(table))
    return table[order[n:]], table[order[:n]]


def recovered(
    x: Matrix, sample: Matrix, rng: np.random.Generator, variant: str = "paper", replicates: int = 32
) -> Matrix:
    """Publish under a new orthogonal matrix, and attack with the sample; the best variant resamples it."""
    release, _ = veil.publish(
        x, veil.OrthogonalTransform(scaling=None, dither=False, random_state=int(rng.integers(2**31)))
    )
    attack = veil.KnownSampleAttack(variant=variant, replicates=replicates)
    return attack.run(release, veil.KnownSample(sample)).values


def relative_errors(x: Matrix, guess: Matrix) -> Vector:
    """‖x̂ − x‖/‖x‖ of every record."""
    lengths = np.linalg.norm(x, axis=1)
    return np.asarray(np.linalg.norm(guess - x, axis=1)[lengths > 0] / lengths[lengths > 0])


@dataclass(frozen=True)
class Sweep:
    """Shares of breached records: repetitions × settings × tolerances."""

    settings: tuple[Any, ...]
    epsilons: tuple[float, ...]
    runs: npt.NDArray[np.float64]

    @property
    def mean(self) -> Matrix:
        """Over repetitions: settings × tolerances."""
        return np.asarray(self.runs.mean(axis=0))

    @property
    def error(self) -> Matrix:
        """Standard error over repetitions, and no less than one repetition's part."""
        n = len(self.runs)
        return np.asarray(np.hypot(self.runs.std(axis=0, ddof=1) / np.sqrt(n), 1 / n))

    def rises(self, axis: int) -> bool:
        """Whether every step along settings (0) or tolerances (1) goes up, within 3 standard errors."""
        mean, square = np.moveaxis(self.mean, axis, 0), np.moveaxis(self.error**2, axis, 0)
        steps = np.diff(mean, axis=0) > -3 * np.sqrt(square[:-1] + square[1:])
        return bool(steps.all() and (mean[-1] > mean[0]).all())

    def table(self, setting: str, simulated: Shares) -> Table:
        """All numbers, with those of an independent simulation where there are any."""
        rows = tuple(
            (s, e, float(self.mean[i, j]), float(self.error[i, j]), simulated.get((s, e)))
            for i, s in enumerate(self.settings)
            for j, e in enumerate(self.epsilons)
        )
        return Table("breach", (setting, "epsilon", "breach", "se", "independent simulation"), rows)

    def off(self, simulated: Shares, runs: int) -> tuple[float, float]:
        """Largest difference from shares that others simulated in so many runs: as it is, and in standard errors.

        Theirs are taken to spread over runs as ours do.
        """
        other = np.array([[simulated[s, e] for e in self.epsilons] for s in self.settings])
        apart = np.abs(self.mean - other)
        error = np.hypot(self.error, np.hypot(self.runs.std(axis=0, ddof=1) / np.sqrt(runs), 1 / runs))
        return float(apart.max()), float((np.maximum(apart - ROUNDING, 0.0) / error).max())

    def over_settings(self, label: str = "ε = {:g}") -> tuple[Curve, ...]:
        """One curve per tolerance."""
        return tuple(self._curve(label.format(e), self.settings, np.s_[:, j], j) for j, e in enumerate(self.epsilons))

    def over_epsilons(self, label: str) -> tuple[Curve, ...]:
        """One curve per setting."""
        return tuple(self._curve(label.format(s), self.epsilons, np.s_[i], i) for i, s in enumerate(self.settings))

    def _curve(self, label: str, x: Sequence[float], at: Any, colour: int) -> Curve:
        y, e = self.mean[at], 2 * self.error[at]
        return Curve(label, x, y, np.clip(y - e, 0, 1), np.clip(y + e, 0, 1), colour=colour)


def sweep(context: Context, draw: Draw, settings: tuple[Any, ...], epsilons: tuple[float, ...], repeats: int) -> Sweep:
    """Attack new tables of every setting, as the paper does, and count breached records."""
    runs = np.empty((repeats, len(settings), len(epsilons)))
    for i, setting in enumerate(settings):
        for r in range(repeats):
            rng = context.rng(i, r)
            x, sample = draw(setting, rng)
            errors = relative_errors(x, recovered(x, sample, rng))
            runs[r, i] = [(errors <= epsilon).mean() for epsilon in epsilons]
        context.step("settings", i + 1, len(settings))
    return Sweep(settings, epsilons, runs)


def simulated_shares(settings: tuple[Any, ...], by_epsilon: dict[float, tuple[float, ...]]) -> Shares:
    """Shares by setting and tolerance."""
    return {(s, e): v for e, values in by_epsilon.items() for s, v in zip(settings, values, strict=True)}


def rising(
    what: str, paper: str, rates: Sweep, simulated: Shares, axis: int, *, runs: int = 200, real: bool = True
) -> Claim:
    """The claim that the breach rises along settings (0) or tolerances (1), and is as high as others simulated it."""
    mean, rises = rates.mean, rates.rises(axis)
    apart, errors = rates.off(simulated, runs)
    near = f"; at most {apart:.2f} ({errors:.1f} standard errors) from an independent simulation of {runs} runs"
    return Claim(
        what,
        paper,
        f"{mean.min():.2f} → {mean.max():.2f}{near if real else ''}",
        agrees=rises if real else None,
        why="" if real else "a stand-in was used",
        holds=rises and errors < LIMIT if real else None,
    )


def breach_figure(title: str, x_label: str, curves: tuple[Curve, ...], log: str = "") -> Curves:
    """Shares of breached records, with two standard errors over repetitions."""
    return Curves(title, x_label, "share of breached records", curves, log=log, caption="bands: ± 2 standard errors")
