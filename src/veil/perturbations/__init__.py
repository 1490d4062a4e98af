"""Perturbations: one family per file. The register maps command-line names to classes."""

from veil.perturbations.base import Perturbation
from veil.perturbations.draws import Draws, Place, Secrets
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, MadeOf, Noise, Takes
from veil.perturbations.registry import PERTURBATIONS, find_perturbation

__all__ = [
    "PERTURBATIONS",
    "Draws",
    "Facts",
    "Layout",
    "MadeOf",
    "Noise",
    "Perturbation",
    "Place",
    "Secrets",
    "Takes",
    "find_perturbation",
]
