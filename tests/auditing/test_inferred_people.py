"""Attribute inference (A29) in audits: what a release teaches about people alike is no harm to one of them."""

import numpy as np
import pandas as pd
import pytest

import veil
import veil.auditing.elsewhere.foreign
from veil.attacks.knowledge import ExternalTable
from veil.auditing.elsewhere.people import shortened, stand_in

INFERENCE = veil.AttributeInferenceAttack()
NEAREST = veil.AttributeInferenceAttack(learner="nearest")
ROLES = {"age": "quasi", "sex": "quasi", "town": "quasi", "income": "sensitive", "job": "sensitive"}
EXTERNAL = veil.Grants.only(external=True)


def people(rng, n):
    """Age, sex and town go with income and job."""
    age, sex = rng.integers(18, 90, n), rng.choice(["f", "m"], n)
    town = rng.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1])
    income = np.exp(2 + 0.02 * age + 0.3 * (sex == "m") + 0.2 * (town == "d") + 0.3 * rng.normal(size=n))
    job = np.where(income > 20, "office", np.where(rng.random(n) < 0.7, "shop", "farm"))
    return pd.DataFrame({"age": age, "sex": sex, "town": town, "income": income, "job": job})


def audited(table, release, attack=INFERENCE, match=None, **options):
    options = {"grants": EXTERNAL, "roles": ROLES, "seed": 0, "workers": 1} | options
    audit = veil.audit(table, release=release, match=match, attacks=[attack], **options)
    (row,) = audit.rows
    return row


def test_fresh_draws_of_the_same_population_teach_and_give_nobody_away():
    """20 tables: 0 lies in the 95 % interval of the gain, of values and of each column, but for chance."""
    gains, outside = [], 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        row = audited(people(rng, 500), people(rng, 500))
        gains.append(float(row.value.advantage))
        outside += row.value.advantage.low > 0
        assert not row.broken
        assert float(row.value.taught) > 0.02
    assert outside <= 3, "of 20 intervals of 95 %, more than 3 leave 0 out in 1 of 1,000 cases"
    assert np.mean(gains) < 0.02


def test_a_release_that_remembers_its_people_gives_them_away():
    table = people(np.random.default_rng(0), 600)
    row = audited(table, table.sample(frac=1, random_state=1), NEAREST)
    assert row.value.advantage.low > 0.2
    assert row.broken
    # Half of the people and as many strangers: the gain is about half.
    strangers = people(np.random.default_rng(2), 300)
    half = audited(table, pd.concat([table[:300], strangers]), NEAREST)
    assert 0.3 < float(half.value.advantage) / float(row.value.advantage) < 0.7


def test_columns_that_an_outsider_has_are_not_scored():
    table = people(np.random.default_rng(1), 400)
    row = audited(table, people(np.random.default_rng(2), 400))
    assert {*row.columns} == {"income", "job"}
    assert row.tested


@pytest.mark.parametrize("match", ["order", None])
def test_known_columns_are_known_of_rows_or_of_people(match):
    table = people(np.random.default_rng(3), 400)[["age", "income"]]
    grants = veil.Grants.only(attributes=1)
    row = audited(table, table + np.random.default_rng(4).normal(size=(400, 2)), match=match, grants=grants, roles=None)
    assert row.knowledge == "1 known column"
    assert len(row.columns) == 1
    assert row.tested


def test_with_the_own_row_taken_out_people_are_guessed_like_people_withheld():
    """Where noise hides much, the own row brings nothing, and the rate is that of people who are not in the release."""
    rng = np.random.default_rng(5)
    table = people(rng, 4_000)
    plan = veil.Plan(
        [(["age", "income"], veil.AdditiveNoise(0.3)), (["sex", "town", "job"], veil.RandomizedResponse(keep=0.8))]
    )
    audit = veil.audit(table[:2_000], plan, roles=ROLES, grants=EXTERNAL, attacks=[INFERENCE], seed=0, workers=1)
    (row,) = audit.rows
    release, _ = veil.publish(table[:2_000], plan, roles=ROLES)
    withheld = table[2_000:]
    guess = INFERENCE.run(release, ExternalTable(withheld[["age", "sex", "town"]])).of_columns(["income", "job"])
    listing = release.manifest.parts[1].model.categories[2]
    jobs = np.array([listing[int(code)] for code in guess.values[:, 1]])
    unit = veil.measures.standard_units(table[["income"]][:2_000].to_numpy())[0]
    right = [np.abs(guess.values[:, 0] - withheld["income"]) <= 0.1 * unit, jobs == withheld["job"]]
    rate = float(np.mean(right))
    assert row.value.control == pytest.approx(rate, abs=4 * np.sqrt(2 * 0.25 / 2_000))
    assert float(row.value.advantage) < 0.02


def test_private_records_stand_in_for_a_release_of_their_length():
    table = people(np.random.default_rng(6), 300)
    exposures = veil.auditing.elsewhere.foreign.ForeignExposures(
        table, people(np.random.default_rng(7), 900), match=None, described=None, roles=ROLES, grants=EXTERNAL, seed=0
    )
    exposure = exposures.expose(None, exposures.levels[1], 0)
    assert exposure.release.table.n_rows == 300, "a longer release would teach more"
    control, own = exposures.control(exposure)
    assert control.release.table.n_rows == 300
    assert own.tolist() == list(range(300))
    short = shortened(exposure.release, 100)
    release, own = stand_in(exposures._table, exposures.private, exposures._schema, short)
    assert release.table.n_rows == (own >= 0).sum() == 100
    incomes = release.table.read().column("income").to_numpy()
    np.testing.assert_array_equal(table["income"][own >= 0], incomes)
