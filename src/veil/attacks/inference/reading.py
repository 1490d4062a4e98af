"""Read a release and what is known of people as known and hidden columns (A29).

*Known* are, of the people of an :class:`~veil.attacks.knowledge.ExternalTable`, the columns that it shares with the
release; without one, of the released rows themselves, KnownAttributes and the columns that are released unchanged.
*Hidden* are the private columns that are released one by one, as numbers, categories or classes, and are not known.
Numbers become ranks among the released ones, so that units and outliers do not matter, and categories ranks of their
frequency. Rows are put into an order that their values decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.base import granted
from veil.attacks.inference.columns import as_moments, as_numbers, as_texts, released_array
from veil.attacks.inference.hidden import Codes, Hidden, of_codes, of_numbers
from veil.attacks.inference.learning import People
from veil.attacks.knowledge import ExternalTable, Knowledge, KnownAttributes
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.noise.classes import ClassColumn
from veil.attacks.posterior.responses import known_guesses
from veil.attacks.recoded import likely_categories, private_places, released_places
from veil.data.blocks import Vector, one_array
from veil.data.schema import Kind, kind_of
from veil.errors import InputError, NotApplicableError
from veil.numerics.ordering import row_order
from veil.release.manifest import Part
from veil.release.models import (
    AdditiveModel,
    BasketModel,
    ClassModel,
    LogNormalModel,
    Model,
    MultiplicativeModel,
    RecodedColumn,
    RecodedModel,
    ResponseModel,
    TopCodedModel,
    UnknownModel,
)
from veil.release.release import Release

COLUMNWISE: Final = (
    AdditiveModel,
    MultiplicativeModel,
    LogNormalModel,
    BasketModel,
    ResponseModel,
    ClassModel,
    RecodedModel,
    TopCodedModel,
    UnknownModel,
)
"""Models whose released columns stand for the private columns of the same names."""
MOST_ROWS: Final = 20_000
"""Released rows that are learned from: a fair part of a longer release."""
MOST_CATEGORIES: Final = 200
"""The most frequent categories of a known column, which are told apart."""
MOST_PLACES: Final = 12
"""Of these, the ones that neighbours are compared by."""
SPREAD: Final = 12.0**0.5
"""What ranks between 0 and 1 are multiplied by to have unit spread."""


@dataclass(frozen=True, eq=False)
class Table:
    """A release with its known and hidden columns.

    Attributes
    ----------
    names
        The private columns of methods that release them one by one.
    hidden
        Those that are in the release and not known, on the rows that are learned from.
    rows, people
        These rows, and everybody who is asked for.
    places
        The place of each released row among those that are learned from, −1 for none.
    given
        Private columns that are known of the people, by name.
    of_people
        Whether these are the people of a table, and not the released rows.
    """

    names: tuple[str, ...]
    hidden: tuple[Hidden, ...]
    rows: People
    people: People
    places: npt.NDArray[np.intp]
    given: dict[str, Vector]
    of_people: bool


@dataclass(frozen=True, eq=False)
class _Known:
    """A known column: ranks or codes of the released rows and of people, and how many categories (0 for numbers)."""

    name: str
    rows: Vector
    people: Vector
    n_categories: int = 0

    def features(self, values: Vector) -> list[Vector]:
        """What trees look at: the ranks, and where the value is missing from somebody that it is."""
        missing = np.isnan(values)
        gaps = [missing.astype(np.float64)] if np.isnan(self.rows).any() else []
        return [np.where(missing, 0.5, values), *gaps]

    def places(self, values: Vector) -> list[Vector]:
        """Where neighbours are looked for: ranks, or a direction for each frequent category."""
        if not self.n_categories:
            return [SPREAD * np.where(np.isnan(values), 0.5, values)]
        return [(values == code).astype(np.float64) for code in range(min(self.n_categories, MOST_PLACES))]


def is_columnwise(model: Model) -> bool:
    """Whether a released column stands for the private one of its name."""
    return isinstance(model, COLUMNWISE)


def read(release: Release, knowledge: Sequence[Knowledge], tolerance: float) -> Table:
    """What a release shows of known and hidden columns."""
    n = count_rows(release)
    if not n:
        raise NotApplicableError("the release has no rows")
    external = granted(knowledge, ExternalTable)
    known = _of_people(release, external.table) if external is not None else _of_rows(release, knowledge, n)
    if not known:
        raise NotApplicableError(
            "nothing is known of people: no column is released unchanged, and no KnownAttributes are granted"
            if external is None
            else "table of ExternalTable shares no column with the release that stands for itself in it"
        )
    names = tuple(name for part in release.manifest.parts if is_columnwise(part.model) for name in part.names)
    told = {each.name for each in known}
    hidden = [
        _hidden(release.part(i), part, j, tolerance) for i, part, j in _columns(release) if part.names[j] not in told
    ]
    hidden = sorted((column for column in hidden if column.n_classes), key=lambda column: column.name)
    if not hidden:
        raise NotApplicableError("no private column is hidden: all that are released one by one are known")
    known = sorted(known, key=lambda each: each.name)
    rows = _people(known, of_rows=True)
    # Ranks of what is hidden, so that rows that differ anywhere have a place of their own.
    order = row_order(np.column_stack([rows.features, *(_ranks(c.released, c.released) for c in hidden)]))[:MOST_ROWS]
    places = np.full(n, -1, dtype=np.intp)
    places[order] = np.arange(len(order))
    return Table(
        names,
        tuple(column.taken(order) for column in hidden),
        People(rows.features[order], rows.places[order]),
        _people(known, of_rows=False),
        places,
        _given(release, knowledge, names) if external is None else {},
        external is not None,
    )


def _columns(release: Release) -> Iterator[tuple[int, Part, int]]:
    """Part number, part and place in it of every private column that is released by itself."""
    for i, part in enumerate(release.manifest.parts):
        if is_columnwise(part.model):
            for j, name in enumerate(part.names):
                if name in part.released:
                    yield i, part, j


def _people(known: Sequence[_Known], *, of_rows: bool) -> People:
    values = [each.rows if of_rows else each.people for each in known]
    features, places = (
        [column for each, own in zip(known, values, strict=True) for column in getattr(each, how)(own)]
        for how in ("features", "places")
    )
    return People(np.column_stack(features), np.column_stack(places))


def _given(release: Release, knowledge: Sequence[Knowledge], names: Sequence[str]) -> dict[str, Vector]:
    """Known private columns as they are guessed."""
    attributes = granted(knowledge, KnownAttributes)
    if attributes is None:
        return {}
    known = {n: values for n, values in zip(attributes.columns, attributes.values.T, strict=True) if n in names}
    return known_guesses(release.manifest.parts, known)


def _of_rows(release: Release, knowledge: Sequence[Knowledge], n: int) -> list[_Known]:
    """What is known of the released rows: granted attributes, and columns that are released unchanged."""
    attributes = granted(knowledge, KnownAttributes)
    known: list[_Known] = []
    if attributes is not None:
        if len(attributes.values) != n:
            raise InputError(f"KnownAttributes has {len(attributes.values)} records; the release has {n}")
        known = [
            _numbers(name, values, values) for name, values in zip(attributes.columns, attributes.values.T, strict=True)
        ]
    told = {each.name for each in known}
    public = [column.name for column in release.manifest.public if column.name not in told]
    both = [_compared(name, array, array) for name in public for array in [released_array(release, name)]]
    return [each for each in (*known, *both) if each is not None and np.ptp(np.nan_to_num(each.rows, nan=-1.0)) > 0]


def _of_people(release: Release, table: pa.Table) -> list[_Known]:
    """Columns of an external table that are released unchanged, or stand for themselves in the release."""
    known: list[_Known | None] = []
    for column in release.manifest.public:
        if column.name in table.column_names:
            known.append(
                _compared(column.name, released_array(release, column.name), one_array(table.column(column.name)))
            )
    for _, part, j in _columns(release):
        name, model = part.names[j], part.model
        if name not in table.column_names:
            continue
        ours, theirs = released_array(release, name), one_array(table.column(name))
        if isinstance(model, ClassModel):
            at = part.released.index(name)
            values = as_numbers(theirs, name)
            classes = np.where(np.isnan(values), np.nan, np.searchsorted(model.edges[at], values, side="right"))
            known.append(_numbers(name, _missing(_class_codes(ours, model, at)), classes))
        elif isinstance(model, RecodedModel):
            known.append(_recoded(name, model.columns[part.released.index(name)], ours, theirs))
        elif isinstance(model, TopCodedModel):
            values = as_numbers(theirs, name)
            coded = model.coded(np.tile(values[:, None], len(part.names)))[:, j]
            known.append(_numbers(name, as_numbers(ours, name), coded))
        else:
            category = not (part.columns[j].kind.is_number or part.columns[j].kind is Kind.BOOLEAN)
            known.append(_compared(name, ours, theirs, category=category))
    return [each for each in known if each is not None and np.ptp(np.nan_to_num(each.rows, nan=-1.0)) > 0]


def _recoded(name: str, column: RecodedColumn, ours: pa.Array, theirs: pa.Array) -> _Known | None:
    """A recoded column beside people's own values, which are released as its classes or labels."""
    if column.is_exact_number:
        return _compared(name, ours, theirs)
    rows, people = released_places(ours, column), private_places(theirs, column, name)
    if column.edges is not None:
        return _numbers(name, _missing(rows), _missing(people))
    texts = pa.array([*(str(value) for value in column.released), None], type=pa.string())
    return _categories(name, texts.take(pa.array(rows % len(texts))), texts.take(pa.array(people % len(texts))))


