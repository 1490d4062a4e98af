"""A key restores what it released and nothing else, in every format and kind of frame."""

import hashlib
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil import Key, Release, publish_file, restore_file
from veil.data.blocks import BLOCK_ROWS
from veil.errors import FileFormatError, KeyRefusedError, TamperedError

N = 400


def private(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "pay": rng.normal(50, 9, n),
            "ward": rng.choice(["a", "b"], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s"),
        }
    )


ROLES = {"ward": "public", "since": "public"}


def rewritten(folder, change):
    """The release with its data changed and the manifest's hash computed anew."""
    path = folder / "data.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["data"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def replaced(table, name, values):
    return table.set_column(table.schema.names.index(name), table.schema.field(name), pa.array(values))


def one_cell(name, value):
    def change(table):
        values = table.column(name).to_pylist()
        values[7] = value
        return replaced(table, name, pa.array(values, table.schema.field(name).type))

    return change


def two_columns(table):
    first, second = (table.column(name).combine_chunks() for name in ("age", "pay"))
    return replaced(replaced(table, "age", second), "pay", first)


ALTERED = {
    "a perturbed cell": one_cell("pay", 51.0),
    "a missing cell": one_cell("pay", None),
    "a public text": one_cell("ward", "c"),
    "two rows": lambda table: table.take(pa.array([1, 0, *range(2, N)])),
    "two columns": two_columns,
    "rows left out": lambda table: table.slice(0, N - 1),
    "rows twice": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
}


@pytest.mark.parametrize("what", ALTERED)
@pytest.mark.parametrize("shuffle", [False, True])
def test_an_altered_release_is_refused(tmp_path, what, shuffle):
    release, key = veil.publish(private(), veil.AdditiveNoise(0.5), roles=ROLES, shuffle=shuffle)
    release.save(tmp_path / "r")
    key.save(tmp_path / "k")
    rewritten(tmp_path / "r", ALTERED[what])
    with pytest.raises(TamperedError, match="not what this key released") as refused:
        veil.restore(Release.load(tmp_path / "r"), Key.load(tmp_path / "k"))
    assert "\n" not in str(refused.value)
    with pytest.raises(TamperedError):
        restore_file(tmp_path / "r", tmp_path / "k", tmp_path / "back.parquet")
    assert not (tmp_path / "back.parquet").exists()


@pytest.mark.parametrize("method", [veil.AdditiveNoise(0.5), veil.OrthogonalTransform(), veil.MultiplicativeNoise()])
@pytest.mark.parametrize("format", ["parquet", "feather", "csv", "csv.gz"])
def test_formats_and_frames_are_the_same_release(tmp_path, method, format):
    table = private(BLOCK_ROWS + 50)
    table["ward"] = table["ward"].astype("category")
    release, key = veil.publish(table, method, roles=ROLES)
    pd.testing.assert_frame_equal(veil.restore(release, key), table, check_exact=False, atol=1e-6)
    release.save(tmp_path / "first", format=format)
    Release.load(tmp_path / "first").save(tmp_path / "second", format="csv")
    for folder in ("first", "second"):
        back = veil.restore(Release.load(tmp_path / folder), key).to_pandas()
        np.testing.assert_allclose(back["pay"], table["pay"], atol=1e-6)


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_file_is_the_same_release_as_the_frame(tmp_path, shuffle):
    pq.write_table(pa.Table.from_pandas(private(), preserve_index=False), tmp_path / "t.parquet")
    method = veil.AdditiveNoise(0.5, random_state=3)
    options = {"roles": ROLES, "shuffle": shuffle}
    publish_file(tmp_path / "t.parquet", method, tmp_path / "r", new_key=tmp_path / "k", **options)
    release, key = veil.publish(str(tmp_path / "t.parquet"), method, **options)
    assert Key.load(tmp_path / "k").ledger[0].content == key.ledger[0].content
    release.save(tmp_path / "saved")
    assert Release.load(tmp_path / "saved").manifest.data == Release.load(tmp_path / "r").manifest.data
    back = veil.restore(Release.load(tmp_path / "r"), key)
    assert back.column("age").to_pylist() == private()["age"].tolist()


