"""What every model is, and how a manifest's JSON becomes one.

A model class names itself in :attr:`Model.name`, which manifests record beside the method, and lists in
:attr:`Model.methods` the methods of version 0.1, whose manifests have no such record. Classes enter the register when
they are defined. A name that no installed package defines gives an :class:`UnknownModel`, which keeps what it was
given.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Matrix, Vector
from veil.release.extensions import load_extensions
from veil.release.models.number_classes import NumberClasses

_BY_NAME: dict[str, type[Model]] = {}
_BY_METHOD: dict[str, type[Model]] = {}


class Model(ABC):
    """What the world may know of how a release was made. A subclass is a frozen dataclass (``eq=False``) of public
    values; two are equal when their JSON values are.

    Attributes
    ----------
    name
        The model's own name, recorded in manifests.
    methods
        Methods that it describes in manifests that record no model (format 1).
    independent_records
        Whether every record is perturbed by draws of its own and by what is published, so that there is no secret
        common to all, and one record tells nothing about the perturbation of another.
    """

    name: ClassVar[str]
    methods: ClassVar[tuple[str, ...]] = ()
    independent_records: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            known = _BY_NAME.setdefault(cls.name, cls)
            if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise TypeError(f"two models are called {cls.name!r}: {_place(known)} and {_place(cls)}; rename one")
            _BY_NAME[cls.name] = cls
            _BY_METHOD.update(dict.fromkeys(cls.__dict__.get("methods", ()), cls))

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The model as JSON values. Addresses of noise are derived from them: they never change by a bit."""

    @classmethod
    @abstractmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Model:
        """Back from :meth:`to_json`."""

    def n_released(self, d: int) -> int:
        """How many columns are released for ``d`` private ones."""
        return d

    def check(self, d: int, k: int) -> None:
        """Raise ValueError unless the model fits ``d`` private and ``k`` released columns and is finite."""
        require(k == self.n_released(d))

    def private_categories(self) -> Sequence[Sequence[Any] | None] | None:
        """For each private column, the categories whose codes guesses are in; None for numbers, and for a method of
        numbers alone.
        """
        return None

    def number_classes(self) -> Sequence[NumberClasses | None]:
        """For each private column the classes that its numbers are reported by, None for another; none for no such."""
        return ()

    def released_categories(self) -> Sequence[Sequence[Any]] | None:
        """For each released column, the categories whose codes the method returns; None where it returns no codes."""
        return cast("Sequence[Sequence[Any]] | None", self.private_categories())

    def released_types(self, usual: pa.DataType, d: int, k: int) -> list[pa.DataType]:
        """Types of ``k`` released columns that are no categories, for ``d`` private ones; ``usual``: the layout's."""
        return [usual] * k

    def kept_types(self, private: Sequence[pa.DataType]) -> list[pa.DataType] | None:
        """Types of released columns where they depend on those of the private ones; None where they do not."""
        return None

    @property
    def n_suppressed(self) -> int:
        """About how many cells are released as missing that are not; no method of noise has any."""
        return 0

    def column(self, j: int) -> dict[str, Any]:
        """What the noise of the ``j``-th column depends on; a later release of the same cells keeps it."""
        return self.to_json()

    def ledger_json(self) -> dict[str, Any]:
        """What a key's ledger keeps: enough to undo the method, and with the table what makes two releases the same.

        Like addresses, it never changes by a bit; what is published beside it, of the data alone, is not in it.
        """
        return self.to_json()

    def address(self, method: str, stream: str, columns: Sequence[str], j: int) -> list[Any]:
        """Where the noise of the ``j``-th column comes from: one stream for each purpose."""
        return [method, stream, columns[j], self.column(j)]

    def recorded_name(self) -> str:
        """The name that a manifest records."""
        return self.name

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Model) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(digest_of(self.to_json()))


def _place(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def require(good: Any) -> None:
    """Raise ValueError where a model read from a manifest is not what it should be."""
    if not bool(good):
        raise ValueError("the parameters do not fit the columns")


def vector(values: Any) -> Vector:
    """A list of JSON numbers as a vector."""
    return _numbers(values, 1)


def matrix(values: Any) -> Matrix:
    """A list of lists of JSON numbers as a matrix."""
    return _numbers(values, 2)


def _numbers(values: Any, ndim: int) -> npt.NDArray[np.float64]:
    array = np.asarray(values)
    require(array.ndim == ndim and (array.dtype.kind in "iuf" or not array.size))
    return array.astype(np.float64)


def whole(value: Any) -> bool:
    """Whether a JSON value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def positive(values: Vector) -> bool:
    """Whether all values are finite and above 0."""
    return bool(np.isfinite(values).all() and (values > 0).all())


def digest_of(parameters: Mapping[str, Any]) -> str:
    """A short name of a model's values, for addresses that would otherwise repeat a whole matrix."""
    return hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class UnknownModel(Model):
    """Nothing is said about how the release was made, or nothing that this version understands."""

    name = "unknown"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    recorded: str = "unknown"

    def to_json(self) -> dict[str, Any]:
        """What the manifest said."""
        return dict(self.parameters)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> UnknownModel:
        """Keep what the manifest says."""
        return cls(dict(raw))

    def check(self, d: int, k: int) -> None:
        """Anything fits."""

    def recorded_name(self) -> str:
        """The name that the manifest recorded."""
        return self.recorded


FOREIGN = "foreign"
"""The method's name in a release that was made elsewhere and not described."""


@dataclass(frozen=True, eq=False)
class ForeignModel(UnknownModel):
    """Made elsewhere, by a method that nobody described; its columns are numbers and its rows are records."""

    name = FOREIGN
    methods = (FOREIGN,)
    recorded: str = FOREIGN


def model_from(raw: Mapping[str, Any], *, method: str, name: str | None = None) -> Model:
    """The model that a manifest's parameters describe: by its recorded name, or in format 1 by the method's."""
    if not isinstance(raw, Mapping):
        raise ValueError("parameters must be a mapping")
    if name is not None and name not in _BY_NAME:
        load_extensions("veil.perturbations")
    cls = _BY_METHOD.get(method) if name is None else _BY_NAME.get(name)
    if cls is None or cls is UnknownModel:
        return UnknownModel(dict(raw), recorded=name or UnknownModel.name)
    return cls.from_json(raw)
