"""The report as data: frozen, frame-free, and already cut down to its edition.

Renderers read only this. What is not in the model cannot leak through a renderer: the
external edition holds rates, intervals, binned counts with small cells suppressed and the
names of columns, and nothing about single records.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

MODEL_VERSION = 2


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
class BreakView:
    """The least knowledge of one kind with which a goal is shown to break, and the attack that does it."""

    knowledge: str
    kind: str
    attack: str


@dataclass(frozen=True)
class RiskView:
    """One of the three risks that regulators ask about, at the strongest attack that bears on it.

    ``risk`` is "singling out" (whole records come back), "linkability" (people of another table are found) or
    "inference" (single values are guessed). Where nothing was measured, ``note`` says why.
    """

    risk: str
    words: str
    attack: str | None
    knowledge: str | None
    score: ScoreView | None
    note: str


@dataclass(frozen=True)
class ColumnView:
    """The highest advantage on one column, and the attack and knowledge that reach it."""

    name: str
    advantage: float
    attack: str
    knowledge: str


@dataclass(frozen=True)
class CandidateView:
    """One perturbation: verdict, strongest attack, curve over knowledge, utility, all rows.

    ``breaks`` is the least knowledge of each kind that breaks a goal, ``risks`` the three that regulators ask about,
    ``columns`` every scored column, the most exposed first. ``not_run`` says, attack by attack, why one that has a
    theory for the method could not run.
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
    not_run: tuple[str, ...] = ()
    breaks: tuple[BreakView, ...] = ()
    risks: tuple[RiskView, ...] = ()
    columns: tuple[ColumnView, ...] = ()


@dataclass(frozen=True)
class PointView:
    """One setting of a method that the advice tried: its risk, as the goals see it, and its utility."""

    label: str
    method: str
    risk: float
    utility: float
    passed: bool
    recommended: bool
    why: str


@dataclass(frozen=True)
class AdviceView:
    """What was recommended and why; ``points`` are all settings tried, ``rejected`` says per method why not.

    ``recommendation`` is None when no method keeps every goal; ``nearest`` is then the nearest miss, in words.
    """

    recommendation: str | None
    words: str
    nearest: str | None
    utilities: tuple[str, ...]
    points: tuple[PointView, ...]
    rejected: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ReportModel:
    """Everything a renderer may know.

    ``matching`` says how released rows were matched to private ones: "known", or "inferred" for a release from
    elsewhere whose row order is not known. ``remarks`` are sentences about the audit as a whole.
    """

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
    matching: str = "known"
    remarks: tuple[str, ...] = ()
    advice: AdviceView | None = None

    def __post_init__(self) -> None:
        if self.edition != "internal" and any(candidate.records for candidate in self.candidates):
            raise ValueError("single records belong in the internal edition only")

    def to_dict(self) -> dict[str, Any]:
        """The model as plain JSON values."""
        return asdict(self)
