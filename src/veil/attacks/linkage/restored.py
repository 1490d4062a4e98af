"""Private columns that the people at hand restore where a secret matrix mixed them (A30).

*Model.* One matrix for all records: rotations (P5, P6), linear transforms (P7), projections (P8) and permuted
coefficients (P10). *Known*: records of people some of whom may be in the table; they are a sample of its population,
and with it the attacks on the method guess every row. The guess is then compared with each person's record like a
release that nobody described: how far it may be trusted is learned (:mod:`veil.attacks.linkage.unknown`).

=====================================  ==============================
rotations of normalized columns (P5)   :class:`RotationMomentsAttack`
rotations, permuted coefficients       :class:`KnownSampleAttack`
linear transforms                      :class:`AKICAAttack`
projections on fewer dimensions        :class:`ProjectedSampleAttack`
=====================================  ==============================
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from veil.attacks.base import Guess, GuessingAttack
from veil.attacks.knowledge import ExternalTable, KnownSample
from veil.attacks.projection.known_sample import ProjectedSampleAttack
from veil.attacks.rotation.known_sample import KnownSampleAttack
from veil.attacks.rotation.moments import RotationMomentsAttack
from veil.attacks.separation.akica import AKICAAttack
from veil.data.blocks import Matrix
from veil.data.schema import is_countable
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.release.models import (
    Model,
    NormalizedRotationModel,
    OrthogonalModel,
    PermutedTransformModel,
    ProjectionModel,
)
from veil.release.release import Release

LARGEST_SAMPLE = 1_000
"""Records of the sample; more bring little, and cost time."""


def restored_parts(release: Release, external: ExternalTable) -> dict[int, Matrix]:
    """What the parts of a release that mix columns look like before; parts that no attack undoes are left out."""
    table = external.table
    numbers = {field.name for field in table.schema if is_countable(field.type)}
    parts = {}
    for i, part in enumerate(release.manifest.parts):
        attack = _attack(part.model, len(part.names))
        if attack is None or not numbers.issuperset(part.names):
            continue
        rows = np.arange(0, table.num_rows, -(-table.num_rows // LARGEST_SAMPLE))
        try:
            guess = attack.run(release.part(i), KnownSample(table.select(part.names).take(pa.array(rows))))
        except (InputError, MissingKnowledgeError, NotApplicableError):
            continue  # too few people, or records with gaps
        parts[i] = _whole(guess, release.part(i).to_numpy().shape[0])
    return parts


def _attack(model: Model, d: int) -> GuessingAttack | None:
    if isinstance(model, NormalizedRotationModel):
        return RotationMomentsAttack()
    if isinstance(model, OrthogonalModel | PermutedTransformModel):
        return KnownSampleAttack()
    if isinstance(model, ProjectionModel):
        return ProjectedSampleAttack() if model.n_components < d else AKICAAttack()
    return None


def _whole(guess: Guess, n: int) -> Matrix:
    """A guess of all n rows, NaN where it says nothing."""
    values = np.full((n, guess.values.shape[1]), np.nan)
    values[guess.rows] = guess.values
    return values
