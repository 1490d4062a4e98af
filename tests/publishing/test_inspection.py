"""What inspection says of the quasi columns: how many records are alone with their values."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from veil.publishing.inspection import inspect

N = 12
DAY = dt.date(2020, 1, 1)


def said(table, *names):
    found = inspect(table, roles=dict.fromkeys(names, "quasi"))
    return [line for line in found.advice if line.startswith("On the quasi columns")]


@pytest.mark.parametrize(
    "alone",
    [
        [1] + [2] * (N - 1),
        [0.5] + [np.nan] * (N - 1),
        ["x"] + ["y"] * (N - 1),
        [None] + ["y"] * (N - 1),
        [True] + [False] * (N - 1),
        pd.Categorical(["x"] + ["y"] * (N - 1)),
        [DAY] + [DAY + dt.timedelta(1)] * (N - 1),
    ],
    ids=["integer", "float", "text", "missing", "boolean", "category", "date"],
)
def test_records_that_are_unique_on_the_quasi_columns_are_counted(alone):
    table = pd.DataFrame({"q": alone, "r": [0] * (N - 4) + [1] * 4, "v": np.arange(N) / 7})
    assert said(table, "q") == [
        "On the quasi columns (q) 1 of 12 records are unique, and 1 are in groups of fewer than 5 that are alike."
    ]
    assert said(table, "q", "r") == [
        "On the quasi columns (q, r) 1 of 12 records are unique, and 5 are in groups of fewer than 5 that are alike."
    ]
    assert said(table) == []


def test_columns_that_cannot_be_compared_are_left_out():
    table = pa.table({"q": [1, 1, 2], "nested": [[1], [2], None], "v": [0.1, 0.2, 0.3]})
    assert said(table, "nested") == []
    assert said(table, "q", "nested")[0].startswith("On the quasi columns (q) 1 of 3 records")


def test_an_empty_table_has_nobody_to_count():
    assert said(pd.DataFrame({"q": np.zeros(0), "v": np.zeros(0)}), "q") == []
