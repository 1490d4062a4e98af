"""Sums of products of released columns over complete records: all that moments without gaps need."""

from __future__ import annotations

from functools import partial

import numpy as np

from veil.data.blocks import Vector
from veil.errors import NotApplicableError
from veil.numerics.gap_noise import GapNoise
from veil.numerics.gap_patterns import PatternSums
from veil.numerics.products import Products, ProductSums, block_products
from veil.recovery.weights import Weights
from veil.release.models import AdditiveModel
from veil.release.release import Release


def origin_of(release: Release) -> Vector:
    """What products are taken about: the mean of complete records where noise is additive, else 0.

    With additive noise nothing depends on the origin, and products about the mean lose no digits.
    """
    part = release.only_part
    if not isinstance(part.model, AdditiveModel):
        return np.zeros(len(part.released))
    return release.moments().complete_mean if part.products is None else part.products.mean


def release_products(release: Release) -> ProductSums:
    """All sums that the moments need: of values before they were made plausible from the manifest, else in a pass."""
    part, origin = release.only_part, origin_of(release)
    if part.products is not None:
        return part.products.about(origin)
    return release.summed(partial(block_products, part.released, tuple(origin.tolist())))


def patterns_before(release: Release, weights: Weights) -> PatternSums | None:
    """Sums over the private columns, by their gaps, of values before they were made plausible; None without such.

    They are told for records that count alike, and for the release's own weights, about the origin of the products.
    """
    part = release.only_part
    if part.products is None or not weights.given:
        whole = part.products is not None and part.products.n == part.products.n_rows
        return part.products.as_pattern() if whole and part.products is not None else part.patterns
    return part.weighted if weights.column is not None and weights.column == release.manifest.weight else None


def moved(sums: PatternSums, before: Vector, noise: GapNoise, origin: Vector) -> PatternSums:
    """Sums of released values about one origin as those of their unbiased values about another."""
    return sums.about(origin - before).times(noise.unbiased(np.ones((1, len(origin))))[0])


def product_means(sums: ProductSums) -> Products:
    """The means of the products; refused of fewer than two records."""
    if sums.n < 2:
        raise NotApplicableError(f"the release has {sums.n} complete records; moments need at least 2")
    return sums.means()
