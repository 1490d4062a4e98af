"""What the tests of scale share: small parts, a cluster of two processes, interruptions at a chosen row, and bits.

These tests go through data, storage, publishing and auditing in one run each, and resize parts in all of these
packages at once: they stay together, so that one cluster and one set of small parts serve them all.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import veil.data.blocks
import veil.data.files.parquet
import veil.storage.shards
from _program import interruptible
from veil.data.blocks import BLOCK_ROWS

TOOL = Path(sys.executable).with_name("veil")
RESIZE = """
import veil.data.blocks, veil.data.files.parquet, veil.storage.shards, veil.data.dask_frames
veil.storage.shards.SPAN_BLOCKS = veil.data.dask_frames.SPAN_BLOCKS = {0}
veil.data.blocks.spans.__defaults__ = ({0},)
veil.data.files.parquet.MOST_GROUP_ROWS = 2 * {0} * veil.data.blocks.BLOCK_ROWS
"""


@contextlib.contextmanager
def resized(n_blocks):
    """Parts of so many blocks, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("veil.storage.shards.SPAN_BLOCKS", n_blocks)
        patch.setattr("veil.data.dask_frames.SPAN_BLOCKS", n_blocks)
        patch.setattr(veil.data.blocks.spans, "__defaults__", (n_blocks,))
        patch.setattr("veil.data.files.parquet.MOST_GROUP_ROWS", 2 * n_blocks * BLOCK_ROWS)
        yield


@pytest.fixture
def real_parts():
    """The product's own parts, in a module whose other tests have small ones."""
    with resized(veil.data.blocks.SPAN_BLOCKS):
        yield


@pytest.fixture(scope="module")
def small_parts():
    """Parts of one block, so that a small table has several."""
    with resized(1):
        yield


@pytest.fixture(scope="module")
def local_cluster():
    """Two worker processes of one thread each; quiet, on loopback."""
    distributed = pytest.importorskip("distributed")
    found = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL, host="127.0.0.1"
    )
    yield found
    found.close(timeout=120)


@pytest.fixture(scope="module")
def client(local_cluster):
    """A client that is not the process's default one."""
    import distributed

    found = distributed.Client(local_cluster, set_as_default=False)
    yield found
    found.close(timeout=120)


@pytest.fixture
def real_engine(client, real_parts):
    """The cluster as an engine, with the product's own parts."""
    client.run(exec, RESIZE.format(veil.data.blocks.SPAN_BLOCKS), {})
    yield veil.Cluster(client=client)
    client.run(exec, RESIZE.format(1), {})


@pytest.fixture(scope="module")
def small_engine(client, small_parts):
    """The cluster as an engine, with parts of one block on the workers, too."""
    client.run(exec, RESIZE.format(1), {})
    return veil.Cluster(client=client)


class At:
    """A progress callback that does something once, when so many rows of a pass are done."""

    def __init__(self, what, rows, do):
        self.what, self.rows, self.do, self.done = what, rows, do, False

    def __call__(self, what, done, total):
        if not self.done and what == self.what and done >= self.rows:
            self.done = True
            self.do()


@pytest.fixture(scope="session")
def at():
    return At


def _interrupt():
    raise KeyboardInterrupt


@pytest.fixture(scope="session")
def cut():
    """An interrupt at a row of a pass."""
    return lambda what="perturbing", rows=3 * BLOCK_ROWS: At(what, rows, _interrupt)


def digest(path):
    """Names and bytes of a file or a folder."""
    path = Path(path)
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    names = [str(p.relative_to(path)) for p in files]
    return {name: hashlib.sha256(p.read_bytes()).hexdigest() for name, p in zip(names, files, strict=True)}


@pytest.fixture(scope="session")
def hashes():
    return digest


@pytest.fixture(scope="session")
def tree():
    """Everything under a folder, by name."""
    return lambda folder: sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*"))


def _column_bits(column):
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        values = np.asarray(column.fill_null(0.0), dtype=np.float64)
        return "numbers", values.tobytes(), np.asarray(column.is_null()).tobytes()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or column.type == pa.string_view():
        return "texts", column.cast(pa.large_string())
    return "others", column


@pytest.fixture(scope="session")
def bits():
    """Every bit of every column, however the columns are held."""
    return lambda table: {name: _column_bits(table.column(name)) for name in table.column_names}


def run_until(command, seen, how, patience=180.0, group=False):
    """Start a command, wait until ``seen()``, send a signal, and return exit code and standard error."""
    process = subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=interruptible,
    )
    try:
        end = time.monotonic() + patience
        while process.poll() is None and not seen() and time.monotonic() < end:
            time.sleep(0.002)
        assert process.poll() is None, process.communicate()
        (os.killpg if group else os.kill)(process.pid, how)
        _, stderr = process.communicate(timeout=180)
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, stderr


@pytest.fixture(scope="session")
def signalled():
    return run_until


@pytest.fixture(scope="session")
def command():
    """Run the installed ``veil`` to its end."""

    def run(*arguments, **options):
        return subprocess.run(
            [str(TOOL), *(str(a) for a in arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            **options,
        )

    run.tool = TOOL
    return run
