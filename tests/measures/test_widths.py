"""Interval privacy (M3) against the widths that uniform and normal noise give."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures import interval_privacy

stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("kind", ["shortest", "central"])
@pytest.mark.parametrize("c", [0.5, 0.8, 0.95, 0.999])
def test_agrawal_and_srikants_table(kind: str, c: float) -> None:
    """Uniform on ±α: 2αc; normal: 2σΦ⁻¹((1+c)/2)."""
    assert interval_privacy(stats.uniform(-3, 6), c, kind=kind) == pytest.approx(6 * c, abs=1e-9)
    width = 2 * 2.5 * NormalDist().inv_cdf((1 + c) / 2)
    assert interval_privacy(stats.norm(1, 2.5), c, kind=kind) == pytest.approx(width, rel=1e-8)
    assert interval_privacy(NormalDist(0, 1).inv_cdf, c, kind="central") == pytest.approx(width / 2.5, rel=1e-12)


def test_the_shortest_interval_of_a_skewed_law() -> None:
    """Exponential: [0, −ln(1−c)] is shortest, the central interval is wider."""
    for c in (0.5, 0.95):
        shortest = interval_privacy(stats.expon(), c)
        assert shortest == pytest.approx(-math.log(1 - c), rel=1e-9)
        central = interval_privacy(stats.expon(), c, kind="central")
        assert central == pytest.approx(math.log((1 + c) / (1 - c)), rel=1e-9)
        assert central > shortest


@pytest.mark.parametrize("kind", ["shortest", "central"])
@pytest.mark.parametrize("c", [0.5, 0.8, 0.95])
def test_samples_against_the_law(kind: str, c: float) -> None:
    """The width's standard error is that of the share c, √(c(1−c)/n), over the density at the ends."""
    n = 40_000
    sample = np.random.default_rng(1).normal(size=n)
    end = NormalDist().inv_cdf((1 + c) / 2)
    error = math.sqrt(c * (1 - c) / n) / NormalDist().pdf(end)
    width = interval_privacy(sample, c, kind=kind)
    assert width == pytest.approx(2 * end, abs=5 * error)
    assert width.low <= width <= width.high


def test_intervals_cover() -> None:
    """60 runs at 95 %: fewer than 49 covers has probability 1e−4."""
    truth = 2 * NormalDist().inv_cdf(0.9)
    covered = 0
    for seed in range(60):
        width = interval_privacy(np.random.default_rng(seed).normal(size=500), 0.8, kind="central")
        covered += width.low <= truth <= width.high
    assert covered >= 49


def test_two_modes_are_searched() -> None:
    """A narrow mode on the right: the shortest interval must be found there."""
    rng = np.random.default_rng(0)
    sample = np.concatenate([rng.normal(0, 3, 4_000), rng.normal(20, 0.1, 6_000)])
    assert interval_privacy(sample, 0.5) < 0.5
    assert interval_privacy(sample, 0.5, kind="central") > 10
    ordered = np.sort(sample)

    def quantile(q: float) -> float:
        return float(np.interp(q, np.linspace(0, 1, ordered.size), ordered))

    assert interval_privacy(quantile, 0.5) == pytest.approx(float(interval_privacy(sample, 0.5)), rel=0.05)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0.05, 0.95))
def test_the_shortest_window_holds_the_share_and_is_no_wider_than_any_other(values: list[float], c: float) -> None:
    width = float(interval_privacy(values, c))
    assert width <= max(values) - min(values)
    shares = [sum(start <= v <= start + width * (1 + 1e-12) + 1e-12 for v in values) for start in values]
    assert max(shares) >= c * len(values) - 1e-6


def test_limits_and_missing_values() -> None:
    assert interval_privacy([4.0, 4.0, 4.0]) == 0.0
    one = interval_privacy([4.0])
    assert (float(one), one.low, one.high) == (0.0, 0.0, math.inf)
    assert interval_privacy([0.0, math.nan, 1.0, 2.0], 0.5) == interval_privacy([0.0, 1.0, 2.0], 0.5)
    assert math.isnan(interval_privacy([math.nan, math.nan]))
    assert interval_privacy(np.arange(5.0)[:, None], 0.6) == 2.0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: interval_privacy([1.0, 2.0], 95), "confidence"),
        (lambda: interval_privacy([1.0, 2.0], 0.0), "confidence"),
        (lambda: interval_privacy([1.0, 2.0], 1.0), "confidence"),
        (lambda: interval_privacy([1.0, 2.0], 0.5, kind="widest"), "kind"),
        (lambda: interval_privacy(np.ones((3, 2)), 0.5), "values"),
        (lambda: interval_privacy(["8675309"], 0.5), "values"),
        (lambda: interval_privacy(lambda q: -q, 0.5), "values"),
    ],
)
def test_refusals(call: object, name: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith((f"{name}: ", f"{name} must be "))
    assert "8675309" not in str(caught.value)
