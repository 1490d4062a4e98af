"""Attacks with another table or an earlier release, as a red team runs them: files in, links or guesses out."""

import json

import numpy as np
import pandas as pd
import pytest

from _program import call

N = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two releases of the same people with identifiers, the second in another order, and one by a plan."""
    path = tmp_path_factory.mktemp("others")
    rng = np.random.default_rng(0)
    people = pd.DataFrame(rng.normal(size=(N, 3)).round(4), columns=["height", "weight", "income"])
    people["job"] = rng.choice(["a", "b", "c"], N)
    people.insert(0, "id", rng.permutation(10 * N)[:N])
    people.to_csv(path / "people.csv", index=False)
    people[["id", "height", "weight", "income"]].to_csv(path / "numbers.csv", index=False)
    later = people.sample(frac=1.0, random_state=1)[["id", "height", "weight", "income"]]
    later.to_csv(path / "later.csv", index=False)
    later.drop(columns="id").to_csv(path / "nameless.csv", index=False)
    noisy = ["--method", "additive-noise", "--set", "scale=1"]
    for table, name in (("numbers.csv", "earlier"), ("later.csv", "later")):
        call("perturb", table, *noisy, "--role", "id=public", "-o", name, "--key", f"{name}.veilkey", cwd=path)
    return path


@pytest.fixture(scope="module")
def planned(folder):
    (folder / "plan.toml").write_text(
        """
[roles]
id = "drop"
[[part]]
method = "additive-noise"
columns = ["height", "weight", "income"]
scale = 0.01
[[part]]
method = "randomized-response"
columns = ["job"]
epsilon = 2.0
""",
        encoding="utf-8",
    )
    call("perturb", "people.csv", "--plan", "plan.toml", "-o", "planned", "--key", "p.veilkey", cwd=folder)
    people = pd.read_csv(folder / "people.csv").iloc[[5, 17, 150]]
    people[["height", "weight", "income", "job"]].to_csv(folder / "register.csv", index=False)
    return folder


def test_people_of_another_table_are_linked_to_rows_of_all_parts(planned):
    args = ("attack", "planned", "--attack", "linkage", "--external-table", "register.csv")
    said = call(*args, "-o", "links.csv", cwd=planned)
    assert "3 of 3 people linked to rows" in said.stdout
    links = pd.read_csv(planned / "links.csv")
    assert list(links.columns) == ["record", "row", "probability"]
    assert list(links["record"]) == [0, 1, 2]
    assert list(links["row"]) == [5, 17, 150]
    assert (links["probability"] > 0.5).all()
    assert (planned / "links.csv").stat().st_mode & 0o777 == 0o600
    told = json.loads(call(*args, "-o", "again.csv", "--json", cwd=planned).stdout)
    assert told["links"] == 3
    assert told["ambiguity"] == "none", "a link is no guess of a value"


def test_linkage_takes_no_part_of_a_release(planned):
    args = ("--attack", "linkage", "--external-table", "register.csv", "--part", 1, "-o", "no.csv")
    said = call("attack", "planned", *args, cwd=planned, code=2)
    assert "all parts of a release at once" in said.stderr
    assert not (planned / "no.csv").exists()


def test_whoever_is_in_no_row_has_an_empty_row(planned):
    pd.DataFrame({"height": [80.0], "weight": [-70.0]}).to_csv(planned / "stranger.csv", index=False)
    args = ("--attack", "linkage", "--set", "overlap=0.5", "--external-table", "stranger.csv", "-o", "none.csv")
    call("attack", "planned", *args, cwd=planned)
    links = pd.read_csv(planned / "none.csv")
    assert links["row"].isna().all()


def test_an_earlier_release_in_another_order_is_matched_by_its_identifiers(folder):
    """Averaging two releases of noise 1 leaves noise √½; a wrong order would leave more than the release has."""
    args = ("attack", "later", "--attack", "repeated-release", "--previous-release", "earlier", "-o", "averaged.csv")
    call(*args, cwd=folder)
    guess = pd.read_csv(folder / "averaged.csv")[["height", "weight", "income"]].to_numpy()
    truth = pd.read_csv(folder / "later.csv")[["height", "weight", "income"]].to_numpy()
    error = ((guess - truth) ** 2).mean() / truth.var()
    # The Bayes filter of noise ½ leaves ⅓ of the variance; one release alone leaves ½, a wrong order more.
    assert error == pytest.approx(1 / 3, abs=5 * np.sqrt(2 / (3 * N)) / 3)
    assert error < 0.42


def test_rows_that_cannot_be_matched_are_refused(folder):
    call(
        *("perturb", "nameless.csv", "--method", "additive-noise", "-o", "nameless", "--key", "n.veilkey"),
        cwd=folder,
    )
    short = pd.read_csv(folder / "nameless.csv").iloc[:50]
    short.to_csv(folder / "short.csv", index=False)
    call("perturb", "short.csv", "--method", "additive-noise", "-o", "short", "--key", "s.veilkey", cwd=folder)
    args = ("--attack", "repeated-release", "--previous-release", "short", "-o", "refused.csv")
    said = call("attack", "nameless", *args, cwd=folder, code=2)
    assert "short: its rows cannot be matched" in said.stderr
    assert "public column of identifiers" in said.stderr


def test_missing_knowledge_names_an_option_that_exists(folder):
    for attack, option in (("linkage", "--external-table"), ("repeated-release", "--previous-release")):
        said = call("attack", "later", "--attack", attack, "-o", "nothing.csv", cwd=folder, code=2)
        assert option in said.stderr
        assert option in call("attack", "--help", cwd=folder).stdout
