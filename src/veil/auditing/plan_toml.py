"""Keys and values of a plan file, as TOML says them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veil.data.declarations import Declarations


def toml_value(value: Any) -> str:
    """A setting in TOML.

    >>> toml_value([0.5, "a"]), toml_value({"grain": 1.0}), toml_value(True)
    ('[0.5, "a"]', '{ grain = 1.0 }', 'true')
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{bare_key(str(k))} = {toml_value(v)}' for k, v in value.items())} }}"
    return quoted(value) if isinstance(value, str) else amounts(value) if isinstance(value, bool) else repr(value)


def amounts(values: Any) -> str:
    """Amounts of a kind of knowledge: true or false, or numbers and words."""
    if isinstance(values, bool):
        return "true" if values else "false"
    return f"[{', '.join(quoted(amount) if isinstance(amount, str) else f'{amount:g}' for amount in values)}]"


def bare_key(name: str) -> str:
    """A key, in quotes where it needs them.

    >>> bare_key("hh_id"), bare_key("a b")
    ('hh_id', '"a b"')
    """
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isalnum() and bare.isascii() else quoted(name)


def quoted(value: str) -> str:
    """A TOML string."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else _escape(c) for c in escaped) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def declared_lines(missing: Mapping[str, Any] | None, kinds: Mapping[str, str] | None) -> list[str]:
    """The sections of what is declared about a table's cells."""
    rules = Declarations.of(missing, kinds)
    lines = []
    if rules.missing:
        lines += ["# Codes that stand for a missing value.", "[missing]"]
        lines += [*(f"{bare_key(name)} = {toml_value(list(codes))}" for name, codes in rules.missing.items()), ""]
    if rules.kinds:
        lines += ["[kinds]", *(f"{bare_key(name)} = {quoted(kind)}" for name, kind in rules.kinds.items()), ""]
    return lines
