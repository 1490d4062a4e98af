"""Withholding records by γ(x, ε): Liu's example, the attack itself, and the limits (D4)."""

import math

import numpy as np
import pytest

from veil.errors import InputError
from veil.measures import breach_probability
from veil.measures.withholding import records_to_withhold

TABLE_4_1 = np.array([[25.0, 75.0], [30.0, 90.0], [45.0, 105.0]])


def test_the_papers_example():
    """x₂ is in the span of x₁; x₃ is 9.4868 away from it, and a coin flip (errata L-b), not 3.84 %."""
    found = records_to_withhold(TABLE_4_1, [0], 0.01, gamma=0.05)
    assert found.gamma[0] == found.gamma[1] == math.inf
    assert found.gamma[2] == pytest.approx(np.linalg.norm(TABLE_4_1[2]) * 0.01 / (2 * 9.4868), rel=1e-5)
    assert found.probability.tolist() == [1.0, 1.0, 0.5]
    assert found.dimension == 1
    assert found.rows.tolist() == [1, 2]
    assert records_to_withhold(TABLE_4_1, [0], 0.01, gamma=0.1).rows.tolist() == [1]
    # The paper's probability would let x₃ pass at 10 %; no limit below ½ does.
    assert breach_probability(found.gamma[2], 2) == pytest.approx(0.0384, abs=1e-4)
    assert records_to_withhold(TABLE_4_1, [0], 0.01, probability=0.1).rows.tolist() == [1, 2]


def test_probabilities_are_those_of_the_attacks():
    """One draw from the consistent matrices below γ = ½, the projection on the known span from there on."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 6)) + 1.0
    known, epsilon, draws = [3, 8], 0.6, 4_000
    found = records_to_withhold(x, known, epsilon, probability=0.5)
    assert found.dimension == 4
    u = np.linalg.qr(x[known].T)[0]
    inside = x @ u @ u.T
    limit = epsilon * np.linalg.norm(x, axis=1)
    projected = np.linalg.norm(x - inside, axis=1) <= limit
    assert 0 < projected.sum() < 38
    np.testing.assert_array_equal(found.gamma >= 0.5, projected)
    assert (found.probability[projected] == 1.0).all()
    complement = np.linalg.qr(u, mode="complete")[0][:, 2:]
    for row in np.flatnonzero(~projected)[:6]:
        part = complement.T @ x[row]
        turned = rng.normal(size=(draws, 4))
        turned *= np.linalg.norm(part) / np.linalg.norm(turned, axis=1, keepdims=True)
        share = (np.linalg.norm(turned - part, axis=1) <= limit[row]).mean()
        p = found.probability[row]
        assert abs(share - p) < 4.5 * math.sqrt(p * (1 - p) / draws) + 1 / draws
        assert abs(share - breach_probability(found.gamma[row], 2)) > 0.05, "the paper's formula passes too"


def test_what_stays_is_within_the_limit():
    rng = np.random.default_rng(1)
    x = rng.gamma(2.0, size=(300, 5))
    for limit in (0.01, 0.1, 0.4):
        found = records_to_withhold(x, [0, 1], 0.3, probability=limit)
        kept = np.delete(np.arange(300), np.union1d(found.rows, [0, 1]))
        assert (found.probability[kept] <= limit).all()
        assert (found.probability[found.rows] > limit).all()
    tight, loose = (len(records_to_withhold(x, [0, 1], 0.3, gamma=g).rows) for g in (0.1, 0.4))
    assert tight > loose


def test_limits():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 4))
    nothing = records_to_withhold(x, [], 0.1, probability=0.5)
    assert nothing.dimension == 4
    np.testing.assert_allclose(nothing.gamma, 0.05)
    everything = records_to_withhold(x, [0, 1, 2, 3], 0.1, probability=0.9)
    assert everything.dimension == 0
    assert everything.rows.tolist() == list(range(4, 30))
    repeated = np.vstack([x, 2 * x[0]])
    assert records_to_withhold(repeated, [0, 30], 0.1, gamma=1.0).dimension == 3
    exact = records_to_withhold(x, [0], 0.0, gamma=0.0)
    assert exact.rows.tolist() == []


def test_a_rotation_leaves_no_single_dimension_open():
    x = np.random.default_rng(3).normal(size=(20, 3))
    assert records_to_withhold(x, [0, 1], 0.01, probability=0.9).rows.tolist() == []
    rotation = records_to_withhold(x, [0, 1], 0.01, probability=0.9, proper=True)
    assert rotation.rows.tolist() == list(range(2, 20))


def test_a_translation_takes_one_record():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(20, 3)) + 10
    assert records_to_withhold(x, [0, 1], 0.01, gamma=1.0, translated=True).dimension == 2
    assert records_to_withhold(x, [0], 0.01, gamma=1.0, translated=True).dimension == 3
    x[5] = 0.3 * x[0] + 0.7 * x[1]  # on the line through both
    assert records_to_withhold(x, [0, 1], 0.01, gamma=1.0, translated=True).rows.tolist() == [5]
    assert (records_to_withhold(x, [], 0.01, gamma=0.0, translated=True).gamma == 0.0).all()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: records_to_withhold(TABLE_4_1, [0], 0.1), "gamma"),
        (lambda: records_to_withhold(TABLE_4_1, [0], 0.1, gamma=1, probability=0.5), "gamma"),
        (lambda: records_to_withhold(TABLE_4_1, [0], -0.1, gamma=1), "tolerance"),
        (lambda: records_to_withhold(TABLE_4_1, [3], 0.1, gamma=1), "known"),
        (lambda: records_to_withhold(TABLE_4_1, [0, 0], 0.1, gamma=1), "known"),
        (lambda: records_to_withhold(TABLE_4_1, [0.5], 0.1, gamma=1), "known"),
        (lambda: records_to_withhold([[1.0, math.nan]], [0], 0.1, gamma=1), "table"),
        (lambda: records_to_withhold(TABLE_4_1, [0], 0.1, probability=1.5), "probability"),
    ],
)
def test_refusals(call, name):
    with pytest.raises(InputError, match=rf"^{name}(:| must be) "):
        call()
