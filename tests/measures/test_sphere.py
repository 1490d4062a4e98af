"""Lengths of a box, and the cap that bounds a guess from a length (Liu 2007, 5.3; errata L-p, L-q; fig5.6–5.9)."""

import numpy as np
import pytest

from _tables import within_standard_errors
from veil.errors import InputError
from veil.measures import sphere_breach_probability
from veil.measures.sphere import breach_bound, norm_range


def test_norm_range_against_the_box_itself():
    """Errata L-p: the paper's l = Σa², u = Σb² would be 15 and 9 here."""
    lower, upper = np.array([-3.0, 1.0, -2.0, -1.0]), np.array([2.0, 2.0, -1.0, 0.0])
    points = np.random.default_rng(0).uniform(lower, upper, size=(200_000, 4))
    lengths = np.linalg.norm(points, axis=1)
    shortest, longest = norm_range(lower, upper)
    assert (shortest**2, longest**2) == pytest.approx((2.0, 18.0))
    assert shortest <= lengths.min() < shortest + 0.3
    assert longest - 0.3 < lengths.max() <= longest


@pytest.mark.parametrize(("lower", "upper"), [([0.0], [1.0, 2.0]), ([2.0], [1.0]), ([np.inf], [np.inf])])
def test_norm_range_refuses(lower, upper):
    with pytest.raises(InputError, match="lower"):
        norm_range(lower, upper)


def test_the_worst_length_is_not_the_radius():
    """Errata L-q: .01537 at ε = .6, n = 6 against the paper's .01195, which holds when lengths are equal."""
    assert breach_bound([1.0], 0.6, 6, (0.0, 9.0))[0] == pytest.approx(0.01537, abs=5e-6)
    assert breach_bound([1.0], 0.6, 6, (1.0, 1.0))[0] == pytest.approx(0.01195, abs=5e-6)


@pytest.mark.parametrize("epsilon", [0.1, 0.6, 0.95, 1.3])
@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_bound_is_the_maximum_over_lengths(epsilon, dimension):
    lengths = np.linspace(0.4, 1.7, 400)
    radius = np.array([0.3, 0.8, 1.0, 1.6, 3.0])
    bound = breach_bound(radius, epsilon, dimension, (0.4, 1.7))
    for r, b in zip(radius, bound, strict=True):
        each = [float(sphere_breach_probability(epsilon, dimension, radius_ratio=r / length)) for length in lengths]
        assert max(each) <= b + 1e-12
        assert max(each) == pytest.approx(b, abs=0.02)


def test_nothing_outside_the_shell():
    """fig5.7, fig5.8: ρ = 0 where ‖y‖ is outside (1 ± ε)‖x‖."""
    np.testing.assert_array_equal(breach_bound([0.89, 1.11], 0.1, 4, (1.0, 1.0)), 0.0)
    assert breach_bound([1.0], 0.1, 4, (1.0, 1.0))[0] > 0
    np.testing.assert_array_equal(breach_bound([0.0, 0.0], 0.5, 3, ([0.0, 1.0], [0.0, 1.0])), [1.0, 0.0])


def test_bound_against_drawn_guesses():
    rng = np.random.default_rng(3)
    guess = rng.normal(size=(400_000, 3))
    guess *= 0.9 / np.linalg.norm(guess, axis=1)[:, None]
    share = float((np.linalg.norm(guess - [1.1, 0, 0], axis=1) <= 0.5 * 1.1).mean())
    exact = breach_bound([0.9], 0.5, 3, (1.1, 1.1))[0]
    assert within_standard_errors(share, exact, np.sqrt(exact * (1 - exact) / 400_000))
