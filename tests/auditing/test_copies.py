"""Copies of private records in a release, whatever the order of rows, against chance."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from scipy.stats import binom

import veil
from veil.auditing.elsewhere.columns import in_private_units, paired
from veil.auditing.elsewhere.copies import copies
from veil.cli import main
from veil.report.failures import CopiedRecords
from veil.report.values import CopyKind, State

NONE = veil.Grants.only()
NAMES = ["age", "weight", "height", "income", "visits"]


def numbers(rng, n=400):
    """Five columns with different laws; some of whole numbers with many ties."""
    base = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 5))
    base[:, 0] = np.clip(np.round(45 + 15 * base[:, 0] / base[:, 0].std()), 18, 90)
    base[:, 3] = np.exp(8 + base[:, 3] / base[:, 3].std())
    base[:, 4] = rng.poisson(2, n)
    return pd.DataFrame(base, columns=NAMES)


def categories(rng, n=400, d=8):
    return pd.DataFrame({f"q{j}": rng.choice(list("abcde")[: 2 + j % 4], n) for j in range(d)})


def noisy(frame, rng, scale=2.0):
    return frame + scale * rng.normal(size=frame.shape) * frame.std().to_numpy()


def counted(private, released, tolerance=0.1, **how):
    """Copies with the failure they make, if any."""
    tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in (private, released)]
    pairs = paired(*tables, list(private.columns), **how)
    found = copies(pairs, np.ones(len(pairs.names), dtype=bool), tolerance)
    return found, found.failures(0.05)


def swapped(frame, rng, n_cells):
    """A copy of which every record has some cells of other people."""
    values = frame.to_numpy(copy=True)
    for i in range(len(values)):
        for j in rng.permutation(values.shape[1])[:n_cells]:
            values[i, j] = frame.iat[rng.integers(len(values)), j]
    return pd.DataFrame(values, columns=frame.columns)


RELEASES = {
    "shuffled": lambda x, rng: x,
    "rounded": lambda x, rng: x.round(1),
    "cells changed": lambda x, rng: swapped(x, rng, 1),
    "renamed": lambda x, rng: x.set_axis(["u", "v", "w", "s", "t"], axis=1)[["t", "u", "s", "w", "v"]],
    "names permuted": lambda x, rng: x.set_axis(NAMES[2:] + NAMES[:2], axis=1),
}


@pytest.mark.parametrize("kind", RELEASES)
def test_the_private_table_in_another_order_is_a_copy_for_many_keys(kind):
    for seed in range(20 if kind == "shuffled" else 4):
        rng = np.random.default_rng(seed)
        private = numbers(rng)
        released = RELEASES[kind](private, rng).sample(frac=1, random_state=seed)
        _, failures = counted(private, released, by_values=kind == "names permuted")
        assert [f.n_copied for f in failures] == [pytest.approx(400, abs=40 if kind == "cells changed" else 8)], seed


@pytest.mark.parametrize("table", [numbers, categories])
def test_a_twentieth_of_copies_among_noise_is_a_break_for_many_keys(table):
    for seed in range(20 if table is numbers else 4):
        rng = np.random.default_rng(seed)
        private = table(rng) if table is numbers else table(rng, d=14)
        released = noisy(private, rng) if table is numbers else categories(rng, d=14)
        released.iloc[:20] = private.iloc[100:120]
        _, failures = counted(private, released.sample(frac=1, random_state=seed))
        assert [f.how for f in failures] == [CopyKind.WHOLE], seed
        assert failures[0].n_copied - failures[0].n_by_chance == pytest.approx(20, abs=4)


def test_fresh_draws_and_noise_are_no_copies_for_twenty_keys():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        private = numbers(rng)
        again = np.random.default_rng(1_000 + seed)
        few = categories(again, d=4)
        for own, released in (
            (private, noisy(private, again, 0.5)),
            (private, noisy(private, again, 1.0)),
            (few, categories(again, d=4)),
            (few, categories(again, n=150, d=4)),
            (few, categories(again, n=2_000, d=4)),
            (private.drop(columns="income"), numbers(rng, 1_600).drop(columns="income")),
        ):
            assert counted(own, released)[1] == (), seed


UNITS = {
    "minimum to maximum": lambda x: (x - x.min()) / (x.max() - x.min()),
    "z-scores": lambda x: (x - x.mean()) / x.std(),
    "logarithms": lambda x: np.log(x - x.min() + 1.0),
}


def in_units(private, released):
    tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in (private, released)]
    pairs = in_private_units(paired(*tables, list(private.columns)))
    return copies(pairs, np.ones(len(pairs.names), dtype=bool), 0.1).failures(0.05)


@pytest.mark.parametrize("units", UNITS)
def test_copies_in_other_units_are_copies_for_ten_keys(units):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        private = numbers(rng)
        assert in_units(private, UNITS[units](private).iloc[rng.permutation(len(private))]), seed
        half = UNITS[units](private).iloc[rng.permutation(len(private))[:200]]
        assert in_units(private, half), seed


@pytest.mark.parametrize("units", UNITS)
def test_fresh_draws_and_noise_in_other_units_are_no_copies_for_twenty_keys(units):
    for seed in range(20):
        rng, again = np.random.default_rng(seed), np.random.default_rng(1_000 + seed)
        draws = numbers(rng, 1_600)
        private, others = draws.iloc[:400], draws.iloc[400:].reset_index(drop=True)
        for released in (others, others.iloc[:400], noisy(private, again, 1.0)):
            assert in_units(private, UNITS[units](released)) == (), seed


@pytest.mark.parametrize("ties", [lambda rng, n: rng.poisson(2, n), lambda rng, n: rng.integers(0, 2, n)])
def test_draws_in_other_units_are_no_copies_where_one_column_alone_tells_people_apart(ties):
    """A map by ranks would give everybody's own income to somebody, half of whom have the same sex: 20 of 20 keys."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        private, others = (
            pd.DataFrame({"income": np.exp(rng.normal(size=400)), "ties": ties(rng, 400).astype(float)})
            for _ in range(2)
        )
        alarms += bool(in_units(private, 1_000 * others))
    assert alarms <= 1  # each of three tests has a level of at most .005


