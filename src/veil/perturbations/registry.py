"""The methods there are: built in, and those of other people's packages.

A class enters the register when it is defined. Built-in modules are imported when the register is first asked; other
packages name their modules by entry points of the group ``veil.perturbations``::

    [project.entry-points."veil.perturbations"]
    my-noise = "my_package.my_noise"
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from veil.errors import InputError

if TYPE_CHECKING:
    from veil.perturbations.base import Perturbation

GROUP = "veil.perturbations"
_CLASSES: dict[str, type[Perturbation]] = {}
_LOADED: set[str] = set()


def register(cls: type[Perturbation]) -> None:
    """Enter a class under its method's name; two classes of one name are refused."""
    name = cls.method_name()
    known = _CLASSES.get(name, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise InputError(
            f"two perturbations are called {name!r}: {known.__module__}.{known.__qualname__} and "
            f"{cls.__module__}.{cls.__qualname__}; rename one"
        )
    _CLASSES[name] = cls


def _load() -> None:
    package = importlib.import_module("veil.perturbations")
    for module in pkgutil.iter_modules(package.__path__, "veil.perturbations."):
        importlib.import_module(module.name)
    for point in entry_points(group=GROUP):
        if point.value in _LOADED:
            continue
        _LOADED.add(point.value)
        try:
            point.load()
        except Exception as error:
            package_name = point.dist.name if point.dist is not None else point.value
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            warnings.warn(
                f"perturbation {point.name!r} of the package {package_name} is left out: {reason}", stacklevel=3
            )


class Register(Mapping[str, "type[Perturbation]"]):
    """All methods by their names on the command line."""

    def __getitem__(self, name: str) -> type[Perturbation]:
        _load()
        return _CLASSES[name]

    def __iter__(self) -> Iterator[str]:
        _load()
        return iter(sorted(_CLASSES))

    def __len__(self) -> int:
        _load()
        return len(_CLASSES)


PERTURBATIONS = Register()


def find_perturbation(name: str) -> type[Perturbation]:
    """The class behind a command-line name, with a suggestion when there is none."""
    if name in PERTURBATIONS:
        return PERTURBATIONS[name]
    raise InputError.from_unknown_name("perturbation", name, PERTURBATIONS, parameter="method")
