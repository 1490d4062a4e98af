"""Files that are written whole or not at all, never over another, and private where they must be."""

import os
import stat
import threading

import pytest

from veil.errors import FileAccessError, UnwritableError
from veil.storage import atomic
from veil.storage.atomic import (
    land_file,
    land_folder,
    locked,
    refuse_existing,
    refuse_unwritable,
    write_private,
    write_public,
    writing,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_private_file_is_nobody_else_s_even_under_an_open_umask(tmp_path):
    before = os.umask(0)
    try:
        write_private(tmp_path / "key", b"secret")
        write_public(tmp_path / "plan", b"public")
    finally:
        os.umask(before)
    assert mode(tmp_path / "key") == 0o600
    assert mode(tmp_path / "plan") == 0o644
    assert names(tmp_path) == ["key", "plan"]


@pytest.mark.parametrize("write", [write_private, write_public])
def test_an_existing_file_is_replaced_only_on_purpose(write, tmp_path):
    write(tmp_path / "f", b"first")
    with pytest.raises(FileAccessError, match="already exists"):
        write(tmp_path / "f", b"second")
    assert (tmp_path / "f").read_bytes() == b"first"
    write(tmp_path / "f", b"second", replace=True)
    assert (tmp_path / "f").read_bytes() == b"second"
    assert names(tmp_path) == ["f"]


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    write_private(tmp_path / "f", b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(UnwritableError, match="No space left on device"):
        write_private(tmp_path / "f", b"new", replace=True)
    assert (tmp_path / "f").read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_of_two_writers_of_one_name_one_is_refused(tmp_path, monkeypatch):
    both_looked = threading.Barrier(2)
    look = atomic.refuse_existing

    def look_together(path):
        look(path)
        both_looked.wait(timeout=10)

    monkeypatch.setattr(atomic, "refuse_existing", look_together)
    outcomes = []

    def run(data):
        try:
            write_private(tmp_path / "f", data)
            outcomes.append(data)
        except FileAccessError:
            outcomes.append(None)

    threads = [threading.Thread(target=run, args=(data,)) for data in (b"one", b"two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [data for data in outcomes if data is not None]
    assert len(outcomes) == 2
    assert (tmp_path / "f").read_bytes() == winner


def test_a_dangling_link_and_a_missing_folder_are_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileAccessError, match="already exists"):
        refuse_existing(tmp_path / "link")
    with pytest.raises(FileAccessError, match="does not exist; create it first"):
        refuse_existing(tmp_path / "none" / "f")
    with pytest.raises(UnwritableError, match="cannot be written"):
        refuse_unwritable(tmp_path / "none" / "f")
    refuse_unwritable(tmp_path / ("n" * 250))
    assert names(tmp_path) == ["link"]


def test_what_the_system_says_is_one_line_without_a_cause(tmp_path):
    with pytest.raises(UnwritableError) as refusal, writing(tmp_path / "f"):
        raise OSError(13, "Permission denied", "elsewhere")
    assert str(refusal.value).splitlines() == [
        f"{tmp_path / 'f'}: cannot be written (Permission denied); choose another place"
    ]
    assert refusal.value.__cause__ is None


def test_a_folder_lands_under_a_new_name_only(tmp_path):
    draft = tmp_path / "draft"
    (draft / "data").mkdir(parents=True)
    (draft / "manifest").write_text("m")
    (tmp_path / "there").mkdir()
    with pytest.raises(FileAccessError, match="already exists"):
        land_folder(draft, tmp_path / "there")
    assert draft.is_dir()
    land_file(draft, tmp_path / "release")
    assert not draft.exists()
    assert (tmp_path / "release" / "manifest").read_text() == "m"


def test_a_lock_follows_the_file_that_was_replaced_meanwhile(tmp_path):
    path = tmp_path / "key"
    write_private(path, b"0")
    inside = threading.Event()

    def second():
        inside.wait(10)
        with locked(path):
            write_private(path, path.read_bytes() + b"2", replace=True)

    thread = threading.Thread(target=second)
    thread.start()
    with locked(path):
        inside.set()
        thread.join(0.2)
        assert thread.is_alive()
        write_private(path, path.read_bytes() + b"1", replace=True)
    thread.join(10)
    assert path.read_bytes() == b"012"
