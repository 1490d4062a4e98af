"""Measures of two files from sums over blocks: the same numbers as the pure functions have on whole arrays."""

import json
import math
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from veil import measures
from veil.auditing.comparison import FileMeasures, measure
from veil.auditing.comparison.beside import Beside, Common
from veil.auditing.comparison.cells import count_cells
from veil.auditing.comparison.comparing import compare_block
from veil.auditing.comparison.scoring import of_numbers
from veil.cli.measure import measure as measure_command
from veil.data.blocks import BLOCK_ROWS
from veil.data.files import format_of, open_writer
from veil.data.passes import Threads
from veil.data.tables import MemoryTable
from veil.errors import InputError

N = BLOCK_ROWS + 7_001
NAMES = ["normal", "shifted", "cauchy", "integers", "constant"]
CLOSE = 1e-11


def write_table(table, path):
    """A table in the format that the file's name says."""
    writer = open_writer(path, table.schema, format_of(path))
    for batch in table.to_batches(max_chunksize=BLOCK_ROWS):
        writer.write(batch)
    writer.close()


def tables(n: int = N, *, missing: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    x = np.column_stack(
        [
            rng.normal(size=n),
            1e6 + 3.0 * rng.normal(size=n),
            rng.standard_cauchy(n),
            rng.integers(0, 9, n).astype(float),
            np.full(n, 0.1),
        ]
    )
    x[:, 1] += 2.0 * x[:, 0]
    y = x + rng.normal(size=x.shape) * [0.1, 1.0, 1.0, 1.0, 0.0]
    y[:, 3] = np.round(y[:, 3])
    y[: n // 3, 0] = x[: n // 3, 0]
    if missing:
        x[::7, 1] = np.nan
        y[::11, 2] = np.nan
        x[5] = np.nan
    return x, y


def frame(values: np.ndarray, names: list[str] = NAMES) -> pa.Table:
    return pa.table({name: pa.array(column, from_pandas=True) for name, column in zip(names, values.T, strict=True)})


def same(a: measures.Measure, b: measures.Measure, rel: float = CLOSE) -> None:
    assert float(a) == pytest.approx(float(b), rel=rel, abs=1e-14)
    assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=1e-7, abs=1e-12)
    assert a.higher_is == b.higher_is


@pytest.fixture(scope="module")
def pair() -> tuple[np.ndarray, np.ndarray]:
    return tables()


@pytest.fixture(scope="module")
def found(pair: tuple[np.ndarray, np.ndarray]) -> FileMeasures:
    return measure(*map(frame, pair))


def test_errors_are_those_of_the_pure_functions(pair, found):
    x, y = pair
    assert found.table is not None
    same(found.table.nrmse, measures.nrmse(x, y))
    same(found.table.relative_error, measures.relative_error(x, y))
    same(found.table.frobenius_error, measures.frobenius_error(x, y))
    for name in ("nrmse", "relative_error", "frobenius_error"):
        own = [getattr(c, name) for c in found.columns]
        assert own == pytest.approx(list(getattr(measures, name)(x, y, per_column=True)), rel=CLOSE, nan_ok=True)
    assert math.isnan(found.columns[4].nrmse)


def test_units_are_those_of_an_audit_within_the_stated_error(pair, found):
    x, _ = pair
    units = measures.standard_units(x)
    errors = np.array([c.unit_error for c in found.columns])
    assert errors[[0, 1, 3, 4]].tolist() == [0.0] * 4
    assert 0.0 < errors[2] < 0.005 * units[2]
    assert units[2] < 0.5 * np.std(x[~np.isnan(x[:, 2]), 2])  # the heavy tail is seen
    assert (np.abs([c.unit for c in found.columns] - units) <= errors + CLOSE * units).all()


def test_breaches_are_counted_as_an_audit_does(pair, found):
    x, y = pair
    truth = x.copy()
    truth[:, 4] = np.nan  # a constant column is not scored beside others
    units = np.array([c.unit for c in found.columns])
    table = found.table
    assert table is not None
    for variant, value, record in (
        ("standard", table.value_breach, table.record_breach),
        ("paper", table.paper_value_breach, table.paper_record_breach),
    ):
        same(value, measures.breach_rate(truth, y, 0.1, "value", variant, units))
        same(record, measures.breach_rate(truth, y, 0.1, "record", variant, units))
    own = [c.breach for c in found.columns]
    assert own == pytest.approx(list(measures.column_breach_rates(truth, y, 0.1, units=units)), nan_ok=True)
    # In the exact units instead, no more than values on the edge of a breach change sides.
    exact = measures.breach_rate(truth, y, 0.1, "value")
    assert float(table.value_breach) == pytest.approx(float(exact), abs=1e-4)


def test_the_baseline_is_the_best_constant_guess(pair, found):
    x, _ = pair
    for j, column in enumerate(found.columns[:4]):
        best = float(measures.constant_guess_baseline(x[:, [j]], 0.1))
        assert column.baseline == pytest.approx(best, abs=5e-4)
    assert found.columns[3].baseline == pytest.approx(
        float(measures.constant_guess_baseline(x[:, [3]], 0.1)), abs=1e-12
    )


def test_moments_are_those_of_an_audit(pair, found):
    x, y = pair
    for j, column in enumerate(found.columns[:4]):
        both = ~(np.isnan(x[:, j]) | np.isnan(y[:, j]))
        a, b = x[both, j], y[both, j]
        assert column.n_both == both.sum()
        assert column.mean_difference == pytest.approx((b.mean() - a.mean()) / a.std(), rel=1e-8)
        assert column.std_ratio == pytest.approx(b.std() / a.std(), rel=1e-10)
        assert column.correlation == pytest.approx(np.corrcoef(a, b)[0, 1], rel=1e-10)
    complete = ~(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1))
    scale = x[complete].std(axis=0)
    scale[4] = 1.0
    cov = [np.cov((t[complete] / scale)[:, :4].T, ddof=0) for t in (x, y)]
    assert found.table is not None
    assert found.n_complete == complete.sum()
    same(found.table.covariance, measures.covariance_distortion(*cov), rel=1e-8)


