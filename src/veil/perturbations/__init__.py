"""Perturbations: one family per file. Authors of a method find here its parts, and models in `veil.release`."""

from veil.keys.noise import grid_for
from veil.numerics.rounding import two_digits
from veil.perturbations.base import PERTURBATIONS, Perturbation
from veil.perturbations.draws import Draws, GroupRows, Place, Secrets
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, MadeOf, Noise, Takes
from veil.perturbations.method import Learned, refuse_constant
from veil.perturbations.registry import find_perturbation

__all__ = [
    "PERTURBATIONS",
    "Draws",
    "Facts",
    "GroupRows",
    "Layout",
    "Learned",
    "MadeOf",
    "Noise",
    "Perturbation",
    "Place",
    "Secrets",
    "Takes",
    "find_perturbation",
    "grid_for",
    "refuse_constant",
    "two_digits",
]
