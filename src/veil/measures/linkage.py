"""How many people were found: the rate of right links of an external table to a release (A22).

A link names one row. It is right when that row is the person's own; a person whose row has exact twins is found only
when the attacker happened to name the right twin, as it would happen to him. Without looking at the release, knowing
only that it has N rows, every row is as good as any other: the best guess finds one person in N
(:func:`linkage_baseline`). Public columns are part of the release; what they alone give away is the rate of an attack
that was granted only these.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil.arguments import whole
from veil.errors import InputError
from veil.measures.intervals import wilson
from veil.measures.measure import Measure


def linkage_rate(true_rows: npt.ArrayLike, links: npt.ArrayLike, confidence: float = 0.95) -> Measure:
    """The share of external people in the release that were linked to their own row, with a Wilson interval.

    Parameters
    ----------
    true_rows
        Each external person's row in the release; −1 for people who are not in it. They are not counted.
    links
        The row that each was linked to; −1 for none, which is wrong for a person who is there.

    The interval takes people as independent, which they are nearly: two wrong links to each other's rows go together.

    >>> linkage_rate([4, 0, 7, -1], [4, 0, 2, 5])
    0.6667 [0.2077, 0.9385] higher is exposed
    """
    truth, linked = _rows(true_rows, "true_rows"), _rows(links, "links")
    if truth.shape != linked.shape:
        raise InputError(f"links: has {linked.size} entries where true_rows has {truth.size}; pass one per person")
    there = truth >= 0
    n = int(there.sum())
    if not n:
        raise InputError("true_rows: nobody is in the release; pass at least one row of 0 or more")
    right = int((truth == linked)[there].sum())
    low, high = wilson(right, n, confidence)
    return Measure(right / n, low=low, high=high, higher_is="exposed")


def linkage_baseline(n_rows: int) -> Measure:
    """The rate of the best guess without the release's contents: 1/N.

    >>> linkage_baseline(200)
    0.005 [0.005, 0.005] higher is exposed
    """
    return Measure(1.0 / whole(n_rows, "n_rows", least=1), higher_is="exposed")


def _rows(values: npt.ArrayLike, name: str) -> npt.NDArray[np.int64]:
    try:
        rows = np.asarray(values)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise InputError(f"{name}: must be a list of whole numbers, one row (or −1) per person")
    if count := int((rows < -1).sum()):
        raise InputError(f"{name}: {count} of {rows.size} are below −1; pass rows counted from 0, or −1 for none")
    return rows.astype(np.int64)
