"""What an audit comes to, in one or two sentences: the verdict on a candidate, and the headline over all of them."""

from __future__ import annotations

from collections.abc import Sequence

from veil.report.failures import CopiedRecords, MembershipOverGoal, OutOfTime, TooFewRecords, UntestedKnowledge
from veil.report.folding import level_names
from veil.report.model import CandidateView, ReportModel, RowView
from veil.report.values import State
from veil.report.words import compared, count, counted, knowing, listed, percent, within


def headline(model: ReportModel) -> str:
    """The report in a sentence: what is recommended, or which candidates keep every goal."""
    if model.advice is not None:
        chosen = model.advice.recommendation
        return f"Recommended: {chosen}." if chosen else f"{model.advice.words_for_none}."
    if len(model.candidates) == 1:
        return verdict(model.candidates[0], model.max_advantage)
    n = len(model.candidates)
    bare = [c.label for c in model.candidates if c.verdict.privacy == State.NO_ATTACK]
    late = [c.label for c in model.candidates if c.verdict.privacy == State.OUT_OF_TIME]
    good = [c for c in model.candidates if c.passed and c.strongest is not None]
    if len(late) == n:
        return OUT_OF_TIME
    if not good:
        broken = all(c.verdict.privacy == State.BREAKS or not c.verdict.useful for c in model.candidates)
        sentences = [f"None of the {n} candidates {'keeps' if broken else 'is shown to keep'} every goal."]
    elif len(good) == n:
        sentences = [f"All {n} candidates keep every goal{_where_tested(good)}."]
    else:
        keep = "keeps" if len(good) == 1 else "keep"
        names = listed([c.label for c in good])
        sentences = [f"{len(good)} of {n} candidates {keep} every goal{_where_tested(good)}: {names}."]
    sentences += [f"No attack was found to try on {listed(bare)}."] if bare else []
    sentences += (
        [f"The time was over before {listed(late)} {'was' if len(late) == 1 else 'were'} decided."] if late else []
    )
    return " ".join(sentences)


def size(model: ReportModel) -> str:
    """Records and columns of the private table, and how many of them were audited where these are fewer."""
    n_rows, n_columns = model.table_rows or model.n_rows, model.table_columns or len(model.columns)
    whole = f"{counted(n_rows, 'record')} × {counted(n_columns, 'column')}"
    fewer = [f"a sample of {count(model.n_rows)} records"] if model.n_rows < n_rows else []
    fewer += [f"{count(len(model.columns))} of the columns"] if len(model.columns) < n_columns else []
    return f"{whole} (audited: {listed(fewer)})" if fewer else whole


OUT_OF_TIME = "Out of time: nothing was decided."


def _where_tested(candidates: Sequence[CandidateView]) -> str:
    return " where it was tested" if any(candidate.untested for candidate in candidates) else ""


def verdict(candidate: CandidateView, most: float) -> str:
    """What happens, by which attack, with which knowledge; ``most`` is the advantage that the goal allows."""
    row, end = candidate.strongest, candidate.verdict
    if isinstance(end.reason, CopiedRecords):
        return f"Breaks with the release alone: {end.reason}."
    if isinstance(end.reason, OutOfTime):
        were = "was" if end.reason.n_attacks == 1 else "were"
        return f"Out of time: {counted(end.reason.n_attacks, 'attack')} {were} not run, so nothing is decided."
    if isinstance(end.reason, MembershipOverGoal) and end.privacy == State.BREAKS:
        return f"Breaks the goal on membership: {end.reason}."
    if row is None:
        return "No attack that Veil knows applies with the knowledge granted; that is not a proof of safety."
    if end.privacy == State.BREAKS:
        return _broken(candidate, row, most)
    if end.privacy == State.NOT_TESTED:
        return f"Not tested: {end.reason}."
    if end.privacy == State.UNPROVEN:
        return f"Not shown to be safe: {end.reason}."
    if not end.useful:
        return f"Private enough, but not useful enough: {end.reason}."
    return " ".join([_holds(candidate), f"The strongest attack, {_by(row)}, {outcome(row)}.", *_too_small(candidate)])


def _holds(candidate: CandidateView) -> str:
    if not candidate.untested:
        return "Every goal holds."
    return f"Every goal holds where it was tested; not tested: {untested_names(candidate.untested)}."


def _too_small(candidate: CandidateView) -> list[str]:
    return [f"{too_few_words(candidate.too_few)}."] if candidate.too_few else []


def untested_names(untested: Sequence[UntestedKnowledge]) -> str:
    """The knowledge that no attack used, by part where a release has several."""
    names = [
        f"{level_names(each.knowledge, alone=True)}{f' on {each.method}' if each.method else ''}" for each in untested
    ]
    return "; ".join(dict.fromkeys(names))


def too_few_words(columns: Sequence[TooFewRecords]) -> str:
    """Which columns the records are too few for, and how many would do for all of them.

    >>> too_few_words([TooFewRecords("income", 1000, 2400, 0.05)])
    "1,000 records cannot show 5 % in column 'income'; about 2,400 could"
    >>> too_few_words([TooFewRecords("income", 1000, 2400, 0.05), TooFewRecords("age", 1000, 1800, 0.05)])
    "1,000 records cannot show 5 % in columns 'income' and 'age'; about 2,400 could"
    """
    worst = max(columns, key=lambda each: each.n_needed)
    if len(columns) == 1:
        return str(worst)
    whole = str(worst).partition(" in column ")[0]
    return f"{whole}{within([each.column for each in columns])}; about {count(worst.n_needed)} could"


def outcome(row: RowView) -> str:
    """What an attack gets right, beside the same attacker with the person absent and a constant guess."""
    what, score = f"{percent(row.main.rate.value)} of the {row.scored} right{within(row.part)}", row.main
    if not row.advantage.value > 0:
        absent, constant = percent(score.control), percent(score.baseline)
        if absent == constant:
            return f"gets {what}, no more than without the person's own row or by a constant guess"
        return f"gets {what}, no more than without the person's own row; a constant guess gets {constant}"
    return f"gets {what}; {compared(score.control, score.baseline)}"


def _by(row: RowView) -> str:
    return f"{row.attack.name} with {knowing(row.knowledge)}"


def _broken(candidate: CandidateView, row: RowView, most: float) -> str:
    """The least knowledge that breaks a goal, and what the strongest attack gets."""
    least, reason = candidate.verdict.least, candidate.verdict.reason
    first = knowing(least) if least else "the knowledge granted"
    if not row.advantage.value > most:
        return f"Breaks with {first}: {reason}."
    at_worst = ": " if least == row.knowledge else f". With {knowing(row.knowledge)}, "
    return f"Breaks with {first}{at_worst}{row.attack.name} {outcome(row)}."
