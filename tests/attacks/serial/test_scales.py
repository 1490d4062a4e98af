"""Combined noise has the same variance in every record in its own scale, and comes back without bias."""

import numpy as np
import pytest

from _tables import within_standard_errors
from veil.attacks.serial.scales import FactorScale
from veil.numerics.factor_law import FactorLaw

LAW = FactorLaw(1.1, 0.25, (0.3, 1.9))


@pytest.mark.parametrize("x", [-40.0, -3.0, 0.0, 1.0, 8.0, 60.0])
def test_noise_is_stable_and_means_come_back(x):
    """``E g(x r + e)`` by a million draws against the table, and a variance near 1 from none to all of it factors."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    y = x * LAW.quantile(rng.random(n)) + 2.0 * rng.normal(size=n)
    ends = np.array([-100.0, 100.0])
    scale = FactorScale.of(np.concatenate([ends, y]), LAW, 2.0)
    seen = scale.seen[2:]
    error = seen.std() / np.sqrt(n)
    u = float(np.interp(x, scale.x, scale.u))
    assert within_standard_errors(seen.mean(), u, error + 2e-4)
    assert scale.back(np.array([seen.mean()]))[0] == pytest.approx(x, abs=0.02 * max(abs(x), 2.0))
    assert 0.8 < seen.var() < 1.2
    assert scale.variance == pytest.approx(seen.var(), rel=0.1)


def test_the_plain_inverse_would_be_biased():
    """g is concave, so that E g(x r + e) lies under g(x E r): its own inverse would guess too little."""
    scale = FactorScale.of(np.array([0.1, 400.0]), LAW, 0.5)
    b = 0.5 * LAW.expectation / np.sqrt(LAW.variance)
    share = LAW.expectation / np.sqrt(LAW.variance)
    u = float(np.interp(100.0, scale.x, scale.u))
    assert abs(b * np.sinh(u / share) / LAW.expectation - 100.0) > 1.5
    assert scale.back(np.array([u]))[0] == pytest.approx(100.0, rel=1e-9)


def test_factors_alone_are_logarithms_away_from_zero():
    y = np.array([-500.0, -1.0, -0.01, 0.0, 0.01, 2.0, 700.0])
    scale = FactorScale.of(y, LAW, 0.0)
    assert np.isnan(scale.seen[3])
    share = LAW.expectation / np.sqrt(LAW.variance)
    np.testing.assert_allclose(scale.seen[6] - scale.seen[5], share * np.log(350.0), rtol=1e-4)
    at = np.interp([10.0, 100.0], scale.x, scale.u)
    assert at[1] - at[0] == pytest.approx(share * np.log(10.0), rel=1e-3)
