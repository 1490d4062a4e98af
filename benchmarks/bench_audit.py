"""What memory and processes bring an audit: the same audit remembered, and on two processes, against one alone.

Ratios to the first audit of the same process; the table is scikit-learn's breast cancer data.
"""

from __future__ import annotations

import statistics
import tempfile

from claims import Claims, options, seconds

import veil
from veil.auditing.demo import demo_table

RUNS = 5
SETTINGS = {"roles": {"diagnosis": "public"}, "seed": 0, "repetitions": 5}


def main() -> None:
    """Measure and print."""
    settings = SETTINGS | ({"repetitions": 1} if options(__doc__).quick else {})
    claims, table, candidates = Claims(), demo_table(), [veil.AdditiveNoise(0.5), veil.OrthogonalTransform()]
    alone = seconds(lambda: veil.audit(table, candidates, workers=1, **settings))
    spread = seconds(lambda: veil.audit(table, candidates, workers=2, **settings))
    claims.ratio("audit, two processes against one", spread, alone)
    with tempfile.TemporaryDirectory() as home:
        first = seconds(lambda: veil.audit(table, candidates, workers=1, cache=home, **settings))
        claims.ratio("audit, remembering against not", first, alone)
        again = [seconds(lambda: veil.audit(table, candidates, workers=1, cache=home, **settings)) for _ in range(RUNS)]
    claims.ratio("audit, remembered against not", statistics.median(again), alone)


if __name__ == "__main__":
    main()
