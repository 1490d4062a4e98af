"""Contracts that every perturbation and every attack keeps, for authors of new ones.

Run them over a class of your own::

    from veil.checks import check_attack, check_perturbation

    check_perturbation(MyNoise())
    check_attack(MyAttack())

Each check raises AssertionError with a sentence that says what broke.
"""

from veil.checks.attack import check_attack
from veil.checks.perturbation import (
    check_blocks,
    check_categories,
    check_disclosure,
    check_missing_values,
    check_names,
    check_perturbation,
    check_pickling_drops_the_key,
    check_rebuilding,
    check_restoring,
    check_same_noise_and_unrelated_noise,
    check_secret_is_masked,
)

__all__ = [
    "check_attack",
    "check_blocks",
    "check_categories",
    "check_disclosure",
    "check_missing_values",
    "check_names",
    "check_perturbation",
    "check_pickling_drops_the_key",
    "check_rebuilding",
    "check_restoring",
    "check_same_noise_and_unrelated_noise",
    "check_secret_is_masked",
]
