"""The analyst's door for files: a release folder in, what can honestly be learned from it out.

Everything comes from passes over the release: two for moments and one for distributions and quantiles, or one for
proportions. So the release may be far larger than memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from veil.data.passes import Engine
from veil.errors import NotApplicableError
from veil.numerics.laws import is_law
from veil.recovery import DistributionRecovery, MomentRecovery, ProportionRecovery, RegressionRecovery
from veil.recovery.display import Quantile, columns_of, curve_of, table_of, units_of
from veil.recovery.regression import formula
from veil.recovery.weights import Weights, as_weights
from veil.release.models import AdditiveModel, ResponseModel
from veil.release.release import Release
from veil.report.recovered import RecoveredColumn, RecoveredShares
from veil.report.recovered_text import RecoveredView

NOTE = (
    "Estimates correct for the published noise, and use what the manifest tells of standard deviations and "
    "correlations. '± for the table' is two standard errors for the private table's own mean or spread; "
    "'± for the population' also counts that the table is a sample. Densities and quantiles are reconstructed by the "
    "iterative Bayes method on bins; a quantile's interval follows from the release's own distribution and the noise "
    "law alone, assumes nothing about the private one, and is wide for it. None of this says anything about single "
    "records."
)


def recover(
    release: Release | str | Path,
    *,
    n_bins: int = 100,
    weights: Any = None,
    regressions: Sequence[str | tuple[str, Sequence[str]]] = (),
    engine: Engine | None = None,
) -> RecoveredView:
    """Means, covariances, distributions and proportions of the private columns, as far as a release tells.

    Of several parts, all that a recovery has a theory for.

    Parameters
    ----------
    release
        A release, or its folder, which may be larger than memory.
    n_bins
        Bins of each density.
    weights
        How many people of the population each record stands for: the name of a public column, or one number per row.
        By default the release's column with the role weight, if it has one; False for none.
    regressions
        Each as ``"income ~ age + hours"``, or as the target and a list of predictors
        (:class:`veil.recovery.RegressionRecovery`).
    engine
        Runs the passes over a folder; all cores of this machine by default.

    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(5.0, 1.0, size=(4000, 2))
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(random_state=0))
    >>> round(recover(release).columns[0].mean)
    5
    """
    if not isinstance(release, Release):
        release = Release.load(release, engine=engine)
    weighted = as_weights(weights, release)
    asked = [formula(each) if isinstance(each, str) else each for each in regressions]
    columns: list[RecoveredColumn] = []
    shares: list[RecoveredShares] = []
    moments: list[MomentRecovery] = []
    refused: NotApplicableError | None = None
    n_rows, n_gaps = 0, [0]
    for i, described in enumerate(release.manifest.parts):
        part = release.part(i)
        if isinstance(described.model, ResponseModel):
            proportions = ProportionRecovery(weights=weights).fit(part)
            shares += proportions.view().proportions
            n_rows = proportions.n_rows_
            n_gaps.append(proportions.n_gaps_)
            continue
        try:
            moments.append(MomentRecovery(weights=weights).fit(part))
        except NotApplicableError as error:
            refused = error
            continue
        columns += _columns(part, moments[-1], n_bins, weights)
        n_rows = moments[-1].n_rows_
        n_gaps.append(moments[-1].n_gaps_)
    if not columns and not shares and refused is not None:
        raise refused
    # Covariances between parts are not estimated.
    alone = moments[0] if len(moments) == 1 else None
    return RecoveredView(
        method=release.manifest.method,
        release=release.manifest.release,
        n_rows=n_rows,
        columns=tuple(columns),
        covariance=() if alone is None else table_of(alone.covariance_),
        covariance_half=() if alone is None else table_of(alone.covariance_se_, 2.0),
        note=NOTE,
        proportions=tuple(shares),
        regressions=tuple(RegressionRecovery(*each, weights=weights).fit(release).shown() for each in asked),
        records=_records(n_rows, n_gaps, weights=weighted, shapes=any(c.density for c in columns)),
    )


def _records(n_rows: int, n_gaps: Sequence[int], *, weights: Weights, shapes: bool) -> str:
    """How records with gaps were used, and weights; ``n_gaps`` of each part."""
    sentences = []
    if any(n_gaps):
        least = "At least " if sum(n > 0 for n in n_gaps) > 1 else ""
        alone = "; densities and quantiles are of the values that are there" if shapes else ""
        sentences.append(
            f"{least}{max(n_gaps):,} of {n_rows:,} records have gaps; all records were used, with missing values "
            "predicted from the other columns of their part and the public ones, which is right if what is missing "
            f"depends on those alone{alone}."
        )
    if weights.given:
        by = "" if weights.column is None else f" by {weights.column!r}"
        sentences.append(f"Records were weighted{by}; '± for the population' is that of drawing with replacement.")
    return " ".join(sentences)


def _columns(release: Release, moments: MomentRecovery, n_bins: int, weights: Any) -> tuple[RecoveredColumn, ...]:
    """Moments of every column, and its distribution where the noise is additive and of a known law."""
    shape, shapes = None, None
    model = release.only_part.model
    if isinstance(model, AdditiveModel) and is_law(model.distribution):
        with suppress(NotApplicableError):  # no column has noise of its own law
            shapes = DistributionRecovery(n_bins=n_bins, weights=weights).fit(release)

        def shape(name: str) -> tuple[tuple[Quantile, ...], tuple[tuple[float, float], ...]]:
            if shapes is None or name not in shapes.probabilities_:
                return (), ()
            density = np.asarray(shapes.probabilities_[name]), np.asarray(shapes.edges_[name])
            return shapes.quantiles(name), curve_of(*density)

    means = moments.mean_, moments.mean_se_, moments.mean_total_se_
    return columns_of(moments.columns_, means, moments.covariance_, moments.covariance_se_, shape, units_of(release))
