"""What a table is before anything is released: columns, kinds, roles, and what must be decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from veil.data.dates import is_timed, unit_of
from veil.data.distinct import IntegerRun
from veil.data.hashing import column_hashes, missing_hash, new_hash_key
from veil.data.passes import Engine, Threads, summed
from veil.data.schema import WITHHELD, Kind, Role, kind_of, parse_roles
from veil.data.sources import NEARLY
from veil.data.tables import Table, TypesChanged
from veil.errors import VeilError
from veil.numerics.rounding import two_digits
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
from veil.publishing.inspection_facts import group_facts, number_facts, order_facts
from veil.publishing.inspection_groups import HEAD_ROWS
from veil.publishing.inspection_keys import key_advice, key_facts
from veil.publishing.inspection_pass import Questions, Tally, questions_of, tally
from veil.publishing.inspection_roles import MOST_KEY_VALUES, names_a_key, proposals
from veil.publishing.inspection_sums import sums_among
from veil.publishing.inspection_suspects import (
    MARKS,
    codes_advice,
    duplicates_advice,
    missing_codes,
    suspects_advice,
)
from veil.release.sources import as_any_table
from veil.report.inspected import Inspection
from veil.report.inspection import ColumnFacts
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
    if answers is None:
        empty = tuple(_empty(f, given.get(f.name)) for f in source.schema)
        return Inspection(0, empty, tuple(role_advice(empty)))
    suspects = missing_suspects(questions, answers)
    codes = [name for name in questions.codes if given.get(name) not in WITHHELD]
    facts = tuple(
        _facts(f, given.get(f.name), questions, answers, suspects.get(f.name, {}), f.name in codes, source.remarks)
        for f in source.schema
    )
    moments = answers.moments
    groups = group_facts(questions, answers, {column.name: column for column in facts})
    proposed = tuple(each for each in proposals(facts, groups, moments.n_rows) if each.column not in given)
    advice = role_advice(facts)
    advice += suspects_advice({name: list(values) for name, values in suspects.items()})
    advice += codes_advice(codes)
    advice += duplicates_advice(answers.records, moments.n_rows)
    keys = None
    if answers.cells is not None:
        keys = key_facts(questions, answers, proposed=not _keys_among(given))
        if not keys.proposed:
            advice += [cell_advice(questions.quasi, answers.cells, moments.n_rows), *key_advice(keys)]
    covariance = moments.covariance if moments.n_complete > 2 else None
    told = Inspection(
        n_rows=moments.n_rows, columns=facts, advice=tuple(advice), keys=keys, groups=groups, proposals=proposed
    )
    if covariance is None:
        return told
    theory = [correlation_advice(covariance)] if len(covariance) > 1 else []
    theory += rotation_advice(moments)
    theory += grid_advice(questions.numeric, answers.grids, moments)
    risks = noise_risks(questions.numeric, covariance)
    return replace(
        told,
        theory=tuple(theory),
        noise_levels=NOISE_LEVELS if risks else (),
        noise_risks=risks,
        rotation_ranges=rotation_ranges(questions.numeric, covariance),
        sums=sums_among(questions.numeric, moments),
    )


def _keys_among(given: Mapping[str, Role]) -> list[str]:
    return [name for name, role in given.items() if role in (Role.QUASI, Role.KEY)]


def _likely_keys(source: Table, given: Mapping[str, Role]) -> list[str]:
    """Columns that are called like keys, of few values in the first rows, where the owner has named none."""
    names = [name for name in source.schema.names if name not in given and names_a_key(name)]
    first = source.head(names) if names else None
    if first is None:
        return []
    first, key = first.slice(0, HEAD_ROWS), new_hash_key()
    n_values = {name: len(np.unique(column_hashes(first.column(name), key))) for name in names}
    few = MOST_KEY_VALUES * first.num_rows
    return [name for name in names if 1 < n_values[name] <= few]


def _asked(
    source: Table, given: Mapping[str, Role], engine: Engine | None, progress: Progress
) -> tuple[Questions, Tally | None]:
    """The pass, begun again where it showed that columns are of other types than their first rows said."""
    key = new_hash_key()
    while True:
        schema = source.schema
        known = _keys_among(given) or _likely_keys(source, given)
        quasi = [f.name for f in schema if f.name in known and kind_of(f.type) is not Kind.OTHER]
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


def _empty(field: pa.Field, role: Role | None) -> ColumnFacts:
    """A column of a table without rows."""
    return ColumnFacts(field.name, str(kind_of(field.type)), str(field.type), role and str(role), 0, "")


def _facts(
    field: pa.Field,
    role: Role | None,
    questions: Questions,
    answers: Tally,
    codes: Mapping[str, int],
    code: bool,
    remarks: Mapping[str, Sequence[str]],
) -> ColumnFacts:
    """What one column is, and what there is to say about it beside what its file remarks."""
    name, kind, moments, undecided = field.name, kind_of(field.type), answers.moments, role is None
    at = questions.columns.index(name)
    missing, notes, told, certain = int(answers.missing[at]), [], {}, False
    values = answers.values[at].without(missing_hash(questions.key))
    if name in questions.numeric:
        j = questions.numeric.index(name)
        infinite = int(answers.infinite[j])
        missing = int(moments.missing[j]) - infinite
        if infinite:
            notes.append(f"{infinite} infinite values: replace them")
        if moments.count[j] and not moments.std[j] > 0:
            notes.append("constant: nothing to hide by relative noise")
        run = answers.integers[questions.integers.index(name)] if name in questions.integers else None
        unique = _repetitions(run) if run is not None and moments.n_rows > 1 else []
        notes += unique
        if role is None and not unique:
            role = Role.SENSITIVE
        certain = bool(unique) and run is not None and run.certain
        told = number_facts(answers, j, bool(unique))
    if name in questions.texts:
        values = answers.texts[questions.texts.index(name)]
        told["identifying"] = bool(values.n_values > IDENTIFYING_SHARE * (moments.n_rows - missing))
        notes += ["hardly a repetition: an identifier?"] if told["identifying"] else []
    if name in questions.nearly:
        numbers, total = answers.numbers[questions.nearly.index(name)].tolist()
        if total and numbers > NEARLY * total:
            few = f"{total - numbers} of {total} values are not numbers"
            notes.append(few if numbers < total else "all values are numbers, as texts")
    notes += remarks.get(name, ())
    notes += [f"{value} {count:,} times: a missing value?" for value, count in codes.items()]
    notes += ["looks like a code"] if code else []
    notes += [f"perturbed in whole {unit_of(field.type)}s"] if _has_units(field.type) and undecided else []
    return ColumnFacts(
        name,
        str(kind),
        str(field.type),
        role and str(role),
        missing,
        "; ".join(notes),
        n_values=moments.n_rows if certain else values.n_values if values.exact else int(two_digits(values.n_values)),
        exact=certain or values.exact,
        code=code,
        missing_codes=dict(codes),
        **order_facts(questions, answers, name),
        **told,
    )


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
