"""Attacks: packages by what they attack. An attack sees a release and granted knowledge, and nothing else."""

from veil.attacks.base import Attack, Finding, Guess, Links
from veil.attacks.registry import attack_classes, catalogue_place, every_attack, find_attack
from veil.attacks.rotation.signs import SignChoice, exact_signs

__all__ = [
    "Attack",
    "Finding",
    "Guess",
    "Links",
    "SignChoice",
    "attack_classes",
    "catalogue_place",
    "every_attack",
    "exact_signs",
    "find_attack",
]
