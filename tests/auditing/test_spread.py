"""The law of means over keys: what its intervals cover, and how far the next audit's end stays."""

import numpy as np
import pytest

from veil.auditing.spread import KeySpread

DRAWS = 4_000


def means(keys, n, seed):
    """Values of n keys that differ by ``keys`` times what their records explain (a standard error of 1 each)."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, np.sqrt(1.0 + keys**2), (DRAWS, n))


@pytest.mark.parametrize(("keys", "least"), [(0.0, 0.95), (0.5, 0.93), (1.0, 0.91), (3.0, 0.93), (10.0, 0.95)])
@pytest.mark.parametrize("n", [5, 10])
def test_intervals_cover_the_mean(keys, least, n):
    """95 % where records explain the keys and where the test sees that they do not; less in between, by so much."""
    values = means(keys, n, seed=n)
    halves = np.array([KeySpread.of(v, 1.0 / np.sqrt(n)).half(0.95) for v in values])
    covered = float((np.abs(values.mean(axis=1)) <= halves).mean())
    error = np.sqrt(least * (1.0 - least) / DRAWS)  # 0.35 % to 0.45 %
    assert covered >= least - 3 * error


def test_one_key_has_its_records_alone():
    assert KeySpread.of([0.3], 0.1) == KeySpread.of([0.9], 0.1) == KeySpread(0.1, 1, apart=False)
    assert KeySpread.of([0.3], 0.1).half(0.95) == pytest.approx(0.196, abs=1e-4)


def test_keys_that_records_explain_are_seldom_told_apart():
    """1 %: the level of the test."""
    apart = np.mean([KeySpread.of(v, 1.0 / np.sqrt(10)).apart for v in means(0.0, 10, seed=1)])
    assert apart == pytest.approx(0.01, abs=3 * np.sqrt(0.01 * 0.99 / DRAWS))


@pytest.mark.parametrize(("m", "keys"), [(1, 0.0), (5, 0.0), (10, 0.0), (10, 3.0)])
def test_the_upper_end_of_the_next_ten_keys_stays_within_what_was_said(m, keys):
    """With 99 %: m keys set the end, and the interval of ten others stays under it."""
    stays = 0
    for ours, theirs in zip(means(keys, m, seed=2), means(keys, 10, seed=3), strict=True):
        limit = ours.mean() + KeySpread.of(ours, 1.0 / np.sqrt(m)).next_upper(10, 0.95, 0.99)
        stays += theirs.mean() + KeySpread.of(theirs, 1.0 / np.sqrt(10)).half(0.95) <= limit
    assert stays / DRAWS >= 0.99 - 3 * np.sqrt(0.99 * 0.01 / DRAWS)


def test_the_lower_end_of_the_next_ten_keys_follows_the_keys():
    """Ten keys know their spread to a quarter: the next lower end stays with 97 % and more, and no gain has none."""
    stays = 0
    for ours, theirs in zip(means(0.0, 10, seed=4), means(0.0, 10, seed=5), strict=True):
        limit = ours.mean() + KeySpread.of(ours, 1.0 / np.sqrt(10)).next_lower(10, 0.95, 0.99)
        stays += theirs.mean() - KeySpread.of(theirs, 1.0 / np.sqrt(10)).half(0.95) <= limit
    assert stays / DRAWS >= 0.97 - 3 * np.sqrt(0.97 * 0.03 / DRAWS)
    assert KeySpread.of([0.0] * 10, 0.2).next_lower(10, 0.95, 0.99) < 0.0
