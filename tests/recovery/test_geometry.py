"""R7: intervals of distances and inner products hold at their level, for every kind (Liu 2007, 5.1)."""

import math

import numpy as np
import pytest

from _tables import within_standard_errors
from veil.errors import InputError
from veil.measures.projection import KINDS, distance_variance, inner_product_variance
from veil.recovery.geometry import distance_interval, hamming_estimate, inner_product_interval

DRAWS = 4_000


def projected(kind, x, y, k, seed, noise=0.0):
    """Two records under DRAWS independent matrices of one kind, DRAWS × k each."""
    rng = np.random.default_rng(seed)
    d, shape = len(x), (DRAWS * k, len(x))
    if kind == "gaussian":
        r = rng.standard_normal(shape)
    else:
        s = {"achlioptas1": 1.0, "achlioptas3": 3.0, "sparse": math.sqrt(d)}[kind]
        r = math.sqrt(s) * rng.choice([-1.0, 0.0, 1.0], size=shape, p=[1 / (2 * s), 1 - 1 / s, 1 / (2 * s)])
    u, v = ((r @ record).reshape(DRAWS, k) / math.sqrt(k) for record in (x, y))
    return u + noise * rng.standard_normal(u.shape), v + noise * rng.standard_normal(v.shape)


def coverage(found, truth):
    return float(((found.low <= truth) & (truth <= found.high)).mean())


def error_of(level):
    return math.sqrt(level * (1 - level) / DRAWS)


def pair(d, seed=0, scale=1.0):
    x, other = np.random.default_rng(seed).normal(size=(2, d))
    return x, scale * (0.7 * x + 0.7 * other)


@pytest.mark.parametrize("k", [1, 2, 10])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_gaussian_distances_have_an_exact_interval(k, level):
    x, y = pair(12)
    u, v = projected("gaussian", x, y, k, k)
    found = distance_interval(u, v, confidence=level)
    assert within_standard_errors(coverage(found, ((x - y) ** 2).sum()), level, error_of(level), 4.5)


def test_the_normal_interval_would_fail():
    """± 1.96 standard errors cover a distance too rarely at k = 5."""
    x, y = pair(12)
    u, v = projected("gaussian", x, y, 5, 1)
    found = distance_interval(u, v)
    half = 1.96 * found.value * math.sqrt(2 / 5)
    assert (np.abs(found.value - ((x - y) ** 2).sum()) <= half).mean() < 0.95 - 10 * error_of(0.95)


@pytest.mark.parametrize("k", [5, 20, 80])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_gaussian_inner_products_reach_their_level(k, scale):
    x, y = pair(100, scale=scale)
    found = inner_product_interval(*projected("gaussian", x, y, k, k))
    assert abs(coverage(found, x @ y) - 0.95) < 0.012 + 4.5 * error_of(0.95)


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_cover_at_least_the_level(kind):
    """Spread differences, the bound on the unknown fourth powers."""
    for d, k in [(25, 5), (100, 20)]:
        x, y = pair(d)
        u, v = projected(kind, x, y, k, d)
        least = 0.94 - 4.5 * error_of(0.95)
        assert coverage(distance_interval(u, v, kind=kind, d=d), ((x - y) ** 2).sum()) > least
        assert coverage(inner_product_interval(u, v, kind=kind, d=d), x @ y) > least


def test_one_differing_column_under_the_sparse_kind():
    """The bound holds where the spread reading, and with it the Gaussian interval, falls short."""
    x = np.random.default_rng(0).normal(size=100)
    y = x - np.eye(1, 100)[0]
    u, v = projected("sparse", x, y, 20, 5)
    assert coverage(distance_interval(u, v, kind="sparse", d=100), 1.0) > 0.94
    assert coverage(distance_interval(u, v, kind="sparse", d=100, fourth="spread"), 1.0) < 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_standard_errors_are_those_of_the_law(kind):
    d, k = 40, 12
    x, y = pair(d, seed=3)
    u, v = projected(kind, x, y, k, 7)
    reading = "spread" if kind == "sparse" else "bound"
    products = inner_product_interval(u, v, kind=kind, d=d, fourth=reading)
    distances = distance_interval(u, v, kind=kind, d=d, fourth=reading)
    for found, variance in (
        (products, inner_product_variance(x, y, k, kind)),
        (distances, distance_variance(x - y, k, kind)),
    ):
        # The plug-in variance is right on average; 15 % for the guess at the fourth powers.
        assert np.mean(found.standard_error**2) == pytest.approx(variance, rel=0.05 if kind == "gaussian" else 0.15)


