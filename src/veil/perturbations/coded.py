"""What perturbations of categories share: columns become codes of a list of categories.

Categories are texts, whole numbers, true and false, or dictionary values; a missing value is refused, or is a category
of its own. They are listed in the manifest: the release shows them anyway. Declared ones make the list independent of
the table, which a formal guarantee needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.blocks import Block, Matrix
from veil.errors import InputError
from veil.key import Key, key_from
from veil.moments import Moments
from veil.perturbations.base import Kept, Perturbation, Place
from veil.scan import Scan, ScanResult
from veil.schema import Kind, listed
from veil.secret import revealed
from veil.sources import as_table
from veil.tables import as_frame
from veil.threads import one_blas_thread

MOST_CATEGORIES = 500
Categories = list[Any]


class ValueScan(Scan):
    """The first pass over columns that are no numbers: rows, missing values, and the fingerprint."""

    def __init__(self, columns: Sequence[str], *, key: Key, method: str, missing: bool = True) -> None:
        super().__init__(columns, key=key, covariance=False, allow_missing=missing, method=method)
        self._rows, self._missing = 0, np.zeros(len(columns), dtype=np.int64)

    def update_block(self, block: Block) -> None:
        """Read the next block of a table."""
        arrays = [plain_values(block.column(name), name) for name in self._columns]
        self._rows += block.n_rows
        self._missing += [array.null_count for array in arrays]
        self._fingerprint.update_bytes([_canonical(array) for array in arrays], block.n_rows)
        self._seen(arrays)

    def _seen(self, arrays: list[pa.Array]) -> None:
        """Take what else is to be learned from a block."""

    def result(self) -> ScanResult:
        """Rows and missing values, once every rule holds."""
        if not self._rows:
            raise InputError("the table has no rows; a release needs at least one")
        if not self._allow_missing and self._missing.any():
            said = [f"{n!r} ({m})" for n, m in zip(self._columns, self._missing, strict=True) if m]
            raise InputError(
                f"{self._method} refuses missing values unless missing='category': {', '.join(said[:8])}; or fill them"
            )
        zero = np.zeros(len(self._columns))
        moments = Moments(self._rows, self._rows - self._missing, zero, zero, zero, zero, self._rows, zero, None)
        return ScanResult(moments, self._fingerprint.digest())


class CategoryScan(ValueScan):
    """The first pass over columns of categories: counts of each, and of their combinations."""

    def __init__(self, columns: Sequence[str], *, key: Key, method: str, missing: bool, joint: bool = False) -> None:
        super().__init__(columns, key=key, method=method, missing=missing)
        self._counts: list[dict[Any, int]] = [{} for _ in columns]
        self._combinations: dict[tuple[Any, ...], int] | None = {} if joint else None

    def _seen(self, arrays: list[pa.Array]) -> None:
        for name, counts, array in zip(self._columns, self._counts, arrays, strict=True):
            for item in pc.value_counts(array).to_pylist():
                counts[item["values"]] = counts.get(item["values"], 0) + item["counts"]
            if len(counts) > MOST_CATEGORIES:
                raise InputError(
                    f"column {name!r} has more than {MOST_CATEGORIES:,} different values and is no category; give it "
                    "another role or method"
                )
        if self._combinations is not None:
            names = [str(j) for j in range(len(arrays))]
            grouped = pa.table(dict(zip(names, arrays, strict=True))).group_by(names).aggregate([([], "count_all")])
            for row in grouped.to_pylist():
                combination = tuple(row[name] for name in names)
                self._combinations[combination] = self._combinations.get(combination, 0) + row["count_all"]

    def result(self) -> ScanResult:
        """Categories and counts, once every rule holds."""
        return replace(super().result(), categories=tuple(self._counts), combinations=self._combinations)


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

    def new_scan(self, columns: Sequence[str], key: Key) -> Scan:
        """A pass that counts categories."""
        if not (isinstance(self.missing, str) and self.missing in ("refuse", "category")):
            raise InputError(f"missing must be 'refuse' or 'category'; got {self.missing!r}")
        missing = self.missing == "category"
        return CategoryScan(columns, key=key, method=type(self).__name__, missing=missing, joint=self._joint())

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

    def encoded(self, block: Block, columns: Sequence[str]) -> Matrix:
        """Codes of the block's categories."""
        return np.array([self._codes(plain_values(block.column(n), n), n, j) for j, n in enumerate(columns)])

    def _codes(self, array: pa.Array, name: str, j: int) -> npt.NDArray[np.float64]:
        known = self.categories_[j]
        found = pc.index_in(array, value_set=typed(known, array.type, name), skip_nulls=False)
        unknown = found.null_count
        if unknown:
            raise InputError(
                f"column {name!r} has {unknown} values that are none of its {len(known)} categories; fit on a table "
                "that has them, or declare them"
            )
        codes: npt.NDArray[np.float64] = found.to_numpy(zero_copy_only=False).astype(np.float64)
        return codes

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
        scan = self.new_scan(columns, key)
        for block in table.blocks(columns):
            scan.update_block(block)
        self.feature_names_in_ = np.array(columns, dtype=object)
        self.fit_scan(columns, scan.result(), key)
        self.released_fields(columns, table.schema)
        return self

    def transform(self, X: Any) -> Any:
        """Perturb a table of the same columns; it comes out as the kind of frame it was."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "n_features_in_")
        table, key, columns = as_table(X), self._key(), self._column_names()
        if table.schema.names != columns:
            raise InputError(f"X has the columns {listed(table.schema.names)}; this was fitted on {listed(columns)}")
        scan = self.new_scan(columns, key)
        for block in table.blocks(columns):
            scan.update_block(block)
        fingerprint = scan.result().fingerprint
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
    """A column's values outside any dictionary; numbers with fractions, and dates, are no categories."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    inner = plain_type(array.type)
    if not (pa.types.is_integer(inner) or pa.types.is_boolean(inner) or pa.types.is_string(inner)):
        raise InputError(
            f"column {name!r} ({inner}) holds no categories: they are texts, whole numbers, or true and false (whole "
            "numbers with gaps need a nullable integer type); discretize it, or use a method for numbers"
        )
    return array if array.type == inner else array.cast(inner)


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
