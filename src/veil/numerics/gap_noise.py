"""What noise does to products of values of one record, for each kind of noise: all that estimates behind gaps need.

Each kind makes of released values z with E(z|x) = x, says what unbiased estimate of Cov(z|x) to take off zz′
(:class:`~veil.numerics.gap_moments.Correction`), and estimates the covariance, given x, of the products themselves: of
z and of T = zz′ − R̂, stacked as the *terms* t = (zᵢ, Tᵢⱼ for i ≤ j).

*Added noise.* With R its covariance, Cov(zᵢ, Tⱼₖ) = xⱼRᵢₖ + xₖRᵢⱼ and Cov(Tᵢⱼ, Tₖₗ) =
xᵢxₖRⱼₗ + xᵢxₗRⱼₖ + xⱼxₖRᵢₗ + xⱼxₗRᵢₖ + RᵢₖRⱼₗ + RᵢₗRⱼₖ (Isserlis 1918); independent noise of another symmetric law
adds its excess kurtosis where all four are one column. Estimated by z for x and T for xx′.

*Factors, logarithms, categories.* An unbiased estimate of any product of x is known, a product over columns of
``powers`` times a constant. Then Cov(t, t′|x) is estimated by tt′ less the estimate of what t and t′ estimate,
multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.numerics.factor_law import FactorLaw
from veil.numerics.gap_moments import Correction

Indices = npt.NDArray[np.intp]


class GapNoise(Protocol):
    """Noise of one kind on the columns of a table."""

    @property
    def correction(self) -> Correction:
        """What noise adds to products."""
        ...

    def of(self, places: Indices) -> GapNoise:
        """The noise on some of the columns."""
        ...

    def unbiased(self, released: Matrix) -> Matrix:
        """z with E(z|x) = x, from an n × d matrix of released values."""
        ...

    def term_noise(self, released: Matrix, weights: Vector, starts: Indices) -> Matrix:
        """For the records of each pattern, the weighted sum of the covariance of the terms given x, P × q × q.

        Values that are missing are 0; the entries of their terms mean nothing.
        """
        ...


def term_values(noise: GapNoise, released: Matrix) -> Matrix:
    """The terms of every record: z, and the upper triangle of T row by row."""
    z = noise.unbiased(released)
    first, second = np.triu_indices(z.shape[1])
    c = noise.correction
    products = z[:, first] * z[:, second] * (1.0 - c.product[first, second]) - c.fixed[first, second]
    products += np.where(first == second, (c.linear * z)[:, first], 0.0)
    return np.hstack([z, products])


@dataclass(frozen=True)
class AddedNoise:
    """z = x + r with the covariance of r, and r's kurtosis where its entries are independent of each other.

    The kurtosis is that of all columns, or one for each.
    """

    covariance: Matrix
    kurtosis: float | Vector = 3.0

    @cached_property
    def correction(self) -> Correction:
        """R̂ is the covariance of r."""
        return Correction(np.zeros_like(self.covariance), self.covariance, np.zeros(len(self.covariance)))

    def of(self, places: Indices) -> AddedNoise:
        """The noise on some of the columns."""
        kurtosis = self.kurtosis[places] if isinstance(self.kurtosis, np.ndarray) else self.kurtosis
        return AddedNoise(self.covariance[np.ix_(places, places)], kurtosis)

    def unbiased(self, released: Matrix) -> Matrix:
        """Released values as they are."""
        return released

    def term_noise(self, released: Matrix, weights: Vector, starts: Indices) -> Matrix:
        """Linear in the terms, so that their sums are enough."""
        r, d = self.covariance, len(self.covariance)
        i, j = np.triu_indices(d)
        n = np.add.reduceat(weights, starts)[:, None, None]
        terms = np.add.reduceat(term_values(self, released) * weights[:, None], starts, axis=0)
        x, t = terms[:, :d], np.empty((len(starts), d, d))
        t[:, i, j] = t[:, j, i] = terms[:, d:]
        k, m = i[None, :], j[None, :]
        i, j = i[:, None], j[:, None]
        mixed = x[:, i] * r[j].transpose(1, 0, 2) + x[:, j] * r[i].transpose(1, 0, 2)  # terms × columns
        both = t[:, i, k] * r[j, m] + t[:, i, m] * r[j, k] + t[:, j, k] * r[i, m] + t[:, j, m] * r[i, k]
        both += n * (r[i, k] * r[j, m] + r[i, m] * r[j, k])
        own = (i == j) & (i == k) & (j == m)
        excess = np.broadcast_to(self.kurtosis, d) - 3.0
        both += n * np.where(own, excess[i] * r[i, i] ** 2, 0.0)
        upper = np.concatenate([n * r, mixed.transpose(0, 2, 1)], axis=2)
        return np.concatenate([upper, np.concatenate([mixed, both], axis=2)], axis=1)


@dataclass(frozen=True)
class ProductNoise:
    """Noise under which every product of x has an unbiased estimate: a product of powers, times a constant.

    Columns of one ``group`` are the categories of one answer, of which one at most is 1; others have a group of their
    own. ``factors`` has the moments of order 1 to 4 of each column's factor, ``deviations`` those of what was added
    after it, ``logarithmic`` the covariance of what was added to logarithms; ``answered`` columns are such categories.
    ``kurtosis`` is that of what was added, None for normal noise.
    """

    groups: Indices
    logarithmic: Matrix
    correction: Correction
    factors: Matrix
    deviations: Vector
    answered: npt.NDArray[np.bool_] = field(repr=False)
    kurtosis: Vector | None = None

    @classmethod
    def of_factors(cls, factors: tuple[FactorLaw | None, ...], deviations: Vector) -> ProductNoise:
        """y = x·f + e with independent f, and independent normal e; a column with factor None is as it was.

        E y² = x²E f² + s² gives x² from y², and R̂ = (1 − (E f)²/E f²)z² + s²/E f².
        """
        d, known = len(factors), {law: law.raw_moments() for law in factors if law is not None}
        moments = np.array([(1.0, 1.0, 1.0, 1.0) if law is None else known[law] for law in factors])
        m1, m2 = moments[:, 0], moments[:, 1]
        correction = Correction(np.diag(1.0 - m1**2 / m2), np.diag(deviations**2 / m2), np.zeros(d))
        return cls(np.arange(d), np.zeros((d, d)), correction, moments, deviations, np.zeros(d, dtype=np.bool_))

    @classmethod
    def of_logarithms(cls, covariance: Matrix) -> ProductNoise:
        """ln y = ln x + e with normal e of this covariance s: E zᵢzⱼ = xᵢxⱼ·exp(sᵢⱼ)."""
        d = len(covariance)
        correction = Correction(1.0 - np.exp(-covariance), np.zeros((d, d)), np.zeros(d))
        return cls(np.arange(d), covariance, correction, np.ones((d, 4)), np.zeros(d), np.zeros(d, dtype=np.bool_))

    @classmethod
    def of_answers(cls, groups: Indices, answered: npt.NDArray[np.bool_]) -> ProductNoise:
        """Columns of P⁻¹e, e the reported category of a randomized answer; others are as they were.

        Of one answer's true indicators the product is 0, and the square the indicator itself.
        """
        d = len(groups)
        same = (groups[:, None] == groups) & answered
        correction = Correction(same.astype(np.float64), np.zeros((d, d)), answered.astype(np.float64))
        return cls(groups, np.zeros((d, d)), correction, np.ones((d, 4)), np.zeros(d), answered)

    def of(self, places: Indices) -> ProductNoise:
        """The noise on some of the columns."""
        square, c = np.ix_(places, places), self.correction
        return ProductNoise(
            self.groups[places],
            self.logarithmic[square],
            Correction(c.product[square], c.fixed[square], c.linear[places]),
            self.factors[places],
            self.deviations[places],
            self.answered[places],
            None if self.kurtosis is None else self.kurtosis[places],
        )

    def unbiased(self, released: Matrix) -> Matrix:
        """Divided by the mean factor, or by that of the noise on logarithms."""
        return np.asarray(released / self.factors[:, 0] * np.exp(-np.diag(self.logarithmic) / 2))

    def powers(self, released: Matrix) -> Matrix:
        """Unbiased estimates of x⁰ to x⁴ for every column, n × 5 × d."""
        z, y, s = self.unbiased(released), released, self.deviations**2
        powers = np.stack([np.ones_like(z), z, z**2, z**3, z**4], axis=1)
        powers[:, 1:, self.answered] = z[:, None, self.answered]
        j = np.flatnonzero((self.factors != 1.0).any(axis=1) | (s > 0.0))
        m2, m3, m4 = self.factors[j, 1:].T
        y, s = y[:, j], s[j]
        k = 3.0 if self.kurtosis is None else self.kurtosis[j]
        powers[:, 2, j] = (y**2 - s) / m2
        powers[:, 3, j] = (y**3 - 3 * s * y) / m3
        powers[:, 4, j] = (y**4 - 6 * s * y**2 + (6.0 - k) * s**2) / m4
        return powers

    @cached_property
    def _products(self) -> tuple[Indices, Indices, Matrix]:
        """For the product of two terms: up to four columns with their powers, and the constant."""
        d = len(self.groups)
        i, j = np.triu_indices(d)
        names = np.concatenate([np.column_stack([np.arange(d), np.full(d, d)]), np.column_stack([i, j])])
        q = len(names)
        four = np.concatenate(np.broadcast_arrays(names[:, None, :], names[None, :, :]), axis=2)  # d stands for none
        # The noise on logarithms adds its covariance for each pair of the columns; one answer is one category.
        constant, possible = np.zeros((q, q)), np.ones((q, q), dtype=np.bool_)
        padded = np.zeros((d + 1, d + 1))
        padded[:d, :d] = self.logarithmic
        group = np.append(self.groups, -1)
        for a in range(4):
            for b in range(a + 1, 4):
                first, second = four[..., a], four[..., b]
                constant += padded[first, second]
                possible &= (group[first] != group[second]) | (first == second)
        columns, degrees = np.zeros((2, q, q, 4), dtype=np.intp)
        for a in range(4):
            earlier = np.zeros((q, q), dtype=np.bool_)
            power = np.ones((q, q), dtype=np.intp)
            for b in range(4):
                if b < a:
                    earlier |= four[..., b] == four[..., a]
                elif b > a:
                    power += four[..., b] == four[..., a]
            absent = earlier | (four[..., a] == d)
            columns[..., a], degrees[..., a] = np.where(absent, 0, four[..., a]), np.where(absent, 0, power)
        return columns, degrees, np.where(possible, np.exp(-constant), 0.0)

    def term_noise(self, released: Matrix, weights: Vector, starts: Indices) -> Matrix:
        """tt′ less the unbiased estimate of its mean given x, record by record."""
        from veil.numerics.gap_compiled import take_off  # compiled code is loaded where it is used

        terms, powers = term_values(self, released), self.powers(released)
        columns, degrees, constant = self._products
        sums, ends = np.zeros((len(starts), terms.shape[1], terms.shape[1])), np.append(starts[1:], len(released))
        for p, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            own, weight = terms[start:end], weights[start:end]
            sums[p] = (own * weight[:, None]).T @ own
            take_off(sums[p], weight, powers[start:end], columns, degrees, constant)
        return sums


def joined(noises: Sequence[GapNoise]) -> GapNoise:
    """Noises that are independent of each other, on columns side by side."""
    if len(noises) == 1:
        return noises[0]
    if all(isinstance(noise, AddedNoise) or _is_none(noise) for noise in noises):
        kurtosis = [noise.kurtosis if isinstance(noise, AddedNoise) else 3.0 for noise in noises]
        each = [np.broadcast_to(k, len(n.correction.linear)) for k, n in zip(kurtosis, noises, strict=True)]
        return AddedNoise(_diagonal([noise.correction.fixed for noise in noises]), np.concatenate(each))
    parts = [_as_products(noise) for noise in noises]
    starts = np.cumsum([0, *(len(part.groups) for part in parts)])
    return ProductNoise(
        np.concatenate([part.groups + start for part, start in zip(parts, starts[:-1], strict=True)]),
        _diagonal([part.logarithmic for part in parts]),
        Correction(
            _diagonal([part.correction.product for part in parts]),
            _diagonal([part.correction.fixed for part in parts]),
            np.concatenate([part.correction.linear for part in parts]),
        ),
        np.concatenate([part.factors for part in parts]),
        np.concatenate([part.deviations for part in parts]),
        np.concatenate([part.answered for part in parts]),
        np.concatenate([np.full(len(p.groups), 3.0) if p.kurtosis is None else p.kurtosis for p in parts]),
    )


def _is_none(noise: GapNoise) -> bool:
    """Whether columns are as they were."""
    correction = noise.correction
    return not (correction.product.any() or correction.fixed.any() or correction.linear.any())


def _as_products(noise: GapNoise) -> ProductNoise:
    """Added noise as a case of products; refused where it correlates, for which these have no formula."""
    if isinstance(noise, ProductNoise):
        return noise
    assert isinstance(noise, AddedNoise)  # noqa: S101 - there are no others
    variance = np.diag(noise.covariance)
    if (noise.covariance != np.diag(variance)).any():
        raise NotApplicableError(
            "columns with correlated noise cannot be taken together with answers or multiplied noise; leave one out"
        )
    plain = ProductNoise.of_factors((None,) * len(variance), np.sqrt(variance))
    return replace(plain, kurtosis=np.broadcast_to(noise.kurtosis, len(variance)).astype(np.float64))


def _diagonal(blocks: Sequence[Matrix]) -> Matrix:
    size = sum(len(block) for block in blocks)
    full, start = np.zeros((size, size)), 0
    for block in blocks:
        full[start : start + len(block), start : start + len(block)] = block
        start += len(block)
    return full
