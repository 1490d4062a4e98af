"""What a manifest says about a perturbation, as a model that attackers and analysts can use.

Attacks, recovery and utility read these classes, never a method's name, so that methods with the
same model share them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.numerics.factor_law import FactorLaw
from veil.numerics.transforms import orthonormal_transform

if TYPE_CHECKING:
    from veil.release.release import Part


@dataclass(frozen=True)
class Scaled:
    """Columns were divided by public units first: ``z = x / unit``."""

    unit: Vector

    def scaled(self, x: Matrix) -> Matrix:
        """Private values in the units that were transformed."""
        return np.asarray(x / self.unit)

    def private(self, z: Matrix) -> Matrix:
        """Transformed units back to the private table's."""
        return np.asarray(z * self.unit)


@dataclass(frozen=True)
class AdditiveModel:
    """``y = x + r``: r of mean 0, independent of x, with a public covariance and law."""

    covariance: Matrix
    distribution: str


@dataclass(frozen=True)
class OrthogonalModel(Scaled):
    """``y = M z + t`` with ``z = x / unit``: M and t are secret, all else is public.

    ``proper`` says that M is a rotation; ``translated`` that there is a t.
    """

    translated: bool
    proper: bool


@dataclass(frozen=True)
class MultiplicativeModel:
    """``y = x·r + e``: r of a public law, e normal with public standard deviations (zero where there is none)."""

    law: FactorLaw
    noise: Vector


@dataclass(frozen=True)
class LogNormalModel:
    """``ln y = ln x + e``: e normal with a public covariance, c times that of ln x."""

    covariance: Matrix
    c: float


@dataclass(frozen=True)
class NormalizedRotationModel:
    """``y = R z`` with z normalized: ``z = (x − a) / b``. R, a and b are secret.

    ``normalize`` says what a and b are: "zscore" the mean and the population standard deviation of the
    private column, "minmax" its minimum and its range.
    """

    normalize: str


@dataclass(frozen=True)
class ProjectionModel(Scaled):
    """``y = R z + e`` with ``z = x / unit``: R is a secret k × d matrix, e normal with public deviations.

    The entries of R are independent with mean 0 and variance 1/k, of the law ``kind``: "gaussian",
    "achlioptas1", "achlioptas3", "sparse", or "given" for a matrix that the owner chose.
    """

    n_components: int
    kind: str
    noise: Vector


@dataclass(frozen=True)
class RecordProjectionModel(Scaled):
    """``Y = R Z`` with Z the N × d private table in units of ``unit``: R is a secret k × N matrix.

    Rows of the release are no records; its columns are the private ones, and ``YᵀY`` estimates ``ZᵀZ``.
    """

    n_components: int
    n_records: int
    kind: str


@dataclass(frozen=True)
class PermutedTransformModel(Scaled):
    """``y = P F z`` with ``z = x / unit``: F a public orthonormal transform, P picks k of its rows in a secret order.

    ``transform`` is d × d, one coefficient per row.
    """

    n_components: int
    transform: Matrix


@dataclass(frozen=True)
class BinaryProjectionModel:
    """``u = R x mod 2`` on 0/1 records: R is a secret k × d matrix of ones with probability ``p``."""

    n_components: int
    p: float


@dataclass(frozen=True)
class ResponseModel:
    """Reported categories depend on the true ones by public column-stochastic matrices: ``λ = P π`` (P16).

    Attributes
    ----------
    categories
        For each column, its categories in the order of the codes; None stands for a missing value.
    matrices
        P of each column, ``P[reported, true]``; columns sum to 1. With ``compound``, one matrix for all columns.
    compound
        The combinations that occur, as tuples of one code per column, where all columns were randomized as one
        variable; None where each was randomized by itself.
    invariant
        Whether reports have the table's own proportions (``P π = π``).
    """

    categories: tuple[tuple[Any, ...], ...]
    matrices: tuple[Matrix, ...]
    compound: tuple[tuple[int, ...], ...] | None = None
    invariant: bool = False


@dataclass(frozen=True)
class BasketModel:
    """Transactions of 0 and 1, randomized by a public law (P19); what a kind does not use is None.

    ``kind`` "mask": an item of the transaction is reported with probability ``keep``, any other with ``insert``, each
    by itself. "select": j uniform on 0…``cutoff``, min(j, m) of the m items kept, chosen uniformly, and every other
    item there with probability ``insert``; the last released column is m. "gamma": of all 2^``n_items`` patterns the
    true one is reported with probability γx, any other with x = 1/(γ + 2^n − 1).
    """

    kind: str
    n_items: int
    keep: float | None = None
    insert: float | None = None
    cutoff: int | None = None
    gamma: float | None = None


