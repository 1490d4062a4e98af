"""What is known of every record exactly, for the joint posterior (A28): public columns, granted attributes, gaps.

A number is taken as it is and bent at its quartiles; one with few different values, and a category, also as a variable
and as 0/1 numbers of its states. So a prior of one component, which is linear in what is known, has group means and
smooth curves, and one of several components may let its groups differ freely.

Who holds a sample knows the public columns of its people too. Columns are read with the sample's values below those of
the release; units, quartiles and states are the release's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.knowledge import LARGEST
from veil.attacks.posterior.observations import Codes, Draft, Label, Number, Shown, Variable
from veil.data.blocks import Vector, one_array, to_float
from veil.data.schema import Kind, kind_of
from veil.release.release import Release

FEW_VALUES = 24
"""A number with at most as many different values is also taken as a variable."""
FEWEST_PER_FEATURE = 20
"""Records for each function of a covariate that a prior learns."""
MOST_STATES = 64
"""Texts with more different values than this name groups or people: only equal ones of a sample say something."""

PATTERN = "missing values"
NOTHING: npt.NDArray[np.bool_] = np.empty((0, 0), dtype=bool)


def add_public(draft: Draft, release: Release, name: str, sampled: pa.Table | None = None) -> None:
    """A column that is released as it is; ``sampled`` are public columns of a sample's records."""
    array, everybody = with_sampled(release, name), with_sampled(release, name, sampled)
    kind = kind_of(array.type)
    if kind.is_number:
        read = partial(_numbers, name)
        add_covariate(draft, name, read(Shown({name: everybody}, NOTHING)), read=read)
    elif kind in (Kind.TEXT, Kind.CATEGORY, Kind.BOOLEAN):
        listing = pc.unique(array).drop_null()
        listing = listing.take(pc.sort_indices(listing))
        read_codes = partial(_listed, name, listing)
        _add_states(draft, name, read_codes(Shown({name: everybody}, NOTHING)), len(listing), read=read_codes)


def with_sampled(release: Release, name: str, sampled: pa.Table | None = None) -> pa.Array:
    """A public column, and below it that of a sample's records."""
    array = one_array(release.table.read([name]).column(0))
    return array if sampled is None else pa.concat_arrays([array, one_array(sampled.column(name))])


def add_pattern(draft: Draft, present: npt.NDArray[np.bool_]) -> None:
    """Which values a record has (N × d), which is public and often tells of people: who has no income is a child."""
    patterns, codes, counts = np.unique(present, axis=0, return_inverse=True, return_counts=True)
    frequent = np.flatnonzero(counts >= FEWEST_PER_FEATURE)
    if len(patterns) < 2 or not len(frequent):
        return
    states = np.full(len(patterns), len(frequent), dtype=np.int64)  # rare patterns are one state
    states[frequent] = np.arange(len(frequent))
    states = np.unique(states, return_inverse=True)[1]
    before = len(draft.numbers)
    rare = int(states.max()) if len(frequent) < len(patterns) else -1
    known = {pattern.tobytes(): int(state) for pattern, state in zip(patterns, states, strict=True)}
    read = partial(_patterns, known, rare)
    _add_states(draft, PATTERN, states[codes.ravel()], int(states.max()) + 1, read=read)
    draft.numbers[before:] = [replace(number, own_row=True) for number in draft.numbers[before:]]
    draft.variables[:] = [replace(each, own_row=True) if each.names == (PATTERN,) else each for each in draft.variables]


