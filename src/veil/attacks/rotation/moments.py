"""A27: pairwise rotations undone by what normalization promises (ours; against Ketel and Homaifar's RBT).

*Model.* P5: ``y = R z``, z normalized columns, R a product of rotations of pairs by secret angles. Normalized columns
have variance 1, or reach from 0 to 1, exactly: the release alone shows the pairs and their angles, and so all
normalized values up to order and sign inside each pair (:mod:`veil.attacks.rotation.unturned`).

Centres and widths of the columns are secret. Known records give them (two unknowns for each column, so two records,
and a third to choose among the quarter turns); so do ranges, and roughly a sample. Without these the guess is right up
to scale. A column that is known of everybody settles the quarter turn of its pair, and so the order and the sign of the
column that it was turned with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ks_2samp

from veil.attacks.base import Details, Guess, GuessingAttack, check_rows, check_width, full_guess, granted
from veil.attacks.knowledge import Knowledge, KnownAttributes, KnownPairs, KnownRanges, KnownSample
from veil.attacks.rotation.unturned import EXACT, Group, unturned
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.release.models import Model, NormalizedRotationModel
from veil.release.release import Release


@dataclass(frozen=True, eq=False)
class MomentsDetails(Details):
    """The groups of columns that were turned together, and their normalized values as they were guessed."""

    groups: tuple[tuple[int, ...], ...]
    normalized: Matrix


class RotationMomentsAttack(GuessingAttack):
    """A27. Undo a pairwise rotation by the variances or ranges that normalized columns must have.

    Notes
    -----
    It needs no knowledge to find the rotation; :class:`KnownPairs` (two records and more), :class:`KnownRanges` or
    :class:`KnownSample` bring the columns' own units; :class:`KnownAttributes` settle order and sign in their pairs.
    ``guess.details``: ``groups``, ``normalized``.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).gamma(2.0, size=(300, 4)) @ (np.eye(4) + 0.5)
    >>> release, _ = veil.publish(x, veil.PairwiseRotation(random_state=0))
    >>> guess = veil.RotationMomentsAttack().run(release, veil.KnownPairs(x[:3], range(3)))
    >>> bool(np.allclose(guess.values, x))
    True
    """

    catalogue = "A27"
    words = "turns pairs of columns back by the variances or ranges that normalized columns must have"
    uses = (KnownPairs, KnownRanges, KnownSample, KnownAttributes)
    one_matrix = True

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Rotations of normalized columns."""
        return isinstance(model, NormalizedRotationModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        model, y = release.only_part.model, release.to_numpy()
        if not isinstance(model, NormalizedRotationModel):
            raise NotApplicableError("the manifest does not describe a rotation of normalized columns")
        groups = unturned(y, model.normalize)
        if groups is None:
            raise NotApplicableError(
                "the columns do not fall into pairs: they were turned more than once, or not at all"
            )
        evidence = _evidence(release, len(y), knowledge)
        normalized, values = np.empty_like(y), np.empty_like(y)
        for group in groups:
            at = list(group.columns)
            normalized[:, at] = min(group.candidates, key=lambda z: _against(z, group, model.normalize, evidence))
            for j in at:
                known = evidence.columns.get(j)
                values[:, j] = _in_units(normalized[:, j], j, model.normalize, evidence) if known is None else known
        details = MomentsDetails(tuple(group.columns for group in groups), normalized)
        placed = evidence.pairs is not None or evidence.ranges is not None or evidence.sample is not None
        up_to = () if placed else ("order", "sign", "scale")
        return full_guess(release, values, details, ambiguity="none" if placed else ", ".join(up_to), up_to=up_to)


@dataclass(frozen=True)
class _Evidence:
    """What is known beside the release; of pairs at least two."""

    pairs: KnownPairs | None
    ranges: tuple[Vector, Vector] | None
    sample: KnownSample | None
    columns: dict[int, Vector]


def _evidence(release: Release, n_rows: int, knowledge: Sequence[Knowledge]) -> _Evidence:
    pairs, sample = granted(knowledge, KnownPairs), granted(knowledge, KnownSample)
    if pairs is not None:
        check_width(pairs.records, release, "KnownPairs.records")
        check_rows(pairs.rows, n_rows)
    if sample is not None:
        check_width(sample.sample, release, "KnownSample.sample")
    enough, ranges = pairs is not None and len(pairs.rows) > 1, granted(knowledge, KnownRanges)
    limits = None if ranges is None else ranges.for_columns(len(release.only_part.names))
    known, names = granted(knowledge, KnownAttributes), release.only_part.names
    columns: dict[int, Vector] = {}
    if known is not None:
        if len(known.values) != n_rows:
            raise InputError(f"KnownAttributes has {len(known.values)} records; the release has {n_rows}")
        columns = {names.index(c): v for c, v in zip(known.columns, known.values.T, strict=True) if c in names}
    return _Evidence(pairs if enough else None, limits, sample, columns)


def _against(z: Matrix, group: Group, normalize: str, evidence: _Evidence) -> float:
    """What speaks against a candidate: how badly known columns or records fit, or how far a sample's law is from it."""
    total = 0.0
    for column, j in zip(z.T, group.columns, strict=True):
        known = evidence.columns.get(j)
        if known is not None and np.ptp(known) > 0:
            total += 10.0 * (1.0 - float(np.corrcoef(column, known)[0, 1]))
        elif evidence.pairs is not None:
            records, known = evidence.pairs.records[:, j], column[evidence.pairs.rows]
            width, centre = _line(known, records) or (0.0, float(records.mean()))
            spread = float(np.ptp(records)) or 1.0
            total += float(np.abs(centre + width * known - records).max()) / spread + (1.0 if width <= 0 else 0.0)
        elif evidence.sample is not None:
            total += float(ks_2samp(_in_units(column, j, normalize, evidence), evidence.sample.sample[:, j]).statistic)
        else:  # what people earn, own or count is skewed to the right
            total -= 1e-3 * float(np.mean((column - column.mean()) ** 3))
    return total


def _line(z: Vector, records: Vector) -> tuple[float, float] | None:
    """Slope and intercept of the regression of records on a normalized column; None where it is constant on them."""
    if np.ptp(z) <= EXACT:
        return None
    centred = z - z.mean()
    slope = float(centred @ records / (centred @ centred))
    return slope, float(records.mean() - slope * z.mean())


def _in_units(z: Vector, j: int, normalize: str, evidence: _Evidence) -> Vector:
    """A normalized column in its own units; normalized where nothing tells them."""
    if evidence.pairs is not None:
        line = _line(z[evidence.pairs.rows], evidence.pairs.records[:, j])
        if line is not None:
            return np.asarray(line[1] + line[0] * z)
    if evidence.ranges is not None:
        lower, upper = evidence.ranges
        return np.asarray(lower[j] + (z - z.min()) * (upper[j] - lower[j]) / np.ptp(z))
    if evidence.sample is not None:
        column = evidence.sample.sample[:, j]
        if normalize == "zscore":
            return np.asarray(column.mean() + column.std() * z)
        return np.asarray(column.min() + np.ptp(column) * z)
    return z
