"""CSV text cut into chunks of whole rows, so that chunks can be parsed apart from each other."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

CHUNK = 4 << 20
_QUOTE, _ZERO, _POINT = ord('"'), ord("0"), ord(".")
_BLANKS_AND_SIGNS = np.frombuffer(b"\t +-", np.uint8)


def row_chunks(stream: Any, delimiter: str, size: int | None = None) -> Iterator[bytes]:
    """The text of a stream in chunks that end where a row ends; a row longer than a chunk is a chunk of its own.

    >>> import io
    >>> list(row_chunks(io.BytesIO(b'a,b\\n1,"x\\ny"\\n2,z'), ",", 8))
    [b'a,b\\n', b'1,"x\\ny"\\n', b'2,z']
    """
    rest = b""
    while text := stream.read(size or CHUNK):
        text = rest + text
        end = last_row_end(text, delimiter)
        if end:
            yield text[:end]
        rest = text[end:]
    if rest:
        yield rest


def last_row_end(text: bytes, delimiter: str) -> int:
    """Where the last whole row of a text ends that begins with a row; 0 where there is none."""
    starts, ends = _quoted(text, delimiter)
    newline, limit = (b"\n", len(text)) if b"\n" in text else (b"\r", len(text) - 1)
    while (at := text.rfind(newline, 0, limit)) >= 0:
        cell = bisect_left(starts, at) - 1
        if cell < 0 or ends[cell] < at:
            return at + 1
        limit = int(starts[cell])
    return 0


def _quoted(text: bytes, delimiter: str) -> tuple[Sequence[int], Sequence[int]]:
    """Where quoted stretches begin and end; the last may be open."""
    if b'"' not in text:
        return (), ()
    data = np.frombuffer(text, np.uint8)
    marks = np.flatnonzero(data == _QUOTE)
    starts, ends = marks[::2], marks[1::2]
    borders = np.frombuffer(f'{delimiter}"\r\n'.encode(), np.uint8)
    before, after = data[starts[starts > 0] - 1], data[ends[ends < len(data) - 1] + 1]
    if np.isin(before, borders).all() and np.isin(after, borders).all():
        closed = ends if len(ends) == len(starts) else np.append(ends, len(text))
        return starts, closed  # type: ignore[return-value]
    # A quote inside a cell that does not begin with one is a character like any other.
    pattern = rb'(?:(?<=[\r\n%s])|\A)"(?:[^"]|"")*(?:"|\Z)' % re.escape(delimiter.encode())
    cells = [match.span() for match in re.finditer(pattern, text)]
    return [start for start, _ in cells], [end - 1 for _, end in cells]


def may_hold_codes(text: bytes, delimiter: str) -> bool:
    """Whether a cell may begin with a zero before another digit, as codes do: never wrongly no.

    >>> may_hold_codes(b"1,0.05\\n1e-05,2020-01-05 09:30\\n", ","), may_hold_codes(b"1,-007\\n", ",")
    (False, True)
    """
    data = np.frombuffer(text, np.uint8)
    zeros = np.flatnonzero(data[:-1] == _ZERO)
    zeros = zeros[data[zeros + 1] - np.uint8(_ZERO) < 10]
    before = _before(data, zeros, 1)
    bordered = _may_border(before, delimiter)
    zeros, before = zeros[bordered], before[bordered]
    inner = np.isin(before, _BLANKS_AND_SIGNS) & (before != ord(delimiter))
    return bool((~inner | _may_border(_before(data, zeros, 2), delimiter)).any())


def _before(data: npt.NDArray[np.uint8], at: npt.NDArray[np.intp], steps: int) -> npt.NDArray[np.uint8]:
    return np.where(at >= steps, data[at - steps], np.uint8(ord("\n")))


def _may_border(values: npt.NDArray[np.uint8], delimiter: str) -> npt.NDArray[np.bool_]:
    """Whether a byte can stand before the first digit of a cell: blanks, signs, quotes, line ends, the separator."""
    return np.asarray((values < _POINT) | (values == ord(delimiter)))
