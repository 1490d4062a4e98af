"""What a cluster's scheduler, logs and messages show of a run: no key, no matrix, no cell."""

import contextlib
import copy
import json
import logging
import os
import pickle
import struct
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil import publish_file, restore_file
from veil.data.cluster import Admission, Cluster, run_span
from veil.data.files import open_table
from veil.data.passes import span_sum
from veil.data.sealed import Greeting, Session, _opened, admit, attend, dismiss, greet, sealed_result
from veil.errors import ClusterError, VeilError
from veil.publishing.first_pass import scan_block

distributed = pytest.importorskip("distributed")
SECRET = bytes((37 * i + 11) % 256 for i in range(32))
CELLS = (31415926.53125, 27182818.28125)
NAME = "SECRETCELL"

# Everything that a scheduler holds or hears, as bytes; also what is wrapped in its own classes.
DUMP = """
def everything(value, depth=0):
    import pickle
    out = [repr(value).encode()]
    try:
        out.append(pickle.dumps(value))
    except Exception:
        pass
    for name in ("frames", "header", "serialized", "data", "run_spec", "exception", "traceback", "exception_text",
                 "traceback_text", "annotations", "key", "metadata", "func", "args", "kwargs"):
        inner = getattr(value, name, None)
        if inner is not None and depth < 6 and not callable(inner):
            out.append(everything(inner, depth + 1))
    if isinstance(value, (list, tuple, set, frozenset)):
        out += [everything(each, depth + 1) for each in value]
    if isinstance(value, dict) and depth < 6:
        out += [everything(each, depth + 1) for pair in value.items() for each in pair]
    if isinstance(value, (bytes, bytearray, memoryview)):
        out.append(bytes(value))
    return b"|".join(out)

def dump(scheduler):
    found = []
    for key, task in list(scheduler.tasks.items()):
        found += [str(key).encode(), everything(task.run_spec), everything(task.exception), everything(task.traceback),
                  everything(task.exception_text), everything(task.traceback_text)]
    found += [everything(list(scheduler.transition_log)[-500:]), everything(scheduler.get_logs(n=None)),
              everything(dict(scheduler.events) if hasattr(scheduler, "events") else None)]
    return b"|".join(found)
"""


def secrets_of(key, folder):
    """Every form of a key and of its matrices."""
    path = folder / f"secret-{id(key)}"
    key.save(path)
    document = json.loads(path.read_text())
    path.unlink()
    forms = {"raw": SECRET, "hex": SECRET.hex().encode(), "repr": repr(SECRET)[2:-1].encode()}
    forms |= {f"text of bytes {i}": SECRET[i : i + 12] for i in (0, 10, 20)}
    import base64

    for matrix in document["matrices"].values():
        for i, value in enumerate(np.frombuffer(base64.b64decode(matrix["float64"]), dtype="<f8")[:16]):
            forms[f"matrix {i}"] = struct.pack("<d", value)
    return forms


CELL_FORMS = {f"{c} as bytes": struct.pack("<d", c) for c in CELLS} | {
    f"{c} as text": str(c)[:9].encode() for c in CELLS
}
CELL_FORMS |= {"name": NAME.encode()}


def found_in(data, forms):
    data = data.encode() if isinstance(data, str) else data
    return [name for name, form in forms.items() if form in data]


def private():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(50, 9, size=(40_000, 3)), columns=list("abc"))
    frame.loc[100, "a"], frame.loc[35_000, "b"] = CELLS
    frame["person"] = [f"{NAME} {i}" for i in range(len(frame))]
    return frame


ROLES = {"person": "drop"}
METHODS = {
    "noise": (veil.AdditiveNoise(), ROLES),
    "rotation": (veil.OrthogonalTransform(), ROLES),
    "projection": (veil.RandomProjection(2), ROLES),
    "pseudonyms": (veil.Pseudonymize(), dict.fromkeys("abc", "drop")),
}


class Wire:
    """Records every message that passes through this process: scheduler, client and (threaded) workers."""

    def __init__(self):
        self.heard = []

    @contextlib.contextmanager
    def listening(self):
        import distributed.comm.tcp as tcp

        real = tcp.to_frames

        async def recorded(*args, **kwargs):
            frames = await real(*args, **kwargs)
            self.heard += [bytes(frame) for frame in frames]
            return frames

        tcp.to_frames = recorded
        try:
            yield self
        finally:
            tcp.to_frames = real

    @property
    def all(self):
        return b"|".join(self.heard)


