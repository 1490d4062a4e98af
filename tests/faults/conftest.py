"""What the fault tests share: a command line to call, a table to spoil, and the judge of a refusal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from veil.cli import main

# Cells that occur in no message, release or manifest unless somebody copied them there.
TRACES = ("31415926", "3.1415926", "SECRETCELL")


class CommandLine:
    """Calls ``veil`` in this process, inside one folder, and looks at what it left there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runner = CliRunner()

    def run(self, *arguments, env=None):
        return self._runner.invoke(main, [str(a) for a in arguments], env=env, prog_name="veil")

    def succeeds(self, *arguments, env=None):
        result = self.run(*arguments, env=env)
        assert result.exit_code == 0, result.stderr
        return result

    def refuses(self, *arguments, words=(), code=2, env=None):
        """One line on standard error, exit code 2, no private cell, nothing written."""
        before = snapshot(self.folder)
        result = self.run(*arguments, env=env)
        assert_refusal(result.exit_code, result.stderr, words=words, code=code)
        assert snapshot(self.folder) == before, "a refused command left something behind or changed a file"
        return result.stderr

    def perturb(self, table, *, method="additive-noise", output="release", key="key", options=()):
        """The arguments of a plain ``veil perturb``."""
        target = ("-o", self.folder / output, "--key", self.folder / key)
        return ("perturb", table, "--method", method, *target, *options)


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """Every path under a folder with its content."""
    return {
        str(path.relative_to(folder)): (
            f"-> {path.readlink()}" if path.is_symlink() else "folder" if path.is_dir() else path.read_bytes()
        )
        for path in sorted(folder.rglob("*"))
    }


def assert_refusal(exit_code: int, stderr: str, *, words=(), code: int = 2) -> None:
    """The product's rule for bad input."""
    lines = stderr.splitlines()
    assert len(lines) == 1, f"not one line: {stderr!r}"
    assert lines[0].startswith("veil: "), stderr
    assert exit_code == code, f"exit code {exit_code}: {stderr}"
    assert_says(lines[0], words)


def assert_says(message: str, words=()) -> None:
    """A message with the wanted words and no private cell."""
    assert "\n" not in message
    for trace in TRACES:
        assert trace not in message, "the message quotes a private cell"
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"


@pytest.fixture
def command(tmp_path):
    """The command line, working in a fresh folder."""
    return CommandLine(tmp_path)


@pytest.fixture
def process():
    """Run the installed ``veil`` as its own process."""
    tool = Path(sys.executable).with_name("veil")

    def run(*arguments, **options):
        command = [tool, *(str(a) for a in arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)

    return run


@pytest.fixture
def judge():
    """The rule for refusals, for tests that call a subprocess or the library themselves."""
    return assert_refusal


@pytest.fixture
def says():
    """The rule for messages."""
    return assert_says


@pytest.fixture
def contents():
    """What a folder holds."""
    return snapshot


@pytest.fixture
def numbers():
    """Sixty records of three correlated numeric columns, the last of whole numbers."""
    rng = np.random.default_rng(20240)
    a = rng.normal(100, 15, 60)
    return pd.DataFrame({"a": a, "b": 0.6 * a + rng.normal(0, 8, 60), "n": rng.integers(0, 40, 60)})
