"""The papers again, quickly: every claim that is asserted holds, and an experiment says all that a reader needs."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from veil.cli import main
from veil.errors import InputError
from veil.reproduce import PAPERS, Claim, Context, Experiment, Result, Table, experiments, find_experiments, save_result
from veil.reproduce.figures import Curve, Curves


@pytest.mark.parametrize("name", list(experiments()))
def test_the_claims_hold(name):
    experiment = experiments()[name]
    result = experiment.run(Context(name, quick=True))
    assert result.claims
    assert [claim.line() for claim in result.claims if claim.holds is False] == []
    assert all(isinstance(claim.holds, bool | None) and isinstance(claim.agrees, bool) for claim in result.claims)
    assert all(claim.agrees or claim.why for claim in result.claims), "a difference needs a reason"


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


def test_what_is_found_is_written(tmp_path):
    figure = Curves("A line", "x", "y", (Curve("ours", [1, 2], [1.0, 2.0]), Curve("paper", [1], [1.5], kind="paper")))
    claim = Claim("it rises", "rises", "1 to 2", agrees=False, why="H")
    experiment = Experiment("huang-none", "A test", "nothing", "nothing", lambda _: Result(()))
    result = Result((claim,), (Table.of("numbers", {"x": [1, 2], "y": [1.0, 2.0]}),), (figure,))
    save_result(experiment, result, tmp_path, Context("huang-none"))
    names = {"huang-none.svg", "huang-none.png", "huang-none-numbers.csv", "huang-none.json"}
    assert {path.name for path in tmp_path.iterdir()} == names
    said = json.loads((tmp_path / "huang-none.json").read_text())
    assert said["claims"][0]["why"] == "H"
    assert claim.line() == "it rises: paper rises; ours 1 to 2; differs (H)"


def test_a_claim_that_fails_is_exit_code_three(monkeypatch, tmp_path):
    failing = Experiment(
        "huang-fails", "A test", "nothing", "nothing", lambda _: Result((Claim("no", "1", "2", holds=False),))
    )
    monkeypatch.setattr("veil.reproduce.experiments", lambda: {"huang-fails": failing})
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "huang-fails"])
    assert stop.value.code == 3
