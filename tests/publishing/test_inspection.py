"""What inspection says of texts, integers and quasi columns: exact for small tables, "about" for large ones."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from veil.publishing.inspection import inspect

N = 12
DAY = dt.date(2020, 1, 1)


def cells(table, *names):
    inspection = inspect(table, roles=dict.fromkeys(names, "quasi"))
    return [line for line in inspection.advice if line.startswith("On what outsiders may know")]


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
    assert cells(table, "q") == [
        "On what outsiders may know (q) 1 of 12 records are unique, and 1 are in groups of fewer than 5 that are alike."
    ]
    assert cells(table, "q", "r") == [
        "On what outsiders may know (q, r) 1 of 12 records are unique, "
        "and 5 are in groups of fewer than 5 that are alike."
    ]
    assert cells(table) == []


def test_columns_that_cannot_be_compared_are_left_out():
    table = pa.table({"q": [1, 1, 2], "nested": [[1], [2], None], "v": [0.1, 0.2, 0.3]})
    assert cells(table, "nested") == []
    assert cells(table, "q", "nested")[0].startswith("On what outsiders may know (q) 1 of 3 records")


def test_an_empty_table_has_nobody_to_count():
    assert cells(pd.DataFrame({"q": np.zeros(0), "v": np.zeros(0)}), "q") == []


def notes(table, **roles):
    return {column.name: column.note for column in inspect(table, roles=roles).columns}


def test_of_a_large_table_figures_are_estimates_and_say_so():
    n = 300_000
    rng = np.random.default_rng(4)
    table = pa.table(
        {
            "id": rng.permutation(n),
            "row": np.arange(n),
            "word": pa.array(rng.integers(0, 100_000, n)).cast(pa.string()),
            "cell": rng.integers(0, 200_000, n),
            "few": rng.integers(0, 50_000, n),
        }
    )
    known = notes(table, cell="quasi")
    assert known["id"].startswith("all different in a sample of ")
    assert known["row"] == "all different: an identifier?"
    (word,) = [column for column in inspect(table).columns if column.name == "word"]
    assert not word.exact
    assert 94_000 <= word.n_values <= 96_000  # 100,000 (1 - exp(-3)) = 95,021
    sizes = np.bincount(table["cell"].to_numpy())
    (line,) = cells(table, "cell")
    alone, around = (int(line.split()[i].strip(")").replace(",", "")) for i in (7, 9))
    assert abs(alone - (sizes == 1).sum()) < 3 * around < 0.1 * alone
    (exact,) = cells(table, "few")
    assert "about" not in exact
    assert "of 300,000 records" in exact


def test_where_nobody_sampled_is_alone_a_bound_is_given():
    n = 700_000
    (line,) = cells(pa.table({"q": np.arange(n) // 7, "v": np.arange(n) % 3}), "q")
    assert line.startswith(
        "On what outsiders may know (q) fewer than 6 of 700,000 records are unique, and fewer than 24 are"
    )


TYPES = pa.schema(
    [("id", pa.int64()), ("name", pa.string()), ("town", pa.string()), ("age", pa.int64()), ("x", pa.float64())]
)


def frame(n=3000):
    rng = np.random.default_rng(9)
    return pd.DataFrame(
        {
            "id": rng.permutation(n),
            "name": [f"n{i}" for i in range(n)],
            "town": rng.choice(["Ulm", "Jena", "Kiel"], n),
            "age": rng.integers(0, 90, n),
            "x": rng.normal(size=n).round(6),
        }
    )


def test_every_kind_of_file_is_inspected_alike(tmp_path):
    table = pa.Table.from_pandas(frame(), schema=TYPES, preserve_index=False)
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=700)
    (tmp_path / "folder").mkdir()
    for i in range(3):
        pq.write_table(table.slice(1000 * i, 1000), tmp_path / "folder" / f"{i}.parquet")
    frame().to_csv(tmp_path / "t.csv", index=False)
    roles = {"town": "quasi", "age": "quasi"}
    wanted = inspect(table, roles=roles)
    for name in ("t.feather", "t.parquet", "folder", "t.csv"):
        assert inspect(tmp_path / name, roles=roles) == wanted, name


@pytest.mark.parametrize("last", ["0.5", "none"])
def test_a_csv_column_that_is_of_another_type_at_its_end_is_inspected_as_that(last, tmp_path):
    n = 400_000
    cells = [*map(str, range(n)), last]
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    values = pa.array(cells) if last == "none" else pa.array([float(cell) for cell in cells])
    one, other = inspect(tmp_path / "t.csv"), inspect(pa.table({"a": values, "b": pa.array([1] * (n + 1))}))
    assert abs(one.columns[0].n_values - other.columns[0].n_values) < 0.1 * n  # estimates, each with its own key
    assert replace(one, columns=replaced(one.columns)) == replace(other, columns=replaced(other.columns))


def replaced(columns):
    return tuple(replace(column, n_values=0) for column in columns)


def test_a_dictionary_s_unused_and_repeated_values_are_not_counted():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 1, 0, 1], pa.int8()), pa.array(["a", "a", "unused"]))
    assert inspect(pa.table({"c": column, "v": [1.0] * 6})).columns[0].n_values == 1


def test_columns_on_a_grid_are_named_with_what_that_means():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": rng.integers(18, 90, 300), "income": np.round(rng.gamma(2, 900, 300), 2), "score": rng.normal(size=300)}
    )
    (remark,) = [line for line in inspect(table).theory if "whole or decimal" in line]
    assert remark.startswith("2 of 3 numeric columns")
    assert "(age, income)" in remark
    assert "(A26)" in remark
    both = inspect(table.drop(columns="score")).theory
    assert any(line.startswith("All 2 numeric columns") for line in both)
    alone = inspect(table[["score"]]).theory
    assert not any("whole or decimal" in line for line in alone)
