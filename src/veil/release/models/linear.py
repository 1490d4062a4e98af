"""Models of secret matrices that act on records, or on the table as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.numerics.transforms import TRANSFORMS, orthonormal_transform
from veil.release.models.base import Model, positive, require, vector, whole
from veil.release.models.dither import Dither

KINDS = ("gaussian", "achlioptas1", "achlioptas3", "sparse", "given")


def no_noise(k: int) -> Vector:
    """k zeros that take no memory, whatever a manifest says k is."""
    require(0 < k < 2**31)
    return np.broadcast_to(np.zeros(()), (k,))


@dataclass(frozen=True, eq=False)
class Scaled(Model):
    """Columns were divided by public units first: ``z = x / unit``."""

    unit: Vector

    def scaled(self, x: Matrix) -> Matrix:
        """Private values in the units that were transformed."""
        return np.asarray(x / self.unit)

    def private(self, z: Matrix) -> Matrix:
        """Transformed units back to the private table's."""
        return np.asarray(z * self.unit)

    def check(self, d: int, k: int) -> None:
        """One positive unit per column."""
        super().check(d, k)
        require(self.unit.shape == (d,) and positive(self.unit))


@dataclass(frozen=True, eq=False)
class Dithered(Scaled):
    """Columns on a grid were dithered before they were scaled: ``z = (x + u) / unit``; None where none was."""

    dither: Dither | None = field(default=None, kw_only=True)

    @property
    def undithered(self) -> Self:
        """The model without its dither: what secret matrices and noise are addressed by."""
        return self if self.dither is None else replace(self, dither=None)

    def dithered_json(self) -> dict[str, Any]:
        """The dither as JSON values, where there is one."""
        return {} if self.dither is None else {"dither": self.dither.to_json()}

    def check(self, d: int, k: int) -> None:
        """A dither of these columns."""
        super().check(d, k)
        if self.dither is not None:
            self.dither.check(d)


def dither_from(raw: Mapping[str, Any]) -> Dither | None:
    """The dither that a manifest describes; older ones know none."""
    return Dither.from_json(raw["dither"]) if "dither" in raw else None


