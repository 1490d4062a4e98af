"""P4: multiplicative noise of scheme II, correlated noise on the logarithms.

*Model.* ``u = ln x``, ``e ~ N(0, c·Cov(u))`` with 0 < c < 1, ``y = exp(u + e)`` (Liu 2007, §3.2; Pandya). Positive
data only. Cov(u) may be singular, so the noise is drawn through its eigenvectors (a Cholesky factor would
fail), lifted a little where it is (:mod:`veil.perturbations.correlated` says why); the factor is rounded to two
digits before use, and published.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veil.arguments import number
from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.keys.noise import grid_for
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Perturbation
from veil.perturbations.correlated import grouped_factor, lifted_eigenpairs, present_covariance, shift_on_grid
from veil.perturbations.draws import Draws
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, Noise, Takes
from veil.perturbations.method import Learned, refuse_constant
from veil.release.models import LogNormalModel


class LogNormalNoise(Perturbation):
    """P4. Add noise to the logarithms, with the correlations that the logarithms have.

    Parameters
    ----------
    c : float in (0, 1), default 0.1
        Noise covariance as a share of the logarithms' covariance.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    factor_ : array of shape (d, d)
        L with noise covariance L Lᵀ on the logarithms.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).lognormal(size=(1000, 2))
    >>> y = veil.LogNormalNoise(c=0.1, random_state=0).fit_transform(x)
    >>> bool(abs(np.log(y / x).var() - 0.1) < 0.02)
    True
    """

    threat = (
        "Released: ``y``, c and the noise's covariance, and with it the logarithms' covariance to two digits. Secret: "
        "the noise. It has the data's own correlations, so they help nobody to filter it: the best error in "
        "logarithms is c/(1+c) of each variance (A8)."
    )
    catalogue = "P4"
    summary = "Add noise to the logarithms, with the correlations that the logarithms have."
    layout = Layout(Takes.POSITIVE, noise=Noise.RECORD, covariance=True, spread=True, apart=True)
    headline = ("c",)
    model_: LogNormalModel
    factor_, grid_ = Learned("factor"), Learned("grid")

    def __init__(self, c: float = 0.1, *, random_state: Any = None) -> None:
        self.c = c
        self.random_state = random_state

    def learn(self, facts: Facts) -> LogNormalModel:
        """The factor of the noise on the logarithms, whose moments the facts are."""
        number(self.c, "c", least=1e-9, most=1 - 1e-9, rule="above 0 and below 1, for example 0.1")
        refuse_constant(facts, "so its logarithm has no spread to make noise of")
        unit = np.array([two_digits(s) for s in facts.moments.std])
        eigenvalues, q = lifted_eigenpairs(present_covariance(facts.moments) / np.outer(unit, unit))
        shape = np.vectorize(two_digits)(q * np.sqrt(eigenvalues))
        factor = np.sqrt(float(self.c)) * unit[:, None] * shape
        # In logarithms the noise's scale is the same for small and large values; the grid suits the smallest.
        grid = np.array([grid_for(s) for s in np.sqrt((factor**2).sum(axis=1))])
        return LogNormalModel(float(self.c), factor, grid)

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Add the noise to the logarithms, on their grid."""
        if (block <= 0).any():
            raise InputError(f"LogNormalNoise refuses {int((block <= 0).sum())} values that are not positive")
        return np.exp(self._shifted(np.log(block), draws, 1.0))

    def restore(self, block: Matrix, draws: Draws) -> Matrix:
        """Take the noise off the logarithms again."""
        return np.exp(self._shifted(np.log(block), draws, -1.0))

    def _shifted(self, logs: Matrix, draws: Draws, sign: float) -> Matrix:
        normal = np.array([draws.normal(j) for j in range(len(logs))])
        factor = grouped_factor(self.model_.factor, draws.grouped)
        return shift_on_grid(logs, normal, factor, self.model_.grid, sign)
