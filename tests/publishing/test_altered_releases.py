"""A key restores what it released and nothing else, in every format and kind of frame."""

import hashlib
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil import Key, Release, publish_file, restore_file
from veil.data.blocks import BLOCK_ROWS
from veil.errors import TamperedError

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
