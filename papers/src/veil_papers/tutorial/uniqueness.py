"""Slide "Scope": records that are alone with their values on a few columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from veil import measures
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars

PRINTED = {"zip, birth date": 0.69, "zip, birth date, sex": 0.87}
"""Of the people of the United States (Sweeney)."""
COLUMNS = ("age", "sex", "race", "education", "hours-per-week")
K = 5
SLIDE = (
    ("28223", "28223", "28262", "28261", "28223"),
    ("Asian", "Asian", "Black", "White", "Asian"),
    (20, 30, 20, 26, 20),
    ("M", "F", "M", "M", "M"),
)
"""Zip, race, age and sex of the five records shown: the first and the last are alike."""


def run(context: Context) -> Result:
    """Shares of unique records, and of those in cells of fewer than k, for more and more columns."""
    columns, real = context.source.adult_columns(COLUMNS), context.source.real("adult")
    n, sets = len(columns[0]), range(1, len(COLUMNS) + 1)
    unique = [float(measures.uniqueness(columns[:i])) for i in sets]
    small = [float(measures.uniqueness(columns[:i], K)) for i in sets]
    shown = float(measures.uniqueness(SLIDE))
    exact = all((a, b) == counted(columns[:i]) for i, a, b in zip(sets, unique, small, strict=True))
    names = [", ".join(COLUMNS[:i]) for i in sets]
    about = "Adult" if real else "a stand-in for Adult"
    claims = (
        Claim(
            "People who are unique on a few columns",
            ", ".join(f"{share:.0%} on {what}" for what, share in PRINTED.items()),
            f"{about}: {unique[2]:.1%} on {names[2]}; {unique[-1]:.1%} with education and hours per week",
            agrees=None,
            why="not comparable: the slide's are of all people of the United States, by zip and day of birth; Adult "
            "has neither, and is a sample, in which more are unique than in its population",
            holds=exact,
        ),
        Claim(
            f"People in cells of fewer than {K}",
            "–",
            f"{about}: {small[2]:.1%} on {names[2]}; {small[-1]:.1%} on all five columns",
            agrees=None,
            holds=exact,
        ),
        Claim(
            "The five records of the slide, on zip, race, age and sex",
            "–",
            f"{shown:.0%} unique",
            agrees=None,
            why="the first and the last are alike",
            holds=shown == 3 / 5,
        ),
    )
    rows: list[tuple[Any, ...]] = [
        (what, n, round(float((1 / measures.cell_sizes(columns[:i])).sum())), a, b)
        for i, what, a, b in zip(sets, names, unique, small, strict=True)
    ]
    table = Table("uniqueness", ("columns", "records", "cells", "unique", f"cells under {K}"), tuple(rows))
    gap, none = [float("nan")] * len(PRINTED), [float("nan")] * len(COLUMNS)
    figure = Bars(
        f"Records that few others are like ({about}, {n:,} records)",
        ("age", "+ sex", "+ race", "+ education", "+ hours", "zip and\nbirth date", "+ sex"),
        "share of records",
        (
            ("unique", [*unique, *gap]),
            (f"in cells of fewer than {K}", [*small, *gap]),
            ("slide: unique in the US", [*none, *PRINTED.values()]),
        ),
    )
    return Result(claims, (table,), (figure,))


def counted(columns: Sequence[Any]) -> tuple[float, float]:
    """Shares of records that are alone, and that share their values with fewer than k, counted one by one."""
    people = list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))
    cells = Counter(people)
    sizes = [cells[person] for person in people]
    return sum(size == 1 for size in sizes) / len(sizes), sum(size < K for size in sizes) / len(sizes)


EXPERIMENT = Experiment(
    id="tutorial-uniqueness",
    title="Records that are unique on a few columns",
    stated="69 % of people are unique on zip and birth date, 87 % with gender; five records are shown",
    chosen="Adult, one column after the other: age, sex, race, education and hours per week. The shares are "
    "counted a second time, record by record. They depend on the columns and on the number of records",
    run=run,
    data=("adult",),
)
