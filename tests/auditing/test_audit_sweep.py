"""The sweep of an audit: levels, repetitions, budgets, processes, memory, and the least knowledge that breaks."""

import json
import os
import stat
import time

import numpy as np
import pandas as pd
import pytest

import veil
from veil.arguments import duration
from veil.attacks import every_attack
from veil.attacks.knowledge import KnownAttributes
from veil.auditing.memory import Cache
from veil.auditing.processes import Pool, kept_processes
from veil.auditing.scores import Contrast, pooled
from veil.auditing.truth import Truth
from veil.data.sources import as_table
from veil.errors import FileFormatError, InputError
from veil.measures import wilson


def correlated(n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d))


# -- levels ----------------------------------------------------------------------------------------------------------


def test_the_sweep_goes_from_nothing_to_the_leaked_matrix():
    labels = [level.label for level in veil.Grants().levels(2_000, 9)]
    assert labels == [
        "nothing",
        "1 known record",
        "2 known records",
        "5 known records",
        "9 known records",
        "0.5 % sample",
        "2 % sample",
        "10 % sample",
        "1 known column",
        "column ranges",
        "disclosed matrix",
    ]
    assert "external table" in [level.label for level in veil.Grants().levels(2_000, 9, quasi=True)]


def test_what_is_not_mentioned_is_swept_and_only_grants_nothing_else():
    kinds = dict.fromkeys(level.kind for level in veil.Grants(pairs=3, ranges=False).levels(2_000, 9))
    assert list(kinds) == ["nothing", "pairs", "sample", "attributes", "matrix"]
    assert [level.label for level in veil.Grants(pairs=3).levels(2_000, 9) if level.kind == "pairs"] == [
        "3 known records"
    ]
    assert veil.Grants(pairs="sweep") == veil.Grants() == veil.Grants.sweep()
    assert [level.label for level in veil.Grants.only(sample=0.1).levels(2_000, 9)] == ["nothing", "10 % sample"]
    assert [level.label for level in veil.Grants.only().levels(2_000, 9)] == ["nothing"]


def test_a_small_table_is_swept_as_far_as_it_goes_but_explicit_grants_must_fit():
    assert [level.label for level in veil.Grants().levels(6, 1)][1:3] == ["1 known record", "2 known records"]
    with pytest.raises(InputError, match="5 known records needs 5 records"):
        veil.Grants(pairs=5).levels(6, 1)
    with pytest.raises(InputError, match="3 known columns leave none of 3 columns"):
        veil.Grants(attributes=3).levels(100, 3)


def test_the_known_column_is_the_most_telling_one_and_is_not_scored():
    rng = np.random.default_rng(0)
    base = rng.normal(size=500)
    frame = pd.DataFrame({"lone": rng.normal(size=500), "base": base, "near": base + 0.5 * rng.normal(size=500)})
    private = Truth.of(as_table(frame).read(), list(frame.columns)).to_grant_from()
    assert KnownAttributes.known_columns(private, 1) in ((1,), (2,))
    found = veil.audit(frame, veil.AdditiveNoise(1.0), grants=veil.Grants.only(attributes=1), seed=0)
    (row,) = [r for r in found.rows if (r.attack, r.level.kind) == ("partial-disclosure-attack", "attributes")]
    known = frame.columns[KnownAttributes.known_columns(private, 1)[0]]
    assert row.attack == "partial-disclosure-attack"
    assert known not in row.column_gains
    assert set(row.column_gains) == set(frame.columns) - {known}


# -- the least knowledge that breaks ---------------------------------------------------------------------------------


def test_the_least_number_of_records_that_breaks_is_searched_between_the_levels():
    """Four known records determine a rotation of four independent columns, and three leave one direction open."""
    x = np.random.default_rng(0).normal(size=(500, 8))
    grants = veil.Grants.only(pairs=(1, 8))
    goals = veil.Goals(max_advantage=0.3)
    found = veil.audit(x, veil.OrthogonalTransform(), attacks=["known-pairs"], grants=grants, goals=goals, seed=0)
    (least,) = found.candidates[0].breaks
    assert least.level.kind == "pairs"
    # k of 8 directions known: the error left is sqrt(1 - k/8) units, so 7 leave 0.35 and even that is seldom near.
    assert least.level.amount in (7, 8)
    assert f"{int(least.level.amount)} known records" in str(found.candidates[0].failures[0]) or "known" in str(found)


def test_a_candidate_that_breaks_with_nothing_breaks_there_first():
    found = veil.audit(correlated(200, 3), veil.AdditiveNoise(0.01), seed=0)
    (least,) = found.candidates[0].breaks
    assert least.level.label == "nothing"


# -- repetitions -----------------------------------------------------------------------------------------------------


