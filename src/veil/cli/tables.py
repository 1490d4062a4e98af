"""How a table of the command line is to be read: the options that declare it, and what a plan file declares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veil.cli.options import all_of
from veil.cli.settings import parse_pairs

if TYPE_CHECKING:
    from veil.data.tables import Table

_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
_FILE = ("delimiter", "decimal", "encoding", "labels", "sheet")


def _delimiter(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    return None if value is None else _DELIMITERS.get(value, "\t" if value == "\\t" else value)


table_options = all_of(
    click.option(
        "--missing",
        multiple=True,
        metavar="[COLUMN=]CODE",
        help="A code that stands for a missing value, e.g. '?' or age=99; may be given many times.",
    ),
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        metavar="COLUMN=KIND",
        help="numeric, boolean, category, text, date or time, where a column looks like another, e.g. zip=category.",
    ),
    click.option("--delimiter", metavar="MARK", callback=_delimiter, help="Of CSV: , ; tab or |. Default: read off."),
    click.option("--decimal", metavar="MARK", help="Of CSV: a decimal point or comma. Default: read off."),
    click.option("--encoding", metavar="NAME", help="Of CSV and survey files, e.g. windows-1252. Default: UTF-8."),
    click.option(
        "--labels/--codes", default=True, help="Of survey files: read labelled columns as their labels, or as codes."
    ),
    click.option("--sheet", metavar="NAME", help="Of a workbook: the sheet that is the table."),
)


def declared(table: Path, options: dict[str, Any], plan_file: Path | None = None) -> Table:
    """The table of a verb as the options and the plan file declare it; takes these options out."""
    from veil.data.sources import read_table

    return read_table(table, **cells(options, plan_file), **{name: options.pop(name) for name in _FILE})


def cells(options: dict[str, Any], plan_file: Path | None = None) -> dict[str, Any]:
    """What options and plan file declare about cells; options are more, and win where they say something else."""
    missing, kinds = parsed_missing(options.pop("missing")), parse_pairs(options.pop("kinds"), "--kind")
    if plan_file is not None:
        from veil.auditing.plan_file import load_plan

        plan = load_plan(plan_file)
        names = dict.fromkeys([*plan.missing, *missing])
        missing = {name: [*plan.missing.get(name, ()), *missing.get(name, ())] for name in names}
        kinds = {**plan.kinds, **kinds}
    return {"missing": missing, "kinds": kinds}


def also_declared(other: Path, options: dict[str, Any], plan_file: Path | None = None) -> Table | Path:
    """Another table of the same people, declared alike as far as it has the columns; a release folder is left alone.

    How its file is written it tells itself; if it does not, it is written like the first.
    """
    from veil.data.declarations import Declarations
    from veil.data.sources import read_table
    from veil.errors import FileFormatError

    if other.is_dir():
        return other
    options = dict(options)
    said = cells(options, plan_file)
    like_the_first = {name: options.pop(name) for name in _FILE}
    for file in ({"labels": like_the_first["labels"]}, like_the_first):
        try:
            rules = Declarations.of(**said).limited(read_table(other, **file).schema.names)
            table = read_table(other, missing=rules.missing, kinds=rules.kinds, **file)
        except FileFormatError:
            if file is like_the_first:
                raise
        else:
            break
    return table


def parsed_missing(texts: Sequence[str]) -> dict[str, list[str]]:
    """``CODE`` and ``COLUMN=CODE`` texts as codes by column.

    >>> parsed_missing(["?", "age=98", "age=99"])
    {'*': ['?'], 'age': ['98', '99']}
    """
    codes: dict[str, list[str]] = {}
    for text in texts:
        name, mark, code = text.rpartition("=")
        codes.setdefault(name if mark and name else "*", []).append(code if mark and name else text)
    return codes
