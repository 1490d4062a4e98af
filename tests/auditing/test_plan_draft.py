"""A draft proposes what a steward would: roles with their reasons, order, whole numbers, sums, codes and goals."""

import re

import numpy as np
import pandas as pd
import pytest

import veil
from _program import call
from veil.auditing.plan_draft import DECIDE, draft_plan
from veil.auditing.plan_file import load_plan
from veil.errors import FileAccessError


def households(n_homes=600, seed=0):
    """A survey of persons in households, as its rows come: sorted by household."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(n_homes), rng.integers(1, 5, n_homes))
    n = len(home)
    wage = np.where(rng.random(n) < 0.4, 0, rng.lognormal(7.6, 1.2, n).round(2))
    rent = rng.integers(200, 2_000, n_homes)[home]
    return pd.DataFrame(
        {
            "person_id": np.arange(n) + 10_000,
            "hh_id": home + 500,
            "weight": rng.gamma(8, 20, n_homes).round(2)[home],
            "region": rng.choice(["North", "South", "East"], n_homes)[home],
            "age": rng.integers(0, 95, n),
            "education": rng.choice(["low", "middle", "high", "?"], n, p=[0.3, 0.4, 0.25, 0.05]),
            "rent": rent,
            "wage": wage,
            "benefit": (extra := rng.integers(0, 400, n).astype(float)),
            "income": (wage + extra).round(2),
            "smokes": rng.choice(["yes", "no"], n),
            "retired": rng.integers(0, 2, n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "remark": [f"remark {i}" for i in range(n)],
            "country": "DE",
        }
    )


@pytest.fixture(scope="module")
def draft():
    return draft_plan(veil.inspect(households()), "survey.csv")


ROLES = {
    "person_id": "identifier",
    "hh_id": "group",
    "region": "key",
    "age": "key",
    "education": "key",
    "remark": "identifier",
    "country": "drop",
}
OPEN = {"weight": "drop", "smokes": "sensitive", "retired": "sensitive"}


@pytest.mark.parametrize(("column", "role"), [*ROLES.items(), *OPEN.items()])
def test_roles_are_proposed_with_their_reason(draft, column, role):
    line = re.findall(rf"(?m)^{column} = .*", draft)[0]
    assert line.startswith(f'{column} = "{role}"  # ')
    assert (DECIDE in line) == (column in OPEN)


def test_numbers_keep_their_usual_role_as_a_comment(draft):
    assert '# rent = "sensitive"' in draft
    assert '# since = "sensitive"  # perturbed in whole days' in draft
    assert re.search(r'# wage = "sensitive"  # .*zeros; heavy tail', draft)


def test_settings_follow_from_the_table(draft):
    assert "\nshuffle = true" in draft
    assert '\nplausible = "auto"' in draft
    assert '\neducation = ["?"]' in draft
    assert '\nretired = "category"' in draft
    assert '\nincome = ["wage", "benefit"]' in draft
    assert '\ncolumns = ["smokes", "retired"]\nmethod = "randomized-response"' in draft
    assert '# columns = ["wage", "income"]\n# method = "top-coding"' in draft
    assert '# method = "local-suppression"' in draft
    assert f"# 3 roles are yours to decide, marked {DECIDE}: " in draft
    assert "no link within" in draft


def test_a_table_in_a_random_order_is_not_shuffled():
    rows = np.random.default_rng(3).permutation(750)
    frame = households().iloc[:750].drop(columns="person_id").iloc[rows]
    assert "\n# shuffle = true" in draft_plan(veil.inspect(frame), "t.csv")


def test_without_keys_there_is_no_goal_on_links():
    text = draft_plan(veil.inspect(households()[["rent", "wage", "benefit"]]), "t.csv")
    assert "no link" not in text
    assert DECIDE not in text


def test_a_table_of_keys_alone_is_perturbed(tmp_path):
    frame = households()[["age", "region"]]
    (tmp_path / "plan.toml").write_text(draft_plan(veil.inspect(frame), "t.csv"))
    release, _ = veil.publish(frame, load_plan(tmp_path / "plan.toml").plan)
    assert [part.method for part in release.manifest.parts] == ["additive-noise", "randomized-response"]


def test_the_draft_is_audited_as_it_is_and_with_the_owner_s_answers(tmp_path):
    households().to_csv(tmp_path / "survey.csv", index=False)
    said = call("init", "survey.csv", cwd=tmp_path).stdout
    assert "15 columns, 3 to decide on" in said
    plan = tmp_path / "plan.toml"
    quick = ("--attack", "interval-attack", "--repetitions", "1", "--no-cache", "--max-advantage", "1")
    call("audit", "survey.csv", "--plan", "plan.toml", *quick, cwd=tmp_path, code=3)
    text = plan.read_text()
    for column, role in {"weight": "weight", "since": "public", "smokes": "key"}.items():
        text = re.sub(rf'(?m)^(?:# )?{column} = "\w+"', f'{column} = "{role}"', text)
    plan.write_text(text)
    call("audit", "survey.csv", "--plan", "plan.toml", *quick, cwd=tmp_path, code=3)
    call("perturb", "survey.csv", "--plan", "plan.toml", "-o", "r", "--key", "k", cwd=tmp_path)
    released = veil.Release.load(tmp_path / "r").data.to_pandas()
    assert not {"person_id", "remark", "country"} & set(released)
    assert (released.groupby("hh_id")["rent"].nunique() == 1).all()
    assert released["wage"].min() >= 0
    assert released["income"].to_numpy() == pytest.approx((released["wage"] + released["benefit"]).to_numpy())


def test_amounts_that_are_all_different_are_no_identifiers():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"AGI": rng.integers(10_000, 90_000_000, 400), "tax": rng.normal(size=400)})
    text = draft_plan(veil.inspect(frame), "t.csv")
    assert re.search(rf'(?m)^AGI = "sensitive"  # {DECIDE}: all different, but no count of records', text)


def test_a_weight_that_tells_whose_record_is_whose_is_the_owner_s_to_decide():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"fnlwgt": rng.gamma(5, 30, 400), "pwgt": rng.integers(20, 60, 400), "x": rng.normal(size=400)}
    )
    roles = {each.column: (each.role, each.sure) for each in veil.inspect(frame).proposals}
    assert roles["pwgt"] == ("weight", True)
    assert roles["fnlwgt"] == ("weight", False)
    assert '\nfnlwgt = "drop"' in draft_plan(veil.inspect(frame), "t.csv")


def test_an_existing_plan_is_kept(tmp_path):
    (tmp_path / "plan.toml").write_text("mine")
    with pytest.raises(FileAccessError, match="exists"):
        veil.init_file(households(), tmp_path / "plan.toml")
    assert (tmp_path / "plan.toml").read_text() == "mine"
