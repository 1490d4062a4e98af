"""Every kind of bad table: one line that names the column, the rule and the count, and no cell; nothing written."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil.errors import VeilError

METHODS = ("additive-noise", "orthogonal-transform")
MAKERS = {"additive-noise": veil.AdditiveNoise, "orthogonal-transform": veil.OrthogonalTransform}
NUMBER, TEXT = 31415926.5, "SECRETCELL"
N = 60


def with_cells(name, *cells):
    """A table whose column has the given cells on top."""

    def spoil(table):
        column = table[name].astype(object)
        column[: len(cells)] = cells
        return table.assign(**{name: column})

    return spoil


def with_column(name, values):
    return lambda table: table.assign(**{name: values})


def with_arrow(name, array):
    return lambda table: pa.Table.from_pandas(table, preserve_index=False).append_column(name, array)


def whole(first):
    return [first + i // 2 for i in range(N)]


DECIMALS = pa.array([decimal.Decimal("31415926.50") + i for i in range(N)], pa.decimal128(12, 2))
HUGE_DECIMALS = pa.array([decimal.Decimal("31415926000000000000.25") + i for i in range(N)], pa.decimal128(30, 2))
DATES = [datetime.date(2020, 1, 1 + i % 28) for i in range(N)]

# name: (how to spoil the table, what the message must say)
REFUSED = {
    "infinities": (with_cells("a", "inf", "-inf", NUMBER), ("'a'", "2 infinite")),
    "text in numbers": (with_cells("a", TEXT), ("'a'", "1 of 60", "not numbers")),
    "mixed types": (with_cells("a", TEXT, "2020-01-01", "true"), ("'a'", "3 of 60")),
    "all text": (with_column("s", [TEXT, "other"] * 30), ("'s'", "text", "role")),
    "beyond 2^53": (with_column("h", whole(2**53 + 1)), ("'h'", "60 integers", "2^53")),
    "uint64 beyond 2^63": (with_arrow("h", pa.array(whole(2**63 + 1), pa.uint64())), ("'h'", "60 integers")),
    "least int64": (with_arrow("h", pa.array(whole(-(2**63)), pa.int64())), ("'h'", "60 integers")),
    "all different": (with_column("id", range(N)), ("'id'", "all different", "role")),
    "every value missing": (with_column("m", [None] * N), ("'m'", "missing")),
    "every value NaN": (with_arrow("m", pa.array([float("nan")] * N)), ("'m'", "missing")),
    "dates as texts": (with_column("d", [str(day) for day in DATES[1:]] + ["3.4.2020"]), ("'d'", "text", "role")),
    "times of day": (with_arrow("d", pa.array([datetime.time(i % 24) for i in range(N)])), ("'d'", "times of day")),
    "split seconds": (
        with_arrow("d", pa.array([1_000_001 * i for i in range(N)], pa.timestamp("us"))),
        ("'d'", "finer than a second", "59 values"),
    ),
    "booleans": (with_column("t", [True, False] * 30), ("'t'", "boolean", "role")),
    "bytes": (with_arrow("x", pa.array([TEXT.encode()] * N)), ("'x'", "role")),
    "structs": (with_arrow("x", pa.array([{"p": 1, "q": TEXT}] * N)), ("'x'", "role")),
    "lists": (with_arrow("x", pa.array([[NUMBER, 1.0]] * N)), ("'x'", "role")),
    "one row": (lambda table: table.assign(a=NUMBER).head(1), ("1 row",)),
    "no rows": (lambda table: table.head(0), ("no rows",)),
    "no columns": (lambda table: table[[]], ("no columns",)),
    "infinite in Parquet": (with_arrow("x", pa.array([np.inf, NUMBER] + [1.0, 2.0] * 29)), ("'x'", "1 infinite")),
}
REFUSED_BY_ONE = {
    "missing": ("orthogonal-transform", with_cells("a", None, NUMBER), ("'a' (1)", "missing")),
    "constant": ("additive-noise", with_column("c", NUMBER), ("'c'", "60")),
}
FINE = {
    "duplicate rows": lambda table: pd.concat([table, table], ignore_index=True),
    "singular covariance": lambda table: table.assign(c=2 * table["a"] - table["b"]),
    "more columns than rows": lambda table: pd.DataFrame(np.random.default_rng(1).normal(size=(6, 30))).rename(
        columns=str
    ),
    "unicode headers": lambda table: table.rename(
        columns={"a": "größe 身長 😀", "b": "naïve\u200b", "n": '"quoted", yes'}
    ),
    "empty header": lambda table: table.rename(columns={"a": ""}),
    "constant and mixing": lambda table: table.assign(n=7),
    "decimals": with_arrow("d", DECIMALS),
    "half floats": with_arrow("f", pa.array(np.linspace(-2, 2, N).astype(np.float16))),
    "small unsigned": with_arrow("u", pa.array(whole(0), pa.uint64())),
    "float32": lambda table: table.astype({"a": "float32"}),
}


def write(table, path: Path) -> Path:
    """A frame as Parquet, or as CSV when its types are text's."""
    if isinstance(table, pa.Table):
        pq.write_table(table, path.with_suffix(".parquet"))
        return path.with_suffix(".parquet")
    if not table.shape[1] or any(str(t) == "float32" for t in table.dtypes):
        table.to_parquet(path.with_suffix(".parquet"), index=False)
        return path.with_suffix(".parquet")
    table.to_csv(path.with_suffix(".csv"), index=False)
    return path.with_suffix(".csv")


