"""Options that say what is known, one for each kind of knowledge that is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click


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

    options = []
    for name, kind in grantable().items():
        option, usual = f"--{name.replace('_', '-')}", "0.02" if kind.unit is Unit.SHARE else "1,5"
        if kind.handed:
            options.append(click.Option([option, name], type=click.Path(path_type=Path), help=kind.audit_help))
        elif kind.unit is Unit.NONE:
            options.append(click.Option([f"{option}/--no-{option[2:]}", name], default=None, help=kind.audit_help))
        else:
            metavar = ",".join(map(str, kind.swept)) or usual
            options.append(click.Option([option, name], metavar=metavar, help=kind.audit_help))
    return [
        *options,
        click.Option(
            ["--sample-from"],
            type=click.Choice(["population", "table"]),
            help="Whether a known sample is of other people (default) or of the table's own.",
        ),
    ]


def known_options() -> list[click.Option]:
    """The options that grant an attacker what is known, one for each kind of knowledge."""
    from veil.attacks.knowledge import Source, kinds_of_knowledge

    options = []
    for option, kind in kinds_of_knowledge().items():
        names = [option, *kind.other_options, kind.parameter()]
        if kind.source is Source.FLAG:
            options.append(click.Option(names, is_flag=True, help=kind.file_help))
        elif kind.file_help:
            options.append(click.Option(names, type=click.Path(path_type=Path), help=kind.file_help))
    return options
