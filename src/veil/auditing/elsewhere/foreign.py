"""An audit of a release that was made elsewhere, by any tool, described or not.

There is one release and no key: repetitions grant other knowledge, not other releases. Copies of private records are
counted first (:mod:`veil.auditing.elsewhere.copies`). The released rows are matched to the private ones by their order,
by a key column, or not at all; a matching is believed where the data support it (:mod:`veil.auditing.elsewhere.order`).
Where it is not known, guesses are scored against everybody and held against strangers
(:mod:`veil.measures.unmatched`): the best assignment of unrelated records alone would look like a breach of half the
table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veil.attacks import Attack
from veil.attacks.knowledge import ExternalTable, Knowledge, Rows
from veil.attacks.knowledge.base import Grant
from veil.attacks.knowledge.previous_releases import count_rows
from veil.auditing.elsewhere.columns import Pairs, in_private_units, paired
from veil.auditing.elsewhere.copies import copies
from veil.auditing.elsewhere.order import order_test
from veil.auditing.elsewhere.people import OF_PEOPLE, beside_records, of_people, shortened, stand_in
from veil.auditing.elsewhere.released import (
    ORDER,
    aligned,
    check_numbers,
    checked,
    coded,
    own_release,
    released_table,
    schema_of,
    undeclared,
    undescribed_schema,
)
from veil.auditing.elsewhere.undescribed import undescribed
from veil.auditing.elsewhere.unmatched import UnmatchedJudge
from veil.auditing.exposure import Exposure, Exposures
from veil.auditing.goals import Goals
from veil.auditing.grants import Grants, Level
from veil.auditing.judge import Judge
from veil.auditing.membership import ADDRESS, WITHHELD, People, n_people, other_rows
from veil.auditing.previous import matched_previous
from veil.auditing.utility import rowless_utilities
from veil.data.groups import constant_in
from veil.data.schema import PERTURBED, Role, kind_of
from veil.data.sources import as_table
from veil.data.tables import MemoryTable
from veil.errors import InputError, NotApplicableError, listed
from veil.measures import Measure
from veil.publishing.plan import Plan, resolve
from veil.publishing.publish import publish
from veil.release.manifest import (
    KeyOrigin,
    Part,
    ReleasedColumn,
    RowOrder,
)
from veil.release.models import ForeignModel
from veil.release.release import Release, memory_release
from veil.report.failures import CopiedRecords
from veil.report.values import CopyKind

if TYPE_CHECKING:
    from veil.auditing.memory import Cache


class ForeignPlan(Plan):
    """Stands for a method that nobody described."""

    def __init__(self) -> None:
        self.parts, self.roles, self.shuffle, self.sums = (), {}, False, {}

    def describe(self) -> str:
        """The candidate's name."""
        return "release from elsewhere"


