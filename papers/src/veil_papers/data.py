"""The tables of the experiments: real ones from a folder, or stand-ins that say what they are.

``Source(folder)`` looks for the files by name. Without one a generator with the same number of columns and much the
same shape stands in; what only the real table can show is then left open.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.errors import FileFormatError, VeilError
from veil_papers import stand_ins
from veil_papers.arrays import Matrix
from veil_papers.drawings import four_drawings

FILES = {
    "adult": "adult_train.csv.gz",
    "letter": "letter_recognition.csv.gz",
    "control": "synthetic_control.csv.gz",
    "images": "ica_image_*.png",
    "sounds": "ica_audio_*.wav",
}
STAND_INS = {
    "adult": "32,561 generated people: whole numbers with Adult's ranges, spikes at full time and at high school",
    "letter": "20,000 generated letters: whole numbers 0 to 15, correlated as the first features of Letter are",
    "control": "600 generated control charts: normal, cyclic, trends up and down, shifts up and down",
    "images": "four drawings of 256 × 256 pixels",
    "sounds": "four generated sounds: a chord, a beat, a sweep and filtered noise",
}
CHARTS = ("normal", "cyclic", "increasing_trend", "decreasing_trend", "upward_shift", "downward_shift")
"""The classes of control charts, by their numbers."""
NUMBERS = ("age", "education-num", "hours-per-week", "fnlwgt")
RECORDS = {"adult": 32_561, "letter": 20_000, "control": 600}
SIDE = 256
SAMPLES = 13_129
"""As many as the paper's sounds have."""


