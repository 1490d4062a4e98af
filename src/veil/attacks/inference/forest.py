"""A random forest whose leaves count all released rows, and can count them without one's own (A29).

Every tree learns its splits on a small sample of rows (Breiman 2001; samples without replacement, Bühlmann and Yu
2002), and its leaves then count the classes of *all* rows, so that few and shallow trees use the whole release: on
Adult, 10 trees of 2,000 rows guess as much right as 100 full ones, in less than a tenth of the time. A number's splits
follow the number of its class, a category's Gini's impurity.

*Without a row.* The same forest had row r not been there: trees whose splits saw r are left out, and r is taken out of
its leaves. Fewer trees guess worse, and that must not be taken for what the row itself tells. So everybody else is
guessed without the trees that saw some other row, and the number of trees is the same. Who has no row has one answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from veil.attacks.inference.hidden import Beliefs, Codes, Hidden
from veil.data.blocks import Matrix

TREES: Final = 10
"""Trees that a person is guessed by, on average."""
SPLITTING: Final = 2_000
"""Rows that a tree learns its splits on; at most half of all, so that no row is in every tree."""
LEAF: Final = 8
"""Of these, the fewest in a leaf."""
FEWEST_ROWS: Final = 4 * LEAF
"""Rows below which there is nothing to split."""

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class _Tree:
    """Splits, the leaf of every row, rows and shares of classes in each leaf, and rows that splits were learned on."""

    splits: Any
    leaves: npt.NDArray[np.intp]
    sizes: npt.NDArray[np.float32]
    shares: Beliefs
    seen: npt.NDArray[np.bool_]


class Forest:
    """Beliefs in the classes of one column, given features of rows (N × p)."""

    def __init__(self, features: Matrix, column: Hidden) -> None:
        from sklearn import config_context
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        self._column, self._trees = column, list[_Tree]()
        self._there = there = np.flatnonzero(column.codes >= 0)
        if len(there) < FEWEST_ROWS:
            return
        x = features.astype(np.float32)
        kind = DecisionTreeRegressor if column.numeric else DecisionTreeClassifier
        size, rng = min(SPLITTING, len(there) // 2), np.random.default_rng(0)
        with config_context(skip_parameter_validation=True, assume_finite=True):
            for _ in range(math.ceil(TREES / (1.0 - size / len(there)))):
                rows = np.sort(rng.choice(there, size, replace=False))
                state = int(rng.integers(2**31))
                tree = kind(min_samples_leaf=LEAF, max_features=0.5, random_state=state)
                splits = tree.fit(x[rows], column.codes[rows], check_input=False).tree_
                leaves = splits.apply(x)
                cells = leaves[there] * column.n_classes + column.codes[there]
                counts = np.bincount(cells, minlength=splits.node_count * column.n_classes)
                seen = np.zeros(len(x), dtype=np.bool_)
                seen[rows] = True
                table = counts.reshape(splits.node_count, column.n_classes).astype(np.float32)
                sizes = table.sum(axis=1)
                shares = table / np.maximum(sizes, 1.0)[:, None]
                self._trees.append(_Tree(splits, leaves, sizes, shares, seen))

    def beliefs(self, at: Matrix, own: Rows | None = None) -> Beliefs:
        """Beliefs about people with such features; ``own`` are rows to be left out, one for each, −1 for none."""
        total = np.zeros((len(at), self._column.n_classes), dtype=np.float32)
        points, n_used = at.astype(np.float32), np.zeros(len(at), dtype=np.float32)
        # Whose trees are left out instead of one's own must not depend on the order of people: alike ones, the same.
        alike = np.unique(points, axis=0, return_inverse=True)[1].ravel()
        others = self._there[alike % len(self._there)] if self._trees else alike
        for tree in self._trees:
            leaves = tree.splits.apply(points)
            shares = tree.shares[leaves]
            used = ~tree.seen[others]
            if own is not None:
                used = np.where(own >= 0, _leave_out(tree, shares, leaves, self._column.codes, own), used)
            total += shares * used[:, None]
            n_used += used
        total /= np.maximum(n_used, 1.0)[:, None]
        total[n_used == 0] = self._column.shares()
        return total


def _leave_out(
    tree: _Tree, shares: Beliefs, leaves: npt.NDArray[np.intp], codes: Codes, own: Rows
) -> npt.NDArray[np.bool_]:
    """Take own rows out of the shares of people's leaves, in place; whether the tree is to be used for each of them.

    With a share c/n of a class, that without one of its rows is (c − 1)/(n − 1), and of another class c/(n − 1).
    """
    there = own >= 0
    counted = np.flatnonzero(there & (codes[own] >= 0) & (tree.leaves[own] == leaves))
    left = tree.sizes[leaves[counted]] - 1.0
    shares[counted] *= np.divide(left + 1.0, left, out=np.zeros_like(left), where=left > 0)[:, None]
    shares[counted, codes[own[counted]]] -= np.divide(1.0, left, out=np.zeros_like(left), where=left > 0)
    used = ~tree.seen[own]
    used[counted[left <= 0]] = False
    return np.asarray(used)
