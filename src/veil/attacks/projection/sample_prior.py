"""Which prior a sample gives for records behind a known matrix, by what it would have guessed of the sample (A15).

*Model.* ``y = R z + e`` with R known, and n records z of the population. What y leaves open of z is learned from the
sample:

* *linear*: the mean given y under the sample's mean and covariance, which is the regression of z on ``R z``. On normal
  records its error is ``1 + (k + 1)/(n − k − 2)`` times that of the true moments (Stein 1960), and nothing does better
  in general. A covariance that is shrunk (Ledoit and Wolf 2004) helps where the sample is smaller than the number of
  columns, and ruins the guess where columns nearly depend on each other: it takes what R determines for noise;
* *mixture*: normal kernels around the sample's records (:func:`veil.attacks.projection.linear_bayes.mixture_mean`), of
  Silverman's width, a half or a quarter of it: far better on clusters, curves and edges, some percent worse on normal
  records.

Every record of the sample is a case of the problem whose answer is known. The priors are fitted on four fifths of them
and guess the rest; the linear one stands unless another is better by half a standard error of the paired difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from veil.attacks.projection.linear_bayes import Prior, conditional_mean, mixture_mean, prior_moments, thinned
from veil.data.blocks import Matrix, Vector
from veil.numerics.ordering import Order, row_order

FOLDS: Final = 5
FEWEST: Final = 10
"""Records under which a sample cannot judge anything: its shrunk covariance and kernels are taken as they are."""
WIDTHS: Final = (1.0, 0.5, 0.25)
CLEAR: Final = 0.5
"""Standard errors by which another prior must win over the linear one."""


@dataclass(frozen=True, eq=False)
class SamplePrior:
    """Mean and covariance of z; the centres of a mixture and its width, or None for a normal law."""

    moments: Prior
    centres: Matrix | None = None
    width: float = 1.0

    def mean(self, y: Matrix, matrix: Matrix, noise: Vector) -> Matrix:
        """E[z | y]."""
        if self.centres is None:
            return conditional_mean(y, matrix, self.moments, noise)
        return mixture_mean(y, matrix, self.moments, self.centres, noise, width=self.width)


def best_prior(sample: Matrix, matrix: Matrix, noise: Vector, columns: Order, released: Order) -> SamplePrior:
    """The prior that guesses held-out records of the sample best; columns and equations in an order of their own.

    ``columns`` and ``released`` are those orders, so that what is chosen does not depend on how a file lists them.
    """
    if len(sample) < FEWEST:
        return _priors(sample)[-1]
    cases = thinned(sample[row_order(sample[:, columns])])
    drawn = np.random.default_rng(0).standard_normal((len(cases), len(matrix)))
    y = cases @ matrix.T + noise * drawn[:, np.argsort(released)]
    fold = np.arange(len(cases)) % FOLDS
    unit = cases.std(axis=0)
    unit[unit == 0] = 1.0
    errors = []
    for f in range(FOLDS):
        known, asked = cases[fold != f], fold == f
        guesses = [prior.mean(y[asked], matrix, noise) for prior in _priors(known)]
        errors.append([(((guess - cases[asked]) / unit) ** 2).mean(axis=1) for guess in guesses])
    loss = np.concatenate(errors, axis=1)
    gain = loss[0] - loss
    clear = gain.mean(axis=1) > CLEAR * gain.std(axis=1) / np.sqrt(loss.shape[1])
    best = int(np.argmin(np.where(clear, loss.mean(axis=1), np.inf))) if clear.any() else 0
    return _priors(sample)[best]


def _priors(sample: Matrix) -> list[SamplePrior]:
    """The priors in the order in which they are preferred; the last is that of a few records."""
    shrunk = prior_moments(sample)
    if shrunk is None:
        raise ValueError("a prior needs two records")
    plain = sample.mean(axis=0), np.cov(sample.T, ddof=0).reshape(sample.shape[1], -1)
    centres = thinned(sample)
    mixtures = [SamplePrior(moments, centres, width) for moments in (plain, shrunk) for width in reversed(WIDTHS)]
    return [SamplePrior(plain), SamplePrior(shrunk), *mixtures]
