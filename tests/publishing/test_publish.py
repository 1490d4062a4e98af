"""Publishing: the same noise for the same table, unrelated noise for anything else, and back again."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import veil
from veil import publish_file, restore_file
from veil.data.blocks import BLOCK_ROWS
from veil.errors import InputError, KeyRefusedError, NotInvertibleError, RoleError, TamperedError

METHODS = [
    veil.AdditiveNoise(0.5, random_state=7),
    veil.AdditiveNoise([0.1, 2.0, 5.0], relative=False, distribution="laplace", random_state=7),
    veil.AdditiveNoise(1.0, distribution="uniform", random_state=7),
    veil.OrthogonalTransform(random_state=7),
    veil.OrthogonalTransform(scaling=None, translation=2.0, proper=True, random_state=7),
]


def people(n=500, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "weight": rng.normal(70, 12, n).astype("float32"),
            "region": pd.Categorical(rng.choice(["north", "south", "east"], n)),
        }
    )


ROLES = {"region": "public"}


def noise_of(release, table):
    return release.to_numpy() - table[["age", "income", "weight"]].to_numpy(dtype=float)


# -- one data path ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.describe())
def test_memory_blocks_and_files_give_the_same_bits(method, tmp_path):
    table = people(BLOCK_ROWS + 3_000)
    arrow = pa.Table.from_pandas(table, preserve_index=False).set_column(
        3, "region", pa.array(table["region"].astype(str))
    )
    expected = veil.publish(table, method, roles=ROLES)[0].to_numpy()
    pq.write_table(arrow, tmp_path / "groups.parquet", row_group_size=999)
    feather.write_feather(arrow, tmp_path / "chunks.feather", chunksize=12_345)
    (tmp_path / "folder").mkdir()
    pq.write_table(arrow.slice(0, 40_001), tmp_path / "folder" / "1.parquet")
    pq.write_table(arrow.slice(40_001), tmp_path / "folder" / "2.parquet")
    for name in ("groups.parquet", "chunks.feather", "folder"):
        release = publish_file(
            tmp_path / name,
            method,
            tmp_path / f"{name}.release",
            new_key=tmp_path / f"{name}.key",
            roles=ROLES,
        )
        assert release.to_numpy().tobytes() == expected.tobytes(), name
    for frame in (
        pl.from_pandas(table),
        pa.Table.from_pandas(table),
        pa.Table.from_batches(arrow.to_batches(777)),
    ):
        assert veil.publish(frame, method, roles=ROLES)[0].to_numpy().tobytes() == expected.tobytes()
    numbers = table[["age", "income", "weight"]]
    assert method.fit(numbers).transform(numbers).tobytes() == expected.tobytes()


def test_csv_gives_the_same_bits(tmp_path):
    table = people(2_000).astype({"weight": "float64"})
    expected = veil.publish(table, METHODS[0], roles=ROLES)[0].to_numpy()
    for name in ("t.csv", "t.csv.gz"):
        table.to_csv(tmp_path / name, index=False)
        release = publish_file(
            tmp_path / name, METHODS[0], tmp_path / f"r{name}", new_key=tmp_path / f"k{name}", roles=ROLES
        )
        assert release.to_numpy().tobytes() == expected.tobytes()
        assert release.manifest.data["file"] == f"data{name[1:]}"


# -- noise as a pure function -------------------------------------------------------------------


def test_the_same_table_gets_the_same_noise():
    table = people()
    first, key = veil.publish(table, veil.AdditiveNoise(0.5), roles=ROLES)
    second, _ = veil.publish(table, veil.AdditiveNoise(0.5), key=key, roles=ROLES)
    assert first.to_numpy().tobytes() == second.to_numpy().tobytes()
    assert second.manifest.release == 1
    assert len(key.ledger) == 1


@pytest.mark.parametrize("other", ["scale", "law", "cell", "order", "key"])
def test_anything_else_gets_unrelated_noise(other):
    table = people(4_000)
    base = veil.AdditiveNoise(0.5)
    first, key = veil.publish(table, base, roles=ROLES)
    changed, method, second_key = table, base, key
    if other == "scale":
        method = veil.AdditiveNoise(1.0)
    elif other == "law":
        method = veil.AdditiveNoise(0.5, distribution="laplace")
    elif other == "cell":
        changed = table.copy()
        changed.loc[17, "age"] += 1
    elif other == "order":
        changed = table.iloc[::-1].reset_index(drop=True)
    else:
        second_key = None
    second, _ = veil.publish(changed, method, key=second_key, again=True, roles=ROLES)
    a, b = noise_of(first, table), noise_of(second, changed)
    n = len(table)
    for j in range(a.shape[1]):
        for i in range(a.shape[1]):
            # Nine correlations of independent noise: the largest stays within 4.5/sqrt(n) but once in 15,000.
            assert abs(np.corrcoef(a[:, j], b[:, i])[0, 1]) < 4.5 / np.sqrt(n)


def test_shared_noise_would_be_subtracted():
    """Why it matters: with one noise at scales .5 and 1, 2·y1 - y2 is the private table."""
    table = people(1_000)
    first, key = veil.publish(table, veil.AdditiveNoise(0.5), roles=ROLES)
    second, _ = veil.publish(table, veil.AdditiveNoise(1.0), key=key, again=True, roles=ROLES)
    truth = table[["age", "income", "weight"]].to_numpy(dtype=float)
    error = (2 * first.to_numpy() - second.to_numpy() - truth) / truth.std(axis=0)
    assert error.std() > 1


def test_the_ledger_refuses_a_second_use():
    table = people()
    _, key = veil.publish(table, veil.AdditiveNoise(0.5), roles=ROLES)
    with pytest.raises(KeyRefusedError, match="again=True"):
        veil.publish(table, veil.AdditiveNoise(1.0), key=key, roles=ROLES)
    with pytest.raises(KeyRefusedError):
        veil.publish(people(seed=1), veil.AdditiveNoise(0.5), key=key, roles=ROLES)
    release, _ = veil.publish(people(seed=1), veil.AdditiveNoise(0.5), key=key, roles=ROLES, again=True)
    assert release.manifest.release == 2


def test_consistent_on_keeps_the_noise_of_unchanged_cells():
    first_year = people(800).assign(id=[f"p{i}" for i in range(800)])
    next_year = first_year.sample(600, random_state=0).reset_index(drop=True)
    next_year.loc[:99, "age"] += 1
    method = veil.AdditiveNoise(0.5)
    one, key = veil.publish(first_year, method, roles=ROLES, consistent_on="id")
    two, _ = veil.publish(next_year, method, roles=ROLES, consistent_on="id", key=key, again=True)
    assert "id" not in one.data.columns
    a = pd.DataFrame(noise_of(one, first_year), index=first_year["id"]).loc[next_year["id"]].to_numpy()
    b = noise_of(two, next_year)
    np.testing.assert_array_equal(a[:, 1:], b[:, 1:])
    np.testing.assert_array_equal(a[100:, 0], b[100:, 0])
    assert (a[:100, 0] != b[:100, 0]).all()
    first, second = one.only_part.parameters, two.only_part.parameters
    assert set(first) - set(second) == {"unit"}, "the scale is no longer relative to the table"
    assert second == {name: first[name] for name in second}, "the scale is fixed at the first publication"


def test_consistent_on_needs_good_ids_and_a_noise_method():
    table = people(50).assign(id=[f"p{i}" for i in range(50)])
    twice = table.assign(id=["p0", "p0", *table["id"][2:]])
    absent = table.assign(id=[None, *table["id"][1:]])
    with pytest.raises(InputError, match="1 repeated"):
        veil.publish(twice, veil.AdditiveNoise(), roles=ROLES, consistent_on="id")
    with pytest.raises(InputError, match="1 missing"):
        veil.publish(absent, veil.AdditiveNoise(), roles=ROLES, consistent_on="id")
    with pytest.raises(InputError, match="adds none"):
        veil.publish(table, veil.OrthogonalTransform(), roles=ROLES, consistent_on="id")
    release, key = veil.publish(table, veil.AdditiveNoise(), roles=ROLES, consistent_on="id")
    with pytest.raises(NotInvertibleError) as caught:
        veil.restore(release, key)
    assert set(caught.value.columns) == {"id", "age", "income", "weight"}


# -- restore ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.describe())
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_restore_gives_the_original_back(method, shuffle, kind):
    original = people()
    table = {
        "pandas": original,
        "polars": pl.from_pandas(original),
        "pyarrow": pa.Table.from_pandas(original),
    }[kind]
    release, key = veil.publish(table, method, roles=ROLES, shuffle=shuffle)
    back = veil.restore(release, key)
    assert type(back) is type(table)
    frame = back if kind == "pandas" else back.to_pandas()
    assert list(frame.columns) == list(original.columns)
    if kind == "pandas":
        assert frame.dtypes.to_dict() == original.dtypes.to_dict()
    np.testing.assert_array_equal(frame["age"], original["age"])
    np.testing.assert_array_equal(frame["region"].astype(str), original["region"].astype(str))
    truth, again = original["income"].to_numpy(), frame["income"].to_numpy()
    norm = np.sqrt((original[["age", "income", "weight"]].to_numpy(dtype=float) ** 2).sum(axis=1))
    if isinstance(method, veil.OrthogonalTransform):
        assert (np.abs(again - truth) <= 1e-12 * norm).all()
    else:
        assert np.abs(again - truth).max() <= release.only_part.parameters["grid"][1] / 2
    if shuffle:
        assert not np.allclose(release.to_numpy()[:, 0], veil.publish(table, method, roles=ROLES)[0].to_numpy()[:, 0])


@pytest.mark.parametrize("shuffle", [False, True])
def test_restore_of_large_integers_is_exact(shuffle, tmp_path):
    """A product in float64 loses units from about 2^49 on; the key keeps what it lost."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": rng.integers(-(2**53), 2**53, 300), "b": rng.integers(0, 2**51, 300), "c": rng.normal(size=300)}
    )
    roles = {"a": "sensitive", "b": "sensitive"}
    release, key = veil.publish(table, veil.OrthogonalTransform(), roles=roles, shuffle=shuffle)
    key.save(tmp_path / "key")
    back = veil.restore(release, veil.Key.load(tmp_path / "key"))
    pd.testing.assert_frame_equal(back[["a", "b"]], table[["a", "b"]], check_exact=True)
    assert sum(len(rows) for rows, _ in key.ledger[0].corrections.values()) > 10, "the test needs losses"


