"""The clues for record linkage (A22): which columns of a release and an external table can be compared, and how.

A clue is made for every part of the release and for every public column that the external table has too:

=============================  ==================================================================================
additive noise (P1, P2, P21)   y − x under the published law; with declared bounds, x clipped to them
multiplicative, combined       density of y = x·r + e given x; exact zeros are equal or not
log-normal (P4)                ln y − ln x, normal with the published covariance
randomized response, baskets   P[reported, true]; of a compound variable the columns that are not known are averaged out
classes (P17), public columns  equal or not
orthogonal (P6)                the record's length, when all columns are known and there is no translation
nothing said about the method  the distance, in hundredths of the released column's spread
=============================  ==================================================================================

Pseudonyms and other methods that mix columns say nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.categories.response_posterior import basket_response
from veil.attacks.knowledge import LARGEST, ExternalTable
from veil.attacks.linkage.likelihood import (
    Background,
    Clue,
    Codes,
    DistanceClue,
    EqualitiesClue,
    EqualityClue,
    FactorClue,
    IndependentClue,
    NormalClue,
    TableClue,
)
from veil.attacks.rotation.matching import release_tolerance
from veil.data.blocks import Matrix, Vector, to_float
from veil.data.schema import Kind, kind_of
from veil.errors import InputError, listed
from veil.numerics.laws import LAPLACE, UNIFORM
from veil.numerics.response_likelihood import most_likely
from veil.release.manifest import Part
from veil.release.models import (
    AdditiveModel,
    BasketModel,
    ClassModel,
    LogNormalModel,
    MechanismModel,
    MultiplicativeModel,
    OrthogonalModel,
    ResponseModel,
    UnknownModel,
)
from veil.release.release import Release

WIDTH = 0.01
"""Where a method says nothing: the standard deviation of y − x, in units of the released column's spread."""
NUMBERS = (AdditiveModel, MultiplicativeModel, LogNormalModel, UnknownModel)
"""Models whose released columns can be compared with the private ones as they are."""
SAME = 1e-6
"""Numbers of public columns are equal when they differ by less than this, relatively: single precision."""


