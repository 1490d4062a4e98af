"""The sign search of A11: the fast energies, both searches, and honest margins."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from veil.attacks.rotation.gray_code import gray_signs, pattern_energies
from veil.attacks.rotation.signs import SignChoice, choose_signs, exact_signs, greedy_signs, thin_pairs
from veil.errors import InputError


def two_samples(seed, columns, records=400, sample=40, shift=0.4):
    """Two samples of one normal law, the second with secret signs; ``shift`` in standard deviations."""
    rng = np.random.default_rng(seed)
    spread = np.geomspace(3.0, 0.7, columns)
    mean = shift * spread * rng.choice([-1.0, 1.0], columns)
    signs = rng.choice([-1.0, 1.0], columns)
    return rng.normal(mean, spread, (records, columns)), rng.normal(mean, spread, (sample, columns)) * signs, signs


def brute_force(a, b):
    """One cross-distance evaluation per pattern, the definition."""
    patterns = np.array([gray_signs(code, a.shape[1]) for code in range(1 << a.shape[1])])
    return patterns, np.array([cdist(a, b * signs).mean() for signs in patterns])


def test_gray_code_visits_every_pattern_one_flip_at_a_time():
    patterns = np.array([gray_signs(code, 7) for code in range(128)])
    assert len(np.unique(patterns, axis=0)) == 128
    assert (np.abs(np.diff(patterns, axis=0)).sum(axis=1) == 2).all()


def test_energies_do_not_drift_over_8192_flips():
    # Roots rounded to 2^-24 average out over 20,000 pairs: 6e-8 / sqrt(3) / sqrt(20,000) = 2.4e-10.
    a, b, _ = two_samples(0, 13, records=1000, sample=20)
    fast = pattern_energies(a, b)
    for code in (0, 1, 2, 1000, 4095, 4096, 8190, 8191):
        direct = cdist(a, b * gray_signs(code, 13)).mean()
        assert fast[code] == pytest.approx(direct, rel=1e-9)


def test_engines_agree_pattern_by_pattern():
    a, b, _ = two_samples(1, 8, records=130, sample=33)  # more than one tile, the last one ragged
    slow = pattern_energies(a, b, engine="numpy")
    np.testing.assert_allclose(pattern_energies(a, b), slow, rtol=1e-8)
    np.testing.assert_allclose(slow, brute_force(a, b)[1], rtol=1e-12)


@pytest.mark.parametrize("engine", ["numba", "numpy"])
def test_exact_search_is_the_brute_force_argmin(engine):
    for seed in range(40):
        columns = 1 + seed % 6
        a, b, _ = two_samples(seed, columns, records=60, sample=7, shift=0.1)
        patterns, energies = brute_force(a, b)
        order = np.argsort(energies)
        found = exact_signs(a, b, engine=engine)
        np.testing.assert_array_equal(found.signs, patterns[order[0]])
        assert found.energy == pytest.approx(energies[order[0]], rel=1e-12)
        assert found.runner_up == pytest.approx(energies[order[1]], rel=1e-12)


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_exact_search_does_not_depend_on_the_unit(scale):
    a, b, signs = two_samples(2, 5, shift=1.0)
    np.testing.assert_array_equal(exact_signs(scale * a, scale * b).signs, signs)


def test_zero_distances_do_not_turn_negative():
    a, _, _ = two_samples(3, 6, records=50)
    signs = gray_signs(37, 6)
    found = exact_signs(a, a * signs)
    np.testing.assert_array_equal(found.signs, signs)
    assert found.energy == pytest.approx(cdist(a, a).mean(), rel=1e-12)


def test_greedy_search_finds_the_exact_pattern():
    # Shifts of 0.15 to 0.4 standard deviations: the right pattern is missed in a good part of the
    # trials, by both searches alike.
    same = missed = 0
    trials = 100
    for seed in range(trials):
        a, b, signs = two_samples(seed, 3 + seed % 8, records=200, sample=30, shift=0.15 + 0.05 * (seed % 6))
        exact, greedy = exact_signs(a, b), greedy_signs(a, b)
        same += np.array_equal(exact.signs, greedy.signs)
        missed += not np.array_equal(exact.signs, signs)
    assert missed >= 20, "the trials are too easy to compare searches"
    assert same >= 95


def test_greedy_search_leaves_no_single_or_double_flip_that_helps():
    a, b, _ = two_samples(4, 20, records=150, sample=40, shift=0.2)
    found = greedy_signs(a, b, max_pairs=None)
    for r in range(20):
        for q in range(r, 20):
            flipped = found.signs.copy()
            flipped[list({r, q})] *= -1
            assert cdist(a, b * flipped).mean() >= found.runner_up * (1 - 1e-12)
    assert found.runner_up >= found.energy


@pytest.mark.parametrize("engine", ["numba", "numpy"])
def test_exact_search_with_a_parity_is_the_brute_force_argmin_of_half_the_patterns(engine):
    for seed in range(24):
        columns, parity = 2 + seed % 5, 1 - 2 * (seed % 2)
        a, b, _ = two_samples(seed, columns, records=60, sample=7, shift=0.1)
        patterns, energies = brute_force(a, b)
        energies[patterns.prod(axis=1) != parity] = np.inf
        order = np.argsort(energies)
        found = exact_signs(a, b, engine=engine, parity=parity)
        np.testing.assert_array_equal(found.signs, patterns[order[0]])
        assert found.energy == pytest.approx(energies[order[0]], rel=1e-12)
        assert found.runner_up == pytest.approx(energies[order[1]], rel=1e-12)


@pytest.mark.parametrize("pairs", [True, False])
def test_greedy_search_keeps_the_parity(pairs):
    same = 0
    for seed in range(60):
        a, b, _ = two_samples(seed, 2 + seed % 8, records=200, sample=30, shift=0.15 + 0.05 * (seed % 6))
        parity = 1 - 2 * (seed % 2)
        greedy = greedy_signs(a, b, parity=parity, pairs=pairs)
        assert greedy.signs.prod() == parity
        assert greedy.runner_up >= greedy.energy or not pairs
        same += np.array_equal(greedy.signs, exact_signs(a, b, parity=parity).signs)
    assert same >= (57 if pairs else 40)


def test_a_coin_toss_is_settled_by_the_parity():
    """The second column is symmetric: with the product of the signs known, its sign follows from the first's."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a, b = rng.normal([3.0, 0.0], 1.0, (600, 2)), rng.normal([3.0, 0.0], 1.0, (50, 2))
        for parity in (-1, 1):
            found = exact_signs(a, b, engine="numpy", parity=parity)
            assert found.signs.tolist() == [1.0, parity]
            assert found.margin.min() > 5


