"""What a table is before anything is released: columns, kinds, roles, and what must be decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from veil.data.dates import is_timed, unit_of
from veil.data.distinct import DistinctSample, IntegerRun
from veil.data.hashing import new_hash_key
from veil.data.passes import Engine, Threads, summed
from veil.data.schema import WITHHELD, Kind, Role, kind_of, parse_roles
from veil.data.sources import NEARLY
from veil.data.tables import Table, TypesChanged
from veil.errors import VeilError
from veil.progress import Progress, Watch
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
from veil.publishing.inspection_suspects import (
    MARKS,
    codes_advice,
    duplicates_advice,
    missing_codes,
    suspects_advice,
)
from veil.release.sources import as_any_table
from veil.report.inspected import Inspection
from veil.report.inspection import ROTATION_THRESHOLD, ColumnFacts
from veil.report.progress import watched

IDENTIFYING_SHARE = 0.5


def inspect(
    table: Any,
    *,
    roles: Mapping[str, str] | None = None,
    engine: Engine | None = None,
    progress: Watch = None,
) -> Inspection:
    """Columns, inferred roles, missing values and warnings of a table or a file, in one pass and constant memory.

    Up to 65,536 different texts, integers and combinations of keys are counted exactly; what is said of
    more is an estimate (standard error 0.47 %, and that of combinations in the sentence), which "about" tells.

    Parameters
    ----------
    table
        A frame, an array, a release, or the path of a file, a folder of Parquet files or a release's folder.
    roles
        What the owner has decided already, by column; the rest is inferred, or None where it cannot be.
    engine
        Runs the pass; all cores of this machine by default.
    progress
        True for a bar, or a callback: what is done, how many rows of it, and of how many.

    >>> import pyarrow as pa
    >>> [column.role for column in inspect(pa.table({"age": [31.5, 40.0], "name": ["x", "y"]})).columns]
    ['sensitive', None]
    """
    source = as_any_table(table, settle=engine is not None and not isinstance(engine, Threads))
    given = parse_roles(roles, source.schema.names)
    with watched(progress) as report:
        questions, answers = _asked(source, given, engine, report)
    suspects = {} if answers is None else missing_suspects(questions, answers)
    codes = [name for name in questions.codes if given.get(name) not in WITHHELD]
    said = {
        f.name: [
            *source.remarks.get(f.name, ()),
            *(f"{value} {count:,} times: a missing value?" for value, count in suspects.get(f.name, {}).items()),
            *(["looks like a code"] if f.name in codes else []),
            *([f"perturbed in whole {unit_of(f.type)}s"] if _has_units(f.type) and f.name not in given else []),
        ]
        for f in source.schema
    }
    facts = tuple(_facts(f, given.get(f.name), questions, answers, said[f.name]) for f in source.schema)
    advice = role_advice(facts)
    if answers is None:
        return Inspection(0, facts, tuple(advice))
    moments = answers.moments
    advice += suspects_advice({name: list(values) for name, values in suspects.items()})
    advice += codes_advice(codes)
    advice += duplicates_advice(answers.records, moments.n_rows)
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
        groups = [f.name for f in schema if given.get(f.name) is Role.GROUP]
        questions = questions_of(source, tuple(quasi), key, weights[0] if weights else None, tuple(groups))
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


def _facts(
    field: pa.Field, role: Role | None, questions: Questions, answers: Tally | None, said: Sequence[str] = ()
) -> ColumnFacts:
    """What one column is, and what there is to say about it beside what its file ``said``."""
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
    notes += said
    return ColumnFacts(name, str(kind), str(field.type), role and str(role), missing, "; ".join(notes), identifying)


def missing_suspects(questions: Questions, answers: Tally) -> dict[str, dict[str, int]]:
    """By column, the values that may stand for missing ones, and how often they occur."""
    suspects: dict[str, dict[str, int]] = {}
    moments = answers.moments
    for j, name in enumerate(questions.numeric):
        ends = float(moments.minimum[j]), float(moments.maximum[j])
        codes = missing_codes(answers.ends, j, *ends, int(moments.count[j])) if name not in questions.codes else {}
        suspects[name] = {str(code): count for code, count in codes.items()}
    for name, counts in zip(questions.texts, answers.marks.tolist(), strict=True):
        suspects[name] = {mark: count for mark, count in zip(MARKS, counts, strict=True) if count}
    return {name: values for name, values in suspects.items() if values}


def _has_units(dtype: pa.DataType) -> bool:
    """Whether values are dates or moments, or spans between them."""
    return is_timed(dtype) and not pa.types.is_time(dtype)


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
