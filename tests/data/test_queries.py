"""Polars lazy frames and DuckDB relations are tables, run anew for every pass and never collected as a whole."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import veil
from veil.data.blocks import BLOCK_ROWS
from veil.data.sources import as_table
from veil.errors import InputError

N = 2 * BLOCK_ROWS + 100
RNG = np.random.default_rng(0)
TABLE = pa.table({"a": RNG.normal(size=N), "b": RNG.integers(9, size=N), "g": ["x", "", None, "y"] * (N // 4)})
METHOD = veil.AdditiveNoise(random_state=1)
ROLES = {"g": "public"}


def queries():
    return {"polars": pl.from_arrow(TABLE).lazy(), "duckdb": duckdb.from_arrow(TABLE)}


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_a_query_is_read_in_batches_as_often_as_wanted(kind):
    table = as_table(queries()[kind])
    assert max(batch.num_rows for batch in table.batches()) <= BLOCK_ROWS
    wanted = [value or None for value in TABLE.column("g").to_pylist()]
    for _ in range(2):
        assert table.read(["g", "b"]).column("g").to_pylist() == wanted
    assert [block.start for block in table.blocks(["a"])] == [0, BLOCK_ROWS, 2 * BLOCK_ROWS]
    assert next(table.batches(["b"], 5, 8)).column("b").to_pylist() == TABLE.column("b").to_pylist()[5:8]


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_releases_of_queries_are_those_of_their_rows(kind, tmp_path):
    release, key = veil.publish(queries()[kind], METHOD, roles=ROLES)
    same, _ = veil.publish(TABLE, METHOD, roles=ROLES)
    np.testing.assert_array_equal(release.to_numpy(), same.to_numpy())
    assert isinstance(veil.restore(release, key), pl.DataFrame if kind == "polars" else pa.Table)
    saved = veil.publish_file(queries()[kind], METHOD, tmp_path / "r", new_key=tmp_path / "k", roles=ROLES)
    np.testing.assert_array_equal(saved.to_numpy(), same.to_numpy())


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_queries_are_inspected_and_audited_as_declared(kind):
    table = veil.read_table(queries()[kind], missing={"g": "y"}, kinds={"b": "category"})
    a, b, g = veil.inspect(table).columns
    assert (a.kind, b.kind, g.missing) == ("numeric", "category", 3 * N // 4)
    audit = veil.audit(
        queries()[kind],
        METHOD,
        roles={**ROLES, "b": "drop"},
        grants=veil.Grants.only(),
        attacks=["interval-attack"],
        repetitions=1,
        records=200,
        seed=0,
    )
    assert audit.columns == ("a",)


def test_a_query_that_gives_other_rows_in_the_second_pass_is_refused():
    connection = duckdb.connect()
    connection.sql("create table t as select i * 0.5e0 as a from range(100) r(i)")
    relation = connection.sql("select a + random() as a from t")
    with pytest.raises(InputError, match="changed between the first and the second reading"):
        veil.publish(relation, METHOD)


def test_a_query_that_fails_quotes_no_cell():
    relation = duckdb.sql("select cast(s as integer) as a from (values ('1'), ('SECRET')) t(s)")
    with pytest.raises(InputError, match="the query could not be run") as caught:
        veil.inspect(relation)
    assert "SECRET" not in str(caught.value)
