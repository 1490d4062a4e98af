"""The area under the ROC curve and the advantage TPR − FPR: their laws, their intervals, and what luck alone brings."""

import numpy as np
import pytest
from scipy.stats import norm

from veil.errors import InputError
from veil.measures import membership_advantage, membership_bound, roc_area
from veil.measures.membership import _threshold


def shifted(rng, shift, n=2_000, m=2_000):
    return rng.normal(size=n) + shift, rng.normal(size=m)


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.5])
def test_of_normal_scores_area_and_advantage_are_known(shift):
    """Members N(δ, 1), strangers N(0, 1): the area is Φ(δ/√2), and TPR − FPR at the best threshold 2Φ(δ/2) − 1."""
    rng = np.random.default_rng(0)
    members, strangers = shifted(rng, shift, 20_000, 20_000)
    area, advantage = roc_area(members, strangers), membership_advantage(members, strangers)
    assert float(area) == pytest.approx(norm.cdf(shift / np.sqrt(2)), abs=4 * (area.high - area.low) / 3.92)
    error = np.sqrt(0.5 / 20_000)
    assert float(advantage) == pytest.approx(2 * norm.cdf(shift / 2) - 1, abs=4 * error)


@pytest.mark.parametrize("paired", [False, True])
def test_intervals_cover(paired):
    """200 pairs of samples; members and strangers who are the same people share most of their scores."""
    shift, covered, wide = 0.3, 0, []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        common = rng.normal(size=150)
        members = common + shift + 0.3 * rng.normal(size=150)
        strangers = (common if paired else rng.normal(size=150)) + 0.3 * rng.normal(size=150)
        area = roc_area(members, strangers, paired=paired)
        truth = norm.cdf(shift / np.sqrt(2 * (1 + 0.09)))
        covered += area.low <= truth <= area.high
        wide.append(area.high - area.low)
    assert covered / 200 == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 200))
    # Taken for different people, the same people would have an interval several times as wide.
    assert bool(np.mean(wide) < 0.1) is paired


def test_ties_count_one_half_and_everybody_told_is_one():
    assert float(roc_area([1.0, 1.0], [1.0, 1.0])) == 0.5
    told = roc_area([2.0, 3.0, 4.0], [0.0, -np.inf, 1.0])
    assert float(told) == 1.0
    assert told.low == pytest.approx(2 / 3), "three people do not show that everybody is told"


def test_luck_alone_is_no_advantage():
    """Thresholds that are chosen on the same people find one: √(1/n + 1/m) times 0.87, on average, of nothing."""
    gains, lucky = [], []
    for seed in range(100):
        members, strangers = shifted(np.random.default_rng(seed), 0.0, 100, 100)
        measure = membership_advantage(members, strangers)
        gains.append(measure.low > 0)
        threshold = _threshold(members, strangers)
        lucky.append((members >= threshold).mean() - (strangers >= threshold).mean())
    assert np.mean(gains) <= 0.05
    assert np.mean(lucky) > 0.08


def test_randomized_response_reaches_the_bound_of_its_epsilon():
    """A row is x's or that of somebody with the other answer: truth is told with p = e^ε/(1 + e^ε), so 2p − 1."""
    rng, epsilon, n = np.random.default_rng(0), 0.5, 40_000
    p = np.exp(epsilon) / (1 + np.exp(epsilon))
    members, strangers = rng.random(n) < p, rng.random(n) < 1 - p
    advantage = membership_advantage(members.astype(float), strangers.astype(float))
    assert float(advantage) == pytest.approx(membership_bound(epsilon), abs=4 * np.sqrt(0.5 / n))
    assert membership_bound(0.0) == 0.0
    assert float(roc_area(members, strangers)) == pytest.approx(0.5 + membership_bound(epsilon) / 2, abs=0.01)


@pytest.mark.parametrize(
    ("members", "strangers", "paired", "words"),
    [
        ([1.0], [1.0, 2.0], False, "members must be at least 2"),
        ([1.0, 2.0], [1.0, np.nan], False, "strangers must be"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], True, "equally many"),
        ([[1.0, 2.0]], [1.0, 2.0], False, "one for each person"),
    ],
)
def test_mistakes_are_refused(members, strangers, paired, words):
    for measure in (roc_area, membership_advantage):
        with pytest.raises(InputError, match=words):
            measure(members, strangers, paired=paired)
