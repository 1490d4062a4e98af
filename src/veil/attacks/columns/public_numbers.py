"""Public columns of a release as numbers, and those of a sample's people below them.

Numbers and truth values are taken as they are. Texts and categories of a few states are numbered: two by name, more by
the release itself, in the order in which the means of their records lie along one line, as they do for the bands of one
private column. Which end comes first is decided by the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import rankdata

from veil.attacks.base import granted
from veil.attacks.knowledge import LARGEST, Knowledge, KnownSample, Rows
from veil.attacks.posterior.others import sampled_public
from veil.data.blocks import Matrix, Vector, one_array, to_float
from veil.data.schema import Kind, kind_of
from veil.release.release import Release

MOST_STATES: Final = 64
"""Texts with more different values name groups or people."""
FEWEST: Final = 20
"""Records without which a public column says nothing."""


@dataclass(frozen=True, eq=False)
class PublicNumbers:
    """A public column.

    Attributes
    ----------
    name
        Its name.
    values
        Its number for each row of the release, NaN where it is unknown.
    sampled
        The same for each record of the sample; None where the sample does not have it.
    measured
        Whether the column holds numbers, which may be in a private column's units.
    """

    name: str
    values: Vector
    sampled: Vector | None
    measured: bool

    @property
    def rows(self) -> Rows:
        """Rows of the release where it is known."""
        return np.flatnonzero(~np.isnan(self.values))


def public_numbers(release: Release, knowledge: Sequence[Knowledge], white: Matrix) -> list[PublicNumbers]:
    """The public columns that say something of many records; ``white``: the release with unit covariance (N × k)."""
    sample = granted(knowledge, KnownSample) if release.manifest.public else None
    below = None if sample is None or sample.public is None else sampled_public(sample.public, release)
    columns = [_numbers(release, column.name, below, white) for column in release.manifest.public]
    return [column for column in columns if column is not None]


def _numbers(release: Release, name: str, below: pa.Table | None, white: Matrix) -> PublicNumbers | None:
    own = one_array(release.table.read([name]).column(0))
    other = None if below is None or below.column(name).null_count == len(below) else one_array(below.column(name))
    kind = kind_of(own.type)
    if kind.is_number:
        values, sampled = _finite(own, name), None if other is None else _finite(other, name)
    elif kind in (Kind.TEXT, Kind.CATEGORY, Kind.BOOLEAN):
        states = pc.unique(own).drop_null()
        states = states.take(pc.sort_indices(states.cast(pa.string())))
        if len(states) > MOST_STATES:
            return None
        values, sampled = _codes(own, states), None if other is None else _codes(other, states)
        if len(states) > 2:
            places = _line(values, white, len(states))
            values, sampled = _placed(values, places), None if sampled is None else _placed(sampled, places)
    else:
        return None
    known = values[~np.isnan(values)]
    if len(known) < FEWEST or known.min() == known.max():
        return None
    if sampled is not None and (~np.isnan(sampled)).sum() < FEWEST:
        sampled = None
    return PublicNumbers(name, values, sampled, kind.is_number)


def _finite(array: pa.Array, name: str) -> Vector:
    values = to_float(array, name)
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def _codes(array: pa.Array, states: pa.Array) -> Vector:
    """The place of each value among the states; NaN for nulls and values that are none of them."""
    places = pc.index_in(array, value_set=states, skip_nulls=True).fill_null(-1).to_numpy().astype(np.float64)
    return np.where(places < 0, np.nan, places)


def _placed(codes: Vector, places: Vector) -> Vector:
    known = ~np.isnan(codes)
    return np.where(known, places[np.where(known, codes, 0).astype(np.intp)], np.nan)


def _line(codes: Vector, white: Matrix, n: int) -> Vector:
    """The place of each state along the line on which the states' mean records lie."""
    known = ~np.isnan(codes)
    own = codes[known].astype(np.intp)
    counts = np.bincount(own, minlength=n).astype(np.float64)
    sums = np.zeros((n, white.shape[1]))
    np.add.at(sums, own, white[known])
    means = sums / np.maximum(counts, 1.0)[:, None]
    means -= counts @ means / counts.sum()
    axis = np.linalg.svd(means * np.sqrt(counts)[:, None], full_matrices=False)[2][0]
    along = means @ axis
    if (np.arange(n) - (n - 1) / 2) @ rankdata(along) < 0:
        along = -along
    return rankdata(along) - 1.0
