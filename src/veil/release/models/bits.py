"""Models of records of zeros and ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from veil.release.models.base import Model, require, whole


@dataclass(frozen=True, eq=False)
class BinaryProjectionModel(Model):
    """``u = R x mod 2`` on 0/1 records: R is a secret k × d matrix of ones with probability ``p``."""

    name = "binary-projection"
    methods = ("binary-projection",)
    n_components: int
    p: float

    def to_json(self) -> dict[str, Any]:
        """The number of bits and the probability of a one in R."""
        return {"n_components": self.n_components, "p": self.p}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> BinaryProjectionModel:
        """Back from :meth:`to_json`."""
        return cls(raw["n_components"], raw["p"])

    def n_released(self, d: int) -> int:
        """One column for each row of R."""
        return self.n_components

    def check(self, d: int, k: int) -> None:
        """A probability of at most a quarter."""
        super().check(d, k)
        require(whole(self.n_components) and isinstance(self.p, int | float) and 0 < self.p <= 0.25)


@dataclass(frozen=True, eq=False)
class BasketModel(Model):
    """Transactions of 0 and 1, randomized by a public law (P19); what a kind does not use is None.

    ``kind`` "mask": an item of the transaction is reported with probability ``keep``, any other with ``insert``, each
    by itself. "select": j uniform on 0…``cutoff``, min(j, m) of the m items kept, chosen uniformly, and every other
    item there with probability ``insert``; the last released column is m. "gamma": of all 2^``n_items`` patterns the
    true one is reported with probability γx, any other with x = 1/(γ + 2^n − 1).
    """

    name = "basket"
    methods = ("market-basket",)
    independent_records = True
    kind: str
    n_items: int
    keep: float | None = None
    insert: float | None = None
    cutoff: int | None = None
    gamma: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The kind, the number of items and the law."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> BasketModel:
        """Back from :meth:`to_json`."""
        return cls(**raw)

    def n_released(self, d: int) -> int:
        """The items; with "select", also the size."""
        return d + (self.kind == "select")

    def released_types(self, usual: pa.DataType, d: int, k: int) -> list[pa.DataType]:
        """Bits for the items, a whole number for the size."""
        return [usual] * d + [pa.int64()] * (k - d)

    def check(self, d: int, k: int) -> None:
        """A law that says something and not everything."""
        super().check(d, k)
        require(whole(self.n_items) and self.n_items == d)
        if self.kind == "gamma":
            require(_number(self.gamma) and 1 < self.gamma < np.inf)  # type: ignore[operator]
            return
        require(_number(self.insert) and 0 < self.insert < 1)  # type: ignore[operator]
        if self.kind == "mask":
            require(_number(self.keep) and 0 < self.keep < 1 and self.keep != self.insert)  # type: ignore[operator]
            return
        require(self.kind == "select" and whole(self.cutoff) and 1 <= self.cutoff <= 20)  # type: ignore[operator]


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
