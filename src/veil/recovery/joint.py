"""R2 over two attributes: their joint distribution from one pass over the released table.

*Model.* ``y = x + r`` with noises independent of each other, so the kernel is a product and a step of the
iteration costs L³ (Agrawal and Aggarwal 2001; PKDD 2006 tutorial: one attribute's distribution says nothing
about how attributes go together, which is what most mining needs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.arguments import whole
from veil.data.blocks import Block, Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.recovery.column_counts import TIMES, check_counted, pair_weights, times_of
from veil.recovery.counting import GridCounts
from veil.recovery.density import MAX_ITER, Reconstruction, check_method, reconstruct_joint
from veil.recovery.display import Displayed, column_of_density
from veil.recovery.distribution import check_explained, check_support, make_edges
from veil.recovery.noise import NoisyColumn, noisy_columns
from veil.recovery.weights import Weights, as_weights
from veil.release.models import AdditiveModel
from veil.release.release import Release
from veil.report.recovered_text import RecoveredView


def joint_counts(
    columns: tuple[NoisyColumn, ...], most: int, weights: Weights, unit: float, block: Block
) -> GridCounts:
    """Counts of some columns of a block on one grid, of ``most`` bins at most along each.

    A weighted record counts as often as its weight in units says.
    """
    table = GridCounts([c.scale for c in columns], most, [c.name for c in columns])
    values = block.matrix([c.released for c in columns]) / np.array([c.unit for c in columns])[:, None]
    table.update(values, times_of(weights, block, unit) if weights.given else None)
    return table


class JointRecovery(Displayed):
    """R2. The joint distribution of two private attributes, recovered from an additive release.

    Parameters
    ----------
    columns : (str, str)
        The two private columns.
    method, support, stop, max_iter
        As for :class:`DistributionRecovery`.
    n_bins : int, default 40
        Intervals per attribute.
    weights
        As for :class:`DistributionRecovery`.

    Attributes
    ----------
    probabilities_ : array of shape (n_bins, n_bins)
        The probability of each cell; the first column runs down.
    edges_ : pair of arrays
        Edges of each attribute's intervals.
    reconstruction_ : Reconstruction
        Steps, likelihoods and whether the rule was met.
    n_missing_ : int
        Records left out because one of the two values is missing: as if chance had made the gaps. R3 has the mean and
        the covariance of both from all records.

    Examples
    --------
    >>> import numpy as np, veil
    >>> from veil.recovery import JointRecovery
    >>> x = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=20_000)
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(1.0, random_state=0))
    >>> recovered = JointRecovery(("x0", "x1")).fit(release).correlation()
    >>> bool(0.75 < recovered < 1), bool(np.corrcoef(release.to_numpy().T)[0, 1] < 0.5)
    (True, True)
    """

    catalogue = "R2"
    probabilities_: Matrix
    edges_: tuple[Vector, ...]
    reconstruction_: Reconstruction
    n_missing_: int
    _n_rows: int

    def __init__(
        self,
        columns: Sequence[str],
        method: str = "bayes",
        *,
        n_bins: int = 40,
        support: Mapping[str, Sequence[float]] | None = None,
        stop: float | None = None,
        max_iter: int = MAX_ITER,
        weights: Any = None,
    ) -> None:
        self.columns = columns
        self.method = method
        self.n_bins = n_bins
        self.support = support
        self.stop = stop
        self.max_iter = max_iter
        self.weights = weights

    def fit(self, release: Release) -> JointRecovery:
        """Count pairs of released values in one pass and reconstruct their joint distribution."""
        check_method(self.method, self.stop, self.max_iter)
        whole(self.n_bins, "n_bins", least=1)
        columns = noisy_columns(release, self.columns, type(self).__name__)
        if len(columns) != 2:
            raise InputError(f"columns must be two of the perturbed columns; got {len(columns)}")
        _check_independent(release, [column.name for column in columns])
        given = check_support(self.support, columns)
        weights = as_weights(self.weights, release)
        read = [*(column.released for column in columns), *weights.columns]
        sums = release.summed(partial(pair_weights, tuple(columns), weights), read) if weights.given else np.ones(2)
        leaf = partial(joint_counts, tuple(columns), max(4 * self.n_bins, 64), weights, max(sums[0], 1e-300) / TIMES)
        table = release.summed(leaf, read)
        check_counted(table, columns)
        # What weighted records are worth is (Σw)²/Σw² equal ones (Kish 1965).
        worth = sums[0] ** 2 / sums[1] if weights.given else float(table.n_counted)
        counts, before = table.counts.astype(np.float64), []
        for axis, column in enumerate(columns):
            counts, edges = column.binned(counts, table.edges(axis), axis)
            before.append(edges)
        reconstruction = reconstruct_joint(
            counts if not weights.given else counts * (worth / table.n_counted),
            before,
            [make_edges(given.get(c.name), table, axis, c, self.n_bins) for axis, c in enumerate(columns)],
            [column.noise for column in columns],
            method=self.method,
            stop=self.stop,
            max_iter=self.max_iter,
        )
        check_explained(reconstruction, worth, columns)
        self.reconstruction_ = reconstruction
        self.probabilities_ = reconstruction.probabilities
        self.edges_ = reconstruction.edges
        n_rows = release.table.n_rows
        self.n_missing_ = table.n_missing
        self._n_rows = table.n_counted + table.n_missing if n_rows is None or not weights.given else n_rows
        self._saw(release)
        return self

    def view(self) -> RecoveredView:
        """Both columns' densities and their correlation, as they are shown."""
        shares = [self.probabilities_.sum(axis=1 - axis) for axis in (0, 1)]
        parts = zip(self.columns, shares, self.edges_, strict=True)
        columns = tuple(
            column_of_density(name, share, edges, unit=self._units.get(name, "")) for name, share, edges in parts
        )
        return self._view(self._n_rows, columns=columns, correlation=self.correlation())

    def pdf(self, points: npt.ArrayLike) -> Vector:
        """Density at each of N × 2 points: constant within a cell, 0 outside the support."""
        if not hasattr(self, "edges_"):
            raise InputError("this recovery has not seen a release; call fit(release) first")
        values = np.asarray(points, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != 2:
            raise InputError(f"points must have two columns; got shape {values.shape}")
        density = self.probabilities_ / np.outer(np.diff(self.edges_[0]), np.diff(self.edges_[1]))
        inside = np.ones(len(values), dtype=bool)
        places = []
        for column, edges in zip(values.T, self.edges_, strict=True):
            places.append(np.clip(np.searchsorted(edges, column, side="right") - 1, 0, len(edges) - 2))
            inside &= (column >= edges[0]) & (column <= edges[-1])
        return np.where(inside, density[places[0], places[1]], 0.0)

    def correlation(self) -> float:
        """Correlation of the two private attributes under the recovered distribution.

        Sharper for its purpose is R3, which takes the noise's covariance off; NaN when an attribute has one interval.
        """
        if not hasattr(self, "edges_"):
            raise InputError("this recovery has not seen a release; call fit(release) first")
        a, b = ((edges[1:] + edges[:-1]) / 2 for edges in self.edges_)
        a = a - self.probabilities_.sum(axis=1) @ a
        b = b - self.probabilities_.sum(axis=0) @ b
        power = (self.probabilities_.sum(axis=1) @ a**2) * (self.probabilities_.sum(axis=0) @ b**2)
        return float(a @ self.probabilities_ @ b / np.sqrt(power)) if power > 0 else float("nan")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({tuple(self.columns)!r}, method={self.method!r}, n_bins={self.n_bins!r})"


def _check_independent(release: Release, names: Sequence[str]) -> None:
    model = release.only_part.model
    places = [release.only_part.names.index(name) for name in names]
    if isinstance(model, AdditiveModel) and model.covariance[places[0], places[1]] != 0:
        raise NotApplicableError(
            f"JointRecovery needs noises that are independent of each other; those of {names[0]!r} and {names[1]!r} "
            "are correlated"
        )
