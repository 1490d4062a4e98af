"""A perturbation of one's own; a package offers it by an entry point::

[project.entry-points."veil.perturbations"]
triangular-noise = "own_perturbation"
"""

import numpy as np

import veil
from veil.errors import InputError
from veil.perturbations import grid_for, two_digits
from veil.release import AdditiveModel


class TriangularNoise(veil.Perturbation):
    """X1. Add the sum of two uniform numbers to every value: noise that is never larger than √6 times its scale.

    Parameters
    ----------
    scale : float, default 0.5
        Standard deviation of the noise, in units of each column's own.
    random_state : None or int
        None draws 256 secret bits.
    """

    catalogue = "X1"
    threat = "Released: y and the scale. Secret: the noise. It is bounded, so that every value is known to an interval."
    headline = ("scale",)

    def __init__(self, scale=0.5, *, random_state=None):
        self.scale = scale
        self.random_state = random_state

    def learn(self, facts):
        """What the world may know: noise of a law, scale and grid, as attacks on additive noise read them."""
        if not self.scale > 0:
            raise InputError(f"scale must be above 0; got {self.scale!r}")
        scale = np.array([self.scale * two_digits(s) or self.scale for s in facts.moments.std])
        return AdditiveModel("triangular", scale, np.array([grid_for(s) for s in scale]))

    def perturb(self, block, draws):
        """Value and noise on the grid, so that the last bits say nothing."""
        return self._shifted(block, draws, 1)

    def restore(self, block, draws):
        """Take the same noise off."""
        return self._shifted(block, draws, -1)

    def _shifted(self, block, draws, sign):
        out, model = np.empty_like(block), self.model_
        for j, row in enumerate(block):
            noise = model.scale[j] * 6**0.5 * (draws.uniform(j, "first") - draws.uniform(j, "second"))
            out[j] = model.grid[j] * (np.rint(row / model.grid[j]) + sign * np.rint(noise / model.grid[j]))
        return out
