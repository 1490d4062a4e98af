"""The papers again, quickly: every claim that is asserted holds, and an experiment says all that a reader needs."""

from __future__ import annotations

import ast
import importlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import veil_papers
from veil.cli import main
from veil.errors import InputError, MissingExtraError
from veil_papers import PAPERS, Claim, Context, Experiment, Result, Table, experiments, find_experiments, save_result
from veil_papers.errata import ERRATA, Erratum
from veil_papers.figures import Curve, Curves, Images, figure_names
from veil_papers.pages import write_pages
from veil_papers.pages.markdown import anchor, sentence
from veil_papers.running import Finished

PUBLIC = {"attacks", "errors", "measures", "recovery", "scenarios"}
"""Packages of veil that other distributions may import from, besides veil itself."""


def all_errata() -> list[Erratum]:
    return [erratum for errata in ERRATA.values() for erratum in errata]


LONG = frozenset(
    [
        "huang-be-vs-pca",
        "huang-fig1",
        "huang-fig2",
        "huang-fig3",
        "huang-fig4",
        "huang-thm5.2",
        "liu-alg2.1.2.2",
        "liu-cost-metrics",
        "liu-fig4.1",
        "liu-fig4.12",
        "liu-fig4.14",
        "liu-fig4.15",
        "liu-fig4.4",
        "liu-fig4.5",
        "liu-fig4.6",
        "liu-fig4.7",
        "liu-fig4.8",
        "liu-fig5.11",
        "liu-haar",
        "liu-lemma5.1.4",
        "liu-lemma5.1.7",
        "liu-ranking",
        "liu-runtime",
        "liu-sec5.1.3",
        "liu-table2.2",
        "liu-table5.3",
        "liu-table5.4",
        "liu-tables5.5",
        "liu-thm5.3.12",
        "liu-thm5.4.1",
        "liu-thm5.4.3",
        "liu-weights",
        "tutorial-akica-noise",
        "tutorial-akica-size",
        "tutorial-reconstruction",
        "tutorial-strategy",
    ]
)
"""Experiments that take more than a second even so."""


def each_experiment():
    assert set(experiments()) >= LONG
    return [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in experiments()]


@pytest.mark.parametrize("name", each_experiment())
def test_the_claims_hold(name, tmp_path):
    experiment = experiments()[name]
    context = Context(name, quick=True)
    result = experiment.run(context)
    save_result(experiment, result, tmp_path, context)
    assert result.claims
    assert [table.name for table in result.tables if " " in table.name] == [], "names of files have no spaces"
    assert [claim.line() for claim in result.claims if claim.holds is False] == []
    unsaid = [claim.what for claim in result.claims if not (claim.agrees or claim.why or claim.paper == "–")]
    assert unsaid == [], "a difference needs a reason"
    compared = [claim.what for claim in result.claims if claim.paper == "–" and claim.agrees is not None]
    assert compared == [], "there is nothing to agree with"
    pictures = figure_names(name, len(result.figures))
    wanted = {e.figure for e in all_errata() if e.shown[0] == name}
    assert wanted <= {picture for picture, f in zip(pictures, result.figures, strict=True) if f.shareable}


FILES = sorted(Path(veil_papers.__file__).parent.rglob("*.py"))


def hidden_imports(text):
    """What a file imports of veil that is not public: neither a name of veil nor one that a public package lists."""
    hidden = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            hidden += [each.name for each in node.names if each.name.startswith("veil.")]
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "veil":
            inner = node.module.partition(".")[2]
            known = [] if inner and inner not in PUBLIC else public_names(importlib.import_module(node.module))
            hidden += [f"{node.module}.{each.name}" for each in node.names if each.name not in known]
    return hidden


def public_names(module):
    return getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_papers_use_what_is_public(path):
    assert hidden_imports(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "from veil.cli.options import json_option",
        "from veil.storage.atomic import writing",
        "from veil.attacks import no_such_name",
        "from veil.measures.breach import within",
        "from veil import _version",
        "import veil.keys.key",
    ],
)
def test_what_is_not_public_is_noticed(line):
    assert hidden_imports(line)


@pytest.mark.parametrize("experiment", experiments().values(), ids=lambda e: e.id)
def test_an_experiment_says_what_it_is(experiment):
    assert experiment.paper in PAPERS
    assert all(text and not text.endswith(".") for text in (experiment.title, experiment.stated, experiment.chosen))


