"""The methods there are: built in, and those of packages that an entry point of ``veil.perturbations`` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veil.release.registry import Register

if TYPE_CHECKING:
    from veil.perturbations.base import Perturbation

GROUP = "veil.perturbations"
PERTURBATIONS: Register[Perturbation] = Register("perturbation", "veil.perturbations", GROUP, parameter="method")
"""All methods by their names on the command line."""


def find_perturbation(name: str) -> type[Perturbation]:
    """The class behind a command-line name; suggests the nearest."""
    return PERTURBATIONS.find(name)