@pytest.fixture(scope="module")
def wire():
    """All messages from before the cluster started."""
    found = Wire()
    with found.listening():
        yield found


@pytest.fixture(scope="module")
def client(wire):
    """Worker processes; scheduler and client are in this process, over TCP, so that all they say can be heard."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL,
            protocol="tcp://", host="127.0.0.1",
        ) as local,
        distributed.Client(local, set_as_default=False) as found,
    ):  # fmt: skip
        yield found


def shown(client):
    """All that the scheduler holds, and all logs."""
    scheduler = client.cluster.scheduler
    place = {}
    exec(DUMP, place)
    logs = repr(client.get_worker_logs()) + repr(client.get_scheduler_logs())
    return place["dump"](scheduler) + logs.encode()


@pytest.fixture
def kept(monkeypatch):
    """Tasks stay with the scheduler, so that they can be looked at after the run."""

    def keep(client):
        monkeypatch.setattr(client, "cancel", lambda *_, **__: None)

    return keep


@pytest.mark.parametrize("name", METHODS)
def test_a_cluster_sees_no_secret(name, client, wire, kept, tmp_path):
    method, roles = METHODS[name]
    pq.write_table(pa.Table.from_pandas(private()), tmp_path / "t.parquet", row_group_size=5_000)
    veil.Key(SECRET).save(tmp_path / "k")
    wire.heard.clear()
    kept(client)
    futures = []
    real = Cluster._task

    def task(self, *rest):
        futures.append(real(self, *rest))
        return futures[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cluster, "_task", task)
        publish_file(
            tmp_path / "t.parquet", method, tmp_path / "r", reuse_key=tmp_path / "k", roles=roles,
            engine=Cluster(client=client),
        )  # fmt: skip
    forms = secrets_of(veil.Key.load(tmp_path / "k"), tmp_path) | CELL_FORMS
    assert len(futures) >= 2
    seen = shown(client)
    assert b"veil-perturbing-" in seen
    assert found_in(seen, forms) == []
    assert len(wire.all) > 10_000
    assert b"run_span" in wire.all
    assert found_in(wire.all, forms) == []


def test_restoring_on_a_cluster_shows_no_secret(client, wire, kept, tmp_path):
    pq.write_table(pa.Table.from_pandas(private()[list("abc")]), tmp_path / "t.parquet")
    veil.Key(SECRET).save(tmp_path / "k")
    publish_file(tmp_path / "t.parquet", veil.OrthogonalTransform(), tmp_path / "r", reuse_key=tmp_path / "k")
    wire.heard.clear()
    kept(client)
    restore_file(tmp_path / "r", tmp_path / "k", tmp_path / "back.parquet", engine=Cluster(client=client))
    forms = secrets_of(veil.Key.load(tmp_path / "k"), tmp_path) | CELL_FORMS
    assert found_in(shown(client) + wire.all, forms) == []


def test_the_recorder_would_hear_a_secret(client, wire):
    """Guards the tests above: what is sent in the open is found on the wire and with the scheduler."""
    wire.heard.clear()
    future = client.submit(len, NAME.encode() + struct.pack("<d", CELLS[0]), pure=False)
    assert future.result() > 0
    assert found_in(wire.all, CELL_FORMS)
    assert found_in(shown(client), CELL_FORMS)


# -- errors ---------------------------------------------------------------------------------------------------


def spoiled(folder):
    """A CSV file that got a text among its numbers after it was opened; Arrow's own message quotes the cell."""
    path = folder / "t.csv"
    rows = [f"{i}.25,{i}" for i in range(60_000)]
    path.write_text("a,b\n" + "\n".join(rows) + "\n")
    table, stamp = open_table(path), path.stat()
    rows[50_000] = "SECRETCE,1"
    assert len(rows[50_000]) <= len("50000.25,50000")
    rows[50_000] = rows[50_000].ljust(len("50000.25,50000"), "0")
    path.write_text("a,b\n" + "\n".join(rows) + "\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert path.stat().st_size == stamp.st_size
    return table


def failed(client, folder):
    """A task that failed on a worker, still held by the scheduler."""
    work = partial(span_sum, partial(scan_block, (), None), ("a", "b"))
    table = spoiled(folder)
    with Admission(client, (work, table)) as session:
        future = client.submit(run_span, session.name, table.spans()[0], key=f"failed-{session.name}", pure=False)
        return future, session.opened(future.result(timeout=180)).raised()


def test_messages_and_logs_of_errors_quote_no_cell(client, tmp_path):
    future, error = failed(client, tmp_path)
    assert isinstance(error, VeilError)
    assert "SECRETCE" not in str(error)
    logs = repr(client.get_worker_logs()) + repr(client.get_scheduler_logs())
    assert "SECRETCE" not in logs
    future.release()


def test_errors_carry_no_cell_past_the_scheduler(client, wire, tmp_path):
    wire.heard.clear()
    future, error = failed(client, tmp_path)
    seen = shown(client) + wire.all
    future.release()
    assert b"SECRETCE" not in seen
    assert error.__context__ is None


def test_input_errors_leave_no_traceback_in_worker_logs(client, tmp_path):
    future, _ = failed(client, tmp_path)
    future.release()
    assert "Traceback" not in repr(client.get_worker_logs())


# -- frames ---------------------------------------------------------------------------------------------------


def test_released_frames_carry_no_secret(client, wire, tmp_path):
    """The graph of a release of a Dask frame: names of runs and spans, and the owner's own partitions by name."""
    import dask.dataframe as dd

    key = veil.Key(SECRET)
    frame = private()[list("abc")]
    with client.as_current():
        held = dd.from_pandas(frame, npartitions=3).persist()
        distributed.wait(held)
        wire.heard.clear()
        release, key = veil.publish(held, veil.OrthogonalTransform(), key=key)
        forms = secrets_of(key, tmp_path)
        graph = release.data.optimize().__dask_graph__()
        assert found_in(repr(dict(graph)).encode(), forms | CELL_FORMS) == []
        release.data.compute()
    assert found_in(shown(client) + wire.all, forms) == []  # the private rows are in the owner's own graph


# -- sessions ---------------------------------------------------------------------------------------------------


def test_sessions_are_masked_and_never_pickled():
    session = Session()
    assert repr(session) == str(session) == f"{session}" == "<secret>"
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ClusterError, match="never pickled"):
            way(session)
    assert not hasattr(session, "__dict__")


