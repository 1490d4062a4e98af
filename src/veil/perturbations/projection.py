"""P8: random projection of attributes or of records.

*Model.* ``y = R z/(√k σ_r)`` with ``z = x / unit`` and R k × d of independent entries (Liu 2007, §5.1): normal, or
``√s·{+1, 0, −1}`` with probabilities ``1/(2s), 1 − 1/s, 1/(2s)`` (Achlioptas 2003: s = 1 and s = 3; Li, Hastie and
Church 2006: s = √d), σ_r = 1. Distances and inner products are kept on average over R, with variances that fall as 1/k.
On records, R is k × N and ``Y = R Z/√k``: the few rows are no records, and inner products *of attributes* are kept.

A sparse R may have a unit vector in its row space: that attribute (or record) would be released exactly, up to a
factor. Such draws are thrown away (errata L-ae).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from veil.arguments import choice, whole
from veil.data.blocks import Matrix, tiles
from veil.errors import InputError
from veil.keys.randomness import Generator
from veil.numerics.moments import Moments
from veil.perturbations.base import Kept, Place
from veil.perturbations.linear import LinearPerturbation
from veil.perturbations.signs import FEWEST_COLUMNS, SignMatrix

SPARSITY = {"achlioptas1": 1.0, "achlioptas3": 3.0}
KINDS = ("gaussian", "achlioptas1", "achlioptas3", "sparse")
MOST_DRAWS = 1_000
DETERMINED = 1.0 - 1e-9
"""Leverage of an attribute whose unit vector is in the row space, but for rounding (M15)."""
BIASED_COLUMNS = 64
"""Up to this many, draws that are thrown away change the mean square of the others noticeably."""
RECORD_TILE = 1_024
"""Records that share one stream of random words when records are projected."""
MOST_CHECKED = 4e9
"""Arithmetic that the search for exactly determined records may cost (N·k²); larger ones are too many to occur."""


def projection_entries(source: Generator, k: int, d: int, kind: str, n: int) -> Matrix:
    """A k × d matrix of independent entries of mean 0 and variance 1; ``n`` is the dimension that is reduced."""
    if kind == "gaussian":
        return source.normal(k, d)
    s = SPARSITY.get(kind, math.sqrt(n))
    uniform = source.words(k * d).astype(np.float64) * 2.0**-64
    signs = np.where(uniform < 0.5 / s, 1.0, np.where(uniform < 1.0 / s, -1.0, 0.0))
    return np.asarray(math.sqrt(s) * signs).reshape(k, d)


def hides_all(entries: Matrix, kind: str) -> bool:
    """Whether no attribute (or record) goes out as it is, and none follows from the projection.

    At k = d everything follows from R, and that is known; then only rows of a single entry are refused.
    """
    k, d = entries.shape
    if (np.count_nonzero(entries, axis=1) < 2).any():
        return False
    if k >= d:
        return bool(np.linalg.matrix_rank(entries) == d)
    if kind == "gaussian":
        return True
    _, size, rows = np.linalg.svd(entries, full_matrices=False)
    leverage = (rows[size > 1e-10 * size[0]] ** 2).sum(axis=0)
    return bool(leverage.max() < DETERMINED)


@cache
def mean_square(kind: str, k: int, d: int) -> float:
    """The mean square of an entry, given that the draw hides all attributes.

    Draws that are thrown away are the emptier ones, so in few dimensions the kept ones would lengthen all distances
    (by a third at 3 × 6, s = 3). By symmetry one factor mends that; it is simulated with a fixed seed, to about 0.3 %.
    """
    if kind in ("gaussian", "achlioptas1") or d > BIASED_COLUMNS:
        return 1.0
    s = SPARSITY.get(kind, math.sqrt(d))
    rng = np.random.default_rng(0)
    wanted = int(min(max(2e5 * s / (k * d), 200), 20_000))
    kept: list[float] = []
    for _ in range(MOST_DRAWS * 50):
        entries = math.sqrt(s) * np.where(rng.uniform(size=(k, d)) < 1 / s, rng.choice([-1.0, 1.0], size=(k, d)), 0.0)
        if hides_all(entries, kind):
            kept.append(float(np.mean(entries**2)))
            if len(kept) == wanted:
                break
    return float(np.mean(kept)) if kept else 1.0


class RandomProjection(LinearPerturbation):
    """P8. Project records on fewer dimensions by one secret random matrix.

    Parameters
    ----------
    n_components : int
        k, the number of released columns (``axis="attributes"``) or rows (``axis="records"``).
    scaling : {"std", None}, default "std"
        Divide each attribute by its standard deviation, rounded to two digits, first; None keeps raw units.
    kind : {"gaussian", "achlioptas1", "achlioptas3", "sparse"}
        The law of the entries.
    axis : {"attributes", "records"}
        What is reduced. With records, no released row is a record, and public columns cannot go along.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    unit_ : array of shape (d,)
        What each attribute was divided by.

    Notes
    -----
    *Threat.* Released: ``y``, the units, k and the kind. Secret: ``R``. It is one matrix for all records, so known
    records with their rows pin it down (A14: p of them give p of k dimensions, and with the Achlioptas and sparse
    kinds one to three often give all of R), a sample of the population gives its covariance and more (A21),
    independent columns give some of themselves (A16). If R leaks, integers come back exactly (A15). There is no formal
    guarantee.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(50, 20))
    >>> veil.RandomProjection(8, random_state=0).fit_transform(x).shape
    (50, 8)
    """

    catalogue = "P8"
    headline = ("n_components",)
    n_records_: int

    def __init__(
        self,
        n_components: int = 2,
        *,
        scaling: str | None = "std",
        kind: str = "gaussian",
        axis: str = "attributes",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.scaling = scaling
        self.kind = kind
        self.axis = axis
        self.random_state = random_state

    @property
    def reduces(self) -> bool:
        """Whether records, not attributes, are projected."""
        return isinstance(self.axis, str) and self.axis == "records"

    def released_names(self, columns: Sequence[str]) -> list[str]:
        """New names for projected attributes; attributes keep theirs when records are projected."""
        return list(columns) if self.reduces else super().released_names(columns)

    def _n_released(self) -> int:
        return int(self.n_features_in_ if self.reduces else self.n_components)

    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        k = whole(self.n_components, "n_components", least=1)
        for value, name, allowed in ((self.kind, "kind", KINDS), (self.axis, "axis", ("attributes", "records"))):
            choice(value, name, allowed)
        self._learn_units(moments, columns, fewest=1 if self.reduces else 2)
        if not self.reduces:
            self._check_digits(moments, columns)
        self.n_records_ = moments.n_rows
        most, what = (moments.n_rows - 1, "records") if self.reduces else (len(columns), "columns")
        if k > most:
            raise InputError(
                f"n_components must be at most {most} for {moments.n_rows} records of {len(columns)} columns when "
                f"{what} are projected; got {k}"
            )
        self._draw()

    def disclose(self) -> dict[str, Any]:
        """Units, kind and dimensions."""
        said = {"unit": self.unit_.tolist(), "kind": self.kind, "n_components": int(self.n_components)}
        return {**said, "axis": self.axis, "n_records": self.n_records_ if self.reduces else None}

    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        self.unit_ = np.array(parameters["unit"], dtype=np.float64)
        self.n_records_ = parameters["n_records"] or 0

    def transform(self, X: Any) -> Any:
        """Project a table; with records projected, the one that it was fitted on (or another of as many records)."""
        if self.reduces and hasattr(self, "n_records_") and np.ndim(X) == 2 and len(X) != self.n_records_:
            raise InputError(
                f"RandomProjection was fitted on {self.n_records_} records and its matrix has a column for each; X has "
                f"{len(X)}: fit it on the table that it is to project"
            )
        return super().transform(X)

    # -- attributes -------------------------------------------------------------------------

    def _draw(self) -> None:
        if self.reduces:
            self._attempt()
        else:
            self._matrix()

    def _matrix(self) -> Matrix:
        return self._secret_matrix("matrix", self._made)

    def _made(self, source: Generator) -> Matrix:
        k, d = int(self.n_components), len(self.unit_)
        for _ in range(MOST_DRAWS):
            entries = projection_entries(source, k, d, self.kind, d)
            if hides_all(entries, self.kind):
                return entries / math.sqrt(k * mean_square(self.kind, k, d))
        raise InputError(
            f"kind {self.kind!r} released some attribute exactly in each of {MOST_DRAWS} draws of a {k} × {d} matrix; "
            "use kind='gaussian', or fewer components"
        )

    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Project the block's attributes; or its share of the projected records, d × k."""
        if self.reduces:
            return self._share(block, place)
        if self._only_multiplies:
            return super().perturb_block(block, place)
        signs = SignMatrix.of(self._matrix())
        out = np.empty((int(self.n_components), block.shape[1]))
        unit = self.unit_[:, None]
        for tile in tiles(block.shape[1]):
            out[:, tile] = signs.product(block[:, tile] / unit)
        return out

    @property
    def _only_multiplies(self) -> bool:
        return not self.reduces and (self.kind != "sparse" or len(self.unit_) < FEWEST_COLUMNS)

    def restore_block(self, block: Matrix, place: Place) -> Matrix:
        """Solve, where nothing was reduced."""
        return np.asarray(np.linalg.solve(self._matrix(), block) * self.unit_[:, None])

    def invertible(self, *, consistent: bool) -> bool:
        """Only when as many columns were released as there were."""
        return not self.reduces and int(self.n_components) == len(self.unit_)

    def secret_matrix(self) -> Matrix:
        """The k × d matrix, or k × N where records are projected."""
        if not self.reduces:
            return self._matrix()
        starts, attempt = range(0, self.n_records_, RECORD_TILE), self._attempt()
        return np.hstack([self._record_entries(s, attempt) for s in starts]) / math.sqrt(int(self.n_components))

    # -- records ----------------------------------------------------------------------------

    def _attempt(self) -> int:
        """Which draw of the record matrix is the first that determines no record; kept in the key."""
        found = self._secret_matrix("attempt", lambda _: np.array([[self._first_attempt()]]))
        return int(found[0, 0])

    def _first_attempt(self) -> float:
        k, n = int(self.n_components), self.n_records_
        if self.kind == "gaussian" or n * float(k) ** 2 > MOST_CHECKED:
            return 0.0
        for attempt in range(MOST_DRAWS):
            columns = [self._record_entries(start, attempt) for start in range(0, n, RECORD_TILE)]
            if hides_all(np.hstack(columns), self.kind):
                return float(attempt)
        raise InputError(
            f"kind {self.kind!r} released some record exactly in each of {MOST_DRAWS} draws of a {k} × {n} matrix; "
            "use kind='gaussian', or fewer components"
        )

    def _record_entries(self, start: int, attempt: int) -> Matrix:
        """Entries for the records ``start`` to ``start + RECORD_TILE``, k × n."""
        n = min(RECORD_TILE, self.n_records_ - start)
        address = [self.method_name(), self.disclose(), self._column_names(), self._fitted_on, attempt, start]
        source = self._key().generator("projected records", address)
        return projection_entries(source, int(self.n_components), n, self.kind, self.n_records_)

    def _share(self, block: Matrix, place: Place) -> Matrix:
        k, attempt = int(self.n_components), self._attempt()
        out = np.zeros((len(block), k))
        for start in range(0, block.shape[1], RECORD_TILE):
            entries = self._record_entries(place.start + start, attempt)
            out += (block[:, start : start + RECORD_TILE] / self.unit_[:, None]) @ entries.T
        return out / math.sqrt(k)

    def _min_rows(self) -> int:
        return 2
