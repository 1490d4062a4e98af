"""Low bits leak: a double x + r betrays x in its last bits, a release on a grid does not (Mironov 2012).

The classifiers here look at the low bits alone, never at the size of a value, which noise is
meant to blur. On naive float addition they find x; on a release they must do no better than a coin.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veil
from veil.keys.noise import add_noise, grid_for

LAWS = {
    "normal": lambda u: stats.norm.ppf(u),
    "uniform": lambda u: np.sqrt(12.0) * (u - 0.5),
    "laplace": lambda u: stats.laplace.ppf(u) / np.sqrt(2.0),
}
CHANCES = {
    "normal": stats.norm.cdf,
    "uniform": lambda z: np.clip(z / np.sqrt(12.0) + 0.5, 0, 1),
    "laplace": lambda z: stats.laplace.cdf(z * np.sqrt(2.0)),
}
N = 40_000
SCALE = 0.5


def coin_error(n: int) -> float:
    """Four and a half standard errors of a coin's rate over ``n`` throws: exceeded once in 150,000."""
    return 4.5 * 0.5 / np.sqrt(n)


def lookup_accuracy(labels, features) -> float:
    """Learn the majority label of every feature value on one half, and score it on the other."""
    half = len(labels) // 2
    codes = np.unique(features, return_inverse=True)[1].ravel()
    votes = np.zeros(codes.max() + 1)
    np.add.at(votes, codes[:half], 2.0 * labels[:half] - 1.0)
    return float(((votes[codes[half:]] > 0) == (labels[half:] > 0)).mean())


def lowest_bit(values, unit: float = 2.0**-60):
    """Place of the lowest set bit, as an absolute power of two: 0 for multiples of an odd ``unit``."""
    whole = np.abs(values / unit)
    whole = np.where(whole < 2.0**62, whole, 0.0).astype(np.int64)
    return np.where(whole == 0, 63, np.log2((whole & -whole).astype(float), where=whole != 0, out=np.zeros(len(whole))))


def release_of(columns, law, scale=SCALE, **settings):
    method = veil.AdditiveNoise(scale, distribution=law, random_state=20_240_601, **settings)
    release, _ = veil.publish(pd.DataFrame(columns), method, roles=dict.fromkeys(columns, "sensitive"))
    return (
        release.to_numpy(),
        np.array(release.only_part.parameters["grid"]),
        np.array(release.only_part.parameters["scale"]),
    )


# -- what the grid is ---------------------------------------------------------------------------

rng = np.random.default_rng(5)
TABLES = {
    "bits": rng.integers(0, 2, N).astype(float),
    "tenths": rng.integers(0, 100, N) / 10,
    "thirds": rng.integers(0, 100, N) / 3,
    "integers": rng.integers(-1000, 1000, N),
    "large": 1e9 + rng.normal(size=N) * 1e6,
    "small": rng.normal(size=N) * 1e-9,
    "tiny": rng.normal(size=N) * 1e-120,
    "huge": rng.normal(size=N) * 1e120,
    "half floats": rng.normal(size=N).astype(np.float16),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("table", TABLES)
def test_released_values_are_multiples_of_a_small_power_of_two(table, scale, law):
    y, grid, sigma = release_of({"x": TABLES[table][:5_000]}, law, scale)
    assert np.frexp(grid[0])[0] == 0.5, "the grid is no power of two"
    assert grid[0] <= sigma[0] / 2**20
    assert np.isfinite(y).all()
    steps = y[:, 0] / grid[0]
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert len(np.unique(y)) > 4_900, "the noise is too coarse to be noise"


@pytest.mark.parametrize("law", LAWS)
def test_transform_and_consistent_releases_are_on_the_grid_too(law):
    frame = pd.DataFrame({"x": TABLES["tenths"][:2_000], "id": np.arange(2_000)})
    method = veil.AdditiveNoise(SCALE, distribution=law, random_state=1)
    fitted = method.fit(frame[["x"]])
    release, _ = veil.publish(frame, method, consistent_on="id")
    for y, grid in (
        (fitted.transform(frame[["x"]]), fitted.grid_),
        (release.to_numpy(), release.only_part.parameters["grid"]),
    ):
        steps = y[:, 0] / grid[0]
        np.testing.assert_array_equal(steps, np.rint(steps))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("x", [1.0, 0.1, -1 / 3, 1e-9, 123456.789, -(2.0**20) + 0.3])
def test_attainable_values_do_not_depend_on_the_private_value(x, law):
    """For every random word, y(x) − y(0) is the same multiple of the grid: the sets are shifts on one grid."""
    words = np.random.default_rng(9).integers(0, 2**64, 20_000, dtype=np.uint64)
    words[:4] = [0, 2**63 - 1, 2**63, 2**64 - 1]
    grid = grid_for(SCALE)
    at_x = add_noise(np.full(len(words), x), words, law, SCALE, grid)
    at_zero = add_noise(np.zeros(len(words)), words, law, SCALE, grid)
    np.testing.assert_array_equal(at_x - at_zero, np.full(len(words), grid * np.rint(x / grid)))


# -- naive addition, and what a red team makes of it --------------------------------------------


def naive(x, law, seed=3):
    """x + r in floating point, r by inversion of a 32-bit uniform number, as statistics packages draw it."""
    words = np.random.default_rng(seed).integers(1, 2**32, len(x))
    return x + SCALE * LAWS[law](words / 2**32)


def explains(y, x, law):
    """Whether a 32-bit draw exists that would have turned ``x`` into exactly this ``y``."""
    centre = np.rint(CHANCES[law]((y - x) / SCALE) * 2**32)
    found = np.zeros(len(y), dtype=bool)
    for near in (-2, -1, 0, 1, 2):
        words = np.clip(centre + near, 1, 2**32 - 1)
        found |= x + SCALE * LAWS[law](words / 2**32) == y
    return found


@pytest.mark.parametrize("law", LAWS)
def test_naive_addition_betrays_a_bit(law):
    """The attack that the grid is for: 0 or 1 under noise of half a unit is read off in 99 % of the rows."""
    x = TABLES["bits"]
    y = naive(x, law)
    as_zero, as_one = explains(y, 0.0, law), explains(y, 1.0, law)
    decided = as_zero != as_one
    right = decided & (as_one == (x == 1))
    assert right.mean() > 0.99


@pytest.mark.parametrize("law", LAWS)
def test_the_same_attack_on_a_release_decides_nothing(law):
    """Every released value is explained by 0 as well as by 1: only the grid's own points are attainable."""
    y, grid, sigma = release_of({"x": TABLES["bits"]}, law, relative=False)
    for x in (0.0, 1.0):
        steps = (y[:, 0] - grid[0] * np.rint(x / grid[0])) / grid[0]
        np.testing.assert_array_equal(steps, np.rint(steps))
    assert sigma[0] == SCALE


def test_trailing_bits_of_naive_normal_noise_betray_a_bit():
    """Even full-precision normal noise: 1 + r is rounded to the bits of 1, r alone has lower ones."""
    x = TABLES["bits"]
    y = x + 0.02 * np.random.default_rng(4).normal(size=N)
    assert lookup_accuracy(x, lowest_bit(y)) > 0.97


# -- classifiers on the release -----------------------------------------------------------------


def low_bits(y, grid, count):
    """The last bits of a released value, counted from the public grid upwards."""
    return np.mod(np.rint(y / grid), 2.0**count).astype(int)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0])
