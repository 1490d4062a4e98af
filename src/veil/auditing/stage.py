"""The stage of an audit: releases made with fresh keys, and knowledge dealt from the private table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.attacks import Attack
from veil.auditing.deals import Deal, deal, telling_columns
from veil.auditing.grants import KINDS, Grants, Level, Rows
from veil.auditing.truth import Truth, narrowed
from veil.blocks import Matrix
from veil.errors import InputError
from veil.key import Key
from veil.knowledge import Knowledge, KnownMatrix
from veil.perturbations import Perturbation, find_perturbation
from veil.plan import Plan, as_plan, resolve
from veil.publication import publish
from veil.release import Release
from veil.schema import Role, check_known_columns
from veil.sources import as_table
from veil.tables import MemoryTable

if TYPE_CHECKING:
    from veil.auditing.cache import Cache


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
        self.quasi = tuple(c.name for c in schemas[0].columns if c.role is Role.QUASI)
        self.levels = grants.levels(n_rows, len(self.columns), quasi=bool(self.quasi))

    def _dealt(self, level: Level, rng: np.random.Generator) -> Deal:
        """One level's knowledge; whoever has the matrix may also hold the smallest sample and the ranges."""
        wanted = [level]
        if level.kind == "matrix":
            samples = [lesser for lesser in self.levels if lesser.kind == "sample"][:1]
            wanted += [*samples, *(lesser for lesser in self.levels if lesser.kind == "ranges")]
        dealt = Deal()
        for lesser in wanted:
            dealt = dealt.with_more(
                deal(
                    lesser,
                    self.private,
                    self._table,
                    rng,
                    sample_from=self._grants.sample_from,
                    quasi=self.quasi,
                )
            )
        return dealt

    def known_columns(self, level: Level) -> tuple[int, ...]:
        """The private columns that a level grants of everybody."""
        return tuple(telling_columns(self.private, int(level.amount))) if level.kind == "attributes" else ()

    def serves(self, level: Level, attack: Attack) -> bool:
        """Whether an attack is to be played with this level's knowledge."""
        return level.serves(attack.requires, attack.uses, records=self.records_known)

    def digest(self, cache: Cache) -> str:
        """A keyed hash of the private table."""
        return cache.table_digest(self._table)

    def words(self) -> list[Any]:
        """All that exposures depend on beside table, candidate, level and repetition."""
        return [self._roles, self._grants.sample_from, self._seed]

    def address(self, level: Level) -> str:
        """A level's address in memory: its label, and what else it is dealt."""
        lesser = [lv.label for lv in self.levels if lv.kind == "ranges"]
        lesser += [lv.label for lv in self.levels if lv.kind == "sample"][:1]
        return f"{level.label} + {lesser}" if level.kind == "matrix" else level.label

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

    def expose(self, perturbation: Perturbation | Plan, level: Level, repetition: int) -> Exposure:
        """Deal one level's knowledge and publish the table with a fresh key.

        Under a seed, both depend on the level and the repetition alone, whatever else the audit plays.
        """
        address = [KINDS.index(level.kind), round(1e6 * level.amount), repetition]
        rng = np.random.default_rng(None if self._seed is None else [self._seed, *address])
        dealt = self._dealt(level, rng)
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