class Evidence:
    """A release beside an external table.

    ``clues`` are those of the published laws, ``distances`` those of plain nearest neighbours; ``columns`` the names
    that both have.
    """

    def __init__(self, release: Release, external: ExternalTable) -> None:
        self._release, self._table = release, external.table
        there = set(self._table.column_names)
        public = [column.name for column in release.manifest.public]
        private = [name for part in release.manifest.parts for name in part.names]
        self.columns = tuple(name for name in (*private, *public) if name in there)
        if not self.columns:
            raise InputError(
                f"table of ExternalTable shares no column with the release, whose columns are "
                f"{listed([*private, *public])}; rename its columns to these"
            )
        self._public = [name for name in public if name in there]

    def clues(self) -> list[Clue]:
        """What the published laws say."""
        clues: list[Clue] = [EqualitiesClue([self._equal(name) for name in self._public])] if self._public else []
        for i, part in enumerate(self._release.manifest.parts):
            shared = [j for j, name in enumerate(part.names) if name in self._table.column_names]
            if shared:
                clues += self._of_part(self._release.part(i), part, shared)
        return clues

    def distances(self) -> list[Clue]:
        """Half the squared distance in units of each released column's spread; other values of a category count 1."""
        clues: list[Clue] = [EqualityClue(*self._equal(name), gain=0.0, cost=-0.5) for name in self._public]
        for i, part in enumerate(self._release.manifest.parts):
            for j, name in enumerate(part.names):
                if name not in self._table.column_names or part.released[j : j + 1] != (name,):
                    continue
                single, model = self._release.part(i), part.model
                if isinstance(model, ClassModel):
                    clues.append(EqualityClue(*self._classes(part, model, j), gain=0.0, cost=-0.5))
                elif isinstance(model, ResponseModel):
                    clues.append(EqualityClue(self._codes(single, j), single.codes()[:, j], gain=0.0, cost=-0.5))
                elif isinstance(model, NUMBERS) and self._is_number(name):
                    y = self._released(name)
                    clues.append(DistanceClue(self._numbers([name])[:, 0], y, _spread(y)))
        return clues

    def _of_part(self, single: Release, part: Part, shared: list[int]) -> list[Clue]:
        model, names = part.model, [part.names[j] for j in shared]
        if isinstance(model, ClassModel):
            return [EqualityClue(*self._classes(part, model, j)) for j in shared]
        if isinstance(model, ResponseModel):
            known = [(j, self._codes(single, j)) for j in shared]
            return _responses(model, single.codes(), known)
        if isinstance(model, BasketModel):
            if model.kind != "mask":
                return []
            items = [(j, _bits(self._numbers([part.names[j]])[:, 0])) for j in shared]
            return _responses(basket_response(model), single.to_numpy().astype(np.int64), items)
        if isinstance(model, OrthogonalModel):
            return self._length(single, model) if len(shared) == len(part.names) and not model.translated else []
        if isinstance(model, AdditiveModel | MultiplicativeModel | LogNormalModel):
            x, y = self._numbers(names), single.to_numpy()[:, shared]
            return _noisy(model, shared, x, y)
        if isinstance(model, UnknownModel):
            same = [n for n in names if n in part.released and self._is_number(n)]
            return [_near(self._numbers([n]), self._released(n)[:, None]) for n in same]
        return []

    def _length(self, single: Release, model: OrthogonalModel) -> list[Clue]:
        y = single.to_numpy()
        lengths = np.linalg.norm(y, axis=1)[:, None]
        known = np.linalg.norm(model.scaled(self._numbers(single.only_part.names)), axis=1)[:, None]
        error = np.array([[max(release_tolerance(y), 1e-140) ** 2]])
        return [NormalClue(known, lengths, Background(lengths, error[0]), error)]

    def _is_number(self, name: str) -> bool:
        released = self._release.table.schema.field(name).type
        return kind_of(released) is Kind.NUMERIC and kind_of(self._table.schema.field(name).type) is Kind.NUMERIC

    def _released(self, name: str) -> Vector:
        return _tame(to_float(self._release.table.read([name]).column(0).combine_chunks(), name))

    def _numbers(self, names: Sequence[str]) -> Matrix:
        """External columns as numbers."""
        columns = []
        for name in names:
            array = self._table.column(name).combine_chunks()
            if kind_of(array.type) not in (Kind.NUMERIC, Kind.BOOLEAN):
                raise InputError(f"table: column {name!r} must hold numbers, as the release's does; convert it")
            columns.append(_tame(to_float(array, name)))
        return np.column_stack(columns)

    def _classes(self, part: Part, model: ClassModel, j: int) -> tuple[Codes, Codes]:
        x = self._numbers([part.names[j]])[:, 0]
        texts = self._release.table.read([part.released[j]]).column(0).combine_chunks()
        rows = pc.index_in(texts, value_set=pa.array(list(model.names[j]))).fill_null(-1)
        codes = np.searchsorted(model.edges[j], x, side="right")
        return np.where(np.isnan(x), -1, codes).astype(np.int64), rows.to_numpy().astype(np.int64)

    def _codes(self, single: Release, j: int) -> Codes:
        """External categories as the manifest's codes; −1 for missing values and other categories."""
        name, model = single.only_part.names[j], single.only_part.model
        assert isinstance(model, ResponseModel)  # noqa: S101 - for the type checker
        values = self._cast(name, single.table.schema.field(single.only_part.released[j]).type)
        known = pa.array(list(model.categories[j]), type=values.type)
        codes = pc.index_in(values, value_set=known, skip_nulls=True).fill_null(-1)
        return np.asarray(codes.to_numpy(), dtype=np.int64)

    def _equal(self, name: str) -> tuple[Codes, Codes]:
        """External and released values of a public column as codes that are equal where the values are."""
        if self._is_number(name):
            return _number_codes(self._numbers([name])[:, 0], self._released(name))
        rows = _decoded(self._release.table.read([name]).column(0).combine_chunks())
        records = self._cast(name, rows.type)
        both = pc.unique(pa.chunked_array([records, rows])).drop_null()
        a, b = (pc.index_in(v, value_set=both, skip_nulls=True).fill_null(-1).to_numpy() for v in (records, rows))
        return a.astype(np.int64), b.astype(np.int64)

    def _cast(self, name: str, dtype: pa.DataType) -> pa.Array:
        """An external column in the release's type."""
        values = _decoded(self._table.column(name).combine_chunks())
        inner = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
        try:
            if (kind_of(values.type) is Kind.TEXT) == (kind_of(inner) is Kind.TEXT):
                return values.cast(inner)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # Arrow's message quotes the value
            pass
        raise InputError(f"table: column {name!r} must be of the release's type ({inner}); convert it")


def _near(x: Matrix, y: Matrix) -> Clue:
    """A clue for a column of a method that says nothing."""
    variance = np.array([[(WIDTH * _spread(y)) ** 2]])
    return NormalClue(x, y, Background(y, variance[0]), variance)


def _spread(y: Matrix) -> float:
    """The standard deviation of the values there are; 1 where they do not differ."""
    present = y[np.isfinite(y)]
    return float(np.std(present)) if present.size and present.min() < present.max() else 1.0