class ForeignExposures(Exposures):
    """The private table and the one release that is attacked.

    Parameters
    ----------
    table
        The private table.
    release
        The released table: any frame or file.
    match
        "order" where row i of the release is row i of the table, a column that both have, or None.
    described
        The method, as a perturbation with the settings that were used; None when it is not known.
    roles
        Column roles; columns that are no numbers are not scored unless they have one.
    """

    fresh = False

    def __init__(
        self,
        table: Any,
        release: Any,
        *,
        match: str | None,
        described: Plan | None,
        roles: Mapping[str, str],
        grants: Grants,
        seed: int | None,
        previous: Sequence[Any] = (),
        previous_id: str | None = None,
    ) -> None:
        own = own_release(release)
        if own is not None and (described is not None or roles):
            what = "perturbations" if described is not None else f"roles of {listed(roles)}"
            raise InputError(f"{what}: this release describes itself in its manifest; leave them out")
        private, foreign = as_table(table).read(), released_table(release if own is None else own.table)
        self.matched = match is not None
        if previous and not self.matched:
            raise InputError("previous: earlier releases need to know whose row is whose; match must not be None")
        if own is not None and match == ORDER and own.manifest.row_order is RowOrder.SHUFFLED:
            raise InputError('match: the rows of this release were shuffled; name a key column, or use None ("none")')
        left_out = undeclared(private, foreign, roles, match, described=own is not None or described is not None)
        roles = {**left_out, **roles}
        if match is not None:
            private, foreign = aligned(private, foreign, match)
        if own is not None:
            schema = schema_of(own, private)
        elif described is not None:
            schema = resolve(MemoryTable(private), described, roles).schema
        else:
            schema = undescribed_schema(private, foreign, roles, matched=self.matched)
            if grants.handed("results") is not None:
                raise InputError(
                    "grants: results cannot be granted against a release that is not described; describe it, or audit "
                    "the table with a method"
                )
            grants = grants.with_offset(len(schema.perturbed))
        grants = grants.adapted(sample_from="table", matrix=False)
        if not self.matched:  # nobody can be told which row is somebody's
            grants = grants.limited_to("sample", "records", "ranges", "matrix", *OF_PEOPLE)
        self._schema, self._codes = schema, own is None and described is None
        check_numbers(private, schema.perturbed, "the table")
        check_numbers(foreign, [n for n in foreign.column_names if n != match], "the release")
        self._hold(private, schema, grants, seed)
        self._foreign, self._describes_itself = foreign, own is not None
        self._key_column = None if match == ORDER else match
        looked_at = (*self.columns, *self.public, match)
        self._undeclared = [n for n in left_out if n not in looked_at and n in foreign.column_names]
        self.order = order_test(*self._without_key(private, foreign)) if match is not None else None
        self._previous = matched_previous(previous, private, identifier=previous_id)
        if own is not None:
            names = [column.name for column in own.manifest.schema]
            self._release = memory_release(foreign.select(names), own.manifest, "pyarrow", {})
        else:
            self._release = (
                self._described(described)
                if described is not None
                else undescribed(foreign, self.private, schema, self._key_column)
            )

    def _described(self, plan: Plan) -> Release:
        """The foreign rows under the manifest that the described method would have."""
        described, _ = publish(self._table, plan, roles=self._roles)
        names = [name for part in described.manifest.parts for name in part.released]
        if len(self._foreign) != self._table.num_rows and plan.reduces:
            raise InputError("release: a method that sums records up must have its own number of rows")
        absent = [name for name in names if name not in self._foreign.column_names]
        foreign = self._foreign
        if absent:
            fields = [f for f in foreign.schema if f.name != self._key_column]
            numeric = [f.name for f in fields if kind_of(f.type).is_number]
            if len(numeric) != len(names):
                raise InputError(
                    f"release: the described method makes {len(names)} columns ({listed(names)}); the release has "
                    f"{len(numeric)} numeric ones; describe it differently, or leave the description out"
                )
            renamed = dict(zip(numeric, names, strict=True))
            foreign = foreign.rename_columns([renamed.get(n, n) for n in foreign.column_names])
        public = [c.name for c in described.manifest.public if c.name in foreign.column_names]
        foreign = foreign.select([*names, *public])
        manifest = replace(
            described.manifest,
            parts=tuple(_with_shared_noise(part, foreign) for part in described.manifest.parts),
            public=tuple(c for c in described.manifest.public if c.name in public),
            schema=tuple(ReleasedColumn(f.name, str(f.type)) for f in foreign.schema),
            key=KeyOrigin.UNKNOWN,
        )
        return checked(memory_release(foreign, manifest, "pyarrow", {}))

    def _without_key(self, *tables: pa.Table) -> list[pa.Table]:
        """Tables without the column that their rows were matched by."""
        return [table.select([n for n in table.column_names if n != self._key_column]) for table in tables]

    @property
    def key_role(self) -> dict[str, str]:
        """The role of the column that rows were matched by, where there is one and the release does not say it."""
        key = None if self._describes_itself else self._key_column
        return {} if key is None or key not in self._table.column_names else {key: str(Role.DROP)}

    def copied(self, goals: Goals) -> tuple[CopiedRecords, ...]:
        """Copies of private records among the released rows, beyond chance.

        Columns are paired by their names, then by values, and then the private ones with units left out of account.
        """
        private, foreign = self._without_key(self._table, self._foreign)
        names, foreign = [*self.columns, *self._undeclared], foreign.drop_columns(self._public(foreign))
        for by_values in (False, True):
            pairs = paired(private, foreign, names, by_values=by_values)
            if failures := self._copied(pairs, goals):
                return failures
        same_units = in_private_units(paired(private, foreign, self.columns))
        failures = self._copied(same_units, goals) if same_units is not None else ()
        return tuple(replace(each, how=CopyKind.OTHER_UNITS) for each in failures)

    def _copied(self, pairs: Pairs, goals: Goals) -> tuple[CopiedRecords, ...]:
        secret = self._schema.of_role(*PERTURBED)
        scored = np.array([name in secret for name in pairs.names], dtype=np.bool_)
        counted = copies(pairs, scored, goals.tolerance) if scored.any() else None
        return counted.failures(goals.max_advantage) if counted is not None else ()

    def _public(self, foreign: pa.Table) -> list[str]:
        return [name for name in self.public if name in foreign.column_names]

    def expose(self, perturbation: Any, level: Level, repetition: int) -> Exposure:
        """Grant one level's knowledge of the one release there is."""
        rng = np.random.default_rng(self.draw(level, repetition))
        grant, release = self._drawn(level, rng), self._release
        if not self.matched and level.kind in OF_PEOPLE:
            grant, release = of_people(grant, self._table.select(self.public)), shortened(release, len(self.truth))
        private_rows = np.arange(len(self.truth) if self.matched else count_rows(release))
        return Exposure(release, private_rows, self._with_previous(grant, private_rows))

    def _outside(self, names: Sequence[str]) -> pa.Table:
        """Columns that outsiders may have; with codes for categories where the release has them, too."""
        outside = super()._outside(names)
        return coded(outside, self.private) if self._codes else outside

    def control(self, exposure: Exposure) -> tuple[Exposure, Rows]:
        """Private records that stand in for rows that are nobody's in particular, and people's rows among them."""
        if self.matched:
            return super().control(exposure)
        release, own = stand_in(self._table, self.private, self._schema, exposure.release)
        tables = [item for item in exposure.grant.knowledge if isinstance(item, ExternalTable)]
        if not self._codes:
            tables = [ExternalTable(coded(item.table, self.private)) for item in tables]
        return replace(exposure, release=release, grant=Grant(tuple(tables), people=exposure.grant.people)), own

    def members_and_strangers(self, perturbation: Any) -> list[People]:
        """People of the table, all of whom may be in the release; without a matching, beside records of others."""
        n = len(self.truth)
        rng = np.random.default_rng(None if self._seed is None else [self._seed, ADDRESS])
        if not self.matched and not self._codes:
            raise NotApplicableError("whose row is whose is not known, and noise that was described cannot be left out")
        known = self._outside([*self.columns, *self.public])
        # As many as in a release that is made for it: whom else the attacker knows decides how well he tells a person.
        people = rng.choice(n, n_people(min(n, count_rows(self._release)), int(2 * WITHHELD * n)), replace=False)
        if self.matched:
            table = ExternalTable(known.take(pa.array(people)))
            return [People(self._release, table, people, other_rows(people, n, rng))]
        return beside_records(self._release, self._table, known, self.private, self._schema, people, rng)

    def utilities(self, exposure: Exposure, **uses: Any) -> dict[str, Measure]:
        """The utilities; those that compare rows need to know whose they are."""
        if self.matched:
            return super().utilities(exposure, **uses)
        return rowless_utilities(self.private, exposure.release, self.weights)

    def judge(self, *arguments: Any) -> Judge:
        """The judge of matched or of unmatched rows."""
        return Judge(*arguments) if self.matched else UnmatchedJudge(*arguments)

    def serves(self, level: Level, attack: Attack) -> bool:
        """Whether an attack is to be run; without a matching none is told rows, nor whose links are right."""
        people = attack.guesses_people if level.kind in OF_PEOPLE else not attack.whole_release
        return super().serves(level, attack) and (self.matched or people)

    def tested(self, level: Level, used: Collection[type[Knowledge]]) -> bool:
        """Whether the knowledge of a level was used; known columns are those of a table where rows are nobody's."""
        of_table = not self.matched and level.kind in OF_PEOPLE and ExternalTable in used
        return of_table or super().tested(level, used)

    def remarks(self) -> tuple[str, ...]:
        """How the release was looked at."""
        remarks = ["The release was there already: repetitions grant other knowledge, not other releases."]
        if isinstance(self._release.manifest.parts[0].model, ForeignModel):
            remarks.append("Its method was not described, so only attacks that need no description were run.")
        if self.order is not None and self.order.supported:
            remarks.append(str(self.order))
        if not self.matched:
            remarks.append(
                "Whose row is whose was not known. Every person was held against the nearest guess, and the result "
                "against what a stranger would find among the other records; nobody can be granted known rows, and "
                "single columns and far-out values were judged only where people are guessed from known columns."
            )
        return (*remarks, *super().remarks())

    def words(self) -> list[Any]:
        """All that exposures depend on: what is said about the release, too."""
        return [*super().words(), self._release.manifest.to_json()]

    def digest(self, cache: Cache) -> str:
        """A keyed hash of both tables."""
        return f"{cache.table_digest(self._table)} {cache.table_digest(self._foreign)} {self.matched}"


def _with_shared_noise(part: Part, foreign: pa.Table) -> Part:
    """A part with one noise per group only where the rows of another tool show it: equal values in every group."""
    released = dict(zip(part.names, part.released, strict=False))
    told = {name: group for name, group in part.groups.items() if group in foreign.column_names}
    groups = {
        name: group
        for name, group in told.items()
        if constant_in(foreign, [group], [released[name]]).groups.get(released[name]) == group
    }
    return replace(part, groups=groups)
