"""Row blocks: the one way in which data moves through Veil.

A table is cut into canonical blocks of :data:`BLOCK_ROWS` rows, aligned to absolute row
numbers whatever the batches of a file or the partitions of a cluster, and a block into
tiles of :data:`TILE_ROWS` rows that fit the cache. Inside, numbers are float64 matrices
with **one row per column** (d × n), so that a column is contiguous.

Because shapes and order of summation never differ, in-memory, streaming and distributed
runs give the same bits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.dates import counted_times, is_timed, times_of
from veil.errors import InputError

BLOCK_ROWS = 32_768
TILE_ROWS = 8_192
SPAN_BLOCKS = 32
EXACT_INTEGERS = 2**53
_CACHE_LINE = 8
_STRIP = 512

Matrix: TypeAlias = npt.NDArray[np.float64]
Vector: TypeAlias = npt.NDArray[np.float64]
Words: TypeAlias = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Span:
    """Blocks ``first`` to ``stop`` of a table, by their numbers; ``stop`` None is the table's end.

    >>> Span(32, 64).rows
    (1048576, 2097152)
    """

    first: int = 0
    stop: int | None = None

    @property
    def rows(self) -> tuple[int, int | None]:
        """The first row, and the one after the last."""
        return self.first * BLOCK_ROWS, None if self.stop is None else self.stop * BLOCK_ROWS


WHOLE = Span()


def spans(n_rows: int, n_blocks: int = SPAN_BLOCKS) -> list[Span]:
    """Spans of ``n_blocks`` blocks that cover a table of so many rows.

    >>> spans(3 * BLOCK_ROWS + 1, 2)
    [Span(first=0, stop=2), Span(first=2, stop=4)]
    """
    total = -(-n_rows // BLOCK_ROWS)
    return [Span(first, min(first + n_blocks, total)) for first in range(0, total, n_blocks)]


class Block:
    """Consecutive rows of a table, from row ``start`` on, in one batch or several."""

    __slots__ = ("_batches", "_identity", "n_rows", "start")

    def __init__(self, start: int, *batches: pa.RecordBatch) -> None:
        self.start = start
        self._batches = batches
        self._identity = object()
        self.n_rows = sum(int(batch.num_rows) for batch in batches)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._batches[0].schema

    @property
    def batch(self) -> pa.RecordBatch:
        """All columns in one batch."""
        return _joined(self._batches)

    def column(self, name: str) -> pa.Array:
        """One column of the block."""
        if len(self._batches) == 1:
            return self._batches[0].column(name)
        arrays = [batch.column(name) for batch in self._batches]
        if len({array.type for array in arrays}) > 1:  # a CSV column whose later rows made floats of integers
            arrays = [array.cast(arrays[-1].type, safe=False) for array in arrays]
        return pa.chunked_array(arrays).unify_dictionaries().combine_chunks()

    def null_count(self, name: str) -> int:
        """How many cells of a column are null."""
        return sum(int(batch.column(name).null_count) for batch in self._batches)

    def matrix(self, names: Sequence[str], *, lent: bool = False) -> Matrix:
        """The named columns as a canonical d × n float64 matrix, missing values as NaN.

        ``lent``: the matrix is this thread's own and is used again for the next block, so nobody writes to it; asked
        for again by the same block, it is handed out as it is.
        """
        shape, content = (len(names), self.n_rows), (self._identity, *names)
        if getattr(_OWN, "content", None) == content:
            filled = _lent(shape)
            return filled if lent else filled.copy()
        out = _lent(shape) if lent else np.empty(shape)
        if lent:
            _OWN.content = None
        self._fill(out, names)
        if lent:
            _OWN.content = content
        return out

    def _fill(self, out: Matrix, names: Sequence[str]) -> None:
        for row, name in zip(out, names, strict=True):
            at = 0
            for batch in self._batches:
                part = row[at : at + batch.num_rows]
                np.add(to_float(batch.column(name), name), 0.0, out=part)
                at += batch.num_rows
            one_nan(row)


_OWN = threading.local()


def _lent(shape: tuple[int, int], use: str = "block") -> Matrix:
    """Memory that a thread has had before for the same use: new memory costs as much as filling it."""
    size = shape[0] * shape[1]
    held: npt.NDArray[np.float64] | None = getattr(_OWN, use, None)
    if held is None or len(held) < size:
        held = np.empty(size)
        setattr(_OWN, use, held)
    return held[:size].reshape(shape)


def room_for(d: int, n: int, *, lent: bool = False) -> Matrix:
    """Memory for d released columns of n values; ``lent``: this thread's own, used again for the next block.

    Columns a power of two apart push each other out of the cache when they are multiplied or turned into records.
    """
    shape = d, n + _CACHE_LINE
    return (_lent(shape, "room") if lent else np.empty(shape))[:, :n]


def canonical(matrix: Matrix) -> Matrix:
    """Make equal values equal bits, in place: one NaN and no negative zero."""
    matrix += 0.0
    one_nan(matrix.reshape(-1))
    return matrix


def one_nan(values: Vector) -> Vector:
    """Make every NaN the same bits, in place."""
    # A sum of squares is far cheaper than a look at every value, and finite where all values are.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(values @ values)
    if not finite:
        values[np.isnan(values)] = np.nan
    return values


def to_float(array: pa.Array, name: str) -> npt.NDArray[np.float64]:
    """An Arrow column of numbers as float64, nulls as NaN; integers must be exact in float64.

    Dates are days and moments seconds (:mod:`veil.data.dates`).
    """
    if is_timed(array.type):
        counts = counted_times(array)
        return np.where(missing_in(array), np.nan, counts) if array.null_count else counts
    if pa.types.is_integer(array.type) and array.type.bit_width == 64:
        count = _beyond_exact(array)
        if count:
            raise _too_many_digits(name, count, "integers beyond ±2^53")
    if pa.types.is_decimal(array.type):
        digits = pc.abs(array).cast(pa.decimal256(76, array.type.scale))
        count = pc.sum(
            pc.greater(digits, pa.scalar(Decimal(EXACT_INTEGERS).scaleb(-array.type.scale), digits.type))
        ).as_py()
        if count:
            raise _too_many_digits(name, count, f"decimals of more than {EXACT_INTEGERS} units in the last place")
    if not pa.types.is_float64(array.type):
        array = array.cast(pa.float64(), safe=False)
    values = values_of(array)
    return np.where(missing_in(array), np.nan, values) if array.null_count else values


def _beyond_exact(array: pa.Array) -> int:
    """How many integers of 64 bits are beyond what float64 tells apart."""
    values = values_of(array)
    if not len(values) or (values.max() <= EXACT_INTEGERS and values.min() >= -EXACT_INTEGERS):
        return 0
    beyond = (values > EXACT_INTEGERS) | (values < -EXACT_INTEGERS)
    return int(np.count_nonzero(beyond & ~missing_in(array)))


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece and without a dictionary."""
    array = column.combine_chunks()
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def missing_in(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Where a column is null."""
    return values_of(array.is_null().cast(pa.uint8())).view(np.bool_)


def values_of(array: pa.Array) -> npt.NDArray[Any]:
    """The values of a column of numbers where they lie, anything at nulls; Arrow's ``to_numpy`` would load pandas."""
    memory = array.buffers()[1]
    values = np.frombuffer(memory or b"", dtype=array.type.to_pandas_dtype())
    return values[array.offset : array.offset + len(array)]


def array_of(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers as a column, without a copy; ``pa.array`` would load pandas."""
    values = np.ascontiguousarray(values)
    valid = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [valid, pa.py_buffer(values)])


def _too_many_digits(name: str, count: int, what: str) -> InputError:
    return InputError(
        f"column {name!r} has {count} {what}, which cannot be perturbed without losing digits; give it the role "
        "identifier or drop, or scale it down"
    )


def from_float(values: npt.NDArray[np.float64], dtype: pa.DataType | None = None) -> pa.Array:
    """A float64 column as Arrow, NaN as null, rounded to ``dtype`` when that is coarser."""
    if dtype is not None and is_timed(dtype):
        return times_of(values, dtype)
    missing = np.isnan(values)
    array = array_of(values, missing if missing.any() else None)
    if dtype is None or pa.types.is_float64(dtype):
        return array
    if pa.types.is_integer(dtype):
        return pc.round(array).cast(dtype, safe=False)
    if pa.types.is_decimal(dtype):
        return pc.round(array, ndigits=dtype.scale).cast(dtype, safe=False)
    return array.cast(dtype, safe=False)


def tiles(n_rows: int) -> Iterator[slice]:
    """Slices of at most :data:`TILE_ROWS` rows that cover a block.

    >>> [(t.start, t.stop) for t in tiles(10_000)]
    [(0, 8192), (8192, 10000)]
    """
    for start in range(0, n_rows, TILE_ROWS):
        yield slice(start, min(start + TILE_ROWS, n_rows))


def between(batches: Iterable[pa.RecordBatch], start: int, stop: int | None) -> Iterator[pa.RecordBatch]:
    """Rows ``start`` to ``stop`` of batches that begin at row 0."""
    at = 0
    for batch in batches:
        if stop is not None and at >= stop:
            return
        low = max(start - at, 0)
        high = batch.num_rows if stop is None else min(stop - at, batch.num_rows)
        if low < high:
            yield batch.slice(low, high - low)
        at += batch.num_rows


def recut(batches: Iterable[pa.RecordBatch], start: int = 0, size: int = BLOCK_ROWS) -> Iterator[Block]:
    """Re-cut batches of any size, the first of which begins at row ``start``, into canonical blocks."""
    held: list[pa.RecordBatch] = []
    n_held = 0
    for batch in batches:
        while batch.num_rows:
            take = min(size - n_held, batch.num_rows)
            held.append(batch.slice(0, take))
            batch, n_held = batch.slice(take), n_held + take
            if n_held == size:
                yield Block(start, *held)
                start, held, n_held = start + size, [], 0
    if n_held:
        yield Block(start, *held)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    return table.to_batches()[0]


def array_blocks(array: npt.NDArray[Any]) -> Iterator[tuple[int, Matrix]]:
    """Canonical d × n blocks of an N × d array, each with its first row's number."""
    for start in range(0, len(array), BLOCK_ROWS):
        yield start, column_block(array[start : start + BLOCK_ROWS])


def column_block(rows: npt.NDArray[Any]) -> Matrix:
    """Records as rows, n × d, as a canonical d × n block, in this thread's own memory until the next block."""
    _OWN.content = None
    out = _lent(rows.shape[::-1])
    for start in range(0, len(rows), _STRIP):  # strips that stay in the cache
        strip = slice(start, start + _STRIP)
        np.add(rows[strip].T, 0.0, out=out[:, strip])
    for row in out:
        one_nan(row)
    return out
