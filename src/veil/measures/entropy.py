"""Privacy as entropy (M4): what a value is worth before and after the release.

Agrawal and Aggarwal (2001), after them Ketel: with h the differential entropy in bits,

    Π(X) = 2^h(X)          privacy of X: a uniform X on an interval of that length is as uncertain
    Π(X|Z) = 2^h(X|Z)      what is left of it once Z is released
    P(X|Z) = 1 − Π(X|Z)/Π(X) = 1 − 2^−I(X;Z)          privacy loss, I the mutual information

For a normal X and a Z jointly normal with it, of correlation ρ: Π(X) = σ√(2πe),
Π(X|Z) = σ√(2πe(1−ρ²)), P = 1 − √(1−ρ²). Ketel's "the entropy is always positive" is wrong:
h(X) < 0, and Π(X) < 1, for anything narrow enough.

From samples, entropies are histogram estimates with the Miller–Madow correction. Π(X) uses
bins of equal width (Freedman–Diaconis), never finer than the smallest gap between recorded
values: a rounded value counts as uniform over its unit. I(X;Z) uses ⌊√(n/10)⌉ bins of equal
count per variable, at most 64, so it does not depend on units. Bins blur strong dependence
(they cannot show more than log₂(bins)), and a loss must not be understated; so the estimate
is never below −½log₂(1−ρ²) with ρ the correlation of the normal scores: among all pairs with
normal margins the normal pair shares the least. Intervals are 95 %, by normal theory over
records; they know nothing of the error of binning. Missing values are left out.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal, Protocol, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, as_table, choice, number
from veil.errors import InputError
from veil.measures.measure import Direction, Measure

Method = Literal["histogram", "normal"]
_Z95 = NormalDist().inv_cdf(0.975)
_NORMAL = math.sqrt(2.0 * math.pi * math.e)


@runtime_checkable
class Law(Protocol):
    """A distribution that knows its differential entropy in nats, as scipy's frozen ones do.

    ``ppf`` tells it from a column: polars' have an ``entropy`` too, of another kind.
    """

    def entropy(self) -> float: ...
    def ppf(self, q: float, /) -> float: ...


def entropy_privacy(x: npt.ArrayLike | Law, *, edges: npt.ArrayLike | None = None) -> Measure:
    """Π(X) = 2^h(X) in the units of X: of a sample, of a frozen scipy law, or of a histogram.

    With ``edges`` (n + 1 of them) ``x`` holds the n probabilities of the bins, as distribution
    recovery gives them; they are scaled to sum to one. A constant has privacy 0.

    >>> round(entropy_privacy([0.25, 0.75], edges=[0.0, 1.0, 4.0]), 6)
    4.0
    """
    if edges is not None:
        return _exactly(math.exp(_histogram_entropy(x, edges)), "private")
    if isinstance(x, Law):
        return _exactly(math.exp(float(x.entropy())), "private")
    values = _vector(x, "x")
    values = values[~np.isnan(values)]
    if values.size == 0:
        return _around(math.nan, math.nan, "private")
    entropy, surprise = _entropy(values)
    return _around(entropy, _standard_error(surprise), "private")


@overload
def conditional_privacy(x: float, z: None = None, *, sigma: float = 1.0) -> Measure: ...
@overload
def conditional_privacy(x: npt.ArrayLike, z: None = None, *, sigma: float = 1.0) -> Measure | Array: ...
@overload
def conditional_privacy(x: npt.ArrayLike, z: npt.ArrayLike, *, method: Method = "histogram") -> Measure: ...
def conditional_privacy(
    x: npt.ArrayLike, z: npt.ArrayLike | None = None, *, sigma: float = 1.0, method: Method = "histogram"
) -> Measure | Array:
    """Π(X|Z) = 2^h(X|Z), what privacy X keeps once Z is known.

    ``conditional_privacy(rho, sigma=s)`` is the closed form s·√(2πe(1−ρ²)) for jointly normal
    X and Z; an array of correlations gives an array. ``conditional_privacy(x, z)`` estimates it
    from paired samples; ``method="normal"`` puts the sample correlation into the closed form.

    >>> round(conditional_privacy(0.5), 3)
    3.579
    """
    if z is None:
        scale = _NORMAL * number(sigma, "sigma", least=0.0)
        rho = _correlations(x)
        return _scalar(scale * np.sqrt((1.0 - rho) * (1.0 + rho)), "private")
    if sigma != 1.0:
        raise InputError("sigma: belongs to the closed form; leave it out with samples, which have their own")
    a, b = _pairs(x, z)
    if choice(method, "method", ("histogram", "normal")) == "normal":
        loss = privacy_loss(a, b, method="normal")
        prior = _NORMAL * float(a.std(ddof=1)) if a.size > 1 else math.nan
        return Measure(
            prior * (1.0 - loss), low=prior * (1.0 - loss.high), high=prior * (1.0 - loss.low), higher_is="private"
        )
    if a.size == 0:
        return _around(math.nan, math.nan, "private")
    entropy, surprise = _entropy(a)
    information, shared = _information(a, b)
    return _around(entropy - information, _standard_error(surprise - shared), "private")


@overload
def privacy_loss(x: float, z: None = None) -> Measure: ...
@overload
def privacy_loss(x: npt.ArrayLike, z: None = None) -> Measure | Array: ...
@overload
def privacy_loss(x: npt.ArrayLike, z: npt.ArrayLike, *, method: Method = "histogram") -> Measure: ...
def privacy_loss(x: npt.ArrayLike, z: npt.ArrayLike | None = None, *, method: Method = "histogram") -> Measure | Array:
    """P(X|Z) = 1 − 2^−I(X;Z): the share of the privacy of X that releasing Z costs.

    ``privacy_loss(rho)`` is the closed form 1 − √(1−ρ²) for jointly normal X and Z; an array of
    correlations gives an array. ``privacy_loss(x, z)`` estimates it from paired samples, NaN
    without pairs; ``method="normal"`` puts the sample correlation into the closed form (with
    Fisher's interval), which is sharper but sees linear dependence only.

    >>> round(privacy_loss(0.9), 3)
    0.564
    """
    if z is None:
        rho = _correlations(x)
        return _scalar(rho**2 / (1.0 + np.sqrt((1.0 - rho) * (1.0 + rho))), "exposed")
    a, b = _pairs(x, z)
    if choice(method, "method", ("histogram", "normal")) == "normal":
        return _normal_loss(a, b)
    if a.size == 0:
        return Measure(math.nan, low=math.nan, high=math.nan, higher_is="exposed")
    information, shared = _information(a, b)
    error = _Z95 * _standard_error(shared)
    low, high = max(0.0, information - error), information + error
    return Measure(-math.expm1(-information), low=-math.expm1(-low), high=-math.expm1(-high), higher_is="exposed")


def rotated_correlation(theta: float, r: float = 0.0) -> float:
    """Correlation of X with Z = X·cosθ + Y·sinθ, X and Y of unit variance and correlation r.

        ρ = (cosθ + r·sinθ)/√(1 + r·sin2θ)

    Ketel's ρ = cosθ is the case r = 0; his own table has r = .394 (errata K). θ in radians.
    Where Z is constant (r = ±1 and the two parts cancel) it says nothing: 0.

    >>> round(float(privacy_loss(rotated_correlation(13.7, 0.394))), 2)
    0.27
    """
    angle, shared = number(theta, "theta"), number(r, "r", least=-1.0, most=1.0)
    variance = 1.0 + shared * math.sin(2.0 * angle)
    if variance <= 1e-15:
        return 0.0
    return min(1.0, max(-1.0, (math.cos(angle) + shared * math.sin(angle)) / math.sqrt(variance)))


def _entropy(x: Array) -> tuple[float, Array]:
    """Differential entropy of a sample in nats, and −ln f̂ at each value."""
    n = x.size
    distinct = np.unique(x)
    if distinct.size == 1:
        return -math.inf, np.zeros(n)
    gap = float(np.diff(distinct).min())
    low, high = np.quantile(x, [0.25, 0.75])
    width = float(2.0 * (high - low) or 3.49 * x.std()) / n ** (1.0 / 3.0)
    span = float(distinct[-1] - distinct[0]) + gap
    whole = width < 1e3 * gap  # recorded to a unit that the bins can feel: whole units per bin
    width = gap * max(1.0, round(width / gap)) if whole else span / math.ceil(span / width)
    last = math.ceil(span / width - 1e-9) - 1
    code = np.minimum(np.floor((x - distinct[0] + gap / 2.0) / width), last)
    cells, place, counts = np.unique(code, return_inverse=True, return_counts=True)
    widths = np.minimum(width, span - cells * width)  # the last bin ends with the data
    surprise = -np.log(counts / (n * widths))[place]
    return float(surprise.mean()) + (counts.size - 1) / (2.0 * n), surprise


def _information(x: Array, z: Array) -> tuple[float, Array]:
    """Mutual information in nats, and ln p(x,z)/p(x)p(z) at each pair."""
    n = x.size
    bins = max(2, min(64, round(math.sqrt(n / 10.0))))
    (left, a, n_a), (right, b, n_b) = (_equal_counts(values, bins) for values in (x, z))
    cells, place, counts = np.unique(left * bins + right, return_inverse=True, return_counts=True)
    shared = np.log(counts * float(n) / (a[cells // bins] * b[cells % bins]))[place]
    bias = (counts.size - n_a - n_b + 1) / (2.0 * n)
    information = min(max(0.0, float(shared.mean()) - bias), math.log(bins))
    least, linear = _normal_scores(x, z)
    return (least, linear) if least > information else (information, shared)


def _normal_scores(x: Array, z: Array) -> tuple[float, Array]:
    """The least information that normal scores of this correlation can share: that of a normal pair.

    Scores need many distinct values; for other data the bound is 0.
    """
    from scipy.special import ndtri

    n = x.size
    nothing = 0.0, np.zeros(n)
    if n < 4:
        return nothing
    scores = []
    for values in (x, z):
        distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        if 2 * distinct.size < n:
            return nothing
        score = ndtri((np.cumsum(counts) - counts / 2.0) / n)[place]
        scores.append((score - score.mean()) / score.std())
    a, b = scores
    rho = float((a * b).mean())
    rest = (1.0 - rho) * (1.0 + rho)
    if rest < 1e-12:
        return math.inf, np.zeros(n)
    shared = -0.5 * math.log(rest) - (rho * rho * (a * a + b * b) - 2.0 * rho * a * b) / (2.0 * rest)
    return max(0.0, -0.5 * math.log(rest) - 1.0 / (2.0 * n)), shared


def _equal_counts(values: Array, bins: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    edges = np.quantile(values, np.arange(1, bins) / bins)
    code = np.searchsorted(np.unique(edges), values, side="right").astype(np.int64)
    counts = np.bincount(code, minlength=bins)
    return code, counts, int((counts > 0).sum())


def _normal_loss(a: Array, b: Array) -> Measure:
    if a.size < 4 or not (a.std() > 0.0 and b.std() > 0.0):
        value = 0.0 if a.size >= 4 else math.nan
        return Measure(value, low=0.0, high=value if a.size >= 4 else 1.0, higher_is="exposed")
    rho = min(1.0, abs(float(np.corrcoef(a, b)[0, 1])))
    if rho == 1.0:
        return _exactly(1.0, "exposed")
    half = _Z95 / math.sqrt(a.size - 3)
    ends = (math.tanh(max(0.0, math.atanh(rho) - half)), math.tanh(math.atanh(rho) + half))
    value, low, high = (float(privacy_loss(end)) for end in (rho, *ends))
    return Measure(value, low=low, high=high, higher_is="exposed")


def _histogram_entropy(probabilities: npt.ArrayLike | Law, edges: npt.ArrayLike) -> float:
    mass, ends = _vector(probabilities, "x"), _vector(edges, "edges")
    if ends.size != mass.size + 1 or not (np.diff(ends) > 0.0).all():
        raise InputError(
            f"edges: must be {mass.size + 1} rising numbers for {mass.size} bins; pass the ends of all bins"
        )
    if not (mass >= 0.0).all() or not mass.sum() > 0.0:
        raise InputError("x: must hold the probabilities of the bins; pass numbers of at least 0, not all 0")
    share = mass / mass.sum()
    used = share > 0.0
    return float(-(share[used] * np.log(share[used] / np.diff(ends)[used])).sum())


def _vector(values: npt.ArrayLike | Law, name: str) -> Array:
    table = as_table(values, name)  # type: ignore[arg-type]
    if 1 not in table.shape:
        raise InputError(f"{name}: has shape {table.shape}; pass one column at a time")
    return table.ravel()


def _pairs(x: npt.ArrayLike, z: npt.ArrayLike) -> tuple[Array, Array]:
    a, b = _vector(x, "x"), _vector(z, "z")
    if a.size != b.size:
        raise InputError(f"z: has {b.size} values where x has {a.size}; pass the same records in order")
    present = ~(np.isnan(a) | np.isnan(b))
    return a[present], b[present]


def _correlations(values: npt.ArrayLike) -> Array:
    try:
        rho = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("x: must hold numbers only; pass a correlation, or two samples x and z") from None
    if count := int((~(np.abs(rho) <= 1.0)).sum()):
        raise InputError(f"x: {count} of {rho.size} are no correlations; without z pass numbers in [-1, 1]")
    return rho


def _standard_error(pointwise: Array) -> float:
    return float(pointwise.std(ddof=1)) / math.sqrt(pointwise.size) if pointwise.size > 2 else math.inf


def _around(nats: float, error: float, higher_is: Direction) -> Measure:
    if nats == -math.inf:
        return _exactly(0.0, higher_is)
    if error == math.inf:
        return Measure(math.exp(nats), low=0.0, high=math.inf, higher_is=higher_is)
    half = _Z95 * error
    return Measure(math.exp(nats), low=math.exp(nats - half), high=math.exp(nats + half), higher_is=higher_is)


def _exactly(value: float, higher_is: Direction) -> Measure:
    return Measure(value, higher_is=higher_is)


def _scalar(values: Array, higher_is: Direction) -> Measure | Array:
    return _exactly(float(values), higher_is) if values.ndim == 0 else values
