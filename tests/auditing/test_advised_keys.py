"""Advice recodes keys that would link more people than the goal allows."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from veil.auditing.advice.choices import Choices
from veil.auditing.advice.key_recoding import key_recoding
from veil.auditing.plan_file import load_plan, write_plan
from veil.data.schema import Role
from veil.measures import cell_sizes


def survey(n=600, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(list("fm"), n),
            "age": rng.integers(18, 90, n),
            "town": [f"t{i}" for i in np.minimum(rng.zipf(1.5, n), 40)],
            "income": rng.lognormal(7, 0.5, n),
            "rent": rng.lognormal(6, 0.5, n),
        }
    )


@pytest.mark.parametrize("most", [0.3, 0.1, 0.05])
@pytest.mark.parametrize("keys", [["age"], ["sex", "age"], ["sex", "age", "town"], ["sex", "age", "town", "rent"]])
def test_recoded_keys_link_at_most_what_the_goal_allows(keys, most):
    frame = survey()
    found = key_recoding(pa.Table.from_pandas(frame), dict.fromkeys(keys, Role.KEY), most)
    if found is None:
        assert len(frame[keys].drop_duplicates()) <= most * len(frame)
        return
    columns, method = found
    release, _ = veil.publish(
        frame,
        veil.Plan(
            [(list(columns), method), (["income"], veil.AdditiveNoise(9.0))],
            roles={
                **{name: "drop" for name in frame if name not in columns},
                **dict.fromkeys(columns, "key"),
                "income": "sensitive",
            },
        ),
    )
    assert cell_sizes(release.data[list(columns)]).min() >= method.k
    links = veil.LinkageAttack().run(release, veil.ExternalTable(frame[list(columns)]))
    assert np.mean(links.rows == np.arange(len(frame))) <= most
    assert release.data[list(columns)].isna().to_numpy().mean() < 0.4  # towns have no hierarchy


def test_keys_that_tell_little_and_columns_without_that_role_are_left_alone():
    table = pa.Table.from_pandas(survey())
    assert key_recoding(table, {"sex": Role.KEY}, 0.05) is None
    assert key_recoding(table, {"sex": Role.PUBLIC, "age": Role.QUASI}, 0.05) is None
    assert key_recoding(table.slice(0, 20), {"age": Role.KEY}, 0.05) is None  # no k keeps the goal


def test_every_setting_that_is_tried_recodes_them_only_where_links_count():
    table, roles = pa.Table.from_pandas(survey()), {"sex": "key", "age": "key", "town": "drop"}
    settings = {"tolerance": 0.1, "seed": 0, "shuffle": False}
    recoded = Choices(table, roles, **settings, links=0.05).of_method(veil.AdditiveNoise())
    assert [columns for columns, _ in recoded.parts] == [None, ("sex", "age")]
    plain = Choices(table, roles, **settings).of_method(veil.AdditiveNoise())
    assert len(plain.parts) == 1
    own = veil.Plan([(["income"], veil.AdditiveNoise()), (["age"], veil.GlobalRecoding(width=10))])
    assert Choices(table, roles, **settings, links=0.05).of_method(own) is own


def test_a_written_plan_says_how(tmp_path):
    frame = survey()
    _, method = key_recoding(pa.Table.from_pandas(frame), {"sex": Role.KEY, "age": Role.KEY}, 0.05)
    plan = veil.Plan([(None, veil.AdditiveNoise()), (["sex", "age"], method)])
    roles = {"sex": "key", "age": "key", "town": "drop"}
    write_plan(tmp_path / "plan.toml", plan, roles=roles, goals=veil.Goals())
    read = load_plan(tmp_path / "plan.toml").plan
    assert read.describe() == plan.describe()
    assert veil.publish(frame, read)[0].manifest.parts[1].model.k == method.k


@pytest.mark.slow
def test_advice_holds_the_goal_on_links():
    advice = veil.advise(
        survey(500).drop(columns="town"),
        ["additive-noise"],
        goals=veil.Goals(max_advantage=0.1),
        grants=veil.Grants.only(external=True),
        roles={"sex": "key", "age": "key"},
        seed=0,
        budget=60,
    )
    assert advice.possible
    assert "local suppression" in str(advice)
    assert advice.audit.passed
