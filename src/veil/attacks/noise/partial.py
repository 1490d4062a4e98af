"""A19: the Bayes estimate given attributes that are known exactly.

*Model.* ``y = x + r`` with noise covariance Σr; beside y, each record shows attributes a without noise, and
(a, x) is jointly normal.

Given a, x is normal with mean ``μ + B(a − ā)``, ``B = Σxa Σaa⁻¹``, and covariance ``Σxx − B Σax``. As r has
nothing to do with a, B is the regression of *y* on a, and the residuals of that regression are the
residuals of x plus the same noise: the attack is A6 on the residuals.

Noise of similarity 1 publishes Σxa to two digits, on small tables more exactly than the regression tells it
(:func:`veil.numerics.noisy_covariance.slopes_with_published`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from veil.attacks.base import Details, Guess, full_guess, granted
from veil.attacks.blockwise import BlockGuess, BlockwiseAttack, Reconstruction
from veil.attacks.knowledge import Knowledge, KnownAttributes
from veil.attacks.noise.additive import (
    available_covariance,
    filter_incomplete,
    noise_covariance,
    pair_covariance,
    with_grain,
)
from veil.attacks.noise.shrinkage import pooled_filter
from veil.data.blocks import Block, Matrix, Vector, array_blocks
from veil.errors import InputError, NotApplicableError
from veil.numerics.moments import Moments, block_moments, moments_of
from veil.numerics.noisy_covariance import slopes_with_published
from veil.release.models import AdditiveModel, Model
from veil.release.release import Release


@dataclass(frozen=True, eq=False)
class PartialDetails(Details):
    """``known``: names of the attributes that were used; ``expected_mse`` of each column."""

    known: tuple[str, ...]
    expected_mse: Vector


class PartialDisclosureAttack(BlockwiseAttack):
    """A19. Condition the Bayes estimate on attributes known exactly (H §3; T).

    *Knowledge.* Σr (published, or KnownNoise), and attributes of every record: KnownAttributes, the release's
    numeric public columns, or both. With neither there is nothing to condition on and it does not apply.

    A known private column is guessed as known; where noise correlates over columns, its noise ``y − x`` is then
    known too and is subtracted from the other columns as far as they share it. Covariances that the manifest publishes
    enter the regression, unless values are missing.

    For normal data the m.s.e. of the rest is that of A6 on the conditional covariance ``Σxx − Σxa Σaa⁻¹ Σax``. The
    posterior is normal, so its mean is also the guess that most probably hits.

    ``guess.details``: ``known`` (names used) and ``expected_mse`` per column.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(1000, 1)) + 0.1 * np.random.default_rng(1).normal(size=(1000, 2))
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(1.0, random_state=0))
    >>> guess = veil.PartialDisclosureAttack().run(release, veil.KnownAttributes(("x0",), x[:, :1]))
    >>> guess.details.known, bool(np.mean((guess.values[:, 1] - x[:, 1]) ** 2) < 0.05)
    (('x0',), True)
    """

    catalogue = "A19"
    uses = (KnownAttributes,)
    words = "combines the release with attributes of the same people that are known or public"

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Any release with additive noise."""
        return isinstance(model, AdditiveModel)

    def learn(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction | None:
        """The regression on what is known and the filter of what it leaves; with missing values, nothing."""
        moments = release.moments()
        if moments.missing.any():
            return None
        noise = noise_covariance(release, knowledge)
        records = _partial_records(release, noise, granted(knowledge, KnownAttributes))
        known, given, n = records.known, records.given, moments.n_rows
        columns = (*release.only_part.released, *known.public)
        expected = np.zeros(len(given))
        details = PartialDetails(known.names, expected)
        if given.all():
            return Reconstruction(columns=columns, guess=partial(conditional_guess, records, None), details=details)
        centre = records.rest(moments.mean[:, None], known.mean[:, None])[:, 0]
        triangle = release.summed(partial(block_triangle, records, centre), columns).factor
        k = len(known.names) + 1
        weights = np.linalg.lstsq(triangle[:, :k], triangle[:, k:], rcond=np.finfo(np.float64).eps * max(n, k))[
            0
        ].astype(np.float64)
        weights[1:] = _with_published(weights[1:], triangle[:, 1:k], records, release.only_part.model, n)
        residual = triangle[:, k:] - triangle[:, :k] @ weights
        covariance = pair_covariance(np.stack([residual.T @ residual, np.full((len(centre),) * 2, float(n))]))
        prior, expected[~given] = _residual_prior(covariance, records.noise, n, k - 1)
        gain = np.linalg.solve(prior + records.noise, prior)
        fit = Fit(centre, *(np.asarray(each, dtype=np.float64) for each in (weights, gain)))
        return Reconstruction(columns=columns, guess=partial(conditional_guess, records, fit), details=details)

    def _whole(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        noise = noise_covariance(release, knowledge)
        records = _partial_records(release, noise, granted(knowledge, KnownAttributes))
        known, given = records.known, records.given
        y, attributes = release.to_numpy(), known.table(release)
        values, expected = np.empty_like(y), np.zeros(len(given))
        values[:, given] = attributes[:, records.place]
        if not given.all():
            rest = records.rest(y.T, attributes.T).T
            values[:, ~given], expected[~given] = conditional_estimate(rest, attributes, records.noise)
        return full_guess(release, values, PartialDetails(known.names, expected))


@dataclass(frozen=True)
class Known:
    """What is known of every record: granted columns, then public ones of the release; with mean and deviation."""

    names: tuple[str, ...]
    granted: Matrix
    public: tuple[str, ...]
    mean: Vector
    unit: Vector

    def matrix(self, block: Block) -> Matrix:
        """The attributes of a block's records (a × n)."""
        rows = slice(block.start, block.start + block.n_rows)
        return np.vstack([self.granted[rows].T, block.matrix(self.public)])

    def table(self, release: Release) -> Matrix:
        """The attributes of all records (N × a)."""
        if not self.public:
            return self.granted
        return np.hstack([self.matrix(block) for block in release.table.blocks(self.public)]).T

    def design(self, attributes: Matrix) -> Matrix:
        """A constant and the attributes in their own units, for the regression ((1 + a) × n)."""
        unit = np.where(self.unit > 0, self.unit, 1.0)
        scaled = (attributes - self.mean[:, None]) / unit[:, None]
        return np.vstack([np.ones((1, attributes.shape[1])), scaled])


@dataclass(frozen=True)
class PartialRecords:
    """Which private columns are ``given`` and at which ``place`` among the known attributes; ``share``, what the given
    columns' noise tells of the others', and ``noise``, what is then left of that.
    """

    released: tuple[str, ...]
    known: Known
    given: npt.NDArray[np.bool_]
    place: npt.NDArray[np.intp]
    share: Matrix
    noise: Matrix

    def rest(self, y: Matrix, attributes: Matrix) -> Matrix:
        """The unknown columns less what the known columns' noise tells of theirs."""
        deviation = np.nan_to_num(y[self.given] - attributes[self.place])
        return np.asarray(y[~self.given] - self.share @ deviation)


@dataclass(frozen=True)
class Fit:
    """The regression of the unknown columns (about ``centre``) on the known ones, and the filter of its residuals."""

    centre: Vector
    weights: Matrix
    gain: Matrix


def conditional_guess(records: PartialRecords, fit: Fit | None, block: Block) -> BlockGuess:
    """Known columns as known, the others by regression and filter."""
    attributes = records.known.matrix(block)
    values = np.empty((len(records.given), block.n_rows))
    values[records.given] = attributes[records.place]
    if fit is not None:
        fitted = fit.centre[:, None] + fit.weights.T @ records.known.design(attributes)
        residual = records.rest(block.matrix(records.released), attributes) - fitted
        values[~records.given] = fitted + fit.gain.T @ residual
    return BlockGuess(values.T)


@dataclass(frozen=True)
class Triangle:
    """The triangular factor of some rows; of two parts together, that of their factors.

    Least squares by orthogonal factors lose no digits where attributes nearly depend on each other.
    """

    factor: Matrix

    def __add__(self, other: Triangle) -> Triangle:
        return triangle_of(np.vstack([self.factor, other.factor]))


def triangle_of(rows: Matrix) -> Triangle:
    """The triangular factor of rows in memory."""
    return Triangle(np.asarray(np.linalg.qr(rows, mode="r"), dtype=np.float64))


def block_triangle(records: PartialRecords, centre: Vector, block: Block) -> Triangle:
    """The triangular factor of a block: the design of the regression, then the unknown columns about ``centre``."""
    attributes = records.known.matrix(block)
    rest = records.rest(block.matrix(records.released), attributes) - centre[:, None]
    return triangle_of(np.vstack([records.known.design(attributes), rest]).T)


def column_moments(columns: Sequence[str], block: Block) -> Moments:
    """Moments of some columns of a block, without their covariance."""
    return block_moments(block.matrix(columns), covariance=False)


def conditional_estimate(y: Matrix, attributes: Matrix, noise: Matrix) -> tuple[Matrix, Vector]:
    """``E[x|y, a]`` of every record under a joint normal law, and its expected m.s.e. per column."""
    centred = attributes - attributes.mean(axis=0)
    unit = centred.std(axis=0)
    design = np.column_stack([np.ones(len(y)), centred / np.where(unit > 0, unit, 1.0)])
    present = ~np.isnan(y)
    fitted = np.empty_like(y)
    for j, rows in enumerate(present.T):
        fitted[:, j] = design @ np.linalg.lstsq(design[rows], y[rows, j], rcond=None)[0]
    residual, zero = y - fitted, np.zeros(y.shape[1])
    n_rows = int(present.sum(axis=0).min())
    prior, expected = _residual_prior(available_covariance(residual, zero), noise, n_rows, attributes.shape[1])
    return fitted + filter_incomplete(residual, zero, prior, noise), expected


def _residual_prior(covariance: Matrix, noise: Matrix, n_rows: int, n_known: int) -> tuple[Matrix, Vector]:
    """The prior of what a regression on known columns leaves, and the expected m.s.e. of each column."""
    left = max(n_rows - n_known, 1)
    # The regression has taken its share of each residual; divide by the degrees of freedom that are left.
    prior, errors = pooled_filter(covariance * (left + n_known) / left, noise, left)
    return prior, np.diag(errors).copy()


def _with_published(slopes: Matrix, design: Matrix, records: PartialRecords, model: Model, n_rows: int) -> Matrix:
    """The slopes of a regression on a ``design``, together with the covariances that the model publishes."""
    if not isinstance(model, AdditiveModel) or model.data_covariance is None or model.data_covariance_se is None:
        return slopes
    given, unit = records.given, records.known.unit[records.place][:, None]
    place = np.ix_(given, ~given)
    told, error = np.full((2, *slopes.shape), np.nan)
    told[records.place] = model.data_covariance[place] / np.where(unit > 0, unit, 1.0)
    error[records.place] = model.data_covariance_se[place] / np.where(unit > 0, unit, 1.0)
    return slopes_with_published(slopes, design.T @ design / n_rows, np.diag(records.noise) / n_rows, told, error)


def known_attributes(release: Release, known: KnownAttributes | None) -> Known:
    """All that is known of every record: granted, or public, numeric and without gaps."""
    n_rows = release.moments().n_rows
    names: tuple[str, ...] = ()
    values, mean, unit = np.empty((n_rows, 0)), np.empty(0), np.empty(0)
    if known is not None:
        if len(known.values) != n_rows:
            raise InputError(f"KnownAttributes has {len(known.values)} records; the release has {n_rows}")
        names, values = known.columns, known.values
        own = moments_of((block for _, block in array_blocks(values)), covariance=False)
        if own is not None:
            mean, unit = own.mean, own.std
    public = tuple(c.name for c in release.manifest.public if c.kind.is_number and c.name not in names)
    if public:
        moments = release.summed(partial(column_moments, public), public)
        whole = (moments.missing == 0) & np.isfinite(moments.minimum) & np.isfinite(moments.maximum)
        public = tuple(name for name, complete in zip(public, whole, strict=True) if complete)
        mean, unit = np.append(mean, moments.mean[whole]), np.append(unit, moments.std[whole])
    return Known((*names, *public), values, public, mean, unit)


def _partial_records(release: Release, noise: Matrix, granted: KnownAttributes | None) -> PartialRecords:
    known = known_attributes(release, granted)
    if not known.names:
        raise NotApplicableError(
            "no attribute of these records is known: the release has no numeric public column without gaps; "
            "grant KnownAttributes"
        )
    n_rows = release.moments().n_rows
    if n_rows < len(known.names) + 3:
        raise NotApplicableError(
            f"{n_rows} records do not show how the private columns depend on {len(known.names)} known ones"
        )
    names = release.only_part.names
    given = np.array([name in known.names for name in names])
    place = np.array([known.names.index(name) for name in names if name in known.names], dtype=np.intp)
    return PartialRecords(release.only_part.released, known, given, place, *_shared_noise(noise, given))


def _shared_noise(noise: Matrix, given: npt.NDArray[np.bool_]) -> tuple[Matrix, Matrix]:
    """What a unit of the known columns' noise tells of the others', and the noise that is then left."""
    across = noise[np.ix_(~given, given)]
    own = noise[np.ix_(~given, ~given)]
    if not across.any():
        return across, own
    share = across @ np.linalg.pinv(noise[np.ix_(given, given)], hermitian=True)
    return share, with_grain(own - share @ across.T, np.diag(own))
