"""A18: the order of rows against noise of every kind.

*Model.* Records are in an order that tells something: of time, of a place, or of a column by which the file was sorted.
Each is perturbed by itself, by a published law. What is smooth over the order is not noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.arguments import choice
from veil.attacks.base import Details, Guess, GuessingAttack, full_guess, needed
from veil.attacks.categories.response_posterior import response_posteriors
from veil.attacks.knowledge import Knowledge, TimeOrder
from veil.attacks.knowledge.base import Rows
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.noise.logarithmic import LogAttack
from veil.attacks.noise.shrinkage import whitening
from veil.attacks.serial.components import smooth_series
from veil.attacks.serial.hidden_markov import other_answers, posterior_over_order
from veil.attacks.serial.scales import stable, working_scale
from veil.attacks.serial.sorted_classes import guess_classes
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.release.models import AdditiveModel, BasketModel, ClassModel, Model, ResponseModel
from veil.release.release import Release


@dataclass(frozen=True, eq=False)
class SerialDetails(Details):
    """What the order told.

    Attributes
    ----------
    basis
        The basis by name in which numbers were smoothed.
    models
        The name of each component's, or column's, model; "white" where the order told nothing.
    expected_mse
        The expected squared error of each column of numbers, in the scale of its noise.
    confidence
        The posterior probability of each guess of a category (N × d).
    """

    basis: str | None
    models: tuple[str, ...]
    expected_mse: Vector | None = None
    confidence: Matrix | None = None


class SerialAttack(GuessingAttack):
    """A18. Smooth every component of the release over the order of its rows (H §3).

    *Knowledge.* TimeOrder, and the law of the noise (published, or KnownNoise). Rows that were shuffled have no order.

    *Numbers.* In a scale in which the noise is the same in every record (:mod:`veil.attacks.serial.scales`: as it is,
    logarithms, or their like for combined noise) the release is smooth series and white noise. Each component of a
    basis (columns, principal components, or the eigenvectors of the lag-1 covariance, which the noise does not touch)
    is smoothed by a state-space model, by wavelets or as a monotone series, whichever leaves the least error by Stein's
    estimate from the release alone (:mod:`veil.attacks.serial.smoothers`); residuals go through the Bayes filter
    together, as in A6. Without dependence over the order the guess is that of A6, or of A8 for factors. For an AR(1)
    column the m.s.e. is ``σ²s/√((s + σ²(1+φ²))² − 4σ⁴φ²)`` with innovation variance s; for a random walk ``σ²√(s/(s +
    4σ²))``.

    *Categories* behind randomized responses or baskets are a hidden Markov chain over the rows
    (:mod:`veil.attacks.serial.hidden_markov`): the guess is the most probable category given all reports. Without
    dependence over the order it is that of A20.

    *Classes* (P17) that rise or fall over the whole file tell the value by its place in the class
    (:mod:`veil.attacks.serial.sorted_classes`); any others are guessed as by A2.

    Missing values stay missing; the columns are then smoothed one by one.

    Parameters
    ----------
    aim : {"hit", "mean"}, default "hit"
        Guess the point within a tenth of the column's unit of which the value most probably lies, or the mean.

    ``guess.details``: :class:`SerialDetails`.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(1000, 1)).cumsum(axis=0)
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(0.5, random_state=0))
    >>> guess = veil.SerialAttack().run(release, veil.TimeOrder())
    >>> errors = [np.mean((each - x) ** 2) for each in (release.to_numpy(), guess.values)]
    >>> bool(errors[1] < errors[0] / 4)
    True
    """

    catalogue = "A18"
    requires = (TimeOrder,)
    words = "smooths the noise away over the order of the rows, since neighbouring records resemble each other"

    def __init__(self, *, aim: str = "hit", variant: str = "best") -> None:
        super().__init__(variant=variant)
        self.aim = aim

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Any release with noise of its own on every record."""
        return stable(model) or is_response(model) or isinstance(model, ClassModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        choice(self.aim, "aim", ("hit", "mean"))
        order = needed(knowledge, TimeOrder).rows(release)
        if is_response(release.only_part.model):
            return _categories(release, order)
        if isinstance(release.only_part.model, ClassModel):
            return self._classes(release, order)
        return self._numbers(release, knowledge, order)

    def _numbers(self, release: Release, knowledge: Sequence[Knowledge], order: Rows) -> Guess:
        scale = working_scale(release, knowledge)
        _check_order(order, len(scale.seen))
        holes = np.isnan(scale.seen)
        if holes.all(axis=0).any() or len(holes) < 2:
            raise NotApplicableError("a column of the release has no values to smooth")
        unit = np.sqrt(np.diag(scale.noise))
        noise = scale.noise / np.outer(unit, unit)
        root, inverse = np.diag(unit), np.diag(1.0 / unit)
        if np.any(noise - np.diag(np.diag(noise))) and not holes.any():
            (root, inverse), noise = whitening(scale.noise), np.eye(len(unit))
        mean = np.nanmean(scale.seen, axis=0)
        z = np.where(holes, np.nan, np.nan_to_num(scale.seen - mean) @ inverse.T)[order]
        series = smooth_series(z, noise, inverse)
        expected = np.einsum("ij,jk,ik->i", root, series.errors, root)
        details = SerialDetails(series.basis, series.models, expected)
        if series.white and not isinstance(release.only_part.model, AdditiveModel):
            return full_guess(release, LogAttack(aim=self.aim).run(release).values, details)
        u = np.empty_like(z)
        u[order] = mean + np.where(holes[order], np.nan, np.nan_to_num(series.values) @ root.T)
        whole = np.array([column.is_integer for column in release.only_part.columns])
        return full_guess(release, scale.back(u, expected, whole, self.aim), details)

    def _classes(self, release: Release, order: Rows) -> Guess:
        _check_order(order, count_rows(release))
        values, names = guess_classes(release, order, self.aim)
        return full_guess(release, values, SerialDetails(None, names))


def is_response(model: Model) -> bool:
    """Whether categories are released through a public matrix."""
    return isinstance(model, ResponseModel) or (isinstance(model, BasketModel) and model.kind != "select")


def _categories(release: Release, order: Rows) -> Guess:
    """The most probable category of every value given all reports, in the order of the rows."""
    responses = response_posteriors(release)
    _check_order(order, len(responses.codes))
    values, confidence = (np.empty(responses.codes.shape) for _ in range(2))
    names = []
    for j, column in enumerate(responses.columns):
        after, name = column.posterior[column.rows], "white"
        compound = responses.model.compound is not None
        # Columns that were randomized as one have no report of their own.
        own = (
            after / np.maximum(column.prior, 1e-12) if compound else responses.model.matrices[j][responses.codes[:, j]]
        )
        chain = posterior_over_order(own[order])
        if chain is not None:
            others = np.ones_like(after) if compound else other_answers(after, column.prior, own)
            after[order], name = chain
            after *= others
            after /= np.maximum(after.sum(axis=1, keepdims=True), 1e-300)
        values[:, j], confidence[:, j] = after.argmax(axis=1), after.max(axis=1)
        names.append(name)
    return full_guess(release, values, SerialDetails(None, tuple(names), confidence=confidence))


def _check_order(order: Rows, n_rows: int) -> None:
    if len(order) != n_rows:
        raise InputError(f"TimeOrder has {len(order)} rows; the release has {n_rows}")
