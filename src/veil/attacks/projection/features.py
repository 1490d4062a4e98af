"""What of a projected release can be compared with a projected sample, and what it is worth (A21).

*Model.* ``v`` is a released record, centred and whitened; a sample record under a candidate matrix becomes a
``v`` too, and under the true one both have the same law. Compared are means of bounded and unbounded
functions of ``v``: its entries, their products, and for many directions ω and two widths a the pair
``1/(1 + w²)``, ``w/(1 + w²)`` with ``w = a ω·v``. For the true matrix the difference of means has the covariance
``V (1/n + 1/N)``, and V is known from the release.

*Weights.* A function that says nothing about the matrix only adds noise, and the best of many candidate
matrices is the one that fits the noise: on normal data the plain weight V⁻¹ is surer and surer of matrices
that are wrong. If wrong matrices give differences of covariance S, the log-likelihood ratio of "true"
against "wrong" has the weight ``(V/n)⁻¹ − (V/n + S)⁻¹``, which is zero where nothing is to be learned. S is taken
from the release alone, turned and mixed with itself at random: it vanishes when the release is normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numba
import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Vector

Floats = npt.NDArray[np.float32] | npt.NDArray[np.float64]

WIDTHS: Final = (0.6, 1.6)
"""Factors a of the standardized projections: tails and centre."""

_TURNS: Final = 300
_TURNED_ROWS: Final = 8_000
_RANK: Final = 1e-3  # functions are many and alike: directions of less variance (of correlations) are left out
FAST: Final = {"reassoc", "contract", "arcp", "nsz"}  # what leaves NaN and infinity as they are


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The functions that are compared, their means over the release and the weights of differences.

    Attributes
    ----------
    directions
        Unit vectors ω as rows.
    means
        Of each function over the release.
    normal_weight
        Of differences in entries and products alone, which is all there is for normal data.
    weight
        Of all differences; minus half the quadratic form is the log-likelihood ratio.
    """

    directions: Matrix
    means: Vector
    normal_weight: Matrix
    weight: Matrix

    @property
    def n_normal(self) -> int:
        """How many functions are entries or products; they come first."""
        k: int = self.directions.shape[1]
        return k + k * (k + 1) // 2


def release_features(v: Matrix, n_sample: int, n_directions: int, rng: np.random.Generator) -> Features:
    """Choose directions for a whitened release (records as rows) and weigh what a sample of ``n_sample`` can show."""
    k = v.shape[1]
    directions = rng.standard_normal((n_directions, k))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    values = _values(v, directions)
    covariance = np.cov(values.T)
    effective = 1.0 / (1.0 / n_sample + 1.0 / len(v))
    first = k + k * (k + 1) // 2

    inner = np.linalg.pinv(covariance[:first, :first], rcond=1e-10, hermitian=True)
    normal_weight = np.zeros_like(covariance)
    normal_weight[:first, :first] = effective * inner
    # The other functions less what entries and products predict of them, in units of the sampling error.
    slope = covariance[first:, :first] @ inner
    rest = covariance[first:, first:] - slope @ covariance[:first, first:]
    unit = np.sqrt(np.maximum(np.diag(rest), 1e-300))
    size, axes = np.linalg.eigh(rest / np.outer(unit, unit))
    varying = size > _RANK * size[-1]
    whiten = (axes[:, varying] / np.sqrt(size[varying])).T / unit
    standard = math.sqrt(effective) * whiten @ np.hstack([-slope, np.eye(len(slope))])

    rows = v[: min(len(v), _TURNED_ROWS)]
    shown = _turned_differences(rows, directions, rng) @ standard.T
    strength, axes = np.linalg.eigh(shown.T @ shown / len(shown))
    # Means over finitely many rows differ by themselves; the last factor is the edge of such eigenvalues.
    chance = 2.0 * effective / len(rows) * (1.0 + math.sqrt(len(strength) / len(shown))) ** 2
    strength = np.maximum(strength - chance, 0.0)
    informative = (axes * np.sqrt(strength / (1.0 + strength))).T @ standard
    return Features(directions, values.mean(axis=0), normal_weight, normal_weight + informative.T @ informative)


