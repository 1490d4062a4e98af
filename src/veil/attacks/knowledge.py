"""What an attacker may be granted beside the release and its manifest.

Knowledge is all that an attack sees apart from the release. The audit grants it from the
private table under a seed; a red team grants what it really has.

The noise law in the manifest counts as known without a grant; columns are in the order of
the manifest's private columns, values in the private table's units.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import Matrix
from veil.data.sources import as_table
from veil.errors import InputError
from veil.numerics.laws import check_law

LARGEST = 1e140
"""Beyond this, squares and their sums leave float64."""


class Knowledge:
    """Base of everything an attacker may be granted. Its repr tells sizes, not values."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.describe()}>"

    @classmethod
    def option(cls) -> str:
        """The option of the command line that grants it.

        >>> KnownPairs.option()
        '--known-pairs'
        """
        return "--" + re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()

    def describe(self) -> str:
        """What is known, in a few words."""
        return type(self).__name__


class KnownPairs(Knowledge):
    """Records whose private values *and* row in the release are known.

    Parameters
    ----------
    records
        k × d private values.
    rows
        The k rows of the release that belong to them.
    """

    def __init__(self, records: Any, rows: Sequence[int] | npt.NDArray[np.integer[Any]]) -> None:
        self.records = as_records(records, "records")
        given = _numbers(rows, "rows")
        if given.dtype.kind not in "iu" and given.size:
            raise InputError("rows must be whole numbers: rows of the release, counted from 0")
        self.rows = given.astype(np.intp)
        if self.rows.shape != (len(self.records),):
            raise InputError(f"rows must have one entry per known record ({len(self.records)}); got {self.rows.shape}")
        if len(np.unique(self.rows)) != len(self.rows):
            raise InputError("rows names a row of the release more than once; each known record has its own row")
        if len(self.rows) and self.rows.min() < 0:
            raise InputError("rows must be counted from 0; a negative row was given")

    def describe(self) -> str:
        """The number of known records."""
        return f"{len(self.rows)} known record{'s' if len(self.rows) != 1 else ''} with their rows"


class KnownRecords(Knowledge):
    """Private values of some records of the release, without knowing which rows are theirs.

    Parameters
    ----------
    records
        k × d private values.
    """

    def __init__(self, records: Any) -> None:
        self.records = as_records(records, "records")

    def describe(self) -> str:
        """The number of known records."""
        return f"{len(self.records)} known record{'s' if len(self.records) != 1 else ''} without their rows"


class KnownSample(Knowledge):
    """An independent sample of the population that the private table was drawn from."""

    def __init__(self, sample: Any) -> None:
        self.sample = as_records(sample, "sample")

    def describe(self) -> str:
        """The sample's size."""
        return f"a sample of {len(self.sample)} records of the same population"


class KnownNoise(Knowledge):
    """The law of the noise, where a release's manifest does not say it.

    Parameters
    ----------
    covariance
        d × d covariance of the noise, or the d variances of independent noise.
    distribution
        Its name: normal, uniform or laplace.
    """

    def __init__(self, covariance: Any, distribution: str = "normal") -> None:
        matrix = _numbers(covariance, "covariance").astype(np.float64)
        check_law(distribution)
        if matrix.ndim == 1:
            matrix = np.diag(matrix)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            raise InputError(f"covariance must be d variances or a finite d × d matrix; got shape {matrix.shape}")
        if not np.array_equal(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] < -1e-12 * np.abs(matrix).max():
            raise InputError("covariance must be symmetric, with no negative variance in any direction")
        self.covariance = matrix
        self.distribution = distribution

    def describe(self) -> str:
        """The law's name."""
        return f"the {self.distribution} law of the noise"


class KnownAttributes(Knowledge):
    """Attributes of every record that are known exactly.

    Parameters
    ----------
    columns
        Their names. A private column of the release by its name, anything else as a covariate.
    values
        N × k values, one row per row of the release and in its order.
    """

    def __init__(self, columns: Sequence[str] | str, values: Any) -> None:
        self.columns = (columns,) if isinstance(columns, str) else tuple(columns)
        if len(self.columns) == 1 and not isinstance(values, str) and np.ndim(values) == 1:
            values = _numbers(values, "values")[:, None]
        self.values = as_records(values, "values")
        if not self.columns or self.values.shape[1] != len(self.columns):
            raise InputError(
                f"values must have one column per known attribute ({len(self.columns)}); got {self.values.shape[1]}"
            )
        if len(set(self.columns)) != len(self.columns):
            raise InputError("columns names an attribute more than once; each has one column of values")

    def describe(self) -> str:
        """How many attributes of how many records."""
        return f"{len(self.columns)} attribute{'s' if len(self.columns) != 1 else ''} of {len(self.values)} records"


class ExternalTable(Knowledge):
    """A table from elsewhere about people some or all of whom are in the release, such as a register.

    Parameters
    ----------
    table
        A frame, Arrow table, dict of columns, file path or 2-D array; one row per person. Columns that the release also
        has, by name, are compared with it: its private columns and its public ones. They may hold numbers, texts, or
        true and false; a missing value says nothing.
    columns
        Names of the columns of an array.
    """

    def __init__(self, table: Any, columns: Sequence[str] | None = None) -> None:
        try:
            found = as_table(pa.table(table) if isinstance(table, dict) else table).read()
        except (pa.ArrowException, TypeError):
            raise InputError("table must be a frame, a dict of columns of one length, a file or a 2-D array") from None
        if columns is not None:
            if len(columns) != found.num_columns or len(set(columns)) != len(columns):
                raise InputError(f"columns must name each of the table's {found.num_columns} columns once")
            found = found.rename_columns(list(columns))
        if not found.num_rows:
            raise InputError("table has no rows; it needs at least one person")
        self.table = found

    def describe(self) -> str:
        """The table's size."""
        return f"an external table of {self.table.num_rows} people and {self.table.num_columns} columns"


