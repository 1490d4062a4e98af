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
    "Advice": "veil.auditing.advice",
    "Attack": "veil.attacks",
    "Audit": "veil.auditing",
    "BayesEstimateAttack": "veil.attacks",
    "BinaryProjection": "veil.perturbations",
    "Cluster": "veil.data.cluster",
    "ClusterError": "veil.errors",
    "CombinedNoise": "veil.perturbations",
    "DisclosedMatrixAttack": "veil.attacks",
    "Discretize": "veil.perturbations",
    "DistributionRecovery": "veil.recovery",
    "ExternalTable": "veil.attacks.knowledge",
    "FileFormatError": "veil.errors",
    "GaussianMechanism": "veil.perturbations",
    "Goals": "veil.auditing",
    "Grants": "veil.auditing",
    "Guess": "veil.attacks",
    "HypersphereAttack": "veil.attacks",
    "ICAAttack": "veil.attacks",
    "IndependentSignals": "veil.attacks.knowledge",
    "InputError": "veil.errors",
    "IntervalAttack": "veil.attacks",
    "JointRecovery": "veil.recovery",
    "Key": "veil.keys.key",
    "KeyRefusedError": "veil.errors",
    "Knowledge": "veil.attacks.knowledge",
    "KnownAttributes": "veil.attacks.knowledge",
    "KnownMatrix": "veil.attacks.knowledge",
    "KnownNoise": "veil.attacks.knowledge",
    "KnownPairs": "veil.attacks.knowledge",
    "KnownPairsAttack": "veil.attacks",
    "KnownRanges": "veil.attacks.knowledge",
    "KnownRecords": "veil.attacks.knowledge",
    "KnownRecordsAttack": "veil.attacks",
    "KnownSample": "veil.attacks.knowledge",
    "KnownSampleAttack": "veil.attacks",
    "LaplaceMechanism": "veil.perturbations",
    "LinearModel": "veil.publishing.linear_models",
    "LinearTransform": "veil.perturbations",
    "LinkageAttack": "veil.attacks",
    "LogAttack": "veil.attacks",
    "LogNormalNoise": "veil.perturbations",
    "Manifest": "veil.release.release",
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
    "Plan": "veil.publishing.plan",
    "PreviousReleases": "veil.attacks.previous_releases",
    "ProjectedSampleAttack": "veil.attacks",
    "ProjectionMAPAttack": "veil.attacks",
    "ProportionRecovery": "veil.recovery",
    "Pseudonymize": "veil.perturbations",
    "RandomProjection": "veil.perturbations",
    "RandomizedResponse": "veil.perturbations",
    "RegressionAttack": "veil.attacks",
    "Release": "veil.release.release",
    "RepeatedReleaseAttack": "veil.attacks",
    "ResponsePosteriorAttack": "veil.attacks",
    "RoleError": "veil.errors",
    "SVDAttack": "veil.attacks",
    "SerialAttack": "veil.attacks",
    "SpectralFilterAttack": "veil.attacks",
    "TamperedError": "veil.errors",
    "TimeOrder": "veil.attacks.knowledge",
    "TransformDomain": "veil.perturbations",
    "UnivariateBayesAttack": "veil.attacks",
    "VeilError": "veil.errors",
    "VotedPerceptron": "veil.recovery",
    "advise": "veil.auditing.advice",
    "allow_key_pickling": "veil.secret",
    "audit": "veil.auditing",
    "checks": "",
    "distance_interval": "veil.recovery",
    "errors": "",
    "frequent_itemsets": "veil.recovery",
    "hamming_estimate": "veil.recovery",
    "inner_product_interval": "veil.recovery",
    "itemset_support": "veil.recovery",
    "linear_model_to_original": "veil.publishing.linear_models",
    "measure_files": "veil.auditing.comparison",
    "measures": "",
    "nested_loop_outliers": "veil.recovery",
    "publish": "veil.publishing.publish",
    "publish_file": "veil.publishing.publish_file",
    "restore": "veil.publishing.restore",
    "restore_file": "veil.publishing.restore_file",
}

__all__ = [
    "AKICAAttack",
    "AdditiveNoise",
    "Advice",
    "Attack",
    "Audit",
    "BayesEstimateAttack",
    "BinaryProjection",
    "Cluster",
    "ClusterError",
    "CombinedNoise",
    "DisclosedMatrixAttack",
    "Discretize",
    "DistributionRecovery",
    "ExternalTable",
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
    "LinkageAttack",
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
    "PreviousReleases",
    "ProjectedSampleAttack",
    "ProjectionMAPAttack",
    "ProportionRecovery",
    "Pseudonymize",
    "RandomProjection",
    "RandomizedResponse",
    "RegressionAttack",
    "Release",
    "RepeatedReleaseAttack",
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
    "advise",
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
    "measure_files",
    "measures",
    "nested_loop_outliers",
    "publish",
    "publish_file",
    "restore",
    "restore_file",
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
        LinkageAttack,
        LogAttack,
        NoiseDistributionAttack,
        PartialDisclosureAttack,
        PCAAttack,
        ProjectedSampleAttack,
        ProjectionMAPAttack,
        RegressionAttack,
        RepeatedReleaseAttack,
        ResponsePosteriorAttack,
        SerialAttack,
        SpectralFilterAttack,
        SVDAttack,
        UnivariateBayesAttack,
    )
    from veil.attacks.knowledge import (
        ExternalTable,
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
    from veil.attacks.previous_releases import (
        PreviousReleases,
    )
    from veil.auditing import (
        Audit,
        Goals,
        Grants,
        audit,
    )
    from veil.auditing.advice import (
        Advice,
        advise,
    )
    from veil.auditing.comparison import measure_files
    from veil.data.cluster import (
        Cluster,
    )
    from veil.errors import (
        ClusterError,
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
    from veil.keys.key import (
        Key,
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
    from veil.publishing.linear_models import (
        LinearModel,
        linear_model_to_original,
    )
    from veil.publishing.plan import (
        Plan,
    )
    from veil.publishing.publish import (
        publish,
    )
    from veil.publishing.publish_file import publish_file
    from veil.publishing.restore import (
        restore,
    )
    from veil.publishing.restore_file import restore_file
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
    from veil.release.release import (
        Manifest,
        Release,
    )
    from veil.secret import (
        allow_key_pickling,
    )
