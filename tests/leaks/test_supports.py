"""What a manifest lists of categories does not depend on which combinations occur."""

import json

import numpy as np
import pandas as pd
import pytest

import veil


def people(n: int = 400) -> pd.DataFrame:
    """Two columns that depend on each other: most of the 24 combinations do not occur, and some occur once."""
    rng = np.random.default_rng(5)
    job = rng.integers(0, 6, n)
    town = np.where(rng.random(n) < 0.99, job % 4, rng.integers(0, 4, n))
    return pd.DataFrame({"job": np.array(list("abcdef"))[job], "town": np.array(list("wxyz"))[town]})


def parameters(table: pd.DataFrame, **settings: object) -> str:
    release, _ = veil.publish(table, veil.RandomizedResponse(epsilon=0.5, joint=True, random_state=0, **settings))
    return json.dumps(release.only_part.model.to_json())


@pytest.mark.parametrize(
    "settings", [{}, {"invariant": True}, {"categories": {"job": list("abcdef"), "town": list("wxyz")}}]
)
def test_one_record_more_or_less_leaves_the_support_alone(settings: dict[str, object]) -> None:
    """The last record has a combination of its own in one table and that of many others in the other."""
    counts = people().groupby(["job", "town"]).size()
    absent = next((j, t) for j in "abcdef" for t in "wxyz" if (j, t) not in counts.index)
    rare = counts.index[counts == counts.min()][0]
    table = people()
    alone, common = table.copy(), table.copy()
    alone.loc[len(table) - 1] = absent
    common.loc[len(table) - 1] = rare
    assert counts.min() < 4
    assert len(alone.groupby(["job", "town"])) == len(common.groupby(["job", "town"])) + 1
    assert parameters(alone, **settings) == parameters(common, **settings)


def test_declared_combinations_are_all_that_is_listed() -> None:
    table = people()
    every = [(j, t) for j in "abcdef" for t in "wxyz" if (j, t) != ("a", "z")]
    table = table[(table["job"] != "a") | (table["town"] != "z")]
    assert parameters(table, combinations=every) == parameters(table.iloc[:50], combinations=every)


def test_the_owner_is_warned_of_rare_categories(tmp_path) -> None:
    table = people()
    table.loc[7, "job"] = "judge"
    table.to_csv(tmp_path / "people.csv", index=False)
    remarks: list[str] = []
    key = tmp_path / "people.key"
    veil.publish_file(
        tmp_path / "people.csv", veil.RandomizedResponse(), tmp_path / "release", new_key=key, remark=remarks.append
    )
    rare = [text for text in remarks if "categories that the manifest lists" in text]
    assert len(rare) == 1
    assert rare[0].startswith("Column 'job': 1 of the 7 categories")
    assert "judge" not in rare[0]
