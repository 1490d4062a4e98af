"""Figures in one style: curves with bands, points, bars and images, drawn by matplotlib as SVG and PNG."""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.errors import MissingExtraError
from veil_papers.files import write_file

COLOURS = ("#1b6ca8", "#d1495b", "#3c887e", "#edae49", "#66548e", "#7d7d7d")
Values = Sequence[float] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """One curve: values over x, with a band from ``low`` to ``high`` where there is one.

    ``kind`` is "line", "points" (measured), "thin" (many values), "dashed" (theory) or "paper" (values that the paper
    prints). A curve without a label is not in the legend.
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
    shareable: bool = field(default=True, kw_only=True)
    """Whether it may go with published pages: not if it shows somebody's picture."""

    @abstractmethod
    def draw(self, axes: Any) -> None:
        """Draw into matplotlib axes."""

    def head(self, axes: Any) -> None:
        """Write the title."""
        axes.set_title(self.title, fontsize=10, loc="left")


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
            styles: dict[str, dict[str, Any]] = {
                "line": {"marker": "o", "markersize": 3.5, "linewidth": 1.6},
                "points": {"marker": "o", "markersize": 4.5, "linestyle": "none"},
                "thin": {"linewidth": 0.9},
                "dashed": {"linestyle": (0, (4, 2)), "linewidth": 1.3},
                "paper": {"marker": "x", "markersize": 7, "markeredgewidth": 2, "linestyle": "none"},
            }
            axes.plot(curve.x, curve.y, color=colour, label=curve.label or None, **styles[curve.kind])
            if curve.low is not None and curve.high is not None:
                axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.15, linewidth=0)
        _marks(axes, self.marks)
        axes.set(xlabel=self.x_label, ylabel=self.y_label)
        if all(float(x).is_integer() for curve in self.curves for x in curve.x):
            axes.xaxis.get_major_locator().set_params(integer=True)
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
            size = 12 if len(cloud) > 60 else 45
            axes.scatter(cloud[:, 0], cloud[:, 1], s=size, alpha=0.7, color=COLOURS[i % len(COLOURS)], label=label)
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
    """Distributions of one quantity, as step curves of equal area; of shares over a logarithmic axis if ``log``."""

    x_label: str
    samples: tuple[tuple[str, Values], ...]
    bins: int = field(default=60, kw_only=True)
    marks: tuple[tuple[float, str], ...] = field(default=(), kw_only=True)
    log: bool = field(default=False, kw_only=True)

    def draw(self, axes: Any) -> None:
        """Draw into matplotlib axes."""
        everything = np.concatenate([np.asarray(values, dtype=np.float64) for _, values in self.samples])
        low, high = float(everything.min()), float(everything.max())
        edges = np.geomspace(low, high, self.bins + 1) if self.log else np.linspace(low, high, self.bins + 1)
        for i, (label, values) in enumerate(self.samples):
            colour = COLOURS[i % len(COLOURS)]
            heights: dict[str, Any] = (
                {"weights": np.full(len(values), 1 / len(values))} if self.log else {"density": True}
            )
            axes.hist(values, edges, histtype="stepfilled", alpha=0.25, color=colour, **heights)
            axes.hist(values, edges, histtype="step", color=colour, label=label, **heights)
        _marks(axes, self.marks)
        axes.set(xlabel=self.x_label, ylabel="share" if self.log else "density")
        if self.log:
            axes.set_xscale("log")
            _plain_numbers(axes.xaxis)
        _legend(axes)


@dataclass(frozen=True)
class Panels(Figure):
    """Several small pictures of one kind under one title, with one legend."""

    parts: tuple[Figure, ...]
    columns: int = field(default=3, kw_only=True)

    def draw(self, axes: Any) -> None:
        """Draw into matplotlib axes."""
        axes.set_axis_off()
        grid = axes.get_subplotspec().subgridspec(-(-len(self.parts) // self.columns), self.columns)
        for i, part in enumerate(self.parts):
            inner = axes.figure.add_subplot(grid[i // self.columns, i % self.columns])
            part.draw(inner)
            inner.set_title(part.title, fontsize=8, loc="left")
            if inner.get_legend() is not None:
                inner.get_legend().remove()
        handles, labels = inner.get_legend_handles_labels()
        axes.figure.legend(handles, labels, frameon=False, fontsize=8, loc="outside lower left", ncols=4)

    def head(self, axes: Any) -> None:
        """Write the title above all panels."""
        axes.figure.suptitle(self.title, fontsize=10, x=0.01, ha="left")


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


def _marks(axes: Any, marks: Sequence[tuple[float, str]]) -> None:
    """Vertical lines with their labels along them."""
    box = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.8}
    place = {"xycoords": ("data", "axes fraction"), "rotation": 90, "va": "top", "ha": "center"}
    for at, label in marks:
        axes.axvline(at, color="#666666", linewidth=0.9, linestyle=":")
        axes.annotate(label, (at, 0.98), fontsize=8, bbox=box, **place)


def _legend(axes: Any) -> None:
    """Beside the picture, so that it hides nothing."""
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def _plain_numbers(axis: Any) -> None:
    """0.5, 2 and 1,000 on a logarithmic axis instead of powers of ten; 1, 2 and 5 of each where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def figure_names(name: str, n_figures: int) -> list[str]:
    """``NAME``, ``NAME-2``, ``NAME-3`` and so on."""
    return [name if i == 0 else f"{name}-{i + 1}" for i in range(n_figures)]


def save_figures(figures: Sequence[Figure], folder: Path, name: str) -> list[Path]:
    """Draw figures as ``NAME.svg`` and ``NAME.png``."""
    if not figures:
        return []
    pyplot = _pyplot()
    written = []
    for stem, figure in zip(figure_names(name, len(figures)), figures, strict=True):
        with pyplot.rc_context():
            pyplot.rcdefaults()  # not the user's own style
            pyplot.rcParams.update(STYLE)
            canvas, axes = pyplot.subplots(figsize=(figure.width, figure.height), layout="constrained")
            figure.draw(axes)
            figure.head(axes)
            for ending in ("svg", "png"):
                drawn = io.BytesIO()
                canvas.savefig(drawn, format=ending, dpi=130, metadata={"Date": None} if ending == "svg" else None)
                path = folder / f"{stem}.{ending}"
                write_file(path, drawn.getvalue())
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


def check_figures() -> None:
    """Refuse now, not after the work, if figures cannot be drawn."""
    _pyplot()


def _pyplot() -> Any:
    os.environ["MPLBACKEND"] = "Agg"  # read on import, where another could fail
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("figures need matplotlib: pip install veil-papers") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
