"""Errors of estimates where noise is one per group: 200 releases, and how often the intervals hold the truth."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import binom

import veil
from veil.recovery.clusters import Clusters
from veil.recovery.gaps import table_moments
from veil.release.release import memory_release

RUNS = 200
FEWEST = binom.ppf(0.0005, RUNS, 0.9545)
"""Intervals of two standard errors that hold the truth, in all but one of 2,000 experiments."""


def people(rng: np.random.Generator, n: int = 150) -> pd.DataFrame:
    home = np.repeat(np.arange(n), rng.integers(1, 7, n))
    income = rng.normal(size=n)
    return pd.DataFrame(
        {
            "home": home,
            "income": income[home],
            "wealth": (0.5 * income + rng.normal(size=n))[home],
            "age": 0.6 * income[home] + rng.normal(size=len(home)),
        }
    )


def moments(method: veil.Perturbation, frame: pd.DataFrame, seed: int) -> veil.MomentRecovery:
    release, _ = veil.publish(frame, method.set_params(random_state=seed), roles={"home": "group"})
    return veil.MomentRecovery(published=False).fit(release.part(0))


@pytest.mark.parametrize(
    "method",
    [
        veil.AdditiveNoise(1.0, relative=False),
        veil.AdditiveNoise(1.0, relative=False, distribution="laplace"),
        veil.AdditiveNoise(covariance=[[1.0, 0.5, 0.4], [0.5, 1.0, 0.3], [0.4, 0.3, 1.0]]),
    ],
    ids=["normal", "laplace", "correlated"],
)
def test_intervals_for_the_table_hold_it(method):
    frame = people(np.random.default_rng(0))
    truth = frame[["income", "wealth", "age"]].to_numpy()
    mean, covariance = np.zeros(3), np.zeros((3, 3))
    for run in range(RUNS):
        recovery = moments(method, frame, run)
        mean += np.abs(recovery.mean_ - truth.mean(axis=0)) <= 2.0 * recovery.mean_se_
        covariance += np.abs(recovery.covariance_ - np.cov(truth.T, bias=True)) <= 2.0 * recovery.covariance_se_
    assert (mean >= FEWEST).all()
    assert (covariance >= FEWEST).all()


def test_intervals_for_the_population_hold_it_and_those_of_rows_would_not():
    rng = np.random.default_rng(1)
    held, alone, covariance = np.zeros(3), np.zeros(3), np.zeros(3)
    for run in range(RUNS):
        recovery = moments(veil.AdditiveNoise(1.0, relative=False), people(rng), run)
        held += np.abs(recovery.mean_) <= 2.0 * recovery.mean_total_se_
        alone += np.abs(recovery.mean_) <= 2.0 * np.sqrt((np.diag(recovery.covariance_) + 1.0) / recovery.n_rows_)
        variances = np.diag(recovery.covariance_) - np.array([1.0, 1.25, 1.36])
        covariance += np.abs(variances) <= 2.0 * np.diag(recovery.covariance_total_se_)
    assert (held >= FEWEST).all()
    assert (covariance >= FEWEST).all()
    assert (alone[:2] < 0.85 * RUNS).all()


def gapped(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Every third home has stated no wealth, and every fifth person no age."""
    silent = rng.random(150) < 1.0 / 3.0
    return frame.assign(
        wealth=frame["wealth"].mask(silent[frame["home"]]), age=frame["age"].mask(rng.random(len(frame)) < 0.2)
    )


@pytest.mark.parametrize("case", ["gaps", "weights"])
def test_intervals_hold_with_gaps_or_weights(case):
    """For the population over groups, and for the table by counting the rows of a group as one."""
    rng = np.random.default_rng(5)
    variances = np.array([1.0, 1.25, 1.36])
    held, table, spread, alone = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for run in range(RUNS):
        frame = people(rng)
        frame = gapped(frame, rng) if case == "gaps" else frame
        weights = rng.integers(1, 4, 150)[frame["home"]] if case == "weights" else None
        release, _ = veil.publish(
            frame, veil.AdditiveNoise(1.0, relative=False, random_state=run), roles={"home": "group"}
        )
        recovery = veil.MomentRecovery(weights=weights).fit(release.part(0))
        values = frame[["income", "wealth", "age"]].to_numpy()
        own = table_moments(values)[0] if weights is None else np.average(values, axis=0, weights=weights)
        held += np.abs(recovery.mean_) <= 2.0 * recovery.mean_total_se_
        table += np.abs(recovery.mean_ - own) <= 2.0 * recovery.mean_se_
        spread += np.abs(np.diag(recovery.covariance_) - variances) <= 2.0 * np.diag(recovery.covariance_total_se_)
        single, _ = veil.publish(frame[["income"]], veil.AdditiveNoise(1.0, relative=False, random_state=run))
        alone += np.abs(recovery.mean_) <= 2.0 * veil.MomentRecovery(weights=weights).fit(single).mean_total_se_
    assert (held >= FEWEST).all()
    assert (table >= FEWEST).all()
    assert (spread >= FEWEST).all()
    assert alone[0] < 0.85 * RUNS


