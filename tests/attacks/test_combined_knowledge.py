"""Knowledge of two kinds at once, and knowledge that is not exact."""

import numpy as np
import pytest

import veil
from veil.attacks.knowledge import (
    BiasedSample,
    ColumnsAndSample,
    KnownAttributes,
    KnownPairs,
    KnownSample,
    OlderSample,
    PairsAndSample,
    PrivateTable,
    RoundedPairs,
    WrongPairs,
)
from veil.auditing.grants import Level


@pytest.fixture
def private():
    rng = np.random.default_rng(0)
    x = rng.normal(50.0, 10.0, size=(2_000, 3))
    x[:, 1] += x[:, 0]
    codes = rng.integers(0, 3, 2_000).astype(float)
    return PrivateTable(np.column_stack([x, codes]), ("a", "b", "c", "k"), np.array([False, False, False, True]))


def of(grant, kind):
    (item,) = [item for item in grant.knowledge if isinstance(item, kind)]
    return item


def test_known_records_are_counted_in_the_release_without_the_sample(private):
    grant = PairsAndSample.grant(private, 5, np.random.default_rng(0))
    released = np.delete(private.values, grant.withheld, axis=0)
    pairs, sample = of(grant, KnownPairs), of(grant, KnownSample)
    assert (len(sample.sample), len(grant.withheld)) == (40, 40)
    assert np.array_equal(released[pairs.rows], pairs.records)
    assert np.array_equal(grant.given, pairs.rows)


def test_known_columns_are_those_of_the_release_without_the_sample(private):
    grant = ColumnsAndSample.grant(private, 0.1, np.random.default_rng(0))
    known = of(grant, KnownAttributes)
    released = np.delete(private.values, grant.withheld, axis=0)
    assert np.array_equal(known.values[:, 0], released[:, grant.columns[0]])
    assert len(of(grant, KnownSample).sample) == 200


def test_an_attack_is_run_with_a_combination_only_where_it_uses_all_of_it():
    level = Level("columns_and_sample", 0.02)
    joint, univariate = veil.JointPosteriorAttack, veil.UnivariateBayesAttack
    assert level.serves(joint.requires, joint.uses)
    assert not level.serves(univariate.requires, univariate.uses)
    assert ColumnsAndSample.is_used([KnownSample, KnownAttributes], own_sample=True)
    assert not ColumnsAndSample.is_used([KnownSample], own_sample=False)


def test_a_combination_tells_what_neither_kind_tells_alone():
    """A wave of a known column, which no line has and a sample shows: together they tell nearly all.

    3,000 records leave a standard error of at most √(0.25/3,000) = 0.9 % of each rate.
    """
    rng = np.random.default_rng(0)
    t = rng.uniform(0.0, 2.0 * np.pi, 3_000)
    x = np.column_stack([t, np.cos(2.0 * t)])
    grants = veil.Grants.only(columns_and_sample=0.1, sample=0.1, attributes=1)
    audit = veil.audit(x, veil.AdditiveNoise(2.0), attacks=["joint-posterior"], grants=grants, repetitions=1, seed=0)
    rates = {row.level.kind: float(row.value.rate) for row in audit.rows}
    assert rates["columns_and_sample"] > max(rates["sample"], rates["attributes"]) + 0.1
    assert audit.rows[-1].level.label == "10 % sample and 1 known column"


def test_a_biased_sample_has_too_many_high_values(private):
    """Odds that rise with e^z move the mean of a normal column by one standard deviation, less what runs out."""
    grant = BiasedSample.grant(private, 0.02, np.random.default_rng(0))
    sample, at = of(grant, KnownSample).sample, 1
    moved = (sample[:, at].mean() - private.values[:, at].mean()) / private.values[:, at].std()
    assert 0.6 < moved < 1.3  # the standard error of 40 records is 0.16
    assert len(np.unique(grant.withheld)) == 40


def test_an_older_sample_is_of_other_values(private):
    grant = OlderSample.grant(private, 0.1, np.random.default_rng(0))
    sample = of(grant, KnownSample).sample
    column = private.values[:, 0]
    assert abs(sample[:, 0].mean() - column.mean()) / column.std() == pytest.approx(0.25, abs=0.25)
    assert not np.isin(np.round(sample[:, 0], 6), np.round(column, 6)).any()
    assert set(np.unique(sample[:, 3])) <= {0.0, 1.0, 2.0}
    kept = np.mean(sample[:, 3] == private.values[grant.withheld, 3])
    assert kept == pytest.approx(1.0 - 0.1 * 2 / 3, abs=0.06)  # three standard errors of 200 records


def test_rounded_records_are_near_and_wrong_ones_are_others(private):
    rng = np.random.default_rng(0)
    rough = of(RoundedPairs.grant(private, 50, rng), KnownPairs)
    off = np.abs(rough.records - private.values[rough.rows])
    assert (off[:, :3] <= 0.126 * private.values[:, :3].std(axis=0)).all()
    assert off[:, :3].max() > 0
    assert not off[:, 3].any()
    grant = WrongPairs.grant(private, 50, rng)
    wrong = of(grant, KnownPairs)
    assert np.sum((wrong.records != private.values[wrong.rows]).any(axis=1)) == 10
    assert np.array_equal(grant.given, wrong.rows)


def test_imperfect_knowledge_is_granted_by_name_and_said_in_words():
    x = np.random.default_rng(0).normal(size=(400, 3))
    kinds = {"wrong_pairs": 10, "rounded_pairs": 10, "biased_sample": 0.1, "older_sample": 0.1, "pairs_and_sample": 2}
    audit = veil.audit(x, veil.OrthogonalTransform(), grants=veil.Grants.only(**kinds), repetitions=2, seed=0)
    assert {row.level.kind for row in audit.rows} >= {"wrong_pairs", "rounded_pairs", "biased_sample", "older_sample"}
    words = {row.level.words for row in audit.rows}
    assert any("rounded to 0.25 standard deviations" in each for each in words)
    assert any("2 of them are wrong" in each for each in words)
    exact = veil.audit(x, veil.OrthogonalTransform(), grants=veil.Grants.only(pairs=10), repetitions=2, seed=0)
    rough = min(row.nrmse for row in audit.rows if row.level.kind == "rounded_pairs")
    assert rough > 1e-3 > 1e-6 > min(row.nrmse for row in exact.rows)
