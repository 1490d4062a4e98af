"""Whole numbers that no type tells: a sample of other people does."""

import numpy as np
import pytest

import veil
from veil.attacks.noise.whole_numbers import known_whole


@pytest.mark.parametrize("seed", range(5))
def test_a_rare_mark_in_a_column_of_floats_is_found_behind_noise(seed):
    """One of 170 has it, thirteen deviations from the others; noise of three deviations hides it from nobody.

    A release of 2,000 has 12 of them; the exact posterior finds 10 and takes one other for one. Of 12, 6 or fewer are
    found with a probability of .02.
    """
    rng = np.random.default_rng(seed)
    marks = np.zeros((2_000, 1))
    marks[rng.permutation(2_000)[:12]] = 1.0
    release, _ = veil.publish(marks, veil.AdditiveNoise(3.0, random_state=seed))
    sample = veil.KnownSample(np.zeros((10, 1)))
    guess = veil.UnivariateBayesAttack(aim="hit").run(release, sample).values
    right = int((guess == marks).sum())
    assert right - 1_988 >= 5, "more than naming nobody gets right"


def test_few_values_and_fractions_do_not_make_a_column_whole():
    records = np.array([[1.0, 0.5, np.nan, 3.0]] * 5)
    records[3:, 3] = np.nan
    assert known_whole(records).tolist() == [True, False, False, False]
