"""Files that break or change while they are read: one line that names the place, no release, no draft, same key."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import veil
from veil import publish_file, restore_file
from veil.data.blocks import BLOCK_ROWS
from veil.data.files import open_table
from veil.errors import FileAccessError, FileFormatError

N = 4 * BLOCK_ROWS + 99
GROUP = 20_000
CELL = 31415926.5
KINDS = ["parquet", "folder", "csv", "csv.gz", "feather"]


def private(n=N, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(50, 9, n)
    a[n // 2] = CELL
    return pa.table({"a": a, "b": rng.normal(5, 1, n)})


def write(table, folder, kind):
    """The table as a file of that kind, and the file of it that holds the later rows."""
    path = folder / ("t" if kind == "folder" else f"t.{kind}")
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=GROUP)
    elif kind == "folder":
        path.mkdir(exist_ok=True)
        for i in range(3):
            pq.write_table(table.slice(i * 50_000, 50_000), path / f"f{i}.parquet", row_group_size=GROUP)
        return path, path / "f1.parquet"
    elif kind == "feather":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=GROUP)
    else:
        with pa.CompressedOutputStream(str(path), "gzip") if kind == "csv.gz" else pa.OSFile(str(path), "wb") as sink:
            pacsv.write_csv(table, sink)
    return path, path


class At:
    """A progress callback that does something once, when so many rows of a pass are done."""

    def __init__(self, what, rows, do):
        self.what, self.rows, self.do, self.done = what, rows, do, False

    def __call__(self, what, done, total):
        if not self.done and what == self.what and done >= self.rows:
            self.done = True
            self.do()


def assert_refused(source, folder, says, *, progress=None, reuse=False, words=()):
    """Refused in one line; nothing is written, and a key that was there is as it was."""
    keys = {"new_key": folder / "k"}
    if reuse:
        veil.Key(bytes(range(32))).save(folder / "k")
        keys = {"reuse_key": folder / "k"}
    before = sorted(p.name for p in folder.iterdir())
    old = (folder / "k").read_bytes() if reuse else None
    options = {} if progress is None else {"progress": progress}
    with pytest.raises((FileAccessError, FileFormatError)) as error:
        publish_file(source, veil.AdditiveNoise(random_state=1), folder / "r", **keys, **options)
    says(str(error.value), words)
    assert sorted(p.name for p in folder.iterdir()) == before
    if reuse:
        assert (folder / "k").read_bytes() == old


@pytest.fixture
def folders(tmp_path):
    """Where the table lies, and where the release goes."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    return tmp_path / "in", tmp_path / "out"


def append(file):
    with file.open("ab") as out:
        out.write(b"1.5,2.5\n")


def replace(file):
    """Another file of the same name, as editors and downloads do."""
    data = file.read_bytes()
    other = file.with_name("other.tmp")
    other.write_bytes(data)
    os.utime(other, ns=(1, 1))
    other.replace(file)


CHANGES = {
    "appended": append,
    "overwritten": lambda file: file.write_bytes(file.read_bytes()[::-1]),
    "replaced": replace,
    "removed": lambda file: file.unlink(),
    "emptied": lambda file: os.truncate(file, 0),
}


# A mapped Feather file that shrinks ends the process: that has a test of its own, in another process.
WAYS = [(k, c) for k in KINDS for c in CHANGES if k != "feather" or c not in ("emptied", "overwritten")]


@pytest.mark.parametrize("moment", [("reading", N), ("perturbing", BLOCK_ROWS)], ids=["between", "during"])
@pytest.mark.parametrize(("kind", "change"), WAYS)
def test_a_file_that_changes(kind, change, moment, folders, says):
    """After the first pass, or in the middle of the second one."""
    home, out = folders
    source, file = write(private(), home, kind)
    at = At(*moment, lambda: CHANGES[change](file))
    assert_refused(source, out, says, progress=at, words=[file.name], reuse=change == "replaced")
    assert at.done


def test_the_line_says_that_the_file_changed(folders, says):
    home, out = folders
    source, file = write(private(), home, "parquet")
    at = At("perturbing", BLOCK_ROWS, lambda: append(file))
    assert_refused(source, out, says, progress=at, words=["row group", "changed while it was read"])


