"""What ``audit`` and ``advise`` have in common: goals and grants from options, and how their report is delivered."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from veil.cli.engines import workers_option
from veil.cli.options import all_of
from veil.cli.printing import print_json, print_line, terminal
from veil.cli.settings import numbers, one_number, parse_pairs

goal_options = all_of(
    click.option(
        "--goal",
        "sentences",
        multiple=True,
        metavar="SENTENCE",
        help="Goal in words, e.g. 'no record with more than 5 % advantage' or 'means at least 90 %'; replaces those of "
        "a plan.",
    ),
    click.option("--max-advantage", type=float, help="Goal: the most an attack may gain. Default: 0.05."),
    click.option("--max-membership", type=float, help="Goal: the most that is told about who is in the table."),
    click.option("--tolerance", type=float, help="Goal: nearness of a breach, in standard units. Default: 0.1."),
    click.option("--min-utility", multiple=True, metavar="NAME=VALUE", help="Goal, e.g. distances=0.9."),
    click.option("--against", multiple=True, help="Knowledge that counts, by kind or label. Default: all."),
    click.option("--target", metavar="COLUMN", help="A public column that analysts want to predict."),
)
run_options = all_of(
    click.option("--budget", metavar="TIME", help="Time to spend, e.g. 90s or 2m, on the attacks that matter."),
    workers_option,
    click.option("--seed", type=click.IntRange(min=0), help="Make the result reproducible."),
    click.option("-o", "--output", type=click.Path(path_type=Path), help="Report to write: .html or .json."),
    click.option("--internal", is_flag=True, help="Confidential edition with single records, mode 0600."),
)


def setting(options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The plan of a plan file, if any, and the arguments of audits and advice; options win over the file."""
    from veil.auditing import Goals, Grants
    from veil.auditing.plan_file import load_plan

    file = None if options["plan_file"] is None else load_plan(options["plan_file"])
    grants, goals = (Grants(), Goals()) if file is None else (file.grants, file.goals)
    return (None if file is None else file.plan), {
        "grants": grants.replaced(**_given(_granted(options))),
        "goals": _goals(goals, options),
        "roles": {**({} if file is None else file.roles), **parse_pairs(options["roles"], "--role")},
        **{name: options[name] for name in ("target", "seed", "budget", "workers")},
    }


def _goals(goals: Any, options: dict[str, Any]) -> Any:
    """The goals of a plan with those of the options; sentences replace all."""
    from veil.auditing import Goals

    settings = _given(_wanted(options))
    if not options["sentences"]:
        named = {"on": tuple(goals.on)} if goals.on and "max_advantage" in settings else {}
        return replace(goals, **settings, **named)
    if settings:
        option = f"--{next(iter(settings)).replace('_', '-')}"
        raise click.UsageError(f"give goals as sentences (--goal) or as numbers ({option}), and not both")
    return Goals.from_words(*options["sentences"])


def _granted(options: dict[str, Any]) -> dict[str, Any]:
    from veil.attacks.knowledge import grantable

    amounts = {name: _amounts(options[name], f"--{name}", kind.unit) for name, kind in grantable().items()}
    return {**amounts, "sample_from": options["sample_from"]}


def _wanted(options: dict[str, Any]) -> dict[str, Any]:
    least = parse_pairs(options["min_utility"], "--min-utility")
    return {
        "max_advantage": options["max_advantage"],
        "max_membership": options["max_membership"],
        "tolerance": options["tolerance"],
        "min_utility": {name: one_number(text, "--min-utility") for name, text in least.items()} or None,
        "against": list(options["against"]) or None,
    }


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _amounts(value: Any, option: str, unit: str) -> Any:
    """Amounts of knowledge as the command line says them: shares, or whole numbers and "d" for as many as columns."""
    if value is None or isinstance(value, bool | Path):
        return value
    if unit == "share":
        return numbers(value, option, float)
    parts = [part.strip() for part in value.split(",") if part.strip()]
    return (*numbers(",".join(p for p in parts if p != "d"), option, int), *(p for p in parts if p == "d"))


def deliver(answer: Any, output: Path | None, *, as_json: bool, internal: bool = False) -> None:
    """Write the report of an audit or advice where one is wanted, and print it."""
    if output is not None:
        write = answer.to_html if output.suffix == ".html" else answer.to_json
        write(output, internal=internal)
    from veil.report.json import as_json as to_json
    from veil.report.writing import print_report

    if as_json:
        print_json(to_json(answer.model()))
        return
    print_report(answer.model(), terminal())
    if output is not None:
        print_line(f"Report written to {output}")


def exit_with(good: bool) -> None:
    """Exit code 3 when a goal failed."""
    if not good:
        sys.stdout.flush()
        raise click.exceptions.Exit(3)