def refused(method, path, words, command, says):
    """By the command line and by the library, with the same rule."""
    command.refuses(*command.perturb(path, method=method), words=words)
    with pytest.raises(VeilError) as caught:
        veil.publish(path, MAKERS[method]())
    says(str(caught.value), words)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", REFUSED)
def test_bad_table_is_refused(case, method, numbers, command, says):
    spoil, words = REFUSED[case]
    refused(method, write(spoil(numbers), command.folder / "table"), words, command, says)


@pytest.mark.parametrize("case", REFUSED_BY_ONE)
def test_bad_table_for_one_method_is_refused(case, numbers, command, says):
    method, spoil, words = REFUSED_BY_ONE[case]
    refused(method, write(spoil(numbers), command.folder / "table"), words, command, says)


def restored(path, method, command):
    """Perturb and restore a file by the command line."""
    command.succeeds(*command.perturb(path, method=method))
    key, back = command.folder / "key", command.folder / "back.parquet"
    command.succeeds("restore", command.folder / "release", "--key", key, "-o", back)
    return pq.read_table(back)


def assert_same(original: pa.Table, back: pa.Table, share: float) -> None:
    """Same columns and types; every column back to a small share of its own spread."""
    assert back.column_names == original.column_names
    for field, column in zip(original.schema, back.columns, strict=True):
        assert column.type == field.type, field.name
        truth = original.column(field.name).cast(pa.float64()).to_numpy()
        error = np.abs(column.cast(pa.float64()).to_numpy() - truth)
        assert error.max() <= share * max(truth.std(), np.abs(truth).max() * 1e-8), field.name


def rounding_of_a_rotation(table: pa.Table) -> float:
    """The error of R⊤(Rz) in standard units: R is orthogonal to d roundings, and z as long as its longest record.

    A column far from zero, here two million standard deviations, leaves as much in every other; on the way there and
    back that is twice d roundings, and the matrix is off by as much again.
    """
    columns = [column.cast(pa.float64()).to_numpy() for column in table.columns]
    z = np.array([column / max(column.std(), np.abs(column).max() * 1e-8) for column in columns])
    return float(4 * len(z) * np.finfo(float).eps * np.sqrt((z**2).sum(axis=0)).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", FINE)
def test_odd_table_works_and_is_restored(case, method, numbers, command):
    if case == "constant and mixing" and method == "additive-noise":
        pytest.skip("noise relative to a constant is refused")
    path = write(FINE[case](numbers), command.folder / "table")
    table = veil.data.files.open_table(path).read()
    # Noise is undone to half a grid step, a millionth of the spread; a rotation to rounding.
    share = 1e-6 if method == "additive-noise" else max(1e-9, rounding_of_a_rotation(table))
    assert_same(table, restored(path, method, command), share)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1e300, 1e160, 1e150, 1e-150, 1e-160, 1e-300, 1e-310])
def test_extreme_magnitudes_are_restored_or_refused(size, method, numbers, command, says):
    """A column of 1e300 overflows its variance, one of 1e-300 underflows it; neither may pass silently."""
    table = pa.table({"a": numbers["a"], "e": size * (numbers["b"] - 60) / 10})
    path = write(table, command.folder / "table")
    result = command.run(*command.perturb(path, method=method))
    if result.exit_code == 0:
        assert (command.folder / "release" / "manifest.json").read_text().find("Infinity") < 0
        key, back = command.folder / "key", command.folder / "back.parquet"
        command.succeeds("restore", command.folder / "release", "--key", key, "-o", back)
        assert_same(table, pq.read_table(back), 1e-6)
        return
    command.refuses(*command.perturb(path, method=method), words=("'e'",))
    assert "constant" not in result.stderr, "the column is not constant"
    assert "equal" not in result.stderr, "the values are not equal"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["integers over 2^63 in CSV", "decimals of 22 digits"])
