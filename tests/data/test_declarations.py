"""What is missing is the same in every kind of table; codes, kinds and the writing of CSV files are as declared."""

import gzip
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil.data.files import rows
from veil.data.schema import Kind, kind_of
from veil.data.sources import as_table
from veil.errors import FileFormatError, InputError, RoleError

RNG = np.random.default_rng(0)
COLUMNS = {"age": [31, 99, None, 44], "job": ["nurse", "", None, "?"], "pay": [1.5, None, 2.5, -1.0]}
GONE = {"age": [31, None, None, 44], "job": ["nurse", None, None, None], "pay": [1.5, None, 2.5, None]}
CODES = {"age": [98, 99], "pay": -1, "*": ["?"]}


def every_kind(folder):
    """The same table as everything that a table can be."""
    table = pa.table(COLUMNS)
    frame = pd.DataFrame({**COLUMNS, "job": np.array(["nurse", "", np.nan, "?"], dtype=object)})
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    (folder / "quoted.csv").write_text('age,job,pay\n31,"nurse",1.5\n99,"",\n,,2.5\n44,?,-1\n')
    pq.write_table(table, folder / "t.parquet")
    coded = table.set_column(1, "job", table.column("job").dictionary_encode())
    pq.write_table(coded, folder / "coded.parquet")
    pl.from_arrow(table).write_ipc(folder / "t.feather")
    frame.assign(age=frame["age"].astype("Int64")).to_excel(folder / "t.xlsx", index=False)
    files = [folder / name for name in ("t.csv", "t.csv.gz", "quoted.csv", "t.parquet", "coded.parquet", "t.feather")]
    categories = frame.assign(job=frame["job"].astype("category"))
    return [
        *files,
        folder / "t.xlsx",
        table,
        pl.from_arrow(table),
        coded,
        frame,
        frame.astype({"job": "string"}),
        categories,
    ]


def cells(table):
    numbers = {name: np.array(table.read().column(name).to_pylist(), dtype=float) for name in ("age", "pay")}
    return {**numbers, "job": table.read().column("job").to_pylist()}


def test_what_is_missing_is_missing_in_every_kind_of_table(tmp_path):
    for data in every_kind(tmp_path):
        for table, wanted in (
            (as_table(data), {**COLUMNS, "job": ["nurse", None, None, "?"]}),
            (veil.read_table(data, missing=CODES), GONE),
        ):
            found = cells(table)
            assert found["job"] == wanted["job"]
            for name in ("age", "pay"):
                np.testing.assert_array_equal(found[name], np.array(wanted[name], dtype=float))
            missing = {column.name: column.missing for column in veil.inspect(table).columns}
            assert missing == {name: sum(value is None for value in wanted[name]) for name in wanted}


def test_codes_make_no_text_of_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n1,x,3\n ?,?,-\n2.5,-,4\n")
    with pytest.raises(RoleError, match=r"'a' \(text, 1 of 3 values are not numbers\)"):
        veil.publish(tmp_path / "t.csv", veil.AdditiveNoise(), roles={"b": "drop", "c": "drop"})
    table = veil.read_table(tmp_path / "t.csv", missing={"*": ["?"], "c": "-"})
    assert table.read().to_pydict() == {"a": [1.0, None, 2.5], "b": ["x", None, "-"], "c": [3, None, 4]}
    assert veil.read_table(tmp_path / "t.csv", missing=["?", "-"]).read().to_pydict()["b"] == ["x", None, None]


def test_codes_that_come_late_make_no_text_of_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "CHUNK", 64)
    lines = [f"{i % 7},{i % 5}" for i in range(150)] + ["?,.", "0.5,1"]
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(lines) + "\n")
    table = veil.read_table(tmp_path / "t.csv", missing={"a": ["?"], "b": ["."]})
    assert table.settle()
    assert [str(t) for t in table.schema.types] == ["double", "int64"]
    assert [column.null_count for column in table.read().columns] == [1, 1]
    twin = pickle.loads(pickle.dumps(table))
    assert twin.read().equals(table.read())