def test_the_list_names_every_experiment():
    shown = CliRunner().invoke(main, ["reproduce"], standalone_mode=False).output
    assert all(name in shown for name in experiments())


def test_unknown_names_are_refused_with_a_suggestion():
    with pytest.raises(InputError, match="did you mean 'huang-fig1'"):
        find_experiments(("huang-fig11",))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("liu-fig4.9", ["liu-fig4.8"]),
        ("table5.6", ["liu-tables5.5"]),
        ("pandya-table2", ["pandya-table1-3"]),
        ("thm5.2", ["huang-thm5.2"]),
    ],
)
def test_experiments_go_by_the_names_of_figures_and_tables(name, found):
    assert [e.id for e in find_experiments((name,))] == found


def test_a_name_that_several_papers_have_is_refused():
    with pytest.raises(InputError, match="say huang-fig1 or ketel-fig1"):
        find_experiments(("fig1",))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--page", "results.html"], "ends in .md"),
        (["--page", "{folder}"], "ends in .md"),
        (["--page", "{file}.md"], "is a file"),
        (["--data", "{empty}"], "has none of the papers' tables"),
        (["-o", "{file}/figures"], "cannot be a folder to write to"),
        (["-o", "{file}"], "cannot be a folder to write to"),
    ],
)
def test_what_cannot_be_read_or_written_is_refused_before_the_run(options, said, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("taken")
    (tmp_path / "folder.md").mkdir()
    monkeypatch.setattr("veil_papers.running.run_experiment", lambda *_, **__: pytest.fail("it ran"))
    places = {name: tmp_path / name for name in ("empty", "file")} | {"folder": tmp_path / "folder.md"}
    options = [option.format(**places) for option in options]
    result = CliRunner().invoke(main, ["reproduce", "ketel-fig1", *options])
    assert result.exit_code == 2
    assert said in result.output
    assert {path.name for path in tmp_path.iterdir()} == {"empty", "file", "folder.md"}, "nothing is left behind"


def test_one_experiment_that_cannot_be_run_does_not_end_the_others(monkeypatch, tmp_path):
    def stop(_):
        raise MissingExtraError("it needs another library")

    good = experiments()["ketel-claim-pi4"]
    bad = Experiment("ketel-bad", "A test", "nothing", "nothing", stop)
    monkeypatch.setattr("veil_papers.experiments", lambda: {bad.id: bad, good.id: good})
    page = tmp_path / "pages" / "some.md"
    result = CliRunner().invoke(main, ["reproduce", "ketel", "--quick", "--page", str(page), "--workers", "1"])
    assert result.exit_code == 2
    assert "ketel-bad could not be run: it needs another library" in result.output
    text = (tmp_path / "pages" / "some" / "ketel.md").read_text(encoding="utf-8")
    assert "needs another library" in text
    assert "Privacy loss at θ" in text or "privacy loss at θ" in text
    assert "quick run" in page.read_text(encoding="utf-8")


def test_an_id_belongs_to_one_experiment(monkeypatch):
    same = experiments()["huang-fig1"]
    experiments.cache_clear()
    monkeypatch.setattr("veil_papers._experiment", lambda package, name: [same])
    with pytest.raises(InputError, match="is there already"):
        experiments()
    monkeypatch.setattr("veil_papers._experiment", lambda package, name: [same] if "ketel" in package else [])
    with pytest.raises(InputError, match="does not begin with ketel-"):
        experiments()
    experiments.cache_clear()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("five records", "Five records."),
        ("n = 20 attributes", "n = 20 attributes."),
        ("θ in radians", "θ in radians."),
        ("k = 3,000", "k = 3,000."),
        ("n − 1 in the covariance", "n − 1 in the covariance."),
        ("a Fourier basis", "A Fourier basis."),
        ("λ is the largest", "λ is the largest."),
    ],
)
def test_sentences_keep_their_symbols(text, said):
    assert sentence(text) == said


