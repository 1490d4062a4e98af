"""What an audit comes to, in one or two sentences: the verdict on a candidate, and the headline over all of them."""

from __future__ import annotations

from veil.report.failures import CopiedRecords
from veil.report.model import CandidateView, ReportModel, RowView
from veil.report.values import ScoreView, State
from veil.report.words import knowing, listed, percent


def headline(model: ReportModel) -> str:
    """The report in a sentence: what is recommended, or which candidates keep every goal."""
    if model.advice is not None:
        chosen = model.advice.recommendation
        return f"Recommended: {chosen}." if chosen else f"{model.advice.words_for_none}."
    if len(model.candidates) == 1:
        return verdict(model.candidates[0], model.max_advantage)
    n = len(model.candidates)
    untested = [c.label for c in model.candidates if c.strongest is None]
    good = [c.label for c in model.candidates if c.passed and c.strongest is not None]
    if not good:
        says = f"None of the {n} candidates keeps every goal"
    elif len(good) == n:
        says = f"All {n} candidates keep every goal"
    else:
        says = f"{len(good)} of {n} candidates {'keeps' if len(good) == 1 else 'keep'} every goal: {listed(good)}"
    return f"{says}. No attack was found to try on {listed(untested)}." if untested else f"{says}."


def verdict(candidate: CandidateView, most: float) -> str:
    """What happens, by which attack, with which knowledge; ``most`` is the advantage that the goal allows."""
    row, end = candidate.strongest, candidate.verdict
    if isinstance(end.reason, CopiedRecords):
        return f"Breaks with the release alone: {end.reason}."
    if row is None:
        return "No attack that Veil knows applies with the knowledge granted; that is not a proof of safety."
    if end.privacy == State.BREAKS:
        return _broken(candidate, row, most)
    if end.privacy == State.UNPROVEN:
        return f"Not shown to be safe: {end.reason}."
    if not end.useful:
        return f"Private enough, but not useful enough: {end.reason}."
    gained = f"gains {percent(row.advantage.value)}" if row.advantage.value > 0 else "gains nothing"
    by = f"{row.attack.name} with {knowing(row.knowledge)}"
    return f"Every goal holds. The strongest attack, {by}, {gained} over guessing."


def _broken(candidate: CandidateView, row: RowView, most: float) -> str:
    """The least knowledge that breaks a goal, and what the strongest attack gets."""
    least, reason = candidate.verdict.least, candidate.verdict.reason
    first = knowing(least) if least else "the knowledge granted"
    if not row.advantage.value > most:
        return f"Breaks with {first}: {reason}."
    what, score = main_score(row)
    at_worst = ": " if least == row.knowledge else f". With {knowing(row.knowledge)}, "
    return (
        f"Breaks with {first}{at_worst}{row.attack.name} gets {percent(score.rate.value)} of the {what} right, "
        f"where guessing gets {percent(score.baseline)}."
    )


def main_score(row: RowView) -> tuple[str, ScoreView]:
    """Whether values or records are given away more, and that score."""
    if row.record.advantage.value > row.value.advantage.value:
        return "records", row.record
    return "values", row.value
