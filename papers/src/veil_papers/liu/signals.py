"""What the independent-signals experiments share: separate mixtures of four images or sounds, and compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import veil
from veil import measures
from veil_papers.arrays import Matrix
from veil_papers.drawings import four_drawings
from veil_papers.experiment import Context, Table
from veil_papers.figures import Bars, Images

Mixing = Callable[[int], veil.Perturbation]
SIDE = 256


@dataclass(frozen=True)
class Separated:
    """|Correlation| of each source with its match, one to one, and with the nearest signal (matrices × sources)."""

    matched: npt.NDArray[np.float64]
    nearest: npt.NDArray[np.float64]
    n_signals: int
    released: Matrix
    signals: Matrix

    @property
    def some(self) -> float:
        """Share of matrices for which some source is found with a correlation of .9."""
        return float((self.nearest.max(axis=1) >= 0.9).mean())

    def table(self, name: str = "correlations") -> Table:
        """All numbers."""
        rows = tuple(
            (r, j + 1, float(self.matched[r, j]), float(self.nearest[r, j]))
            for r in range(len(self.matched))
            for j in range(self.matched.shape[1])
        )
        return Table(name, ("matrix", "source", "matched", "nearest"), rows)


def rotation(seed: int) -> veil.Perturbation:
    """A random orthogonal matrix."""
    return veil.OrthogonalTransform(scaling=None, dither=False, random_state=seed)


def projection(seed: int) -> veil.Perturbation:
    """Two mixtures."""
    return veil.RandomProjection(2, scaling=None, dither=False, random_state=seed)


def separated(context: Context, x: Matrix, mixing: Mixing, matrices: int, variant: str = "paper") -> Separated:
    """Mix sources (columns of x) by new matrices, and separate them by their independence."""
    matched, nearest = np.empty((matrices, x.shape[1])), np.empty((matrices, x.shape[1]))
    released, signals = x, x
    for r in range(matrices):
        release, _ = veil.publish(x, mixing(int(context.rng(r).integers(2**31))))
        guess = veil.ICAAttack(variant=variant).run(release, veil.IndependentSignals())
        released, signals = release.to_numpy(), np.asarray(guess.details["signals"])
        matched[r] = measures.match_signals(x, signals).correlations
        both = np.corrcoef(x.T, signals.T)
        nearest[r] = np.abs(both[: x.shape[1], x.shape[1] :]).max(axis=1)
        context.step(f"{variant} variant", r + 1, matrices)
    return Separated(matched, nearest, signals.shape[1], released, signals)


def listed(values: npt.NDArray[np.float64]) -> str:
    """Numbers in one line."""
    return ", ".join(f"{value:.3f}" for value in values)


def thinned_images(context: Context) -> tuple[Matrix, int]:
    """Four images as columns of pixels, and their side; every fourth row and column in a quick run."""
    return _thinned(context, context.source.images())


def image_figures(context: Context, title: str, x: Matrix, separation: Separated, mixing: Mixing) -> tuple[Images, ...]:
    """Originals, mixtures and what was found: of drawings that anyone may show, then of the images themselves."""
    drawings, side = _thinned(context, four_drawings(SIDE))
    shown = [Images(f"{title} (drawings)", _rows(drawings, separated(context, drawings, mixing, 1), side), height=5.6)]
    if context.source.real("images"):
        shown.append(Images(f"{title} (photographs)", _rows(x, separation, side), height=5.6, shareable=False))
    return tuple(shown)


def _thinned(context: Context, images: Matrix) -> tuple[Matrix, int]:
    step = context.pick(1, 4)
    pixels = images.reshape(-1, SIDE, SIDE)[:, ::step, ::step]
    return np.ascontiguousarray(pixels.reshape(len(pixels), -1).T), pixels.shape[1]


def _rows(x: Matrix, separation: Separated, side: int) -> tuple[tuple[str, tuple[Matrix, ...]], ...]:
    signals = (
        measures.matched_signals(x, separation.signals) if separation.n_signals == x.shape[1] else separation.signals
    )
    columns = {"private": x, "released": separation.released, "separated": signals}
    return tuple((name, tuple(image.reshape(side, side) for image in part.T)) for name, part in columns.items())


def nearest_bars(title: str, separations: tuple[tuple[str, Separated], ...]) -> Bars:
    """Medians over matrices of the nearest signal's correlation."""
    labels = tuple(f"source {j + 1}" for j in range(separations[0][1].nearest.shape[1]))
    return Bars(title, labels, "median |correlation|", tuple((n, np.median(f.nearest, axis=0)) for n, f in separations))
