"""What the shares of classes tell of a column of numbers that was reported by class: its mean and its distribution.

With π̂ the unbiased shares, Σ their covariance and v the numbers that the classes stand for, the mean is estimated by
``v′π̂`` with the variance ``v′Σv``. The numbers are the classes' means in two digits, so each is off by up to half a
step of its second digit; that is added to the variance as an error spread evenly, which is the same for all releases of
one table. Numbers that the owner declared may be farther from the means, which nothing in a release tells. The
distribution function is straight to either side of a class's number (:meth:`NumberClasses.distribution`).

A missing value that is a category of its own has no part in either.
"""

from __future__ import annotations

import math

import numpy as np

from veil.data.blocks import Vector
from veil.numerics.rounding import two_digit_step
from veil.recovery.response_estimates import ProportionEstimate
from veil.release.models import NumberClasses


def class_mean(classes: NumberClasses, estimated: ProportionEstimate) -> tuple[float, float]:
    """The mean of the values that are there, and its standard error by the delta method."""
    k = len(classes.numbers)
    shares, covariance = estimated.estimate[:k], estimated.dispersion.total[:k, :k]
    present = float(shares.sum())
    if not present > 0.0:
        return math.nan, math.nan
    mean = float(classes.numbers @ shares) / present
    slope = (classes.numbers - mean) / present
    rounding = two_digit_step(classes.numbers) ** 2 @ (shares / present) ** 2 / 12.0
    return mean, math.sqrt(max(float(slope @ covariance @ slope), 0.0) + float(rounding))


def class_distribution(classes: NumberClasses, shares: Vector) -> tuple[Vector, Vector]:
    """Points of the distribution function of the values that are there, and its heights."""
    own = np.clip(shares[: len(classes.numbers)], 0.0, None)
    return classes.distribution(own / own.sum() if own.sum() > 0.0 else own)
