"""Proportions of randomized answers of which some are missing, or whose records have weights.

A column of k categories is read as k − 1 indicators P⁻¹e; the last share is what the others leave of 1. Reports of an
invariant matrix are read in the same way: it keeps the proportions of all records, not those of the ones that answered.
"""

from __future__ import annotations

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.numerics.gap_noise import ProductNoise
from veil.recovery.clusters import Clusters
from veil.recovery.gap_columns import MOST_COLUMNS, Answers, GapColumns, Public, public_columns
from veil.recovery.gaps import estimate
from veil.recovery.report_counts import Reports
from veil.recovery.response_estimates import (
    Dispersion,
    ProportionEstimate,
    constrained_proportions,
    inverse_of,
)
from veil.recovery.weights import Weights
from veil.release.models import ResponseModel
from veil.release.release import Release

MOST_INDICATORS = 60
"""Indicators of all columns together; beyond, each column is estimated by itself, as if chance made its gaps."""


def answer_proportions(
    release: Release, weights: Weights, *, public: bool, clusters: Clusters | None = None
) -> list[ProportionEstimate]:
    """Proportions of each column's categories, or of the combinations of columns that were randomized as one."""
    answers = _answers(release)
    if sum(answer.size - 1 for answer in answers) <= MOST_INDICATORS:
        return _together(release, answers, weights, public=public, clusters=clusters)
    return [_together(release, [each], weights, public=public, clusters=clusters)[0] for each in answers]


def likely_shares(estimate: Vector, matrix: Matrix) -> Vector:
    """The distribution that leads to the reports nearest to those that an estimate leads to."""
    if (estimate >= 0.0).all():
        return np.asarray(estimate / estimate.sum())
    return constrained_proportions(np.clip(matrix @ estimate, 0.0, None), matrix)


def _answers(release: Release) -> list[Answers]:
    part = release.only_part
    model = part.model
    assert isinstance(model, ResponseModel)  # noqa: S101 - a recovery refuses other models
    if model.compound is not None:
        reports = Reports(part.released, model.categories)
        return [Answers(reports, np.array(model.compound, dtype=np.intp), inverse_of(model.matrices[0]))]
    return [
        Answers(Reports((name,), (known,)), None, inverse_of(matrix))
        for name, known, matrix in zip(part.released, model.categories, model.matrices, strict=True)
    ]


def _together(
    release: Release, answers: list[Answers], weights: Weights, *, public: bool, clusters: Clusters | None
) -> list[ProportionEstimate]:
    sizes = [answer.size - 1 for answer in answers]
    d = sum(sizes)
    beside = public_columns(release, MOST_COLUMNS - d, weights.columns) if public else Public()
    extra = len(beside.numbers) + sum(len(known) - 1 for known in beside.categories.categories)
    groups = np.repeat(np.arange(len(sizes) + extra), [*sizes, *[1] * extra])
    noise = ProductNoise.of_answers(groups, np.arange(d + extra) < d)
    told = estimate(release, GapColumns(answers=tuple(answers), public=beside), d, weights, noise, clusters)
    estimates, start = [], 0
    for answer, size in zip(answers, sizes, strict=True):
        part = slice(start, start + size)
        # The last category has what the others leave.
        full = np.vstack([np.eye(size), -np.ones((1, size))])
        shares = full @ told.mean[part] + np.append(np.zeros(size), 1.0)
        if not np.isfinite(shares).all():
            name = answer.reports.columns[0]
            raise NotApplicableError(f"column {name!r}: it has fewer than two reports; leave it out")
        noise_part, total = (full @ error[part, part] @ full.T for error in (told.noise, told.total))
        estimates.append(ProportionEstimate(shares, Dispersion(total - noise_part, noise_part)))
        start += size
    return estimates
