"""R6, analyst's part: the nested loop finds what brute force finds, the voted perceptron is Freund and Schapire's."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import veil
from _tables import within_standard_errors
from veil.errors import InputError
from veil.recovery import mining
from veil.recovery.mining import VotedPerceptron, nested_loop_outliers

GUIDE = Path(__file__).parents[2] / "docs" / "mining.md"


def brute_force(x, k, n):
    squares = cdist(x, x, "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    scores = np.sort(squares, axis=1)[:, k - 1]
    best = np.lexsort((np.arange(len(x)), -scores))[:n]
    return best, np.sqrt(scores[best])


@pytest.mark.parametrize(
    ("n_records", "k", "n"), [(2, 1, 1), (30, 29, 30), (300, 5, 10), (3_000, 3, 25), (3_000, 1, 1)]
)
def test_nested_loop_equals_brute_force(n_records, k, n):
    x = np.random.default_rng(n_records).standard_t(4, size=(n_records, 3))
    found, (rows, distances) = nested_loop_outliers(x, k, n), brute_force(x, k, n)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(found.distances, distances)


@given(st.integers(2, 40), st.data())
def test_ties_and_duplicates_go_by_row(n_records, data):
    values = data.draw(st.lists(st.integers(0, 3), min_size=2 * n_records, max_size=2 * n_records))
    x = np.array(values, dtype=float).reshape(n_records, 2)
    k, n = data.draw(st.integers(1, n_records - 1)), data.draw(st.integers(1, n_records))
    found, (rows, distances) = nested_loop_outliers(x, k, n), brute_force(x, k, n)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_array_equal(found.distances, distances)


def test_pruned_ties_go_by_row_across_candidate_blocks(monkeypatch):
    monkeypatch.setattr(mining, "CANDIDATES", 7)
    monkeypatch.setattr(mining, "FIRST_TILE", 3)
    x = np.random.default_rng(0).integers(0, 4, size=(200, 2)).astype(float)
    for k, n in ((1, 5), (4, 20), (50, 3)):
        found, (rows, distances) = nested_loop_outliers(x, k, n), brute_force(x, k, n)
        np.testing.assert_array_equal(found.rows, rows)
        np.testing.assert_array_equal(found.distances, distances)


def test_outliers_far_from_the_origin_keep_their_digits():
    """Distances are taken from differences: |a|² − 2a·b + |b|² would lose them all here."""
    x = np.random.default_rng(1).normal(size=(500, 4))
    far = x + 2.0**27
    there, here = (nested_loop_outliers(table, 5, 10) for table in (far, far - 2.0**27))
    np.testing.assert_array_equal(there.distances, here.distances)


def test_outliers_of_a_rotation_are_the_private_ones():
    x = load_breast_cancer().data
    release, _ = veil.publish(x, veil.OrthogonalTransform(scaling=None, translation=1.0, dither=False))
    private, released = (nested_loop_outliers(table, k=5, n=20) for table in (x, release.to_numpy()))
    np.testing.assert_array_equal(released.rows, private.rows)
    np.testing.assert_allclose(released.distances, private.distances, rtol=1e-10)


@pytest.mark.parametrize(
    ("records", "k", "n", "said"),
    [
        (np.zeros((4, 2)), 4, 1, "k must be less than the number of records"),
        (np.zeros((4, 2)), 0, 1, "k must be a whole number of at least 1"),
        (np.zeros((4, 2)), 1, 5, "n at most that; got 1, 5 and 4"),
        (np.zeros((4, 2)), 1, 1.5, "n must be a whole number"),
        (np.zeros(4), 1, 1, r"shape \(4,\)"),
        (np.zeros((0, 2)), 1, 1, "at least one record"),
        (np.array([[1.0], [np.nan], [np.inf]]), 1, 1, "2 of 3 have a missing or infinite value"),
        ([["a"]], 1, 1, "must be numbers"),
    ],
)
def test_what_the_nested_loop_refuses(records, k, n, said):
    with pytest.raises(InputError, match=said):
        nested_loop_outliers(records, k, n)


def voted_by_hand(x, labels, epochs, queries):
    """Freund and Schapire (1999), figure 1, word for word."""
    v, c = [np.zeros(x.shape[1])], [0]
    for _ in range(epochs):
        for record, label in zip(x, labels, strict=True):
            if np.sign(v[-1] @ record) == label:
                c[-1] += 1
            else:
                v.append(v[-1] + label * record)
                c.append(1)
    return sum(count * np.sign(queries @ vector) for vector, count in zip(v, c, strict=True)) / sum(c)


@pytest.mark.parametrize("separable", [True, False])
def test_voted_perceptron_is_the_papers(separable):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 3))
    labels = np.sign(x @ [1.0, -2.0, 0.5] + (0 if separable else rng.normal(size=60)))
    queries = rng.normal(size=(200, 3))
    model = VotedPerceptron(30, fit_intercept=False, shuffle=False).fit(x, labels)
    np.testing.assert_allclose(model.decision_function(queries), voted_by_hand(x, labels, 30, queries), atol=1e-12)
    assert model.votes_.sum() == 30 * 60
    ones = np.ones((60, 1)), np.ones((200, 1))
    model = VotedPerceptron(5, shuffle=False).fit(x, labels)
    expected = voted_by_hand(np.hstack([x, ones[0]]), labels, 5, np.hstack([queries, ones[1]]))
    np.testing.assert_allclose(model.decision_function(queries), expected, atol=1e-12)


def test_mistakes_on_separable_records_are_bounded():
    """Novikoff: at most (radius/margin)² mistakes, and none once it has converged."""
    rng = np.random.default_rng(3)
    direction = np.array([0.6, 0.8])
    x = rng.normal(size=(400, 2))
    x = x[np.abs(x @ direction) > 0.2]
    labels = np.sign(x @ direction)
    model = VotedPerceptron(1_000, fit_intercept=False).fit(x, labels)
    margin, radius = np.abs(x @ direction).min(), np.linalg.norm(x, axis=1).max()
    assert len(model.vectors_) - 1 <= (radius / margin) ** 2
    assert model.votes_[-1] > len(x)
    assert model.score(x, labels) == 1.0


def test_labels_without_information_are_guessed():
    """Ten folds of coin tosses: right half the time, within 5 standard errors."""
    rng = np.random.default_rng(4)
    x, labels = rng.normal(size=(1_000, 3)), np.repeat([0, 1], 500)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    assert within_standard_errors(
        cross_val_score(VotedPerceptron(), x, labels, cv=folds).mean(), 0.5, 0.5 / np.sqrt(1_000), 5
    )


def test_three_classes_need_one_perceptron_each():
    x, species = load_iris(return_X_y=True)
    with pytest.raises(InputError, match="OneVsRestClassifier"):
        VotedPerceptron().fit(x, species)
    assert OneVsRestClassifier(VotedPerceptron()).fit(x, species).score(x, species) > 0.9
    with pytest.raises(InputError, match="n_epochs must be a whole number"):
        VotedPerceptron(0).fit(x, species == 0)
    with pytest.raises(InputError, match="one class"):
        VotedPerceptron().fit(x, np.zeros(150, dtype=int))


@parametrize_with_checks([VotedPerceptron(), VotedPerceptron(1, fit_intercept=False, shuffle=False)])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.skipif(not GUIDE.exists(), reason="the guide is not part of this installation")
def test_the_guide_says_what_happens():
    text = re.sub(r"^```.*$", "", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, GUIDE.name, str(GUIDE), 0)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.summarize().failed == 0
    assert len(examples.examples) > 30