@dataclass(frozen=True)
class ClassModel:
    """A value is released as the class between public edges that it lies in (P17); ``names`` are the classes' texts."""

    edges: tuple[Vector, ...]
    names: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class UnknownModel:
    """Nothing is said about how the release was made."""


FOREIGN = "foreign"
"""The method's name in a release that was made elsewhere and not described."""


@dataclass(frozen=True)
class ForeignModel(UnknownModel):
    """Made elsewhere, by a method that nobody described; its columns are numbers and its rows are records."""


Model = (
    AdditiveModel
    | OrthogonalModel
    | NormalizedRotationModel
    | ProjectionModel
    | RecordProjectionModel
    | PermutedTransformModel
    | BinaryProjectionModel
    | MultiplicativeModel
    | LogNormalModel
    | ResponseModel
    | ClassModel
    | BasketModel
    | UnknownModel
)


def _additive(parameters: dict[str, Any]) -> AdditiveModel:
    if "factor" in parameters:
        factor = np.asarray(parameters["factor"], dtype=np.float64)
        return AdditiveModel(factor @ factor.T, parameters["distribution"])
    scale = np.asarray(parameters["scale"], dtype=np.float64)
    return AdditiveModel(np.diag(scale**2), parameters["distribution"])


def _orthogonal(parameters: dict[str, Any]) -> OrthogonalModel:
    unit = np.asarray(parameters["unit"], dtype=np.float64)
    return OrthogonalModel(unit, translated=parameters["translation"] > 0, proper=parameters["proper"])


def _multiplicative(parameters: dict[str, Any]) -> MultiplicativeModel:
    law = FactorLaw.from_json(parameters["factor"])
    return MultiplicativeModel(
        law, np.asarray(parameters.get("scale", np.zeros(len(parameters["grid"]))), dtype=np.float64)
    )


def _lognormal(parameters: dict[str, Any]) -> LogNormalModel:
    factor = np.asarray(parameters["factor"], dtype=np.float64)
    return LogNormalModel(factor @ factor.T, float(parameters["c"]))


def _rotation(parameters: dict[str, Any]) -> NormalizedRotationModel:
    return NormalizedRotationModel(parameters["normalize"])


def _linear(parameters: dict[str, Any]) -> ProjectionModel:
    unit, noise = (np.asarray(parameters[name], dtype=np.float64) for name in ("unit", "noise"))
    kind = "gaussian" if parameters["given"] is None else "given"
    return ProjectionModel(unit, n_components=len(noise), kind=kind, noise=noise)


def _projection(parameters: dict[str, Any]) -> ProjectionModel | RecordProjectionModel:
    unit, k = np.asarray(parameters["unit"], dtype=np.float64), parameters["n_components"]
    if parameters["axis"] == "records":
        return RecordProjectionModel(unit, n_components=k, n_records=parameters["n_records"], kind=parameters["kind"])
    return ProjectionModel(unit, n_components=k, kind=parameters["kind"], noise=np.zeros(k))


def _transform_domain(parameters: dict[str, Any]) -> PermutedTransformModel:
    unit = np.asarray(parameters["unit"], dtype=np.float64)
    transform = orthonormal_transform(parameters["basis"], len(unit))
    return PermutedTransformModel(unit, n_components=parameters["n_components"], transform=transform)


def _response(parameters: dict[str, Any]) -> ResponseModel:
    compound = parameters["compound"]
    return ResponseModel(
        categories=tuple(tuple(c) for c in parameters["categories"]),
        matrices=tuple(np.asarray(m, dtype=np.float64) for m in parameters["matrices"]),
        compound=None if compound is None else tuple(tuple(c) for c in compound),
        invariant=bool(parameters["invariant"]),
    )


def _classes(parameters: dict[str, Any]) -> ClassModel:
    edges = tuple(np.asarray(e, dtype=np.float64) for e in parameters["edges"])
    return ClassModel(edges, tuple(tuple(n) for n in parameters["names"]))


def _binary(parameters: dict[str, Any]) -> BinaryProjectionModel:
    return BinaryProjectionModel(parameters["n_components"], parameters["p"])


def _basket(parameters: dict[str, Any]) -> BasketModel:
    return BasketModel(**parameters)


