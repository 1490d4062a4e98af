"""P21: clipped noise with a formal guarantee: its scale, its exact law on the grid, and what voids it.

The sampler is a monotone function of one 64-bit word, so the number of words that end in a cell of the grid is found
exactly, by bisection over words. δ of a pair of private values is then the sum over cells of what one law has more
than e^ε times the other, taken over a stratified sample of cells. Reference: Dwork et al. 2006; Balle and Wang 2018
(errata: bisect Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ) = δ); Mironov 2012.
"""

import re
from itertools import pairwise
from math import exp

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, laplace, norm

import veil
from _tables import within_standard_errors
from veil.errors import InputError
from veil.keys.noise import standard_draws
from veil.perturbations.mechanisms import gaussian_scale, sampler_delta

TOP = np.uint64(2**63)
UNIT = 2.0**-64
ONE = np.array([[0.5]])


def fitted(mechanism):
    return mechanism.fit(ONE)


def words_at_least(steps, per_step, law):
    """How many words of one sign make noise of at least so many steps: the draw falls with the lower 63 bits."""
    low, high = np.zeros(len(steps), dtype=np.uint64), np.full(len(steps), TOP)
    for _ in range(64):
        open_ = low < high
        middle = low + (high - low) // np.uint64(2)
        drawn = np.rint(standard_draws(np.minimum(middle, TOP - np.uint64(1)) | TOP, law) * per_step)
        enough = drawn >= steps
        low = np.where(open_ & enough, middle + np.uint64(1), low)
        high = np.where(open_ & ~enough, middle, high)
    return low


def words_in_cell(steps, per_step, law):
    """How many of the 2^64 words make noise of exactly so many steps."""
    size = np.abs(steps).astype(np.float64)
    count = words_at_least(size, per_step, law) - words_at_least(size + 1, per_step, law)
    return np.where(size == 0, 2.0 * count, count.astype(np.float64))


def delta_of(mechanism, *, strata=30, cells=80, seed=0):
    """δ between the two ends of the bounds at the mechanism's ε, and its standard error over sampled cells."""
    p = fitted(mechanism)
    law, grid, deviation = p.law, float(p.grid_[0]), float(p.model_.scale[0])
    per_step, apart = deviation / grid, round(float(np.ptp(p.model_.bounds[0])) / grid)
    reach = int((32 if law == "laplace" else 9.3) * per_step) + 1
    rng = np.random.default_rng(seed)
    edges = np.linspace(-reach, reach, strata + 1).astype(np.int64)
    total = variance = 0.0
    for low, high in pairwise(edges):
        k = rng.integers(low, high, cells)
        more = words_in_cell(k, per_step, law) - exp(p.epsilon) * words_in_cell(k - apart, per_step, law)
        more = np.maximum(more, 0.0) * UNIT * (high - low)
        total, variance = total + more.mean(), variance + more.var() / cells
    return total, variance**0.5


def stated_delta(mechanism):
    release, _ = veil.publish(ONE, mechanism)
    return float(re.search(r"delta ([\d.e+-]+) for one value", release.manifest.guarantee)[1])


# -- scales --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1.0, 7.5, 1e6])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_laplace_scale_is_the_width_over_epsilon(width, epsilon):
    p = fitted(veil.LaplaceMechanism(epsilon, (-2.0, width - 2.0)))
    assert p.scale_[0] == pytest.approx(width / epsilon, rel=2.0**-19 / epsilon)
    assert p.scale_[0] > width / epsilon  # the grid costs a little, never the other way


@pytest.mark.parametrize("width", [1.0, 120.0])
def test_the_gaussian_scale_is_the_smallest_that_will_do(width):
    p = fitted(veil.GaussianMechanism(1.0, 1e-6, (0.0, width)))
    # The sampler's own δ and the grid take about 1e-5 of it.
    assert p.scale_[0] / width == pytest.approx(4.2247, abs=2e-4)
    assert p.scale_[0] / width > gaussian_scale(1.0, 1e-6)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_the_analytic_calibration_solves_its_equation(epsilon, delta):
    sigma = gaussian_scale(epsilon, delta)

    def excess(s):
        return norm.cdf(0.5 / s - epsilon * s) - exp(epsilon) * norm.cdf(-0.5 / s - epsilon * s)

    assert excess(sigma) == pytest.approx(delta, rel=1e-5)
    assert excess(0.999 * sigma) > delta
    assert gaussian_scale(epsilon, delta, 3.0) == pytest.approx(3 * sigma, rel=1e-12)


