"""Columns of categories: how they are scanned, coded, and written again.

Categories are texts, whole numbers, true and false, or dictionary values; a missing value is refused, or is a category
of its own. They are listed in the manifest: the release shows them anyway. Declared ones make the list independent of
the table, which a formal guarantee needs. Columns of numbers that are reported by class
(:mod:`veil.perturbations.number_classes`) are read as the places of their classes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Block, Vector, to_float
from veil.data.levels import Levels, in_order, levels_of
from veil.data.schema import Kind, kind_of
from veil.errors import InputError
from veil.keys.randomness import column_digests
from veil.numerics.moments import Moments
from veil.perturbations.scan import ClassTotals, Scan, ScanResult, Summary
from veil.release.models.number_classes import places_in

MOST_CATEGORIES = 500
Categories = list[Any]


class ValueScan(Scan):
    """The first pass over columns that are no numbers: rows, missing values, and the fingerprint."""

    def __init__(self, columns: Sequence[str], *, secret: bytes, method: str, missing: bool = True) -> None:
        super().__init__(columns, secret=secret, covariance=False, allow_missing=missing, method=method)

    def read(self, block: Block) -> Any:
        """The columns' values outside any dictionary."""
        return [plain_values(block.column(name), name) for name in self._columns]

    def digests(self, columns: Any) -> bytes:
        """The digests of a block's columns."""
        return column_digests(self._secret, (_canonical(array) for array in columns))

    def summary(self, block: Any) -> Summary:
        """What a block of a table adds."""
        return self._counted(len(block[0]), self.digests(block), [array.null_count for array in block])

    def _counted(self, n_rows: int, digests: bytes, missing: list[int]) -> Summary:
        none = np.zeros(len(self._columns), dtype=np.int64)
        return Summary(n_rows, digests, none, none, np.array(missing, dtype=np.int64))

    def result(self, total: Summary | None) -> ScanResult:
        """Rows and missing values, once every rule holds."""
        if total is None or not total.n_rows:
            raise InputError("the table has no rows; a release needs at least one")
        if not self._allow_missing and total.missing.any():
            counts = [f"{n!r} ({m})" for n, m in zip(self._columns, total.missing, strict=True) if m]
            raise InputError(
                f"{self._method} refuses missing values unless missing='category': {', '.join(counts[:8])}; or fill "
                "them"
            )
        zero, n = np.zeros(len(self._columns)), total.n_rows
        moments = Moments(n, n - total.missing, zero, zero, zero, zero, n, zero, None)
        return ScanResult(moments, self._fingerprint(total))


class CategoryScan(ValueScan):
    """The first pass over columns of categories: counts of each, and of their combinations."""

    def __init__(
        self,
        columns: Sequence[str],
        *,
        secret: bytes,
        method: str,
        missing: bool,
        joint: bool = False,
        edges: Mapping[str, Vector] = MappingProxyType({}),
    ) -> None:
        super().__init__(columns, secret=secret, method=method, missing=missing)
        self._joint, self._edges = joint, edges

    def read(self, block: Block) -> Any:
        """The columns as codes of what occurs in the block, or of the classes of numbers."""
        return [
            CodedColumn.of(block.column(name), name)
            if name not in self._edges
            else ClassColumn.of_numbers(block.column(name), name, self._edges[name])
            for name in self._columns
        ]

    def digests(self, columns: Any) -> bytes:
        """The digests of a block's columns."""
        return column_digests(self._secret, (column.canonical() for column in columns))

    def summary(self, block: Any) -> Summary:
        """What a block of a table adds."""
        tallies = tuple(dict(zip(c.values, c.counts.tolist(), strict=True)) for c in block)
        summary = self._counted(len(block[0].codes), self.digests(block), [t.get(None, 0) for t in tallies])
        joint = _combinations(block) if self._joint else None
        classes = {n: c.totals for n, c in zip(self._columns, block, strict=True) if isinstance(c, ClassColumn)}
        levels = tuple(c.levels for c in block)
        return replace(summary, categories=tallies, combinations=joint, classes=classes, levels=levels)

    def result(self, total: Summary | None) -> ScanResult:
        """Categories and counts, once every rule holds."""
        result = super().result(total)
        assert total is not None and total.categories is not None  # noqa: S101, PT018 - it has rows
        for name, counts in zip(self._columns, total.categories, strict=True):
            _check_number(len(counts), name)
        result = replace(result, categories=total.categories, combinations=total.combinations)
        return replace(result, classes=total.classes, levels=total.levels)


