"""A24: several releases of the same people, averaged and differenced (ours; beyond the papers).

*Model.* Each release is one of the models below, about the same private values; ``PreviousReleases`` says which rows
belong together. *Known*: the releases and their manifests.

Releases that add noise are averaged with the best linear weights (:mod:`veil.attacks.repeated.combination`); m of
equal, independent noise σ² leave σ²/m, and the Bayes filter of A6 the m.s.e. of that noise. Multiplicative noise alone
is averaged in logarithms (A8), beside other kinds in the linear form ``y/E r = x + n``.

Releases that mix columns exactly are covariates: x is an affine function of an invertible mix, so the regression of
the noisy columns on it is x up to ``σ²(q + 1)/n`` for q mixed columns and n records in both. Of a projection to fewer
columns, or with noise, the Bayes filter adds what the regression leaves.

Randomized responses multiply their likelihoods (:mod:`veil.attacks.repeated.reports`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from veil.arguments import choice
from veil.attacks.base import Details, Guess, GuessingAttack, full_guess, needed
from veil.attacks.knowledge import Knowledge
from veil.attacks.knowledge.previous_releases import PreviousReleases
from veil.attacks.noise.logarithmic import linear_release, log_release
from veil.attacks.noise.mixture import mixture_estimate
from veil.attacks.repeated.combination import Mix, NoisyView, Places, averaged, estimate, joint_noise, present_mean
from veil.attacks.repeated.reports import combined_posteriors, independent_reports, reports_of
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.numerics.laws import UNIFORM
from veil.numerics.ordering import by_name
from veil.release.models import (
    AdditiveModel,
    LogNormalModel,
    Model,
    MultiplicativeModel,
    NormalizedRotationModel,
    OrthogonalModel,
    PermutedTransformModel,
    ProjectionModel,
    ResponseModel,
)
from veil.release.release import Release

Noisy = AdditiveModel | MultiplicativeModel | LogNormalModel
Mixed = OrthogonalModel | NormalizedRotationModel | ProjectionModel | PermutedTransformModel
LEAST_ROWS = 200
"""A mixture prior is fitted to the records of one pattern where there are at least so many."""
SLACK = 1e-5
"""Rounding, in units of the noise, that bounded noise may leave beside its bounds."""
Part = tuple[int, Release, Places]


@dataclass(frozen=True, eq=False)
class AveragingDetails(Details):
    """What combined releases leave of the noise, per column; ``shared_correlation`` by pair of releases."""

    n_releases: int
    noise_scale: Vector
    expected_mse: Vector
    shared_correlation: dict[tuple[int, int], Matrix]
    determined: npt.NDArray[np.bool_]
    logarithms: bool = False


@dataclass(frozen=True, eq=False)
class ReportDetails(Details):
    """What combined reports of categories say, as in A20; ``used``, the releases whose draws count, per column."""

    n_releases: int
    confidence: Matrix
    expected_rate: Vector
    prior: tuple[Vector, ...]
    used: tuple[int, ...]


class RepeatedReleaseAttack(GuessingAttack):
    """A24. Combine a release with earlier ones of the same people.

    *Knowledge.* Earlier releases with their manifests, and which rows are about one person.

    Parameters
    ----------
    variant : {"best"}
    prior : {"normal", "mixture"}
        Of the Bayes filter on the averaged noise; see :class:`BayesEstimateAttack`. Mixtures are for normal noise.

    Notes
    -----
    ``guess.details``: ``n_releases`` that were combined; ``noise_scale``, the deviation of the noise that averaging
    leaves, per column (root mean square over records; in logarithms with ``logarithms``); ``shared_correlation`` of
    noises by pair of releases (0 is the current one, then as granted; only pairs whose noise is not independent);
    ``expected_mse`` per column, in the units of ``noise_scale``; ``determined``, columns that an exact mix
    determines. Of randomized responses: ``confidence``, ``expected_rate``, ``prior`` as in A20, and ``used``, the
    releases whose draws count, per column.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(1000, 2))
    >>> first, second, third = (veil.publish(x, veil.AdditiveNoise(0.5, random_state=seed))[0] for seed in range(3))
    >>> guess = veil.RepeatedReleaseAttack().run(third, veil.PreviousReleases([first, second]))
    >>> guess.details.n_releases, guess.details.noise_scale.round(1).tolist()  # 0.5/√3
    (3, [0.3, 0.3])
    """

    catalogue = "A24"
    words = "averages and compares this release with earlier ones of the same people"
    requires = (PreviousReleases,)

    def __init__(self, *, variant: str = "best", prior: str = "normal") -> None:
        super().__init__(variant=variant)
        self.prior = prior

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Noise of any kind, linear mixes of columns, and randomized response."""
        return isinstance(model, Noisy | Mixed | ResponseModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        choice(self.prior, "prior", ("normal", "mixture"))
        granted = list(needed(knowledge, PreviousReleases).aligned(release))
        earlier: list[Part] = [
            (k, each.part(i), rows)
            for k, (each, rows) in enumerate(granted, start=1)
            for i in range(len(each.manifest.parts))
        ]
        if isinstance(release.only_part.model, ResponseModel):
            return _from_reports(release, earlier)
        n, names = len(release.to_numpy()), release.only_part.names
        if not n:
            raise NotApplicableError("the release has no rows")
        parts = [(0, release, np.arange(n)), *(part for part in earlier if set(part[1].only_part.names) & set(names))]
        mixed = [(k, mix_of(part, rows, names)) for k, part, rows in parts if isinstance(part.only_part.model, Mixed)]
        noisy = [part for part in parts if isinstance(part[1].only_part.model, Noisy)]
        logs = not mixed and all(_in_logarithms(part.only_part.model) for _, part, _ in noisy)
        views = [(k, view_of(part, rows, names, logs=logs)) for k, part, rows in noisy]
        bare = [(k, _unperturbed(each, rows, names, logs=logs)) for k, (each, rows) in enumerate(granted, start=1)]
        views += [(k, view) for k, view in bare if view is not None]
        used = {0} | {k for k, _ in views} | {k for k, _ in mixed}
        if not views or used == {0}:
            raise NotApplicableError(
                "no earlier release adds to this one: at least one of them must hold private columns of it, and one of "
                "all must show them unmixed, with or without noise"
            )
        values, left, details = self._combined([v for _, v in views], [m for _, m in mixed], len(names))
        if logs:
            signs = _signs(noisy, names)
            values = np.where(signs == 0.0, 0.0, signs * np.exp(values + left / 2))
        shared = {(views[a][0], views[b][0]): rho for (a, b), rho in details.shared_correlation.items()}
        details = replace(details, n_releases=len(used), logarithms=logs, shared_correlation=shared)
        return full_guess(release, values, details)

    def _combined(
        self, views: Sequence[NoisyView], mixes: Sequence[Mix], d: int
    ) -> tuple[Matrix, Matrix, AveragingDetails]:
        """Guesses, their expected squared errors, and details with the places of views for those of releases."""
        noise, shared = joint_noise(views)
        mean, averages = averaged(views, noise, d)
        variance = np.full_like(mean, np.nan)
        for each in averages:
            variance[np.ix_(each.rows, each.columns)] = np.diag(each.noise)
        values, left, determined = estimate(mean, averages, mixes)
        if self.prior == "mixture" and not mixes:
            laws = [view.law for view in views if view.law != "none"]
            law = next((each for each in laws if each != "normal"), "normal")
            for each in averages:
                if len(each.rows) >= LEAST_ROWS:
                    here = np.ix_(each.rows, each.columns)
                    values[here] = mixture_estimate(mean[here], each.noise, distribution=law)[0]
        low, high = bounds(views, noise, d)
        values = np.where(low <= high, np.clip(values, low, np.maximum(low, high)), values)
        scale, expected = np.sqrt(present_mean(variance)), present_mean(left)
        return values, left, AveragingDetails(len(views), scale, expected, shared, determined)


def view_of(part: Release, rows: Places, names: Sequence[str], *, logs: bool) -> NoisyView:
    """The columns of ``names`` that a release shows with noise on them, for every row of the current release."""
    model = part.only_part.model
    law = "normal"
    if isinstance(model, AdditiveModel):
        y, noise, law = part.to_numpy(), model.covariance, model.distribution
    elif logs:
        other, shift = log_release(part)
        y, noise = other.to_numpy() - shift, _covariance(other)
    elif isinstance(model, MultiplicativeModel):
        other = linear_release(part)
        y, noise, law = other.to_numpy(), _covariance(other), "other"
    elif isinstance(model, LogNormalModel):
        # y/E r = x + n has E nᵢnⱼ = E xᵢxⱼ (exp cᵢⱼ − 1), and E xᵢxⱼ follows from the release.
        y, law = part.to_numpy() / np.exp(np.diag(model.covariance) / 2), "other"
        complete = y[np.isfinite(y).all(axis=1)]
        noise = complete.T @ complete / max(len(complete), 1) * -np.expm1(-model.covariance)
    else:
        raise NotApplicableError(f"a {part.method} release shows no column with noise")
    own = [part.only_part.names.index(name) for name in names if name in part.only_part.names]
    places = np.array([j for j, name in enumerate(names) if name in part.only_part.names], dtype=np.intp)
    return NoisyView(places, _aligned(y[:, own], rows), noise[np.ix_(own, own)], law)


def mix_of(part: Release, rows: Places, names: Sequence[str]) -> Mix:
    """A release that mixes columns, for every row of the current one."""
    model, d = part.only_part.model, len(part.only_part.names)
    exact = isinstance(model, OrthogonalModel | NormalizedRotationModel)
    if isinstance(model, ProjectionModel):
        exact = model.n_components >= d and not model.noise.any()
    if isinstance(model, PermutedTransformModel):
        exact = model.n_components >= d
    return Mix(_aligned(part.to_numpy(), rows), np.array([exact and name in part.only_part.names for name in names]))


def bounds(views: Sequence[NoisyView], noise: Matrix, d: int) -> tuple[Matrix, Matrix]:
    """Between what uniform noise leaves every value; nothing where values have changed since."""
    n = len(views[0].values)
    low, high = np.full((n, d), -np.inf), np.full((n, d), np.inf)
    start = 0
    for view in views:
        own = np.diag(view.noise)
        steady = np.isclose(np.diag(noise)[start : start + len(own)], own)
        start += len(own)
        if view.law != UNIFORM.name:
            continue
        half = np.where(steady, np.sqrt(3.0 * own) * (1.0 + SLACK), np.inf)
        low[:, view.columns] = np.fmax(low[:, view.columns], view.values - half)
        high[:, view.columns] = np.fmin(high[:, view.columns], view.values + half)
    return low, high


def _from_reports(release: Release, earlier: Sequence[Part]) -> Guess:
    """Guesses of categories from all independent reports."""
    reports, used = reports_of(release, [(part, rows) for _, part, rows in earlier])
    if not len(reports[0][0].codes):
        raise NotApplicableError("the release has no rows")
    if not used.any():
        raise NotApplicableError("no earlier release holds reports of the same columns, randomized in the same way")
    independent = [independent_reports(each) for each in reports]
    chosen = [[each[i] for i in those] for each, those in zip(reports, independent, strict=True)]
    # A compound response is one variable; columns that were answered one by one are taken together by name.
    order = by_name(release.only_part.names) if len(chosen) == len(release.only_part.names) else np.arange(len(chosen))
    after, before = combined_posteriors([chosen[j] for j in order])
    after, before = ([part[j] for j in np.argsort(order)] for part in (after, before))
    model = release.only_part.model
    if isinstance(model, ResponseModel) and model.compound is not None:
        # One variable over combinations: what it says about each column.
        folds = [
            np.equal.outer([cell[j] for cell in model.compound], np.arange(len(labels))).astype(np.float64)
            for j, labels in enumerate(model.categories)
        ]
        after, before = [after[0] @ fold for fold in folds], [before[0] @ fold for fold in folds]
        independent = independent * len(folds)
    confidence = np.column_stack([each.max(axis=1) for each in after])
    return full_guess(
        release,
        np.column_stack([each.argmax(axis=1) for each in after]).astype(np.float64),
        ReportDetails(
            n_releases=1 + len({k for (k, _, _), times in zip(earlier, used, strict=True) if times}),
            confidence=confidence,
            expected_rate=confidence.mean(axis=0),
            prior=tuple(before),
            used=tuple(len(chosen) for chosen in independent),
        ),
    )


def _unperturbed(each: Release, rows: Places, names: Sequence[str], *, logs: bool) -> NoisyView | None:
    """Columns of ``names`` that an earlier release left as they are."""
    public = {column.name for column in each.manifest.public} & set(each.table.numeric())
    shown = [name for name in names if name in public]
    if not shown:
        return None
    x = np.hstack([block.matrix(shown) for block in each.table.blocks(shown)]).T
    if logs:
        x = np.log(np.abs(x), out=np.full_like(x, np.nan), where=x != 0)
    places = np.array([j for j, name in enumerate(names) if name in public], dtype=np.intp)
    return NoisyView(places, _aligned(x, rows), np.zeros((len(shown), len(shown))), "none")


def _in_logarithms(model: Model) -> bool:
    return isinstance(model, LogNormalModel) or (isinstance(model, MultiplicativeModel) and not model.noise.any())


def _covariance(release: Release) -> Matrix:
    model = release.only_part.model
    if not isinstance(model, AdditiveModel):
        raise NotApplicableError(f"a {release.method} release has no additive noise")
    return model.covariance


def _signs(noisy: Sequence[Part], names: Sequence[str]) -> Matrix:
    """Signs as the first release that has the value shows them; multiplicative noise keeps them, and zeros."""
    signs = np.full((len(noisy[0][2]), len(names)), np.nan)
    for _, part, rows in noisy:
        shown = _aligned(np.sign(part.to_numpy()), rows)
        for own, name in enumerate(part.only_part.names):
            if name in names:
                column = signs[:, names.index(name)]
                column[:] = np.where(np.isnan(column), shown[:, own], column)
    return signs


def _aligned(values: Matrix, rows: Places) -> Matrix:
    return np.where(rows[:, None] >= 0, values[rows], np.nan)
