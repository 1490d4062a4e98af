"""What an inspection tells about keys: combinations, small cells, expected links, and which columns make them."""

from __future__ import annotations

from veil.data.distinct import DistinctSample
from veil.measures import negative_binomial_risk
from veil.publishing.inspection_advice import about
from veil.publishing.inspection_pass import Questions, Tally
from veil.report.inspection import GroupsAlone, KeyFacts, KeysAlone

MOST_NAMED = 3
WORTH_SAYING = 0.5
"""A column without which fewer than this share of the records stay alone makes most of them."""


def key_facts(questions: Questions, answers: Tally, *, proposed: bool = False) -> KeyFacts:
    """Counts of the cells on all keys, and how many records are alone on some of them."""
    cells, quasi = answers.cells, questions.quasi
    assert cells is not None  # noqa: S101 - there are keys
    subsets = dict(zip(questions.subsets, answers.subsets, strict=True))
    without = [
        KeysAlone((name,), subsets[others].records_in_cells_below(2).value)
        for name in quasi
        if (others := tuple(other for other in quasi if other != name)) in subsets
    ]
    pairs = [
        KeysAlone(names, subset.records_in_cells_below(2).value) for names, subset in subsets.items() if len(names) == 2
    ]
    return KeyFacts(
        columns=quasi,
        n_cells=cells.n_values,
        unique=cells.records_in_cells_below(2).value,
        below_3=cells.records_in_cells_below(3).value,
        below_5=cells.records_in_cells_below(5).value,
        exact=cells.exact,
        weight=questions.weight,
        expected=None if cells.totals is None else _expected(cells),
        proposed=proposed,
        without=tuple(sorted(without, key=lambda each: each.unique)),
        pairs=tuple(sorted(pairs, key=lambda each: -each.unique)) if len(quasi) > 2 else (),
        groups=tuple(
            GroupsAlone(name, sums.n_groups, sums.unique)
            for name, sums in zip(questions.belonging, answers.members, strict=True)
        ),
    )


def _expected(cells: DistinctSample) -> float:
    """Expected re-identifications: Σ f E[1/F | f] over cells, by the weights."""
    assert cells.sizes is not None and cells.totals is not None  # noqa: S101, PT018 - they are counted with weights
    return float(cells.sizes @ negative_binomial_risk(cells.sizes, cells.totals)) * 2.0**cells.level


def key_advice(facts: KeyFacts) -> list[str]:
    """What an owner should know of the keys beside the counts."""
    advice = [
        f"Of {each.n_groups:,} groups in {each.column!r}, {each.unique:,} ({each.unique / each.n_groups:.0%}) are "
        "alone with the keys of all their members: whoever knows these finds them."
        for each in facts.groups
        if each.unique
    ]
    if facts.expected is not None:
        advice.append(
            f"By the weights in {facts.weight!r}, {about(facts.expected) if facts.expected >= 1 else 'fewer than 1'} "
            "re-identifications are expected of somebody who tries all records against the population."
        )
    makers = [each for each in facts.without if facts.unique and each.unique < WORTH_SAYING * facts.unique]
    if makers:
        named = ", ".join(
            f"{each.columns[0]!r} {about(each.unique) if each.unique else 0}" for each in makers[:MOST_NAMED]
        )
        advice.append(f"Records that stay alone without one of the keys: {named}. Recode these first.")
    return advice