_MODELS: dict[str, Callable[[dict[str, Any]], Model]] = {
    "additive-noise": _additive,
    "binary-projection": _binary,
    "combined-noise": _multiplicative,
    "discretize": _classes,
    FOREIGN: lambda _: ForeignModel(),
    "gaussian-mechanism": _additive,
    "laplace-mechanism": _additive,
    "linear-transform": _linear,
    "log-normal-noise": _lognormal,
    "market-basket": _basket,
    "multiplicative-noise": _multiplicative,
    "orthogonal-transform": _orthogonal,
    "pairwise-rotation": _rotation,
    "random-projection": _projection,
    "randomized-response": _response,
    "transform-domain": _transform_domain,
}


def check_model(model: Model, n_private: int, n_released: int) -> None:
    """Raise ValueError unless a model read from a manifest fits its columns and is finite."""
    if isinstance(model, AdditiveModel):
        good = model.covariance.shape == (n_private, n_private) and n_released == n_private
        good = good and bool(np.isfinite(model.covariance).all()) and isinstance(model.distribution, str)
    elif isinstance(model, OrthogonalModel):
        good = model.unit.shape == (n_private,) and n_released == n_private
        good = (
            good and bool(np.isfinite(model.unit).all() and (model.unit > 0).all()) and isinstance(model.proper, bool)
        )
    elif isinstance(model, MultiplicativeModel):
        law = model.law
        good = model.noise.shape == (n_private,) and bool(np.isfinite(model.noise).all() and (model.noise >= 0).all())
        good = good and 0 < law.bounds[0] < law.bounds[1] and law.std > 0 and n_released == n_private
    elif isinstance(model, LogNormalModel):
        good = model.covariance.shape == (n_private, n_private) and 0 < model.c < 1 and n_released == n_private
        good = good and bool(np.isfinite(model.covariance).all())
    elif isinstance(model, NormalizedRotationModel):
        good = model.normalize in ("zscore", "minmax") and n_released == n_private
    elif isinstance(model, ProjectionModel | PermutedTransformModel | RecordProjectionModel):
        good = _fits(model, n_private, n_released)
    elif isinstance(model, BinaryProjectionModel):
        good = model.n_components == n_released and 0 < model.p <= 0.25
    elif isinstance(model, ClassModel):
        good = len(model.edges) == len(model.names) == n_private == n_released
        good = good and all(len(n) == len(e) + 1 >= 2 for e, n in zip(model.edges, model.names, strict=True))
    elif isinstance(model, ResponseModel):
        sizes = [len(c) for c in model.categories] if model.compound is None else [len(model.compound)]
        good = len(model.categories) == n_private == n_released
        good = good and [m.shape for m in model.matrices] == [(k, k) for k in sizes]
        good = good and all(bool(np.isfinite(m).all() and (m >= 0).all()) for m in model.matrices)
    elif isinstance(model, BasketModel):
        good = model.n_items == n_private == n_released - (model.kind == "select") and _is_basket_law(model)
    else:
        good = True
    if not good:
        raise ValueError("the parameters do not fit the columns")


def _is_basket_law(model: BasketModel) -> bool:
    if model.kind == "gamma":
        return model.gamma is not None and 1 < model.gamma < np.inf
    good = model.insert is not None and 0 < model.insert < 1
    if model.kind == "mask":
        return good and model.keep is not None and 0 < model.keep < 1 and model.keep != model.insert
    return good and model.kind == "select" and isinstance(model.cutoff, int) and 1 <= model.cutoff <= 20


def _fits(
    model: ProjectionModel | PermutedTransformModel | RecordProjectionModel, n_private: int, n_released: int
) -> bool:
    good = model.unit.shape == (n_private,) and bool(np.isfinite(model.unit).all() and (model.unit > 0).all())
    good = good and isinstance(model.n_components, int) and model.n_components >= 1
    if isinstance(model, RecordProjectionModel):
        return good and n_released == n_private and model.n_records > model.n_components
    if not isinstance(model, PermutedTransformModel):
        good = good and model.kind in ("gaussian", "achlioptas1", "achlioptas3", "sparse", "given")
    if isinstance(model, ProjectionModel):
        good = good and bool(np.isfinite(model.noise).all() and (model.noise >= 0).all())
    return good and n_released == model.n_components


def model_of(part: Part) -> Model:
    """The public model of one part of a release."""
    make = _MODELS.get(part.method)
    return make(part.parameters) if make is not None else UnknownModel()
