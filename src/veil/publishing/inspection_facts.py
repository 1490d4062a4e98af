"""What the answers of one pass say of columns and groups, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veil.data.distinct import DistinctSample
from veil.publishing.inspection_pass import Questions, Tally
from veil.report.inspection import ColumnFacts, GroupFacts

FEWEST_GROUPS, LEAST_SIZE, LARGEST_SIZE = 30, 1.1, 200.0
"""Groups are many, and of few records each."""
SERIAL = 2.0
"""Whole numbers that are all different count records if they lie this near: their range by their number."""


def number_facts(answers: Tally, j: int, unique: bool) -> dict[str, Any]:
    """Grid, signs, zeros and tail of the j-th column of numbers."""
    moments = answers.moments
    count, least, greatest = int(moments.count[j]), float(moments.minimum[j]), float(moments.maximum[j])
    if not count:
        return {}
    steps = answers.grids[j].steps(count, least, greatest)
    grain = None if steps is None else float(steps.grain)
    total = float(moments.mean[j]) * count
    return {
        "zeros": int(answers.tops.zeros[j]) / count,
        "tail_index": answers.tops.index(j, count),
        "top_ten": answers.tops.top_ten(j, total) if least >= 0 else None,
        "grain": grain,
        "whole": steps is not None and steps.grain >= 1 and float(steps.grain).is_integer() and steps.origin % 1 == 0,
        "nonnegative": least >= 0,
        "positive": least > 0,
        "unique": unique,
        "serial": unique and greatest - least < SERIAL * count,
    }


def order_facts(questions: Questions, answers: Tally, name: str) -> dict[str, Any]:
    """Whether rows are sorted by a column, or neighbours resemble each other in it."""
    neighbours, moments = answers.neighbours, answers.moments
    values = answers.values[questions.columns.index(name)]
    if name in questions.numeric:
        j = questions.numeric.index(name)
        variance = float(moments.variance[j]) if j < len(questions.numeric) else None
        resembling = None if variance is None else neighbours.correlation(j, variance)
        return {"sorting": neighbours.sorting(j), "neighbours": resembling}
    return {"neighbours": neighbours.equality(questions.unordered.index(name), agreement(values))}


def agreement(values: DistinctSample) -> float:
    """The probability that two records agree in a column: Σp²; as if there were no repetition beyond a sample."""
    assert values.sizes is not None  # noqa: S101 - records are counted
    n = float(values.sizes.sum())
    return float(((values.sizes / n) ** 2).sum()) * 0.5**values.level if n else 1.0


def group_facts(questions: Questions, answers: Tally, columns: Mapping[str, ColumnFacts]) -> tuple[GroupFacts, ...]:
    """Columns within whose values others are constant, those of groups first, and the coarsest of these first."""
    chance = {
        name: agreement(sample)
        for name, sample in zip(questions.columns, answers.values, strict=True)
        if columns[name].n_values > 1
    }
    facts = []
    for (name, _), sample in zip(questions.groups, answers.groups, strict=True):
        told = [other for other in sample.values if other in chance and sample.told(other, chance[other])]
        constant = tuple(other for other in columns if other in told)
        if not constant or sample.n_values < 2:
            continue
        many = sample.n_values >= FEWEST_GROUPS and LEAST_SIZE <= sample.mean_size <= LARGEST_SIZE
        groups = many and not columns[name].code
        facts.append(GroupFacts(name, sample.n_values, sample.mean_size, constant, not sample.level, groups))
    return tuple(sorted(facts, key=lambda each: (not each.groups, each.n_values)))
