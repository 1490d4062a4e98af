"""Groups in recovery: rows of a group that show one draw of noise, and resemble each other, are fewer than they look.

*Noise.* Where columns are constant within groups, their noise is one draw per group (``groups`` of a part in the
manifest), and rows a ≠ b of a group have noise of covariance K in common: on these columns C Σr itself, and where
noise correlates Σr[·,C] Σr[C,C]⁻¹ Σr[C,·]. A mean over n rows then errs by ``Σr + K·M/n`` over n instead of Σr, with M
the pairs of rows, Σ m(m − 1) over groups of m. Given x, the products of normal noise add, with P the sum of x_a x_bᵀ
over these pairs, which the release tells up to M·K::

    n·Var = noise_variance + (P_ii K_jj + P_jj K_ii + 2 P_ij K_ij + M (K_ii K_jj + K_ij²))/n

(Isserlis 1918; of independent noise of another law M (κ − 3) K_ii² is added on the diagonal).

*Population.* Whole groups were drawn, and rows of one resemble each other, so the spread is taken over groups, also if
a release only names them and noise is drawn for every row: with f
the influence of a row and F its sum over a group, ``n·Var = Σ F²/n · G/(G − 1)`` (the cluster-robust estimate: Liang
and Zeger 1986). With gaps or weights the same is done with what each record adds to the estimate
(:mod:`veil.numerics.gap_errors`).

Where no formula is at hand, as for multiplied noise, and for the noise given x with gaps or weights, variances are
raised by Σ m²/n, what they would be if the rows of a group were one (Kish 1965); with weights by Σ (Σw)²/Σ w². Of
several columns of groups the one with the fewest counts for all, which raises errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from veil.data.blocks import Block, Matrix, Vector, one_array
from veil.recovery.response_estimates import Dispersion, ProportionEstimate
from veil.recovery.weights import Weights
from veil.release.manifest import Part
from veil.release.release import Release

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Clusters:
    """The groups of n rows, as numbers from 0; rows without one are groups by themselves.

    ``shared`` says whether noise was drawn once per group.
    """

    codes: Codes
    shared: bool = True

    @classmethod
    def of(cls, release: Release) -> Clusters | None:
        """The groups by which noise is drawn, else those that the release names as groups; None without any."""
        parts = release.manifest.parts
        coded = [_codes(release, name) for name in dict.fromkeys(name for p in parts for name in p.groups.values())]
        if coded:
            return cls(min(coded, key=lambda codes: int(codes.max(initial=0))))
        return None if release.group is None else cls(_codes(release, release.group), shared=False)

    def among(self, rows: npt.NDArray[np.bool_]) -> Clusters:
        """Those of some rows."""
        return Clusters(np.unique(self.codes[rows], return_inverse=True)[1].astype(np.int64), self.shared)

    @cached_property
    def sizes(self) -> Vector:
        """How many rows each group has."""
        return np.bincount(self.codes).astype(np.float64)

    @property
    def pairs(self) -> float:
        """Ordered pairs of two rows of a group."""
        return float((self.sizes * (self.sizes - 1.0)).sum())

    @property
    def design(self) -> float:
        """Σ m²/n: by what variances rise where all rows of a group are one."""
        return float((self.sizes**2).sum() / self.sizes.sum())

    def sums(self, columns: Matrix) -> Matrix:
        """Sums over the groups of columns that stand as rows (k × n to k × G)."""
        return np.array([np.bincount(self.codes, column, minlength=len(self.sizes)) for column in columns])

    def spread(self, influences: Matrix) -> Vector:
        """n times the variance of means of influences of rows (k × n), over groups."""
        n, n_groups = float(self.sizes.sum()), len(self.sizes)
        return np.asarray((self.sums(influences) ** 2).sum(axis=1) / n * n_groups / max(n_groups - 1, 1))


def weighted_design(
    release: Release, clusters: Clusters, weights: Weights, names: Sequence[str] | None = None
) -> float:
    """By what variances rise where all rows of a group are one and have weights; the most of any column with gaps."""
    names = list(release.only_part.released if names is None else names)
    columns = release.table.read([*names, *weights.columns])
    own = weights.of(Block(0, *columns.to_batches()))
    there = np.array([pc.is_valid(one_array(columns.column(name))).to_numpy(zero_copy_only=False) for name in names])
    designs = [1.0]
    for rows in (there.any(axis=0), there.all(axis=0), *there):
        used = np.where(rows, own, 0.0)
        squares = float((used**2).sum())
        designs.append(float((clusters.sums(used[None]) ** 2).sum()) / squares if squares else 1.0)
    return max(designs)


def shared_noise(part: Part, covariance: Matrix) -> Matrix:
    """K: the covariance of the noise of two rows of a group."""
    at = [j for j, name in enumerate(part.names) if name in part.groups]
    columns = covariance[:, at]
    return np.asarray(columns @ np.linalg.pinv(covariance[np.ix_(at, at)]) @ columns.T)


def in_common(part: Part, covariance: Matrix) -> npt.NDArray[np.bool_]:
    """Of which columns the rows of a group share noise, wholly or in part."""
    return np.asarray(np.diag(shared_noise(part, covariance)) > 1e-9 * np.diag(covariance), dtype=np.bool_)


def products_in_common(clusters: Clusters, y: Matrix, shared: Matrix, covariance: Matrix, kurtosis: float) -> Matrix:
    """What rows of a group add to n times the variance of Σy − Σr given x; ``y`` are d × n distances from the mean."""
    n, pairs = y.shape[1], clusters.pairs
    sums = clusters.sums(y)
    products = sums @ sums.T - y @ y.T - pairs * shared
    own = np.clip(np.diag(products), 0.0, None)
    noise = np.diag(shared)
    added = np.outer(own, noise) + np.outer(noise, own) + 2.0 * products * shared
    added += pairs * (np.outer(noise, noise) + shared**2)
    whole = np.isclose(noise, np.diag(covariance))
    added += np.diag(np.where(whole, pairs * (kurtosis - 3.0) * noise**2, 0.0))
    return np.asarray(added / n)


def clustered_dispersion(
    clusters: Clusters, reports: Codes, matrix: Matrix, estimate: ProportionEstimate, *, shared: bool
) -> ProportionEstimate:
    """The dispersion of proportions from the reports of all rows: the total over groups, randomization given x.

    ``shared``: reports are one draw per group, whose m rows count as m² of one, so that the randomization is that of
    the table in which rows are weighted by m, times Σ m²/n.
    """
    k, n = len(matrix), float(clusters.sizes.sum())
    inverse, n_groups = np.linalg.inv(matrix), len(clusters.sizes)
    cells = np.bincount(clusters.codes * k + reports, minlength=n_groups * k).reshape(n_groups, k)
    influences = cells @ inverse.T - np.outer(clusters.sizes, estimate.estimate)
    total = influences.T @ influences / n**2 * n_groups / max(n_groups - 1, 1)
    randomization = estimate.dispersion.randomization
    if shared:
        weights = np.bincount(reports, clusters.sizes[clusters.codes], minlength=k)
        shares = weights / weights.sum()
        randomization = clusters.design * ((inverse * shares) @ inverse.T - np.diag(inverse @ shares)) / n
    return ProportionEstimate(estimate.estimate, Dispersion(total - randomization, randomization))


def raised(estimate: ProportionEstimate, design: float) -> ProportionEstimate:
    """An estimate whose errors are as if the rows of a group were one."""
    parts = estimate.dispersion
    return ProportionEstimate(estimate.estimate, Dispersion(parts.sampling * design, parts.randomization * design))


def _codes(release: Release, name: str) -> Codes:
    codes = pc.dictionary_encode(one_array(release.table.read([name]).column(0))).indices
    codes = codes.fill_null(-1).to_numpy().astype(np.int64)
    alone = codes < 0
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return np.asarray(codes, dtype=np.int64)
