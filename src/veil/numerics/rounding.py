"""Fewer digits: decimal ones for what is published, binary ones for what must not depend on rounding elsewhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix


def two_digits(value: float) -> float:
    """A data-derived parameter at two significant digits, as it is used and published.

    >>> two_digits(0.12345), two_digits(9876.0)
    (0.12, 9900.0)
    """
    return float(f"{value:.1e}")


def two_digit_step(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How far apart numbers of two digits lie there: :func:`two_digits` errs by at most half of it. 0 stays 0.

    >>> two_digit_step(np.array([0.12, 9900.0, 1.0, 0.0]))
    array([1.e-02, 1.e+02, 1.e-01, 0.e+00])
    """
    size = np.abs(values)
    # Numbers of two digits are a hundredth apart or more; the small factor outweighs the rounding of logarithms.
    power = np.floor(np.log10(size * (1.0 + 1e-9), out=np.zeros_like(size), where=size > 0))
    return np.asarray(np.where(size > 0, 10.0 ** (power - 1.0), 0.0))


def binary_digits(values: Matrix, bits: int = 26) -> Matrix:
    """Numbers to 26 binary digits of the largest, so that rounding elsewhere shows in none (but one in millions).

    >>> import numpy as np
    >>> float(binary_digits(np.array([0.1 + 0.2]))[0]) == float(binary_digits(np.array([0.3]))[0])
    True
    """
    power = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return np.ascontiguousarray(np.ldexp(np.rint(np.ldexp(values, bits - power)), power - bits))