def test_errors_without_gaps_are_those_of_equal_weights():
    frame = people(np.random.default_rng(6))
    release, _ = veil.publish(frame, veil.AdditiveNoise(1.0, relative=False, random_state=0), roles={"home": "group"})
    part = release.part(0)
    exact = veil.MomentRecovery(published=False).fit(part)
    equal = veil.MomentRecovery(published=False, weights=np.full(len(frame), 2.0)).fit(part)
    assert equal.mean_ == pytest.approx(exact.mean_)
    assert equal.mean_total_se_ == pytest.approx(exact.mean_total_se_, rel=1e-6)
    assert equal.covariance_total_se_ == pytest.approx(exact.covariance_total_se_, rel=1e-6)
    assert (equal.mean_se_ >= exact.mean_se_).all()


def test_intervals_hold_where_values_were_made_plausible():
    """Moments before rounding and bounds stand in the manifest; how alike members are, the released values tell."""
    frame = people(np.random.default_rng(0))
    truth = frame[["income", "wealth", "age"]].to_numpy()
    rules = {"income": {"low": 0.0, "grain": 0.5}, "age": {"zero_below": 0.8}}
    mean, covariance, plain = np.zeros(3), np.zeros((3, 3)), []
    for run in range(RUNS):
        method = veil.AdditiveNoise(1.0, relative=False, random_state=run)
        release, _ = veil.publish(frame, veil.Plan([(None, method)], plausible=rules), roles={"home": "group"})
        recovery = veil.MomentRecovery(published=False).fit(release.part(0))
        mean += np.abs(recovery.mean_ - truth.mean(axis=0)) <= 2.0 * recovery.mean_se_
        covariance += np.abs(recovery.covariance_ - np.cov(truth.T, bias=True)) <= 2.0 * recovery.covariance_se_
        before = moments(veil.AdditiveNoise(1.0, relative=False), frame, run)
        assert recovery.mean_ == pytest.approx(before.mean_)
        plain.append(recovery.mean_total_se_ / before.mean_total_se_)
    assert (mean >= FEWEST).all()
    assert (covariance >= FEWEST).all()
    assert np.mean(plain, axis=0) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("case", ["gaps", "weights"])
def test_proportions_with_gaps_or_weights_count_groups(case):
    rng = np.random.default_rng(7)
    held, randomized = 0, 0
    for run in range(RUNS):
        frame = people(rng)[["home", "income"]]
        frame["tenure"] = np.where(frame["income"] > 0.5, "owner", "tenant")
        plan = veil.Plan([("tenure", veil.RandomizedResponse(keep=0.75, random_state=run))])
        release, _ = veil.publish(frame[["home", "tenure"]], plan, roles={"home": "group"})
        there, weights = np.ones(len(frame)), None
        if case == "gaps":
            there = rng.random(150)[frame["home"]] > 0.2
            reports = release.data.assign(tenure=release.data["tenure"].astype(object).where(there))
            release = memory_release(pa.Table.from_pandas(reports), release.manifest, "pyarrow", {})
        else:
            there = weights = rng.integers(1, 4, 150)[frame["home"]].astype(float)
        recovery = veil.ProportionRecovery(weights=weights).fit(release.part(0))
        assert recovery.n_gaps_ == (0 if weights is not None else int((~there).sum()))
        estimate = recovery.unconstrained_["tenure"]["owner"]
        own = float(np.average(frame["tenure"] == "owner", weights=there))
        randomized += abs(estimate - own) <= 2.0 * recovery.randomization_se_["tenure"]["owner"]
        held += abs(estimate - 0.30854) <= 2.0 * recovery.standard_errors_["tenure"]["owner"]
    assert min(held, randomized) >= FEWEST


def test_intervals_of_quantiles_count_groups():
    frame = people(np.random.default_rng(8))
    held, wide = np.zeros(3), []
    for run in range(50):
        method = veil.AdditiveNoise(1.0, relative=False, random_state=run)
        release, _ = veil.publish(frame, method, roles={"home": "group"})
        single, _ = veil.publish(frame[["income", "wealth", "age"]], method)
        grouped, alone = (veil.DistributionRecovery().fit(each) for each in (release.part(0), single))
        for j, name in enumerate(("income", "wealth", "age")):
            interval = grouped.quantile_interval(0.5, column=name)
            held[j] += interval.low <= frame[name].median() <= interval.high
        ends = [each.quantile_interval(0.5, column="income") for each in (grouped, alone)]
        wide.append((ends[0].high - ends[0].low) / (ends[1].high - ends[1].low))
    assert (held >= binom.ppf(0.0005, 50, 0.95)).all()
    assert np.mean(wide) > 1.1


