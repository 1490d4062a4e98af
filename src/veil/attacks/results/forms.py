"""The three forms of published results, and how each is written.

A *condition* is on one column: equal to a category, or within an interval whose ends belong to it. A *rule* is
conditions and what follows from them, with its confidence and support. A *tree* has a condition at every split, and
at its leaves the shares of the categories of one column, or its mean. *Centres* are one row for each cluster: means
of numbers, and shares of categories.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.data.blocks import Matrix, Vector

Category = str | float | bool
"""A value that a column is compared with; whole numbers are numbers."""
NORMAL_QUANTILE = 1.96
"""Of the 95 % interval whose lower end ranks rules and leaves."""


def as_text(value: Category) -> str:
    """A category as a text, the same for a number however it is written.

    >>> as_text(2.0), as_text(2), as_text(True), as_text("b")
    ('2', '2', 'true', 'b')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def as_number(value: Category) -> float:
    """A category as a number, true and false as 1 and 0; NaN where it is none.

    >>> as_number("2"), as_number("true"), as_number("b")
    (2.0, 1.0, nan)
    """
    try:
        return float(value == "true") if value in ("true", "false") else float(value)
    except ValueError:
        return math.nan


def lower_bound(share: float, n: float) -> float:
    """The lower end of Wilson's 95 % interval of a share among n records.

    >>> round(lower_bound(1.0, 3.0), 2), round(lower_bound(0.9, 1_000.0), 2)
    (0.44, 0.88)
    """
    z2 = NORMAL_QUANTILE**2
    middle = share + z2 / (2.0 * n)
    half = NORMAL_QUANTILE * math.sqrt(max(share * (1.0 - share) / n, 0.0) + z2 / (4.0 * n * n))
    return max((middle - half) / (1.0 + z2 / n), 0.0)


@dataclass(frozen=True)
class Condition:
    """A column is equal to a category (``equal``), or within an interval (``low`` to ``high``, both included)."""

    column: str
    equal: Category | None = None
    low: float = -math.inf
    high: float = math.inf

    @property
    def value(self) -> Category:
        """What is guessed where the condition is a consequence: the category, or the middle of the interval."""
        return self.equal if self.equal is not None else (self.low + self.high) / 2.0

    def to_json(self) -> dict[str, Any]:
        """As in the file."""
        if self.equal is not None:
            return {"column": self.column, "is": self.equal}
        return {"column": self.column, "within": [end if math.isfinite(end) else None for end in (self.low, self.high)]}


@dataclass(frozen=True)
class Rule:
    """Whoever meets all ``conditions`` has ``then`` with a ``confidence``; ``support`` is the share who do both."""

    conditions: tuple[Condition, ...]
    then: Condition
    confidence: float
    support: float

    def bound(self, records: int) -> float:
        """The lower end of the 95 % interval of its confidence, which was counted among ``records``."""
        return lower_bound(self.confidence, max(self.support * records / self.confidence, 1.0))

    def to_json(self) -> dict[str, Any]:
        """As in the file."""
        return {
            "if": [condition.to_json() for condition in self.conditions],
            "then": self.then.to_json(),
            "confidence": self.confidence,
            "support": self.support,
        }


@dataclass(frozen=True)
class Leaf:
    """The end of a tree: ``shares`` of categories, or the ``mean`` of a number and its ``spread`` (NaN: not said).

    ``count`` is how many records came to it.
    """

    count: float
    shares: tuple[tuple[str, float], ...] = ()
    mean: float = math.nan
    spread: float = math.nan

    def to_json(self) -> dict[str, Any]:
        """As in the file."""
        if self.shares:
            return {"shares": dict(self.shares), "count": self.count}
        spread = {} if math.isnan(self.spread) else {"spread": self.spread}
        return {"mean": self.mean, "count": self.count, **spread}


@dataclass(frozen=True)
class Split:
    """A condition: who meets it goes on at ``then``, others at ``otherwise``."""

    condition: Condition
    then: Node
    otherwise: Node

    @property
    def count(self) -> float:
        """How many records came to it."""
        return self.then.count + self.otherwise.count

    def to_json(self) -> dict[str, Any]:
        """As in the file."""
        return {
            "if": self.condition.to_json(),
            "then": self.then.to_json(),
            "else": self.otherwise.to_json(),
        }


Node = Leaf | Split


@dataclass(frozen=True)
class Tree:
    """A decision tree that tells one column."""

    column: str
    root: Node

    def nodes(self) -> Iterator[Node]:
        """All splits and leaves."""
        open_nodes: list[Node] = [self.root]
        while open_nodes:
            node = open_nodes.pop()
            yield node
            if isinstance(node, Split):
                open_nodes += [node.otherwise, node.then]

    @property
    def leaves(self) -> list[Leaf]:
        """Its leaves."""
        return [node for node in self.nodes() if isinstance(node, Leaf)]

    @property
    def asked(self) -> set[str]:
        """The columns that it asks for."""
        return {node.condition.column for node in self.nodes() if isinstance(node, Split)}

    def to_json(self) -> dict[str, Any]:
        """As in the file."""
        return {"column": self.column, "root": self.root.to_json()}


@dataclass(frozen=True)
class Feature:
    """A coordinate of cluster centres: the mean of a column, or the share of a category of it."""

    column: str
    category: Category | None = None

    def to_json(self) -> Any:
        """As in the file."""
        return self.column if self.category is None else {"column": self.column, "is": self.category}


@dataclass(frozen=True, eq=False)
class Centres:
    """Cluster centres: ``rows`` K × p, ``sizes`` K, ``spreads`` K × p (standard deviations; of shares unused)."""

    features: tuple[Feature, ...]
    rows: Matrix
    sizes: Vector | None = None
    spreads: Matrix | None = None

    @property
    def columns(self) -> set[str]:
        """The columns that they are about."""
        return {feature.column for feature in self.features}

    def to_json(self) -> dict[str, Any]:
        """As in the file."""
        more = {"sizes": self.sizes, "spreads": self.spreads}
        arrays = {name: array.tolist() for name, array in more.items() if array is not None}
        return {"columns": [each.to_json() for each in self.features], "rows": self.rows.tolist(), **arrays}
