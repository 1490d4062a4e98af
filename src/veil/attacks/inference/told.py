"""What published results say about people, one hidden column at a time (A23).

Each form gives a value for every person and how sure it is: the probability that the guess hits, or a lower bound of
it. Where several results tell a column, a person is guessed by the surest.

*Rules.* Of the rules whose conditions are all known to hold, the one with the highest lower end of its confidence's
95 % interval (Wilson), so that a rule of three records does not beat one of a thousand; of equally good ones, the one
with more conditions. To whom no rule applies, the consequence with the largest support is guessed, with no certainty.

*Trees.* The leaf that a person comes to. Where a split asks for what is not known of the person, both branches are
followed, weighed by how many records went there: a mixture of leaves, P(h | what is known) if the columns that are
asked for below do not depend on the known ones.

*Centres.* See :mod:`veil.attacks.inference.clusters`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from veil.attacks.inference.known_values import KnownPeople
from veil.attacks.results import Leaf, Node, Rule, Tree
from veil.attacks.results.forms import Category, lower_bound
from veil.data.blocks import Vector

Code = Callable[[Category], float]
"""A category or number of the hidden column as it is guessed; NaN for one that the column does not have."""


@dataclass(frozen=True, eq=False)
class Told:
    """Guesses of one column, NaN for none; how sure each is, and of whom a result says anything."""

    values: Vector
    certainty: Vector

    @property
    def covered(self) -> float:
        """The share of people about whom a result says something with any certainty."""
        return float(np.mean((self.certainty > 0) & ~np.isnan(self.values))) if len(self.values) else 0.0


def surest(told: Sequence[Told]) -> Told:
    """Of each person the surest guess, the first of equally sure ones."""
    values, certainty = (np.array([getattr(each, name) for each in told]) for name in ("values", "certainty"))
    rank = np.where(np.isnan(values), -1.0, certainty)
    best, people = rank.argmax(axis=0), np.arange(values.shape[1])
    return Told(values[best, people], certainty[best, people])


def by_rules(rules: Sequence[Rule], records: int, people: KnownPeople, code: Code) -> Told:
    """By the applicable rule of the highest lower bound of its confidence."""
    values, certainty = np.full(people.n, np.nan), np.zeros(people.n)
    meant = [(rule, code(rule.then.value)) for rule in rules]
    meant = [(rule, value) for rule, value in meant if not np.isnan(value)]
    if not meant:
        return Told(values, certainty)
    usual = max(meant, key=lambda each: (each[0].support, -each[1]))[1]
    for rule, value in sorted(meant, key=lambda each: (-each[0].bound(records), -len(each[0].conditions), each[1])):
        applies = np.isnan(values)
        for condition in rule.conditions:
            applies &= people.holds(condition)[0]
        values[applies], certainty[applies] = value, rule.bound(records)
    return Told(np.where(np.isnan(values), usual, values), certainty)


def by_tree(tree: Tree, people: KnownPeople, code: Code, tolerance: float, *, aim_at_mean: bool) -> Told:
    """By the leaf of each person, or by several where a split asks for what is not known."""
    if tree.leaves[0].shares:
        return _by_shares(tree, people, code)
    return _by_means(tree, people, tolerance, aim_at_mean=aim_at_mean)


def _by_shares(tree: Tree, people: KnownPeople, code: Code) -> Told:
    names = sorted({name for leaf in tree.leaves for name, _ in leaf.shares})
    at, codes = {name: j for j, name in enumerate(names)}, np.array([code(name) for name in names])
    shares, counts = np.zeros((people.n, len(names))), np.zeros(people.n)
    for leaf, rows, weights in _reached(tree.root, people):
        for name, share in leaf.shares:
            shares[rows, at[name]] += weights * share
        counts[rows] += weights * leaf.count
    shares[:, np.isnan(codes)] = 0.0  # categories that the column does not have
    best, everybody = shares.argmax(axis=1), np.arange(people.n)
    top = shares[everybody, best]
    certainty = np.array([lower_bound(min(p, 1.0), max(n, 1.0)) for p, n in zip(top, counts, strict=True)])
    return Told(np.where(top > 0, codes[best], np.nan), certainty)


def _by_means(tree: Tree, people: KnownPeople, tolerance: float, *, aim_at_mean: bool) -> Told:
    """The mean over the leaves of a person, or that of the most probable leaf."""
    leaves = tree.leaves
    n, means, spreads = (np.array([getattr(leaf, name) for leaf in leaves]) for name in ("count", "mean", "spread"))
    mean = float(n @ means / n.sum())
    total = float(np.sqrt(n @ (np.nan_to_num(spreads) ** 2 + (means - mean) ** 2) / n.sum()))
    sums, most, likeliest, spread = np.zeros(people.n), np.zeros(people.n), np.zeros(people.n), np.zeros(people.n)
    for leaf, rows, weights in _reached(tree.root, people):
        sums[rows] += weights * leaf.mean
        better = rows[weights > most[rows]]
        most[rows] = np.maximum(most[rows], weights)
        likeliest[better], spread[better] = leaf.mean, leaf.spread
    with np.errstate(divide="ignore", invalid="ignore"):
        mass = most * (2.0 * ndtr(tolerance * total / spread) - 1.0)
    return Told(sums if aim_at_mean else likeliest, np.where(np.isnan(mass), 0.0, mass))


def _reached(root: Node, people: KnownPeople) -> list[tuple[Leaf, np.ndarray, Vector]]:
    """Every leaf with the people who come to it, and with what probability."""
    reached: list[tuple[Leaf, np.ndarray, Vector]] = []
    ahead: list[tuple[Node, np.ndarray, Vector]] = [(root, np.arange(people.n), np.ones(people.n))]
    while ahead:
        node, rows, weights = ahead.pop()
        if isinstance(node, Leaf):
            reached.append((node, rows, weights))
            continue
        holds, known = (mask[rows] for mask in people.holds(node.condition))
        share = node.then.count / node.count
        for branch, there, part in ((node.then, holds, share), (node.otherwise, known & ~holds, 1.0 - share)):
            chosen = there | ~known
            if chosen.any():
                ahead.append((branch, rows[chosen], (weights * np.where(known, 1.0, part))[chosen]))
    return reached