def test_distributions_lie_between_the_stated_ends(pair, found):
    x, y = pair
    for j, column in enumerate(found.columns):
        for own, form in ((column.wasserstein, "wasserstein"), (column.kolmogorov, "kolmogorov")):
            true = float(measures.distribution_distance(x[:, [j]], y[:, [j]], form=form))
            assert own.low - 1e-12 <= true <= own.high + 1e-12
            assert true - own.low < 1e-3
    discrete = found.columns[3]
    assert discrete.kolmogorov.low == discrete.kolmogorov.high
    assert discrete.wasserstein.low == discrete.wasserstein.high


def test_equal_and_permuted_columns_have_distance_zero():
    x = np.random.default_rng(0).standard_t(2, size=(30_000, 1))
    columns = measure(x, x[::-1].copy()).columns
    assert columns[0].kolmogorov == 0.0
    assert columns[0].wasserstein == pytest.approx(0.0, abs=1e-12)


def test_distances_of_a_small_table_are_those_of_all_rows():
    x, y = (t[:, :4] for t in tables(3_000, missing=False))
    found = measure(x, y, seed=3)
    assert found.n_sampled == 3_000
    scale = x.std(axis=0)
    assert found.table is not None
    same(found.table.distances, measures.distance_distortion(x / scale, y / scale, random_state=3))
    same(found.table.inner_products, measures.inner_product_distortion(x / scale, y / scale, random_state=3))


def test_distances_of_a_large_table_are_of_a_sample_with_an_honest_interval():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40_000, 4))
    y = x + 0.5 * rng.normal(size=x.shape) * rng.exponential(size=(len(x), 1))
    scale = x.std(axis=0)
    found = [measure(x, y, seed=seed) for seed in range(8)]
    for name, pure in (
        ("distances", measures.distance_distortion),
        ("inner_products", measures.inner_product_distortion),
    ):
        true = pure(x / scale, y / scale, n_pairs=1_000_000)
        own = [getattr(f.table, name) for f in found]
        assert found[0].n_sampled == 8192
        assert len(set(own)) == len(own)
        # 95 % intervals: four or more misses in eight have a probability of 0.0004.
        assert sum(m.low <= true <= m.high for m in own) > 4
        assert np.mean(own) == pytest.approx(true, abs=4.0 * float(np.std(own, ddof=1)) / math.sqrt(8))


@pytest.mark.parametrize("chunk", [9_999, 65_537])
def test_files_chunks_and_engines_give_the_same_numbers(pair, found, tmp_path, chunk):
    expected = found.to_dict()
    parquet, csv = [], []
    for name, values in zip(("private", "other"), pair, strict=True):
        table = frame(values)
        parquet.append(tmp_path / f"{name}.parquet")
        csv.append(tmp_path / f"{name}.csv")
        pq.write_table(table, parquet[-1], row_group_size=chunk if name == "private" else chunk + 3)
        pacsv.write_csv(table, csv[-1])
    assert measure(*parquet).to_dict() == expected
    assert measure(*parquet, engine=Threads(1)).to_dict() == expected
    assert measure(csv[0], csv[1]).to_dict() == expected
    assert measure(csv[0], parquet[1]).to_dict() == expected


