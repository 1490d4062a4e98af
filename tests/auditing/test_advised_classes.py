"""Advice on numbers most of which are one value: they are reported by class, with a strength of their own."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from veil.auditing.advice.choices import Choices
from veil.auditing.advice.heaped_columns import FEWEST_SHARE, heap_edges
from veil.auditing.advice.settings import Doubts, Setting
from veil.auditing.plan_file import load_plan, plan_text

GRANTS = veil.Grants.only(sample=0.05)


def table(n: int = 4_000, seed: int = 0) -> pd.DataFrame:
    """Two correlated numbers, and a gain that is zero for nine in ten."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2))
    gain = np.where(rng.random(n) < 0.92, 0, rng.lognormal(8.5, 1.0, n).round() + 1)
    return pd.DataFrame({"age": 40 + 12 * z[:, 0], "weight": 70 + 9 * (z[:, 0] + z[:, 1]), "gain": gain})


def choices(frame: pd.DataFrame, **settings: object) -> Choices:
    given = {"tolerance": 0.1, "seed": 0, "shuffle": False, "in_classes": True, **settings}
    return Choices(pa.table(dict(frame.items())), {}, **given)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_the_frequent_value_is_alone_and_no_class_has_few_records(sign, shift):
    column = sign * table()["gain"].to_numpy() + shift
    edges = heap_edges(column)
    assert edges is not None
    assert edges == sorted(set(edges))
    place = np.searchsorted(edges, column, side="right")
    counts = np.bincount(place, minlength=len(edges) + 1)
    assert counts.min() >= FEWEST_SHARE * len(column)
    own = np.unique(place[column == shift])
    assert len(own) == 1
    assert (column[place == own[0]] == shift).mean() > 0.99
    assert len(edges) == 4


@pytest.mark.parametrize(
    "column",
    [
        np.arange(1_000.0),  # spread
        np.r_[np.zeros(400), np.arange(1.0, 601.0)],  # the frequent value has less than half
        np.r_[np.zeros(999), 5.0],  # nobody else
        np.r_[np.zeros(900), np.ones(100)],  # two values
        np.r_[np.zeros(900), np.full(50, np.nan), np.arange(50.0)],  # gaps
        np.empty(0),
    ],
)
def test_other_columns_are_not_reported_by_class(column):
    assert heap_edges(column) is None


def test_fractions_are_cut_between_the_frequent_value_and_the_rest():
    rng = np.random.default_rng(1)
    column = np.where(rng.random(5_000) < 0.8, 0.5, 0.5 + rng.gamma(2.0, 0.1, 5_000))
    edges = heap_edges(column)
    assert edges is not None
    assert 0.5 < edges[0] < 0.55


def test_plans_report_such_columns_by_class_and_methods_as_they_are_keep_them():
    found = choices(table())
    assert found.names == ("age", "weight")
    assert list(found.classes) == ["gain"]
    families, fixed = found.methods(None)
    plan = found.plan(Setting(families[0], (2.0,), Doubts(classes=0.4)))
    assert [columns for columns, _ in plan.parts] == [None, ("gain",)]
    response = dict(plan.parts)[("gain",)]
    assert (response.epsilon, response.classes) == (2.5, found.classes)
    assert all(len(each.parts) == 1 for each in fixed)
    assert choices(table(), in_classes=False).names == ("age", "weight", "gain")
    assert choices(table()[["gain"]]).names == ("gain",)


def test_a_written_plan_says_the_classes(tmp_path):
    found = choices(table())
    families, _ = found.methods(None)
    plan = found.plan(Setting(families[0], (2.0,), Doubts(classes=0.4)))
    text = plan_text(plan, roles={}, goals=veil.Goals())
    (tmp_path / "written.toml").write_text(text)
    again = dict(load_plan(tmp_path / "written.toml").plan.parts)[("gain",)]
    assert again.classes == found.classes


@pytest.mark.slow
def test_what_is_recommended_keeps_distributions_and_the_goals_with_other_keys():
    frame = table(2_000)
    advice = veil.advise(frame, goals=veil.Goals(max_advantage=0.1), grants=GRANTS, seed=0)
    assert advice.possible
    assert isinstance(advice.recommendation, veil.Plan)
    assert ("gain",) in dict(advice.recommendation.parts)
    kept = advice.audit.candidates[0].utility
    assert kept["distribution"] > 0.85
    assert veil.audit(frame, advice.recommendation, goals=veil.Goals(max_advantage=0.1), grants=GRANTS, seed=7).passed
