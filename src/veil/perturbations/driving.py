"""What drives a perturbation over a private table: scan, fit, perturb block by block, restore.

Frames, files, Dask and scikit-learn's ``transform`` all go through these functions, so they share every kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.keys.key import Key, LedgerPart
from veil.perturbations.categories import CategoryScan, ValueScan
from veil.perturbations.codecs import decoded, encoded, released_types
from veil.perturbations.draws import Draws, Place, Secrets
from veil.perturbations.facts import Facts, Fixed
from veil.perturbations.layout import Takes
from veil.perturbations.registry import PERTURBATIONS, find_perturbation
from veil.perturbations.scan import Scan, ScanResult
from veil.perturbations.special_scans import BinaryScan, LogScan, QuantileScan
from veil.release.models import model_from

if TYPE_CHECKING:
    from veil.perturbations.base import Perturbation


def scan_for(perturbation: Perturbation, columns: Sequence[str], secret: bytes) -> Scan:
    """The first pass that a method needs over its columns."""
    layout, method = perturbation.layout, type(perturbation).__name__
    if layout.takes is Takes.CATEGORIES:
        missing = layout.missing_is_category
        return CategoryScan(columns, secret=secret, method=method, missing=missing, joint=layout.combinations)
    if layout.takes is Takes.IDENTIFIERS:
        return ValueScan(columns, secret=secret, method=method)
    if layout.takes is Takes.BITS:
        return BinaryScan(columns, secret=secret, method=method)
    if layout.takes is Takes.POSITIVE:
        return LogScan(columns, secret=secret, method=method)
    if layout.quantiles:
        return QuantileScan(columns, secret=secret, method=method)
    missing, covariance = layout.passes_missing, layout.covariance
    return Scan(columns, secret=secret, covariance=covariance, allow_missing=missing, method=method)


def fit_scan(
    perturbation: Perturbation, columns: Sequence[str], scan: ScanResult, key: Key, fixed: Fixed | None = None
) -> list[str]:
    """Fit a method from the first pass over a table; returns remarks for the owner."""
    PERTURBATIONS.check(perturbation.method_name(), type(perturbation))
    fewest = perturbation.fewest_rows()
    if scan.moments.n_rows < fewest:
        raise InputError(
            f"the table has {scan.moments.n_rows} row; {type(perturbation).__name__} needs {fewest} to measure "
            "the spread of each column, or absolute units"
        )
    perturbation.n_features_in_ = len(columns)
    perturbation.key_, perturbation._fitted_on = key, scan.fingerprint
    secrets = Secrets(key, perturbation.method_name(), columns, scan.fingerprint)
    facts = Facts(tuple(columns), scan, secrets, fixed or {})
    perturbation.model_ = perturbation.learn(facts)
    return facts.remarks


def rebuild(part: LedgerPart, key: Key) -> Perturbation:
    """The fitted perturbation behind a part of a key's ledger."""
    perturbation = find_perturbation(part.method)(**part.settings)
    perturbation.n_features_in_ = len(part.columns)
    perturbation.feature_names_in_ = np.array(part.columns, dtype=object)
    perturbation.model_ = model_from(part.parameters, method=part.method, name=part.model)
    perturbation.key_, perturbation._fitted_on = key, part.fingerprint
    return perturbation


def released_fields(perturbation: Perturbation, columns: Sequence[str], schema: pa.Schema) -> list[pa.Field]:
    """Names and types of the columns that a fitted method makes."""
    names = perturbation.released_names(columns)
    private = [schema.field(name).type for name in columns]
    types = released_types(perturbation.layout, perturbation.model_, private, len(names))
    return [pa.field(name, dtype) for name, dtype in zip(names, types, strict=True)]


def perturbed(perturbation: Perturbation, values: Any, place: Place) -> Any:
    """What a fitted method makes of one block of numbers, codes or texts, in memory of its own."""
    made = perturbation.perturb(values, Draws(perturbation.secrets(), perturbation.model_, place, values))
    if isinstance(made, np.ndarray) and np.may_share_memory(made, values):
        made = made.copy()
    return made


def released_arrays(
    perturbation: Perturbation, columns: Sequence[str], fields: Sequence[pa.Field], read: Any, place: Place
) -> list[pa.Array]:
    """The released columns of what the scan read of one block."""
    values = encoded(perturbation.model_, columns, read)
    return decoded(perturbation.model_, perturbed(perturbation, values, place), fields)


def restored(perturbation: Perturbation, values: Matrix, place: Place) -> Matrix:
    """The private values of one released block."""
    return perturbation.restore(values, Draws(perturbation.secrets(), perturbation.model_, place, values))
