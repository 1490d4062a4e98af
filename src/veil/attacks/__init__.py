"""Attacks: one family per file. The registry maps command-line names to classes."""

from __future__ import annotations

import difflib

from veil.attacks.additive import BayesEstimateAttack, NoiseDistributionAttack
from veil.attacks.base import Attack, Guess
from veil.attacks.known_pairs import KnownPairsAttack
from veil.attacks.known_sample import KnownSampleAttack
from veil.errors import InputError

ATTACKS: dict[str, type[Attack]] = {
    cls.attack_name(): cls
    for cls in (NoiseDistributionAttack, BayesEstimateAttack, KnownPairsAttack, KnownSampleAttack)
}

__all__ = [
    "ATTACKS",
    "Attack",
    "BayesEstimateAttack",
    "Guess",
    "KnownPairsAttack",
    "KnownSampleAttack",
    "NoiseDistributionAttack",
    "find_attack",
]


def find_attack(name: str) -> type[Attack]:
    """The class behind a command-line name, with or without "-attack"; suggests the nearest."""
    for candidate in (name, f"{name}-attack"):
        if candidate in ATTACKS:
            return ATTACKS[candidate]
    near = difflib.get_close_matches(name, ATTACKS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(ATTACKS)}"
    raise InputError(f"no attack is called {name!r}; {hint}")
