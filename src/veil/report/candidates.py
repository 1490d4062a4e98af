"""The report's section on each candidate: verdict, strongest attack, picture, utility, failures."""

from __future__ import annotations

from veil.report.bars import ADVANTAGE, three_bars
from veil.report.columns import exposed_columns
from veil.report.conclusions import verdict
from veil.report.largest import largest_table
from veil.report.markup import Markup, el, join
from veil.report.membership import membership_words
from veil.report.model import CandidateView, ReportModel, RowView
from veil.report.pictures import heat_map, utility_bars
from veil.report.values import Over, Scored, State
from veil.report.words import count, counted, gain, interval, knowing, letter, listed, percent, shortened, units, within

MOST_FAILURES = 5


def badge(index: int) -> Markup:
    """The letter of a candidate."""
    return el("span", letter(index), class_=f"badge b{index % 6}")


def chip(candidate: CandidateView) -> Markup:
    """The verdict on a candidate in a word or two, with a sign."""
    sign, words, style = status(candidate)
    return el("span", el("span", sign, aria_hidden="true"), f" {words}", class_=f"chip {style}")


def status(candidate: CandidateView) -> tuple[str, str, str]:
    """Sign, words and style of a candidate's verdict."""
    privacy = candidate.verdict.privacy
    if privacy == State.BREAKS:
        return "✕", "a goal fails", "bad"
    if not candidate.verdict.useful:
        return "✕", "not useful enough" if privacy == State.HOLDS else "a goal fails", "bad"
    if privacy == State.HOLDS:
        return "✓", "goals hold where tested" if candidate.untested else "goals hold", "good"
    return _STATUS[privacy]


_STATUS = {
    State.NOT_TESTED: ("◇", "not tested", "open"),
    State.OUT_OF_TIME: ("◷", "out of time", "open"),
    State.UNPROVEN: ("?", "not shown safe", "open"),
    State.NO_ATTACK: ("–", "not attacked", "open"),
}


def candidates_section(model: ReportModel) -> Markup:
    """One article per candidate."""
    return el(
        "section",
        el("h2", "Candidates", id="candidates-title"),
        [_article(model, i, candidate) for i, candidate in enumerate(model.candidates)],
        id="candidates",
        aria_labelledby="candidates-title",
    )


def _article(model: ReportModel, index: int, candidate: CandidateView) -> Markup:
    key = f"candidate-{letter(index)}"
    row = candidate.strongest
    left = [
        el("p", verdict(candidate, model.max_advantage), class_="verdict"),
        _strongest(row, model.over) if row else None,
        _failures(candidate),
        _too_few(candidate),
        _keys(candidate),
        exposed_columns(candidate),
        largest_table(candidate, model),
        _membership(candidate),
        _utility(model, candidate, key),
    ]
    return el(
        "article",
        el("header", el("h3", badge(index), candidate.label, id=f"{key}-title"), chip(candidate)),
        el("div", el("div", left), el("div", _picture(model, candidate, key)), class_="columns"),
        _records(candidate),
        id=key,
        aria_labelledby=f"{key}-title",
    )


def _strongest(row: RowView, over: Over) -> Markup:
    score = row.main
    numbers = [
        (ADVANTAGE[Over.ABSENT], score.advantage),
        ("What the release teaches", score.taught),
    ]
    if over == Over.CONSTANT:
        numbers = [(ADVANTAGE[over], score.taught)]
    tiles = [
        el("div", el("dt", name), el("dd", gain(gained.value), el("small", interval(gained.low, gained.high))))
        for name, gained in numbers
    ]
    tiles.append(el("div", el("dt", "Error"), el("dd", units(row.nrmse), el("small", "standard units"))))
    return join(
        el("h4", "The strongest attack"),
        el("p", story(row)),
        el(
            "div",
            el("p", f"Of the {row.scored}{within(row.part)}, guessed right:"),
            three_bars(score, named=True, links=row.scored == Scored.LINKS),
            class_="rates",
        ),
        el("dl", tiles, class_="tiles"),
    )


def story(row: RowView) -> Markup:
    """The strongest attack in words; its numbers stand beside."""
    how = f" {row.attack_words}." if row.attack_words else " is the strongest found."
    column = el("bdi", shortened(row.worst_column, 60), class_="name")
    if row.column.advantage.value > 0:
        best = join(" It reads ", column, f" best, with an advantage of {percent(row.column.advantage.value)}.")
    else:
        best = join(" It gains nothing on any column.")
    left_open = listed(row.up_to) if row.up_to else row.ambiguity
    loose = f" It leaves the {left_open} open; the score is given up to that." if left_open != "none" else None
    return join(f"With {knowing(row.knowledge)}, ", el("b", row.attack.name), f" ({row.catalogue})", how, best, loose)


