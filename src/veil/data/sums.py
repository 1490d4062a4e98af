"""Sums along a fixed binary tree, so that any engine rounds alike.

Leaves are numbered; the k-th leaf's place depends on k alone. Whoever adds the leaves ``[0, 2^j)``,
``[2^j, 2·2^j)``, ... apart and puts the sums together, in one thread, in several or on a cluster,
makes the same additions in the same order.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar


class Summable(Protocol):
    """Anything that can be added to its like."""

    def __add__(self, other: Any, /) -> Any:
        """Both together."""


S = TypeVar("S", bound=Summable)


class Tree(Generic[S]):
    """Adds leaves in their order, keeping one sum per level.

    >>> tree = Tree[str]()
    >>> for leaf in "abcde":
    ...     tree.push(leaf)
    >>> tree.result()
    'abcde'
    """

    def __init__(self) -> None:
        self._levels: list[S | None] = []

    def push(self, node: S, level: int = 0) -> None:
        """Add the next leaf, or the sum of the next ``2^level`` leaves."""
        while len(self._levels) <= level:
            self._levels.append(None)
        while level < len(self._levels):
            held = self._levels[level]
            if held is None:
                self._levels[level] = node
                return
            node, self._levels[level] = held + node, None
            level += 1
        self._levels.append(node)

    def extend(self, other: Tree[S]) -> None:
        """Add a tree over the leaves that come next; all but the last tree hold the same power of two of them."""
        for level in reversed(range(len(other._levels))):
            node = other._levels[level]
            if node is not None:
                self.push(node, level)

    def result(self) -> S | None:
        """The sum of everything added so far; None when nothing was."""
        total: S | None = None
        for node in self._levels:
            if node is not None:
                total = node if total is None else node + total
        return total
