"""Attacks: one family per file. The registry maps command-line names to classes."""

from __future__ import annotations

from veil.attacks.base import Attack, Guess
from veil.attacks.categories.response_posterior import ResponsePosteriorAttack
from veil.attacks.linkage.linkage import LinkageAttack
from veil.attacks.noise.additive import BayesEstimateAttack, NoiseDistributionAttack
from veil.attacks.noise.intervals import IntervalAttack
from veil.attacks.noise.logarithmic import LogAttack
from veil.attacks.noise.partial import PartialDisclosureAttack
from veil.attacks.noise.serial import SerialAttack
from veil.attacks.noise.spectral import PCAAttack, SpectralFilterAttack, SVDAttack
from veil.attacks.noise.univariate import UnivariateBayesAttack
from veil.attacks.projection.disclosed_matrix import DisclosedMatrixAttack
from veil.attacks.projection.hypersphere import HypersphereAttack
from veil.attacks.projection.known_sample import ProjectedSampleAttack
from veil.attacks.projection.maximum_posterior import ProjectionMAPAttack
from veil.attacks.regression.regression import RegressionAttack
from veil.attacks.repeated.releases import RepeatedReleaseAttack
from veil.attacks.rotation.known_pairs import KnownPairsAttack
from veil.attacks.rotation.known_records import KnownRecordsAttack
from veil.attacks.rotation.known_sample import KnownSampleAttack
from veil.attacks.rotation.signs import SignChoice, exact_signs
from veil.attacks.separation.akica import AKICAAttack
from veil.attacks.separation.ica import ICAAttack
from veil.errors import InputError

ATTACKS: dict[str, type[Attack]] = {
    cls.attack_name(): cls
    for cls in (
        NoiseDistributionAttack,
        UnivariateBayesAttack,
        SpectralFilterAttack,
        PCAAttack,
        SVDAttack,
        BayesEstimateAttack,
        IntervalAttack,
        LogAttack,
        PartialDisclosureAttack,
        SerialAttack,
        KnownPairsAttack,
        KnownRecordsAttack,
        KnownSampleAttack,
        ICAAttack,
        AKICAAttack,
        ProjectionMAPAttack,
        ProjectedSampleAttack,
        DisclosedMatrixAttack,
        HypersphereAttack,
        ResponsePosteriorAttack,
        LinkageAttack,
        RepeatedReleaseAttack,
        RegressionAttack,
    )
}

__all__ = [
    "ATTACKS",
    "AKICAAttack",
    "Attack",
    "BayesEstimateAttack",
    "DisclosedMatrixAttack",
    "Guess",
    "HypersphereAttack",
    "ICAAttack",
    "IntervalAttack",
    "KnownPairsAttack",
    "KnownRecordsAttack",
    "KnownSampleAttack",
    "LinkageAttack",
    "LogAttack",
    "NoiseDistributionAttack",
    "PCAAttack",
    "PartialDisclosureAttack",
    "ProjectedSampleAttack",
    "ProjectionMAPAttack",
    "RegressionAttack",
    "RepeatedReleaseAttack",
    "ResponsePosteriorAttack",
    "SVDAttack",
    "SerialAttack",
    "SignChoice",
    "SpectralFilterAttack",
    "UnivariateBayesAttack",
    "every_attack",
    "exact_signs",
    "find_attack",
]


def every_attack() -> list[Attack]:
    """Every attack in its strongest settings: one of each, the Bayes estimate with both priors and aims."""
    more = [BayesEstimateAttack(prior="mixture"), UnivariateBayesAttack(aim="hit")]
    return [*(cls() for cls in ATTACKS.values()), *more]


def find_attack(name: str) -> type[Attack]:
    """The class behind a command-line name, with or without "-attack"; suggests the nearest."""
    for candidate in (name, f"{name}-attack"):
        if candidate in ATTACKS:
            return ATTACKS[candidate]
    raise InputError.from_unknown_name("attack", name, ATTACKS, parameter="attack")
