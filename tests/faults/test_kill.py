"""Killed at any moment: no half release, no release without its key, and nothing but drafts left lying about."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from _program import interruptible

ROWS = 300_000
TOOL = Path(sys.executable).with_name("veil")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(11)
    path = tmp_path_factory.mktemp("private") / "table.parquet"
    pq.write_table(pa.table({name: rng.normal(50, 9, ROWS) for name in "abcdef"}), path)
    return path


def arguments(table, folder, method="additive-noise", key=("--key", "key")):
    return [TOOL, "perturb", table, "--method", method, "-o", folder / "release", key[0], folder / key[1]]


def start(command):
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=interruptible
    )


def assert_whole_or_absent(folder, table):
    """Either no release, or a whole one that its key restores."""
    release = folder / "release"
    if not release.exists():
        return "absent"
    assert (folder / "key").is_file(), "a release without its key"
    loaded = veil.Release.load(release)
    back = veil.restore(loaded, veil.Key.load(folder / "key"))
    truth = pq.read_table(table)
    assert back.num_rows == ROWS
    assert np.abs(back["a"].to_numpy() - truth["a"].to_numpy()).max() < 1e-4
    return "whole"


def assert_one_line(stderr, folder):
    """One line, and nothing left but a run to be continued, where a part was whole already."""
    (line,) = stderr.splitlines()
    if left := [path.name for path in folder.iterdir()]:
        assert "--resume" in line
        assert len(left) == 1
        assert left[0].endswith(".draft")
    else:
        assert line == "veil: interrupted"


def leftovers(folder):
    """What is in a folder beside the release and the key."""
    return [p.name for p in folder.iterdir() if p.name not in ("release", "key")]


def wait_until(state, process, patience=180.0):
    """Whether ``state()`` came true before the run ended, or is true since."""
    end = time.monotonic() + patience
    while time.monotonic() < end and process.poll() is None:
        if state():
            return True
        time.sleep(0.001)
    return state()


def wait_for(pattern, folder, process):
    """Whether a file of that name appeared before the run ended."""
    return wait_until(lambda: any(folder.glob(pattern)), process)


def uses(process, name):
    """Whether a process has mapped or opened a file of that name."""
    try:
        opened = [str(link.readlink()) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
        return any(name in path for path in opened) or name in Path(f"/proc/{process.pid}/maps").read_text()
    except OSError:  # a file was closed, or the process ended, meanwhile
        return False


MOMENTS = {
    "a run begun": ".release.*.draft",
    "rows on their way": ".release.*.draft/parts-*/.part-*.tmp",
    "a part whole": ".release.*.draft/parts-*/part-*.json",
    "the release whole": ".release.*.draft/release/manifest.json",
    "the key there": "key",
    "the release there": "release",
}
"""What a run writes, in this order, as patterns of paths."""


def killed(command, folder, pattern):
    """Run until such a file is there, or to the end where it came and went unseen, and kill."""
    process = start(command)
    wait_for(pattern, folder, process)
    process.kill()
    process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["additive-noise", "orthogonal-transform"])
@pytest.mark.parametrize("pattern", MOMENTS.values(), ids=MOMENTS)
def test_killed_at_any_moment(pattern, method, table, tmp_path):
    killed(arguments(table, tmp_path, method), tmp_path, pattern)
    assert_whole_or_absent(tmp_path, table)
    assert all(name.startswith(".") and name.endswith(".draft") for name in leftovers(tmp_path))


@pytest.mark.parametrize("moment", ["a part whole", "the release whole"])
def test_killed_near_the_end_leaves_no_half_release(moment, table, tmp_path):
    killed(arguments(table, tmp_path), tmp_path, MOMENTS[moment])
    assert_whole_or_absent(tmp_path, table)
    assert all(name.startswith(".") and name.endswith(".draft") for name in leftovers(tmp_path))


def test_killed_runs_can_be_repeated(table, tmp_path):
    """What a killed run leaves behind does not stand in the way of the next one."""
    killed(arguments(table, tmp_path), tmp_path, MOMENTS["rows on their way"])
    if not (tmp_path / "key").exists():
        assert start(arguments(table, tmp_path)).wait() == 0
        assert assert_whole_or_absent(tmp_path, table) == "whole"


def test_killed_as_soon_as_the_key_is_there(table, tmp_path):
    """Between key and release: the key may be alone, the release may not."""
    process = start(arguments(table, tmp_path))
    assert wait_for("key", tmp_path, process)
    process.kill()
    process.communicate()
    assert veil.Key.load(tmp_path / "key").ledger
    assert_whole_or_absent(tmp_path, table)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_interrupted_while_writing(how, table, tmp_path):
    """One line, exit code 1 and a clean folder after an interrupt; no half release after either."""
    process = start(arguments(table, tmp_path))
    assert wait_for(".release.*.draft", tmp_path, process), "the run ended before it wrote anything"
    process.send_signal(how)
    _, stderr = process.communicate(timeout=180)
    if process.returncode == 0:
        assert assert_whole_or_absent(tmp_path, table) == "whole"
        return
    assert not (tmp_path / "release").exists()
    if how is signal.SIGINT:
        assert process.returncode == 1
        assert_one_line(stderr, tmp_path)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs to see what a process has opened")
@pytest.mark.parametrize("name", ["libarrow", "table.parquet"], ids=["loading", "reading"])
def test_interrupted_before_writing(name, table, tmp_path):
    """While it loads libraries or reads the table: the same one line, never a traceback."""
    process = start(arguments(table, tmp_path))
    assert wait_until(lambda: uses(process, name), process), "the run ended before it got there"
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=180)
    assert "Traceback" not in stderr
    if process.returncode:
        assert process.returncode == 1
        assert_one_line(stderr, tmp_path)


def limited(n_bytes):
    """Files of this process cannot grow beyond a size: a disk that is full."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return limit


@pytest.mark.parametrize("n_bytes", [100, 3_000_000])
def test_full_disk_leaves_nothing(n_bytes, table, tmp_path):
    command = arguments(table, tmp_path)
    done = subprocess.run(command, preexec_fn=limited(n_bytes), capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("veil: ")
    assert list(tmp_path.iterdir()) == []


def test_two_runs_for_one_name_give_one_release(table, tmp_path):
    """Two processes race for one release and one key; one wins, and what is there is whole."""
    runs = [start(arguments(table, tmp_path)) for _ in range(2)]
    codes = sorted(run.wait() for run in runs)
    assert codes == [0, 2]
    assert assert_whole_or_absent(tmp_path, table) == "whole"
    assert leftovers(tmp_path) == []
    for run in runs:
        run.communicate()


def test_two_runs_with_one_key_lose_no_entry(table, tmp_path):
    """Two processes reuse one key at once: both releases stay in its ledger, or one run is refused."""
    assert start(arguments(table, tmp_path)).wait() == 0
    runs = {}
    for name, scale in (("second", "2"), ("third", "3")):
        reuse = ["--reuse-key", tmp_path / "key", "--again", "--set", f"scale={scale}"]
        runs[name] = start([TOOL, "perturb", table, "--method", "additive-noise", "-o", tmp_path / name, *reuse])
    made = [name for name, run in runs.items() if run.wait() == 0]
    key = veil.Key.load(tmp_path / "key")
    for name in ["release", *made]:
        assert key.entry(veil.Release.load(tmp_path / name).manifest.release_id), name
    for run in runs.values():
        run.communicate()
