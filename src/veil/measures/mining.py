"""Results kept by a release: clusters, class predictions and nearest neighbours.

The original and the release must have the same records in the same order; they need not
have the same columns. Distances are taken in the units given: where one column would
swamp the others, standardise both tables first. Records with a missing value in either
table are left out. Tables larger than ``max_records`` are sampled by ``random_state``.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, Mask, renamed, whole
from veil.errors import InputError
from veil.measures.intervals import ratio_interval
from veil.measures.measure import Measure
from veil.measures.utility import complete_records

Labels = npt.NDArray[np.int64]


@renamed("seed", "random_state")
def clustering_agreement(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    n_clusters: int,
    random_state: int = 0,
    max_records: int = 20_000,
) -> Measure:
    """Adjusted Rand index between k-means of the original and k-means of the release.

    1: the same clusters; 0: what chance gives (Hubert and Arabie 1985). k-means is
    scikit-learn's with 10 starts from ``random_state`` on both sides; no interval, since it is
    about these records.
    """
    from sklearn.metrics import adjusted_rand_score

    before, after = _clusters(original, released, n_clusters, random_state, max_records)
    return Measure(float(adjusted_rand_score(before, after)), higher_is="useful")


@renamed("seed", "random_state")
def clustering_error(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    n_clusters: int,
    random_state: int = 0,
    max_records: int = 20_000,
) -> Measure:
    """:func:`matched_error` between k-means of the original and k-means of the release."""
    return matched_error(*_clusters(original, released, n_clusters, random_state, max_records))


def matched_error(labels: npt.ArrayLike, others: npt.ArrayLike) -> Measure:
    """Share of records in another cluster, after the best one-to-one matching of clusters.

    The matching is the assignment that keeps most records (Kuhn 1955). Comparing cluster
    sizes only, ½Σ|size difference|/N as in Liu's Table 5.3, is smaller or equal (errata L-u).

    >>> float(matched_error([0, 0, 1, 1], ["b", "b", "a", "b"]))
    0.25
    """
    from scipy.optimize import linear_sum_assignment

    first, second = _codes(labels, "labels"), _codes(others, "others")
    if first.size == 0 or first.size != second.size:
        raise InputError(f"others: has {second.size} labels where labels has {first.size}; pass one label per record")
    table = np.zeros((int(first.max()) + 1, int(second.max()) + 1), dtype=np.int64)
    np.add.at(table, (first, second), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return Measure(1.0 - float(table[rows, columns].sum()) / first.size, higher_is="distorted")


@renamed("seed", "random_state")
def classification_retention(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    labels: npt.ArrayLike,
    n_neighbors: int = 5,
    folds: int = 5,
    random_state: int = 0,
    max_records: int = 20_000,
    over_chance: bool = False,
) -> Measure:
    """Accuracy of k-NN on the release divided by its accuracy on the original.

    Both accuracies are cross-validated on the same stratified folds, training and testing
    within one table. The 95 % interval is that of a ratio over paired records. Above 1: the
    release happens to classify better. NaN when the original classifies nothing right.

    With ``over_chance`` both are counted over the share of the most frequent class, which is right without any
    release: (a_y − m)/(a_x − m). 0 for a release that says nothing, negative for one that misleads, and NaN when the
    original does no better than the most frequent class.
    """
    x, y, sampled = _sampled(original, released, random_state, max_records)
    classes = _codes(labels, "labels")
    if classes.size != sampled.size:
        raise InputError(f"labels: has {classes.size} labels for {sampled.size} records; pass one label per record")
    classes = classes[sampled]
    largest = int(np.bincount(classes).max())
    if largest < 2:
        raise InputError("labels: no class has two records, so nothing can be predicted; pass class labels")
    folds = whole(folds, "folds", least=2, most=largest)
    least_training = len(x) - math.ceil(len(x) / folds)
    n_neighbors = whole(n_neighbors, "n_neighbors", least=1, most=least_training)
    before = _right(x, classes, n_neighbors, folds, random_state)
    after = _right(y, classes, n_neighbors, folds, random_state)
    if not over_chance:
        value, low, high = ratio_interval(after, before)
        return Measure(value, low=low, high=high, higher_is="useful")
    majority = (classes == np.bincount(classes).argmax()).astype(np.float64)
    if before.sum() <= majority.sum():
        return Measure(math.nan, higher_is="useful")
    value, low, high = ratio_interval(after - majority, before - majority, lower=-math.inf)
    return Measure(value, low=low, high=high, higher_is="useful")


@renamed("seed", "random_state")
def neighbour_retention(
    original: npt.ArrayLike,
    released: npt.ArrayLike,
    n_neighbors: int = 10,
    random_state: int = 0,
    max_queries: int = 2_000,
    over_chance: bool = False,
) -> Measure:
    """Mean share of a record's k nearest neighbours that are still among them in the release.

    A neighbour in the release counts as kept when its original distance is at most that of
    the k-th original neighbour, so that ties in the original cost nothing. At most
    ``max_queries`` records are asked about, drawn by ``random_state``, each against the whole
    table; the 95 % interval is that of the drawing, and has no width when all are asked.

    With ``over_chance`` the share s is counted over c, that of k records named at random, of which many count in a
    table with ties: (s − c)/(1 − c). NaN when every record counts.

    >>> float(neighbour_retention([0.0, 1.0, 3.0, 7.0], [0.0, 2.0, 6.0, 14.0], n_neighbors=2))
    1.0
    """
    x, y, _ = complete_records(original, released)
    k = whole(n_neighbors, "n_neighbors", least=1, most=len(x) - 1)
    rng = np.random.default_rng(whole(random_state, "random_state"))
    queries = rng.permutation(len(x))[: whole(max_queries, "max_queries", least=1)]
    near_before, near_after = _neighbours(x, queries, k), _neighbours(y, queries, k)
    asked = x[queries][:, None, :]
    reach = np.sqrt(((x[near_before] - asked) ** 2).sum(axis=2)).max(axis=1, keepdims=True)
    distance = np.sqrt(((x[near_after] - asked) ** 2).sum(axis=2))
    shares = (distance <= reach * (1.0 + 1e-9)).mean(axis=1)
    value, low, high = ratio_interval(shares, np.ones_like(shares), upper=1.0)
    if len(queries) == len(x):
        low = high = value
    if over_chance:
        named = _others(queries, len(x), k, rng)
        chance = float((np.sqrt(((x[named] - asked) ** 2).sum(axis=2)) <= reach * (1.0 + 1e-9)).mean())
        value, low, high = ((end - chance) / (1.0 - chance) if chance < 1.0 else math.nan for end in (value, low, high))
    return Measure(value, low=low, high=high, higher_is="useful")


def _others(queries: Labels, n: int, k: int, rng: np.random.Generator) -> Labels:
    """For each query k of the n − 1 other records, at random."""
    return np.asarray((queries[:, None] + rng.integers(1, n, size=(len(queries), k))) % n, dtype=np.int64)


def _sampled(
    original: npt.ArrayLike, released: npt.ArrayLike, random_state: int, max_records: int
) -> tuple[Array, Array, Mask]:
    """Complete records of both tables, at most ``max_records``, and which of all records they are."""
    x, y, complete = complete_records(original, released)
    limit = whole(max_records, "max_records", least=2)
    rng = np.random.default_rng(whole(random_state, "random_state", most=2**32 - 1))
    if len(x) <= limit:
        return x, y, complete
    drawn = np.sort(rng.permutation(len(x))[:limit])
    sampled = np.zeros_like(complete)
    sampled[np.flatnonzero(complete)[drawn]] = True
    return x[drawn], y[drawn], sampled


def _clusters(
    original: npt.ArrayLike, released: npt.ArrayLike, n_clusters: int, random_state: int, max_records: int
) -> tuple[Labels, Labels]:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    x, y, _ = _sampled(original, released, random_state, max_records)
    n_clusters = whole(n_clusters, "n_clusters", least=1, most=len(x))
    labels: list[Labels] = []
    for table in (x, y):
        # One thread: the order of sums, and so the labels, then depend on the random state alone.
        with warnings.catch_warnings(), threadpool_limits(1):
            # Fewer distinct records than clusters: the labels are still right.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KMeans(n_clusters=n_clusters, n_init=10, random_state=random_state).fit(table)
        labels.append(np.asarray(model.labels_, dtype=np.int64))
    return labels[0], labels[1]


def _right(table: Array, classes: Labels, n_neighbors: int, folds: int, random_state: int) -> Array:
    """1 where the record's class is predicted right from the other folds, else 0."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    table = _about_origin(table)
    splits = StratifiedKFold(n_splits=folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():  # a class with fewer records than folds is legitimate
        warnings.filterwarnings("ignore", message="The least populated class")
        predicted = cross_val_predict(KNeighborsClassifier(n_neighbors), table, classes, cv=splits)
    return np.asarray(predicted == classes, dtype=np.float64)


def _neighbours(table: Array, queries: Labels, k: int) -> Labels:
    """The k nearest other records of each query."""
    from sklearn.neighbors import NearestNeighbors

    table = _about_origin(table)
    nearest = NearestNeighbors(n_neighbors=k + 1).fit(table).kneighbors(table[queries], return_distance=False)
    # Among duplicates the record itself may come late or not at all: then the farthest goes instead.
    drop = np.where(nearest == queries[:, None], 1, 0)
    drop[drop.sum(axis=1) == 0, -1] = 1
    return np.asarray(nearest[drop == 0].reshape(len(queries), k), dtype=np.int64)


def _about_origin(table: Array) -> Array:
    # scikit-learn expands |a − b|² in many dimensions, which loses digits far from the origin.
    return np.asarray(table - table.mean(axis=0))


def _codes(labels: npt.ArrayLike, name: str) -> Labels:
    """Labels of any kind as whole numbers from 0."""
    raw = np.asarray(labels)
    if raw.ndim != 1:
        raise InputError(f"{name}: must be a vector, not {raw.ndim}-dimensional; pass one label per record")
    try:
        return np.asarray(np.unique(raw, return_inverse=True)[1], dtype=np.int64)
    except TypeError:  # labels of kinds that do not compare
        raise InputError(f"{name}: mixes kinds of labels; pass all numbers or all text") from None