def _compared(name: str, ours: pa.Array, theirs: pa.Array, *, category: bool = False) -> _Known | None:
    """A column of the release beside the same of people; None where values of its kind cannot be compared."""
    kind, other = kind_of(ours.type), kind_of(theirs.type)
    if {kind, other} <= {Kind.NUMERIC, Kind.BOOLEAN} and not category:
        return _numbers(name, as_numbers(ours, name), as_numbers(theirs, name))
    if kind is Kind.OTHER:
        return None
    if kind.is_timed and other.is_timed:
        return _numbers(name, as_numbers(as_moments(ours), name), as_numbers(as_moments(theirs), name))
    if (kind is Kind.NUMERIC) != (other is Kind.NUMERIC) or other.is_timed or other is Kind.OTHER:
        raise InputError(f"table: column {name!r} must be of the release's type ({ours.type}); convert it")
    return _categories(name, *(as_texts(each, kind) for each in (ours, theirs)))


def _numbers(name: str, rows: Vector, people: Vector) -> _Known:
    return _Known(name, _ranks(rows, rows), _ranks(rows, people))


def _ranks(among: Vector, values: Vector) -> Vector:
    """Places between 0 and 1 among the numbers there are; equal ones share theirs."""
    rising = np.sort(among[~np.isnan(among)])
    below, up_to = (np.searchsorted(rising, values, side=side) for side in ("left", "right"))
    return np.where(np.isnan(values), np.nan, (below + up_to) / (2.0 * max(len(rising), 1)))


