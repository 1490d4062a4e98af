"""The known-sample attack on arrays: what it recovers, and what it says about itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group, special_ortho_group
from sklearn.datasets import load_breast_cancer

from veil.attacks.rotation.alignment import align_sample
from veil.attacks.rotation.principal_axes import spectral_start
from veil.errors import InputError


def split(table, sample, seed):
    """Release, sample and truth: disjoint records, a Haar matrix."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table))
    matrix = ortho_group.rvs(table.shape[1], random_state=rng)
    x = table[order[sample:]]
    return x, x @ matrix.T, table[order[:sample]], matrix


def normalised_error(estimate, x):
    """Root mean squared error in units of the columns' deviation; guessing the mean scores 1."""
    return float(np.sqrt(np.mean((estimate - x) ** 2) / np.mean(x.var(axis=0))))


def skewed(seed, records=1200, columns=4):
    """Independent gamma columns; each variance is 2.8 times the one before."""
    return np.random.default_rng(seed).gamma(1.5, np.geomspace(1.0, 4.7, columns), (records, columns))


@pytest.fixture(scope="module")
def breast_cancer():
    table = load_breast_cancer().data
    return table / table.std(axis=0)


def test_start_undoes_an_orthogonal_map_of_the_same_records():
    x, y, _, matrix = split(skewed(0), 1, 0)
    for centred in (False, True):
        start, choice = spectral_start(y, x, centred=centred)
        np.testing.assert_allclose(start, matrix, atol=1e-9)
        assert len(choice.ambiguous()) == 0


def test_moments_about_the_origin_start_nearer_than_covariances():
    errors = {False: [], True: []}
    for seed in range(8):
        x, y, s, _ = split(skewed(seed) + 10.0, 60, seed)
        for centred, found in errors.items():
            found.append(normalised_error(y @ spectral_start(y, s, centred=centred)[0], x))
    assert np.median(errors[False]) < 0.5 * np.median(errors[True])


def test_continuous_table_is_recovered_closely():
    errors = []
    for seed in range(4):
        x, y, s, _ = split(skewed(seed), 100, seed)
        found = align_sample(y, s, replicates=8)
        errors.append(normalised_error(found.recover(y), x))
        assert found.twins == 0
    assert np.median(errors) < 0.15


def test_whole_numbers_are_recovered_exactly_and_certified():
    """Of 120 such tables 87 were recovered exactly, so fewer than 2 of 6 would come once in a hundred times."""
    exact = 0
    for seed in range(1, 7):
        rng = np.random.default_rng(seed)
        table = rng.negative_binomial([2, 4, 6], [0.2, 0.5, 0.3], (4000, 3)).astype(float)
        x, y, s, matrix = split(table, 80, seed)
        found = align_sample(y, s, replicates=8)
        if found.twins > 3 and found.stability > 0.99:
            exact += 1
            assert found.refinement == "nearest"
            np.testing.assert_allclose(found.matrix, matrix, atol=1e-7)
            np.testing.assert_allclose(found.recover(y), x, atol=1e-5)
    assert exact >= 2


def test_translation_is_undone_too():
    # The offset costs what estimating a mean from 200 records costs: at least 1/sqrt(200) = .07.
    errors = []
    for seed in range(4):
        x, y, s, _ = split(skewed(seed), 200, seed)
        moved = y + np.array([500.0, -300.0, 40.0, 7.0])
        found = align_sample(moved, s, translation=True, replicates=4)
        errors.append(normalised_error(found.recover(moved), x))
    assert np.median(errors) < 0.2


def test_two_ways_to_align_lower_the_stability():
    # Columns of the same law can be swapped: no sample can tell, and the reliability must say so.
    _, y, s, _ = split(np.random.default_rng(4).gamma(1.5, 1.0, (1000, 3)), 60, 4)
    assert align_sample(y, s, replicates=12).stability < 0.9
    _, y, s, _ = split(skewed(4), 200, 4)
    assert align_sample(y, s, replicates=12).stability > 0.95


@pytest.mark.parametrize(("sample", "bound"), [(57, 0.6), (11, 1.0)])
def test_collinear_table_with_few_records(breast_cancer, sample, bound):
    # 30 columns against 57 or 11 sample records: the spectral start alone scores about .7 and 1.0,
    # covariances about 1.9 and 2.7.
    shrunk, plain = [], []
    for seed in range(3):
        x, y, s, _ = split(breast_cancer, sample, seed)
        found = align_sample(y, s, replicates=10)
        shrunk.append(normalised_error(found.recover(y), x))
        plain.append(normalised_error(found.recover(y, shrink=False), x))
    assert np.median(shrunk) < bound
    assert np.mean(shrunk) < np.mean(plain)
    assert found.refinement == "energy"
    assert found.stability < 0.9