def _noisy(
    model: AdditiveModel | MultiplicativeModel | LogNormalModel, shared: list[int], x: Matrix, y: Matrix
) -> list[Clue]:
    """Clues of noise on single columns ``shared`` of a part, known as x and released as y."""
    grid = model.grid[shared]
    if isinstance(model, MultiplicativeModel):
        return _factors(model, model.noise[shared], grid, x, y)
    noise = model.covariance[np.ix_(shared, shared)]
    if isinstance(model, LogNormalModel):
        x, y = (np.log(values, out=np.full(values.shape, np.nan), where=values > 0) for values in (x, y))
        return [NormalClue(x, y, Background(y, np.diag(noise)), noise)]
    if isinstance(model, MechanismModel):
        low, high = model.bounds[shared].T
        x = np.clip(x, low, high)
    background = Background(y, np.diag(noise))
    # Of a law that is not known here the variance serves.
    if model.distribution not in (UNIFORM.name, LAPLACE.name):
        return [NormalClue(x, y, background, noise)]
    # Value and noise are rounded to the grid, half a step each; the last bits of x add a little.
    slack = grid + 1e-12 * np.abs(np.where(np.isnan(y), 0.0, y)).max(axis=0, initial=0.0)
    return [IndependentClue(x, y, background, model.distribution, np.sqrt(np.diag(noise)), slack)]


def _factors(model: MultiplicativeModel, noise: Vector, grid: Vector, x: Matrix, y: Matrix) -> list[Clue]:
    """Clues of ``y = x r + e``: zeros without noise stay zeros and are compared as such."""
    zero_x, zero_y = (x == 0) & (noise == 0), (np.abs(y) <= grid / 2) & (noise == 0)
    clues: list[Clue] = [
        EqualityClue(*(np.where(np.isnan(v[:, j]), -1, zero[:, j]) for v, zero in ((x, zero_x), (y, zero_y))))
        for j in np.flatnonzero(zero_x.any(axis=0) | zero_y.any(axis=0))
    ]
    x, y = np.where(zero_x, np.nan, x), np.where(zero_y, np.nan, y)
    # An inverse hyperbolic sine is a logarithm far from 0, and near it no worse than the number itself.
    sizes = [np.abs(column[np.isfinite(column)]) for column in y.T]
    unit = np.array([float(np.median(size)) if size.any() else 1.0 for size in sizes])
    unit[unit == 0.0] = 1.0
    background = Background(
        np.arcsinh(y / unit), np.full(len(unit), model.law.std**2), -0.5 * np.log1p((y / unit) ** 2) - np.log(unit)
    )
    return [*clues, FactorClue(x, y, background, model.law, np.hypot(noise, grid / np.sqrt(12.0)))]


def _responses(model: ResponseModel, reports: Codes, known: list[tuple[int, Codes]]) -> list[Clue]:
    """Clues of randomized responses: N × d reported codes, and the true codes of some columns for m people."""
    n = len(reports)
    if model.compound is None:
        clues: list[Clue] = []
        for j, codes in known:
            share = np.maximum(np.bincount(reports[:, j], minlength=len(model.matrices[j])), 1.0) / n
            clues.append(TableClue(_logs(model.matrices[j].T) - np.log(share), codes, reports[:, j]))
        return clues
    place = {combination: i for i, combination in enumerate(model.compound)}
    rows = np.array([place.get(row, -1) for row in map(tuple, reports.tolist())], dtype=np.int64)
    counts = np.bincount(rows[rows >= 0], minlength=len(place)).astype(np.float64)
    (matrix,) = model.matrices
    prior = most_likely(np.maximum(counts, 1e-9), [matrix])
    keys, codes = np.unique(np.column_stack([c for _, c in known]), axis=0, return_inverse=True)
    combinations = np.array(model.compound)[:, [j for j, _ in known]]
    fits = ((keys[:, None] == combinations) | (keys[:, None] < 0)).all(axis=2)
    weights = fits * np.maximum(prior, 1e-12)
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    table = _logs(weights @ matrix.T / total) - np.log(np.maximum(counts, 1.0) / n)
    table[(keys < 0).all(axis=1)] = 0.0
    return [TableClue(table, codes.ravel().astype(np.int64), rows)]


def _logs(probabilities: Matrix) -> Matrix:
    return np.asarray(np.log(np.maximum(probabilities, 1e-300)))


def _tame(values: Vector) -> Vector:
    """Numbers that cannot be squared say nothing."""
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def _bits(values: Vector) -> Codes:
    return np.where(values == 1.0, 1, np.where(values == 0.0, 0, -1)).astype(np.int64)


def _decoded(array: pa.Array) -> pa.Array:
    """Values outside any dictionary, texts of one type."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast(pa.string()) if kind_of(array.type) is Kind.TEXT else array


def _number_codes(records: Vector, rows: Vector) -> tuple[Codes, Codes]:
    """Codes that are equal for numbers that rounding does not tell apart; −1 for missing ones."""
    values = np.concatenate([records, rows])
    order = np.argsort(values, kind="stable")  # NaN last
    sorted_values = values[order]
    step = np.diff(sorted_values) > SAME * np.abs(sorted_values[1:])
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = np.concatenate([[0], np.cumsum(step)])
    codes[np.isnan(values)] = -1
    return codes[: len(records)], codes[len(records) :]
