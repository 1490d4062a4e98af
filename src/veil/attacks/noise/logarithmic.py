"""A8: multiplicative noise attacked in logarithms, where it is additive (Liu 2007, §3.3; Pandya).

*Model.* P3: ``ln|y| = ln|x| + ln r``, r positive, of a public law. P4: ``ln y = ln x + e``, e ~ N(0, cΣu).

On P4 the noise has the logarithms' own covariance up to the factor c, so the Bayes filter is the scalar
1/(1 + c) and the error in logarithms is c/(1+c) of each variance: correlation helps nobody. On P3 zeros and
signs are released exactly, and the guess returns them.

The filter gives the mean û and variance v of ln x given y; the mean of x itself is ``exp(û + v/2)``. Its mode is
``exp(û − v)``, and the window that most probably holds x lies near it. A base that does not state v gets it from the
law of total variance, Var u − Var û, which holds for a posterior mean.

P22, ``y = x·r + e``, has no logarithm. There the same filters run on ``y/E r``, whose error is uncorrelated with x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeGuard

import numpy as np
from scipy.special import ndtr

from veil.arguments import choice
from veil.attacks.base import Details, Guess, GuessingAttack, full_guess
from veil.attacks.blockwise import BlockGuess, BlockwiseAttack, Reconstruction
from veil.attacks.changed import Change, ChangedTable, changed_guess, divided, logarithm
from veil.attacks.knowledge import Knowledge
from veil.attacks.noise.additive import HIT_REACH, BayesEstimateAttack
from veil.data.blocks import Block, Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.measures.units import standard_unit
from veil.numerics.moments import Moments, block_moments
from veil.release.models import AdditiveModel, LogNormalModel, Model, MultiplicativeModel
from veil.release.release import Release

QUARTILE = 0.6744897501960817
"""Of the standard normal law."""


@dataclass(frozen=True, eq=False)
class LogDetails(Details):
    """``log_values``: the guess of ``ln |x|`` (N × d), where logarithms were taken."""

    log_values: Matrix | None = None


class LogAttack(BlockwiseAttack):
    """A8. Filter multiplicative noise in logarithms with any attack on additive noise.

    Parameters
    ----------
    base : GuessingAttack, default BayesEstimateAttack()
        The attack on additive noise that runs on the logarithms.
    aim : {"mean", "hit"}, default "mean"
        Guess the mean of x, or the point within a tenth of the column's unit of which x most probably lies, both under
        a normal posterior of its logarithm. Of products with noise (P22) the guess is the mean.

    ``guess.details``: :class:`LogDetails`.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.exp(np.random.default_rng(0).normal(size=(1000, 1)) * np.ones(8))
    >>> release, _ = veil.publish(x, veil.MultiplicativeNoise(0.3, random_state=0))
    >>> guess = veil.LogAttack().run(release)
    >>> errors = [np.mean(np.log(each / x) ** 2) for each in (release.to_numpy(), guess.values)]
    >>> bool(errors[1] < errors[0] / 4)
    True
    """

    catalogue = "A8"
    settings_to_try = ({"aim": "hit"},)
    words = "takes logarithms, where the factors are plain noise, and filters it out there"

    def __init__(self, base: GuessingAttack | None = None, *, aim: str = "mean", variant: str = "best") -> None:
        super().__init__(variant=variant)
        self.base = base
        self.aim = aim

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Multiplicative noise of any kind."""
        return isinstance(model, MultiplicativeModel | LogNormalModel)

    def learn(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction | None:
        """What the base learns of the release in logarithms; None where it needs the whole table."""
        base = self._base()
        choice(self.aim, "aim", ("mean", "hit"))
        if not isinstance(base, BlockwiseAttack):
            return None
        model, released = release.only_part.model, release.only_part.released
        linear = has_noise(model)
        other, shift = (linear_release(release), 0.0) if linear else log_release(release)
        inner = base.prepare(other, *knowledge)
        if inner is None:
            return None
        change = partial(divided, model.law.raw_moments()[0]) if has_noise(model) else logarithm
        guess = partial(changed_guess, inner.guess, frozenset(released), change)
        columns = tuple(dict.fromkeys((*released, *inner.columns)))
        if linear:
            return Reconstruction(columns=columns, guess=guess, ambiguity=inner.ambiguity)
        spread = inner.details.get("expected_mse")
        if spread is None:
            spread = _left(other, other.summed(partial(guess_moments, inner.guess), inner.columns))
        return Reconstruction(
            columns=columns,
            guess=partial(guess_from_logs, guess, released, shift, spread, self._reach(other, shift)),
            details=LogDetails(),
            ambiguity=inner.ambiguity,
        )

    def _whole(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        base = self._base()
        if has_noise(release.only_part.model):
            linear = base.run(linear_release(release), *knowledge)
            return full_guess(release, linear.values, ambiguity=linear.ambiguity)
        logs, shift = log_release(release)
        guess = base.run(logs, *knowledge)
        spread = guess.details.get("expected_mse")
        if spread is None:
            spread = _left(logs, block_moments(np.ascontiguousarray(guess.values.T), covariance=False))
        values = exponential(release.to_numpy(), guess.values - shift, spread, self._reach(logs, shift))
        return full_guess(release, values, LogDetails(guess.values - shift), ambiguity=guess.ambiguity)

    def _reach(self, logs: Release, shift: float) -> Vector | None:
        """How near a hit is in each column, by log-normal laws of the release's logarithms; None for means."""
        if self.aim == "mean":
            return None
        moments, model = logs.moments(), logs.only_part.model
        noise = np.diag(model.covariance) if isinstance(model, AdditiveModel) else 0.0
        centre, deviation = moments.mean - shift, np.sqrt(np.clip(moments.variance - noise, 0.0, None))
        with np.errstate(over="ignore"):
            spread = np.exp(centre + deviation**2 / 2) * np.sqrt(np.expm1(deviation**2))
            middle = 2 * np.exp(centre) * np.sinh(QUARTILE * deviation)
        units = [standard_unit(float(s), float(m)) for s, m in zip(spread, middle, strict=True)]
        return HIT_REACH * np.array(units)

    def _base(self) -> GuessingAttack:
        base = BayesEstimateAttack() if self.base is None else self.base
        if not isinstance(base, GuessingAttack):
            raise InputError(f"base must be an attack on additive noise; got a {type(base).__name__}")
        return base


def guess_from_logs(
    guess: Callable[[Block], BlockGuess],
    released: tuple[str, ...],
    shift: float,
    spread: Vector,
    reach: Vector | None,
    block: Block,
) -> BlockGuess:
    """The mean, or the hit, of x from a guess of ``ln |x|`` that leaves the variance ``spread``."""
    logs = guess(block).values - shift
    return BlockGuess(exponential(block.matrix(released).T, logs, spread, reach), beside={"log_values": logs})


def guess_moments(guess: Callable[[Block], BlockGuess], block: Block) -> Moments:
    """Moments of the guesses of a block."""
    return block_moments(np.ascontiguousarray(guess(block).values.T), covariance=False)


def exponential(y: Matrix, logs: Matrix, spread: Vector, reach: Vector | None = None) -> Matrix:
    """x from mean and variance of ``ln |x|`` given y, with the signs and zeros of y: ``E[x | y]``, or its hit."""
    left = np.where(np.isfinite(spread), spread, 0.0)
    size = np.exp(logs + left / 2) if reach is None else fullest_window(logs, left, reach)
    values = np.sign(y) * size
    values[y == 0] = 0.0
    return np.asarray(values)


def fullest_window(logs: Matrix, variance: Vector, reach: Vector) -> Matrix:
    """The points within ``reach`` of which log-normal values most probably lie, by trying points about mean and mode.

    A wide window also begins at 0, below which there is nothing.
    """
    deviation = np.maximum(np.sqrt(variance), 1e-9)
    best, most = np.exp(logs), np.full(logs.shape, -1.0)
    for share in np.linspace(-2.0, 1.0, 25):
        at = np.maximum(np.exp(logs - share * variance), reach)
        low = np.log(np.maximum(at - reach, np.finfo(np.float64).tiny))
        mass = ndtr((np.log(at + reach) - logs) / deviation) - ndtr((low - logs) / deviation)
        best, most = np.where(mass > most, at, best), np.fmax(mass, most)
    return np.where(np.isnan(logs), np.nan, best)


def has_noise(model: Model) -> TypeGuard[MultiplicativeModel]:
    """Whether noise was added to the products (P22), so that there are no logarithms to take."""
    return isinstance(model, MultiplicativeModel) and bool(model.noise.any())


def log_release(release: Release) -> tuple[Release, float]:
    """The same release in logarithms, with additive noise of mean zero after a shift; zeros become missing."""
    model = release.only_part.model
    shift = 0.0
    if isinstance(model, LogNormalModel):
        eigenvalues, q = np.linalg.eigh(model.covariance)
        noise = AdditiveModel.correlated(q * np.sqrt(np.clip(eigenvalues, 0.0, None)), model.grid)
    elif isinstance(model, MultiplicativeModel):
        shift, variance = model.law.log_moments()
        d = len(release.only_part.released)
        noise = AdditiveModel("normal", np.full(d, np.sqrt(variance)), np.zeros(d))
    else:
        raise NotApplicableError(f"a {release.method} release is not multiplicative")
    return _as_additive(release, logarithm, noise), shift


def linear_release(release: Release) -> Release:
    """A P22 release as one with additive noise: y/E r = x + n, n uncorrelated with x.

    ``n = (x(r − E r) + e)/E r`` has variance ``(Var r·E x² + Var e)/(E r)²`` per column, and E x² follows from E y²
    (R3), so the best linear filter is that of additive noise.
    """
    model, moments = release.only_part.model, release.moments()
    if not isinstance(model, MultiplicativeModel):
        raise NotApplicableError(f"a {release.method} release is not multiplicative")
    m1, m2 = model.law.raw_moments()[:2]
    square = np.clip(moments.variance + moments.mean**2 - model.noise**2, 0.0, None) / m2
    scale = np.sqrt((m2 - m1**2) * square + model.noise**2) / m1
    return _as_additive(release, partial(divided, m1), AdditiveModel("normal", scale, model.grid / m1))


def _as_additive(release: Release, change: Change, model: AdditiveModel) -> Release:
    part = replace(release.only_part, method="additive-noise", model=model)
    table = ChangedTable(release.table, part.released, change)
    return Release(table, replace(release.manifest, parts=(part,)), release.engine)


def _left(logs: Release, filtered: Moments) -> Vector:
    """Var(u|y) on average: what a filter that does not say it has left, by the law of total variance."""
    model = logs.only_part.model
    noise = np.diag(model.covariance) if isinstance(model, AdditiveModel) else np.zeros(len(filtered.mean))
    return np.asarray(np.clip(logs.moments().variance - noise - filtered.variance, 0.0, noise))
