"""The noise of a release's columns, as its manifest states it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.data.schema import Column
from veil.errors import InputError, NotApplicableError, listed
from veil.numerics.laws import LAWS, NoiseLaw, is_law
from veil.recovery.counting import FineCounts
from veil.release.manifest import Part
from veil.release.models import AdditiveModel
from veil.release.plausible import Plausible
from veil.release.release import Release


@dataclass(frozen=True)
class NoisyColumn:
    """One perturbed column: its private name, its released name, its noise, and how values were made plausible."""

    name: str
    released: str
    noise: NoiseLaw
    rule: Plausible | None = None

    @property
    def unit(self) -> float:
        """What values are counted in: grains, where they were rounded to them."""
        return 1.0 if self.rule is None or self.rule.grain is None else self.rule.grain

    @property
    def scale(self) -> float:
        """The noise's standard deviation in these units; bins are as wide as a grain or wider."""
        return max(self.noise.scale / self.unit, 16.0) if self.rounded else self.noise.scale

    @property
    def rounded(self) -> bool:
        """Whether values were rounded to a grain."""
        return self.rule is not None and self.rule.grain is not None

    def before(self, edges: Vector) -> Vector:
        """Edges of bins of counted values, in the column's units and as values were before a rule changed them.

        A rounded value was up to half a grain away, and one at a bound anywhere beyond it.
        """
        if self.rule is None:
            return edges
        values, (low, high) = np.array(edges), self.rule.ends
        if self.rounded:
            values, low, high = (values - 0.5) * self.unit, low - 0.5 * self.unit, high + 0.5 * self.unit
        far = 50.0 * self.noise.scale + float(np.ptp(values))
        values[0] -= far * (values[0] <= low)
        values[-1] += far * (values[-1] >= high)
        return values

    def binned(self, counts: Matrix, edges: Vector, axis: int = 0) -> tuple[Matrix, Vector]:
        """Counts of released values in bins along an axis, with the bins' edges as values were before a rule.

        What was released as a heap lay anywhere between the heap's limits, in whose place there is one bin.
        """
        values = self.before(edges)
        for heap, limits in {} if self.rule is None else self.rule.limits.items():
            low, high = max(limits[0], values[0]), min(limits[1], values[-1])
            own = int(np.searchsorted(values, heap, side="right")) - 1
            first, last = int(np.searchsorted(values, low, side="right")) - 1, int(np.searchsorted(values, high)) - 1
            if not low < high or not first <= own <= last:
                continue
            # Bins before the heap's and after it stay, cut at its limits; all between is its own.
            wide = np.concatenate([values[: first + 1], [low, high], values[last + 1 :]])
            place = np.arange(len(values) - 1)
            target = np.where(place <= first, place, np.where(place < last, first + 1, place - last + first + 2))
            target[own] = first + 1
            fold = np.equal.outer(np.arange(len(wide) - 1), target).astype(np.float64)
            kept = np.diff(wide) > 0.0
            counts = np.moveaxis(np.tensordot(fold[kept], counts, axes=(1, axis)), 0, axis)
            values = wide[np.append(kept, True)]
        return counts, values

    def ends(self, fine: FineCounts) -> tuple[Vector, Vector]:
        """Between what two numbers the values of each bin lay before a rule changed them."""
        if self.rule is None:
            return fine.edges()
        lower, upper = fine.edges()
        low, high = self.rule.ends
        if self.rounded:
            upper = np.minimum(fine.places * fine.step + fine.step - 1.0, fine.high)
            lower, upper = (lower - 0.5) * self.unit, (upper + 0.5) * self.unit
            low, high = low - 0.5 * self.unit, high + 0.5 * self.unit
        lower, upper = np.where(lower <= low, -np.inf, lower), np.where(upper >= high, np.inf, upper)
        for heap, (least, most) in self.rule.limits.items():
            own = (lower <= heap) & (upper >= heap)
            lower, upper = np.where(own, np.minimum(lower, least), lower), np.where(own, np.maximum(upper, most), upper)
        return lower, upper


def noise_covariance(part: Part, model: AdditiveModel) -> Matrix:
    """The covariance of what was added: the noise, and of dates the rounding to whole days or seconds.

    Rounding to multiples of h adds an error of variance h²/12, next to uncorrelated with the value where the noise is
    as wide as h or wider (Sheppard 1898).
    """
    return model.covariance + np.diag([1.0 / 12.0 if column.kind.is_timed else 0.0 for column in part.columns])


def noisy_columns(release: Any, columns: Sequence[str] | None, recovery: str) -> list[NoisyColumn]:
    """The wanted columns of an additive release with their noise, as the manifest states it.

    All of them are those that were released on their own: no sums of others, none moved behind another.
    """
    if not isinstance(release, Release):
        raise InputError(f"{recovery} reads a release; got a {type(release).__name__}")
    part, model = release.only_part, release.only_part.model
    if not isinstance(model, AdditiveModel):
        raise NotApplicableError(f"{recovery} has no theory for a {release.method} release; it needs additive noise")
    if not is_law(model.distribution):
        raise NotApplicableError(
            f"{recovery} needs noise of a law among {', '.join(LAWS)}; the manifest says {model.distribution!r}"
        )
    known, rules = part.names, release.manifest.plausible
    shown = dict(zip(known, part.released, strict=True))
    summed = [name for name in known if shown[name] in release.manifest.sums]
    moved = [name for name in known if (rule := rules.get(shown[name])) and rule.after is not None]
    if columns is None:  # those have noise of no law of its own
        wanted = tuple(name for name in known if name not in (*summed, *moved))
    else:
        wanted = (columns,) if isinstance(columns, str) else tuple(columns)
    absent = [name for name in wanted if name not in known]
    if columns is None and not wanted:
        raise NotApplicableError(f"{recovery} needs a column that was not moved, nor released as a sum of others")
    if absent or not wanted or len(set(wanted)) < len(wanted):
        fault = f"{listed(absent)} is not among them" if absent else f"got {len(wanted)}, or one of them twice"
        raise InputError(f"columns must be one or more of the {len(known)} perturbed columns; {fault}")
    scales = np.sqrt(np.diag(model.covariance))
    places = [known.index(name) for name in wanted]
    for name in wanted:
        if name in summed:
            raise NotApplicableError(
                f"column {name!r} was released as a sum of others, whose noise is another; recover these"
            )
        if name in moved:
            raise NotApplicableError(
                f"column {name!r} was moved where it was before {rules[shown[name]].after!r}, so its noise has no law "
                "of its own; MomentRecovery uses the sums of before, which the manifest has"
            )
    return [
        NoisyColumn(
            known[j],
            part.released[j],
            NoiseLaw(model.distribution, float(scales[j])),
            _rule(part.columns[j], rules.get(part.released[j])),
        )
        for j in places
    ]


def _rule(column: Column, rule: Plausible | None) -> Plausible | None:
    """How values were made plausible; dates are rounded to whole days or seconds at least."""
    if not column.kind.is_timed or (rule is not None and rule.grain is not None):
        return rule
    return Plausible(grain=1.0) if rule is None else replace(rule, grain=1.0)
