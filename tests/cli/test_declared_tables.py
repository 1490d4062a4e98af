"""Options and plan files that declare how a table is read."""

import json

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from _program import call

N = 120


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": np.where(np.arange(N) % 20, rng.integers(18, 80, N), 99).astype(str),
            "pay": [f"{value:.2f}".replace(".", ",") for value in rng.lognormal(3, 0.5, N)],
            "stadt": rng.choice(["Köln", "München", "?"], N),
            "plz": rng.choice([50667, 80331, 10115], N),
        }
    )
    frame.loc[3, "age"] = "?"
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", encoding="latin-1")
    (tmp_path / "plan.toml").write_text(
        '[roles]\nstadt = "public"\nplz = "drop"\n[missing]\n"*" = ["?"]\nage = [99]\n[kinds]\nplz = "category"\n'
        '[[part]]\nmethod = "additive-noise"\n'
    )
    return tmp_path


READ = ["--encoding", "latin-1", "--missing", "?", "--missing", "age=99", "--kind", "plz=category"]


def columns(folder, *options):
    said = json.loads(call("inspect", "t.csv", *options, "--json", cwd=folder).stdout)
    return {column["name"]: column for column in said["columns"]}


def test_a_file_that_is_not_utf8_names_the_option(folder):
    said = call("inspect", "t.csv", cwd=folder, code=2).stderr
    assert "windows-1252" in said
    assert "(--encoding NAME)" in said


def test_suspects_are_pointed_out_with_their_option(folder):
    said = call("inspect", "t.csv", "--encoding", "latin-1", cwd=folder).stdout
    assert "--missing 'age=?'" in " ".join(said.split())
    assert "--kind plz=category" in " ".join(said.split())


def test_inspect_reads_as_declared(folder):
    declared = columns(folder, *READ)
    assert {name: column["kind"] for name, column in declared.items()} == {
        "age": "numeric",
        "pay": "numeric",
        "stadt": "text",
        "plz": "category",
    }
    assert declared["age"]["missing"] == 7
    assert declared["stadt"]["missing"] > 0
    assert columns(folder, "--encoding", "latin-1", "--decimal", ".", "--delimiter", ";")["pay"]["kind"] == "text"


@pytest.mark.parametrize("by", ["options", "plan"])
def test_releases_are_made_as_declared(folder, by):
    encoding = ["--encoding", "latin-1"]
    how = ["--plan", "plan.toml", *encoding]
    if by == "options":
        how = ["--method", "additive-noise", *READ, "--role", "stadt=public", "--role", "plz=drop"]
    call("perturb", "t.csv", *how, "-o", "r", "--key", "k", cwd=folder)
    released = pd.read_csv(folder / "r" / "data.csv")
    assert released["age"].isna().sum() == 7
    assert set(released["stadt"].dropna()) == {"Köln", "München"}
    said = call("measure", "t.csv", "r/data.csv", *READ, "--role", "plz=drop", "--json", cwd=folder)
    assert json.loads(said.stdout)


def test_audits_and_advice_read_as_declared(folder):
    how = ["--plan", "plan.toml", "--encoding", "latin-1", "--seed", "1", "--json"]
    quick = ["--attack", "interval-attack", "--repetitions", "1", "--no-cache", "--max-advantage", "0.9"]
    audit = json.loads(call("audit", "t.csv", *how, *quick, cwd=folder).stdout)
    assert audit["columns"] == ["age", "pay"]
    given = ["--method", "additive-noise:scale=3", "--max-advantage", "0.9", "--against", "nothing"]
    call("advise", "t.csv", *how, *given, "--write-plan", "advised.toml", cwd=folder)
    assert "age = [99]" in (folder / "advised.toml").read_text()


def test_a_drafted_plan_says_what_was_declared(folder):
    call("init", "t.csv", *READ, "-o", "new.toml", cwd=folder)
    plan = (folder / "new.toml").read_text()
    assert '"*" = ["?"]' in plan
    assert 'age = ["99"]' in plan
    assert 'plz = "category"' in plan
    call("perturb", "t.csv", "--encoding", "latin-1", "--plan", "new.toml", "-o", "r", "--key", "k", cwd=folder)


def test_survey_files_are_tables(tmp_path):
    frame = pd.DataFrame({"age": [31.0, 44.0, 99.0, 52.0], "sex": [1.0, 2.0, 2.0, 1.0]})
    labels = {"sex": {1: "male", 2: "female"}}
    pyreadstat.write_sav(frame, tmp_path / "t.sav", variable_value_labels=labels, missing_ranges={"age": [99]})
    said = json.loads(call("inspect", "t.sav", "--json", cwd=tmp_path).stdout)
    assert [column["kind"] for column in said["columns"]] == ["numeric", "category"]
    codes = json.loads(call("inspect", "t.sav", "--codes", "--json", cwd=tmp_path).stdout)
    assert [column["kind"] for column in codes["columns"]] == ["numeric", "numeric"]
    how = ["--method", "additive-noise", "--role", "sex=public", "-o", "r", "--key", "k"]
    call("perturb", "t.sav", *how, cwd=tmp_path)
    assert list(pd.read_csv(tmp_path / "r" / "data.csv")["sex"]) == ["male", "female", "female", "male"]
