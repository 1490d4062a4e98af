"""Which role an inspection proposes for each column that the owner has given none, by its values and its name.

A proposal is *sure* where nobody would decide otherwise, or where the cautious choice costs little: what is all
different and counts records is an identifier, households are groups, a constant is left out. All else is open, and
proposed as what gives away least. Names are looked at as words (``hh_id``, ``HouseholdId``), in English and in the
abbreviations of survey files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from veil.data.schema import Kind, Role
from veil.report.inspection import ColumnFacts, GroupFacts, Proposal, Reason

FEW_CATEGORIES = 50
"""Categories at most that randomized answers are proposed for."""
MOST_KEY_VALUES = 0.25
"""Of the records: different values at most of a column that outsiders may know in full."""
FEW_KEY_VALUES = 1_000
OWN_WEIGHT = 0.5
"""Of the records: more different weights than that tell whose record is whose."""
FEWEST_RECORDS = 20
"""From here on whole numbers of two values are categories."""

_IDENTIFIERS = {"id", "ids", "uuid", "guid", "ssn", "serial", "index", "nr", "no", "number", "pid", "rowid", "key"}
_PERSONS = {"name", "names", "surname", "firstname", "lastname", "forename", "email", "mail", "phone", "mobile", "iban"}
_PERSONS |= {"address", "street", "passport"}
_GROUPS = {
    "hh",
    "hhid",
    "household",
    "house",
    "home",
    "family",
    "famid",
    "dwelling",
    "firm",
    "company",
    "establishment",
}
_GROUPS |= {"patient", "school", "class", "practice", "hospital", "clinic", "employer", "utility", "farm", "enterprise"}
_WEIGHTS = {"wt", "pweight", "dweight", "hweight", "svywt", "fweight", "finalweight"}
_OF_WEIGHTS = {"design", "sampling", "sample", "survey", "person", "household", "hh", "final", "calibrated", "grossing"}
_KEYS = {"age", "sex", "gender", "birth", "birthday", "birthdate", "born", "dob", "yob", "race", "ethnic", "ethnicity"}
_KEYS |= {"region", "state", "country", "county", "province", "district", "municipality", "city", "town", "nationality"}
_KEYS |= {"citizenship", "native", "zip", "zipcode", "postal", "postcode", "plz", "religion", "language", "marital"}
_KEYS |= {"education", "edu", "educ", "degree", "occupation", "profession", "job", "isco", "workclass", "relationship"}
_KEYS |= {"employment", "industry", "sector", "nace", "hhsize", "children", "urban", "rural", "month", "year", "area"}
_SIZES = {"size", "members", "persons"}


def words_of(name: str) -> list[str]:
    """The words of a column's name, in small letters.

    >>> words_of("hh_ID"), words_of("NativeCountry"), words_of("education-num")
    (['hh', 'id'], ['native', 'country'], ['education', 'num'])
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[^a-z]+", parted.lower()) if word]


def names_a_key(name: str) -> bool:
    """Whether an outsider may know what a column is called like.

    >>> names_a_key("marital-status"), names_a_key("income"), names_a_key("hh_size")
    (True, False, True)
    """
    words = set(words_of(name))
    return bool(words & _KEYS) or bool(words & _GROUPS and words & _SIZES)


def names_a_group(name: str) -> bool:
    """Whether a column is called like the number of a household, a firm or a patient, and like nothing else.

    >>> names_a_group("hh_id"), names_a_group("UTILITYID"), names_a_group("hh_income")
    (True, True, False)
    """
    words = [
        word[:-2] if word.endswith(("id", "no", "nr")) and word not in _IDENTIFIERS else word for word in words_of(name)
    ]
    return bool({*words} & _GROUPS) and {*words} <= _GROUPS | _IDENTIFIERS


def names_a_weight(name: str) -> bool:
    """Whether a column is called like a sampling weight; "weight" alone may be a body's.

    >>> names_a_weight("fnlwgt"), names_a_weight("design_weight"), names_a_weight("weight")
    (True, True, False)
    """
    words = set(words_of(name))
    short = any(word.endswith("wgt") for word in words)
    return short or bool(words & _WEIGHTS) or bool({"weight", "weights"} & words and words & _OF_WEIGHTS)