def test_low_bits_of_a_release_do_not_tell_a_bit(scale, law):
    x = TABLES["bits"]
    y, grid, _ = release_of({"x": x}, law, scale)
    for count in (1, 2, 4, 8):
        assert abs(lookup_accuracy(x, low_bits(y[:, 0], grid[0], count)) - 0.5) < coin_error(N // 2)
    place = lowest_bit(y[:, 0] / grid[0], unit=1.0)
    assert abs(lookup_accuracy(x, np.minimum(place, 8)) - 0.5) < coin_error(N // 2)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("other", ["tenths", "thirds", "hundredths", "eighths"])
def test_low_bits_do_not_tell_whole_numbers_from_fractions(other, law):
    """Half of the rows hold whole numbers and half hold fractions; the last bits say nothing about which."""
    source = np.random.default_rng(31)
    fraction = {"tenths": 10, "thirds": 3, "hundredths": 100, "eighths": 8}[other]
    whole = source.integers(0, 2, N)
    base = source.integers(0, 50, N)
    x = np.where(whole == 1, base, base + source.integers(1, fraction, N) / fraction)
    y, grid, _ = release_of({"x": x}, law)
    for count in (1, 4, 8):
        assert abs(lookup_accuracy(whole, low_bits(y[:, 0], grid[0], count)) - 0.5) < coin_error(N // 2)
    place = lowest_bit(y[:, 0] / grid[0], unit=1.0)
    assert abs(lookup_accuracy(whole, np.minimum(place, 8)) - 0.5) < coin_error(N // 2)


@pytest.mark.parametrize("format", ["csv", "parquet", "feather"])
def test_files_keep_the_grid(format, tmp_path):
    """Text or binary, the file holds the values on the grid, to the last bit."""
    frame = pd.DataFrame({"x": TABLES["thirds"][:2_000]})
    release, _ = veil.publish(frame, veil.AdditiveNoise(random_state=2))
    release.save(tmp_path / "release", format=format)
    loaded = veil.Release.load(tmp_path / "release")
    np.testing.assert_array_equal(loaded.to_numpy(), release.to_numpy())
    steps = loaded.to_numpy() / release.only_part.parameters["grid"][0]
    np.testing.assert_array_equal(steps, np.rint(steps))


def test_a_missing_value_carries_nothing():
    # A NaN has 51 bits of its own, in which some programs keep a reason or a code.
    private = np.random.default_rng(0).normal(size=(40_000, 3))
    private.view(np.uint64)[[7, 39_999], 1] = 0x7FF8_DEAD_0000_BEEF
    released = [
        veil.AdditiveNoise(SCALE, random_state=1).fit_transform(private),
        veil.AdditiveNoise(SCALE, random_state=1).fit(private).transform(private),
        veil.publish(private, veil.AdditiveNoise(SCALE, random_state=1))[0].to_numpy(),
    ]
    for values in released:
        assert np.isnan(values[[7, 39_999], 1]).all()
        assert set(np.ascontiguousarray(values).view(np.uint64)[np.isnan(values)]) == {0x7FF8_0000_0000_0000}
