"""The methods there are: built in, and those of other people's packages.

A class enters the register when it is defined. Built-in modules are imported when the register is first asked; other
packages name their modules by entry points of the group ``veil.perturbations``::

    [project.entry-points."veil.perturbations"]
    my-noise = "my_package.my_noise"
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from veil.errors import InputError
from veil.release.extensions import load_extensions

if TYPE_CHECKING:
    from veil.perturbations.base import Perturbation

GROUP = "veil.perturbations"
_CLASSES: dict[str, type[Perturbation]] = {}


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


@cache
def _load_built_in() -> None:
    package = importlib.import_module("veil.perturbations")
    for module in pkgutil.iter_modules(package.__path__, "veil.perturbations."):
        importlib.import_module(module.name)


def _load() -> None:
    _load_built_in()
    load_extensions(GROUP)


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
