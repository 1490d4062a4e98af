"""P23: global recoding.

*Model.* Every value of a column is released as the class or category that it belongs to: numbers as the class between
edges or of one width, categories as their parent so many levels up a hierarchy (Hundepool et al. 2012, 3.2.3). The
recoding is *global*: equal values are released alike wherever they occur, and the rule is public. Numbers in classes
are P17's, and have its model. A hierarchy is the owner's own and is published whole; classes of one width begin at a
multiple of it, and the outer ones are open, so that they tell the least and the greatest value to a class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import to_float
from veil.data.schema import Kind, kind_of
from veil.errors import InputError, listed
from veil.perturbations.base import Perturbation
from veil.perturbations.categories import category_rank
from veil.perturbations.draws import Draws
from veil.perturbations.edges import class_names
from veil.perturbations.facts import Facts
from veil.perturbations.key_scan import as_texts
from veil.perturbations.layout import Layout, Noise, Takes
from veil.perturbations.recoding_rules import Edges, Rule, Tree, Width, rule_of, text_of
from veil.release.models import ClassModel, Model, RecodedColumn, RecodedModel

CLASSES = 10
"""Classes of about so many widths fill the range of a column that no setting speaks of."""


class GlobalRecoding(Perturbation):
    """P23. Release the class of a number, or the parent of a category.

    Parameters
    ----------
    width : float, or dict of floats by column, optional
        Numbers are released as classes from one multiple of the width to the next.
    edges : list, or dict of lists by column, optional
        Numbers are released as the class between these edges.
    hierarchies : dict by column, optional
        Of each column of categories (texts, whole numbers, or true and false) a mapping from values to parents, a list
        of rows (a value and its label at every level), or the path of a CSV file of such rows, without a head.
    levels : int, or dict of ints by column, default 1
        How many levels up the hierarchy; 0 leaves the column as it is.
    random_state : None or int
        Not used: the method is not random.

    A column of numbers that no setting names gets about ten classes of a round width.

    Examples
    --------
    >>> import pandas as pd, veil
    >>> frame = pd.DataFrame({"age": [31, 38, 52], "town": ["Graz", "Leoben", "Wien"]})
    >>> towns = {"Graz": "Styria", "Leoben": "Styria", "Wien": "Vienna"}
    >>> method = veil.GlobalRecoding(width={"age": 10}, hierarchies={"town": towns})
    >>> plan = veil.Plan([(["age", "town"], method)], roles={"age": "key", "town": "key"})
    >>> release, _ = veil.publish(frame, plan)
    >>> release.data["age"].tolist(), release.data["town"].tolist()
    (['< 40', '< 40', '>= 50'], ['Styria', 'Styria', 'Vienna'])
    """

    threat = (
        "Released: the class or parent of each value; the rule is public, a hierarchy whole. Nothing is secret: within "
        "a class all values look alike, and everybody knows the class. Of a sensitive column a class in which one "
        "value is frequent is as good as the value (A20, A28). Keys that are still unique when recoded tell whose "
        "record it is (A22); LocalSuppression takes care of these. There is no formal guarantee."
    )
    catalogue = "P23"
    summary = "Release the class of a number, or the parent of a category."
    layout = Layout(Takes.KEYS, noise=Noise.NONE)
    headline = ("width", "levels")
    model_: Model

    def __init__(
        self,
        *,
        width: Any = None,
        edges: Any = None,
        hierarchies: Mapping[str, Any] | None = None,
        levels: Any = 1,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.edges = edges
        self.hierarchies = hierarchies
        self.levels = levels
        self.random_state = random_state

    def rules(self, columns: Sequence[str]) -> list[Rule]:
        """The rule of each column that settings state."""
        return rules_of(self, columns)

    def learn(self, facts: Facts) -> Model:
        """The classes, given or rounded, and the labels of categories."""
        open_columns = [
            name
            for name, rule, texts, quantiles in zip(
                facts.columns,
                self.rules(facts.columns),
                facts.scan.categories or (),
                facts.scan.quantiles or (),
                strict=True,
            )
            if rule is None and texts and not len(quantiles) and not _level_zero(self, name)
        ]
        if open_columns:
            raise InputError(
                f"{listed(open_columns)}: a column of categories has no hierarchy; state one in hierarchies, or take "
                "it out of the part"
            )
        columns = recoded_columns(self.rules(facts.columns), facts, widths=True)
        if all(column.edges is not None for column in columns):
            edges = tuple(column.edges for column in columns if column.edges is not None)
            return ClassModel(edges, tuple(column.labels or () for column in columns))
        return RecodedModel(columns)

    def describe(self) -> str:
        """The method without the rows of its hierarchies."""
        return described("global recoding", self)

    def perturb(self, block: Any, draws: Draws) -> Any:
        """The classes and labels of a block's values."""
        if isinstance(self.model_, ClassModel):
            pairs = zip(self.model_.edges, block, draws.secrets.columns, strict=True)
            return [class_places(edges, array, name) for edges, array, name in pairs]
        assert isinstance(self.model_, RecodedModel)  # noqa: S101 - learned above
        pairs_of = zip(self.model_.columns, block, draws.secrets.columns, strict=True)
        return [recoded(column, array, name) for column, array, name in pairs_of]


