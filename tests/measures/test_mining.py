"""Results kept by a release: clusters, classes and neighbours."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from veil.errors import InputError
from veil.measures import (
    classification_retention,
    clustering_agreement,
    clustering_error,
    matched_error,
    neighbour_retention,
)


def blobs(seed: int = 0, n: int = 300, d: int = 4, gap: float = 8.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), n // 3)
    return rng.normal(size=(n, d)) + gap * np.eye(d)[labels], labels


def test_an_orthogonal_release_keeps_every_result() -> None:
    x, labels = blobs(gap=3.0)
    y = x @ ortho_group.rvs(4, random_state=0) + 100.0
    assert clustering_agreement(x, y, 3) == pytest.approx(1.0)
    assert clustering_error(x, y, 3) == 0.0
    assert neighbour_retention(x, y) == 1.0
    assert classification_retention(x, y, labels) == 1.0


def test_a_release_of_pure_noise_keeps_what_chance_keeps() -> None:
    x, labels = blobs()
    noise = np.random.default_rng(1).normal(size=x.shape)
    # Under independence the adjusted Rand index has mean 0 and deviation about 1/n·(k−1) ≈ .007.
    assert abs(clustering_agreement(x, noise, 3)) < 0.03
    # The original classifies everything; noise is right in 1/3, standard error √(2/9/300) = .027.
    assert classification_retention(x, noise, labels) == pytest.approx(1 / 3, abs=4 * 0.027)
    # k of n − 1 others by chance: mean k/(n−1), hypergeometric spread over 300 × 10 draws .003.
    assert neighbour_retention(x, noise) == pytest.approx(10 / 299, abs=4 * 0.0033)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30),
)
def test_matched_error_is_the_best_of_all_matchings(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs).T
    kept = max(int((np.array(names)[first] == second).sum()) for names in itertools.permutations(range(4)))
    assert matched_error(first, second) == pytest.approx(1 - kept / len(pairs), abs=1e-12)


def test_matched_error_ignores_names_and_sees_what_sizes_hide() -> None:
    first = np.array([0, 0, 1, 1])
    assert matched_error(first, ["z", "z", "a", "a"]) == 0.0
    # Both sides have sizes (2, 2): the paper's ½Σ|size difference|/N is 0 (errata L-u).
    assert matched_error(first, [0, 1, 0, 1]) == 0.5
    assert matched_error([0, 1, 2], [5, 5, 5]) == pytest.approx(2 / 3)
    assert matched_error([0], [9]) == 0.0


def test_clusters_that_move_are_seen() -> None:
    x, _ = blobs()
    y = x.copy()
    moved = np.arange(30)  # 30 records of the first blob turn up in the second
    y[moved] += 8.0 * (np.eye(4)[1] - np.eye(4)[0])
    assert clustering_error(x, y, 3) == pytest.approx(0.1, abs=0.01)
    assert 0.6 < clustering_agreement(x, y, 3) < 0.9
    assert clustering_agreement(x, y, 3).higher_is == "useful"
    assert clustering_error(x, y, 3).higher_is == "distorted"


def test_retention_is_the_ratio_of_cross_validated_accuracies() -> None:
    x, labels = blobs(2, gap=1.5)
    y = x + np.random.default_rng(3).normal(scale=1.5, size=x.shape)

    def accuracy(table: np.ndarray) -> float:
        right = 0
        for train, test in StratifiedKFold(4, shuffle=True, random_state=7).split(table, labels):
            model = KNeighborsClassifier(3).fit(table[train], labels[train])
            right += int((model.predict(table[test]) == labels[test]).sum())
        return right / len(table)

    retention = classification_retention(x, y, labels, n_neighbors=3, folds=4, random_state=7)
    assert retention == pytest.approx(accuracy(y) / accuracy(x), rel=1e-12)
    assert retention.low < retention < retention.high
    assert retention.higher_is == "useful"
    named = classification_retention(
        x, y, np.array(["low", "mid", "top"])[labels], n_neighbors=3, folds=4, random_state=7
    )
    assert named == retention


@pytest.mark.slow
def test_retention_interval_has_the_width_of_a_paired_ratio() -> None:
    # Over 60 independent tables the spread of the ratio must match the reported standard error:
    # a standard deviation over 60 has a relative error of 9 %, and folds add a little of their own.
    values, halves = [], []
    for seed in range(60):
        x, labels = blobs(seed, n=150, gap=1.5)
        y = x + np.random.default_rng(1000 + seed).normal(scale=1.0, size=x.shape)
        retention = classification_retention(x, y, labels, random_state=seed)
        values.append(float(retention))
        halves.append((retention.high - retention.low) / 2)
    assert 0.65 < 1.96 * np.std(values, ddof=1) / np.mean(halves) < 1.5


def test_neighbours_against_sorting_all_distances() -> None:
    x, _ = blobs(4, n=90)
    y = x + np.random.default_rng(5).normal(scale=0.7, size=x.shape)

    def nearest(table: np.ndarray) -> list[set[int]]:
        distances = np.linalg.norm(table[:, None] - table[None], axis=2)
        np.fill_diagonal(distances, np.inf)
        return [set(row[:6]) for row in np.argsort(distances, axis=1)]

    shares = [len(a & b) / 6 for a, b in zip(nearest(x), nearest(y), strict=True)]
    retention = neighbour_retention(x, y, n_neighbors=6)
    assert retention == pytest.approx(np.mean(shares), rel=1e-12)
    assert retention.low == retention.high == retention
    assert retention.higher_is == "useful"


def test_tied_neighbours_cost_nothing() -> None:
    # Whole numbers have many ties, and a rotation breaks them by rounding alone.
    x = np.random.default_rng(6).integers(0, 4, size=(200, 3)).astype(float)
    y = x @ ortho_group.rvs(3, random_state=6)
    assert neighbour_retention(x, y, n_neighbors=5) == 1.0
    assert neighbour_retention(np.ones((20, 2)), np.ones((20, 2)), n_neighbors=5) == 1.0


def test_drawn_queries_estimate_the_value_over_all() -> None:
    # 100 seeds: 4 standard errors of a coverage of .95 are .087; without replacement it covers more.
    x, _ = blobs(7)
    y = x + np.random.default_rng(8).normal(size=x.shape)
    exact = neighbour_retention(x, y)
    drawn = [neighbour_retention(x, y, max_queries=60, random_state=seed) for seed in range(100)]
    assert sum(measure.low <= exact <= measure.high for measure in drawn) >= 87
    assert len(set(drawn)) > 10


def test_columns_may_differ_and_missing_records_are_left_out() -> None:
    x, labels = blobs(9)
    y = x[:, :3].copy()
    y[[0, 150], 0] = np.nan
    kept = np.delete(np.arange(300), [0, 150])
    assert clustering_agreement(x, y, 3) == clustering_agreement(x[kept], y[kept], 3)
    assert neighbour_retention(x, y) == neighbour_retention(x[kept], y[kept])
    assert classification_retention(x, y, labels) == classification_retention(x[kept], y[kept], labels[kept])


def test_large_tables_are_sampled_alike_on_both_sides() -> None:
    x, labels = blobs(10)
    assert clustering_agreement(x, 2 * x, 3, max_records=50) == pytest.approx(1.0)
    assert classification_retention(x, 2 * x, labels, max_records=90) == 1.0
    y = x + np.random.default_rng(11).normal(scale=6, size=x.shape)
    sampled = {float(classification_retention(x, y, labels, max_records=60, random_state=seed)) for seed in range(4)}
    assert len(sampled) > 1


def test_a_rare_class_is_allowed_and_silent(recwarn: pytest.WarningsRecorder) -> None:
    x, labels = blobs(12)
    labels = labels.copy()
    labels[:2] = 9
    assert classification_retention(x, x, labels) == 1.0
    assert clustering_agreement(np.ones((6, 2)), np.ones((6, 2)), 3) == 1.0
    assert not recwarn.list


def test_nothing_to_retain_is_not_a_number() -> None:
    # Two records at one place with different classes, leave-one-out: always the wrong neighbour.
    x = np.array([[0.0], [0.1], [5.0], [5.1]])
    retention = classification_retention(x, x, [0, 1, 0, 1], n_neighbors=1, folds=2)
    assert math.isnan(retention) or retention == 1.0
    alone = np.array([[0.0], [10.0], [0.1], [10.1]])
    assert math.isnan(
        classification_retention(alone, alone, [0, 1, 1, 0], n_neighbors=1, folds=2, random_state=_split())
    )


def _split() -> int:
    """A seed whose two folds are {0, 1} and {2, 3}: there every record's neighbour has the other class."""
    for seed in range(100):
        folds = StratifiedKFold(2, shuffle=True, random_state=seed).split(np.zeros((4, 1)), [0, 1, 1, 0])
        if {frozenset(test.tolist()) for _, test in folds} == {frozenset({0, 1}), frozenset({2, 3})}:
            return seed
    raise AssertionError("no such seed")


