"""P16: randomized response and PRAM.

*Model.* The reported category of a value is drawn from the column of a public matrix P that belongs to its true
category: ``λ = P π`` with P column-stochastic (Warner 1965; PKDD 2006 tutorial). On a table that is already held this
is PRAM; an *invariant* P leaves the proportions as they are, ``P π = π``. Several columns are randomized one by one
(sequential: the matrix of their combinations is the Kronecker product) or as one compound variable (joint), whose
support is public and so never depends on which combinations occur (:mod:`veil.perturbations.compound`).

Columns of numbers that heap on few values, such as a gain that is zero for nine in ten, are reported by class: which of
the intervals between public edges the value lies in, released as a number that stands for the class
(:mod:`veil.perturbations.number_classes`). With ε around 3 the most frequent class stays the best guess of nearly
everybody, and the shares of all classes are recovered.

Draws use the matrix in units of 2⁻⁶³ (:func:`veil.numerics.response_matrix.cumulative`), so the law of the sampler is
known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veil.arguments import choice, flag
from veil.data.blocks import Matrix, Vector
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
    ordered_matrix,
)
from veil.numerics.rounding import two_digits
from veil.perturbations.base import Perturbation
from veil.perturbations.categories import Categories, listed_categories
from veil.perturbations.compound import checked_combinations, compound_support, pooled_counts
from veil.perturbations.draws import Draws
from veil.perturbations.edges import given_edges
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, Noise, Takes
from veil.perturbations.method import Learned, one_of
from veil.perturbations.number_classes import checked_classes, numbered, numbered_combinations, released_numbers
from veil.release.models import ResponseModel

RARE = 10
"""Records with a category from which the owner is not warned that the manifest names it."""


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
        Randomize all columns as one compound variable of all combinations of their categories.
    combinations : list of tuples, optional
        With ``joint``: the combinations that can be, one category for each column, such as the pairs of a district and
        its towns. No other is reported, and every record must have one of them. They are public.
    categories : list or dict, optional
        The categories of all columns, or of each. Declared ones are needed for a formal guarantee: the manifest lists
        the categories, and one that a single record has tells of that record. Of a column in classes they are the
        numbers that the classes are released as, one in each.
    classes : dict of lists by column, optional
        Columns of numbers to report by class, with the edges between the classes, rising: ``[1, 5000]`` stands for less
        than 1, 1 to less than 5000, and the rest. Edges are public. A class is released as the number that
        ``categories`` declares, else as the mean of its values in two digits.
    ordered : bool, default False
        With ``keep``, of categories with an order (an ordered type, whole numbers, classes, or as ``categories``
        declares them): where the truth is not reported, each step away from it is half as likely. ε is larger than
        without.
    missing : {"refuse", "category"}, default "refuse"
        Whether a missing value is an error, or a category of its own.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    categories_ : the categories of each column, in the order of the codes; of classes their numbers
    matrices_ : P of each column, or one for the compound variable

    Examples
    --------
    >>> import pandas as pd, veil
    >>> frame = pd.DataFrame({"smokes": ["yes", "no", "no", "no"] * 500})
    >>> release, _ = veil.publish(frame, veil.RandomizedResponse(keep=0.8, random_state=0))
    >>> sorted(release.data["smokes"].unique())
    ['no', 'yes']
    >>> frame = pd.DataFrame({"gain": [0] * 900 + [2_000, 3_000, 9_000, 25_000] * 25})
    >>> method = veil.RandomizedResponse(epsilon=4, classes={"gain": [1, 5_000]}, random_state=0)
    >>> release, _ = veil.publish(frame, method)
    >>> sorted(release.data["gain"].unique().tolist())
    [0, 2500, 17000]
    """

    threat = (
        "Released: reported categories and P. Secret: who was reported truly. The posterior of a report is public "
        "(A20), and columns that depend on each other sharpen it. ε holds per value of one column and adds up over "
        "the columns of a record; with ``joint`` it holds for the whole record. With ``invariant``, or with "
        "categories taken from the table, there is no formal guarantee: the manifest lists every category that "
        "occurs, and of an invariant P the proportions can be read off. Of numbers in classes ε holds for the class; a "
        "class's number that was not declared tells the mean of its values in two digits."
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
        ordered: bool = False,
        combinations: Any = None,
        categories: Any = None,
        classes: Any = None,
        missing: str = "refuse",
        random_state: Any = None,
    ) -> None:
        self.keep = keep
        self.matrix = matrix
        self.epsilon = epsilon
        self.gamma = gamma
        self.invariant = invariant
        self.joint = joint
        self.ordered = ordered
        self.combinations = combinations
        self.categories = categories
        self.classes = classes
        self.missing = missing
        self.random_state = random_state

    @property
    def layout(self) -> Layout:
        """A cell's report can be kept with an id, unless columns are randomized together."""
        joint = bool(self.joint) if isinstance(self.joint, bool | np.bool_) else False
        noise = Noise.RECORD if joint else Noise.CELL
        category = isinstance(self.missing, str) and self.missing == "category"
        return Layout(Takes.CATEGORIES, noise=noise, combinations=joint, missing_is_category=category)

    def class_edges(self, columns: Sequence[str]) -> dict[str, Vector]:
        """The edges of columns in classes."""
        return checked_classes(self.classes, columns)

    def learn(self, facts: Facts) -> ResponseModel:
        """Categories and matrices."""
        choice(self.missing, "missing", ("refuse", "category"))
        flag(self.joint, "joint")
        flag(self.invariant, "invariant")
        flag(self.ordered, "ordered")
        given = [n for n in ("keep", "matrix", "epsilon", "gamma") if getattr(self, n) is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} both say how to report; give one of them")
        if self.combinations is not None and not self.joint:
            raise InputError("combinations are randomized as one variable; set joint=True, or leave them out")
        edges, declared = self.class_edges(facts.columns), self.categories
        stated = checked_combinations(self.combinations, len(facts.columns))
        if declared is None and stated is not None:
            declared = {n: list(dict.fromkeys(v)) for n, *v in zip(facts.columns, *stated, strict=True)}
        orders = facts.scan.levels or (None,) * len(facts.columns)
        numbers = [
            None if name not in edges else released_numbers(facts, j, edges[name], one_of(declared, name))
            for j, name in enumerate(facts.columns)
        ]
        tallies = [numbered(tally, known) for tally, known in zip(facts.scan.categories or (), numbers, strict=True)]
        categories = [
            listed_categories(declared, name, tally, facts.fixed.get(name), levels) if known is None else known
            for name, tally, levels, known in zip(facts.columns, tallies, orders, numbers, strict=True)
        ]
        if self.ordered:
            scales = [edges.get(n, levels) for n, levels in zip(facts.columns, orders, strict=True)]
            self._check_order(facts.columns, categories, scales)
        if self.categories is None and self.combinations is None:
            _remark_on_rare(facts, [t if n is None else {} for t, n in zip(tallies, numbers, strict=True)])
        single = [n for n, c in zip(facts.columns, categories, strict=True) if len(c) < 2]
        if single:
            raise InputError(
                f"column {single[0]!r} has one category, and there is nothing to hide; give it another role"
            )
        compound = None
        if self.joint:
            combinations = numbered_combinations(facts.scan.combinations or {}, numbers)
            compound = compound_support(stated, facts.columns, categories, combinations)
            labels = [tuple(c[i] for c, i in zip(categories, codes, strict=True)) for codes in compound]
            occurring = np.array([combinations.get(label, 0) for label in labels])
            once = int((occurring == 1).sum())
            if stated is not None and occurring.all() and once:
                facts.remark(
                    f"All {len(labels):,} declared combinations occur, {once:,} of them once: a list taken from "
                    "the table publishes every distinct record; declare all that can be."
                )
            counts = pooled_counts(occurring)
            matrices = [self._matrix_for(len(compound), counts, "the compound variable", None)]
        else:
            matrices = [
                np.array(facts.fixed[name]["matrix"])
                if name in facts.fixed
                else self._matrix_for(len(c), np.array([tally.get(v, 0) for v in c]), f"column {name!r}", (name, c))
                for name, c, tally in zip(facts.columns, categories, tallies, strict=True)
            ]
        listed = tuple(edges.get(name) for name in facts.columns) if edges else ()
        known = tuple(tuple(c) for c in categories)
        return ResponseModel(known, tuple(matrices), compound, bool(self.invariant), listed)

    @property
    def _declared(self) -> bool:
        """Whether the manifest's categories were stated, and not taken from the table."""
        if isinstance(self.categories, Mapping):
            return all(name in self.categories for name in self.classes or ())
        return self.categories is not None or self.combinations is not None

    def _check_order(self, columns: Sequence[str], categories: Sequence[Categories], orders: Sequence[Any]) -> None:
        """Refuse settings and columns for which near and far have no meaning."""
        if self.keep is None:
            raise InputError("ordered goes with keep, the probability of the truth; its epsilon follows from that")
        if self.joint:
            raise InputError(
                "ordered is for columns one by one, and joint makes one variable of all; leave one of them out"
            )
        for name, listing, levels in zip(columns, categories, orders, strict=True):
            if None in listing:
                raise InputError(f"column {name!r} has missing values, which have no place in an order; fill them")
            if levels is None and not self._declared and not all(type(value) is int for value in listing):
                raise InputError(
                    f"column {name!r} has {len(listing)} categories without an order; give it an ordered type, or "
                    "declare its categories from the least to the greatest"
                )

    def _matrix_for(self, k: int, counts: Any, what: str, labels: tuple[str, list[Any]] | None) -> Matrix:
        if self.matrix is not None:
            matrix = _explicit(self.matrix, k, what, labels)
        elif self.keep is not None:
            matrix = ordered_matrix(self.keep, k) if self.ordered else keep_matrix(self.keep, k)
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
        plain |= {"ordered": True} if self.ordered else {}
        settings = {n: v.item() if isinstance(v, np.generic) else v for n, v in plain.items()}
        if self.classes:
            settings["classes"] = {name: given_edges(self.classes, name).tolist() for name in self.classes}
        return settings

    def describe(self) -> str:
        """The method and how it reports."""
        how = [f"{n} {getattr(self, n)}" for n in ("keep", "epsilon", "gamma") if getattr(self, n) is not None]
        how = how or (["given matrix"] if self.matrix is not None else ["epsilon 1"])
        how += [n for n in ("invariant", "joint", "ordered") if getattr(self, n)]
        if self.classes:
            how += [f"{n} in {len(edges) + 1} classes" for n, edges in self.classes.items()]
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
        known, wanted = table @ radix, radix @ codes
        order = np.argsort(known)
        true = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
        outside = int((known[true] != wanted).sum())
        if outside:
            raise InputError(
                f"combinations: {outside} records have none of the {len(known)} that were declared; add what is missing"
            )
        return table[draw_reports(thresholds[0], true, draws.words(0))].T.astype(np.float64)

    def guarantee(self) -> str:
        """ε-local differential privacy per value, where categories are declared and P does not depend on the table."""
        each = [implemented_epsilon(cumulative(m)) for m in self.model_.matrices]
        if not self._declared or self.invariant or not math.isfinite(max(each)):
            return "none"
        if self.joint:
            return (
                f"local differential privacy: epsilon {max(each):.6g} for all {len(self.model_.categories)} randomized "
                "values of one record; the number of records is outside it, and releases of one key add up"
            )
        return (
            f"local differential privacy: epsilon {max(each):.6g} for one value, {sum(each):.6g} for all {len(each)} "
            "randomized values of one record; the number of records is outside it, and releases of one key add up"
        )


def _remark_on_rare(facts: Facts, tallies: Sequence[Mapping[Any, int]]) -> None:
    """Tell the owner which columns have categories of so few records that listing them tells of these."""
    for name, tally in zip(facts.columns, tallies, strict=True):
        rare = sum(1 for count in tally.values() if count < RARE)
        if rare and name not in facts.fixed:
            facts.remark(
                f"Column {name!r}: {rare} of the {len(tally)} categories that the manifest lists occur fewer than "
                f"{RARE} times, which tells that somebody has them; declare categories that do not depend on the table."
            )


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
