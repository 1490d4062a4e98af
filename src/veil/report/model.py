"""The report as data: frozen, frame-free, and already cut down to its edition.

Renderers read only this. What is not in the model cannot leak through a renderer: the
external edition holds rates, intervals, binned counts with small cells suppressed and the
names of columns, and nothing about single records.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

MODEL_VERSION = 1


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ScoreView:
    """A rate of breaches, the rate of the best constant guess, and the advantage over it."""

    rate: Estimate
    baseline: float
    advantage: Estimate


@dataclass(frozen=True)
class Picture:
    """Counts of (original, guess) in bins of standard units, small cells suppressed."""

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    n_values: int
    n_suppressed: int
    n_outside: int


@dataclass(frozen=True)
class RowView:
    """One attack with one level of knowledge."""

    attack: str
    catalogue: str
    attack_words: str
    knowledge: str
    value: ScoreView
    record: ScoreView
    worst_column: str
    column: ScoreView
    far_out: ScoreView | None
    nrmse: float
    advantage: Estimate
    ambiguity: str
    repetitions: int
    seconds: float
    passed: bool
    failures: tuple[str, ...]


@dataclass(frozen=True)
class LevelView:
    """A knowledge level and the strongest attack with it or less (None: no attack applies).

    ``state`` says how the goals fare: "holds", "breaks", "no attack" (none applies) or "not counted"
    (the owner set no goal against this knowledge). ``upper`` is the highest upper limit of an
    advantage, which is what the goal is held against.
    """

    label: str
    kind: str
    words: str
    strongest: str | None
    advantage: Estimate | None
    upper: float | None
    state: str


@dataclass(frozen=True)
class CandidateView:
    """One perturbation: verdict, strongest attack, curve over knowledge, utility, all rows.

    ``not_played`` says, attack by attack, why one that has a theory for the method could not run.
    """

    label: str
    method: str
    catalogue: str
    guarantee: str
    threat: str
    passed: bool
    verdict: str
    failures: tuple[str, ...]
    strongest: RowView | None
    levels: tuple[LevelView, ...]
    utility: dict[str, Estimate]
    rows: tuple[RowView, ...]
    picture: Picture | None
    records: tuple[tuple[int, float], ...]
    not_played: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportModel:
    """Everything a renderer may know."""

    model_version: int
    edition: str
    date: str
    passed: bool
    headline: str
    n_rows: int
    columns: tuple[str, ...]
    max_advantage: float
    tolerance: float
    min_utility: dict[str, float]
    smallest_cell: int
    candidates: tuple[CandidateView, ...]
    context: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The model as plain JSON values."""
        return asdict(self)
