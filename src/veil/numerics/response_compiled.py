"""The inner loop of randomized response, compiled."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from veil.data.blocks import Words

Codes = npt.NDArray[np.int64]
HEAD = 8
"""First bits of a word by which the search for its report is begun."""


@numba.njit(cache=True, nogil=True)
def find_reports(thresholds: Words, guide: Codes, codes: Codes, words: Words, out: Codes) -> None:
    """The first report whose threshold is beyond the word, of the row that belongs to the true code."""
    for i in range(len(codes)):
        word = words[i] >> np.uint64(1)
        report = guide[codes[i], word >> np.uint64(63 - HEAD)]
        while word >= thresholds[codes[i], report]:
            report += 1
        out[i] = report
