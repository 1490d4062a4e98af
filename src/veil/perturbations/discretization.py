"""P17: value-class membership.

*Model.* A value is released as the class it falls in: ``[e_i, e_{i+1})`` of edges that the manifest lists (Ketel, after
Agrawal and Srikant 2000). Classes are of equal width, of equal count, or between given edges; the outer ones are
open. Vector that come from the table are rounded before use: to two digits, or where that would merge classes, to one
digit of their width.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veil.arguments import choice, whole
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Perturbation
from veil.perturbations.draws import Draws
from veil.perturbations.edges import class_names, given_edges
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, Noise, Takes
from veil.perturbations.method import Learned
from veil.perturbations.special_scans import GRAIN
from veil.release.models import ClassModel

STRATEGIES = ("width", "count")


class Discretize(Perturbation):
    """P17. Release the interval a value lies in instead of the value.

    Parameters
    ----------
    n_bins : int, default 10
        Number of classes.
    strategy : {"width", "count"}, default "width"
        Classes of equal width between the 1 % and 99 % points, or of equally many records.
    edges : list, or dict of lists by column, optional
        Inner edges, rising; they replace ``n_bins`` and ``strategy`` and say nothing about the table.
    random_state : None or int
        Not used: the method is not random.

    Attributes
    ----------
    edges_ : the inner edges of each column

    Examples
    --------
    >>> import numpy as np, veil
    >>> release, _ = veil.publish(np.arange(8.0)[:, None] * 5, veil.Discretize(edges=[10, 20, 30]))
    >>> sorted(set(release.table.read().column(0).to_pylist()))
    ['< 10', '>= 30', '[10, 20)', '[20, 30)']
    """

    threat = (
        "Released: each value's class, and the edges. Nothing is secret: within a class all values look alike, and "
        "everybody knows the class. A narrow class is as good as the value, and so is a class in which values heap, "
        "such as whole numbers or round amounts, which a sample of the population shows (A2). There is no formal "
        "guarantee."
    )
    catalogue = "P17"
    summary = "Release the interval a value lies in instead of the value."
    layout = Layout(Takes.AMOUNTS, noise=Noise.NONE, quantiles=True)
    headline = ("n_bins", "strategy")
    model_: ClassModel
    edges_ = Learned("edges")

    def __init__(
        self, n_bins: int = 10, *, strategy: str = "width", edges: Any = None, random_state: Any = None
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.edges = edges
        self.random_state = random_state

    def learn(self, facts: Facts) -> ClassModel:
        """The edges: given, fixed by an earlier release, or rounded ones of the table."""
        if self.edges is not None:
            edges = [given_edges(self.edges, name) for name in facts.columns]
        else:
            n_bins = whole(self.n_bins, "n_bins", least=2)
            choice(self.strategy, "strategy", STRATEGIES)
            edges = [
                np.array(facts.fixed[name]["edges"])
                if name in facts.fixed
                else _measured(quantiles, n_bins, self.strategy, name)
                for quantiles, name in zip(facts.scan.quantiles or (), facts.columns, strict=True)
            ]
        return ClassModel(tuple(edges), tuple(tuple(class_names(e)) for e in edges))

    def describe(self) -> str:
        """The method and its classes."""
        return "discretize (given edges)" if self.edges is not None else super().describe()

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """The number of each value's class, from 0."""
        pairs = zip(self.model_.edges, block, strict=True)
        rows = [np.searchsorted(edges, row, side="right").astype(np.float64) for edges, row in pairs]
        return np.where(np.isnan(block), np.nan, np.array(rows))


def _measured(quantiles: Vector, n_bins: int, strategy: str, name: str) -> Vector:
    """Edges of equal count, or of equal width between the 1 % and 99 % points, rounded."""
    if strategy == "count":
        raw = quantiles[np.linspace(0, GRAIN, n_bins + 1).round().astype(int)[1:-1]]
    else:
        low, high = quantiles[GRAIN // 100], quantiles[GRAIN - GRAIN // 100]
        raw = np.linspace(low, high, n_bins + 1)[1:-1]
    if quantiles[0] == quantiles[-1]:
        raise InputError(f"column {name!r}: all its values are equal; give the role public or drop")
    raw = np.unique(raw)
    # Two digits of the value, or one of the class's width where that is finer: far from 0 classes would merge.
    gaps = np.diff(raw) if len(raw) > 1 else np.array([quantiles[-1] - quantiles[0]])
    nearest = np.minimum(np.r_[gaps[:1], gaps], np.r_[gaps, gaps[-1:]])[: len(raw)]
    edges = np.unique([_coarse(edge, gap) for edge, gap in zip(raw, nearest, strict=True)])
    inner = edges[(edges > quantiles[0]) & (edges < quantiles[-1])]
    return inner if len(inner) else edges[:1]


def _coarse(edge: float, gap: float) -> float:
    """An edge with two digits of its own, or to one digit of the gap to the next one."""
    two = two_digits(edge)
    if abs(two - edge) <= gap / 4:
        return two
    step = 10.0 ** np.floor(np.log10(gap))
    return float(f"{np.rint(edge / step) * step:.15g}")
