"""Keys that tell whose row is whose, whatever hides the other columns: how they are to be recoded (P25).

*Search.* Outsiders find one person of every combination that is released: a share of cells/N of all people, and so less
than 1/k where every combination is that of k. The smallest k is taken whose share stays under the goal with what chance
adds to it. Then numbers are put into classes: of all widths one step coarser, the one that saves the most suppressed
cells, as long as more than a twentieth of all cells would be suppressed. Categories have no hierarchy here: a plan that
the owner states may use one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Matrix, Vector, one_array, to_float
from veil.data.schema import Kind, Role, kind_of
from veil.perturbations.local_suppression import LocalSuppression
from veil.perturbations.recoding_rules import Width
from veil.perturbations.suppression import MOST_COLUMNS, suppressed_cells

FEW = 0.05
"""The share of cells that may be suppressed without coarser classes."""
CONFIDENT = 2.5
"""Standard errors by which chance may raise the share of right links."""
STEPS = (1.0, 2.0, 5.0)
MOST_STEPS = 24
Codes = npt.NDArray[np.int64]
NO_KEYS = (Kind.DATE, Kind.TIME, Kind.OTHER)
"""Kinds of columns that nothing recodes."""


def key_recoding(
    table: pa.Table, roles: Mapping[str, Role], most: float
) -> tuple[tuple[str, ...], LocalSuppression] | None:
    """The keys of a table and what makes them link at most a share ``most`` of its people; None where nothing must.

    >>> rng = np.random.default_rng(0)
    >>> table = pa.table({"age": rng.integers(18, 90, 500), "sex": rng.choice(["f", "m"], 500)})
    >>> keys, method = key_recoding(table, {"age": Role.KEY, "sex": Role.KEY}, 0.05)
    >>> keys, method.describe()
    (('age', 'sex'), 'local suppression (k 33, age width 20.0)')
    """
    keys = tuple(name for name in table.column_names if roles.get(name) is Role.KEY)
    n = table.num_rows
    if not keys or len(keys) > MOST_COLUMNS or any(kind_of(table.schema.field(k).type) in NO_KEYS for k in keys):
        return None
    columns = [one_array(table.column(name)) for name in keys]
    codes = np.column_stack([_codes(column) for column in columns])
    if len(np.unique(codes, axis=0)) <= _allowed(n, most) * n:
        return None
    k = int(np.ceil(1.0 / max(_allowed(n, most), 1.0 / n)))
    if k > n // 2:
        return None
    numbers = {
        j: np.array(to_float(c, name)) for j, (c, name) in enumerate(zip(columns, keys, strict=True)) if _is_number(c)
    }
    widths = _widths(codes, numbers, k)
    named = {keys[j]: width for j, width in widths.items()}
    return keys, LocalSuppression(k, width=named or None)


def _allowed(n: int, most: float) -> float:
    """The share of right links whose upper limit stays under ``most``."""
    share = most
    for _ in range(20):
        share = max(most - CONFIDENT * np.sqrt(share * (1.0 - share) / n), most / 4.0)
    return float(share)


def _widths(codes: Codes, numbers: Mapping[int, Vector], k: int) -> dict[int, float]:
    """The widths of classes, from none on, one step coarser at a time."""
    ladders = {j: _ladder(values) for j, values in numbers.items()}
    at = dict.fromkeys(ladders, -1)
    for _ in range(MOST_STEPS):
        lost = _lost(_recoded(codes, numbers, ladders, at), k)
        if lost <= FEW:
            break
        trials = {
            j: _lost(_recoded(codes, numbers, ladders, {**at, j: step + 1}), k)
            for j, step in at.items()
            if step + 1 < len(ladders[j])
        }
        if not trials:
            break
        best = min(trials, key=lambda j: (trials[j], at[j]))
        at[best] += 1
    return {j: ladders[j][step] for j, step in at.items() if step >= 0}


def _ladder(values: Vector) -> list[float]:
    """Round widths that make from a hundred classes down to two."""
    there = values[np.isfinite(values)]
    spread = float(np.ptp(there)) if len(there) else 0.0
    if not spread:
        return []
    powers = 10.0 ** np.arange(np.floor(np.log10(spread / 100.0)), np.ceil(np.log10(spread)) + 1)
    steps = sorted(float(f"{step * power:.15g}") for power in powers for step in STEPS)
    return [width for width in steps if spread / 100.0 <= width <= spread / 2.0]


def _recoded(
    codes: Codes, numbers: Mapping[int, Vector], ladders: Mapping[int, Sequence[float]], at: Mapping[int, int]
) -> Codes:
    """The keys with classes of the widths that the ladders have there."""
    recoded = codes.copy()
    for j, step in at.items():
        if step >= 0:
            places = np.full(len(codes), np.nan)
            there = np.isfinite(numbers[j])
            places[there] = Width(ladders[j][step]).places(numbers[j][there])
            recoded[:, j] = _numbered(places)
    return recoded


def _lost(codes: Codes, k: int) -> float:
    """The share of cells that are suppressed."""
    cells, counts = np.unique(codes, axis=0, return_counts=True)
    order = sorted(range(codes.shape[1]), key=lambda j: -len(np.unique(codes[:, j])))
    words = np.arange(len(cells), dtype=np.uint64)
    return float((suppressed_cells(cells, counts, k, order, words).T @ counts).sum()) / codes.size


def _codes(column: pa.Array) -> Codes:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    places = column.dictionary_encode().indices.fill_null(-1)
    return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)


def _numbered(places: Matrix) -> Codes:
    _, numbered = np.unique(places, return_inverse=True)
    return np.where(np.isnan(places), -1, numbered).astype(np.int64)


def _is_number(column: pa.Array) -> bool:
    return kind_of(column.type) is Kind.NUMERIC