def test_noise_on_large_integers_comes_back_exactly():
    table = pd.DataFrame({"a": np.random.default_rng(0).integers(0, 2**47, 300), "c": np.arange(300) % 9})
    release, key = veil.publish(table, veil.AdditiveNoise(0.5), roles={"a": "sensitive"})
    pd.testing.assert_frame_equal(veil.restore(release, key), table)


def test_nullable_integers_and_missing_values_come_back():
    table = people(200)
    table["age"] = table["age"].astype("Int64")
    table.loc[5, "age"] = pd.NA
    table.loc[9, "income"] = np.nan
    release, key = veil.publish(table, veil.AdditiveNoise(), roles=ROLES)
    assert "pattern is public" in release.manifest.missing
    assert np.isnan(release.to_numpy()).sum() == 2
    back = veil.restore(release, key)
    assert back["age"].dtype == "Int64"
    pd.testing.assert_series_equal(back["age"], table["age"])
    assert back["income"].isna().sum() == 1
    with pytest.raises(InputError, match=r"'age' \(1\), 'income' \(1\)"):
        veil.publish(table, veil.OrthogonalTransform(), roles=ROLES)


def test_public_text_with_gaps_goes_out_as_it_is():
    table = people(100)
    table["region"] = table["region"].astype(object).where(table.index % 7 > 0, None)
    table["code"] = [None if i % 5 == 0 else f"c{i}" for i in range(100)]
    release, key = veil.publish(table, veil.AdditiveNoise(), roles={"region": "public", "code": "public"})
    assert release.data["code"].isna().sum() == 20
    assert list(release.data["code"].dropna()) == list(table["code"].dropna())
    assert list(veil.restore(release, key)["region"].dropna()) == list(table["region"].dropna())


