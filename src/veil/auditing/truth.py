"""The private columns as numbers that guesses can be scored against: categories become codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.base import Guess
from veil.attacks.knowledge import PrivateTable
from veil.data.blocks import Matrix, to_float
from veil.data.schema import kind_of
from veil.release.models import NumberClasses
from veil.release.release import Release


@dataclass(frozen=True)
class Truth:
    """N × d private values; columns that are no numbers as codes of their sorted values.

    Attributes
    ----------
    values
        Numbers, or codes; missing values are NaN.
    columns
        Names of the columns.
    categories
        For each column its values in the order of the codes, or None for numbers.
    """

    values: Matrix
    columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]

    @classmethod
    def of(cls, table: pa.Table, columns: Sequence[str]) -> Truth:
        """The named columns of a table."""
        rows: list[npt.NDArray[np.float64]] = []
        listings: list[tuple[Any, ...] | None] = []
        for name in columns:
            array = table.column(name).combine_chunks()
            if pa.types.is_dictionary(array.type):
                array = array.cast(array.type.value_type)
            if kind_of(array.type).is_number:
                rows.append(np.array(to_float(array, name)))
                listings.append(None)
                continue
            known = sorted(v for v in pc.unique(array).to_pylist() if v is not None)
            codes = pc.index_in(array, value_set=pa.array(known, type=array.type)).fill_null(-1).to_numpy()
            rows.append(np.where(codes < 0, np.nan, codes).astype(np.float64))
            listings.append(tuple(known))
        return cls(np.column_stack(rows), tuple(columns), tuple(listings))

    def part(self, columns: Sequence[str]) -> Truth:
        """Some of the columns."""
        at = self.places(columns)
        return Truth(self.values[:, at], tuple(columns), tuple(self.categories[j] for j in at))

    def in_classes(self, classes: Mapping[str, NumberClasses]) -> Truth:
        """The same with the numbers of some columns as what their classes are released as."""
        if not classes:
            return self
        pairs = zip(self.columns, self.values.T, strict=True)
        numbers = [classes[name].numbered(column) if name in classes else column for name, column in pairs]
        return replace(self, values=np.column_stack(numbers))

    def places(self, columns: Sequence[str]) -> list[int]:
        """Where the named columns are."""
        return [self.columns.index(name) for name in columns]

    @property
    def categorical(self) -> npt.NDArray[np.bool_]:
        """Which columns are codes."""
        return np.array([listing is not None for listing in self.categories])

    def to_grant_from(
        self, *, outside: pa.Table | None = None, own_sample: bool = False, groups: tuple[str, ...] = ()
    ) -> PrivateTable:
        """These columns as knowledge is drawn from them."""
        return PrivateTable(self.values, self.columns, self.categorical, outside, own_sample, groups)

    def stated(self, guess: Guess, release: Release) -> Guess:
        """A guess of these columns in their numbers and codes, where it was made in codes of the release's own list."""
        listings = dict(zip(self.columns, self.categories, strict=True))
        values = guess.values.copy()
        for part in release.manifest.parts:
            categories = part.model.private_categories()
            if categories is None:
                continue
            for name, known in zip(part.names, categories, strict=True):
                if name not in listings or known is None:
                    continue
                listing, j = listings[name], self.columns.index(name)
                meaning = [
                    np.nan if v is None else float(v) if listing is None else listing.index(v) if v in listing else -1.0
                    for v in known
                ]
                stated = ~np.isnan(guess.values[:, j])
                values[stated, j] = np.array(meaning)[guess.values[stated, j].astype(np.intp)]
        stated_guess = replace(guess, values=values, without=None)
        return stated_guess.controlled_by(guess, lambda other: self.stated(other, release))

    def codes_in(self, release: Release) -> dict[int, npt.NDArray[np.float64]]:
        """For each column of codes that a release lists in another order: the release's code of each of these."""
        codes: dict[int, npt.NDArray[np.float64]] = {}
        for part in release.manifest.parts:
            for name, known in zip(part.names, part.model.private_categories() or (), strict=False):
                listing, j = self.categories[self.columns.index(name)], self.columns.index(name)
                if listing is not None and known is not None:
                    places = {value: float(i) for i, value in enumerate(known)}
                    codes[j] = np.array([places.get(value, -1.0) for value in listing])
        return codes
