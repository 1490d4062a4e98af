"""What an inspection tells about keys: counts, expected re-identifications, and which columns make people unique."""

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import veil
from veil.measures import cell_counts, key_risks
from veil.publishing.inspection_pass import subsets_of
from veil.report.inspected import print_inspection

KEYS = ["sex", "age", "town"]
ROLES = {**dict.fromkeys(KEYS, "key"), "stands_for": "weight"}


def survey(n=3_000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(list("fm"), n),
            "age": rng.integers(18, 90, n),
            "town": [f"t{i}" for i in rng.integers(0, 60, n)],
            "income": rng.lognormal(7, 1, n),
            "stands_for": rng.integers(20, 60, n),
        }
    )


def test_counts_are_those_of_the_measures():
    frame = survey()
    facts, counts = veil.inspect(frame, roles=ROLES).keys, cell_counts(frame[KEYS])
    assert (facts.n_cells, facts.unique, facts.below_3, facts.below_5) == (
        counts.n_cells,
        counts.unique,
        counts.below_3,
        counts.below_5,
    )
    assert facts.expected == pytest.approx(key_risks(frame[KEYS], weights=frame["stands_for"]).expected)
    without = {each.columns[0]: each.unique for each in facts.without}
    assert without == {name: cell_counts(frame[[k for k in KEYS if k != name]]).unique for name in KEYS}
    assert [each.unique for each in facts.without] == sorted(without.values())
    assert {each.columns: each.unique for each in facts.pairs}[("age", "town")] == cell_counts(
        frame[["age", "town"]]
    ).unique


def test_of_a_large_table_the_expected_links_are_estimated(monkeypatch):
    frame = survey(120_000).assign(town=lambda t: np.random.default_rng(1).integers(0, 4_000, len(t)))
    facts = veil.inspect(frame, roles=ROLES).keys
    truth = key_risks(frame[KEYS], weights=frame["stands_for"]).expected
    assert not facts.exact
    assert abs(facts.expected / truth - 1) < 0.03


def test_missing_and_infinite_weights_count_as_one():
    frame = survey(50).assign(stands_for=[np.nan] * 25 + [30.0] * 25)
    facts = veil.inspect(frame, roles=ROLES).keys
    assert facts.expected == pytest.approx(key_risks(frame[KEYS], weights=frame["stands_for"].fillna(1.0)).expected)


def test_the_columns_that_make_people_unique_are_named():
    advice = " ".join(veil.inspect(survey(), roles=ROLES).advice)
    assert "re-identifications are expected" in advice
    assert "Records that stay alone without one of the keys: 'age'" in advice


def test_without_keys_nothing_is_said_of_them():
    assert veil.inspect(survey()[["income"]]).keys is None
    one = veil.inspect(survey(), roles={"age": "key"}).keys
    assert (one.without, one.pairs, one.expected) == ((), (), None)


def test_many_keys_are_not_looked_at_in_pairs():
    names = tuple(f"k{i}" for i in range(13))
    assert len(subsets_of(names)) == 0
    assert len(subsets_of(names[:12])) == 12
    assert len(subsets_of(names[:6])) == 6 + 15


def test_it_is_printed():
    file = io.StringIO()
    print_inspection(veil.inspect(survey(), roles=ROLES), "survey.csv", Console(file=file, width=120))
    text = file.getvalue()
    assert "without age" in text
    assert "only age and town" in text
    assert "combinations" in text
