"""Random projection: variances by Monte Carlo for every kind, the chi-square law, and the choice of k (P8, D1)."""

import math

import numpy as np
import pytest

from _tables import within_standard_errors
from veil.errors import InputError
from veil.measures import Measure
from veil.measures.projection import (
    KINDS,
    choose_projection_dimension,
    distance_variance,
    inner_product_variance,
    johnson_lindenstrauss_dimension,
    johnson_lindenstrauss_probability,
    projection_accuracy,
    projection_advice,
    projection_kurtosis,
    projection_zero_breach,
)

DRAWS, D, K = 40_000, 50, 4
PAPER = {"eta": 0.1, "accuracy": 0.8, "epsilon": 0.01, "zero_breach": 0.7}


def entries(kind, shape, d, rng):
    """Entries of variance 1 of each kind."""
    if kind == "gaussian":
        return rng.standard_normal(shape)
    s = {"achlioptas1": 1.0, "achlioptas3": 3.0, "sparse": math.sqrt(d)}[kind]
    u = rng.random(shape)
    return math.sqrt(s) * (np.where(u < 1 / (2 * s), 1.0, 0.0) - np.where(u > 1 - 1 / (2 * s), 1.0, 0.0))


def projected(kind, records, rng):
    """Rows of the records under DRAWS matrices: DRAWS × records × K."""
    d = records.shape[1]
    r = entries(kind, (DRAWS * K, d), d, rng)
    return (r @ records.T).reshape(DRAWS, K, len(records)).transpose(0, 2, 1) / math.sqrt(K)


@pytest.fixture(scope="module", params=KINDS)
def simulated(request):
    rng = np.random.default_rng(KINDS.index(request.param))
    # A few columns carry most of the length, so that the fourth powers matter.
    x, y = rng.normal(size=(2, D)) * np.where(np.arange(D) < 3, 2.0, 0.25) + [[0.2], [0.1]]
    u, v = projected(request.param, np.array([x, y]), rng).transpose(1, 0, 2)
    return request.param, x, y, (u * v).sum(axis=1), ((u - v) ** 2).sum(axis=1)


def within_error(sample, variance):
    """The sample's variance is the law's, within 4.5 standard errors."""
    centred = (sample - sample.mean()) ** 2
    return abs(centred.mean() - variance) < 4.5 * centred.std() / math.sqrt(len(sample))


def test_estimates_are_unbiased(simulated):
    _, x, y, products, distances = simulated
    for sample, truth in ((products, x @ y), (distances, ((x - y) ** 2).sum())):
        assert within_standard_errors(sample.mean(), truth, sample.std() / math.sqrt(DRAWS), 4.5)


def test_variances_of_every_kind(simulated):
    """Lemmas 5.1.4 and 5.1.5 with the kurtosis term; without it two kinds fail."""
    kind, x, y, products, distances = simulated
    assert within_error(products, inner_product_variance(x, y, K, kind))
    assert within_error(distances, distance_variance(x - y, K, kind))
    if kind in ("achlioptas1", "sparse"):
        assert not within_error(products, inner_product_variance(x, y, K, "gaussian"))
        assert not within_error(distances, distance_variance(x - y, K, "gaussian"))


def test_a_distance_is_an_inner_product_with_itself():
    z = np.random.default_rng(0).normal(size=(7, 12))
    for kind in KINDS:
        np.testing.assert_allclose(inner_product_variance(z, z, 5, kind), distance_variance(z, 5, kind))
        assert distance_variance(z[0], 5, kind) == pytest.approx(distance_variance(z, 5, kind)[0])


def test_one_column_alone():
    """z along one axis: |u|² is |z|² exactly at s = 1, and binomial otherwise."""
    z = np.eye(1, 16)[0]
    assert distance_variance(z, 8, "achlioptas1") == 0.0
    assert distance_variance(z, 8, "sparse") == pytest.approx(3.0 / 8)  # (s − 1)/k, s = 4
    assert projection_kurtosis("sparse", 16) == 4.0


def test_values_of_figure_5_3():
    ks = (10, 50, 100, 200, 300, 500, 1000)
    assert [round(projection_accuracy(k, 0.1), 3) for k in ks] == [0.175, 0.383, 0.521, 0.684, 0.780, 0.887, 0.975]
    assert [round(projection_accuracy(k, 0.3), 3) for k in ks[:4]] == [0.502, 0.871, 0.967, 0.997]