def test_the_classical_calibration_is_larger():
    assert gaussian_scale(0.9, 1e-6) < np.sqrt(2 * np.log(1.25 / 1e-6)) / 0.9


# -- the law of what is released -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (veil.LaplaceMechanism(1.5, (-1, 3), random_state=1), laplace),
        (veil.GaussianMechanism(1.5, 1e-5, (-1, 3), random_state=1), norm),
    ],
    ids=["laplace", "normal"],
)
def test_noise_has_the_stated_law(mechanism, law):
    values = np.random.default_rng(0).uniform(-1, 3, size=(20_000, 1))
    release, _ = veil.publish(values, mechanism)
    noise = release.to_numpy()[:, 0] - values[:, 0]
    scale = fitted(mechanism).scale_[0]
    assert kstest(noise / scale, law.cdf).pvalue > 1e-4
    assert kstest(noise / (1.1 * scale), law.cdf).pvalue < 1e-4
    assert release.only_part.parameters["scale"][0] == pytest.approx(scale * (2**0.5 if law is laplace else 1.0))


@pytest.mark.parametrize(
    "mechanism",
    [veil.LaplaceMechanism(1.0, (0, 1)), veil.GaussianMechanism(1.0, 1e-6, (0, 1))],
    ids=["laplace", "normal"],
)
def test_the_attainable_set_does_not_depend_on_the_value(mechanism):
    values = np.array([[0.0], [1.0], [0.1], [1 / 3], [0.7000000001]]).repeat(400, axis=0)
    release, _ = veil.publish(values, mechanism)
    grid = release.only_part.parameters["grid"][0]
    steps = release.to_numpy() / grid
    assert np.log2(grid).is_integer()
    assert (steps == np.rint(steps)).all()
    odd = (steps.reshape(5, -1) % 2).mean(axis=1)  # no pattern of x in the last bits
    assert within_standard_errors(odd, 0.5, np.sqrt(0.25 / 400), 5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_cell_exceeds_e_to_the_epsilon_but_for_delta(epsilon):
    mechanism = veil.LaplaceMechanism(epsilon, (0, 1))
    found, error = delta_of(mechanism)
    assert found + 4 * error <= stated_delta(mechanism)
    assert stated_delta(mechanism) <= 1e-9


def test_half_the_noise_would_not_do():
    class Half(veil.LaplaceMechanism):
        def _scale_for(self, sensitivity):
            return 0.5 * super()._scale_for(sensitivity)

    found, error = delta_of(Half(1.0, (0, 1)))
    assert found - 4 * error > 0.1


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.3, 1e-3), (4.0, 1e-9)])
def test_the_gaussian_mechanism_spends_its_delta_and_no_more(epsilon, delta):
    found, error = delta_of(veil.GaussianMechanism(epsilon, delta, (0, 1)), strata=60)
    assert found - 4 * error <= delta
    assert found + 4 * error > 0.8 * delta


@pytest.mark.parametrize(
    "mechanism", [veil.LaplaceMechanism(e, (0, 1)) for e in (8.0, 15.0)], ids=lambda m: f"{m.epsilon:g}"
)
def test_delta_holds_for_large_epsilon(mechanism):
    found, error = delta_of(mechanism)
    assert found - 4 * error <= stated_delta(mechanism)


@pytest.mark.parametrize("epsilon", [20.0, 100.0])
def test_epsilon_beyond_what_the_sampler_can_keep_is_refused(epsilon):
    with pytest.raises(InputError, match="epsilon must be a number from 1e-6 to 15"):
        veil.LaplaceMechanism(epsilon, (0, 1)).fit(np.zeros((5, 1)))


def test_delta_of_the_gaussian_mechanism_holds_for_large_epsilon():
    found, error = delta_of(veil.GaussianMechanism(15.0, 1e-4, (0, 1)), strata=60)
    assert found - 4 * error <= 1e-4
    with pytest.raises(InputError, match="epsilon must be a number from 1e-6 to 15"):
        veil.GaussianMechanism(30.0, 1e-4, (0, 1)).fit(np.zeros((5, 1)))
    with pytest.raises(InputError, match="delta must be from"):  # less than the sampler's own
        veil.GaussianMechanism(15.0, 1e-9, (0, 1)).fit(np.zeros((5, 1)))