def test_an_audit_of_rescaled_records_in_another_order_breaks():
    private = numbers(np.random.default_rng(0))
    released = UNITS["minimum to maximum"](private).sample(frac=1, random_state=1)
    found = veil.audit(private, release=released, grants=NONE, seed=0)
    (copied,) = [failure for failure in found.candidates[0].failures if isinstance(failure, CopiedRecords)]
    assert (copied.how, copied.n_copied) == (CopyKind.OTHER_UNITS, 400)
    assert "400 of 400 private records are in the release in other units" in str(copied)


def test_chance_is_what_strangers_find():
    """A table of fair coins: by exchangeability the release finds as many as the others, and the sign test is exact."""
    p_values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        both = pd.DataFrame(rng.integers(0, 2, size=(201, 7)).astype(float), columns=list("abcdefg"))
        found, _ = counted(both.iloc[:101], both.iloc[101:])
        p_values.append(found.equal.p_value)
    # Conservative at every level, since the test is discrete and people who share a row count one by one.
    share = np.mean(np.array(p_values) <= 0.05)
    assert share <= binom.ppf(0.999, 60, 0.05) / 60
    assert np.mean(np.array(p_values) <= 0.5) > 0.1  # and not by never rejecting


def test_twins_do_not_hide_copies():
    """Few of three hundred have twins, because many have no income; a twentieth of copies still shows."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        income = np.where(rng.random(300) < 0.3, 0.0, rng.lognormal(10, 1, 300).round(2))
        ages, weights = rng.integers(18, 90, 300).astype(float), rng.normal(25, 4, 300).round(1)
        private = pd.DataFrame({"age": ages, "income": income, "weight": weights})
        released = noisy(private, rng, 3.0)
        released.iloc[:15] = private.iloc[100:115]
        assert [f.how for f in counted(private, released)[1]] == [CopyKind.WHOLE], seed


def test_zeros_that_stay_zeros_are_no_copies():
    rng = np.random.default_rng(0)
    private = pd.DataFrame(np.where(rng.random((500, 12)) < 0.7, 0.0, rng.lognormal(size=(500, 12))))
    private.columns = [f"c{j}" for j in range(12)]
    assert counted(private, private * rng.normal(1.0, 0.5, private.shape))[1] == ()


@pytest.mark.parametrize("match", ["order", None])
@pytest.mark.parametrize("table", [numbers, categories])
def test_an_audit_of_the_private_table_in_another_order_breaks(table, match):
    private = table(np.random.default_rng(1))
    shuffled = private.sample(frac=1, random_state=2).reset_index(drop=True)
    goals = veil.Goals(max_advantage=0.99, against="nothing")
    audit = veil.audit(private, release=shuffled, match=match, goals=goals, grants=NONE, seed=0)
    (copied,) = [f for f in audit.candidates[0].failures if isinstance(f, CopiedRecords)]
    assert (copied.how, copied.n_copied, copied.n_rows) == (CopyKind.WHOLE, 400, 400)
    assert not audit.passed
    view = audit.model().candidates[0]
    assert view.verdict.privacy == State.BREAKS
    assert view.verdict.least.kind == "nothing"
    assert "400 of 400 private records are in the release as they are" in " ".join(str(audit).split())


def test_copies_break_on_the_command_line(tmp_path):
    rng = np.random.default_rng(3)
    private = numbers(rng)
    released = noisy(private, rng, 5.0)
    released.iloc[:40] = private.iloc[200:240]
    for name, frame in (("private", private), ("released", released.sample(frac=1, random_state=0))):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    command = ["audit", str(tmp_path / "private.csv"), "--release", str(tmp_path / "released.csv"), "--no-cache"]
    command += ["--against", "nothing", "--json", "--seed", "1", "--role", "weight=sensitive"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 3, result.output
    (copied,) = [f for f in json.loads(result.stdout)["candidates"][0]["failures"] if f["kind"] == "copies"]
    assert (copied["how"], copied["n_copied"]) == ("whole", 40)


def test_texts_that_nobody_declared_do_not_make_a_copy_of_noise_and_prove_one():
    rng = np.random.default_rng(4)
    private = pd.DataFrame({"age": rng.integers(20, 60, 400)}).join(categories(rng, d=10))
    noised = private.assign(age=private["age"] + rng.normal(0, 30, 400))
    goals = veil.Goals(against="nothing")
    audits = [veil.audit(private, release=r, goals=goals, grants=NONE, seed=0) for r in (private.iloc[::-1], noised)]
    kinds = [[f.kind for f in audit.candidates[0].failures] for audit in audits]
    assert "copies" in kinds[0]
    assert "copies" not in kinds[1]