def test_another_release_of_the_same_key_is_refused(tmp_path):
    release, key = veil.publish(private(), veil.AdditiveNoise(0.5), roles=ROLES)
    other, _ = veil.publish(private(seed=1), veil.AdditiveNoise(0.5), roles=ROLES, key=key, again=True)
    swapped = Release(other.table, release.manifest)
    with pytest.raises(TamperedError, match="release 1"):
        veil.restore(swapped, key)
    assert veil.restore(other, key)["age"].tolist() == private(seed=1)["age"].tolist()


def test_keys_of_version_0_1_restore_as_before(tmp_path):
    release, key = veil.publish(private(), veil.AdditiveNoise(0.5), roles=ROLES)
    release.save(tmp_path / "r")
    key.ledger[0].content.clear()
    rewritten(tmp_path / "r", ALTERED["a perturbed cell"])
    assert len(veil.restore(Release.load(tmp_path / "r"), key)) == N


# -- what a stranger can write into data and manifest at once ----------------------------------------------


def public_types(n=N):
    rng = np.random.default_rng(2)
    return pa.table(
        {
            "pay": rng.normal(50, 9, n),
            "age": rng.integers(18, 90, n).astype(float),
            "weight": rng.normal(70, 9, n),
            "visits": pa.array(rng.integers(0, 9, n)),
            "score": pa.array(rng.integers(0, 9, n).astype(float)),
            "seen": pa.array(rng.integers(0, 10**12, n), pa.timestamp("ns")),
            "at": pa.array(rng.integers(0, 10**9, n), pa.time64("ns")),
            "code": pa.array([2**64 - 1, 1] * (n // 2), pa.uint64()),
            "ward": pa.array(["a", "b"] * (n // 2)),
        }
    )


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A release of two parts with public columns of many types, and its key."""
    folder = tmp_path_factory.mktemp("typed")
    plan = veil.Plan([(["pay", "age"], veil.AdditiveNoise(0.5)), (["weight"], veil.AdditiveNoise(0.5))])
    public = dict.fromkeys(("visits", "score", "seen", "at", "code", "ward"), "public")
    release, key = veil.publish(public_types(), plan, roles=public)
    release.save(folder / "r")
    key.save(folder / "k")
    return folder


def as_other(name, other):
    return lambda table: table.set_column(table.schema.names.index(name), name, other(table.column(name)))


def exchanged(first, second):
    def change(table):
        a, b = table.column(first), table.column(second)
        table = table.set_column(table.schema.names.index(first), first, b)
        return table.set_column(table.schema.names.index(second), second, a)

    return change


RETYPED = {
    "two public columns with their types": exchanged("visits", "score"),
    "nanoseconds as microseconds": as_other("seen", lambda c: c.cast(pa.int64()).cast(pa.timestamp("us"))),
    "instants as numbers": as_other("seen", lambda c: c.cast(pa.int64())),
    "a time in another unit": as_other("at", lambda c: c.cast(pa.int64()).cast(pa.time64("us"))),
    "the largest number as -1": as_other("code", lambda c: pa.array(c.to_numpy().view(np.int64))),
    "a text as lists": as_other("ward", lambda c: pa.array([[1]] * len(c))),
    "no rows": lambda table: table.slice(0, 0),
}
NO_NUMBERS = {
    "numbers as a text": as_other("visits", lambda c: pa.array(["51"] * len(c))),
    "numbers as words": as_other("visits", lambda c: pa.array(["many"] * len(c))),
    "noise as words": as_other("pay", lambda c: pa.array(["many"] * len(c))),
    "noise as lists": as_other("pay", lambda c: pa.array([[1.0]] * len(c))),
}


def described(folder, change):
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("what", RETYPED)
def test_columns_of_other_types_are_refused(typed, tmp_path, what):
    shutil.copytree(typed / "r", tmp_path / "r")
    rewritten(tmp_path / "r", RETYPED[what])
    with pytest.raises(TamperedError, match="not what this key released"):
        veil.restore(Release.load(tmp_path / "r"), Key.load(typed / "k"))


@pytest.mark.parametrize("what", NO_NUMBERS)
def test_columns_that_cannot_be_what_the_manifest_says_are_refused_when_opened(typed, tmp_path, what):
    shutil.copytree(typed / "r", tmp_path / "r")
    rewritten(tmp_path / "r", NO_NUMBERS[what])
    with pytest.raises(FileFormatError, match=r"does not hold (int64|double)") as refused:
        Release.load(tmp_path / "r")
    assert "many" not in str(refused.value)


def swap_in_a_part(manifest):
    manifest["parts"][0]["released"].reverse()


def swap_between_parts(manifest):
    first, second = manifest["parts"][0]["released"], manifest["parts"][1]["released"]
    first[0], second[0] = second[0], first[0]


def repeat(manifest):
    manifest["parts"][0]["released"] = ["pay", "pay"]


def take_public_ones(manifest):
    manifest["parts"][0]["released"] = ["visits", "score"]


def reverse_parts(manifest):
    manifest["parts"].reverse()


@pytest.mark.parametrize("change", [swap_in_a_part, swap_between_parts, repeat, take_public_ones, reverse_parts])
@pytest.mark.parametrize("version", [1, 2])
def test_a_manifest_cannot_say_which_column_is_which(typed, tmp_path, change, version):
    """Nor can it by calling itself a manifest of format 1, nor where the key knows nothing of the cells."""
    shutil.copytree(typed / "r", tmp_path / "r")
    described(tmp_path / "r", change)
    if version == 1:
        described(tmp_path / "r", lambda manifest: manifest.update(format=1, steps=manifest.pop("parts")))
    key = Key.load(typed / "k")
    for _ in range(2):
        with pytest.raises(TamperedError, match="not what this key released"):
            veil.restore(Release.load(tmp_path / "r"), key)
        key.ledger[0].content.clear()


def test_a_public_column_left_out_of_data_and_manifest_is_refused(typed, tmp_path):
    shutil.copytree(typed / "r", tmp_path / "r")
    rewritten(tmp_path / "r", lambda table: table.drop_columns(["ward"]))

    def leave_out(manifest):
        for names in ("schema", "public"):
            manifest[names] = [column for column in manifest[names] if column["name"] != "ward"]

    described(tmp_path / "r", leave_out)
    with pytest.raises(TamperedError, match="not what this key released"):
        veil.restore(Release.load(tmp_path / "r"), Key.load(typed / "k"))


def test_a_name_that_no_text_can_hold_is_refused(typed, tmp_path):
    shutil.copytree(typed / "r", tmp_path / "r")
    described(tmp_path / "r", lambda manifest: manifest.update(release_id="\udc00"))
    with pytest.raises(FileFormatError, match="not JSON in UTF-8"):
        Release.load(tmp_path / "r")


@pytest.mark.parametrize("name", ["", "é" * 32])
def test_a_release_of_another_name_is_refused(typed, tmp_path, name):
    shutil.copytree(typed / "r", tmp_path / "r")
    described(tmp_path / "r", lambda manifest: manifest.update(release_id=name))
    with pytest.raises(KeyRefusedError, match="did not make"):
        veil.restore(Release.load(tmp_path / "r"), Key.load(typed / "k"))


@pytest.mark.parametrize("format", ["parquet", "feather"])
def test_many_public_types_come_back_from_every_format(typed, tmp_path, format):
    Release.load(typed / "r").save(tmp_path / "r", format=format)
    back = veil.restore(Release.load(tmp_path / "r"), Key.load(typed / "k"))
    names = public_types().column_names[3:]
    assert back.select(names).equals(public_types().select(names))