@pytest.mark.parametrize("when", ["reading", "perturbing"])
def test_a_replaced_file_of_the_same_size_and_time(when, folders, says):
    """What `cp -p` and `rsync -t` leave: size and time are as before, and only the file itself is another.

    Between the passes that is refused; a file that is open already is read to its end, and the release is of it.
    """
    home, out = folders
    source, file = write(private(), home, "feather")
    stamp = file.stat()
    write(private(seed=1), out, "feather")
    assert (out / "t.feather").stat().st_size == stamp.st_size
    os.utime(out / "t.feather", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    at = At(when, BLOCK_ROWS, lambda: (out / "t.feather").replace(file))

    def publish(name, **more):
        return publish_file(source, veil.AdditiveNoise(random_state=1), home / name, new_key=home / f"k{name}", **more)

    expected = veil.publish(private(), veil.AdditiveNoise(random_state=1))[0].table.read()
    if when == "reading":
        with pytest.raises(FileAccessError, match="changed between the first and the second reading"):
            publish("r", progress=at)
        assert not (home / "r").exists()
    else:
        assert publish("r", progress=at).table.read().equals(expected)


FEATHER = """
import os, sys
from pathlib import Path
import veil
from veil import publish_file
folder, what = Path(sys.argv[1]), sys.argv[2]
def change(pass_, done, total):
    if pass_ == what and done > 60_000:
        os.truncate(folder / "t.feather", 100_000)
try:
    publish_file(folder / "t.feather", veil.AdditiveNoise(), folder / "r", new_key=folder / "k", progress=change)
except veil.FileAccessError as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.parametrize("what", ["reading", "perturbing"])
def test_a_feather_file_that_is_truncated_inside_a_batch(what, tmp_path):
    with pa.OSFile(str(tmp_path / "t.feather"), "wb") as sink, pa.ipc.new_file(sink, private().schema) as writer:
        writer.write_table(private(20 * BLOCK_ROWS))
    command = [sys.executable, "-c", FEATHER, str(tmp_path), what]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2, done.returncode
    assert [p.name for p in tmp_path.iterdir()] == ["t.feather"]


# -- broken from the start --------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.7, 0.999])
@pytest.mark.parametrize("kind", ["parquet", "folder", "feather", "csv.gz"])
def test_truncated_files(kind, share, folders, says):
    home, out = folders
    source, file = write(private(), home, kind)
    os.truncate(file, int(share * file.stat().st_size))
    assert_refused(source, out, says, words=[file.name])


def place_in(file, group, column=0):
    """Where a column's pages of a row group lie."""
    found = pq.ParquetFile(file).metadata.row_group(group).column(column)
    start = found.dictionary_page_offset or found.data_page_offset
    return start, found.total_compressed_size


@pytest.mark.parametrize("kind", ["parquet", "folder"])
@pytest.mark.parametrize("group", [0, 1, 2])
def test_flipped_bytes_are_placed(kind, group, folders, says):
    """The page header is spoiled: the line names file and row group."""
    home, out = folders
    source, file = write(private(), home, kind)
    start, _ = place_in(file, group)
    data = bytearray(file.read_bytes())
    for i in range(start, start + 24):
        data[i] ^= 0xFF
    file.write_bytes(data)
    assert_refused(source, out, says, words=[file.name, f"row group {group}"])


def test_pages_with_a_checksum_are_checked(folders, says):
    """Where the writer left checksums, a flipped digit is found that decodes without complaint."""
    home, out = folders
    pq.write_table(
        private(), home / "t.parquet", row_group_size=GROUP, compression="none", use_dictionary=False,
        write_page_checksum=True,
    )  # fmt: skip
    start, size = place_in(home / "t.parquet", 1)
    data = bytearray((home / "t.parquet").read_bytes())
    data[start + size // 2] ^= 1
    (home / "t.parquet").write_bytes(data)
    assert_refused(home / "t.parquet", out, says, words=["t.parquet", "row group 1"])


def test_one_broken_file_of_a_folder_is_named(folders, says):
    home, out = folders
    source, _ = write(private(), home, "folder")
    (source / "f2.parquet").write_bytes(b"PAR1 this is no table PAR1")
    assert_refused(source, out, says, words=["f2.parquet"])


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_releases_that_change_while_they_are_restored(kind, folders, says):
    home, out = folders
    write(private(), home, "parquet")
    publish_file(home / "t.parquet", veil.AdditiveNoise(), home / "r", new_key=home / "k", format=kind)
    at = At("restoring", BLOCK_ROWS, lambda: append(home / "r" / f"data.{kind}"))
    with pytest.raises(FileAccessError) as error:
        restore_file(home / "r", home / "k", out / "back.parquet", progress=at)
    says(str(error.value), [f"data.{kind}"])
    assert list(out.iterdir()) == []


def test_one_giant_row_group(tmp_path):
    pq.write_table(private(), tmp_path / "t.parquet", row_group_size=N)
    table = open_table(tmp_path / "t.parquet")
    assert sum(block.n_rows for block in table.blocks()) == N
    assert max(batch.num_rows for batch in table.batches()) <= BLOCK_ROWS
