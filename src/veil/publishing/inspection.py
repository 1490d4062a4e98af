"""What a table is before anything is released: columns, kinds, roles, and what must be decided."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from veil.data.distinct import DistinctSample, IntegerRun
from veil.data.hashing import new_hash_key
from veil.data.passes import Engine, Threads, summed
from veil.data.schema import Kind, Role, kind_of, parse_roles
from veil.data.sources import NEARLY, as_table
from veil.data.tables import Table, TypesChanged
from veil.errors import VeilError
from veil.progress import Progress, silent
from veil.publishing.inspection_advice import (
    NOISE_LEVELS,
    about,
    cell_advice,
    correlation_advice,
    grid_advice,
    noise_risks,
    role_advice,
    rotation_advice,
    rotation_ranges,
)
from veil.publishing.inspection_keys import key_advice, key_facts
from veil.publishing.inspection_pass import Questions, Tally, questions_of, tally
from veil.report.inspection import ROTATION_THRESHOLD, ColumnFacts, Inspection

IDENTIFYING_SHARE = 0.5


def inspect(
    table: Any,
    *,
    roles: Mapping[str, str] | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Inspection:
    """Columns, inferred roles, missing values and warnings of a table or a file, in one pass and constant memory.

    Up to 65,536 different texts, integers and combinations of keys are counted exactly; what is said of
    more is an estimate (standard error 0.47 %, and that of combinations in the sentence), which "about" tells.

    Parameters
    ----------
    table
        A frame, an array, or the path of a file or a folder of Parquet files.
    roles
        What the owner has decided already, by column; the rest is inferred, or None where it cannot be.
    engine
        Runs the pass; all cores of this machine by default.

    >>> import pyarrow as pa
    >>> [column.role for column in inspect(pa.table({"age": [31.5, 40.0], "name": ["x", "y"]})).columns]
    ['sensitive', None]
    """
    source = as_table(table, settle=engine is not None and not isinstance(engine, Threads))
    given = parse_roles(roles, source.schema.names)
    questions, answers = _asked(source, given, engine, progress)
    facts = tuple(_facts(field, given.get(field.name), questions, answers) for field in source.schema)
    advice = role_advice(facts)
    if answers is None:
        return Inspection(0, facts, tuple(advice))
    moments = answers.moments
    covariance = moments.covariance if moments.n_complete > 2 else None
    if covariance is not None and len(covariance) > 1:
        advice.append(correlation_advice(covariance))
    keys = None
    if answers.cells is not None:
        advice.append(cell_advice(questions.quasi, answers.cells, moments.n_rows))
        keys = key_facts(questions, answers)
        advice += key_advice(keys)
    if covariance is None:
        return Inspection(moments.n_rows, facts, tuple(advice), keys=keys)
    advice += rotation_advice(moments)
    advice += grid_advice(questions.numeric, answers.grids, moments)
    risks, ranges = noise_risks(questions.numeric, covariance), rotation_ranges(questions.numeric, covariance)
    levels = NOISE_LEVELS if risks else ()
    return Inspection(moments.n_rows, facts, tuple(advice), levels, risks, ROTATION_THRESHOLD, ranges, keys)


def _asked(
    source: Table, given: Mapping[str, Role], engine: Engine | None, progress: Progress
) -> tuple[Questions, Tally | None]:
    """The pass, begun again where it showed that columns are of other types than their first rows said."""
    key = new_hash_key()
    while True:
        schema = source.schema
        quasi = [
            f.name for f in schema if given.get(f.name) in (Role.QUASI, Role.KEY) and kind_of(f.type) is not Kind.OTHER
        ]
        weights = [f.name for f in schema if given.get(f.name) is Role.WEIGHT and kind_of(f.type) is Kind.NUMERIC]
        questions = questions_of(source, tuple(quasi), key, weights[0] if weights else None)
        try:
            answers = summed(partial(tally, questions), source, engine=engine, progress=progress)
        except TypesChanged:
            continue
        except (VeilError, pa.ArrowInvalid, pa.ArrowTypeError):  # it may have been the wrong type that was refused
            if source.settle():
                continue
            raise
        if source.schema.equals(schema):
            return questions, answers


def _facts(field: pa.Field, role: Role | None, questions: Questions, answers: Tally | None) -> ColumnFacts:
    """What one column is, and what there is to say about it."""
    name, kind = field.name, kind_of(field.type)
    if answers is None:
        notes = ["0 different values"] if name in questions.texts else []
        return ColumnFacts(name, str(kind), str(field.type), role and str(role), 0, "; ".join(notes))
    missing, notes, identifying = int(answers.missing[questions.columns.index(name)]), [], False
    if name in questions.numeric:
        moments, j = answers.moments, questions.numeric.index(name)
        infinite = int(answers.infinite[j])
        missing = int(moments.missing[j]) - infinite
        if infinite:
            notes.append(f"{infinite} infinite values: replace them")
        if moments.count[j] and not moments.std[j] > 0:
            notes.append("constant: nothing to hide by relative noise")
        unique = _repetitions(answers.integers[questions.integers.index(name)]) if name in questions.integers else []
        notes += unique if moments.n_rows > 1 else []
        if role is None and not (unique and moments.n_rows > 1):
            role = Role.SENSITIVE
    if name in questions.texts:
        texts = answers.texts[questions.texts.index(name)]
        identifying = bool(texts.n_values > IDENTIFYING_SHARE * (answers.moments.n_rows - missing))
        notes.append("hardly a repetition: an identifier?" if identifying else _variety(texts))
    if name in questions.nearly:
        numbers, total = answers.numbers[questions.nearly.index(name)].tolist()
        if total and numbers > NEARLY * total:
            notes.append(f"{total - numbers} of {total} values are not numbers")
    return ColumnFacts(name, str(kind), str(field.type), role and str(role), missing, "; ".join(notes), identifying)


def _repetitions(integers: IntegerRun) -> list[str]:
    """Whether integers are all different, as far as a sample tells."""
    if integers.repeats:
        return []
    if integers.certain:
        return ["all different: an identifier?"]
    return [f"all different in a sample of {about(len(integers.sample.hashes))}: an identifier?"]


def _variety(texts: DistinctSample) -> str:
    """How many values a text column has."""
    return f"{texts.n_values} different values" if texts.exact else f"about {about(texts.n_values)} different values"
