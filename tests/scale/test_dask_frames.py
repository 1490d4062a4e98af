"""Dask frames: partitions of any size in, the release of the same rows out, computed when it is asked for."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from veil.data.blocks import BLOCK_ROWS
from veil.data.dask_frames import PartitionedTable, is_partitioned
from veil.errors import InputError

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
N = 2 * BLOCK_ROWS + 1_234
CUTS = [0, 1, 1, 500, BLOCK_ROWS + 3, BLOCK_ROWS + 3, N - 1, N, N]
SEED = {"random_state": 1}


def private(n=N):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "label": rng.choice(["p", "q", "r"], n),
            "a": rng.gamma(2.0, size=n) + 1,
            "b": rng.normal(20, 3, n),
            "c": rng.normal(100, 15, n),
            "gap": np.where(rng.random(n) < 0.03, np.nan, rng.normal(size=n)),
            "whole": rng.integers(0, 60, n),
            "f": rng.integers(0, 2, n),
            "g": rng.integers(0, 2, n),
            "smokes": rng.choice(["no", "yes"], n),
            "town": rng.choice(["x", "y", "z"], n),
        }
    )
    frame["kind"] = frame["town"].astype("category")
    frame["maybe"] = pd.array(np.where(rng.random(n) < 0.02, None, rng.integers(0, 9, n)), dtype="Int64")
    return frame


NUMBERS = ["a", "b", "c", "whole"]
METHODS = {
    "normal noise": (["a", "gap", "maybe"], veil.AdditiveNoise(**SEED)),
    "uniform noise": (["a", "gap"], veil.AdditiveNoise(distribution="uniform", **SEED)),
    "laplace noise": (["a", "gap"], veil.AdditiveNoise(distribution="laplace", **SEED)),
    "correlated noise": (NUMBERS, veil.AdditiveNoise(similarity=0.7, **SEED)),
    "factors": (["a", "gap"], veil.MultiplicativeNoise(**SEED)),
    "lognormal": (["a", "b"], veil.LogNormalNoise(**SEED)),
    "combined": (["a", "gap"], veil.CombinedNoise(**SEED)),
    "pairs": (NUMBERS, veil.PairwiseRotation(**SEED)),
    "orthogonal": (NUMBERS, veil.OrthogonalTransform(**SEED)),
    "linear": (NUMBERS, veil.LinearTransform(noise_scale=0.3, **SEED)),
    "projection": (NUMBERS, veil.RandomProjection(3, **SEED)),
    "bits": (["f", "g"], veil.BinaryProjection(5, **SEED)),
    "cosines": (NUMBERS, veil.TransformDomain(3, **SEED)),
    "classes": (["a", "b"], veil.Discretize(7, **SEED)),
    "response": (["smokes", "town", "kind"], veil.RandomizedResponse(keep=0.7, **SEED)),
    "joint response": (["smokes", "town"], veil.RandomizedResponse(keep=0.7, joint=True, **SEED)),
    "mask": (["f", "g"], veil.MarketBasket("mask", keep=0.8, **SEED)),
    "pseudonyms": (["town", "smokes"], veil.Pseudonymize(**SEED)),
    "laplace mechanism": (["a", "c"], veil.LaplaceMechanism(1.0, bounds=(0.0, 200.0), **SEED)),
    "gaussian mechanism": (["a", "c"], veil.GaussianMechanism(1.0, bounds=(0.0, 200.0), **SEED)),
    "records": (["a", "b"], veil.RandomProjection(20, axis="records", **SEED)),
    "plan": (
        ["a", "gap", "b", "c", "town"],
        veil.Plan(
            [
                (["a", "gap"], veil.AdditiveNoise(**SEED)),
                (["b", "c"], veil.OrthogonalTransform()),
                (["town"], veil.RandomizedResponse(keep=0.6)),
            ]
        ),
    ),
}


def roles_of(columns):
    public = () if columns == ["a", "b"] else ("label", "whole", "kind")
    return {n: "public" if n in public else "drop" for n in private(10).columns if n not in columns}


def odd(frame, cuts=CUTS):
    """The frame in partitions of no rows, of one and of many."""
    parts = [dask.delayed(frame.iloc[a:b]) for a, b in itertools.pairwise(cuts)]
    return dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def assert_same(name, bits):
    columns, method = METHODS[name]
    frame = private()
    here, key = veil.publish(frame, method, roles=roles_of(columns))
    there, other = veil.publish(odd(frame), method, roles=roles_of(columns))
    assert is_partitioned(there.data)
    assert other.ledger[0].release_id == key.ledger[0].release_id
    assert there.manifest.to_json() == here.manifest.to_json()
    found = there.data.compute()
    assert bits(arrow(found)) == bits(arrow(here.data))
    return here, there, other


@pytest.mark.parametrize("name", METHODS)
def test_frames_agree_with_memory(name, bits):
    assert_same(name, bits)


@pytest.fixture
def connected(client):
    """This process is connected to the cluster, as a user's would be."""
    with client.as_current():
        yield client


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize("name", ["normal noise", "orthogonal", "joint response", "records", "plan"])
def test_frames_on_a_cluster_agree_with_memory(name, bits):
    here, there, _ = assert_same(name, bits)
    if name in ("normal noise", "orthogonal"):
        assert there.engine is not None
        assert here.moments().mean.tobytes() == there.moments().mean.tobytes()
        assert here.moments().covariance.tobytes() == there.moments().covariance.tobytes()