class KnownMatrix(Knowledge):
    """The secret matrix of a linear method, disclosed.

    Parameters
    ----------
    matrix
        k × d, as applied: a released record is ``matrix @ (x / unit)`` (with records projected, k × N).
    """

    def __init__(self, matrix: Any) -> None:
        found = _numbers(matrix, "matrix").astype(np.float64)
        if found.ndim != 2 or not found.size or not (np.abs(found) <= LARGEST).all():
            raise InputError(
                f"matrix must be a finite k × d array of entries within ±{LARGEST:g}; got shape {found.shape}"
            )
        self.matrix = found

    def describe(self) -> str:
        """The matrix's shape."""
        return f"the secret matrix ({self.matrix.shape[0]} × {self.matrix.shape[1]})"


class KnownRanges(Knowledge):
    """The least and the greatest value that each private column can have.

    Parameters
    ----------
    lower, upper
        d numbers each, or one for all columns.
    """

    def __init__(self, lower: Any, upper: Any) -> None:
        low, high = (np.atleast_1d(_numbers(v, n)).astype(np.float64) for v, n in ((lower, "lower"), (upper, "upper")))
        try:
            self.lower, self.upper = (np.array(part) for part in np.broadcast_arrays(low, high))
        except ValueError:
            self.lower = np.empty((0, 0))
        if self.lower.ndim != 1 or not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            raise InputError("lower and upper must be one finite number per private column, or one for all")
        wrong = int((self.lower > self.upper).sum())
        if wrong:
            raise InputError(f"lower must not be above upper; it is in {wrong} column(s): are the two rows swapped?")

    def describe(self) -> str:
        """That ranges are known."""
        return "the range of each column"

    def for_columns(self, d: int) -> tuple[Matrix, Matrix]:
        """Lower and upper limits of ``d`` columns."""
        if len(self.lower) not in (1, d):
            raise InputError(f"KnownRanges has {len(self.lower)} ranges; the private table has {d} perturbed columns")
        return np.broadcast_to(self.lower, d).copy(), np.broadcast_to(self.upper, d).copy()


class IndependentSignals(Knowledge):
    """The private columns are statistically independent of each other, and at most one is normal."""

    def describe(self) -> str:
        """That columns are independent."""
        return "that the columns are independent signals"


class TimeOrder(Knowledge):
    """The records' order in time.

    Parameters
    ----------
    order
        Rows of the release from the earliest to the latest; None when the release is in time order.
    """

    def __init__(self, order: Any = None) -> None:
        self.order = None if order is None else np.asarray(order)
        if self.order is not None:
            if self.order.ndim != 1 or self.order.dtype.kind not in "iu":
                raise InputError("order must be a list of whole numbers: rows of the release, earliest first")
            if not np.array_equal(np.sort(self.order), np.arange(len(self.order))):
                raise InputError("order must name every row of the release once, counted from 0")

    def describe(self) -> str:
        """That the order is known."""
        return "the records' order in time"


def as_records(data: Any, parameter: str) -> Matrix:
    """Numbers granted to an attacker as an n × d float64 array without missing values."""
    if isinstance(data, list | tuple):
        data = _numbers(data, parameter)
    if isinstance(data, np.ndarray) and data.ndim == 1:
        data = data[None, :]
    try:
        table = as_table(data)
    except InputError as error:
        raise InputError(f"{parameter}: {error}") from None
    names = table.numeric()
    if len(names) != len(table.schema.names):
        raise InputError(f"{parameter} must hold numbers only; leave out its text columns")
    blocks = [block.matrix(names) for block in table.blocks()]
    array = np.ascontiguousarray(np.hstack(blocks).T) if blocks else np.empty((0, len(names)))
    bad = (~np.isfinite(array)).sum(axis=0)
    if bad.any():
        column = names[int(np.argmax(bad))]
        raise InputError(
            f"{parameter} has {int(bad.sum())} missing or infinite values (column {column!r} first); leave out or "
            "complete those rows"
        )
    huge = int((np.abs(array) > LARGEST).sum())
    if huge:
        raise InputError(
            f"{parameter} has {huge} values beyond ±{LARGEST:g}, which cannot be squared; rescale the columns"
        )
    return array


def _numbers(data: Any, parameter: str) -> npt.NDArray[Any]:
    """An array of numbers, or an error that quotes none of them."""
    try:
        array = np.asarray(data)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{parameter} must hold numbers only, in rows of one length")
    return array


def select_columns(data: Any, names: Sequence[str], parameter: str) -> pa.Table:
    """The named columns of a frame or file, in that order, or an error that lists the absent ones."""
    table = as_table(data)
    absent = [name for name in names if name not in table.schema.names]
    if absent:
        raise InputError(f"{parameter} lacks column {absent[0]!r} of the release's private columns")
    return table.read(list(names))
