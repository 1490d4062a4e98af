"""Scores of guesses: shares, and what they are held against."""

import numpy as np
import pytest

from veil.auditing.scores import Contrast


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_guess_that_is_right_everywhere_has_a_rate_of_one(gaps: float):
    """Also where shares of records with gaps do not sum up to a whole number exactly."""
    rng = np.random.default_rng(0)
    for n in range(3, 200, 7):
        scored = rng.random((n, 7)) >= gaps
        scored[:, 0] = True
        right = np.ones(scored.shape, dtype=np.bool_)
        contrast = Contrast.of(right, ~right, scored)
        assert (contrast.rate, contrast.control) == (pytest.approx(1.0, abs=1e-12), 0.0)
        assert contrast.rate <= 1.0
        assert contrast.advantage == pytest.approx(1.0, abs=1e-12)
