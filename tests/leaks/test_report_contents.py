"""Reports: no key, no seed, no private cell; the external edition says nothing about single records."""

from __future__ import annotations

import json
import re
import stat

import numpy as np
import pandas as pd
import pytest

import veil

SEED = 918273645
SMALL = 10


@pytest.fixture(scope="module")
def table():
    """Three hundred records; three of them far out, with marked cells."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(300, 3)) @ np.array([[2.0, 1.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    x[:3, 0] = [31415926.5, 31415926.5, -31415926.5]
    return x


@pytest.fixture(scope="module")
def audit(table):
    candidates = [
        veil.AdditiveNoise(0.5, random_state=SEED),
        veil.OrthogonalTransform(random_state=SEED),
    ]
    grants = veil.Grants.only(pairs=(1, 3), sample=0.1)
    return veil.audit(table, candidates, grants=grants, repetitions=2, seed=SEED)


def texts(audit, folder, *, internal):
    """The report in every form."""
    audit.to_html(folder / "report.html", internal=internal)
    audit.to_json(folder / "report.json", internal=internal)
    whole = (folder / "report.html").read_text() + (folder / "report.json").read_text()
    return whole + str(audit) + repr(audit) + audit._repr_html_()


@pytest.mark.parametrize("internal", [False, True], ids=["external", "internal"])
def test_reports_hold_neither_seed_nor_cell(internal, audit, tmp_path):
    said = texts(audit, tmp_path, internal=internal)
    for form in (str(SEED), f"{SEED:,}", f"{SEED:x}", "31415926", "31,415,926", "3.1415926", "3.14e+07"):
        assert form not in said, form


def external(audit, folder):
    audit.to_json(folder / "report.json")
    return json.loads((folder / "report.json").read_text())


def test_external_report_names_no_record(audit, tmp_path):
    said = external(audit, tmp_path)
    assert said["edition"] == "external"
    assert all(not candidate["records"] for candidate in said["candidates"])
    audit.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Single records" not in page
    assert 'class="records"' not in page


def test_external_pictures_show_no_small_cell(audit, tmp_path):
    """A count under ten may be a single person, wherever it stands."""
    for candidate in external(audit, tmp_path)["candidates"]:
        picture = candidate["picture"]
        if picture is None:
            continue
        cells = [count for row in picture["counts"] for count in row]
        assert not [c for c in cells if 0 < c < SMALL]
        assert not 0 < picture["n_outside"] < SMALL, "the count of values outside the picture is a small cell"
        assert not 0 < picture["n_suppressed"] < SMALL, "with one suppressed cell, the total is that cell"


def test_external_report_scores_no_handful_of_far_out_people(audit, table, tmp_path):
    """A rate over three far-out values says what happens to these three people."""
    far = np.abs(table - np.median(table, axis=0)) > 3 * veil.measures.standard_units(table)
    assert far.sum() < SMALL
    for candidate in external(audit, tmp_path)["candidates"]:
        for row in candidate["rows"]:
            assert row["far_out"] is None


def test_internal_reports_are_marked_and_private(audit, tmp_path):
    for name in ("report.html", "report.json"):
        write = audit.to_html if name.endswith("html") else audit.to_json
        write(tmp_path / name, internal=True)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        assert re.search("confidential|internal", (tmp_path / name).read_text(), re.I)


def test_replacing_an_open_report_by_an_internal_one_closes_it(audit, tmp_path):
    """The mode is the new edition's, not that of the file that was there."""
    audit.to_html(tmp_path / "report.html")
    audit.to_html(tmp_path / "report.html", internal=True)
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) == 0o600


def test_reports_load_nothing_from_elsewhere(audit, tmp_path):
    """A page that fetches anything tells somebody who reads it."""
    audit.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r"(src|href|action|data)\s*=\s*[\"']?\s*(https?:)?//", page)
    assert not re.search(r"@import|url\(\s*[\"']?\s*(https?:)?//|fetch\(|XMLHttpRequest|sendBeacon", page)


def test_column_names_cannot_inject_into_the_page(tmp_path):
    """A header is text from outside: it must not become markup."""
    rng = np.random.default_rng(1)
    name = "<script>alert(1)</script>"
    frame = pd.DataFrame(
        {name: rng.normal(size=80), "[bold red]x[/]": rng.normal(size=80), '"&<b>': rng.normal(size=80)}
    )
    found = veil.audit(frame, veil.AdditiveNoise(), grants=veil.Grants.only(pairs=1, sample=0.1), seed=1)
    said = texts(found, tmp_path, internal=False)
    page = (tmp_path / "report.html").read_text()
    assert name not in page
    assert '"&<b>' not in page
    assert said


@pytest.mark.parametrize("target", ["file", "folder", "link"])
def test_reports_do_not_destroy_what_is_not_theirs(target, audit, tmp_path):
    """An existing report is replaced; a folder is refused, and a link's target is left alone."""
    path = tmp_path / "report.html"
    (tmp_path / "precious").write_text("precious")
    if target == "folder":
        path.mkdir()
        with pytest.raises(veil.VeilError):
            audit.to_html(path)
    elif target == "link":
        path.symlink_to("precious")
        audit.to_html(path)
    else:
        path.write_text("an older report")
        audit.to_html(path)
    assert (tmp_path / "precious").read_text() == "precious"
