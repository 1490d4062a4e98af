"""What looks like a code for a missing value, or like a code instead of a number.

*Missing values.* Questionnaires end their scales by nines: an age of 99, an income of 9999, and what is one or two
below. The end of a column's values is such a code if it is far beyond the rest, or a heap: more records have it than
all values in the tenth of the scale below, or than two such values where the two before it do not occur. Among numbers
none of which is negative otherwise, −1, −9, −99 and the like are codes. Of texts, a few marks are (``?``, ``NA``,
``-``). A block counts only what its own least and greatest values allow, so that other columns cost nothing.

*Codes for categories.* Whole numbers of one length that repeat, lie close nowhere and are no years, such as postcodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.data.blocks import Matrix, Vector
from veil.data.distinct import DistinctSample
from veil.data.schema import Kind, kind_of
from veil.numerics.rounding import two_digits

NINES = np.array([9.0, 99.0, 999.0, 9_999.0, 99_999.0, 999_999.0])
NEGATIVE = np.array([-1.0, *(-each for top in NINES[:5] for each in (top - 2, top - 1, top))])
MARKS = ("?", "??", "-", "--", ".", "..", "*", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>")
FEWEST = 2
FEWEST_STEPS = 2.0
HEAP = 5
"""Records at least that make a heap at the end of a scale that has values nearby."""
FAR = 0.25
"""A code is far beyond the rest if the gap is this share of their range."""
_ENDS = 3
_WINDOW = 0.1
_NAMED = re.compile(
    r"(?i)(^|[_\W])(zip|postal|postcode|plz|fips|isic|nace|sic|naics|isco|icd\d*|code|cod)([_\W]|code|$)"
)
_LENGTHS = range(4, 10)
_REPEATED = 0.5
_DENSE = 0.2
_YEARS = (1800, 2100)
_ROUND = 10


@dataclass(frozen=True)
class Ends:
    """Of d columns of numbers, what is at the ends of their scales.

    Attributes
    ----------
    top
        By column and nines, how many values are two below, one below and equal.
    below
        By column and nines, how many are in the tenth of the scale below these.
    rest
        By column and nines, the greatest value below these three.
    low
        By column, how often each negative code occurs.
    others
        By column, how many other negative values there are.
    """

    top: npt.NDArray[np.int64]
    below: npt.NDArray[np.int64]
    rest: npt.NDArray[np.float64]
    low: npt.NDArray[np.int64]
    others: npt.NDArray[np.int64]

    def __add__(self, more: Ends) -> Ends:
        return Ends(
            self.top + more.top,
            self.below + more.below,
            np.fmax(self.rest, more.rest),
            self.low + more.low,
            self.others + more.others,
        )


def ends_of(matrix: Matrix, least: Vector, greatest: Vector) -> Ends:
    """The ends of the columns of a block, whose least and greatest values are known.

    >>> ends = ends_of(np.array([[1.0, 30.0, 99.0, 99.0]]), np.array([1.0]), np.array([99.0]))
    >>> ends.top[0, 1].tolist(), float(ends.rest[0, 1])
    ([0, 0, 2], 30.0)
    """
    d, k = len(matrix), len(NINES)
    ends = Ends(
        np.zeros((d, k, _ENDS), dtype=np.int64),
        np.zeros((d, k), dtype=np.int64),
        np.repeat(greatest[:, None], k, axis=1),
        np.zeros((d, len(NEGATIVE)), dtype=np.int64),
        np.zeros(d, dtype=np.int64),
    )
    for j, values in enumerate(matrix):
        for i in np.flatnonzero((greatest[j] <= NINES) & (np.minimum((1 - _WINDOW) * NINES, NINES - 2) <= greatest[j])):
            nines = NINES[i]
            ends.top[j, i] = [np.count_nonzero(values == nines - step) for step in (2, 1, 0)]
            rest = values[values < nines - 2]
            ends.below[j, i] = np.count_nonzero(rest >= (1 - _WINDOW) * nines)
            ends.rest[j, i] = rest.max() if len(rest) else np.nan
        if least[j] < 0:
            negative = values[values < 0]
            if np.isin(negative[:_NEGATIVE_FIRST], NEGATIVE).all():
                ends.low[j] = [np.count_nonzero(negative == code) for code in NEGATIVE]
            ends.others[j] = len(negative) - ends.low[j].sum()
    return ends


_NEGATIVE_FIRST = 64


def missing_codes(ends: Ends, j: int, least: float, greatest: float, n: int) -> dict[int, int]:
    """Which values of a column, of n that are there, may stand for missing ones, and how often they occur."""
    codes = _low_codes(ends, j, n)
    at = np.flatnonzero(greatest == NINES)
    if not len(at):
        return codes
    i, bottom = int(at[0]), max(least, 0.0) if codes else least
    nines, window = NINES[i], (1 - _WINDOW) * NINES[i]
    counts = dict(zip((nines - 2, nines - 1, nines), ends.top[j, i].tolist(), strict=True))
    for n_codes in range(1, _ENDS + 1):
        chosen = {code: counts[code] for code in list(counts)[-n_codes:] if counts[code]}
        beyond = {code: counts[code] for code in list(counts)[:-n_codes] if counts[code]}
        rest, n_chosen = max([*beyond, ends.rest[j, i]]), sum(chosen.values())
        n_near = int(ends.below[j, i]) + sum(beyond.values())
        gap = min(chosen) - rest
        far = gap >= max(FEWEST_STEPS, FAR * (rest - bottom))
        usual = n_near * len(chosen) / max(rest - window, 1.0) if gap >= FEWEST_STEPS else n_near
        heap = i > 0 and n_chosen >= HEAP and n_chosen > 2 * usual
        if FEWEST <= n_chosen < n / 2 and (far or heap):
            return codes | {int(code): count for code, count in chosen.items()}
    return codes


def _low_codes(ends: Ends, j: int, n: int) -> dict[int, int]:
    """Negative codes among values that are not negative otherwise."""
    counts = {int(code): int(count) for code, count in zip(NEGATIVE, ends.low[j], strict=True) if count}
    if ends.others[j] or not FEWEST <= sum(counts.values()) < n / 2:
        return {}
    return dict(sorted(counts.items(), reverse=True))


def count_marks(values: pa.Array) -> npt.NDArray[np.int64]:
    """How often each of the marks that may stand for a missing value occurs among texts.

    >>> int(count_marks(pa.array(["a", "?", " ?"])).sum())
    2
    """
    trimmed = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
    places = pc.index_in(trimmed, value_set=pa.array(MARKS, pa.large_string())).drop_null()
    return np.bincount(places.to_numpy(zero_copy_only=False).astype(np.intp), minlength=len(MARKS)).astype(np.int64)


def looks_like_a_code(values: pa.Array, name: str) -> bool:
    """Whether whole numbers, the first of a column, look like codes for categories, by their name or themselves.

    >>> looks_like_a_code(pa.array([10115, 80331, 10115, 80331]), "home"), looks_like_a_code(pa.array([30, 45]), "age")
    (True, False)
    """
    present = values.drop_null()
    if kind_of(values.type) is not Kind.NUMERIC or not pa.types.is_integer(values.type) or not len(present):
        return False
    if _NAMED.search(name):
        return True
    numbers = present.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    low, high = numbers.min(), numbers.max()
    length = len(str(int(low))) if low > 0 else 0
    if length not in _LENGTHS or len(str(int(high))) != length or (_YEARS[0] <= low and high <= _YEARS[1]):
        return False
    different = np.unique(numbers)
    rounded = np.count_nonzero(numbers % _ROUND == 0) > len(numbers) / 2
    repeated = len(different) <= _REPEATED * len(numbers)
    return bool(repeated and not rounded and len(different) <= _DENSE * (high - low + 1))


def suspects_advice(codes: dict[str, Sequence[str]]) -> list[str]:
    """What to declare, if values of these columns stand for missing ones."""
    if not codes:
        return []
    some = "; ".join(f"{name}: {', '.join(values)}" for name, values in list(codes.items())[:5])
    more = f"; and {len(codes) - 5} more columns" if len(codes) > 5 else ""
    first, (value, *_) = next(iter(codes.items()))
    return [
        f"Values that may stand for missing ones ({some}{more}) are read as they are. If they do, say so: "
        f"missing={{{first!r}: [{_quoted(value)}]}} of veil.read_table, or --missing {_shell(f'{first}={value}')}."
    ]


def codes_advice(names: Sequence[str]) -> list[str]:
    """How to declare columns of codes."""
    if not names:
        return []
    some = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return [
        f"Numbers that look like codes ({some}) would be averaged and get noise. If they are codes, say so: "
        f"kinds={{{names[0]!r}: 'category'}} of veil.read_table, or --kind {_shell(f'{names[0]}=category')}."
    ]


def duplicates_advice(records: DistinctSample, n_rows: int) -> list[str]:
    """How many records are there more than once."""
    assert records.sizes is not None  # noqa: S101 - records are counted
    again = int(records.sizes[records.sizes > 1].sum()) << records.level
    if not again:
        return []
    n = f"{again:,}" if records.exact else f"About {two_digits(again):,.0f}"
    return [f"{n} of {n_rows:,} records are the same as another in every column."]


def _quoted(value: str) -> str:
    return value if value.lstrip("-").isdigit() else repr(value)


def _shell(text: str) -> str:
    return text if re.fullmatch(r"[\w=.-]+", text) else f"'{text}'"