def proposals(columns: Sequence[ColumnFacts], groups: Sequence[GroupFacts], n_rows: int) -> tuple[Proposal, ...]:
    """A role for each column that needs one, or whose values and name speak for another than the usual one."""
    found = {each.column: each for each in groups if each.groups}
    within = {name: each.column for each in found.values() for name in each.constant}
    named = _names_of_groups(columns, found)
    proposed = [_proposal(column, found, within, named, n_rows) for column in columns]
    return tuple(each for each in proposed if each is not None)


def _proposal(
    c: ColumnFacts, groups: Collection[str], within: dict[str, str], names: dict[str, str], n_rows: int
) -> Proposal | None:
    words = set(words_of(c.name))
    texts = c.kind in (Kind.TEXT, Kind.CATEGORY)

    def proposed(role: Role, reason: Reason, *, sure: bool = True, of: str | None = None) -> Proposal:
        return Proposal(c.name, str(role), reason, sure, of)

    if c.kind == Kind.OTHER:
        return proposed(Role.DROP, Reason.NESTED)
    if n_rows > 1 and c.n_values <= 1:
        return proposed(Role.DROP, Reason.CONSTANT)
    if c.name in names:
        return proposed(Role.IDENTIFIER, Reason.NAMES_GROUP, of=names[c.name])
    if c.name in groups:
        return proposed(Role.GROUP, Reason.GROUP, sure=names_a_group(c.name) or bool(words & _IDENTIFIERS))
    if c.kind == Kind.NUMERIC and c.positive and names_a_weight(c.name):
        return proposed(Role.WEIGHT, Reason.WEIGHT, sure=c.n_values <= OWN_WEIGHT * n_rows)
    if texts and (c.identifying or words & _PERSONS):
        return proposed(Role.IDENTIFIER, Reason.TEXTS if c.identifying else Reason.NAME)
    if c.unique:
        if c.serial or words & _IDENTIFIERS:
            return proposed(Role.IDENTIFIER, Reason.SERIAL if c.serial else Reason.UNIQUE)
        return proposed(Role.SENSITIVE, Reason.AMOUNT, sure=False)
    if names_a_group(c.name) and (texts or c.whole) and c.n_values > FEW_CATEGORIES:
        return proposed(Role.GROUP, Reason.GROUP_NAME, sure=False)
    listed = texts or c.whole or (c.kind == Kind.BOOLEAN or Kind(c.kind).is_timed)
    few = c.n_values <= min(max(MOST_KEY_VALUES * n_rows, 2), FEW_KEY_VALUES)
    if names_a_key(c.name) and listed and few:
        return proposed(Role.KEY, Reason.KEY)
    if c.code:
        return proposed(Role.DROP, Reason.CODE, sure=False)
    if c.kind == Kind.NUMERIC and c.whole and c.exact and c.n_values == 2 and n_rows >= FEWEST_RECORDS:
        return proposed(Role.SENSITIVE, Reason.CATEGORY, sure=False)
    if texts or c.kind == Kind.BOOLEAN:
        few = c.n_values <= FEW_CATEGORIES
        return proposed(Role.SENSITIVE if few else Role.DROP, Reason.CATEGORY if few else Reason.MANY, sure=False)
    if c.positive and "weight" in words and within.get(c.name):
        return proposed(Role.WEIGHT, Reason.WEIGHT, sure=False, of=within[c.name])
    return None


def _names_of_groups(columns: Sequence[ColumnFacts], groups: dict[str, GroupFacts]) -> dict[str, str]:
    """Columns that name the same groups as another does: texts where there are numbers, with the column of these."""
    texts = {column.name for column in columns if column.kind in (Kind.TEXT, Kind.CATEGORY)}
    names: dict[str, str] = {}
    for one in groups.values():
        for other in groups.values():
            same = one.column in other.constant and other.column in one.constant
            if same and other.column in texts and one.column not in texts:
                names[other.column] = one.column
    for one in groups.values():  # names that differ within few groups, or that several groups share
        for column in columns:
            unsure = column.name in texts and column.name in one.constant and column.name not in groups
            if unsure and column.n_values > max(FEW_CATEGORIES, one.n_values / 2):
                names.setdefault(column.name, one.column)
    return names