def test_texts_are_compared_by_equality():
    private = pa.table({"city": ["a", "b", None, "d"], "when": pa.array([1, 2, 3, 4], pa.date32()), "flag": [True] * 4})
    other = pa.table(
        {
            "city": pa.array(["a", "x", "c", None]).dictionary_encode(),
            "when": pa.array([1, 2, 3, 4], pa.date32()).cast(pa.timestamp("s")),
            "flag": ["yes"] * 4,
        }
    )
    found = measure(private, other)
    assert [(t.name, t.n_both, t.equal) for t in found.texts] == [("city", 2, 0.5), ("when", 4, 1.0)]
    assert found.left_out == ("flag",)
    assert found.table is None
    assert found.columns == ()


def test_a_guess_is_matched_by_its_row_numbers():
    private = pa.table({"age": [1.0, 2.0, 3.0], "income": [5.0, 1.0, 2.0]})
    guess = {"row": [0, 1, 2], "age": [1.0, 2.0, 4.0], "age lower": [0.0, 1.0, 2.0]}
    found = measure(private, pa.table(guess))
    assert found.columns[0].breach == pytest.approx(2 / 3)
    assert found.absent == ("income",)
    for rows in ([0, 2, 1], [1, 2, 3], [0.0, 1.0, 2.0], [0, None, 2]):
        with pytest.raises(InputError, match="column 'row' must number the rows"):
            measure(private, pa.table({**guess, "row": rows}))


def test_a_private_column_called_row_is_a_column():
    private = pa.table({"row": [4.0, 2.0, 9.0]})
    assert measure(private, private).columns[0].breach == 1.0


def test_roles_say_which_columns_are_compared(pair):
    x, y = (t[:100] for t in pair)
    roles = {"normal": "identifier", "cauchy": "public", "constant": "drop"}
    found = measure(frame(x), frame(y), roles=roles)
    assert [c.name for c in found.columns] == ["shifted", "integers"]


@pytest.mark.parametrize("names", [("private.csv", "other.csv"), ("private.parquet", "other.csv")])
def test_different_numbers_of_rows_are_refused_with_both_counts(tmp_path, names):
    for name, n in zip(names, (BLOCK_ROWS + 5, 2 * BLOCK_ROWS + 9), strict=True):
        write_table(pa.table({"a": np.arange(n) * 0.5}), tmp_path / name)
    mine, theirs = (tmp_path / name for name in names)
    with pytest.raises(InputError, match=r"other table has 65,545 rows where the private table has 32,773"):
        measure(mine, theirs)
    with pytest.raises(InputError, match=r"other table has 32,773 rows where the private table has 65,545"):
        measure(theirs, mine)


def test_what_cannot_be_compared_is_refused_in_one_line_without_a_cell():
    secret = 48271.5
    good = pa.table({"a": [secret, 1.0, 2.0]})
    for other, words in (
        (pa.table({"b": [1.0, 2.0, 3.0]}), "none of the private columns 'a'"),
        (pa.table({"a": [1.0, 2.0]}), "has 2 rows where the private table has 3"),
        (pa.table({"a": [np.inf, secret, -np.inf]}), "column 'a' of the other table has 2 infinite values"),
        (pa.table({"a": ["x", "y", "z"]}), "of different kinds"),
        (pa.table({"a": [1e200, -1e200, 0.0]}), "too large or too close together"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            measure(good, other)
        assert "\n" not in str(caught.value)
        assert "48271" not in str(caught.value)
    with pytest.raises(InputError, match="no rows"):
        measure(good.slice(0, 0), good.slice(0, 0))
    with pytest.raises(InputError, match="tolerance"):
        measure(good, good, tolerance=-1.0)
    with pytest.raises(InputError, match="seed"):
        measure(good, good, seed=-1)


def test_limits_missing_columns_constants_and_single_rows():
    nothing = pa.table({"a": [1.0, 2.0, 4.0], "b": pa.array([None] * 3, pa.float64())})
    found = measure(nothing, nothing)
    assert found.columns[0].breach == 1.0
    assert math.isnan(found.columns[1].breach)
    assert found.n_complete == 0
    constants = measure(pa.table({"a": [0.1] * 5}), pa.table({"a": [0.1] * 4 + [0.2]}))
    assert constants.columns[0].breach == pytest.approx(0.8)
    assert math.isnan(constants.columns[0].correlation)
    assert constants.table is not None
    assert math.isnan(constants.table.covariance)
    silent = measure(pa.table({"a": [1.0, 2.0, 4.0]}), pa.table({"a": pa.array([None] * 3, pa.float64())}))
    assert silent.columns[0].breach == 0.0
    assert math.isnan(silent.columns[0].nrmse)
    one = measure(pa.table({"a": [3.0]}), pa.table({"a": [3.5]}))
    assert one.columns[0].breach == 0.0
    for result in (found, constants, silent, one):
        json.dumps(result.to_dict(), allow_nan=False)


def test_a_release_folder_is_read_as_its_data(tmp_path):
    import veil

    table = frame(tables(500, missing=False)[0][:, :2], NAMES[:2])
    release, _ = veil.publish(table, veil.AdditiveNoise(scale=0.5))
    release.save(tmp_path / "release", format="csv")
    found = measure(table, tmp_path / "release")
    assert found.columns[0].nrmse == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(2 * 500))
    shuffled, _ = veil.publish(table, veil.AdditiveNoise(scale=0.5), shuffle=True)
    shuffled.save(tmp_path / "shuffled")
    with pytest.raises(InputError, match="secret order"):
        measure(table, tmp_path / "shuffled")


def test_what_a_pass_does_can_travel(pair):
    """A cluster pickles the leaf of a pass and what it finds."""
    table = Beside(*(MemoryTable(frame(values)) for values in pair))
    common = Common.of(*(MemoryTable(frame(values)) for values in pair))
    leaf = partial(compare_block, common, 100, 0, None)
    blocks = list(table.blocks(common.columns))
    first, second = (pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(leaf))(block))) for block in blocks)
    both = first + second
    assert (both.n_rows, len(both.sample.hashes)) == (N, 100)
    edges = tuple(np.array([-1e9, float(j), 1e9]) for j in range(5))
    cells = pickle.loads(pickle.dumps(partial(of_numbers, common, partial(count_cells, edges))))(blocks[0])
    assert cells.column(edges, 0).n.tolist() == first.moments.count[[0, 5]].tolist()


