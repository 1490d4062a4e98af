"""The limits of goals as their owners give them, checked and written by what is scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from veil.arguments import number
from veil.errors import InputError
from veil.report.values import OF_COLUMNS, Scored

SHARE: dict[str, Any] = {"least": 0, "most": 1, "rule": "between 0 and 1"}


def limits_by_score(given: Any, usual: float, *, columns: bool) -> dict[Scored, float]:
    """What counts, with its limit; none is the ``usual`` one. Nothing need count where single ``columns`` do."""
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, Mapping | Sequence) or not (len(given) or columns):
        raise InputError(f"goals: on must name what counts: {', '.join(Scored)}; leave it out for all of them")
    limits = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)
    return _checked(limits, usual, tuple(Scored), "score of goals: on", "on")


def limits_by_column(columns: Any, usual: float) -> dict[str, dict[Scored, float]]:
    """The limits of single columns: one number stands for a column's values and for its largest values."""
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns):
        raise InputError("goals: columns must map columns to numbers, for example {'income': 0.02}")
    every = {
        name: _checked(
            given if isinstance(given, Mapping) else dict.fromkeys(OF_COLUMNS, given),
            usual,
            OF_COLUMNS,
            "score of goals: columns",
            "columns",
            name,
        )
        for name, given in columns.items()
    }
    return {name: limits for name, limits in every.items() if limits}


def _checked(
    limits: Mapping[Any, Any], usual: float, known: Iterable[Scored], what: str, parameter: str, column: str = ""
) -> dict[Scored, float]:
    """Limits in the order of what is ``known``, all shares."""
    known = tuple(known)
    for scored, limit in limits.items():
        if scored not in known:
            raise InputError.from_unknown_name(what, scored, known, parameter=parameter)
        if limit is not None:
            number(limit, f"goals: {parameter} {column or str(scored)!r}", parameter=parameter, **SHARE)
    return {each: usual if limits[each] is None else float(limits[each]) for each in known if each in limits}
