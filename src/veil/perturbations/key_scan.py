"""The first pass over keys: numbers and categories side by side, recoded by their rules, and counted together.

Classes of a width are told by their number, so that they can be counted before it is known which there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Block, to_float
from veil.data.schema import Kind, kind_of
from veil.errors import InputError
from veil.numerics.moments import Moments
from veil.perturbations.categories import ValueScan, plain_type
from veil.perturbations.recoding_rules import Edges, Rule, Tree, Width
from veil.perturbations.scan import ScanResult, Summary
from veil.perturbations.special_scans import merged_quantiles, sketch

Codes = npt.NDArray[np.int64]


@runtime_checkable
class Recodes(Protocol):
    """A method that recodes columns by rules."""

    def rules(self, columns: Sequence[str]) -> list[Rule]:
        """The rule of each column that settings state."""
        ...


class KeyScan(ValueScan):
    """Rows, missing values and quantiles of numbers; categories; and, with ``joint``, combinations of recoded values.

    A combination has one value per column: the number of a class, a label, a value that is not recoded, or None.
    """

    def __init__(
        self, columns: Sequence[str], *, secret: bytes, method: str, rules: Sequence[Rule], joint: bool
    ) -> None:
        super().__init__(columns, secret=secret, method=method)
        self._rules, self._joint = list(rules), joint

    def read(self, block: Block) -> Any:
        """The columns' values outside any dictionary, missing ones as nulls."""
        return [key_values(block.column(name)) for name in self._columns]

    def summary(self, block: Any) -> Summary:
        """What a block of a table adds."""
        columns = [
            coded(array, rule, name) for array, rule, name in zip(block, self._rules, self._columns, strict=True)
        ]
        numbers = [kind_of(array.type) is Kind.NUMERIC for array in block]
        floats = [
            to_float(array, name) if is_number else np.empty(0)
            for array, name, is_number in zip(block, self._columns, numbers, strict=True)
        ]
        infinite = np.array([int(np.isinf(column).sum()) for column in floats], dtype=np.int64)
        summary = self._counted(len(block[0]), self.digests(block), [array.null_count for array in block])
        listed = [{} if is_number else _tally(array) for array, is_number in zip(block, numbers, strict=True)]
        return replace(
            summary,
            infinite=infinite,
            sketches=tuple(sketch(column) for column in floats),
            categories=tuple(listed),
            combinations=_combinations(columns) if self._joint else None,
        )

    def result(self, total: Summary | None) -> ScanResult:
        """What was learned, once every rule holds."""
        result = super().result(total)
        assert total is not None and total.sketches is not None  # noqa: S101, PT018 - it has rows
        self._check_infinite(total)
        quantiles = tuple(merged_quantiles(sketches) for sketches in total.sketches)
        low, high = (np.array([q[end] if len(q) else 0.0 for q in quantiles]) for end in (0, -1))
        old = result.moments
        moments = Moments(old.n_rows, old.count, old.mean, old.mean, low, high, old.n_complete, old.complete_mean, None)
        return replace(
            result, moments=moments, quantiles=quantiles, categories=total.categories, combinations=total.combinations
        )

    def _check_infinite(self, total: Summary) -> None:
        if total.infinite.any():
            j = int(np.argmax(total.infinite))
            raise InputError(
                f"column {self._columns[j]!r} has {total.infinite[j]} infinite values; replace them by a finite value "
                "or mark them missing"
            )


def key_values(array: pa.Array) -> pa.Array:
    """A column's values outside any dictionary, NaN as missing."""
    inner = plain_type(array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    array = array if array.type == inner else array.cast(inner)
    if pa.types.is_floating(inner):
        return pc.if_else(pc.is_nan(array), pa.scalar(None, inner), array)
    return array


def coded(array: pa.Array, rule: Rule, name: str) -> tuple[list[Any], Codes]:
    """A block's column by its rule: the different values, sorted as they come, and the place of each record's."""
    if isinstance(rule, Edges | Width):
        if kind_of(array.type) is not Kind.NUMERIC:
            raise InputError(f"column {name!r} holds no numbers; give it a hierarchy instead of edges or a width")
        values = np.array(to_float(array, name))
        there = np.isfinite(values)
        places = np.full(len(values), np.nan)
        places[there] = rule.places(values[there])
        return _numbered(pa.array(places, from_pandas=True), whole=True)
    if isinstance(rule, Tree):
        texts, at = _numbered(as_texts(array, name))
        return [None if text is None else rule.parents.get(text, text) for text in texts], at
    return _numbered(array)


def as_texts(array: pa.Array, name: str) -> pa.Array:
    """Values as the texts of a hierarchy have them."""
    if pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
        try:
            array = array.cast(pa.int64())
        except pa.ArrowInvalid:
            raise InputError(
                f"column {name!r} holds numbers with fractions, which no hierarchy lists; give it edges or a width"
            ) from None
    return array.cast(pa.string())


def _numbered(array: pa.Array, *, whole: bool = False) -> tuple[list[Any], Codes]:
    encoded = array.dictionary_encode()
    values = [int(value) for value in encoded.dictionary.to_pylist()] if whole else encoded.dictionary.to_pylist()
    at = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int64)
    return [*values, None], at


def _tally(array: pa.Array) -> dict[Any, int]:
    counts = array.value_counts()
    return dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))


def combined(columns: Sequence[tuple[list[Any], Codes]]) -> tuple[list[tuple[Any, ...]], Codes]:
    """The different combinations of a block's recoded values, and which each record has."""
    codes = np.zeros(len(columns[0][1]), dtype=np.int64)
    for values, at in columns:
        known: dict[Any, int] = {}
        place = np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)
        _, codes = np.unique(codes * (len(known) + 1) + place[at], return_inverse=True)
    _, first, rows = np.unique(codes, return_index=True, return_inverse=True)
    cells = [[values[i] for i in at[first].tolist()] for values, at in columns]
    return list(zip(*cells, strict=True)), rows.astype(np.int64)


def _combinations(columns: Sequence[tuple[list[Any], Codes]]) -> dict[Any, int]:
    """How often each combination of recoded values occurs in a block."""
    cells, rows = combined(columns)
    return dict(zip(cells, np.bincount(rows, minlength=len(cells)).tolist(), strict=True))