def test_withheld_columns_do_not_come_back():
    table = people().assign(name=[f"n{i}" for i in range(500)])
    release, key = veil.publish(table, veil.AdditiveNoise(), roles={**ROLES, "name": "drop"})
    with pytest.raises(NotInvertibleError) as caught:
        veil.restore(release, key)
    assert caught.value.columns == ("name",)
    assert list(veil.restore(release, key, partial=True).columns) == ["age", "income", "weight", "region"]


def test_another_key_is_refused():
    release, _ = veil.publish(people(), veil.AdditiveNoise(), roles=ROLES)
    _, other = veil.publish(people(), veil.AdditiveNoise(), roles=ROLES)
    with pytest.raises(KeyRefusedError, match="did not make"):
        veil.restore(release, other)


@pytest.mark.parametrize("format", ["parquet", "feather", "csv", "csv.gz"])
def test_saved_loaded_restored(format, tmp_path):
    table = people()
    release, key = veil.publish(table, veil.OrthogonalTransform(), roles=ROLES)
    release.save(tmp_path / "release", format=format)
    key.save(tmp_path / "key", passphrase="correct horse")
    loaded = veil.Release.load(tmp_path / "release", kind="pandas")
    assert loaded.to_numpy().tobytes() == release.to_numpy().tobytes()
    assert loaded.manifest == release.manifest
    back = veil.restore(loaded, veil.Key.load(tmp_path / "key", passphrase="correct horse"))
    np.testing.assert_array_equal(back["age"], table["age"])
    assert restore_file(tmp_path / "release", tmp_path / "key", tmp_path / "back.csv", passphrase="correct horse") == (
        500,
        (),
    )


