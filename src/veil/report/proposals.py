"""Why a role is proposed for a column, and what its values are like, in words: for inspections and draft plans."""

from __future__ import annotations

from collections.abc import Mapping

from veil.report.inspection import ColumnFacts, GroupFacts, Proposal, Reason
from veil.report.words import count, few, percent

MANY_ZEROS = 0.1
WORTH_SAYING = 0.05
"""A share of the sum that the ten largest make, from which on it is said."""


def reason_words(proposal: Proposal, groups: Mapping[str, GroupFacts]) -> str:
    """Why, in a few words; ``groups`` are facts by column."""
    match proposal.reason:
        case Reason.GROUP:
            return group_words(groups[proposal.column])
        case Reason.NAMES_GROUP:
            return f"names what {proposal.of} numbers"
        case Reason.KEY:
            return "an outsider may know it, by its name"
        case Reason.CATEGORY:
            return "categories: a secret, a key or public?"
        case Reason.MANY:
            return "texts of many values: a key, public, or too telling to release?"
        case Reason.WEIGHT if not proposal.sure:
            same = f"constant within {proposal.of}" if proposal.of else "nearly each record has its own, which tells it"
            return f"a sampling weight, if people are counted by it; {same}"
    return _WORDS[proposal.reason]


_WORDS = {
    Reason.NAME: "called like a person's name or address",
    Reason.UNIQUE: "all different, and called like a number of records",
    Reason.SERIAL: "all different, and counts records",
    Reason.TEXTS: "hardly a text occurs twice: it may name people",
    Reason.GROUP_NAME: "called like a number of households, firms or patients",
    Reason.WEIGHT: "people that a record stands for, by its name; released as it is",
    Reason.CONSTANT: "the same in every record",
    Reason.AMOUNT: "all different, but no count of records: an amount, or a number of somebody?",
    Reason.CODE: "looks like a code: a key or public as a category, or an amount?",
    Reason.NESTED: "nested or binary: it can hide what it no longer shows",
}


def group_words(facts: GroupFacts) -> str:
    """What is constant within the values of a column."""
    n = f"{'' if facts.exact else 'about '}{count(facts.n_values)}"
    if not facts.groups:
        return f"its {n} values tell {few(facts.constant)}"
    are = "are" if len(facts.constant) > 1 else "is"
    return f"{n} groups of {facts.mean_size:.1f} records; {few(facts.constant)} {are} constant within them"


def value_words(column: ColumnFacts) -> list[str]:
    """Zeros, tail and order of a column, where they are worth saying."""
    said = ["the same in every record"] if column.n_values == 1 and column.exact else []
    if column.zeros is not None and MANY_ZEROS <= column.zeros < 1 and not column.code:
        said.append(f"{percent(column.zeros)} zeros")
    if column.heavy and not column.code:
        ten = column.top_ten
        share = f": the ten largest make {percent(ten)} of the sum" if ten is not None and ten >= WORTH_SAYING else ""
        said.append(f"heavy tail{share}")
    if column.sorting is not None:
        said.append(f"rows are sorted by it ({column.sorting})")
    return said
