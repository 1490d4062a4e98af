"""What the manifest tells about an orthogonal release: units and translation, never the matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veil.blocks import Matrix
from veil.moments import Vector
from veil.release import Release, Step


@dataclass(frozen=True)
class OrthogonalModel:
    """``y = M z + t`` with ``z = x / unit``; M and t are secret, the rest is public."""

    unit: Vector
    translated: bool

    def scaled(self, x: Matrix) -> Matrix:
        """Private values in the units that were rotated."""
        return np.asarray(x / self.unit)

    def private(self, z: Matrix) -> Matrix:
        """Rotated units back to the private table's."""
        return np.asarray(z * self.unit)


def is_orthogonal(step: Step) -> bool:
    """Whether the manifest describes an orthogonal transformation."""
    return step.method == "orthogonal-transform"


def orthogonal_model(release: Release) -> OrthogonalModel:
    """The public part of the model, as the manifest discloses it."""
    parameters = release.step.parameters
    return OrthogonalModel(np.asarray(parameters["unit"], dtype=np.float64), parameters["translation"] > 0)
