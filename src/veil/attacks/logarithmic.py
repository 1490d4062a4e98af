"""A8: multiplicative noise attacked in logarithms, where it is additive (Liu 2007, §3.3; Pandya).

*Model.* P3: ``ln|y| = ln|x| + ln r``, r positive, of a public law. P4: ``ln y = ln x + e``, e ~ N(0, cΣu).

On P4 the noise has the logarithms' own covariance up to the factor c, so the Bayes filter is the scalar
1/(1 + c) and the error in logarithms is c/(1+c) of each variance: correlation helps nobody. On P3 zeros and
signs are released exactly, and the guess returns them.

The filter gives the mean û and variance v of ln x given y; the mean of x itself is ``exp(û + v/2)``.
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
from veil.errors import InputError, NotApplicableError
from veil.knowledge import Knowledge
from veil.models import LogNormalModel, Model, MultiplicativeModel
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
        """Positive factors without added noise."""
        if isinstance(model, MultiplicativeModel):
            return not model.noise.any()
        return isinstance(model, LogNormalModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        base = BayesEstimateAttack() if self.base is None else self.base
        if not isinstance(base, Attack):
            raise InputError(f"base must be an attack on additive noise; got a {type(base).__name__}")
        y = release.to_numpy()
        logs, shift = log_release(release)
        found = base.run(logs, *knowledge)
        spread = np.asarray(found.details.get("expected_mse", 0.0))
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
    step = replace(release.step, method="additive-noise", parameters={"distribution": "normal", **parameters})
    table = pa.table({name: _column(logs[:, j]) for j, name in enumerate(step.released)})
    return Release(MemoryTable(table), replace(release.manifest, steps=(step,))), shift


def _column(values: npt.NDArray[np.float64]) -> pa.Array:
    return pa.array(values, from_pandas=True)
