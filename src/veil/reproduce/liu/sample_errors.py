"""What figures 4.4, 4.7 and 4.8 share: the attack's mean relative error over repetitions, in both variants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.reproduce.data import Matrix
from veil.reproduce.experiment import Context, Table
from veil.reproduce.figures import Histogram
from veil.reproduce.liu.known_sample import Draw, recovered, relative_errors

SHARE = 0.02
PAPER = {"normal": 0.0265, "letter": 0.1008, "adult": 0.1081}


@dataclass(frozen=True)
class Errors:
    """Mean relative errors, one per repetition, with the origin as given and about the mean; a table and its guess."""

    variant: str
    plain: npt.NDArray[np.float64]
    centred: npt.NDArray[np.float64]
    x: Matrix
    guess: Matrix

    def band(self, low: float = 5, high: float = 95) -> tuple[float, float]:
        """Percentiles over repetitions."""
        first, last = np.percentile(self.plain, (low, high))
        return float(first), float(last)

    @property
    def median(self) -> float:
        """Over repetitions."""
        return float(np.median(self.plain))

    def limits(self) -> tuple[float, float]:
        """A 95 % interval of the median, from the normal law's standard error of a median."""
        error = float(np.sqrt(np.pi / 2) * self.plain.std(ddof=1) / np.sqrt(len(self.plain)))
        return self.median - 1.96 * error, self.median + 1.96 * error

    def words(self) -> str:
        """Median and band."""
        return "median {:.3g} (5–95 %: {:.3g}–{:.3g})".format(self.median, *self.band())


def repeated(context: Context, draw: Draw, repeats: int, variant: str = "paper") -> Errors:
    """Attack new tables; both variants see the same ones."""
    plain, centred = np.empty(repeats), np.empty(repeats)
    x, guess = np.empty((0, 0)), np.empty((0, 0))
    for r in range(repeats):
        rng = context.rng(r)
        x, sample = draw(SHARE, rng)
        guess = recovered(x, sample, rng, variant, context.pick(32, 4))
        plain[r] = relative_errors(x, guess).mean()
        centred[r] = measures.relative_error(x, guess, centred=True)
        context.step(f"{variant} variant", r + 1, repeats)
    return Errors(variant, plain, centred, x, guess)


def error_table(*found: Errors) -> Table:
    """All repetitions."""
    rows = tuple((e.variant, r, float(e.plain[r]), float(e.centred[r])) for e in found for r in range(len(e.plain)))
    return Table("errors", ("variant", "repetition", "relative error", "relative error, centred"), rows)


def error_histogram(title: str, paper: Errors, best: Errors, printed: float) -> Histogram:
    """Both variants over repetitions, and the value that the paper prints."""
    samples = (("paper's variant", paper.plain), ("best variant", best.plain))
    marks = ((printed, f"paper: {printed:g}"),)
    return Histogram(title, "mean relative error of a run", samples, bins=24, marks=marks, log=True)
