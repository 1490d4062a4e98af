"""Cells of equal records: uniqueness (M17), discernibility and classification cost."""

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures import cell_sizes, classification_cost, discernibility, uniqueness

ZIPS = ["2125*"] * 7 + ["2126*"] * 5
AGES = [20] * 4 + [30] * 3 + [20, 20, 30, 40, 40]
CLASSES = ["yes", "yes", "yes", "no", "no", "no", "yes", "yes", "no", "no", "yes", "yes"]
"""Cells of 4, 3, 2, 1 and 2 records with 1, 1, 1, 0 and 0 in a minority."""
BY_HAND = {1: (0, 34, 3), 2: (1, 45, 4), 3: (5, 85, 7), 4: (8, 112, 9), 5: (12, 144, 12)}
"""k: records in cells of fewer, discernibility, classification cost."""


@pytest.mark.parametrize("k", BY_HAND)
def test_a_table_by_hand(k: int) -> None:
    small, told_apart, classes = BY_HAND[k]
    assert uniqueness([ZIPS, AGES], k) == small / 12
    assert discernibility([ZIPS, AGES], k) == told_apart
    assert classification_cost([ZIPS, AGES], CLASSES, k) == classes


def test_measures_are_exact_and_know_their_direction() -> None:
    for found, higher in (
        (uniqueness([AGES]), "exposed"),
        (discernibility([AGES], 2), "distorted"),
        (classification_cost([AGES], CLASSES, 2), "distorted"),
    ):
        assert found.low == found.high == float(found)
        assert found.higher_is == higher


def test_limits() -> None:
    n = 7
    alone, alike = np.arange(n), np.zeros(n)
    assert uniqueness(alone) == 1.0
    assert uniqueness(alike) == 0.0
    assert uniqueness(alone, k=1) == 0.0
    assert discernibility(alone, 1) == n
    assert discernibility(alone, 2) == discernibility(alike, n) == n**2
    assert classification_cost(alone, alone, 1) == 0
    assert classification_cost(alike, alone, 1) == n - 1
    assert uniqueness([["one"]]) == 1.0


def test_suppressed_records_are_in_no_cell() -> None:
    one_of_four = np.arange(12) == 0
    assert discernibility([ZIPS, AGES], 3, one_of_four) == 9 + 9 + 12 * 6
    assert discernibility([ZIPS, AGES], 4, one_of_four) == 144  # the cell of four falls with it
    assert discernibility([ZIPS, AGES], 1, np.ones(12, bool)) == 144
    assert discernibility([ZIPS, AGES], 3, [False] * 12) == 85


def test_ties_cost_the_same_whichever_class_is_the_majority() -> None:
    classes = ["a", "b", "c", "a", "b", "c"]
    assert classification_cost(np.zeros(6), classes, 2) == 4
    assert classification_cost(np.zeros(6), classes[::-1], 2) == 4


def test_a_missing_value_is_a_value_of_its_own() -> None:
    other_nan = float("inf") - float("inf")
    assert cell_sizes([["a", None, None, "None", "nan", float("nan"), other_nan]]).tolist() == [1, 4, 4, 1, 1, 4, 4]
    assert cell_sizes(np.array([1.0, np.nan, np.nan, 0.0, -0.0])).tolist() == [1, 2, 2, 2, 2]
    assert cell_sizes(np.array(["2020-01-01", "NaT", "NaT"], dtype="datetime64[D]")).tolist() == [1, 2, 2]
    assert classification_cost([[1, 1, 1]], [None, math.nan, "x"], 1) == 1


def test_pandas_columns_and_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [20, 20, 30, 30], "sex": ["M", "M", None, pandas.NA]})
    assert cell_sizes(frame).tolist() == [2, 2, 2, 2]
    assert cell_sizes([frame["age"], frame["sex"].astype("category")]).tolist() == [2, 2, 2, 2]
    assert uniqueness([frame["age"], pandas.Series([1, 2, None, 4], dtype="Int64")]) == 1.0


