"""Models of recoded columns: classes, categories up a hierarchy, suppressed cells; and numbers with coded ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from veil.data.blocks import Matrix, Vector
from veil.release.models.base import Model, matrix, require, vector, whole

Category = str | int | bool


@dataclass(frozen=True, eq=False)
class RecodedColumn:
    """One recoded column, of one of four kinds.

    =====================  ==========================================================================
    numbers in classes     ``edges`` between the classes, ``labels`` their names
    categories             ``categories``, their ``labels`` and the ``parents``: of each its label's place
    unchanged categories   ``categories`` that are released
    unchanged numbers      nothing
    =====================  ==========================================================================
    """

    edges: Vector | None = None
    categories: tuple[Category, ...] | None = None
    labels: tuple[str, ...] | None = None
    parents: tuple[int, ...] | None = None

    @property
    def unchanged(self) -> bool:
        """Whether the cells that are released are the private ones."""
        return self.labels is None

    @property
    def released(self) -> tuple[Category, ...]:
        """What codes of the released column stand for: its labels, or its own categories."""
        return self.labels if self.labels is not None else self.categories or ()

    @property
    def channel(self) -> Matrix:
        """P[released, private] of categories: each has one label.

        >>> RecodedColumn(categories=("a", "b", "c"), labels=("x", "y"), parents=(0, 0, 1)).channel.tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        """
        n = len(self.categories or ())
        at = np.arange(n) if self.parents is None else np.array(self.parents)
        table = np.zeros((len(self.released), n))
        table[at, np.arange(n)] = 1.0
        return table

    @property
    def is_exact_number(self) -> bool:
        """Whether it holds numbers that are released as they are."""
        return self.edges is None and self.categories is None

    def to_json(self) -> dict[str, Any]:
        """What is said of the column."""
        said = {
            "edges": None if self.edges is None else self.edges.tolist(),
            "categories": None if self.categories is None else list(self.categories),
            "labels": None if self.labels is None else list(self.labels),
            "parents": None if self.parents is None else list(self.parents),
        }
        return {name: value for name, value in said.items() if value is not None}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> RecodedColumn:
        """Back from :meth:`to_json`."""
        listed = {name: tuple(raw[name]) for name in ("categories", "labels", "parents") if name in raw}
        return cls(vector(raw["edges"]) if "edges" in raw else None, **listed)

    def check(self) -> None:
        """Edges that rise and a name more than these, or a label for every category."""
        require(self.labels is None or all(isinstance(text, str) for text in self.labels))
        require(self.edges is None or self.categories is None)
        if self.edges is not None:
            require(np.isfinite(self.edges).all() and (np.diff(self.edges) > 0).all() and self.parents is None)
            require(len(self.labels or ()) == len(self.edges) + 1 >= 2)
        elif self.categories is not None:
            require(all(isinstance(value, str | int) for value in self.categories))
            require(len(set(self.categories)) == len(self.categories))
            require((self.parents is None) == (self.labels is None))
            require(self.parents is None or len(self.parents) == len(self.categories))
            require(all(whole(at) and 0 <= at < len(self.labels or ()) for at in self.parents or ()))
        else:
            require(self.labels is None and self.parents is None)


@dataclass(frozen=True, eq=False)
class RecodedModel(Model):
    """A value is released as the class or category that it belongs to (P23), or is suppressed (P25).

    Attributes
    ----------
    columns
        How each column is recoded.
    k
        Every combination of released values, a missing one being a value, is that of ``k`` records or more; None where
        nothing was suppressed.
    suppressed
        About how many cells of each column were suppressed, to two digits.
    """

    name = "recoded"
    independent_records = True
    columns: tuple[RecodedColumn, ...]
    k: int | None = None
    suppressed: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The columns, and what was suppressed."""
        columns = [column.to_json() for column in self.columns]
        if self.k is None:
            return {"columns": columns}
        return {"columns": columns, "k": self.k, "suppressed": list(self.suppressed)}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> RecodedModel:
        """Back from :meth:`to_json`."""
        columns = tuple(RecodedColumn.from_json(column) for column in raw["columns"])
        return cls(columns, raw.get("k"), tuple(raw.get("suppressed", ())))

    def check(self, d: int, k: int) -> None:
        """A rule for every column."""
        super().check(d, k)
        require(len(self.columns) == d)
        for column in self.columns:
            column.check()
        require(self.k is None or (whole(self.k) and self.k >= 2 and len(self.suppressed) == d))
        require(all(whole(n) and n >= 0 for n in self.suppressed))

    def private_categories(self) -> tuple[tuple[Category, ...] | None, ...]:
        """Of columns of categories these; None for numbers."""
        return tuple(column.categories for column in self.columns)

    def released_categories(self) -> None:
        """The method writes the released columns itself."""

    def kept_types(self, private: Sequence[pa.DataType]) -> list[pa.DataType]:
        """Labels are texts; what is unchanged keeps its type."""
        return [dtype if c.unchanged else pa.string() for dtype, c in zip(private, self.columns, strict=True)]

    @property
    def n_suppressed(self) -> int:
        """About how many cells were suppressed."""
        return sum(self.suppressed)

    def column(self, j: int) -> dict[str, Any]:
        """How one column is recoded; later releases keep the edges."""
        return self.columns[j].to_json()


