"""The public surface: sorted, documented, typed, quick to import, fenced."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import veil

ROOT = Path(__file__).parents[2]


def test_exported_members_exist_and_are_sorted():
    assert list(veil.__all__) == sorted(veil.__all__)
    for name in veil.__all__:
        assert getattr(veil, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = veil.nothing


FORMER = [
    "VotedPerceptron",
    "frequent_itemsets",
    "hamming_estimate",
    "inner_product_interval",
    "itemset_support",
    "nested_loop_outliers",
]


@pytest.mark.parametrize("name", FORMER)
def test_names_that_moved_to_recovery_warn_for_one_version(name):
    assert name not in veil.__all__
    with pytest.warns(DeprecationWarning, match=rf"veil\.{name} is now veil\.recovery\.{name}"):
        assert getattr(veil, name) is getattr(veil.recovery, name)


def test_exported_members_are_documented():
    for name in veil.__all__:
        value = getattr(veil, name)
        if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value):
            assert inspect.getdoc(value), name


@pytest.mark.parametrize("heavy", ["sklearn", "numba", "scipy", "pandas", "pyarrow", "cryptography", "rich"])
def test_import_and_help_are_light(heavy):
    code = f"import sys, veil, veil.cli; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_must_not_type_check_does_not():
    """Each line of must_fail.py that says so is an error for mypy, and no other line is."""
    path = ROOT / "tests" / "typing" / "must_fail.py"
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--no-error-summary",
            "--hide-error-context",
            "--no-color-output",
            str(path),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    expected = {i for i, line in enumerate(path.read_text().splitlines(), 1) if "# must fail" in line}
    found = {int(line.split(":")[1]) for line in run.stdout.splitlines() if "error:" in line}
    assert expected
    assert found == expected, run.stdout
