"""The command line: parse, call, print. Heavy libraries load only when a verb needs them.

Exit codes: 0 fine, 2 usage or input, 3 a goal failed, 1 anything else.
"""

from __future__ import annotations

import _thread
import io
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from veil._version import __version__
from veil.cli.analyst import recover
from veil.cli.measuring import measure
from veil.cli.officer import advise, audit, demo
from veil.cli.owner import init, inspect, perturb, restore
from veil.cli.redteam import attack
from veil.errors import ClusterError, VeilError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


class _Veil(click.Group):
    """The verbs of Veil and of installed packages (entry points ``veil.commands``).

    Every failure is one line on standard error that never shows a private value.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *(point.name for point in _other_commands())})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        return next((point.load() for point in _other_commands() if point.name == cmd_name), None)

    def invoke(self, ctx: click.Context) -> Any:
        # Click would print an empty line for an interrupt on its own.
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise click.exceptions.Exit(_fail(str(stop) or "interrupted", 1)) from None

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # not every terminal knows every sign
        sys.unraisablehook = _keep_interrupts
        with suppress(ValueError):  # outside the main thread there are no signals to hear
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            code = super().main(*args, **kwargs)
        except click.exceptions.Exit as exit_:
            code = exit_.exit_code
        except click.Abort:
            code = _fail("interrupted", 1)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            code = 0
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else "veil"
            code = _fail(f"{error.format_message()} (see '{where} --help')", 2)
        except click.ClickException as error:
            code = _fail(error.format_message(), 2)
        except ClusterError as error:
            code = _fail(str(error), 1)
        except VeilError as error:
            code = _fail(str(error), 2)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 1
        except OSError as error:
            code = _fail(f"the system refused to read or write: {error.strerror or type(error).__name__}", 1)
        except Exception as error:
            # The message of an unforeseen error could quote a cell, so only its type is shown.
            if os.environ.get("VEIL_TRACEBACK"):
                raise
            code = _fail(f"internal error ({type(error).__name__}); set VEIL_TRACEBACK=1 to see where", 1)
        sys.exit(code or 0)


def _other_commands() -> EntryPoints:
    """Verbs that other packages bring, not yet imported."""
    from importlib.metadata import entry_points

    return entry_points(group="veil.commands")


def _keep_interrupts(unraisable: Any) -> None:
    """An interrupt that arrives inside a destructor is not lost and prints no traceback."""
    if unraisable.exc_type is KeyboardInterrupt:
        _thread.interrupt_main()
    else:
        sys.__unraisablehook__(unraisable)


def _fail(message: str, code: int) -> int:
    click.echo(f"veil: {' '.join(message.split())}", err=True)
    return code


@click.group(cls=_Veil, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="veil")
def main() -> None:
    """Perturb a private table, attack the release, and say what it is worth.

    \b
    First steps:
      veil demo                                   the whole loop on a real table
      veil inspect patients.csv                   columns, roles and what to decide
      veil init patients.csv                      a plan to edit: roles, methods, goals
      veil advise patients.csv                    which method, and how strong
      veil audit patients.csv --method additive-noise --set scale=1
      veil perturb patients.csv --method additive-noise -o release --key my.veilkey
      veil measure patients.csv guess.parquet     how near a guess comes
      veil reproduce                              the papers' experiments

    Tables may be larger than memory: docs/scale.md.
    """


for command in (demo, inspect, init, advise, perturb, attack, measure, audit, recover, restore):
    main.add_command(command)
