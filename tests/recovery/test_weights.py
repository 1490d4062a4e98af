"""Weights of records: estimates for a population of which people were drawn with unequal probabilities."""

import numpy as np
import pandas as pd
import pytest

import veil
from veil.errors import InputError
from veil.recovery import DistributionRecovery, JointRecovery, MomentRecovery, ProportionRecovery

SHARES, MEANS, PROBABILITIES = np.array([0.6, 0.3, 0.1]), np.array([0.0, 2.0, 5.0]), np.array([0.2, 0.5, 0.3])
"""Strata of the population: how large, where they lie, and which part of the sample comes from each."""
WITHIN = np.array([0.1, 0.4, 0.8])
MEAN = SHARES @ MEANS
LIMITS = (0.92, 0.98)


def sample(seed, n=2_000, gaps=False):
    """People drawn with replacement, strata with unequal probabilities."""
    rng = np.random.default_rng([seed, 9])
    stratum = rng.choice(3, n, p=PROBABILITIES)
    a = MEANS[stratum] + rng.gamma(1.0, size=n)
    b = 0.5 * a + rng.normal(size=n)
    frame = pd.DataFrame({"a": a, "b": b, "w": (SHARES / PROBABILITIES)[stratum]})
    frame["yes"] = np.where(rng.random(n) < WITHIN[stratum], "yes", "no")
    if gaps:
        frame.loc[rng.random(n) < 1 / (1 + np.exp(3 - a)), "b"] = np.nan
    return frame


def population():
    """Means, variances and covariance of a and b; both conditional means are straight in a."""
    variance = 1.0 + SHARES @ (MEANS - MEAN) ** 2
    return np.array([MEAN + 1, 0.5 * (MEAN + 1), variance, 0.5 * variance, 0.25 * variance + 1])


def entries(mean, covariance):
    return np.concatenate([mean, covariance[np.triu_indices(2)]])


