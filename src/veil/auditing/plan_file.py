"""Plans as files: a commented TOML that says roles, methods, goals and what attackers may know.

::

    shuffle = true                 # rows in a secret order
    plausible = "auto"             # whole numbers stay whole; or a section, by column

    [roles]
    name = "drop"

    [[part]]
    method = "additive-noise"      # columns = [...] names some; without it, all the rest
    scale = 0.5

    [missing]
    age = [98, 99]                 # codes that stand for a missing value; "*" = ["?"] for all columns

    [kinds]
    zip = "category"               # numeric, boolean, category, text, date, time

    [goals]
    max_advantage = 0.05

    [grants]
    pairs = [1, 5]

Unknown keys are errors with a suggestion.
"""

from __future__ import annotations

import dataclasses
import inspect
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veil.attacks.knowledge import grantable
from veil.auditing import Goals, Grants
from veil.auditing.goals import as_goals
from veil.data.declarations import Declarations
from veil.data.schema import Kind
from veil.data.tables import Table
from veil.errors import FileAccessError, FileFormatError, InputError
from veil.perturbations import Perturbation, find_perturbation
from veil.progress import Watch
from veil.publishing import inspection
from veil.publishing.plan import Plan
from veil.publishing.plausible import AUTO
from veil.report.escaping import visible
from veil.report.inspected import Inspection
from veil.secret import SecretParameter
from veil.storage.atomic import refuse_existing, write_public

SHUFFLE = "shuffle"
PLAUSIBLE, SUMS = "plausible", "sums"
SECTIONS = (SHUFFLE, PLAUSIBLE, SUMS, "roles", "missing", "kinds", "part", "goals", "grants")
SENTENCES = "sentences"
"""The key of goals that are said in words."""


@dataclass(frozen=True)
class PlanFile:
    """What a plan file says: roles, the plan (None without a part), goals and grants, and how the table is read."""

    plan: Plan | None
    goals: Goals
    grants: Grants
    roles: dict[str, str]
    missing: dict[str, list[Any]] = dataclasses.field(default_factory=dict)
    kinds: dict[str, str] = dataclasses.field(default_factory=dict)


def load_plan(path: str | Path) -> PlanFile:
    """Read a plan file; every unknown key or value is an error that names it."""
    path = Path(path)
    try:
        sections = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileAccessError(f"{path.name}: cannot read the plan ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path.name}: not a TOML file ({error})") from None
    _check_keys(sections, SECTIONS, path.name)
    parts = sections.get("part", [])
    if not isinstance(parts, list) or not all(isinstance(p, dict) for p in parts):
        raise InputError(f"{path.name}: part must be sections with a method each, [[part]]")
    plan_parts = [_part(dict(part), f"{path.name}: part {i}") for i, part in enumerate(parts, 1)]
    roles = _section(sections, "roles", path.name)
    shuffle = sections.get(SHUFFLE, False)
    if not isinstance(shuffle, bool):
        raise InputError(f"{path.name}: {SHUFFLE} must be true or false, above the first section")
    plausible = sections.get(PLAUSIBLE)
    if plausible is not None and plausible != AUTO:
        plausible = _section(sections, PLAUSIBLE, path.name)
    sums = _section(sections, SUMS, path.name)
    plan = Plan(plan_parts, roles=roles, shuffle=shuffle, plausible=plausible, sums=sums) if plan_parts else None
    rules = Declarations.of(_section(sections, "missing", path.name), _section(sections, "kinds", path.name))
    missing = {name: list(codes) for name, codes in rules.missing.items()}
    kinds = {name: str(kind) for name, kind in rules.kinds.items()}
    return PlanFile(plan, _goals(sections, path.name), _grants(sections, path), roles, missing, kinds)


def needed_plan(path: str | Path) -> Plan:
    """The plan of a file that must have one."""
    plan = load_plan(path).plan
    if plan is None:
        raise InputError(f"{Path(path).name}: needs at least one [[part]] with a method; veil advise finds one")
    return plan


