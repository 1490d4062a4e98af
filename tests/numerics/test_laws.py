"""Laws of noise against scipy's: densities, distribution functions, their integrals, moments, and compiled codes."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from veil.errors import InputError
from veil.keys.noise import standard_draws
from veil.numerics.laws import LAWS, NoiseLaw, check_law

REFERENCE = {
    "normal": stats.norm(),
    "uniform": stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)),
    "laplace": stats.laplace(scale=math.sqrt(0.5)),
}
Z = np.array([-5.0, -1.7, -0.3, 0.0, 0.2, 1.0, 1.74, 6.0])


def test_every_law_has_a_reference_and_a_code_of_its_own():
    assert list(LAWS) == list(REFERENCE)
    assert [law.code for law in LAWS.values()] == [0, 1, 2]


@pytest.mark.parametrize("name", LAWS)
def test_density_distribution_and_moments(name):
    law, reference = LAWS[name], REFERENCE[name]
    np.testing.assert_allclose(law.pdf(Z), reference.pdf(Z), rtol=1e-13)
    np.testing.assert_allclose(law.cdf(Z), reference.cdf(Z), rtol=1e-13)
    assert law.kurtosis == pytest.approx(3.0 + float(reference.stats("k")))
    assert reference.std() == pytest.approx(1.0)
    assert law.support == pytest.approx(float(reference.support()[1]))
    assert reference.sf(law.reach) < 2.0**-53


@pytest.mark.parametrize("name", LAWS)
def test_excess_is_the_integral_of_the_distribution_function(name):
    law = LAWS[name]
    for z in Z:
        below = integrate.quad(law.cdf, -40, z, points=[-math.sqrt(3), 0, math.sqrt(3)], limit=400)[0]
        assert float(law.excess(np.abs(z))) == pytest.approx(below - max(z, 0.0), abs=1e-8)


@pytest.mark.parametrize("name", LAWS)
def test_compiled_draws_follow_the_law_of_the_same_code(name):
    levels = (np.arange(1, 1000) / 1000 * 2.0**64).astype(np.uint64)
    # A word's top bit is the sign and the rest the tail: below ½ the level runs up from the lower end, above it down.
    draws = np.sort(standard_draws(levels, name))
    np.testing.assert_allclose(LAWS[name].cdf(draws), np.arange(1, 1000) / 1000, atol=2e-3)


@pytest.mark.parametrize("name", LAWS)
def test_kernels_of_tiny_noise_on_huge_intervals_are_finite(name):
    edges = np.array([0.0, 1e200, 3e200])
    np.testing.assert_allclose(NoiseLaw(name, 1e-150).kernel(edges, edges), np.eye(2), atol=1e-12)


@pytest.mark.parametrize("name", ["gamma", None, 3, ["normal"]])
def test_an_unknown_law_is_refused_with_the_names(name):
    with pytest.raises(InputError, match="distribution must be one of 'normal', 'uniform', 'laplace'; got"):
        check_law(name)
