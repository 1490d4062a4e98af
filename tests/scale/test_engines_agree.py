"""Memory, files, frames and clusters: one release for one key, bit for bit, and everything that is learned from it."""

import gzip
import itertools
from dataclasses import fields, is_dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import veil
from veil import publish_file, restore_file
from veil.attacks.folders import KnowledgeFiles, attack_file
from veil.data.blocks import BLOCK_ROWS
from veil.data.passes import Threads
from veil.recovery.folders import recover
from veil.release.release import Release

N = 2 * BLOCK_ROWS + 1_234
SEED = {"random_state": 1}


def private(n=N, seed=0):
    """Numbers with and without gaps, whole numbers, bits, texts, and columns that stay public."""
    rng = np.random.default_rng(seed)
    a = rng.gamma(2.0, size=n) * 10 + 5
    gaps = rng.random(n) < 0.03
    return pa.table(
        {
            "label": rng.choice(["p", "q", "r"], n),
            "a": a,
            "b": 0.5 * a + rng.normal(20, 3, n),
            "c": rng.normal(100, 15, n),
            "gap": pa.array(rng.normal(5, 1, n), mask=gaps),
            "whole": rng.integers(0, 60, n),
            "count": pa.array(rng.integers(0, 9, n), mask=rng.random(n) < 0.02),
            "f": rng.integers(0, 2, n),
            "g": rng.integers(0, 2, n),
            "h": rng.integers(0, 2, n),
            "smokes": rng.choice(["no", "yes"], n, p=[0.7, 0.3]),
            "town": rng.choice(["x", "y", "z"], n),
            "maybe": pa.array(rng.choice(["x", "y"], n), mask=rng.random(n) < 0.02),
            "person": [f"person {i % 4_000}" for i in range(n)],
        }
    )


NUMBERS, BITS, WORDS = ["a", "b", "c", "whole"], ["f", "g", "h"], ["smokes", "town"]
GAPS = ["a", "gap", "count"]
METHODS = {
    "normal noise": (GAPS, veil.AdditiveNoise(**SEED)),
    "uniform noise": (GAPS, veil.AdditiveNoise(distribution="uniform", **SEED)),
    "laplace noise": (GAPS, veil.AdditiveNoise(distribution="laplace", **SEED)),
    "correlated noise": (NUMBERS, veil.AdditiveNoise(similarity=0.7, **SEED)),
    "factors": (GAPS, veil.MultiplicativeNoise(**SEED)),
    "lognormal": (["a", "b"], veil.LogNormalNoise(**SEED)),
    "combined": (GAPS, veil.CombinedNoise(**SEED)),
    "pairs": (NUMBERS, veil.PairwiseRotation(**SEED)),
    "orthogonal": (NUMBERS, veil.OrthogonalTransform(translation=1.0, **SEED)),
    "linear": (NUMBERS, veil.LinearTransform(noise_scale=0.3, **SEED)),
    "projection": (NUMBERS, veil.RandomProjection(3, **SEED)),
    "achlioptas1": (NUMBERS, veil.RandomProjection(3, kind="achlioptas1", **SEED)),
    "achlioptas3": (NUMBERS, veil.RandomProjection(3, kind="achlioptas3", scaling=None, **SEED)),
    "sparse": (NUMBERS, veil.RandomProjection(3, kind="sparse", **SEED)),
    "bits": (BITS, veil.BinaryProjection(5, **SEED)),
    "cosines": (NUMBERS, veil.TransformDomain(3, **SEED)),
    "classes": (["a", "b", "whole"], veil.Discretize(7, **SEED)),
    "equal classes": (["a", "b", "whole"], veil.Discretize(7, strategy="count", **SEED)),
    "response": (WORDS, veil.RandomizedResponse(keep=0.7, **SEED)),
    "joint response": (WORDS, veil.RandomizedResponse(keep=0.7, joint=True, **SEED)),
    "response with gaps": (["smokes", "maybe"], veil.RandomizedResponse(keep=0.7, missing="category", **SEED)),
    "invariant response": (["smokes"], veil.RandomizedResponse(keep=0.7, invariant=True, **SEED)),
    "mask": (BITS, veil.MarketBasket("mask", keep=0.8, **SEED)),
    "pseudonyms": (["person", "smokes"], veil.Pseudonymize(**SEED)),
    "laplace mechanism": (["a", "c"], veil.LaplaceMechanism(1.0, bounds=(0.0, 200.0), **SEED)),
    "gaussian mechanism": (["a", "c"], veil.GaussianMechanism(1.0, bounds=(0.0, 200.0), **SEED)),
}
PLAN = veil.Plan(
    [
        (["a", "gap"], veil.AdditiveNoise(**SEED)),
        (["b", "c"], veil.OrthogonalTransform()),
        (["town"], veil.RandomizedResponse(keep=0.6)),
        (["person"], veil.Pseudonymize()),
    ]
)
METHODS["plan"] = (["a", "gap", "b", "c", "town", "person"], PLAN)


