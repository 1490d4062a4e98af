"""Tables and files: any kind in, canonical blocks inside, the same kind out."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from veil.data.blocks import BLOCK_ROWS, canonical, from_float, recut, to_float
from veil.data.files import format_of, open_table, open_writer
from veil.data.schema import Kind, kind_of
from veil.data.sources import as_table, nearly_numeric_columns, unique_integer_columns
from veil.data.tables import as_frame
from veil.errors import FileAccessError, FileFormatError, InputError

FRAME = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, np.nan, 2.5], "c": ["x", "y", None]})


@pytest.mark.parametrize(
    "make", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"]
)
def test_frames_go_in_and_come_out(make):
    native = make(FRAME)
    table = as_table(native)
    assert table.schema.names == ["a", "b", "c"]
    assert [kind_of(f.type) for f in table.schema] == [Kind.NUMERIC, Kind.NUMERIC, Kind.TEXT]
    back = as_frame(table.read(), table.kind, table.native)
    assert type(back) is type(native)
    pd.testing.assert_frame_equal(back if isinstance(back, pd.DataFrame) else back.to_pandas(), FRAME)


def test_arrays_go_in_and_come_out():
    array = np.arange(6.0).reshape(3, 2)
    table = as_table(array)
    assert table.schema.names == ["x0", "x1"]
    np.testing.assert_array_equal(as_frame(table.read(), "numpy"), array)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros(3), "1 dimensions"),
        (np.zeros((2, 2), dtype=complex), "complex128"),
        (np.array([["a"]]), "floats or integers"),
        ([[1, 2]], "not a table"),
        (pd.DataFrame({"a": [1, "x"]}), "'a' mixes values"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' occurs 2 times"),
        (pd.DataFrame(), "no columns"),
    ],
)
def test_what_is_not_a_table(data, message):
    with pytest.raises(InputError, match=message):
        as_table(data)


def test_a_frame_with_numbers_for_names_gets_texts():
    assert as_table(pd.DataFrame(np.zeros((2, 2)))).schema.names == ["0", "1"]


def test_blocks_are_aligned_to_rows_whatever_the_batches():
    table = pa.table({"a": np.arange(BLOCK_ROWS * 2 + 5)})
    for size in (1_000, 65_535, 65_536, 65_537, 10**6):
        blocks = list(recut(table.to_batches(max_chunksize=size)))
        assert [(b.start, b.n_rows) for b in blocks] == [(0, BLOCK_ROWS), (BLOCK_ROWS, BLOCK_ROWS), (2 * BLOCK_ROWS, 5)]
        assert blocks[1].column("a")[0].as_py() == BLOCK_ROWS


def test_dictionaries_of_different_batches_are_unified():
    one = pa.RecordBatch.from_arrays([pa.array(["a", "b"]).dictionary_encode()], names=["c"])
    two = pa.RecordBatch.from_arrays([pa.array(["c", "a"]).dictionary_encode()], names=["c"])
    (block,) = recut([one, two])
    assert block.column("c").to_pylist() == ["a", "b", "c", "a"]


def test_equal_values_are_equal_bits():
    odd_nan = np.frombuffer(np.uint64(0x7FF8000000000123).tobytes())[0]
    m = canonical(np.array([[-0.0, odd_nan, 1.0]]))
    assert m.tobytes() == np.array([[0.0, np.nan, 1.0]]).tobytes()


@pytest.mark.parametrize(
    "dtype", [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(9, 2)]
)
def test_numbers_of_every_type_make_the_round_trip(dtype):
    values = pa.array([1.0, None, 3.0]).cast(dtype)
    as_float = to_float(values, "a")
    np.testing.assert_array_equal(as_float, [1, np.nan, 3])
    assert from_float(as_float, dtype).equals(values)


def test_integers_that_float64_cannot_hold_are_refused():
    with pytest.raises(InputError, match=r"'a' has 2 integers beyond ±2\^53"):
        to_float(pa.array([2**53 + 1, 5, -(2**60)]), "a")
    to_float(pa.array([2**53, -(2**53)]), "a")


def test_unique_integers_are_found_across_blocks():
    n = BLOCK_ROWS + 10
    table = as_table(pa.table({"id": np.arange(n), "late": np.append(np.arange(n - 1), 0), "x": np.zeros(n)}))
    assert unique_integer_columns(table, ["id", "late", "x"]) == ("id",)


def test_nearly_numeric_text_is_counted():
    table = as_table(pa.table({"a": ["1", "2.5", "-3e2", "n/a?"], "b": ["x", "y", "1", "z"]}))
    assert nearly_numeric_columns(table) == {"a": (1, 4)}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.feather", "t.arrow"])
def test_files_make_the_round_trip(name, tmp_path):
    table = pa.table({"a": [1, 2, 3], "b": [0.1, None, 1e300], "c": ["x", 'ü,\n"', "z"]})
    writer = open_writer(tmp_path / name, table.schema, format_of(tmp_path / name))
    for batch in table.to_batches():
        writer.write(batch)
    writer.close()
    assert open_table(tmp_path / name).read().equals(table)


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    for i in range(3):
        pq.write_table(pa.table({"a": [i, i]}), tmp_path / f"part-{i}.parquet")
    assert open_table(tmp_path).read().column("a").to_pylist() == [0, 0, 1, 1, 2, 2]
    pq.write_table(pa.table({"b": [1]}), tmp_path / "part-9.parquet")
    with pytest.raises(FileFormatError, match=r"part-9.parquet: its columns differ"):
        open_table(tmp_path)


@pytest.mark.parametrize(
    ("late", "expected"), [("2.5", pa.float64()), ("x", pa.string()), ("", pa.int64()), ("true", pa.string())]
)
def test_a_csv_column_gets_the_type_that_holds_all_of_it(late, expected, tmp_path):
    """Arrow infers from the first megabytes; the odd value comes long after."""
    n = 1_500_000
    path = tmp_path / "late.csv"
    path.write_text("a,b\n" + "123456,1\n" * n + f"{late},1\n")
    table = open_table(path)
    assert table.schema.field("a").type == expected
    assert sum(b.num_rows for b in table.batches()) == n + 1


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_separator_is_read_off_the_header(mark, tmp_path):
    (tmp_path / "t.csv").write_text("\ufeff" + mark.join(["größe", "b"]) + "\n" + mark.join(["1", "2"]) + "\n")
    assert open_table(tmp_path / "t.csv").read().to_pydict() == {"größe": [1], "b": [2]}


def test_broken_files_are_one_line_that_names_the_file_and_no_cell(tmp_path):
    secret = "31415926"
    (tmp_path / "ragged.csv").write_text(f"a,b\n{secret},2\n{secret}\n")
    (tmp_path / "latin.csv").write_bytes(b"a,b\n1,caf\xe9" + secret.encode() + b"\n")
    (tmp_path / "empty.csv").write_text("")
    pq.write_table(pa.table({"a": np.arange(1000)}), tmp_path / "cut.parquet")
    data = (tmp_path / "cut.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(data[: len(data) // 2])
    feather.write_feather(pa.table({"a": np.arange(1000)}), tmp_path / "cut.feather")
    (tmp_path / "cut.feather").write_bytes((tmp_path / "cut.feather").read_bytes()[:500])
    packed = gzip.compress(f"a\n{secret}\n".encode() * 50_000)
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(FileFormatError) as caught:
            list(open_table(path).batches())
        text = str(caught.value)
        assert path.name in text
        assert secret not in text
        assert "\n" not in text
    with pytest.raises(FileAccessError, match="no such file"):
        open_table(tmp_path / "absent.csv")
