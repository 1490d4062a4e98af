"""How texts of the command line become values."""

from __future__ import annotations

import inspect as inspection
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from veil.errors import InputError


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """``NAME=VALUE`` texts as a dictionary."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, mark, value = text.rpartition("=") if option == "--role" else text.partition("=")
        if not mark or not name:
            form = {"--role": "COLUMN=ROLE", "--kind": "COLUMN=KIND"}.get(option, "NAME=VALUE")
            raise click.UsageError(f"{option} takes {form}; got {text!r}")
        if name in pairs:
            raise click.UsageError(f"{option} names {name!r} twice")
        pairs[name] = value
    return pairs


def parse_value(text: str) -> Any:
    """A parameter's value: JSON where it is JSON, a table of numbers for ``@FILE``, else the text itself.

    >>> parse_value("0.5"), parse_value("none"), parse_value("true"), parse_value("laplace"), parse_value("(0.5, 1.5)")
    (0.5, None, True, 'laplace', [0.5, 1.5])
    """
    if text.startswith("@"):
        return _from_file(Path(text[1:]))
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    listed = re.fullmatch(r"\s*[(\[](.*)[)\]]\s*|([^,\"\[\]{}]+,[^\"\[\]{}]*)", text)
    for attempt in (text, f"[{listed[1] or listed[2]}]" if listed else text):
        try:
            return json.loads(attempt)
        except ValueError:
            continue
    return text


def _from_file(path: Path) -> Any:
    """Numbers from a file, so that secrets need not stand on a command line."""
    import numpy as np

    from veil.attacks.knowledge import as_records

    if not path.is_file():
        raise click.UsageError(f"@FILE must name a file of numbers; there is none called {path.name!r}")
    for read in (
        lambda: np.load(path, allow_pickle=False),
        lambda: np.loadtxt(path, delimiter=","),
        lambda: np.loadtxt(path),
    ):
        if path.suffix in (".npy", ".csv", ".txt"):
            try:
                return read()
            except ValueError:
                continue
    if path.suffix == ".json":
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise click.UsageError(f"{path.name}: not a readable JSON file") from None
    return as_records(path, path.name)


def build(cls: type[Any], settings: dict[str, str], *, allow_seed: bool) -> Any:
    """An object of a class from ``--set`` texts; unknown names are errors with a suggestion."""
    known = [name for name in inspection.signature(cls).parameters if name != "self"]
    for name in settings:
        if name not in known:
            raise InputError.from_unknown_name(f"parameter of {cls.__name__}", name, known)
    if "random_state" in settings and not allow_seed:
        raise click.UsageError(
            "random_state makes a key that can be guessed (a million seeds take two minutes); "
            "leave it out, or add --allow-seed for tests and papers"
        )
    return cls(**{name: parse_value(text) for name, text in settings.items()})


def build_method(text: str, settings: Sequence[str], *, allow_seed: bool) -> Any:
    """A perturbation from ``NAME`` or ``NAME:param=value,param=value`` and ``--set`` texts."""
    from veil.perturbations import find_perturbation

    name, _, inline = text.partition(":")
    given = [part for part in _split_inline(inline) if part]
    pairs = parse_pairs(given, "--method NAME:...") | parse_pairs(settings, "--set")
    return build(find_perturbation(name), pairs, allow_seed=allow_seed)


def _split_inline(text: str) -> list[str]:
    """``a=1,b=[2,3]`` at its commas outside brackets.

    >>> _split_inline("a=1,b=[2,3]")
    ['a=1', 'b=[2,3]']
    """
    return re.split(r",(?![^\[({]*[\])}])", text)


def numbers(text: str | None, option: str, kind: type[Any]) -> tuple[Any, ...]:
    """Comma-separated numbers.

    >>> numbers("1,5", "--pairs", int)
    (1, 5)
    """
    try:
        return tuple(kind(part) for part in (text or "").split(",") if part.strip())
    except ValueError:
        raise click.UsageError(f"{option} takes numbers separated by commas; got {text!r}") from None


def one_number(text: str, option: str) -> float:
    """The number after the equals sign of an option.

    >>> one_number("0.9", "--min-utility")
    0.9
    """
    values = numbers(text, option, float)
    if len(values) != 1:
        raise click.UsageError(f"{option} takes NAME=NUMBER")
    return float(values[0])
