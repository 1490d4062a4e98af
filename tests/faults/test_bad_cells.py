"""Cells of odd columns: counted as a plain Counter counts them, or refused in one line."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.errors import InputError, VeilError
from veil.measures import cell_sizes, classification_cost, discernibility, uniqueness

LARGE = 2**53
"""From here on a float64 is not every whole number."""


# -- large whole numbers ------------------------------------------------------------------------


def in_pandas():
    return pd.DataFrame({"id": [LARGE, LARGE + 1], "w": [0.5, 0.5]})


def in_pandas_unsigned():
    return pd.DataFrame({"id": np.array([LARGE, LARGE + 1], np.uint64), "w": [1, 1]})


def in_polars():
    return pytest.importorskip("polars").DataFrame({"id": [LARGE, LARGE + 1], "w": [0.5, 0.5]})


def in_arrow():
    return pytest.importorskip("pyarrow").table({"id": [LARGE, LARGE + 1], "w": [0.5, 0.5]})


@pytest.mark.parametrize("frame", [in_pandas, in_pandas_unsigned, in_polars, in_arrow])
def test_large_ids_beside_a_column_of_floats(frame):
    assert cell_sizes(frame()).tolist() == [1, 1]
    assert uniqueness(frame()) == 1.0


@pytest.mark.parametrize("column", [[LARGE, LARGE + 1, 0.5], [2**63 + 1, 2**63, -1], [LARGE, LARGE + 1, math.nan]])
def test_large_ids_in_a_list_with_a_float(column):
    assert cell_sizes([column]).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "column",
    [
        lambda: pytest.importorskip("polars").Series([LARGE, LARGE + 1, None]),
        lambda: pytest.importorskip("pyarrow").array([LARGE, LARGE + 1, None]),
        lambda: pd.Series([LARGE, LARGE + 1, None], dtype="int64[pyarrow]"),
    ],
    ids=["polars", "pyarrow", "pandas with pyarrow"],
)
def test_large_ids_beside_a_missing_one(column):
    assert cell_sizes([column()]).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "columns",
    [
        [pd.Series([LARGE, LARGE + 1, LARGE]), [0.5, 0.5, 0.5]],
        pd.DataFrame({"id": pd.array([LARGE, LARGE + 1, LARGE], dtype="Int64"), "w": [0.5, 0.5, 0.5]}),
        [[2**64, 2**64 + 1, 2**64]],
        [np.array([2**63, 2**63 + 1, 2**63], np.uint64)],
        [[Fraction(LARGE + 1, 3), Fraction(LARGE + 2, 3), Fraction(LARGE + 1, 3)]],
    ],
)
def test_large_ids_that_stay_apart(columns):
    assert cell_sizes(columns).tolist() == [2, 1, 2]


# -- missing values -----------------------------------------------------------------------------


@pytest.mark.parametrize("as_columns", [lambda a: a, lambda a: [a]])
def test_masked_values_are_missing(as_columns):
    masked = np.ma.array([1, 1, 2, 3], mask=[False, True, True, True])
    with suppress(InputError):
        assert cell_sizes(as_columns(masked)).tolist() == [1, 3, 3, 3]


def test_a_masked_mask_is_refused():
    with pytest.raises(InputError):
        discernibility([[1, 1, 2]], 2, np.ma.array([True, False, False], mask=[True, False, False]))


def test_missing_values_in_structured_arrays():
    records = np.array([(1, math.nan), (1, math.nan)], dtype=[("a", int), ("b", float)])
    with suppress(InputError):
        assert cell_sizes(records).tolist() == [2, 2]


def test_all_that_is_missing_is_alike():
    missing = [None, math.nan, np.float32("nan"), np.datetime64("NaT"), np.timedelta64("NaT"), pd.NaT, pd.NA]
    column = pd.Series([*missing, Decimal("nan"), "x"], dtype=object)
    assert cell_sizes([column]).tolist() == [8] * 8 + [1]
    assert cell_sizes([np.array([complex("nan"), complex(0, math.nan), 1])]).tolist() == [2, 2, 1]


# -- values that are not what they look like ----------------------------------------------------


def test_a_number_is_no_duration():
    five = np.timedelta64(5, "D")
    with suppress(InputError):
        assert cell_sizes([[five, 5, five]]).tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    ("column", "sizes"),
    [
        ([b"a", b"a\0", "a", b"a"], [2, 1, 1, 2]),
        (["a", "a\0", "a "], [1, 1, 1]),
        ([1, 1.0, True, "1", Decimal(1), Fraction(1)], [5, 5, 5, 1, 5, 5]),
        ([0.0, -0.0, 0], [3, 3, 3]),
        ([math.inf, -math.inf, math.inf], [2, 1, 2]),
        ([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)], [1, 1]),
        ([np.datetime64("2020"), np.datetime64("2020-01-01"), np.datetime64("2021")], [2, 2, 1]),
        ([dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 1)], [1, 1]),
        ([dt.datetime(2020, 1, 1, h, tzinfo=dt.timezone(dt.timedelta(hours=h))) for h in (0, 1)], [2, 2]),
        (pd.Series(["a", "b", "a", None], dtype="category"), [2, 1, 2, 1]),
        (pd.to_datetime(["2020-01-01", "2020-01-01", None]).tz_localize("Europe/Rome"), [2, 2, 1]),
        (np.array([2**53, 2**53 + 1], np.longdouble), [1, 1] if np.finfo(np.longdouble).nmant > 52 else [2, 2]),
    ],
    ids=str,
)
def test_what_is_alike(column, sizes):
    assert cell_sizes([column]).tolist() == sizes


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_libraries_frames(library):
    frame = {"n": [1, 1, 2, 2], "s": ["a", "a", None, None], "d": [dt.date(2020, 1, 1)] * 4}
    made = pytest.importorskip(library)
    table = made.DataFrame(frame) if library == "polars" else made.table(frame)
    assert cell_sizes(table).tolist() == [2, 2, 2, 2]


# -- refusals -----------------------------------------------------------------------------------


class Raises:
    def __init__(self, error):
        self._error = error

    def __hash__(self):
        return 1

    def __eq__(self, other):
        raise self._error("SECRETCELL")

    __ne__ = __eq__


@pytest.mark.parametrize("error", [RuntimeError, ValueError])
@pytest.mark.parametrize("n", [1, 2])
def test_values_that_cannot_be_compared(error, n):
    with pytest.raises(VeilError, match="cannot be compared"):
        cell_sizes([np.array([Raises(error) for _ in range(n)], dtype=object)])


@pytest.mark.parametrize(
    "call",
    [
        lambda: classification_cost([[1, 2]], [["x"], ["y"]], 1),
        lambda: discernibility([[1, 2]], 1, [[True, False]]),
        lambda: discernibility([[1, 2]], 1, True),
    ],
)
def test_a_refusal_says_what_to_pass(call):
    with pytest.raises(InputError) as refused:
        call()
    assert "list of columns" not in str(refused.value)


@pytest.mark.parametrize(
    "columns",
    [
        None,
        "SECRETCELL",
        b"SECRETCELL",
        {"a": [1, 2]},
        {"a": [1, 2]}.values(),
        (value for value in [[1]]),
        ["SECRETCELL", "b"],
        [pd.DataFrame({"a": [1, 2]})],
        np.array([[1, 2], [3]], dtype=object),
        [np.array([{"SECRETCELL"}, []], dtype=object)],
        [[Decimal("sNaN"), 1]],
        [["SECRETCELL", [1]]],
    ],
    ids=lambda c: type(c).__name__,
)
def test_no_table(columns, says):
    with pytest.raises(InputError) as refused:
        cell_sizes(columns)
    says(str(refused.value))


@pytest.mark.parametrize("k", [np.float64(2), np.bool_(True), Decimal(2), math.nan, math.inf, [2], np.array([2])])
def test_no_k(k):
    for call in (uniqueness, discernibility, lambda c, k: classification_cost(c, [1, 2], k)):
        with pytest.raises(InputError, match=r"^k must be "):
            call([[1, 2]], k)


@pytest.mark.parametrize("k", [10**30, 2**63, np.uint64(2**63 + 1)])
def test_a_k_beyond_all_tables(k):
    assert uniqueness([[1, 1, 2]], k) == 1.0
    assert discernibility([[1, 1, 2]], k) == 9
    assert classification_cost([[1, 1, 2]], ["x", "x", "y"], k) == 3


@pytest.mark.parametrize(
    "suppressed",
    [[1, 0, 0], [True, False], [True, None, False], [1.0, 0.0, 0.0], "yes", ["True", "", ""], np.ones((3, 1), bool)],
)
def test_no_mask(suppressed):
    with pytest.raises(InputError, match=r"^suppressed: "):
        discernibility([[1, 1, 2]], 2, suppressed)


# -- against a plain count ----------------------------------------------------------------------

SMALL = st.one_of(
    st.integers(-3, 3),
    st.sampled_from(
        [0.0, -0.0, 0.5, 1.0, math.inf, None, math.nan, True, "1", "", "a", b"a", "a\0", dt.date(2020, 1, 1)]
    ),
    st.sampled_from([pd.NaT, pd.NA, np.datetime64("NaT"), Decimal("1"), Fraction(1, 2), (1, 2), 2**70]),
)


def missing(value):
    return value is None or value is pd.NA or bool(value != value)


def slow(columns, labels, k, hidden):
    """Sizes and costs by definition."""
    n = len(labels)
    records = [tuple("missing" if missing(v) else ("value", v) for v in row) for row in zip(*columns, strict=True)]
    sizes, classes = Counter(records), defaultdict(Counter)
    for record, label in zip(records, labels, strict=True):
        classes[record][label] += 1
    kept = Counter(record for record, gone in zip(records, hidden, strict=True) if not gone)
    whole = [size for size in kept.values() if size >= k]
    return (
        [sizes[record] for record in records],
        sum(size for size in sizes.values() if size < k) / n,
        sum(size**2 for size in whole) + n * (n - sum(whole)),
        sum(s - max(classes[c].values()) if s >= k else s for c, s in sizes.items()),
    )


@st.composite
def tables(draw):
    n = draw(st.integers(1, 15))
    columns = draw(st.lists(st.lists(SMALL, min_size=n, max_size=n), min_size=1, max_size=3))
    labels = draw(st.lists(st.sampled_from(["x", "y", 1]), min_size=n, max_size=n))
    hidden = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return columns, labels, draw(st.integers(1, 5)), hidden


def as_objects(column):
    made = np.empty(len(column), dtype=object)
    for i, value in enumerate(column):
        made[i] = value
    return made


@settings(max_examples=150, deadline=None)
@given(tables())
def test_as_a_slow_count_has_it(case):
    columns, labels, k, hidden = case
    wanted = slow(columns, labels, k, hidden)
    objects = [as_objects(column) for column in columns]
    frame = pd.DataFrame({i: pd.Series(column, dtype=object) for i, column in enumerate(objects)})
    for given_as in (objects, np.column_stack(objects), frame):
        found = (
            cell_sizes(given_as).tolist(),
            uniqueness(given_as, k),
            discernibility(given_as, k, hidden),
            classification_cost(given_as, labels, k),
        )
        assert found == wanted


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2**62, -(2**63), 2**63 - 1]), st.sampled_from(["a", "b", None])),
        min_size=1,
        max_size=20,
    )
)
def test_frames_of_numbers_and_text_in_every_library(rows):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    columns = {"n": [n for n, _ in rows], "s": [s for _, s in rows]}
    counts = Counter(rows)
    wanted = [counts[row] for row in rows]
    frame = polars.DataFrame(columns, schema={"n": polars.Int64, "s": polars.String})
    schema = pyarrow.schema([("n", pyarrow.int64()), ("s", pyarrow.string())])
    for given_as in (pd.DataFrame(columns), frame, pyarrow.table(columns, schema=schema), list(columns.values())):
        assert cell_sizes(given_as).tolist() == wanted
