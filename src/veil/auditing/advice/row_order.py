"""Whether the order of a table's rows tells anything about their values.

*Test.* Rows in no order are exchangeable: the ranks of a column correlate with those h rows later by r_h of mean about
0 and variance about 1/n, so that Q = n·Σ r_h² over lags 1 … L has a χ² distribution with L degrees of freedom (Box and
Pierce 1970; on ranks, Hallin and Puri 1992). A category has one such test for each of its frequent values. The level is
shared by all tests (Bonferroni), so that a table in no order is taken for one in order in about 1 % of all cases.
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc
from scipy.stats import rankdata

from veil.auditing.truth import Truth
from veil.data.blocks import Matrix, Vector

LAGS = 12
LEVEL = 0.01
FEWEST_ROWS = 50
FEWEST_PAIRS = 5
"""Neighbours with the same value that chance must bring for the test to be near its distribution."""


def order_tells(private: Truth) -> bool:
    """Whether neighbouring rows resemble each other in some column more than chance allows."""
    series = _series(private)
    if len(private.values) < FEWEST_ROWS or not series:
        return False
    return min(_p_value(each) for each in series) < LEVEL / len(series)


def _series(private: Truth) -> list[Vector]:
    """Ranks of the numbers and indicators of the categories, centred; missing values at the centre."""
    series: list[Vector] = []
    for column, listing in zip(private.values.T, private.categories, strict=True):
        present = ~np.isnan(column)
        if listing is None:
            ranks = np.zeros(len(column))
            ranks[present] = rankdata(column[present])
            series.append(ranks - np.where(present, ranks[present].mean() if present.any() else 0.0, 0.0))
            continue
        codes, counts = np.unique(column[present], return_counts=True)
        for code in codes[counts**2 >= FEWEST_PAIRS * len(column)]:
            series.append(np.where(present, (column == code) - float((column == code)[present].mean()), 0.0))
    return [each for each in series if each.any()]


def _p_value(series: Vector) -> float:
    n, power = len(series), float(series @ series)
    lagged: Matrix = np.array([float(series[h:] @ series[:-h]) / power for h in range(1, LAGS + 1)])
    return float(chdtrc(LAGS, n * float(lagged @ lagged)))
