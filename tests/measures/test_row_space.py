"""Row spaces of projections: l-secure, decomposable and determined attributes against brute force (M15)."""

import itertools
import math

import numpy as np
import pytest

from veil.errors import InputError
from veil.measures.row_space import determined_attributes, l_secure, row_decomposable


def sparse(k, n, s, rng):
    return math.sqrt(s) * rng.choice([-1, 0, 1], size=(k, n), p=[1 / (2 * s), 1 - 1 / s, 1 / (2 * s)])


def brute_l(matrix):
    """Definition 5.4.3: the rank survives the loss of any l columns, not of any l + 1."""
    n, rank = matrix.shape[1], np.linalg.matrix_rank(matrix)
    for w in range(1, n + 1):
        for lost in itertools.combinations(range(n), w):
            kept = np.delete(matrix, lost, axis=1)
            if not kept.size or np.linalg.matrix_rank(kept) < rank:
                return w - 1
    raise AssertionError


def brute_decomposable(matrix, groups):
    """Theorem 5.4.2 by all partitions: no column in the span of the other groups' columns."""
    n = matrix.shape[1]
    for labels in itertools.product(range(groups), repeat=n):
        if set(labels) != set(range(groups)):
            continue
        others = [matrix[:, [g != h for h in labels]] for g in range(groups)]
        ranks = [np.linalg.matrix_rank(other) for other in others]
        if all(
            np.linalg.matrix_rank(np.column_stack([others[g], matrix[:, j]])) > ranks[g] for j, g in enumerate(labels)
        ):
            return True
    return False


@pytest.mark.parametrize("law", ["continuous", "sparse", "repeated"])
def test_search_equals_brute_force(law):
    rng = np.random.default_rng(len(law))
    for _ in range(25):
        k = int(rng.integers(1, 5))
        n = int(rng.integers(k + 1, 8))
        matrix = rng.normal(size=(k, n)) if law == "continuous" else sparse(k, n, int(rng.integers(1, 4)), rng)
        if law == "repeated":  # dependent rows: only the row space counts
            matrix = np.vstack([matrix, 2 * matrix[0]])
        if not matrix.any():
            continue
        found = l_secure(matrix)
        assert found.low == found.high == brute_l(matrix)


@pytest.mark.parametrize(("k", "n"), [(1, 5), (3, 6), (5, 10), (4, 40), pytest.param(10, 20, marks=pytest.mark.slow)])
def test_continuous_matrices_are_as_secure_as_can_be(k, n):
    """l = n − k: all equations have n − k + 1 unknowns (Liu 5.4.5)."""
    found = l_secure(np.random.default_rng(k).normal(size=(k, n)))
    assert float(found) == found.high == n - k
    assert found.higher_is == "private"


def test_beyond_the_budget_bounds_are_given():
    matrix = np.random.default_rng(0).normal(size=(20, 60))
    found = l_secure(matrix, budget=2_000)
    assert (found.low, found.high) == (2.0, 40.0)
    assert float(found) == 2.0
    # A sparse vector is found even then.
    matrix[0] = np.eye(1, 60)[0]
    assert l_secure(matrix, budget=1_000_000) == 0.0


def test_determined_attributes_have_leverage_one():
    rng = np.random.default_rng(1)
    for _ in range(50):
        matrix = sparse(3, 6, 3, rng)
        if not matrix.any():
            continue
        leverage = np.diag(np.linalg.pinv(matrix) @ matrix)
        np.testing.assert_array_equal(determined_attributes(matrix), np.flatnonzero(leverage > 1 - 1e-9))
        assert (l_secure(matrix) == 0.0) == (len(determined_attributes(matrix)) > 0)


def test_a_determined_attribute_is_recovered_exactly():
    rng = np.random.default_rng(2)
    matrix = np.vstack([np.array([0, 1.0, 0, 0, 0]), rng.normal(size=(2, 5))])
    mixed = rng.normal(size=(3, 3)) @ matrix
    x = rng.normal(size=5)
    assert determined_attributes(mixed).tolist() == [1]
    assert (np.linalg.pinv(mixed) @ (mixed @ x))[1] == pytest.approx(x[1])
    assert determined_attributes(rng.normal(size=(5, 5))).tolist() == [0, 1, 2, 3, 4]
    assert determined_attributes(rng.normal(size=(3, 5))).tolist() == []


@pytest.mark.parametrize(("n", "k", "s", "share"), [(6, 3, 3.0, 0.66), (10, 5, 3.0, 0.43), (20, 10, 20**0.5, 0.31)])
def test_sparse_kinds_give_attributes_away(n, k, s, share):
    """Errata L-ae; the figures of experiments.md have two digits."""
    rng, runs = np.random.default_rng(n), 1_500
    given = [len(determined_attributes(m)) > 0 for m in (sparse(k, n, s, rng) for _ in range(runs)) if m.any()]
    assert abs(np.mean(given) - share) < 4 * math.sqrt(share * (1 - share) / runs) + 0.01


@pytest.mark.parametrize("law", ["continuous", "sparse"])
def test_decomposition_equals_brute_force(law):
    rng = np.random.default_rng(7)
    for _ in range(20):
        k = int(rng.integers(2, 5))
        n = int(rng.integers(k, 7))
        matrix = rng.normal(size=(k, n)) if law == "continuous" else sparse(k, n, 2, rng)
        if not matrix.any():
            continue
        for groups in (2, 3):
            assert row_decomposable(matrix, groups) == brute_decomposable(matrix, groups)


def test_continuous_matrices_split_only_below_twice_the_rank():
    """Theorem 5.4.3 holds from n = 2k − 1 on. At n = 2k − 2 two filters split the columns into halves,
    so that n > k does not suffice."""
    rng = np.random.default_rng(3)
    for k in (2, 3, 4, 5):
        for n in range(k + 1, 2 * k + 2):
            assert row_decomposable(rng.normal(size=(k, n)), 2) == (n <= 2 * k - 2)
    matrix = rng.normal(size=(3, 4))
    filters = [np.linalg.svd(matrix[:, other].T)[2][-1] for other in ([2, 3], [0, 1])]
    split = np.abs(np.array(filters) @ matrix)
    assert (split[[0, 0, 1, 1], [2, 3, 0, 1]] < 1e-12).all()
    assert (split[[0, 0, 1, 1], [0, 1, 2, 3]] > 1e-3).all()


def test_limits_of_decomposition():
    assert row_decomposable(np.eye(3), 3)
    assert not row_decomposable(np.eye(3), 4)
    assert not row_decomposable([[1, 0, 0], [0, 1, 0]], 1), "a column without weight is in no group"
    blocks = np.kron(np.eye(3), [1.0, 2.0])
    mixed = np.random.default_rng(0).normal(size=(3, 3)) @ blocks
    assert row_decomposable(mixed, 3)
    with pytest.raises(InputError, match=r"^matrix: .* budget"):
        row_decomposable(mixed, 2, budget=1)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: l_secure(np.zeros((2, 3))), "matrix"),
        (lambda: l_secure([1.0, 2.0]), "matrix"),
        (lambda: l_secure([[1.0, math.nan]]), "matrix"),
        (lambda: l_secure([[1.0, 2.0]], budget=0), "budget"),
        (lambda: determined_attributes([[1.0, 2.0]], tolerance=-1), "tolerance"),
        (lambda: row_decomposable([[1.0, 2.0]], 0), "l"),
    ],
)
def test_refusals(call, name):
    with pytest.raises(InputError, match=rf"^{name}(:| must be) "):
        call()
