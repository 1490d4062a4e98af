"""Keys: private files, locked by a passphrase, never shown, never pickled."""

import copy
import json
import pickle

import numpy as np
import pytest

import veil
from veil.errors import FileAccessError, KeyRefusedError
from veil.keys.key import key_from
from veil.perturbations.orthogonal import haar_orthogonal


@pytest.fixture
def used():
    x = np.random.default_rng(0).normal(size=(30, 3))
    return veil.publish(x, veil.OrthogonalTransform(translation=1.0))[1]


@pytest.mark.parametrize("passphrase", [None, "correct horse battery staple", "pässwörd ☃"])
def test_a_key_file_holds_everything(used, passphrase, tmp_path):
    used.save(tmp_path / "key", passphrase=passphrase)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    loaded = veil.Key.load(tmp_path / "key", passphrase=passphrase)
    assert loaded.derive("x") == used.derive("x")
    assert loaded.ledger == used.ledger
    address = {"any": "address"}
    make = lambda source: haar_orthogonal(source, 4)  # noqa: E731
    np.testing.assert_array_equal(loaded.matrix(address, make), used.matrix(address, make))


def test_a_matrix_is_made_once_and_then_kept(tmp_path):
    key = veil.Key()
    made = key.matrix("a", lambda source: source.normal(2, 2))
    key.save(tmp_path / "key")
    again = veil.Key.load(tmp_path / "key").matrix("a", lambda source: pytest.fail("made a second time"))
    assert again.tobytes() == made.tobytes()


def test_a_locked_key_shows_nothing(used, tmp_path):
    used.save(tmp_path / "locked", passphrase="p")
    used.save(tmp_path / "open")
    secret = json.loads((tmp_path / "open").read_text())["secret"]
    text = (tmp_path / "locked").read_text()
    assert secret not in text
    assert "orthogonal" not in text
    with pytest.raises(KeyRefusedError, match="locked"):
        veil.Key.load(tmp_path / "locked")
    with pytest.raises(KeyRefusedError, match="wrong passphrase"):
        veil.Key.load(tmp_path / "locked", passphrase="q")


def test_existing_files_are_refused_and_untouched(used, tmp_path):
    (tmp_path / "key").write_text("precious")
    with pytest.raises(FileAccessError, match="already exists"):
        used.save(tmp_path / "key")
    assert (tmp_path / "key").read_text() == "precious"
    assert [p.name for p in tmp_path.iterdir()] == ["key"]
    used.save(tmp_path / "key", replace=True)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"veil": "key", "format": 1}', '{"veil": "key", "format": 99}'])
def test_damaged_files_are_refused(text, tmp_path):
    (tmp_path / "key").write_text(text)
    with pytest.raises(KeyRefusedError):
        veil.Key.load(tmp_path / "key")


def test_every_rendering_is_masked(used):
    assert {repr(used), str(used), f"{used}", f"{used:>20}".strip()} == {"<secret>"}
    assert used._repr_html_() == "&lt;secret&gt;"


def test_a_key_is_copied_but_not_pickled(used):
    assert copy.deepcopy(used).derive("x") == used.derive("x")
    with pytest.raises(KeyRefusedError, match="never pickled"):
        pickle.dumps(used)
    with veil.allow_key_pickling():
        assert pickle.loads(pickle.dumps(used)).derive("x") == used.derive("x")


def test_random_states_become_keys():
    assert key_from(None).seeded is False
    assert key_from(None).derive("x") != key_from(None).derive("x")
    assert key_from(3).derive("x") == key_from(np.int64(3)).derive("x")
    assert key_from(3).seeded
    assert key_from(np.random.default_rng(0)).seeded
    with pytest.raises(KeyRefusedError, match="random_state"):
        key_from("3")
    with pytest.raises(KeyRefusedError, match="32 bytes"):
        veil.Key(b"short")


def test_a_seeded_release_says_so():
    x = np.random.default_rng(0).normal(size=(30, 3))
    assert veil.publish(x, veil.AdditiveNoise())[0].manifest.key == "secret"
    assert veil.publish(x, veil.AdditiveNoise(random_state=1))[0].manifest.key == "seeded, not secret"
