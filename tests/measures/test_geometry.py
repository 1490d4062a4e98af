"""Breach probability in closed form against the errata's values and against simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures import Measure, breach_probability, sphere_breach_probability

DRAWS = 40_000


def simulated_known_pairs(p: int, g: float, known: int, rng: np.random.Generator) -> float:
    """The attack itself: the part of x outside the known span is turned at random in p dimensions.

    Nothing of the cap formula enters: x has a part inside the span (length 2) and one of length d
    outside it, ε = 2dg/‖x‖, and a breach is ‖x̂ − x‖ ≤ ε‖x‖.
    """
    outside = rng.normal(size=p)
    d = float(np.linalg.norm(outside))
    inside = np.zeros(known)
    inside[0] = 2.0
    x = np.concatenate([inside, outside])
    epsilon = 2.0 * d * g / np.linalg.norm(x)
    turned = rng.normal(size=(DRAWS, p))
    turned *= d / np.linalg.norm(turned, axis=1, keepdims=True)
    guesses = np.concatenate([np.tile(inside, (DRAWS, 1)), turned], axis=1)
    # An exact hit of the mirror case must not depend on the last bit.
    return float((np.linalg.norm(guesses - x, axis=1) <= epsilon * np.linalg.norm(x) + 1e-12).mean())


@pytest.mark.parametrize("p", range(1, 11))
@pytest.mark.parametrize("g", [0.1, 0.3, 0.6, 0.8, 0.95, 1.0])
def test_exact_formula_is_the_attacks_breach_rate(p: int, g: float) -> None:
    rng = np.random.default_rng(1000 * p + int(100 * g))
    exact = float(breach_probability(g, p))
    simulated = simulated_known_pairs(p, g, known=2, rng=rng)
    # 4.5 standard errors of a share over 40,000 draws, plus the discreteness of one draw.
    allowed = 4.5 * math.sqrt(exact * (1 - exact) / DRAWS) + 1 / DRAWS
    assert abs(simulated - exact) <= allowed


@pytest.mark.parametrize(("p", "g"), [(1, 0.3), (3, 0.3), (6, 0.3), (6, 0.9)])
def test_the_papers_formula_fails_that_simulation(p: int, g: float) -> None:
    simulated = simulated_known_pairs(p, g, known=2, rng=np.random.default_rng(7))
    assert abs(simulated - breach_probability(g, p, variant="paper")) > 0.05


@pytest.mark.parametrize(
    ("g", "p", "expected", "digits"),
    [(0.3, 1, 0.500, 3), (0.3, 3, 0.0900, 4), (0.3, 6, 0.0120, 4), (0.9, 6, 0.931, 3)],
)
def test_values_of_the_errata(g: float, p: int, expected: float, digits: int) -> None:
    assert round(float(breach_probability(g, p)), digits) == expected


def test_the_papers_values() -> None:
    for p in (1, 2, 3, 6):
        assert round(float(breach_probability(0.3, p, "paper")), 3) == 0.194
        assert round(float(breach_probability(0.9, p, "paper")), 3) == 0.713


def test_liu_table_4_1_third_record_is_a_coin_flip() -> None:
    """Errata L-b: n − k = 1, so ½ and not the printed 3.84 %."""
    g = float(breach_probability(0.0603, 2))  # any small ratio: the printed share belongs to g ≈ .0603
    assert round(g, 4) == 0.0384
    assert breach_probability(0.0603, 1) == 0.5


@given(g=st.floats(0, 1))
def test_closed_forms_in_two_and_three_dimensions(g: float) -> None:
    assert breach_probability(g, 2) == pytest.approx(2 / math.pi * math.asin(g), abs=1e-7)
    assert breach_probability(g, 3) == pytest.approx(g * g, abs=1e-12)
    # p = 5: the density of the cosine is ¾(1 − t²), so its integral is elementary.
    c = 1 - 2 * g * g
    assert breach_probability(g, 5) == pytest.approx(0.5 - 0.75 * (c - c**3 / 3), abs=1e-9)


@given(g=st.floats(0, 1), p=st.integers(2, 40))
def test_a_cap_and_its_complement_fill_the_sphere(g: float, p: int) -> None:
    other = math.sqrt(max(0.0, 1 - g * g))
    assert breach_probability(g, p) + breach_probability(other, p) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("g", "p", "expected"),
    [(0.0, 0, 1.0), (math.inf, 0, 1.0), (0.0, 1, 0.5), (0.999, 1, 0.5), (1.0, 1, 1.0)]
    + [(0.0, p, 0.0) for p in (2, 3, 50)]
    + [(g, p, 1.0) for g in (1.0, 1.7, math.inf) for p in (1, 2, 3, 50)],
)
def test_limits(g: float, p: int, expected: float) -> None:
    assert breach_probability(g, p) == expected


def test_arrays_in_arrays_out_and_never_falling() -> None:
    g = np.linspace(0, 1.2, 200)
    for p in (0, 1, 2, 3, 6, 100):
        share = breach_probability(g, p)
        assert isinstance(share, np.ndarray)
        assert (np.diff(share) >= -1e-15).all()
        assert share[50] == float(breach_probability(float(g[50]), p))
    assert breach_probability(np.array([]), 3).shape == (0,)


def test_a_number_gives_an_exact_measure() -> None:
    measure = breach_probability(0.3, 3)
    assert isinstance(measure, Measure)
    assert measure.low == measure.high == float(measure)
    assert measure.higher_is == "exposed"


@pytest.mark.parametrize("p", [1, 2, 3, 6])
@pytest.mark.parametrize(("epsilon", "radius"), [(0.6, 0.8), (0.6, 1.0), (0.6, 1.5), (1.4, 0.7), (0.3, 2.0)])
def test_sphere_guess_against_simulation(p: int, epsilon: float, radius: float) -> None:
    rng = np.random.default_rng(p)
    guesses = rng.normal(size=(DRAWS, p))
    guesses *= radius / np.linalg.norm(guesses, axis=1, keepdims=True)
    x = np.eye(p)[0]
    simulated = float((np.linalg.norm(guesses - x, axis=1) <= epsilon).mean())
    exact = float(sphere_breach_probability(epsilon, p, radius_ratio=radius))
    assert abs(simulated - exact) <= 4.5 * math.sqrt(exact * (1 - exact) / DRAWS) + 1 / DRAWS


def test_sphere_guess_worst_case_of_the_errata() -> None:
    """Errata L-q: ‖y‖ = ‖x‖ is not the worst case."""
    worst = sphere_breach_probability(0.6, 6)
    assert round(float(worst), 5) == 0.01537
    assert round(float(sphere_breach_probability(0.6, 6, variant="paper")), 5) == 0.01195
    others = [sphere_breach_probability(0.6, 6, radius_ratio=r) for r in np.linspace(0.3, 1.7, 141)]
    assert max(others) <= worst + 1e-12
    assert max(others) > worst - 1e-4


def test_sphere_guess_limits() -> None:
    assert sphere_breach_probability(0.0, 4) == 0.0
    assert sphere_breach_probability(1.0, 4) == 1.0
    assert sphere_breach_probability(0.5, 4, radius_ratio=0.0) == 0.0
    assert sphere_breach_probability(0.2, 4, radius_ratio=3.0) == 0.0
    assert sphere_breach_probability(4.5, 4, radius_ratio=3.0) == 1.0
    with pytest.raises(InputError, match=r"^radius_ratio(:| must be) "):
        sphere_breach_probability(0.2, 4, radius_ratio=1.0, variant="paper")


@pytest.mark.parametrize(
    ("g", "p", "variant", "name"),
    [
        (-0.1, 3, "exact", "ratio_g"),
        (math.nan, 3, "exact", "ratio_g"),
        ([0.2, -3.0], 3, "exact", "ratio_g"),
        ("much", 3, "exact", "ratio_g"),
        (0.3, -1, "exact", "dimension"),
        (0.3, 2.5, "exact", "dimension"),
        (0.3, 2, "right", "variant"),
    ],
)
def test_refusals(g: float, p: int, variant: str, name: str) -> None:
    with pytest.raises(InputError, match=rf"^{name}(:| must be) "):
        breach_probability(g, p, variant)
