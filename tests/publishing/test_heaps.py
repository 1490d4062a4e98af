"""Heaps behind noise: released values look like a column of zeros, or of 40 hours, and analysts lose nothing."""

import numpy as np
import pandas as pd
import pytest

import veil
from _tables import within_standard_errors
from veil.numerics.laws import NoiseLaw
from veil.publishing.heaps import Frequent, limits_of
from veil.recovery.counting import fine_counts
from veil.release.manifest import Manifest

N = 8_000


def people(n=N, seed=0):
    rng = np.random.default_rng(seed)
    hours = np.where(rng.random(n) < 0.45, 40, np.clip(rng.normal(38, 12, n), 1, 99).round())
    return pd.DataFrame(
        {
            "gain": np.where(rng.random(n) < 0.92, 0.0, np.exp(rng.normal(9.0, 0.8, n)).round()),
            "hours": hours.astype(int),
            "height": rng.normal(170.0, 10.0, n),
        }
    )


def published(frame, method=None, **settings):
    made = veil.Plan([(None, method or veil.AdditiveNoise(0.4, random_state=1))], **{"plausible": "auto", **settings})
    return veil.publish(frame, made)[0]


@pytest.mark.parametrize("law", ["normal", "laplace", "uniform"])
def test_heaps_have_the_shares_that_they_had(law):
    frame = people()
    release = published(frame, veil.AdditiveNoise(0.4, distribution=law, random_state=1))
    for name, heap in (("gain", 0), ("hours", 40)):
        assert abs((release.data[name] == heap).mean() - (frame[name] == heap).mean()) < 0.08
    assert release.manifest.plausible["gain"].heap_values == (0.0,)
    assert release.manifest.plausible["hours"].heap_values == (40.0,)
    assert "height" not in release.manifest.plausible or not release.manifest.plausible["height"].heaps
    assert (release.data["gain"] >= 0).all()
    assert release.data["hours"].dtype == np.int64


def test_limits_depend_on_noisy_values_alone():
    """With the same heaps they are a function of these, in whatever order."""
    rng = np.random.default_rng(1)
    y = np.where(rng.random(N) < 0.5, 0.0, rng.gamma(4.0, 1.0, N)) + rng.normal(0.0, 0.7, N)
    counts, law = fine_counts(y, 0.7, "y"), NoiseLaw("normal", 0.7)
    assert limits_of(counts, law, [0.0], (0.0, np.inf)) == limits_of(
        fine_counts(y[::-1], 0.7, "y"), law, [0.0], (0.0, np.inf)
    )
    assert limits_of(counts, law, [-30.0], (-np.inf, np.inf)) == ()


def test_a_method_with_a_guarantee_takes_heaps_that_are_named():
    """That 40 heaps is a fact of the table."""
    frame = people()[["hours"]]
    mechanism = veil.LaplaceMechanism(15.0, bounds=(0.0, 100.0))
    release = published(frame, mechanism)
    assert release.manifest.guarantee != "none"
    assert not release.manifest.plausible["hours"].heaps
    named = published(frame, mechanism, plausible={"hours": {"grain": 1, "low": 0, "heaps": [40]}})
    assert named.manifest.guarantee == release.manifest.guarantee
    assert abs((named.data["hours"] == 40).mean() - (frame["hours"] == 40).mean()) < 0.1