def test_factors_count_the_rows_of_a_group_as_one():
    rng = np.random.default_rng(2)
    frame = people(rng)
    names = ["income", "wealth", "age"]
    frame[names] = np.exp(0.5 * frame[names])
    held = np.zeros(3)
    for run in range(RUNS):
        recovery = moments(veil.MultiplicativeNoise(), frame, run)
        held += np.abs(recovery.mean_ - frame[names].mean().to_numpy()) <= 2.0 * recovery.mean_se_
    assert (held >= FEWEST).all()


def test_proportions_of_groups_that_answer_once():
    rng = np.random.default_rng(3)
    held, randomized, alone = 0, 0, 0
    for run in range(RUNS):
        frame = people(rng)[["home", "income"]]
        frame["tenure"] = np.where(frame["income"] > 0.5, "owner", "tenant")
        response = veil.RandomizedResponse(keep=0.75, random_state=run)
        release, _ = veil.publish(frame[["home", "tenure"]], veil.Plan([("tenure", response)]), roles={"home": "group"})
        recovery = veil.ProportionRecovery().fit(release.part(0))
        estimate = recovery.unconstrained_["tenure"]["owner"]
        own = float((frame["tenure"] == "owner").mean())
        randomized += abs(estimate - own) <= 2.0 * recovery.randomization_se_["tenure"]["owner"]
        held += abs(estimate - 0.30854) <= 2.0 * recovery.standard_errors_["tenure"]["owner"]
        n = recovery.n_rows_
        alone += abs(estimate - own) <= 2.0 * np.sqrt(0.75 * 0.25 / n) / 0.5
    assert min(held, randomized) >= FEWEST
    assert alone < 0.85 * RUNS


def test_tests_of_independence_keep_their_level():
    rng = np.random.default_rng(4)
    rejected = 0
    for run in range(RUNS):
        frame = people(rng)
        frame["tenure"] = np.where(frame["income"] > 0.0, "owner", "tenant")
        side = rng.random(150) < 0.5
        frame["side"] = np.where(side[frame["home"]], "north", "south")
        plan = veil.Plan([(["tenure", "side"], veil.RandomizedResponse(keep=0.9, random_state=run))])
        release, _ = veil.publish(frame[["home", "tenure", "side"]], plan, roles={"home": "group"})
        rejected += veil.ProportionRecovery().fit(release.part(0)).association(["tenure", "side"]).p_value < 0.05
    assert rejected <= binom.ppf(0.9995, RUNS, 0.05)


def test_equal_groups_have_the_errors_of_their_number():
    frame = pd.DataFrame(
        {"home": np.repeat(np.arange(100), 4), "x": np.repeat(np.random.default_rng(0).normal(size=100), 4)}
    )
    release, _ = veil.publish(frame, veil.AdditiveNoise(1.0, relative=False), roles={"home": "group"})
    recovery = veil.MomentRecovery().fit(release.part(0))
    assert recovery.mean_se_ == pytest.approx([np.sqrt(1.0 / 100)])
    clusters = Clusters.of(release.part(0))
    assert (clusters.design, clusters.pairs) == (4.0, 1_200.0)
    single, _ = veil.publish(frame[::4][["x"]], veil.AdditiveNoise(1.0, relative=False))
    assert Clusters.of(single) is None


@pytest.mark.parametrize(
    "method", [veil.AdditiveNoise(0.5), veil.MultiplicativeNoise(0.1), veil.LogNormalNoise(0.1)], ids=str
)
def test_errors_for_the_population_are_over_groups_whose_rows_have_noise_of_their_own(method):
    """Members differ, so that every record has its own noise; they resemble each other, so that rows are no draws."""
    rng, held, alone = np.random.default_rng(2), 0, 0
    for run in range(RUNS):
        home = np.repeat(np.arange(80), 5)
        wealth = 10 + rng.normal(size=80)[home] + 0.3 * rng.normal(size=400)
        frame = pd.DataFrame({"home": home, "wealth": wealth})
        for roles in ({"home": "group"}, {"home": "drop"}):
            release, _ = veil.publish(frame, method.set_params(random_state=run), roles=roles)
            assert not release.manifest.parts[0].groups
            found = veil.MomentRecovery(published=False).fit(release.part(0))
            covers = abs(found.mean_[0] - 10) <= 2 * found.mean_total_se_[0]
            held, alone = (held + covers, alone) if "group" in roles.values() else (held, alone + covers)
    assert FEWEST <= held <= RUNS
    assert alone < 0.8 * RUNS