def test_keys_pool_to_the_records_of_all_and_not_below_their_own_spread():
    rates = [0.10, 0.11, 0.09, 0.10, 0.12, 0.08]
    score = pooled([Contrast(r, 0.05, 0.01, 1_000) for r in rates], 0.05, one_matrix=False, goal=0.05)
    low, high = wilson(sum(rates) * 1_000, 6_000)
    assert score.rate.low <= low
    assert score.rate.high >= high
    assert score.rate.high - score.rate.low < 0.04


def test_rows_that_settle_nothing_are_not_run_again():
    x = correlated(2_000)
    found = veil.audit(x, veil.AdditiveNoise(0.05), grants=veil.Grants.only(), seed=0)
    assert {row.repetitions for row in found.rows} == {1}  # broken at once: nothing to settle


# -- time, processes, memory -----------------------------------------------------------------------------------------


def test_a_budget_that_is_too_short_is_said_and_is_no_pass():
    found = veil.audit(correlated(2_000), veil.AdditiveNoise(5.0), budget=0.05, seed=0, workers=1)
    late = [s for s in found.candidates[0].skipped if s.late]
    assert late
    assert not found.passed
    (failure,) = [failure for failure in found.candidates[0].failures if failure.kind == "out of time"]
    assert failure.n_attacks == len(late)
    assert "more time" in str(failure)


@pytest.mark.parametrize(("text", "seconds"), [("20s", 20), ("2m", 120), ("1h30m", 5400), (7, 7), ("1.5", 1.5)])
def test_durations(text, seconds):
    assert duration(text, "budget") == seconds


@pytest.mark.parametrize("text", ["", "m", "2x", "-3", 0, None, True, "1e400s", "2m2"])
def test_durations_that_are_none(text):
    with pytest.raises(InputError, match="budget must be a time"):
        duration(text, "budget")


def double(task):
    return 2 * task


def test_a_pool_gives_every_answer_here_or_elsewhere(monkeypatch):
    monkeypatch.setattr("veil.auditing.processes.PATIENCE", 0.0)
    monkeypatch.setattr("veil.auditing.processes.STARTING", 0.0)
    for workers in (1, 2):
        with Pool(double, workers=workers) as pool:
            assert sorted(pool.map(range(7))) == [(i, 2 * i) for i in range(7)]


def triple(task):
    return 3 * task, os.getpid()


def test_pools_that_follow_each_other_share_their_processes(monkeypatch):
    monkeypatch.setattr("veil.auditing.processes.PATIENCE", 0.0)
    monkeypatch.setattr("veil.auditing.processes.STARTING", 0.0)
    processes = []
    with kept_processes():
        for worker, factor in ((double, 2), (triple, 3), (double, 2), (triple, 3)):
            with Pool(worker, workers=2) as pool:
                answers = sorted(pool.map(range(20)))
            if factor == 3:
                processes += [{process for _, (_, process) in answers}]
                answers = [(task, value) for task, (value, _) in answers]
            assert answers == [(i, factor * i) for i in range(20)]
    assert os.getpid() not in processes[0] | processes[1]
    assert len(processes[0] | processes[1]) <= 2


def test_a_pool_begins_nothing_after_its_deadline():
    with Pool(double, workers=1, deadline=time.monotonic() - 1) as pool:
        assert list(pool.map([1, 2])) == []


def test_processes_change_nothing(monkeypatch):
    x, settings = correlated(200, 3), {"grants": veil.Grants.only(pairs=2), "seed": 5, "repetitions": 3}
    here = veil.audit(x, veil.OrthogonalTransform(), workers=1, **settings)
    monkeypatch.setattr("veil.auditing.processes.PATIENCE", 0.0)
    monkeypatch.setattr("veil.auditing.processes.STARTING", 0.0)
    spread = veil.audit(x, veil.OrthogonalTransform(), workers=2, **settings)
    reports = [json.loads(audit.to_json()) for audit in (here, spread)]
    assert [report.pop("timing") is not None for report in reports] == [True, True]
    assert reports[0] == reports[1]


def test_rows_are_in_the_order_of_levels_and_of_the_catalogue():
    """Whatever the order in which attacks are named or registered."""
    x, settings = correlated(100, 3), {"grants": veil.Grants.only(pairs=2, sample=0.1), "seed": 1, "repetitions": 2}
    attacks = every_attack()
    one = veil.audit(x, veil.AdditiveNoise(0.5), attacks="all", workers=1, **settings)
    attempted = {row.attack for row in one.rows}
    turned = [attack for attack in reversed(attacks) if attack.label in attempted]
    other = veil.audit(x, veil.AdditiveNoise(0.5), attacks=turned, workers=1, **settings)
    labels = [level.label for level in one.candidates[0].levels]
    places = [(labels.index(row.knowledge), int(row.catalogue.removeprefix("A"))) for row in one.rows]
    assert places == sorted(places)
    assert len({catalogue for _, catalogue in places}) > 5
    assert [(row.knowledge, row.catalogue) for row in other.rows] == [
        (row.knowledge, row.catalogue) for row in one.rows
    ]
    assert one.worst.attack == other.worst.attack