def add_covariate(
    draft: Draft, name: str, values: Vector, place: int = -1, read: Callable[[Shown], Vector] | None = None
) -> None:
    """Numbers that are known exactly; as a covariate also by its groups, or bent at its quartiles.

    ``read`` says what the values of other rows are.
    """
    own = values[: draft.n_rows]
    own = own[~np.isnan(own)]
    levels = np.unique(own)
    if len(levels) < 2:
        return
    draft.add([exact_number(draft, name, values, place=place, read=read)], np.zeros((1, 1)))
    if place >= 0 or len(levels) == 2:
        return
    if len(levels) <= FEW_VALUES:
        read_codes = None if read is None else partial(_levels, levels, read)
        _add_states(draft, name, _level_codes(levels, values), len(levels), first=2, read=read_codes)
    else:
        for quartile in np.quantile(own, (0.25, 0.5, 0.75)):
            bent = None if read is None else partial(_bent, float(quartile), read)
            _add_feature(draft, name, np.maximum(values - quartile, 0.0), bent)


def _add_states(
    draft: Draft, name: str, codes: Codes, n: int, first: int = 1, read: Callable[[Shown], Codes] | None = None
) -> None:
    """A covariate of few states: as a variable, and the states from ``first`` on as 0/1 numbers."""
    own, sampled = codes[: draft.n_rows], codes[draft.n_rows :]
    if not 1 < n <= min(MOST_STATES, max(len(own) // FEWEST_PER_FEATURE, 2)):
        if n > 1 and (sampled >= 0).any():
            draft.labels.append(Label(own, sampled))
        return
    below = sampled if len(sampled) else None
    draft.variables.append(Variable((name,), own, np.eye(n), np.arange(n)[:, None], (-1,), sampled=below, read=read))
    draft.codes[name] = own
    for state in range(first, n):
        belongs = None if read is None else partial(_in_state, state, read)
        _add_feature(draft, name, _states_of(codes, state), belongs)


def _add_feature(draft: Draft, name: str, values: Vector, read: Callable[[Shown], Vector] | None = None) -> None:
    features, own = sum(number.feature for number in draft.numbers), values[: draft.n_rows]
    if np.nanmin(own) < np.nanmax(own) and features < len(own) // FEWEST_PER_FEATURE:
        draft.add([exact_number(draft, name, values, feature=True, read=read)], np.zeros((1, 1)))


def exact_number(
    draft: Draft,
    name: str,
    values: Vector,
    *,
    place: int = -1,
    feature: bool = False,
    read: Callable[[Shown], Vector] | None = None,
) -> Number:
    """A number without noise; the sample's values stand below those of the release."""
    own, sampled = values[: draft.n_rows], values[draft.n_rows :]
    below = sampled if len(sampled) else None
    return Number(name, place, own, known=own, feature=feature, sampled=below, read=read)


def _numbers(name: str, shown: Shown) -> Vector:
    """A public number."""
    values = to_float(shown.public[name], name)
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def _listed(name: str, listing: pa.Array, shown: Shown) -> Codes:
    """The place of a public text in a list; −1 for one that is not there."""
    codes: Codes = pc.index_in(shown.public[name], value_set=listing, skip_nulls=True).fill_null(-1).to_numpy()
    return codes.astype(np.int64)


def _level_codes(levels: Vector, values: Vector) -> Codes:
    """The place of a number among few; −1 for another."""
    at = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
    return np.where(levels[at] == values, at, -1).astype(np.int64)


def _levels(levels: Vector, read: Callable[[Shown], Vector], shown: Shown) -> Codes:
    return _level_codes(levels, read(shown))


def _bent(quartile: float, read: Callable[[Shown], Vector], shown: Shown) -> Vector:
    return np.maximum(read(shown) - quartile, 0.0)


def _states_of(codes: Codes, state: int) -> Vector:
    return np.where(codes < 0, np.nan, codes == state)


def _in_state(state: int, read: Callable[[Shown], Codes], shown: Shown) -> Vector:
    return _states_of(read(shown), state)


def _patterns(known: Mapping[bytes, int], rare: int, shown: Shown) -> Codes:
    """The states of sets of present values; ``rare`` for those that were not seen."""
    patterns, codes = np.unique(shown.present, axis=0, return_inverse=True)
    states = np.array([known.get(pattern.tobytes(), rare) for pattern in patterns], dtype=np.int64)
    return states[codes.ravel()]
