"""A Dask cluster that is not well: workers that die, lie or are missing, schedulers that vanish, files that break."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil import publish_file
from veil.data.blocks import BLOCK_ROWS
from veil.data.cluster import Admission, Cluster
from veil.data.files import open_table
from veil.errors import ClusterError, FileAccessError, FileFormatError, InputError, VeilError
from veil.publishing.second_pass import Releasing
from veil.release.release import Release
from veil.storage.drafts import Draft

pytest.importorskip("distributed")
N = 5 * BLOCK_ROWS + 77


def private(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({"a": rng.normal(50, 9, n), "b": rng.gamma(2.0, size=n)})


def noise(scale=0.5, **settings):
    return veil.AdditiveNoise(scale, **{"random_state": 1, **settings})


@pytest.fixture(scope="module")
def home(tmp_path_factory, small_parts):
    folder = tmp_path_factory.mktemp("home")
    pq.write_table(private(), folder / "t.parquet", row_group_size=20_000)
    publish_file(folder / "t.parquet", noise(), folder / "r", new_key=folder / "k")
    return folder


def publish(home, folder, engine, **options):
    return publish_file(
        home / "t.parquet", options.pop("method", noise()), folder / "r", new_key=folder / "k", engine=engine, **options
    )


def sessions_on(client):
    """The sessions that workers hold."""
    return [
        name
        for names in client.run(
            eval, "list(__import__('veil.data.sealed', fromlist=['_DESK'])._DESK.sessions)"
        ).values()
        for name in names
    ]


# -- what stays behind ---------------------------------------------------------------------------------


def test_workers_forget_after_a_run(home, small_engine, tmp_path, hashes):
    publish(home, tmp_path, small_engine)
    assert hashes(tmp_path / "r") == hashes(home / "r")
    assert sessions_on(small_engine.client) == []
    assert [t.name for t in threading.enumerate() if t.name == "veil admission"] == []


def test_workers_forget_after_an_error(small_engine, tmp_path):
    table = private()
    bad = table["a"].to_numpy().copy()
    bad[4 * BLOCK_ROWS + 3] = np.inf
    pq.write_table(table.set_column(0, "a", pa.array(bad)), tmp_path / "t.parquet", row_group_size=20_000)
    with pytest.raises(InputError) as error:
        publish(tmp_path, tmp_path, small_engine)
    with pytest.raises(InputError) as here:
        publish(tmp_path, tmp_path, None)
    assert str(error.value) == str(here.value)
    assert "infinite" in str(error.value)
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]
    assert sessions_on(small_engine.client) == []


def test_workers_forget_after_an_interrupt(home, small_engine, tmp_path, cut, hashes):
    with pytest.raises(KeyboardInterrupt):
        publish(home, tmp_path, small_engine, progress=cut("perturbing", 2 * BLOCK_ROWS))
    assert sessions_on(small_engine.client) == []
    publish(home, tmp_path, None, resume=True)
    assert hashes(tmp_path / "r") == hashes(home / "r")


# -- workers that are refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"veil": "0.0.1"}, ["0.0.1", "install the same version"]),
        ({"arithmetic": "AVX1"}, ["AVX1", "bits would differ"]),
    ],
)
def test_a_worker_of_another_kind_is_refused(change, words, home, small_engine, tmp_path, monkeypatch):
    real = Admission._check
    monkeypatch.setattr(Admission, "_check", lambda self, where, who: real(self, where, replace(who, **change)))
    with pytest.raises(ClusterError) as error:
        publish(home, tmp_path, small_engine)
    assert all(word in str(error.value) for word in words)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_no_worker_keeps_secrets_of_a_run_that_was_refused(home, small_engine, tmp_path, monkeypatch):
    real, seen = Admission._check, []

    def check(self, where, who):
        seen.append(where)
        return real(self, where, replace(who, veil="0.0.1") if len(seen) > 1 else who)

    with monkeypatch.context() as patch:
        patch.setattr(Admission, "_check", check)
        with pytest.raises(ClusterError):
            publish(home, tmp_path, small_engine)
    left = sessions_on(small_engine.client)
    for name in left:  # leave nothing to the tests that follow
        small_engine.client.run(veil.data.sealed.dismiss, name)
    assert left == []


# -- tasks of an earlier run -------------------------------------------------------------------------------


def test_tasks_of_an_earlier_run_do_not_write_into_the_next_one(home, tmp_path, monkeypatch, at):
    """Interrupted with weak noise, run again with strong noise: no row of the release may have the weak one."""
    import distributed

    entered, gate, real = threading.Event(), threading.Event(), Releasing.batch

    def slow(self, block):
        if self.parts[0].perturbation.scale == 0.01 and block.start == 0:
            entered.set()
            gate.wait(180)
        return real(self, block)

    def check(self, done, total):
        if entered.is_set():
            raise KeyboardInterrupt

    monkeypatch.setattr(Releasing, "batch", slow)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Cluster, "_check", check)
            with pytest.raises(KeyboardInterrupt):
                publish(home, tmp_path, Cluster(client=client), method=noise(0.01, random_state=None))

        def working():
            return any(worker.state.executing for worker in local.workers.values())

        def let_go():
            assert working(), "the earlier task is held back until now"
            gate.set()
            end = time.monotonic() + 180
            while time.monotonic() < end and working():
                time.sleep(0.02)
            assert not working()

        publish(home, tmp_path, None, method=noise(5.0, random_state=None), progress=at("reading", N, let_go))
    added = Release.load(tmp_path / "r").table.read()["a"].to_numpy() - private()["a"].to_numpy()
    spread = [added[i : i + BLOCK_ROWS].std() for i in range(0, N - BLOCK_ROWS, BLOCK_ROWS)]
    assert min(spread) > 40


# -- processes of their own ----------------------------------------------------------------------------------


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Processes:
    """A scheduler and workers as processes of their own, all of which end with the test."""

    def __init__(self, folder):
        self.folder, self.started = folder, []
        self.address = f"tcp://127.0.0.1:{free_port()}"

    def _start(self, name, *arguments):
        log = (self.folder / f"{len(self.started)}.log").open("wb")
        self.started.append(
            subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{name}", *arguments],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
            )
        )
        return self.started[-1]

    def scheduler(self):
        host, port = self.address.removeprefix("tcp://").split(":")
        found = self._start("dask_scheduler", "--host", host, "--port", port, "--no-dashboard")
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    return found
            time.sleep(0.05)
        raise AssertionError("the scheduler did not start")

    def worker(self):
        return self._start("dask_worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny")

    def logs(self):
        return b"".join(p.read_bytes() for p in sorted(self.folder.glob("*.log"))).decode()

    def end(self):
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def processes(tmp_path_factory):
    found = Processes(tmp_path_factory.mktemp("processes"))
    yield found
    found.end()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Six parts of a million rows."""
    path = tmp_path_factory.mktemp("large") / "t.parquet"
    values = np.random.default_rng(3).normal(50, 9, 1_048_576)
    with pq.ParquetWriter(path, pa.schema([(n, pa.float64()) for n in "abc"])) as writer:
        for i in range(6):
            writer.write_table(pa.table({n: np.roll(values, 7 * i + j) for j, n in enumerate("abc")}))
    return path


