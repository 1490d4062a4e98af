"""Entropy privacy (M4) against closed forms, simulation and Ketel's table."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures import (
    Measure,
    conditional_privacy,
    entropy_privacy,
    privacy_loss,
    rotated_correlation,
)

SECRET = 8675309.25
KETEL = np.array([[36, 72e3], [21, 19e3], [32, 36e3], [45, 38e3], [33, 42e3], [41, 35e3]])


def normal_pair(rho: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, rho * x + math.sqrt(1 - rho * rho) * rng.normal(size=n)


@pytest.mark.parametrize(
    ("rho", "loss"),
    [(0.1, 0.005), (0.3, 0.046), (0.5, 0.134), (0.7071, 0.293), (0.8, 0.4), (0.9, 0.564), (0.95, 0.688), (0.99, 0.859)],
)
def test_ketel_figure_1(rho: float, loss: float) -> None:
    assert round(float(privacy_loss(rho)), 3) == loss
    assert privacy_loss(rho) == pytest.approx(1 - math.sqrt(1 - rho * rho), abs=1e-12)


@pytest.mark.parametrize(("rho", "privacy"), [(0.0, 4.1327), (0.5, 3.5791), (0.9, 1.8014), (1.0, 0.0)])
def test_ketel_figure_2(rho: float, privacy: float) -> None:
    assert round(float(conditional_privacy(rho)), 4) == privacy
    assert conditional_privacy(rho) == pytest.approx(math.sqrt(2 * math.pi * math.e * (1 - rho * rho)), abs=1e-12)
    assert conditional_privacy(rho, sigma=3.0) == pytest.approx(3 * float(conditional_privacy(rho)), abs=1e-12)


def test_ketel_at_a_quarter_of_pi_and_his_rounding_slip() -> None:
    rho = rotated_correlation(math.pi / 4)
    assert privacy_loss(rho) == pytest.approx(1 - math.sqrt(0.5), abs=1e-12)
    assert conditional_privacy(rho) == pytest.approx(math.sqrt(math.pi * math.e), abs=1e-12)
    assert round(float(conditional_privacy(rho)), 4) == 2.9223  # printed 2.921


@given(rho=st.floats(-1, 1), sigma=st.floats(1e-6, 1e6))
def test_loss_is_the_share_of_privacy_lost(rho: float, sigma: float) -> None:
    left = conditional_privacy(rho, sigma=sigma) / conditional_privacy(0.0, sigma=sigma)
    assert privacy_loss(rho) == pytest.approx(1 - left, abs=1e-12)
    assert 0.0 <= privacy_loss(rho) <= 1.0


def test_small_correlations_keep_their_digits() -> None:
    assert privacy_loss(1e-9) == pytest.approx(0.5e-18, rel=1e-12)


def test_arrays_of_correlations_give_arrays() -> None:
    grid = np.linspace(0, 1, 101)
    losses = privacy_loss(grid)
    assert isinstance(losses, np.ndarray)
    assert (np.diff(losses) > 0).all()
    assert losses[50] == float(privacy_loss(0.5))
    assert isinstance(privacy_loss(0.5), Measure)


def test_rotation_of_correlated_columns_is_not_cosine() -> None:
    """Errata K: his own table has r = .394, so the loss is .270 where ρ = cosθ says .094."""
    z = (KETEL - KETEL.mean(axis=0)) / KETEL.std(axis=0)
    r = float(np.corrcoef(z.T)[0, 1])
    assert round(r, 3) == 0.394
    rotated = z[:, 0] * math.cos(13.7) + z[:, 1] * math.sin(13.7)
    assert round(float(rotated.var()), 3) == 1.302
    rho = rotated_correlation(13.7, r)
    assert rho == pytest.approx(float(np.corrcoef(z[:, 0], rotated)[0, 1]), abs=1e-12)
    assert round(float(privacy_loss(rho)), 3) == 0.270
    assert round(float(privacy_loss(math.cos(13.7))), 3) == 0.094  # the paper's, which is wrong here
    assert round(float(privacy_loss(rotated_correlation(13.7))), 3) == 0.094


@given(theta=st.floats(-20, 20), r=st.floats(-1, 1))
def test_rotated_correlation_is_the_correlation_of_a_2_by_2_covariance(theta: float, r: float) -> None:
    rotation = np.array([math.cos(theta), math.sin(theta)])
    covariance = np.array([[1.0, r], [r, 1.0]])
    variance = rotation @ covariance @ rotation
    rho = rotated_correlation(theta, r)
    assert -1.0 <= rho <= 1.0
    if variance > 1e-6:
        assert rho == pytest.approx((covariance @ rotation)[0] / math.sqrt(variance), abs=1e-6)


def test_special_angles() -> None:
    assert rotated_correlation(0.0) == 1.0
    assert rotated_correlation(math.pi / 2) == pytest.approx(0.0, abs=1e-15)
    assert rotated_correlation(math.pi) == -1.0
    assert rotated_correlation(math.pi / 4, -1.0) == 0.0  # Z is constant


@pytest.mark.parametrize("n", [2_000, 50_000])
def test_entropy_of_samples_against_the_law(n: int) -> None:
    """Within 5 standard errors (√Var(−ln f)/√n) and 1 % of binning."""
    rng = np.random.default_rng(n)
    cases = [
        (rng.normal(5.0, 3.0, n), 3 * math.sqrt(2 * math.pi * math.e), math.sqrt(0.5)),
        (rng.uniform(-2, 2, n), 4.0, 0.0),
        (rng.exponential(2.0, n), 2 * math.e, 1.0),
        (rng.laplace(0.0, 1.0, n), 2 * math.e, 1.0),
    ]
    for sample, privacy, spread in cases:
        assert entropy_privacy(sample) == pytest.approx(privacy, rel=5 * spread / math.sqrt(n) + 0.01)


def test_entropy_of_rounded_values_counts_their_unit() -> None:
    """Whole numbers: 2^H(X) of the discrete law, not 0, and no comb from bins between the numbers."""
    sample = np.random.default_rng(0).integers(0, 8, 40_000)
    assert entropy_privacy(sample) == pytest.approx(8.0, rel=0.01)
    ages = np.round(np.random.default_rng(1).normal(40, 12, 40_000))
    assert entropy_privacy(ages) == pytest.approx(12 * math.sqrt(2 * math.pi * math.e), rel=0.02)


@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-100, 100))
def test_entropy_has_the_units_of_the_column(scale: float, shift: float) -> None:
    x = np.random.default_rng(3).normal(size=300)
    assert entropy_privacy(scale * x + shift) == pytest.approx(scale * float(entropy_privacy(x)), rel=0.02)


def test_entropy_of_laws_and_of_histograms() -> None:
    stats = pytest.importorskip("scipy.stats")
    assert entropy_privacy(stats.norm(1.0, 2.0)) == pytest.approx(2 * math.sqrt(2 * math.pi * math.e), abs=1e-12)
    assert entropy_privacy(stats.uniform(0, 0.25)) == pytest.approx(0.25, abs=1e-12)  # entropy −2 bits: negative
    assert entropy_privacy([1, 1, 2], edges=[0, 1, 2, 4]) == pytest.approx(4.0, abs=1e-12)
    assert entropy_privacy([0, 1], edges=[0, 1, 3]) == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [500, 20_000])
def test_estimates_from_normal_samples(rho: float, n: int) -> None:
    """I has standard error ρ/√n; the estimate takes the larger of two, so it may lie above by a little more."""
    x, z = normal_pair(rho, n, seed=int(100 * rho) + n)
    left = math.sqrt(1 - rho * rho)
    allowed = left * (math.expm1(5 * rho / math.sqrt(n)) + 25 / n + 0.01)
    for method in ("histogram", "normal"):
        assert privacy_loss(x, z, method=method) == pytest.approx(1 - left, abs=allowed)
    kept = math.sqrt(2 * math.pi * math.e) * left
    assert conditional_privacy(x, z) == pytest.approx(kept, rel=5 / math.sqrt(n) + 25 / n + 0.02)
    assert conditional_privacy(x, z, method="normal") == pytest.approx(kept, rel=6 / math.sqrt(n))


def test_intervals_cover() -> None:
    """40 runs at 95 %: fewer than 32 covers has probability 1e−4."""
    truth, kept = float(privacy_loss(0.6)), float(conditional_privacy(0.6))
    losses = covered = 0
    for seed in range(40):
        x, z = normal_pair(0.6, 2_000, seed)
        loss, privacy = privacy_loss(x, z), conditional_privacy(x, z)
        losses += loss.low <= truth <= loss.high
        covered += privacy.low <= kept <= privacy.high
    assert losses >= 32
    assert covered >= 32


def test_dependence_without_correlation_is_seen() -> None:
    """Z = X² of a symmetric X leaves little but the sign unknown; a correlation of 0 sees nothing."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=20_000)
    z = x**2 + 0.05 * rng.normal(size=x.size)
    assert privacy_loss(x, z) > 0.5
    assert privacy_loss(x, z, method="normal") < 0.01