def _section(sections: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    section = sections.get(name, {})
    if not isinstance(section, dict):
        raise InputError(f"{where}: {name} must be a section, [{name}]")
    return dict(section)


def _goals(sections: Mapping[str, Any], where: str) -> Goals:
    """Goals as sentences, or as settings."""
    section = _section(sections, "goals", where)
    words = section.pop(SENTENCES, None)
    if words is None:
        goals: Goals = _settings(Goals, sections, "goals", where, extra=(SENTENCES,))
        return goals
    if section:
        raise InputError(f"{where}: [goals] has {SENTENCES} and {next(iter(section))!r}; say it in a sentence")
    return as_goals(words)


def _grants(sections: Mapping[str, Any], path: Path) -> Grants:
    """Grants; files of what is handed over are looked for beside the plan."""
    section = _section(sections, "grants", path.name)
    for kind, cls in grantable().items():
        if cls.handed and isinstance(section.get(kind), str):
            section[kind] = path.parent / section[kind]
    grants: Grants = _settings(Grants, {"grants": section}, "grants", path.name)
    return grants


def _settings(cls: Any, sections: Mapping[str, Any], name: str, where: str, *, extra: Sequence[str] = ()) -> Any:
    section = _section(sections, name, where)
    kinds = grantable() if cls is Grants else ()
    known = dict.fromkeys([f.name for f in dataclasses.fields(cls) if not f.name.startswith("_")] + list(kinds))
    _check_keys(section, [*known, *extra], f"{where}: [{name}]")
    return cls(**{key: tuple(v) if isinstance(v, list) else v for key, v in section.items()})


def _part(part: dict[str, Any], where: str) -> tuple[Any, Perturbation]:
    method = part.pop("method", None)
    if not isinstance(method, str):
        raise InputError(f'{where} needs a method, for example method = "additive-noise"')
    cls = find_perturbation(method)
    columns = part.pop("columns", None)
    known = [name for name in inspect.signature(cls).parameters if name != "random_state"]
    _check_keys(part, known, f"{where} ({method})")
    secret = [name for name in part if isinstance(getattr(cls, name, None), SecretParameter)]
    if secret:
        raise InputError(
            f"{where} ({method}): {secret[0]} is a secret and does not belong into a plan; use the Python API"
        )
    return columns, cls(**part)


def _check_keys(keys: Iterable[str], known: Sequence[str], where: str) -> None:
    for key in keys:
        if key not in known:
            raise InputError.from_unknown_name(f"key of {where}", key, known)


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
    write_public(path, draft_plan(facts, name, _declared(missing, kinds)).encode())
    return facts


def draft_plan(facts: Inspection, source: str, declared: Sequence[str] = ()) -> str:
    """A plan for a table, to be edited: inferred roles, one method per kind of column, goals and grants."""
    numbers = [c.name for c in facts.columns if c.role == "sensitive"]
    texts = [c for c in facts.columns if c.role is None]
    lines = [
        f"# A plan for {visible(source)}: {facts.n_rows:,} records, {len(facts.columns)} columns.",
        "# Used by: veil perturb TABLE --plan THIS ..., veil audit TABLE --plan THIS",
        "",
        "# Rows in a secret order: where neighbouring rows resemble each other, their order tells what noise hides.",
        f"# {SHUFFLE} = true",
        "# Whole numbers stay whole, and what is never negative stays so (the key does not bring these back exactly).",
        f'# {PLAUSIBLE} = "{AUTO}"',
        "",
        "# sensitive: perturbed and scored; quasi: the same, and an outsider may know it; key: outsiders may know it,",
        "# and it is no secret; public: released unchanged; group: what records belong to (a household), released as a",
        "# pseudonym; weight: people that a record stands for; identifier, drop: not released. Numbers are sensitive",
        "# unless you say otherwise.",
        "[roles]",
    ]
    for column in facts.columns:
        note = f"  # {column.note}" if column.note else ""
        if column.role is None:
            lines.append(
                f'{_key(column.name)} = "drop"  # {column.kind}: decide{"; " + column.note if column.note else ""}'
            )
        else:
            lines.append(f"# {_key(column.name)} = {_text(column.role)}{note}")
    lines += [
        "",
        *(declared or _UNDECLARED),
        "# One part per method; a part without columns takes all that is left.",
        "[[part]]",
    ]
    if numbers:
        lines += ['method = "additive-noise"', "scale = 0.5  # in standard deviations of each column"]
    else:
        lines += ['method = "randomized-response"', "epsilon = 1.0"]
    who = [c.name for c in texts if c.identifying]
    kinds = [c.name for c in texts if c.kind in (Kind.TEXT, Kind.CATEGORY, Kind.BOOLEAN) and c.name not in who]
    if who:
        lines += [
            "",
            "# Names and the like can be kept as keyed pseudonyms; take them out of [roles] then.",
            "# [[part]]",
            f"# columns = [{', '.join(_text(n) for n in who)}]",
            '# method = "pseudonymize"',
        ]
    if numbers and kinds:
        lines += [
            "",
            "# Categories can be kept in the release by randomized response; take them out of [roles] then.",
            "# [[part]]",
            f"# columns = [{', '.join(_text(n) for n in kinds)}]",
            '# method = "randomized-response"',
            "# epsilon = 1.0",
        ]
    return "\n".join([*lines, "", *_DEFAULTS, *_grant_lines(), ""])


def write_plan(
    path: str | Path,
    plan: Plan,
    *,
    roles: Mapping[str, str],
    goals: Goals,
    heading: str = "A plan",
    missing: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> None:
    """Write a plan that was decided on, with the roles and goals it was decided for; an existing file is refused."""
    refuse_existing(Path(path))
    text = plan_text(plan, roles=roles, goals=goals, heading=heading, declared=_declared(missing, kinds))
    write_public(Path(path), text.encode())


def plan_text(
    plan: Plan, *, roles: Mapping[str, str], goals: Goals, heading: str = "A plan", declared: Sequence[str] = ()
) -> str:
    """A plan as a file says it; :func:`load_plan` reads it back."""
    lines = [f"# {visible(heading)}", ""]
    if plan.shuffle:
        why = "# Rows in a secret order, which the key knows: their own would tell what the noise hides."
        lines += [why, f"{SHUFFLE} = true", ""]
    lines += [f"{PLAUSIBLE} = {_text(AUTO)}", ""] if plan.plausible == AUTO else []
    decided = {**plan.roles, **roles}
    lines += ["[roles]", *(f"{_key(name)} = {_text(role)}" for name, role in decided.items()), "", *declared]
    for columns, method in plan.parts:
        lines.append("[[part]]")
        lines += [f"columns = [{', '.join(_text(name) for name in columns)}]"] if columns is not None else []
        defaults = {name: each.default for name, each in inspect.signature(type(method)).parameters.items()}
        changed = {name: v for name, v in method.settings().items() if v is not None and v != defaults[name]}
        lines += [f"method = {_text(method.method_name())}", *(f"{n} = {_value(v)}" for n, v in changed.items()), ""]
    if isinstance(plan.plausible, dict) and plan.plausible:
        rules = {name: rule.to_json() for name, rule in plan.plausible.items()}
        lines += [f"[{PLAUSIBLE}]", *(f"{_key(name)} = {_value(rule)}" for name, rule in rules.items()), ""]
    if plan.sums:
        lines += [f"[{SUMS}]", *(f"{_key(name)} = {_value(terms)}" for name, terms in plan.sums.items()), ""]
    return "\n".join([*lines, "[goals]", f"{SENTENCES} = [", *(f"    {_text(s)}," for s in goals.words()), "]", ""])


def _declared(missing: Mapping[str, Any] | None, kinds: Mapping[str, str] | None) -> list[str]:
    """The sections of what is declared about a table's cells."""
    rules = Declarations.of(missing, kinds)
    lines = []
    if rules.missing:
        lines += ["# Codes that stand for a missing value.", "[missing]"]
        lines += [*(f"{_key(name)} = {_value(list(codes))}" for name, codes in rules.missing.items()), ""]
    if rules.kinds:
        lines += ["[kinds]", *(f"{_key(name)} = {_text(kind)}" for name, kind in rules.kinds.items()), ""]
    return lines


_UNDECLARED = (
    "# Codes that stand for a missing value, and columns that are not what they look like (numeric, boolean, category,",
    "# text, date, time).",
    "# [missing]",
    '# "*" = ["?"]',
    "# [kinds]",
    '# zip = "category"',
    "",
)


def _value(value: Any) -> str:
    """A setting in TOML."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(str(k))} = {_value(v)}' for k, v in value.items())} }}"
    return _text(value) if isinstance(value, str) else _toml(value) if isinstance(value, bool) else repr(value)


_DEFAULTS = (
    "# What must hold, in sentences: no breach, value, record, column, link or far-out value; UTILITY at least P %;",
    "# no membership, where to be in the table at all is a secret.",
    "[goals]",
    f"{SENTENCES} = [",
    *(f'    "{sentence}",' for sentence in Goals().words()),
    '    # "covariance at least 80 %",',
    "]",
    "",
    "# What attackers may know. An audit goes through all of this, as far as the table is large enough. A line",
    "# without its first # replaces a kind ([] or false: none); what it names is refused where it does not fit.",
    "[grants]",
)


def _grant_lines() -> list[str]:
    """One line for each kind of knowledge that there is, with the amounts of a full sweep, to be uncommented."""
    kinds = grantable()
    sweep = Grants()
    values = {kind: _toml(sweep[kind]) for kind in kinds}
    width = max(len(f"{kind} = {value}") for kind, value in values.items())
    return [f"# {f'{kind} = {values[kind]}':<{width}}  # {cls.audit_help}" for kind, cls in kinds.items()]


def _toml(amounts: Any) -> str:
    if isinstance(amounts, bool):
        return "true" if amounts else "false"
    return f"[{', '.join(_text(amount) if isinstance(amount, str) else f'{amount:g}' for amount in amounts)}]"


def _key(name: str) -> str:
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isalnum() and bare.isascii() else _text(name)


def _text(value: str) -> str:
    """A TOML string."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else _escape(c) for c in escaped) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