def perturb(table, folder, *more):
    seed = ["--allow-seed", "--set", "random_state=1", "--set", "distribution=laplace"]
    return ["perturb", table, "--method", "additive-noise", *seed, "-o", folder / "r", "--key", folder / "k", *more]


@pytest.mark.parametrize("address", ["nonsense:x", pytest.param("tcp://127.0.0.1:9", marks=pytest.mark.slow)])
def test_no_scheduler_is_one_line(address, command, tmp_path):
    pq.write_table(private(100), tmp_path / "t.parquet")
    done = command(*perturb(tmp_path / "t.parquet", tmp_path, "--scheduler", address))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert address in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.slow
def test_no_workers_is_one_line(command, processes, tmp_path):
    processes.scheduler()
    pq.write_table(private(100), tmp_path / "t.parquet")
    done = command(*perturb(tmp_path / "t.parquet", tmp_path, "--scheduler", processes.address))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "no worker" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.slow
def test_relative_paths(command, processes, tmp_path):
    processes.scheduler()
    processes.worker()
    pq.write_table(private(1000), tmp_path / "t.parquet")
    done = command(
        "perturb", "t.parquet", "--method", "additive-noise", "-o", "r", "--key", "k",
        "--scheduler", processes.address, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def undisturbed(large, command, tmp_path_factory, hashes):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert command(*perturb(large, folder)).returncode == 0
    return hashes(folder / "r")


def started(command, arguments):
    return subprocess.Popen(
        [str(command.tool), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for_part(draft, process):
    end = time.monotonic() + 180
    while not any(draft.shards.glob("part-*.json")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(command, processes, large, undisturbed, tmp_path, hashes):
    processes.scheduler()
    first, _ = processes.worker(), processes.worker()
    run = started(command, perturb(large, tmp_path, "--scheduler", processes.address))
    wait_for_part(Draft(tmp_path / "r"), run)
    first.kill()
    _, stderr = run.communicate(timeout=300)
    assert run.returncode == 0, stderr
    assert stderr.splitlines() == ["Warning: the key was seeded and is not secret."]
    assert hashes(tmp_path / "r") == undisturbed
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k", "r"]


@pytest.mark.slow
def test_a_worker_that_comes_late_is_let_in(command, processes, large, undisturbed, tmp_path, hashes):
    """All workers die, and another one takes over."""
    processes.scheduler()
    first = processes.worker()
    run = started(command, perturb(large, tmp_path, "--scheduler", processes.address))
    wait_for_part(Draft(tmp_path / "r"), run)
    first.kill()
    processes.worker()
    _, stderr = run.communicate(timeout=300)
    assert run.returncode == 0, stderr
    assert hashes(tmp_path / "r") == undisturbed


@pytest.mark.slow
def test_a_killed_scheduler(command, processes, large, undisturbed, tmp_path, hashes):
    scheduler = processes.scheduler()
    processes.worker()
    run = started(command, perturb(large, tmp_path, "--scheduler", processes.address))
    wait_for_part(Draft(tmp_path / "r"), run)
    scheduler.kill()
    _, stderr = run.communicate(timeout=300)
    assert run.returncode == 1
    assert len(stderr.splitlines()) == 1
    assert not (tmp_path / "r").exists()
    assert not (tmp_path / "k").exists()
    done = command(*perturb(large, tmp_path, "--resume"))
    assert done.returncode == 0, done.stderr
    assert hashes(tmp_path / "r") == undisturbed


def test_a_lost_scheduler_is_called_by_its_name(monkeypatch):
    """What the client raises when the scheduler goes away first, before its status says so."""
    from distributed.comm import CommClosedError

    class Future:
        status = "finished"

        def result(self, timeout):
            raise CommClosedError("in <TCP>: Stream is closed")

    class Client:
        status = "running"

    with pytest.raises(ClusterError, match=r"scheduler was lost.*resume the run"):
        Cluster(client=Client())._result(Future(), 1, 6)


@pytest.mark.slow
def test_workers_here_on_the_command_line(command, large, undisturbed, tmp_path, hashes):
    done = command(*perturb(large, tmp_path, "--workers", "2"))
    assert done.returncode == 0
    assert done.stderr.splitlines() == ["Warning: the key was seeded and is not secret."]
    assert hashes(tmp_path / "r") == undisturbed


def test_one_engine_at_a_time(command, tmp_path):
    done = command(*perturb(tmp_path / "t.parquet", tmp_path, "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    for given in ({}, {"scheduler": "x", "workers": 1}):
        with pytest.raises(ClusterError, match="one of the three"):
            Cluster(**given)


# -- files that break on workers ----------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["removed", "changed", "broken"])
def test_files_that_break_are_the_same_error_on_a_worker(what, home, small_engine, tmp_path, at):
    """In the second pass, where the work is the workers'."""
    data, said = (home / "t.parquet").read_bytes(), []
    for engine in (None, small_engine):
        (tmp_path / "t.parquet").write_bytes(data)

        def spoil():
            path = tmp_path / "t.parquet"
            if what == "removed":
                path.unlink()
            elif what == "changed":
                with path.open("ab") as out:
                    out.write(b"x")
            else:
                stamp = path.stat()
                path.write_bytes(data[:100] + bytes(len(data) - 200) + data[-100:])
                os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

        with pytest.raises((FileAccessError, FileFormatError), match=r"t\.parquet") as error:
            publish_file(
                tmp_path / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", engine=engine,
                progress=at("reading", N, spoil),
            )  # fmt: skip
        said.append(str(error.value).partition(":")[2])
        (tmp_path / "t.parquet").unlink(missing_ok=True)
        assert list(tmp_path.iterdir()) == []
    assert said[0] == said[1]


def test_progress_of_a_cluster_ends_with_all_rows(home, small_engine, tmp_path):
    seen = {}
    publish(home, tmp_path, small_engine, progress=lambda what, done, total: seen.update({what: (done, total)}))
    assert seen == {"reading": (N, N), "perturbing": (N, N)}


def test_internal_errors_of_workers_show_their_type_alone(home, small_engine):
    from veil.data.passes import summed

    with pytest.raises(ClusterError) as error:
        summed(int, open_table(home / "t.parquet"), ["a"], engine=small_engine)
    assert str(error.value) == "a worker failed with an internal error (TypeError)"
    assert isinstance(error.value, VeilError)
