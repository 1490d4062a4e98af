"""A column of any type, published in memory and saved or from file to file: one release, and the same comes back."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from veil.data.files import open_table, open_writer
from veil.publishing.publish_file import publish_file
from veil.publishing.restore_file import restore_file

N = 35
NUMBERS = np.random.default_rng(0).integers(0, 50, N)
NOISE = veil.AdditiveNoise(random_state=1)
ROLES = {"q": "public"}
SECONDS = pa.array(NUMBERS * 86_399).cast(pa.timestamp("s"))
TEXTS = pa.array([f"v{i % 5}" if i % 3 else 'a,\n"b' for i in range(N)])
TYPES = {
    **{name: pa.array(NUMBERS.astype(name)) for name in ("int8", "int16", "int32", "int64", "uint8", "uint64")},
    **{name: pa.array(NUMBERS.astype(name) / 4) for name in ("float16", "float32", "float64")},
    "boolean": pa.array(NUMBERS < 20),
    **{f"timestamp in {unit}": SECONDS.cast(pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    "instant": SECONDS.cast(pa.timestamp("s", "Europe/Berlin")),
    "date": pa.array([dt.date(2020, 1, 1) + dt.timedelta(int(i)) for i in NUMBERS]),
    "time": pa.array([dt.time(int(i) % 24) for i in NUMBERS], pa.time32("s")),
    "decimal": pa.array([Decimal(int(i)).scaleb(-2) for i in NUMBERS], pa.decimal128(9, 2)),
    "text": TEXTS,
    "large text": TEXTS.cast(pa.large_string()),
    "view": TEXTS.cast(pa.string_view()),
    "category": TEXTS.dictionary_encode(),
    "small category": TEXTS.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    "category of numbers": pa.array(NUMBERS).dictionary_encode(),
}


def with_gaps(values):
    decoded = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    gappy = pa.array([None if i % 7 == 3 else value for i, value in enumerate(decoded.to_pylist())], decoded.type)
    return gappy.dictionary_encode().cast(values.type) if pa.types.is_dictionary(values.type) else gappy


def private_file(table, folder):
    writer = open_writer(folder / "table.feather", table.schema, "feather")
    writer.write(table.to_batches()[0])
    writer.close()
    return folder / "table.feather"


@pytest.mark.parametrize("values", TYPES.values(), ids=TYPES)
def test_memory_and_files_make_one_release_and_bring_it_back(values, tmp_path):
    table = pa.table({"q": with_gaps(values), "x": NUMBERS / 7})
    source = private_file(table, tmp_path)
    for format in ("parquet", "csv"):
        by_file = publish_file(
            source, NOISE, tmp_path / f"f-{format}", new_key=tmp_path / f"{format}.key", roles=ROLES, format=format
        )
        released, key = veil.publish(table, NOISE, roles=ROLES)
        released.save(tmp_path / f"m-{format}", format=format)
        assert released.manifest.data["sha256"] == by_file.manifest.data["sha256"]
        assert released.manifest.schema == by_file.manifest.schema
        assert key.ledger[0].content == veil.Key.load(tmp_path / f"{format}.key").ledger[0].content
        loaded = veil.Release.load(tmp_path / f"m-{format}")
        assert veil.restore(released, key).column("q").equals(table.column("q"))
        assert veil.restore(loaded, key).column("q").equals(table.column("q"))
        other = "csv" if format == "parquet" else "parquet"
        loaded.save(tmp_path / f"o-{format}", format=other)
        assert veil.restore(veil.Release.load(tmp_path / f"o-{format}"), key).column("q").equals(table.column("q"))
        restore_file(tmp_path / f"f-{format}", tmp_path / f"{format}.key", tmp_path / f"back-{format}.{format}")
        back = open_table(tmp_path / f"back-{format}.{format}")
        assert back.n_rows == N or format == "csv"
    restored = open_table(tmp_path / "back-parquet.parquet").read().column("q")
    assert restored.to_pylist() == table.column("q").to_pylist()


def test_nullable_pandas_columns_come_back_as_they_were(tmp_path):
    frame = pd.DataFrame({"x": NUMBERS / 7})
    for dtype in ("Int8", "Int64", "UInt16", "Float32", "boolean", "string", "category"):
        values = [
            None if i % 7 == 3 else str(n % 2) if dtype in ("string", "category") else n % 2
            for i, n in enumerate(NUMBERS)
        ]
        frame[dtype] = pd.array(values, dtype=dtype)
    released, key = veil.publish(frame, NOISE, roles=dict.fromkeys(frame.columns[1:], "public"))
    released.save(tmp_path / "release")
    for release in (released, veil.Release.load(tmp_path / "release", kind="pandas")):
        pd.testing.assert_frame_equal(veil.restore(release, key), frame)


def test_types_that_the_manifest_does_not_name_are_refused_without_a_cell(tmp_path):
    released, _ = veil.publish(pa.table({"q": TEXTS, "x": NUMBERS / 7}), NOISE, roles=ROLES)
    numbers = released.manifest.schema[0].__class__("q", "int64")
    released.manifest = type(released.manifest)(
        **{**vars(released.manifest), "schema": (numbers, released.manifest.schema[1])}
    )
    with pytest.raises(veil.TamperedError, match="not of the types that the manifest names") as refusal:
        released.save(tmp_path / "release")
    assert "v1" not in str(refusal.value)
    assert not (tmp_path / "release").exists()
