"""Classes by their names: perturbations, attacks and kinds of knowledge all use one kind of register.

A class enters a register when it is defined. The modules of Veil's own package are imported when the register is first
asked, then those of other people's packages, which entry points name::

    [project.entry-points."veil.perturbations"]
    my-noise = "my_package.my_noise"
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from veil.errors import ExtensionWarning, InputError
from veil.release.extensions import load_extensions

T = TypeVar("T")

_OWN, _INSTALLED, _SESSION = range(3)


def kebab(name: str) -> str:
    """A class's name as the command line spells it.

    >>> kebab("AdditiveNoise"), kebab("PCAAttack")
    ('additive-noise', 'pca-attack')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


class Register(Mapping[str, type[T]]):
    """Classes of one kind: as a mapping, Veil's own and those of installed packages.

    Of several classes with one name Veil's own is taken, then that of an installed package, with a warning. A class
    that was defined in a session, such as a notebook or a test, is not listed; :meth:`find` finds it if nothing else
    has its name.

    Parameters
    ----------
    noun
        What a class is called in messages.
    package, group
        The package of Veil's own classes, and the group of entry points of others.
    order
        The key of a name and its class by which they are listed; by default the name.
    parameter
        The argument that errors name.
    """

    def __init__(
        self,
        noun: str,
        package: str,
        group: str,
        *,
        order: Callable[[str, type[T]], Any] = lambda name, _: name,
        parameter: str | None = None,
    ) -> None:
        self._noun, self._package, self._group, self._order, self._parameter = noun, package, group, order, parameter
        self._classes: dict[str, list[type[T]]] = {}
        self._listing: dict[str, type[T]] | None = None
        self._loaded = False

    def add(self, name: str, cls: type[T]) -> None:
        """Enter a class; one that is defined anew in the same place replaces the former."""
        others = [other for other in self._classes.get(name, ()) if _place(other) != _place(cls)]
        if is_own(cls) and any(map(is_own, others)):
            raise self._clash(cls, others[0])
        self._classes[name], self._listing = [*others, cls], None

    def find(self, name: str) -> type[T]:
        """The class of a name; an unknown one is refused, and the nearest suggested."""
        cls = self._winner(name)
        if cls is None:
            raise InputError.from_unknown_name(self._noun, name, self, parameter=self._parameter)
        return cls

    def check(self, name: str, cls: type[T]) -> None:
        """Refuse a class whose name is that of another one, by which it would be taken for that."""
        winner = cls if is_own(cls) else self._winner(name)
        if winner is not None and _place(winner) != _place(cls):
            raise self._clash(cls, winner)

    def __getitem__(self, name: str) -> type[T]:
        return self._listed()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed())

    def __len__(self) -> int:
        return len(self._listed())

    def _listed(self) -> dict[str, type[T]]:
        self._load()
        if self._listing is None:
            listing: dict[str, type[T]] = {}
            for name, classes in self._classes.items():
                installed = sorted((c for c in classes if self._standing(c) < _SESSION), key=self._standing)
                if installed:
                    listing[name] = installed[0]
                for cls in installed[1:]:
                    line = str(self._clash(cls, installed[0]))
                    warnings.warn_explicit(line, ExtensionWarning, filename=cls.__module__, lineno=0)
            self._listing = dict(sorted(listing.items(), key=lambda item: self._order(*item)))
        return self._listing

    def _winner(self, name: str) -> type[T] | None:
        """The class that has a name: of several the first of the best standing."""
        if not any(map(is_own, self._classes.get(name, ()))):
            self._load()
        return min(self._classes.get(name, ()), key=self._standing, default=None)

    def _standing(self, cls: type[T]) -> int:
        if is_own(cls):
            return _OWN
        return _INSTALLED if _root(cls) in load_extensions(self._group) else _SESSION

    def _load(self) -> None:
        if not self._loaded:
            package = importlib.import_module(self._package)
            for module in pkgutil.walk_packages(package.__path__, f"{self._package}."):
                importlib.import_module(module.name)
            self._loaded = True
        load_extensions(self._group)

    def _clash(self, cls: type[T], winner: type[T]) -> InputError:
        return InputError(f"{cls.__name__}: another {self._noun} has this name ({winner.__module__}); rename it")


def _root(cls: type[object]) -> str:
    return cls.__module__.partition(".")[0]


def is_own(cls: type[object]) -> bool:
    """Whether a class is Veil's, and not of another package."""
    return _root(cls) == "veil"


def _place(cls: type[object]) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__
