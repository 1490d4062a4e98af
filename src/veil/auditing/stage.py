"""The stage of an audit: releases made with fresh keys, and knowledge dealt from the private table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.auditing.grants import ASSUMPTIONS, Deal, Grants, Level, Rows, deal
from veil.auditing.truth import Truth, narrowed
from veil.blocks import Matrix
from veil.errors import InputError
from veil.key import Key
from veil.knowledge import Knowledge, KnownMatrix
from veil.perturbations import Perturbation, find_perturbation
from veil.plan import Plan, as_plan, resolve
from veil.publication import publish
from veil.release import Release
from veil.schema import check_known_columns
from veil.sources import as_table
from veil.tables import MemoryTable


@dataclass(frozen=True)
class Exposure:
    """One release under attack: which private rows it holds, and what the attacker was dealt."""

    release: Release
    kept: Rows
    deal: Deal
    leaked: tuple[Matrix | None, ...] = ()

    def knowledge(self, part: int, at: Sequence[int], d: int) -> tuple[Knowledge, ...]:
        """What the attacker knows about one part of the release, whose columns are ``at`` among d."""
        known = narrowed(self.deal.knowledge, at, d)
        matrix = self.leaked[part] if self.leaked else None
        return known if matrix is None else (KnownMatrix(matrix), *known)


class Stage:
    """The private table, its roles, and everything that is drawn for an audit.

    Parameters
    ----------
    table, roles
        As for :func:`veil.publish`.
    perturbations
        The candidates; they must perturb the same columns.
    grants
        The knowledge levels.
    seed
        Fixes keys and deals; None draws them afresh.
    """

    def __init__(
        self,
        table: Any,
        perturbations: Sequence[Perturbation | Plan],
        *,
        roles: Mapping[str, str],
        grants: Grants,
        seed: int | None,
    ) -> None:
        self._table: pa.Table = as_table(table).read()
        self._grants, self._seed = grants, seed
        source = MemoryTable(self._table)
        schemas = [resolve(source, as_plan(p), roles).schema for p in perturbations]
        self.columns, self.public = schemas[0].perturbed, schemas[0].public
        if any(schema.perturbed != self.columns for schema in schemas):
            raise InputError("perturbations change different columns; audit them one by one, or give roles")
        # Roles as resolved on the whole table: a part of it may look different.
        self._roles = {column.name: str(column.role) for column in schemas[0].columns}
        n_rows = self._table.num_rows
        if n_rows < 4:
            raise InputError(f"the table has {n_rows} rows; an audit needs at least 4")
        self.private = Truth.of(self._table, self.columns)
        self.truth: Matrix = self.private.values
        self.levels = grants.levels(n_rows)

    def _with_lesser(self, dealt: Deal, rng: np.random.Generator) -> Deal:
        """Whoever has the matrix may also hold the smallest sample and the ranges that the audit grants."""
        samples = [level for level in self.levels if level.kind == "sample"][:1]
        for level in [*samples, *(level for level in self.levels if level.kind == "ranges")]:
            more = deal(level, self.truth, rng, sample_from=self._grants.sample_from)
            known = tuple(item for item in more.knowledge if item not in ASSUMPTIONS)
            withheld, given = np.union1d(dealt.withheld, more.withheld), np.union1d(dealt.given, more.given)
            dealt = Deal((*known, *dealt.knowledge), withheld.astype(np.intp), given.astype(np.intp))
        return dealt

    @property
    def records_known(self) -> bool:
        """Whether a known sample is of the release's own records."""
        return self._grants.sample_from == "table"

    def labels(self, target: str | None) -> npt.NDArray[np.str_] | None:
        """The values of a public column that analysts want to predict."""
        if target is None:
            return None
        check_known_columns([target], self._table.column_names, "target")
        if target not in self.public:
            raise InputError(f"target {target!r} must have the role public, so that the analyst has it too")
        return np.array([str(value) for value in self._table.column(target).to_pylist()])

    def expose(self, perturbation: Perturbation | Plan, candidate: int, level: Level, repetition: int) -> Exposure:
        """Deal one level's knowledge and publish the table with a fresh key."""
        address = [candidate, self.levels.index(level), repetition]
        entropy = None if self._seed is None else [self._seed, *address[1:]]
        rng = np.random.default_rng(entropy)
        dealt = deal(level, self.truth, rng, sample_from=self._grants.sample_from)
        if level.kind == "matrix":
            dealt = self._with_lesser(dealt, rng)
        kept = np.delete(np.arange(len(self.truth)), dealt.withheld)
        # These releases stay here: their guarantee is what the owner's would be, with a secret key.
        key = Key() if self._seed is None else Key(Key.from_seed(_mixed(self._seed, *address)).derive("audit"))
        rows = self._table.take(pa.array(kept)) if len(dealt.withheld) else self._table
        release, key = publish(rows, perturbation, key=key, roles=self._roles)
        if level.kind == "matrix":
            leaked = tuple(secret_matrix(release, key, i) for i in range(len(release.manifest.steps)))
            return Exposure(release, kept, dealt, leaked)
        return Exposure(release, kept, dealt)


def secret_matrix(release: Release, key: Key, part: int = 0) -> Matrix | None:
    """The matrix that a part of a release was made with, from its key; None where it was made without one."""
    step = key.entry(release.manifest.release_id).steps[part]
    return find_perturbation(step.method).rebuild(step, key).secret_matrix()


def _mixed(*words: int) -> int:
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])