def test_what_is_found_is_written(tmp_path):
    figure = Curves("A line", "x", "y", (Curve("ours", [1, 2], [1.0, 2.0]), Curve("paper", [1], [1.5], kind="paper")))
    claim = Claim("it rises", "rises", "1 to 2", agrees=np.bool_(False), why="H", holds=np.bool_(True))
    experiment = Experiment("huang-none", "A test", "nothing", "nothing", lambda _: Result(()))
    assert claim.agrees is False
    assert claim.holds is True
    numbers = Table.of("numbers", {"x": [1, 2], "y": [1.0, np.float32("nan")]})
    result = Result((claim,), (numbers,), (figure,))
    save_result(experiment, result, tmp_path, Context("huang-none"))
    names = {"huang-none.svg", "huang-none.png", "huang-none-numbers.csv", "huang-none.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    said = json.loads((tmp_path / "huang-none.json").read_text(), parse_constant=pytest.fail)
    assert said["tables"][0]["rows"] == [[1, 1.0], [2, None]]
    assert (tmp_path / "huang-none-numbers.csv").read_text().splitlines() == ["x,y", "1,1.0", "2,"]
    assert said["claims"][0]["why"] == "H"
    assert claim.line() == "it rises: paper rises; ours 1 to 2; differs (H)"


def test_what_cannot_be_compared_neither_agrees_nor_differs(monkeypatch, tmp_path):
    claims = (
        Claim("one", "1", "1", agrees=True),
        Claim("two", "2", "3", agrees=False, why="H"),
        Claim("three", "4", "5", agrees=None, why="a stand-in was used", holds=None),
    )
    experiment = Experiment("huang-some", "A test", "nothing", "nothing", lambda _: Result(claims))
    assert claims[2].line() == "three: paper 4; ours 5; not compared (a stand-in was used)"
    page = tmp_path / "page.md"
    write_pages([Finished(experiment, Result(claims), 0.0, {})], page, tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "1 of the papers' values agree, 1 differ**, 1 cannot be compared" in text
    assert "| three | 4 | 5 | not compared: a stand-in was used | – |" in (tmp_path / "page" / "huang.md").read_text()
    monkeypatch.setattr("veil_papers.experiments", lambda: {experiment.id: experiment})
    said = CliRunner().invoke(main, ["reproduce", experiment.id], standalone_mode=False).output
    assert "3 claims: 1 of the papers' agree, 1 differ, 1 not compared" in said
    listed = CliRunner().invoke(main, ["reproduce", experiment.id, "--json"], standalone_mode=False).output
    assert [claim["agrees"] for claim in json.loads(listed)[0]["claims"]] == [True, False, None]


def test_a_claim_that_fails_is_exit_code_three(monkeypatch, tmp_path):
    failing = Experiment(
        "huang-fails",
        "A test",
        "nothing",
        "nothing",
        lambda _: Result((Claim("no", "1", "2", agrees=True, holds=False),)),
    )
    monkeypatch.setattr("veil_papers.experiments", lambda: {"huang-fails": failing})
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "huang-fails"])
    assert stop.value.code == 3


@pytest.mark.parametrize("erratum", all_errata(), ids=lambda e: e.id)
def test_an_erratum_is_shown_by_experiments_that_name_it(erratum):
    known = experiments()
    assert [name for name in erratum.shown if name not in known] == []
    assert erratum.id in known[erratum.shown[0]].errata
    assert all((erratum.where, erratum.stated, erratum.right, erratum.argument))
    assert not erratum.where.endswith(".")


def test_errata_have_ids_of_their_own_and_experiments_name_no_others():
    ids = [erratum.id for erratum in all_errata()]
    assert len(ids) == len(set(ids))
    named = {name for experiment in experiments().values() for name in experiment.errata}
    assert named <= set(ids)


def test_pages_link_to_what_is_there(tmp_path):
    """Every link and picture of the pages leads to a file, and to a heading where it names one."""
    figure = Curves("A line", "x", "y", (Curve("ours", [1, 2], [1.0, 2.0]),))
    private = Images("A photograph", (("private", (np.eye(4),)),), shareable=False)
    result = Result((Claim("it rises", "rises", "1 | 2", agrees=False, why="H-c: so"),), (), (figure, private))
    finished = []
    for name in ("huang-be-vs-pca", "liu-fig4.21"):
        experiment = replace(experiments()[name], title="A line (of *ours*), 1/2")
        save_result(experiment, result, tmp_path / "out", Context(name))
        finished.append(Finished(experiment, result, 1.0, {}))
    written = write_pages(finished, tmp_path / "docs" / "found.md", tmp_path / "out")
    assert {path.name for path in written} == {"found.md", "huang.md", "liu.md", "errata.md"}
    heads = {path: {anchor(line.lstrip("# ")) for line in _lines(path) if line.startswith("#")} for path in written}
    for path in written:
        for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
            name, _, heading = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            assert file.exists(), target
            assert not heading or heading in heads[file], target
    assert not list((tmp_path / "docs").rglob("*-2.svg")), "somebody's picture is not ours to show"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
