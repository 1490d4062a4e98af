"""Audits, advice, plans and red teams given bad tables, options, files and interrupts.

The rule: one line that names the parameter or column and never a private value, exit code 2 or a ``VeilError``, nothing
written; no traceback, hang, warning of numpy, or verdict on something that was not asked.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import veil
from veil.errors import VeilError

NOISE = veil.AdditiveNoise(scale=1.0)
TURN = veil.OrthogonalTransform()
FEW = veil.Grants.only(pairs=1)
ONE = ["univariate-bayes"]
QUICK = ("--no-cache", "--workers", 1, "--repetitions", 1, "--seed", 0)
LITTLE = ("--pairs", 1, "--sample", "", "--attributes", "", "--no-ranges", "--no-matrix")
HUGE = 10**400


def audit(table, method=NOISE, **options):
    """A small audit in this process."""
    return veil.audit(table, method, **{"seed": 0, "repetitions": 1, "workers": 1, **options})


def advise(table, candidates=("additive-noise",), **options):
    """Small advice in this process."""
    lenient = {"goals": veil.Goals(max_advantage=0.9), "grants": FEW}
    return veil.advise(table, candidates, **{"seed": 0, "workers": 1, **lenient, **options})


@pytest.fixture
def table(numbers):
    return numbers.iloc[:40]


@pytest.fixture
def file(command, table):
    path = command.folder / "table.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def plan(command):
    def write(text):
        path = command.folder / "plan.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def refuses(says):
    """The library refuses with one line, without a warning."""

    def check(call, *words):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            with pytest.raises(VeilError) as refusal:
                call()
        says(str(refusal.value), words)
        assert not _numeric(heard)

    return check


@pytest.fixture
def quiet():
    """The library answers, without a warning of numpy."""

    def check(call):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            found = call()
        assert not _numeric(heard)
        return found

    return check


def _numeric(heard):
    return [f"{w.message} ({w.filename}:{w.lineno})" for w in heard if issubclass(w.category, RuntimeWarning)]


# -- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [4, 6, 10])
@pytest.mark.parametrize("method", [NOISE, TURN], ids=["noise", "turn"])
def test_tables_of_few_rows_are_audited_or_refused(rows, method, table, quiet):
    found = quiet(lambda: audit(table.iloc[:rows], method, roles={"n": "sensitive"}))
    assert not found.passed  # so few records show nothing


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_too_few_rows(rows, table, refuses):
    refuses(lambda: audit(table.iloc[:rows], roles={"n": "sensitive"}), f"{rows} rows", "at least 4")
    refuses(lambda: audit(table, None, release=table.iloc[:rows]), "release", f"{rows} rows")


def test_missing_values(table, quiet, refuses):
    holes = table.assign(a=table["a"].where(table["n"] > 15))
    quiet(lambda: audit(holes))
    refuses(lambda: audit(holes, TURN), "'a'", str(holes["a"].isna().sum()))
    refuses(lambda: audit(table.assign(a=np.nan)), "'a'", "missing")


@pytest.mark.parametrize("size", [1e308, 1e300, 1e-300, 5e-324])
def test_numbers_beyond_float64(size, table, refuses):
    for method in (NOISE, TURN):
        refuses(lambda m=method: audit(table[["a", "b"]] / 100 * size, m), "column", "40")


def test_infinite_constant_and_far_values(table, refuses):
    refuses(lambda: audit(table.assign(a=table["a"].where(table.index != 3, np.inf))), "'a'", "1 infinite")
    refuses(lambda: audit(table.assign(a=31415926.0)), "'a'", "all 40 values are equal")
    refuses(lambda: audit(table.assign(a=table["a"] + 1e15)), "'a'")


@pytest.mark.parametrize("role", ["sensitive", "quasi"])
@pytest.mark.parametrize("kind", ["text", "category", "boolean", "time of day", "list"])
def test_columns_that_noise_cannot_change(kind, role, table, refuses):
    refuses(lambda: audit(_with(table, kind), roles={"t": role}), "'t'")


@pytest.mark.parametrize("role", ["public", "identifier", "drop"])
@pytest.mark.parametrize("kind", ["text", "category", "boolean", "time"])
def test_columns_that_are_left_alone(kind, role, table, quiet):
    quiet(lambda: audit(_with(table, kind), roles={"t": role}, attacks=ONE, grants=FEW))


def _with(table, kind):
    values = {
        "text": ["SECRETCELL", "y"],
        "category": pd.Categorical(["SECRETCELL", "y"] * 20),
        "boolean": [True, False],
        "time": [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")],
        "time of day": [dt.time(1), dt.time(2)],
        "list": [[31415926], [2]],
    }[kind]
    return table.assign(t=list(values) * 20 if len(values) == 2 else values)


@pytest.mark.parametrize("content", [b"", b"a,b\n", b"a,a\n1,2\n3,4\n", b"\xff\xfe\x00\x01", b"a,b\n1,2\n31415926\n"])
def test_broken_tables(content, command, file):
    bad = command.folder / "bad.csv"
    bad.write_bytes(content)
    command.refuses("audit", bad, "--method", "additive-noise", *QUICK)
    command.refuses("audit", file, "--release", bad, *QUICK)
    command.refuses("advise", bad, "--method", "additive-noise")


def test_odd_headers(command, table):
    odd = command.folder / "odd.csv"
    table.rename(columns={"a": "名前 é", "b": "x\ty", "n": "q\"'\\\n"}).to_csv(odd, index=False)
    command.succeeds("init", odd, "-o", command.folder / "plan.toml")
    assert command.run("audit", odd, "--plan", command.folder / "plan.toml", *QUICK, *LITTLE).exit_code == 3


def test_headers_beyond_the_basic_plane(command, table):
    odd = command.folder / "odd.csv"
    table.assign(**{"tag\U000e0041": ["x", "y"] * 20}).to_csv(odd, index=False)
    command.succeeds("init", odd, "-o", command.folder / "plan.toml")
    assert command.run("audit", odd, "--plan", command.folder / "plan.toml", *QUICK, *LITTLE).exit_code == 3


def test_a_newline_in_the_name_of_a_table(command, table):
    odd = command.folder / "a\nb = 1.csv"
    table.to_csv(odd, index=False)
    command.succeeds("init", odd, "-o", command.folder / "plan.toml")
    assert command.run("audit", odd, "--plan", command.folder / "plan.toml", *QUICK, *LITTLE).exit_code == 3


@pytest.mark.parametrize("shape", ["constant column", "more columns than rows"])
def test_no_warnings_where_a_guess_leaves_a_column_out(shape, table, quiet):
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(10, 25)), columns=[f"c{i}" for i in range(25)])
    quiet(lambda: audit(table.assign(a=5.0) if shape == "constant column" else wide, TURN, attacks=["ica"], grants=FEW))


def test_no_warnings_on_a_constant_table(table, quiet):
    quiet(lambda: audit(table * 0.0 + 3.0, TURN))


def test_no_warnings_on_large_numbers(table, quiet):
    quiet(lambda: audit(table[["a", "b"]] * 1e148))


# -- parameters of audit and advise ---------------------------------------------------------------

NONSENSE = {
    "roles": [{"a": 5}, {"zz": "drop"}, {5: "drop"}],
    "target": ["zz", "a", 5, ["a"]],
    "n_clusters": [0, 2.5],
    "budget": [0, -1, float("nan"), float("inf"), "x", "1d", "", "1m1", [], True, b"2m"],
    "goals": [5, 0.05],
    "grants": [{}, 5],
}
OF_AUDITS = {
    "goals": [{}],
    "repetitions": [0, True, "3", 1.5],
    "seed": [-1, 1.5, "a"],
    "workers": [0, -2, "2", 1.0],
    "cache": [5, b"x", "/dev/null"],
    "attacks": [[], None, 5, "nope", ["univariate-bayes", 5]],
    "previous": [None, 5, [5], "nope"],
    "release": [5, [], "nope.csv"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for given in (NONSENSE, OF_AUDITS) for n, vs in given.items() for v in vs], ids=repr
)
def test_bad_parameters_of_an_audit(name, value, table, refuses):
    refuses(lambda: audit(table, **{"attacks": ONE, "grants": FEW, name: value}))


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in NONSENSE.items() for v in vs], ids=repr)
def test_bad_parameters_of_advice(name, value, table, refuses):
    refuses(lambda: advise(table, **{name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_advantage", (-0.1, 1.1, float("nan"), "x", None, True)),
        ("tolerance", (0, -1, 10, float("inf"), "x", None)),
        ("min_utility", (5, {"zz": 0.5}, {"means": 2}, {"means": float("nan")}, None)),
        ("against", (5, [5], {}, ["pairs", None])),
    ],
)
def test_bad_goals(name, value, refuses):
    for bad in value:
        refuses(lambda b=bad: veil.Goals(**{name: b}), f"goals: {name}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pairs", (0, -1, 1.5, "x", ["d", "e"], None, True, [[1]], float("inf"))),
        ("sample", (0, 1, -1, "x", None, float("nan"))),
        ("records", (0, "d")),
        ("attributes", (0, "d", 1.5)),
        ("ranges", (1, "yes")),
        ("sample_from", ("x", None)),
    ],
)
def test_bad_grants(name, value, refuses):
    for bad in value:
        refuses(lambda b=bad: veil.Grants(**{name: b}), f"grants: {name}")


def test_grants_beyond_the_table(table, refuses):
    refuses(lambda: audit(table, grants=veil.Grants(pairs=500)), "500", "40", "pairs")
    refuses(lambda: audit(table, grants=veil.Grants(attributes=3)), "attributes")


@pytest.mark.parametrize("level", ["pirs", "", "matrix"])
def test_goals_against_levels_that_are_not_granted(level, table, refuses):
    refuses(lambda: audit(table, grants=FEW, goals=veil.Goals(against=level)), "against", repr(level))


def test_goals_against_nothing_at_all_do_not_pass_everything(table, refuses):
    refuses(lambda: audit(table, TURN, grants=FEW, goals=veil.Goals(against=[])), "against")


def test_advice_against_levels_that_are_not_granted(table, refuses):
    refuses(lambda: advise(table, [NOISE], goals=veil.Goals(against="pirs")), "against", "'pirs'")


@pytest.mark.parametrize(
    ("name", "value"), [("seed", -1), ("seed", "a"), ("seed", 1.5), ("workers", 0), ("workers", "x"), ("workers", 2.5)]
)
def test_seed_and_workers_of_advice(name, value, table, refuses, monkeypatch):
    monkeypatch.setattr("veil.auditing.advice.search.Search.advice", lambda _: pytest.fail("the search began"))
    refuses(lambda: advise(table, **{name: value}), name)


@pytest.mark.parametrize("goals", [{}, 0])
def test_goals_of_advice_that_are_no_goals(goals, table, refuses, monkeypatch):
    monkeypatch.setattr("veil.auditing.advice.search.Search.advice", lambda _: pytest.fail("the search began"))
    refuses(lambda: advise(table, goals=goals), "goals")


@pytest.mark.parametrize("roles", [5, "a", ["a"]])
@pytest.mark.parametrize("call", [audit, advise])
def test_roles_that_are_no_mapping(call, roles, table, refuses):
    refuses(lambda: call(table, roles=roles), "roles")


@pytest.mark.parametrize(
    "call",
    [
        lambda: veil.Goals(max_advantage=HUGE),
        lambda: veil.Grants(pairs=HUGE),
        lambda: audit(np.zeros((9, 2)), budget=HUGE),
    ],
    ids=["goals", "grants", "budget"],
)
def test_whole_numbers_beyond_float64(call, refuses):
    refuses(call)


def test_candidates_that_are_no_list(table, refuses):
    refuses(lambda: advise(table, 5), "candidates")


@pytest.mark.parametrize("asked", [("--pairs", 500), ("--attributes", 9), ("--records", 500)])
def test_levels_asked_for_on_the_command_line_are_not_left_out(asked, command, file):
    command.refuses("audit", file, "--method", "additive-noise", *QUICK, *LITTLE, *asked, words=(asked[0][2:],))


# -- options of the command line ------------------------------------------------------------------

OPTIONS = {
    "--pairs": ["0", "-1", "x", "1.5", "inf"],
    "--sample": ["0", "1", "x", "nan", "inf"],
    "--max-advantage": ["-1", "2", "nan", "x"],
    "--tolerance": ["0", "99", "nan"],
    "--min-utility": ["x", "=1", "zz=1", "means=x", "means=2", "means=", "means=0.5,0.6"],
    "--target": ["zz", "a", ""],
    "--budget": ["x", "0", "-1", "1d", "", "nan", "1e3", "9" * 30],
    "--workers": ["0", "-1", "x"],
    "--seed": ["-1", "x"],
    "--role": ["a", "a=x", "zz=drop", "=drop", "a="],
    "--plan": ["nope", ".", ""],
    "--method": ["nope", "", ":", "additive-noise:scale", "additive-noise:scale=x", "additive-noise:scale=1e400"],
    "-o": ["report.txt", "report", ".html"],
}
OPTIONS_OF_AUDITS = {
    "--against": ["pirs", "", "pairs,sample"],
    "--attack": ["nope", "", "linkage"],
    "--repetitions": ["0", "x", "1.5"],
    "--previous": ["nope", ".", ""],
    "--release": ["nope", ""],
    "--set": ["scale", "scale=x", "zz=1"],
    "--sample-from": ["x"],
}


@pytest.mark.parametrize("option", [*OPTIONS, *OPTIONS_OF_AUDITS])
def test_bad_options_of_audit(option, command, file, monkeypatch):
    monkeypatch.chdir(command.folder)
    for value in {**OPTIONS, **OPTIONS_OF_AUDITS}[option]:
        command.refuses("audit", file, "--method", "additive-noise", *QUICK, *LITTLE, option, value)


@pytest.mark.parametrize("option", OPTIONS)
def test_bad_options_of_advise(option, command, file, monkeypatch):
    monkeypatch.chdir(command.folder)
    for value in OPTIONS[option]:
        command.refuses("advise", file, "--method", "additive-noise", *LITTLE, "--workers", 1, option, value)


def test_bad_options_of_init(command, file):
    taken = command.folder / "taken.toml"
    taken.write_text("precious")
    command.refuses("init", file, "-o", taken, words=("already exists",))
    command.refuses("init", file, "-o", command.folder / "no" / "plan.toml", words=("does not exist",))
    command.refuses("init", file, "--role", "zz=drop", "-o", command.folder / "plan.toml", words=("'zz'",))


@pytest.mark.parametrize("target", ["no/report.html", "folder.html"])
@pytest.mark.parametrize("verb", ["audit", "advise"])
def test_reports_that_cannot_be_written(verb, target, command, file):
    (command.folder / "folder.html").mkdir()
    extra = QUICK if verb == "audit" else ("--workers", 1, "--max-advantage", 0.9)
    options = ("--method", "additive-noise:scale=1", *LITTLE, *extra, "-o", command.folder / target)
    command.refuses(verb, file, *options, words=(Path(target).name,))


def test_reports_that_cannot_be_written_are_refused_at_once(command, file, monkeypatch):
    monkeypatch.setattr("veil.auditing.trials.schedule.Schedule.candidates", lambda *_: pytest.fail("the audit began"))
    options = ("--method", "additive-noise", *LITTLE, *QUICK, "-o", command.folder / "no" / "report.html")
    command.refuses("audit", file, *options, words=("report.html",))


def test_match_without_a_release(command, file):
    command.refuses("audit", file, "--method", "additive-noise", *QUICK, *LITTLE, "--match", "zz", words=("match",))


# -- plan files -----------------------------------------------------------------------------------

PART = '[[part]]\nmethod = "additive-noise"\n'
PLANS = [
    "part = 5",
    '[part]\nmethod = "additive-noise"',
    "[[part]]",
    "[[part]]\nmethod = 5",
    '[[part]]\nmethod = "nope"',
    *(PART + line for line in ("scal = 1", 'scale = "x"', "scale = -1", "scale = nan", "scale = [1, 2]", "scale = {}")),
    *(PART + line for line in ("scale = 2020-01-01", "random_state = 1", "columns = 5", "columns = []")),
    *(PART + line for line in ('columns = ["zz"]', 'columns = ["a", "a"]', "columns = [[1]]", 'relative = "no"')),
    '[[part]]\nmethod = "linear-transform"\nmatrix = [[31415926]]',
    PART + PART,
    *(PART + "[roles]\n" + line for line in ("a = 5", 'a = "x"', 'zz = "drop"', 'a.b = "drop"', "a = true")),
    *(PART + "[goals]\n" + line for line in ('max_advantage = "x"', "max_advantage = nan", "tolerance = true")),
    *(PART + "[goals]\n" + line for line in ("min_utility = 5", "min_utility = {zz = 1}", "against = 5", "zz = 1")),
    *(PART + "[goals]\n" + line for line in ('against = "pirs"', "max_advantage = [0.1]", "against = [[1]]")),
    *(PART + "[grants]\n" + line for line in ('pairs = "x"', "pairs = true", "pairs = [[1]]", "pairs = 0", "zz = 1")),
    *(PART + "[grants]\n" + line for line in ('sample = "x"', "sample = 2", 'ranges = "yes"', "sample_from = 5")),
    *(PART + line for line in ("[[grants]]", "[[goals]]", "[[roles]]")),
    "roles = 5\n" + PART,
    "zz = 1",
    "[part",
    "",
    "[goals]\nmax_advantage = 0.1",
]


def test_plans_of_nonsense(command, file, plan):
    for text in PLANS:
        command.refuses("audit", file, "--plan", plan(text), *QUICK)


def test_a_plan_without_a_part_is_named(command, file, plan):
    command.refuses("audit", file, "--plan", plan(""), *QUICK, words=("plan.toml", "[[part]]"))


def test_a_plan_against_nothing_at_all(command, file, plan):
    command.refuses("audit", file, "--plan", plan(PART + "[goals]\nagainst = []"), *QUICK, *LITTLE, words=("against",))


# -- releases made elsewhere ------------------------------------------------------------------------


@pytest.fixture
def people(table):
    return table.assign(id=np.arange(40) + 500)


@pytest.fixture
def foreign(people):
    noise = np.random.default_rng(3).normal(size=(40, 3)) * 5
    return people.assign(**dict(zip("abn", (people[["a", "b", "n"]].to_numpy() + noise).T, strict=True)))


def elsewhere(people, release, **options):
    """An audit of a release made elsewhere, matched by its identifiers."""
    return audit(people, None, release=release, **{"match": "id", **options})


def test_keys_that_do_not_match(people, foreign, refuses):
    twice = pd.concat([foreign, foreign])
    gaps = foreign.assign(id=foreign["id"].where(foreign.index > 3).astype("Int64"))
    refuses(lambda: elsewhere(people, twice), "'id'", "release", "40 repeated")
    refuses(lambda: elsewhere(people, gaps), "'id'", "4 missing")
    refuses(lambda: elsewhere(people.assign(id=1), foreign), "'id'", "table", "39 repeated")
    refuses(lambda: elsewhere(people, foreign.assign(id=foreign["id"] + 1000)), "'id'")
    refuses(lambda: elsewhere(people, foreign.drop(columns="id")), "'id'", "release")
    refuses(lambda: elsewhere(people.drop(columns="id"), foreign), "'id'", "table")
    refuses(lambda: elsewhere(people, foreign, match=5), "match")
    refuses(lambda: elsewhere(people, foreign.iloc[:30], match="order", roles={"id": "drop"}), "order", "40", "30")


def test_keys_of_other_types_that_say_the_same(people, foreign, quiet):
    rates = {
        float(quiet(lambda t=kind: elsewhere(people, foreign.assign(id=foreign["id"].astype(t)))).worst.value.rate)
        for kind in (int, float, str)
    }
    assert len(rates) == 1


def test_missing_keys_are_not_repeated_keys(people, foreign, refuses):
    gaps = foreign.assign(id=foreign["id"].where(foreign.index > 3).astype("Int64"))
    refuses(lambda: elsewhere(people, gaps), "0 repeated", "4 missing")


@pytest.mark.parametrize("kind", ["category", "list", "binary", "null"])
def test_keys_of_odd_types(kind, people, foreign):
    keys = {
        "category": lambda: pd.Categorical([f"k{i}" for i in range(40)]),
        "list": lambda: [[i] for i in range(40)],
        "binary": lambda: [b"\xff%d" % i for i in range(40)],
        "null": lambda: [None] * 40,
    }[kind]

    def call():
        return elsewhere(people.assign(id=keys()), foreign.assign(id=keys()))

    if kind == "category":
        assert call().candidates[0].rows
        return
    with pytest.raises(VeilError, match="'id'"):
        call()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda r: r.assign(a=r["a"].where(r.index % 3 > 0)),
        lambda r: r.rename(columns={"a": "p", "b": "名前", "n": "r"}),
        lambda r: r.drop(columns="a"),
        lambda r: r.assign(extra=1.0, more=r["a"] * 2),
        lambda r: r.assign(a=r["a"] > 100),
        lambda r: r.assign(a="SECRETCELL"),
        lambda r: r.assign(a=1.0, b=1.0, n=1.0),
        lambda r: r.iloc[:30],
    ],
    ids=["gaps", "names", "fewer", "more", "boolean", "text", "constant", "part"],
)
def test_releases_of_another_shape_are_audited(spoil, people, foreign, quiet):
    for match in ("id", None):
        quiet(lambda m=match: elsewhere(people, spoil(foreign), match=m, roles={"id": "drop"}))


def test_releases_without_a_number(people, foreign, refuses):
    texts = foreign.assign(a="SECRETCELL", b="x", n="y")
    refuses(lambda: elsewhere(people, texts), "release", "numeric")


def test_descriptions_that_do_not_fit(people, foreign, refuses):
    def described(method, release):
        return lambda: audit(people, method, release=release, match="id")

    refuses(described(NOISE, foreign.drop(columns="a")), "release", "3 columns", "2 numeric")
    refuses(described(veil.RandomProjection(), foreign), "release", "3 numeric")
    refuses(described([NOISE, TURN], foreign), "2 descriptions")
    refuses(described(veil.MarketBasket(), foreign), "'a' (40)")


@pytest.mark.parametrize("kind", ["text", "time"])
def test_described_releases_of_other_types(kind, people, foreign, refuses):
    values = ["SECRETCELL"] * 40 if kind == "text" else pd.Timestamp("2020-01-01")
    refuses(lambda: audit(people, NOISE, release=foreign.assign(a=values), match="id"), "'a'")


@pytest.mark.parametrize("values", [["x", "w"], ["x", None], [1, 2]], ids=["other", "missing", "numbers"])
def test_described_responses_of_other_categories(values, refuses):
    private = pd.DataFrame({"t": ["x", "y"] * 20})
    release = pd.DataFrame({"t": values * 20})
    method = veil.RandomizedResponse(epsilon=1.0)
    refuses(lambda: audit(private, method, release=release, roles={"t": "sensitive"}), "'t'")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_releases_with_a_column_of_no_numbers_name_it(value, people, foreign, refuses):
    refuses(lambda: elsewhere(people, foreign.assign(a=value)), "release", "'a'", "40")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_private_columns_of_no_numbers_name_it(value, table, refuses):
    own, _ = veil.publish(table, NOISE)
    refuses(lambda: audit(table.assign(a=value), None, release=own), "'a'")


@pytest.mark.parametrize("size", [1e300, 1e-310])
def test_releases_of_numbers_beyond_float64(size, people, foreign, quiet):
    def call():
        with contextlib.suppress(VeilError):
            elsewhere(people, foreign.assign(a=foreign["a"] * size), match="order", roles={"id": "drop"})

    quiet(call)


@pytest.mark.parametrize("described", [True, False], ids=["described", "of ours"])
def test_unmatched_releases_with_other_numbers_of_rows(described, table, quiet):
    own, _ = veil.publish(table, NOISE)
    if described:
        quiet(lambda: audit(table, NOISE, release=table.iloc[:30], match=None))
    else:
        quiet(lambda: audit(table.iloc[:30], None, release=own, match=None))


@pytest.mark.parametrize("scale", [1.0, 100.0], ids=["order supported", "order in doubt"])
def test_a_release_of_ours_matched_by_its_public_column(scale, people, quiet):
    own, _ = veil.publish(people, veil.AdditiveNoise(scale), roles={"id": "public"})
    quiet(lambda: audit(people, None, release=own, match="id"))


def test_a_table_of_texts_does_not_pass_a_release_of_numbers(table):
    numbers = table[["a", "b"]]
    own, _ = veil.publish(numbers, veil.AdditiveNoise(scale=0.01))
    try:
        found = audit(numbers.astype(str), None, release=own, goals=veil.Goals(max_advantage=0.5))
    except VeilError:
        return
    assert not found.passed


def test_a_description_that_contradicts_a_release_of_ours(table, refuses):
    own, _ = veil.publish(table, NOISE)
    refuses(lambda: audit(table, TURN, release=own), "perturbations")


def test_roles_beside_a_release_of_ours(table, refuses):
    own, _ = veil.publish(table, NOISE)
    refuses(lambda: audit(table, None, release=own, roles={"zz": "drop"}), "'zz'")


def test_releases_of_ours_about_another_table(table, refuses):
    own, _ = veil.publish(table, NOISE)
    shuffled, _ = veil.publish(table, NOISE, shuffle=True)
    refuses(lambda: audit(table.rename(columns={"a": "q"}), None, release=own), "'a'")
    refuses(lambda: audit(table.iloc[:30], None, release=own), "30", "40")
    refuses(lambda: audit(table, None, release=shuffled), "shuffled")


# -- earlier releases and external tables ------------------------------------------------------------


def test_earlier_releases_that_do_not_match(table, refuses):
    earlier, _ = veil.publish(table, NOISE)
    half, _ = veil.publish(table.iloc[:20], NOISE, roles={"n": "sensitive"})
    short = veil.PreviousReleases(earlier, rows=np.arange(20))
    refuses(lambda: audit(table, previous=half), "previous", "20 rows", "40")
    refuses(lambda: audit(table, previous=short), "previous", "40")
    refuses(lambda: audit(table, None, release=table, match=None, previous=earlier), "previous")
    refuses(lambda: audit(table, previous=[table]), "previous", "entry 0")


def test_shuffled_earlier_releases(table, refuses):
    earlier, _ = veil.publish(table, NOISE, shuffle=True)
    refuses(lambda: audit(table, previous=earlier), "previous", "shuffled")


def test_earlier_releases_about_nobody_of_the_table(people, refuses):
    roles = {"id": "public"}
    earlier, _ = veil.publish(people.assign(id=people["id"] + 1000), NOISE, roles=roles)
    refuses(lambda: audit(people, previous=earlier, roles=roles), "previous")


def test_rows_beyond_an_earlier_release(table, refuses):
    earlier, _ = veil.publish(table, NOISE)
    refuses(lambda: audit(table, previous=veil.PreviousReleases(earlier, rows=np.arange(40) + 20)), "beyond", "20")


@pytest.fixture
def releases(command, people):
    """Folders of releases: with identifiers, of other people, without identifiers, shuffled, of half the table."""
    tables = {"named": people, "others": people.assign(id=people["id"] + 1000), "plain": people, "mixed": people}
    roles = {"named": "public", "others": "public"}
    for name, table in {**tables, "half": people.iloc[:20]}.items():
        made, _ = veil.publish(
            table, NOISE, roles={"id": roles.get(name, "drop"), "n": "sensitive"}, shuffle=name == "mixed"
        )
        made.save(command.folder / name)
    return command.folder


def test_earlier_releases_of_a_red_team(command, releases):
    def against(current, earlier, *words):
        options = ("--attack", "repeated-release", "--previous-release", releases / earlier)
        command.refuses("attack", releases / current, *options, "-o", releases / "guess.csv", words=words)

    for current, earlier in (("named", "mixed"), ("mixed", "plain"), ("plain", "half"), ("half", "plain")):
        against(current, earlier, earlier, "cannot be matched")
    against("named", "nope", "nope")
    against("named", ".", "not a release folder")


def test_earlier_releases_of_other_people(command, releases):
    options = ("--attack", "repeated-release", "--previous-release", releases / "others")
    command.refuses("attack", releases / "named", *options, "-o", releases / "guess.csv", words=("others",))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda e: e.rename(columns={"a": "q", "b": "w"}), ("shares no column",)),
        (lambda e: e.assign(a="SECRETCELL"), ("'a'", "numbers")),
        (lambda e: e.iloc[:0], ("no rows",)),
    ],
    ids=["names", "text", "empty"],
)
def test_external_tables_that_do_not_fit(spoil, words, command, releases, people):
    path = releases / "external.csv"
    spoil(people[["a", "b"]]).to_csv(path, index=False)
    options = ("--attack", "linkage", "--external-table", path, "-o", releases / "guess.csv")
    command.refuses("attack", releases / "named", *options, words=words)


def test_external_tables_with_odd_numbers_are_linked_quietly(command, releases, people, quiet):
    path = releases / "external.csv"
    for i, value in enumerate((np.nan, 1.0, 1e308, 1e-310)):
        people[["a", "b"]].assign(a=value).to_csv(path, index=False)
        target = releases / f"guess{i}.csv"
        options = ("--attack", "linkage", "--external-table", path, "-o", target)
        quiet(lambda o=options: command.succeeds("attack", releases / "named", *o))


def test_external_tables_with_infinite_values(command, releases, people):
    path = releases / "external.csv"
    people[["a", "b"]].assign(a=np.inf).to_csv(path, index=False)
    options = ("--attack", "linkage", "--external-table", path, "-o", releases / "guess.csv")
    command.refuses("attack", releases / "named", *options, words=("'a'", "infinite"))


# -- advice ---------------------------------------------------------------------------------------


def test_tables_that_advice_refuses(table, refuses):
    refuses(lambda: advise(table.assign(a=1.0)), "'a'", "40")
    refuses(lambda: advise(table.iloc[:3].assign(n=[1, 1, 2])), "3 rows")
    refuses(lambda: advise(-table, ["log-normal-noise"]), "'a' (40)")
    refuses(lambda: advise(table.assign(t="SECRETCELL")), "'t'")
    refuses(lambda: advise(table.assign(t="SECRETCELL"), roles={"t": "sensitive"}), "'t'")
    assert advise(table, budget=0.001).state == "out of time"


@pytest.mark.parametrize("candidates", [[], "x", ["nope"], [None], [veil.AdditiveNoise]], ids=repr)
def test_bad_candidates(candidates, table, refuses):
    refuses(lambda: advise(table, candidates), "candidates")


@pytest.mark.parametrize(
    "spoil",
    [
        "no complete record",
        "constant",
        "huge",
        "tiny",
    ],
)
def test_tables_that_advice_refuses_in_other_words(spoil, table, refuses):
    odd = table.index % 2 > 0
    tables = {
        "no complete record": table.assign(a=table["a"].where(odd), b=table["b"].where(~odd)),
        "constant": table * 0.0 + 1.0,
        "huge": table * 1e300,
        "tiny": table * 1e-300,
    }
    refuses(lambda: advise(tables[spoil]), "'a'")


@pytest.mark.parametrize("spoil", ["missing values", "one column"])
def test_advice_on_all_methods_leaves_out_those_that_cannot_be_used(spoil, table, monkeypatch):
    holes = table.assign(a=table["a"].where(table["n"] > 15))
    looks = itertools.count()  # the time is over at the second look
    monkeypatch.setattr("veil.auditing.advice.time_left.TimeLeft.is_over", lambda _: next(looks) > 0)
    assert advise(holes if spoil == "missing values" else table[["a"]], None).points


def test_targets_with_few_records_per_class(table, quiet):
    classes = [f"SECRETCELL{i // 2}" for i in range(40)]
    quiet(lambda: audit(table.assign(g=classes), roles={"g": "public"}, target="g", attacks=ONE, grants=FEW))


# -- the cache ------------------------------------------------------------------------------------


@pytest.fixture
def memory(tmp_path, table):
    """The file of a cached audit, and a way to ask again."""
    folder = tmp_path / "cache"

    def ask():
        return audit(table, attacks=ONE, grants=FEW, cache=folder)

    ask()
    (path,) = folder.glob("*.json")
    return path, ask


@pytest.mark.parametrize("text", ["", "[]", "5", "{", '{"a": 1}', "\x00"])
def test_a_damaged_memory_is_asked_again(text, memory):
    path, ask = memory
    before = ask()
    assert before.context["remembered"]
    path.write_text(text)
    after = ask()
    assert after.context["remembered"] == 0
    assert float(after.worst.value.rate) == float(before.worst.value.rate)


@pytest.mark.parametrize("damage", ["null", "list", "short scores", "deep"])
def test_a_memory_with_other_contents_is_asked_again(damage, memory):
    path, ask = memory
    said = json.loads(path.read_text())
    for address in said:
        if damage == "short scores":
            said[address]["scores"] = dict(list((said[address].get("scores") or {}).items())[:6])
        else:
            said[address] = None if damage == "null" else [1, 2]
    path.write_text("[" * 100_000 if damage == "deep" else json.dumps(said))
    assert ask().candidates[0].rows


def test_places_that_cannot_hold_a_cache(command, file, tmp_path, refuses, table):
    inside = file / "cache"
    for place in (file, inside, Path("/dev/null"), Path("/proc/no")):
        refuses(lambda p=place: audit(table, attacks=ONE, grants=FEW, cache=p), str(place))
        options = ("--method", "additive-noise", *LITTLE, "--workers", 1)
        command.refuses("audit", file, *options, env={"VEIL_CACHE": str(place)}, words=(str(place),))
    spoiled = tmp_path / "spoiled"
    spoiled.mkdir()
    (spoiled / "cache.key").write_bytes(b"short")
    refuses(lambda: audit(table, attacks=ONE, grants=FEW, cache=spoiled), "cache.key")


@pytest.mark.parametrize("spoil", ["folder", "link"])
def test_a_key_of_the_cache_that_cannot_be_read(spoil, tmp_path, table, refuses):
    folder = tmp_path / "cache"
    folder.mkdir()
    key = folder / "cache.key"
    key.mkdir() if spoil == "folder" else key.symlink_to("/nowhere/key")
    refuses(lambda: audit(table, attacks=ONE, grants=FEW, cache=folder), "cache.key")


def test_a_folder_of_others_keeps_its_mode(tmp_path, table):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    shared.chmod(0o755)
    with contextlib.suppress(VeilError):
        audit(table, attacks=ONE, grants=FEW, cache=shared)
    assert shared.stat().st_mode & 0o777 == 0o755


@pytest.mark.slow
def test_two_audits_at_once_share_a_cache(command, file):
    tool = Path(sys.executable).with_name("veil")
    env = {**os.environ, "OMP_NUM_THREADS": "1", "VEIL_CACHE": str(command.folder / "cache")}
    options = ("--method", "additive-noise", *LITTLE, "--seed", 0, "--workers", 1, "--repetitions", 1)
    both = [
        subprocess.Popen(
            [
                tool,
                "audit",
                file,
                *map(str, options),
                "--attack",
                "univariate-bayes",
                "-o",
                command.folder / f"{i}.json",
            ],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    assert [p.communicate(timeout=300)[1] for p in both] == ["", ""]
    assert [p.returncode for p in both] == [3, 3]
    first, second = (_timeless(json.loads((command.folder / f"{i}.json").read_text())) for i in range(2))
    assert first == second
    left = sorted(p.name for p in (command.folder / "cache").iterdir())
    assert len(left) == 2
    assert "cache.key" in left


def _timeless(told):
    if isinstance(told, dict):
        return {k: _timeless(v) for k, v in told.items() if k not in ("seconds", "remembered")}
    return [_timeless(v) for v in told] if isinstance(told, list) else told


# -- processes ------------------------------------------------------------------------------------

PATIENCE = 180.0
# A test run in the background hands down that interrupts are ignored.
EAGER = """
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
import veil.auditing.processes as pool; pool.PATIENCE = 0.0
from veil.cli import main
main()
"""


@pytest.fixture
def parallel(command):
    """An audit in several processes, in a session of its own, with its processes under way."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 6)), columns=list("abcdef"))
    table.to_csv(command.folder / "table.csv", index=False)
    options = ("--method", "orthogonal-transform", "--workers", "2", "--repetitions", "80", "-o", "report.html")
    env = {**os.environ, "OMP_NUM_THREADS": "1", "VEIL_CACHE": str(command.folder / "cache")}
    process = subprocess.Popen(
        [sys.executable, "-c", EAGER, "audit", "table.csv", *options],
        cwd=command.folder,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=(command.folder / "errors").open("w"),
        start_new_session=True,
    )
    assert _wait(lambda: len(_session(process.pid)) >= 4)
    yield process
    for pid in _session(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()


def _session(leader):
    """The processes of a session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, session = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue
        if int(session) == leader and state != "Z":
            found.append(int(folder.name))
    return found


def _wait(until):
    """Whether something comes true at all."""
    end = time.monotonic() + PATIENCE
    while not until() and time.monotonic() < end:
        time.sleep(0.05)
    return until()


on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


@on_linux
def test_an_interrupted_audit_leaves_nothing_behind(parallel, command):
    parallel.send_signal(signal.SIGINT)
    assert parallel.wait(PATIENCE) == 1
    assert (command.folder / "errors").read_text() == "veil: interrupted\n"
    assert _wait(lambda: not _session(parallel.pid)), "processes stayed behind"
    names = {p.name for p in command.folder.rglob("*")}
    assert not [n for n in names if n == "report.html" or n.endswith(".draft")]


@on_linux
@pytest.mark.slow
def test_workers_end_with_an_audit_that_is_ended(parallel):
    parallel.send_signal(signal.SIGTERM)
    parallel.wait(PATIENCE)
    assert _wait(lambda: not _session(parallel.pid)), "processes stayed behind"


@pytest.mark.slow
def test_workers_leave_interrupts_to_their_parent():
    from veil.auditing.processes import _do, _processes

    executor = _processes(1)
    try:
        asked = executor.submit(_do, 0, pickle.dumps(signal.getsignal), signal.SIGINT, None, None)
        assert asked.result(PATIENCE) is signal.SIG_IGN
    finally:
        executor.shutdown(wait=False, kill_workers=True)


def test_an_interrupt_in_a_destructor_is_kept():
    code = (
        "import sys\nfrom veil.cli.group import _keep_interrupts\nsys.unraisablehook = _keep_interrupts\n"
        "class Thing:\n    def __del__(self):\n        raise KeyboardInterrupt\n"
        "try:\n    Thing()\n    sum(range(1000))\n    print('lost')\nexcept KeyboardInterrupt:\n    print('kept')\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (found.stdout, found.stderr) == ("kept\n", "")


def test_workers_are_bounded(table, monkeypatch):
    asked = []

    class EnoughError(Exception):
        pass

    def count(n):
        asked.append(n)
        raise EnoughError

    monkeypatch.setattr("veil.auditing.processes._processes", count)
    monkeypatch.setattr("veil.auditing.processes.PATIENCE", 0.0)
    with pytest.raises(EnoughError):
        audit(table, workers=5000)
    assert asked[0] <= 64