def test_columns_of_every_library() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    large = [2**53, 2**53 + 1, None, 2**53]
    for column in (
        polars.Series(large),
        polars.Series(large, dtype=polars.Int128),
        polars.Series([str(value) for value in large]).cast(polars.Categorical),
        pyarrow.array(large),
        pyarrow.array(large).dictionary_encode(),
        pyarrow.array([1, 2, None, 1], pyarrow.time64("ns")),
        pyarrow.array(large, pyarrow.timestamp("ns", "UTC")),
        pandas.array(large, dtype="Int64"),
        pandas.Index(large, dtype="int64[pyarrow]"),
        pandas.Categorical(large),
        pandas.Series([2**53, 2**53 + 1, None, 2**53], dtype=object),
    ):
        assert cell_sizes(column).tolist() == cell_sizes([column]).tolist() == [2, 1, 1, 2]
    for column in (polars.Series([True, None, True, None]), polars.Series([0.0, None, -0.0, math.nan])):
        assert cell_sizes([column]).tolist() == [2, 2, 2, 2]
    for nested in (polars.Series([[1], [1]]), polars.Series([{"a": 1}, {"a": 1}])):
        with pytest.raises(InputError, match="cannot be compared"):
            cell_sizes([nested])


def test_frames_are_taken_by_column() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    twice = pandas.DataFrame([[2**53, 0.5], [2**53 + 1, 0.5], [2**53, 0.5]], columns=["a", "a"], dtype=object)
    assert cell_sizes(twice).tolist() == [2, 1, 2]
    assert cell_sizes(pyarrow.table([[1, 2, 1], [1, 1, 1]], names=["a", "a"])).tolist() == [2, 1, 2]
    mixed = {"n": [1, 1, 2], "yes": [True, True, False], "day": np.array(["2020-01-01"] * 3, "M8[D]")}
    for frame in (pandas.DataFrame(mixed), polars.DataFrame(mixed), pyarrow.table(mixed)):
        assert cell_sizes(frame).tolist() == [2, 2, 1]
    for empty in (pandas.DataFrame(), pandas.DataFrame({"a": []}), polars.DataFrame({"a": []}), pyarrow.table({})):
        with pytest.raises(InputError, match="no column or no record"):
            cell_sizes(empty)


def test_masked_values_and_fields() -> None:
    masked = np.ma.array([[1, 2], [1, 3], [1, 2]], mask=[[0, 1], [0, 1], [0, 0]])
    assert cell_sizes(masked).tolist() == [2, 2, 1]
    assert cell_sizes([np.ma.array([1.0, math.nan, 3.0], mask=[0, 0, 1])]).tolist() == [1, 2, 2]
    fields = np.array([(1, math.nan), (1, math.nan), (2**53 + 1, 1), (2**53, 1)], dtype=[("a", int), ("b", float)])
    assert cell_sizes(fields).tolist() == [2, 2, 1, 1]
    with pytest.raises(InputError, match="one field, not 2"):
        cell_sizes([fields])
    with pytest.raises(InputError, match="none of them missing"):
        discernibility([[1, 1]], 2, np.ma.array([True, False], mask=[False, True]))


def test_durations() -> None:
    five, same = np.timedelta64(5, "D"), datetime.timedelta(5)
    assert cell_sizes([[five, 5, five, None, np.timedelta64("NaT")]]).tolist() == [2, 1, 2, 2, 2]
    assert cell_sizes([[same, 5]]).tolist() == [1, 1]
    assert cell_sizes([[five, np.timedelta64(120, "h")]]).tolist() == [2, 2]


def test_numbers_and_their_names_are_not_alike() -> None:
    assert cell_sizes([[1, "1", 1.0, True]]).tolist() == [3, 1, 3, 3]
    assert cell_sizes([np.array([1, 2, 1], np.uint64) + np.uint64(2**63)]).tolist() == [2, 1, 2]
    assert cell_sizes([np.array([-128, 127, -128], np.int8)]).tolist() == [2, 1, 2]
    assert cell_sizes([np.array([-(2**63), 2**63 - 1, -(2**63)])]).tolist() == [2, 1, 2]
    assert cell_sizes([np.array([True, False, True])]).tolist() == [2, 1, 2]


def test_rows_of_an_array_are_records_and_items_of_a_list_are_columns() -> None:
    rows = np.array([[1, 2], [1, 2], [1, 3]])
    assert cell_sizes(rows).tolist() == cell_sizes(list(rows.T)).tolist() == [2, 2, 1]
    assert cell_sizes(list(rows)).tolist() == [1, 1]


def test_many_columns_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2**62, (200, 40))
    table[100:] = table[:100]
    assert (cell_sizes(table) == 2).all()


