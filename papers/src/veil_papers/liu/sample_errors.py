"""What figures 4.4, 4.7 and 4.8 share: the attack's mean relative error over repetitions, in both variants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil import measures
from veil_papers.arrays import Matrix
from veil_papers.experiment import Context, Table
from veil_papers.figures import Histogram
from veil_papers.liu.known_sample import Draw, recovered, relative_errors

SHARE = 0.02
LIMIT = 4.0
"""How many standard errors a percentile may differ from the same one of an independent simulation."""
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

    def around(self, percent: float, width: float, runs: int) -> tuple[float, float]:
        """Where a percentile of so many runs lies, give or take ``width`` standard errors of the share below it.

        A binomial law gives that share, whatever the law of the errors.
        """
        reach = width * 100 * float(np.sqrt(percent / 100 * (1 - percent / 100) / runs))
        return self.band(max(percent - reach, 0.0), min(percent + reach, 100.0))

    def limits(self) -> tuple[float, float]:
        """A 95 % interval of the median."""
        return self.around(50, 1.96, len(self.plain))

    def off(self, simulated: Mapping[int, float], runs: int, rounding: float) -> float:
        """Largest difference from percentiles that others simulated in so many runs, in standard errors of both.

        Theirs are taken to spread over runs as ours do.
        """
        far = []
        for percent, value in simulated.items():
            error = np.hypot(*(np.diff(self.around(percent, 1, n))[0] / 2 for n in (len(self.plain), runs)))
            far.append(max(abs(float(np.percentile(self.plain, percent)) - value) - rounding, 0.0) / float(error))
        return max(far)

    def words(self) -> str:
        """Median and band."""
        return "median {:.3g} (5–95 %: {:.3g}–{:.3g})".format(self.median, *self.band())


def repeated(context: Context, draw: Draw, repeats: int, variant: str = "paper", replicates: int = 32) -> Errors:
    """Attack new tables; both variants see the same ones."""
    plain, centred = np.empty(repeats), np.empty(repeats)
    x, guess = np.empty((0, 0)), np.empty((0, 0))
    for r in range(repeats):
        rng = context.rng(r)
        x, sample = draw(SHARE, rng)
        guess = recovered(x, sample, rng, variant, context.pick(replicates, 4))
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
