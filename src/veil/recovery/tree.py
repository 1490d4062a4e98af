"""R5: a decision tree from noisy values (Agrawal and Srikant 2000; Liu 2007, §2.1.1).

*Model.* ``y = x + r`` for the attributes, with the law of r public and class labels as they are. Splits found on
y are blurred. So each attribute's distribution is reconstructed (R1), and the noisy values are replaced by its
quantiles in the order of their ranks: the smallest noisy value gets the smallest recovered one. A tree is grown
on what comes out.

``"global"`` reconstructs from all records, ``"byclass"`` from each class by itself: the classes' distributions are
what splits are made of, so by class is the better of the two. Ranks of single records stay wrong: an attribute's
distribution is right within a class, its dependence on other attributes is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from veil.arguments import choice
from veil.data.blocks import Matrix
from veil.errors import InputError, listed
from veil.numerics.laws import NoiseLaw
from veil.recovery.column_counts import fine_bins
from veil.recovery.counting import GridCounts
from veil.recovery.density import reconstruct
from veil.recovery.distribution import make_edges, quantiles_of
from veil.recovery.noise import NoisyColumn, noisy_columns
from veil.release.release import Release

RECONSTRUCTIONS = ("byclass", "global", "none")


class NoisyTreeClassifier(ClassifierMixin, BaseEstimator):
    """R5. A decision tree grown on noisy values, for records without noise.

    Parameters
    ----------
    noise_scale : float or array of shape (d,), default 0.0
        Standard deviation of each attribute's noise; 0 leaves an attribute as it is. ``fit_release`` takes it
        from the manifest instead.
    distribution : {"normal", "uniform", "laplace"}, default "normal"
        The law of the noise.
    reconstruction : {"byclass", "global", "none"}, default "byclass"
        What to reconstruct the attributes' distributions from; "none" grows the tree on the noisy values.
    n_bins : int, default 100
        Intervals of each reconstructed distribution.
    max_depth : int or None, default 6
        Depth of the tree; deep trees learn the wrong ranks.
    min_samples_leaf : int or float, default 1
        As in scikit-learn's tree.
    random_state : None or int
        Breaks ties between equally good splits.

    Attributes
    ----------
    tree_ : DecisionTreeClassifier
        The tree, in the private attributes' units.
    classes_ : array
        The classes.
    n_left_out_ : int
        Records of the release left out because the class or an attribute is missing.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, size=(20_000, 1))
    >>> y = ((x[:, 0] > 0.4) & (x[:, 0] < 0.6)).astype(int)
    >>> noisy = x + rng.normal(0, 0.25, size=x.shape)
    >>> recovered = NoisyTreeClassifier(0.25).fit(noisy, y)
    >>> plain = NoisyTreeClassifier(reconstruction="none").fit(noisy, y)
    >>> bool(recovered.score(x, y) > plain.score(x, y))
    True
    """

    catalogue = "R5"
    tree_: DecisionTreeClassifier
    classes_: npt.NDArray[Any]
    n_left_out_: int

    def __init__(
        self,
        noise_scale: Any = 0.0,
        *,
        distribution: str = "normal",
        reconstruction: str = "byclass",
        n_bins: int = 100,
        max_depth: int | None = 6,
        min_samples_leaf: int | float = 1,
        random_state: Any = None,
    ) -> None:
        self.noise_scale = noise_scale
        self.distribution = distribution
        self.reconstruction = reconstruction
        self.n_bins = n_bins
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> NoisyTreeClassifier:
        """Grow the tree on noisy records and their classes; or on a release and the name of its public class column."""
        if isinstance(X, Release):
            return self.fit_release(X, y)
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.n_left_out_ = 0
        laws = [NoiseLaw(self.distribution, s) if s > 0 else None for s in self._scales(X.shape[1])]
        return self._grow(X, y, laws)

    def fit_release(self, release: Release, target_column: str) -> NoisyTreeClassifier:
        """Grow the tree on an additive release whose classes are a public column of it."""
        columns = noisy_columns(release, None, type(self).__name__)
        public = [column.name for column in release.manifest.public]
        if target_column not in public:
            raise InputError(
                f"target_column must be a public column of the release ({listed(public) or 'it has none'}); got "
                f"{target_column!r}"
            )
        target = release.table.read([target_column]).column(0)
        X = release.to_numpy()
        held = ~np.isnan(X).any(axis=1) & ~np.asarray(target.is_null(nan_is_null=True))
        if not held.any():
            raise InputError(f"all {len(X)} records lack their class or an attribute; none is left to learn from")
        self.n_left_out_ = int(len(X) - held.sum())
        names = [column.name for column in columns]
        self.n_features_in_ = len(names)
        self.__dict__.pop("feature_names_in_", None)
        if release.table.kind != "numpy":
            self.feature_names_in_ = np.array(names, dtype=object)
        y = np.array(target.filter(pa.array(held)).to_pylist())
        return self._grow(X[held], y, [column.noise for column in columns])

    def _scales(self, n_features: int) -> list[float]:
        try:
            scales = np.broadcast_to(np.asarray(self.noise_scale, dtype=np.float64), (n_features,))
        except (TypeError, ValueError):
            scales = np.array([np.nan])
        if not (np.isfinite(scales).all() and (scales >= 0).all()):
            raise InputError(f"noise_scale must be one number of at least 0, or one per attribute ({n_features})")
        return [float(scale) for scale in scales]

    def _grow(self, X: Matrix, y: npt.NDArray[Any], laws: list[NoiseLaw | None]) -> NoisyTreeClassifier:
        choice(self.reconstruction, "reconstruction", RECONSTRUCTIONS)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        groups = [np.arange(len(X))]
        if self.reconstruction == "byclass":
            groups = [np.flatnonzero(codes == k) for k in range(len(self.classes_))]
        corrected = X.copy()
        for j, law in enumerate(laws):
            if law is not None and self.reconstruction != "none":
                for rows in groups:
                    corrected[rows, j] = corrected_values(X[rows, j], law, self.n_bins)
        self.tree_ = DecisionTreeClassifier(
            max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf, random_state=self.random_state
        ).fit(corrected, codes)
        return self

    def predict_proba(self, X: Any) -> Matrix:
        """Probability of each class for records without noise."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.tree_.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of records without noise."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


def corrected_values(noisy: npt.NDArray[np.float64], law: NoiseLaw, n_bins: int) -> npt.NDArray[np.float64]:
    """Quantiles of the reconstructed distribution in the order of the noisy values' ranks.

    >>> x = np.random.default_rng(0).uniform(0, 1, size=5000)
    >>> noisy = x + np.random.default_rng(1).normal(0, 0.5, size=5000)
    >>> tuple(float(v.std().round(1)) for v in (x, noisy, corrected_values(noisy, NoiseLaw("normal", 0.5), n_bins=50)))
    (0.3, 0.6, 0.3)
    """
    column = NoisyColumn("X", "X", law)
    table = GridCounts([law.scale], fine_bins(n_bins), [column.name])
    table.update(np.ascontiguousarray(noisy)[None])
    reconstruction = reconstruct(table.counts, table.edges(), make_edges(None, table, 0, column, n_bins), law)
    levels = (np.arange(len(noisy)) + 0.5) / len(noisy)
    out = np.empty(len(noisy))
    out[np.argsort(noisy, kind="stable")] = quantiles_of(levels, reconstruction.edges[0], reconstruction.probabilities)
    return out
