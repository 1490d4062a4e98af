"""Figures in one style: curves with bands, points, bars and images, drawn by matplotlib as SVG and PNG."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.errors import MissingExtraError

COLOURS = ("#1b6ca8", "#d1495b", "#3c887e", "#edae49", "#66548e", "#7d7d7d")
Values = Sequence[float] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """One curve: values over x, with a band from ``low`` to ``high`` where there is one.

    ``kind`` is "line", "points" (measured), "dashed" (theory) or "paper" (values that the paper prints).
    """

    label: str
    x: Values
    y: Values
    low: Values | None = None
    high: Values | None = None
    kind: str = "line"
    colour: int | None = None


@dataclass(frozen=True)
class Figure(ABC):
    """A picture with a title that says what it shows."""

    title: str
    caption: str = field(default="", kw_only=True)
    width: float = field(default=7.2, kw_only=True)
    height: float = field(default=3.6, kw_only=True)

    @abstractmethod
    def draw(self, axes: Any) -> None:
        """Draw into matplotlib axes."""


@dataclass(frozen=True)
class Curves(Figure):
    """Curves over one axis; ``marks`` are vertical lines with a label."""

    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log: str = field(default="", kw_only=True)
    marks: tuple[tuple[float, str], ...] = field(default=(), kw_only=True)

    def draw(self, axes: Any) -> None:
        """Draw into matplotlib axes."""
        for i, curve in enumerate(self.curves):
            colour = COLOURS[(i if curve.colour is None else curve.colour) % len(COLOURS)]
            style = {
                "line": {"marker": "o", "markersize": 3.5, "linewidth": 1.6},
                "points": {"marker": "o", "markersize": 4.5, "linestyle": "none"},
                "dashed": {"linestyle": (0, (4, 2)), "linewidth": 1.3},
                "paper": {"marker": "x", "markersize": 7, "markeredgewidth": 2, "linestyle": "none"},
            }[curve.kind]
            axes.plot(curve.x, curve.y, color=colour, label=curve.label, **style)
            if curve.low is not None and curve.high is not None:
                axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.15, linewidth=0)
        for at, label in self.marks:
            axes.axvline(at, color="#888888", linewidth=0.9, linestyle=":")
            axes.annotate(label, (at, 0.98), xycoords=("data", "axes fraction"), fontsize=8, va="top", rotation=90)
        axes.set(xlabel=self.x_label, ylabel=self.y_label)
        for axis in self.log:
            getattr(axes, f"set_{axis}scale")("log")
            _plain_numbers(getattr(axes, f"{axis}axis"))
        _legend(axes)


@dataclass(frozen=True)
class Points(Figure):
    """Clouds of points by label."""

    x_label: str
    y_label: str
    clouds: tuple[tuple[str, npt.NDArray[np.float64]], ...]
    equal: bool = field(default=True, kw_only=True)

    def draw(self, axes: Any) -> None:
        """Draw into matplotlib axes."""
        for i, (label, cloud) in enumerate(self.clouds):
            axes.scatter(cloud[:, 0], cloud[:, 1], s=12, alpha=0.7, color=COLOURS[i % len(COLOURS)], label=label)
        axes.set(xlabel=self.x_label, ylabel=self.y_label)
        if self.equal:
            axes.set_aspect("equal", adjustable="datalim")
        _legend(axes)


@dataclass(frozen=True)
class Bars(Figure):
    """Groups of bars: one group per label on the axis, one bar per series."""

    labels: tuple[str, ...]
    y_label: str
    series: tuple[tuple[str, Values], ...]

    def draw(self, axes: Any) -> None:
        """Draw into matplotlib axes."""
        at, width = np.arange(len(self.labels)), 0.8 / len(self.series)
        for i, (label, values) in enumerate(self.series):
            shift = (i - (len(self.series) - 1) / 2) * width
            axes.bar(at + shift, values, width * 0.92, color=COLOURS[i % len(COLOURS)], label=label)
        axes.set_xticks(at, self.labels, fontsize=8)
        axes.set_ylabel(self.y_label)
        _legend(axes)


@dataclass(frozen=True)
class Histogram(Figure):
    """Distributions of one quantity, as step curves of equal area."""

    x_label: str
    samples: tuple[tuple[str, Values], ...]
    bins: int = field(default=60, kw_only=True)
    marks: tuple[tuple[float, str], ...] = field(default=(), kw_only=True)

    def draw(self, axes: Any) -> None:
        """Draw into matplotlib axes."""
        everything = np.concatenate([np.asarray(values, dtype=np.float64) for _, values in self.samples])
        edges = np.linspace(everything.min(), everything.max(), self.bins + 1)
        for i, (label, values) in enumerate(self.samples):
            axes.hist(values, edges, density=True, histtype="stepfilled", alpha=0.25, color=COLOURS[i % len(COLOURS)])
            axes.hist(values, edges, density=True, histtype="step", color=COLOURS[i % len(COLOURS)], label=label)
        for at, label in self.marks:
            axes.axvline(at, color="#444444", linewidth=1.0, linestyle=":", label=label)
        axes.set(xlabel=self.x_label, ylabel="density")
        _legend(axes)


@dataclass(frozen=True)
class Images(Figure):
    """Grey images in rows, each with a label: originals above, mixtures, what was recovered."""

    rows: tuple[tuple[str, tuple[npt.NDArray[np.float64], ...]], ...]

    def draw(self, axes: Any) -> None:
        """Draw into matplotlib axes."""
        axes.set_axis_off()
        n_rows, n_columns = len(self.rows), max(len(images) for _, images in self.rows)
        for r, (label, images) in enumerate(self.rows):
            for c, image in enumerate(images):
                inner = axes.inset_axes([c / n_columns, 1 - (r + 1) / n_rows, 0.97 / n_columns, 0.9 / n_rows])
                inner.imshow(image, cmap="gray")
                inner.set_axis_off()
            axes.text(-0.01, 1 - (r + 0.55) / n_rows, label, rotation=90, va="center", ha="right", fontsize=9)


def _legend(axes: Any) -> None:
    """Beside the picture, so that it hides nothing."""
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def _plain_numbers(axis: Any) -> None:
    """0.5, 2 and 100 on a logarithmic axis instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter

    shown = FuncFormatter(lambda value, _: f"{value:g}")
    axis.set_major_formatter(shown)
    low, high = axis.get_view_interval()
    if high < 10 * low:  # few powers of ten to go by
        axis.set_minor_formatter(shown)
        axis.set_tick_params(which="minor", labelsize=7)
    else:
        axis.set_minor_formatter(FuncFormatter(lambda *_: ""))


def save_figures(figures: Sequence[Figure], folder: Path, name: str) -> list[Path]:
    """Draw figures as ``NAME.svg`` and ``NAME.png`` (``NAME-2.svg`` and so on for more of them)."""
    if not figures:
        return []
    pyplot = _pyplot()
    written = []
    for i, figure in enumerate(figures):
        with pyplot.rc_context(STYLE):
            canvas, axes = pyplot.subplots(figsize=(figure.width, figure.height), layout="constrained")
            figure.draw(axes)
            axes.set_title(figure.title, fontsize=10, loc="left")
            stem = name if i == 0 else f"{name}-{i + 1}"
            for ending in ("svg", "png"):
                path = folder / f"{stem}.{ending}"
                canvas.savefig(path, dpi=130, metadata={"Date": None} if ending == "svg" else None)
                written.append(path)
            pyplot.close(canvas)
    return written


STYLE = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "svg.hashsalt": "veil",
    "svg.fonttype": "none",
}


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("figures need matplotlib: pip install 'veil[reproduce]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
