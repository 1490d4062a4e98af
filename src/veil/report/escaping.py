"""Text from files, made fit for a terminal.

A column's name, a category or a file's name may hold anything: escape sequences that move the cursor or rename the
window, overrides of the reading direction that show other words than there are, line breaks that forge a line of
output. What a terminal would obey instead of show is written as its escape.
"""

from __future__ import annotations

import json
from typing import Any


def visible(text: object) -> str:
    r"""``text`` on one line, with every sign that does not show replaced by its escape.

    Letters of all scripts stay; control characters, directional and other format characters, line breaks, spaces other
    than the plain one, and halves of surrogate pairs do not.

    >>> visible("Größe\x1b[2J\n\u202e")
    'Größe\\x1b[2J\\n\\u202e'
    """
    plain = str(text)
    return plain if plain.isprintable() else "".join(sign if sign.isprintable() else _escape(sign) for sign in plain)


def visible_lines(text: str) -> str:
    r"""The same for text of several lines, whose breaks stay.

    >>> visible_lines("age\tincome\nname")
    'age\\tincome\nname'
    """
    return "\n".join(visible(line) for line in text.split("\n"))


def visible_json(value: Any, *, indent: int | None = None) -> str:
    r"""``value`` as JSON that a terminal can show: the same value, with signs that do not show as ``\u`` escapes.

    >>> visible_json({"Größe": "\x9b2J"})
    '{"Größe": "\\u009b2J"}'
    """
    return shown_json(json.dumps(value, indent=indent, ensure_ascii=False))


def shown_json(text: str) -> str:
    """The same for a text that is JSON already."""
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


def _escape(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")
