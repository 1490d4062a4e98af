"""Packages of other people as pip lays them out, and the program run beside them in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
EACH = """
import json, sys
from click.testing import CliRunner
from veil.cli import main
results = [CliRunner().invoke(main, arguments, prog_name="veil") for arguments in json.loads(sys.argv[1])]
print(json.dumps([[result.exit_code, result.stdout, result.stderr] for result in results]))
"""


def install(folder: Path, group: str, name: str, module: str, source: str) -> None:
    """Write a module and a dist-info folder with an entry point of the group."""
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")


def python(folder: Path, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder whose packages it finds."""
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def veil(folder: Path, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the program in a folder whose packages it finds."""
    return python(folder, "-c", "from veil.cli import main; main()", *arguments, code=code)


def veil_each(folder: Path, *commands: tuple[object, ...], code: int = 0) -> list[tuple[str, str]]:
    """Call the program for each command, all in one fresh process: what each prints, here and as errors."""
    done = python(folder, "-c", EACH, json.dumps([[str(each) for each in command] for command in commands]))
    results = json.loads(done.stdout.splitlines()[-1])
    assert [exit_code for exit_code, _, _ in results] == [code] * len(commands), results
    return [(printed, errors) for _, printed, errors in results]