def test_dates_and_categories_have_codes_too():
    table = pa.table({"d": pa.array(["2020-01-02", "9999-12-31"]).cast(pa.date32()), "c": ["x", "9"]})
    table = table.set_column(1, "c", table.column("c").dictionary_encode())
    read = veil.read_table(table, missing={"d": "9999-12-31", "c": 9}).read()
    assert [column.null_count for column in read.columns] == [1, 1]
    assert read.column("c").chunk(0).dictionary.to_pylist() == ["x"]


def test_releases_of_declared_tables_are_those_of_clean_ones(tmp_path):
    x = np.random.default_rng(0).normal(size=40).round(2)
    frame = pd.DataFrame({"x": np.where(np.arange(40) % 9, x, -9.0), "g": ["a", "?"] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    clean = frame.assign(x=frame["x"].mask(frame["x"] == -9), g=frame["g"].mask(frame["g"] == "?"))
    method = veil.AdditiveNoise(random_state=1)
    declared = veil.read_table(tmp_path / "t.csv", missing={"x": -9, "g": "?"})
    one, key = veil.publish(declared, method, roles={"g": "public"})
    two, _ = veil.publish(clean, method, roles={"g": "public"})
    np.testing.assert_array_equal(one.to_numpy(), two.to_numpy())
    assert one.table.read(["g"]).column(0).null_count == 20
    assert veil.restore(one, key).column("x").null_count == 5
    veil.publish_file(declared, method, tmp_path / "r", new_key=tmp_path / "k", roles={"g": "public"})
    assert veil.Release.load(tmp_path / "r").table.read(["g"]).column(0).null_count == 20


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, "csv"])
def test_kinds_are_as_declared(make, tmp_path):
    frame = pd.DataFrame(
        {"zip": [10115, 80331, 10115], "n": ["1", " 2.5", "3"], "yes": [0, 1, 1], "d": ["2020-01-02"] * 3}
    )
    if make == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False)
        data = tmp_path / "t.csv"
    else:
        data = make(frame)
    kinds = {"zip": "category", "n": "numeric", "yes": "boolean", "d": "time"}
    table = veil.read_table(data, kinds=kinds)
    assert [kind_of(t) for t in table.schema.types] == [Kind.CATEGORY, Kind.NUMERIC, Kind.BOOLEAN, Kind.TIME]
    assert table.read(["zip", "n", "yes"]).to_pydict() == {
        "zip": ["10115", "80331", "10115"],
        "n": [1.0, 2.5, 3.0],
        "yes": [False, True, True],
    }


def test_cells_that_are_not_of_the_declared_kind_are_counted():
    with pytest.raises(InputError, match="2 values of column 'a' are not numbers") as caught:
        veil.read_table(pa.table({"a": ["1", "SECRET", "x"]}), kinds={"a": "numeric"})
    assert "SECRET" not in str(caught.value)
    with pytest.raises(InputError, match="3 values of column 'a' are not written like 2024-02-29 13:45:00"):
        veil.read_table(pa.table({"a": ["1", "SECRET", "x"]}), kinds={"a": "time"})
    with pytest.raises(InputError, match="1 values of column 'a' are not written like 2024-02-29;") as caught:
        veil.read_table(pa.table({"a": ["2020-01-02", "03/04/2020"]}), kinds={"a": "date"})
    assert "03/04" not in str(caught.value)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"missing": {"agee": 9}}, "did you mean 'age'"),
        ({"kinds": {"agee": "text"}}, "did you mean 'age'"),
        ({"kinds": {"age": "number"}}, "no kind for column 'age' is called 'number'"),
        ({"kinds": "text"}, "kinds must map"),
        ({"missing": {"age": [None]}}, "texts or numbers"),
        ({"delimiter": "::"}, "delimiter must be"),
        ({"decimal": ";"}, "decimal must be"),
        ({"encoding": "utf-9"}, "no encoding is called 'utf-9'"),
    ],
)
def test_wrong_declarations_are_refused(declared, message, tmp_path):
    (tmp_path / "t.csv").write_text("age,b\n1,2\n")
    with pytest.raises(InputError, match=message):
        veil.read_table(tmp_path / "t.csv", **declared)


