"""Keys and releases that were locked, damaged, tampered with or swapped: refused, never half believed."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import veil
from veil.errors import FileFormatError, KeyRefusedError, TamperedError, VeilError

METHODS = {
    "noise": veil.AdditiveNoise(),
    "turn": veil.OrthogonalTransform(),
    "turn and shift": veil.OrthogonalTransform(translation=1.0),
}
ABSENT = object()


@pytest.fixture(params=METHODS)
def saved(request, numbers, tmp_path):
    """A release folder, its key file, and the release in memory."""
    release, key = veil.publish(numbers, METHODS[request.param])
    release.save(tmp_path / "release")
    key.save(tmp_path / "key")
    return tmp_path, release, key


def places(document, path=()):
    """Every place in a JSON document; of a list, the first element."""
    yield path
    if isinstance(document, dict):
        for name, value in document.items():
            yield from places(value, (*path, name))
    elif isinstance(document, list) and document:
        yield from places(document[0], (*path, 0))


def changed(document, path, value):
    """A copy of the document with another value at one place, or without it."""
    if not path:
        return value
    document = copy.deepcopy(document)
    parent = document
    for step in path[:-1]:
        parent = parent[step]
    if value is ABSENT:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return document


def variants(document):
    """The document with each of its places replaced by something of another kind, or removed."""
    for path in places(document):
        for value in (ABSENT, None, 5, "x", [], {}, [1]):
            if path or value is not ABSENT:
                yield path, changed(document, path, value)


def assert_no_crash(failures):
    """Say which damage got through, a few of them."""
    assert not failures, f"{len(failures)} kinds of damage were not refused, among them {failures[:6]}"


# -- the key file -------------------------------------------------------------------------------


def test_damaged_key_is_refused_or_still_restores(saved, numbers):
    """Any change of the key file: refused, or a restored table that is the private one."""
    folder, release, _ = saved
    whole = json.loads((folder / "key").read_text())
    failures = []
    for path, document in variants(whole):
        (folder / "key").write_text(json.dumps(document))
        try:
            back = veil.restore(release, veil.Key.load(folder / "key"))
            if list(back.columns) != list(numbers.columns) or not np.allclose(back, numbers, atol=1e-4):
                failures.append(("wrong table", path))
        except VeilError as error:
            failures += [("several lines", path)] if "\n" in str(error) else []
        except Exception as error:
            failures.append((type(error).__name__, path))
    assert_no_crash(failures)


@pytest.mark.parametrize("field", ["secret", "fingerprint", "matrix"])
def test_one_flipped_digit_of_a_key_does_not_restore_a_wrong_table(field, numbers, tmp_path):
    method = METHODS["turn" if field == "matrix" else "noise"]
    release, key = veil.publish(numbers, method)
    key.save(tmp_path / "key")
    text = (tmp_path / "key").read_text()
    document = json.loads(text)
    step = document["ledger"][0]["parts"][0]
    value = {
        "secret": document["secret"],
        "fingerprint": step["fingerprint"],
        "matrix": next(iter(document["matrices"].values()), {}).get("float64", ""),
    }[field]
    place = text.index(value) + 4
    (tmp_path / "key").write_text(f"{text[:place]}{'1' if text[place] != '1' else '2'}{text[place + 1 :]}")
    with pytest.raises(KeyRefusedError, match=r"damaged|did not make"):
        veil.restore(release, veil.Key.load(tmp_path / "key"))


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b"\xff\xfe\x00", b"not json", b'{"veil": "key"}'])
def test_what_is_no_key_file_is_refused(content, tmp_path):
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(KeyRefusedError, match="key"):
        veil.Key.load(tmp_path / "key")


def test_key_of_another_format_is_refused(saved):
    folder, _, _ = saved
    document = json.loads((folder / "key").read_text())
    (folder / "key").write_text(json.dumps({**document, "format": 99}))
    with pytest.raises(KeyRefusedError, match="format"):
        veil.Key.load(folder / "key")


def test_locked_key(numbers, tmp_path):
    release, key = veil.publish(numbers, METHODS["noise"])
    key.save(tmp_path / "key", passphrase="right")
    with pytest.raises(KeyRefusedError, match="locked"):
        veil.Key.load(tmp_path / "key")
    with pytest.raises(KeyRefusedError, match="wrong passphrase"):
        veil.Key.load(tmp_path / "key", passphrase="wrong")
    np.testing.assert_allclose(
        veil.restore(release, veil.Key.load(tmp_path / "key", passphrase="right")), numbers, atol=1e-4
    )
    whole = json.loads((tmp_path / "key").read_text())
    failures = []
    for name in ("salt", "nonce", "sealed"):
        for value in (ABSENT, None, 5, "", "x", "!!", "AAAA", [], whole[name][4:]):
            (tmp_path / "key").write_text(json.dumps(changed(whole, (name,), value)))
            try:
                veil.Key.load(tmp_path / "key", passphrase="right")
                failures.append(("accepted", name))
            except VeilError:
                pass
            except Exception as error:
                failures.append((type(error).__name__, name, value))
    assert_no_crash(failures)


def test_key_of_another_release_is_refused(saved, numbers):
    _, release, _ = saved
    _, other = veil.publish(numbers, METHODS["noise"])
    with pytest.raises(KeyRefusedError, match="did not make"):
        veil.restore(release, other)


# -- the release folder -------------------------------------------------------------------------


def test_damaged_manifest_is_refused(saved, numbers):
    """Any change of the manifest: a clean refusal, or a release that still works with its key."""
    folder, _, key = saved
    path = folder / "release" / "manifest.json"
    whole = json.loads(path.read_text())
    failures = []
    for place, document in variants(whole):
        path.write_text(json.dumps(document))
        try:
            release = veil.Release.load(folder / "release")
            release.to_numpy()
            release.moments()
            back = veil.restore(release, key).to_pandas()
            if list(back.columns) != list(numbers.columns) or not np.allclose(back, numbers, atol=1e-4):
                failures.append(("wrong table", place))
        except VeilError as error:
            failures += [("several lines", place)] if "\n" in str(error) else []
        except Exception as error:
            failures.append((type(error).__name__, place))
    assert_no_crash(failures)


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[]", b"\xff\xfe", b"not json"])
def test_absent_or_empty_manifest_is_refused(content, saved):
    folder, _, _ = saved
    path = folder / "release" / "manifest.json"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"manifest\.json"):
        veil.Release.load(folder / "release")


def test_manifest_of_another_format_is_refused(saved):
    folder, _, _ = saved
    path = folder / "release" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(FileFormatError, match="version"):
        veil.Release.load(folder / "release")


@pytest.mark.parametrize("place", [0, 4, 0.25, 0.5, 0.75, -5, -1])
def test_one_flipped_bit_of_the_data_is_found(place, saved):
    folder, _, _ = saved
    path = folder / "release" / "data.parquet"
    raw = bytearray(path.read_bytes())
    raw[int(place * len(raw)) if isinstance(place, float) else place] ^= 1
    path.write_bytes(raw)
    with pytest.raises(TamperedError, match="hash"):
        veil.Release.load(folder / "release")


@pytest.mark.parametrize("change", ["absent", "empty", "longer", "shorter", "folder"])
def test_changed_data_file_is_found(change, saved):
    folder, _, _ = saved
    path = folder / "release" / "data.parquet"
    raw = path.read_bytes()
    path.unlink()
    if change == "folder":
        path.mkdir()
    elif change != "absent":
        path.write_bytes({"empty": b"", "longer": raw + b"x", "shorter": raw[:-1]}[change])
    with pytest.raises(TamperedError):
        veil.Release.load(folder / "release")


@pytest.mark.parametrize("file", ["../outside.parquet", "ABSOLUTE", "..", ".", "", "x/../../outside.parquet", "/"])
def test_manifest_does_not_reach_out_of_its_folder(file, saved):
    """Even when the hash is right, only a file of the release folder itself is opened."""
    folder, _, _ = saved
    release = folder / "release"
    manifest = json.loads((release / "manifest.json").read_text())
    (release / "data.parquet").rename(folder / "outside.parquet")
    name = str(folder / "outside.parquet") if file == "ABSOLUTE" else file
    manifest["data"]["file"] = name
    (release / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises((TamperedError, FileFormatError)):
        veil.Release.load(release)


def test_a_release_behind_a_link_is_the_release(saved, numbers):
    folder, _, key = saved
    (folder / "link").symlink_to("release")
    back = veil.restore(veil.Release.load(folder / "link"), key).to_pandas()
    np.testing.assert_allclose(back, numbers, atol=1e-4)


def test_a_key_behind_a_link_stays_one_key(command, numbers):
    """Reusing a key through a link must enter the release in the real key's ledger, and copy the secret nowhere."""
    table, vault = command.folder / "table.csv", command.folder / "vault"
    numbers.to_csv(table, index=False)
    vault.mkdir()
    command.succeeds(*command.perturb(table, key="vault/key"))
    link = command.folder / "key"
    link.symlink_to("vault/key")
    command.succeeds(
        "perturb", table, "--method", "additive-noise", "--set", "scale=2", "--again", "--reuse-key", link,
        "-o", command.folder / "second",
    )  # fmt: skip
    assert link.is_symlink(), "the link was replaced by a copy of the key"
    assert len(veil.Key.load(vault / "key").ledger) == 2