def test_noise_is_taken_off():
    x, y = pair(30, seed=1)
    u, v = projected("gaussian", x, y, 10, 3, noise=0.5)
    truth = ((x - y) ** 2).sum()
    found = distance_interval(u, v, noise=0.5)
    assert within_standard_errors(coverage(found, truth), 0.95, error_of(0.95), 4.5)
    assert within_standard_errors(found.value.mean(), truth, found.value.std() / math.sqrt(DRAWS), 4.5)
    assert coverage(distance_interval(u, v), truth) < 0.95 - 4.5 * error_of(0.95)
    assert abs(coverage(inner_product_interval(u, v), x @ y) - 0.95) < 0.012 + 4.5 * error_of(0.95)


def test_equal_released_records():
    """Gaussian: the private ones are equal. Sparse: they may differ where the matrix has zeros."""
    u = np.ones(6)
    same = distance_interval(u, u)
    assert (same.value, same.low, same.high, same.standard_error) == (0.0, 0.0, 0.0, 0.0)
    assert distance_interval(u, u, kind="sparse", d=100).high == math.inf  # .9⁶ = .53
    assert distance_interval(np.ones(40), np.ones(40), kind="sparse", d=100).high == 0.0  # .9⁴⁰ = .015
    assert distance_interval(np.ones(4), np.ones(4), kind="achlioptas1").high == math.inf  # 2⁻⁴ = .06
    assert inner_product_interval(np.zeros(3), np.ones(3)).value == 0.0


def test_one_pair_gives_numbers_and_many_give_arrays():
    u, v = np.random.default_rng(0).normal(size=(2, 4, 3))
    many, one = inner_product_interval(u, v), inner_product_interval(u[2], v[2])
    assert isinstance(one.low, float)
    assert many.low.shape == (4,)
    assert many.low[2] == pytest.approx(one.low)
    assert many.high[2] == pytest.approx(one.high)


@pytest.mark.parametrize("h", [0, 1, 5, 30, 200])
def test_hamming_distances(h):
    """Liu 5.1.7's set-up: n = 200, p = ε²/l = .25²/20, k = 2,000; the interval covers, and the estimate is near."""
    d, k, p, runs = 200, 2_000, 0.25**2 / 20, 150
    rng = np.random.default_rng(h)
    share = (1 - (1 - 2 * p) ** h) / 2
    u = np.zeros((runs, k))
    v = np.array([(rng.random((k, h)) < p).sum(axis=1) % 2 for _ in range(runs)]) if h else u
    assert within_standard_errors((u != v).mean(), share, math.sqrt(max(share * (1 - share), 1e-12) / (runs * k)), 5)
    found = hamming_estimate(u, v, p=p, d=d)
    hit = float(((found.low <= h) & (h <= found.high)).mean())
    assert hit > 0.95 - 4.5 * math.sqrt(0.95 * 0.05 / runs)
    found = hamming_estimate(u, v, p=p)  # without the limit d, which would cut the spread
    spread = found.value.std()
    assert abs(found.value.mean() - h) <= 4.5 * spread / math.sqrt(runs) + 0.01 * h  # the inverse bends a little
    assert found.standard_error.mean() == pytest.approx(spread, rel=0.25, abs=0.2)


def test_hamming_beyond_the_range_sets_no_limit():
    u, v = np.zeros(10), np.ones(10)
    assert hamming_estimate(u, v, p=0.1).value == math.inf
    assert hamming_estimate(u, v, p=0.1, d=50).high == 50.0
    none = hamming_estimate(u, u, p=0.1)
    assert (none.value, none.low, none.standard_error) == (0.0, 0.0, 0.0)
    assert none.high == 4.0  # the chance that no bit of ten differs is .030 at h = 4 and .017 at h = 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: distance_interval([1.0], [1.0, 2.0]), "shapes"),
        (lambda: distance_interval([1.0], [math.nan]), "1 missing"),
        (lambda: distance_interval(["a"], ["b"]), "numbers only"),
        (lambda: distance_interval([1.0], [2.0], kind="sparse"), "d must be given"),
        (lambda: distance_interval([1.0], [2.0], kind="dense"), "kind"),
        (lambda: distance_interval([1.0], [2.0], fourth="none"), "fourth"),
        (lambda: distance_interval([1.0], [2.0], confidence=1.0), "confidence"),
        (lambda: distance_interval([1.0], [2.0], noise=-1.0), "noise"),
        (lambda: hamming_estimate([0.5], [1.0], p=0.1), "0 and 1"),
        (lambda: hamming_estimate([0], [1], p=0.5), "below 0.5"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InputError, match=words):
        call()
