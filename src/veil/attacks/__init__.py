"""Attacks: packages by what they attack. An attack sees a release and granted knowledge, and nothing else."""

from veil.attacks.base import Attack, Finding, Guess, Links
from veil.attacks.registry import attack_classes, every_attack, find_attack

__all__ = ["Attack", "Finding", "Guess", "Links", "attack_classes", "every_attack", "find_attack"]
