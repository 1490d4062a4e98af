"""Privacy and utility in numbers: pure functions of arrays, each returning a :class:`Measure`.

Nothing here sees a key or a release: a measure compares the private table with what an
attack guessed, or with what was released. Heavy libraries load on first use.
"""

from __future__ import annotations

from veil.measures.baselines import best_constant_guess, constant_guess_baseline
from veil.measures.bounds import lower_bound, upper_bound
from veil.measures.breach import advantage, breach_rate, breached, column_breach_rates
from veil.measures.cells import cell_sizes, classification_cost, discernibility, uniqueness
from veil.measures.correlation import canonical_privacy, correlation_dissimilarity
from veil.measures.disclosure import complete_disclosure_share, completely_disclosed
from veil.measures.entropy import conditional_privacy, entropy_privacy, privacy_loss, rotated_correlation
from veil.measures.exposure import (
    CorrelationRisk,
    SampleRisk,
    correlation_risk,
    effective_dimension,
    eigen_ratio,
    invariance,
    sample_risk,
)
from veil.measures.far_out import far_out_baseline, far_out_rate
from veil.measures.geometry import breach_probability, sphere_breach_probability
from veil.measures.group_risk import GroupCounts, group_counts
from veil.measures.intervals import Interval, RatioEstimate, ratio_interval, repetition_interval, wilson
from veil.measures.key_risk import (
    CellCounts,
    KeyRisks,
    cell_counts,
    diversity,
    individual_risk,
    key_risks,
    negative_binomial_risk,
)
from veil.measures.largest import largest_baseline, largest_rate
from veil.measures.linkage import linkage_baseline, linkage_rate
from veil.measures.matching import SignalMatch, match_signals, matched_signals
from veil.measures.measure import Direction, Measure
from veil.measures.membership import membership_advantage, membership_bound, roc_area
from veil.measures.mining import (
    classification_retention,
    clustering_agreement,
    clustering_error,
    matched_error,
    neighbour_retention,
)
from veil.measures.noise import NoiseAdvice, noise_for_threshold
from veil.measures.pair_rotation import (
    DifferenceVariances,
    RotationPair,
    choose_rotation_pairs,
    difference_variances,
    range_length,
    rotated_variance,
    security_range,
)
from veil.measures.posterior import PosteriorGain, posterior_gain
from veil.measures.projection import (
    DimensionRange,
    ProjectionAdvice,
    ProjectionKind,
    choose_projection_dimension,
    distance_variance,
    inner_product_variance,
    johnson_lindenstrauss_dimension,
    johnson_lindenstrauss_probability,
    projection_accuracy,
    projection_advice,
    projection_zero_breach,
)
from veil.measures.reconstruction import (
    frobenius_error,
    mean_squared_error,
    nrmse,
    relative_error,
    variance_privacy,
)
from veil.measures.response import (
    SuspicionBounds,
    amplification,
    fisher_information_loss,
    local_epsilon,
    odds_factors,
    posterior_variance,
    response_gain,
    rho_breach_possible,
    suspicion_bounds,
)
from veil.measures.response_design import design_response
from veil.measures.row_space import determined_attributes, l_secure, row_decomposable
from veil.measures.sphere import breach_bound, norm_range
from veil.measures.units import heavy_tailed, standard_unit, standard_units
from veil.measures.unmatched import UnmatchedScores, unmatched_breach
from veil.measures.utility import (
    covariance_distortion,
    distance_distortion,
    distribution_distance,
    inner_product_distortion,
)
from veil.measures.widths import interval_privacy
from veil.measures.withholding import records_to_withhold

__all__ = [
    "CellCounts",
    "CorrelationRisk",
    "DifferenceVariances",
    "DimensionRange",
    "Direction",
    "GroupCounts",
    "Interval",
    "KeyRisks",
    "Measure",
    "NoiseAdvice",
    "PosteriorGain",
    "ProjectionAdvice",
    "ProjectionKind",
    "RatioEstimate",
    "RotationPair",
    "SampleRisk",
    "SignalMatch",
    "SuspicionBounds",
    "UnmatchedScores",
    "advantage",
    "amplification",
    "best_constant_guess",
    "breach_bound",
    "breach_probability",
    "breach_rate",
    "breached",
    "canonical_privacy",
    "cell_counts",
    "cell_sizes",
    "choose_projection_dimension",
    "choose_rotation_pairs",
    "classification_cost",
    "classification_retention",
    "clustering_agreement",
    "clustering_error",
    "column_breach_rates",
    "complete_disclosure_share",
    "completely_disclosed",
    "conditional_privacy",
    "constant_guess_baseline",
    "correlation_dissimilarity",
    "correlation_risk",
    "covariance_distortion",
    "design_response",
    "determined_attributes",
    "difference_variances",
    "discernibility",
    "distance_distortion",
    "distance_variance",
    "distribution_distance",
    "diversity",
    "effective_dimension",
    "eigen_ratio",
    "entropy_privacy",
    "far_out_baseline",
    "far_out_rate",
    "fisher_information_loss",
    "frobenius_error",
    "group_counts",
    "heavy_tailed",
    "individual_risk",
    "inner_product_distortion",
    "inner_product_variance",
    "interval_privacy",
    "invariance",
    "johnson_lindenstrauss_dimension",
    "johnson_lindenstrauss_probability",
    "key_risks",
    "l_secure",
    "largest_baseline",
    "largest_rate",
    "linkage_baseline",
    "linkage_rate",
    "local_epsilon",
    "lower_bound",
    "match_signals",
    "matched_error",
    "matched_signals",
    "mean_squared_error",
    "membership_advantage",
    "membership_bound",
    "negative_binomial_risk",
    "neighbour_retention",
    "noise_for_threshold",
    "norm_range",
    "nrmse",
    "odds_factors",
    "posterior_gain",
    "posterior_variance",
    "privacy_loss",
    "projection_accuracy",
    "projection_advice",
    "projection_zero_breach",
    "range_length",
    "ratio_interval",
    "records_to_withhold",
    "relative_error",
    "repetition_interval",
    "response_gain",
    "rho_breach_possible",
    "roc_area",
    "rotated_correlation",
    "rotated_variance",
    "row_decomposable",
    "sample_risk",
    "security_range",
    "sphere_breach_probability",
    "standard_unit",
    "standard_units",
    "suspicion_bounds",
    "uniqueness",
    "unmatched_breach",
    "upper_bound",
    "variance_privacy",
    "wilson",
]
