"""Files, JSON and terminal: what is written, how it is protected, and that it can be read back."""

import io
import json
import math
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import veil
from veil.errors import FileAccessError
from veil.report.conclusions import headline
from veil.report.json import as_json
from veil.report.model import CandidateView, ReportModel
from veil.report.terminal import plain_text, render
from veil.report.writing import as_text, print_report, write_html, write_json

Models = Callable[..., ReportModel]
Candidates = Callable[..., CandidateView]


def test_json_reads_back_as_the_model(any_model: ReportModel):
    def refuse(constant: str) -> float:
        raise AssertionError(constant)

    read = json.loads(as_json(any_model), parse_constant=refuse)
    assert read["headline"] == headline(any_model)
    assert read["columns"] == list(any_model.columns)
    assert [c["label"] for c in read["candidates"]] == [c.label for c in any_model.candidates]
    advantages = [r.advantage.value for c in any_model.candidates for r in c.rows]
    expected = [None if math.isnan(a) else a for a in advantages]
    assert [r["advantage"]["value"] for c in read["candidates"] for r in c["rows"]] == expected


def test_files_are_written_replaced_and_protected(real_audit: veil.Audit, tmp_path: Path):
    for write, name in ((write_html, "report.html"), (write_json, "report.json")):
        path = tmp_path / name
        write(real_audit.model(internal=True), path)
        if sys.platform != "win32":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        inside = path.read_text("utf-8")
        write(real_audit.model(), path)
        outside = path.read_text("utf-8")
        assert inside != outside
        assert "CONFIDENTIAL" not in outside
        if sys.platform != "win32":
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 != 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html", "report.json"]


def test_external_files_hold_nothing_about_single_records(real_audit: veil.Audit, tmp_path: Path):
    real_audit.to_html(tmp_path / "r.html")
    real_audit.to_json(tmp_path / "r.json")
    assert "Single records" not in (tmp_path / "r.html").read_text("utf-8")
    read = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert [c["records"] for c in read["candidates"]] == [[], []]
    counts = [n for c in read["candidates"] for row in c["picture"]["counts"] for n in row]
    assert min(n for n in counts if n) >= 10


def test_a_missing_folder_is_refused(real_audit: veil.Audit, tmp_path: Path):
    with pytest.raises(FileAccessError, match="does not exist"):
        real_audit.to_html(tmp_path / "nowhere" / "report.html")


def test_a_header_that_is_no_valid_text_is_still_written(
    make_model: Models, make_candidate: Candidates, tmp_path: Path
):
    model = make_model(make_candidate(), columns=("a\udc80",))
    write_json(model, tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_bytes())["columns"] == ["a\udc80"]
    write_html(model, tmp_path / "r.html")
    assert "a�" in (tmp_path / "r.html").read_text("utf-8")


def test_text_has_the_verdict_first_and_no_control_codes(any_model: ReportModel):
    text = plain_text(any_model)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert max(map(len, text.splitlines())) <= 88
    first = text.splitlines()[0]
    assert first[0] in "✓✕•"
    assert headline(any_model)[:6] in first


def test_text_of_an_audit(real_audit: veil.Audit):
    text = as_text(real_audit.model())
    assert str(real_audit) == text
    assert headline(real_audit.model()) in " ".join(text.split())
    assert "Attacker knows" in text
    assert "known-pairs" in text
    assert "Utility kept: distances 100 %" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit_the_terminal(any_model: ReportModel, width: int):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    render(any_model, console)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= width
    if width >= 80:
        assert not [line for line in lines if line.strip() in ("%", "attack", "k", "ck")]


def test_colours_are_for_terminals(real_audit: veil.Audit):
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    print_report(real_audit.model(), console)
    assert "\x1b[" in console.file.getvalue()  # type: ignore[attr-defined]


def test_square_brackets_in_names_are_text(make_model: Models, make_candidate: Candidates):
    text = plain_text(make_model(make_candidate("[bold]noise[/bold]"), make_candidate("b")))
    assert "[bold]noise[/bold]" in text


def test_json_is_text_without_a_path_and_the_same_under_a_seed_but_for_timing(tmp_path: Path):
    x = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    settings: dict[str, Any] = {"grants": veil.Grants.only(pairs=2), "seed": 1, "repetitions": 1, "workers": 1}
    parts = veil.Plan([(["a"], veil.AdditiveNoise(1.0)), (["b", "c"], veil.OrthogonalTransform())])
    first, second = (veil.audit(x, parts, **settings) for _ in range(2))
    assert first.rows == second.rows
    texts = [audit.to_json() for audit in (first, second)]
    first.to_json(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text("utf-8") == texts[0]
    reports = [json.loads(text) for text in texts]
    assert all(time["seconds"] >= 0 for time in reports[0].pop("timing"))
    reports[1].pop("timing")
    assert reports[0] == reports[1]
    rows = {(row["attack"]["label"], *row["attack"]["target"]): row for row in reports[0]["candidates"][0]["rows"]}
    pairs = rows["known-pairs-attack", "orthogonal-transform"]
    label = {"label": "2 known records", "article": "", "noun": "known records"}
    assert pairs["knowledge"] == {"kind": "pairs", "amount": 2, "unit": "records", **label}
    assert pairs["state"] == "unproven"  # one run says little about other keys
