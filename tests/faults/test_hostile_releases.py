"""Releases and drafts that somebody prepared: pipes for files, fields given twice, halves of signs, long texts."""

from __future__ import annotations

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil.errors import FileAccessError, FileFormatError, KeyRefusedError
from veil.storage.hashes import sha256_of
from veil.storage.jobs import file_job


@pytest.fixture
def folder(numbers, tmp_path):
    """A release and its key."""
    release, key = veil.publish(numbers, veil.AdditiveNoise())
    release.save(tmp_path / "release")
    key.save(tmp_path / "key")
    return tmp_path


def change(folder, edit):
    """Rewrite the manifest's JSON values."""
    path = folder / "release" / "manifest.json"
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


def verbs(folder):
    return [
        ("restore", folder / "release", "--key", folder / "key", "-o", folder / "back.csv"),
        ("attack", folder / "release", "--attack", "pca-attack", "-o", folder / "guess.csv"),
        ("recover", folder / "release"),
    ]


@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "folder"])
def test_a_manifest_that_is_no_file_is_refused_and_not_waited_for(kind, folder, command):
    path = folder / "release" / "manifest.json"
    path.unlink()
    {
        "pipe": os.mkfifo,
        "device": lambda p: p.symlink_to("/dev/zero"),
        "loop": lambda p: p.symlink_to(p.name),
        "folder": lambda p: p.mkdir(),
    }[kind](path)
    for arguments in verbs(folder):
        result = command.run(*arguments)
        assert result.exit_code == 2
        assert result.stderr.splitlines() == [
            f"veil: {folder / 'release'}: not a release folder (no readable manifest.json)"
        ]
    assert sorted(p.name for p in folder.iterdir()) == ["key", "release"]


def test_a_field_given_twice_is_refused(folder, command):
    path = folder / "release" / "manifest.json"
    path.write_text(path.read_text().replace('"method"', '"method": "none", "method"', 1))
    for arguments in verbs(folder):
        command.refuses(*arguments, words=["given twice"])


def test_a_half_of_a_surrogate_pair_is_refused(folder, command):
    change(folder, lambda document: document["parts"][0]["columns"][0].update(name="\ud800"))
    for arguments in verbs(folder):
        command.refuses(*arguments, words=["not JSON in UTF-8"])


@pytest.mark.parametrize("field", ["method", "guarantee", "veil", "release_id", "arithmetic"])
def test_a_text_without_end_is_refused(field, folder):
    change(folder, lambda document: document.update({field: "x" * 1_000_000}))
    with pytest.raises(FileFormatError, match=f"{field} cannot be read"):
        veil.Release.load(folder / "release")


def test_a_manifest_with_a_byte_order_mark_is_read_and_other_encodings_are_not(folder):
    path = folder / "release" / "manifest.json"
    text = path.read_text()
    path.write_text(text, encoding="utf-8-sig")
    assert veil.Release.load(folder / "release").method == "additive-noise"
    path.write_text(text, encoding="utf-16")
    with pytest.raises(FileFormatError, match="UTF-8"):
        veil.Release.load(folder / "release")


def test_numbers_that_overflow_print_one_line(folder, command):
    """The warnings of numpy are not lines of ours."""
    change(folder, lambda document: document["parts"][0]["parameters"].update(scale=[1e308, 1e308, 1e308]))
    command.refuses(*verbs(folder)[1])


@pytest.mark.parametrize("cost", [(-(2**100), 1, 1), (2, 0, 10**30), (2**70, -1, 1)])
def test_a_locked_key_with_absurd_costs_is_refused(cost, folder):
    veil.Key().save(folder / "locked", passphrase="open")
    document = json.loads((folder / "locked").read_text())
    (folder / "locked").write_text(json.dumps({**document, "scrypt": dict(zip("nrp", cost, strict=True))}))
    with pytest.raises(KeyRefusedError, match="damaged"):
        veil.Key.load(folder / "locked", passphrase="open")


@pytest.mark.parametrize("shape", [[10**30], [2**40, 2**40], [-5], [1.5], None])
def test_a_key_with_a_matrix_of_absurd_shape_is_refused(shape, folder):
    document = json.loads((folder / "key").read_text())
    document["matrices"] = {"a": {"float64": "AAAAAAAAAAA=", "shape": shape}}
    (folder / "key").write_text(json.dumps(document))
    with pytest.raises(KeyRefusedError, match="damaged"):
        veil.Key.load(folder / "key")


