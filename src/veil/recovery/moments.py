"""R3: mean and covariance of the private table from a release with public noise.

=====  =======================================  =====================================================
P1 P2  ``y = x + r``                            Σx = Σy − Σr
P3 P22 ``y = x·r + e``                          E x = E y/E r; E x² = (E y² − σe²)/E r²;
                                                Cov(xᵢ, xⱼ) = Cov(yᵢ, yⱼ)/(E r)² for i ≠ j
P4     ``ln y = ln x + e``                      E x = E y·e^(−s/2); E xᵢxⱼ = E yᵢyⱼ·e^(−(sᵢ + sⱼ)/2 − sᵢⱼ)
P24    x, or the mean of those beyond           E x = E y, but for the rounding of that mean; no covariance
=====  =======================================  =====================================================

(Huang 2005; Liu 2007, eq. 3.1–3.5, corrected by errata L-k, L-m, L-n.)

Two standard errors answer two questions. *Noise only*: how far is the estimate from the private table's own
moments? It follows from the noise law given x, with each monomial of x replaced by its unbiased estimate from
y. *Total*: how far from the population that the table was drawn from? It is the spread over records.

Of records with gaps every value that is there is used: by EM under a normal model of x, corrected for the noise of any
of these kinds (:mod:`veil.numerics.gap_moments`). Its means and covariances are right if what is missing depends on
private values that are there and on public columns, and x on these in straight lines with a constant spread; if chance
alone decides what is missing, for every law. *Noise only* is then the error for what the private table's own values
that are there tell by the same EM without noise; *total* is that for the population, and counts what the gaps hide.
Weighted records (:mod:`veil.recovery.weights`) are estimated in the same way.

Additive noise that is relative to the columns' standard deviations tells these to two digits, and noise of similarity 1
the correlations, too (:attr:`veil.release.models.AdditiveModel.data_covariance`): on small tables with strong noise far
more exactly than Σy − Σr. Both estimates are combined, entry by entry with weights inverse to their variances v and w,
the noise's given x and that of rounding; the result has ``1/(1/v + 1/w)`` for the table. Its error and the table's own
distance from the population add up to the total. By the law of total variance that distance has the spread of y over
records less what noise adds to it given x. Strong noise leaves little of the difference to be seen, so it counts as at
least that of normal records, ``(ΣᵢᵢΣⱼⱼ + Σᵢⱼ²)/n``: with lighter tails the interval is too wide.

With noise that is one draw per group, and members who resemble each other, errors are those of groups
(:mod:`veil.recovery.clusters`); the release is then held in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from veil.arguments import choice, flag
from veil.data.blocks import Block, Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.numerics.factor_law import FactorLaw
from veil.numerics.laws import LAWS, is_law
from veil.numerics.noisy_covariance import combined, noise_variance
from veil.numerics.products import Products
from veil.recovery.clusters import Clusters, in_common, products_in_common, shared_noise
from veil.recovery.display import Displayed, columns_of, table_of
from veil.recovery.gaps import estimate
from veil.recovery.gaps_of_numbers import check_unmoved, gap_problem, known_law
from veil.recovery.noise import noise_covariance
from veil.recovery.products import moved, origin_of, patterns_before, product_means, release_products
from veil.recovery.skewness import complete_third, skewed_limits
from veil.recovery.weights import Weights, as_weights
from veil.release.manifest import Part
from veil.release.models import AdditiveModel, LogNormalModel, MultiplicativeModel, TopCodedModel
from veil.release.release import Release
from veil.report.recovered_text import RecoveredView


def coded_counts(columns: tuple[str, ...], stand_ins: Matrix, block: Block) -> Matrix:
    """d × 2: how many values of a block stand for others below and above."""
    y = block.matrix(columns)
    return np.array([(y == ends[:, None]).sum(axis=1) for ends in stand_ins.T], dtype=np.float64).T


class MomentRecovery(Displayed):
    """R3. Estimate the private table's mean and covariance, with standard errors.

    Parameters
    ----------
    published : bool, default True
        Use what the manifest tells about standard deviations and correlations beside the released values, where noise
        is additive, no value is missing and records have no weights. False for the unbiased estimate from released
        values and noise alone.
    weights : name of a public column, array of one number per row, or False, optional
        How many people of the population each record stands for: the inverse of the probability that it was drawn with.
        Standard errors for the population are then those of drawing with replacement. By default the release's column
        with the role weight, if it has one; False for none.
    public : bool, default True
        Predict missing values from the release's public columns, too.

    Attributes
    ----------
    columns_ : names of the private columns
    mean_, covariance_
        The estimates. The covariance divides by n and may be indefinite: it is not clipped.
    mean_se_, covariance_se_
        Standard errors for the private table's own moments (noise only).
    mean_total_se_, covariance_total_se_
        Standard errors for the population's moments.
    n_rows_, n_gaps_
        Rows of the release, and how many of them have a missing value.

    Notes
    -----
    A column with fewer than two values, and a covariance of columns that no two records have together, is NaN.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(5, 2, size=(2000, 2))
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(1.0, random_state=0))
    >>> recovery = veil.MomentRecovery().fit(release)
    >>> bool((abs(recovery.mean_ - x.mean(axis=0)) < 3 * recovery.mean_se_).all())
    True
    """

    columns_: tuple[str, ...]
    mean_: Vector
    covariance_: Matrix
    mean_se_: Vector
    covariance_se_: Matrix
    mean_total_se_: Vector
    covariance_total_se_: Matrix
    n_rows_: int
    n_gaps_: int
    _clusters: Clusters | None
    _release: Release
    _third: Vector | None

    def __init__(self, *, published: bool = True, weights: Any = None, public: bool = True) -> None:
        self.published = flag(published, "published")
        self.weights = weights
        self.public = flag(public, "public")

    def fit(self, release: Release) -> Self:
        """Estimate from a release."""
        if not isinstance(release, Release):
            raise InputError(f"MomentRecovery takes a release; got a {type(release).__name__}")
        model, self._release, self._third = release.only_part.model, release, None
        if isinstance(model, TopCodedModel):
            self._coded_ends(release, model)
            return self
        if not isinstance(model, AdditiveModel | MultiplicativeModel | LogNormalModel):
            raise NotApplicableError(
                f"the moments behind a {release.method} release do not come back; added and multiplied noise tells them"
            )
        weights, sums = as_weights(self.weights, release), release_products(release)
        self.n_rows_, self.n_gaps_ = sums.n_rows, sums.n_rows - sums.n
        self._clusters = Clusters.of(release)
        own = self._clusters is not None and not self._clusters.shared
        if weights.given or self.n_gaps_ or (own and not isinstance(model, AdditiveModel)):
            self._all_records(release, weights)
        elif isinstance(model, AdditiveModel):
            self._additive(product_means(sums), model, release)
        elif isinstance(model, MultiplicativeModel):
            self._multiplicative(product_means(sums), model.law, model.noise**2, release)
        else:
            self._lognormal(product_means(sums), model.covariance, release)
        self.columns_ = release.only_part.names
        self._saw(release)
        return self

    def view(self) -> RecoveredView:
        """Means, standard deviations and covariances with two standard errors, as they are shown."""
        means = self.mean_, self.mean_se_, self.mean_total_se_
        return self._view(
            self.n_rows_,
            columns=columns_of(self.columns_, means, self.covariance_, self.covariance_se_, units=self._units),
            covariance=table_of(self.covariance_),
            covariance_half=table_of(self.covariance_se_, 2.0),
        )

    def interval(self, *, target: str = "table", z: float = 2.0) -> dict[str, tuple[Any, Any]]:
        """Mean and covariance ± z standard errors, for the ``"table"`` or the ``"population"``.

        Those for the population account for the skewness of heavy-tailed columns (:mod:`veil.recovery.skewness`): they
        reach further to the side where the tail is, but for covariances that the manifest helped to tell. Of records
        that are all complete and have no weights that takes one more pass over the release.
        """
        choice(target, "target", ("table", "population"))
        if target == "table":
            estimates = {"mean": (self.mean_, self.mean_se_), "covariance": (self.covariance_, self.covariance_se_)}
            return {name: (value - z * error, value + z * error) for name, (value, error) in estimates.items()}
        third = np.nan_to_num(self._third_cumulants(), nan=0.0)
        d = len(self.mean_)
        products, upper = np.zeros((d, d)), np.triu_indices(d)
        products[upper] = products.T[upper] = third[d:]
        return {
            "mean": skewed_limits(self.mean_, self.mean_total_se_, third[:d], z),
            "covariance": skewed_limits(self.covariance_, self.covariance_total_se_, products, z),
        }

    def _published_entries(self) -> npt.NDArray[np.bool_]:
        """Which entries of the covariance the manifest helped to tell: their errors are not those of releases."""
        model, upper = self._release.only_part.model, np.triu_indices(len(self.mean_))
        known = model.data_covariance if isinstance(model, AdditiveModel) and self.published else None
        return np.zeros(len(upper[0]), dtype=np.bool_) if known is None else ~np.isnan(known[upper])

    def _third_cumulants(self) -> Vector:
        """Of means, then of the upper triangle of the covariance; none where values beyond limits were recoded."""
        if self._third is None:
            d = len(self.mean_)
            if isinstance(self._release.only_part.model, TopCodedModel):
                self._third = np.zeros(d + d * (d + 1) // 2)
            else:
                self._third = complete_third(self._release, self.mean_, self.covariance_, self._clusters)
                self._third[d:][self._published_entries()] = 0.0
        return self._third

    def _set(self, n: int, variances: Sequence[Matrix], release: Release | None = None) -> None:
        if release is not None and self._clusters is not None and self._clusters.shared:
            variances = self._raised(variances, release.only_part)
        errors = [np.sqrt(np.clip(v, 0.0, None) / n) for v in variances]
        self.mean_se_, self.mean_total_se_, self.covariance_se_, self.covariance_total_se_ = errors

    def _all_records(self, release: Release, weights: Weights) -> None:
        """The estimates from records with gaps, or of weights."""
        d = len(release.only_part.names)
        columns, noise = gap_problem(release, weights, public=False)
        products, stored = release.only_part.products, patterns_before(release, weights)
        if stored is not None and products is not None:
            stored = moved(stored, np.array(products.origin), noise, np.array(columns.origin))
        else:
            check_unmoved(release)
            if self.public and self.n_gaps_:
                columns, noise = gap_problem(release, weights, public=True)
        told = estimate(release, columns, d, weights, noise, self._clusters, stored)
        self.mean_, self.covariance_ = told.mean + np.array(columns.origin), told.covariance
        self._third = told.third
        upper, errors = np.triu_indices(d), []
        for error in (told.noise, told.total):
            deviations = np.sqrt(np.clip(np.diag(error), 0.0, None))
            second = np.empty((d, d))
            second[upper] = second.T[upper] = deviations[d:]
            errors += [deviations[:d], second]
        self.mean_se_, self.covariance_se_, self.mean_total_se_, self.covariance_total_se_ = errors
        if not known_law(release.only_part.model):
            np.fill_diagonal(self.covariance_se_, np.diag(self.covariance_total_se_))

    def _raised(self, variances: Sequence[Matrix], part: Part) -> list[Matrix]:
        """Variances as if the rows of a group were one: given x, of columns with one noise per group."""
        assert self._clusters is not None  # noqa: S101 - for the type checker
        design = self._clusters.design
        grouped = np.array([name in part.groups for name in part.names])
        if isinstance(part.model, LogNormalModel):  # noise that correlates is in part one per group
            grouped |= in_common(part, part.model.covariance)
        mean, covariance = np.where(grouped, design, 1.0), np.where(grouped[:, None] | grouped, design, 1.0)
        factors = (mean, np.full_like(mean, design), covariance, np.full_like(covariance, design))
        return [np.asarray(variance * factor) for variance, factor in zip(variances, factors, strict=True)]

    def _of_groups(
        self, release: Release, p: Products, model: AdditiveModel, kurtosis: float
    ) -> tuple[Vector, Vector, Matrix, Matrix]:
        """What groups add to the variances given x, and the variances over groups: of means, and of covariances.

        Values that were made plausible tell how alike the rows of a group are; how far they spread, the products of the
        values before.
        """
        assert self._clusters is not None  # noqa: S101 - for the type checker
        part, clusters = release.only_part, self._clusters
        y = release.to_numpy().T
        y = y - y.mean(axis=1)[:, None]
        if part.products is not None:
            y *= np.sqrt(_ratio(p.power[2] - p.mean**2, (y * y).mean(axis=1)))[:, None]
        shared = shared_noise(part, model.covariance)
        own = np.diag(shared) * clusters.pairs / y.shape[1]
        given = products_in_common(clusters, y, shared, model.covariance, kurtosis)
        centred = [y * row - (y @ row / y.shape[1])[:, None] for row in y]
        total = np.array([clusters.spread(each) for each in centred])
        if part.products is not None:
            total *= _ratio(p.two_two - p.one_one**2, np.array([(each * each).mean(axis=1) for each in centred]))
        return own, clusters.spread(y), given, total

    @np.errstate(over="ignore", invalid="ignore")
    def _additive(self, p: Products, model: AdditiveModel, release: Release) -> None:
        noise, spread = noise_covariance(release.only_part, model), p.one_one - np.outer(p.mean, p.mean)
        self.mean_, self.covariance_ = p.mean + origin_of(release), spread - noise * (1.0 - 1.0 / p.n)
        own, total = np.diag(noise), p.two_two - p.one_one**2
        known = model.data_covariance if self.published else None
        table = self.covariance_ if known is None else np.where(np.isnan(known), self.covariance_, known)
        law, of_mean = is_law(model.distribution), np.diag(spread)
        kurtosis = LAWS[model.distribution].kurtosis if law else 3.0
        given = noise_variance(table, noise, kurtosis)
        if self._clusters is not None:
            more, of_mean, products, total = self._of_groups(release, p, model, kurtosis)
            own, given = own + more, given + products
        if not law:
            # Of an unknown law no fourth moment is known; by the law of total variance the whole bounds its share.
            np.fill_diagonal(given, np.diag(total))
        self._set(p.n, [own, of_mean, given, total])
        if known is not None and model.data_covariance_se is not None:
            self._combine(p.n, given, total, known, model.data_covariance_se**2)

    def _combine(self, n: int, given: Matrix, total: Matrix, known: Matrix, rounding: Matrix) -> None:
        """Add what is published of the covariance (NaN where nothing is), with the variance of its rounding."""
        given, total = np.clip(given, 0.0, None) / n, np.clip(total, 0.0, None) / n
        self.covariance_, variance = combined(self.covariance_, given, known, rounding)
        self.covariance_se_ = np.sqrt(variance)
        spread = np.clip(np.diag(self.covariance_), 0.0, None)
        n_records = n if self._clusters is None else n / self._clusters.design
        sampling = np.fmax(total - given, (np.outer(spread, spread) + self.covariance_**2) / n_records)
        self.covariance_total_se_ = np.sqrt(np.where(np.isnan(known), total, variance + sampling))

    def _multiplicative(self, p: Products, law: FactorLaw, s: Vector, release: Release) -> None:
        m1, m2, m3, m4 = law.raw_moments()
        self.mean_ = p.mean / m1
        x1, x2 = p.power[1] / m1, (p.power[2] - s) / m2
        x3, x4 = (p.power[3] - 3 * s * p.power[1]) / m3, (p.power[4] - 6 * s * p.power[2] + 3 * s**2) / m4
        spread = p.one_one - np.outer(p.mean, p.mean)
        self.covariance_ = spread / m1**2
        diagonal = np.diag_indices_from(spread)
        self.covariance_[diagonal] = x2 - x1**2
        # Off the diagonal: Var(uᵢuⱼ | x) is estimated without bias by uᵢ²vⱼ + uⱼ²vᵢ − vᵢvⱼ; u = y − E y, v = Var(y|x).
        ratio = (m2 - m1**2) / m2
        given, total = _centred_products(p, ratio, s * (1 - ratio))
        # On it: f = y²/m2 − 2μy/m1 is the influence of one record.
        a, b = 1 / m2, -2 * self.mean_ / m1
        given[diagonal] = m1**4 * (
            a**2 * ((m4 - m2**2) * x4 + 4 * m2 * s * x2 + 2 * s**2)
            + 2 * a * b * ((m3 - m1 * m2) * x3 + 2 * m1 * s * x1)
            + b**2 * ((m2 - m1**2) * x2 + s)
        )
        f2 = a**2 * p.power[4] + 2 * a * b * p.power[3] + b**2 * p.power[2]
        total[diagonal] = m1**4 * (f2 - (a * p.power[2] + b * p.power[1]) ** 2)
        mean_given = ((m2 - m1**2) * x2 + s) / m1**2
        self._set(p.n, [mean_given, np.diag(spread) / m1**2, given / m1**4, total / m1**4], release)

    def _coded_ends(self, release: Release, model: TopCodedModel) -> None:
        """Values beyond a limit have their mean, rounded to two digits; what their spread was is lost."""
        if model.kind != "mean":
            raise NotApplicableError(
                "values beyond the limits were released as the limits, which do not tell their mean; TopCoding("
                "replace='mean') does"
            )
        names = release.only_part.released
        products = product_means(release_products(release))
        coded = release.summed(partial(coded_counts, names, model.stand_ins)) / products.n_rows
        ends = np.where(np.isfinite(model.stand_ins) & (model.stand_ins != 0), np.abs(model.stand_ins), 1.0)
        step = np.where(np.isfinite(model.stand_ins), 10.0 ** (np.floor(np.log10(ends)) - 1), 0.0)
        rounding = (coded**2 * step**2).sum(axis=1) / 12.0
        spread = products.one_one - np.outer(products.mean, products.mean)
        whole = ~coded.any(axis=1)
        self.mean_, both = products.mean, np.outer(whole, whole)
        self.covariance_ = np.where(both, spread, np.nan)
        total = np.where(both, products.two_two - products.one_one**2, np.nan)
        zero = np.where(both, 0.0, np.nan)
        self._set(products.n, [rounding * products.n, np.diag(spread) + rounding * products.n, zero, total])
        self.n_rows_, self.columns_ = products.n_rows, release.only_part.names
        self.n_gaps_ = products.n_rows - products.n
        self._saw(release)

    def _lognormal(self, p: Products, noise: Matrix, release: Release) -> None:
        s = np.diag(noise)
        rows, columns = s[:, None], s[None, :]

        def unbiased(i: int, j: int) -> Matrix:
            """What turns a mean of yᵢ^i yⱼ^j into one of xᵢ^i xⱼ^j."""
            return np.asarray(np.exp(-0.5 * (i * i * rows + j * j * columns + 2 * i * j * noise)))

        k = np.exp(-s / 2)
        self.mean_ = p.mean * k
        both = unbiased(1, 1)
        self.covariance_ = p.one_one * both - np.outer(self.mean_, self.mean_)
        mi, mj, m2 = self.mean_[:, None], self.mean_[None, :], p.power[2]
        # f = kᵢⱼyᵢyⱼ − μᵢkⱼyⱼ − μⱼkᵢyᵢ is the influence of one record; its square given x, and unconditionally.
        square = both**2 * p.two_two + mi**2 * (k**2 * m2)[None, :] + mj**2 * (k**2 * m2)[:, None]
        square += -2 * both * mi * k[None, :] * p.one_two - 2 * both * mj * k[:, None] * p.one_two.T
        square += 2 * mi * mj * np.outer(k, k) * p.one_one
        true = (
            unbiased(2, 2) * p.two_two + mi**2 * (np.exp(-2 * s) * m2)[None, :] + mj**2 * (np.exp(-2 * s) * m2)[:, None]
        )
        true += -2 * mi * unbiased(1, 2) * p.one_two - 2 * mj * unbiased(2, 1) * p.one_two.T
        true += 2 * mi * mj * both * p.one_one
        expected = both * p.one_one - 2 * np.outer(self.mean_, self.mean_)
        mean_given = m2 * (1 - np.exp(-s)) * k**2
        self._set(p.n, [mean_given, (m2 - p.mean**2) * k**2, square - true, square - expected**2], release)


def _ratio(before: Matrix, released: Matrix) -> Matrix:
    """By what values spread more than the released ones did; 1 where these do not differ."""
    there = (released > 0.0) & (before > 0.0)
    return np.divide(before, released, out=np.ones_like(released), where=there)


def _centred_products(p: Products, ratio: float, floor: Vector) -> tuple[Matrix, Matrix]:
    """Means of uᵢ²vⱼ + uⱼ²vᵢ − vᵢvⱼ, and the variance of uᵢuⱼ, with u = y − E y and v = ratio·y² + floor."""
    m, m2 = p.mean, p.power[2]
    u2 = m2 - m**2
    # E uᵢ²yⱼ² = E yᵢ²yⱼ² − 2mᵢ E yᵢyⱼ² + mᵢ² E yⱼ²
    u2y2 = p.two_two - 2 * m[:, None] * p.one_two + (m**2)[:, None] * m2[None, :]
    u2v = ratio * u2y2 + u2[:, None] * floor[None, :]
    vv = ratio**2 * p.two_two + ratio * (np.outer(m2, floor) + np.outer(floor, m2)) + np.outer(floor, floor)
    given = u2v + u2v.T - vv
    u2u2 = u2y2 - 2 * m[None, :] * (p.one_two.T - 2 * m[:, None] * p.one_one + (m**2)[:, None] * m[None, :])
    u2u2 += (m**2)[None, :] * u2[:, None]
    spread = p.one_one - np.outer(m, m)
    return given, u2u2 - spread**2
