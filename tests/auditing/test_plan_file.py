"""Plan files: drafted for a table, read back, and refused with a suggestion."""

import pandas as pd
import pytest
from click.testing import CliRunner

import veil
from veil.attacks.knowledge import grantable
from veil.auditing.memory import candidate_words
from veil.auditing.plan_draft import draft_plan
from veil.auditing.plan_file import load_plan, needed_plan, write_plan
from veil.cli import main
from veil.errors import FileAccessError, FileFormatError, InputError
from veil.publishing.inspection import inspect


def table():
    return pd.DataFrame(
        {
            "who": [f"p{i}" for i in range(60)],
            "a b": range(60),
            'quo"te': [0.5 * i for i in range(60)],
            "group": ["x", "y"] * 30,
        }
    )


def written(folder, text):
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_draft_can_be_used_as_it_is(tmp_path):
    """Whatever the columns are called: numbers of records stay, numbers get noise, categories randomized answers."""
    frame = table()
    file = load_plan(written(tmp_path, draft_plan(inspect(frame), "t.csv")))
    release, _ = veil.publish(frame, file.plan)
    assert release.data.columns.tolist() == ['quo"te', "group"]
    assert [part.method for part in release.manifest.parts] == ["additive-noise", "randomized-response"]
    assert set(file.goals.limits) == {*veil.Goals().limits} - {"links"}
    assert file.grants == veil.Grants()


def test_parts_roles_goals_and_grants_are_read(tmp_path):
    text = """
    [roles]
    who = "drop"
    "a b" = "quasi"
    [[part]]
    columns = ["group"]
    method = "randomized-response"
    epsilon = 2.0
    [[part]]
    method = "multiplicative-noise"
    bounds = [0.5, 1.5]
    [goals]
    max_advantage = 0.2
    against = ["pairs"]
    min_utility = { distances = 0.5 }
    [grants]
    pairs = [1, 3]
    sample = []
    """
    file = load_plan(written(tmp_path, text))
    assert file.plan.describe().startswith("randomized response (epsilon 2.0) on 1 column + multiplicative noise")
    assert (file.goals.max_advantage, file.grants.pairs, file.grants.sample) == (0.2, (1, 3), ())
    frame = table().drop(columns='quo"te')
    release, _ = veil.publish(frame.assign(**{"a b": frame["a b"] + 1}), file.plan)
    assert [part.method for part in release.manifest.parts] == ["randomized-response", "multiplicative-noise"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[role]\nx = 'drop'", "no key of .* is called 'role'; did you mean 'roles'"),
        ("[[part]]\nmethod = 'additive-nois'", "did you mean 'additive-noise'"),
        (
            "[[part]]\nmethod = 'additive-noise'\nscael = 1",
            r"no key of .*part 1 \(additive-noise\) is called 'scael'; did you mean 'scale'",
        ),
        (
            "[[part]]\nmethod = 'additive-noise'\n[goals]\nmax_advantge = 1",
            r"no key of .*\[goals\] is called .*did you mean 'max_advantage'",
        ),
        ("[[part]]\nscale = 1", "part 1 needs a method"),
        ("[[part]]\nmethod = 'linear-transform'\nmatrix = [[1, 2], [3, 4]]", "matrix is a secret"),
        ("[[part]]\nmethod = 'additive-noise'\nrandom_state = 1", "no key of .* is called 'random_state'"),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        load_plan(written(tmp_path, text))


def test_what_is_no_plan(tmp_path):
    with pytest.raises(FileFormatError, match="not a TOML file"):
        load_plan(written(tmp_path, "[[part"))
    with pytest.raises(FileAccessError, match="cannot read the plan"):
        load_plan(tmp_path / "nothing.toml")


def test_a_part_of_a_released_plan_is_attacked_from_files(tmp_path):
    """The one part that an attack has a theory for is chosen; of several, the red team says which."""
    from veil.attacks.folders import KnowledgeFiles, attack_file

    frame = table().assign(c=[1.5 * i for i in range(60)])
    plan = veil.Plan(
        [
            ("group", veil.RandomizedResponse(epsilon=1.0)),
            (["a b"], veil.AdditiveNoise(0.5)),
            (None, veil.AdditiveNoise(1.0)),
        ],
        roles={"who": "drop"},
    )
    veil.publish(frame, plan)[0].save(tmp_path / "release")
    guess = attack_file(tmp_path / "release", veil.ResponsePosteriorAttack(), tmp_path / "g.csv", KnowledgeFiles())
    assert guess.columns == ("group",)
    assert set(pd.read_csv(tmp_path / "g.csv")["group"]) <= {"x", "y"}
    with pytest.raises(InputError, match=r"2 \(additive-noise\), 3 \(additive-noise\); choose one with part="):
        attack_file(tmp_path / "release", veil.BayesEstimateAttack(), tmp_path / "b.csv", KnowledgeFiles())
    attack_file(tmp_path / "release", veil.BayesEstimateAttack(), tmp_path / "b.csv", KnowledgeFiles(), part=2)
    assert pd.read_csv(tmp_path / "b.csv").columns.tolist() == ["row", "a b"]


def test_a_file_without_a_part_is_enough_for_goals_but_not_to_perturb(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("[roles]\nx = 'drop'\n[goals]\nmax_advantage = 0.1\n")
    file = load_plan(path)
    assert (file.plan, file.grants, file.roles) == (None, veil.Grants(), {"x": "drop"})
    assert file.goals.max_advantage == 0.1
    with pytest.raises(InputError, match=r"at least one \[\[part\]\]"):
        needed_plan(path)


def test_the_grants_of_a_plan_mean_what_they_mean_in_python(tmp_path):
    grants = load_plan(written(tmp_path, "[grants]\npairs = [3]\nsample = []\nmatrix = false\n")).grants
    assert grants == veil.Grants(pairs=3, sample=(), matrix=False)
    assert [grants.asks_for(kind) for kind in ("pairs", "ranges")] == [True, False]


def test_a_draft_proposes_pseudonyms_for_names_and_responses_for_groups():
    text = draft_plan(inspect(table()), "t.csv")
    responses, _, pseudonyms = text.partition('method = "randomized-response"')
    assert '\ncolumns = ["group"]' in responses
    assert '# columns = ["who"]\n# method = "pseudonymize"' in pseudonyms


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("pairs = [1, 59]", "59 known records needs 59 records and leaves fewer than 2 of 60 to attack; grant less"),
        ("attributes = 2", "2 known columns leave none of 2 columns to guess; grant less"),
    ],
)
def test_levels_that_a_table_is_too_small_for_are_refused_as_those_of_the_command_line(tmp_path, line, message):
    frame = table()[["a b", 'quo"te']] + 0.5
    path = written(tmp_path, f"[[part]]\nmethod = 'additive-noise'\n[grants]\n{line}\n")
    file = load_plan(path)
    with pytest.raises(InputError, match=message):
        veil.audit(frame, file.plan, grants=file.grants, attacks=["bayes-estimate"], workers=1)
    frame.to_csv(tmp_path / "t.csv", index=False)
    by_plan = CliRunner().invoke(main, ["audit", str(tmp_path / "t.csv"), "--plan", str(path), "--no-cache"])
    kind, _, amounts = line.partition(" = ")
    options = ["--method", "additive-noise", f"--{kind}", amounts.strip("[]"), "--no-cache"]
    by_option = CliRunner().invoke(main, ["audit", str(tmp_path / "t.csv"), *options])
    assert (by_plan.exit_code, by_plan.output) == (by_option.exit_code, by_option.output)
    assert by_plan.exit_code == 2


