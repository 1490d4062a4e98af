"""How one column is recoded: classes between edges or of one width, or the parents of its categories.

A hierarchy is what offices keep beside a survey: a mapping from each value to its parent (whose parent may be in it,
too), rows of a value and its labels level by level, or a CSV file with one column per level and without a head, as ARX
writes them (separated by semicolons or commas).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veil.arguments import number, whole
from veil.data.blocks import Vector
from veil.errors import InputError
from veil.perturbations.edges import given_edges
from veil.perturbations.method import one_of

MOST_EDGES = 1_000


@dataclass(frozen=True, eq=False)
class Edges:
    """Classes between given edges; the outer ones are open."""

    edges: Vector

    def places(self, values: Vector) -> Vector:
        """The class of each value, from 0."""
        return np.searchsorted(self.edges, values, side="right").astype(np.float64)


@dataclass(frozen=True)
class Width:
    """Classes from one multiple of a width to the next.

    >>> Width(0.1).places(np.array([0.29, 0.3, 0.31])).tolist()
    [2.0, 3.0, 3.0]
    """

    width: float

    def edge(self, place: Vector) -> Vector:
        """The lower edges of classes, as decimals of 15 digits."""
        unique, at = np.unique(place, return_inverse=True)
        return np.array([float(f"{value * self.width:.15g}") for value in unique])[at]

    def places(self, values: Vector) -> Vector:
        """The number of each value's class; 0 begins at 0."""
        place = np.floor(values / self.width)
        place = place + (values >= self.edge(place + 1))
        return np.asarray(place - (values < self.edge(place)))

    def between(self, low: float, high: float) -> Edges:
        """The classes of values from ``low`` to ``high``, the first and the last of them open."""
        first, last = self.places(np.array([low, high]))
        if last - first > MOST_EDGES:
            raise InputError(f"width makes more than {MOST_EDGES:,} classes; make it larger")
        return Edges(self.edge(np.arange(first + 1, max(last, first + 1) + 1)))


@dataclass(frozen=True)
class Tree:
    """The label of each value at the chosen level."""

    parents: Mapping[str, str]


Rule = Edges | Width | Tree | None


def rule_of(name: str, *, edges: Any, width: Any, hierarchies: Any, levels: Any) -> Rule:
    """The rule that settings give to a column; None where they say nothing about it, or level 0."""
    own = [one_of(edges, name), one_of(width, name), _hierarchy_of(hierarchies, name)]
    if sum(setting is not None for setting in own) > 1:
        raise InputError(f"column {name!r} is in more than one of edges, width and hierarchies; leave it in one")
    if own[0] is not None:
        return Edges(given_edges(edges, name))
    if own[1] is not None:
        each = number(own[1], f"width of column {name!r}", least=0.0, parameter="width")
        if not each > 0:
            raise InputError(f"width of column {name!r} must be above 0")
        return Width(each)
    if own[2] is None:
        return None
    level = whole(one_of(levels, name) if isinstance(levels, Mapping) and name in levels else _all(levels), "levels")
    return Tree(at_level(own[2], level, name)) if level else None


def at_level(hierarchy: Any, level: int, name: str) -> dict[str, str]:
    """The label of every value of a hierarchy, ``level`` steps up.

    >>> at_level({"Graz": "Styria", "Leoben": "Styria", "Styria": "South"}, 2, "town")
    {'Graz': 'South', 'Leoben': 'South', 'Styria': 'South'}
    >>> at_level([["Graz", "Styria", "*"], ["Wien", "Vienna", "*"]], 1, "town")
    {'Graz': 'Styria', 'Wien': 'Vienna'}
    """
    if isinstance(hierarchy, Mapping):
        parents = {text_of(value): text_of(parent) for value, parent in hierarchy.items()}
        return {value: _ancestor(parents, value, level, name) for value in parents}
    rows = _read(hierarchy, name) if isinstance(hierarchy, str | Path) else hierarchy
    if not isinstance(rows, Sequence) or not all(
        isinstance(row, Sequence) and not isinstance(row, str) for row in rows
    ):
        raise InputError(
            f"hierarchies: column {name!r} needs a mapping from values to parents, rows with a value and its labels, "
            "or the path of a CSV file"
        )
    depths = {len(row) for row in rows}
    if len(depths) != 1 or not 1 <= level < min(depths):
        raise InputError(
            f"levels: column {name!r} must have rows of one length above {level}, the level that is asked for; its "
            f"hierarchy has {min(depths, default=0)} to {max(depths, default=0)} columns"
        )
    labels = {text_of(row[0]): text_of(row[level]) for row in rows}
    if len(labels) < len(rows):
        raise InputError(f"hierarchies: column {name!r} has {len(rows) - len(labels)} values twice; list each once")
    return labels


def depth_of(hierarchy: Any, name: str) -> int:
    """How many levels a hierarchy has above its values."""
    if isinstance(hierarchy, Mapping):
        parents = {text_of(value): text_of(parent) for value, parent in hierarchy.items()}
        return max((_steps(parents, value, name) for value in parents), default=0)
    rows = _read(hierarchy, name) if isinstance(hierarchy, str | Path) else hierarchy
    return min((len(row) for row in rows), default=1) - 1


def text_of(value: Any) -> str:
    """A value as the texts of a hierarchy have it: whole numbers without a point, truth in lower case."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _hierarchy_of(hierarchies: Any, name: str) -> Any:
    if hierarchies is None:
        return None
    if not isinstance(hierarchies, Mapping):
        raise InputError("hierarchies must be a mapping from columns to hierarchies, for example {'town': 'towns.csv'}")
    return hierarchies.get(name)


def _all(levels: Any) -> Any:
    return 1 if isinstance(levels, Mapping) else levels


def _ancestor(parents: Mapping[str, str], value: str, level: int, name: str) -> str:
    for _ in range(min(level, _steps(parents, value, name))):
        value = parents[value]
    return value


def _steps(parents: Mapping[str, str], value: str, name: str) -> int:
    steps = 0
    while value in parents and parents[value] != value:
        value, steps = parents[value], steps + 1
        if steps > len(parents):
            raise InputError(f"hierarchies: column {name!r} has values that are above themselves; take the loop out")
    return steps


def _read(path: str | Path, name: str) -> list[list[str]]:
    """The rows of a CSV file of a hierarchy."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"hierarchies: the file of column {name!r} cannot be read as text in UTF-8") from None
    first = text.partition("\n")[0]
    rows = list(csv.reader(text.splitlines(), delimiter=";" if ";" in first else ","))
    return [[cell.strip() for cell in row] for row in rows if row]
