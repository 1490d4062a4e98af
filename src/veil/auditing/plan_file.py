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
from veil.auditing.plan_toml import bare_key, declared_lines, quoted, toml_value
from veil.data.declarations import Declarations
from veil.errors import FileAccessError, FileFormatError, InputError
from veil.perturbations import Perturbation, find_perturbation
from veil.publishing.plan import Plan
from veil.publishing.plausible import AUTO
from veil.report.escaping import visible
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
        quotes = "; texts need quotes" if "Invalid value" in str(error) else ""
        raise FileFormatError(f"{path.name}: not a TOML file ({error}){quotes}") from None
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
    text = plan_text(plan, roles=roles, goals=goals, heading=heading, declared=declared_lines(missing, kinds))
    write_public(Path(path), text.encode())


def plan_text(
    plan: Plan, *, roles: Mapping[str, str], goals: Goals, heading: str = "A plan", declared: Sequence[str] = ()
) -> str:
    """A plan as a file says it; :func:`load_plan` reads it back."""
    lines = [f"# {visible(heading)}", ""]
    if plan.shuffle:
        why = "# Rows in a secret order, which the key knows: their own would tell what the noise hides."
        lines += [why, f"{SHUFFLE} = true", ""]
    lines += [f"{PLAUSIBLE} = {quoted(AUTO)}", ""] if plan.plausible == AUTO else []
    decided = {**plan.roles, **roles}
    lines += ["[roles]", *(f"{bare_key(name)} = {quoted(role)}" for name, role in decided.items()), "", *declared]
    for columns, method in plan.parts:
        lines.append("[[part]]")
        lines += [f"columns = [{', '.join(quoted(name) for name in columns)}]"] if columns is not None else []
        defaults = {name: each.default for name, each in inspect.signature(type(method)).parameters.items()}
        changed = {name: v for name, v in method.settings().items() if v is not None and v != defaults[name]}
        lines += [
            f"method = {quoted(method.method_name())}",
            *(f"{n} = {toml_value(v)}" for n, v in changed.items()),
            "",
        ]
    if isinstance(plan.plausible, dict) and plan.plausible:
        rules = {name: rule.to_json() for name, rule in plan.plausible.items()}
        lines += [f"[{PLAUSIBLE}]", *(f"{bare_key(name)} = {toml_value(rule)}" for name, rule in rules.items()), ""]
    if plan.sums:
        lines += [f"[{SUMS}]", *(f"{bare_key(name)} = {toml_value(terms)}" for name, terms in plan.sums.items()), ""]
    return "\n".join([*lines, "[goals]", f"{SENTENCES} = [", *(f"    {quoted(s)}," for s in goals.words()), "]", ""])
