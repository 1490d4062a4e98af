"""What perturbations of categories share: columns become codes of a list of categories.

Categories are texts, whole numbers, true and false, or dictionary values; a missing value is refused, or is a category
of its own. They are listed in the manifest: the release shows them anyway. Declared ones make the list independent of
the table, which a formal guarantee needs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blas import one_blas_thread
from veil.data.blocks import Block, Matrix
from veil.data.passes import summed
from veil.data.schema import Kind
from veil.data.sources import as_table
from veil.data.tables import as_frame
from veil.errors import InputError, listed
from veil.keys.key import Key, key_from
from veil.keys.randomness import column_digests
from veil.numerics.moments import Moments
from veil.perturbations.base import Kept, Perturbation, Place
from veil.perturbations.scan import Scan, ScanResult, Summary
from veil.secret import revealed

MOST_CATEGORIES = 500
Categories = list[Any]


class ValueScan(Scan):
    """The first pass over columns that are no numbers: rows, missing values, and the fingerprint."""

    def __init__(self, columns: Sequence[str], *, secret: bytes, method: str, missing: bool = True) -> None:
        super().__init__(columns, secret=secret, covariance=False, allow_missing=missing, method=method)

    def __call__(self, block: Block) -> Summary:
        """What a block of a table adds."""
        missing = [block.column(name).null_count for name in self._columns]
        return self._summary(block.n_rows, self.digests(block), missing)

    def digests(self, block: Block) -> bytes:
        """The digests of a block's columns."""
        arrays = (plain_values(block.column(name), name) for name in self._columns)
        return column_digests(self._secret, (_canonical(array) for array in arrays))

    def _summary(self, n_rows: int, digests: bytes, missing: list[int]) -> Summary:
        none = np.zeros(len(self._columns), dtype=np.int64)
        return Summary(n_rows, digests, none, none, np.array(missing, dtype=np.int64))

    def result(self, total: Summary | None) -> ScanResult:
        """Rows and missing values, once every rule holds."""
        if total is None or not total.n_rows:
            raise InputError("the table has no rows; a release needs at least one")
        if not self._allow_missing and total.missing.any():
            said = [f"{n!r} ({m})" for n, m in zip(self._columns, total.missing, strict=True) if m]
            raise InputError(
                f"{self._method} refuses missing values unless missing='category': {', '.join(said[:8])}; or fill them"
            )
        zero, n = np.zeros(len(self._columns)), total.n_rows
        moments = Moments(n, n - total.missing, zero, zero, zero, zero, n, zero, None)
        return ScanResult(moments, self._fingerprint(total))


class CategoryScan(ValueScan):
    """The first pass over columns of categories: counts of each, and of their combinations."""

    def __init__(
        self, columns: Sequence[str], *, secret: bytes, method: str, missing: bool, joint: bool = False
    ) -> None:
        super().__init__(columns, secret=secret, method=method, missing=missing)
        self._joint = joint

    def __call__(self, block: Block) -> Summary:
        """What a block of a table adds."""
        columns = [CodedColumn.of(block.column(name), name) for name in self._columns]
        tallies = tuple(dict(zip(c.values, c.counts.tolist(), strict=True)) for c in columns)
        summary = self._summary(
            block.n_rows,
            column_digests(self._secret, (c.canonical() for c in columns)),
            [t.get(None, 0) for t in tallies],
        )
        return replace(summary, categories=tallies, combinations=_combinations(columns) if self._joint else None)

    def digests(self, block: Block) -> bytes:
        """The digests of a block's columns."""
        columns = (CodedColumn.of(block.column(name), name) for name in self._columns)
        return column_digests(self._secret, (c.canonical() for c in columns))

    def result(self, total: Summary | None) -> ScanResult:
        """Categories and counts, once every rule holds."""
        found = super().result(total)
        assert total is not None and total.categories is not None  # noqa: S101, PT018 - it has rows
        for name, counts in zip(self._columns, total.categories, strict=True):
            _check_number(len(counts), name)
        return replace(found, categories=total.categories, combinations=total.combinations)