def test_a_draft_lists_every_kind_of_knowledge_and_asks_for_none(tmp_path):
    """A table that is too small for the sweep is audited with what fits."""
    frame = table().drop(columns=["a b", "who", "group"]).head(8)
    text = draft_plan(inspect(frame), "t.csv")
    for kind in grantable():
        assert f"\n# {kind} = " in text
    file = load_plan(written(tmp_path, text))
    assert [level.kind for level in file.grants.levels(8, 1)].count("attributes") == 0
    lines = [line.removeprefix("# ") if line[2:].startswith(tuple(grantable())) else line for line in text.split("\n")]
    asked = load_plan(written(tmp_path, "\n".join(lines))).grants
    assert asked == veil.Grants()
    with pytest.raises(InputError, match="1 known column leave none of 1 columns to guess"):
        asked.levels(8, 1)


def test_a_plan_that_was_decided_on_comes_back_from_its_file(tmp_path):
    noise = veil.AdditiveNoise([0.5, 1.25], similarity=1.0)
    plan = veil.Plan([(["a b", 'quo"te'], noise), (["group"], veil.RandomizedResponse(epsilon=0.5))], shuffle=True)
    goals = veil.Goals(max_advantage=0.1, min_utility={"means": 0.9})
    write_plan(tmp_path / "plan.toml", plan, roles={"who": "drop"}, goals=goals, heading="For a table")
    again = load_plan(tmp_path / "plan.toml")
    assert candidate_words(again.plan) == candidate_words(plan)
    assert (again.roles, again.goals) == ({"who": "drop"}, goals)
    with pytest.raises(FileAccessError, match="exists"):
        write_plan(tmp_path / "plan.toml", plan, roles={}, goals=goals)
    covariance = veil.Plan([(None, veil.AdditiveNoise(covariance=[[2.0, 0.5], [0.5, 1.0]]))])
    write_plan(tmp_path / "other.toml", covariance, roles={}, goals=veil.Goals())
    assert candidate_words(load_plan(tmp_path / "other.toml").plan) == candidate_words(covariance)
