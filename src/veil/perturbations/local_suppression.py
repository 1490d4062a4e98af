"""P25: local suppression, after recoding where that is wanted.

*Model.* Keys are recoded (P23) or left as they are. Then cells of the records that are in combinations of fewer than k
are released as missing, so that every released combination of keys, a missing one being a value of its own, is that of
k records or more: k-anonymity (Samarati and Sweeney 1998; Hundepool et al. 2012, 3.2.4 on suppression). How the cells
are chosen, and why a missing cell does not count as equal to any value, is in :mod:`veil.perturbations.suppression`.

Whoever knows everybody's keys has a chance of 1/k at most to name a person's row by them. It says nothing about what
all k rows share: where their sensitive values are equal, they are known without the row (see
:func:`veil.measures.diversity`). It is about these keys alone: whatever else outsiders know counts on top of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from veil.arguments import whole
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, listed
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Perturbation
from veil.perturbations.draws import Draws, Secrets
from veil.perturbations.facts import Facts
from veil.perturbations.key_scan import coded, combined
from veil.perturbations.layout import Layout, Noise, Takes
from veil.perturbations.recoding import described, recoded, recoded_columns, rules_of
from veil.perturbations.recoding_rules import Rule
from veil.perturbations.suppression import MOST_COLUMNS, Mask, suppressed_cells
from veil.release.models import RecodedColumn, RecodedModel

Combination = tuple[Any, ...]
SUPPRESSED = "suppressed cells"
"""What the key keeps: keyed numbers of the combinations, and the columns that each of them loses."""


class LocalSuppression(Perturbation):
    """P25. Recode keys, and release cells of rare combinations as missing.

    Parameters
    ----------
    k : int, default 3
        Every released combination of keys is that of this many records or more.
    importance : list of str, optional
        The columns from the most important on, which are suppressed last. By default those with fewer values are more
        important; columns that are not listed come after those that are.
    width, edges, hierarchies, levels
        How columns are recoded before, as for :class:`veil.GlobalRecoding`; what these do not name stays as it is.
    random_state : None or int
        None draws 256 secret bits, which decide between equal costs. A seed is for tests and papers.

    Examples
    --------
    >>> import pandas as pd, veil
    >>> frame = pd.DataFrame({"sex": list("ffffmmm"), "age": [31, 34, 36, 58, 33, 37, 52]})
    >>> method = veil.LocalSuppression(k=2, width={"age": 10}, random_state=0)
    >>> plan = veil.Plan([(["sex", "age"], method)], roles={"sex": "key", "age": "key"})
    >>> release, _ = veil.publish(frame, plan)
    >>> release.data["age"].tolist()
    ['< 40', '< 40', '< 40', '>= 50', '< 40', '< 40', '>= 50']
    >>> release.table.read(["sex"]).column(0).to_pylist()
    ['f', 'f', 'f', None, 'm', 'm', None]
    """

    threat = (
        "Released: recoded keys, and which cells are missing. Secret: which values these had; the rule is public, and "
        "whoever knows everybody's keys can work out which rows can be a person's, k at the least. Other columns that "
        "outsiders know, and sensitive values that are alike in all k rows, are not covered. A value of a large cell "
        "is as open as the recoding leaves it. The guarantee is k-anonymity of these columns, no formal privacy."
    )
    catalogue = "P25"
    summary = "Recode keys, and release cells of rare combinations as missing."
    layout = Layout(Takes.KEYS, noise=Noise.NONE, combinations=True)
    headline = ("k",)
    model_: RecodedModel

    def __init__(
        self,
        k: int = 3,
        *,
        importance: Sequence[str] | None = None,
        width: Any = None,
        edges: Any = None,
        hierarchies: Mapping[str, Any] | None = None,
        levels: Any = 1,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.importance = importance
        self.width = width
        self.edges = edges
        self.hierarchies = hierarchies
        self.levels = levels
        self.random_state = random_state

    def rules(self, columns: Sequence[str]) -> list[Rule]:
        """The rule of each column that settings state."""
        return rules_of(self, columns)

    def learn(self, facts: Facts) -> RecodedModel:
        """Which cells of which combinations are suppressed, which stays secret, and how many."""
        k = whole(self.k, "k", least=2)
        names, tally = list(facts.columns), facts.scan.combinations or {}
        if len(names) > MOST_COLUMNS:
            raise InputError(
                f"LocalSuppression takes at most {MOST_COLUMNS} columns, and the part has {len(names)}; give those "
                "that outsiders know least another role"
            )
        if sum(tally.values()) < k:
            raise InputError(f"k is {k}, and the table has {sum(tally.values())} records; make it smaller")
        columns = recoded_columns(self.rules(names), facts, widths=False)
        cells, counts = list(tally), np.array(list(tally.values()), dtype=np.int64)
        codes = np.column_stack([_codes([cell[j] for cell in cells]) for j in range(len(names))])
        words = facts.secrets.generator("ties", k).words(len(cells))
        hidden = suppressed_cells(codes, counts, k, self._order(names, codes), words)
        lost = (hidden & (codes >= 0)).T @ counts
        self._remark(facts, lost, int(counts.sum()))
        shown = [_still_shown(column, cells, hidden[:, j], j) for j, column in enumerate(columns)]
        model = RecodedModel(tuple(shown), k, tuple(int(two_digits(float(n))) for n in lost))
        losing = np.flatnonzero(hidden.any(axis=1))
        named, masks = _names(facts.secrets, [cells[i] for i in losing]), hidden[losing] @ (1 << np.arange(len(names)))
        order = np.argsort(named)
        facts.secrets.matrix(SUPPRESSED, model.to_json(), lambda _: np.array([named[order], masks[order]], dtype=float))
        return model

    def perturb(self, block: Any, draws: Draws) -> Any:
        """Recoded columns without the suppressed cells."""
        names = draws.secrets.columns
        pairs = zip(block, self.rules(names), names, strict=True)
        cells, rows = combined([coded(array, rule, name) for array, rule, name in pairs])
        if draws.table != draws.secrets.table:
            raise InputError("LocalSuppression looks at all records of a table; fit it on this one")
        hidden = _masks(draws.matrix(SUPPRESSED), _names(draws.secrets, cells), len(names))[rows]
        released = []
        for j, (column, array, name) in enumerate(zip(self.model_.columns, block, names, strict=True)):
            values = recoded(column, array, name)
            released.append(values.take(_kept(hidden[:, j])))
        return released

    def describe(self) -> str:
        """The method, k, and what is recoded."""
        return described("local suppression", self, f"k {self.k}")

    def _order(self, names: list[str], codes: Any) -> list[int]:
        """Columns from the least important on."""
        given = list(self.importance or ())
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise InputError(f"importance names columns that the part does not have: {listed(unknown)}; correct it")
        values = [len(np.unique(column)) for column in codes.T]
        rank = {name: (given.index(name) if name in given else len(given), values[j]) for j, name in enumerate(names)}
        return sorted(range(len(names)), key=lambda j: rank[names[j]], reverse=True)

    def _remark(self, facts: Facts, lost: Any, n_rows: int) -> None:
        shares = [f"{name!r} {n} ({n / n_rows:.1%})" for name, n in zip(facts.columns, lost.tolist(), strict=True) if n]
        if shares:
            facts.remark(f"Cells suppressed: {', '.join(shares)}. Recode more coarsely to lose fewer.")


def _names(secrets: Secrets, cells: Sequence[Combination]) -> Vector:
    """A keyed number for each combination, below 2⁵³."""
    subkey = secrets.subkey("combinations", secrets.table)
    digests = (hashlib.blake2b(repr(cell).encode(), key=subkey[:64], digest_size=8).digest() for cell in cells)
    return np.array([int.from_bytes(digest, "little") >> 11 for digest in digests], dtype=np.float64)


def _masks(kept: Matrix, named: Vector, d: int) -> Mask:
    """Which cells of each combination are suppressed, by what the key keeps."""
    numbers, masks = kept
    if not len(numbers):
        return np.zeros((len(named), d), dtype=np.bool_)
    at = np.minimum(np.searchsorted(numbers, named), len(numbers) - 1)
    mask = np.where(numbers[at] == named, masks[at], 0.0).astype(np.int64)
    return np.asarray((mask[:, None] >> np.arange(d)) & 1 == 1)


def _codes(values: list[Any]) -> Any:
    """Numbers for values; −1 for a missing one."""
    known: dict[Any, int] = {}
    return np.array([-1 if v is None else known.setdefault(v, len(known)) for v in values], dtype=np.int64)


def _kept(hidden: Any) -> pa.Array:
    """Places of a column's cells, missing for those that are hidden."""
    return pa.array(np.arange(len(hidden)), mask=hidden)


def _still_shown(column: RecodedColumn, cells: list[Combination], hidden: Any, j: int) -> RecodedColumn:
    """Of categories that are not recoded, those that some released cell has; others would name who is suppressed."""
    if column.categories is None or column.labels is not None:
        return column
    shown = {cell[j] for cell, gone in zip(cells, hidden.tolist(), strict=True) if not gone and cell[j] is not None}
    return RecodedColumn(categories=tuple(sorted(shown)))
