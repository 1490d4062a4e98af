"""A library that is not installed: one line that says what to install."""

import sys

import pytest
from click.testing import CliRunner

from veil.cli import main
from veil.errors import MissingExtraError
from veil_papers.figures import check_figures


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError) as missing:
        check_figures()
    assert str(missing.value) == "figures need matplotlib: pip install veil-papers"


def test_without_the_papers(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    result = CliRunner().invoke(main, ["reproduce"])
    assert result.exit_code == 2
    assert result.stderr == "veil: reproduce needs the papers' experiments: pip install veil-papers\n"
