"""Goals in words: each sentence means one goal, and goals say themselves again."""

import numpy as np
import pytest
from click.testing import CliRunner

import veil
from veil.auditing.plan_file import load_plan, write_plan
from veil.cli import main
from veil.errors import InputError
from veil.report.values import Scored

EVERYTHING = ("values", "records", "column", "links", "far-out values", "largest values")


@pytest.mark.parametrize(
    ("sentences", "goals"),
    [
        (["no breach"], veil.Goals()),
        (["no breach with more than 10 % advantage"], veil.Goals(max_advantage=0.1)),
        (["nobody's value within 0.2 standard units"], veil.Goals(tolerance=0.2, on="values")),
        (
            ["no record with more than 1% advantage over a constant guess."],
            veil.Goals(0.01, over="constant", on="records"),
        ),
        (["no column", "no link"], veil.Goals(on=["column", "links"])),
        (["no value, record or far-out value"], veil.Goals(on=["values", "records", "far-out values"])),
        (["no breach against nothing, pairs and 2 % sample"], veil.Goals(against=["nothing", "pairs", "2 % sample"])),
        (["no record with 5 known records"], veil.Goals(on="records", against="5 known records")),
        (
            ["means at least 90 %", "covariance at least 80 %"],
            veil.Goals(min_utility={"means": 0.9, "covariance": 0.8}),
        ),
        (["no membership"], veil.Goals(max_membership=0.05)),
        (["no record", "no membership with more than 20 % advantage"], veil.Goals(on="records", max_membership=0.2)),
        (
            ["no record with more than 1 % advantage", "no value with more than 10 % advantage"],
            veil.Goals(on={"records": 0.01, "values": 0.1}),
        ),
        (
            ["no largest value among the 20 largest within 15 % with more than 2 % advantage"],
            veil.Goals(0.02, on="largest values", n_largest=20, largest_share=0.15),
        ),
        (
            ["no breach", "nobody's value of 'net income, or so' or 'it''s' with more than 2 % advantage"],
            veil.Goals(columns={"net income, or so": {"column": 0.02}, "it's": {"column": 0.02}}),
        ),
        (["no breach of 'a' with more than 1 % advantage"], veil.Goals(on=(), columns={"a": 0.01})),
        (
            ["no record", "no largest value of 'a' or 'b'", "no value of 'a' with more than 1 % advantage"],
            veil.Goals(
                on="records", columns={"a": {"column": 0.01, "largest values": None}, "b": {"largest values": 0.05}}
            ),
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_sentences_mean_and_that_goals_say_them_again(sentences, goals):
    assert veil.Goals.from_words(*sentences) == goals
    assert veil.Goals.from_words(*goals.words()) == goals


def test_any_goals_can_be_said_in_words():
    rng = np.random.default_rng(0)
    for _ in range(200):
        risks = rng.choice(EVERYTHING, rng.integers(1, 7), replace=False)
        goals = veil.Goals(
            on={str(risk): round(float(rng.random()), int(rng.integers(1, 17))) for risk in risks},
            tolerance=float(rng.uniform(1e-9, 9.9)),
            over=str(rng.choice(["absent", "constant"])),
            min_utility={"means": float(rng.random())},
            against=None if rng.random() < 0.5 else ("nothing", "3 known records"),
            max_membership=None if rng.random() < 0.5 else float(rng.random()),
            columns={} if rng.random() < 0.5 else {"it's, or 'so'": float(rng.random()), "over there": 0.25},
            n_largest=int(rng.integers(5, 30)),
            largest_share=float(rng.random()),
        )
        assert veil.Goals.from_words(*goals.words()) == goals


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["no recrod"], "no subject of the goal 'no recrod' is called 'recrod'; did you mean 'record'"),
        (["no record over an absent persn"], "did you mean 'an absent person'"),
        (["mean at least 90 %"], "did you mean 'means'"),
        (["no record within 0.1"], "cannot read 'within 0.1'"),
        (["no record with more than much advantage"], "cannot read 'with more than much advantage'"),
        (["every record is safe"], "a sentence is for example 'no record within .* or 'means at least 90 %'"),
        (
            ["no record within 0.1 standard units", "no value within 0.2 standard units"],
            "the sentences differ in tolerance",
        ),
        (["no record", "no breach"], "sets a goal on records again"),
        (["no record over a constant guess over a constant guess"], "say it once"),
        (["no record with more than 101 % advantage"], "between 0 and 1"),
        (["means at least 1 %", "means at least 2 %"], "means again"),
        (["no membership", "nobody's membership"], "membership again"),
        (["no membership over an absent person"], "for example 'no membership with more than 5 % advantage'"),
        (["no record or membership"], "in a sentence of its own"),
        (["no membership with more than 101 % advantage"], "max_membership"),
        (["no value of income"], "columns are named in quotes, \"no largest value of 'income' or 'wealth'"),
        (["no record of 'income'"], "is called 'record'; there are 'breach', 'value', 'largest value'"),
        (["no value of 'a'", "no breach of 'a'"], "sets a goal on breach of 'a' again"),
        (["no largest value among the 3 largest"], "n_largest must be a whole number of at least 5"),
        ([5], "got a int"),
        ([], "there is no sentence"),
    ],
)
def test_what_no_sentence_says_is_refused_with_what_would(sentences, message):
    with pytest.raises(InputError, match=message):
        veil.Goals.from_words(*sentences)


