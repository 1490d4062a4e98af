"""The tables of the experiments: real ones from a folder, or stand-ins that say what they are.

``Source(folder)`` looks for the files by name. Without one a generator with the same number of columns and much the
same shape stands in; what only the real table can show is then left open.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.reproduce.drawings import four_drawings

Matrix = npt.NDArray[np.float64]
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


@dataclass(frozen=True)
class Source:
    """Where the tables come from."""

    folder: Path | None = None

    def real(self, name: str) -> bool:
        """Whether the real table is there."""
        return self.folder is not None and any(self.folder.glob(FILES[name]))

    def stand_ins(self, names: tuple[str, ...]) -> dict[str, str]:
        """What stands in for tables that are not there."""
        return {name: STAND_INS[name] for name in names if not self.real(name)}

    def adult(self, columns: tuple[str, ...] = ("age", "education-num", "hours-per-week")) -> Matrix:
        """Columns of Adult (32,561 records) as numbers."""
        if self.real("adult"):
            return self._csv("adult", columns)
        made = _adult(np.random.default_rng(5))
        return np.column_stack([made[name] for name in columns])

    def adult_columns(self, columns: tuple[str, ...]) -> list[npt.NDArray[Any]]:
        """Columns of Adult as they are: numbers or text."""
        if self.real("adult"):
            return self._columns("adult", columns)
        made = _adult(np.random.default_rng(5))
        return [made[name] for name in columns]

    def letter(self, n_columns: int = 6) -> Matrix:
        """The first numeric features of Letter (20,000 records)."""
        if self.real("letter"):
            names = self._names("letter")
            found: Matrix = self._csv("letter", tuple(names))[:, :n_columns]
            return found
        return _letter(np.random.default_rng(6))[:, :n_columns]

    def control_charts(self) -> tuple[Matrix, npt.NDArray[np.int64]]:
        """600 control charts of 60 points, and their classes: places in :data:`CHARTS`."""
        if self.real("control"):
            (names,) = self._columns("control", ("class",))
            classes = np.array([CHARTS.index(name) for name in names], dtype=np.int64)
            return self._csv("control", tuple(self._names("control"))), classes
        return _control(np.random.default_rng(7))

    def images(self) -> Matrix:
        """Four grey images as rows of pixels (4 × 65,536)."""
        if self.real("images") and self.folder is not None:
            return np.array([_grey(path) for path in sorted(self.folder.glob(FILES["images"]))[:4]])
        return four_drawings()

    def sounds(self) -> Matrix:
        """Four sounds as rows of samples (4 × 40,000)."""
        if self.real("sounds") and self.folder is not None:
            from scipy.io import wavfile

            rows = [wavfile.read(path)[1].astype(np.float64) for path in sorted(self.folder.glob(FILES["sounds"]))[:4]]
            n = min(len(row) for row in rows)
            return np.array([row[:n] for row in rows])
        return _sounds(np.random.default_rng(8))

    def _path(self, name: str) -> Path:
        assert self.folder is not None  # noqa: S101 - asked only where the table is there
        return next(self.folder.glob(FILES[name]))

    def _names(self, name: str) -> list[str]:
        """The numeric columns of a file."""
        from veil.files import open_table

        return list(open_table(self._path(name)).numeric())

    def _columns(self, name: str, columns: tuple[str, ...]) -> list[npt.NDArray[Any]]:
        from veil.files import open_table

        return [np.asarray(column) for column in open_table(self._path(name)).read(list(columns)).columns]

    def _csv(self, name: str, columns: tuple[str, ...]) -> Matrix:
        return np.column_stack([column.astype(np.float64) for column in self._columns(name, columns)])


def _adult(rng: np.random.Generator, n: int = 32_561) -> dict[str, npt.NDArray[np.float64]]:
    age = np.clip(np.rint(17 + rng.gamma(2.2, 10.0, n)), 17, 90)
    education = rng.choice([9, 10, 13, 14, 7, 6, 11, 12, 5, 4, 16, 15], n, p=_shares(12))
    hours = np.where(rng.random(n) < 0.47, 40, np.clip(np.rint(rng.normal(40, 15, n)), 1, 99))
    weight = np.rint(np.clip(rng.lognormal(12.0, 0.55, n), 12_285, 1_484_705))
    people = {"age": age, "education-num": education, "hours-per-week": hours, "fnlwgt": weight}
    for name, k in (("sex", 2), ("race", 5)):
        people[name] = rng.choice(k, n, p=_shares(k))
    people["education"] = education
    people["income"] = rng.random(n) < np.clip(0.055 * (education - 7) + 0.004 * (age - 35), 0.02, 0.8)
    return {name: np.asarray(values, dtype=np.float64) for name, values in people.items()}


def _shares(k: int) -> npt.NDArray[np.float64]:
    weights = 0.62 ** np.arange(k)
    return np.asarray(weights / weights.sum())


def _letter(rng: np.random.Generator, n: int = 20_000) -> Matrix:
    common = rng.normal(size=(n, 2))
    weights = np.array([[0.85, 0.0], [0.75, 0.45], [0.9, -0.1], [0.8, 0.4], [0.75, -0.2], [0.1, -0.3]])
    spread, centre = np.array([1.9, 3.3, 2.0, 2.3, 2.2, 2.0]), np.array([4.0, 7.0, 5.1, 5.4, 3.5, 6.9])
    own = np.sqrt(1 - (weights**2).sum(axis=1))
    values = common @ weights.T + rng.normal(size=(n, 6)) * own
    return np.asarray(np.clip(np.rint(values * spread + centre), 0, 15))


def _control(rng: np.random.Generator) -> tuple[Matrix, npt.NDArray[np.int64]]:
    """Alcock and Manolopoulos 1999: a base of 30, noise of ±6, and one of six shapes."""
    t, charts, classes = np.arange(60), [], []
    for kind in range(6):
        for _ in range(100):
            shape: npt.NDArray[Any] = np.zeros(60)
            if kind == 1:
                shape = rng.uniform(10, 15) * np.sin(2 * np.pi * t / rng.uniform(10, 15))
            elif kind in (2, 3):
                shape = rng.uniform(0.2, 0.5) * t * (1 if kind == 2 else -1)
            elif kind in (4, 5):
                shape = rng.uniform(7.5, 20) * (t >= rng.integers(20, 40)) * (1 if kind == 4 else -1)
            charts.append(30 + rng.uniform(-3, 3, 60) * 2 + shape)
            classes.append(kind)
    return np.array(charts), np.array(classes, dtype=np.int64)


def _grey(path: Path) -> npt.NDArray[np.float64]:
    from matplotlib import image

    pixels = np.asarray(image.imread(path), dtype=np.float64)
    return np.asarray((pixels[..., :3].mean(axis=-1) if pixels.ndim == 3 else pixels).ravel())


def _sounds(rng: np.random.Generator, n: int = 40_000) -> Matrix:
    t = np.arange(n) / 8_000
    chord = np.sign(np.sin(2 * np.pi * 220 * t)) + np.sin(2 * np.pi * 331 * t)
    beat = np.exp(-8 * (t % 0.5)) * rng.normal(size=n)
    sweep = np.sin(2 * np.pi * (200 * t + 60 * t**2)) ** 3
    smooth = np.convolve(rng.laplace(size=n), np.ones(6) / 6, mode="same") * (0.2 + np.sin(2 * np.pi * 0.7 * t) ** 2)
    return np.array([chord, beat, sweep, smooth])