@dataclass(frozen=True)
class Source:
    """Where the tables come from."""

    folder: Path | None = None

    def real(self, name: str) -> bool:
        """Whether the real table is there."""
        return bool(self._paths(name))

    def stand_ins(self, names: tuple[str, ...]) -> dict[str, str]:
        """What stands in for tables that are not there."""
        return {name: STAND_INS[name] for name in names if not self.real(name)}

    def check(self, names: tuple[str, ...]) -> None:
        """Read the tables that are there once, and refuse those that are not what their names say."""
        readers: dict[str, Callable[[], object]] = {
            "adult": lambda: (self.adult(NUMBERS), self.adult_columns(("sex", "race", "education", "income"))),
            "letter": self.letter,
            "control": self.control_charts,
            "images": self.images,
            "sounds": self.sounds,
        }
        for name in names:
            if self.real(name):
                readers[name]()

    def adult(self, columns: tuple[str, ...] = ("age", "education-num", "hours-per-week")) -> Matrix:
        """Columns of Adult (32,561 records) as numbers."""
        values = self.adult_columns(columns)
        return _matrix(values, self._paths("adult")[0]) if self.real("adult") else np.column_stack(values)

    def adult_columns(self, columns: tuple[str, ...]) -> list[npt.NDArray[Any]]:
        """Columns of Adult as they are: numbers or text."""
        if self.real("adult"):
            return self._columns("adult", columns)
        people = stand_ins.people(np.random.default_rng(5))
        return [people[name] for name in columns]

    def letter(self, n_columns: int = 6) -> Matrix:
        """The first numeric features of Letter (20,000 records)."""
        if self.real("letter"):
            return self._numbers("letter", 16)[:, :n_columns]
        return stand_ins.letters(np.random.default_rng(6))[:, :n_columns]

    def control_charts(self) -> tuple[Matrix, npt.NDArray[np.int64]]:
        """600 control charts of 60 points, and their classes: places in :data:`CHARTS`."""
        if not self.real("control"):
            return stand_ins.control_charts(np.random.default_rng(7))
        (names,) = self._columns("control", ("class",))
        with _reading(self._paths("control")[0]):
            classes = np.array([CHARTS.index(name) for name in names], dtype=np.int64)
        return self._numbers("control", 60), classes

    def images(self) -> Matrix:
        """Four grey images as rows of pixels (4 × 65,536)."""
        if not self.real("images"):
            return four_drawings(SIDE)
        return np.array([_grey(path) for path in self._four("images")])

    def sounds(self) -> Matrix:
        """Four sounds as rows of samples (4 × 40,000)."""
        if not self.real("sounds"):
            return stand_ins.sounds(np.random.default_rng(8))
        rows = [_samples(path) for path in self._four("sounds")]
        n = min(len(row) for row in rows)
        return np.array([row[:n] for row in rows])

    def _paths(self, name: str) -> list[Path]:
        return sorted(self.folder.glob(FILES[name])) if self.folder is not None else []

    def _four(self, name: str) -> list[Path]:
        paths = self._paths(name)
        if len(paths) < 4:
            raise FileFormatError(f"{self.folder} has {len(paths)} files {FILES[name]}; the experiments need 4")
        return paths[:4]

    def _numbers(self, name: str, n_columns: int) -> Matrix:
        """All numeric columns of a file, which must be so many."""
        path = self._paths(name)[0]
        table = self._table(name)
        names = [
            field.name for field in table.schema if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        ]
        if len(names) != n_columns:
            raise FileFormatError(f"{path} has {len(names)} numeric columns; the papers' table has {n_columns}")
        return _matrix([np.asarray(table.column(each)) for each in names], path)

    def _columns(self, name: str, columns: tuple[str, ...]) -> list[npt.NDArray[Any]]:
        table = self._table(name)
        with _reading(self._paths(name)[0]):
            return [np.asarray(column) for column in table.select(list(columns)).columns]

    def _table(self, name: str) -> pa.Table:
        """A file of as many records as the papers' table has."""
        from pyarrow import csv

        path = self._paths(name)[0]
        with _reading(path):
            table = csv.read_csv(path)
        if table.num_rows != RECORDS[name]:
            raise FileFormatError(f"{path} has {table.num_rows:,} records; the papers' table has {RECORDS[name]:,}")
        return table


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What goes wrong inside names the file."""
    try:
        yield
    except VeilError:
        raise
    except (OSError, ValueError, KeyError, SyntaxError, EOFError, Warning) as error:
        raise FileFormatError(f"{path} is not the table that its name says ({type(error).__name__})") from None


def _matrix(columns: list[npt.NDArray[Any]], path: Path) -> Matrix:
    """Columns as numbers, all of them there."""
    with _reading(path):
        values = np.column_stack([column.astype(np.float64) for column in columns])
    missing = int(np.isnan(values).sum())
    if missing:
        raise FileFormatError(f"{path} has {missing:,} missing values; the papers' table has none")
    return values


def _grey(path: Path) -> npt.NDArray[np.float64]:
    from veil_papers.figures import check_figures

    check_figures()
    from matplotlib import image

    with _reading(path):
        size = _png_size(path)
        if size != (SIDE, SIDE):
            raise FileFormatError(f"{path} has {size[0]} × {size[1]} pixels, not {SIDE} × {SIDE}")
        pixels = np.asarray(image.imread(path), dtype=np.float64)
        grey = (
            pixels[..., :3].mean(axis=-1)
            if pixels.ndim == 3 and pixels.shape[2] > 2
            else pixels.reshape(SIDE, SIDE, -1)[..., 0]
        )
    return _varied(grey.ravel(), path)


def _png_size(path: Path) -> tuple[int, int]:
    """Width and height, from the header: a small file may unpack to gigabytes."""
    with path.open("rb") as file:
        header = file.read(24)
    if len(header) < 24 or header[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("no PNG")
    return int.from_bytes(header[16:20], "big"), int.from_bytes(header[20:24], "big")


def _samples(path: Path) -> npt.NDArray[np.float64]:
    from scipy.io import wavfile

    with _reading(path), warnings.catch_warnings():
        warnings.simplefilter("error")  # a file that was cut off is read in part, with a warning
        samples = np.asarray(wavfile.read(path)[1], dtype=np.float64)
    if samples.ndim != 1 or len(samples) < SAMPLES:
        shape = " × ".join(f"{n:,}" for n in samples.shape)
        raise FileFormatError(f"{path} has {shape} samples; the experiments need one channel of {SAMPLES:,} or more")
    return _varied(samples, path)


def _varied(values: npt.NDArray[np.float64], path: Path) -> npt.NDArray[np.float64]:
    if not np.isfinite(values).all() or not np.ptp(values):
        raise FileFormatError(f"{path} has no content: all of its values are alike, or not numbers")
    return values
