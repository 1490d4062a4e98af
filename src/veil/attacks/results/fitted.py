"""Published results of fitted models: scikit-learn's decision trees and k-means, and frequent itemsets.

Models are read by their fitted attributes, so that scikit-learn need not be loaded. Coordinates that stand for one
category of a column (one-hot) are named by a pair: the column and the category.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from veil.attacks.results.forms import Centres, Condition, Feature, Leaf, Node, Rule, Split, Tree, as_text
from veil.attacks.results.reading import DEEPEST, read_centres
from veil.errors import InputError

Coordinates = Sequence[str | tuple[str, str | float | bool]]
"""What a model's inputs are: columns, or a column and a category of it for each one-hot input."""


def features_of(model: Any, columns: Coordinates | None, width: int) -> tuple[Feature, ...]:
    """The inputs of a model: those that are named, else those that it was fitted with."""
    names = getattr(model, "feature_names_in_", None) if columns is None else columns
    if names is None:
        raise InputError(f"columns must name the {width} columns that the model was fitted with; it was given none")
    features = tuple(Feature(each) if isinstance(each, str) else Feature(*each) for each in names)
    if len(features) != width:
        raise InputError(f"columns must name the {width} columns that the model was fitted with; got {len(features)}")
    return features


def tree_of(model: Any, column: str, columns: Coordinates | None) -> Tree:
    """A fitted DecisionTreeClassifier, DecisionTreeRegressor or :class:`veil.NoisyTreeClassifier` as published."""
    if hasattr(getattr(model, "tree_", None), "tree_"):  # R5 holds a tree of scikit-learn's
        features_in = getattr(model, "feature_names_in_", None)
        columns, model = features_in if columns is None and features_in is not None else columns, model.tree_
    nodes = getattr(model, "tree_", None)
    if nodes is None or getattr(model, "n_outputs_", 1) != 1:
        raise InputError(
            "model must be a fitted decision tree of one output; fit a DecisionTreeClassifier or -Regressor"
        )
    if nodes.max_depth > DEEPEST:
        raise InputError(f"model must be at most {DEEPEST} splits deep; give it a max_depth")
    features = features_of(model, columns, int(model.n_features_in_))
    classes = [as_text(each) for each in getattr(model, "classes_", np.empty(0)).tolist()]
    squared = getattr(model, "criterion", "") in ("squared_error", "friedman_mse")
    done: dict[int, Node] = {}
    for i in reversed(range(nodes.node_count)):  # children come after their parents
        values, count = nodes.value[i, 0], float(nodes.weighted_n_node_samples[i])
        if nodes.children_left[i] != nodes.children_right[i]:
            below, above = done.pop(int(nodes.children_left[i])), done.pop(int(nodes.children_right[i]))
            done[i] = _split(features[int(nodes.feature[i])], float(nodes.threshold[i]), below, above)
        elif classes:
            shares = zip(classes, (values / values.sum()).tolist(), strict=True)
            done[i] = Leaf(count, tuple(sorted((name, share) for name, share in shares if share > 0)))
        else:
            spread = math.sqrt(max(float(nodes.impurity[i]), 0.0)) if squared else math.nan
            done[i] = Leaf(count, (), float(values[0]), spread)
    return Tree(column, done[0])


def _split(feature: Feature, threshold: float, below: Node, above: Node) -> Split:
    if feature.category is not None:
        return Split(Condition(feature.column, feature.category), above, below)
    return Split(Condition(feature.column, None, -math.inf, threshold), below, above)


def centres_of(model: Any, columns: Coordinates | None, spreads: Any) -> Centres:
    """The centres of a fitted k-means, or an array of centres with one row for each cluster."""
    rows = np.asarray(getattr(model, "cluster_centers_", model))
    if rows.ndim != 2 or rows.dtype.kind not in "iuf":
        raise InputError("model must be a fitted k-means, or a table of centres with one row for each cluster")
    features = features_of(model, columns, rows.shape[1])
    labels = getattr(model, "labels_", None)
    sizes = None if labels is None else np.bincount(labels, minlength=len(rows)).astype(np.float64)
    raw = {"columns": list(features), "rows": rows, "sizes": None if sizes is None else sizes.tolist()}
    return read_centres({**raw, "spreads": None if spreads is None else np.asarray(spreads).tolist()}, "centres")


def rules_of(itemsets: Sequence[Any], names: Sequence[str], column: str) -> tuple[Rule, ...]:
    """Rules for one item, of frequent itemsets with ``items`` (places) and ``estimate`` (their support).

    Of each itemset with the item and the same without it come two rules: the item is there, or it is not.
    """
    if column not in names:
        raise InputError(f"column must be one of the {len(names)} items that names has")
    item = list(names).index(column)
    supports = {tuple(sorted(each.items)): min(max(float(each.estimate), 0.0), 1.0) for each in itemsets}
    rules = []
    for items, support in sorted(supports.items()):
        rest = tuple(each for each in items if each != item)
        whole = supports.get(rest, 0.0) if rest else 1.0
        if item not in items or whole <= 0:
            continue
        conditions = tuple(Condition(names[each], 1.0) for each in rest)
        there = min(support / whole, 1.0)
        for value, confidence in ((1.0, there), (0.0, 1.0 - there)):
            if confidence > 0:
                rules.append(Rule(conditions, Condition(column, value), confidence, confidence * whole))
    return tuple(rules)