def _failures(candidate: CandidateView) -> Markup | None:
    if not candidate.failures:
        return None
    shown = candidate.failures[:MOST_FAILURES]
    more = len(candidate.failures) - len(shown)
    items = [el("li", str(failure)) for failure in shown]
    if more:
        items.append(el("li", f"and {more} more, marked in the table of ", el("a", "all attacks", href="#attacks")))
    return join(el("h4", "Goals that fail or are not shown to hold"), el("ul", items, class_="failures"))


def _too_few(candidate: CandidateView) -> Markup | None:
    """What the table is too small to show, whatever the method."""
    if not candidate.too_few:
        return None
    shown = candidate.too_few[:MOST_FAILURES]
    more = len(candidate.too_few) - len(shown)
    items = [el("li", f"{each}.") for each in shown] + (
        [el("li", f"And {counted(more, 'more column')}.")] if more else []
    )
    return join(el("h4", "What this table is too small to show"), el("ul", items, class_="too-few"))


def _keys(candidate: CandidateView) -> Markup | None:
    """How many records are alone with the keys that are released."""
    return None if candidate.keys is None else join(el("h4", "Keys"), el("p", str(candidate.keys)))


def _membership(candidate: CandidateView) -> Markup | None:
    """Whether people in the table are told from others."""
    view = candidate.membership
    if view is None:
        return None
    sentences = [membership_words(view)]
    if view.alone is not None:
        told, n = view.alone.advantage, view.n_members + view.n_strangers
        sentences.append(
            f"If he says yes from the best threshold on, he says it {percent(told.value)} more often of people in the "
            f"table than of others ({interval(told.low, told.high)}; {count(n)} people)."
        )
    sentences += [] if view.counted else ["No goal is set on it, so it does not count for the verdict."]
    return join(el("h4", "Is it told who is in the table?"), el("p", " ".join(sentences), class_="membership"))


def _utility(model: ReportModel, candidate: CandidateView, key: str) -> Markup:
    if not candidate.utility:
        return join(el("h4", "Utility"), el("p", "No utility was measured.", class_="empty"))
    bars = utility_bars(candidate.utility, model.min_utility, name=f"{key}-utility", label=candidate.label)
    return join(el("h4", "What the release is still good for"), el("figure", bars, class_="bars"))


def _picture(model: ReportModel, candidate: CandidateView, key: str) -> Markup:
    row, picture = candidate.strongest, candidate.picture
    if row is None:
        return el("p", "There is no picture: no guess was made.", class_="empty")
    if picture is None:
        text = "There is no picture: the strongest attack guesses categories, which are right or wrong."
        return el("p", text, class_="empty")
    chart = heat_map(picture, name=f"{key}-picture", attack=row.attack.name, smallest=model.smallest_cell)
    hidden = picture.n_suppressed / picture.n_values if picture.n_values else 0.0
    outside = picture.n_outside / picture.n_values if picture.n_values else 0.0
    caption = (
        f"Original against guess, all columns together: {row.attack.name} with {knowing(row.knowledge)}. "
        "On the diagonal the guess is right; the stronger the colour, the more values. "
        f"Of {count(picture.n_values)} values, {count(picture.n_suppressed)} ({percent(hidden)}) are left out in cells "
        f"with fewer than {model.smallest_cell}, and {count(picture.n_outside)} ({percent(outside)}) lie beyond "
        "the edges."
    )
    return el("figure", chart, el("figcaption", caption), class_="picture")


def _records(candidate: CandidateView) -> Markup | None:
    """Internal edition: the records that the strongest attack comes nearest to."""
    if not candidate.records:
        return None
    rows = [
        el("tr", el("td", row, class_="num"), el("td", units(error), class_="num")) for row, error in candidate.records
    ]
    caption = el("caption", "Records that the strongest attack comes nearest to. Confidential.")
    head = el(
        "thead",
        el(
            "tr",
            el("th", "Row, counted from 0", scope="col", class_="num"),
            el("th", "Error, standard units", scope="col", class_="num"),
        ),
    )
    return el("div", el("h4", "Single records"), el("table", caption, head, el("tbody", rows)), class_="records")
