"""The program, called in this process or started in one of its own."""

import contextlib
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from veil.cli import main


def call(*arguments: Any, cwd: Path, code: int = 0, env: dict[str, str] | None = None) -> Result:
    """Call it here, in a folder: what it prints, once it ended with this exit code."""
    with contextlib.chdir(cwd):
        done = CliRunner().invoke(main, [str(each) for each in arguments], env=env, prog_name="veil")
    assert done.exit_code == code, f"exit {done.exit_code}: {done.stderr or done.stdout}"
    return done


def start(*arguments: Any, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Start the installed one, in a folder: what it prints, once it ended with this exit code."""
    command = [Path(sys.executable).with_name("veil"), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"exit {done.returncode}: {done.stderr or done.stdout}"
    return done


def interruptible() -> None:
    """To be called in a new process before its program starts: shells start background jobs deaf to interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