def test_refusals() -> None:
    x, labels = blobs()
    for call, name in (
        (lambda: clustering_agreement(x, x[:-1], 3), "released"),
        (lambda: clustering_agreement(x, x, 0), "n_clusters"),
        (lambda: clustering_error(x, x, 301), "n_clusters"),
        (lambda: clustering_error(x, x, 3, max_records=1), "max_records"),
        (lambda: matched_error([0, 1], [0]), "others"),
        (lambda: matched_error([], []), "others"),
        (lambda: matched_error([[0, 1]], [0, 1]), "labels"),
        (lambda: matched_error(np.array([0, "a"], dtype=object), [0, 1]), "labels"),
        (lambda: classification_retention(x, x, labels[:-1]), "labels"),
        (lambda: classification_retention(x, x, np.arange(300)), "labels"),
        (lambda: classification_retention(x, x, labels, folds=1), "folds"),
        (lambda: classification_retention(x, x, labels, folds=101), "folds"),
        (lambda: classification_retention(x, x, labels, n_neighbors=0), "n_neighbors"),
        (lambda: classification_retention(x, x, labels, n_neighbors=241), "n_neighbors"),
        (lambda: neighbour_retention(x, x, n_neighbors=300), "n_neighbors"),
        (lambda: neighbour_retention(x, x, max_queries=0), "max_queries"),
        (lambda: neighbour_retention(x[:1], x[:1]), "original"),
    ):
        with pytest.raises(InputError, match=rf"^{name}(:| must be) "):
            call()
