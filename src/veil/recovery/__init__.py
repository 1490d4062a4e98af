"""Recovery: what an honest analyst can learn from a release. One family per file.

Analyst code receives a release and nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from veil.numerics.laws import NoiseLaw
from veil.recovery.density import Reconstruction, reconstruct, reconstruct_joint
from veil.recovery.distribution import DistributionRecovery
from veil.recovery.geometry import PairEstimate, distance_interval, hamming_estimate, inner_product_interval
from veil.recovery.joint import JointRecovery
from veil.recovery.moments import MomentRecovery
from veil.recovery.proportions import ProportionRecovery
from veil.recovery.regression import RegressionRecovery
from veil.recovery.response_estimates import (
    Dispersion,
    IndependenceTest,
    ProportionEstimate,
    dispersion,
    estimate_proportions,
    independence_test,
)
from veil.recovery.supports import Support, frequent_itemsets, itemset_support

if TYPE_CHECKING:
    from veil.recovery.mining import Outliers, VotedPerceptron, nested_loop_outliers
    from veil.recovery.tree import NoisyTreeClassifier

__all__ = [
    "Dispersion",
    "DistributionRecovery",
    "IndependenceTest",
    "JointRecovery",
    "MomentRecovery",
    "NoiseLaw",
    "NoisyTreeClassifier",
    "Outliers",
    "PairEstimate",
    "ProportionEstimate",
    "ProportionRecovery",
    "Reconstruction",
    "RegressionRecovery",
    "Support",
    "VotedPerceptron",
    "dispersion",
    "distance_interval",
    "estimate_proportions",
    "frequent_itemsets",
    "hamming_estimate",
    "independence_test",
    "inner_product_interval",
    "itemset_support",
    "nested_loop_outliers",
    "reconstruct",
    "reconstruct_joint",
]


_LAZY = {
    "NoisyTreeClassifier": "tree",
    "Outliers": "mining",
    "VotedPerceptron": "mining",
    "nested_loop_outliers": "mining",
}


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to load and only these need it.
    if name in _LAZY:
        return getattr(importlib.import_module(f"veil.recovery.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'veil.recovery' has no attribute {name!r}")