def test_blocks_of_two_tables_come_in_lockstep():
    table = frame(tables(2 * BLOCK_ROWS + 10)[0])
    beside = Beside(MemoryTable(table), MemoryTable(table))
    assert beside.n_rows == table.num_rows
    blocks = list(beside.blocks(["private normal", "other cauchy"]))
    assert [(b.start, b.n_rows) for b in blocks] == [(0, BLOCK_ROWS), (BLOCK_ROWS, BLOCK_ROWS), (2 * BLOCK_ROWS, 10)]
    cut = pa.Table.from_batches(list(beside.batches(["other normal"], BLOCK_ROWS - 3, BLOCK_ROWS + 4)))
    assert cut.column(0).to_pylist() == table.column("normal").slice(BLOCK_ROWS - 3, 7).to_pylist()


def test_the_command_prints_tables_and_json(tmp_path):
    x, y = tables(2_000)
    write_table(frame(x).append_column("city", pa.array(["a", "b"] * 1_000)), tmp_path / "p.csv")
    write_table(frame(y[:, :4], NAMES[:4]).append_column("city", pa.array(["a"] * 2_000)), tmp_path / "g.parquet")
    files = [str(tmp_path / name) for name in ("p.csv", "g.parquet")]
    for width in ("80", "120"):
        shown = CliRunner().invoke(measure_command, [*files, "--tolerance", "0.2"], env={"COLUMNS": width})
        assert shown.exit_code == 0, shown.output
        assert max(map(len, shown.output.splitlines())) <= int(width)
        for words in ("2,000 records", "values breached", "within 0.2 standard units", "50.0 %", "'constant'"):
            assert words in shown.output
    plain = json.loads(CliRunner().invoke(measure_command, [*files, "--json", "--role", "city=public"]).output)
    assert plain["n_rows"] == 2_000
    assert plain["texts"] == []
    assert plain["columns"][0]["correlation"] > 0.9
    assert isinstance(CliRunner().invoke(measure_command, [files[0], str(tmp_path / "none.csv")]).exception, Exception)


@pytest.mark.slow
def test_a_million_rows_take_little_memory(tmp_path):
    rng = np.random.default_rng(0)
    paths = [tmp_path / "private.parquet", tmp_path / "guess.parquet"]
    x = rng.normal(size=(1_000_000, 6))
    for path, values in zip(paths, (x, x + rng.standard_t(2, size=x.shape)), strict=True):
        write_table(frame(values, list("abcdef")), path)
    program = (
        "import sys; from veil.auditing.comparison import measure; "
        "found = measure(*sys.argv[1:]); assert found.n_rows == 1_000_000; "
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    # Not ru_maxrss: a child inherits that from the process of the tests.
    run = subprocess.run([sys.executable, "-c", program, *map(str, paths)], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 500_000
