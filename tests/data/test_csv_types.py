"""CSV columns: types are settled in one reading, whatever the chunks, and the first pass settles them on its way."""

import io

import numpy as np
import pyarrow as pa
import pytest

import veil
from veil.data.files import delimited, open_table, rows
from veil.data.files.rows import last_row_end, may_hold_codes, row_chunks
from veil.errors import RoleError


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(rows, "CHUNK", 64)


def written(path, columns, n=200):
    names = list(columns)
    lines = [",".join(str(columns[name](i)) for name in names) for i in range(n)]
    path.write_text(",".join(names) + "\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("cell", "dtype"),
    [
        (lambda i: i % 7, pa.int64()),
        (lambda i: i if i < 150 else 0.5, pa.float64()),
        (lambda i: "" if i < 150 else 3, pa.int64()),
        (lambda i: "" if i < 100 else 3 if i < 150 else 2.5, pa.float64()),
        (lambda i: i % 2 if i < 150 else "true", pa.bool_()),
        (lambda i: i % 3 if i < 150 else "true", pa.string()),
        (lambda i: "true" if i < 150 else 5, pa.string()),
        (lambda i: "2020-01-05" if i < 150 else "2020-01-05 09:30:00", pa.timestamp("s")),
        (lambda i: "2020-01-05" if i < 150 else "09:30:00", pa.string()),
        (lambda i: i if i < 150 else "007", pa.string()),
        (lambda i: 1e-05, pa.float64()),
    ],
)
def test_a_column_has_the_narrowest_type_that_holds_all_its_cells(tmp_path, small_chunks, cell, dtype):
    table = open_table(written(tmp_path / "t.csv", {"a": cell, "b": lambda i: i % 5}))
    assert table.schema.field("a").type == dtype
    assert table.n_rows == table.read().num_rows == 200


def test_chunks_end_where_rows_end():
    text = b'a;b\n1;"x\ny"\n"say ""hi""";2\n5" pipe;3\n"open\n'
    for size in range(1, len(text) + 1):
        chunks = list(row_chunks(io.BytesIO(text), ";", size))
        assert b"".join(chunks) == text
        ends = {4, 12, 27, 37, len(text)}
        assert set(np.cumsum([len(chunk) for chunk in chunks])) <= ends
    assert last_row_end(b"a\r1\r2\r", ",") == 4
    assert last_row_end(b"no end", ",") == 0


@pytest.mark.parametrize("cell", ["007", "-05", "+01", " 00", '"01"'])
def test_codes_are_never_overlooked(cell):
    for text in (f"{cell},1\n", f"1,{cell}\n", f"1,2\n{cell},3"):
        assert may_hold_codes(text.encode(), ",")


def test_the_first_pass_settles_types_and_reads_once(tmp_path, small_chunks, monkeypatch):
    chunks = []
    real = delimited.row_chunks
    path = written(tmp_path / "t.csv", {"a": lambda i: i % 9 if i < 150 else 0.5, "b": lambda i: i % 5})
    monkeypatch.setattr(delimited, "row_chunks", lambda *args: (chunks.append(c) or c for c in real(*args)))
    release, key = veil.publish(str(path), veil.OrthogonalTransform(random_state=1))
    assert sum(map(len, chunks)) == 2 * path.stat().st_size + len(chunks[0])  # types were guessed from the first
    frame = open_table(path).read()
    same, _ = veil.publish(frame, veil.OrthogonalTransform(random_state=1))
    np.testing.assert_array_equal(release.to_numpy(), same.to_numpy())
    restored = veil.restore(release, key)
    assert restored.schema.field("a").type == pa.float64()
    np.testing.assert_allclose(restored.column("a"), frame.column("a"), atol=1e-9)


def test_numbers_that_turn_out_to_be_texts_need_a_role(tmp_path, small_chunks):
    path = written(tmp_path / "t.csv", {"a": lambda i: i % 9 if i < 150 else "none", "b": lambda i: i % 5 + 0.5})
    with pytest.raises(RoleError, match=r"'a' \(text"):
        veil.publish(str(path), veil.AdditiveNoise(0.5))
    release, _ = veil.publish(str(path), veil.AdditiveNoise(0.5), roles={"a": "public"})
    assert release.table.schema.field("a").type == pa.string()
    assert release.table.read(["a"]).column(0)[0].as_py() == "0"


def test_categories_that_turn_out_to_be_texts_are_counted_anew(tmp_path, small_chunks):
    path = written(tmp_path / "t.csv", {"a": lambda i: i % 3 if i < 150 else "none"})
    release, _ = veil.publish(str(path), veil.RandomizedResponse(keep=0.8, random_state=1), roles={"a": "sensitive"})
    assert sorted(release.only_part.model.categories[0]) == ["0", "1", "2", "none"]


def test_integers_beyond_float_are_refused_unless_the_column_holds_floats(tmp_path, small_chunks):
    path = written(tmp_path / "t.csv", {"a": lambda i: 2**53 + 1 + i % 4, "b": lambda i: i % 5 + 0.5})
    with pytest.raises(veil.errors.InputError, match=r"2\^53"):
        veil.publish(str(path), veil.AdditiveNoise(0.5))
    mixed = written(tmp_path / "m.csv", {"a": lambda i: 0.5 if i == 180 else 2**53 + 1 + i % 4, "b": lambda i: i % 5})
    release, _ = veil.publish(str(mixed), veil.AdditiveNoise(0.5))
    assert release.table.n_rows == 200
