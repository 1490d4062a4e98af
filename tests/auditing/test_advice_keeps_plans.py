"""Advice with a plan keeps what the owner decided: roles, the order of rows, and the methods of named columns."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import veil
from _program import call
from veil.auditing.advice.choices import Choices
from veil.auditing.advice.settings import Doubts, Setting
from veil.auditing.plan_file import load_plan
from veil.errors import InputError

GOALS = veil.Goals(max_advantage=0.5)
GRANTS = veil.Grants.only()
NOTHING = {"pairs": "[]", "sample": "[]", "attributes": "[]", "ranges": "false", "external": "false", "matrix": "false"}


def people(n=400):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    return pa.table({"age": x[:, 0], "income": x[:, 1], "weight": x[:, 2], "sex": rng.choice(["f", "m"], n)})


def choices(plan, **roles):
    return Choices(people(), {**plan.roles, **roles}, tolerance=0.1, seed=0, shuffle=None, plan=plan)


def test_named_parts_and_roles_are_kept():
    fixed, answers = veil.AdditiveNoise(3.0), veil.RandomizedResponse(keep=0.6)
    plan = veil.Plan([("weight", fixed), ("sex", answers)], {"age": "public"})
    found = choices(plan)
    assert found.names == ("income",)
    assert found.categories == []
    families, _ = found.methods(["additive-noise"])
    proposed = dict(found.plan(Setting(families[0], (2.0,))).parts)
    assert proposed[("weight",)] is fixed
    assert proposed[("sex",)] is answers
    assert proposed[None].settings()["scale"] == 2.0


def test_categories_that_the_plan_leaves_open_get_responses_beside_the_kept_parts():
    found = choices(veil.Plan([("weight", veil.AdditiveNoise(3.0))]), sex="sensitive")
    assert found.categories == ["sex"]
    families, _ = found.methods(["additive-noise"])
    columns = [columns for columns, _ in found.plan(Setting(families[0], (2.0,), Doubts(1.0))).parts]
    assert columns == [None, ("sex",), ("weight",)]


@pytest.mark.parametrize(
    ("given", "planned", "expected"),
    [(None, True, True), (None, False, None), (False, True, False), (True, False, True)],
)
def test_an_option_wins_over_the_order_of_the_plan(given, planned, expected, monkeypatch):
    asked = {}

    class Asked:
        def __init__(self, *_, **options):
            asked.update(options)

        def advice(self):
            return None

    monkeypatch.setattr("veil.auditing.advice.run.Search", Asked)
    veil.advise(people(), plan=veil.Plan([("sex", veil.RandomizedResponse())], shuffle=planned), shuffle=given)
    assert asked["shuffle"] is expected


def test_a_plan_for_the_rest_is_tried_beside_the_others():
    plan = veil.Plan([(None, veil.LaplaceMechanism(1.0, (-5.0, 5.0)))], {"sex": "drop"})
    advice = veil.advise(people(), plan=plan, goals=GOALS, grants=GRANTS, seed=0, budget=10)
    told = [*(point.label for point in advice.points), *advice.rejected]
    assert any("laplace" in each for each in told)


def test_a_plan_that_leaves_nothing_open_is_refused():
    plan = veil.Plan([(["age", "income", "weight"], veil.AdditiveNoise())], {"sex": "drop"})
    with pytest.raises(InputError, match="the plan names a method for every column"):
        choices(plan)
    with pytest.raises(InputError, match=r"plan must be a veil\.Plan; got a str"):
        veil.advise(people(), plan="plan.toml")


def test_the_command_line_keeps_the_plan(tmp_path):
    pacsv.write_csv(people(), tmp_path / "people.csv")
    plan = 'shuffle = true\n[roles]\nage = "drop"\nsex = "drop"\n'
    plan += '[[part]]\ncolumns = ["weight"]\nmethod = "additive-noise"\nscale = 3.0\n'
    plan += "[goals]\nmax_advantage = 0.5\n[grants]\n"
    plan += "".join(f"{kind} = {nothing}\n" for kind, nothing in NOTHING.items())
    (tmp_path / "plan.toml").write_text(plan)
    options = ("--method", "additive-noise", "--plan", "plan.toml", "--seed", 0)
    call("advise", "people.csv", *options, "--write-plan", "advised.toml", cwd=tmp_path)
    written = load_plan(tmp_path / "advised.toml")
    assert dict(written.plan.parts)[("weight",)].settings()["scale"] == 3.0
    assert written.plan.shuffle
    assert written.roles["age"] == "drop"


def test_a_recommendation_keeps_the_rules_for_columns_with_numbers_of_their_own():
    """What makes values plausible is the owner's; categories have no numbers, and totals of them none."""
    rules = {"age": {"low": 0.0}, "income": {"grain": 100.0}, "sex": {"grain": 1.0}}
    plan = veil.Plan([(None, veil.AdditiveNoise(1.0))], plausible=rules, sums={"income": ["age", "weight"]})
    found = choices(plan, sex="sensitive")
    families, _ = found.methods(["additive-noise"])
    bare = found.plan(Setting(families[0], (2.0,), Doubts(1.0)))
    ruled = found.ruled(bare)
    assert ruled.parts == bare.parts
    assert sorted(ruled.plausible) == ["age", "income"]
    assert ruled.sums == {"income": ("age", "weight")}
    auto = choices(veil.Plan([(None, veil.AdditiveNoise(1.0))], plausible="auto"), sex="drop")
    assert auto.ruled(bare).plausible == "auto"
    assert choices(veil.Plan([(None, veil.AdditiveNoise(1.0))]), sex="drop").ruled(bare) is bare


def test_the_plan_that_advice_writes_has_the_rules(tmp_path):
    table = people(300)
    pacsv.write_csv(table.drop_columns(["sex"]), tmp_path / "people.csv")
    text = 'plausible = "auto"\n[[part]]\nmethod = "additive-noise"\n[goals]\nmax_advantage = 0.9\n[grants]\n'
    granted = "\n".join(f"{kind} = {none}" for kind, none in NOTHING.items())
    (tmp_path / "plan.toml").write_text(text + granted + "\n")
    call("advise", "people.csv", "--plan", "plan.toml", "--write-plan", "advised.toml", cwd=tmp_path)
    assert load_plan(tmp_path / "advised.toml").plan.plausible == "auto"