@dataclass(frozen=True, eq=False)
class OrthogonalModel(Dithered):
    """``y = M z + t`` with ``z = x / unit``: M and t are secret, all else is public.

    ``proper`` says that M is a rotation; ``translation`` is the spread of t, 0 where there is none.
    """

    name = "orthogonal"
    methods = ("orthogonal-transform",)
    proper: bool = False
    translation: float = 0.0

    @property
    def translated(self) -> bool:
        """Whether there is a t."""
        return self.translation > 0

    def to_json(self) -> dict[str, Any]:
        """Units, whether reflections were possible, and the law of the translation."""
        values = {"unit": self.unit.tolist(), "proper": self.proper, "translation": self.translation}
        return {**values, **self.dithered_json()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> OrthogonalModel:
        """Back from :meth:`to_json`."""
        return cls(vector(raw["unit"]), raw["proper"], raw["translation"], dither=dither_from(raw))

    def check(self, d: int, k: int) -> None:
        """A spread of at least 0."""
        super().check(d, k)
        require(isinstance(self.proper, bool) and isinstance(self.translation, int | float))
        require(0 <= self.translation < np.inf)


@dataclass(frozen=True, eq=False)
class NormalizedRotationModel(Model):
    """``y = R z`` with z normalized: ``z = (x − a) / b``. R, a and b are secret.

    ``normalize`` says what a and b are: "zscore" the mean and the population standard deviation of the
    private column, "minmax" its minimum and its range. ``rotation`` is a keyed name of the secret settings.
    """

    name = "normalized-rotation"
    methods = ("pairwise-rotation",)
    normalize: str
    rotation: str | None = None

    def to_json(self) -> dict[str, Any]:
        """How columns were normalized, and a keyed name of pairs, angles and thresholds."""
        return {"normalize": self.normalize, "rotation": self.rotation}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> NormalizedRotationModel:
        """Back from :meth:`to_json`."""
        return cls(raw["normalize"], raw["rotation"])

    def check(self, d: int, k: int) -> None:
        """A known way to normalize."""
        super().check(d, k)
        require(isinstance(self.normalize, str) and self.normalize in ("zscore", "minmax"))
        require(isinstance(self.rotation, str | None))


@dataclass(frozen=True, eq=False)
class ProjectionModel(Dithered):
    """``y = R z + e`` with ``z = x / unit``: R is a secret k × d matrix, e normal with public deviations.

    The entries of R are independent with mean 0 and variance 1/k, of the law ``kind``: "gaussian",
    "achlioptas1", "achlioptas3", "sparse", or "given" for a matrix that the owner chose.
    """

    name = "projection"
    methods: ClassVar[tuple[str, ...]] = ("random-projection",)
    n_components: int
    kind: str
    noise: Vector

    def to_json(self) -> dict[str, Any]:
        """Units, kind and dimensions."""
        values = {"unit": self.unit.tolist(), "kind": self.kind, "n_components": self.n_components}
        return {**values, "axis": "attributes", "n_records": None, **self.dithered_json()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Model:
        """Back from :meth:`to_json`; in format 1, projections of records are under the same name."""
        if raw["axis"] == "records":
            return RecordProjectionModel.from_json(raw)
        require(raw["axis"] == "attributes" and whole(raw["n_components"]) and raw["n_components"] >= 1)
        k = raw["n_components"]
        return cls(vector(raw["unit"]), k, raw["kind"], no_noise(k), dither=dither_from(raw))

    def n_released(self, d: int) -> int:
        """One column for each row of R."""
        return self.n_components

    def check(self, d: int, k: int) -> None:
        """A known kind, and one deviation per released column."""
        super().check(d, k)
        require(isinstance(self.kind, str) and self.kind in KINDS and self.noise.shape == (k,))
        require(k >= 1 and np.isfinite(self.noise).all() and (self.noise >= 0).all())


@dataclass(frozen=True, eq=False)
class LinearTransformModel(ProjectionModel):
    """The same for a square matrix, or one that the owner chose; ``given`` is a keyed name of the owner's."""

    name = "linear"
    methods = ("linear-transform",)
    given: str | None = None

    @classmethod
    def of(
        cls, unit: Vector, noise: Vector, given: str | None, *, dither: Dither | None = None
    ) -> LinearTransformModel:
        """A model of a matrix with one row for each deviation."""
        return cls(unit, len(noise), "gaussian" if given is None else "given", noise, given, dither=dither)

    def to_json(self) -> dict[str, Any]:
        """Units, the noise's deviations, and whether the owner chose the matrix (under a keyed name)."""
        values = {"unit": self.unit.tolist(), "noise": self.noise.tolist(), "given": self.given}
        return {**values, **self.dithered_json()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> LinearTransformModel:
        """Back from :meth:`to_json`."""
        require(isinstance(raw["given"], str | None))
        return cls.of(vector(raw["unit"]), vector(raw["noise"]), raw["given"], dither=dither_from(raw))

    def address(self, method: str, stream: str, columns: Sequence[str], j: int) -> list[Any]:
        """Noise is on released columns, which have a number and no name."""
        return [method, j, list(columns), self.undithered.to_json()]


@dataclass(frozen=True, eq=False)
class RecordProjectionModel(Scaled):
    """``Y = R Z`` with Z the N × d private table in units of ``unit``: R is a secret k × N matrix.

    Rows of the release are no records; its columns are the private ones, and ``YᵀY`` estimates ``ZᵀZ``.
    """

    name = "record-projection"
    n_components: int
    n_records: int
    kind: str

    def to_json(self) -> dict[str, Any]:
        """Units, kind and dimensions."""
        values = {"unit": self.unit.tolist(), "kind": self.kind, "n_components": self.n_components}
        return {**values, "axis": "records", "n_records": self.n_records}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> RecordProjectionModel:
        """Back from :meth:`to_json`."""
        return cls(vector(raw["unit"]), raw["n_components"], raw["n_records"], raw["kind"])

    def check(self, d: int, k: int) -> None:
        """Fewer rows than records."""
        super().check(d, k)
        require(isinstance(self.kind, str) and self.kind in KINDS)
        require(whole(self.n_components) and whole(self.n_records) and 1 <= self.n_components < self.n_records)


@dataclass(frozen=True, eq=False)
class PermutedTransformModel(Scaled):
    """``y = P F z`` with ``z = x / unit``: F a public orthonormal transform, P picks k of its rows in a secret order.

    ``basis`` names F; ``transform`` is F itself, d × d, one coefficient per row.
    """

    name = "permuted-transform"
    methods = ("transform-domain",)
    n_components: int
    basis: str

    @cached_property
    def transform(self) -> Matrix:
        """F."""
        return orthonormal_transform(self.basis, len(self.unit))

    def to_json(self) -> dict[str, Any]:
        """Units, the transform, and how many coefficients are kept."""
        return {"unit": self.unit.tolist(), "basis": self.basis, "n_components": self.n_components}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> PermutedTransformModel:
        """Back from :meth:`to_json`."""
        return cls(vector(raw["unit"]), raw["n_components"], raw["basis"])

    def n_released(self, d: int) -> int:
        """One column for each coefficient."""
        return self.n_components

    def check(self, d: int, k: int) -> None:
        """A known transform, and at most as many coefficients as columns."""
        super().check(d, k)
        require(isinstance(self.basis, str) and self.basis in TRANSFORMS)
        require(whole(self.n_components) and 1 <= self.n_components <= d)
