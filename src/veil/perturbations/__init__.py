"""Perturbations: one family per file. The registry maps command-line names to classes."""

from __future__ import annotations

from veil.errors import InputError
from veil.perturbations.additive import AdditiveNoise
from veil.perturbations.base import Perturbation, Place
from veil.perturbations.baskets import MarketBasket
from veil.perturbations.binary import BinaryProjection
from veil.perturbations.discretization import Discretize
from veil.perturbations.linear import LinearTransform
from veil.perturbations.lognormal import LogNormalNoise
from veil.perturbations.mechanisms import GaussianMechanism, LaplaceMechanism
from veil.perturbations.multiplicative import CombinedNoise, MultiplicativeNoise
from veil.perturbations.orthogonal import OrthogonalTransform
from veil.perturbations.projection import RandomProjection
from veil.perturbations.pseudonyms import Pseudonymize
from veil.perturbations.response import RandomizedResponse
from veil.perturbations.rotation import PairwiseRotation
from veil.perturbations.transform_domain import TransformDomain

PERTURBATIONS: dict[str, type[Perturbation]] = {
    cls.method_name(): cls
    for cls in (
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
        Pseudonymize,
        RandomProjection,
        RandomizedResponse,
        TransformDomain,
    )
}

__all__ = [
    "PERTURBATIONS",
    "AdditiveNoise",
    "BinaryProjection",
    "CombinedNoise",
    "Discretize",
    "GaussianMechanism",
    "LaplaceMechanism",
    "LinearTransform",
    "LogNormalNoise",
    "MarketBasket",
    "MultiplicativeNoise",
    "OrthogonalTransform",
    "PairwiseRotation",
    "Perturbation",
    "Place",
    "Pseudonymize",
    "RandomProjection",
    "RandomizedResponse",
    "TransformDomain",
    "find_perturbation",
]


def find_perturbation(name: str) -> type[Perturbation]:
    """The class behind a command-line name, with a suggestion when there is none."""
    if name in PERTURBATIONS:
        return PERTURBATIONS[name]
    raise InputError.from_unknown_name("perturbation", name, PERTURBATIONS, parameter="method")