def _values(v: Matrix, directions: Matrix) -> Matrix:
    """Each function of each record, in the order of `feature_means`."""
    a, b = np.tril_indices(v.shape[1])
    columns = [v, v[:, a] * v[:, b]]
    projected = v @ directions.T
    for width in WIDTHS:
        w = width * projected
        q = 1.0 / (1.0 + w * w)
        columns += [q, w * q]
    return np.hstack(columns)


def _turned_differences(v: Matrix, directions: Matrix, rng: np.random.Generator) -> Matrix:
    """By how much the means change when the release is turned, or mixed with itself, at random."""
    k, records = v.shape[1], np.ascontiguousarray(v.T)
    here = feature_means(records, directions @ records)
    differences = np.empty((_TURNS, len(here)))
    for i in range(_TURNS):
        turned = random_frame(k, k, rng) @ records
        if i % 2:
            angle = rng.uniform(0.0, math.pi / 2)
            other = np.roll(records, int(rng.integers(1, max(2, len(v)))), axis=1)
            turned = math.cos(angle) * turned + math.sin(angle) * (random_frame(k, k, rng) @ other)
        differences[i] = feature_means(turned, directions @ turned) - here
    return differences


def random_frame(k: int, r: int, rng: np.random.Generator) -> Matrix:
    """A k × r matrix with orthonormal rows (columns, if k > r), uniformly drawn."""
    q, triangle = np.linalg.qr(rng.standard_normal((max(k, r), min(k, r))))
    q = q * np.sign(np.diag(triangle))
    return np.asarray(q if k >= r else q.T)


def feature_means(v: Matrix, projected: Matrix) -> Vector:
    """Mean of each function over records ``v`` (k × n) with projections (directions × n)."""
    n = v.shape[1]
    products = (v @ v.T / n)[np.tril_indices(len(v))]
    return np.concatenate([v.mean(axis=1), products, window_means(np.ascontiguousarray(projected))])


@numba.njit(cache=True, fastmath=FAST, error_model="numpy")
def window_means(projected: Floats) -> Vector:
    """Means of ``1/(1 + w²)`` and ``w/(1 + w²)`` of each projection (directions × n): even and odd, by width.

    Computed in the precision of the projections: constants of another one would widen the sums.
    """
    m, n = projected.shape
    nought, one, narrow, wide = np.array([0.0, 1.0, WIDTHS[0], WIDTHS[1]], dtype=projected.dtype)
    means = np.empty(4 * m)
    for j in range(m):
        even, odd, wide_even, wide_odd = nought, nought, nought, nought
        for i in range(n):
            x = projected[j, i]
            first, second = one + narrow * narrow * x * x, one + wide * wide * x * x
            both = one / (first * second)  # one division for both widths
            even += both * second
            odd += both * second * x
            wide_even += both * first
            wide_odd += both * first * x
        means[j], means[m + j] = even / n, narrow * odd / n
        means[2 * m + j], means[3 * m + j] = wide_even / n, wide * wide_odd / n
    return means


@numba.njit(cache=True, fastmath=FAST, error_model="numpy")
def window_slopes(projected: Floats, pull: Floats) -> Floats:
    """Derivative of ``n pull · window_means`` by each projection of each record, all in one precision."""
    m, n = projected.shape
    one, two, narrow, wide = np.array([1.0, 2.0, WIDTHS[0], WIDTHS[1]], dtype=projected.dtype)
    slopes = np.empty_like(projected)
    for j in range(m):
        even, odd = two * narrow * narrow * pull[j], narrow * pull[m + j]
        wide_even, wide_odd = two * wide * wide * pull[2 * m + j], wide * pull[3 * m + j]
        for i in range(n):
            x = projected[j, i]
            first, second = one + narrow * narrow * x * x, one + wide * wide * x * x
            both = one / (first * second)
            q, wide_q = both * second, both * first
            slopes[j, i] = q * q * (odd * (two - first) - even * x) + wide_q * wide_q * (
                wide_odd * (two - second) - wide_even * x
            )
    return slopes