def _categories(name: str, rows: pa.Array, people: pa.Array) -> _Known:
    """Codes of categories by their frequency among the released rows; rare and other ones share the last."""
    counts = sorted(pc.value_counts(rows.drop_null()).to_pylist(), key=lambda each: (-each["counts"], each["values"]))
    frequent = pa.array([each["values"] for each in counts[:MOST_CATEGORIES]], type=rows.type)
    codes = []
    for array in (rows, people):
        at = pc.index_in(array, value_set=frequent).fill_null(len(frequent)).to_numpy(zero_copy_only=False)
        codes.append(np.where(array.is_null().to_numpy(zero_copy_only=False), np.nan, at.astype(np.float64)))
    return _Known(name, codes[0], codes[1], len(frequent))


def _hidden(single: Release, part: Part, j: int, tolerance: float) -> Hidden:
    """A private column as the release shows it."""
    name, model = part.names[j], part.model
    at = part.released.index(name)
    if isinstance(model, ResponseModel):
        codes = single.codes()[:, at]
        return of_codes(name, codes, np.arange(len(model.categories[at]), dtype=np.float64))
    released = released_array(single, name)
    if isinstance(model, ClassModel):
        codes = _class_codes(released, model, at)
        return _of_classes(name, model.edges[at], codes, part.columns[j].is_integer, tolerance)
    if isinstance(model, RecodedModel) and not model.columns[at].is_exact_number:
        recoded, codes = model.columns[at], released_places(released, model.columns[at])
        if recoded.edges is not None:
            return _of_classes(name, recoded.edges, codes, part.columns[j].is_integer, tolerance)
        return of_codes(name, codes, likely_categories(recoded))
    values = as_numbers(released, name)
    if part.columns[j].kind.is_number:
        noise = math.sqrt(float(model.covariance[j, j])) if isinstance(model, AdditiveModel) else 0.0
        return of_numbers(name, values, tolerance, noise)
    listing = np.unique(values[~np.isnan(values)])
    codes = np.where(np.isnan(values), -1, np.searchsorted(listing, np.nan_to_num(values))).astype(np.int64)
    return of_codes(name, codes, listing)


def _of_classes(name: str, edges: Vector, codes: Codes, whole: bool, tolerance: float) -> Hidden:
    """A column of classes, each of which stands for the value that hits most in it."""
    counts = np.bincount(codes[codes >= 0], minlength=len(edges) + 1)
    column = ClassColumn(edges=edges, counts=counts, whole=whole, limits=None, known=np.empty(0))
    reach = tolerance * column.unit()
    return of_codes(name, codes, np.array([each.hit(reach) for each in column.posteriors()]), reach)


def _class_codes(texts: pa.Array, model: ClassModel, at: int) -> Codes:
    codes = pc.index_in(texts, value_set=pa.array(list(model.names[at])), skip_nulls=True).fill_null(-1)
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)


def _missing(codes: Codes) -> Vector:
    return np.where(codes < 0, np.nan, codes.astype(np.float64))
