"""P16: randomized response and PRAM.

*Model.* The reported category of a value is drawn from the column of a public matrix P that belongs to its true
category: ``λ = P π`` with P column-stochastic (Warner 1965; PKDD 2006 tutorial). On a table that is already held this
is PRAM; an *invariant* P leaves the proportions as they are, ``P π = π``. Several columns are randomized one by one
(sequential: the matrix of their combinations is the Kronecker product) or as one compound variable of the
combinations that occur (joint: combinations that do not occur are never reported).

Draws use the matrix in units of 2⁻⁶³ (:func:`veil.numerics.response_matrix.cumulative`), so the law of the sampler is
known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from veil.arguments import choice, flag
from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.numerics.response_matrix import (
    check_response_matrix,
    cumulative,
    draw_reports,
    epsilon_matrix,
    gamma_matrix,
    implemented_epsilon,
    invariant_matrix,
    keep_matrix,
)
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Perturbation
from veil.perturbations.categories import listed_categories
from veil.perturbations.draws import Draws
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, Noise, Takes
from veil.perturbations.method import Learned
from veil.release.models import ResponseModel

MOST_COMPOUND = 2_000


class RandomizedResponse(Perturbation):
    """P16. Report a random category that depends on the true one by a public matrix.

    Parameters
    ----------
    keep : float, optional
        Probability of reporting the truth, else one of the other categories, all alike (two categories: Warner).
    matrix : array, frame or dict, optional
        P, ``P[reported, true]``, columns summing to 1. An array follows the order of the categories (sorted, or as
        declared); a pandas frame is labelled by them; a dict has one of these per column.
    epsilon : float, optional
        k-ary response of local ε: 1 when nothing else is said.
    gamma : float, optional
        The same by its amplification γ = e^ε.
    invariant : bool, default False
        Make P leave the table's proportions (rounded to two digits) as they are, so that reports need no correction:
        report twice by the matrix above, the second time backwards. It says less than ``keep`` or ``epsilon`` alone.
    joint : bool, default False
        Randomize all columns as one compound variable.
    categories : list or dict, optional
        The categories of all columns, or of each. Declared ones are needed for a formal guarantee.
    missing : {"refuse", "category"}, default "refuse"
        Whether a missing value is an error, or a category of its own.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    categories_ : the categories of each column, in the order of the codes
    matrices_ : P of each column, or one for the compound variable

    Examples
    --------
    >>> import pandas as pd, veil
    >>> frame = pd.DataFrame({"smokes": ["yes", "no", "no", "no"] * 500})
    >>> release, _ = veil.publish(frame, veil.RandomizedResponse(keep=0.8, random_state=0))
    >>> sorted(release.data["smokes"].unique())
    ['no', 'yes']
    """

    threat = (
        "Released: reported categories and P. Secret: who was reported truly. The posterior of a report is public "
        "(A20), and columns that depend on each other sharpen it. ε holds per value of one column and adds up over "
        "the columns of a record; with ``invariant``, or with categories taken from the table, there is no formal "
        "guarantee."
    )
    catalogue = "P16"
    summary = "Report a random category that depends on the true one by a public matrix."
    model_: ResponseModel
    categories_, matrices_ = Learned("categories"), Learned("matrices")

    def __init__(
        self,
        *,
        keep: float | None = None,
        matrix: Any = None,
        epsilon: float | None = None,
        gamma: float | None = None,
        invariant: bool = False,
        joint: bool = False,
        categories: Any = None,
        missing: str = "refuse",
        random_state: Any = None,
    ) -> None:
        self.keep = keep
        self.matrix = matrix
        self.epsilon = epsilon
        self.gamma = gamma
        self.invariant = invariant
        self.joint = joint
        self.categories = categories
        self.missing = missing
        self.random_state = random_state

    @property
    def layout(self) -> Layout:
        """A cell's report can be kept with an id, unless columns are randomized together."""
        joint = bool(self.joint) if isinstance(self.joint, bool | np.bool_) else False
        noise = Noise.RECORD if joint else Noise.CELL
        category = isinstance(self.missing, str) and self.missing == "category"
        return Layout(Takes.CATEGORIES, noise=noise, combinations=joint, missing_is_category=category)

    def learn(self, facts: Facts) -> ResponseModel:
        """Categories and matrices."""
        choice(self.missing, "missing", ("refuse", "category"))
        flag(self.joint, "joint")
        flag(self.invariant, "invariant")
        given = [n for n in ("keep", "matrix", "epsilon", "gamma") if getattr(self, n) is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} both say how to report; give one of them")
        tallies = facts.scan.categories or ()
        categories = [
            listed_categories(self.categories, name, tally, facts.fixed.get(name))
            for name, tally in zip(facts.columns, tallies, strict=True)
        ]
        single = [n for n, c in zip(facts.columns, categories, strict=True) if len(c) < 2]
        if single:
            raise InputError(
                f"column {single[0]!r} has one category, and there is nothing to hide; give it another role"
            )
        compound = None
        if self.joint:
            combinations = facts.scan.combinations or {}
            compound = _compound(categories, combinations)
            labels = [tuple(c[i] for c, i in zip(categories, codes, strict=True)) for codes in compound]
            counts = np.array([combinations.get(label, 0) for label in labels])
            matrices = [self._matrix_for(len(compound), counts, "the compound variable", None)]
        else:
            matrices = [
                np.array(facts.fixed[name]["matrix"])
                if name in facts.fixed
                else self._matrix_for(len(c), np.array([tally.get(v, 0) for v in c]), f"column {name!r}", (name, c))
                for name, c, tally in zip(facts.columns, categories, tallies, strict=True)
            ]
        return ResponseModel(tuple(tuple(c) for c in categories), tuple(matrices), compound, bool(self.invariant))

    def _matrix_for(self, k: int, counts: Any, what: str, labels: tuple[str, list[Any]] | None) -> Matrix:
        if self.matrix is not None:
            matrix = _explicit(self.matrix, k, what, labels)
        elif self.keep is not None:
            matrix = keep_matrix(self.keep, k)
        elif self.gamma is not None:
            matrix = gamma_matrix(self.gamma, k)
        else:
            matrix = epsilon_matrix(1.0 if self.epsilon is None else self.epsilon, k)
        if self.invariant:
            shares = np.array([two_digits(max(share, 1e-3)) for share in counts / counts.sum()])
            matrix = invariant_matrix(matrix, shares / shares.sum())
        if np.allclose(matrix, np.eye(k)):
            raise InputError(f"the matrix of {what} is the identity, which releases it as it is; lower keep or ε")
        if np.allclose(matrix.max(axis=0), 1.0) and np.linalg.matrix_rank(matrix) == k:
            raise InputError(
                f"the matrix of {what} reports every category by one other, so nothing is hidden; change keep or ε"
            )
        return matrix

    def settings(self) -> dict[str, Any]:
        """The owner's settings as JSON values; a given matrix is among the disclosed parameters."""
        plain = {n: getattr(self, n) for n in ("keep", "epsilon", "gamma", "invariant", "joint", "missing")}
        return {n: v.item() if isinstance(v, np.generic) else v for n, v in plain.items()}

    def describe(self) -> str:
        """The method and how it reports."""
        how = [f"{n} {getattr(self, n)}" for n in ("keep", "epsilon", "gamma") if getattr(self, n) is not None]
        how = how or (["given matrix"] if self.matrix is not None else ["epsilon 1"])
        how += [n for n in ("invariant", "joint") if getattr(self, n)]
        return f"randomized response ({', '.join(how)})"

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Reported codes of true ones."""
        codes, model = block.astype(np.int64), self.model_
        thresholds = [cumulative(m) for m in model.matrices]
        if model.compound is None:
            reports = [draw_reports(thresholds[j], row, draws.words(j)) for j, row in enumerate(codes)]
            return np.array(reports, dtype=np.float64)
        table = np.array(model.compound, dtype=np.int64)
        radix = np.cumprod([1, *(len(c) for c in model.categories[:0:-1])])[::-1]
        known = table @ radix
        order = np.argsort(known)
        true = order[np.searchsorted(known, radix @ codes, sorter=order)]
        return table[draw_reports(thresholds[0], true, draws.words(0))].T.astype(np.float64)

    def guarantee(self) -> str:
        """ε-local differential privacy per value, where categories are declared and P does not depend on the table."""
        each = [implemented_epsilon(cumulative(m)) for m in self.model_.matrices]
        if self.categories is None or self.invariant or self.joint or not math.isfinite(max(each)):
            return "none"
        return (
            f"local differential privacy: epsilon {max(each):.6g} for one value, {sum(each):.6g} for all {len(each)} "
            "randomized values of one record; the number of records is outside it, and releases of one key add up"
        )


def _compound(categories: list[list[Any]], combinations: Mapping[Any, int]) -> tuple[tuple[int, ...], ...]:
    """The combinations that occur, as codes."""
    at = [{value: i for i, value in enumerate(c)} for c in categories]
    codes = sorted(tuple(a[v] for a, v in zip(at, combination, strict=True)) for combination in combinations)
    if not 2 <= len(codes) <= MOST_COMPOUND:
        raise InputError(
            f"joint needs 2 to {MOST_COMPOUND:,} combinations of categories; these columns have {len(codes):,}: "
            "randomize fewer together"
        )
    return tuple(codes)


def _explicit(given: Any, k: int, what: str, labels: tuple[str, list[Any]] | None) -> Matrix:
    """A matrix that the owner states, in the order of the categories."""
    if labels is not None and isinstance(given, Mapping):
        if labels[0] not in given:
            raise InputError(f"matrix has none for {what}; give one per column, or one for all")
        given = given[labels[0]]
    index, head = getattr(given, "index", None), getattr(given, "columns", None)
    if head is not None and (index is None or callable(index)):
        raise InputError(f"matrix of {what}: only a pandas frame has labels in rows and columns; or give an array")
    if labels is not None and head is not None and index is not None and not callable(index):
        wanted = labels[1]
        if set(head) != set(wanted) or set(index) != set(wanted):
            raise InputError(f"matrix of {what} must be labelled by its {len(wanted)} categories, in rows and columns")
        given = given.loc[wanted, wanted].to_numpy()
    return check_response_matrix(given, k, f"matrix of {what}")
