"""Veil: perturb a private table, attack the release, and say what it is worth.

Three parties, three doors: the owner publishes and restores, the attacker runs attacks on a
release with granted knowledge, the analyst recovers what the release is good for. The audit
plays all three and judges.

Names load on first use, so ``import veil`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from veil._version import __version__

_HOME = {
    "AKICAAttack": "veil.attacks",
    "AdditiveNoise": "veil.perturbations",
    "Attack": "veil.attacks",
    "Audit": "veil.auditing",
    "BayesEstimateAttack": "veil.attacks",
    "BinaryProjection": "veil.perturbations",
    "CombinedNoise": "veil.perturbations",
    "DisclosedMatrixAttack": "veil.attacks",
    "Discretize": "veil.perturbations",
    "DistributionRecovery": "veil.recovery",
    "FileFormatError": "veil.errors",
    "GaussianMechanism": "veil.perturbations",
    "Goals": "veil.auditing",
    "Grants": "veil.auditing",
    "Guess": "veil.attacks",
    "HypersphereAttack": "veil.attacks",
    "ICAAttack": "veil.attacks",
    "IndependentSignals": "veil.knowledge",
    "InputError": "veil.errors",
    "IntervalAttack": "veil.attacks",
    "JointRecovery": "veil.recovery",
    "Key": "veil.key",
    "KeyRefusedError": "veil.errors",
    "Knowledge": "veil.knowledge",
    "KnownAttributes": "veil.knowledge",
    "KnownMatrix": "veil.knowledge",
    "KnownNoise": "veil.knowledge",
    "KnownPairs": "veil.knowledge",
    "KnownPairsAttack": "veil.attacks",
    "KnownRanges": "veil.knowledge",
    "KnownRecords": "veil.knowledge",
    "KnownRecordsAttack": "veil.attacks",
    "KnownSample": "veil.knowledge",
    "KnownSampleAttack": "veil.attacks",
    "LaplaceMechanism": "veil.perturbations",
    "LinearModel": "veil.mapping",
    "LinearTransform": "veil.perturbations",
    "LogAttack": "veil.attacks",
    "LogNormalNoise": "veil.perturbations",
    "Manifest": "veil.release",
    "MarketBasket": "veil.perturbations",
    "MissingExtraError": "veil.errors",
    "MissingKnowledgeError": "veil.errors",
    "MomentRecovery": "veil.recovery",
    "MultiplicativeNoise": "veil.perturbations",
    "NoiseDistributionAttack": "veil.attacks",
    "NoisyTreeClassifier": "veil.recovery",
    "NotApplicableError": "veil.errors",
    "NotInvertibleError": "veil.errors",
    "OrthogonalTransform": "veil.perturbations",
    "PCAAttack": "veil.attacks",
    "PairwiseRotation": "veil.perturbations",
    "PartialDisclosureAttack": "veil.attacks",
    "Perturbation": "veil.perturbations",
    "Plan": "veil.plan",
    "ProjectedSampleAttack": "veil.attacks",
    "ProjectionMAPAttack": "veil.attacks",
    "ProportionRecovery": "veil.recovery",
    "Pseudonymize": "veil.perturbations",
    "RandomProjection": "veil.perturbations",
    "RandomizedResponse": "veil.perturbations",
    "Release": "veil.release",
    "ResponsePosteriorAttack": "veil.attacks",
    "RoleError": "veil.errors",
    "SVDAttack": "veil.attacks",
    "SerialAttack": "veil.attacks",
    "SpectralFilterAttack": "veil.attacks",
    "TamperedError": "veil.errors",
    "TimeOrder": "veil.knowledge",
    "TransformDomain": "veil.perturbations",
    "UnivariateBayesAttack": "veil.attacks",
    "VeilError": "veil.errors",
    "VotedPerceptron": "veil.recovery",
    "allow_key_pickling": "veil.secret",
    "audit": "veil.auditing",
    "checks": "",
    "distance_interval": "veil.recovery",
    "errors": "",
    "frequent_itemsets": "veil.recovery",
    "hamming_estimate": "veil.recovery",
    "inner_product_interval": "veil.recovery",
    "itemset_support": "veil.recovery",
    "linear_model_to_original": "veil.mapping",
    "measures": "",
    "nested_loop_outliers": "veil.recovery",
    "publish": "veil.publication",
    "restore": "veil.restoration",
}

__all__ = [
    "AKICAAttack",
    "AdditiveNoise",
    "Attack",
    "Audit",
    "BayesEstimateAttack",
    "BinaryProjection",
    "CombinedNoise",
    "DisclosedMatrixAttack",
    "Discretize",
    "DistributionRecovery",
    "FileFormatError",
    "GaussianMechanism",
    "Goals",
    "Grants",
    "Guess",
    "HypersphereAttack",
    "ICAAttack",
    "IndependentSignals",
    "InputError",
    "IntervalAttack",
    "JointRecovery",
    "Key",
    "KeyRefusedError",
    "Knowledge",
    "KnownAttributes",
    "KnownMatrix",
    "KnownNoise",
    "KnownPairs",
    "KnownPairsAttack",
    "KnownRanges",
    "KnownRecords",
    "KnownRecordsAttack",
    "KnownSample",
    "KnownSampleAttack",
    "LaplaceMechanism",
    "LinearModel",
    "LinearTransform",
    "LogAttack",
    "LogNormalNoise",
    "Manifest",
    "MarketBasket",
    "MissingExtraError",
    "MissingKnowledgeError",
    "MomentRecovery",
    "MultiplicativeNoise",
    "NoiseDistributionAttack",
    "NoisyTreeClassifier",
    "NotApplicableError",
    "NotInvertibleError",
    "OrthogonalTransform",
    "PCAAttack",
    "PairwiseRotation",
    "PartialDisclosureAttack",
    "Perturbation",
    "Plan",
    "ProjectedSampleAttack",
    "ProjectionMAPAttack",
    "ProportionRecovery",
    "Pseudonymize",
    "RandomProjection",
    "RandomizedResponse",
    "Release",
    "ResponsePosteriorAttack",
    "RoleError",
    "SVDAttack",
    "SerialAttack",
    "SpectralFilterAttack",
    "TamperedError",
    "TimeOrder",
    "TransformDomain",
    "UnivariateBayesAttack",
    "VeilError",
    "VotedPerceptron",
    "__version__",
    "allow_key_pickling",
    "audit",
    "checks",
    "distance_interval",
    "errors",
    "frequent_itemsets",
    "hamming_estimate",
    "inner_product_interval",
    "itemset_support",
    "linear_model_to_original",
    "measures",
    "nested_loop_outliers",
    "publish",
    "restore",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'veil' has no attribute {name!r}")
    home = _HOME[name]
    value = getattr(importlib.import_module(home), name) if home else importlib.import_module(f"veil.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from veil import checks, errors, measures
    from veil.attacks import (
        AKICAAttack,
        Attack,
        BayesEstimateAttack,
        DisclosedMatrixAttack,
        Guess,
        HypersphereAttack,
        ICAAttack,
        IntervalAttack,
        KnownPairsAttack,
        KnownRecordsAttack,
        KnownSampleAttack,
        LogAttack,
        NoiseDistributionAttack,
        PartialDisclosureAttack,
        PCAAttack,
        ProjectedSampleAttack,
        ProjectionMAPAttack,
        ResponsePosteriorAttack,
        SerialAttack,
        SpectralFilterAttack,
        SVDAttack,
        UnivariateBayesAttack,
    )
    from veil.auditing import (
        Audit,
        Goals,
        Grants,
        audit,
    )
    from veil.errors import (
        FileFormatError,
        InputError,
        KeyRefusedError,
        MissingExtraError,
        MissingKnowledgeError,
        NotApplicableError,
        NotInvertibleError,
        RoleError,
        TamperedError,
        VeilError,
    )
    from veil.key import (
        Key,
    )
    from veil.knowledge import (
        IndependentSignals,
        Knowledge,
        KnownAttributes,
        KnownMatrix,
        KnownNoise,
        KnownPairs,
        KnownRanges,
        KnownRecords,
        KnownSample,
        TimeOrder,
    )
    from veil.mapping import (
        LinearModel,
        linear_model_to_original,
    )
    from veil.perturbations import (
        AdditiveNoise,
        BinaryProjection,
        CombinedNoise,
        Discretize,
        GaussianMechanism,
        LaplaceMechanism,
        LinearTransform,
        LogNormalNoise,
        MarketBasket,
        MultiplicativeNoise,
        OrthogonalTransform,
        PairwiseRotation,
        Perturbation,
        Pseudonymize,
        RandomizedResponse,
        RandomProjection,
        TransformDomain,
    )
    from veil.plan import (
        Plan,
    )
    from veil.publication import (
        publish,
    )
    from veil.recovery import (
        DistributionRecovery,
        JointRecovery,
        MomentRecovery,
        NoisyTreeClassifier,
        ProportionRecovery,
        VotedPerceptron,
        distance_interval,
        frequent_itemsets,
        hamming_estimate,
        inner_product_interval,
        itemset_support,
        nested_loop_outliers,
    )
    from veil.release import (
        Manifest,
        Release,
    )
    from veil.restoration import (
        restore,
    )
    from veil.secret import (
        allow_key_pickling,
    )