def rules_of(settings: Any, columns: Sequence[str]) -> list[Rule]:
    """The rules that a method's settings ``width``, ``edges``, ``hierarchies`` and ``levels`` give to columns."""
    for setting in (settings.width, settings.edges, settings.hierarchies, settings.levels):
        unknown = sorted(set(setting) - set(columns)) if isinstance(setting, Mapping) else []
        if unknown:
            raise InputError(f"the recoding names columns that the part does not have: {listed(unknown)}; correct them")
    named = {"edges": settings.edges, "width": settings.width}
    apart = {
        name: {
            key: value if isinstance(value, Mapping) or name not in (settings.hierarchies or {}) else None
            for key, value in named.items()
        }
        for name in columns
    }
    return [rule_of(name, **apart[name], hierarchies=settings.hierarchies, levels=settings.levels) for name in columns]


def recoded_columns(rules: Sequence[Rule], facts: Facts, *, widths: bool) -> tuple[RecodedColumn, ...]:
    """What the model says of each column; ``widths``: numbers without a rule get classes of a round width."""
    return tuple(_recoded_column(rule, facts, j, widths=widths) for j, rule in enumerate(rules))


def _recoded_column(rule: Rule, facts: Facts, j: int, *, widths: bool) -> RecodedColumn:
    name, quantiles = facts.columns[j], (facts.scan.quantiles or ())[j]
    counts = (facts.scan.categories or ())[j]
    is_number = len(quantiles) > 0 or not counts
    if isinstance(rule, Tree):
        return _labelled(rule, counts, name, numbers=is_number)
    if rule is None and not (is_number and widths):
        return (
            RecodedColumn()
            if is_number
            else RecodedColumn(categories=tuple(sorted(v for v in counts if v is not None)))
        )
    if not len(quantiles):
        raise InputError(f"{name!r}: every value is missing; give the role drop, or fill it")
    low, high = float(quantiles[0]), float(quantiles[-1])
    if name in facts.fixed and "edges" in facts.fixed[name]:
        rule = Edges(np.array(facts.fixed[name]["edges"]))
    if rule is None:
        rule = Width(round_width((high - low) / CLASSES or 1.0))
    if isinstance(rule, Width):
        rule = rule.between(low, high)
    return RecodedColumn(edges=rule.edges, labels=tuple(class_names(rule.edges)))


def _labelled(rule: Tree, counts: Mapping[Any, int], name: str, *, numbers: bool) -> RecodedColumn:
    """Categories and their labels; whole numbers are listed by the hierarchy as numbers."""
    if numbers:
        try:
            leaves: list[Any] = [int(text) for text in rule.parents]
        except ValueError:
            raise InputError(f"hierarchies: column {name!r} holds numbers, and its hierarchy lists others") from None
    else:
        truth = all(isinstance(value, bool) for value in counts if value is not None)
        leaves = [text == "true" if truth else text for text in rule.parents]
        outside = sum(n for value, n in counts.items() if value is not None and text_of(value) not in rule.parents)
        if outside:
            raise InputError(
                f"column {name!r} has {outside} values that its hierarchy does not list; add them to the hierarchy"
            )
    categories = tuple(sorted(leaves, key=category_rank))
    labels = tuple(sorted(set(rule.parents.values())))
    place = {label: at for at, label in enumerate(labels)}
    return RecodedColumn(
        categories=categories, labels=labels, parents=tuple(place[rule.parents[text_of(v)]] for v in categories)
    )


def recoded(column: RecodedColumn, array: pa.Array, name: str) -> pa.Array:
    """The released values of a block's column."""
    if column.labels is None:
        return array
    labels = pa.array(list(column.labels), type=pa.string())
    if column.edges is not None:
        places = class_places(column.edges, array, name)
        return labels.take(pa.array(places, from_pandas=True).cast(pa.int64()))
    texts = as_texts(array, name)
    known = pa.array([text_of(value) for value in column.categories or ()], type=pa.string())
    at = pc.index_in(texts, value_set=known, skip_nulls=True)
    outside = at.null_count - texts.null_count
    if outside:
        raise InputError(
            f"column {name!r} has {outside} values that its hierarchy does not list; add them to the hierarchy"
        )
    return labels.take(pa.array(column.parents or (), type=pa.int64()).take(at))


def class_places(edges: Any, array: pa.Array, name: str) -> Any:
    """The number of each value's class, NaN where it is missing."""
    values = np.array(to_float(array, name)) if kind_of(array.type) is Kind.NUMERIC else np.full(len(array), np.nan)
    return np.where(np.isnan(values), np.nan, np.searchsorted(edges, values, side="right"))


def round_width(width: float) -> float:
    """The nearest width of 1, 2 or 5 times a power of ten.

    >>> round_width(6.3), round_width(0.0123), round_width(1_900.0)
    (5.0, 0.01, 2000.0)
    """
    power = 10.0 ** np.floor(np.log10(width))
    steps = np.array([1.0, 2.0, 5.0, 10.0])
    return float(f"{steps[np.argmin(np.abs(np.log(steps) - np.log(width / power)))] * power:.15g}")


def described(name: str, method: Any, *more: str) -> str:
    """The method in one line: how many columns are recoded, and by what."""
    said = list(more)
    if method.width is not None:
        said.append(f"width {method.width}" if not isinstance(method.width, Mapping) else _of(method.width, "width"))
    if method.edges is not None:
        said.append("given edges")
    if method.hierarchies:
        said.append(
            f"levels {method.levels}" if not isinstance(method.levels, Mapping) else _of(method.levels, "level")
        )
    return f"{name} ({', '.join(said)})" if said else name


def _of(setting: Mapping[str, Any], word: str) -> str:
    return ", ".join(f"{name} {word} {value}" for name, value in setting.items())


def _level_zero(method: Any, name: str) -> bool:
    """Whether a column of categories is left as it is by level 0."""
    level = method.levels.get(name, 1) if isinstance(method.levels, Mapping) else method.levels
    return name in (method.hierarchies or {}) and level == 0
