"""The noise of a release's columns, as its manifest states it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.errors import InputError, NotApplicableError, listed
from veil.numerics.laws import LAWS, NoiseLaw, is_law
from veil.release.models import AdditiveModel
from veil.release.release import Release


@dataclass(frozen=True)
class NoisyColumn:
    """One perturbed column: its private name, its released name and its noise."""

    name: str
    released: str
    noise: NoiseLaw


def noisy_columns(release: Any, columns: Sequence[str] | None, recovery: str) -> list[NoisyColumn]:
    """The wanted columns of an additive release with their noise, as the manifest states it."""
    if not isinstance(release, Release):
        raise InputError(f"{recovery} reads a release; got a {type(release).__name__}")
    part, model = release.only_part, release.only_part.model
    if not isinstance(model, AdditiveModel):
        raise NotApplicableError(f"{recovery} has no theory for a {release.method} release; it needs additive noise")
    if not is_law(model.distribution):
        raise NotApplicableError(
            f"{recovery} needs noise of a law among {', '.join(LAWS)}; the manifest says {model.distribution!r}"
        )
    known = part.names
    wanted = known if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    absent = [name for name in wanted if name not in known]
    if absent or not wanted or len(set(wanted)) < len(wanted):
        fault = f"{listed(absent)} is not among them" if absent else f"got {len(wanted)}, or one of them twice"
        raise InputError(f"columns must be one or more of the {len(known)} perturbed columns; {fault}")
    scales = np.sqrt(np.diag(model.covariance))
    places = [known.index(name) for name in wanted]
    return [NoisyColumn(known[j], part.released[j], NoiseLaw(model.distribution, float(scales[j]))) for j in places]
