"""A first plan for a table: roles and settings that an inspection proposes, with the reason beside each.

What is sure is written; what is open is written as what gives away least, and marked ``DECIDE``. The file can be used
as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veil.attacks.knowledge import grantable
from veil.auditing import Goals, Grants
from veil.auditing.plan_file import PLAUSIBLE, SENTENCES, SHUFFLE
from veil.auditing.plan_toml import amounts, bare_key, declared_lines, quoted, toml_value
from veil.data.schema import Kind, Role
from veil.data.tables import Table
from veil.progress import Watch
from veil.publishing import inspection
from veil.publishing.plausible import AUTO
from veil.report.escaping import visible
from veil.report.inspected import Inspection
from veil.report.inspection import ColumnFacts, Proposal, Reason
from veil.report.proposals import value_words
from veil.report.words import count, few, percent
from veil.storage.atomic import refuse_existing, write_public

DECIDE = "DECIDE"
"""What marks an open question of a draft."""


def init_file(
    table: Any,
    target: str | Path,
    *,
    roles: Mapping[str, str] | None = None,
    missing: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    progress: Watch = None,
) -> Inspection:
    """Inspect a table or a file and write a commented plan for it, to be edited; an existing file is refused.

    ``missing`` and ``kinds`` are what was declared when the table was read (:func:`veil.read_table`), for the plan to
    say.
    """
    path = Path(target)
    refuse_existing(path)
    facts = inspection.inspect(table, roles=roles, progress=progress)
    name = Path(table).name if isinstance(table, str | Path) else table.label if isinstance(table, Table) else "a table"
    write_public(path, draft_plan(facts, name, missing, kinds).encode())
    return facts


@dataclass(frozen=True)
class _Written:
    """The role that a draft writes for a column, and why; ``open`` if it is to be decided."""

    role: str
    why: str
    open: bool = False
    usual: bool = False


def draft_plan(
    facts: Inspection,
    source: str,
    missing: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> str:
    """A plan for a table, to be edited: roles, one method per kind of column, goals and grants.

    ``missing`` and ``kinds`` are what the owner has declared of the table's cells.
    """
    roles = _roles(facts)
    texts = {c.name for c in facts.columns if not Kind(c.kind).is_number} | set(_recoded(facts, roles))
    scored = [name for name, written in roles.items() if written.role in (Role.SENSITIVE, Role.QUASI)]
    numbers = [name for name in scored if name not in texts]
    return "\n".join(
        [
            f"# A plan for {visible(source)}: {facts.n_rows:,} records, {len(facts.columns)} columns.",
            "# Used by: veil audit, advise or perturb TABLE --plan THIS ...",
            *_open(roles),
            "",
            *_order(facts),
            *_values(facts, numbers),
            *_ROLES,
            *(_role_line(name, written) for name, written in roles.items()),
            "",
            *_cells(facts, roles, missing, kinds),
            *_parts(numbers, [c for c in facts.columns if c.name in scored and c.name in texts]),
            *_keys(facts, roles),
            *_tails(facts, numbers),
            *_names(facts, roles),
            *_sums(facts, numbers),
            *_goals(any(written.role in (Role.KEY, Role.QUASI) for written in roles.values())),
            *_GRANTS,
            *_grant_lines(),
            "",
        ]
    )


_ROLES = (
    "# sensitive: perturbed and scored; quasi: the same, and an outsider may know it; key: outsiders may know it,",
    "# and it is no secret; public: released unchanged; group: what records belong to (a household), released as a",
    "# pseudonym; weight: people that a record stands for; identifier, drop: not released. Numbers are sensitive",
    "# unless you say otherwise.",
    "[roles]",
)


def _roles(facts: Inspection) -> dict[str, _Written]:
    """The role of each column: what the owner has said, what is proposed, or what is usual."""
    proposed = {each.column: each for each in facts.proposals}
    roles = {}
    for column in facts.columns:
        notes = [*value_words(column), *filter(None, [column.note])]
        proposal = proposed.get(column.name)
        if proposal is not None:
            roles[column.name] = _of_proposal(proposal, column, facts.why(proposal))
        elif column.role is None:
            roles[column.name] = _Written(Role.DROP, "; ".join([str(column.kind), *notes]), open=True)
        else:
            roles[column.name] = _Written(column.role, "; ".join(notes), usual=column.role == Role.SENSITIVE)
    if not any(written.role in (Role.SENSITIVE, Role.QUASI) for written in roles.values()):
        for name, written in roles.items():  # a release of keys alone would change nothing
            if written.role == Role.KEY:
                roles[name] = _Written(Role.QUASI, written.why)
    return roles


def _of_proposal(proposal: Proposal, column: ColumnFacts, why: str) -> _Written:
    """A proposal that is not sure is written as what gives away less, and said."""
    if proposal.sure or proposal.role in (Role.SENSITIVE, Role.DROP):
        values = [*value_words(column)] if proposal.role == Role.SENSITIVE else []
        return _Written(proposal.role, "; ".join([why, *values]), open=not proposal.sure)
    return _Written(Role.DROP, f"{proposal.role}? {why}", open=True)


def _open(roles: Mapping[str, _Written]) -> list[str]:
    names = [name for name, written in roles.items() if written.open]
    if not names:
        return []
    are = "roles are" if len(names) > 1 else "role is"
    return [f"# {len(names)} {are} yours to decide, marked {DECIDE}: {visible(few(names))}."]


def _role_line(name: str, written: _Written) -> str:
    why = f"{DECIDE}: {written.why}" if written.open else written.why
    line = f"{bare_key(name)} = {quoted(written.role)}{f'  # {visible(why)}' if why else ''}"
    return f"# {line}" if written.usual else line


def _order(facts: Inspection) -> list[str]:
    if facts.ordered:
        return [
            f"# Rows in a secret order, which the key knows: neighbours resemble each other in "
            f"{visible(few(facts.ordered))}.",
            f"{SHUFFLE} = true",
        ]
    return [
        "# Rows in a secret order: where neighbouring rows resemble each other, their order tells what noise hides.",
        "# Here they do not.",
        f"# {SHUFFLE} = true",
    ]


def _values(facts: Inspection, numbers: list[str]) -> list[str]:
    """Whole numbers and numbers that are never negative stay so, if there are any that get noise."""
    columns = [c for c in facts.columns if c.name in numbers]
    whole = [c.name for c in columns if c.dtype.startswith(("int", "uint"))]
    above = [c.name for c in columns if c.nonnegative]
    lines = ["# Whole numbers stay whole, and what is never negative so (the key does not bring these back exactly)."]
    told = {"Whole": whole, "Never negative": above}
    said = " ".join(f"{what}: {visible(few(names))}." for what, names in told.items() if names)
    lines += [f"# {said}"] if said else []
    return [*lines, f"{'' if whole or above else '# '}{PLAUSIBLE} = {quoted(AUTO)}", ""]


def _cells(
    facts: Inspection,
    roles: Mapping[str, _Written],
    missing: Mapping[str, Any] | None,
    kinds: Mapping[str, str] | None,
) -> list[str]:
    """Codes for missing values and kinds: what was declared, marks among texts, and categories that are numbers."""
    said, found = dict(missing or {}), {c.name: c for c in facts.columns if c.missing_codes}
    marks = {c.name: list(c.missing_codes) for c in found.values() if c.kind != Kind.NUMERIC and c.name not in said}
    codes = [c for c in found.values() if c.kind == Kind.NUMERIC]
    lines = declared_lines({**said, **marks}, {**_recoded(facts, roles), **(kinds or {})})
    for column in codes:
        values = ", ".join(f"{value} {count(n)} times" for value, n in column.missing_codes.items())
        listed = toml_value([float(value) if "." in value else int(value) for value in column.missing_codes])
        lines += [f"# {DECIDE}: missing values? {visible(column.name)}: {values}. If so, they belong under [missing]:"]
        lines += [f"# {bare_key(column.name)} = {listed}"]
    return [*lines, ""] if codes else lines or list(_UNDECLARED)


def _recoded(facts: Inspection, roles: Mapping[str, _Written]) -> dict[str, str]:
    """Numbers that are categories: codes that are released, and numbers of two values."""
    proposed = {each.column: each.reason for each in facts.proposals}
    return {
        c.name: str(Kind.CATEGORY)
        for c in facts.columns
        if c.kind == Kind.NUMERIC
        and (proposed.get(c.name) is Reason.CATEGORY or (c.code and roles[c.name].role != Role.SENSITIVE))
    }


_UNDECLARED = (
    "# Codes that stand for a missing value, and columns that are not what they look like (numeric, boolean, category,",
    "# text, time).",
    "# [missing]",
    '# "*" = ["?"]',
    "# [kinds]",
    '# zip = "category"',
    "",
)


def _parts(numbers: list[str], texts: list[ColumnFacts]) -> list[str]:
    """Noise for numbers, randomized answers for categories."""
    gaps = any(c.missing or c.missing_codes for c in texts)
    lines = ["# One part per method; a part without columns takes all that is left."]
    if numbers or not texts:
        lines += ["[[part]]", 'method = "additive-noise"', "scale = 0.5  # in standard deviations of each column", ""]
    if texts:
        lines += [
            "# Categories: every answer is kept with some chance, or drawn anew. A column whose role you make public,",
            "# drop or identifier must leave this list.",
            "[[part]]",
            f"columns = [{', '.join(quoted(c.name) for c in texts)}]",
            'method = "randomized-response"',
            "epsilon = 1.0",
            *(['missing = "category"  # a gap is an answer like others'] if gaps else []),
            "",
        ]
    return lines


def _keys(facts: Inspection, roles: Mapping[str, _Written]) -> list[str]:
    """How to recode keys, if people are alone with theirs."""
    names = [name for name, written in roles.items() if written.role == Role.KEY]
    if not names or facts.keys is None or not facts.keys.unique:
        return []
    alone = facts.keys.unique
    return [
        f"# Keys are released as they are: {count(alone)} of {count(facts.n_rows)} people are alone with theirs.",
        "# veil advise finds classes for them; by hand, width = {age = 5} makes classes, and rare combinations",
        "# lose cells:",
        "# [[part]]",
        f"# columns = [{', '.join(map(quoted, names))}]",
        '# method = "local-suppression"',
        "# k = 3",
        "",
    ]


def _tails(facts: Inspection, numbers: list[str]) -> list[str]:
    """How to hide the largest values of heavy tails."""
    heavy = [c for c in facts.columns if c.heavy and c.name in numbers]
    if not heavy:
        return []
    most = max(heavy, key=lambda c: c.top_ten or 0.0)
    share = (
        f" (the ten largest of {visible(most.name)} make {percent(most.top_ten)} of the sum)" if most.top_ten else ""
    )
    return [
        f"# Heavy tails{share}:",
        "# noise in standard deviations is made by a few people, who stay the largest. Top coding hides these, and all",
        "# others not at all; multiplicative noise changes each value by its size.",
        "# [[part]]",
        f"# columns = [{', '.join(quoted(c.name) for c in heavy)}]",
        '# method = "top-coding"',
        "# top = 0.01",
        '# replace = "mean"',
        "",
    ]


def _names(facts: Inspection, roles: Mapping[str, _Written]) -> list[str]:
    who = [c.name for c in facts.columns if roles[c.name].role == Role.IDENTIFIER and c.kind != Kind.NUMERIC]
    if not who:
        return []
    return [
        "# Names and the like can be kept as keyed pseudonyms.",
        "# [[part]]",
        f"# columns = [{', '.join(map(quoted, who))}]",
        '# method = "pseudonymize"',
        "",
    ]


def _sums(facts: Inspection, numbers: list[str]) -> list[str]:
    """Totals that get noise with all of their terms are released as the sum of these."""
    sums = {total: terms for total, terms in facts.sums.items() if {total, *terms} <= set(numbers)}
    if not sums:
        return []
    lines = [f"{bare_key(total)} = {toml_value(terms)}" for total, terms in sums.items()]
    return ["# Totals, in every record: released as the sum of their released terms.", "[sums]", *lines, ""]


def _goals(keys: bool) -> list[str]:
    """What must hold, by kinds of disclosure as statistics offices tell them apart."""
    usual = Goals()
    rule = usual.words()[0].removeprefix("no breach ")
    return [
        "# What must hold, in sentences. An attacker may tell a value for at most 5 in 100 people more than if the",
        "# person were not in the table (attribute disclosure; the largest values as in p % and dominance rules),",
        "# and, if there are keys, whose record is whose for at most 5 in 100 (identity disclosure).",
        "[goals]",
        f"{SENTENCES} = [",
        f"    {quoted(f'no value, record, column, far-out value or largest value {rule}')},",
        *([f"    {quoted(f'no link {rule}')},"] if keys else []),
        "    # What must stay useful:",
        '    # "means at least 90 %",',
        '    # "covariance at least 80 %",',
        "    # If to be in the table at all is a secret (patients of one disease):",
        '    # "no membership with more than 5 % advantage",',
        "]",
        "",
    ]


_GRANTS = (
    "# What attackers may know. An audit goes through all of this, as far as the table is large enough. A line",
    "# without its first # replaces a kind ([] or false: none); what it names is refused where it does not fit.",
    "[grants]",
)


def _grant_lines() -> list[str]:
    """One line for each kind of knowledge that there is, with the amounts of a full sweep, to be uncommented."""
    kinds = grantable()
    sweep = Grants()
    values = {kind: amounts(sweep[kind]) for kind in kinds}
    width = max(len(f"{kind} = {value}") for kind, value in values.items())
    return [f"# {f'{kind} = {values[kind]}':<{width}}  # {cls.audit_help}" for kind, cls in kinds.items()]
