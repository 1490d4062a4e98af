"""Scores of guesses: shares, and what they are held against."""

import numpy as np
import pytest

from veil.attacks.base import Guess
from veil.auditing.judge import Judge
from veil.auditing.scores import Contrast, pooled


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


@pytest.mark.parametrize(("rates", "expected"), [((0.13, 0.09), 0.11), ((0.16, 0.08), 0.12), ((0.05, 0.06), 0.11)])
def test_rate_control_and_advantage_of_several_runs_agree(rates: tuple[float, ...], expected: float):
    """A run that does better than the control by chance is no gain where another does worse."""
    runs = [Contrast(rate, 0.11, 0.01, 500) for rate in rates]
    score = pooled(runs, 0.1, one_matrix=False, goal=0.05)
    assert float(score.rate) == pytest.approx(expected)
    assert float(score.advantage) == pytest.approx((expected - 0.11) / 0.89)
    assert float(score.taught) == pytest.approx((expected - 0.1) / 0.9)


def test_far_out_values_that_a_constant_gets_more_of_are_no_gain():
    rng = np.random.default_rng(0)
    far = np.array([10.0, 20.0] * 25)
    truth = np.concatenate([rng.normal(size=400).clip(-2, 2), far])[:, None]
    judge = Judge(truth, ["x"], 0.1)
    assert judge.far_out_baseline == pytest.approx(0.5)
    values = np.concatenate([np.zeros(400), np.where(np.arange(50) % 5 == 0, far, 0.0)])[:, None]
    scores = judge.try_guess(Guess(values, ("x",), np.arange(450)), np.arange(450), np.array([], dtype=np.intp))
    far_out = judge.scores([scores], one_matrix=False, goal=0.05)["far_out"]
    assert float(far_out.rate) == far_out.control == pytest.approx(0.5)
    assert far_out.advantage == 0