def test_accuracy_is_that_of_a_gaussian_projection():
    rng = np.random.default_rng(4)
    ratio = rng.chisquare(1, size=(DRAWS, 10)).mean(axis=1)
    for eta in (0.1, 0.5, 1.5):
        p = float(projection_accuracy(10, eta))
        assert within_standard_errors((np.abs(ratio - 1) <= eta).mean(), p, math.sqrt(p * (1 - p) / DRAWS), 4.5)
        q = float(projection_zero_breach(10, eta))
        assert abs((np.abs(np.sqrt(ratio) - 1) > eta).mean() - q) < 4.5 * math.sqrt(q * (1 - q) / DRAWS) + 1 / DRAWS


def test_values_of_figure_5_10():
    ks = (100, 328, 500, 742, 1000)
    assert [round(projection_accuracy(k, 0.1), 3) for k in ks] == [0.521, 0.800, 0.887, 0.946, 0.975]
    assert [round(projection_zero_breach(k, 0.01), 3) for k in ks] == [0.888, 0.798, 0.752, 0.700, 0.655]


def test_the_range_of_k_is_tight():
    """Errata L-r: 328..742, not (320, 750)."""
    lowest, highest = choose_projection_dimension(**PAPER)
    assert (lowest, highest) == (328, 742)
    assert projection_accuracy(lowest - 1, 0.1) < 0.8 <= projection_accuracy(lowest, 0.1)
    assert projection_zero_breach(highest + 1, 0.01) < 0.7 <= projection_zero_breach(highest, 0.01)


def test_both_laws_are_monotone_in_k():
    """The search for k relies on it."""
    for epsilon in (0.01, 0.1, 0.7, 1.0, 2.0):
        ks = range(1, 200)
        assert (np.diff([projection_accuracy(k, epsilon) for k in ks]) >= -1e-12).all()
        assert (np.diff([projection_zero_breach(k, epsilon) for k in ks]) <= 1e-12).all()


def test_impossible_thresholds_are_refused_with_the_figures():
    with pytest.raises(InputError, match=r"^zero_breach: no k meets both .* at least 328, .* is 0\.798 and not 0\.9;"):
        choose_projection_dimension(**{**PAPER, "zero_breach": 0.9})


def test_advice_says_what_it_does_not_promise():
    advice = projection_advice(**PAPER)
    assert "from 328 to 742" in advice.statement
    assert "A14" in advice.statement
    assert "from 328 to 399" in projection_advice(**PAPER, dimension=400).statement
    few = projection_advice(**PAPER, dimension=328)
    assert not few.possible
    assert "No k fits" in few.statement


def test_johnson_lindenstrauss_bounds_never_beat_the_exact_law():
    assert johnson_lindenstrauss_dimension(10_000, 0.1) == 8_883
    assert johnson_lindenstrauss_dimension(10_000, 0.1, "achlioptas", 1) == 11_842
    for m in (2, 10, 1_000, 10**6):
        for epsilon in (0.05, 0.1, 0.3, 0.49):
            exact = johnson_lindenstrauss_dimension(m, epsilon, "exact")
            assert exact <= johnson_lindenstrauss_dimension(m, epsilon, "achlioptas")
            k = johnson_lindenstrauss_dimension(m, epsilon, "jl")
            assert m * (m - 1) / 2 * (1 - projection_accuracy(k, epsilon)) < 0.5
    for epsilon in (0.05, 0.1, 0.5, 0.9):
        for k in (1, 10, 100, 1000, 5000):
            assert johnson_lindenstrauss_probability(k, epsilon) <= projection_accuracy(k, epsilon) + 1e-12


def test_measures_say_which_way_is_better():
    assert isinstance(projection_accuracy(5, 0.1), Measure)
    assert projection_accuracy(5, 0.1).higher_is == "useful"
    assert projection_zero_breach(5, 0.1).higher_is == "private"
    assert projection_accuracy(3, 0.0) == 0.0
    assert projection_zero_breach(3, 0.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: projection_accuracy(0, 0.1), "k"),
        (lambda: projection_accuracy(10, -0.1), "eta"),
        (lambda: projection_zero_breach(10, math.nan), "tolerance"),
        (lambda: projection_kurtosis("dense", 10), "kind"),
        (lambda: inner_product_variance([1.0, 2.0], [1.0], 3), "y"),
        (lambda: choose_projection_dimension(**{**PAPER, "eta": 0.0}), "eta"),
        (lambda: choose_projection_dimension(**{**PAPER, "accuracy": 1.0}), "accuracy"),
        (lambda: johnson_lindenstrauss_dimension(1, 0.1), "n_records"),
        (lambda: johnson_lindenstrauss_dimension(10, 1.0), "distortion"),
        (lambda: johnson_lindenstrauss_dimension(10, 0.1, "mine"), "form"),
    ],
)
def test_refusals(call, name):
    with pytest.raises(InputError, match=rf"^{name}(:| must be) "):
        call()
