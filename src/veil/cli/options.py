"""Options that several verbs share."""

from __future__ import annotations

import inspect as inspection
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

role_option = click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="COLUMN=ROLE",
    help="identifier, sensitive, quasi, key, public, group, weight or drop; may be given many times.",
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


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, listed in this order."""

    def decorated(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def list_option(what: str) -> Callable[[F], F]:
    """``--list``: print every method or attack with its parameters, and stop."""

    def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if not wanted:
            return
        if what == "methods":
            from veil.perturbations import PERTURBATIONS

            classes: dict[str, Any] = dict(PERTURBATIONS)
            texts = {name: method.summary for name, method in PERTURBATIONS.items()}
        else:
            from veil.attacks import attack_classes

            classes = dict(attack_classes())
            words = {name: attack.words for name, attack in attack_classes().items()}
            texts = {name: f"{text[:1].upper()}{text[1:]}." for name, text in words.items()}
        for name, cls in classes.items():
            click.echo(f"{name} ({cls.catalogue}): {texts[name]}")
            for parameter in inspection.signature(cls).parameters.values():
                default = (
                    "required" if parameter.default is parameter.empty else f"default {_default(parameter.default)}"
                )
                click.echo(f"    {parameter.name} ({default})")
        context.exit()

    return click.option(
        "--list", is_flag=True, is_eager=True, expose_value=False, callback=show, help=f"List all {what}."
    )


def _default(value: Any) -> str:
    return "none" if value is None else str(value)


def passphrase(ask: bool, *, confirm: bool = False) -> str | None:
    """The passphrase from the environment or a prompt."""
    if os.environ.get("VEIL_PASSPHRASE"):
        return os.environ["VEIL_PASSPHRASE"]
    if not ask:
        return None
    answer: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return answer


def option_of(parameter: str | None, verb: click.Command | None, ctx: click.Context) -> str | None:
    """The option of a verb that sets a parameter of the library, as one would type it; None if there is none."""
    if parameter is None or verb is None:
        return None
    names = {parameter, f"{parameter}_", f"ask_{parameter}", f"{parameter}s"}
    for option in verb.get_params(ctx):
        if isinstance(option, click.Option) and option.name in names:
            return " ".join(filter(None, (max(option.opts, key=len), option.metavar)))
    return None
