"""R6, the analyst's part: mining that reads records only through distances and inner products.

*Model.* P5 and P6 keep all distances between scaled records, and P6 without a translation their inner products; P8
keeps both on average (Liu 2007, §5.2; Chen and Liu 2005). What depends on nothing else gives the same result on the
release as on the scaled private table: k-NN, k-means from the same starts, kernel machines, perceptrons, distance-based
outliers. *Known*: the release. scikit-learn has the first three; here is what it lacks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from veil.arguments import whole
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError

Rows = npt.NDArray[np.intp]
CANDIDATES = 1_024
FIRST_TILE, LARGEST_TILE = 256, 4_096
PREDICTED = 4_096


class Outliers(NamedTuple):
    """The records farthest from their k-th neighbour: their rows and those distances, farthest first."""

    rows: Rows
    distances: Vector


def nested_loop_outliers(records: npt.ArrayLike, k: int, n: int) -> Outliers:
    """The ``n`` records whose k-th nearest neighbour is farthest away.

    A nested loop that gives up on a record as soon as k others are nearer than the n-th best outlier so far is from
    its own k-th (definition: Ramaswamy, Rastogi and Shim 2000; loop and rule: Knorr and Ng 1998, Bay and Schwabacher
    2003). Both loops run in a random order, so that most records are given up after a few tiles; the result does not
    depend on it. Equal distances go by row.

    Parameters
    ----------
    records
        N × d numbers, for example ``release.to_numpy()``, without missing values.
    k
        Which neighbour counts.
    n
        How many outliers.

    >>> nested_loop_outliers([[0.0], [1.0], [2.0], [9.0]], k=2, n=1)
    Outliers(rows=array([3]), distances=array([8.]))
    """
    from scipy.spatial.distance import cdist

    x = _table(records)
    k, n = whole(k, "k", least=1), whole(n, "n", least=1)
    if k >= len(x) or n > len(x):
        raise InputError(f"k must be less than the number of records and n at most that; got {k}, {n} and {len(x)}")
    order = np.random.default_rng(0).permutation(len(x))
    rows, scores = np.empty(0, dtype=np.intp), np.empty(0)
    for start in range(0, len(x), CANDIDATES):
        cutoff = scores[-1] if len(scores) == n else -np.inf
        asked = order[start : start + CANDIDATES]
        nearest = np.full((len(asked), k), np.inf)
        for tile in _tiles(len(x)):
            others = order[tile]
            squares = cdist(x[asked], x[others], "sqeuclidean")
            squares[asked[:, None] == others] = np.inf
            nearest = np.partition(np.hstack([nearest, squares]), k - 1, axis=1)[:, :k]
            alive = nearest[:, -1] >= cutoff
            asked, nearest = asked[alive], nearest[alive]
        rows, scores = np.concatenate([rows, asked]), np.concatenate([scores, nearest.max(axis=1, initial=0.0)])
        best = np.lexsort((rows, -scores))[:n]
        rows, scores = rows[best], scores[best]
    return Outliers(rows, np.sqrt(scores))


class VotedPerceptron(ClassifierMixin, BaseEstimator):
    """R6. The voted perceptron (Freund and Schapire 1999) for two classes.

    Every weight vector that the perceptron passes through votes, as often as the number of records it survived: the one
    that made it, and those it got right before its first mistake. It reads records through inner products only, so
    that it makes the same mistakes on a P6 release without translation as on the scaled table. Its vote is not
    linear: to map a model back (:func:`veil.publishing.linear_models.linear_model_to_original`), train
    scikit-learn's ``Perceptron``.

    Parameters
    ----------
    n_epochs : int, default 10
        How often the records are gone through.
    fit_intercept : bool, default True
        Add a column of ones.
    shuffle : bool, default True
        Go through the records in a random order, the same in each epoch; otherwise as they come.
    random_state : None, int or RandomState, default 0
        The order's seed.

    Attributes
    ----------
    vectors_ : array of shape (n_vectors, d) or (n_vectors, d + 1)
        The weight vectors; the last column is the intercept.
    votes_ : array of shape (n_vectors,)
        Their votes.
    classes_ : array of shape (2,)
        The classes.

    Examples
    --------
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array(["no", "no", "yes", "yes"])
    >>> print(VotedPerceptron().fit(X, y).predict([[-5.0], [4.0]]))
    ['no' 'yes']
    """

    catalogue = "R6"
    vectors_: Matrix
    votes_: npt.NDArray[np.int64]
    classes_: npt.NDArray[Any]

    def __init__(
        self, n_epochs: int = 10, *, fit_intercept: bool = True, shuffle: bool = True, random_state: Any = 0
    ) -> None:
        self.n_epochs = n_epochs
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> VotedPerceptron:
        """Go through the records ``n_epochs`` times."""
        from sklearn.utils import check_random_state

        X, y = validate_data(self, X, y, dtype=np.float64)
        epochs = whole(self.n_epochs, "n_epochs", least=1)
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        if kind != "binary":
            raise InputError(
                f"Only binary classification is supported. The type of the target is {kind}; use scikit-learn's "
                "OneVsRestClassifier(VotedPerceptron())"
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError("y has one class, and a classifier needs two")
        order = np.arange(len(X))
        if self.shuffle:
            order = check_random_state(self.random_state).permutation(len(X))
        records, signs = self._with_ones(X)[order], np.where(codes == 1, 1.0, -1.0)[order]
        mistakes, self.votes_ = _epochs(np.ascontiguousarray(records), signs, epochs)
        steps = records[mistakes] * signs[mistakes, None]
        self.vectors_ = np.vstack([np.zeros(records.shape[1]), steps.cumsum(axis=0)])
        return self

    def decision_function(self, X: Any) -> Vector:
        """The majority of the votes, from −1 (all for the first class) to 1."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        votes = self.votes_.astype(np.float64)  # whole numbers, so that equal votes add up to zero exactly
        out = np.empty(len(X))
        for start in range(0, len(X), PREDICTED):
            part = slice(start, start + PREDICTED)
            out[part] = np.sign(self._with_ones(X[part]) @ self.vectors_.T) @ votes
        return np.asarray(out / votes.sum())

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class with the majority of the votes."""
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(np.intp)])

    def _with_ones(self, X: Matrix) -> Matrix:
        return np.hstack([X, np.ones((len(X), 1))]) if self.fit_intercept else X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@numba.njit(cache=True, nogil=True)
def _epochs(records: Matrix, signs: Vector, n_epochs: int) -> tuple[Rows, npt.NDArray[np.int64]]:
    """Rows of the mistakes in order, and how many records each weight vector survived, first the zero vector."""
    weights = np.zeros(records.shape[1])
    mistakes: list[int] = []
    votes: list[int] = []
    survived = 0
    for epoch in range(n_epochs):
        before = len(mistakes)
        for i in range(len(records)):
            if signs[i] * np.dot(weights, records[i]) > 0.0:
                survived += 1
            else:
                mistakes.append(i)
                votes.append(survived)
                weights += signs[i] * records[i]
                survived = 1
        if len(mistakes) == before:  # nor will there be any in the epochs that are left
            survived += (n_epochs - epoch - 1) * len(records)
            break
    votes.append(survived)
    return np.array(mistakes), np.array(votes)


def _tiles(n_records: int) -> list[slice]:
    """Small tiles first: most records are given up after one."""
    tiles, start, size = [], 0, FIRST_TILE
    while start < n_records:
        tiles.append(slice(start, start + size))
        start, size = start + size, min(2 * size, LARGEST_TILE)
    return tiles


def _table(records: npt.ArrayLike) -> Matrix:
    try:
        x = np.asarray(records, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("records must be numbers, one row per record") from None
    if x.ndim != 2 or not x.size:
        raise InputError(f"records must be a table of at least one record and one column; got shape {x.shape}")
    n_bad = int((~np.isfinite(x)).any(axis=1).sum())
    if n_bad:
        raise InputError(f"records: {n_bad} of {len(x)} have a missing or infinite value; leave them out")
    return x
