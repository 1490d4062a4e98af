"""One perturbation on its columns, through both passes of a publication."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import clone

from veil.data.blocks import BLOCK_ROWS, Block, Matrix
from veil.data.schema import Schema
from veil.errors import FileAccessError
from veil.keys.key import Key, LedgerPart
from veil.keys.randomness import DIGEST
from veil.perturbations import Perturbation, Place, find_perturbation
from veil.perturbations.scan import Summary
from veil.release.manifest import Part as PublicPart
from veil.release.models import model_from

Corrections = dict[str, tuple[list[int], list[int]]]
# Integers beyond this may come back off by one from a matrix product in float64.
ROUNDING_LIMIT = 2.0**44


class Part:
    """A perturbation and the columns it changes.

    First add up what ``scan`` says about every block and :meth:`fit`, then :meth:`arrays` block by block.
    """

    def __init__(self, perturbation: Perturbation, columns: Sequence[str], key: Key, consistent_on: str | None) -> None:
        self.perturbation: Perturbation = clone(perturbation)
        self.columns = list(columns)
        self._key, self._consistent_on = key, consistent_on
        self.scan = self.perturbation.new_scan(self.columns, key.derive("fingerprint"))

    def fit(self, total: Summary | None, schema: pa.Schema) -> LedgerPart:
        """Fit the perturbation from the first pass: what the ledger keeps of it."""
        p, result = self.perturbation, self.scan.result(total)
        self._digests = b"" if total is None else total.digests
        p.feature_names_in_ = np.array(self.columns, dtype=object)
        p.fit_scan(self.columns, result, self._key, self._kept())
        randomized = p.takes == "categories" and getattr(p, "missing", None) == "category"
        self.n_missing = 0 if randomized else int(result.moments.missing.sum())
        self.released = p.released_names(self.columns)
        self.fields = p.released_fields(self.columns, schema)
        reach = np.maximum(np.abs(result.moments.minimum), np.abs(result.moments.maximum))
        back = p.invertible(consistent=self._consistent_on is not None)
        self._large = [
            j
            for j, name in enumerate(self.columns)
            if back
            and not p.element_wise
            and pa.types.is_integer(schema.field(name).type)
            and reach[j] > ROUNDING_LIMIT
        ]
        self.ledger_part = LedgerPart(p.method_name(), p.settings(), p.disclose(), self.columns, result.fingerprint)
        return self.ledger_part

    def renumber(self, first: int) -> None:
        """Count the made columns from ``first`` on, where another part of the same method has the earlier numbers."""
        p = self.perturbation
        if not p.element_wise and first and self.released != self.columns:
            self.released = [f"{type(p).__name__.lower()}{first + i}" for i in range(len(self.released))]
            self.fields = [pa.field(name, f.type) for name, f in zip(self.released, self.fields, strict=True)]

    def _kept(self) -> dict[str, Any]:
        """With ``consistent_on``, a column's parameters are fixed at its first publication."""
        kept: dict[str, Any] = {}
        if self._consistent_on is None:
            return kept
        method, settings = self.perturbation.method_name(), self.perturbation.settings()
        for entry in self._key.ledger:
            for part in entry.parts:
                if (part.method, part.settings, entry.consistent_on) == (method, settings, self._consistent_on):
                    earlier = find_perturbation(method).rebuild(part, self._key)
                    with suppress(NotImplementedError):  # a method that has nothing to keep
                        for j, name in enumerate(part.columns):
                            kept.setdefault(name, earlier.column_parameters(j))
        return kept

    def public_part(self, private: Schema) -> PublicPart:
        """The part as the world may know it."""
        columns = {c.name: c for c in private.columns}
        p = self.perturbation
        return PublicPart(
            method=self.ledger_part.method,
            catalogue=p.catalogue_id(),
            model=model_from(self.ledger_part.parameters, method=self.ledger_part.method),
            columns=tuple(columns[n] for n in self.columns),
            released=tuple(self.released),
            guarantee=p.formal_guarantee(consistent=self._consistent_on is not None),
        )

    def arrays(self, block: Block, ids: npt.NDArray[np.uint8] | None) -> tuple[dict[str, pa.Array], Corrections]:
        """The released columns of one block, by name, and where restoring them would be off."""
        self._check_unchanged(block)
        p = self.perturbation
        place = Place(self.ledger_part.fingerprint, block.start, ids if p.addressed else None)
        arrays = p.released_arrays(block, self.columns, place)
        corrections: Corrections = {}
        if self._large:
            released = np.array([a.to_numpy(zero_copy_only=False) for a in arrays], dtype=np.float64)
            corrections = self._corrections(p.encoded(block, self.columns), released, place)
        return dict(zip(self.released, arrays, strict=True)), corrections

    def _check_unchanged(self, block: Block) -> None:
        """The block must be what the first pass saw: noise that is addressed by one table must not meet another."""
        size = DIGEST * len(self.columns)
        at = block.start // BLOCK_ROWS * size
        if self.scan.digests(block) != self._digests[at : at + size]:
            raise FileAccessError(
                f"rows {block.start:,} to {block.start + block.n_rows:,} of the table changed between the first "
                "and the second reading; start again once nobody writes to it"
            )

    @property
    def corrects(self) -> bool:
        """Whether some integers are so large that restoring them needs corrections."""
        return bool(self._large)

    def share(self, block: Block) -> Matrix:
        """A block's share in a release of sums over records."""
        self._check_unchanged(block)
        return self.perturbation.perturb_block(
            self.perturbation.encoded(block, self.columns), Place(self.ledger_part.fingerprint, block.start)
        )

    def _corrections(self, private: Matrix, released: Matrix, place: Place) -> Corrections:
        """For the key: where rounding would bring a large integer back wrong, and by how much."""
        back = self.perturbation.restore_block(released, place)
        found: Corrections = {}
        for j in self._large:
            difference = private[j] - np.rint(back[j])
            wrong = np.flatnonzero(difference)
            found[self.columns[j]] = ((place.start + wrong).tolist(), difference[wrong].astype(int).tolist())
        return found