def test_moments_come_back_with_and_without_weights_and_gaps():
    frame = people()
    truth = frame.to_numpy(dtype=float)
    plain = veil.MomentRecovery().fit(published(frame))
    bare = veil.MomentRecovery().fit(published(frame, plausible=None))
    assert np.allclose(plain.mean_, bare.mean_, rtol=1e-10)
    assert np.allclose(plain.covariance_, bare.covariance_, rtol=1e-8)
    weighted = veil.MomentRecovery(weights=np.full(N, 2.0)).fit(published(frame))
    assert within_standard_errors(weighted.mean_, truth.mean(axis=0), weighted.mean_se_)
    # Values at a heap have the mean and the variance that they had before; without that 92 % of the noise were lost.
    assert within_standard_errors(np.diag(weighted.covariance_), truth.var(axis=0), np.diag(weighted.covariance_se_))
    holed = frame.assign(height=frame["height"].mask(np.random.default_rng(2).random(N) < 0.2))
    gaps = veil.MomentRecovery().fit(published(holed))
    assert within_standard_errors(gaps.mean_, truth.mean(axis=0), gaps.mean_total_se_)
    assert within_standard_errors(np.diag(gaps.covariance_), truth.var(axis=0), np.diag(gaps.covariance_total_se_))


def test_distributions_know_of_heaps():
    frame = people(20_000)[["hours", "gain"]]
    release, bare = published(frame), published(frame, plausible=None)
    for name in ("hours", "gain"):
        support = {name: (0, frame[name].max())}
        at = frame[name].quantile([0.3, 0.5, 0.8, 0.95]).to_numpy() + 1e-9
        own = np.array([(frame[name] <= x).mean() for x in at])
        ruled, before = (
            np.abs(veil.DistributionRecovery(columns=[name], support=support).fit(r).cdf(at) - own).max()
            for r in (release, bare)
        )
        assert ruled < before + 0.03
        recovery = veil.DistributionRecovery(columns=[name]).fit(release)
        for q in (0.1, 0.5, 0.95):
            interval = recovery.quantile_interval(q, column=name)
            assert interval.low <= frame[name].quantile(q) <= interval.high


def test_rules_name_heaps_and_files_and_memory_agree(tmp_path):
    frame = people(2_000)
    rules = {"gain": veil.Plausible(low=0, heaps=[0]), "height": veil.Plausible(grain=1, heaps=[0])}
    memory = published(frame, plausible=rules)
    assert memory.manifest.plausible["gain"].heap_values == (0.0,)
    assert not memory.manifest.plausible["height"].heaps  # nobody heaps there
    frame.to_csv(tmp_path / "table.csv", index=False)
    made = veil.Plan([(None, veil.AdditiveNoise(0.4, random_state=1))], plausible=rules)
    veil.publish_file(tmp_path / "table.csv", made, tmp_path / "release", new_key=tmp_path / "key")
    stored = veil.Release.load(tmp_path / "release")
    assert stored.manifest.plausible == memory.manifest.plausible
    assert stored.manifest.cut == memory.manifest.cut
    assert np.allclose(stored.to_numpy(), memory.to_numpy())
    text = memory.manifest.to_json()
    assert Manifest.from_json(text).plausible == memory.manifest.plausible
    with pytest.raises(veil.FileFormatError):
        Manifest.from_json(text.replace('"heaps": [', '"heaps": ["x", '))


def test_frequent_values_are_found_and_add_up():
    """No value that a tenth have is lost, in whatever parts it comes."""
    rng = np.random.default_rng(3)
    values = np.where(rng.random(50_000) < 0.12, 7.0, rng.normal(size=50_000))
    values[rng.random(50_000) < 0.05] = np.nan
    whole = Frequent.of(values)
    parts = [Frequent.of(part) for part in np.array_split(values, 7)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert 7.0 in total.counts
    assert total.n == whole.n == 50_000
    assert whole.heaps() == (7.0,)
    share = (values == 7.0).mean()
    assert total.counts[7.0] >= (share - 1 / 60) * 50_000
    assert Frequent.of(np.zeros(10)).heaps() == ()


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"heaps": ["a"]}, "heaps must be numbers"),
        ({"heaps": [0, 0]}, "heaps must be numbers, each once"),
        ({"low": 1, "heaps": [0]}, "heaps must be within the bounds"),
        ({"grain": 5, "heaps": [3]}, "multiples of the grain"),
    ],
)
def test_heaps_that_cannot_be_are_refused(rule, words):
    with pytest.raises(veil.InputError, match=words):
        veil.Plausible(**rule)