def test_a_frame_has_no_encoding():
    with pytest.raises(InputError, match="in memory"):
        veil.read_table(pd.DataFrame({"a": [1]}), encoding="latin-1")


@pytest.mark.parametrize("text", ["a;b\n1,5;x\n-2;y\n,25;z\n", 'a,b\n"1,5",x\n-2,y\n",25",z\n'])
def test_decimal_commas_are_read_off_the_file(text, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text(text)
    assert as_table(tmp_path / "t.csv").read().to_pydict() == {"a": [1.5, -2.0, 0.25], "b": ["x", "y", "z"]}


def test_commas_that_may_separate_thousands_are_declared(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,500;x\n20;y\n")
    with pytest.raises(FileFormatError, match="could be decimal commas or separate thousands"):
        as_table(tmp_path / "t.csv")
    assert veil.read_table(tmp_path / "t.csv", decimal=",").read().to_pydict()["a"] == [1.5, 20.0]


@pytest.mark.parametrize("number", ["1.234,50", "1.234.567", "1'234", "-1 234,5"])
def test_thousands_separators_are_refused(number, tmp_path):
    (tmp_path / "t.csv").write_text(f"a;b\n{number};x\n20;y\n")
    for options in ({}, {"decimal": ","}):
        with pytest.raises(FileFormatError, match="column 'a' holds numbers with thousands separators") as caught:
            veil.read_table(tmp_path / "t.csv", **options)
        assert number not in str(caught.value)
    assert veil.read_table(tmp_path / "t.csv", kinds={"a": "text"}).read(["a"]).to_pydict() == {"a": [number, "20"]}


def test_the_delimiter_is_declared_if_the_header_does_not_tell(tmp_path):
    (tmp_path / "t.csv").write_text("a (x,y,z);b\n1;2\n")
    with pytest.raises(FileFormatError):
        as_table(tmp_path / "t.csv")
    assert veil.read_table(tmp_path / "t.csv", delimiter=";").read().to_pydict() == {"a (x,y,z)": [1], "b": [2]}


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252", "utf-16", "utf-8-sig", "utf-8"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_are_as_declared(encoding, packed, tmp_path):
    data = "größe,wort\n1,café\n".encode(encoding)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    assert veil.read_table(path, encoding=encoding).read().to_pydict() == {"größe": [1], "wort": ["café"]}
    if encoding.startswith("utf-8"):
        assert as_table(path).schema.names == ["größe", "wort"]
    else:
        with pytest.raises(FileFormatError, match="utf-16" if encoding == "utf-16" else "windows-1252"):
            as_table(path)


def test_the_wrong_encoding_is_said(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n1,café\n".encode("latin-1"))
    with pytest.raises(FileFormatError, match="not in the encoding that was given"):
        veil.read_table(tmp_path / "t.csv", encoding="utf-16-le").read()


def test_dates_are_days_if_they_are_declared_numeric(tmp_path):
    days = [18_000 + 7 * i for i in range(40)]
    frame = pd.DataFrame({"day": pd.to_datetime(days, unit="D").date, "x": RNG.normal(size=40)})
    frame["moment"] = pd.to_datetime(days, unit="D") + pd.Timedelta(hours=12)
    frame.loc[3, "day"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    kinds = {"day": "numeric", "moment": "numeric"}
    for data in (frame, tmp_path / "t.csv"):
        assert veil.inspect(data).columns[0].note == "perturbed in whole days"
        table = veil.read_table(data, kinds=kinds)
        read = table.read().to_pydict()
        assert read["day"] == [day if i != 3 else None for i, day in enumerate(days)]
        assert read["moment"] == [day + 0.5 for day in days]
        release, key = veil.publish(table, veil.AdditiveNoise(0.1, random_state=1))
        noise = release.to_numpy()[:, 0] - np.array(read["day"], dtype=float)
        assert 0 < np.nanstd(noise) < 0.2 * np.std(days)
        back = veil.restore(release, key)
        assert list(back["day"] if data is frame else back.column("day").to_pylist())[:3] == days[:3]
    clock = pa.table({"t": pa.array([1, 2], pa.time32("s"))})
    with pytest.raises(InputError, match="times of day"):
        veil.read_table(clock, kinds={"t": "numeric"})