def test_loss_does_not_depend_on_units_or_monotone_scales() -> None:
    x, z = normal_pair(0.7, 3_000, seed=9)
    assert privacy_loss(np.exp(x), 5 - 2 * z) == pytest.approx(float(privacy_loss(x, z)), abs=1e-3)


def test_a_release_that_gives_everything_away() -> None:
    x = np.random.default_rng(2).normal(size=1_000)
    assert privacy_loss(x, 3 * x) == 1.0
    assert conditional_privacy(x, 3 * x) == 0.0
    assert privacy_loss(x, 3 * x, method="normal") == pytest.approx(1.0, abs=1e-6)
    coin = np.arange(1_000) % 2  # two categories: one bit is lost, not everything
    assert privacy_loss(coin, coin) == pytest.approx(0.5, abs=0.01)


def test_categories_are_not_mistaken_for_normal_scores() -> None:
    """A bit told rightly in 90 %: I = 1 − H(.1) = .531 bits, loss .308; two-level scores would say .4."""
    rng = np.random.default_rng(4)
    bit = rng.integers(0, 2, 50_000)
    told = np.where(rng.random(bit.size) < 0.9, bit, 1 - bit)
    assert privacy_loss(bit, told) == pytest.approx(0.308, abs=0.01)


def test_columns_of_frames_are_samples() -> None:
    x, z = normal_pair(0.5, 300, seed=1)
    for library in ("pandas", "polars"):
        column = pytest.importorskip(library).Series
        assert entropy_privacy(column(x)) == entropy_privacy(x)
        assert privacy_loss(column(x), column(z)) == privacy_loss(x, z)