def test_digits_are_never_lost_silently(kind, method, numbers, command):
    """Whole numbers beyond ±2^53 are refused as int64; as wider text or decimals they must not lose digits either."""
    if kind.startswith("integers"):
        values = [decimal.Decimal(31415926 * 10**13 + 7 * i) for i in range(N)]
        path = write(numbers.assign(h=[str(v) for v in values]), command.folder / "table")
    else:
        values = HUGE_DECIMALS.to_pylist()
        path = write(with_arrow("h", HUGE_DECIMALS)(numbers), command.folder / "table")
    result = command.run(*command.perturb(path, method=method))
    if result.exit_code == 0:
        key, back = command.folder / "key", command.folder / "back.csv"
        command.succeeds("restore", command.folder / "release", "--key", key, "-o", back)
        text = pd.read_csv(back, dtype=str)["h"]
        assert [decimal.Decimal(v) for v in text] == values
    else:
        command.refuses(*command.perturb(path, method=method), words=("'h'", "60"))
        assert "equal" not in result.stderr, "the values differ, in digits that were lost"


FRAMES = {
    "mixed objects": (lambda t: t.assign(x=[1, TEXT] * 30), ("'x'", "types")),
    "Python integers over 2^64": (
        lambda t: t.assign(x=pd.Series([31415926 * 10**20] * N, dtype=object)),
        ("'x'",),
    ),
    "repeated names": (lambda t: pd.concat([t, t[["a"]]], axis=1), ("'a'", "2 times")),
    "complex numbers": (lambda t: t.assign(x=NUMBER * 1j), ("'x'",)),
    "sets": (lambda t: t.assign(x=[{TEXT}] * N), ("'x'",)),
    "uint64": (lambda t: t.assign(x=np.array(whole(2**63), dtype=np.uint64)), ("'x'", "60 integers")),
    "polars objects": (
        lambda t: pl.DataFrame({"a": t["a"], "x": pl.Series([object()] * N, dtype=pl.Object)}),
        ("'x'",),
    ),
    "lazy frame that fails": (
        lambda t: pl.from_pandas(t).lazy().with_columns(pl.lit(TEXT).str.to_integer().alias("x")),
        ("query could not be run",),
    ),
    "a series": (lambda t: t["a"], ("not a table",)),
    "a list": (lambda t: [[NUMBER, 2.0]], ("not a table",)),
    "nothing": (lambda t: None, ("not a table",)),
    "1-D array": (lambda t: np.full(5, NUMBER), ("1 dimension",)),
    "array of objects": (lambda t: np.array([[TEXT, NUMBER]], dtype=object), ("object",)),
    "array without rows": (lambda t: np.zeros((0, 3)), ("no rows",)),
    "array without columns": (lambda t: np.zeros((3, 0)), ("no columns",)),
    "no such file": (lambda t: "no-such-table.csv", ("no-such-table.csv",)),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", FRAMES)
def test_bad_frame_is_refused(case, method, numbers, says):
    spoil, words = FRAMES[case]
    with pytest.raises(VeilError) as caught:
        veil.publish(spoil(numbers), MAKERS[method]())
    says(str(caught.value), words)


def test_masked_array_does_not_release_what_the_mask_hides(numbers):
    array = np.ma.masked_array(numbers.to_numpy(), mask=False)
    array[3, 0] = NUMBER
    array[3, 0] = np.ma.masked
    try:
        release, _ = veil.publish(array, veil.AdditiveNoise())
    except VeilError:
        return
    assert np.isnan(release.to_numpy()[3, 0]), "the value under the mask was taken for a cell"


@pytest.mark.parametrize("case", ["infinities", "beyond 2^53"])
def test_a_real_process_prints_one_line(case, numbers, command, process, judge, contents):
    spoil, words = REFUSED[case]
    path = write(spoil(numbers), command.folder / "table")
    before = contents(command.folder)
    done = process(*command.perturb(path))
    judge(done.returncode, done.stderr, words=words)
    assert contents(command.folder) == before
