"""Tails, zeros, order of rows, groups and sums: found where they are, in one pass over blocks, and not by chance."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console

import veil
from veil.data.blocks import BLOCK_ROWS
from veil.publishing.inspection_groups import KEPT
from veil.publishing.inspection_roles import names_a_group, names_a_key, names_a_weight
from veil.publishing.inspection_tails import KEPT as TOPS
from veil.publishing.inspection_tails import tops_of
from veil.report.inspected import print_inspection

N = 3 * BLOCK_ROWS + 123


def column(frame, name="x"):
    return next(each for each in veil.inspect(frame).columns if each.name == name)


# -- tails and zeros


@pytest.mark.parametrize("alpha", [1.5, 3.0])
def test_hill_s_estimate_finds_the_index_of_a_power_law(alpha):
    n, errors = 20_000, []
    for seed in range(40):
        values = np.random.default_rng(seed).pareto(alpha, n) + 1
        index = tops_of(values[None]).index(0, n)
        errors.append(1 / index - 1 / alpha)
    k = TOPS - 1  # the mean of k exponential excesses is unbiased, with a standard error of 1/(α√k)
    assert abs(np.mean(errors)) < 4 / alpha / np.sqrt(k * len(errors))
    assert np.std(errors) == pytest.approx(1 / alpha / np.sqrt(k), rel=0.4)


def test_tails_and_zeros_of_blocks_add_up():
    rng = np.random.default_rng(1)
    values = np.where(rng.random(N) < 0.3, 0.0, rng.lognormal(0, 1, N))
    facts = column(pa.table({"x": values}))
    assert facts.zeros == (values == 0).mean()
    assert facts.tail_index == pytest.approx(_hill(values))
    assert facts.top_ten == pytest.approx(np.sort(values)[-10:].sum() / values.sum())


def _hill(values):
    top = np.sort(values)[-TOPS:]
    return 1 / np.log(top[1:] / top[0]).mean()


@pytest.mark.parametrize(("name", "heavy"), [("lognormal", True), ("normal", False), ("ages", False), ("few", False)])
def test_which_tails_are_heavy(name, heavy):
    rng = np.random.default_rng(2)
    values = {
        "lognormal": rng.lognormal(8, 1.2, 2_000),
        "normal": rng.normal(40, 10, 2_000),
        "ages": rng.integers(0, 95, 2_000),
        "few": rng.lognormal(8, 1.2, 100),
    }
    assert column(pd.DataFrame({"x": values[name]})).heavy == heavy


# -- order of rows


def test_sorted_columns_are_found_across_blocks():
    x = np.arange(N) // 7
    assert column(pa.table({"x": x})).sorting == "ascending"
    assert column(pa.table({"x": x[::-1].copy()})).sorting == "descending"
    x[N // 2] = 0
    assert column(pa.table({"x": x})).sorting is None


def test_dates_and_gaps_are_sorted_too():
    days = pd.Series(pd.date_range("2020-01-01", periods=500))
    days[17] = pd.NaT
    assert column(pd.DataFrame({"x": days})).sorting == "ascending"


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_neighbours_that_resemble_each_other_are_told_by_how_much(kind):
    """Of two states that stay with probability (1 + r)/2, neighbours correlate by r, and agree by r beyond chance."""
    rng, n, r = np.random.default_rng(5), 20_000, 0.6
    state = np.cumsum(rng.random(n) < (1 - r) / 2) % 2
    values = state.astype(float) if kind == "numbers" else np.where(state, "a", "b")
    told = column(pd.DataFrame({"x": values})).neighbours
    assert abs(told - r) < 4 * np.sqrt((1 - r**2) / n) + 0.01


def test_a_random_order_is_rarely_said_to_tell_something():
    said = [
        column(pd.DataFrame({"x": np.random.default_rng(seed).lognormal(0, 1.5, 300)})).neighbours for seed in range(60)
    ]
    assert sum(each is not None for each in said) == 0  # 4 standard errors: 1 in 500 of 60 such tables


# -- groups


def homes(n_homes, seed=0):
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(n_homes), rng.integers(1, 4, n_homes))
    frame = pd.DataFrame(
        {
            "number": home * 7 + 3,
            "rent": rng.integers(0, 5_000, n_homes)[home],
            "town": rng.choice(["a", "b", "c"], n_homes)[home],
            "pay": rng.lognormal(7, 1, len(home)),
            "rare": rng.random(len(home)) < 0.001,
        }
    )
    return frame.iloc[rng.permutation(len(frame))]


@pytest.mark.parametrize("n_homes", [200, 5 * KEPT])
def test_groups_are_found_in_any_order_of_rows(n_homes):
    inspection = veil.inspect(homes(n_homes))
    (first, *others) = [each for each in inspection.groups if each.groups]
    assert (first.column, first.constant) == ("number", ("rent", "town"))
    assert first.exact == (n_homes < KEPT)
    assert not others
    if first.exact:
        assert (first.n_values, first.mean_size) == (n_homes, pytest.approx(len(homes(n_homes)) / n_homes))
    else:  # the sample of 2,560 to 4,096 groups has a standard error of 1.2/√4096
        assert abs(first.n_values / n_homes - 1) < 4 * 1.2 / np.sqrt(KEPT)


def test_one_cell_that_differs_makes_a_column_one_of_records():
    frame = homes(200).sort_values("number").reset_index(drop=True)
    second = int(np.flatnonzero(frame["number"].duplicated())[0])
    frame.loc[second, "rent"] += 1
    (groups,) = veil.inspect(frame).groups
    assert groups.constant == ("town",)


def test_groups_are_found_behind_many_amounts():
    """Of columns whose first rows repeat nothing only some are looked at; one that is called like a group is."""
    rng = np.random.default_rng(0)
    n = 20_000
    frame = pd.DataFrame({f"amount{i}": rng.permutation(10**6)[:n] for i in range(20)})
    frame["hh_id"] = rng.permutation(np.repeat(np.arange(n // 2), 2))
    frame["rent"] = frame["hh_id"] * 7 % 1_000
    (groups,) = [each for each in veil.inspect(frame).groups if each.groups]
    assert (groups.column, groups.constant) == ("hh_id", ("rent",))


def test_what_chance_makes_constant_is_not_told():
    """Most records have a value of their own, and nearly all are equal in ``rare``: no evidence."""
    rng = np.random.default_rng(0)
    number = np.append(np.arange(990), np.arange(10))
    frame = pd.DataFrame({"number": number, "rare": rng.random(1_000) < 0.01, "x": rng.normal(size=1_000)})
    assert veil.inspect(frame).groups == ()


def test_a_column_that_tells_another_is_no_group():
    level = np.random.default_rng(0).integers(0, 4, 500)
    frame = pd.DataFrame(
        {"level": np.array(["a", "b", "c", "d"])[level], "years": level * 3 + 8, "x": np.arange(500.0)}
    )
    groups = {each.column: each for each in veil.inspect(frame).groups}
    assert groups["level"].constant == ("years",)
    assert not groups["level"].groups


# -- sums


def test_totals_are_found_among_terms_and_totals_of_totals():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.lognormal(3, 1, 400).round(2) for name in "abcd"})
    frame["ab"] = frame["a"] + frame["b"]
    frame["all"] = frame["ab"] + frame["c"]
    assert veil.inspect(frame).sums == {"ab": ("a", "b"), "all": ("a", "b", "c")}
    frame.loc[3, "ab"] += 1
    assert "ab" not in veil.inspect(frame).sums


def test_no_sum_is_seen_where_a_constant_is_added():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    assert veil.inspect(frame.assign(c=frame["a"] + frame["b"] + 5)).sums == {}


# -- what is printed


def printed(frame, **options):
    file = io.StringIO()
    print_inspection(veil.inspect(frame), "t.csv", Console(file=file, width=100), **options)
    return file.getvalue()


def test_what_must_be_decided_comes_first_and_theory_when_asked_for():
    frame = homes(200).assign(note="x")
    short, long = printed(frame), printed(frame, risk=True)
    assert short.index("Roles that veil init proposes") < short.index("kind")
    assert "Bayes estimate" not in short
    assert "--risk" in short
    assert "Bayes estimate" in long
    assert "security range" in long


def test_facts_are_typed_and_hold_no_cell():
    frame = homes(200).assign(pay=lambda t: t["pay"].round(2) + 31415926.53)
    told = veil.inspect(frame)
    said = told.to_dict()
    assert isinstance(said["columns"][0]["zeros"], float)
    assert said["groups"][0]["constant"] == ("rent", "town")
    assert {each["column"] for each in said["proposals"]} >= {"number", "town"}
    assert "31415926" not in told.to_json() + told.describe(risk=True)


@pytest.mark.parametrize(
    ("rule", "yes", "no"),
    [
        (names_a_key, ["Age", "birth_year", "NativeCountry", "hh_size", "ZIP"], ["wage", "stage", "income", "hh_id"]),
        (names_a_group, ["hh_id", "HouseholdID", "firm", "patient_no"], ["hh_income", "hh_size", "name", "grid"]),
        (names_a_weight, ["wgt", "final_weight", "AFNLWGT"], ["weight", "bodyweight", "birth_weight"]),
    ],
)
def test_names_are_read_as_words(rule, yes, no):
    assert [name for name in [*yes, *no] if rule(name)] == yes


def test_an_empty_table_and_one_row_have_nothing_to_tell():
    assert veil.inspect(pd.DataFrame({"x": np.zeros(0)})).proposals == ()
    one = veil.inspect(pd.DataFrame({"x": [1.0], "hh_id": [1]}))
    assert (one.groups, one.ordered, one.sums) == ((), (), {})


def test_a_term_that_is_constant_where_all_columns_are_there_is_found():
    """Nobody at work has benefits, and only who is at work commutes: in complete records two terms make the total."""
    rng = np.random.default_rng(2)
    at_work = rng.random(600) < 0.5
    frame = pd.DataFrame({"wage": np.where(at_work, rng.integers(1, 900, 600), 0), "rent": rng.integers(0, 90, 600)})
    frame["benefits"] = np.where(at_work, 0, rng.integers(0, 500, 600))
    frame["commute"] = np.where(at_work, rng.integers(1, 99, 600), np.nan)
    frame["income"] = frame["wage"] + frame["rent"] + frame["benefits"]
    assert veil.inspect(frame).sums == {"income": ("wage", "rent", "benefits")}
    frame["income"] += np.where(at_work, 0, 5)
    assert veil.inspect(frame).sums == {}
