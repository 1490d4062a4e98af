"""Fewer digits: decimal ones for what is published, binary ones for what must not depend on rounding elsewhere."""

from __future__ import annotations

import numpy as np

from veil.data.blocks import Matrix


def two_digits(value: float) -> float:
    """A data-derived parameter at two significant digits, as it is used and published.

    >>> two_digits(0.12345), two_digits(9876.0)
    (0.12, 9900.0)
    """
    return float(f"{value:.1e}")


def binary_digits(values: Matrix, bits: int = 26) -> Matrix:
    """Numbers to 26 binary digits of the largest, so that rounding elsewhere shows in none (but one in millions).

    >>> import numpy as np
    >>> float(binary_digits(np.array([0.1 + 0.2]))[0]) == float(binary_digits(np.array([0.3]))[0])
    True
    """
    power = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ascontiguousarray(np.ldexp(np.rint(np.ldexp(values, bits - power)), power - bits))
