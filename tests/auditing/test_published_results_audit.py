"""Published results (A23) in audits: granted by name, held against the absent person, in Python, plans and commands."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.tree import DecisionTreeClassifier

import veil
from veil.auditing.plan_file import load_plan
from veil.cli import main
from veil.errors import InputError

ROLES = {"age": "quasi", "town": "public", "illness": "sensitive"}
METHOD = veil.Plan([(["age"], veil.AdditiveNoise(1.0)), (["illness"], veil.RandomizedResponse(keep=0.1))])
ATTACK = veil.PublishedResultsAttack()
COORDINATES = ["age", ("town", "Ulm")]


def people(rng, n=800):
    age, town = rng.integers(20, 90, n), rng.choice(["Bonn", "Ulm"], n)
    risk = 0.1 + 0.4 * (age > 60) + 0.3 * (town == "Ulm")
    illness = np.where(rng.random(n) < risk, "asthma", np.where(rng.random(n) < 0.5, "flu", "none"))
    return pd.DataFrame({"age": age.astype(float), "town": town, "illness": illness})


def tree(frame, **settings):
    x = np.column_stack([frame["age"], frame["town"] == "Ulm"]).astype(float)
    model = DecisionTreeClassifier(random_state=0, **settings).fit(x, frame["illness"])
    return veil.PublishedResults.from_tree(model, "illness", COORDINATES)


def audited(table, results, **options):
    options = {"attacks": [ATTACK], "roles": ROLES, "seed": 0, "workers": 1, "repetitions": 1} | options
    return veil.audit(table, METHOD, grants=veil.Grants.only(results=results), **options)


def test_results_of_a_fresh_sample_teach_and_give_nobody_away():
    """10 tables: 0 lies in the 95 % interval of the gain over the absent person, but for chance."""
    gains, outside = [], 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        (row,) = audited(people(rng), tree(people(rng), max_depth=3)).rows
        gains.append(float(row.value.advantage))
        outside += row.value.advantage.low > 0
        assert float(row.value.taught) > 0.1
        assert row.columns.keys() == {"illness"}, "what an outsider has is not scored"
        assert row.tested
    assert outside <= 2, "of 10 intervals of 95 %, more than 2 leave 0 out in 1 of 100 cases"
    assert np.mean(gains) < 0.02


def test_a_tree_that_remembers_its_people_gives_them_away():
    """Ages of 10⁻³ years tell everybody apart, and a tree without limits has a leaf for each."""
    rng = np.random.default_rng(1)
    frames = [people(rng), people(rng)]
    for frame in frames:
        frame["age"] += rng.random(len(frame)).round(3)
    own, others = (tree(frame) for frame in frames)
    (row,) = audited(frames[0], own).rows
    assert row.value.rate > 0.99
    assert row.value.advantage.low > 0.3
    assert row.broken
    (row,) = audited(frames[0], others).rows
    assert float(row.value.advantage) < 0.05


def test_results_are_played_only_where_they_are_granted_and_are_told_in_words():
    table = people(np.random.default_rng(2), 300)
    assert "published results" not in [level.label for level in veil.Grants().levels(300, 2, quasi=True)]
    with pytest.raises(InputError, match="could not run: no level grants PublishedResults"):
        veil.audit(table, METHOD, attacks=[ATTACK], grants=veil.Grants.only(external=True), roles=ROLES)
    audit = audited(table, tree(table, max_depth=3))
    (row,) = audit.rows
    assert row.knowledge == "published results"
    text = json.dumps(audit.model().candidates, default=str) + audit.to_json()
    assert "published rules, trees or cluster centres" in text


def test_grants_take_results_or_their_file_and_nothing_else(tmp_path):
    table = people(np.random.default_rng(3), 200)
    results = tree(table, max_depth=2)
    path = tmp_path / "results.json"
    results.save(path)
    for given in (results, path, str(path)):
        grants = veil.Grants(results=given)
        assert grants.results.to_json() == results.to_json()
        assert grants.replaced(pairs=3).results is grants.results
        assert [level.label for level in grants.levels(200, 2, quasi=True)][-1] == "published results"
    assert veil.Grants().results is False
    assert veil.Grants.only().handed("results") is None
    for wrong in (True, 3, {}):
        with pytest.raises(InputError, match=r"grants: results must be veil.PublishedResults, the name of their file"):
            veil.Grants(results=wrong)
    with pytest.raises(InputError, match="they need columns that are known, with the role quasi or public"):
        audited(table[["age", "illness"]], results, roles={"age": "sensitive", "illness": "sensitive"})
    with pytest.raises(InputError, match="results cannot be granted against a release that is not described"):
        veil.audit(table, release=table, grants=veil.Grants.only(results=results), roles=ROLES)


def test_a_plan_names_a_file_beside_it(tmp_path):
    table = people(np.random.default_rng(4), 200)
    tree(table, max_depth=2).save(tmp_path / "results.json")
    plan = tmp_path / "plan.toml"
    plan.write_text('[grants]\nresults = "results.json"\n')
    assert load_plan(plan).grants.handed("results").trees[0].column == "illness"
    plan.write_text('[grants]\nresults = "absent.json"\n')
    with pytest.raises(InputError, match=r"absent.json: cannot read the results"):
        load_plan(plan)


def test_commands_take_the_file(tmp_path):
    table = people(np.random.default_rng(5), 300)
    source, results = tmp_path / "people.csv", tmp_path / "results.json"
    table.to_csv(source, index=False)
    tree(table, max_depth=3).save(results)

    def called(*arguments):
        return CliRunner().invoke(main, [str(each) for each in arguments])

    release = tmp_path / "release"
    method = ["--method", "additive-noise", "--role=illness=drop", "--role=town=public"]
    done = called("perturb", source, *method, "-o", release, "--key", tmp_path / "key")
    assert done.exit_code == 0, done.output
    # The release does not hide the illness: it is not in it.
    done = called(
        "attack", release, "--attack", "published-results", "--published-results", results, "-o", tmp_path / "g.csv"
    )
    assert done.exit_code == 2
    assert "no private column that is hidden: they tell 'illness'" in done.output
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[roles]\nage = "public"\ntown = "public"\n[[part]]\ncolumns = ["illness"]\n'
        'method = "randomized-response"\nkeep = 0.1\n'
    )
    hidden, guess = tmp_path / "hidden", tmp_path / "guess.csv"
    done = called("perturb", source, "--plan", plan, "-o", hidden, "--key", tmp_path / "other")
    assert done.exit_code == 0, done.output
    done = called("attack", hidden, "--attack", "published-results", "--published-results", results, "-o", guess)
    assert done.exit_code == 0, done.output
    assert (pd.read_csv(guess)["illness"] == table["illness"]).mean() > 0.5
    options = ["--results", results, "--seed", 1, "--json", "--no-cache", "--attack", "published-results"]
    done = called("audit", source, "--plan", plan, "--workers", 1, *options)
    assert done.exit_code in (0, 3), done.output
    assert "published-results" in done.output
