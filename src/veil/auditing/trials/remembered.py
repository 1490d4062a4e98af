"""Outcomes and utilities as JSON values, so that they can be remembered between audits."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from veil.auditing import membership
from veil.auditing.membership import Membership
from veil.auditing.scores import Contrast, GuessScores
from veil.auditing.trials.trial import Outcome
from veil.measures import Measure
from veil.report.model import Picture

NO_ANSWER = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What a value raises that is missing, damaged or from elsewhere: it is no answer."""


def outcome_from(value: Any) -> Outcome | None:
    """An outcome from JSON values; None where they are not those of one."""
    with suppress(*NO_ANSWER):
        return _outcome(value)
    return None


def utilities_from(value: Any) -> dict[str, Measure] | None:
    """Utilities from JSON values; None where they are not those of any."""
    with suppress(*NO_ANSWER):
        return {name: _measure(numbers) for name, numbers in value.items()}
    return None


def membership_from(value: Any) -> Membership | None:
    """What was told about membership from JSON values; None where they are not those of any."""
    with suppress(*NO_ANSWER):
        return membership.from_json(value)
    return None


def to_json(answer: Outcome | Membership | Mapping[str, Measure]) -> dict[str, Any]:
    """An outcome, what was told about membership, or utilities, as JSON values."""
    if isinstance(answer, Membership):
        return membership.to_json(answer)
    if not isinstance(answer, Outcome):
        return {name: _numbers(measure) for name, measure in answer.items()}
    scores, picture = answer.scores, answer.picture
    return {
        "refusal": answer.refusal,
        "applies": answer.applies,
        "ambiguity": answer.ambiguity,
        "up_to": list(answer.up_to),
        "seconds": answer.seconds,
        "records": [list(record) for record in answer.records],
        "tested": answer.tested,
        "picture": None if picture is None else asdict(picture),
        "scores": None if scores is None else {f.name: _plain(getattr(scores, f.name)) for f in fields(scores)},
    }


def _outcome(value: Mapping[str, Any]) -> Outcome:
    scores, picture = value["scores"], value["picture"]
    return Outcome(
        None if scores is None else _scores(scores),
        refusal=str(value["refusal"]),
        applies=bool(value["applies"]),
        ambiguity=str(value["ambiguity"]),
        up_to=tuple(value["up_to"]),
        seconds=float(value["seconds"]),
        picture=None if picture is None else _picture(**picture),
        records=tuple((int(row), float(error)) for row, error in value["records"]),
        tested=bool(value["tested"]),
    )


def _scores(values: Mapping[str, Any]) -> GuessScores:
    hints = get_type_hints(GuessScores)
    return GuessScores(**{f.name: _typed(values[f.name], hints[f.name]) for f in fields(GuessScores)})


def _picture(*, edges: Any, counts: Any, **numbers: Any) -> Picture:
    return Picture(tuple(edges), tuple(map(tuple, counts)), **{name: int(number) for name, number in numbers.items()})


def _typed(value: Any, hint: Any) -> Any:
    """A value of a field, read by the field's type."""
    if get_origin(hint) is types.UnionType:
        hint, _ = get_args(hint)
        return None if value is None else _typed(value, hint)
    return _READERS[hint](value)


def _plain(value: Any) -> Any:
    if isinstance(value, Contrast):
        return [value.rate, value.control, value.error, value.n]
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _numbers(measure: Measure) -> list[Any]:
    return [float(measure), measure.low, measure.high, measure.higher_is]


def _measure(numbers: Any) -> Measure:
    value, low, high, higher_is = numbers
    return Measure(float(value), low=float(low), high=float(high), higher_is=higher_is)


def _contrast(numbers: Any) -> Contrast:
    rate, control, error, n = numbers
    return Contrast(float(rate), float(control), float(error), int(n))


def _contrasts(value: Any) -> tuple[Contrast, ...]:
    return tuple(_contrast(numbers) for numbers in value)


def _floats(value: Any) -> npt.NDArray[np.float64]:
    return np.array(value, dtype=np.float64)


_READERS: dict[Any, Callable[[Any], Any]] = {
    Contrast: _contrast,
    tuple[Contrast, ...]: _contrasts,
    npt.NDArray[np.float64]: _floats,
    int: int,
    float: float,
    bool: bool,
}
