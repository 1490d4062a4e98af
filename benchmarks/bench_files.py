"""From file to file: methods and an attack against pyarrow reading and writing the same table.

The copy uses Veil's own writer settings, batches of 65,536 rows and ``pre_buffer=False``, and computes nothing. Veil
also reads the table a first time (moments and a keyed fingerprint), hashes what it writes and syncs it to disk; the
copy does not. Ratios to a copy with pyarrow's default compression (Snappy) are printed without a limit.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from claims import Claims, alternating, options
from samples import numbers_file, size_of, texts_file

import veil
from veil import publish_file
from veil.attacks.folders import KnowledgeFiles, attack_file
from veil.data.files.writing import parquet_settings

BATCH_ROWS = 65_536


def copy(source: Path, target: Path, *, snappy: bool = False) -> None:
    """Read and write, nothing else; the files of a folder one after the other, into one."""
    files = sorted(source.glob("*.parquet")) if source.is_dir() else [source]
    schema = pq.read_schema(files[0])
    settings: dict[str, Any] = {"use_dictionary": False} if snappy else parquet_settings(schema)
    with pq.ParquetWriter(target, schema, **settings) as writer:
        for file in files:
            with pq.ParquetFile(file, pre_buffer=False) as reader:
                for batch in reader.iter_batches(batch_size=BATCH_ROWS):
                    writer.write_batch(batch)


class Desk:
    """A folder of its own, and what a run leaves in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.release, self.key, self.guess, self.copied = (home / n for n in ("r", "k", "g.parquet", "b.parquet"))

    def clean(self) -> None:
        """Remove what a run left."""
        for path in (self.release, self.guess):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self.key.unlink(missing_ok=True)
        self.copied.unlink(missing_ok=True)

    def publish(self, source: Path, method: veil.Perturbation) -> None:
        """Publish into the desk's release."""
        publish_file(source, method, self.release, new_key=self.key)

    def attack(self, release: Path) -> None:
        """Attack a release by A6."""
        attack_file(release, veil.BayesEstimateAttack(), self.guess, KnowledgeFiles())


def compare(claims: Claims, desk: Desk, name: str, ours: Any, source: Path, most: float | None) -> None:
    """One claim against a copy of ``source``, and the same against a Snappy copy."""
    same, snappy = partial(copy, source, desk.copied), partial(copy, source, desk.copied, snappy=True)
    mine, plain, other = alternating(ours, same, snappy, clean=desk.clean)
    claims.ratio(name, mine, plain, most)
    claims.ratio(f"{name}, against Snappy", mine, other)


def sizes(desk: Desk, name: str, source: Path, method: veil.Perturbation) -> None:
    """Print how large files become."""
    desk.clean()
    desk.publish(source, method)
    made = size_of(desk.release / "data.parquet")
    copy(source, desk.copied)
    same = size_of(desk.copied)
    desk.copied.unlink()
    copy(source, desk.copied, snappy=True)
    said = (size_of(source), same, size_of(desk.copied), made)
    mb = "table {:.0f} MB, copy {:.0f} MB, Snappy copy {:.0f} MB, release {:.0f} MB".format(*(s / 1e6 for s in said))
    print(f"{name}: {mb}", flush=True)
    desk.clean()


def main() -> int:
    """Measure and print."""
    rows = options(__doc__, rows=2_000_000)
    claims = Claims(judge=not rows.quick)
    with tempfile.TemporaryDirectory(prefix="veil-bench-") as folder:
        home = Path(folder)
        desk = Desk(home)
        numbers, texts = numbers_file(home / "n.parquet", rows.rows), texts_file(home / "t.parquet", rows.rows)
        shape = f"{rows.rows:,} × 20"
        rotation, noise, response = veil.OrthogonalTransform(), veil.AdditiveNoise(), veil.RandomizedResponse(keep=0.8)
        compare(claims, desk, f"P6, {shape}", partial(desk.publish, numbers, rotation), numbers, 1.25)
        compare(claims, desk, f"P1 normal, {shape}", partial(desk.publish, numbers, noise), numbers, 1.7)
        words = f"{rows.rows:,} × 10 texts"
        compare(claims, desk, f"P16, {words}", partial(desk.publish, texts, response), texts, 1.8)
        publish_file(numbers, noise, home / "release", new_key=home / "key")
        attack, data = partial(desk.attack, home / "release"), home / "release" / "data.parquet"
        compare(claims, desk, f"A6, {shape}, against a copy of the table", attack, numbers, 2.3)
        compare(claims, desk, f"A6, {shape}, against a copy of the release", attack, data, None)
        sizes(desk, "P6", numbers, rotation)
        sizes(desk, "P1 normal", numbers, noise)
        sizes(desk, "P16", texts, response)
    return claims.status()


if __name__ == "__main__":
    sys.exit(main())
