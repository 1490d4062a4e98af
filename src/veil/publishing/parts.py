"""One perturbation on its columns, through both passes of a publication."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blocks import BLOCK_ROWS, Block, Matrix, to_float
from veil.data.groups import ConstantColumns
from veil.data.schema import Schema
from veil.errors import FileAccessError, InputError, listed
from veil.keys.key import Key, LedgerPart
from veil.keys.randomness import DIGEST
from veil.perturbations import GroupRows, Perturbation, Place
from veil.perturbations.driving import perturbed, released_arrays, released_fields, restored, scan_for
from veil.perturbations.layout import Noise
from veil.perturbations.scan import Summary
from veil.release.manifest import Part
from veil.release.models import model_from

Corrections = dict[str, tuple[list[int], list[int]]]
# Integers beyond this may come back off by one from a matrix product in float64.
ROUNDING_LIMIT = 2.0**44
Groups = dict[str, GroupRows]
"""The groups of a block's rows, by the column that names them."""
_PER_GROUP = (
    "the guarantee is for one value of a group in columns with one noise per group, and that these are constant in "
    "groups is outside it"
)


class FittedPart:
    """A perturbation and the columns it changes, on its way through both passes of a publication.

    First add up what ``scan`` says about every block and :meth:`fit`, then :meth:`arrays` block by block.

    Attributes
    ----------
    remarks
        What the owner should know about the fit.
    groups
        Its columns whose noise is one per group, with the columns of the groups.
    """

    def __init__(self, perturbation: Perturbation, columns: Sequence[str], key: Key, consistent_on: str | None) -> None:
        self.perturbation: Perturbation = perturbation.unfitted()
        self.columns = list(columns)
        self.remarks: tuple[str, ...] = ()
        self.groups: dict[str, str] = {}
        self._key, self._consistent_on = key, consistent_on
        self.scan = scan_for(self.perturbation, self.columns, key.derive("fingerprint"))

    def fit(self, total: Summary | None, schema: pa.Schema, constant: ConstantColumns) -> LedgerPart:
        """Fit the perturbation from the first pass: what the ledger keeps of it."""
        p, result = self.perturbation, self.scan.result(total)
        self._digests = b"" if total is None else total.digests
        p.feature_names_in_ = np.array(self.columns, dtype=object)
        self.groups = self._grouped(constant)
        self.remarks = (*p.fit_scan(self.columns, result, self._key, self._fixed()), *self._of_groups(constant))
        self.n_missing = 0 if p.layout.missing_is_category else int(result.moments.missing.sum())
        self.n_missing += p.model_.n_suppressed
        self.fields = released_fields(p, self.columns, schema)
        self._least = result.moments.minimum
        reach = np.maximum(np.abs(result.moments.minimum), np.abs(result.moments.maximum))
        mixes = p.invertible(consistent=self._consistent_on is not None) and not p.layout.passes_missing
        self._large = [
            j
            for j, name in enumerate(self.columns)
            if mixes and pa.types.is_integer(schema.field(name).type) and reach[j] > ROUNDING_LIMIT
        ]
        model = p.model_
        self.ledger_part = LedgerPart(
            p.method_name(),
            p.settings(),
            model.ledger_json(),
            self.columns,
            result.fingerprint,
            model.recorded_name(),
            self.groups,
        )
        return self.ledger_part

    def _grouped(self, constant: ConstantColumns) -> dict[str, str]:
        """Columns whose noise is one per group, with the columns of the groups."""
        layout = self.perturbation.layout
        groups = layout.per_group(self.columns, constant.groups)
        crossing = constant.crossing(groups.values()) if layout.noise is Noise.RECORD else None
        if crossing is not None:
            names = [listed([n for n, group in groups.items() if group == each]) for each in crossing]
            raise InputError(
                f"column {names[0]} is constant in the groups of {crossing[0]!r} and {names[1]} in those of "
                f"{crossing[1]!r}, neither of which are within the other: noise that correlates cannot be one per "
                "group of both; put one of them into a part of its own"
            )
        return groups

    def _of_groups(self, constant: ConstantColumns) -> list[str]:
        """What the owner should know about columns that are constant within groups."""
        remarks = []
        for group in dict.fromkeys(self.groups.values()):
            names = [name for name, each in self.groups.items() if each == group]
            remarks.append(
                f"Column {listed(names)}: constant within every group of {group!r}, so the noise is one per group, and "
                "members cannot be averaged."
            )
        left = [n for n in self.columns if n in constant.groups and n not in self.groups]
        if left and self.perturbation.layout.addressed:
            remarks.append(
                f"Column {listed(left)}: constant within groups, but has noise of its own in every record, which "
                "members average; put such columns into a part of their own, with a method that adds noise to single "
                "cells."
            )
        return remarks

    @property
    def released(self) -> list[str]:
        """Names of the columns that it makes."""
        return [field.name for field in self.fields]

    def least(self, name: str) -> float:
        """The least private value of a column."""
        return float(self._least[self.columns.index(name)])

    def rename(self, names: Sequence[str]) -> None:
        """Give the new columns other names."""
        self.fields = [pa.field(name, f.type) for name, f in zip(names, self.fields, strict=True)]

    def _fixed(self) -> dict[str, Any]:
        """With ``consistent_on``, a column's parameters are fixed at its first publication."""
        fixed: dict[str, Any] = {}
        if self._consistent_on is None:
            return fixed
        method, settings = self.perturbation.method_name(), self.perturbation.settings()
        for entry in self._key.ledger:
            for part in entry.parts:
                if (part.method, part.settings, entry.consistent_on) == (method, settings, self._consistent_on):
                    model = model_from(part.parameters, method=method, name=part.model)
                    for j, name in enumerate(part.columns):
                        fixed.setdefault(name, model.column(j))
        return fixed

    def public_part(self, private: Schema) -> Part:
        """The part as the world may know it."""
        columns = {c.name: c for c in private.columns}
        p = self.perturbation
        promised = not self._key.seeded and self._consistent_on is None
        guarantee = p.guarantee() if promised else "none"
        if self.groups and guarantee != "none":
            guarantee = f"{guarantee}; {_PER_GROUP}"
        return Part(
            method=self.ledger_part.method,
            catalogue=p.catalogue_id(),
            model=p.model_,
            columns=tuple(columns[n] for n in self.columns),
            released=tuple(self.released),
            guarantee=guarantee,
            groups=dict(self.groups),
        )

    def arrays(
        self, block: Block, ids: npt.NDArray[np.uint8] | None, groups: Groups
    ) -> tuple[dict[str, pa.Array], Corrections]:
        """The released columns of one block, by name, and where restoring them would be off."""
        read, p = self._read(block), self.perturbation
        place = place_of(self.ledger_part, block.start, groups, ids if p.layout.addressed else None)
        arrays = released_arrays(p, self.columns, self.fields, read, place)
        corrections: Corrections = {}
        if self._large:
            released = np.array([to_float(a, name) for a, name in zip(arrays, self.released, strict=True)])
            corrections = self._corrections(read, released, place)
        return dict(zip(self.released, arrays, strict=True)), corrections

    def _read(self, block: Block) -> Any:
        """The block's columns, which must be what the first pass read: noise addressed by one table meets no other."""
        read = self.scan.read(block)
        size = DIGEST * len(self.columns)
        at = block.start // BLOCK_ROWS * size
        if self.scan.digests(read) != self._digests[at : at + size]:
            raise FileAccessError(
                f"rows {block.start:,} to {block.start + block.n_rows:,} of the table changed between the first "
                "and the second reading; start again once nobody writes to it"
            )
        return read

    @property
    def corrects(self) -> bool:
        """Whether some integers are so large that restoring them needs corrections."""
        return bool(self._large)

    def share(self, block: Block) -> Matrix:
        """A block's share in a release of sums over records."""
        values: Matrix = perturbed(
            self.perturbation, self._read(block), Place(self.ledger_part.fingerprint, block.start)
        )
        return values

    def _corrections(self, private: Matrix, released: Matrix, place: Place) -> Corrections:
        """For the key: where rounding would bring a large integer back wrong, and by how much."""
        back = restored(self.perturbation, released, place)
        corrections: Corrections = {}
        for j in self._large:
            difference = private[j] - np.rint(back[j])
            wrong = np.flatnonzero(difference)
            corrections[self.columns[j]] = ((place.start + wrong).tolist(), difference[wrong].astype(int).tolist())
        return corrections


def place_of(part: LedgerPart, start: int, groups: Groups, ids: npt.NDArray[np.uint8] | None = None) -> Place:
    """Where the noise of a part's block is."""
    rows = {part.columns.index(name): groups[group] for name, group in part.groups.items()}
    return Place(part.fingerprint, start, ids, rows)


def released_columns(methods: Sequence[Perturbation]) -> list[list[str]]:
    """Names of the columns that the parts of a release make; the same method's later parts are counted on."""
    n_released: dict[str, int] = {}
    names = []
    for method in methods:
        released, first = method.released_names(method.column_names()), n_released.get(method.method_name(), 0)
        if first and not method.layout.passes_missing and not set(released) & set(method.column_names()):
            released = [f"{type(method).__name__.lower()}{first + i}" for i in range(len(released))]
        n_released[method.method_name()] = first + len(released)
        names.append(released)
    return names
