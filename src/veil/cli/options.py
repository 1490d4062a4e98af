"""Options that several verbs share, and how their texts become values."""

from __future__ import annotations

import difflib
import inspect as inspection
import json
import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

role_option = click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="COLUMN=ROLE",
    help="identifier, sensitive, quasi, public or drop; may be given many times.",
)
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the method, e.g. scale=0.5; matrix=@FILE reads numbers from a file.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
seed_option = click.option(
    "--allow-seed", is_flag=True, help="Allow random_state: anybody who guesses the seed has the key."
)
passphrase_option = click.option(
    "--passphrase",
    "ask_passphrase",
    is_flag=True,
    help="Ask for the key file's passphrase (or set VEIL_PASSPHRASE).",
)


_GOALS = (
    click.option("--max-advantage", type=float, help="Goal: the most an attack may gain. Default: 0.05."),
    click.option("--tolerance", type=float, help="Goal: nearness of a breach, in standard units. Default: 0.1."),
    click.option("--min-utility", multiple=True, metavar="NAME=VALUE", help="Goal, e.g. distances=0.9."),
    click.option("--against", multiple=True, help="Knowledge that counts, by kind or label. Default: all."),
    click.option("--target", metavar="COLUMN", help="A public column that analysts want to predict."),
)
_RUN = (
    click.option("--budget", metavar="TIME", help="Time to spend, e.g. 90s or 2m, on the attacks that matter."),
    click.option("--workers", type=click.IntRange(min=1), help="Processes at most. Default: one per processor."),
    click.option("--seed", type=click.IntRange(min=0), help="Make the result reproducible."),
    click.option("-o", "--output", type=click.Path(path_type=Path), help="Report to write: .html or .json."),
    click.option("--internal", is_flag=True, help="Confidential edition with single records, mode 0600."),
)


def _all(options: Sequence[Callable[[Any], Any]]) -> Callable[[F], F]:
    def decorated(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


class KnowledgeCommand(click.Command):
    """A verb some of whose options come from the kinds of knowledge; these are looked up when it is called.

    Parameters
    ----------
    known
        Makes those options.
    """

    def __init__(self, *arguments: Any, known: Callable[[], list[click.Option]], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._known = cache(known)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """All options, those of knowledge before the last, which is --help."""
        *options, last = super().get_params(ctx)
        return [*options, *self._known(), last]


def granted_options() -> list[click.Option]:
    """The options that say what an audit grants, one for each kind of knowledge that it can draw."""
    from veil.attacks.knowledge import Unit, grantable

    options = [
        click.Option([f"--{name}/--no-{name}"], default=None, help=kind.audit_help)
        if kind.unit is Unit.NONE
        else click.Option([f"--{name}"], help=kind.audit_help)
        for name, kind in grantable().items()
    ]
    return [
        *options,
        click.Option(
            ["--sample-from"],
            type=click.Choice(["population", "table"]),
            help="Whether a known sample is of other people (default) or of the table's own.",
        ),
    ]


goal_options = _all(_GOALS)
run_options = _all(_RUN)


def known_options() -> list[click.Option]:
    """The options that grant an attacker what is known, one for each kind of knowledge."""
    from veil.attacks.knowledge import Source, kinds_of_knowledge

    options = []
    for option, kind in kinds_of_knowledge().items():
        names = [option, *kind.other_options, option.removeprefix("--").replace("-", "_")]
        if kind.source is Source.FLAG:
            options.append(click.Option(names, is_flag=True, help=kind.file_help))
        elif kind.file_help:
            options.append(click.Option(names, type=click.Path(path_type=Path), help=kind.file_help))
    return options


def list_option(what: str) -> Callable[[F], F]:
    """``--list``: print every method or attack with its parameters, and stop."""

    def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if not wanted:
            return
        if what == "methods":
            from veil.perturbations import PERTURBATIONS as REGISTRY
        else:
            from veil.attacks import ATTACKS as REGISTRY  # type: ignore[assignment]
        for name, cls in REGISTRY.items():
            click.echo(f"{name} ({cls.catalogue}): {_first_line(cls)}")
            for parameter in inspection.signature(cls).parameters.values():
                default = (
                    "required" if parameter.default is parameter.empty else f"default {_default(parameter.default)}"
                )
                click.echo(f"    {parameter.name} ({default})")
        context.exit()

    return click.option(
        "--list", is_flag=True, is_eager=True, expose_value=False, callback=show, help=f"List all {what}."
    )


def _first_line(cls: type[Any]) -> str:
    text = (inspection.getdoc(cls) or "").partition("\n\n")[0]
    return " ".join(text.split()).partition(". ")[2]


def _default(value: Any) -> str:
    return "none" if value is None else str(value)


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """``NAME=VALUE`` texts as a dictionary."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, mark, value = text.rpartition("=") if option == "--role" else text.partition("=")
        if not mark or not name:
            raise click.UsageError(f"{option} takes NAME=VALUE; got {text!r}")
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
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise click.UsageError(f"{cls.__name__} has no parameter {name!r}; {hint}")
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
    found = numbers(text, option, float)
    if len(found) != 1:
        raise click.UsageError(f"{option} takes NAME=NUMBER")
    return float(found[0])


def passphrase(ask: bool, *, confirm: bool = False) -> str | None:
    """The passphrase from the environment or a prompt."""
    if os.environ.get("VEIL_PASSPHRASE"):
        return os.environ["VEIL_PASSPHRASE"]
    if not ask:
        return None
    answer: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return answer