def test_goals_on_what_counts_and_on_nothing_else():
    x = np.random.default_rng(0).normal(size=(400, 4))
    settings = {"grants": veil.Grants.only(), "attacks": ["noise-distribution"], "repetitions": 1, "seed": 0}
    every = veil.audit(x, veil.AdditiveNoise(0.2), **settings)
    assert {failure.scored for failure in every.rows[0].failures} >= {Scored.VALUES, Scored.RECORDS, Scored.COLUMN}
    (row,) = veil.audit(x, veil.AdditiveNoise(0.2), goals="no record with more than 1 % advantage", **settings).rows
    assert [(failure.scored, failure.most) for failure in row.failures] == [(Scored.RECORDS, 0.01)]
    with pytest.raises(InputError, match="on names links"):
        veil.audit(x, veil.AdditiveNoise(0.2), goals=["no link"], **settings)


def test_the_same_sentences_in_plans_and_on_the_command_line(tmp_path):
    plan, table = tmp_path / "plan.toml", tmp_path / "t.csv"
    plan.write_text(
        '[[part]]\nmethod = "additive-noise"\nscale = 0.1\n[goals]\n'
        'sentences = ["no record with more than 99 % advantage", "means at least 50 %"]\n'
    )
    assert load_plan(plan).goals == veil.Goals(max_advantage=0.99, on="records", min_utility={"means": 0.5})
    np.savetxt(table, np.random.default_rng(0).normal(size=(60, 2)), delimiter=",", header="a,b", comments="")
    call = ["audit", str(table), "--plan", str(plan), "--no-cache", "--attack", "noise-distribution", "--seed", "0"]
    alone = [option for kind in ("pairs", "sample", "attributes") for option in (f"--{kind}", "")]
    call += [*alone, "--no-ranges", "--no-matrix"]
    assert CliRunner().invoke(main, call).exit_code == 0
    assert CliRunner().invoke(main, [*call, "--goal", "no value"]).exit_code == 3
    both = CliRunner().invoke(main, [*call, "--goal", "no value", "--max-advantage", "0.5"])
    assert (both.exit_code, "and not both" in both.output) == (2, True)
    plan.write_text('[goals]\nsentences = ["no link"]\ntolerance = 0.1\n')
    with pytest.raises(InputError, match="has sentences and 'tolerance'"):
        load_plan(plan)


def test_goals_of_columns_in_plan_files(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("[goals]\nn_largest = 20\n[goals.columns]\nincome = 0.02\nwealth = { column = 0.1 }\n")
    goals = veil.Goals(columns={"income": 0.02, "wealth": {"column": 0.1}}, n_largest=20)
    assert load_plan(path).goals == goals
    written = tmp_path / "written.toml"
    write_plan(written, veil.Plan([(None, veil.AdditiveNoise())]), roles={}, goals=goals)
    assert load_plan(written).goals == goals
