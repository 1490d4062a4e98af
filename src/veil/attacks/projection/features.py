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

from veil.data.blocks import Matrix, Vector

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


@numba.njit(cache=True, fastmath=FAST, error_model="numpy")
def feature_means(v: Matrix, projected: Matrix) -> Vector:
    """Mean of each function over records ``v`` (k × n) with projections (directions × n)."""
    k, n = v.shape
    m = projected.shape[0]
    means = np.empty(k + k * (k + 1) // 2 + 2 * len(WIDTHS) * m)
    at = 0
    for a in range(k):
        means[at] = np.sum(v[a]) / n
        at += 1
    for a in range(k):
        for b in range(a + 1):
            total = 0.0
            for i in range(n):
                total += v[a, i] * v[b, i]
            means[at] = total / n
            at += 1
    for width in WIDTHS:
        for j in range(m):
            even = 0.0
            odd = 0.0
            for i in range(n):
                w = width * projected[j, i]
                q = 1.0 / (1.0 + w * w)
                even += q
                odd += w * q
            means[at + j] = even / n
            means[at + m + j] = odd / n
        at += 2 * m
    return means


@numba.njit(cache=True, fastmath=FAST, error_model="numpy")
def feature_slopes(v: Matrix, projected: Matrix, pull: Vector) -> tuple[Matrix, Matrix]:
    """Derivative of ``pull · functions`` of each record: by its entries directly, and by its projections."""
    k, n = v.shape
    m = projected.shape[0]
    direct = np.zeros((k, n))
    through = np.zeros((m, n))
    at = 0
    for a in range(k):
        direct[a] += pull[at]
        at += 1
    for a in range(k):
        for b in range(a + 1):
            for i in range(n):
                direct[a, i] += pull[at] * v[b, i]
            for i in range(n):
                direct[b, i] += pull[at] * v[a, i]
            at += 1
    for width in WIDTHS:
        for j in range(m):
            even = width * pull[at + j]
            odd = width * pull[at + m + j]
            for i in range(n):
                w = width * projected[j, i]
                q = 1.0 / (1.0 + w * w)
                through[j, i] += q * q * (odd * (1.0 - w * w) - 2.0 * even * w)
        at += 2 * m
    return direct, through
