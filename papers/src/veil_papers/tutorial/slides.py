"""The five records of the slides, the noise and the matrices that they print."""

from __future__ import annotations

import numpy as np

RECORDS = np.array(
    [[10.0, 85.0, 2.0], [15.0, 70.0, 18.0], [50.0, 120.0, 35.0], [45.0, 23.0, 134.0], [80.0, 110.0, 15.0]]
)
"""Balance, income and interest paid, in thousands."""
USED = np.array([*RECORDS[:2], [20.0, 120.0, 35.0], RECORDS[3], [80.0, 40.0, 15.0]])
"""What the slides on rotation and on linear maps were computed from (errata T)."""
NOISE = np.array(
    [[7.334, 3.759, 0.099], [4.199, 7.537, 7.939], [9.199, 8.447, 3.678], [6.208, 7.313, 1.939], [9.048, 5.692, 6.318]]
)
ROTATION = np.array([[1.0, 2.0, 2.0], [-2.0, 2.0, -1.0], [-2.0, -1.0, 2.0]]) / 3.0
LINEAR = np.array([[4.751, 2.429, 2.282], [1.156, 4.457, 0.093], [3.034, 3.811, 4.107]])
NAMES = ("1", "2", "3", "4", "N")
ATTRIBUTES = ("balance", "income", "interest")
