"""Knowledge of the method: the law of its noise, or its secret matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veil.attacks.knowledge.base import Grant, Knowledge, PrivateTable, private_names
from veil.attacks.knowledge.reading import LARGEST, as_numbers, as_records, select_columns
from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.numerics.laws import check_law
from veil.release.models import Model
from veil.release.release import Release


class KnownNoise(Knowledge):
    """The law of the noise, where a release's manifest does not say it.

    Parameters
    ----------
    covariance
        d × d covariance of the noise, or the d variances of independent noise.
    distribution
        Its name: normal, uniform or laplace.
    """

    file_help = "Covariance of the noise, if not published."

    def __init__(self, covariance: Any, distribution: str = "normal") -> None:
        matrix = as_numbers(covariance, "covariance").astype(np.float64)
        check_law(distribution)
        if matrix.ndim == 1:
            matrix = np.diag(matrix)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            raise InputError(f"covariance must be d variances or a finite d × d matrix; got shape {matrix.shape}")
        if not np.array_equal(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] < -1e-12 * np.abs(matrix).max():
            raise InputError("covariance must be symmetric, with no negative variance in any direction")
        self.covariance = matrix
        self.distribution = distribution

    def describe(self) -> str:
        """The law's name."""
        return f"the {self.distribution} law of the noise"

    def narrowed(self, at: Sequence[int], d: int) -> KnownNoise:
        """The law of some columns' noise; a law that is not about all d columns stays as it is."""
        if len(self.covariance) != d:
            return self
        return KnownNoise(self.covariance[np.ix_(at, at)], self.distribution)

    @classmethod
    def from_file(cls, path: Path, release: Release) -> KnownNoise:
        """The covariance from a file with the private columns."""
        return cls(as_records(select_columns(path, private_names(release), path.name), path.name))


class KnownMatrix(Knowledge):
    """The secret matrix of a linear method, disclosed.

    Parameters
    ----------
    matrix
        k × d, as applied: a released record is ``matrix @ (x / unit)`` (with records projected, k × N).
    """

    kind = "matrix"
    article = "the"
    rank = 7
    swept = (0,)
    along = ("sample", "ranges")
    of_key = True
    audit_help = "Grant the secret matrix: the key has leaked."
    file_help = "The secret matrix, if it leaked."

    def __init__(self, matrix: Any) -> None:
        entries = as_numbers(matrix, "matrix").astype(np.float64)
        if entries.ndim != 2 or not entries.size or not (np.abs(entries) <= LARGEST).all():
            raise InputError(
                f"matrix must be a finite k × d array of entries within ±{LARGEST:g}; got shape {entries.shape}"
            )
        self.matrix = entries

    def describe(self) -> str:
        """The matrix's shape."""
        return f"the secret matrix ({self.matrix.shape[0]} × {self.matrix.shape[1]})"

    @classmethod
    def from_file(cls, path: Path, release: Release) -> KnownMatrix:
        """The matrix from a file of numbers."""
        return cls(as_records(path, path.name))

    @classmethod
    def from_key(cls, matrix: Matrix) -> KnownMatrix:
        """The matrix itself."""
        return cls(matrix)

    @classmethod
    def idle(cls, model: Model) -> bool:
        """Where every record has draws of its own there is no matrix."""
        return model.independent_records

    @classmethod
    def label(cls, amount: float) -> str:
        """That the matrix is disclosed."""
        return "disclosed matrix"

    @classmethod
    def words(cls, amount: float) -> str:
        """How the matrix came out, and what goes along."""
        return (
            "The attacker also has the secret matrix, because the key has leaked, and the smallest sample and the "
            "ranges that this audit grants."
        )

    @classmethod
    def grant(cls, private: PrivateTable, amount: float, rng: np.random.Generator) -> Grant:
        """Nothing of the table: the matrix is the release's own."""
        return Grant()
