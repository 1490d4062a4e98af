"""Section 2.1.1: two costs of k-anonymity, by hand and over k."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil import measures
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

ZIPS = ("2125*",) * 7 + ("2126*",) * 5
AGES = ("20–29",) * 4 + ("30–39",) * 3 + ("20–29", "20–29", "30–39", "40–49", "40–49")
CLASSES = ("yes", "yes", "yes", "no", "no", "no", "yes", "yes", "no", "no", "yes", "yes")
BY_HAND = {
    1: (16 + 9 + 4 + 1 + 4, 1 + 1 + 1 + 0 + 0),
    2: (16 + 9 + 4 + 4 + 12 * 1, 1 + 1 + 1 + 0 + 1),
    3: (16 + 9 + 12 * 5, 1 + 1 + 5),
    4: (16 + 12 * 8, 1 + 8),
    5: (12 * 12, 12),
}
"""k: both costs of the 12 records, whose cells have 4, 3, 2, 1 and 2, of them 1, 1, 1, 0 and 0 in a minority."""
WIDTHS = (1, 5, 20)
SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)
Costs = dict[int, tuple[float, float]]


def costs(columns: Any, labels: Any, sizes: Any) -> Costs:
    """Discernibility and classification cost by k."""
    return {
        k: (float(measures.discernibility(columns, k)), float(measures.classification_cost(columns, labels, k)))
        for k in sizes
    }


def penalties(k: int) -> float:
    """Discernibility of the hand table as the text has it: a penalty for every record."""
    sizes = measures.cell_sizes([ZIPS, AGES])
    return float(sum(size if size >= k else len(sizes) for size in sizes.tolist()))


def grown(by_k: Costs, n: int) -> str:
    """Both costs at the smallest and the largest k."""
    first, last = by_k[SIZES[0]], by_k[SIZES[-1]]
    told_apart = f"{first[0] / n**2:.3f} → {last[0] / n**2:.3f} of |D|²"
    return f"discernibility {told_apart}, classification {first[1] / n:.3f} → {last[1] / n:.3f} of |D|"


def run(context: Context) -> Result:
    """Both costs of the hand table, and of Adult with ages in bands."""
    hand = costs([ZIPS, AGES], CLASSES, BY_HAND)
    age, sex, education, income = context.source.adult_columns(("age", "sex", "education", "income"))
    n = len(age)
    adult = {width: costs([age // width, sex, education], income, SIZES) for width in WIDTHS}
    rises = all(bool((np.diff(list(by_k.values()), axis=0) >= 0).all()) for by_k in (hand, *adult.values()))
    fine, coarse = adult[WIDTHS[0]], adult[WIDTHS[-1]]
    claims = (
        Claim(
            "Discernibility (Bayardo and Agrawal)",
            "Σ_{|E| ≥ k} |E|² + Σ_{|E| < k} |D||E|",
            f"{', '.join(f'{hand[k][0]:g}' for k in BY_HAND)} at k = {', '.join(map(str, BY_HAND))}: as by hand",
            agrees=all(hand[k][0] == BY_HAND[k][0] for k in BY_HAND),
            holds=all(hand[k][0] == BY_HAND[k][0] == penalties(k) for k in BY_HAND),
        ),
        Claim(
            "Classification (Iyengar)",
            "Σ_{|E| ≥ k} |minority(E)| + Σ_{|E| < k} |E|",
            f"{', '.join(f'{hand[k][1]:g}' for k in BY_HAND)} at k = {', '.join(map(str, BY_HAND))}: as by hand",
            agrees=all(hand[k][1] == BY_HAND[k][1] for k in BY_HAND),
            why="where two classes are equally frequent, either is the minority",
            holds=all(hand[k][1] == BY_HAND[k][1] for k in BY_HAND),
        ),
        Claim(
            "A larger k never costs less, the table being the same",
            "–",
            f"single years of age, k = 1 to 1,000: {grown(fine, n)}; bands of {WIDTHS[-1]} years: {grown(coarse, n)}",
            agrees=None,
            why="not in the paper: a cell that is suppressed costs |D| ≥ |E| per record, and all of its classes",
            holds=rises,
        ),
    )
    rows: list[tuple[Any, ...]] = [("by hand", "", k, *by_k) for k, by_k in hand.items()]
    rows += [("Adult", width, k, *both) for width, by_k in adult.items() for k, both in by_k.items()]
    table = Table("costs", ("table", "years in a band", "k", "discernibility", "classification"), tuple(rows))
    figures = tuple(
        Curves(
            f"{name}: Adult by age, sex and education ({n:,} records)",
            "least size of a cell k",
            unit,
            tuple(
                Curve(f"bands of {w} years" if w > 1 else "single years", SIZES, [v[j] / of for v in adult[w].values()])
                for w in WIDTHS
            ),
            log="x",
        )
        for j, (name, unit, of) in enumerate(
            (("Discernibility", "cost/|D|²", n**2), ("Classification cost", "cost/|D|", n))
        )
    )
    return Result(claims, (table,), figures)


EXPERIMENT = Experiment(
    id="liu-cost-metrics",
    title="Costs of k-anonymity: discernibility and classification",
    stated="the two formulas, D the table, E its cells of records that are alike after generalising",
    chosen="A table of 12 records by hand; then Adult by age, sex and education with the income as class, ages as they "
    "are and in bands of 5 and 20 years, k from 1 to 1,000. The formulas do not depend on it",
    run=run,
    data=("adult",),
    chapter=2,
)