@pytest.mark.parametrize("width", [1e9, 1e12])
def test_delta_holds_for_wide_bounds(width):
    mechanism = veil.LaplaceMechanism(1.0, (0, width))
    found, error = delta_of(mechanism)
    assert found - 4 * error <= stated_delta(mechanism)


def test_the_sampler_has_the_delta_that_is_said():
    assert stated_delta(veil.LaplaceMechanism(1.0, (0, 1))) >= sampler_delta(1.0) * 0.99


def test_a_million_draws_stay_within_e_to_the_epsilon():
    """Counts of coarse cells from x = low and x = high, simultaneously at 99.9 %: no log-ratio is shown above ε."""
    n, epsilon, cells = 500_000, 1.0, 24
    values = np.repeat([[0.0], [1.0]], n, axis=0)
    release, _ = veil.publish(values, veil.LaplaceMechanism(epsilon, (0, 1), random_state=8))
    y = release.to_numpy()[:, 0]
    edges = np.linspace(-5, 6, cells - 1)
    low, high = (np.bincount(np.searchsorted(edges, part), minlength=cells) for part in (y[:n], y[n:]))
    ratio, error = np.log(low / high), np.sqrt(1 / low + 1 / high)
    limit = norm.isf(0.001 / (2 * cells))
    assert (np.abs(ratio) - limit * error).max() <= epsilon
    assert np.abs(ratio).max() > 0.9 * epsilon  # the test has power: the outer cells are at the limit


# -- clipping, bounds, missing values ------------------------------------------------------------------------------


def test_values_outside_the_bounds_are_clipped():
    n = 20_000
    values = np.repeat([[-1e6], [0.0], [1.0], [1e6]], n, axis=0)
    release, _ = veil.publish(values, veil.GaussianMechanism(4.0, 1e-4, (0, 1), random_state=2))
    y = release.to_numpy()[:, 0].reshape(4, n)
    error = 5 * y.std() * np.sqrt(2 / n)
    assert abs(y[0].mean() - y[1].mean()) < error
    assert abs(y[2].mean() - y[3].mean()) < error
    assert abs(y[2].mean() - y[1].mean() - 1) < error


def test_bounds_per_column():
    frame = pd.DataFrame({"age": [30.0] * 4_000, "rate": [0.5] * 4_000})
    release, _ = veil.publish(frame, veil.LaplaceMechanism(1.0, {"age": (0, 100), "rate": (0, 1)}, random_state=0))
    spread = release.to_numpy().std(axis=0)
    assert spread[0] / spread[1] == pytest.approx(100, rel=0.15)
    assert release.only_part.parameters["bounds"] == [[0.0, 100.0], [0.0, 1.0]]
    both = np.corrcoef(release.to_numpy().T)[0, 1]
    assert abs(both) < 5 / np.sqrt(4_000)


def test_missing_values_pass_and_the_manifest_says_so():
    frame = pd.DataFrame({"a": [0.5, np.nan, 0.2, np.nan]})
    release, _ = veil.publish(frame, veil.LaplaceMechanism(bounds=(0, 1)))
    assert release.data["a"].isna().tolist() == [False, True, False, True]
    assert "pattern is public" in release.manifest.missing
    assert "which values are missing are outside it" in release.manifest.guarantee


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0), 5, (0, 1, 2), ("a", "b"), (0, np.inf), {"other": (0, 1)}])
@pytest.mark.parametrize("make", [veil.LaplaceMechanism, veil.GaussianMechanism])
def test_bad_bounds_are_refused(make, bounds):
    with pytest.raises(InputError, match=r"bounds must be \(low, high\) with low below high, for column 'x0'"):
        veil.publish(ONE, make(bounds=bounds))


@pytest.mark.parametrize("make", [veil.LaplaceMechanism, veil.GaussianMechanism])
def test_bounds_must_be_declared(make):
    with pytest.raises(InputError, match=r"bounds must be declared, .* column 'x0' has none") as caught:
        veil.publish(ONE, make())
    assert caught.value.parameter == "bounds"


def test_bounds_that_float64_cannot_hold_are_refused():
    with pytest.raises(InputError, match="too far from 0"):
        veil.publish(ONE, veil.LaplaceMechanism(1.0, (1e18, 1e18 + 1e3)))


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), "1", True, 1e9])
@pytest.mark.parametrize("make", [veil.LaplaceMechanism, veil.GaussianMechanism])
def test_bad_epsilon_is_refused(make, epsilon):
    with pytest.raises(InputError, match="epsilon must be"):
        veil.publish(ONE, make(epsilon))


