"""What advice found: a recommendation or the nearest miss, the frontier, and why not the others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import overload

from veil.auditing import Audit
from veil.auditing.result import notebook
from veil.perturbations import Perturbation
from veil.publishing.plan import Plan
from veil.report.model import AdviceView, PointView, ReportModel
from veil.report.values import AdviceState


@dataclass(frozen=True)
class Point:
    """One setting that was tried.

    Attributes
    ----------
    label, method
        The setting in words, and its method.
    strength
        Its parameter; None for a method that has none.
    risk
        The highest advantage that another audit would be held to, with 99 % confidence.
    utility
        The mean of the utilities that count.
    utilities
        All of them.
    passed
        Whether every goal holds, as far as was tried.
    why
        What fails, or how it was shown to hold.
    """

    label: str
    method: str
    strength: float | None
    risk: float
    utility: float
    utilities: dict[str, float] = field(hash=False)
    passed: bool
    why: str


@dataclass(frozen=True)
class Advice:
    """The answer of :func:`veil.advise`.

    Attributes
    ----------
    recommendation
        The method with its parameters, ready to :func:`veil.publish`; None when no method keeps every goal.
    frontier
        The settings that no other beats in both risk and utility, from useful to private.
    points
        All settings that were tried.
    rejected
        Methods that were not recommended, and why, in words.
    words
        The recommendation in words.
    nearest
        The nearest miss in words, when there is no recommendation.
    audit
        The audit of what is recommended, over as many keys as an audit takes, or of the nearest miss.
    state
        "recommended"; "impossible" where no method that was tried keeps every goal; "out of time" where the budget
        was over before that could be said, and :attr:`rejected` says what was not tried.
    """

    recommendation: Perturbation | Plan | None
    points: tuple[Point, ...]
    rejected: dict[str, str]
    words: str
    nearest: str | None
    utilities: tuple[str, ...]
    audit: Audit
    state: AdviceState

    @property
    def possible(self) -> bool:
        """Whether some method keeps every goal."""
        return self.recommendation is not None

    @property
    def frontier(self) -> tuple[Point, ...]:
        """The settings that no other beats in both risk and utility."""
        best = [
            p
            for p in self.points
            if not any(
                q.risk <= p.risk and q.utility >= p.utility and (q.risk, q.utility) != (p.risk, p.utility)
                for q in self.points
            )
        ]
        return tuple(sorted(best, key=lambda point: -point.utility))

    def model(self, *, internal: bool = False) -> ReportModel:
        """The report's content: the audit's, with the advice."""
        chosen = self.audit.candidates[0].label if self.possible and self.audit.candidates else None
        points = tuple(
            PointView(
                label=p.label,
                method=p.method,
                risk=round(p.risk, 4),
                utility=round(p.utility, 4),
                passed=p.passed,
                recommended=p.label == chosen and p.passed,
                why=p.why,
            )
            for p in self.points
        )
        view = AdviceView(
            recommendation=chosen,
            words=self.words,
            nearest=self.nearest,
            utilities=self.utilities,
            points=points,
            rejected=tuple(self.rejected.items()),
            state=self.state,
        )
        return replace(self.audit.model(internal=internal), advice=view)

    def to_html(self, path: str | Path, *, internal: bool = False) -> None:
        """Write the advice and its audit as one self-contained HTML file; see :meth:`veil.Audit.to_html`."""
        from veil.report.writing import write_html

        write_html(self.model(internal=internal), Path(path))

    @overload
    def to_json(self, path: None = None, *, internal: bool = False) -> str: ...

    @overload
    def to_json(self, path: str | Path, *, internal: bool = False) -> None: ...

    def to_json(self, path: str | Path | None = None, *, internal: bool = False) -> str | None:
        """Write the report's content as JSON, or return it as text when no path is given."""
        from veil.report.json import as_json
        from veil.report.writing import write_json

        model = self.model(internal=internal)
        if path is None:
            return as_json(model)
        write_json(model, Path(path))
        return None

    def _repr_html_(self) -> str:
        return notebook(self.model())

    def __str__(self) -> str:
        from veil.report.writing import as_text

        return as_text(self.model())
