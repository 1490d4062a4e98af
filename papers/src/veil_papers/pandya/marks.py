"""What Pandya's experiments share: the printed tables, with the exponents that print lost put back."""

from __future__ import annotations

import numpy as np

import veil
from veil_papers.arrays import Matrix

SUBJECTS = ("Foundation", "Maths", "Physics", "Com. Sc.", "Phy. Prac.", "C. S. Prac.", "Project")
SHARES = (0.01, 0.10)
"""c: the noise's covariance as a share of the logarithms'."""


def _table(text: str) -> Matrix:
    return np.array([line.split() for line in text.strip().splitlines()], dtype=np.float64)


MARKS = _table("""
56 73 38 42 39 42 42
49 47 22 36 37 42 39
55 57 40 33 39 42 40
60 50 34 53 37 41 38
50 37 11 25 38 41 38
48 61 31 36 40 43 41
61 64 40 40 39 42 39
""")
"""Table 1."""

LOGS = _table("""
4.02 4.29 3.63 3.73 3.66 3.73 3.73
3.89 3.85 3.09 3.58 3.61 3.73 3.66
4.00 4.04 3.68 3.49 3.66 3.73 3.68
4.09 3.91 3.52 3.97 3.61 3.71 3.63
3.91 3.61 2.39 3.21 3.63 3.71 3.63
3.87 4.11 3.43 3.58 3.68 3.76 3.71
4.11 4.15 3.68 3.68 3.66 3.73 3.66
""")
"""Table 2."""

_COVARIANCE = """
0.009 0.008 0.027 0.014 -0.0002 -0.0005 -0.000
0.008 0.050 0.092 0.027 0.0041 0.0023 0.0068
0.027 0.092 0.220 0.077 0.0052 0.0034 0.0090
0.014 0.027 0.077 0.053 -0.0013 2.54 0.0009
-0.000 0.004 0.005 -0.001 0.0008 0.0003 0.0007
-0.000 0.002 0.003 2.54 0.0003 0.0002 0.0004
-0.000 0.006 0.009 0.000 0.0007 0.0004 0.0014
"""
COVARIANCE = _table(_COVARIANCE)
"""Table 3, as printed: 2.54 lost its exponent and is 2.54e−5."""
COVARIANCE_UNITS = np.array(
    [[10.0 ** -len(entry.partition(".")[2]) for entry in line.split()] for line in _COVARIANCE.strip().splitlines()]
)
"""One unit of the last digit that is printed, per entry."""

FACTORS = (
    _table("""
1.055 1.062 1.089 1.045 1.053 1.053 1.054
1.202 1.294 1.344 1.243 1.205 1.203 1.213
0.796 0.844 0.863 0.830 0.808 0.808 0.811
1.090 1.060 1.089 1.102 1.065 1.07 1.065
1.032 1.099 1.182 1.083 1.020 1.017 1.024
0.876 0.890 0.930 0.901 0.865 0.865 0.867
0.957 0.956 0.972 0.958 0.934 0.932 0.935
"""),
    _table("""
1.186 1.213 1.309 1.152 1.178 1.180 1.181
1.790 2.261 2.547 1.994 1.806 1.796 1.846
0.487 0.584 0.629 0.555 0.511 0.510 0.516
1.315 1.203 1.311 1.363 1.221 1.23 1.222
1.106 1.349 1.697 1.289 1.067 1.056 1.079
0.660 0.692 0.795 7.20 0.632 0.633 0.637
0.871 0.867 0.914 0.873 0.806 0.801 0.810
"""),
)
"""Tables 4 and 6, as printed: 7.20 is .720."""

PERTURBED = (
    _table("""
59.108 77.596 41.383 43.929 41.078 44.262 44.279
58.913 60.840 29.568 44.783 44.606 50.545 47.345
43.832 48.110 34.552 27.395 31.542 33.950 32.467
65.429 53.020 37.045 58.457 39.415 4.38 40.488
51.627 40.676 13.003 27.091 38.795 41.718 38.927
42.090 54.302 28.841 3.24 34.604 37.214 35.568
58.399 61.193 38.891 38.320 36.436 39.168 36.494
"""),
    _table("""
66.43 88.55 49.76 48.40 45.95 49.58 49.64
87.74 106.30 56.03 71.80 66.82 75.43 72.00
26.83 33.34 25.17 18.31 19.93 21.43 20.67
78.90 60.19 44.59 72.25 45.19 5.06 46.43
55.32 49.92 18.67 32.23 40.57 43.31 41.01
31.68 42.22 24.67 2.59 25.29 27.22 26.15
53.14 55.53 36.59 34.92 31.45 33.68 31.61
"""),
)
"""Tables 5 and 7, as printed: 4.38, 3.24, 5.06 and 2.59 are ten times as much."""

SLIPS = {"Table 6": (7.20, 0.720), "Table 5": (4.38, 43.8), "Table 5 ": (3.24, 32.4)}
SLIPS |= {"Table 7": (5.06, 50.6), "Table 7 ": (2.59, 25.9)}


def corrected(table: Matrix) -> Matrix:
    """The table with the lost exponents put back."""
    out = table.copy()
    for printed, right in SLIPS.values():
        out[table == printed] = right
    return out


def stated_law(c: float, repeats: int, seed: int) -> veil.Release:
    """Releases of the marks under the stated law N(0, cΣ), below each other in one table (7·repeats × 7).

    The product divides by n where the paper divides by n − 1, so its c is 7/6 of the paper's; and it rounds the factor
    of the covariance to two digits, which it publishes.
    """
    many = np.tile(MARKS, (repeats, 1))
    return veil.publish(many, veil.LogNormalNoise(c * 7 / 6, random_state=seed))[0]


def tables_of(release: veil.Release) -> Matrix:
    """Its releases one by one (repeats × 7 × 7)."""
    return np.asarray(release.to_numpy()).reshape(-1, 7, 7)


def noise_covariance(release: veil.Release) -> Matrix:
    """Of the logarithms' noise, as published."""
    factor = np.asarray(release.only_part.parameters["factor"])
    return np.asarray(factor @ factor.T)
