"""Outcomes and utilities as JSON values, so that they can be remembered between audits."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from veil.auditing.scores import GuessScores
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


def to_json(answer: Outcome | Mapping[str, Measure]) -> dict[str, Any]:
    """An outcome, or utilities, as JSON values."""
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
        "picture": picture
        and [picture.edges, picture.counts, picture.n_values, picture.n_suppressed, picture.n_outside],
        "scores": scores
        and [
            _numbers(scores.value),
            _numbers(scores.record),
            scores.columns.tolist(),
            scores.n_columns.tolist(),
            _numbers(scores.far_out),
            scores.n_far_out,
            scores.nrmse,
            scores.n_scored,
            scores.value_null,
            scores.record_null,
            None if scores.column_nulls is None else scores.column_nulls.tolist(),
            scores.value_luck,
            scores.record_luck,
            None if scores.column_lucks is None else scores.column_lucks.tolist(),
        ],
    }


def _outcome(value: Mapping[str, Any]) -> Outcome:
    scores, picture = value["scores"], value["picture"]
    return Outcome(
        scores
        and GuessScores(
            _measure(scores[0]),
            _measure(scores[1]),
            np.array(scores[2], dtype=np.float64),
            np.array(scores[3], dtype=np.int64),
            _measure(scores[4]),
            int(scores[5]),
            float(scores[6]),
            int(scores[7]),
            float(scores[8]),
            float(scores[9]),
            None if scores[10] is None else np.array(scores[10], dtype=np.float64),
            float(scores[11]),
            float(scores[12]),
            None if scores[13] is None else np.array(scores[13], dtype=np.float64),
        ),
        refusal=str(value["refusal"]),
        applies=bool(value["applies"]),
        ambiguity=str(value["ambiguity"]),
        up_to=tuple(value["up_to"]),
        seconds=float(value["seconds"]),
        picture=picture
        and Picture(tuple(picture[0]), tuple(map(tuple, picture[1])), *(int(count) for count in picture[2:])),
        records=tuple((int(row), float(error)) for row, error in value["records"]),
    )


def _numbers(measure: Measure) -> list[Any]:
    return [float(measure), measure.low, measure.high, measure.higher_is]


def _measure(numbers: Any) -> Measure:
    value, low, high, higher_is = numbers
    return Measure(float(value), low=float(low), high=float(high), higher_is=higher_is)
