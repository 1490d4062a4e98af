"""The clues for record linkage (A22): which columns of a release and an external table can be compared, and how.

A clue is made for every part of the release and for every public column that the external table has too:

=============================  ==================================================================================
additive noise (P1, P2, P21)   y − x under the published law; with declared bounds, x clipped to them
multiplicative, combined       density of y = x·r + e given x; exact zeros are equal or not
log-normal (P4)                ln y − ln x, normal with the published covariance
randomized response, baskets   P[reported, true]; of a compound variable the columns that are not known are averaged out
classes (P17), public columns  equal or not
recoded columns (P23, P25)     the class or label of the private value, equal or not; a suppressed cell says nothing
coded ends (P24)               the value as it is coded, equal or not
orthogonal (P6)                the record's length, when all columns are known and there is no translation
pseudonyms (P20)               how many rows have the same one, beside how many people have the same group
nothing said about the method  y − x normal, of widths that are learned; codes, kept with a probability that is learned
=============================  ==================================================================================

Other methods that mix columns say nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.categories.response_posterior import basket_response
from veil.attacks.knowledge import LARGEST, ExternalTable
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.linkage.likelihood import (
    Background,
    Clue,
    Codes,
    DistanceClue,
    EqualitiesClue,
    EqualityClue,
    NormalClue,
)
from veil.attacks.linkage.published import noisy, responses
from veil.attacks.linkage.regression import Rows, row_ratios
from veil.attacks.linkage.sizes import size_clue
from veil.attacks.linkage.unknown import (
    UnknownClue,
    UnknownCodesClue,
    UnknownNoiseClue,
    learn,
    rows_to_learn_from,
    spread,
)
from veil.attacks.recoded import private_places, released_places
from veil.attacks.rotation.matching import release_tolerance
from veil.data.blocks import Matrix, Vector, to_float
from veil.data.schema import Kind, is_countable, kind_of
from veil.errors import InputError, listed
from veil.release.manifest import Part
from veil.release.models import (
    AdditiveModel,
    BasketModel,
    ClassModel,
    LogNormalModel,
    MultiplicativeModel,
    NormalizedRotationModel,
    OrthogonalModel,
    PermutedTransformModel,
    ProjectionModel,
    PseudonymModel,
    RecodedModel,
    ResponseModel,
    TopCodedModel,
    UnknownModel,
)
from veil.release.release import Release, memory_release

NUMBERS = (AdditiveModel, MultiplicativeModel, LogNormalModel, TopCodedModel, UnknownModel)
"""Models whose released columns can be compared with the private ones as they are."""
MIXED = (OrthogonalModel, NormalizedRotationModel, ProjectionModel, PermutedTransformModel)
"""Models of one matrix for all records."""
SAME = 1e-6
"""Numbers of public columns are equal when they differ by less than this, relatively: single precision."""


class Evidence:
    """A release beside an external table.

    ``clues`` are those of the published laws, ``distances`` those of plain nearest neighbours; ``columns`` the names
    that both have. ``restored`` are guesses of the private columns of parts that mix them.
    """

    def __init__(
        self, release: Release, external: ExternalTable, restored: Mapping[int, Matrix] = MappingProxyType({})
    ) -> None:
        self._release, self._table, self._restored = release, external.table, restored
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
        self._kinds = {column.name: column.kind for part in release.manifest.parts for column in part.columns}

    def clues(self) -> list[Clue]:
        """What the published laws say, and those that are learned where none is."""
        clues = self._unlearned()
        if any(isinstance(clue, UnknownClue) for clue in clues):
            m, n = self._table.num_rows, count_rows(self._release)
            rows = rows_to_learn_from(m, n)
            some = memory_release(
                self._release.table.read().take(pa.array(rows)), self._release.manifest, "pyarrow", {}
            )
            restored = {i: values[rows] for i, values in self._restored.items()}
            teachers = Evidence(some, ExternalTable(self._table), restored)._unlearned()
            learn(teachers, m, n)
            for clue, teacher in zip(clues, teachers, strict=True):
                if isinstance(clue, UnknownClue) and isinstance(teacher, UnknownClue):
                    clue.law = teacher.law
        return clues

    def _unlearned(self) -> list[Clue]:
        clues: list[Clue] = [EqualitiesClue([self._equal(name) for name in self._public])] if self._public else []
        for i, part in enumerate(self._release.manifest.parts):
            shared = [j for j, name in enumerate(part.names) if name in self._table.column_names]
            if shared:
                clues += self._of_part(self._release.part(i), part, shared)
            if i in self._restored:
                clues.append(UnknownNoiseClue(self._numbers(part.names), self._restored[i]))
        return clues

    @property
    def mixed(self) -> bool:
        """Whether all that can be compared was mixed by a matrix."""
        return not self._public and all(isinstance(part.model, MIXED) for part in self._release.manifest.parts)

    def of_pairs(self, rows: Rows, own: Rows) -> Vector | None:
        """What one row each says where a matrix mixes columns, by the rows ``own`` of others; None where none does."""
        numbers = {field.name for field in self._table.schema if is_countable(field.type)}
        ratios = [
            row_ratios(self._numbers(part.names), self._release.part(i).to_numpy(), rows, own)
            for i, part in enumerate(self._release.manifest.parts)
            if isinstance(part.model, (*MIXED, UnknownModel)) and numbers.issuperset(part.names)
        ]
        known = [each for each in ratios if each is not None]
        return np.asarray(np.sum(known, axis=0)) if known else None

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
                elif isinstance(model, RecodedModel):
                    clues.append(EqualityClue(*self._recoded(part, model, j), gain=0.0, cost=-0.5))
                elif isinstance(model, ResponseModel):
                    clues.append(EqualityClue(self._codes(single, j), single.codes()[:, j], gain=0.0, cost=-0.5))
                elif isinstance(model, NUMBERS) and self._is_number(name):
                    y = self._released(name)
                    clues.append(DistanceClue(self._numbers([name])[:, 0], y, spread(y)))
        return clues

    def _of_part(self, single: Release, part: Part, shared: list[int]) -> list[Clue]:
        model, names = part.model, [part.names[j] for j in shared]
        if isinstance(model, ClassModel):
            return [EqualityClue(*self._classes(part, model, j)) for j in shared]
        if isinstance(model, ResponseModel):
            known = [(j, self._codes(single, j)) for j in shared]
            return responses(model, single.codes(), known)
        if isinstance(model, BasketModel):
            if model.kind != "mask":
                return []
            items = [(j, _bits(self._numbers([part.names[j]])[:, 0])) for j in shared]
            return responses(basket_response(model), single.to_numpy().astype(np.int64), items)
        if isinstance(model, RecodedModel):
            return [EqualitiesClue([self._recoded(part, model, j) for j in shared])]
        if isinstance(model, TopCodedModel):
            return [EqualitiesClue([self._coded_ends(part, model, j) for j in shared])]
        if isinstance(model, OrthogonalModel):
            return self._length(single, model) if len(shared) == len(part.names) and not model.translated else []
        if isinstance(model, AdditiveModel | MultiplicativeModel | LogNormalModel):
            x, y = self._numbers(names), single.to_numpy()[:, shared]
            return noisy(model, shared, x, y)
        if isinstance(model, PseudonymModel):
            sizes = [size_clue(*self._groups(part.names[j], part.released[j])) for j in shared]
            return [clue for clue in sizes if clue is not None]
        if isinstance(model, UnknownModel):
            same = [c for c in part.columns if c.name in names and c.name in part.released and self._is_number(c.name)]
            # What was text is released as codes, which are equal or not.
            codes: list[Clue] = [UnknownCodesClue(*self._equal(c.name)) for c in same if not c.kind.is_number]
            numbers = [c.name for c in same if c.kind.is_number]
            if not numbers:
                return codes
            y = np.column_stack([self._released(name) for name in numbers])
            return [*codes, UnknownNoiseClue(self._numbers(numbers), y)]
        return []

    def _length(self, single: Release, model: OrthogonalModel) -> list[Clue]:
        y = single.to_numpy()
        lengths = np.linalg.norm(y, axis=1)[:, None]
        known = np.linalg.norm(model.scaled(self._numbers(single.only_part.names)), axis=1)[:, None]
        variance = max(release_tolerance(y), 1e-140) ** 2
        if model.dither is not None:
            noise = model.dither.variance / model.unit**2
            known, variance = np.sqrt(known**2 + noise.sum()), variance + float(noise.max())
        error = np.array([[variance]])
        return [NormalClue(known, lengths, Background(lengths, error[0]), error)]

    def _is_number(self, name: str) -> bool:
        released = self._release.table.schema.field(name).type
        return kind_of(released).is_number and kind_of(released) is kind_of(self._table.schema.field(name).type)

    def _released(self, name: str) -> Vector:
        return _tame(to_float(self._release.table.read([name]).column(0).combine_chunks(), name))

    def _numbers(self, names: Sequence[str]) -> Matrix:
        """External columns as numbers."""
        columns = []
        for name in names:
            array = self._table.column(name).combine_chunks()
            kind, wanted = kind_of(array.type), self._kinds.get(name, kind_of(array.type))
            if not is_countable(array.type) or (kind is not wanted and (kind.is_timed or wanted.is_timed)):
                raise InputError(f"table: column {name!r} must hold numbers, as the release's does; convert it")
            columns.append(_tame(to_float(array, name)))
        return np.column_stack(columns)

    def _classes(self, part: Part, model: ClassModel, j: int) -> tuple[Codes, Codes]:
        x = self._numbers([part.names[j]])[:, 0]
        texts = self._release.table.read([part.released[j]]).column(0).combine_chunks()
        rows = pc.index_in(texts, value_set=pa.array(list(model.names[j]))).fill_null(-1)
        codes = np.searchsorted(model.edges[j], x, side="right")
        return np.where(np.isnan(x), -1, codes).astype(np.int64), rows.to_numpy().astype(np.int64)

    def _recoded(self, part: Part, model: RecodedModel, j: int) -> tuple[Codes, Codes]:
        column, name = model.columns[j], part.names[j]
        if column.is_exact_number:
            return _number_codes(self._numbers([name])[:, 0], self._released(part.released[j]))
        released = self._release.table.read([part.released[j]]).column(0).combine_chunks()
        records = self._table.column(name).combine_chunks()
        return private_places(records, column, name), released_places(released, column)

    def _coded_ends(self, part: Part, model: TopCodedModel, j: int) -> tuple[Codes, Codes]:
        known = np.zeros((self._table.num_rows, len(part.names)))
        known[:, j] = self._numbers([part.names[j]])[:, 0]
        return _number_codes(model.coded(known)[:, j], self._released(part.released[j]))

    def _codes(self, single: Release, j: int) -> Codes:
        """External categories as the manifest's codes; −1 for missing values and other categories."""
        name, model = single.only_part.names[j], single.only_part.model
        assert isinstance(model, ResponseModel)  # noqa: S101 - for the type checker
        values = self._cast(name, single.table.schema.field(single.only_part.released[j]).type)
        known = pa.array(list(model.categories[j]), type=values.type)
        codes = pc.index_in(values, value_set=known, skip_nulls=True).fill_null(-1)
        return np.asarray(codes.to_numpy(), dtype=np.int64)

    def _groups(self, name: str, released: str) -> tuple[Codes, Codes]:
        """The groups that external people and released rows belong to, each in codes of its own; −1 for none."""
        columns = (self._table.column(name), self._release.table.read([released]).column(0))
        a, b = (pc.dictionary_encode(_decoded(column.combine_chunks())).indices for column in columns)
        people, rows = (codes.fill_null(-1).to_numpy().astype(np.int64) for codes in (a, b))
        return people, rows

    def _equal(self, name: str) -> tuple[Codes, Codes]:
        """External and released values of a public column as codes that are equal where the values are."""
        if self._is_number(name) and kind_of(self._table.schema.field(name).type) is Kind.NUMERIC:
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
