"""Goals as sentences, of three forms that people write and programs read without guessing.

::

    no SUBJECT [of 'COLUMN'] [within T standard units] [with more than P % advantage] [over WHOM] [against WHAT]
    no membership [with more than P % advantage]
    UTILITY at least P %

SUBJECT is what must not come back: ``breach`` (any of the others), ``value``, ``record``, ``column``, ``link`` (of a
person to a row), ``far-out value`` or ``largest value`` (of a column); several are joined by commas and "or", and
"nobody's" may stand for "no". A value, a largest value or a breach "of" columns, named in single quotes, is a goal on
these alone; "among the N largest" and "within P %" say which values are the largest and what tells one. WHOM is
``an absent person`` or ``a constant guess``. WHAT is knowledge that counts, by kind or label, joined by commas and
"and"; "with" may stand for "against". What a sentence leaves out has its usual amount. Tolerance, comparison and
knowledge are those of an audit as a whole: sentences must agree on them. ``membership`` is whether somebody is in the
table: no breach of anything in it, and no goal unless it is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from veil.errors import InputError
from veil.measures.largest import USUAL_LARGEST, LargestRule
from veil.report.values import Over, Scored

FORMS = (
    "no record within 0.1 standard units with more than 5 % advantage over an absent person against 5 known records",
    "means at least 90 %",
)
"""One sentence of each form."""
OF_FORM = "no largest value of 'income' or 'wealth' with more than 2 % advantage"
BREACH = "breach"
MEMBERSHIP = "membership"
USUAL_MEMBERSHIP = 0.05
"""The most that is allowed where a sentence on membership says no number."""
SUBJECTS = {
    "value": Scored.VALUES,
    "record": Scored.RECORDS,
    "column": Scored.COLUMN,
    "link": Scored.LINKS,
    "far-out value": Scored.FAR_OUT,
    "largest value": Scored.LARGEST,
}
OF_COLUMN = {"value": Scored.COLUMN, "largest value": Scored.LARGEST}
"""What a sentence can name of single columns."""
COMPARISONS = {"an absent person": Over.ABSENT, "a constant guess": Over.CONSTANT}
_NUMBER = r"(\d+(?:\.\d+)?(?:e-?\d+)?)"
_PERCENT = rf"{_NUMBER} ?%"
_CLAUSE = re.compile(r" (?=within |with |over |against |among )")
_QUOTED = re.compile(r"(?<= )'((?:[^']|'')+)'(?=[ ,.]|$)")


def settings(sentences: Sequence[str], utilities: Sequence[str]) -> dict[str, Any]:
    """The settings of goals that some sentences say; ``utilities`` are the names that may stand in them."""
    if not sentences:
        raise InputError(f"goals: there is no sentence; say for example {FORMS[0]!r}")
    on: dict[str, float | None] = {}
    least: dict[str, float] = {}
    shared: dict[str, Any] = {}
    membership: dict[str, float] = {}
    columns: dict[str, dict[str, float | None]] = {}
    for sentence in sentences:
        if not isinstance(sentence, str):
            raise InputError(f"goals must be sentences, as texts; got a {type(sentence).__name__}")
        names = [name.replace("''", "'") for name in _QUOTED.findall(sentence)]
        text = " ".join(_QUOTED.sub("?", sentence).replace("’", "'").rstrip(". ").split())
        if re.match(rf"(no|nobody's) {MEMBERSHIP}( |$)", text):
            _add_membership(text, sentence, membership)
        elif text.startswith(("no ", "nobody's ")):
            _add_risk(text, sentence, on, shared, columns, names)
        else:
            _add_utility(text, sentence, least, utilities)
    named = {"on": on} if on or columns else {}
    return {**shared, **named, **membership, "min_utility": least, "columns": columns}


def sentences(
    on: Mapping[Scored, float],
    *,
    tolerance: float,
    over: str,
    against: Sequence[str],
    least: Mapping[str, float],
    membership: float | None = None,
    columns: Mapping[str, Mapping[Scored, float]] = MappingProxyType({}),
    largest: LargestRule = USUAL_LARGEST,
) -> tuple[str, ...]:
    """Goals as sentences, from which :func:`settings` makes the same goals again."""
    whom = next(words for words, value in COMPARISONS.items() if value == over)
    known = f" against {_joined(against, 'and')}" if against else ""
    near = f" within {_plain(tolerance)} standard units"
    near += "" if largest.n == USUAL_LARGEST.n else f" among the {largest.n} largest"
    near += "" if largest.share == USUAL_LARGEST.share else f" within {_percent(largest.share)}"
    nouns = {risk: noun for noun, risk in SUBJECTS.items()}
    limits: dict[float, list[str]] = {}
    for risk, limit in on.items():
        limits.setdefault(limit, []).append(nouns[risk])
    subjects = [(_subject(names, len(SUBJECTS)), limit) for limit, names in limits.items()]
    subjects += [(f"{subject} of {_joined(names, 'or')}", limit) for (subject, limit), names in _alike(columns).items()]
    return (
        *(
            f"no {subject}{near} with more than {_percent(limit)} advantage over {whom}{known}"
            for subject, limit in subjects
        ),
        *([] if membership is None else [f"no {MEMBERSHIP} with more than {_percent(membership)} advantage"]),
        *(f"{name} at least {_percent(share)}" for name, share in least.items()),
    )


def _subject(nouns: Sequence[str], n_all: int) -> str:
    return BREACH if len(nouns) == n_all else _joined(nouns, "or")


def _alike(columns: Mapping[str, Mapping[Scored, float]]) -> dict[tuple[str, float], list[str]]:
    """Columns, in quotes, by what is said of them and its limit."""
    nouns = {scored: noun for noun, scored in OF_COLUMN.items()}
    alike: dict[tuple[str, float], list[str]] = {}
    for name, each in columns.items():
        limits: dict[float, list[str]] = {}
        for scored, limit in each.items():
            limits.setdefault(limit, []).append(nouns[scored])
        for limit, said in limits.items():
            quoted = "'" + name.replace("'", "''") + "'"
            alike.setdefault((_subject(said, len(OF_COLUMN)), limit), []).append(quoted)
    return alike


def _add_risk(
    text: str,
    sentence: str,
    on: dict[str, float | None],
    shared: dict[str, Any],
    columns: dict[str, dict[str, float | None]],
    names: Sequence[str],
) -> None:
    first, *clauses = _CLAUSE.split(text.split(" ", 1)[1])
    clause: dict[str, Any] = {}
    limit: float | None = None
    for words in clauses:
        name, value = _clause(words, sentence)
        if name in clause:
            raise InputError(f"goals: {sentence!r} says {words!r} where it has said {name} before; say it once")
        clause[name] = value
        limit = value if name == "max_advantage" else limit
    for name, value in clause.items():
        if name != "max_advantage" and shared.setdefault(name, value) != value:
            raise InputError(f"goals: the sentences differ in {name}; an audit has one, so say the same in all")
    first, _, of = first.partition(" of ")
    if of or names:
        if not names or _parted(of, "or") != ["?"] * len(names):
            raise InputError(f"goals: cannot read {sentence!r}; columns are named in quotes, {OF_FORM!r}")
        _add_columns(first, sentence, columns, names, limit)
        return
    for noun in _parted(first, "or"):
        if noun != BREACH and noun not in SUBJECTS:
            if noun == MEMBERSHIP:
                raise InputError(f"goals: {sentence!r} names {MEMBERSHIP} with others; say it in a sentence of its own")
            raise InputError.from_unknown_name(f"subject of the goal {sentence!r}", noun, [BREACH, *SUBJECTS])
        for risk in SUBJECTS.values() if noun == BREACH else [SUBJECTS[noun]]:
            if risk in on:
                raise InputError(f"goals: {sentence!r} sets a goal on {risk} again; say each once")
            on[risk] = limit


def _add_columns(
    first: str, sentence: str, columns: dict[str, dict[str, float | None]], names: Sequence[str], limit: float | None
) -> None:
    for noun in _parted(first, "or"):
        if noun != BREACH and noun not in OF_COLUMN:
            raise InputError.from_unknown_name(f"subject of columns in {sentence!r}", noun, [BREACH, *OF_COLUMN])
        for name in names:
            for scored in OF_COLUMN.values() if noun == BREACH else [OF_COLUMN[noun]]:
                if scored in columns.setdefault(name, {}):
                    raise InputError(f"goals: {sentence!r} sets a goal on {noun} of {name!r} again; say each once")
                columns[name][scored] = limit


def _add_membership(text: str, sentence: str, membership: dict[str, float]) -> None:
    match = re.fullmatch(rf"\S+ {MEMBERSHIP}(?: with more than {_PERCENT} advantage)?", text)
    if match is None:
        raise InputError(
            f"goals: cannot read {sentence!r}; a sentence is for example 'no {MEMBERSHIP} with more than 5 % advantage'"
        )
    if membership:
        raise InputError(f"goals: {sentence!r} sets a goal on {MEMBERSHIP} again; say each once")
    membership["max_membership"] = USUAL_MEMBERSHIP if match[1] is None else _share(match[1])


def _clause(words: str, sentence: str) -> tuple[str, Any]:
    if match := re.fullmatch(rf"within {_NUMBER} standard units?", words):
        return "tolerance", float(match[1])
    if match := re.fullmatch(rf"with more than {_PERCENT} advantage", words):
        return "max_advantage", _share(match[1])
    if match := re.fullmatch(rf"within {_PERCENT}", words):
        return "largest_share", _share(match[1])
    if match := re.fullmatch(r"among the (\d+) largest", words):
        return "n_largest", int(match[1])
    if words.startswith("over "):
        whom = words.removeprefix("over ")
        if whom not in COMPARISONS:
            raise InputError.from_unknown_name(f"comparison of the goal {sentence!r}", whom, COMPARISONS)
        return "over", COMPARISONS[whom]
    known = re.fullmatch(r"(?:against|with) (?!more than)(.+)", words)
    if known is None:
        raise InputError(f"goals: cannot read {words!r} of {sentence!r}; a sentence is for example {FORMS[0]!r}")
    return "against", tuple(_parted(known[1], "and"))


def _add_utility(text: str, sentence: str, least: dict[str, float], utilities: Sequence[str]) -> None:
    match = re.fullmatch(rf"(\S+) at least {_PERCENT}", text)
    if match is None:
        raise InputError(f"goals: cannot read {sentence!r}; a sentence is for example {FORMS[0]!r} or {FORMS[1]!r}")
    if match[1] not in utilities:
        raise InputError.from_unknown_name(f"utility of the goal {sentence!r}", match[1], utilities)
    if match[1] in least:
        raise InputError(f"goals: {sentence!r} sets a goal on {match[1]} again; say each once")
    least[match[1]] = _share(match[2])


def _parted(text: str, word: str) -> list[str]:
    return [part for part in re.split(rf", (?:{word} )?| {word} ", text) if part]


def _joined(names: Sequence[str], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _share(percent: str) -> float:
    return float(Decimal(percent) / 100)


def _percent(share: float) -> str:
    return f"{_plain(Decimal(repr(float(share))) * 100)} %"


def _plain(value: float | Decimal) -> str:
    """A number in decimal digits, all that it has."""
    text = f"{Decimal(repr(float(value))) if isinstance(value, float | int) else value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