VALUES = st.one_of(
    st.sampled_from([None, math.nan, 0, 1, 2.5, "a", "b", ""]), st.integers(-(2**63), 2**63 - 1), st.text(max_size=2)
)
TABLES = st.integers(1, 25).flatmap(
    lambda n: st.tuples(
        st.lists(
            st.one_of(
                st.lists(VALUES, min_size=n, max_size=n),
                st.lists(st.integers(-2, 2), min_size=n, max_size=n),
                st.lists(st.sampled_from([0.5, 1.0, math.nan]), min_size=n, max_size=n),
            ),
            min_size=1,
            max_size=4,
        ),
        st.lists(st.sampled_from(["x", "y", None]), min_size=n, max_size=n),
        st.integers(1, 6),
    )
)


def plain(value: Any) -> Any:
    return "missing", value is None or value != value, None if value is None or value != value else value


@given(TABLES)
def test_as_a_plain_count_has_it(case: tuple[list[list[Any]], list[Any], int]) -> None:
    columns, labels, k = case
    arrays = [np.array(column, dtype=object) for column in columns]
    records = [tuple(plain(value) for value in record) for record in zip(*columns, strict=True)]
    sizes, n = Counter(records), len(records)
    classes: dict[Any, Counter[Any]] = defaultdict(Counter)
    for record, label in zip(records, labels, strict=True):
        classes[record][label] += 1
    assert cell_sizes(arrays).tolist() == [sizes[record] for record in records]
    assert uniqueness(arrays, k) == sum(size for size in sizes.values() if size < k) / n
    assert discernibility(arrays, k) == sum(size**2 if size >= k else n * size for size in sizes.values())
    assert classification_cost(arrays, labels, k) == sum(
        size - max(classes[cell].values()) if size >= k else size for cell, size in sizes.items()
    )


@given(st.lists(st.lists(st.integers(0, 3), min_size=12, max_size=12), min_size=2, max_size=5), st.integers(1, 6))
def test_one_more_column_never_hides_anybody(columns: list[list[int]], k: int) -> None:
    shares = [uniqueness(columns[: i + 1], k) for i in range(len(columns))]
    assert shares == sorted(shares)


EVERY: Sequence[Callable[[Any], object]] = (
    cell_sizes,
    uniqueness,
    lambda columns: discernibility(columns, 2),
    lambda columns: classification_cost(columns, ["yes", "no"], 2),
)


@pytest.mark.parametrize("measure", EVERY)
@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        (np.zeros((0, 3)), "no column or no record"),
        (np.zeros((3, 0)), "no column or no record"),
        ([], "no column or no record"),
        ([[], []], "no column or no record"),
        (np.zeros((2, 2, 2)), "one or two dimensions, not 3"),
        (np.float64(3), "one or two dimensions, not 0"),
        ({"secret": [1]}, "one or two dimensions, not 0"),
        ([1, 2, 3], "one dimension, not 0"),
        ([[[1, 2], [3, 4]]], "one dimension, not 2"),
        ([["secret", [1, 2]]], "one dimension, not 2"),
        ([[1, 2], [1, 2, 3]], "2 different lengths, 2 to 3"),
        ([np.array([{"secret": 1}, None], dtype=object)], "cannot be compared"),
    ],
)
def test_what_is_no_table_is_refused(measure: Callable[[Any], object], columns: Any, rule: str) -> None:
    with pytest.raises(InputError, match=f"^columns: .*{rule}.*; pass") as refused:
        measure(columns)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("k", [0, -1, True, 2.0, "2", None])
def test_k_is_a_whole_number_from_one(k: Any) -> None:
    for call in (
        lambda: uniqueness([AGES], k),
        lambda: discernibility([AGES], k),
        lambda: classification_cost([AGES], CLASSES, k),
    ):
        with pytest.raises(InputError, match=r"^k must be"):
            call()


@pytest.mark.parametrize("labels", [CLASSES[:3], [], np.zeros((12, 1)), "yes"])
def test_labels_are_one_per_record(labels: Any) -> None:
    with pytest.raises(InputError, match=r"^labels: "):
        classification_cost([AGES], labels, 2)


@pytest.mark.parametrize("mask", [[True] * 3, np.zeros(12), [], True, [3, 4]])
def test_suppressed_is_one_bool_per_record(mask: Any) -> None:
    with pytest.raises(InputError, match=r"^suppressed: "):
        discernibility([AGES], 2, mask)
