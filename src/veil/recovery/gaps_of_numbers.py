"""A release of noisy numbers with gaps as columns behind noise, public ones beside them."""

from __future__ import annotations

import numpy as np

from veil.data.blocks import Matrix
from veil.errors import NotApplicableError
from veil.numerics.gap_noise import AddedNoise, GapNoise, ProductNoise
from veil.numerics.laws import LAWS, is_law
from veil.recovery.gap_columns import MOST_COLUMNS, GapColumns, Public, cut_ends, offset, public_columns
from veil.recovery.noise import noise_covariance
from veil.recovery.weights import Weights
from veil.release.manifest import Part
from veil.release.models import AdditiveModel, LogNormalModel, Model, MultiplicativeModel
from veil.release.release import Release


def gap_problem(release: Release, weights: Weights, *, public: bool) -> tuple[GapColumns, GapNoise]:
    """The columns to read, private ones first, and the noise on all of them."""
    part = release.only_part
    d = len(part.released)
    beside = public_columns(release, MOST_COLUMNS - d, weights.columns) if public else Public()
    extra = len(beside.numbers) + sum(len(known) - 1 for known in beside.categories.categories)
    # Only with additive noise nothing depends on the origin.
    origin = offset(release.moments().mean) if isinstance(part.model, AdditiveModel) else (0.0,) * d
    return GapColumns(part.released, origin, (), beside, cut=cut_ends(release)), noise_behind(part, extra)


def check_unmoved(release: Release) -> None:
    """Refuse columns that were moved behind others, whose sums before are not told."""
    part = release.only_part
    moved = [name for name in part.released if (rule := release.manifest.plausible.get(name)) and rule.after]
    if moved:
        raise NotApplicableError(
            f"column {moved[0]!r} was moved where it was before another; with so many patterns of gaps, or other "
            "weights, its mean does not come back, because the manifest has no such sums of before"
        )


def noise_behind(part: Part, extra: int) -> GapNoise:
    """The noise on the private columns, and none on ``extra`` public ones."""
    model = part.model
    if isinstance(model, AdditiveModel):
        kurtosis = LAWS[model.distribution].kurtosis if known_law(model) else 3.0
        return AddedNoise(_bordered(noise_covariance(part, model), extra), kurtosis)
    if isinstance(model, MultiplicativeModel):
        factors = (model.law,) * len(model.grid) + (None,) * extra
        return ProductNoise.of_factors(factors, np.concatenate([model.noise, np.zeros(extra)]))
    assert isinstance(model, LogNormalModel)  # noqa: S101 - a recovery refuses other models
    return ProductNoise.of_logarithms(_bordered(model.covariance, extra))


def known_law(model: Model) -> bool:
    """Whether the fourth moment of the noise is known."""
    return not isinstance(model, AdditiveModel) or is_law(model.distribution)


def _bordered(covariance: Matrix, extra: int) -> Matrix:
    d = len(covariance)
    bordered = np.zeros((d + extra, d + extra))
    bordered[:d, :d] = covariance
    return bordered
