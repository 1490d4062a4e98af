"""Breach probability in closed form (M6): the share of a sphere that lies close to a record.

Known pairs attack on an orthogonal release (A9, Liu 2007, 4.4): with k independent known
records the private record x is known up to its part orthogonal to their span, of length d,
in p = n − k dimensions. The guess puts that part at a uniformly random point of the sphere
of radius d, so that it breaches, ‖x̂ − x‖ ≤ ε‖x‖, with the probability of a spherical cap
of half-angle a, sin(a/2) = g, g = ‖x‖ε/(2d). In p dimensions a cap with cos a ≥ 0 holds

    ρ = ½ · I_{sin²a}((p − 1)/2, ½)

of the sphere, I the regularised incomplete beta function (Li 2011), and one minus that
when cos a < 0. The paper's (2/π)·asin(g) is the case p = 2 for every p (errata L-a).
"""

from __future__ import annotations

import math
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, choice, number, renamed, whole
from veil.errors import InputError
from veil.measures.measure import Measure

GeometryVariant = Literal["exact", "paper"]


@overload
def breach_probability(ratio_g: float, dimension: int, variant: GeometryVariant = "exact") -> Measure: ...
@overload
def breach_probability(ratio_g: Array | list[float], dimension: int, variant: GeometryVariant = "exact") -> Array: ...
def breach_probability(ratio_g: npt.ArrayLike, dimension: int, variant: GeometryVariant = "exact") -> Measure | Array:
    """Probability that the known pairs attack breaches a record.

    Parameters
    ----------
    ratio_g
        g = ‖x‖ε/(2d), d the distance of x from the span of the known records; one number
        (a :class:`Measure` comes back) or an array (an array comes back). Infinite when d = 0.
    dimension
        p = n − k, the number of unknown dimensions. p = 0: everything is known, probability 1.
        p = 1: the guess is right or mirrored, so ½ for g < 1 (at g = 0 too) and 1 from g = 1.
        p ≥ 2: the cap formula; 0 at g = 0, 1 from g = 1; p = 3 is g².
    variant
        ``"paper"`` is (2/π)·asin(g) whatever p: at g = .3 it says .194 where p = 6 has .012.

    >>> round(breach_probability(0.3, 6), 4)
    0.012
    >>> round(breach_probability(0.3, 6, variant="paper"), 3)
    0.194
    """
    p = whole(dimension, "dimension")
    chosen = choice(variant, "variant", ("exact", "paper"))
    try:
        ratio = np.asarray(ratio_g, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("ratio_g: must hold numbers only; pass a number or an array") from None
    if count := int((~(ratio >= 0.0)).sum()):
        raise InputError(f"ratio_g: {count} of {ratio.size} are negative or NaN; pass ‖x‖ε/(2d), infinite at d = 0")
    g = np.minimum(ratio, 1.0)
    if chosen == "paper":
        share = np.arcsin(g) * (2.0 / math.pi)
    elif p == 0:
        share = np.ones_like(g)
    else:
        share = _cap(1.0 - 2.0 * g * g, 4.0 * g * g * (1.0 - g * g), p)
    return Measure(float(share), higher_is="exposed") if share.ndim == 0 else share


@renamed("epsilon", "tolerance")
def sphere_breach_probability(
    tolerance: float, dimension: int, *, radius_ratio: float | None = None, variant: GeometryVariant = "exact"
) -> Measure:
    """Breach probability of the guess that knows only a length (A17, Liu 2007, 5.3.2).

    The guess is uniform on the sphere of radius ‖y‖ = radius_ratio·‖x‖ in ``dimension``
    dimensions and breaches when ‖x̂ − x‖ ≤ ε‖x‖, with ε the ``tolerance``. The cap has cos a = (1 + r² − ε²)/(2r).

    Without ``radius_ratio`` the worst ratio for the owner is taken: r = √(1 − ε²), where
    sin a = ε (errata L-q); ``variant="paper"`` takes r = 1, as the paper does.

    >>> f"{sphere_breach_probability(0.6, 6):.5f} {sphere_breach_probability(0.6, 6, variant='paper'):.5f}"
    '0.01537 0.01195'
    """
    p = whole(dimension, "dimension", least=1)
    eps = number(tolerance, "tolerance", least=0.0)
    if choice(variant, "variant", ("exact", "paper")) == "paper":
        if radius_ratio is not None:
            raise InputError("radius_ratio: is 1 in the paper's variant; leave it out or use variant='exact'")
        radius = 1.0
    elif radius_ratio is None:
        radius = math.sqrt(max(0.0, 1.0 - eps * eps))
    else:
        radius = number(radius_ratio, "radius_ratio", least=0.0)
    if radius == 0.0:  # every guess is the origin, at distance ‖x‖
        return Measure(float(eps >= 1.0), higher_is="exposed")
    cosine = np.asarray((1.0 + radius * radius - eps * eps) / (2.0 * radius))
    if cosine > 1.0:  # the sphere does not reach the ball around x
        return Measure(0.0, higher_is="exposed")
    cosine = np.maximum(cosine, -1.0)
    return Measure(float(_cap(cosine, (1.0 - cosine) * (1.0 + cosine), p)), higher_is="exposed")


def _cap(cosine: Array, squared_sine: Array, p: int) -> Array:
    """Share of the unit sphere in p ≥ 1 dimensions within the angle of that cosine of a point."""
    if p == 1:  # the "sphere" is two points: the point itself and its mirror image
        return np.where(cosine > -1.0, 0.5, 1.0)
    from scipy.special import betainc

    half: Array = 0.5 * betainc((p - 1) / 2.0, 0.5, squared_sine)
    return np.where(cosine >= 0.0, half, 1.0 - half)
