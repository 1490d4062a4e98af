"""Random orthonormal bases for the tables that experiments make."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def haar_basis(d: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Gram–Schmidt of a random matrix, with the signs that make it uniform (errata L-d)."""
    q, r = np.linalg.qr(rng.normal(size=(d, d)))
    return np.asarray(q * np.sign(np.diag(r)))
