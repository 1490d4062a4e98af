"""Advice with a plan keeps what the owner decided: roles, the order of rows, and the methods of named columns."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import veil
from _program import call
from veil.auditing.plan_file import load_plan
from veil.errors import InputError

GOALS = veil.Goals(max_advantage=0.5)
GRANTS = veil.Grants.only()


def people(n=400):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    return pa.table({"age": x[:, 0], "income": x[:, 1], "weight": x[:, 2], "sex": rng.choice(["f", "m"], n)})


def advised(plan, **options):
    settings = {"goals": GOALS, "grants": GRANTS, "seed": 0, **options}
    return veil.advise(people(), ["additive-noise"], plan=plan, **settings)


def test_named_parts_roles_and_the_order_of_rows_are_kept():
    fixed = veil.AdditiveNoise(3.0)
    plan = veil.Plan([("weight", fixed), ("sex", veil.RandomizedResponse(keep=0.6))], {"age": "public"}, shuffle=True)
    advice = advised(plan)
    assert advice.possible
    parts = dict(advice.recommendation.parts)
    assert parts[("weight",)] is fixed
    assert parts[("sex",)].settings()["keep"] == 0.6
    assert None in parts
    assert advice.recommendation.shuffle
    assert set(advice.audit.columns) == {"income", "weight", "sex"}


def test_an_option_wins_over_the_order_of_the_plan():
    plan = veil.Plan([("sex", veil.RandomizedResponse(keep=0.6))], shuffle=True)
    assert not advised(plan, shuffle=False).recommendation.shuffle


def test_a_plan_for_the_rest_is_tried_beside_the_others():
    plan = veil.Plan([(None, veil.LaplaceMechanism(1.0, (-5.0, 5.0)))], {"sex": "drop"})
    advice = veil.advise(people(), plan=plan, goals=GOALS, grants=GRANTS, seed=0, budget=20)
    told = [*(point.label for point in advice.points), *advice.rejected]
    assert any("laplace" in each for each in told)


def test_a_plan_that_leaves_nothing_open_is_refused():
    plan = veil.Plan([(["age", "income", "weight"], veil.AdditiveNoise())], {"sex": "drop"})
    with pytest.raises(InputError, match="the plan names a method for every column"):
        advised(plan)
    with pytest.raises(InputError, match=r"plan must be a veil\.Plan; got a str"):
        advised("plan.toml")


def test_the_command_line_keeps_the_plan(tmp_path):
    pacsv.write_csv(people(), tmp_path / "people.csv")
    plan = 'shuffle = true\n[roles]\nage = "drop"\nsex = "drop"\n'
    plan += '[[part]]\ncolumns = ["weight"]\nmethod = "additive-noise"\nscale = 3.0\n[goals]\nmax_advantage = 0.5\n'
    (tmp_path / "plan.toml").write_text(plan)
    options = ("--method", "additive-noise", "--plan", "plan.toml", "--seed", 0, "--budget", "60s")
    call("advise", "people.csv", *options, "--write-plan", "advised.toml", cwd=tmp_path)
    written = load_plan(tmp_path / "advised.toml")
    assert dict(written.plan.parts)[("weight",)].settings()["scale"] == 3.0
    assert written.plan.shuffle
    assert written.roles["age"] == "drop"
