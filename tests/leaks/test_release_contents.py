"""What goes out is the perturbed table and its manifest: no key, no private cell, no hash of one, no old metadata."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import veil
from veil.cli import main
from veil.errors import VeilError

SEED = 918273645
FORMATS = ("parquet", "feather", "csv", "csv.gz")
METHODS = {
    "noise": veil.AdditiveNoise(random_state=SEED),
    "laplace": veil.AdditiveNoise(1.0, distribution="laplace", random_state=SEED),
    "turn": veil.OrthogonalTransform(random_state=SEED),
    "raw turn": veil.OrthogonalTransform(scaling=None, random_state=SEED),
    "turn and shift": veil.OrthogonalTransform(translation=2.0, random_state=SEED),
}


def bytes_of(folder) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("method", METHODS)
def test_release_holds_no_secret(
    method, format, shuffle, private, roles, secrets_of, hashes, rendered, marks, tmp_path
):
    release, key = veil.publish(private, METHODS[method], roles=roles, shuffle=shuffle)
    release.save(tmp_path / "release", format=format)
    assert sorted(p.name for p in (tmp_path / "release").iterdir()) == [f"data.{format}", "manifest.json"]
    loaded = veil.Release.load(tmp_path / "release")
    everything = bytes_of(tmp_path / "release") + rendered(loaded.table.read()) + repr(loaded).encode()
    assert secrets_of(key, SEED).found_in(everything) == []
    assert [what for what, mark in marks.items() if mark in everything] == []
    assert [what for what, digest in hashes(private).items() if digest in everything] == []
    assert b"person" not in everything, "the name of a withheld column"


@pytest.mark.parametrize("method", METHODS)
def test_manifest_is_an_allow_list(method, private, roles):
    release, _ = veil.publish(private, METHODS[method], roles=roles)
    manifest = json.loads(release.manifest.to_json())
    assert set(manifest) == {
        "release", "release_id", "parts", "public", "schema", "key", "missing", "row_order", "arithmetic", "veil",
        "format", "data", "method", "guarantee",
    }  # fmt: skip
    (step,) = manifest["parts"]
    assert set(step) == {"method", "catalogue", "model", "parameters", "columns", "released", "guarantee"}
    allowed = (
        {"distribution", "scale", "grid", "unit"}
        if "noise" in step["method"]
        else {"unit", "proper", "translation", "dither"}
    )
    assert set(step["parameters"]) == allowed
    assert manifest["key"] == "seeded, not secret"
    assert step["guarantee"] == "none"


@pytest.mark.parametrize("method", METHODS)
def test_measured_parameters_have_two_digits(method, private, roles):
    """Standard deviations are rounded to two digits before use, so that they do not betray single records."""
    parameters = veil.publish(private, METHODS[method], roles=roles)[0].only_part.parameters
    relative = METHODS[method].get_params().get("scale", 1.0)
    measured = [v / relative for v in parameters.get("scale", [])] + parameters.get("unit", [])
    measured.append(parameters.get("translation", 0.0) / 2.0)
    for value in measured:
        assert value == pytest.approx(float(f"{value:.1e}"), rel=1e-12)
    for statistic in (private["income"].mean(), private["income"].min(), private["income"].max()):
        assert all(abs(v) != statistic for v in measured)


def test_the_saved_manifest_hashes_the_released_file_only(private, roles, tmp_path):
    release, _ = veil.publish(private, METHODS["noise"], roles=roles)
    release.save(tmp_path / "release")
    data = json.loads((tmp_path / "release" / "manifest.json").read_text())["data"]
    assert data == {
        "file": "data.parquet",
        "sha256": hashlib.sha256((tmp_path / "release" / "data.parquet").read_bytes()).hexdigest(),
    }


# -- metadata and buffers -----------------------------------------------------------------------


def test_parquet_metadata_is_the_release_and_nothing_else(private, roles, tmp_path):
    indexed = private.set_index(pd.Index([f"SECRETCELL-{i}" for i in range(200)], name="SECRETINDEX"))
    release, _ = veil.publish(indexed, METHODS["noise"], roles=roles)
    release.save(tmp_path / "release")
    path = tmp_path / "release" / "data.parquet"
    footer = pq.read_metadata(path)
    assert set(footer.metadata or {}) <= {b"ARROW:schema"}
    assert pq.read_schema(path).metadata is None
    data = pq.read_table(path)
    assert [f.metadata for f in pq.read_schema(path).remove_metadata() if f.metadata and b"pandas" in f.metadata] == []
    for i in range(footer.row_group(0).num_columns):
        column = footer.row_group(0).column(i)
        if column.statistics is not None and column.statistics.has_min_max:
            values = data.column(column.path_in_schema).to_pylist()
            assert column.statistics.min == min(values)
            assert column.statistics.max == max(values)
    assert b"SECRET" not in bytes_of(tmp_path / "release")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", ["pandas", "polars enum", "polars categorical", "arrow", "ordered"])
def test_unused_categories_are_dropped(kind, format, tmp_path):
    x, words = np.random.default_rng(0).normal(size=30), ["yes", "no"] * 15
    names = ["yes", "no", "SECRETCELL"]
    table = {
        "pandas": lambda: pd.DataFrame({"x": x, "c": pd.Categorical(words, categories=names)}),
        "ordered": lambda: pd.DataFrame({"x": x, "c": pd.Categorical(words, categories=names, ordered=True)}),
        "polars enum": lambda: pl.DataFrame({"x": x, "c": pl.Series(words, dtype=pl.Enum(names))}),
        "polars categorical": lambda: (
            pl.DataFrame({"x": [*x, 1.0], "c": [*words, "SECRETCELL"]})
            .with_columns(pl.col("c").cast(pl.Categorical))
            .head(30)
        ),
        "arrow": lambda: pa.table({"x": x, "c": pa.DictionaryArray.from_arrays(pa.array([0, 1] * 15), names)}),
    }[kind]()
    release, _ = veil.publish(table, veil.AdditiveNoise(random_state=SEED), roles={"c": "public"})
    release.save(tmp_path / "release", format=format)
    assert b"SECRETCELL" not in bytes_of(tmp_path / "release")
    values = release.table.read().column("c")
    assert "SECRETCELL" not in str(values.combine_chunks())


@pytest.mark.parametrize("shape", ["list", "struct"])
def test_nested_columns_with_what_they_no_longer_show_are_refused(shape):
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 15, pa.int8()), ["yes", "no", "SECRETCELL"])
    nested = (
        pa.ListArray.from_arrays(pa.array(range(31), pa.int32()), words)
        if shape == "list"
        else pa.StructArray.from_arrays([words], ["inner"])
    )
    table = pa.table({"x": np.random.default_rng(0).normal(size=30), "c": nested})
    with pytest.raises(VeilError, match="'c' is nested"):
        veil.publish(table, veil.AdditiveNoise(random_state=SEED), roles={"c": "public"})


def suppressed(dtype):
    """A release with a public nullable column whose first twenty cells were set to missing, and their old bytes."""
    private = pd.DataFrame({"x": np.random.default_rng(0).normal(size=50), "public": range(50)})
    private["public"] = pd.array([271828182] * 20 + [7] * 30, dtype=dtype)
    private.loc[:19, "public"] = pd.NA
    release, _ = veil.publish(private, veil.AdditiveNoise(random_state=SEED), roles={"public": "public"})
    return release, struct.pack("<d", 271828182.0) if dtype == "Float64" else struct.pack("<q", 271828182)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["Float64", "Int64"])
def test_suppressed_public_cells_are_not_in_the_file(dtype, format, tmp_path):
    """A missing cell of a nullable column keeps its old value underneath; that value must not go out."""
    release, mark = suppressed(dtype)
    release.save(tmp_path / "release", format=format)
    assert mark not in bytes_of(tmp_path / "release")


@pytest.mark.parametrize("dtype", ["Float64", "Int64"])
def test_suppressed_public_cells_are_not_in_the_frame(dtype):
    release, mark = suppressed(dtype)
    buffers = release.table.read().column("public").combine_chunks().buffers()
    assert not any(mark in bytes(buffer) for buffer in buffers if buffer is not None)


@pytest.mark.parametrize("format", ["parquet", "feather"])
def test_rows_outside_a_slice_stay_out(format, tmp_path):
    x = np.random.default_rng(0).normal(size=60)
    texts = ["SECRETCELL"] * 30 + ["fine"] * 30
    whole = pa.table({"x": x, "s": texts, "c": pa.array(texts).dictionary_encode()})
    public = dict.fromkeys(("s", "c"), "public")
    release, _ = veil.publish(whole.slice(30), veil.AdditiveNoise(random_state=SEED), roles=public)
    release.save(tmp_path / "release", format=format)
    assert b"SECRETCELL" not in bytes_of(tmp_path / "release")


def test_a_csv_without_a_header_does_not_publish_its_first_record(tmp_path, marks):
    """The first record would become the column names: in the release, the manifest and every message."""
    rng = np.random.default_rng(0)
    lines = ["31415926.5,271828182", *(f"{a},{b}" for a, b in rng.normal(1e6, 1e5, (40, 2)))]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    arguments = ["perturb", "table.csv", "--method", "additive-noise", "-o", "release", "--key", "key"]
    arguments = [str(tmp_path / a) if a in ("table.csv", "release", "key") else a for a in arguments]
    result = CliRunner().invoke(main, arguments)
    said = (result.stdout + result.stderr).encode()
    said += bytes_of(tmp_path / "release") if (tmp_path / "release").exists() else b""
    assert [what for what, mark in marks.items() if mark in said] == []


# -- modes --------------------------------------------------------------------------------------


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_private_files_are_for_their_owner_alone(umask, private, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    private[["income", "age", "weight"]].to_csv("table.csv", index=False)
    (tmp_path / "known.csv").write_text("income,age,weight,row\n1,2,3,0\n")

    def veil_(*arguments, passphrase=""):
        result = CliRunner().invoke(main, [str(a) for a in arguments], env={"VEIL_PASSPHRASE": passphrase})
        assert result.exit_code in (0, 3), result.stderr

    perturb = ("perturb", "table.csv", "--method", "orthogonal-transform")
    veil_(*perturb, "-o", "release", "--key", "key")
    veil_(*perturb, "-o", "locked", "--key", "locked.key", passphrase="open sesame")
    veil_(*perturb, "--set", "proper=true", "-o", "second", "--reuse-key", "key", "--again")
    for ending in FORMATS:
        veil_("restore", "release", "--key", "key", "-o", f"back.{ending}")
    veil_("attack", "release", "--attack", "known-pairs", "--known-pairs", "known.csv", "-o", "guess.csv")
    audit = ("audit", "table.csv", "--method", "additive-noise", "--repetitions", 1, "--internal")
    veil_(*audit, "-o", "internal.html")
    veil_(*audit, "-o", "internal.json")
    private_files = [
        "key",
        "locked.key",
        "guess.csv",
        "internal.html",
        "internal.json",
        *(f"back.{f}" for f in FORMATS),
    ]
    assert {name: oct(mode(tmp_path / name)) for name in private_files} == dict.fromkeys(private_files, "0o600")
    assert not mode(tmp_path / "release" / "manifest.json") & 0o111


def test_feather_release_has_no_metadata(private, roles, tmp_path):
    table = pa.Table.from_pandas(private).replace_schema_metadata({"owner": "SECRETCELL"})
    release, _ = veil.publish(table, METHODS["noise"], roles={**roles})
    release.save(tmp_path / "release", format="feather")
    assert not feather.read_table(tmp_path / "release" / "data.feather").schema.metadata
    assert b"SECRETCELL" not in bytes_of(tmp_path / "release")
