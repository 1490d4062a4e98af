"""What random projection keeps and what it hides (P8; Liu 2007, 5.1 and 5.3.3), and the choice of k (D1).

*Model.* ``u = R x``: R is k × d, its entries independent with mean 0, variance 1/k and kurtosis κ: 3 for the
"gaussian" kind, s for entries √(s/k)·{±1 with probability 1/(2s) each, else 0}, where s is 1 for "achlioptas1",
3 for "achlioptas3" and √d for "sparse". Over the draw of R, with x·y, |x|² and |z|² estimated without bias::

    Var(u·v)     = (|x|²|y|² + (x·y)² + (κ − 3)·Σx_i²y_i²)/k
    Var(|u − v|²) = (2|z|⁴ + (κ − 3)·Σz_i⁴)/k,    z = x − y

(Lemmas 5.1.4 and 5.1.5 print the case κ = 3 for all.) For the Gaussian kind k|u − v|²/|z|² is chi-square with k
degrees of freedom, whatever the records. One R serves the whole release: the errors of its pairs are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, as_table, choice, number, renamed, whole
from veil.errors import InputError
from veil.measures.measure import Measure

ProjectionKind = Literal["gaussian", "achlioptas1", "achlioptas3", "sparse"]
KINDS = ("gaussian", "achlioptas1", "achlioptas3", "sparse")


def projection_kurtosis(kind: ProjectionKind, d: int) -> float:
    """E r⁴/(E r²)² of the entries of R; ``d`` is the dimension that is reduced.

    >>> [projection_kurtosis(kind, 49) for kind in KINDS]
    [3.0, 1.0, 3.0, 7.0]
    """
    columns = whole(d, "d", least=1)
    choice(kind, "kind", KINDS)
    return {"gaussian": 3.0, "achlioptas1": 1.0, "achlioptas3": 3.0, "sparse": math.sqrt(columns)}[kind]


def inner_product_variance(
    x: npt.ArrayLike, y: npt.ArrayLike, k: int, kind: ProjectionKind = "gaussian"
) -> float | Array:
    """Variance over R of u·v, the released inner product; for n × d arrays one per pair of rows."""
    first, second = _records(x, "x"), _records(y, "y")
    if first.shape != second.shape:
        raise InputError(f"y: has shape {second.shape} where x has {first.shape}; pass records of the same columns")
    excess = projection_kurtosis(kind, first.shape[-1]) - 3.0
    squares = (first**2).sum(axis=-1) * (second**2).sum(axis=-1)
    total = squares + (first * second).sum(axis=-1) ** 2 + excess * (first**2 * second**2).sum(axis=-1)
    return _one_or_all(total / whole(k, "k", least=1))


def distance_variance(z: npt.ArrayLike, k: int, kind: ProjectionKind = "gaussian") -> float | Array:
    """Variance over R of |u − v|², the released squared distance; ``z`` = x − y, or n × d of them."""
    difference = _records(z, "z")
    excess = projection_kurtosis(kind, difference.shape[-1]) - 3.0
    total = 2.0 * (difference**2).sum(axis=-1) ** 2 + excess * (difference**4).sum(axis=-1)
    return _one_or_all(total / whole(k, "k", least=1))


def projection_accuracy(k: int, eta: float) -> Measure:
    """Probability that a Gaussian projection to ``k`` keeps one squared distance within 1 ± ``eta`` (Lemma 5.1.6).

    >>> round(projection_accuracy(100, 0.1), 3)
    0.521
    """
    from scipy.special import gammainc

    half, slack = whole(k, "k", least=1) / 2.0, number(eta, "eta", least=0.0)
    inside = float(gammainc(half, half * (1.0 + slack)) - gammainc(half, half * max(0.0, 1.0 - slack)))
    return Measure(inside, higher_is="useful")


@renamed("epsilon", "tolerance", warn=False)
def projection_zero_breach(k: int, tolerance: float) -> Measure:
    """Probability that no point of length ‖y‖ is within ``tolerance``·‖x‖ of x (Eq 5.7): ‖y‖/‖x‖ outside 1 ± ε.

    The paper calls the tolerance ε; ``epsilon=`` is understood as well.

    *Threat.* The attacker knows the released record alone and guesses on the sphere of its length (A17). It says
    nothing about an attacker who knows records (A14) or the matrix (A15).

    >>> round(projection_zero_breach(100, 0.01), 3)
    0.888
    """
    from scipy.special import gammainc, gammaincc

    half, eps = whole(k, "k", least=1) / 2.0, number(tolerance, "tolerance", least=0.0)
    short = float(gammainc(half, half * max(0.0, 1.0 - eps) ** 2))
    return Measure(short + float(gammaincc(half, half * (1.0 + eps) ** 2)), higher_is="private")


@dataclass(frozen=True)
class ProjectionAdvice:
    """The range of k of :func:`choose_projection_dimension`, and the dimension to be reduced where given."""

    lowest: int
    highest: int
    dimension: int | None = None

    @property
    def possible(self) -> bool:
        """Whether a k of the range is smaller than the dimension to be reduced."""
        return self.dimension is None or self.lowest < self.dimension

    @property
    def statement(self) -> str:
        """What the range promises, in words."""
        highest = self.highest if self.dimension is None else min(self.highest, self.dimension - 1)
        limits = (
            "The privacy limit is about guessing from a record's length alone: an attacker who knows a few records "
            "with their rows finds the others far better (A14), and that must be measured with an audit."
        )
        if not self.possible:
            return (
                f"No k fits: accuracy takes k of at least {self.lowest}, and a projection must reduce the dimension, "
                f"which is {self.dimension}. Project records instead of columns, or accept less accuracy. {limits}"
            )
        return f"Choose k from {self.lowest} to {highest}; it must be smaller than the reduced dimension. {limits}"


class DimensionRange(NamedTuple):
    """The lowest and the highest k that meet the thresholds."""

    lowest: int
    highest: int


@renamed("epsilon", "tolerance", warn=False)
def choose_projection_dimension(*, eta: float, accuracy: float, tolerance: float, zero_breach: float) -> DimensionRange:
    """The lowest and the highest k at which a Gaussian projection is accurate and private enough (D1, Liu 2007, 5.3.3).

    ``accuracy`` is the least probability that a squared distance is kept within 1 ± ``eta``, ``zero_breach`` the
    least probability that the sphere guess cannot breach at ``tolerance``. See :func:`projection_advice` for what
    the range does not promise. The paper reads (320, 750) off a plot (errata L-r):

    >>> choose_projection_dimension(eta=0.1, accuracy=0.8, tolerance=0.01, zero_breach=0.7)
    DimensionRange(lowest=328, highest=742)
    """
    for name, value in (("eta", eta), ("tolerance", tolerance)):
        if number(value, name, least=0.0) == 0.0:
            raise InputError(f"{name}: must be above 0; pass a relative error, for example 0.1")
    for name, value in (("accuracy", accuracy), ("zero_breach", zero_breach)):
        if not 0.0 < number(value, name, least=0.0, most=1.0) < 1.0:
            raise InputError(f"{name}: must lie strictly between 0 and 1; pass a probability, for example 0.8")
    lowest = _first(lambda k: projection_accuracy(k, eta) >= accuracy)
    highest = _first(lambda k: projection_zero_breach(k, tolerance) < zero_breach) - 1
    if highest < lowest:
        there = projection_zero_breach(lowest, tolerance)
        raise InputError(
            f"zero_breach: no k meets both thresholds: accuracy {accuracy:g} within {eta:g} takes k of at least "
            f"{lowest}, where the probability of no breach at {tolerance:g} is {there:.3f} and not {zero_breach:g}; "
            "lower one of them"
        )
    return DimensionRange(lowest, highest)


@renamed("epsilon", "tolerance", warn=False)
def projection_advice(
    *, eta: float, accuracy: float, tolerance: float, zero_breach: float, dimension: int | None = None
) -> ProjectionAdvice:
    """:func:`choose_projection_dimension` with its conditions in words; ``dimension`` is that of the projected axis.

    >>> projection_advice(eta=0.1, accuracy=0.8, tolerance=0.01, zero_breach=0.7, dimension=30).possible
    False
    """
    lowest, highest = choose_projection_dimension(
        eta=eta, accuracy=accuracy, tolerance=tolerance, zero_breach=zero_breach
    )
    return ProjectionAdvice(lowest, highest, None if dimension is None else whole(dimension, "dimension", least=1))


@renamed("epsilon", "distortion")
def johnson_lindenstrauss_dimension(
    n_records: int, distortion: float, form: Literal["jl", "achlioptas", "exact"] = "jl", gamma: float = 1.0
) -> int:
    """A k that keeps all squared distances among ``n_records`` within 1 ± ε, the ``distortion``, whatever d is.

    =============  ======================================  ==================================
    "jl"           9 ln m/(ε² − ⅔ε³) + 1                   with probability ½ (Lemma 5.1.1)
    "achlioptas"   (4 + 2γ) ln m/(ε²/2 − ε³/3)             with probability 1 − m^−γ
    "exact"        least k with C(m,2)·P(outside) ≤ m^−γ   the same, from the chi-square law
    =============  ======================================  ==================================

    >>> [johnson_lindenstrauss_dimension(10_000, 0.1, form) for form in ("jl", "achlioptas", "exact")]
    [8883, 11842, 10262]
    """
    m = whole(n_records, "n_records", least=2)
    eps, power = number(distortion, "distortion", least=0.0, most=1.0), number(gamma, "gamma", least=0.0)
    if not 0.0 < eps < 1.0:
        raise InputError("distortion: must lie strictly between 0 and 1; pass a relative error, for example 0.1")
    chosen = choice(form, "form", ("jl", "achlioptas", "exact"))
    if chosen == "jl":
        return math.ceil(9.0 * math.log(m) / (eps**2 - 2.0 * eps**3 / 3.0) + 1.0)
    if chosen == "achlioptas":
        return math.ceil((4.0 + 2.0 * power) * math.log(m) / (eps**2 / 2.0 - eps**3 / 3.0))
    pairs = m * (m - 1) / 2.0
    return _first(lambda k: pairs * _tails(k, eps) <= m**-power)


@renamed("epsilon", "distortion")
def johnson_lindenstrauss_probability(k: int, distortion: float) -> Measure:
    """1 − 2exp(−(ε² − ε³)k/4), at least 0: a lower bound on :func:`projection_accuracy` for 0 < ε < 1."""
    eps = number(distortion, "distortion", least=0.0, most=1.0)
    bound = 1.0 - 2.0 * math.exp(-(eps**2 - eps**3) * whole(k, "k", least=1) / 4.0)
    return Measure(max(0.0, bound), higher_is="useful")


def _tails(k: int, eta: float) -> float:
    """P(χ²_k/k outside 1 ± eta), without the cancellation of one minus the inside."""
    from scipy.special import gammainc, gammaincc

    half = k / 2.0
    return float(gammainc(half, half * max(0.0, 1.0 - eta))) + float(gammaincc(half, half * (1.0 + eta)))


def _first(holds: Callable[[int], bool]) -> int:
    """The least k ≥ 1 at which a condition holds that then holds for every larger one."""
    above = 1
    while not holds(above):
        above *= 2
    below = above // 2
    while above - below > 1:
        middle = (above + below) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def _records(values: npt.ArrayLike, name: str) -> Array:
    """One record as a vector, or n × d of them."""
    table = as_table(values, name)
    return table[:, 0] if np.ndim(values) == 1 else table


def _one_or_all(values: Array) -> float | Array:
    return float(values) if np.ndim(values) == 0 else values
