"""Marks of a row: what a release shows of it without noise, and nobody knows of a person without a row (A28).

Which cells are empty, the pseudonym and the place in a file are released as they are. Rows with the same mark are a
group, of which others may tell (:mod:`veil.attacks.posterior.relatives`):

* *pseudonyms*: equal ones; as frequent ones (the size of a household, the number of visits); those that stand as deep
  in a hierarchy that two columns of one domain spell, and whether anybody stands below;
* *gaps*: the leaves of trees of means over empty cells (Breiman et al. 1984), learned on one half of the rows;
* *places*: the row's number modulo a period, found by the autocorrelation (Box and Jenkins 1970), and its place among
  rows of the same public value, with their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.posterior.observations import Codes, Draft
from veil.data.blocks import Matrix, Vector, one_array
from veil.numerics.ordering import row_order
from veil.release.manifest import Manifest, RowOrder
from veil.release.models import PseudonymModel
from veil.release.release import Release

Mask = npt.NDArray[np.bool_]
MOST_FREQUENT, DEEPEST = 30, 30
"""From where on pseudonyms are equally frequent, and the deepest places of a hierarchy."""
FEWEST_ROWS, LEAF, LEAVES = 200, 20, (4, 8, 16, 64)
"""Rows for a tree, rows of a leaf, and leaves: of few, those that tell most."""
LONGEST, PERIODS = 100, 2
"""The longest period, and how many are tried."""
MOST_PLACES = 20
"""Places in a group, and sizes of groups, that are told apart."""


def row_groups(release: Release, draft: Draft, present: Mask) -> list[Codes]:
    """Groups of rows by their marks; ``present`` says which cells are not empty (N × d)."""
    keys = [_codes(release, name) for name in pseudonyms(release.manifest)]
    seen = _standard([number.z for number in draft.numbers if number.place >= 0 and number.known is None])
    groups = [each for codes in keys for each in (codes, _frequencies(codes))]
    groups += _hierarchies(release)
    groups += _gap_leaves(present, seen)
    if release.manifest.row_order is not RowOrder.SHUFFLED:
        repeated = [*keys, *(_codes(release, column.name) for column in release.manifest.public)]
        groups += [_places(codes) for codes in repeated]
        groups += [draft.rows % period for period in _periods(seen)]
    return [codes for codes in groups if 1 < len(np.unique(codes)) <= draft.n_rows / 2]


def pseudonyms(manifest: Manifest) -> tuple[str, ...]:
    """The released columns of pseudonyms."""
    return tuple(name for part in manifest.parts if isinstance(part.model, PseudonymModel) for name in part.released)


def pseudonyms_repeat(release: Release) -> bool:
    """Whether two pseudonyms are equal, in one column or in two."""
    columns = [one_array(release.table.read([name]).column(0)).drop_null() for name in pseudonyms(release.manifest)]
    for kind in {column.type for column in columns}:
        every = pa.concat_arrays([column for column in columns if column.type == kind])
        if len(pc.unique(every)) < len(every):
            return True
    return False


def _codes(release: Release, name: str) -> Codes:
    """A number for each value of a released column; a missing one is a value."""
    array = one_array(release.table.read([name]).column(0))
    codes: Codes = pc.dictionary_encode(array, null_encoding="encode").indices.to_numpy().astype(np.int64)
    return codes


def _standard(columns: Sequence[Vector]) -> Matrix:
    """What is seen of numbers, in standard deviations from the mean; 0 where nothing is."""
    scaled = []
    for z in columns:
        there = np.isfinite(z)
        if there.sum() > 1 and z[there].std() > 0:
            scaled.append(np.where(there, (z - z[there].mean()) / z[there].std(), 0.0))
    return np.column_stack(scaled) if scaled else np.empty((len(columns[0]) if columns else 0, 0))


def _frequencies(codes: Codes) -> Codes:
    """How often the value of each row occurs."""
    return np.minimum(np.bincount(codes)[codes], MOST_FREQUENT)


def _hierarchies(release: Release) -> Iterator[Codes]:
    """For two pseudonymised columns of one domain: how deep a row stands, and whether others stand below it."""
    names = pseudonyms(release.manifest)
    arrays = {name: one_array(release.table.read([name]).column(0)) for name in names if len(names) > 1}
    for name, above in permutations(arrays, 2):
        if arrays[name].type != arrays[above].type:
            continue
        parent = pc.index_in(arrays[above], value_set=arrays[name]).fill_null(-1).to_numpy().astype(np.int64)
        n, found = len(parent), parent >= 0
        if not found.any():
            continue
        below = np.bincount(parent[found], minlength=n) > 0
        up = np.where(found, parent, np.arange(n))
        depth, at = np.zeros(n, dtype=np.int64), np.arange(n)
        for _ in range(DEEPEST):
            depth += up[at] != at
            at = up[at]
        yield 2 * depth + below


def _gap_leaves(present: Mask, seen: Matrix) -> Iterator[Codes]:
    """Leaves of a tree that tells what is seen by which other cells are empty."""
    varying = present[:, (present.mean(axis=0) > 0) & (present.mean(axis=0) < 1)]
    if not varying.shape[1] or not seen.shape[1] or len(seen) < FEWEST_ROWS:
        return
    from sklearn.tree import DecisionTreeRegressor

    half = row_order(seen)[::2]
    order = np.lexsort(varying[row_order(seen)][::-1])
    gaps = np.ascontiguousarray(varying[:, order], dtype=np.float32)
    for leaves in LEAVES:
        tree = DecisionTreeRegressor(min_samples_leaf=LEAF, max_leaf_nodes=leaves, random_state=0)
        yield tree.fit(gaps[half], seen[half]).apply(gaps).astype(np.int64)


def _places(codes: Codes) -> Codes:
    """The place of every row among those of its group, in the order of the file, with the size of the group."""
    order = np.argsort(codes, kind="stable")
    size = np.bincount(codes)
    place = np.empty(len(codes), dtype=np.int64)
    place[order] = np.arange(len(codes)) - np.repeat(np.r_[0, np.cumsum(size)[:-1]], size)
    return MOST_PLACES * np.minimum(place, MOST_PLACES - 1) + np.minimum(size[codes], MOST_PLACES - 1)


def _periods(seen: Matrix) -> list[int]:
    """Periods at whose multiples rows resemble each other most, by the autocorrelation of all columns."""
    n = len(seen)
    if not seen.shape[1] or n < 4 * LONGEST:
        return []
    spectrum = np.abs(np.fft.rfft(seen, 2 * n, axis=0)) ** 2
    correlation = np.fft.irfft(spectrum, axis=0)[: 2 * LONGEST + 1] / n
    score = {}
    for period in range(2, LONGEST + 1):
        at = np.arange(period, 2 * LONGEST + 1, period)
        score[period] = float((correlation[at].mean(axis=0) * np.sqrt(len(at))).max())
    return sorted(score, key=lambda period: (-score[period], period))[:PERIODS]
