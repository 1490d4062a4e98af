"""An audit's judge and the comparison of two files score the same guess alike: one breach, one unit, one baseline."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veil import measure
from veil.attacks import Guess
from veil.auditing.judge import Judge

NAMES = ("income", "age", "children", "country")
N = 300


def judged(truth, values, tolerance):
    judge = Judge(truth, NAMES, tolerance)
    rows = np.arange(len(truth))
    return judge, judge.rates(Guess(values, NAMES, rows), rows, np.empty(0, dtype=np.intp))


def compared(truth, values, tolerance, folder):
    paths = []
    for name, table in (("truth", truth), ("guess", values)):
        paths.append(folder / f"{name}.parquet")
        columns = {n: pa.array(c, from_pandas=True) for n, c in zip(NAMES, table.T, strict=True)}
        pq.write_table(pa.table(columns), paths[-1])
    return measure(*paths, tolerance=tolerance)


@pytest.fixture(scope="module", params=[0.0, 0.1, 0.6])
def both(request, tmp_path_factory):
    """A heavy-tailed, a normal, a counted and a constant column, with gaps in the truth and in the guess."""
    rng = np.random.default_rng(3)
    truth = np.column_stack(
        [rng.standard_cauchy(N), rng.normal(40.0, 12.0, N), rng.integers(0, 5, N) * 1.0, np.full(N, 49.0)]
    )
    values = truth + rng.normal(size=truth.shape) * [2.0, 6.0, 0.0, 0.0]
    values[:, 2] = np.where(rng.random(N) < 0.4, values[:, 2], 1.0)
    values[: N // 4, :2] = truth[: N // 4, :2]
    truth[::7, 1], truth[5], values[::11, 2] = np.nan, np.nan, np.nan
    folder = tmp_path_factory.mktemp("tables")
    return *judged(truth, values, request.param), compared(truth, values, request.param, folder)


def test_units_are_the_same(both):
    judge, _, files = both
    assert [c.unit for c in files.columns] == pytest.approx(judge.units, rel=1e-12)
    assert files.columns[0].unit < 5.0, "the heavy-tailed column is measured by its quartiles"


def test_breaches_of_values_records_and_columns_are_the_same(both):
    _, scores, files = both
    value, record, columns = scores
    assert (value, record) == (float(files.table.value_breach), float(files.table.record_breach))
    np.testing.assert_array_equal([c.breach for c in files.columns], columns)
    assert 0.0 < record < value < 1.0


def test_a_constant_column_is_scored_by_neither(both):
    _, scores, files = both
    assert np.isnan(scores[2][3])
    assert np.isnan(files.columns[3].breach)


def test_baselines_are_the_same(both):
    judge, _, files = both
    np.testing.assert_allclose([c.baseline for c in files.columns], judge.column_baselines, rtol=1e-12)
    assert files.table.baseline == pytest.approx(judge.value_baseline, rel=1e-12)
