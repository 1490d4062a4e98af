"""Slide "Attributes Correlation": independence can be tested on the reports."""

from __future__ import annotations

import numpy as np

from veil.recovery import independence_test
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars
from veil_papers.tutorial.responses import Codes, counts, reported

FIRST = np.array([[0.8, 0.3], [0.2, 0.7]])
SECOND = np.array([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])
ROW, COLUMN = np.array([0.45, 0.55]), np.array([0.25, 0.40, 0.35])
SHIFT = np.array([[0.04, -0.04, 0.0], [-0.04, 0.04, 0.0]])
N, LEVEL = 1_000, 0.05


def rejected(tables: Codes) -> float:
    """Share of the surveys in which independence is rejected."""
    return float(np.mean([independence_test(each.reshape(2, 3)).p_value < LEVEL for each in tables]))


def run(context: Context) -> Result:
    """Rejections over surveys, of true answers and of reports, without and with an association."""
    surveys = context.pick(4_000, 600)
    names = ("independent", "associated")
    tests: dict[str, tuple[float, float]] = {}
    for place, name in enumerate(names):
        shares = np.outer(ROW, COLUMN) + place * SHIFT
        cells = context.rng(place, 0).choice(6, N * surveys, p=shares.ravel())
        truth = {"a": cells // 3, "b": cells % 3}
        _, codes = reported(context, truth, {"a": FIRST, "b": SECOND}, place, 1)
        counted = counts(codes["a"] * 3 + codes["b"], 6, surveys)
        tests[name] = rejected(counts(cells, 6, surveys)), rejected(counted)
    se = np.sqrt(LEVEL * (1 - LEVEL) / surveys)
    (_, level), (power_true, power) = tests["independent"], tests["associated"]
    claims = (
        Claim(
            "Independence of π is independence of λ",
            "“equivalent”",
            f"a 5 % test on the reports rejects in {level:.1%} of {surveys:,} independent surveys",
            agrees=bool(abs(level - LEVEL) < 4 * se),
            holds=bool(abs(level - LEVEL) < 4 * se),
        ),
        Claim(
            "Association is preserved",
            "“Association is preserved”",
            f"the test on reports finds it in {power:.0%} of surveys, on true answers in {power_true:.0%}",
            why="preserved in kind; the test on the reports has less power",
            agrees=bool(power > LEVEL + 4 * se),
            holds=bool(LEVEL + 4 * se < power < power_true),
        ),
    )
    table = Table.of(
        "rejections",
        {"surveys": names, "true answers": [tests[n][0] for n in names], "reports": [tests[n][1] for n in names]},
    )
    figure = Bars(
        f"How often a 5 % test of independence rejects (surveys of {N:,})",
        names,
        "share of surveys",
        (("true answers", [tests[n][0] for n in names]), ("randomized reports", [tests[n][1] for n in names])),
    )
    return Result(claims, (table,), (figure,))


EXPERIMENT = Experiment(
    id="tutorial-rr-association",
    title="Testing independence on randomized answers",
    stated="complete independence of the true attributes is equivalent to that of the reported ones",
    chosen="Two attributes of 2 and 3 categories, each answered by itself, n = 1,000, 4,000 surveys, an association of "
    "± .04 in four cells. The level does not depend on these; the power does",
    run=run,
)