def draft_of(target):
    """The draft folder's path, which anybody can compute."""
    with file_job(target) as job:
        return job.draft.folder


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives folders away")
def test_a_draft_of_another_user_is_refused(numbers, tmp_path):
    """In a shared folder somebody could lay out a draft with a key of his own, for a run to continue."""
    draft = draft_of(tmp_path / "release")
    draft.mkdir(mode=0o777)
    os.chown(draft, 12345, 12345)
    with pytest.raises(FileAccessError, match="not a folder of yours"):
        veil.publish(numbers, veil.AdditiveNoise())[0].save(tmp_path / "release")
    assert list(draft.iterdir()) == []


def test_a_draft_behind_a_link_is_refused(numbers, tmp_path):
    draft, elsewhere = draft_of(tmp_path / "release"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    draft.symlink_to(elsewhere)
    with pytest.raises(FileAccessError, match="not a folder of yours"):
        veil.publish(numbers, veil.AdditiveNoise())[0].save(tmp_path / "release")
    assert list(elsewhere.iterdir()) == []
    assert draft.is_symlink()


def test_the_rest_of_a_killed_run_is_taken_up_again(numbers, tmp_path):
    draft = draft_of(tmp_path / "release")
    draft.mkdir(mode=0o700)
    (draft / "lock").touch()
    release, key = veil.publish(numbers, veil.AdditiveNoise())
    release.save(tmp_path / "release")
    np.testing.assert_allclose(veil.restore(veil.Release.load(tmp_path / "release"), key), numbers, atol=1e-4)
    assert [p.name for p in tmp_path.iterdir()] == ["release"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("moment", ["landed", "half removed"])
def test_killed_after_the_target_is_there_leaves_no_second_copy_for_ever(moment, folder, command, monkeypatch):
    """A draft holds restored rows, or a new key; the next run for that name removes it before it refuses."""
    restore = ("restore", folder / "release", "--key", folder / "key", "-o", folder / "back.csv")
    draft = draft_of(folder / "back.csv")
    pid = os.fork()
    if pid == 0:
        if moment == "landed":
            monkeypatch.setattr("veil.storage.drafts.Draft._let_go", lambda self: os._exit(9))
        else:
            monkeypatch.setattr("veil.storage.drafts.remove", lambda path: path == draft and os._exit(9))
        command.run(*restore)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert (folder / "back.csv").is_file()
    assert draft.is_dir()
    result = command.run(*restore)
    assert result.exit_code == 2
    assert "already exists" in result.stderr
    assert not draft.exists()


def test_a_run_to_be_continued_is_kept_when_its_name_is_taken_by_something_else(folder, command):
    draft = draft_of(folder / "back.csv")
    draft.mkdir(mode=0o700)
    (draft / "landing").write_text("1")
    (folder / "back.csv").write_text("another table\n")
    command.refuses("restore", folder / "release", "--key", folder / "key", "-o", folder / "back.csv")
    assert draft.is_dir()


def test_a_release_is_nobody_elses_to_write_whatever_the_umask(numbers, tmp_path):
    before = os.umask(0)
    try:
        release, key = veil.publish(numbers, veil.AdditiveNoise())
        release.save(tmp_path / "release")
        key.save(tmp_path / "key")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "release").iterdir()}
    assert modes == {"data.parquet": 0o644, "manifest.json": 0o644}
    assert (tmp_path / "release").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "table.parquet", "table.feather", "folder/a.parquet"])
def test_a_table_that_is_a_pipe_is_refused_and_not_waited_for(name, command):
    path = command.folder / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    result = command.run("inspect", path.parent if "/" in name else path)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"veil: {path.name}: a pipe or a device, which cannot be read twice; save it as a file first"
    ]


@pytest.mark.parametrize("cells", [["SECRETCELL", "1"], [[1.0], [2.0]]], ids=["texts", "lists"])
def test_released_cells_of_another_type_than_the_manifest_says_are_refused(cells, folder, command):
    data = folder / "release" / "data.parquet"
    pq.write_table(pa.table(dict.fromkeys("abn", cells)), data)
    change(folder, lambda document: document["data"].update(sha256=sha256_of(data)))
    for arguments in verbs(folder):
        command.refuses(*arguments, words=["'a'", "does not hold double"])
