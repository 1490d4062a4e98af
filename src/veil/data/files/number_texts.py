"""Numbers that CSV readers take for texts: decimal commas, and thousands separators.

A comma before the fraction is read off the file where it is certain. A thousands separator is never guessed at: "1.234"
is a number a thousand times as small in another country.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import FileFormatError

_WHOLE = r"[+-]?\d+"
_WITH_COMMA = r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?"
_LIKE_THOUSANDS = r"[+-]?[1-9]\d{0,2},\d{3}"
_GROUPED = r"[+-]?[1-9]\d{0,2}(?:[.,' \x{a0}\x{202f}’]\d{3})+(?:[.,]\d+)?"
_NUMBER = r"[+-]?\d+(?:[.,]\d+)?"


def comma_is_decimal(batch: pa.RecordBatch, names: Sequence[str]) -> bool | None:
    """Whether texts of these columns are numbers with a decimal comma; None where they could be thousands as well.

    >>> batch = pa.RecordBatch.from_pydict({"a": ["1,5", "20"], "b": ["1,500", "x"], "c": ["1,500", "20"]})
    >>> comma_is_decimal(batch, ["a"]), comma_is_decimal(batch, ["b"]), comma_is_decimal(batch, ["c"])
    (True, False, None)
    """
    certain, open_ = False, False
    for name in names:
        values = batch.column(name)
        n_commas = _count(values, _WITH_COMMA)
        if n_commas and n_commas + _count(values, _WHOLE) == _n_present(values):
            doubtful = _count(values, _LIKE_THOUSANDS) == n_commas
            certain, open_ = certain or not doubtful, open_ or doubtful
    return True if certain else None if open_ else False


def with_thousands(batch: pa.RecordBatch, names: Sequence[str]) -> list[str]:
    """Which of these text columns hold numbers with separated thousands.

    >>> batch = pa.RecordBatch.from_pydict({"a": ["1.234,50", "20"], "b": ["1.234,50", "x"], "c": ["20", "7"]})
    >>> with_thousands(batch, ["a", "b", "c"])
    ['a']
    """
    columns = ((name, batch.column(name)) for name in names)
    return [
        name
        for name, values in columns
        if _count(values, _GROUPED) and _count(values, f"(?:{_GROUPED}|{_NUMBER})") == _n_present(values)
    ]


def refused_thousands(file: str, names: Sequence[str]) -> FileFormatError:
    """The refusal of numbers with separated thousands."""
    return FileFormatError(
        f"{file}: column {names[0]!r} holds numbers with thousands separators; write them without (1234.5), or give "
        f"the column the kind text or category",
        parameter="kinds",
    )


def doubtful_comma(file: str) -> FileFormatError:
    """The refusal of numbers such as 1,500, which are 1.5 or 1500."""
    return FileFormatError(
        f"{file}: commas in its numbers could be decimal commas or separate thousands; give decimal=',' if they are "
        "decimal commas, else write the numbers without separators",
        parameter="decimal",
    )


def _count(values: pa.Array, pattern: str) -> int:
    return int(pc.sum(pc.match_substring_regex(values, rf"^\s*{pattern}\s*$")).as_py() or 0)


def _n_present(values: pa.Array) -> int:
    """Cells that are neither missing nor empty."""
    return int(pc.sum(pc.not_equal(pc.utf8_trim_whitespace(values), "")).as_py() or 0)