@pytest.mark.parametrize("delta", [0, 1e-12, 0.9, "1", float("nan")])
def test_bad_delta_is_refused(delta):
    with pytest.raises(InputError, match="delta must be"):
        veil.publish(ONE, veil.GaussianMechanism(1.0, delta))


def test_texts_are_no_numbers():
    with pytest.raises(InputError, match="'c'"):
        veil.publish(pd.DataFrame({"c": ["a", "b"]}), veil.LaplaceMechanism())


@pytest.mark.parametrize("bounds", [{"x0": (np.int64(0), np.int64(1))}, {"x0": np.array([0.0, 1.0])}])
def test_the_key_of_any_accepted_bounds_can_be_saved(bounds, tmp_path):
    _, key = veil.publish(ONE, veil.LaplaceMechanism(1.0, bounds))
    key.save(tmp_path / "key")


# -- the guarantee in words ------------------------------------------------------------------------------------------


def test_guarantees_say_what_adds_up():
    table = np.random.default_rng(0).random((50, 3))
    laplace_, _ = veil.publish(table, veil.LaplaceMechanism(0.5, (0, 1)))
    assert laplace_.manifest.guarantee.startswith("local differential privacy: epsilon 0.5, delta ")
    assert "epsilon 1.5, delta " in laplace_.manifest.guarantee
    assert "for all 3 values of one record" in laplace_.manifest.guarantee
    normal, _ = veil.publish(table, veil.GaussianMechanism(0.5, 1e-6, (0, 1)))
    assert "epsilon 0.5, delta 1e-06 for one value; epsilon 1.5, delta 3e-06 for all 3" in normal.manifest.guarantee


@pytest.mark.parametrize("make", [veil.LaplaceMechanism, veil.GaussianMechanism])
def test_a_seed_voids_the_guarantee(make):
    assert veil.publish(ONE, make(bounds=(0, 1), random_state=0))[0].manifest.guarantee == "none"
    assert veil.publish(ONE, make(bounds=(0, 1)), key=veil.Key.from_seed(1))[0].manifest.guarantee == "none"
    assert veil.publish(ONE, make(bounds=(0, 1)), key=veil.Key())[0].manifest.guarantee != "none"


def test_kept_noise_is_refused():
    frame = pd.DataFrame({"id": ["a", "b"], "x": [0.1, 0.2]})
    with pytest.raises(InputError, match="consistent_on"):
        veil.publish(frame, veil.LaplaceMechanism(), consistent_on="id")


def test_the_key_cannot_take_the_noise_off():
    release, key = veil.publish(ONE, veil.LaplaceMechanism(bounds=(0, 1)))
    with pytest.raises(veil.NotInvertibleError):
        veil.restore(release, key)


def test_the_release_says_bounds_and_law_and_nothing_measured():
    one, other = (
        veil.publish(np.full((20, 1), value), veil.LaplaceMechanism(1.0, (0, 1)))[0].only_part.parameters
        for value in (0.1, 0.9)
    )
    assert one == other
    assert set(one) == {"distribution", "scale", "grid", "bounds"}


# -- attacks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [veil.LaplaceMechanism(12.0, (-6, 6)), veil.GaussianMechanism(12.0, 1e-4, (-6, 6))],
    ids=["laplace", "normal"],
)
def test_noise_attacks_apply(mechanism):
    n, rng = 4_000, np.random.default_rng(0)
    x = rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 4))
    release, _ = veil.publish(x, mechanism, key=veil.Key.from_seed(4))
    power = release.only_part.parameters["scale"][0] ** 2
    large = 4.01
    theory = (large * power / (large + power) + 3 * 0.01 * power / (0.01 + power)) / 4
    together = np.mean((veil.BayesEstimateAttack().run(release).values - x) ** 2)
    assert together == pytest.approx(theory, rel=5 * np.sqrt(2 / n))
    alone = np.mean((veil.UnivariateBayesAttack().run(release).values - x) ** 2)
    assert together < alone < 1.1 * 1.01 * power / (1.01 + power)  # correlated columns make the most of the budget
    moments = veil.MomentRecovery().fit(release)
    assert moments.covariance_[0, 1] == pytest.approx(1.0, abs=5 * (1.01 + power) * np.sqrt(2 / n))