def test_a_second_audit_remembers_the_first(tmp_path):
    x, settings = correlated(), {"grants": veil.Grants.only(pairs=2, sample=0.1), "seed": None, "repetitions": 2}
    settings["cache"] = tmp_path / "cache"
    first = veil.audit(x, veil.AdditiveNoise(1.0), **settings)
    second = veil.audit(x, veil.AdditiveNoise(1.0), **settings)
    assert first.context["remembered"] == 0
    assert second.context["remembered"] > 0
    assert [(r.attack, r.value, r.record, r.nrmse, r.picture) for r in first.rows] == [
        (r.attack, r.value, r.record, r.nrmse, r.picture) for r in second.rows
    ]
    assert first.candidates[0].utility == second.candidates[0].utility
    # Another goal asks nothing new of the attacks; another strength, tolerance or table does.
    assert veil.audit(x, veil.AdditiveNoise(1.0), goals=veil.Goals(0.5), **settings).context["remembered"] > 0
    for other in ({"perturbations": veil.AdditiveNoise(1.1)}, {"goals": veil.Goals(tolerance=0.2)}, {"table": x + 1}):
        given = {"table": x, "perturbations": veil.AdditiveNoise(1.0), **settings, **other}
        assert veil.audit(**given).context["remembered"] == 0


def test_a_release_with_its_manifest_is_another_question_than_its_data_alone(tmp_path):
    x, home = pd.DataFrame(correlated(100, 3), columns=list("abc")), tmp_path / "cache"
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0))
    settings = {"grants": veil.Grants.only(), "seed": 0, "cache": home}
    veil.audit(x, release=release.data, **settings)
    described = veil.audit(x, release=release, **settings)
    assert described.context["remembered"] == 0
    assert "bayes-estimate-attack" in {row.attack for row in described.rows}


def test_the_memory_is_private_and_says_nothing_by_its_names(tmp_path):
    x, home = correlated(), tmp_path / "cache"
    settings = {"grants": veil.Grants.only(), "seed": 0, "repetitions": 2}
    veil.audit(x, veil.AdditiveNoise(1.0), cache=home, **settings)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in home.iterdir()} == {0o600}
    elsewhere = tmp_path / "other"
    veil.audit(x, veil.AdditiveNoise(1.0), cache=elsewhere, **settings)
    names = [{f.name for f in folder.glob("*.json")} for folder in (home, elsewhere)]
    assert not names[0] & names[1]  # each cache has a key of its own


@pytest.mark.slow
def test_a_memory_that_is_damaged_is_no_answer(tmp_path):
    x, home = correlated(), tmp_path / "cache"
    settings = {"grants": veil.Grants.only(), "seed": 0, "cache": home}
    first = veil.audit(x, veil.AdditiveNoise(1.0), **settings)
    (memory,) = home.glob("*.json")
    said = json.loads(memory.read_text())
    memory.write_text(json.dumps({address: {"scores": "nonsense"} for address in said}))
    again = veil.audit(x, veil.AdditiveNoise(1.0), **settings)
    assert [float(r.value.rate) for r in again.rows] == [float(r.value.rate) for r in first.rows]
    (home / "cache.key").write_bytes(b"short")
    with pytest.raises(FileFormatError, match="not a key of this cache"):
        Cache(home)


# -- linkage ---------------------------------------------------------------------------------------------------------


def test_quasi_columns_are_linked_to_the_people_they_belong_to():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(size=400), "height": rng.normal(size=400), "income": rng.normal(size=400)})
    roles = {"age": "quasi", "height": "quasi"}
    weak = veil.audit(frame, veil.AdditiveNoise(0.01), roles=roles, seed=0, grants=veil.Grants.only(external=True))
    (row,) = [r for r in weak.rows if r.links]
    assert (row.attack, row.knowledge) == ("linkage-attack", "external table")
    assert row.record.rate > 0.8
    assert row.record.baseline == pytest.approx(1 / 400)
    assert [(failure.scored, failure.shown) for failure in row.failures] == [("links", True)]
    assert "advantage on links" in str(row.failures[0])
    strong = veil.audit(frame, veil.AdditiveNoise(50.0), roles=roles, seed=0, grants=veil.Grants.only(external=True))
    (row,) = [r for r in strong.rows if r.links]
    assert row.record.rate.low <= 1 / 400
    risks = {risk.risk: risk for risk in weak.model().candidates[0].risks}
    assert set(risks) == {"singling out", "linkability", "inference"}
    assert risks["linkability"].attack.label == "linkage-attack"


def test_every_attack_can_be_named_in_an_audit_or_says_why_not():
    assert {"linkage-attack", "repeated-release-attack", "regression-attack"} <= {a.label for a in every_attack()}