@dataclass(frozen=True)
class CodedColumn:
    """One column of a block as codes of the categories that occur in it, which are sorted, the missing one last."""

    dtype: pa.DataType
    values: tuple[Any, ...]
    codes: npt.NDArray[np.uint16]
    levels: Levels | None = None

    @classmethod
    def of(cls, array: pa.Array, name: str) -> CodedColumn:
        """Code a column; dictionaries are not decoded."""
        checked_type(array.type, name)
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        places = coded.indices.fill_null(len(coded.dictionary)) if coded.indices.null_count else coded.indices
        at = places.to_numpy(zero_copy_only=False)
        used = np.flatnonzero(np.bincount(at, minlength=len(coded.dictionary) + 1))
        _check_number(len(used), name)
        known = [*coded.dictionary.take(pa.array(used[used < len(coded.dictionary)])).to_pylist(), None]
        values = sorted(set(known[: len(used)]), key=category_rank)
        rank = {value: code for code, value in enumerate(values)}
        codes = np.zeros(len(coded.dictionary) + 1, dtype=np.uint16)
        codes[used] = [rank[value] for value in known[: len(used)]]
        return cls(plain_type(array.type), tuple(values), codes[at], levels_of(array))

    def coded(self, categories: Sequence[Any], name: str) -> npt.NDArray[np.float64]:
        """The codes of a method's own list of categories."""
        place = {value: code for code, value in enumerate(categories)}
        typed(categories, self.dtype, name)
        codes = np.array([place.get(value, -1) for value in self.values], dtype=np.float64)
        unknown = int(self.counts[codes < 0].sum())
        if unknown:
            raise InputError(
                f"column {name!r} has {unknown} values that are none of its {len(place)} categories; fit on a table "
                "that has them, or declare them"
            )
        return codes[self.codes]

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How often each category occurs."""
        return np.bincount(self.codes, minlength=len(self.values))

    def canonical(self) -> bytes:
        """The same bytes for the same values, whatever slice, dictionary or type of text they come in."""
        head = json.dumps([str(self.dtype), self.values], ensure_ascii=True)
        return head.encode() + b"\0" + self.codes.astype("<u2", copy=False).tobytes()


@dataclass(frozen=True, kw_only=True)
class ClassColumn(CodedColumn):
    """One column of a block of numbers as the places of their classes, the missing one last."""

    totals: ClassTotals

    @classmethod
    def of_numbers(cls, array: pa.Array, name: str, edges: Vector) -> ClassColumn:
        """The class of each number; infinite ones have none."""
        if kind_of(array.type) is not Kind.NUMERIC:
            raise InputError(f"classes: column {name!r} ({plain_type(array.type)}) holds no numbers; leave it out")
        numbers = to_float(array, name)
        infinite = int(np.isinf(numbers).sum())
        if infinite:
            raise InputError(
                f"column {name!r} has {infinite} infinite values; replace them by a finite value or mark them missing"
            )
        missing, places = np.isnan(numbers), places_in(edges, numbers)
        present, at = numbers[~missing], places[~missing]
        totals = ClassTotals(
            np.bincount(at, minlength=len(edges) + 1),
            np.asarray(np.bincount(at, present, minlength=len(edges) + 1), dtype=np.float64),
            int((present != np.rint(present)).sum()),
        )
        codes = np.where(missing, len(edges) + 1, places).astype(np.uint16)
        values = (*range(len(edges) + 1), *([None] if missing.any() else []))
        return cls(array.type, values, codes, totals=totals)

    def coded(self, categories: Sequence[Any], name: str) -> npt.NDArray[np.float64]:
        """The same codes: a method lists a number for every class, and what is missing last."""
        if None in self.values and None not in categories:
            n = int((self.codes == self.codes.max()).sum())
            raise InputError(f"column {name!r} has {n} missing values, which its classes do not list; fill them")
        return self.codes.astype(np.float64)


def _combinations(columns: Sequence[CodedColumn]) -> dict[Any, int]:
    """How often each combination of categories occurs in a block."""
    rows, counts = np.unique(np.column_stack([c.codes for c in columns]), axis=0, return_counts=True)
    return {
        tuple(c.values[i] for c, i in zip(columns, row, strict=True)): int(count)
        for row, count in zip(rows, counts, strict=True)
    }


def _check_number(n: int, name: str) -> None:
    if n > MOST_CATEGORIES:
        raise InputError(
            f"column {name!r} has more than {MOST_CATEGORIES:,} different values and is no category; give it "
            "another role or method"
        )


def typed(categories: Sequence[Any], dtype: pa.DataType, name: str) -> pa.Array:
    """Categories as values of a column's own type."""
    try:
        return pa.array(categories, type=dtype)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise InputError(
            f"categories of column {name!r} are not of its type ({dtype}); declare them as it has them"
        ) from None


