"""The command line as a user runs it; the main verbs in processes of their own."""

import json

import numpy as np
import pandas as pd
import pytest

from _program import call, start


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(300, 1))
    values = factor @ rng.normal(size=(1, 4)) + 0.5 * rng.normal(size=(300, 4)) + 10
    table = pd.DataFrame(values.round(3), columns=["height", "weight", "income", "größe"])
    table["age"] = rng.integers(20, 80, 300)
    table["name"] = [f"person {i}" for i in range(300)]
    table["group"] = rng.choice(["a", "b"], 300)
    table.to_csv(path / "people.csv", index=False)
    return path


ROLES = ["--role", "name=drop", "--role", "group=public"]


def test_perturb_attack_restore(folder):
    said = start(
        "perturb",
        "people.csv",
        "--method",
        "orthogonal-transform",
        "--set",
        "dither=false",
        *ROLES,
        "-o",
        "rotated",
        "--key",
        "k.veilkey",
        cwd=folder,
    )
    assert "Release 1" in said.stdout
    assert (folder / "k.veilkey").stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in (folder / "rotated").iterdir()) == ["data.csv", "manifest.json"]
    people = pd.read_csv(folder / "people.csv")
    released = pd.read_csv(folder / "rotated" / "data.csv")
    assert list(released["group"]) == list(people["group"])
    assert "name" not in released
    known = people.iloc[[3, 50, 100, 200, 299]][["height", "weight", "income", "größe", "age"]]
    known.assign(row=known.index).to_csv(folder / "known.csv", index=False)
    start("attack", "rotated", "--attack", "known-pairs", "--known-pairs", "known.csv", "-o", "guess.csv", cwd=folder)
    guess = pd.read_csv(folder / "guess.csv")
    np.testing.assert_allclose(guess[list(known)], people[list(known)], atol=1e-8)
    assert (folder / "guess.csv").stat().st_mode & 0o777 == 0o600
    start("restore", "rotated", "--key", "k.veilkey", "-o", "back.csv", cwd=folder, code=2)
    start("restore", "rotated", "--key", "k.veilkey", "--partial", "-o", "back.csv", cwd=folder)
    back = pd.read_csv(folder / "back.csv")
    pd.testing.assert_frame_equal(back, people.drop(columns="name"), atol=1e-9)
    assert (folder / "back.csv").stat().st_mode & 0o777 == 0o600


def test_a_key_is_reused_only_on_purpose(folder):
    base = ["perturb", "people.csv", "--method", "additive-noise", *ROLES]
    call(*base, "-o", "n1", "--key", "n.veilkey", cwd=folder)
    call(*base, "-o", "n1-again", "--reuse-key", "n.veilkey", cwd=folder)
    assert (folder / "n1" / "data.csv").read_bytes() == (folder / "n1-again" / "data.csv").read_bytes()
    refused = call(*base, "--set", "scale=2", "-o", "n2", "--reuse-key", "n.veilkey", cwd=folder, code=2)
    assert "--again" in refused.stderr
    call(*base, "--set", "scale=2", "-o", "n2", "--reuse-key", "n.veilkey", "--again", cwd=folder)
    assert json.loads((folder / "n2" / "manifest.json").read_text())["release"] == 2


def test_a_passphrase_locks_the_key(folder):
    locked = {"VEIL_PASSPHRASE": "open sesame"}
    base = ["perturb", "people.csv", "--method", "additive-noise", *ROLES, "-o", "lr", "--key", "l.veilkey"]
    call(*base, cwd=folder, env=locked)
    call("restore", "lr", "--key", "l.veilkey", "--partial", "-o", "lb.csv", cwd=folder, code=2)
    call("restore", "lr", "--key", "l.veilkey", "--partial", "-o", "lb.csv", cwd=folder, env=locked)


def test_audit_exit_codes_and_reports(folder):
    base = ["audit", "people.csv", *ROLES, "--target", "group", "--seed", "1", "--pairs", "1,5", "--repetitions", "10"]
    failed = call(*base, "--method", "orthogonal-transform:dither=false", "-o", "r.html", cwd=folder, code=3)
    assert "Breaks with the release alone (lattice-attack)" in failed.stdout
    assert "<html" in (folder / "r.html").read_text()
    passed = call(*base, "--method", "additive-noise:scale=40", "--json", cwd=folder)
    model = json.loads(passed.stdout)
    assert model["passed"] is True
    assert model["edition"] == "external"
    rotated = [*base, "--method", "pairwise-rotation"]
    untested = call(*rotated, "--against", "nothing", "-o", "r.json", cwd=folder, code=3)
    assert "was not tested" in " ".join(untested.stdout.split())
    assert json.loads((folder / "r.json").read_text())["passed"] is False
    call(*base, "--method", "orthogonal-transform", "--internal", "-o", "i.html", cwd=folder, code=3)
    assert (folder / "i.html").stat().st_mode & 0o777 == 0o600


def test_inspect_tells_what_to_decide(folder):
    said = call("inspect", "people.csv", "--json", cwd=folder)
    facts = {c["name"]: c for c in json.loads(said.stdout)["columns"]}
    assert facts["height"]["role"] == "sensitive"
    assert facts["name"]["role"] is None
    assert facts["group"]["role"] is None
    assert "decide" in call("inspect", "people.csv", cwd=folder).stdout
    assert "unique" not in " ".join(json.loads(said.stdout)["advice"])
    linked = call("inspect", "people.csv", "--role", "name=quasi", "--role", "group=quasi", "--json", cwd=folder)
    (line,) = [line for line in json.loads(linked.stdout)["advice"] if "unique" in line]
    assert line.startswith("On what outsiders may know (name, group) ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["perturb", "people.csv", "--method", "additive-nois", "-o", "x", "--key", "y"],
            "did you mean 'additive-noise'",
        ),
        (["perturb", "people.csv", "--method", "additive-noise", "-o", "x", "--key", "y"], "'name' (text)"),
        (["perturb", "people.csv", "--method", "additive-noise", "-o", "x"], "--reuse-key"),
        (["perturb", "gone.csv", "--method", "additive-noise", "-o", "x", "--key", "y"], "no such file"),
        (
            ["perturb", "people.csv", "--method", "additive-noise", "--set", "scal=1", "-o", "x", "--key", "y"],
            "'scale'",
        ),
        (
            ["perturb", "people.csv", "--method", "additive-noise", "--set", "random_state=1", "-o", "x", "--key", "y"],
            "--allow-seed",
        ),
        (["audit", "people.csv", "--method", "additive-noise", "-o", "r.pdf"], ".html or .json"),
        (["perturb"], "--help"),
        (["fly"], "--help"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing(args, message, folder, tmp_path):
    (tmp_path / "people.csv").write_bytes((folder / "people.csv").read_bytes())
    done = call(*args, cwd=tmp_path, code=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("veil: ")
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.slow
def test_the_demo_runs_and_reports(tmp_path):
    said = call("demo", cwd=tmp_path)
    assert "1 of 3 candidates" in said.stdout
    html = (tmp_path / "veil-report.html").read_text()
    assert "known-sample-attack" in html
    assert "http://" not in html
    assert "https://" not in html
