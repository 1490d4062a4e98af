"""What an audit exposes: releases made with fresh keys, and knowledge granted from the private table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.attacks import Attack
from veil.attacks.knowledge import ASSUMPTIONS, ExternalTable, Grant, Knowledge, PrivateTable, Rows, grantable
from veil.attacks.knowledge.previous_releases import PreviousReleases
from veil.auditing.features import features_of
from veil.auditing.grants import NOTHING, Grants, Level
from veil.auditing.groups import Groups, group_sizes
from veil.auditing.judge import Judge
from veil.auditing.membership import ADDRESS, FEWEST, WITHHELD, People, n_people, other_rows
from veil.auditing.pictures import SMALLEST_CELL
from veil.auditing.previous import Previous, matched_previous
from veil.auditing.sampling import audited_records
from veil.auditing.truth import Truth
from veil.auditing.utility import plan_utilities
from veil.data.blocks import Matrix, Vector, to_float
from veil.data.schema import KNOWN, Role, Schema, check_known_columns, parse_roles
from veil.data.sources import as_table
from veil.data.tables import MemoryTable
from veil.errors import InputError
from veil.keys.key import Key
from veil.measures import Measure, uniqueness
from veil.perturbations import Perturbation
from veil.perturbations.registry import rebuild
from veil.publishing.plan import Plan, as_plan, resolve
from veil.publishing.publish import publish
from veil.release.manifest import RowOrder
from veil.release.release import Release
from veil.report.remarks import GroupSizes, PublicColumns

if TYPE_CHECKING:
    from veil.auditing.memory import Cache


@dataclass(frozen=True)
class Exposure:
    """One release under attack: which private rows it holds, and what the attacker was granted."""

    release: Release
    private_rows: Rows
    grant: Grant
    leaked: tuple[Knowledge | None, ...] = ()

    def knowledge(self, part: int | None, at: Sequence[int], d: int) -> tuple[Knowledge, ...]:
        """What the attacker knows about one part of the release (None: several), whose columns are ``at`` among d."""
        known = self.grant.knowledge
        if list(at) != list(range(d)):
            known = tuple(item.narrowed(at, d) for item in known)
        secret = self.leaked[part] if self.leaked and part is not None else None
        return known if secret is None else (secret, *known)

    def people(self, n: int) -> Rows:
        """The private rows of the people whom an external table is about, of n records."""
        return np.arange(n) if self.grant.people is None else self.grant.people


class Exposures:
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
        Fixes keys and grants; None draws them afresh.
    previous, previous_id
        Earlier releases that the attacker has, and the column that names people in their private tables.
    most
        Records at most; of a larger table a uniform sample is audited.
    """

    _sampled: tuple[str, ...] = ()
    table_rows: int = 0

    def __init__(
        self,
        table: Any,
        perturbations: Sequence[Perturbation | Plan],
        *,
        roles: Mapping[str, str],
        grants: Grants,
        seed: int | None,
        previous: Sequence[Any] = (),
        previous_id: str | None = None,
        most: int | None = None,
    ) -> None:
        source = as_table(table)
        roles_given = [
            parse_roles(each, source.schema.names) for each in (roles, *(as_plan(p).roles for p in perturbations))
        ]
        named = dict.fromkeys(name for each in roles_given for name, role in each.items() if role is Role.GROUP)
        most = None if previous else most
        private, self._sampled, self.table_rows = audited_records(source, most, seed, named)
        # Which integers are all different, the whole table tells.
        known = source if self._sampled else MemoryTable(private)
        schemas = [resolve(known, as_plan(p), roles).schema for p in perturbations]
        if any(schema.perturbed != schemas[0].perturbed for schema in schemas):
            raise InputError("perturbations change different columns; audit them one by one, or give roles")
        self._hold(private, schemas[0], grants, seed)
        self._ruled = any(as_plan(p).plausible or as_plan(p).sums for p in perturbations)
        shuffles = any(as_plan(p).shuffle for p in perturbations)
        self._previous: Previous = matched_previous(previous, private, shuffles=shuffles, identifier=previous_id)

    def _hold(self, private: pa.Table, schema: Schema, grants: Grants, seed: int | None) -> None:
        """Take in the private table with its roles, and what is to be granted of it."""
        self._table, self._grants, self._seed = private, grants, seed
        self.columns, self.public = schema.perturbed, schema.public
        self.table_rows, self.table_columns = max(self.table_rows, private.num_rows), private.num_columns
        # Roles as resolved on the whole table: a part of it may look different.
        self._roles = {column.name: str(column.role) for column in schema.columns}
        if private.num_rows < 4:
            raise InputError(f"the table has {private.num_rows} rows; an audit needs at least 4")
        self.private = Truth.of(private, self.columns)
        self.groups = Groups.of(private, self._roles, self.columns)
        self._sizes = group_sizes(private, self._roles, self.groups)
        self.truth: Matrix = self.private.values
        self.weights = self._weights()
        outsiders = schema.of_role(*KNOWN)
        known = [*(n for n in self.columns if n in outsiders), *(n for n in self.public if n in outsiders)]
        self.unscored = tuple(j for j, name in enumerate(self.columns) if name in schema.of_role(Role.KEY))
        named = tuple(name for name in schema.of_role(Role.GROUP) if known and name in self.columns)
        outside = self._outside([*known, *named]) if known else None
        self._granted: PrivateTable = self.private.to_grant_from(
            outside=outside, own_sample=self.records_known, groups=named
        )
        levels = grants.levels(private.num_rows, len(self.columns), quasi=bool(known))
        refused = {level: level.knowledge.obstacle(self._granted, level.amount) for level in levels}
        self._left_out = tuple(f"{level.label}: {why}" for level, why in refused.items() if why)
        for level, why in refused.items():
            if why and grants.must_fit(level):
                raise InputError(f"grants: {level.label}: {why}; grant less ({level.kind} is the parameter)")
        self._left_out += tuple(grants.too_large(private.num_rows, len(self.columns)))
        self.levels = [level for level in levels if not refused[level]]
        self._features: dict[tuple[int, ...], Matrix | None] = {}
        self._ruled = False
        self._previous = ()

    def _outside(self, names: Sequence[str]) -> pa.Table:
        """Columns of everybody that outsiders may have."""
        return self._table.select(list(names))

    def control(self, exposure: Exposure) -> tuple[Exposure, Rows]:
        """What people are guessed from when their own rows are left out, and which row each person has in it."""
        own = np.full(len(self.truth), -1, dtype=np.intp)
        own[exposure.private_rows] = np.arange(len(exposure.private_rows))
        return exposure, own

    def utilities(self, exposure: Exposure, *, labels: Any = None, **uses: Any) -> dict[str, Measure]:
        """The utilities of a release of the whole table; truth and ``labels`` follow the order of its rows."""
        release, rows = exposure.release, exposure.private_rows
        if release.manifest.row_order is not RowOrder.SHUFFLED:
            return plan_utilities(self.private, release, labels=labels, weights=self.weights, **uses)
        truth, weights = replace(self.private, values=self.truth[rows]), self.weights
        own = None if weights is None else weights[rows]
        return plan_utilities(truth, release, labels=None if labels is None else labels[rows], weights=own, **uses)

    def _weights(self) -> Vector | None:
        """How many people each private record stands for; None where no column has the role weight."""
        name = next((name for name in self.public if self._roles[name] == Role.WEIGHT), None)
        if name is None:
            return None
        weights = to_float(self._table.column(name).combine_chunks(), name)
        wrong = int((~(np.isfinite(weights) & (weights >= 0.0))).sum())
        if wrong or not weights.sum() > 0.0:
            raise InputError(
                f"column {name!r} has the role weight, and {wrong} weights are missing, negative or infinite, or all "
                "are 0; mend them, or give the column the role public"
            )
        return np.asarray(weights)

    def is_sensitive(self, column: str) -> bool:
        """Whether a column has the role sensitive."""
        return self._roles.get(column) == Role.SENSITIVE

    def judge(self, *arguments: Any) -> Judge:
        """The judge of a part of the table."""
        return Judge(*arguments)

    def _drawn(self, level: Level, rng: np.random.Generator) -> Grant:
        """One level's knowledge, what goes along with it, and what anybody may assume."""
        grant = Grant(ASSUMPTIONS)
        for each in (level, *self._along(level)) if level.kind != NOTHING else ():
            handed = self._grants.handed(each.kind)
            drawn = handed.handed_over(self._granted, rng) if handed is not None else None
            grant = grant.with_more(drawn or each.knowledge.grant(self._granted, each.amount, rng))
        return grant

    def _along(self, level: Level) -> list[Level]:
        """The smallest levels of the kinds that go along with a level."""
        smallest = [[lesser for lesser in self.levels if lesser.kind == kind][:1] for kind in level.knowledge.along]
        return [lesser for levels in smallest for lesser in levels]

    fresh = True
    """Whether every repetition is a release with a key of its own."""

    def known_columns(self, level: Level) -> tuple[int, ...]:
        """The private columns that a level grants of everybody."""
        return level.knowledge.known_columns(self._granted, level.amount)

    def asked_for(self, kind: str) -> bool:
        """Whether the owner granted a kind of knowledge by name, and it is not merely swept."""
        return self._grants.asks_for(kind)

    def features(self, level: Level) -> Matrix | None:
        """What the attacker knows of everybody at a level, in the release or not: public and known columns."""
        known = self.known_columns(level) if level.kind != NOTHING else ()
        if known not in self._features:
            names = [self.columns[j] for j in known]
            self._features[known] = features_of(self._table.select([*self.public, *names]))
        return self._features[known]

    def tested(self, level: Level, used: Collection[type[Knowledge]]) -> bool:
        """Whether an attack that used such kinds of knowledge used that of a level."""
        return level.kind == NOTHING or level.knowledge.is_used(used, own_sample=self.records_known)

    def serves(self, level: Level, attack: Attack) -> bool:
        """Whether an attack is to be run with this level's knowledge."""
        if (attack.needs_public and not self.public) or (attack.needs_groups and not self._granted.groups):
            return False
        always = (PreviousReleases,) if self._previous else ()
        return level.serves(attack.requires, attack.uses, records=self.records_known, always=always)

    def public_columns(self) -> PublicColumns:
        """The columns that are released unchanged, and how many records are unique on them."""
        weight = next((name for name in self.public if self._roles[name] == Role.WEIGHT), None)
        columns = tuple(name for name in self.public if name != weight)
        codes = [_codes(self._table.column(name)) for name in columns]
        return PublicColumns(columns, round(float(uniqueness(codes)), 4) if codes else None, weight)

    def group_sizes(self) -> tuple[GroupSizes, ...]:
        """How many groups each column of groups names, and of which sizes."""
        return self._sizes

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the audit should know about its setting."""
        n, public = len(self._previous), self.public_columns()
        remarks = [*self._sampled, *([str(public)] if public.columns or public.weight else [])]
        remarks += [str(each.external(SMALLEST_CELL)) for each in self._sizes]
        remarks += [f"Not granted, because the table does not allow it: {why}." for why in self._left_out]
        if self._ruled:
            remarks.append(
                "Attacked and measured are the values before they are made plausible: the released ones tell no more."
            )
        if n:
            remarks.append(f"The attacker also has {n} earlier release{'s' if n > 1 else ''} about the same people.")
        return tuple(remarks)

    def digest(self, cache: Cache) -> str:
        """A keyed hash of the private table."""
        return cache.table_digest(self._table)

    def words(self) -> list[Any]:
        """All that exposures depend on beside table, candidate, level and repetition."""
        earlier = [[release.manifest.release_id, rows.tolist()] for release, rows in self._previous]
        handed = [known.digest() for kind in grantable() if (known := self._grants.handed(kind)) is not None]
        return [self._roles, self._grants.sample_from, self._seed, earlier, *handed]

    def address(self, level: Level) -> list[Any]:
        """A level's address in memory: its kind and amount, and those of what goes along with it."""
        return [level.kind, level.amount, [[lesser.kind, lesser.amount] for lesser in self._along(level)]]

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
        """Grant one level's knowledge and publish the table with a fresh key.

        Under a seed, both depend on the level and the repetition alone, whatever else the audit runs.
        """
        drawn = self.draw(level, repetition)
        grant = self._drawn(level, np.random.default_rng(drawn))
        private_rows = np.delete(np.arange(len(self.truth)), grant.withheld)
        release, key, order = self._published(perturbation, private_rows, drawn)
        if order is not None:
            grant, private_rows = grant.shuffled(order), private_rows[order]
        grant = self._with_previous(grant, private_rows)
        if level.knowledge.of_key:
            matrices = [secret_matrix(release, key, i) for i in range(len(release.manifest.parts))]
            leaked = [None if matrix is None else level.knowledge.from_key(matrix) for matrix in matrices]
            return Exposure(release, private_rows, grant, tuple(leaked))
        return Exposure(release, private_rows, grant)

    def _published(
        self, perturbation: Perturbation | Plan, private_rows: Rows, drawn: list[int] | None
    ) -> tuple[Release, Key, Rows | None]:
        """A release of some private rows, its key, and their order in it where it shuffles them."""
        # These releases stay here: their guarantee is what the owner's would be, with a secret key.
        key = Key() if drawn is None else Key(Key.from_seed(_mixed(*drawn)).derive("audit"))
        rows = self._table.take(pa.array(private_rows)) if len(private_rows) < len(self.truth) else self._table
        # Values are attacked before they are made plausible: whoever has these knows as much, and more.
        release, key = publish(rows, as_plan(perturbation).before_rules(), key=key, roles=self._roles)
        return release, key, key.row_order(key.entry(release.manifest.release_id))

    def members_and_strangers(self, perturbation: Perturbation | Plan) -> list[People]:
        """People in a release, and as many who were withheld from it, with all that is released of them."""
        n, drawn = len(self.truth), None if self._seed is None else [self._seed, ADDRESS]
        rng = np.random.default_rng(drawn)
        withheld = np.sort(rng.choice(n, max(FEWEST, int(WITHHELD * n)), replace=False))
        inside = np.delete(np.arange(n), self.groups.mates(withheld))  # mates would tell what a stranger has of them
        release, _, order = self._published(perturbation, inside, drawn)
        inside = inside if order is None else inside[order]
        k = n_people(len(inside), min(len(withheld), len(inside)))
        rows = np.concatenate([rng.choice(len(inside), k, replace=False), np.full(k, -1)])
        people = np.concatenate([inside[rows[:k]], rng.choice(withheld, k, replace=False)])
        table = ExternalTable(self._outside([*self.columns, *self.public]).take(pa.array(people)))
        return [People(release, table, rows, other_rows(rows, len(inside), rng))]

    def _with_previous(self, grant: Grant, private_rows: Rows) -> Grant:
        """A grant together with the earlier releases, their rows in the order of ``private_rows``."""
        if not self._previous:
            return grant
        rows = [each[private_rows] for _, each in self._previous]
        earlier = PreviousReleases([release for release, _ in self._previous], rows=rows)
        return grant.with_more(Grant((earlier,)))

    def draw(self, level: Level, repetition: int) -> list[int] | None:
        """Where the randomness of one exposure comes from; None for fresh."""
        if self._seed is None:
            return None
        return [self._seed, level.knowledge.address(), round(1e6 * level.amount), repetition]


def secret_matrix(release: Release, key: Key, part: int = 0) -> Matrix | None:
    """The matrix that a part of a release was made with, from its key; None where it was made without one."""
    return rebuild(key.entry(release.manifest.release_id).parts[part], key).secret_matrix()


def _codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """A number for every value of a column, -1 for missing ones."""
    array = column.combine_chunks()
    indices = array.indices if pa.types.is_dictionary(array.type) else array.dictionary_encode().indices
    return np.asarray(indices.fill_null(-1).to_numpy(), dtype=np.int64)


def _mixed(*words: int) -> int:
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])