def test_changed_data_are_refused(tmp_path):
    release, _ = veil.publish(people(), veil.AdditiveNoise(), roles=ROLES)
    release.save(tmp_path / "release")
    path = tmp_path / "release" / "data.parquet"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(TamperedError, match="hash"):
        veil.Release.load(tmp_path / "release")


# -- roles --------------------------------------------------------------------------------------


def test_text_and_unique_integers_need_a_role():
    table = people().assign(name="x", number=np.arange(500))
    with pytest.raises(
        RoleError, match=r"'region' \(category\), 'name' \(text\), 'number' \(integers, all different\)"
    ):
        veil.publish(table, veil.AdditiveNoise())
    roles = {**ROLES, "name": "drop", "number": "sensitive"}
    release, _ = veil.publish(table, veil.AdditiveNoise(), roles=roles)
    assert release.only_part.names == ("age", "income", "weight", "number")
    assert list(release.data.columns) == ["age", "income", "weight", "region", "number"]


def test_wrong_roles_are_errors_with_a_suggestion():
    with pytest.raises(RoleError, match="did you mean 'region'"):
        veil.publish(people(), veil.AdditiveNoise(), roles={"regoin": "public"})
    with pytest.raises(RoleError, match="did you mean 'public'"):
        veil.publish(people(), veil.AdditiveNoise(), roles={"region": "publik"})
    with pytest.raises(RoleError, match="cannot be perturbed"):
        veil.publish(people(), veil.AdditiveNoise(), roles={"region": "sensitive"})
    with pytest.raises(RoleError, match="nothing would be perturbed"):
        veil.publish(people()[["age"]], veil.AdditiveNoise(), roles={"age": "public"})
