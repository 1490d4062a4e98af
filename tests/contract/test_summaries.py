"""What lists say about a method or an attack does not hang on docstrings, which -OO takes away."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from veil.perturbations import PERTURBATIONS


@pytest.mark.parametrize("name", [n for n, cls in PERTURBATIONS.items() if cls.__module__.startswith("veil.")])
def test_the_summary_is_the_documentations_first_sentence(name):
    method = PERTURBATIONS[name]
    text = " ".join((method.__doc__ or "").partition("\n\n")[0].split()).partition(". ")[2]
    assert method.summary == text.replace("``", "") != ""


@pytest.mark.parametrize(
    ("verb", "line"),
    [
        ("perturb", "pseudonymize (P20): Replace identifiers by keyed pseudonyms."),
        ("attack", "pca-attack (A4): "),
    ],
)
def test_lists_are_whole_without_docstrings(verb, line):
    done = subprocess.run(
        [sys.executable, "-OO", "-c", "from veil.cli import main; main()", verb, "--list"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    (entry,) = [each for each in done.stdout.splitlines() if each.startswith(line)]
    assert entry.endswith(".")
