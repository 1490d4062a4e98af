"""Files that are empty, cut short, ragged, of the wrong encoding or not what their name says."""

from __future__ import annotations

import codecs
import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import veil
from veil.errors import FileAccessError, VeilError

METHODS = ("additive-noise", "orthogonal-transform")
ROWS = "".join(f"{i * 1.5},{i % 7}.25\n" for i in range(40))
CSV = "a,b\n" + ROWS

# name of the file, its bytes, and what the message must say
BROKEN = {
    "empty": ("t.csv", b"", ("t.csv", "empty")),
    "blank lines": ("t.csv", b"\n\n\n", ("t.csv", "empty")),
    "header only": ("t.csv", b"a,b\n", ("no rows",)),
    "header without its end": ("t.csv", b"a,b", ("no rows",)),
    "too few values": ("t.csv", f"{CSV}31415926.5\n".encode(), ("t.csv", "number of values")),
    "too many values": ("t.csv", f"{CSV}31415926.5,2,3\n".encode(), ("t.csv", "number of values")),
    "repeated name": ("t.csv", b"a,a\n31415926.5,2\n3,4\n", ("'a'", "2 times")),
    "Latin-1 header": ("t.csv", "größe,b\n".encode("latin-1") + ROWS.encode(), ("t.csv", "UTF-8")),
    "Latin-1 cell": ("t.csv", f"{CSV}SECRETCELL é,2\n".encode("latin-1"), ("'a'", "UTF-8")),
    "UTF-16": ("t.csv", CSV.encode("utf-16"), ("t.csv", "UTF-8")),
    "cut gzip": ("t.csv.gz", gzip.compress(CSV.encode())[:-20], ("t.csv.gz", "truncated or damaged")),
    "gzip without its checksum": ("t.csv.gz", gzip.compress(CSV.encode())[:-4], ("t.csv.gz", "truncated or damaged")),
    "empty gzip": ("t.csv.gz", b"", ("t.csv.gz", "empty")),
    "gzip of nothing": ("t.csv.gz", gzip.compress(b""), ("t.csv.gz", "empty")),
    "text named gzip": ("t.csv.gz", CSV.encode(), ("t.csv.gz",)),
    "gzip named text": ("t.csv", gzip.compress(CSV.encode()), ("t.csv",)),
    "empty Parquet": ("t.parquet", b"", ("t.parquet", "truncated or damaged")),
    "text named Parquet": ("t.parquet", CSV.encode(), ("t.parquet", "truncated or damaged")),
    "empty Feather": ("t.feather", b"", ("t.feather", "truncated or damaged")),
    "unknown kind": ("t.docx", b"PK", ("t.docx", ".parquet")),
    "no ending": ("table", CSV.encode(), ("table", ".parquet")),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", BROKEN)
def test_broken_file_is_refused(case, method, command, says):
    name, content, words = BROKEN[case]
    path = command.folder / name
    path.write_bytes(content)
    command.refuses(*command.perturb(path, method=method), words=words)
    with pytest.raises(VeilError) as caught:
        veil.publish(path, veil.AdditiveNoise())
    says(str(caught.value), words)
    if not case.startswith("header"):  # one may look at a table without rows
        command.refuses("inspect", path, words=words)


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    return pa.table({"a": rng.normal(size=3_000), "b": rng.normal(size=3_000), "t": ["SECRETCELL"] * 3_000})


@pytest.mark.parametrize("kept", [4, 8, 100, 0.3, 0.6, 0.9, -1, -4, -9])
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_truncated_file_is_refused(kept, ending, table, command):
    path = command.folder / f"t.{ending}"
    (pq.write_table if ending == "parquet" else feather.write_feather)(table, path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(kept * len(raw)) if isinstance(kept, float) else kept])
    options = ("--role", "t=drop")
    command.refuses(*command.perturb(path, options=options), words=(path.name, "truncated or damaged"))


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7])
def test_damaged_pages_are_refused_or_harmless(place, table, command):
    """Zeros in the middle of the data: a clean refusal, or a release of what the file now says."""
    path = command.folder / "t.parquet"
    pq.write_table(table, path, compression="snappy")
    raw = bytearray(path.read_bytes())
    start = int(place * len(raw))
    raw[start : start + 200] = bytes(200)
    path.write_bytes(raw)
    arguments = command.perturb(path, options=("--role", "t=drop"))
    if command.run(*arguments).exit_code == 0:
        veil.Release.load(command.folder / "release")
    else:
        command.refuses(*arguments, words=("t.parquet",))


