"""Packages of other people as pip lays them out, and the program run beside them in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


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