def test_admissions_are_masked_too():
    class Client:
        status = "closed"

    admission = Admission(Client(), ("work", NAME))
    assert NAME not in repr(admission)
    with pytest.raises(ClusterError, match="never pickled"):
        pickle.dumps(admission)


def test_envelopes_open_for_their_own_worker_and_session_alone():
    session, other = Session(), Session()
    here = greet()
    envelope = session.envelope(here, (NAME, SECRET))
    assert found_in(envelope, CELL_FORMS | {"key": SECRET}) == []
    assert envelope != session.envelope(here, (NAME, SECRET))
    admit(session.name, session.public, envelope)
    key, content = attend(session.name, 0.1)
    assert content == (NAME, SECRET)
    with pytest.raises(ClusterError, match="not sealed by this run"):
        admit(other.name, session.public, envelope)
    with pytest.raises(ClusterError, match="not sealed by this run"):
        admit(session.name, other.public, envelope)
    with pytest.raises(ClusterError, match="not sealed by this run"):
        session.opened(sealed_result(key, other.name, 1))
    result = bytearray(sealed_result(key, session.name, NAME))
    assert NAME.encode() not in result
    assert session.opened(bytes(result)) == NAME
    result[-1] ^= 1
    with pytest.raises(ClusterError, match="interferes"):
        session.opened(bytes(result))
    dismiss(session.name)
    with pytest.raises(ClusterError, match="in time"):
        attend(session.name, 0.05)


@pytest.mark.parametrize(
    "envelope",
    [
        bytes(12),
        bytes(40),
        b"",
        b"x",
    ],
)
def test_messages_from_nowhere_are_refused(envelope):
    with pytest.raises(ClusterError, match="interferes"):
        Session().opened(envelope)


def test_greetings_say_nothing_secret():
    found = greet()
    assert isinstance(found, Greeting)
    assert len(found.public) == 32
    with pytest.raises(ClusterError):
        _opened(bytes(32), found.public, "x")
