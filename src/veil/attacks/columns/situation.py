"""What is known of some private columns behind a secret matrix, and what is open: for A9 and A31."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from veil.attacks.base import Ambiguity, Details, Guess, check_rows, check_width, full_guess, granted
from veil.attacks.columns.remainder import Remainder, Turned
from veil.attacks.knowledge import Knowledge, KnownAttributes, KnownPairs, KnownRanges, KnownSample
from veil.data.blocks import Matrix
from veil.errors import InputError, NotApplicableError
from veil.release.release import Release

_ROUNDED: Final = 0.05
"""By how much, at most, two digits of a number miss it."""


class Columns:
    """The release, which columns are known and which are not, and what else is known, in transformed units."""

    beside: tuple[Matrix, Matrix] | None = None
    """Public numbers of the release's records and of the sample's, which line the two up as known columns do."""
    axes: Matrix | None = None
    """Directions (k × c) along which the release shows columns that are not named yet."""

    def __init__(self, release: Release, attributes: KnownAttributes | None, knowledge: Sequence[Knowledge]) -> None:
        self.release, self.model, self.names = release, release.only_part.model, release.only_part.names
        self.y, self.unit = release.to_numpy(), np.asarray(getattr(self.model, "unit", np.ones(len(self.names))))
        told: tuple[str, ...] = () if attributes is None else attributes.columns
        values = np.empty((len(self.y), 0)) if attributes is None else attributes.values
        if len(values) != len(self.y):
            raise InputError(f"KnownAttributes has {len(values)} records; the release has {len(self.y)}")
        self.at = np.array([j for j, name in enumerate(self.names) if name in told], dtype=np.intp)
        if attributes is not None and not len(self.at):
            raise NotApplicableError("none of the known attributes is a private column of this release")
        if len(self.y) <= len(self.names) + 1:
            raise NotApplicableError(f"{len(self.y)} records do not show the matrix of {len(self.names)} columns")
        self.open = np.setdiff1d(np.arange(len(self.names)), self.at)
        self.exact = values[:, [told.index(self.names[j]) for j in self.at]]
        self.known = self.exact / self.unit[self.at]
        pairs, sample = granted(knowledge, KnownPairs), granted(knowledge, KnownSample)
        ranges = granted(knowledge, KnownRanges)
        self.rows, self.records, self.sample, self.limits = None, None, None, None
        if pairs is not None and len(pairs.rows):
            check_width(pairs.records, release, "KnownPairs.records")
            check_rows(pairs.rows, len(self.y))
            self.rows, self.records = pairs.rows, pairs.records / self.unit
        if sample is not None and len(sample.sample) > 1:
            check_width(sample.sample, release, "KnownSample.sample")
            self.sample = sample.sample / self.unit
        if ranges is not None:
            self.limits = np.column_stack(ranges.for_columns(len(self.names))) / self.unit[:, None]

    def remainder(self, r: Matrix, *, origin: bool, determinant: int | None) -> Remainder:
        """The unknown columns' share of the release, with what is known of them."""
        known, sampled = self.known, None if self.sample is None else self.sample[:, self.at]
        if self.beside is not None and sampled is not None:
            known, sampled = np.hstack([known, self.beside[0]]), np.hstack([sampled, self.beside[1]])
        return Remainder(
            r=r,
            known=known,
            names=tuple(self.names[j] for j in self.open),
            spreads=self.spreads(r),
            origin=origin,
            determinant=determinant,
            rows=self.rows,
            records=None if self.records is None else self.records[:, self.open],
            limits=None if self.limits is None else self.limits[self.open],
            sample=None if self.sample is None or sampled is None else (sampled, self.sample[:, self.open]),
        )

    def spreads(self, r: Matrix) -> Matrix | None:
        """Limits of the unknown columns' standard deviations in their units, which are two digits of them.

        Units of 1 may be none. A rotation keeps the sum of variances, which shows whether they are.
        """
        limits = np.tile([1.0 - _ROUNDED, 1.0 + _ROUNDED], (len(self.open), 1))
        total, (least, most) = r.var(axis=0).sum(), (limits**2).sum(axis=0)
        return limits if np.any(self.unit != 1.0) or least <= total <= most else None

    def guess(self, turned: Turned, details: Details, *, scale: bool = True) -> Guess:
        """The known columns as known, the others as they were turned back."""
        up_to = (() if turned.order else ("order",)) + (() if turned.sign else ("sign",))
        if not (scale and turned.origin):
            up_to = ("order", "sign", "scale")
        values = np.empty((len(self.y), len(self.names)))
        values[:, self.at], values[:, self.open] = self.known, turned.values
        units = None
        if "order" in up_to and "scale" not in up_to and np.ptp(self.unit) > 0:
            units = self.unit
        else:
            values = values * self.unit
            values[:, self.at] = self.exact
        ambiguity = Ambiguity(", ".join(up_to) or "none")
        return full_guess(self.release, values, details, ambiguity=ambiguity, up_to=up_to, units=units)
