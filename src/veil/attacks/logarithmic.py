"""A8: multiplicative noise attacked in logarithms, where it is additive (Liu 2007, §3.3; Pandya).

*Model.* P3: ``ln|y| = ln|x| + ln r``, r positive, of a public law. P4: ``ln y = ln x + e``, e ~ N(0, cΣu).

On P4 the noise has the logarithms' own covariance up to the factor c, so the Bayes filter is the scalar
1/(1 + c) and the error in logarithms is c/(1+c) of each variance: correlation helps nobody. On P3 zeros and
signs are released exactly, and the guess returns them.

The filter gives the mean û and variance v of ln x given y; the mean of x itself is ``exp(û + v/2)``. A base that
does not state v gets it from the law of total variance, Var u − Var û, which holds for a posterior mean.

P22, ``y = x·r + e``, has no logarithm. There the same filters run on ``y/E r``, whose error is uncorrelated with x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.attacks.additive import BayesEstimateAttack
from veil.attacks.base import Attack, Guess, full_guess
from veil.blocks import Matrix
from veil.errors import InputError, NotApplicableError
from veil.knowledge import Knowledge
from veil.models import AdditiveModel, LogNormalModel, Model, MultiplicativeModel
from veil.moments import Vector
from veil.release import Release
from veil.tables import MemoryTable


class LogAttack(Attack):
    """A8. Filter multiplicative noise in logarithms with any attack on additive noise.

    Parameters
    ----------
    base : Attack, default BayesEstimateAttack()
        The attack on additive noise that runs on the logarithms.
    """

    catalogue = "A8"
    words = "takes logarithms, where the factors are plain noise, and filters it out there"

    def __init__(self, base: Attack | None = None, *, variant: str = "best") -> None:
        super().__init__(variant=variant)
        self.base = base

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Multiplicative noise of any kind."""
        return isinstance(model, MultiplicativeModel | LogNormalModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        base = BayesEstimateAttack() if self.base is None else self.base
        if not isinstance(base, Attack):
            raise InputError(f"base must be an attack on additive noise; got a {type(base).__name__}")
        model, y = release.step.model, release.to_numpy()
        if isinstance(model, MultiplicativeModel) and model.noise.any():
            linear = base.run(linear_release(release), *knowledge)
            return full_guess(release, linear.values, ambiguity=linear.ambiguity)
        logs, shift = log_release(release)
        found = base.run(logs, *knowledge)
        spread = np.asarray(found.details.get("expected_mse", _left(logs, found.values)))
        values = np.sign(y) * np.exp(found.values - shift + np.where(np.isfinite(spread), spread, 0.0) / 2)
        values[y == 0] = 0.0
        return full_guess(release, values, ambiguity=found.ambiguity, log_values=found.values - shift)


def log_release(release: Release) -> tuple[Release, float]:
    """The same release in logarithms, with additive noise of mean zero after a shift; zeros become missing."""
    model, y = release.step.model, release.to_numpy()
    parameters: dict[str, Any]
    shift = 0.0
    if isinstance(model, LogNormalModel):
        eigenvalues, q = np.linalg.eigh(model.covariance)
        parameters = {"factor": (q * np.sqrt(np.clip(eigenvalues, 0.0, None))).tolist()}
    elif isinstance(model, MultiplicativeModel):
        shift, variance = model.law.log_moments()
        parameters = {"scale": [float(np.sqrt(variance))] * y.shape[1]}
    else:
        raise NotApplicableError(f"a {release.method} release is not multiplicative")
    logs = np.log(np.abs(y), out=np.full_like(y, np.nan), where=y != 0)
    return _as_additive(release, logs, {"distribution": "normal", **parameters}), shift


def linear_release(release: Release) -> Release:
    """A P22 release as one with additive noise: y/E r = x + n, n uncorrelated with x.

    ``n = (x(r − E r) + e)/E r`` has variance ``(Var r·E x² + Var e)/(E r)²`` per column, and E x² follows from E y²
    (R3), so the best linear filter is that of additive noise.
    """
    model, y = release.step.model, release.to_numpy()
    if not isinstance(model, MultiplicativeModel):
        raise NotApplicableError(f"a {release.method} release is not multiplicative")
    m1, m2 = model.law.raw_moments()[:2]
    square = np.clip(np.nanmean(y**2, axis=0) - model.noise**2, 0.0, None) / m2
    scale = np.sqrt((m2 - m1**2) * square + model.noise**2) / m1
    parameters = {"distribution": "normal", "scale": scale.tolist()}
    return _as_additive(release, y / m1, parameters)


def _as_additive(release: Release, values: Matrix, parameters: dict[str, Any]) -> Release:
    step = replace(release.step, method="additive-noise", parameters=parameters)
    table = pa.table({name: _column(values[:, j]) for j, name in enumerate(step.released)})
    return Release(MemoryTable(table), replace(release.manifest, steps=(step,)))


def _left(logs: Release, filtered: Matrix) -> Vector:
    """Var(u|y) on average: what a filter that does not say it has left, by the law of total variance."""
    model = logs.step.model
    noise = np.diag(model.covariance) if isinstance(model, AdditiveModel) else np.zeros(filtered.shape[1])
    found = np.nanvar(filtered, axis=0)
    return np.asarray(np.clip(logs.moments().variance - noise - found, 0.0, noise))


def _column(values: npt.NDArray[np.float64]) -> pa.Array:
    return pa.array(values, from_pandas=True)