def plain_type(dtype: pa.DataType) -> pa.DataType:
    """The type of a column's values, outside any dictionary."""
    inner = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    if pa.types.is_large_string(inner) or pa.types.is_string_view(inner):
        return pa.string()
    return inner


def plain_values(array: pa.Array, name: str) -> pa.Array:
    """A column's values outside any dictionary."""
    inner = checked_type(array.type, name)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array if array.type == inner else array.cast(inner)


def checked_type(dtype: pa.DataType, name: str) -> pa.DataType:
    """The type of a column's values; numbers with fractions, and dates, are no categories."""
    inner = plain_type(dtype)
    if not (pa.types.is_integer(inner) or pa.types.is_boolean(inner) or pa.types.is_string(inner)):
        raise InputError(
            f"column {name!r} ({inner}) holds no categories: they are texts, whole numbers, or true and false (whole "
            "numbers with gaps need a nullable integer type); discretize it, or use a method for numbers"
        )
    return inner


def _canonical(array: pa.Array) -> bytes:
    """The same bytes for the same values, whatever slice or type of text they come in."""
    text = array.cast(pa.large_string()).take(pa.array(np.arange(len(array))))
    valid = np.packbits(text.is_valid().to_numpy(zero_copy_only=False)).tobytes()
    filled = pc.fill_null(text, "")
    _, offsets, data = filled.buffers()
    size = int(np.frombuffer(offsets, dtype=np.int64, count=len(array) + 1)[-1]) if len(array) else 0
    return b"".join(
        [
            str(array.type).encode(),
            valid,
            offsets.to_pybytes()[: 8 * (len(array) + 1)],
            (data.to_pybytes() if data else b"")[:size],
        ]
    )


def declared_categories(categories: Any, name: str) -> Categories | None:
    if categories is None:
        return None
    listing = categories.get(name) if isinstance(categories, Mapping) else categories
    listing = listing.tolist() if isinstance(listing, np.ndarray) else listing
    if listing is None or isinstance(listing, str) or not isinstance(listing, Sequence) or len(listing) < 2:
        raise InputError(f"categories must list at least two categories of column {name!r}")
    plain = [v.item() if isinstance(v, np.generic) else v for v in listing]
    kinds = {type(v) for v in plain if v is not None}
    if len(kinds) != 1 or not kinds <= {str, int, bool}:
        raise InputError(
            f"categories of column {name!r} must be texts, whole numbers, or true and false, all of one kind"
        )
    if len(set(plain)) != len(plain):
        raise InputError(f"categories lists some category of column {name!r} twice")
    return plain


def category_rank(value: Any) -> tuple[int, Any]:
    """Sorts values of one type, the missing one last."""
    return (1, 0) if value is None else (0, value)


def listed_categories(
    categories: Any,
    name: str,
    counts: Mapping[Any, int],
    fixed: Mapping[str, Any] | None,
    levels: Levels | None = None,
) -> Categories:
    """The categories of one column: fixed by an earlier release, declared, or those that occur, in their order."""
    declared = fixed["categories"] if fixed else declared_categories(categories, name)
    if declared is None:
        return in_order(sorted(counts, key=category_rank), levels)
    outside = sum(count for value, count in counts.items() if value not in declared)
    if outside:
        raise InputError(
            f"column {name!r} has {outside} values outside its {len(declared)} {'kept' if fixed else 'declared'} "
            "categories; add them, or recode the column"
        )
    return list(declared)