@pytest.mark.parametrize("gaps", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_weighted_moments_cover_the_population(gaps):
    """200 samples, moments pooled; without the weights no interval of a mean covers."""
    hits, bare = [], []
    for seed in range(200):
        frame = sample(seed, gaps=gaps)
        plan = veil.Plan(
            [(["a", "b"], veil.AdditiveNoise(0.5, random_state=seed))], roles={"w": "public", "yes": "drop"}
        )
        release, _ = veil.publish(frame, plan)
        for weights, store in (("w", hits), (None, bare)):
            found = MomentRecovery(weights=weights).fit(release)
            off = np.abs(entries(found.mean_, found.covariance_) - population())
            store.append(off < 2 * entries(found.mean_total_se_, found.covariance_total_se_))
    assert LIMITS[0] <= np.mean(hits) <= LIMITS[1], np.mean(hits, axis=0)
    assert np.mean(np.array(bare)[:, :2]) < 0.01


def test_weighted_proportions_cover_the_population():
    hits = []
    for seed in range(200):
        frame = sample(seed)
        weights = frame.pop("w").to_numpy()
        release, _ = veil.publish(frame[["yes"]], veil.RandomizedResponse(keep=0.7, random_state=seed))
        found = ProportionRecovery(weights=weights).fit(release)
        hits.append(
            abs(found.unconstrained_["yes"]["yes"] - SHARES @ WITHIN) < 2 * found.standard_errors_["yes"]["yes"]
        )
    # Of 200 replications of 95.4 %, within three standard errors.
    assert abs(np.mean(hits) - 0.954) < 3 * np.sqrt(0.954 * 0.046 / 200), np.mean(hits)


def test_weighted_distributions_are_the_populations():
    frame = sample(1, n=40_000)
    release, _ = veil.publish(frame[["a"]], veil.AdditiveNoise(0.3, random_state=1))
    weights = frame["w"].to_numpy()
    found = DistributionRecovery(weights=weights).fit(release)
    order = np.argsort(frame["a"].to_numpy())
    share = np.cumsum(weights[order]) / weights.sum()
    for q in (0.25, 0.5, 0.9):
        own = frame["a"].to_numpy()[order][np.searchsorted(share, q)]
        assert abs(found.cdf(own) - q) < 0.03
        low, high = found.quantile_interval(q)
        assert low < own < high
    plain = DistributionRecovery().fit(release)
    assert abs(plain.cdf(frame["a"].quantile(0.5)) - 0.5) < 0.03
    assert found.quantile(0.5) < plain.quantile(0.5) - 0.5
    ones = DistributionRecovery(weights=np.full(len(frame), 7.0)).fit(release)
    assert ones.probabilities_["a"] == pytest.approx(plain.probabilities_["a"], abs=1e-6)
    assert ones.quantile_interval(0.5) == pytest.approx(plain.quantile_interval(0.5))


def test_records_of_weight_0_do_not_count_and_bad_weights_are_refused():
    frame = sample(2, n=400)
    noise = veil.AdditiveNoise(0.5, random_state=2)
    release, _ = veil.publish(frame[["a", "b"]], noise)
    half = np.where(np.arange(400) < 200, 1.0, 0.0)
    found = MomentRecovery(weights=half).fit(release)
    assert found.mean_ == pytest.approx(release.to_numpy()[:200].mean(axis=0))
    for weights in ("a", "nothing", np.ones(3), -np.ones(400), np.full(400, np.nan), np.zeros(400), object()):
        for recovery in (MomentRecovery, DistributionRecovery):
            with pytest.raises(InputError, match="weights"):
                recovery(weights=weights).fit(release)
    frame.loc[3, "w"] = np.nan
    plan = veil.Plan([(["a", "b"], noise)], roles={"w": "public", "yes": "drop"})
    release, _ = veil.publish(frame, plan)
    with pytest.raises(InputError, match="weights of column 'w': 1 are missing"):
        MomentRecovery(weights="w").fit(release)


def test_a_column_of_weights_is_used_unless_it_is_refused():
    """The role weight stands in the manifest: an analyst who says nothing gets figures of the population."""
    frame = sample(3)
    plan = veil.Plan(
        [(["a", "b"], veil.AdditiveNoise(0.5, random_state=3)), (["yes"], veil.RandomizedResponse(keep=0.8))],
        roles={"w": "weight"},
    )
    release, _ = veil.publish(frame, plan)
    assert release.manifest.weight == "w"
    numbers, answers = release.part(0), release.part(1)
    for recovery, part in ((MomentRecovery, numbers), (DistributionRecovery, numbers), (ProportionRecovery, answers)):
        own, named, bare = (recovery(weights=w).fit(part) for w in (None, "w", False))
        figures = [getattr(r, "mean_", None) for r in (own, named, bare)]
        if recovery is DistributionRecovery:
            figures = [r.quantile(0.5, column="a") for r in (own, named, bare)]
        if recovery is ProportionRecovery:
            figures = [r.proportions_["yes"]["yes"] for r in (own, named, bare)]
        assert np.all(figures[0] == figures[1])
        assert np.all(np.abs(figures[0] - figures[2]) > 0.03)
    assert abs(MomentRecovery().fit(numbers).mean_[0] - population()[0]) < 0.2
    assert "by 'w'" in veil.recover(release).records
    assert veil.recover(release, weights=False).records == ""


def test_weighted_combinations_cover_the_population():
    """Cross tables of two answers: 200 samples, all cells pooled; without weights they miss."""
    truth = np.zeros((2, 2))
    for share, yes, high in zip(SHARES, WITHIN, (0.8, 0.5, 0.2), strict=True):
        truth += share * np.outer([1 - yes, yes], [high, 1 - high])
    hits, own, bare = [], [], []
    for seed in range(200):
        rng = np.random.default_rng([seed, 11])
        stratum = rng.choice(3, 1_000, p=PROBABILITIES)
        frame = pd.DataFrame({"w": (SHARES / PROBABILITIES)[stratum]})
        frame["yes"] = np.where(rng.random(1_000) < WITHIN[stratum], "yes", "no")
        frame["size"] = np.where(rng.random(1_000) < np.array([0.8, 0.5, 0.2])[stratum], "high", "low")
        plan = veil.Plan(
            [(["yes", "size"], veil.RandomizedResponse(keep=0.8, random_state=seed))], roles={"w": "weight"}
        )
        release, _ = veil.publish(frame, plan)
        found = ProportionRecovery().fit(release).joint(["yes", "size"])
        hits.append(np.abs(found.unconstrained - truth) < 2 * found.standard_errors)
        plain = ProportionRecovery(weights=False).fit(release).joint(["yes", "size"])
        bare.append(np.abs(plain.unconstrained - truth) < 2 * plain.standard_errors)
        table = frame.pivot_table(index="yes", columns="size", values="w", aggfunc="sum").to_numpy()
        own.append(np.abs(found.unconstrained - table / table.sum()) < 2 * found.randomization_se)
    assert LIMITS[0] <= np.mean(hits) <= LIMITS[1], np.mean(hits, axis=0)
    assert LIMITS[0] <= np.mean(own) <= LIMITS[1], np.mean(own, axis=0)
    assert np.mean(bare) < 0.6


def test_equal_weights_are_none_in_combinations_and_joint_distributions():
    frame = sample(4, n=800)
    noise = veil.AdditiveNoise(0.5, random_state=4)
    frame["size"] = np.where(frame["a"] > 2, "high", "low")
    plan = veil.Plan(
        [(["a", "b"], noise), (["yes", "size"], veil.RandomizedResponse(keep=0.8, random_state=4))],
        roles={"w": "drop"},
    )
    release, _ = veil.publish(frame, plan)
    ones = np.full(800, 3.0)
    plain, same = (JointRecovery(["a", "b"], weights=w).fit(release.part(0)) for w in (None, ones))
    assert same.probabilities_ == pytest.approx(plain.probabilities_, abs=1e-6)
    plain, same = (ProportionRecovery(weights=w).fit(release.part(1)) for w in (None, ones))
    there, here = plain.joint(["yes", "size"]), same.joint(["yes", "size"])
    for field in ("proportions", "unconstrained", "standard_errors", "randomization_se"):
        assert getattr(here, field) == pytest.approx(getattr(there, field), rel=1 / 800), field
    assert same.association(["yes", "size"]).statistic == pytest.approx(plain.association(["yes", "size"]).statistic)


def test_a_weighted_joint_distribution_is_the_populations():
    frame = sample(5, n=20_000)
    release, _ = veil.publish(frame[["a", "b"]], veil.AdditiveNoise(0.3, random_state=5))
    found = JointRecovery(["a", "b"], weights=frame["w"].to_numpy()).fit(release)
    middle = (found.edges_[0][1:] + found.edges_[0][:-1]) / 2
    assert abs(found.probabilities_.sum(axis=1) @ middle - population()[0]) < 0.05
    assert abs(found.correlation() - population()[3] / np.sqrt(population()[2] * population()[4])) < 0.05


@pytest.mark.slow
def test_the_association_of_weighted_answers_keeps_its_level():
    """Independent answers, weights that have nothing to do with them: a p-value below 0.1 in a tenth of 300 samples."""
    low = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, 13])
        frame = pd.DataFrame({"w": rng.choice([1.0, 10.0], 600)})
        frame["yes"], frame["size"] = rng.choice(["yes", "no"], 600), rng.choice(["high", "low"], 600)
        plan = veil.Plan(
            [(["yes", "size"], veil.RandomizedResponse(keep=0.8, random_state=seed))], roles={"w": "weight"}
        )
        release, _ = veil.publish(frame, plan)
        low += ProportionRecovery().fit(release).association(["yes", "size"]).p_value < 0.1
    assert abs(low / 300 - 0.1) < 3 * np.sqrt(0.09 / 300), low