@pytest.mark.parametrize("search", [exact_signs, greedy_signs])
def test_one_column_with_a_parity_has_no_rival(search):
    a, b, _ = two_samples(11, 1, shift=1.0)
    for parity in (-1, 1):
        found = search(a, b, parity=parity)
        assert found.signs.tolist() == [parity]
        assert found.margin.tolist() == [np.inf]


def test_choice_by_number_of_columns():
    a, b, signs = two_samples(5, 4, shift=2.0)
    assert choose_signs(a, b).method == "exact"
    few = choose_signs(a, b, limit=3)
    assert few.method == "greedy"
    np.testing.assert_array_equal(few.signs, signs)


def test_margin_of_a_coin_toss_is_half_normal():
    # Column 0 is identified by its mean; column 1 is symmetric, so its sign is a guess and its margin
    # exceeds 2 in about 5 % of trials: at most 18 of 200 with probability .99.
    guesses, clear = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        a, b = rng.normal([3.0, 0.0], 1.0, (600, 2)), rng.normal([3.0, 0.0], 1.0, (50, 2))
        margin = exact_signs(a, b, engine="numpy").margin
        clear.append(margin[0])
        guesses.append(margin[1])
    assert min(clear) > 5
    assert min(guesses) >= 0
    assert np.mean(np.array(guesses) < 0.674) > 0.35, "half of a half-normal lies below .674"
    assert np.sum(np.array(guesses) > 2) <= 18


def test_a_column_the_sample_does_not_span_is_ambiguous():
    a, b, _ = two_samples(6, 3, shift=2.0)
    b[:, 1] = 0.0
    found = exact_signs(a, b)
    assert found.margin[1] == 0
    assert found.gap == 0
    np.testing.assert_array_equal(found.ambiguous(), [1])


def test_one_sample_record_identifies_nothing():
    a, b, _ = two_samples(7, 3, sample=1, shift=2.0)
    assert len(exact_signs(a, b).ambiguous()) == 3


def test_gap_is_the_margin_when_the_runner_up_is_one_flip_away():
    a, b, _ = two_samples(8, 2, shift=1.0)
    found = exact_signs(a, b)
    assert found.gap in found.margin


def test_thinning_keeps_the_scarce_side():
    a, b = np.arange(20_000.0).reshape(-1, 2), np.arange(100.0).reshape(-1, 2)
    few_a, few_b = thin_pairs(a, b, 5000)
    assert len(few_b) == 50
    assert len(few_a) == 100
    assert np.ptp(few_a[:, 0]) > 0.98 * np.ptp(a[:, 0])
    both = thin_pairs(a, a, 2500)
    assert [len(part) for part in both] == [50, 50]
    assert thin_pairs(a, b, None)[0] is a


def test_thinned_search_agrees():
    a, b, signs = two_samples(9, 6, records=3000, shift=1.0)
    np.testing.assert_array_equal(exact_signs(a, b, max_pairs=4000).signs, signs)


def test_numba_is_imported_only_when_it_is_used():
    code = "import sys, veil.attacks.rotation.signs, veil.attacks.rotation.alignment; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.ones((3, 2)), np.ones((3, 3)), "sample: has 3 columns"),
        (np.ones((0, 2)), np.ones((3, 2)), "release: needs at least one record"),
        (np.ones((3, 2)), np.ones(3), "sample: needs at least one record"),
        (np.full((3, 2), np.nan), np.ones((3, 2)), "release: 6 values are not finite"),
    ],
)
def test_bad_tables_are_refused(a, b, message):
    for search in (exact_signs, greedy_signs, choose_signs):
        with pytest.raises(InputError, match=message):
            search(a, b)


def test_bad_parameters_are_refused():
    a, b, _ = two_samples(10, 2)
    with pytest.raises(InputError, match="engine"):
        exact_signs(a, b, engine="fortran")
    with pytest.raises(InputError, match="max_pairs"):
        exact_signs(a, b, max_pairs=0)
    with pytest.raises(InputError, match="at most"):
        exact_signs(np.ones((2, 30)), np.ones((2, 30)))


def test_choice_is_frozen():
    choice = SignChoice(np.ones(1), 1.0, 2.0, 3.0, np.ones(1), "exact")
    with pytest.raises(AttributeError):
        choice.energy = 0.0
