"""Recovery: what an honest analyst can learn from a release. One family per file.

Analyst code receives a release and nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from veil.recovery.density import Reconstruction, reconstruct, reconstruct_joint
from veil.recovery.distribution import DistributionRecovery
from veil.recovery.joint import JointRecovery
from veil.recovery.moments import MomentRecovery
from veil.recovery.noise import NoiseLaw

if TYPE_CHECKING:
    from veil.recovery.tree import NoisyTreeClassifier

__all__ = [
    "DistributionRecovery",
    "JointRecovery",
    "MomentRecovery",
    "NoiseLaw",
    "NoisyTreeClassifier",
    "Reconstruction",
    "reconstruct",
    "reconstruct_joint",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to load and only the tree needs it.
    if name == "NoisyTreeClassifier":
        return importlib.import_module("veil.recovery.tree").NoisyTreeClassifier
    raise AttributeError(f"module 'veil.recovery' has no attribute {name!r}")