def test_constants_tiny_samples_and_missing_values() -> None:
    assert entropy_privacy([3.0, 3.0, 3.0]) == 0.0
    assert entropy_privacy([3.0]) == 0.0
    assert math.isnan(entropy_privacy([math.nan]))
    two = entropy_privacy([0.0, 1.0])
    assert 0 < two < math.inf
    assert (two.low, two.high) == (0.0, math.inf)
    x, z = normal_pair(0.5, 400, seed=1)
    holes = np.where(np.arange(400) % 7 == 0, math.nan, z)
    kept = np.arange(400) % 7 != 0
    assert privacy_loss(x, holes) == privacy_loss(x[kept], z[kept])
    assert math.isnan(privacy_loss([math.nan], [1.0]))
    assert math.isnan(conditional_privacy([math.nan], [1.0]))
    assert privacy_loss(np.ones(50), z[:50]) == 0.0
    assert privacy_loss(np.ones(50), z[:50], method="normal") == 0.0
    assert conditional_privacy(np.ones(50), z[:50]) == 0.0
    few = privacy_loss([1.0, 2.0], [2.0, 1.0])
    assert 0.0 <= few <= 1.0
    assert few.high == 1.0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: privacy_loss(SECRET), "x"),
        (lambda: privacy_loss("text"), "x"),
        (lambda: privacy_loss([SECRET, 2.0], [1.0]), "z"),
        (lambda: privacy_loss([SECRET, 2.0], [1.0, 2.0], method="text"), "method"),
        (lambda: conditional_privacy(0.5, sigma=-1.0), "sigma"),
        (lambda: conditional_privacy([1.0, 2.0], [1.0, 2.0], sigma=SECRET), "sigma"),
        (lambda: entropy_privacy([[SECRET, 2.0], [3.0, 4.0]]), "x"),
        (lambda: entropy_privacy([SECRET, math.inf]), "x"),
        (lambda: entropy_privacy([0.5, 0.5], edges=[SECRET, 0.0, 1.0]), "edges"),
        (lambda: entropy_privacy([-SECRET, 0.5], edges=[0.0, 1.0, 2.0]), "x"),
        (lambda: rotated_correlation(math.nan, 0.0), "theta"),
        (lambda: rotated_correlation(0.0, SECRET), "r"),
    ],
)
def test_refusals(call: object, name: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert message.startswith((f"{name}: ", f"{name} must be "))
    assert "\n" not in message
    assert "8675309" not in message
    assert "text" not in message
