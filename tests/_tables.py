"""What tests share: tables, releases with a given model, and the judge of Monte Carlo results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import veil
from veil.data.schema import Column, Kind, Role
from veil.release.manifest import KeyOrigin, Manifest, Missing, Part, ReleasedColumn, RowOrder
from veil.release.models import Model, ResponseModel
from veil.release.release import Release, memory_release

Array = np.ndarray[Any, np.dtype[Any]]


# -- tables ------------------------------------------------------------------------------------------------


def mixed_table(n: int = 500, d: int = 4, seed: int = 0) -> Array:
    """Normal columns, correlated by a random matrix."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d))


def scaled_table(n: int = 400, d: int = 3, seed: int = 1) -> Array:
    """Normal and correlated, on scales that differ by a factor of a thousand, away from zero."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d))) * np.logspace(-1, 2, d) + 20.0


def skewed_table(n: int = 2_000, d: int = 6, seed: int = 0) -> Array:
    """Skewed and correlated, on scales that differ by a factor of a thousand."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(d) + 0.4 * rng.normal(size=(d, d))
    return (rng.gamma(2.0, size=(n, d)) @ mixing + 3.0) * 10.0 ** np.linspace(-1, 2, d)


def positive_table(n: int, d: int, seed: int = 0) -> Array:
    """Independent gamma columns, away from zero."""
    return np.random.default_rng(seed).gamma(3.0, size=(n, d)) + 0.5


def two_level_table(n: int = 20_000, d: int = 20, large: float = 400.0, seed: int = 0) -> tuple[Array, Array]:
    """A table with half large and half small eigenvalues in a random basis, and the eigenvalues."""
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    eigenvalues = np.repeat([large, 1.0], d // 2)
    return rng.normal(size=(n, d)) * np.sqrt(eigenvalues) @ q.T, eigenvalues


# -- releases ----------------------------------------------------------------------------------------------


def published(table: Any, perturbation: veil.Perturbation, **options: Any) -> Release:
    """The release, where a test needs no key."""
    return veil.publish(table, perturbation, **options)[0]


def described(
    columns: Mapping[str, Any] | pa.Table,
    model: Model,
    *,
    names: Sequence[str],
    dtypes: str | Sequence[str] = "double",
    method: str = "given",
    kind: Kind = Kind.NUMERIC,
    unknown: bool = False,
    grid: Sequence[float] | None = None,
) -> Release:
    """A release of these columns whose manifest states the model, and a grid if one is given.

    ``unknown`` leaves key, missing values and the order of rows unsaid, as for a release of another tool.
    """
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    dtypes = [dtypes] * len(names) if isinstance(dtypes, str) else dtypes
    private = tuple(Column(n, kind, Role.SENSITIVE, t) for n, t in zip(names, dtypes, strict=True))
    part = Part(method, "P0", model, private, tuple(table.column_names))
    if grid is not None:
        vars(part)["parameters"] = {**model.to_json(), "grid": list(grid)}
    schema = tuple(ReleasedColumn(field.name, str(field.type)) for field in table.schema)
    origin = (
        (KeyOrigin.UNKNOWN, Missing.UNKNOWN, RowOrder.UNKNOWN)
        if unknown
        else (KeyOrigin.SECRET, Missing.NONE, RowOrder.PRIVATE)
    )
    manifest = Manifest(1, "r", method, "none", (part,), (), schema, *origin, "", "0")
    return memory_release(table, manifest, "pyarrow", {})


def release_of(y: Any, model: Model, dtypes: str | Sequence[str] = "double", **facts: Any) -> Release:
    """A release of these rows, of private columns c0, c1, ...: one per unit of the model, or per released column."""
    y = np.asarray(y)
    names = [f"c{j}" for j in range(len(getattr(model, "unit", y.T)))]
    return described({f"y{j}": column for j, column in enumerate(y.T)}, model, names=names, dtypes=dtypes, **facts)


def reported(codes: Any, model: Model, names: Sequence[str] | None = None) -> Release:
    """A release of randomized reports, which are given by their codes; of an unknown model, of categories a and b."""
    codes = np.asarray(codes)
    names = [f"c{j}" for j in range(codes.shape[1])] if names is None else names
    categories = model.categories if isinstance(model, ResponseModel) else [("a", "b")] * len(names)
    columns = [pa.array(list(c)).take(pa.array(column)) for c, column in zip(categories, codes.T, strict=True)]
    return described(
        pa.table(columns, names=list(names)),
        model,
        names=names,
        dtypes=[str(column.type) for column in columns],
        method="randomized-response",
        kind=Kind.CATEGORY,
    )


# -- the judge ---------------------------------------------------------------------------------------------


def within_standard_errors(estimate: Any, truth: Any, error: Any, k: float = 4.0) -> bool:
    """Whether every estimate is at most k of its standard errors away from the truth."""
    return bool(np.all(np.abs(np.asarray(estimate) - np.asarray(truth)) <= k * np.asarray(error)))
