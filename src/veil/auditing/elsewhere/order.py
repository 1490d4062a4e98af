"""Whether the data support that row i of a release is row i of the private table.

*Test.* Rows are taken in pairs of neighbours. If the matching says nothing, each pair of released rows may as well
stand the other way round, which turns the sign of its difference. So the fit of released to private differences is
compared with that under random signs; the test is exact whatever the laws. Two tables that were sorted alike fit each
other in what they were sorted by, whoever is whose. So neighbours are exchanged and not any two rows, and private
columns whose neighbouring values resemble each other (a lag-one rank correlation of more than four standard errors) are
left out.

*Fit.* Two statistics, each on values and on ranks: the sum of the correlations of columns with one name, and the sum of
all squared canonical correlations (Pillai's trace), which finds columns that a linear map has mixed. The least of the
four p-values, times four, is the result.

*Power.* With n pairs, a correlation ρ of one column gives a statistic of about ρ√n standard deviations; 0.001/4 takes
3.5 of them. So from 100 records on (n = 50), one column with noise of its own deviation (ρ = 0.71) is told in 19 of 20
tables, and five columns with three times as much (ρ = 0.32) in 9 of 10. Less is not excluded by a test that fails: the
audit then looks both by order and by content.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.stats import rankdata

from veil.attacks.knowledge import Rows
from veil.auditing.elsewhere.columns import as_texts
from veil.data.blocks import Matrix, Vector, to_float
from veil.data.schema import kind_of
from veil.report.remarks import OrderTest

LEVEL = 0.001
"""The p-value at which a matching is believed: a wrong one must not be."""
SIGNS = 3_999
MOST_PAIRS = 1_000
MOST_DIRECTIONS = 20
MOST_CATEGORIES = 10
RESEMBLING = 4.0
"""Standard errors of a lag-one rank correlation beyond which the order of rows tells of a column."""


def order_test(private: pa.Table, released: pa.Table) -> OrderTest:
    """Test the matching of two tables whose rows belong together one by one."""
    x, own = _numbers(private)
    y, theirs = _numbers(released)
    free = ~_serial(x)
    x, own = x[:, free], [name for name, use in zip(own, free, strict=True) if use]
    n = len(x) // 2
    if not n or not x.shape[1] or not y.shape[1]:
        return OrderTest(1.0, supported=False)
    chosen = np.arange(n) if n <= MOST_PAIRS else np.sort(np.random.default_rng(0).permutation(n)[:MOST_PAIRS])
    signs = np.random.default_rng(1).choice(np.array([-1.0, 1.0]), size=(SIGNS, len(chosen)))
    same = [(i, theirs.index(name)) for i, name in enumerate(own) if name in theirs]
    p_values = []
    for a, b in ((x, y), (_ranks(x), _ranks(y))):
        u, v = (_differences(each, chosen) for each in (a, b))
        if same:
            products = np.column_stack([u[:, i] * v[:, j] for i, j in same]).sum(axis=1)
            p_values.append(_p_value(float(products.sum()), signs @ products))
        p, q = _directions(u), _directions(v)
        crossed = (p[:, :, None] * q[:, None, :]).reshape(len(p), -1)
        p_values.append(_p_value(float((crossed.sum(axis=0) ** 2).sum()), ((signs @ crossed) ** 2).sum(axis=1)))
    p_value = min(1.0, min(p_values) * 4)
    return OrderTest(p_value, supported=p_value <= LEVEL)


def _p_value(statistic: float, null: Vector) -> float:
    """The share of random signs that fit at least as well, the true ones counted along."""
    tie = 1e-9 * (abs(statistic) + 1e-300)
    return float((1 + (null >= statistic - tie).sum()) / (1 + len(null)))


def _numbers(table: pa.Table) -> tuple[Matrix, list[str]]:
    """Columns as numbers without gaps, categories as one column for each of the most frequent, with names for all."""
    columns: list[Vector] = []
    names: list[str] = []
    for name in table.column_names:
        column = table.column(name)
        if kind_of(column.type).is_number:
            values = np.asarray(to_float(column.combine_chunks(), name), dtype=np.float64)
            present = np.isfinite(values)
            centre = float(np.median(values[present])) if present.any() else 0.0
            columns.append(np.where(present, values, centre))
            names.append(name)
            continue
        texts = as_texts(column)
        counts = sorted(texts.drop_null().value_counts().to_pylist(), key=lambda c: (-c["counts"], c["values"]))
        listing = np.array(texts.to_pylist(), dtype=object)
        for entry in counts[:MOST_CATEGORIES]:
            columns.append((listing == entry["values"]).astype(np.float64))
            names.append(f"{name}\0{entry['values']}")
    return (np.column_stack(columns) if columns else np.empty((table.num_rows, 0))), names


def _ranks(values: Matrix) -> Matrix:
    return np.asarray(rankdata(values, axis=0), dtype=np.float64)


def _serial(values: Matrix) -> npt.NDArray[np.bool_]:
    """Which columns have neighbours that resemble each other."""
    ranks = _ranks(values)
    ranks = ranks - ranks.mean(axis=0, keepdims=True) if len(ranks) else ranks
    power = (ranks**2).sum(axis=0)
    lagged = (ranks[1:] * ranks[:-1]).sum(axis=0)
    correlation = np.divide(lagged, power, out=np.zeros_like(power), where=power > 0)
    return np.asarray(np.abs(correlation) * np.sqrt(max(len(ranks), 1)) > RESEMBLING)


def _differences(values: Matrix, pairs: Rows) -> Matrix:
    """Differences of neighbouring rows, each column of length 1; 0 for one that does not vary."""
    differences = values[2 * pairs + 1] - values[2 * pairs]
    scale = np.abs(differences).max(axis=0, initial=0.0)
    differences = np.divide(differences, scale, out=np.zeros_like(differences), where=scale > 0)
    length = np.linalg.norm(differences, axis=0)
    return np.asarray(np.divide(differences, length, out=np.zeros_like(differences), where=length > 0))


def _directions(differences: Matrix) -> Matrix:
    """Orthonormal directions that the columns span, the strongest where they are many."""
    left, power, _ = np.linalg.svd(differences, full_matrices=False)
    most = max(1, min(MOST_DIRECTIONS, len(differences) // 4))
    return np.asarray(left[:, :most] * (power[:most] > 1e-9 * max(float(power.max(initial=0.0)), 1e-300)))
