"""A method by its name on the command line, and the fitted one behind a part of a key's ledger."""

from __future__ import annotations

import numpy as np

from veil.keys.key import Key, LedgerPart
from veil.perturbations.base import PERTURBATIONS, Perturbation
from veil.release.models import model_from


def find_perturbation(name: str) -> type[Perturbation]:
    """The class behind a command-line name; suggests the nearest."""
    return PERTURBATIONS.find(name)


def rebuild(part: LedgerPart, key: Key) -> Perturbation:
    """The fitted perturbation behind a part of a key's ledger."""
    perturbation = find_perturbation(part.method)(**part.settings)
    perturbation.n_features_in_ = len(part.columns)
    perturbation.feature_names_in_ = np.array(part.columns, dtype=object)
    perturbation.model_ = model_from(part.parameters, method=part.method, name=part.model)
    perturbation.key_, perturbation._fitted_on = key, part.fingerprint
    return perturbation
