"""Columns with one noise per group, for what other rows tell (A28): a group is one observation for all its rows.

*Model.* Where a column is constant within groups, its noise is one draw per group (``groups`` of a part in the
manifest). Members show it again: their mean has all of that draw, and a prediction by them would pass the row's own
noise off as something that others say. So of these columns every group counts once, and is predicted by other groups:
those of the same public value or mark, and neighbours in an order, in which a group stands where its first row does.
Columns that vary within groups have draws of their own and are averaged over members.

Where noise correlates over columns, that of the other columns has a share in common within a group, and they are
treated alike. That is cautious: what a member's own draw leaves is not averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.posterior.observations import Codes
from veil.data.blocks import Matrix, one_array
from veil.release.manifest import Manifest, Part
from veil.release.models import AdditiveModel, LogNormalModel
from veil.release.release import Release

Rows = npt.NDArray[np.intp]
T = TypeVar("T", np.int64, np.float64)


@dataclass(frozen=True, eq=False)
class Units:
    """Rows that show one draw of noise, as units in the order of their first rows; a sample's records stand below.

    ``codes`` is the unit of every row, ``first`` the first row of every unit.
    """

    codes: Codes
    first: Rows

    @classmethod
    def of(cls, release: Release, name: str, n_sampled: int) -> Units:
        """The groups of a column of pseudonyms; rows without one, and a sample's records, are units by themselves."""
        pseudonyms = pc.dictionary_encode(one_array(release.table.read([name]).column(0))).indices
        codes = pseudonyms.fill_null(-1).to_numpy().astype(np.int64)
        codes = np.r_[codes, np.full(n_sampled, -1)]
        alone = codes < 0
        codes[alone] = len(codes) + np.arange(alone.sum())
        _, first, units = np.unique(codes, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return cls(rank[units], np.sort(first).astype(np.intp))

    def n_among(self, n: int) -> int:
        """How many units the first n rows have."""
        return int((self.first < n).sum())

    def seen(self, z: Matrix) -> Matrix:
        """What is seen of each unit: its complete row, all of which are alike; NaN for none."""
        values = np.full((len(self.first), z.shape[1]), np.nan)
        complete = np.isfinite(z).all(axis=1)
        values[self.codes[complete]] = z[complete]
        return values

    def of_rows(self, values: npt.NDArray[T]) -> npt.NDArray[T]:
        """What is known of the units' first rows."""
        return values[self.first[self.first < len(values)]]

    def order(self, rows: Rows) -> Rows:
        """An order of rows as one of units, each where its first row is."""
        firsts = rows[np.isin(rows, self.first)]
        return self.codes[firsts].astype(np.intp)


def shared_by(manifest: Manifest) -> dict[str, str]:
    """Of each private column whose noise rows of a group share, wholly or in part, the pseudonyms that tell groups."""
    shared: dict[str, str] = {}
    for part in manifest.parts:
        shared.update(part.groups)
        if part.groups and _correlates(part):
            widest = next(iter(part.groups.values()))
            shared.update(dict.fromkeys(part.names, widest))
    return shared


def units_of(release: Release, n_sampled: int) -> dict[str, Units]:
    """The units of each column of pseudonyms that tells which rows share noise."""
    names = dict.fromkeys(shared_by(release.manifest).values())
    return {name: Units.of(release, name, n_sampled) for name in names if count_rows(release)}


def unit_name(shared: dict[str, str], names: Sequence[str]) -> str:
    """The pseudonyms of the groups that show columns together only once; empty where every row says more."""
    groups = {shared.get(name, "") for name in names}
    return groups.pop() if len(groups) == 1 else ""


def _correlates(part: Part) -> bool:
    """Whether the noise of a part correlates over columns."""
    model = part.model
    if not isinstance(model, AdditiveModel | LogNormalModel):
        return False
    covariance = model.covariance
    return bool((covariance - np.diag(np.diag(covariance))).any())
