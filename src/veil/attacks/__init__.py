"""Attacks: packages by what they attack. An attack sees a release and granted knowledge, and nothing else.

Authors of an attack or of a kind of knowledge find here what it is made of; models are in `veil.release`.
"""

from veil.attacks.base import (
    Ambiguity,
    Attack,
    Finding,
    Guess,
    GuessingAttack,
    Links,
    Memberships,
    catalogue_place,
    check_width,
    full_guess,
    granted,
    needed,
)
from veil.attacks.blockwise import BlockwiseAttack
from veil.attacks.knowledge import Grant, Knowledge, PrivateTable, Source, Unit, as_records, select_columns
from veil.attacks.registry import attack_classes, every_attack, find_attack
from veil.attacks.rotation.signs import SignChoice, exact_signs

__all__ = [
    "Ambiguity",
    "Attack",
    "BlockwiseAttack",
    "Finding",
    "Grant",
    "Guess",
    "GuessingAttack",
    "Knowledge",
    "Links",
    "Memberships",
    "PrivateTable",
    "SignChoice",
    "Source",
    "Unit",
    "as_records",
    "attack_classes",
    "catalogue_place",
    "check_width",
    "every_attack",
    "exact_signs",
    "find_attack",
    "full_guess",
    "granted",
    "needed",
    "select_columns",
]
