"""What the leak tests share: a table with marked cells, and searches for secrets in anything that goes out."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import veil

SEED = 918273645
MARKED_NUMBER = 31415926.5
MARKED_WHOLE = 271828182
MARKED_TEXT = "SECRETCELL"


class Secrets:
    """Every form in which a key, its seed or its matrices could show."""

    def __init__(self, key: veil.Key, folder, seed: int | None = None) -> None:
        path = folder / f"secrets-{id(key)}.json"
        key.save(path)
        document = json.loads(path.read_text())
        path.unlink()
        self.raw = bytes.fromhex(document["secret"])
        self.forms: dict[str, bytes] = {
            "raw key": self.raw,
            "hex key": self.raw.hex().encode(),
            "HEX key": self.raw.hex().upper().encode(),
            "base64 key": base64.b64encode(self.raw).rstrip(b"="),
            "url-safe key": base64.urlsafe_b64encode(self.raw).rstrip(b"="),
            "repr of key": repr(self.raw)[2:-1].encode(),
            "key as text": self.raw.decode("latin-1").encode(),  # pickle protocols 1 and 2
            "escaped key": "".join(  # pickle protocol 0
                f"\\u{ord(c):04x}" if c in "\\\0\n\r\x1a" else c for c in self.raw.decode("latin-1")
            ).encode("latin-1"),
            "integer key": str(int.from_bytes(self.raw, "big")).encode(),
        }
        for i, entry in enumerate(document["ledger"]):
            for step in entry["parts"]:
                if step["fingerprint"]:
                    self.forms[f"fingerprint {i}"] = step["fingerprint"].encode()
        for matrix in document["matrices"].values():
            self._add_matrix(np.frombuffer(base64.b64decode(matrix["float64"]), dtype="<f8"))
        if seed is not None:
            self.forms |= {
                "seed": str(seed).encode(),
                "seed with points": f"{seed:,}".encode(),
                "hex seed": f"{seed:x}".encode(),
                "seed, 4 bytes": struct.pack("<i", seed),
                "seed, 8 bytes": struct.pack("<q", seed),
            }

    def _add_matrix(self, values) -> None:
        for i, value in enumerate(values):
            self.forms[f"entry {i} as bytes"] = struct.pack("<d", value)
            self.forms[f"entry {i} big-endian"] = struct.pack(">d", value)
            self.forms[f"entry {i} as text"] = f"{abs(value):.16f}"[1:12].encode()

    def found_in(self, data: bytes | str) -> list[str]:
        """Names of the forms that occur."""
        data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        return [name for name, form in self.forms.items() if form in data]


def renderings(table: pa.Table) -> bytes:
    """A table as the bytes of its columns and as text, so that compression hides nothing."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    flat = table.drop_columns([f.name for f in table.schema if pa.types.is_nested(f.type)])
    pacsv.write_csv(flat, sink)
    return sink.getvalue()


def unkeyed_hashes(private: pd.DataFrame) -> dict[str, bytes]:
    """Plain hashes of the private table, of its columns and of its cells, that could serve to confirm a guess."""
    numeric = private.select_dtypes("number")
    contents = {
        "csv": private.to_csv(index=False).encode(),
        "rows": np.ascontiguousarray(numeric.to_numpy(dtype=float)).tobytes(),
        "columns": np.ascontiguousarray(numeric.to_numpy(dtype=float).T).tobytes(),
    }
    for name in numeric.columns:
        contents[f"column {name}"] = numeric[name].to_numpy(dtype="<f8").tobytes()
        contents[f"sorted column {name}"] = np.sort(numeric[name].to_numpy(dtype="<f8")).tobytes()
        contents[f"own bytes of {name}"] = numeric[name].to_numpy().tobytes()
    for name in private.columns.difference(numeric.columns):
        contents[f"text of {name}"] = "".join(map(str, private[name])).encode()
        contents[f"first cell of {name}"] = str(private[name][0]).encode()
    found = {}
    for what, content in contents.items():
        for law in ("md5", "sha1", "sha256", "sha512", "blake2b"):
            found[f"{law} of {what}"] = hashlib.new(law, content).hexdigest().encode()
    return found


@pytest.fixture
def private():
    """Two hundred records with marked cells in every kind of column."""
    rng = np.random.default_rng(77)
    table = pd.DataFrame(
        {
            "income": rng.lognormal(10, 1, 200),
            "age": rng.integers(18, 90, 200),
            "weight": rng.normal(70, 12, 200),
            "person": [f"{MARKED_TEXT}{i}" for i in range(200)],
            "region": pd.Categorical(rng.choice(["north", "south"], 200), categories=["north", "south", MARKED_TEXT]),
        }
    )
    table.loc[3, "income"] = MARKED_NUMBER
    table.loc[4, "age"] = MARKED_WHOLE
    return table


ROLES = {"person": "identifier", "region": "public"}


@pytest.fixture
def roles():
    return dict(ROLES)


@pytest.fixture
def secrets_of(tmp_path_factory):
    """Secrets of a key: everything that must not show."""
    folder = tmp_path_factory.mktemp("keys")
    return lambda key, seed=None: Secrets(key, folder, seed)


@pytest.fixture
def hashes():
    return unkeyed_hashes


@pytest.fixture
def rendered():
    return renderings


@pytest.fixture
def marks():
    """The marked cells as text and as bytes."""
    return {
        "number as text": b"31415926",
        "number in powers": b"3.14159265",
        "whole as text": str(MARKED_WHOLE).encode(),
        "text": MARKED_TEXT.encode(),
        "number as bytes": struct.pack("<d", MARKED_NUMBER),
        "whole as bytes": struct.pack("<q", MARKED_WHOLE),
        "whole as a double": struct.pack("<d", float(MARKED_WHOLE)),
    }