@dataclass(frozen=True, eq=False)
class TopCodedModel(Model):
    """Values beyond a limit are released as one value, all others as they are (P24).

    Attributes
    ----------
    limits
        d × 2: the lower and the upper limit of each column, infinite for none.
    stand_ins
        d × 2: what is released below the lower and above the upper limit.
    kind
        What stand-ins are: the ``"limit"`` itself, or the rounded ``"mean"`` of the values that were coded.
    """

    name = "coded ends"
    independent_records = True
    limits: Matrix
    stand_ins: Matrix
    kind: str = "limit"

    def to_json(self) -> dict[str, Any]:
        """Limits and stand-ins; null for no limit."""
        return {"limits": _finite(self.limits), "released_as": _finite(self.stand_ins), "kind": self.kind}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> TopCodedModel:
        """Back from :meth:`to_json`."""
        infinite = (-np.inf, np.inf)
        limits, stand_ins = (
            matrix([[end if v is None else v for v, end in zip(row, infinite, strict=True)] for row in raw[name]])
            for name in ("limits", "released_as")
        )
        return cls(limits, stand_ins, raw["kind"])

    def check(self, d: int, k: int) -> None:
        """Limits in order, and stand-ins at them or beyond."""
        super().check(d, k)
        require(self.limits.shape == self.stand_ins.shape == (d, 2) and self.kind in ("limit", "mean"))
        require(not np.isnan(self.limits).any() and not np.isnan(self.stand_ins).any())
        require((self.limits[:, 0] < self.limits[:, 1]).all())
        require((np.isinf(self.limits) == np.isinf(self.stand_ins)).all())
        require((self.stand_ins[:, 0] <= self.limits[:, 0]).all() and (self.stand_ins[:, 1] >= self.limits[:, 1]).all())

    def coded(self, x: Matrix) -> Matrix:
        """Private values (records × columns) as they are released.

        >>> model = TopCodedModel(np.array([[-np.inf, 90.0]]), np.array([[-np.inf, 94.0]]), "mean")
        >>> model.coded(np.array([[30.0], [90.0], [103.0]])).ravel().tolist()
        [30.0, 90.0, 94.0]
        """
        (low, high), (below, above) = self.limits.T, self.stand_ins.T
        return np.asarray(np.where(x > high, above, np.where(x < low, below, x)))

    def column(self, j: int) -> dict[str, Any]:
        """The limits of one column, which later releases keep."""
        return {"limits": _finite(self.limits[j : j + 1])[0], "released_as": _finite(self.stand_ins[j : j + 1])[0]}


def _finite(rows: Matrix) -> list[list[float | None]]:
    return [[float(v) if np.isfinite(v) else None for v in row] for row in rows]
