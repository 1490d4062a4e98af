"""All attacks by name: Veil's own, found in the packages beside this file, and those of installed packages."""

from __future__ import annotations

from veil.attacks.base import ATTACKS, Attack


def attack_classes() -> dict[str, type[Attack]]:
    """Every attack by its name on the command line: Veil's own by catalogue id, then those of other packages."""
    return dict(ATTACKS)


def every_attack() -> list[Attack]:
    """Every attack in its strongest settings: one of each, and those that its class wants to be tried as well."""
    classes = ATTACKS.values()
    return [*(cls() for cls in classes), *(cls(**settings) for cls in classes for settings in cls.settings_to_try)]


def find_attack(name: str) -> type[Attack]:
    """The class behind a command-line name, with or without "-attack"; suggests the nearest."""
    whole = f"{name}-attack"
    return ATTACKS[whole] if whole in ATTACKS else ATTACKS.find(name)
