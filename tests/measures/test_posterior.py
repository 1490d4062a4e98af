"""Posterior minus prior (M8)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from veil.errors import InputError
from veil.measures import posterior_gain


def warner(pi: float, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Posterior of the property after "yes" and "no", and how probable the answers are."""
    yes = p * pi + (1 - p) * (1 - pi)
    return np.array([p * pi / yes, (1 - p) * pi / (1 - yes)]), np.array([yes, 1 - yes])


def test_warner() -> None:
    """π_A = .3, P = .7: posterior .5 and .155."""
    posterior, answers = warner(0.3, 0.7)
    gain = posterior_gain(0.3, posterior, weights=answers)
    assert gain.rise == gain.largest == pytest.approx(0.2, abs=1e-12)
    assert gain.fall == pytest.approx(0.3 - 0.09 / 0.58, abs=1e-12)
    assert gain.mean == pytest.approx(0.42 * 0.2 + 0.58 * float(gain.fall), abs=1e-12)


@given(pi=st.floats(0.01, 0.99), p=st.floats(0.01, 0.99))
def test_a_posterior_averages_to_its_prior(pi: float, p: float) -> None:
    """So half the mean move is up and half down, and no gain is left at P = ½."""
    posterior, answers = warner(pi, p)
    gain = posterior_gain(pi, posterior, weights=answers)
    assert gain.mean == pytest.approx(2 * answers @ np.maximum(posterior - pi, 0), abs=1e-12)
    assert gain.largest >= gain.mean - 1e-12
    assert posterior_gain(pi, warner(pi, 0.5)[0]).largest == pytest.approx(0.0, abs=1e-12)


@given(arrays(np.float64, (5, 3), elements=st.floats(0, 1)), arrays(np.float64, 3, elements=st.floats(0, 1)))
def test_several_properties_and_records(posterior: np.ndarray, prior: np.ndarray) -> None:
    gain = posterior_gain(prior, posterior)
    assert gain.largest == np.abs(posterior - prior).max()
    assert gain.mean == pytest.approx(np.abs(posterior - prior).mean(), abs=1e-12)
    assert gain.largest == max(gain.rise, gain.fall)
    assert gain == posterior_gain(np.tile(prior, (5, 1)), posterior)


def test_shapes() -> None:
    assert posterior_gain([0.5, 0.5], [0.9, 0.1]).mean == pytest.approx(0.4)  # one record
    assert posterior_gain(0.5, 0.9).largest == pytest.approx(0.4)
    assert posterior_gain([0.2, 0.8], [[0.2, 0.8]]).largest == 0.0
    assert posterior_gain(0.0, [1.0, 0.0]).rise == 1.0
    assert posterior_gain(0.5, [[0.1], [0.9]]).fall == pytest.approx(0.4)
    assert posterior_gain(0.5, 0.9).largest.higher_is == "exposed"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: posterior_gain(8675309.25, [0.5]), "prior"),
        (lambda: posterior_gain(0.5, [8675309.25, 0.5]), "posterior"),
        (lambda: posterior_gain(0.5, [math.nan]), "posterior"),
        (lambda: posterior_gain(0.5, [[0.5], [0.1, 0.2]]), "posterior"),
        (lambda: posterior_gain([0.5, 0.5], [[0.1, 0.2, 0.7]]), "prior"),
        (lambda: posterior_gain(0.5, [0.1, 0.2], weights=[1.0]), "weights"),
        (lambda: posterior_gain(0.5, [0.1, 0.2], weights=[-1.0, 1.0]), "weights"),
        (lambda: posterior_gain(0.5, [0.1, 0.2], weights=[0.0, 0.0]), "weights"),
    ],
)
def test_refusals(call: object, name: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith((f"{name}: ", f"{name} must be "))
    assert "8675309" not in str(caught.value)