FOLDERS = {
    "another column": {"1": {"a": [1.0, 2.5]}, "2": {"a": [1.0, 2.5], "b": [1.0, 2.0]}},
    "another type": {"1": {"a": [1.0, 2.5]}, "2": {"a": ["SECRETCELL", "x"]}},
    "another order": {"1": {"a": [1.0, 2.5], "b": [3.5, 1.0]}, "2": {"b": [1.0, 2.5], "a": [3.5, 1.0]}},
}


@pytest.mark.parametrize("case", FOLDERS)
def test_folder_of_unlike_files_is_refused(case, command):
    folder = command.folder / "parts"
    folder.mkdir()
    for name, columns in FOLDERS[case].items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    command.refuses(*command.perturb(folder), words=("2.parquet", "1.parquet"))


def test_folder_without_parquet_or_with_a_broken_part_is_refused(command):
    folder = command.folder / "parts"
    folder.mkdir()
    command.refuses(*command.perturb(folder), words=("parts", ".parquet"))
    pq.write_table(pa.table({"a": [1.0, 2.5, 3.0]}), folder / "1.parquet")
    (folder / "2.parquet").write_bytes((folder / "1.parquet").read_bytes()[:-30])
    command.refuses(*command.perturb(folder), words=("2.parquet", "truncated or damaged"))
    (folder / "2.parquet").unlink()
    (folder / "2.parquet").mkdir()
    command.refuses(*command.perturb(folder), words=("2.parquet",))


@pytest.mark.parametrize("kind", ["absent", "dangling link", "link to itself", "folder in a file"])
def test_absent_table_is_refused(kind, command):
    path = command.folder / "t.csv"
    if kind == "dangling link":
        path.symlink_to("nowhere.csv")
    elif kind == "link to itself":
        path.symlink_to("t.csv")
    elif kind == "folder in a file":
        (command.folder / "file").write_text(CSV)
        path = command.folder / "file" / "t.csv"
    command.refuses(*command.perturb(path), words=("t.csv", "no such file"))


def test_unreadable_file_is_refused(command):
    path = command.folder / "t.csv"
    path.write_text(CSV)
    path.chmod(0)
    if os.access(path, os.R_OK):
        path.chmod(0o600)
        pytest.skip("this user reads everything")
    with pytest.raises(FileAccessError, match="permission"):
        veil.publish(path, veil.AdditiveNoise())
    path.chmod(0o600)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_dialects_of_csv_are_read(separator, mark, end, command):
    path = command.folder / "t.csv"
    path.write_bytes(mark + CSV.replace(",", separator).replace("\n", end).encode())
    command.succeeds(*command.perturb(path))
    release = veil.Release.load(command.folder / "release", kind="pandas")
    assert release.only_part.names == ("a", "b")
    assert len(release.data) == 40


def test_two_gzip_members_are_one_table(command):
    path = command.folder / "t.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode()) + gzip.compress(ROWS.encode()))
    command.succeeds(*command.perturb(path))
    assert len(veil.Release.load(command.folder / "release", kind="pandas").data) == 80


@pytest.mark.parametrize("late", ["SECRETCELL", "2020-01-01", "1.5", "99999999999999999999"])
def test_a_late_cell_of_another_type_is_found(late, tmp_path, says):
    """Types are settled over the whole file, not over its first megabytes."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2.5\n2,3.5\n" * 800_000 + f"{late},1.5\n")
    if late == "1.5":
        assert veil.data.files.open_table(path).schema.field("a").type == pa.float64()
        return
    with pytest.raises(VeilError) as caught:
        veil.publish(path, veil.AdditiveNoise())
    says(str(caught.value), ("'a'", "1 "))


def test_a_late_text_among_times_with_a_zone_is_read(tmp_path):
    """Every type that Arrow infers can be widened to text, times with a zone too."""
    path = tmp_path / "t.csv"
    path.write_text("t,b\n" + "2020-01-01T00:00:00Z,2.5\n2020-01-02T00:00:00Z,3.5\n" * 200_000 + "unknown,1.5\n")
    assert veil.data.files.open_table(path).schema.field("t").type == pa.string()


def test_public_text_of_csv_is_released_unchanged(command):
    """A public column is released as it is: leading zeros, and text that looks like nothing."""
    path = command.folder / "t.csv"
    codes = [f"{i % 9:05d}" for i in range(40)]
    lines = CSV.splitlines()
    joined = [f"{line},{code}" for line, code in zip(lines, ["zip", *codes], strict=True)]
    path.write_text("\n".join(joined) + "\n")
    command.succeeds(*command.perturb(path, options=("--role", "zip=public")))
    released = pd.read_csv(command.folder / "release" / "data.csv", dtype=str)
    assert released["zip"].tolist() == codes
