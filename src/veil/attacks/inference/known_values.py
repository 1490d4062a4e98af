"""What is known of people as it stands, and which conditions on it hold (A23).

*Known* are all columns of an :class:`~veil.attacks.knowledge.ExternalTable`; without one, of the released rows, the
columns that are released unchanged, and KnownAttributes. Numbers, and true and false as 1 and 0, are compared as
numbers, all else as texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.base import granted
from veil.attacks.inference.columns import as_numbers, released_array
from veil.attacks.knowledge import ExternalTable, Knowledge, KnownAttributes
from veil.attacks.knowledge.base import number_classes
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.results import Condition
from veil.attacks.results.forms import as_number, as_text
from veil.data.blocks import Vector, one_array
from veil.data.schema import Kind, kind_of
from veil.errors import InputError
from veil.release.release import Release

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Values:
    """A known column: numbers (NaN for missing), or texts (null for missing)."""

    name: str
    numbers: Vector | None = None
    texts: pa.Array | None = None

    @property
    def known(self) -> Mask:
        """Of whom it is known."""
        if self.numbers is not None:
            return ~np.isnan(self.numbers)
        return np.asarray(pc.is_valid(self.texts).to_numpy(zero_copy_only=False), dtype=np.bool_)

    def holds(self, condition: Condition) -> Mask:
        """Of whom a condition is known to hold."""
        if self.numbers is not None:
            if condition.equal is not None:
                wanted = as_number(condition.equal)
                if np.isnan(wanted):
                    raise InputError(
                        f"results: column {self.name!r} is compared with a text, and what is known of it are numbers; "
                        "write a number, or an interval ('within')"
                    )
                return np.asarray(self.numbers == wanted)
            return np.asarray((self.numbers >= condition.low) & (self.numbers <= condition.high))
        if condition.equal is None:
            raise InputError(
                f"results: column {self.name!r} is compared with an interval, and what is known of it are texts; "
                "write a category ('is')"
            )
        equal = pc.equal(self.texts, as_text(condition.equal)).fill_null(False)
        return np.asarray(equal.to_numpy(zero_copy_only=False), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class KnownPeople:
    """What is known of n people, by column; ``of_people``: those of a table, and not the released rows."""

    columns: Mapping[str, Values]
    n: int
    of_people: bool

    def holds(self, condition: Condition) -> tuple[Mask, Mask]:
        """Of whom a condition holds, and of whom that is known."""
        column = self.columns.get(condition.column)
        if column is None:
            nobody = np.zeros(self.n, dtype=np.bool_)
            return nobody, nobody
        return column.holds(condition), column.known


def known_people(release: Release, knowledge: Sequence[Knowledge]) -> KnownPeople:
    """What is known of the people of a table or, without one, of the released rows."""
    external = granted(knowledge, ExternalTable)
    if external is not None:
        arrays = {name: one_array(external.table.column(name)) for name in external.table.column_names}
        return KnownPeople(_values(arrays), external.table.num_rows, of_people=True)
    n = count_rows(release)
    columns = _values({column.name: released_array(release, column.name) for column in release.manifest.public})
    attributes = granted(knowledge, KnownAttributes)
    if attributes is not None:
        if len(attributes.values) != n:
            raise InputError(f"KnownAttributes has {len(attributes.values)} records; the release has {n}")
        classes = number_classes(release.manifest.parts)
        listings = {name: known for name, known in categories_of(release).items() if name not in classes}
        for name, values in zip(attributes.columns, attributes.values.T, strict=True):
            columns[name] = _decoded(name, values, listings.get(name))
    return KnownPeople(columns, n, of_people=False)


def categories_of(release: Release) -> dict[str, Sequence[object]]:
    """The categories of private columns that are guessed in codes, in their order."""
    return {
        name: categories
        for part in release.manifest.parts
        for name, categories in zip(part.names, part.model.private_categories() or (), strict=False)
        if categories is not None
    }


def _values(arrays: Mapping[str, pa.Array]) -> dict[str, Values]:
    columns = {}
    for name, array in arrays.items():
        kind = kind_of(array.type)
        if kind.is_number or kind is Kind.BOOLEAN:
            columns[name] = Values(name, as_numbers(array, name))
        elif kind is not Kind.OTHER:
            columns[name] = Values(name, texts=array.cast(pa.string()))
    return columns


def _decoded(name: str, values: Vector, categories: Sequence[object] | None) -> Values:
    """A known attribute; one that is given in codes of categories as these."""
    if categories is None:
        return Values(name, values)
    at = values.astype(np.intp)
    if not ((at == values) & (at >= 0) & (at < len(categories))).all():
        raise InputError(
            f"KnownAttributes: column {name!r} must hold codes of its {len(categories)} categories, from 0"
        )
    return _values({name: pa.array(list(categories)).take(pa.array(at))})[name]
