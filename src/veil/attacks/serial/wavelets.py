"""Wavelet denoising of one series, averaged over all shifts, with Stein's estimate of its risk.

*Model.* ``z_t = s_t + r_t`` with white normal r of variance 1; s piecewise smooth, with jumps and steep ends that no
one bandwidth suits.

In an orthonormal wavelet basis the noise has variance 1 in every coefficient, and s has few large ones. Each level is
soft-thresholded: ``sign(w)(|w| − λ)₊``, with the λ of least estimated risk on that level (SureShrink: Donoho and
Johnstone 1995), or ``√(2 ln n)`` on a level too sparse to tell (Donoho and Johnstone 1994). Averaging over all shifts
of the series removes the artefacts at jumps (Coifman and Donoho 1995); it is the transform that is not decimated, in
which level j has every coefficient 2ʲ times.

*Risk.* ``SURE = mean (z − ŝ)² − 1 + 2·div/n`` (Stein 1981). A thresholded orthonormal basis has the divergence "number
of kept coefficients"; the average over shifts has their average, ``Σ_j 2⁻ʲ #kept_j`` and the coarse level. The series
is continued as its mirror image, which counts a few values at its ends twice.
"""

from __future__ import annotations

from functools import cache
from math import comb, log, log2, sqrt

import numpy as np

from veil.data.blocks import Vector

COARSEST = 3
"""Levels that are not thresholded: a series has at least 2³ coefficients on the coarsest."""


@cache
def daubechies(moments: int) -> tuple[float, ...]:
    """The shortest orthonormal low-pass filter with so many vanishing moments (Daubechies 1992, §6.1).

    ``|H(ω)|² = cos²ᵖ(ω/2) · P(sin²(ω/2))·2`` with ``P(y) = Σ_{k<p} C(p−1+k, k) yᵏ``; of each pair of roots the one
    inside the unit circle is taken.

    >>> [round(tap, 4) for tap in daubechies(2)]
    [0.483, 0.8365, 0.2241, -0.1294]
    """
    roots = []
    for y in np.roots([comb(moments - 1 + k, k) for k in reversed(range(moments))]):
        # y = sin²(ω/2) = (2 − z − 1/z)/4
        pair = np.roots([1.0, 4.0 * y - 2.0, 1.0])
        roots.append(pair[np.argmin(np.abs(pair))])
    taps = np.real(np.poly([-1.0] * moments + roots))
    return tuple((taps * sqrt(2.0) / taps.sum()).tolist())


def denoise(z: Vector, moments: int) -> tuple[Vector, float]:
    """The denoised series, and its divergence per value; the noise has variance 1."""
    low = np.array(daubechies(moments))
    high = low[::-1] * (-1.0) ** np.arange(len(low))
    mirrored = np.concatenate([z, z[::-1]])
    size, levels = len(mirrored), max(int(log2(len(z))) - COARSEST, 1)
    smooth, details = mirrored, []
    for j in range(levels):
        details.append(_correlated(smooth, high, 2**j))
        smooth = _correlated(smooth, low, 2**j)
    divergence = size / 2.0**levels
    for j in reversed(range(levels)):
        detail, threshold = details[j], best_threshold(details[j], len(z) / 2.0 ** (j + 1))
        kept = np.abs(detail) > threshold
        divergence += float(kept.sum()) / 2.0 ** (j + 1)
        shrunk = np.where(kept, detail - np.copysign(threshold, detail), 0.0)
        smooth = (_convolved(smooth, low, 2**j) + _convolved(shrunk, high, 2**j)) / 2.0
    return smooth[: len(z)], divergence / size


def best_threshold(coefficients: Vector, n: float) -> float:
    """The soft threshold of least estimated risk for unit noise; the universal one where all may be noise.

    ``n`` is the number of independent coefficients that these are shifts of.
    """
    universal = sqrt(2.0 * log(max(n, 2.0)))
    if float(np.mean(coefficients**2)) - 1.0 <= max(log2(max(n, 2.0)), 1.0) ** 1.5 / sqrt(n):
        return universal
    rising = np.sort(np.abs(coefficients))
    m, count = len(rising), np.arange(1, len(rising) + 1)
    risk = (m - 2.0 * count + np.cumsum(rising**2) + (m - count) * rising**2) / m
    at = int(np.argmin(risk))
    return min(float(rising[at]), universal) if risk[at] < 1.0 else 0.0


def _correlated(values: Vector, taps: Vector, step: int) -> Vector:
    """``Σ_k taps_k values[t + k·step]``, around the circle."""
    return np.asarray(sum(tap * np.roll(values, -k * step) for k, tap in enumerate(taps)))


def _convolved(values: Vector, taps: Vector, step: int) -> Vector:
    """The adjoint of :func:`_correlated`."""
    return np.asarray(sum(tap * np.roll(values, k * step) for k, tap in enumerate(taps)))
