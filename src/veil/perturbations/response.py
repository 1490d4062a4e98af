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
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veil.arguments import flag
from veil.data.blocks import Matrix, Words
from veil.errors import InputError
from veil.numerics.moments import Moments
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
from veil.perturbations.base import Kept, Place
from veil.perturbations.coded import CodedPerturbation

MOST_COMPOUND = 2_000


class RandomizedResponse(CodedPerturbation):
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

    Notes
    -----
    *Threat.* Released: reported categories and P. Secret: who was reported truly. The posterior of a report is public
    (A20), and columns that depend on each other sharpen it. ε holds per value of one column and adds up over the
    columns of a record; with ``invariant``, or with categories taken from the table, there is no formal guarantee.

    Examples
    --------
    >>> import pandas as pd, veil
    >>> frame = pd.DataFrame({"smokes": ["yes", "no", "no", "no"] * 500})
    >>> release, _ = veil.publish(frame, veil.RandomizedResponse(keep=0.8, random_state=0))
    >>> sorted(release.data["smokes"].unique())
    ['no', 'yes']
    """

    catalogue = "P16"
    addressed = True
    matrices_: list[Matrix]
    compound_: list[tuple[int, ...]] | None

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

    def _joint(self) -> bool:
        flag(self.joint, "joint")
        return bool(self.joint)

    @property
    def keeps_cells(self) -> bool:
        """A cell's report can be kept with an id, unless columns are randomized together."""
        return not self.joint

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        flag(self.invariant, "invariant")
        given = [n for n in ("keep", "matrix", "epsilon", "gamma") if getattr(self, n) is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} both say how to report; give one of them")
        single = [n for n, c in zip(columns, self.categories_, strict=True) if len(c) < 2]
        if single:
            raise InputError(
                f"column {single[0]!r} has one category, and there is nothing to hide; give it another role"
            )
        self.compound_ = self._compound() if self.joint else None
        if self.compound_ is not None:
            counts = np.array([(self._combinations or {}).get(self._labels(c), 0) for c in self.compound_])
            self.matrices_ = [self._made(len(self.compound_), counts, "the compound variable", None)]
        else:
            self.matrices_ = [
                np.array(kept[name]["matrix"])
                if name in kept
                else self._made(len(c), np.array([seen.get(v, 0) for v in c]), f"column {name!r}", (name, c))
                for name, c, seen in zip(columns, self.categories_, self._counts, strict=True)
            ]
        self._thresholds = [cumulative(m) for m in self.matrices_]

    def _labels(self, codes: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(c[i] for c, i in zip(self.categories_, codes, strict=True))

    def _compound(self) -> list[tuple[int, ...]]:
        at = [{value: i for i, value in enumerate(c)} for c in self.categories_]
        found = sorted(
            tuple(a[v] for a, v in zip(at, combination, strict=True)) for combination in self._combinations or {}
        )
        if not 2 <= len(found) <= MOST_COMPOUND:
            raise InputError(
                f"joint needs 2 to {MOST_COMPOUND:,} combinations of categories; these columns have {len(found):,}: "
                "randomize fewer together"
            )
        return found

    def _made(self, k: int, counts: Any, what: str, labels: tuple[str, list[Any]] | None) -> Matrix:
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
        said = [f"{n} {getattr(self, n)}" for n in ("keep", "epsilon", "gamma") if getattr(self, n) is not None]
        said = said or (["given matrix"] if self.matrix is not None else ["epsilon 1"])
        said += [n for n in ("invariant", "joint") if getattr(self, n)]
        return f"randomized response ({', '.join(said)})"

    def disclose(self) -> dict[str, Any]:
        """Categories and matrices."""
        return {
            "categories": [list(c) for c in self.categories_],
            "matrices": [m.tolist() for m in self.matrices_],
            "compound": None if self.compound_ is None else [list(c) for c in self.compound_],
            "invariant": bool(self.invariant),
        }

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.categories_ = [list(c) for c in parameters["categories"]]
        self.matrices_ = [np.array(m, dtype=np.float64) for m in parameters["matrices"]]
        compound = parameters["compound"]
        self.compound_ = None if compound is None else [tuple(c) for c in compound]
        self._thresholds = [cumulative(m) for m in self.matrices_]

    def column_parameters(self, j: int) -> dict[str, Any]:
        """The categories and the matrix of one column."""
        if self.compound_ is not None:
            return {"matrix": self.matrices_[0].tolist(), "compound": [list(c) for c in self.compound_]}
        return {"categories": list(self.categories_[j]), "matrix": self.matrices_[j].tolist()}

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Reported codes of true ones."""
        codes = block.astype(np.int64)
        if self.compound_ is None:
            return np.array(
                [
                    draw_reports(self._thresholds[j], row, self._words(j, block[j], place))
                    for j, row in enumerate(codes)
                ],
                dtype=np.float64,
            )
        table = np.array(self.compound_, dtype=np.int64)
        radix = np.cumprod([1, *(len(c) for c in self.categories_[:0:-1])])[::-1]
        known = table @ radix
        order = np.argsort(known)
        true = order[np.searchsorted(known, radix @ codes, sorter=order)]
        words: Words = self._words(0, block[0], place)
        return table[draw_reports(self._thresholds[0], true, words)].T.astype(np.float64)

    def formal_guarantee(self, *, consistent: bool = False) -> str:
        """ε-local differential privacy per value, where categories are declared and P does not depend on the table."""
        epsilon = max(implemented_epsilon(t) for t in self._thresholds)
        if not self.declared or self.invariant or not math.isfinite(epsilon):
            return "none"
        if self.compound_ is not None or consistent or self.key_.seeded:
            return "none"
        total, n = sum(implemented_epsilon(t) for t in self._thresholds), len(self.matrices_)
        return (
            f"local differential privacy: epsilon {epsilon:.6g} for one value, {total:.6g} for all {n} randomized "
            "values of one record; the number of records is outside it, and releases of one key add up"
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