def roles_of(columns):
    names = private(10).column_names
    return {name: "public" if name in ("label", "whole") else "drop" for name in names if name not in columns}


def write_all(table, folder):
    """The same rows in every kind of file."""
    pq.write_table(table, folder / "odd.parquet", row_group_size=10_007)
    pq.write_table(table, folder / "giant.parquet", row_group_size=table.num_rows)
    (folder / "many").mkdir()
    cuts = [0, 1, 9_999, BLOCK_ROWS + 3, table.num_rows]
    for i, (low, high) in enumerate(itertools.pairwise(cuts)):
        pq.write_table(table.slice(low, high - low), folder / "many" / f"f{i}.parquet", row_group_size=7_001)
    pacsv.write_csv(table, folder / "t.csv")
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes(), 1))
    with pa.OSFile(str(folder / "t.feather"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=12_345):
            writer.write_batch(batch)
    return ["odd.parquet", "giant.parquet", "many", "t.csv", "t.csv.gz", "t.feather"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("sources")
    write_all(private(), home)
    return home


@pytest.mark.parametrize("name", METHODS)
def test_memory_and_files_agree(name, folder, bits):
    columns, method = METHODS[name]
    roles = roles_of(columns)
    table = private()
    release, key = veil.publish(table, method, roles=roles)
    expected, secret = bits(release.table.read()), key.ledger[0].release_id
    files = ["giant.parquet", "many", "t.feather"] + ["t.csv"] * ("gaps" not in name)  # CSV has no missing texts
    for source in [folder / file for file in files]:
        other, key = veil.publish(source, method, roles=roles)
        assert key.ledger[0].release_id == secret, source
        assert bits(other.table.read()) == expected, source


def test_compressed_text_agrees(folder, bits):
    columns, method = METHODS["plan"]
    found = [veil.publish(folder / file, method, roles=roles_of(columns))[0] for file in ("t.csv", "t.csv.gz")]
    assert bits(found[0].table.read()) == bits(found[1].table.read())


@pytest.mark.parametrize("name", METHODS)
def test_a_cluster_writes_the_files_that_threads_write(name, folder, small_engine, tmp_path, hashes, bits):
    """Parts of one block, made by two processes or by threads: the same folder, and what memory gives."""
    columns, method = METHODS[name]
    roles = roles_of(columns)
    for place, engine in (("threads", None), ("cluster", small_engine)):
        publish_file(
            folder / "odd.parquet", method, tmp_path / place, new_key=tmp_path / f"{place}.key", roles=roles,
            engine=engine,
        )  # fmt: skip
    assert hashes(tmp_path / "threads") == hashes(tmp_path / "cluster")
    assert len(list((tmp_path / "cluster" / "data.parquet").iterdir())) == 3
    keys = [veil.Key.load(tmp_path / f"{place}.key") for place in ("threads", "cluster")]
    assert keys[0].ledger == keys[1].ledger
    held, _ = veil.publish(private(), method, roles=roles)
    assert bits(Release.load(tmp_path / "cluster").table.read()) == bits(held.table.read())


SOME = veil.Plan([(["a", "gap"], veil.AdditiveNoise(**SEED)), (["town"], veil.RandomizedResponse(keep=0.6))])
WAYS = [(source, "parquet") for source in ("giant.parquet", "many", "t.csv", "t.csv.gz", "t.feather")]
WAYS += [("odd.parquet", kind) for kind in ("csv", "csv.gz", "feather")]


@pytest.mark.parametrize(("source", "kind"), WAYS)
def test_every_format_in_and_out(source, kind, folder, small_engine, tmp_path, hashes, bits):
    columns, method = ["a", "gap", "town"], SOME
    roles = roles_of(columns)
    for place, engine in (("threads", None), ("cluster", small_engine)):
        publish_file(
            folder / source, method, tmp_path / place, new_key=tmp_path / f"{place}.key", roles=roles, format=kind,
            engine=engine,
        )  # fmt: skip
    assert hashes(tmp_path / "threads") == hashes(tmp_path / "cluster")
    held, _ = veil.publish(private(), method, roles=roles)
    assert bits(Release.load(tmp_path / "threads").table.read()) == bits(held.table.read())


def plain(value):
    """Everything that a result holds, as something that == compares bit by bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_dataclass(value):
        return [plain(getattr(value, f.name)) for f in fields(value)]
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    return repr(value)


ATTACKS = {
    "A1": ("normal noise", veil.NoiseDistributionAttack()),
    "A2": ("normal noise", veil.UnivariateBayesAttack()),
    "A3": ("correlated noise", veil.SpectralFilterAttack()),
    "A4": ("correlated noise", veil.PCAAttack()),
    "A5": ("correlated noise", veil.SVDAttack()),
    "A6": ("normal noise", veil.BayesEstimateAttack()),
    "A15": ("factors", veil.LogAttack()),
    "A19": ("normal noise", veil.PartialDisclosureAttack()),
}


@pytest.fixture(scope="module")
def published(folder, small_parts, tmp_path_factory):
    """Releases on disk, made once."""
    home, made = tmp_path_factory.mktemp("published"), {}

    def release(name):
        if name not in made:
            columns, method = METHODS[name]
            made[name] = home / name.replace(" ", "-")
            key = made[name].with_suffix(".key")
            publish_file(folder / "odd.parquet", method, made[name], new_key=key, roles=roles_of(columns))
        return made[name]

    return release


@pytest.mark.parametrize("name", ATTACKS)
def test_guesses_agree(name, published, small_engine, tmp_path, hashes):
    method, attack = ATTACKS[name]
    release = published(method)
    for target, engine in (("t", None), ("c", small_engine)):
        attack_file(release, attack, tmp_path / f"{target}.parquet", KnowledgeFiles(), engine=engine)
    assert hashes(tmp_path / "t.parquet") == hashes(tmp_path / "c.parquet")
    held = attack.run(Release.load(release, engine=Threads(3)))
    found = pq.read_table(tmp_path / "c.parquet")
    values = np.column_stack([np.asarray(found[n].combine_chunks().fill_null(np.nan)) for n in held.columns])
    np.testing.assert_array_equal(values, held.values)
    there = attack.run(Release.load(release, engine=small_engine))
    assert plain(there.values) == plain(held.values)
    assert plain(there.details) == plain(held.details)


@pytest.mark.parametrize("name", ["normal noise", "correlated noise", "factors", "orthogonal", "response", "plan"])
def test_moments_and_recoveries_agree(name, published, small_engine):
    here, there = (Release.load(published(name), engine=engine) for engine in (None, small_engine))
    if name not in ("response", "plan"):
        assert plain(here.moments()) == plain(there.moments())
    if name != "orthogonal":
        assert plain(recover(here, n_bins=30)) == plain(recover(there, n_bins=30))


@pytest.mark.parametrize("name", ["normal noise", "orthogonal", "plan"])
def test_restored_files_agree(name, published, small_engine, tmp_path, hashes):
    release = published(name)
    for target, engine in (("t", None), ("c", small_engine)):
        key = release.with_suffix(".key")
        n_rows, _ = restore_file(release, key, tmp_path / f"{target}.parquet", partial=True, engine=engine)
        assert n_rows == N
    assert hashes(tmp_path / "t.parquet") == hashes(tmp_path / "c.parquet")
    assert pq.read_table(tmp_path / "t.parquet")["label"].combine_chunks() == private()["label"].combine_chunks()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal noise", "orthogonal", "joint response", "pseudonyms", "plan"])
def test_real_parts_agree(name, real_engine, tmp_path, hashes, bits):
    """More than two parts of a million rows, on the product's own settings."""
    n = 2 * 1_048_576 + 5_000
    table = private(n)
    write_all(table, tmp_path)
    columns, method = METHODS[name]
    roles = roles_of(columns)
    held, _ = veil.publish(table, method, roles=roles)
    expected = bits(held.table.read())
    places = {"threads": ("odd.parquet", None), "cluster": ("odd.parquet", real_engine)}
    places |= {"whole": ("giant.parquet", None), "pieces": ("many", real_engine)}
    places |= {"batches": ("t.feather", real_engine)}
    if name == "plan":
        places["text"] = ("t.csv", None)
    for place, (source, chosen) in places.items():
        release, key = tmp_path / place, tmp_path / f"{place}.key"
        publish_file(tmp_path / source, method, release, new_key=key, roles=roles, format="parquet", engine=chosen)
        assert bits(Release.load(release).table.read()) == expected
        assert hashes(release) == hashes(tmp_path / "threads")
    assert len(list((tmp_path / "threads" / "data.parquet").iterdir())) == 3
