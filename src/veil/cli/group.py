"""The program ``veil``: finds the verb, runs it, and turns every failure into one line and an exit code."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from veil._version import __version__
from veil.cli.options import option_of
from veil.cli.printing import print_line
from veil.errors import ClusterError, ExtensionWarning, MissingExtraError, VeilError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint, EntryPoints

VERBS = ("advise", "attack", "audit", "demo", "init", "inspect", "measure", "perturb", "recover", "restore")


class Veil(click.Group):
    """The verbs of Veil and of installed packages (entry points ``veil.commands``), each imported when it is needed.

    Every failure is one line on standard error that never shows a private value.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all verbs."""
        return sorted({*VERBS, *(point.name for point in _other_commands())})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name."""
        if cmd_name in VERBS:
            command: click.Command = getattr(importlib.import_module(f"veil.cli.{cmd_name}"), cmd_name)
            return command
        return next((_loaded(point) for point in _other_commands() if point.name == cmd_name), None)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs in the help; those of other packages are named, not imported."""
        own = [(name, command) for name in VERBS if (command := self.get_command(ctx, name)) is not None]
        width = formatter.width - 6 - max(len(name) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(width)) for name, command in own])
        others = [(point.name, f"Of the package {_package(point)}.") for point in _other_commands()]
        if others:
            with formatter.section("Commands of other packages"):
                formatter.write_dl(sorted(others))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that is asked for; click's own refusal would not suggest one."""
        name = args[0] if args else ""
        if name == "reproduce" and name not in self.list_commands(ctx):
            raise MissingExtraError("reproduce needs the papers' experiments: pip install veil-papers")
        if name and not name.startswith("-") and name not in self.list_commands(ctx):
            unknown = VeilError.from_unknown_name("command", name, self.list_commands(ctx))
            raise click.UsageError(str(unknown), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        # Click would print an empty line for an interrupt on its own.
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            message = self._with_option(str(stop) or "interrupted", getattr(stop, "parameter", None), ctx)
            raise click.exceptions.Exit(_fail(message, 1)) from None
        except VeilError as error:
            code = 1 if isinstance(error, ClusterError) else 2
            raise click.exceptions.Exit(_fail(self._with_option(str(error), error.parameter, ctx), code)) from None

    def _with_option(self, message: str, parameter: str | None, ctx: click.Context) -> str:
        """A message of the library, and the option that sets the parameter which it is about."""
        verb = None if ctx.invoked_subcommand is None else self.get_command(ctx, ctx.invoked_subcommand)
        option = option_of(parameter, verb, ctx)
        return message if option is None else f"{message} ({option})"

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program and end the process."""
        kwargs["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # not every terminal knows every sign
        sys.unraisablehook = _keep_interrupts
        with suppress(ValueError):  # outside the main thread there are no signals to hear
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        sys.exit(self._exit_code(*args, **kwargs))

    def _exit_code(self, *args: Any, **kwargs: Any) -> int:
        try:
            with _quiet():
                return int(super().main(*args, **kwargs) or 0)
        except click.exceptions.Exit as exit_:
            return int(exit_.exit_code)
        except click.Abort:
            return _fail("interrupted", 1)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            return 0
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else "veil"
            return _fail(f"{error.format_message()} (see '{where} --help')", 2)
        except click.ClickException as error:
            return _fail(error.format_message(), 2)
        except VeilError as error:
            return _fail(str(error), 2)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except OSError as error:
            return _fail(f"the system refused to read or write: {error.strerror or type(error).__name__}", 1)
        except Exception as error:
            # The message of an unforeseen error could quote a cell, so only its type is shown.
            if os.environ.get("VEIL_TRACEBACK"):
                raise
            return _fail(f"internal error ({type(error).__name__}); set VEIL_TRACEBACK=1 to see where", 1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the warnings of libraries, which may quote cells and forge lines; Veil's own about packages are shown."""
    with warnings.catch_warnings():
        if not os.environ.get("VEIL_TRACEBACK"):
            warnings.filterwarnings("ignore", category=Warning)
            warnings.filterwarnings("default", category=ExtensionWarning)
        yield


def _other_commands() -> EntryPoints:
    """Verbs that other packages bring, not yet imported."""
    from importlib.metadata import entry_points

    return entry_points(group="veil.commands")


def _loaded(point: EntryPoint) -> click.Command:
    """Another package's verb; one that cannot be imported says so when it is called, and stops no other."""
    try:
        command = point.load()
    except (Exception, SystemExit) as error:
        reason = f"{point.name} of the package {_package(point)} cannot be loaded ({type(error).__name__})"
        return _broken(point.name, reason)
    if not isinstance(command, click.Command):
        return _broken(point.name, f"{point.name} ({point.value}) is not a click command")
    return command


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module.partition(".")[0]


def _broken(name: str, reason: str) -> click.Command:
    def refuse(**_: Any) -> None:
        raise click.ClickException(f"{reason}; update or remove that package")

    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=refuse, help=f"Broken: {reason}.", context_settings=settings)


def _keep_interrupts(unraisable: Any) -> None:
    """An interrupt that arrives inside a destructor is not lost and prints no traceback.

    Raised here it would be unraisable again, so it is raised by the next line of the code that was interrupted.
    """
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
        return

    def interrupt(*_: object) -> None:
        sys.settrace(None)
        raise KeyboardInterrupt

    frame = sys._getframe().f_back
    while frame is not None:
        frame.f_trace = interrupt
        frame = frame.f_back
    sys.settrace(interrupt)


def _fail(message: str, code: int) -> int:
    print_line(f"veil: {' '.join(message.split())}", err=True)
    return code


@click.group(cls=Veil, context_settings={"help_option_names": ["-h", "--help"]})
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
