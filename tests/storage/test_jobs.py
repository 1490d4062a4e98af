"""One run from file to file: private drafts, shards that are checked by their hash, resuming, and one landing."""

import json
import stat

import numpy as np
import pyarrow as pa
import pytest

from veil.data.blocks import BLOCK_ROWS, SPAN_BLOCKS
from veil.data.files import open_table
from veil.data.tables import MemoryTable
from veil.errors import FileAccessError, InputError, UnwritableError
from veil.storage.drafts import Draft, Interrupted
from veil.storage.hashes import sha256_of, sha256_of_shards
from veil.storage.jobs import as_rows, file_job
from veil.storage.json_values import json_value

N = (SPAN_BLOCKS + 1) * BLOCK_ROWS + 5  # two shards, the second of two blocks
ABOUT = {"what": "a test"}


def table(n=N):
    return MemoryTable(pa.table({"a": (np.arange(n) % 100).astype(np.int8)}))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def failing_after(n_blocks, stop):
    """The work of a run that is stopped at a block."""

    def work(block):
        if block.start >= n_blocks * BLOCK_ROWS:
            raise stop
        return as_rows(block)

    return work


def run(target, work=as_rows, *, resume=False, about=ABOUT, kind="parquet", source=None, **options):
    source = source or table()
    with file_job(target, resume=resume, **options) as job:
        resumed = job.begin(about)
        output = job.output(source.schema, kind, mode=0o600)
        done = len(output.shards)
        output.write_in_order(work, source)
        job.land_table(output)
    return resumed, done


@pytest.fixture
def interrupted(tmp_path):
    """A target whose run was interrupted in its second shard."""
    target = tmp_path / "t.parquet"
    with pytest.raises(Interrupted, match="what is done is kept"):
        run(target, failing_after(SPAN_BLOCKS + 1, KeyboardInterrupt()))
    return target


def test_an_interrupted_run_has_no_target_and_a_private_draft(interrupted):
    draft = Draft(interrupted)
    assert not interrupted.exists()
    assert mode(draft.folder) == 0o700
    files = [path for path in draft.folder.rglob("*") if path.is_file()]
    assert len(files) == 4  # lock, run, one shard and its note
    assert {mode(path) for path in files} == {0o600}


def test_a_resumed_run_makes_only_what_is_missing_and_the_same_bytes(interrupted, tmp_path):
    assert run(interrupted, resume=True) == (True, 1)
    assert run(tmp_path / "whole.parquet") == (False, 0)
    files = sorted(path.name for path in interrupted.iterdir())
    assert files == ["part-00000.parquet", "part-00001.parquet"]
    assert [sha256_of(interrupted / name) for name in files] == [
        sha256_of(tmp_path / "whole.parquet" / name) for name in files
    ]
    assert mode(interrupted) == 0o700
    assert not Draft(interrupted).folder.exists()


def test_a_shard_that_is_not_what_its_note_says_is_made_again(interrupted):
    (shard,) = Draft(interrupted).shards.glob("*.parquet")
    shard.write_bytes(shard.read_bytes()[:-1])
    assert run(interrupted, resume=True) == (True, 0)
    assert open_table(interrupted).read().equals(table().read())


def test_a_note_that_is_no_note_is_no_shard(interrupted):
    (note,) = Draft(interrupted).shards.glob("*.json")
    note.write_text(json.dumps({"number": 0, "other": 1}))
    assert run(interrupted, resume=True) == (True, 0)


def test_another_run_is_refused_and_what_is_done_is_kept(interrupted):
    with pytest.raises(InputError, match="not those of the run that was interrupted"):
        run(interrupted, resume=True, about={"what": "something else"})
    assert run(interrupted, resume=True) == (True, 1)


def test_without_resuming_a_run_begins_anew(interrupted):
    assert run(interrupted) == (False, 0)
    assert not Draft(interrupted).folder.exists()


def test_a_run_that_is_held_is_refused_and_left_alone(interrupted):
    with file_job(interrupted, resume=True) as job:
        job.begin(ABOUT)
        with pytest.raises(FileAccessError, match="another run is writing it"):
            run(interrupted)
        assert job.draft.shards.is_dir()
        output = job.output(table().schema, "parquet")
        output.write_in_order(as_rows, table())
        job.land_table(output)
    assert open_table(interrupted).n_rows == N


@pytest.mark.parametrize(
    ("stop", "options"),
    [(InputError("a bad cell"), {}), (KeyboardInterrupt(), {"resumable": False})],
    ids=["refused", "not resumable"],
)
def test_of_a_refused_run_and_of_one_that_cannot_be_resumed_nothing_is_kept(stop, options, tmp_path):
    with pytest.raises(type(stop)):
        run(tmp_path / "t.parquet", failing_after(SPAN_BLOCKS + 1, stop), **options)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_keeps_whole_shards_and_says_how_to_go_on(tmp_path):
    target = tmp_path / "t.parquet"
    with pytest.raises(UnwritableError, match="resume the run to continue") as refusal:
        run(target, failing_after(SPAN_BLOCKS + 1, UnwritableError("the disk is full")))
    assert refusal.value.parameter == "resume"
    assert run(target, resume=True) == (True, 1)


@pytest.mark.parametrize("kind", ["parquet", "feather", "csv", "csv.gz"])
def test_shards_become_one_table_of_every_format(kind, tmp_path):
    target = tmp_path / f"t.{kind}"
    run(target, kind=kind)
    rows = open_table(target).read().column("a")
    assert rows.cast(pa.int8()).equals(table().read().column("a"))
    assert mode(target) == (0o700 if target.is_dir() else 0o600)


def test_a_table_without_rows_has_its_header(tmp_path):
    run(tmp_path / "t.csv", kind="csv", source=table(0))
    assert (tmp_path / "t.csv").read_text() == '"a"\n'


def test_the_hash_of_shards_depends_on_names_and_hashes_not_on_their_order():
    shards = {"part-0": "aa", "part-1": "bb"}
    assert sha256_of_shards(shards) == sha256_of_shards(dict(reversed(shards.items())))
    others = [{"part-0": "bb", "part-1": "aa"}, {"part-0": "aa"}, {"part-0": "aa", "part-2": "bb"}]
    assert sha256_of_shards(shards) not in map(sha256_of_shards, others)


def test_json_values_are_those_that_json_has():
    value = {1: (np.float64("nan"), np.int8(3), [float("inf"), True]), "b": np.array([[1.5]]), "c": None}
    plain = json_value(value)
    assert plain == {"1": [None, 3, [None, True]], "b": [[1.5]], "c": None}
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
