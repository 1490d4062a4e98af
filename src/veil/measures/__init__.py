"""Privacy and utility in numbers: pure functions of arrays, each returning a :class:`Measure`.

Nothing here sees a key or a release: a measure compares the private table with what an
attack guessed, or with what was released. Heavy libraries load on first use.
"""

from __future__ import annotations

from veil.measures.baselines import best_constant_guess, constant_guess_baseline
from veil.measures.breach import advantage, breach_rate, breached, column_breach_rates, standard_units
from veil.measures.far_out import far_out_baseline, far_out_rate
from veil.measures.geometry import breach_probability, sphere_breach_probability
from veil.measures.intervals import ratio_interval, repetition_interval, wilson
from veil.measures.measure import Direction, Measure
from veil.measures.mining import (
    classification_retention,
    clustering_agreement,
    clustering_error,
    matched_error,
    neighbour_retention,
)
from veil.measures.reconstruction import (
    frobenius_error,
    mean_squared_error,
    nrmse,
    relative_error,
    variance_privacy,
)
from veil.measures.utility import covariance_distortion, distance_distortion, inner_product_distortion

__all__ = [
    "Direction",
    "Measure",
    "advantage",
    "best_constant_guess",
    "breach_probability",
    "breach_rate",
    "breached",
    "classification_retention",
    "clustering_agreement",
    "clustering_error",
    "column_breach_rates",
    "constant_guess_baseline",
    "covariance_distortion",
    "distance_distortion",
    "far_out_baseline",
    "far_out_rate",
    "frobenius_error",
    "inner_product_distortion",
    "matched_error",
    "mean_squared_error",
    "neighbour_retention",
    "nrmse",
    "ratio_interval",
    "relative_error",
    "repetition_interval",
    "sphere_breach_probability",
    "standard_units",
    "variance_privacy",
    "wilson",
]
