"""The support of a compound variable: which combinations of categories several columns can have together (P16).

The support is published with the release. A list of the combinations that occur would be a list of the distinct
private records, so it comes from what is declared, or is the product of the columns' categories.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.errors import InputError

MOST_COMPOUND = 2_000
FEW = 5
"""Records from which a combination's own share may be told."""

Support = tuple[tuple[int, ...], ...]


def checked_combinations(declared: Any, n_columns: int) -> list[tuple[Any, ...]] | None:
    """Declared combinations as plain tuples; None where none are declared."""
    if declared is None:
        return None
    rule = f"combinations must be a list of 2 to {MOST_COMPOUND:,} tuples, one category for each of {n_columns} columns"
    if not _listing(declared):
        raise InputError(rule)
    if not 2 <= len(declared) <= MOST_COMPOUND:
        raise InputError(f"{rule}; got {len(declared):,}")
    plain = []
    for number, given in enumerate(declared):
        if not _listing(given) or len(given) != n_columns:
            raise InputError(f"{rule}; number {number} is none")
        values = tuple(value.item() if isinstance(value, np.generic) else value for value in given)
        if not all(isinstance(value, str | int | None) for value in values):
            raise InputError(f"{rule}; number {number} has another kind of value")
        plain.append(values)
    twice = len(plain) - len(set(plain))
    if twice:
        raise InputError(f"combinations lists {twice} of its {len(plain):,} tuples twice; list each once")
    return plain


def _listing(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def compound_support(
    declared: Sequence[tuple[Any, ...]] | None,
    columns: Sequence[str],
    categories: Sequence[Sequence[Any]],
    counts: Mapping[Any, int],
) -> Support:
    """The combinations as codes of the columns' categories, sorted: the declared ones, or all.

    ``counts``: how many records have each; they must be among the declared ones.
    """
    if declared is None:
        size = math.prod(len(c) for c in categories)
        if size > MOST_COMPOUND:
            raise InputError(
                f"joint randomizes at most {MOST_COMPOUND:,} combinations as one variable; the categories of these "
                f"{len(columns)} columns have {size:,}: randomize fewer columns together, or declare combinations"
            )
        return tuple(product(*(range(len(c)) for c in categories)))
    places = [{value: i for i, value in enumerate(c)} for c in categories]
    for name, place, values in zip(columns, places, zip(*declared, strict=True), strict=True):
        unknown = sum(value not in place for value in values)
        if unknown:
            raise InputError(
                f"combinations: {unknown} have a value that is none of the {len(place)} categories of column {name!r}; "
                "declare categories that hold it"
            )
    outside = sum(counts.values()) - sum(counts.get(combination, 0) for combination in declared)
    if outside:
        raise InputError(
            f"combinations: {outside} records have none of the {len(declared)} declared ones; add what is missing, or "
            "recode the columns"
        )
    return tuple(sorted(tuple(p[value] for p, value in zip(places, each, strict=True)) for each in declared))


def pooled_counts(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Counts in which combinations of few records share their sum, so that none says whether it occurs.

    >>> pooled_counts(np.array([40, 1, 0, 3, 9])).round(2).tolist()
    [40.0, 1.33, 1.33, 1.33, 9.0]
    """
    rare = counts < FEW
    return np.where(rare, counts[rare].mean() if rare.any() else 0.0, counts)
