"""The program itself: verbs load when they are called, other packages' verbs break alone, errors get their option."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import veil
from veil.cli import group, main
from veil.cli.options import option_of
from veil.errors import FileAccessError, InputError, KeyRefusedError, MissingKnowledgeError, VeilError

SOURCE = Path(veil.__file__).parent


def run(*arguments, code=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


# -- loading ------------------------------------------------------------------------------------


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a run of the program has imported when it ends."""
    script = (
        "import sys\n"
        "from veil.cli import main\n"
        f"sys.argv = ['veil', *{list(arguments)!r}]\n"
        "try:\n    main()\nfinally:\n    print('MODULES', *sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return set(done.stdout.partition("MODULES")[2].split())


def test_help_and_version_load_no_heavy_library():
    for arguments in (["--help"], ["--version"]):
        modules = loaded_by(*arguments)
        assert "veil.cli.group" in modules
        assert not modules & {"numpy", "pyarrow", "sklearn", "scipy", "numba", "pandas", "rich", "dask"}


def test_a_verb_loads_itself_and_no_other():
    verbs = {f"veil.cli.{verb}" for verb in group.VERBS}
    assert loaded_by("inspect", "--help") & verbs == {"veil.cli.inspect"}
    assert loaded_by("recover", "--help") & verbs == {"veil.cli.recover"}


def test_every_verb_has_a_file_and_a_first_line_of_help():
    printed = run("--help").stdout
    for verb in group.VERBS:
        assert f"\n  {verb} " in printed
        assert (SOURCE / "cli" / f"{verb}.py").is_file()


def test_an_unknown_verb_is_one_line_with_a_suggestion():
    line = run("preturb", code=2).stderr
    assert line.startswith("veil: no command is called 'preturb'; did you mean 'perturb'? (see '")
    assert line.endswith(" --help')\n")
    assert line.count("\n") == 1


# -- verbs of other packages --------------------------------------------------------------------


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Three installed packages: one whose verb works, one that cannot be imported, one whose verb is no command."""
    bodies = {
        "fine": "import click\n@click.command()\ndef verb():\n    'A verb that works.'\n    click.echo('worked')\n",
        "torn": "raise RuntimeError('SECRETCELL')\n",
        "odd": "verb = 5\n",
    }
    for name, body in bodies.items():
        (tmp_path / f"{name}_package.py").write_text(body)
        info = tmp_path / f"{name}_package-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[veil.commands]\n{name} = {name}_package:verb\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("packages")
def test_verbs_of_other_packages_work_and_break_alone():
    assert run("fine").stdout == "worked\n"
    printed = run("--help").stdout
    for name in ("fine", "torn", "odd"):
        assert f"Of the package {name}-package." in printed
    assert "\n  perturb " in printed
    for verb, words in (("torn", "torn-package cannot be loaded (RuntimeError)"), ("odd", "is not a click command")):
        refused = run(verb, "--any", "option", code=2).stderr
        assert words in refused
        assert len(refused.splitlines()) == 1
        assert "SECRETCELL" not in refused


# -- errors of the library, and the options that mend them ---------------------------------------


def test_no_error_of_the_library_speaks_of_an_option():
    """Texts of exceptions outside the command line name parameters; the command line adds its options."""
    named = []
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                texts = [str(n.value) for n in ast.walk(node.exc) if isinstance(n, ast.Constant)]
                named += [f"{path.name}:{node.lineno}" for text in texts if " --" in text or "command line" in text]
    assert named == []


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50), "name": [f"p{i}" for i in range(50)]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_the_command_line_adds_its_options(table, tmp_path):
    perturb = ("perturb", table, "--method", "additive-noise", "-o", tmp_path / "r")
    assert run(*perturb, "--key", tmp_path / "k", code=2).stderr.endswith("(--role COLUMN=ROLE)\n")
    run(*perturb, "--key", tmp_path / "k", "--role", "name=drop")
    again = ("perturb", table, "--method", "additive-noise", "--set", "scale=2", "--role", "name=drop")
    refused = run(*again, "--reuse-key", tmp_path / "k", "-o", tmp_path / "r2", code=2).stderr
    assert refused.endswith("or again=True if that is meant (--again)\n")
    restore = ("restore", tmp_path / "r", "--key", tmp_path / "k", "-o", tmp_path / "back.csv")
    assert run(*restore, code=2).stderr.endswith("use partial=True for the others (--partial)\n")
    attack = ("attack", tmp_path / "r", "--attack", "regression", "-o", tmp_path / "g.csv")
    assert run(*attack, code=2).stderr.endswith("(--known-pairs)\n")


def test_an_error_carries_its_parameter(table):
    frame = pd.read_csv(table)
    with pytest.raises(InputError) as caught:
        veil.publish(frame, veil.AdditiveNoise())
    assert caught.value.parameter == "roles"
    release, key = veil.publish(frame[["a", "b"]], veil.AdditiveNoise())
    with pytest.raises(KeyRefusedError) as caught:
        veil.publish(frame[["a", "b"]], veil.AdditiveNoise(scale=2.0), key=key)
    assert caught.value.parameter == "again"
    with pytest.raises(MissingKnowledgeError) as caught:
        veil.attack(release, "regression")
    assert caught.value.parameter == "known_pairs"
    assert option_of(None, main.get_command(None, "perturb"), None) is None


# -- twins ----------------------------------------------------------------------------------------

TWINS = {"perturb": "publish_file", "attack": "attack_file", "restore": "restore_file", "init": "init_file"}


@pytest.mark.parametrize("verb", group.VERBS)
def test_every_verb_has_a_documented_twin_in_python(verb):
    twin = getattr(veil, TWINS.get(verb, verb))
    assert callable(twin)
    assert inspect.getdoc(twin)


def test_twins_take_frames_and_paths_alike(table, tmp_path):
    frame = pd.read_csv(table)
    assert veil.inspect(frame[["a", "b"]]).columns == veil.inspect(table).columns[:2]
    roles = {"name": "drop"}
    veil.publish_file(table, veil.AdditiveNoise(), tmp_path / "r", new_key=tmp_path / "k", roles=roles)
    release = veil.Release.load(tmp_path / "r")
    assert veil.recover(release) == veil.recover(tmp_path / "r") == veil.recover(str(tmp_path / "r"))
    guess = veil.attack(release, "bayes-estimate")
    written = veil.attack_file(tmp_path / "r", "bayes-estimate", tmp_path / "g.parquet")
    assert (written.n_rows, written.columns) == (50, guess.columns)
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "g.parquet")[["a", "b"]], guess.values)
    by_path = veil.measure(table, tmp_path / "g.parquet", roles=roles)
    assert by_path == veil.measure(frame, pd.read_parquet(tmp_path / "g.parquet"), roles=roles)
    restored = veil.restore_file(tmp_path / "r", tmp_path / "k", tmp_path / "back.csv", partial=True)
    assert restored == (50, ("name",))
    facts = veil.init_file(table, tmp_path / "plan.toml")
    assert [column.role for column in facts.columns] == ["sensitive", "sensitive", None]
    with pytest.raises(FileAccessError, match="already exists"):
        veil.init_file(table, tmp_path / "plan.toml")


@pytest.mark.parametrize(
    ("old", "new"), [("measure_files", "measure"), ("attack_folder", "attack_file"), ("inspect_table", "inspect")]
)
def test_names_of_the_version_before_work_with_a_warning(old, new):
    with pytest.warns(DeprecationWarning, match=f"veil.{old} is now veil.{new}"):
        assert getattr(veil, old) is getattr(veil, new)


def test_names_are_suggested_in_one_way():
    error = VeilError.from_unknown_name("attack", "x", [f"n{i}" for i in range(100)])
    assert str(error).endswith("'n59' and 40 more")
    assert str(InputError.from_missing_columns("roles", ["q", "r"], ["a"])) == (
        "roles names columns 'q', 'r', which the table does not have; the table has 'a'"
    )
