"""Slide "PRAM": a matrix that leaves the proportions as they are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars
from veil_papers.tutorial.responses import counts, reported

MATRIX = np.array(
    [[0.95, 0.00, 0.00, 0.10], [0.05, 0.98, 0.00, 0.00], [0.00, 0.02, 0.95, 0.00], [0.00, 0.00, 0.05, 0.90]]
)
SHARES = np.array([0.2, 0.5, 0.2, 0.1])


def run(context: Context) -> Result:
    """Pπ = π, by the slide's matrix and by one that the product makes for the same proportions."""
    n = context.pick(1_000_000, 100_000)
    truth = {"c": np.repeat(np.arange(4), (n * SHARES).round().astype(int))}
    _, codes = reported(context, truth, {"c": MATRIX}, 0)
    answers = counts(codes["c"], 4, 1)[0] / n
    spread = np.sqrt(((MATRIX * (1 - MATRIX)) @ SHARES) / n)
    off = float(np.abs(MATRIX @ SHARES - SHARES).max())
    changed = float((codes["c"] != truth["c"]).mean())
    own = veil.RandomizedResponse(keep=0.8, invariant=True, random_state=int(context.rng(1).integers(2**31)))
    own.fit(pa.table({"c": truth["c"].astype(str)}))
    matrix = np.asarray(own.matrices_[0])
    mended = float(np.abs(matrix @ SHARES - SHARES).max())
    claims = (
        Claim(
            "P π = π",
            "(.2, .5, .2, .1)",
            f"within {off:.0e}; released shares {answers.round(4).tolist()}, {changed:.1%} of the records changed",
            agrees=bool(off < 1e-12),
            holds=bool(off < 1e-12 and (np.abs(answers - SHARES) < 4.5 * spread).all()),
        ),
        Claim(
            "A matrix made for π",
            "“may also incorporate invariant matrix P”",
            f"Pπ = π within {mended:.0e}, the truth kept with probability {np.diag(matrix).min():.2f} or more",
            agrees=mended < 1e-12,
            holds=mended < 1e-12,
        ),
    )
    table = Table.of(
        "shares",
        {
            "category": [1, 2, 3, 4],
            "share": list(SHARES),
            "P share": list(MATRIX @ SHARES),
            "released": list(answers),
        },
    )
    figure = Bars(
        "Shares before and after PRAM with an invariant matrix",
        tuple(f"category {i + 1}" for i in range(4)),
        "share of the records",
        (("held", SHARES), ("released", answers)),
    )
    return Result(claims, (table,), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-pram-4",
    title="PRAM with an invariant matrix",
    stated="a 4×4 P and π = (.2, .5, .2, .1) with Pπ = π",
    chosen="1,000,000 records with exactly these shares, to see it in a release",
    run=run,
    errata=("T-a",),
)
