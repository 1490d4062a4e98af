"""Tables to measure on, made block by block, so that making them takes little memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS = 1 << 20


def numbers_file(path: Path, rows: int, columns: int = 20, seed: int = 0) -> Path:
    """A Parquet file of normal values of 53 random bits, so that nothing compresses well."""
    rng = np.random.default_rng(seed)
    schema = pa.schema([(f"c{j}", pa.float64()) for j in range(columns)])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for start in range(0, rows, GROUP_ROWS):
            n = min(GROUP_ROWS, rows - start)
            writer.write_table(pa.table([rng.normal(50, 10, n) for _ in range(columns)], schema=schema))
    return path


def texts_file(path: Path, rows: int, columns: int = 10, categories: int = 12, seed: int = 0) -> Path:
    """A Parquet file of text columns of a few categories each."""
    rng = np.random.default_rng(seed)
    words = np.array([f"category {i}" for i in range(categories)])
    schema = pa.schema([(f"s{j}", pa.string()) for j in range(columns)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, GROUP_ROWS):
            n = min(GROUP_ROWS, rows - start)
            drawn = [pa.array(words[rng.integers(0, categories, n)]) for _ in range(columns)]
            writer.write_table(pa.table(drawn, schema=schema))
    return path


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)
