"""Orthonormal transforms of a record, with public matrices (Liu 2007, §2.1.1; P10)."""

from __future__ import annotations

import numpy as np

from veil.data.blocks import Matrix

TRANSFORMS = ("dct", "dft")


def orthonormal_transform(kind: str, d: int) -> Matrix:
    """The d × d matrix of a real orthonormal transform, one coefficient per row.

    "dct" is the cosine transform (type II); "dft" the Fourier transform in real form: the mean, then cosine and
    sine of each frequency.

    >>> f = orthonormal_transform("dft", 5)
    >>> bool(np.allclose(f @ f.T, np.eye(5)))
    True
    """
    at = np.arange(d)
    if kind == "dct":
        matrix = np.cos(np.pi * np.outer(at, at + 0.5) / d) * np.sqrt(2.0 / d)
        matrix[0] /= np.sqrt(2.0)
        return np.asarray(matrix)
    if kind != "dft":
        raise ValueError(f"no transform {kind!r}")
    frequency = (at + 1) // 2
    phase = 2 * np.pi * np.outer(frequency, at) / d
    matrix = np.where((at % 2 == 1)[:, None], np.cos(phase), np.sin(phase)) * np.sqrt(2.0 / d)
    matrix[0] = np.sqrt(1.0 / d)
    if d % 2 == 0:
        matrix[-1] /= np.sqrt(2.0)
    return np.asarray(matrix)