@pytest.mark.parametrize("name", ["normal noise", "orthogonal", "plan"])
def test_frames_come_back(name, bits):
    _columns, _ = METHODS[name]
    _, there, key = assert_same(name, bits)
    back = veil.restore(there, key, partial=True).compute()
    frame = private()
    np.testing.assert_allclose(back["a"], frame["a"], atol=1e-4)
    np.testing.assert_array_equal(back["whole"], frame["whole"])
    assert back["whole"].dtype == frame["whole"].dtype


def test_large_integers_come_back_from_a_frame(bits):
    """What rounding would bring back wrong is in the key before anybody computes the release."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"big": rng.integers(2**50, 2**52, BLOCK_ROWS + 50), "b": rng.normal(size=BLOCK_ROWS + 50)})
    method, roles = veil.OrthogonalTransform(**SEED), {"big": "sensitive"}
    release, key = veil.publish(dd.from_pandas(frame, npartitions=3), method, roles=roles)
    assert key.ledger[0].corrections["big"][0]
    assert key.ledger[0].corrections == veil.publish(frame, method, roles=roles)[1].ledger[0].corrections
    back = veil.restore(release, key).compute()
    np.testing.assert_array_equal(back["big"], frame["big"])


def test_nothing_is_computed_twice_as_something_else(bits):
    """Partitions are pure: computed again, apart, in another order or on threads they are the same."""
    columns, method = METHODS["normal noise"]
    release, _ = veil.publish(odd(private()), method, roles=roles_of(columns))
    whole = arrow(release.data.compute(scheduler="synchronous"))
    assert bits(arrow(release.data.compute(scheduler="threads"))) == bits(whole)
    parts = [release.data.get_partition(i).compute() for i in reversed(range(release.data.npartitions))]
    assert bits(arrow(pd.concat(parts[::-1], ignore_index=True))) == bits(whole)
    assert len(release.data) == N


def test_releases_of_frames_can_be_saved_and_attacked(tmp_path, bits):
    _columns, _method = METHODS["correlated noise"]
    here, there, _ = assert_same("correlated noise", bits)
    guesses = [veil.BayesEstimateAttack().run(release) for release in (here, there)]
    assert guesses[0].values.tobytes() == guesses[1].values.tobytes()
    there.save(tmp_path / "r")
    assert bits(veil.Release.load(tmp_path / "r").table.read().select(["a"])) == bits(arrow(here.data).select(["a"]))


def test_frames_that_cannot_be_published():
    frame = private(100)
    with pytest.raises(InputError, match="no rows"):
        veil.publish(dd.from_pandas(frame[["a"]].iloc[:0], npartitions=1), veil.AdditiveNoise())
    with pytest.raises(InputError, match="infinite"):
        veil.publish(dd.from_pandas(frame[["a"]].replace(frame["a"][77], np.inf), npartitions=3), veil.AdditiveNoise())
    lies = dd.from_delayed(
        [dask.delayed(frame[["a"]].assign(whole="SECRETCELL"))], meta=frame[["a", "whole"]].iloc[:0], verify_meta=False
    )
    with pytest.raises(InputError, match="different types") as error:
        veil.publish(lies, veil.AdditiveNoise())
    assert "SECRETCELL" not in str(error.value)


def test_partitions_that_lack_a_column():
    frame = private(100)
    lies = dd.from_delayed([dask.delayed(frame[["a"]])], meta=frame[["a", "whole"]].iloc[:0], verify_meta=False)
    with pytest.raises(InputError):
        veil.publish(lies, veil.AdditiveNoise())


def test_other_collections_are_no_tables():
    frame = private(100)
    with pytest.raises(InputError, match="not a table"):
        veil.publish(dd.from_pandas(frame["a"], npartitions=2), veil.AdditiveNoise())


def unsteady():
    return pd.DataFrame({"a": np.random.default_rng().normal(size=100)})


def test_a_frame_that_is_another_one_each_time_is_refused():
    """The fingerprint is of the first computation; the second must not be released under it."""
    frame = dd.from_delayed([dask.delayed(unsteady)()], meta=unsteady().iloc[:0])
    release, _ = veil.publish(frame, veil.AdditiveNoise())
    with pytest.raises(veil.VeilError):
        release.data.compute()


@pytest.mark.parametrize("lengths", [[5], [0, 5], [5, 0], [0, 2, 0, 0, 3, 0], [1] * 5])
def test_partitions_of_all_sizes_cover_all_rows(lengths):
    frame = pd.DataFrame({"a": np.arange(5.0)})
    ends = np.cumsum([0, *lengths])
    table = PartitionedTable(odd(frame, ends.tolist()))
    assert table.n_rows == 5
    for start, stop in [(0, None), (0, 2), (2, 4), (4, None), (3, 3)]:
        found = [v for batch in table.batches(None, start, stop) for v in batch.column(0).to_pylist()]
        assert found == frame["a"][start:stop].tolist()
    (span,) = table.spans()
    held = table.holding(span, [part.compute() for part in table.inputs(span)])
    assert [v for batch in held.batches() for v in batch.column(0).to_pylist()] == frame["a"].tolist()
