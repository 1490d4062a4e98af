"""All attacks by name: Veil's own, found in the packages beside this file, and those of installed packages."""

from __future__ import annotations

from veil.attacks.base import Attack, import_own, registered_attacks
from veil.attacks.knowledge.registry import GROUP
from veil.errors import InputError
from veil.release.extensions import is_installed, load_extensions


def attack_classes() -> dict[str, type[Attack]]:
    """Every attack by its name on the command line: Veil's own by catalogue id, then those of other packages.

    >>> list(attack_classes())[:2]
    ['noise-distribution-attack', 'univariate-bayes-attack']
    """
    import_own()
    load_extensions(GROUP)
    classes = [cls for cls in registered_attacks() if is_installed(cls, GROUP)]
    classes.sort(key=lambda cls: (not cls.__module__.startswith("veil."), _number(cls), cls.attack_name()))
    return {cls.attack_name(): cls for cls in classes}


def _number(cls: type[Attack]) -> int:
    digits = cls.catalogue.removeprefix("A")
    return int(digits) if digits.isdecimal() else 0


def every_attack() -> list[Attack]:
    """Every attack in its strongest settings: one of each, and those that its class wants to be tried as well."""
    classes = attack_classes().values()
    return [*(cls() for cls in classes), *(cls(**settings) for cls in classes for settings in cls.settings_to_try)]


def find_attack(name: str) -> type[Attack]:
    """The class behind a command-line name, with or without "-attack"; suggests the nearest."""
    classes = attack_classes()
    for candidate in (name, f"{name}-attack"):
        if candidate in classes:
            return classes[candidate]
    raise InputError.from_unknown_name("attack", name, classes, parameter="attack")
