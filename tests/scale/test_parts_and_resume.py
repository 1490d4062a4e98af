"""Runs that are cut short: nothing half is out, what is whole is kept, and --resume ends with the same bytes."""

import fcntl
import gc
import json
import signal
import stat
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil import publish_file, restore_file
from veil.attacks.folders import KnowledgeFiles, attack_file
from veil.data.blocks import BLOCK_ROWS, Block, Span
from veil.data.passes import Lane, Stopped, Threads, summed
from veil.data.tables import MemoryTable, Table
from veil.errors import FileAccessError, FileFormatError, InputError, KeyRefusedError, VeilError
from veil.release.release import Release
from veil.storage.drafts import Draft, Interrupted
from veil.storage.shards import ShardFolder

N = 5 * BLOCK_ROWS + 77
KINDS = ["parquet", "csv", "csv.gz", "feather"]
RESUME = "interrupted; what is done is kept: resume the run to continue (--resume)"


def private(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({"a": rng.normal(50, 9, n), "b": rng.gamma(2.0, size=n), "n": rng.integers(0, 50, n)})


def noise(scale=0.5, **settings):
    return veil.AdditiveNoise(scale, **{"random_state": 1, **settings})


@pytest.fixture(scope="module")
def home(tmp_path_factory, small_parts):
    """A table, another one, a key, and undisturbed releases of it."""
    folder = tmp_path_factory.mktemp("home")
    pq.write_table(private(), folder / "t.parquet", row_group_size=20_000)
    pq.write_table(private(seed=1), folder / "other.parquet", row_group_size=20_000)
    for kind in KINDS:
        publish_file(folder / "t.parquet", noise(), folder / kind, new_key=folder / f"{kind}.key", format=kind)
    return folder


@pytest.fixture
def unfinished(home, tmp_path, cut):
    """A run that was cut short after three of its six parts."""

    def run(**options):
        with pytest.raises(Interrupted, match="resume the run"):
            publish_file(
                home / "t.parquet", noise(), tmp_path / "r", progress=cut(), **{"new_key": tmp_path / "k", **options}
            )
        assert not (tmp_path / "r").exists()
        return Draft(tmp_path / "r")

    return run


def whole_parts(draft):
    return {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in draft.shards.glob("part-*") if p.suffix != ".json"}


# -- releases ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_ends_with_the_same_bytes(kind, home, tmp_path, unfinished, hashes):
    draft = unfinished(format=kind)
    assert not (tmp_path / "k").exists()
    assert 0 < len(whole_parts(draft)) < 6
    release = publish_file(
        home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", format=kind, resume=True
    )
    assert hashes(tmp_path / "r") == hashes(home / kind)
    assert veil.Key.load(tmp_path / "k").ledger == veil.Key.load(home / f"{kind}.key").ledger
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k", "r"]
    back = veil.restore(release, veil.Key.load(tmp_path / "k"))
    assert back["n"].combine_chunks() == private()["n"].combine_chunks()


def test_drafts_are_private(unfinished):
    draft = unfinished()
    assert stat.S_IMODE(draft.folder.stat().st_mode) == 0o700
    for name in ("key", "run.json", "lock"):
        assert stat.S_IMODE((draft.folder / name).stat().st_mode) == 0o600
    for note in draft.shards.glob("*.json"):
        assert stat.S_IMODE(note.stat().st_mode) == 0o600


def test_finished_parts_are_not_written_again(home, tmp_path, unfinished):
    before = whole_parts(unfinished())
    publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", resume=True)
    after = {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in (tmp_path / "r" / "data.parquet").iterdir()}
    assert before
    assert all(after[name] == stamp for name, stamp in before.items())


@pytest.mark.parametrize("how", ["flip", "truncate", "remove", "empty", "bad note", "no note", "foreign note"])
def test_a_part_that_is_not_whole_is_written_again(how, home, tmp_path, unfinished, hashes):
    draft = unfinished()
    part = sorted(p for p in draft.shards.glob("part-*.parquet"))[0]
    note = part.with_suffix(".json")
    data = bytearray(part.read_bytes())
    if how == "flip":
        data[len(data) // 2] ^= 1
        part.write_bytes(data)
    elif how == "truncate":
        part.write_bytes(data[:-9])
    elif how == "remove":
        part.unlink()
    elif how == "empty":
        part.write_bytes(b"")
    elif how == "bad note":
        note.write_text("{")
    elif how == "no note":
        note.unlink()
    else:
        note.write_text(json.dumps({"number": 0, "elsewhere": 1}))
    publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", resume=True)
    assert hashes(tmp_path / "r") == hashes(home / "parquet")


def test_interrupted_again_and_again(home, tmp_path, unfinished, cut, hashes):
    unfinished()
    for what in ("reading", "perturbing"):
        with pytest.raises(KeyboardInterrupt):
            publish_file(
                home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", resume=True,
                progress=cut(what, BLOCK_ROWS),
            )  # fmt: skip
        assert Draft(tmp_path / "r").shards.is_dir()
    publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", resume=True)
    assert hashes(tmp_path / "r") == hashes(home / "parquet")


OTHERS = {
    "another table": {"source": "other.parquet"},
    "another scale": {"method": noise(0.7)},
    "another law": {"method": noise(distribution="laplace")},
    "another method": {"method": veil.MultiplicativeNoise(random_state=1)},
    "another format": {"format": "csv"},
    "another role": {"roles": {"n": "public"}},
    "another key": {"reuse_key": "csv.key", "again": True},
    "another order": {"shuffle": True},
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_run_is_not_continued(name, home, tmp_path, unfinished, hashes):
    draft = unfinished()
    before = hashes(draft.folder)
    changed = dict(OTHERS[name])
    source, method = home / changed.pop("source", "t.parquet"), changed.pop("method", noise())
    if "reuse_key" in changed:
        veil.Key().save(tmp_path / "old")
        changed["reuse_key"] = tmp_path / "old"
    else:
        changed["new_key"] = tmp_path / "k"
    with pytest.raises(InputError, match="without resuming"):
        publish_file(source, method, tmp_path / "r", resume=True, **changed)
    assert hashes(draft.folder) == before
    assert not (tmp_path / "k").exists()
    publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", resume=True)
    assert hashes(tmp_path / "r") == hashes(home / "parquet")


def test_another_seed_is_not_continued(home, tmp_path, unfinished):
    unfinished()
    with pytest.raises(InputError, match="without resuming"):
        publish_file(home / "t.parquet", noise(random_state=2), tmp_path / "r", new_key=tmp_path / "k", resume=True)


SLIPS = {
    "a table that is not there": {"source": "typo.parquet"},
    "a column that is not there": {"roles": {"typo": "drop"}},
    "a parameter that is refused": {"method": noise(-1.0)},
    "the wrong passphrase": {"passphrase": "typo"},
    "no passphrase": {},
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_costs_nothing(name, home, tmp_path, unfinished, hashes):
    draft = unfinished(passphrase="right" if "passphrase" in name else None)
    before = hashes(draft.folder)
    changed = dict(SLIPS[name])
    source, method = home / changed.pop("source", "t.parquet"), changed.pop("method", noise())
    with pytest.raises(VeilError):
        publish_file(source, method, tmp_path / "r", new_key=tmp_path / "k", resume=True, **changed)
    assert hashes(draft.folder) == before


def test_a_locked_key_of_an_unfinished_run_needs_its_passphrase(home, tmp_path, unfinished):
    draft = unfinished(passphrase="right")
    assert "sealed" in json.loads((draft.folder / "key").read_text())
    with pytest.raises(KeyRefusedError, match="locked"):
        publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", resume=True)
    assert not (tmp_path / "k").exists()


def test_a_locked_run_is_continued_with_its_passphrase(home, tmp_path, unfinished, hashes):
    unfinished(passphrase="right")
    publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", resume=True, passphrase="right")
    assert hashes(tmp_path / "r") == hashes(home / "parquet")
    with pytest.raises(KeyRefusedError, match="locked"):
        veil.Key.load(tmp_path / "k")


def test_a_secret_key_is_kept_over_the_interruption(home, tmp_path, cut):
    """Under a fresh key, too, the parts of both runs are of one release."""
    with pytest.raises(Interrupted):
        publish_file(home / "t.parquet", veil.AdditiveNoise(), tmp_path / "r", new_key=tmp_path / "k", progress=cut())
    publish_file(home / "t.parquet", veil.AdditiveNoise(), tmp_path / "r", new_key=tmp_path / "k", resume=True)
    key = veil.Key.load(tmp_path / "k")
    assert len(key.ledger) == 1
    back = veil.restore(Release.load(tmp_path / "r"), key)
    np.testing.assert_allclose(back["a"], private()["a"], atol=1e-4)


def test_a_reused_key_is_untouched_until_the_end(home, tmp_path, cut, hashes):
    veil.Key(bytes(range(32))).save(tmp_path / "k")
    before = (tmp_path / "k").read_bytes()
    with pytest.raises(Interrupted):
        publish_file(home / "t.parquet", noise(), tmp_path / "r", reuse_key=tmp_path / "k", progress=cut())
    assert (tmp_path / "k").read_bytes() == before
    assert not (Draft(tmp_path / "r").folder / "key").exists()
    publish_file(home / "t.parquet", noise(), tmp_path / "r", reuse_key=tmp_path / "k", resume=True)
    veil.Key(bytes(range(32))).save(tmp_path / "k2")
    publish_file(home / "t.parquet", noise(), tmp_path / "r2", reuse_key=tmp_path / "k2")
    assert hashes(tmp_path / "r") == hashes(tmp_path / "r2")
    assert len(veil.Key.load(tmp_path / "k").ledger) == 1


def test_without_resume_a_run_starts_anew(home, tmp_path, unfinished, hashes):
    draft = unfinished()
    part = sorted(draft.shards.glob("part-*.parquet"))[0]
    inode = part.stat().st_ino
    keep = part.open("rb")  # so that its number is not given away again
    publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k")
    assert (tmp_path / "r" / "data.parquet" / part.name).stat().st_ino != inode
    keep.close()
    assert hashes(tmp_path / "r") == hashes(home / "parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k", "r"]


def test_nothing_to_resume_starts(home, tmp_path, hashes):
    publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", resume=True)
    assert hashes(tmp_path / "r") == hashes(home / "parquet")


def test_a_run_that_others_hold_is_refused(home, tmp_path, unfinished, hashes):
    draft = unfinished()
    before = hashes(draft.folder)
    with (draft.folder / "lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for resume in (False, True):
            with pytest.raises(FileAccessError, match="another run is writing it"):
                publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", resume=resume)
    assert hashes(draft.folder) == before


def test_two_runs_at_once_give_one_release(home, tmp_path, at, hashes):
    """The second is refused while the first goes on, and does it no harm."""
    refused = []

    def second():
        with pytest.raises(FileAccessError, match="another run") as error:
            publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k2")
        refused.append(error)

    publish_file(
        home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", progress=at("perturbing", 70_000, second)
    )
    assert len(refused) == 1
    assert hashes(tmp_path / "r") == hashes(home / "parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k", "r"]


def test_an_interrupt_before_any_part_keeps_nothing(home, tmp_path, cut):
    with pytest.raises(KeyboardInterrupt) as stop:
        publish_file(
            home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", progress=cut("reading", BLOCK_ROWS)
        )
    assert not isinstance(stop.value, Interrupted)
    assert list(tmp_path.iterdir()) == []


def test_an_input_error_leaves_nothing(tmp_path, small_parts):
    table = private()
    spoiled = table["a"].to_numpy().copy()
    spoiled[4 * BLOCK_ROWS + 5] = np.inf
    pq.write_table(table.set_column(0, "a", pa.array(spoiled)), tmp_path / "t.parquet", row_group_size=20_000)
    with pytest.raises(InputError, match="infinite"):
        publish_file(tmp_path / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k")
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


# -- interrupted while parts become one table ---------------------------------------------------------


@pytest.fixture
def cut_assembly(monkeypatch):
    """Killed once in the middle of putting parts together."""

    def arm(when="after"):
        real = ShardFolder.assemble

        def broken(self, parts, target):
            monkeypatch.setattr(ShardFolder, "assemble", real)
            if when == "after":
                real(self, parts, target)
            elif self.kind == "parquet":
                target.mkdir()
                self.file(0).rename(target / self.file(0).name)
            else:
                target.write_bytes(b"half")
            raise KeyboardInterrupt

        monkeypatch.setattr(ShardFolder, "assemble", broken)

    return arm


@pytest.mark.parametrize("when", ["within", "after"])
@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_while_parts_are_put_together(kind, when, home, tmp_path, cut_assembly, hashes):
    options = {"new_key": tmp_path / "k", "format": kind}
    cut_assembly(when)
    with pytest.raises(Interrupted):
        publish_file(home / "t.parquet", noise(), tmp_path / "r", **options)
    publish_file(home / "t.parquet", noise(), tmp_path / "r", resume=True, **options)
    assert hashes(tmp_path / "r") == hashes(home / kind)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("verb", ["restore", "attack"])
def test_other_verbs_interrupted_while_parts_are_put_together(verb, kind, home, tmp_path, cut_assembly):
    cut_assembly("within")
    with pytest.raises(Interrupted):
        VERBS[verb](home, tmp_path / f"out.{kind}")
    VERBS[verb](home, tmp_path / f"out.{kind}", resume=True)
    assert [p.name for p in tmp_path.iterdir()] == [f"out.{kind}"]


def test_interrupted_between_key_and_release(home, tmp_path, monkeypatch, hashes):
    """The key comes first; whoever runs the same command again gets the release that belongs to it."""

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("veil.storage.jobs.land_file", stop)
        with pytest.raises(Interrupted):
            publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k")
    publish_file(home / "t.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k", resume=True)
    assert hashes(tmp_path / "r") == hashes(home / "parquet")


# -- guesses and restored tables ----------------------------------------------------------------------


def _restore(home, target, **options):
    return restore_file(home / "parquet", home / "parquet.key", target, **options)


def _attack(home, target, **options):
    attack = options.pop("attack", veil.UnivariateBayesAttack())
    return attack_file(home / options.pop("release", "parquet"), attack, target, KnowledgeFiles(), **options)


VERBS = {"restore": _restore, "attack": _attack}
WORDS = {"restore": "restoring", "attack": "guessing"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", VERBS)
def test_other_verbs_go_on_where_they_were_cut(verb, kind, home, tmp_path, cut, hashes):
    target = tmp_path / f"out.{kind}"
    with pytest.raises(Interrupted, match="resume the run"):
        VERBS[verb](home, target, progress=cut(WORDS[verb]))
    draft = Draft(target)
    before = whole_parts(draft)
    assert 0 < len(before) < 6
    assert not target.exists()
    assert stat.S_IMODE(draft.folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in draft.shards.iterdir())
    again = []
    real = ShardFolder.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ShardFolder, "write", lambda s, n, *rest: (again.append(n), real(s, n, *rest))[1])
        VERBS[verb](home, target, resume=True)
    assert sorted(again) == [n for n in range(6) if f"part-{n:05d}.{kind}" not in before]
    assert [p.name for p in tmp_path.iterdir()] == [target.name]
    VERBS[verb](home, tmp_path / f"undisturbed.{kind}")
    assert hashes(target) == hashes(tmp_path / f"undisturbed.{kind}")
    for path in [target, *target.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_an_attack_that_learns_from_some_rows_goes_on_with_what_these_told(home, tmp_path, cut, hashes, monkeypatch):
    monkeypatch.setattr("veil.attacks.posterior.learning_rows.MOST_LEARNED", 5_000)
    attack, target = veil.JointPosteriorAttack(prior="mixture"), tmp_path / "g.parquet"
    with pytest.raises(Interrupted, match="resume the run"):
        _attack(home, target, attack=attack, progress=cut("guessing"))
    before = whole_parts(Draft(target))
    assert 0 < len(before) < 6
    _attack(home, target, attack=attack, resume=True)
    after = {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in target.iterdir()}
    assert all(after[name] == stamp for name, stamp in before.items())
    _attack(home, tmp_path / "undisturbed.parquet", attack=attack)
    assert hashes(target) == hashes(tmp_path / "undisturbed.parquet")


def test_other_attacks_are_not_continued(home, tmp_path, cut, hashes):
    target = tmp_path / "g.parquet"
    with pytest.raises(Interrupted):
        _attack(home, target, progress=cut("guessing"))
    before = hashes(Draft(target).folder)
    for other in ({"attack": veil.NoiseDistributionAttack()}, {"attack": veil.UnivariateBayesAttack(variant="paper")}):
        with pytest.raises(InputError, match="without resuming"):
            _attack(home, target, resume=True, **other)
    with pytest.raises(InputError, match="without resuming"):
        _attack(home, target, resume=True, release="csv")
    assert hashes(Draft(target).folder) == before
    with pytest.raises(FileFormatError, match=r"no such file|not a release"):
        _attack(home, target, resume=True, release="typo")
    assert hashes(Draft(target).folder) == before
    _attack(home, target, resume=True)
    _attack(home, tmp_path / "g2.parquet")
    assert hashes(target) == hashes(tmp_path / "g2.parquet")


def test_another_part_of_a_release_is_not_continued(home, tmp_path, cut):
    plan = veil.Plan([(["a"], noise()), (["b"], noise())], roles={"n": "drop"})
    publish_file(home / "t.parquet", plan, tmp_path / "r", new_key=tmp_path / "k")
    attack, target = veil.UnivariateBayesAttack(), tmp_path / "g.csv"
    with pytest.raises(Interrupted):
        attack_file(tmp_path / "r", attack, target, KnowledgeFiles(), part=1, progress=cut("guessing"))
    with pytest.raises(InputError, match="without resuming"):
        attack_file(tmp_path / "r", attack, target, KnowledgeFiles(), part=2, resume=True)


def test_restoring_another_release_is_not_continued(home, tmp_path, cut, hashes):
    veil.publish_file(home / "other.parquet", noise(), tmp_path / "r", new_key=tmp_path / "k")
    target = tmp_path / "back.parquet"
    with pytest.raises(Interrupted):
        _restore(home, target, progress=cut("restoring"))
    before = hashes(Draft(target).folder)
    with pytest.raises(InputError, match="without resuming"):
        restore_file(tmp_path / "r", tmp_path / "k", target, resume=True)
    with pytest.raises(KeyRefusedError):
        restore_file(home / "parquet", tmp_path / "k", target, resume=True)
    assert hashes(Draft(target).folder) == before


# -- engines ------------------------------------------------------------------------------------------


class Slow(Table):
    """A table of many spans that notes which blocks were read, and fails in one of them.

    Of 1,600 blocks a pass that is given up reads far fewer than half, however late its threads hear of it.
    """

    def __init__(self, n_spans=12, fails=None):
        self.schema, self.kind, self.native, self.label = pa.schema([("a", pa.float64())]), "pyarrow", {}, "the table"
        self.n_rows, self.fails = n_spans * 4 * BLOCK_ROWS, fails
        self.read = []
        self._n = n_spans

    def spans(self):
        return [Span(4 * i, 4 * i + 4) for i in range(self._n)]

    def batches(self, columns=None, start=0, stop=None):
        for row in range(start, stop or self.n_rows, BLOCK_ROWS):
            self.read.append(row)
            if row == self.fails:
                raise InputError("this block is bad")
            time.sleep(0.005)
            yield pa.record_batch([np.ones(BLOCK_ROWS)], names=["a"])


def ones(block: Block):
    return block.matrix(["a"]).sum(axis=1)


def test_an_error_in_one_thread_stops_the_others():
    table = Slow(400, fails=5 * BLOCK_ROWS)
    before = set(threading.enumerate())
    with pytest.raises(InputError, match="this block is bad"):
        summed(ones, table, engine=Threads(3))
    assert len(table.read) < 800
    assert set(threading.enumerate()) <= before


def test_an_interrupt_in_progress_stops_all_threads(cut):
    table = Slow(400)
    with pytest.raises(KeyboardInterrupt):
        summed(ones, table, engine=Threads(3), what="x", progress=cut("x", 10 * BLOCK_ROWS))
    assert len(table.read) < 800


def test_abandoned_passes_end_their_threads():
    table = Slow(400)
    before = threading.active_count()
    run = Threads(3).run(lambda table, span, lane: sum(b.n_rows for b in lane.blocks(table, None, span)), table)
    assert next(run) == 4 * BLOCK_ROWS
    run.close()
    assert threading.active_count() == before
    assert len(table.read) < 800
    lane = Lane(3)
    mapped = lane.map(lambda x: x + 1, iter(range(1000)))
    assert next(mapped) == 1
    del mapped
    gc.collect()
    assert threading.active_count() == before


def test_order_is_kept_whatever_finishes_first():
    table = Slow(9)

    def work(table, span, lane):
        time.sleep(0.02 if span.first % 8 == 0 else 0.0)
        return span.first

    assert list(Threads(4).run(work, table)) == [4 * i for i in range(9)]
    assert list(Lane(4).map(lambda x: (time.sleep(0.003 * (x % 3)), x)[1], range(30))) == list(range(30))


@pytest.mark.parametrize("threads", [1, 3])
def test_an_empty_table(threads):
    empty = MemoryTable(pa.table({"a": pa.array([], pa.float64())}))
    assert summed(ones, empty, engine=Threads(threads)) is None
    assert list(Threads(threads).run(lambda table, span, lane: list(lane.blocks(table, None, span)), empty)) == [[]]


def test_stopped_is_no_error_that_users_see():
    assert not issubclass(Stopped, VeilError)


# -- signals ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Six parts of a million rows."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("large") / "t.parquet"
    values = rng.normal(50, 9, 1_048_576)
    with pq.ParquetWriter(path, pa.schema([(n, pa.float64()) for n in "abc"])) as writer:
        for i in range(6):
            writer.write_table(pa.table({n: np.roll(values, 7 * i + j) for j, n in enumerate("abc")}))
    return path


def perturb(command, table, folder, *more):
    seed = ["--allow-seed", "--set", "random_state=1", "--set", "distribution=laplace"]
    return [
        command.tool, "perturb", table, "--method", "additive-noise", *seed, "-o", folder / "r", "--key", folder / "k",
        *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(large, command, tmp_path_factory, hashes):
    folder = tmp_path_factory.mktemp("undisturbed")
    done = command(*perturb(command, large, folder)[1:])
    assert done.returncode == 0, done.stderr
    return hashes(folder / "r")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_while_parts_are_written(how, large, undisturbed, command, signalled, tmp_path, hashes):
    draft = Draft(tmp_path / "r")
    code, stderr = signalled(
        perturb(command, large, tmp_path), lambda: len(list(draft.shards.glob("part-*.json"))) > 1, how
    )
    if how is signal.SIGKILL:
        assert (code, stderr) == (-signal.SIGKILL, "")
    else:
        assert code == 1
        assert stderr.splitlines() == [f"veil: {RESUME}"]
    assert [p.name for p in tmp_path.iterdir()] == [draft.folder.name]
    done = command(*perturb(command, large, tmp_path, "--resume")[1:])
    assert done.returncode == 0, done.stderr
    assert hashes(tmp_path / "r") == undisturbed
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k", "r"]


@pytest.mark.slow
def test_refusals_on_the_command_line(large, command, signalled, tmp_path, hashes):
    draft = Draft(tmp_path / "r")
    signalled(perturb(command, large, tmp_path), lambda: len(list(draft.shards.glob("part-*.json"))) > 1, signal.SIGINT)
    before = hashes(draft.folder)
    for more in (["--set", "scale=2"], ["--format", "csv"], ["--role", "a=public"]):
        done = command(*perturb(command, large, tmp_path, "--resume", *more)[1:])
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "--resume" in done.stderr
        assert hashes(draft.folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("verb", ["restore", "attack"])
def test_signals_in_other_verbs(verb, how, large, command, signalled, tmp_path, hashes):
    made = command(*perturb(command, large, tmp_path)[1:])
    assert made.returncode == 0
    more = ["--key", tmp_path / "k"] if verb == "restore" else ["--attack", "univariate-bayes-attack"]
    order = [command.tool, verb, tmp_path / "r", *more, "-o"]
    draft = Draft(tmp_path / "out.parquet")
    code, stderr = signalled([*order, tmp_path / "out.parquet"], lambda: any(draft.shards.glob("part-*.json")), how)
    assert not (tmp_path / "out.parquet").exists()
    if how is not signal.SIGKILL:
        assert code == 1
        assert stderr.splitlines() == [f"veil: {RESUME}"]
    for name, resume in (("out", ["--resume"]), ("undisturbed", [])):
        done = command(*order[1:], tmp_path / f"{name}.parquet", *resume)
        assert done.returncode == 0, done.stderr
    assert hashes(tmp_path / "out.parquet") == hashes(tmp_path / "undisturbed.parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k", "out.parquet", "r", "undisturbed.parquet"]


@pytest.mark.slow
def test_ctrl_c_at_a_terminal_with_workers_here(large, command, signalled, tmp_path):
    draft = Draft(tmp_path / "r")
    code, stderr = signalled(
        perturb(command, large, tmp_path, "--workers", "2"),
        lambda: any(draft.shards.glob("part-*.json")),
        signal.SIGINT,
        group=True,
    )
    assert code == 1
    assert stderr.splitlines() == [f"veil: {RESUME}"]


@pytest.mark.slow
def test_one_row_group_of_many_million_rows(real_parts, tmp_path, hashes):
    """Read from front to back, and written in the same parts."""
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=2_500_000), "b": rng.normal(size=2_500_000)})
    pq.write_table(table, tmp_path / "one.parquet", row_group_size=table.num_rows)
    pq.write_table(table, tmp_path / "many.parquet", row_group_size=100_000)
    for name in ("one", "many"):
        publish_file(tmp_path / f"{name}.parquet", noise(), tmp_path / name, new_key=tmp_path / f"{name}.key")
    assert hashes(tmp_path / "one") == hashes(tmp_path / "many")
    assert len(list((tmp_path / "one" / "data.parquet").iterdir())) == 3