def test_reliability_is_a_symmetric_contraction(breast_cancer):
    _, y, s, _ = split(breast_cancer, 11, 0)
    found = align_sample(y, s, replicates=6)
    values = np.linalg.eigvalsh(found.reliability)
    np.testing.assert_allclose(found.reliability, found.reliability.T, atol=1e-12)
    assert values.min() >= -1e-12
    assert values.max() <= 1 + 1e-12
    assert found.stability == pytest.approx(values.mean())
    np.testing.assert_allclose(found.matrix.T @ found.matrix, np.eye(30), atol=1e-10)


def test_margin_tells_a_determined_sign_from_a_guess():
    # Normal columns: the first has a mean, the others are symmetric about the origin.
    rng = np.random.default_rng(3)
    table = rng.normal([8.0, 0.0, 0.0], [1.0, 2.0, 4.0], (1500, 3))
    _, y, s, _ = split(table, 60, 3)
    margin = align_sample(y, s, replicates=0).margin
    assert np.max(margin) > 5
    assert np.sum(margin < 3) == 2


def test_a_rotation_tells_the_sign_that_nothing_else_tells():
    """The last column is symmetric about 0: without the determinant its sign is right in half of the runs."""
    runs = 10
    right = {True: 0, False: 0}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        table = np.column_stack([rng.gamma(2.0, 1.5, 700), rng.gamma(1.5, 4.0, 700), rng.normal(0.0, 5.0, 700)])
        x, s = table[100:], table[:100]
        y = x @ special_ortho_group.rvs(3, random_state=rng).T
        for proper in right:
            found = align_sample(y, s, replicates=0, proper=proper)
            right[proper] += np.corrcoef(found.recover(y)[:, -1], x[:, -1])[0, 1] > 0
            assert (found.margin.min() > 2) == proper
        assert np.linalg.det(align_sample(y, s, replicates=2, proper=True).matrix) == pytest.approx(1.0)
    assert right[True] == runs
    assert right[False] < runs


def test_start_with_many_columns_is_a_rotation():
    _, y, s, matrix = split(np.random.default_rng(8).normal(size=(400, 16)) * np.geomspace(1, 9, 16), 60, 8)
    y[:, 0] *= np.sign(np.linalg.det(matrix))
    for centred in (False, True):
        start, choice = spectral_start(y, s, centred=centred, proper=True)
        assert choice.method == "greedy"
        assert np.linalg.det(start) == pytest.approx(1.0)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("translation", [False, True])
def test_every_way_through_keeps_to_rotations(robust, translation):
    rng = np.random.default_rng(9)
    table = rng.negative_binomial([2, 4, 6], [0.2, 0.5, 0.3], (1500, 3)).astype(float)
    matrix = special_ortho_group.rvs(3, random_state=rng)
    found = align_sample(
        table[80:] @ matrix.T, table[:80], replicates=4, proper=True, robust=robust, translation=translation
    )
    assert np.linalg.det(found.matrix) == pytest.approx(1.0)


def test_same_seed_same_answer_and_no_replicates_no_shrinkage():
    _, y, s, _ = split(skewed(5), 40, 5)
    once, again = (align_sample(y, s, replicates=3, seed=7) for _ in range(2))
    np.testing.assert_array_equal(once.matrix, again.matrix)
    np.testing.assert_array_equal(once.reliability, again.reliability)
    bare = align_sample(y, s, replicates=0)
    np.testing.assert_allclose(bare.reliability, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(bare.recover(y), bare.recover(y, shrink=False), atol=1e-10)


@pytest.mark.parametrize("sample", [1, 2, 5])
def test_a_handful_of_records_does_not_break_it(sample):
    x, y, s, _ = split(skewed(6), sample, 6)
    found = align_sample(y, s, replicates=4)
    assert np.isfinite(found.recover(y)).all()
    assert normalised_error(found.recover(y), x) < 3


def test_large_tables_stay_within_the_pair_limit():
    x, y, s, _ = split(skewed(7, records=30_000), 5000, 7)
    assert normalised_error(align_sample(y, s, replicates=2).recover(y), x) < 0.05


def test_bad_parameters_are_refused():
    with pytest.raises(InputError, match="replicates"):
        align_sample(np.ones((3, 2)), np.ones((3, 2)), replicates=-1)
    with pytest.raises(InputError, match="sample: has 3 columns"):
        align_sample(np.ones((3, 2)), np.ones((3, 3)))
