"""Supports of itemsets from randomized transactions (P19), and the frequent ones.

*Model.* The support of an itemset A is the share of transactions that have all its k items. *Known*: the release and
the public law of its reports. For every kind there is a weight w, a function of how many items of A are reported (and
of the size m of the transaction, where that is released), whose mean over the reports of a transaction t is 1 if t has
A and 0 if not. With l items of A reported:

* mask: ``w = (1 − ρ)^l (−ρ)^(k−l) / (p − ρ)^k``, the row of all ones of the inverse of the Kronecker product of the
  items' 2 × 2 matrices (Rizvi and Haritsa 2002).
* select: ``w = (−ρ)^(k−l) / ((1 − ρ)^(k−l) κ)``, where κ is the probability that k given items of a transaction of size
  m are all kept on purpose: the last row of the inverse of the (k+1) × (k+1) matrix of partial supports (Evfimievski
  et al. 2002). That matrix is singular for k above the cutoff. Transactions of fewer than k items have w = 0.
* gamma: ``w = (1[l = k] − (1 − θ) 2^−k) / θ``, θ = (γ − 1)/(γ + 2^n − 1): a report is the truth with probability θ and
  else any pattern alike (Agrawal and Haritsa 2005).

So the mean of w over the release is unbiased, with the variance ``Var(w)/N`` for the support in the population. As w
has the mean 0 or 1 in each transaction, its variance there is E w² − E w: the error for the private table's own support
has the variance ``(mean w² − mean w)/N``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from veil.arguments import number, whole
from veil.data.blocks import Matrix
from veil.errors import InputError, NotApplicableError
from veil.release.models import BasketModel

MOST_CANDIDATES = 200_000
SLACK = 2.0
"""Standard errors by which an itemset may miss the least support and still be extended."""


@dataclass(frozen=True)
class Support:
    """The estimated support of an itemset; unbiased, so it may be below 0 or above 1.

    ``standard_error`` is for the support in the population, ``randomization_se`` for that of the private table.
    """

    items: tuple[int, ...]
    estimate: float
    standard_error: float
    randomization_se: float


def itemset_support(released: npt.ArrayLike, items: Sequence[int], model: BasketModel) -> Support:
    """The share of private transactions that have all of some items.

    Parameters
    ----------
    released
        The released columns, one row per transaction, for example ``release.to_numpy()``; with the sizes as the last
        column where the model has them.
    items
        Places of the items' columns, from 0.
    model
        ``release.only_part.model``.

    >>> reports = np.array([[1, 1]] * 65 + [[1, 0]] * 10 + [[0, 1]] * 10 + [[0, 0]] * 15)
    >>> support = itemset_support(reports, [0, 1], BasketModel("mask", 2, keep=0.9, insert=0.1))
    >>> round(support.estimate, 6)  # (.81·.65 − .09·.1 − .09·.1 + .01·.15) / .8²
    0.796875
    """
    return _Transactions(released, model).support(_itemset(items, model.n_items))


def frequent_itemsets(
    released: npt.ArrayLike, model: BasketModel, min_support: float, max_size: int = 3
) -> list[Support]:
    """Itemsets whose estimated support is at least ``min_support``: smaller ones first, then by their items.

    Apriori on recovered supports: an itemset is tried if all itemsets of one item less have an estimate of at least
    ``min_support`` less two standard errors. So errors in the supports of parts seldom hide a frequent whole. An
    estimate near ``min_support`` may be above it by chance: read it with its standard error.

    Parameters
    ----------
    released, model
        As for :func:`itemset_support`.
    min_support
        The least support, above 0 and at most 1.
    max_size
        The most items of an itemset; with a cutoff, at most that.
    """
    least = number(min_support, "min_support", least=1e-9, most=1.0, rule="a share above 0 and at most 1")
    max_size = whole(max_size, "max_size", least=1)
    transactions = _Transactions(released, model)
    if model.cutoff is not None:
        _check_cutoff(max_size, model.cutoff, "max_size")
    frequent: list[Support] = []
    candidates: list[tuple[int, ...]] = [(j,) for j in range(model.n_items)]
    while candidates:
        level = [transactions.support(items) for items in candidates]
        frequent += [s for s in level if s.estimate >= least]
        alive = [s.items for s in level if s.estimate + SLACK * s.standard_error >= least]
        candidates = _extended(alive) if len(candidates[0]) < max_size else []
    return frequent


class _Transactions:
    """Reports by item, and what weighs them."""

    def __init__(self, released: npt.ArrayLike, model: BasketModel) -> None:
        if not isinstance(model, BasketModel):
            raise NotApplicableError("the manifest does not describe randomized transactions; use another recovery")
        table = np.asarray(released)
        width = model.n_items + (model.kind == "select")
        if table.ndim != 2 or table.shape[1] != width or not len(table):
            raise InputError(
                f"released must have one row per transaction and {width} columns"
                f"{', the last with the sizes' if model.kind == 'select' else ''}; it has the shape {table.shape}"
            )
        reports = table[:, : model.n_items]
        if other := int(((reports != 0) & (reports != 1)).sum()):
            raise InputError(f"released must be 0 and 1; {other} values are neither")
        self._model = model
        self._reports = np.ascontiguousarray(reports.T.astype(np.uint8))
        self._sizes = np.zeros(len(table), dtype=np.int64)
        if model.kind == "select":
            sizes = np.asarray(table[:, -1], dtype=np.float64)
            if wrong := int((~((sizes >= 0) & (sizes <= model.n_items) & (sizes == np.floor(sizes)))).sum()):
                raise InputError(f"released: {wrong} sizes are no whole numbers from 0 to {model.n_items}")
            self._sizes = sizes.astype(np.int64)

    def support(self, items: tuple[int, ...]) -> Support:
        """The weighed mean of how many of the items were reported."""
        weights = _weights(self._model, len(items))
        reported = self._reports[list(items)].sum(axis=0, dtype=np.int64)
        cells = np.bincount(self._sizes * (len(items) + 1) + reported, minlength=weights.size)
        n, shares = len(self._sizes), cells.reshape(weights.shape) / len(self._sizes)
        mean, square = float((shares * weights).sum()), float((shares * weights**2).sum())
        total = math.sqrt(max(square - mean**2, 0.0) / max(n - 1, 1))
        return Support(items, mean, total, math.sqrt(max(square - mean, 0.0) / n))


@lru_cache
def _weights(model: BasketModel, k: int) -> Matrix:
    """w by size (one row where sizes are not released) and by how many of k items are reported."""
    reported = np.arange(k + 1.0)
    if model.kind == "gamma" and model.gamma is not None:
        theta = (model.gamma - 1.0) / (model.gamma + 2.0**model.n_items - 1.0)
        return np.asarray(((reported == k) - (1.0 - theta) * 2.0**-k) / theta)[None]
    if model.kind == "mask" and model.keep is not None and model.insert is not None:
        p, rho = model.keep, model.insert
        return np.asarray((1.0 - rho) ** reported * (-rho) ** (k - reported) / (p - rho) ** k)[None]
    if model.kind == "select" and model.cutoff is not None and model.insert is not None:
        _check_cutoff(k, model.cutoff, "items")
        odds = -model.insert / (1.0 - model.insert)
        sizes = range(k, model.n_items + 1)
        retained = [
            np.mean([math.comb(min(j, m), k) / math.comb(m, k) for j in range(model.cutoff + 1)]) for m in sizes
        ]
        known = odds ** (k - reported) / np.array(retained, dtype=np.float64)[:, None]
        return np.vstack([np.zeros((k, k + 1)), known])
    raise NotApplicableError(f"there is no recovery of supports for transactions of kind {model.kind!r}")


def _check_cutoff(k: int, cutoff: int, name: str) -> None:
    if k > cutoff:
        raise NotApplicableError(
            f"{name}: no more than cutoff = {cutoff} items of a transaction are kept on purpose, so the release tells "
            f"supports of at most {cutoff} items; {k} were asked for"
        )


def _itemset(items: Sequence[int], n_items: int) -> tuple[int, ...]:
    places = tuple(whole(item, "items") for item in items)
    if not places or len(set(places)) != len(places) or max(places) >= n_items:
        raise InputError(f"items must name one or more of the {n_items} columns by their places from 0, each once")
    return places


def _extended(alive: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Itemsets of one item more, all of whose parts of this size are alive (Apriori's join and prune)."""
    known, by_start = set(alive), dict[tuple[int, ...], list[int]]()
    for items in alive:
        by_start.setdefault(items[:-1], []).append(items[-1])
    candidates = []
    for start, lasts in by_start.items():
        for pair in combinations(lasts, 2):
            items = (*start, *pair)
            if all(items[:i] + items[i + 1 :] in known for i in range(len(items) - 2)):
                candidates.append(items)
        if len(candidates) > MOST_CANDIDATES:
            raise InputError(
                f"min_support: more than {MOST_CANDIDATES:,} itemsets may reach it within their errors; raise it, or "
                "lower max_size"
            )
    return candidates
