"""An audit or advice in a notebook: what a terminal prints of it, in the fragment's form."""

from __future__ import annotations

from veil.report.advice import best_settings, recommended, rejected_methods
from veil.report.candidates import MOST_FAILURES, badge, chip
from veil.report.conclusions import headline, size
from veil.report.folding import breaks_line
from veil.report.markup import Markup, el, join
from veil.report.model import AdviceView, CandidateView, ReportModel
from veil.report.notebook import fragment
from veil.report.pieces import as_markup
from veil.report.terminal import pieces

WIDE = 10_000
"""Lines are not broken: the page does that."""


def audit_fragment(model: ReportModel) -> str:
    """The audit, or the advice with the audit of what is recommended."""
    goals = f"{'Goal' if len(model.goals) == 1 else 'Goals'}: {'; '.join(model.goals)}." if model.goals else ""
    advice = model.advice
    return fragment(
        "Audit" if advice is None else "Advice",
        size(model),
        el("p", headline(model), class_="headline") if advice is None else recommended(advice),
        el("p", goals, class_="quiet") if goals else None,
        el("ul", [el("li", remark) for remark in model.remarks]) if model.remarks else None,
        _advice(advice) if advice is not None else None,
        [_candidate(i, candidate, model) for i, candidate in enumerate(model.candidates)],
    )


def _advice(advice: AdviceView) -> Markup:
    tables = join(best_settings(advice), rejected_methods(advice))
    more = el("details", el("summary", "The settings tried, and the methods rejected"), tables) if tables else None
    return join(el("p", advice.words), more)


def _candidate(index: int, candidate: CandidateView, model: ReportModel) -> Markup:
    return join(
        el("p", badge(index), el("span", candidate.label, class_="strong"), " ", chip(candidate)),
        el("p", breaks_line(candidate)) if not candidate.passed else None,
        as_markup(pieces(candidate, model, WIDE)),
        _failures(candidate),
    )


def _failures(candidate: CandidateView) -> Markup | None:
    shown = [el("li", str(failure)) for failure in candidate.failures[:MOST_FAILURES]]
    more = len(candidate.failures) - len(shown)
    return el("ul", shown, el("li", f"and {more} more, in the report") if more else None) if shown else None