@dataclass(frozen=True)
class CodedColumn:
    """One column of a block as codes of the categories that occur in it, which are sorted, the missing one last."""

    dtype: pa.DataType
    values: tuple[Any, ...]
    codes: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, array: pa.Array, name: str) -> CodedColumn:
        """Code a column; dictionaries are not decoded."""
        checked_type(array.type, name)
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        places = coded.indices.fill_null(len(coded.dictionary)) if coded.indices.null_count else coded.indices
        at = places.to_numpy(zero_copy_only=False)
        seen = np.flatnonzero(np.bincount(at, minlength=len(coded.dictionary) + 1))
        _check_number(len(seen), name)
        known = [*coded.dictionary.take(pa.array(seen[seen < len(coded.dictionary)])).to_pylist(), None]
        values = sorted(set(known[: len(seen)]), key=_rank)
        rank = {value: code for code, value in enumerate(values)}
        codes = np.zeros(len(coded.dictionary) + 1, dtype=np.uint16)
        codes[seen] = [rank[value] for value in known[: len(seen)]]
        return cls(plain_type(array.type), tuple(values), codes[at])

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How often each category occurs."""
        return np.bincount(self.codes, minlength=len(self.values))

    def canonical(self) -> bytes:
        """The same bytes for the same values, whatever slice, dictionary or type of text they come in."""
        head = json.dumps([str(self.dtype), self.values], ensure_ascii=True)
        return head.encode() + b"\0" + self.codes.astype("<u2", copy=False).tobytes()


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


class CodedPerturbation(Perturbation):
    """Base of methods that change categories. A subclass has the parameters ``categories`` and ``missing``.

    Attributes
    ----------
    categories_
        For each column its categories, in the order of the codes.
    """

    covers = frozenset({Kind.CATEGORY, Kind.TEXT, Kind.BOOLEAN, Kind.NUMERIC})
    element_wise = True
    takes = "categories"
    categories: Any
    missing: str
    categories_: list[Categories]
    _counts: tuple[dict[Any, int], ...]
    _combinations: dict[tuple[Any, ...], int] | None

    def new_scan(self, columns: Sequence[str], secret: bytes) -> Scan:
        """A pass that counts categories."""
        if not (isinstance(self.missing, str) and self.missing in ("refuse", "category")):
            raise InputError(f"missing must be 'refuse' or 'category'; got {self.missing!r}")
        missing = self.missing == "category"
        return CategoryScan(columns, secret=secret, method=type(self).__name__, missing=missing, joint=self._joint())

    def _joint(self) -> bool:
        """Whether combinations of all columns are to be counted."""
        return False

    def fit_scan(self, columns: Sequence[str], scan: ScanResult, key: Key, kept: Kept | None = None) -> Self:
        """Fit from the first pass over a table."""
        assert scan.categories is not None  # noqa: S101 - the scan is this class's own
        self._counts, self._combinations = scan.categories, scan.combinations
        self.categories_ = [
            self._listed(name, counts, (kept or {}).get(name))
            for name, counts in zip(columns, scan.categories, strict=True)
        ]
        return super().fit_scan(columns, scan, key, kept)

    def _listed(self, name: str, counts: Mapping[Any, int], kept: Mapping[str, Any] | None) -> Categories:
        """The categories of one column: kept, declared or seen."""
        declared = kept["categories"] if kept else _declared(self.categories, name)
        if declared is None:
            return sorted(counts, key=_rank)
        unseen = sum(count for value, count in counts.items() if value not in declared)
        if unseen:
            raise InputError(
                f"column {name!r} has {unseen} values outside its {len(declared)} {'kept' if kept else 'declared'} "
                "categories; add them, or recode the column"
            )
        return list(declared)

    @property
    def declared(self) -> bool:
        """Whether the owner listed every column's categories, so that they say nothing about the table."""
        return self.categories is not None

    def encoded(self, block: Block, columns: Sequence[str], *, lent: bool = False) -> Matrix:
        """Codes of the block's categories."""
        return np.array([self._codes(CodedColumn.of(block.column(n), n), n, j) for j, n in enumerate(columns)])

    def _codes(self, column: CodedColumn, name: str, j: int) -> npt.NDArray[np.float64]:
        place = {value: code for code, value in enumerate(self.categories_[j])}
        typed(self.categories_[j], column.dtype, name)
        codes = np.array([place.get(value, -1) for value in column.values], dtype=np.float64)
        unknown = int(column.counts[codes < 0].sum())
        if unknown:
            raise InputError(
                f"column {name!r} has {unknown} values that are none of its {len(place)} categories; fit on a table "
                "that has them, or declare them"
            )
        return codes[column.codes]

    def decoded(self, values: Matrix) -> list[pa.Array]:
        """Categories of the released codes."""
        columns = zip(self.categories_, values, self._types, self._column_names(), strict=True)
        return [typed(c, t, n).take(pa.array(v.astype(np.int64))) for c, v, t, n in columns]

    def released_fields(self, columns: Sequence[str], schema: pa.Schema) -> list[pa.Field]:
        """The private columns' names and types."""
        self._types = [plain_type(schema.field(name).type) for name in columns]
        return [pa.field(name, dtype) for name, dtype in zip(self.released_names(columns), self._types, strict=True)]

    # -- scikit-learn -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the categories of a table and take a key."""
        table = as_table(X)
        columns, key = list(table.schema.names), key_from(revealed(self.random_state))
        scan = self.new_scan(columns, key.derive("fingerprint"))
        self.feature_names_in_ = np.array(columns, dtype=object)
        self.fit_scan(columns, scan.result(summed(scan, table, columns)), key)
        self.released_fields(columns, table.schema)
        return self

    def transform(self, X: Any) -> Any:
        """Perturb a table of the same columns; it comes out as the kind of frame it was."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "n_features_in_")
        table, key, columns = as_table(X), self._key(), self._column_names()
        if table.schema.names != columns:
            raise InputError(f"X has the columns {listed(table.schema.names)}; this was fitted on {listed(columns)}")
        scan = self.new_scan(columns, key.derive("fingerprint"))
        fingerprint = scan.result(summed(scan, table, columns)).fingerprint
        parts: list[list[pa.Array]] = []
        with one_blas_thread():
            for block in table.blocks(columns):
                out = self.perturb_block(self.encoded(block, columns), Place(fingerprint, block.start))
                parts.append(self.decoded(out))
        chunks = [pa.chunked_array(column) for column in zip(*parts, strict=True)]
        return as_frame(
            pa.table(dict(zip(self.released_names(columns), chunks, strict=True))), table.kind, table.native
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


def _declared(categories: Any, name: str) -> Categories | None:
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


def _rank(value: Any) -> tuple[int, Any]:
    """Sorts values of one type, the missing one last."""
    return (1, 0) if value is None else (0, value)
