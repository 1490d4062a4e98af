"""What drives a perturbation over a private table: scan, fit, perturb block by block, restore.

Frames, files, Dask and scikit-learn's ``transform`` all go through these functions, so they share every kernel.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.keys.key import Key
from veil.perturbations.categories import CategoryScan, ValueScan
from veil.perturbations.codecs import decoded, encoded, released_types
from veil.perturbations.draws import Draws, Place, Secrets
from veil.perturbations.facts import Facts, Fixed
from veil.perturbations.key_scan import KeyScan, Recodes
from veil.perturbations.layout import Takes
from veil.perturbations.method import Method
from veil.perturbations.number_classes import Classes
from veil.perturbations.scan import Scan, ScanResult
from veil.perturbations.special_scans import BinaryScan, LogScan, QuantileScan, TailScan
from veil.release.models import Model


def scan_for(perturbation: Method, columns: Sequence[str], secret: bytes) -> Scan:
    """The first pass that a method needs over its columns."""
    layout, method = perturbation.layout, type(perturbation).__name__
    if layout.takes is Takes.CATEGORIES:
        return CategoryScan(
            columns,
            secret=secret,
            method=method,
            missing=layout.missing_is_category,
            joint=layout.combinations,
            edges=perturbation.class_edges(columns) if isinstance(perturbation, Classes) else {},
        )
    if isinstance(perturbation, Recodes):
        rules = perturbation.rules(columns)
        return KeyScan(columns, secret=secret, method=method, rules=rules, joint=layout.combinations)
    if layout.takes is Takes.IDENTIFIERS:
        return ValueScan(columns, secret=secret, method=method)
    if layout.takes is Takes.BITS:
        return BinaryScan(columns, secret=secret, method=method)
    if layout.takes is Takes.POSITIVE:
        return LogScan(columns, secret=secret, method=method)
    if layout.tails:
        return TailScan(columns, secret=secret, method=method)
    if layout.quantiles:
        return QuantileScan(columns, secret=secret, method=method)
    missing, covariance = layout.passes_missing, layout.covariance
    return Scan(
        columns,
        secret=secret,
        covariance=covariance,
        allow_missing=missing,
        method=method,
        grids=layout.grids,
        extremes=layout.extremes,
    )


def fit_scan(
    perturbation: Method, columns: Sequence[str], scan: ScanResult, key: Key, fixed: Fixed | None = None
) -> list[str]:
    """Fit a method from the first pass over a table; returns remarks for the owner."""
    fewest = perturbation.layout.fewest_rows
    if scan.moments.n_rows < fewest:
        raise InputError(
            f"the table has {scan.moments.n_rows} row; {type(perturbation).__name__} needs {fewest} to measure "
            "the spread of each column, or absolute units"
        )
    perturbation.n_features_in_ = len(columns)
    perturbation.key_, perturbation._fitted_on = key, scan.fingerprint
    secrets = Secrets(key, perturbation.method_name(), columns, scan.fingerprint)
    facts = Facts(tuple(columns), scan, secrets, fixed or {})
    perturbation.model_ = _public(perturbation, perturbation.learn(facts))
    return facts.remarks


def _public(perturbation: Method, model: Any) -> Model:
    """What was learned, once it is clear that a manifest can hold it."""
    method = type(perturbation).__name__
    if not isinstance(model, Model):
        raise InputError(f"{method}: learn must return a veil Model; it returned a {type(model).__name__}")
    try:
        json.dumps(model.to_json(), allow_nan=False, ensure_ascii=False).encode()
    except (RecursionError, TypeError, ValueError):
        raise InputError(
            f"{method}: to_json of its model must be texts, finite numbers, lists and mappings of Python's own; "
            "convert arrays with tolist() and leave keys out"
        ) from None
    return model


def released_fields(perturbation: Method, columns: Sequence[str], schema: pa.Schema) -> list[pa.Field]:
    """Names and types of the columns that a fitted method makes."""
    names = perturbation.released_names(columns)
    private = [schema.field(name).type for name in columns]
    types = released_types(perturbation.layout, perturbation.model_, private, len(names))
    return [pa.field(name, dtype) for name, dtype in zip(names, types, strict=True)]


def perturbed(perturbation: Method, values: Any, place: Place, room: Matrix | None = None) -> Any:
    """What a fitted method makes of one block of numbers, codes or texts, in memory of its own or in ``room``."""
    draws = Draws(perturbation.secrets(), perturbation.model_, place, values, room=room)
    if not isinstance(values, np.ndarray):
        return perturbation.perturb(values, draws)
    own = type(perturbation).__module__.startswith("veil.")
    released = perturbation.perturb(values if own else _read_only(values), draws)
    if not own:
        _check_released(perturbation, values, released)
    return released.copy() if np.may_share_memory(released, values) else released


def _read_only(values: Matrix) -> Matrix:
    """A block that another package's method cannot change: it is read again for what the key keeps."""
    view = values.view()
    view.flags.writeable = False
    return view


def _check_released(perturbation: Method, values: Matrix, released: Any) -> None:
    """Refuse what another package's method released of a block unless it is a matrix of numbers for the same rows."""
    method = type(perturbation).__name__
    if not isinstance(released, np.ndarray) or released.dtype.kind not in "iuf" or released.ndim != 2:
        shape = f" with {released.ndim} axes" if isinstance(released, np.ndarray) else ""
        raise InputError(f"{method}: perturb must return a matrix of numbers; got a {type(released).__name__}{shape}")
    expected = (perturbation.model_.n_released(len(values)), values.shape[1])
    if not perturbation.layout.reduces and released.shape != expected:
        raise InputError(
            f"{method}: perturb must return {expected[0]} columns of {expected[1]} rows (one matrix row per column); "
            f"it returned {released.shape[0]} of {released.shape[1]}"
        )
    wrong = ~np.isfinite(released)
    if perturbation.layout.passes_missing and released.shape == values.shape:
        wrong &= ~(np.isnan(released) & np.isnan(values))
    if wrong.any():
        raise InputError(f"{method}: perturb must return finite numbers; {int(wrong.sum())} are infinite or missing")


def released_arrays(
    perturbation: Method, columns: Sequence[str], fields: Sequence[pa.Field], read: Any, place: Place
) -> list[pa.Array]:
    """The released columns of what the scan read of one block."""
    values = encoded(perturbation.model_, columns, read)
    return decoded(perturbation.model_, perturbed(perturbation, values, place), fields)


def restored(perturbation: Method, values: Matrix, place: Place) -> Matrix:
    """The private values of one released block."""
    return perturbation.restore(values, Draws(perturbation.secrets(), perturbation.model_, place, values))
