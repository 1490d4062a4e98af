"""Published results from the values of a JSON file, checked: every error says where, by which rule, and what to do.

::

    {"format": "veil published results", "version": 1, "records": 2000,
     "rules": [{"if": [{"column": "age", "within": [60, null]}, {"column": "smoker", "is": "yes"}],
                "then": {"column": "illness", "is": "asthma"}, "confidence": 0.8, "support": 0.05}],
     "trees": [{"column": "illness", "root": {"if": {"column": "age", "within": [null, 59.5]},
                "then": {"counts": {"asthma": 30, "none": 970}}, "else": {"shares": {"asthma": 0.2, "none": 0.8},
                "count": 1000}}}],
     "centres": [{"columns": ["age", {"column": "smoker", "is": "yes"}, "income"],
                  "rows": [[30, 0.2, 21.5], [70, 0.1, 18.0]], "sizes": [1200, 800], "spreads": [9, 0, 4]}]}

A leaf of a number has ``mean``, ``count`` and, if published, ``spread`` (the standard deviation). ``records`` is how
many the rules were counted among. ``sizes`` and ``spreads`` may be left out; ``spreads`` are for all clusters, or for
each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from veil.attacks.results.forms import Category, Centres, Condition, Feature, Leaf, Node, Rule, Split, Tree, as_text
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError

DEEPEST = 200
"""Splits between the root of a tree and a leaf."""
LARGEST = 1e140
"""Beyond this, squares leave float64."""
SLACK, ROUNDING = 1e-6, 0.01
"""By which shares of a leaf may miss a sum of 1, in float64 and as they are printed."""
T = TypeVar("T")


class Fields:
    """The fields of a JSON object; errors say where it stands."""

    def __init__(self, raw: Any, where: str, allowed: tuple[str, ...]) -> None:
        if not isinstance(raw, Mapping):
            raise InputError(f"{where} must be an object with {', '.join(allowed)}; got {_shown(raw)}")
        for name in raw:
            if name not in allowed:
                raise InputError.from_unknown_name(f"field of {where}", name, allowed)
        self.raw, self.where = raw, where

    def __contains__(self, name: str) -> bool:
        return self.raw.get(name) is not None

    def needed(self, name: str) -> Any:
        """A field that must be there."""
        if self.raw.get(name) is None:
            raise InputError(f"{self.where} lacks {name!r}; add it")
        return self.raw[name]

    def text(self, name: str) -> str:
        """A text that is not empty."""
        value = self.needed(name)
        if not isinstance(value, str) or not value:
            raise InputError(f"{self.where}: {name} must be a text; got {_shown(value)}")
        return value

    def number(self, name: str, rule: str, right: Callable[[float], bool]) -> float:
        """A finite number by a rule."""
        value = self.needed(name)
        if not _is_number(value) or not right(float(value)):
            raise InputError(f"{self.where}: {name} must be {rule}; got {_shown(value)}")
        return float(value)

    def each(self, name: str, read: Callable[[Any, str], T], noun: str) -> tuple[T, ...]:
        """A list, read one by one; nothing where it is left out."""
        value = self.raw.get(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise InputError(f"{self.where}: {name} must be a list; got {_shown(value)}")
        return tuple(read(item, f"{self.where}: {noun} {i}" if noun else self.where) for i, item in enumerate(value, 1))


def read_condition(raw: Any, where: str) -> Condition:
    """A condition: ``column`` and either ``is`` or ``within``."""
    if isinstance(raw, Condition):
        return raw
    fields = Fields(raw, where, ("column", "is", "within"))
    column = fields.text("column")
    if ("is" in fields) == ("within" in fields):
        raise InputError(f"{where} must have one of 'is' (a category) and 'within' (two ends); it has both or none")
    if "is" in fields:
        return Condition(column, _category(fields.raw["is"], f"{where}: is"))
    ends = fields.raw["within"]
    if not isinstance(ends, list | tuple) or len(ends) != 2 or not all(e is None or _is_number(e) for e in ends):
        raise InputError(f"{where}: within must be two numbers, or null for an end that is open; got {_shown(ends)}")
    low, high = (float(sign * math.inf if end is None else end) for end, sign in zip(ends, (-1, 1), strict=True))
    if low > high:
        raise InputError(f"{where}: within must rise; its first end is above the second: swap them")
    return Condition(column, None, low, high)


def read_rule(raw: Any, where: str) -> Rule:
    """A rule; one without conditions holds of everybody."""
    if isinstance(raw, Rule):
        return raw
    fields = Fields(raw, where, ("if", "then", "confidence", "support"))
    conditions = fields.each("if", read_condition, "condition")
    then = read_condition(fields.needed("then"), f"{where}: then")
    if then.equal is None and not math.isfinite(then.low + then.high):
        raise InputError(f"{where}: then must have both ends of its interval; an open one says no value")
    if then.column in {condition.column for condition in conditions}:
        raise InputError(f"{where}: then is about {then.column!r}, which its conditions are about; leave those out")
    names, rule = ("confidence", "support"), "a share above 0 and at most 1"
    shares = [fields.number(name, rule, lambda v: 0 < v <= 1) for name in names]
    if shares[1] > shares[0] * (1 + ROUNDING):
        raise InputError(
            f"{where}: support must not be above confidence; it is the share of all records that meet the conditions "
            "and have what follows"
        )
    return Rule(conditions, then, *shares)


def read_tree(raw: Any, where: str) -> Tree:
    """A tree: ``column`` and ``root``."""
    if isinstance(raw, Tree):
        return raw
    fields = Fields(raw, where, ("column", "root"))
    column = fields.text("column")
    tree = Tree(column, _node(fields.needed("root"), f"{where}: root", 0))
    if column in tree.asked:
        raise InputError(f"{where} tells {column!r} and asks for it; a tree must not ask for what it tells")
    if len({bool(leaf.shares) for leaf in tree.leaves}) > 1:
        raise InputError(f"{where} has leaves with shares and leaves with a mean; all must be of one kind")
    return tree


def _node(raw: Any, where: str, depth: int) -> Node:
    if depth > DEEPEST:
        raise InputError(f"{where.rpartition(': ')[0]} has more than {DEEPEST} splits one below the other; cut it")
    if isinstance(raw, Mapping) and "if" in raw:
        fields = Fields(raw, where, ("if", "then", "else"))
        condition = read_condition(raw["if"], f"{where}: if")
        then, otherwise = (_node(fields.needed(n), f"{where}.{n}", depth + 1) for n in ("then", "else"))
        return Split(condition, then, otherwise)
    fields = Fields(raw, where, ("counts", "shares", "count", "mean", "spread"))
    if sum(name in fields for name in ("counts", "shares", "mean")) != 1:
        raise InputError(f"{where} must be a split ('if', 'then', 'else') or have one of 'counts', 'shares' and 'mean'")
    if "counts" in fields:
        counts = _by_category(fields, "counts")
        total = sum(counts.values())
        if not total:
            raise InputError(f"{where}: counts must have a sum above 0; leave the empty leaf out")
        return Leaf(total, tuple((name, n / total) for name, n in counts.items()))
    count = fields.number("count", "a number above 0", lambda v: v > 0)
    if "mean" in fields:
        mean = fields.number("mean", f"a number within ±{LARGEST:g}", lambda _: True)
        spread = math.nan
        if "spread" in fields:
            spread = fields.number("spread", "a number of at least 0", lambda v: v >= 0)
        return Leaf(count, (), mean, spread)
    shares = _by_category(fields, "shares")
    total = sum(shares.values())
    if abs(total - 1.0) > ROUNDING:
        raise InputError(f"{where}: shares must have the sum 1; it is {total:.3g}")
    exact = abs(total - 1.0) <= SLACK
    return Leaf(count, tuple((name, share if exact else share / total) for name, share in shares.items()))


def _by_category(fields: Fields, name: str) -> dict[str, float]:
    raw = fields.needed(name)
    right = isinstance(raw, Mapping) and raw and all(_is_number(v) and v >= 0 for v in raw.values())
    if not right:
        raise InputError(
            f"{fields.where}: {name} must be numbers of at least 0, one for each category; got {_shown(raw)}"
        )
    return {as_text(category): float(value) for category, value in sorted(raw.items(), key=lambda each: str(each[0]))}


def read_centres(raw: Any, where: str) -> Centres:
    """Cluster centres: ``columns`` and ``rows``."""
    if isinstance(raw, Centres):
        return raw
    fields = Fields(raw, where, ("columns", "rows", "sizes", "spreads"))
    features = fields.each("columns", _feature, "column")
    p = len(features)
    if not p or len({(each.column, each.category is None or as_text(each.category)) for each in features}) < p:
        raise InputError(f"{where}: columns must name one or more columns, or categories of them, each once")
    if len({(each.column, each.category is None) for each in features}) > len({each.column for each in features}):
        raise InputError(f"{where}: columns must name a column, or categories of it, and not both")
    rows = _matrix(fields.needed("rows"), f"{where}: rows", p)
    for j, feature in enumerate(features):
        if feature.category is not None and not ((rows[:, j] >= 0) & (rows[:, j] <= 1)).all():
            raise InputError(f"{where}: rows must have shares from 0 to 1 of a category of {feature.column!r}")
    sizes: Vector | None = None
    if "sizes" in fields:
        sizes = _matrix([fields.raw["sizes"]], f"{where}: sizes", len(rows))[0]
        if not (sizes > 0).all():
            raise InputError(f"{where}: sizes must be above 0; {int((sizes <= 0).sum())} are not: leave those rows out")
    spreads = _spreads(fields.raw["spreads"], f"{where}: spreads", rows) if "spreads" in fields else None
    return Centres(features, rows, sizes, spreads)


def _spreads(raw: Any, where: str, rows: Matrix) -> Matrix:
    """One row for all clusters, or one for each."""
    each = isinstance(raw, list | tuple) and len(raw) > 0 and isinstance(raw[0], list | tuple)
    spreads = _matrix(raw if each else [raw], where, rows.shape[1])
    if len(spreads) not in (1, len(rows)) or not (spreads >= 0).all():
        raise InputError(f"{where} must be at least 0, in one row for all clusters or in {len(rows)}, one for each")
    return np.broadcast_to(spreads, rows.shape).copy()


def _feature(raw: Any, where: str) -> Feature:
    if isinstance(raw, Feature):
        return raw
    if isinstance(raw, str) and raw:
        return Feature(raw)
    fields = Fields(raw, where, ("column", "is"))
    return Feature(fields.text("column"), _category(fields.needed("is"), f"{where}: is"))


def _matrix(raw: Any, where: str, width: int) -> Matrix:
    try:
        array = np.asarray(raw)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.ndim != 2 or not len(array) or array.shape[1] != width or array.dtype.kind not in "iuf":
        raise InputError(f"{where} must be numbers, {width} in each row")
    matrix = array.astype(np.float64)
    wrong = int((~(np.abs(matrix) <= LARGEST)).sum())
    if wrong:
        raise InputError(f"{where} must be finite; {wrong} are not: leave out their columns or rows")
    return matrix


def _category(value: Any, where: str) -> Category:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | bool):
        return value
    if not _is_number(value):
        raise InputError(f"{where} must be a text, a number, or true or false; got {_shown(value)}")
    return float(value)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    size: Any = abs(value)
    return bool(size <= LARGEST)


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    kinds = {"str": "a text", "dict": "an object", "list": "a list", "int": "another number", "float": "another number"}
    return kinds.get(type(value).__name__, f"a {type(value).__name__}")
