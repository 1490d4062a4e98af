"""What a manifest says about a perturbation, as a model that attackers and analysts can use.

A model is what a method learns, what the manifest holds and what attacks see. Attacks, recovery and utility read these
classes, never a method's name, so that methods with the same model share them.
"""

from veil.release.models.additive import AdditiveModel, MechanismModel
from veil.release.models.base import FOREIGN, ForeignModel, Model, UnknownModel, model_from
from veil.release.models.bits import BasketModel, BinaryProjectionModel
from veil.release.models.categories import ClassModel, PseudonymModel, ResponseModel
from veil.release.models.linear import (
    LinearTransformModel,
    NormalizedRotationModel,
    OrthogonalModel,
    PermutedTransformModel,
    ProjectionModel,
    RecordProjectionModel,
    Scaled,
)
from veil.release.models.multiplicative import LogNormalModel, MultiplicativeModel
from veil.release.models.number_classes import NumberClasses
from veil.release.models.recoded import RecodedColumn, RecodedModel, TopCodedModel

__all__ = [
    "FOREIGN",
    "AdditiveModel",
    "BasketModel",
    "BinaryProjectionModel",
    "ClassModel",
    "ForeignModel",
    "LinearTransformModel",
    "LogNormalModel",
    "MechanismModel",
    "Model",
    "MultiplicativeModel",
    "NormalizedRotationModel",
    "NumberClasses",
    "OrthogonalModel",
    "PermutedTransformModel",
    "ProjectionModel",
    "PseudonymModel",
    "RecodedColumn",
    "RecodedModel",
    "RecordProjectionModel",
    "ResponseModel",
    "Scaled",
    "TopCodedModel",
    "UnknownModel",
    "model_from",
]
