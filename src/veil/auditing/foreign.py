"""The stage of an audit of a release that was made elsewhere, by any tool, described or not.

There is one release and no key: repetitions deal other knowledge, not other releases. The released rows are matched to
the private ones by their order, by a key column, or not at all. Where the matching is not known, guesses are scored
against everybody and held against strangers (:mod:`veil.measures.unmatched`): the best assignment of unrelated records
alone would look like a breach of half the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.optimize import linear_sum_assignment

from veil import measures
from veil.attacks import Attack, Guess
from veil.auditing.grants import ALL_COLUMNS, Grants, Level, Rows
from veil.auditing.judge import Judge, Trial
from veil.auditing.stage import Exposure, Stage, matched_previous
from veil.blocks import Matrix
from veil.errors import InputError
from veil.measures import Measure
from veil.models import FOREIGN, ForeignModel
from veil.perturbations import AdditiveNoise
from veil.plan import Plan, as_plan, resolve
from veil.publication import publish
from veil.release import MANIFEST, Manifest, Release, Step, memory_release
from veil.schema import PERTURBED, Column, Kind, Role, Schema, check_known_columns, kind_of, listed
from veil.sources import as_table
from veil.tables import MemoryTable

if TYPE_CHECKING:
    from veil.auditing.cache import Cache

ORDER = "order"
ROWLESS = ("means", "covariance", "distribution")
"""Utilities that do not ask whose row is whose."""


class ForeignPlan(Plan):
    """Stands for a method that nobody described."""

    def __init__(self) -> None:
        self.parts, self.roles = (), {}

    def describe(self) -> str:
        """The candidate's name."""
        return "release from elsewhere"


class ForeignStage(Stage):
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
    ) -> None:
        own = own_release(release)
        private, foreign = as_table(table).read(), _released_table(release if own is None else own.table)
        self.matched = match is not None
        if previous and not self.matched:
            raise InputError("previous: earlier releases need to know whose row is whose; match must not be None")
        if own is not None and match == ORDER and "shuffled" in own.manifest.row_order:
            raise InputError('match: the rows of this release were shuffled; name a key column, or use None ("none")')
        roles = {**_unscored(private, roles, match), **roles}
        if match is not None:
            private, foreign = _aligned(private, foreign, match)
        if own is not None:
            schema = _schema_of(own, private)
        else:
            plan = described if described is not None else as_plan(AdditiveNoise())
            schema = resolve(MemoryTable(private), plan, roles).schema
            if described is None and grants.fitting and ALL_COLUMNS in grants.pairs:  # type: ignore[operator]
                # A map that nobody described has an offset, too: it takes two records more than columns.
                grants = replace(grants, pairs=(*grants.pairs, len(schema.perturbed) + 2))  # type: ignore[misc]
        grants = replace(grants, sample_from="table", matrix=False)
        if not self.matched:  # nobody can be told which row is somebody's
            grants = replace(grants, pairs=(), attributes=(), external=False)
        self._hold(private, schema, grants, seed)
        self._foreign = foreign
        self._previous = matched_previous(previous, private)
        if own is not None:
            self._release = memory_release(foreign.select(_names(own)), own.manifest, "pyarrow", {})
        else:
            self._release = self._described(plan) if described is not None else self._undescribed(schema)

    def _described(self, plan: Plan) -> Release:
        """The foreign rows under the manifest that the described method would have."""
        made, _ = publish(self._table, plan, roles=self._roles)
        names = [name for step in made.manifest.steps for name in step.released]
        if len(self._foreign) != self._table.num_rows and plan.reduces:
            raise InputError("release: a method that sums records up must have its own number of rows")
        absent = [name for name in names if name not in self._foreign.column_names]
        foreign = self._foreign
        if absent:
            numeric = [f.name for f in foreign.schema if kind_of(f.type) is Kind.NUMERIC]
            if len(numeric) != len(names):
                raise InputError(
                    f"release: the described method makes {len(names)} columns ({listed(names)}); the release has "
                    f"{len(numeric)} numeric ones; describe it differently, or leave the description out"
                )
            renamed = dict(zip(numeric, names, strict=True))
            foreign = foreign.rename_columns([renamed.get(n, n) for n in foreign.column_names])
        public = [c["name"] for c in made.manifest.public if c["name"] in foreign.column_names]
        foreign = foreign.select([*names, *public])
        manifest = replace(
            made.manifest,
            public=tuple(c for c in made.manifest.public if c["name"] in public),
            schema=tuple({"name": f.name, "type": str(f.type)} for f in foreign.schema),
            key="not known",
        )
        return memory_release(foreign, manifest, "pyarrow", {})

    def _undescribed(self, schema: Schema) -> Release:
        """The foreign rows, about which nothing is said."""
        types = {f.name: kind_of(f.type) for f in self._foreign.schema}
        public = [n for n in schema.public if n in types]
        released = [n for n, kind in types.items() if kind is Kind.NUMERIC and n not in public]
        if not released:
            raise InputError("release: has no numeric column to attack")
        columns = tuple(
            {"name": c.name, "kind": str(c.kind), "role": str(c.role), "dtype": c.dtype}
            for c in schema.columns
            if c.role in PERTURBED
        )
        foreign = self._foreign.select([*released, *public])
        manifest = Manifest(
            release=1,
            release_id=FOREIGN,
            method=FOREIGN,
            guarantee="none",
            steps=(Step(FOREIGN, "–", {}, columns, tuple(released)),),
            public=tuple({"name": n, "kind": str(types[n])} for n in public),
            schema=tuple({"name": f.name, "type": str(f.type)} for f in foreign.schema),
            key="not known",
            missing="not known",
            row_order="not known",
            arithmetic="not known",
            veil="",
        )
        return memory_release(foreign, manifest, "pyarrow", {})

    def expose(self, perturbation: Any, level: Level, repetition: int) -> Exposure:
        """Deal one level's knowledge of the one release there is."""
        rng = np.random.default_rng(self.draw(level, repetition))
        dealt = self._dealt(level, rng)
        n_rows = self._release.table.read(self._release.table.schema.names[:1]).num_rows
        kept = np.arange(len(self.truth) if self.matched else n_rows)
        return Exposure(self._release, kept, self._with_previous(dealt, kept))

    def worth(self, release: Release, **uses: Any) -> dict[str, Measure]:
        """The utilities; those that compare rows need to know whose they are."""
        found = super().worth(release, **uses)
        return found if self.matched else {name: found[name] for name in ROWLESS if name in found}

    def judge(self, *arguments: Any) -> Judge:
        """The judge of matched or of unmatched rows."""
        return Judge(*arguments) if self.matched else UnmatchedJudge(*arguments)

    def serves(self, level: Level, attack: Attack) -> bool:
        """Whether an attack is to be played; without a matching none is told rows, nor whose links are right."""
        return super().serves(level, attack) and (self.matched or not attack.whole_release)

    def remarks(self) -> tuple[str, ...]:
        """How the release was looked at."""
        said = ["The release was there already: repetitions deal other knowledge, not other releases."]
        if isinstance(self._release.manifest.steps[0].model, ForeignModel):
            said.append("Its method was not described, so only attacks that need no description were played.")
        if not self.matched:
            said.append(
                "Whose row is whose was not known. Every person was held against the nearest guess, and the result "
                "against what a stranger would find among the other records; nobody can be granted known rows, and "
                "single columns and far-out values were not judged."
            )
        return (*said, *super().remarks())

    def digest(self, cache: Cache) -> str:
        """A keyed hash of both tables."""
        return f"{cache.table_digest(self._table)} {cache.table_digest(self._foreign)} {self.matched}"


class UnmatchedJudge(Judge):
    """Scores guesses whose rows belong to nobody in particular, against strangers."""

    def try_guess(self, guess: Guess, kept: Rows, given: Rows) -> Trial:
        """Each person against the nearest guess; people that the attacker knows (``given``) are not scored."""
        truth = np.delete(self.truth, given, axis=0)
        values = _recognised(truth, guess) if guess.up_to else guess.values
        found = measures.unmatched_breach(truth, values, self.tolerance, self.units)
        value, record = float(found.value_baseline), float(found.record_baseline)
        # Of fewer rows than people only so many can be found, and a stranger has only so many to look among.
        share = min(1.0, len(values) / len(truth))
        if len(values) < len(truth) - 1:
            value, record = self._strangers(truth, len(values))
        silent = np.full(truth.shape[1], np.nan)
        return Trial(
            value=_rate(found.value_rate, found.value_advantage, value, share),
            record=_rate(found.record_rate, found.record_advantage, record, share),
            columns=silent,
            n_columns=np.zeros(truth.shape[1], dtype=np.int64),
            far_out=Measure(float("nan"), higher_is="exposed"),
            n_far_out=0,
            nrmse=self._nrmse(truth, values[found.nearest]),
            n_scored=len(truth),
            value_null=value,
            record_null=record,
        )

    def _strangers(self, truth: Matrix, m: int, draws: int = 5) -> tuple[float, float]:
        """What people find among m others, by value and by record: the mean over draws of the others."""
        rates = []
        for draw in range(draws):
            chosen = np.zeros(len(truth), dtype=bool)
            chosen[np.random.default_rng(draw).choice(len(truth), m, replace=False)] = True
            found = measures.unmatched_breach(truth[~chosen], truth[chosen], self.tolerance, self.units)
            rates.append((float(found.value_rate), float(found.record_rate)))
        value, record = np.mean(rates, axis=0)
        return float(value), float(record)

    def picture(self, guess: Guess, kept: Rows, given: Rows, **_: Any) -> Any:
        """None: nobody knows which guess is whose."""
        return None

    def worst_records(self, guess: Guess, kept: Rows, given: Rows, limit: int = 10) -> list[tuple[int, float]]:
        """None: nobody knows which guess is whose."""
        return []


def _rate(rate: Measure, advantage: Measure, baseline: float, share: float) -> Measure:
    """A rate whose interval is that of its paired advantage over strangers.

    With fewer rows than people, what is found beyond strangers is counted over those who can be found (``share``).
    """
    if share == 1.0:
        low, high = (baseline + gain * (1.0 - baseline) for gain in (advantage.low, advantage.high))
        return Measure(float(rate), low=min(low, rate), high=max(high, rate), higher_is="exposed")
    value, low, high = (min(1.0, baseline + (end - baseline) / share) for end in (float(rate), rate.low, rate.high))
    return Measure(max(0.0, value), low=max(0.0, low), high=max(0.0, high), higher_is="exposed")


def _recognised(truth: Matrix, guess: Guess) -> Matrix:
    """Columns that a guess leaves open in order and sign, as their distributions tell which is which."""
    at = np.linspace(0.005, 0.995, 100)
    unit = np.ones(truth.shape[1]) if guess.units is None else guess.units
    own = np.nanquantile(truth / unit, at, axis=0)
    theirs = np.nanquantile(guess.values, at, axis=0)
    apart = np.array(
        [[np.abs(own[:, [j]] - side).mean(axis=0) for side in (theirs, -theirs[::-1])] for j in range(own.shape[1])]
    )
    columns, chosen = linear_sum_assignment(apart.min(axis=1))
    values = np.full((len(guess.values), truth.shape[1]), np.nan)
    for j, k in zip(columns, chosen, strict=True):
        sign = 1.0 if apart[j, 0, k] <= apart[j, 1, k] else -1.0
        values[:, j] = sign * guess.values[:, k] * unit[j]
    return values


def own_release(release: Any) -> Release | None:
    """A release of Veil's, which describes itself: the object or its folder."""
    if isinstance(release, str | Path) and (Path(release) / MANIFEST).is_file():
        return Release.load(release)
    return release if isinstance(release, Release) else None


def _names(own: Release) -> list[str]:
    return [column["name"] for column in own.manifest.schema]


def _schema_of(own: Release, private: pa.Table) -> Schema:
    """Roles of the private columns as a release's own manifest tells them."""
    said = {column["name"]: Role(column["role"]) for step in own.manifest.steps for column in step.columns}
    said |= {column["name"]: Role.PUBLIC for column in own.manifest.public}
    check_known_columns(said, private.column_names, "release: its manifest")
    return Schema(
        tuple(Column(f.name, kind_of(f.type), said.get(f.name, Role.DROP), str(f.type)) for f in private.schema)
    )


def _released_table(release: Any) -> pa.Table:
    table = as_table(release).read()
    if table.num_rows < 4:
        raise InputError(f"release: has {table.num_rows} rows; an audit needs at least 4")
    return table


def _unscored(private: pa.Table, roles: Mapping[str, str], match: str | None) -> dict[str, str]:
    """Columns that are no numbers, and the key column, are left out where the owner does not say otherwise."""
    dropped = [f.name for f in private.schema if kind_of(f.type) is not Kind.NUMERIC and f.name not in roles]
    dropped += [match] if match not in (None, ORDER) and match in private.column_names else []
    return {name: str(Role.DROP) for name in dropped}


def _aligned(private: pa.Table, foreign: pa.Table, match: str) -> tuple[pa.Table, pa.Table]:
    """Both tables with the same people in the same order."""
    if match == ORDER:
        if private.num_rows != foreign.num_rows:
            raise InputError(
                f"match: by order needs as many rows in both; the table has {private.num_rows} and the release "
                f"{foreign.num_rows}; name a key column, or none"
            )
        return private, foreign
    for name, table in (("the table", private), ("the release", foreign)):
        if match not in table.column_names:
            raise InputError(f"match: {name} has no column {match!r}; name one that both tables have, or use order")
        keys = table.column(match)
        repeated = len(keys) - pc.count_distinct(keys, mode="all").as_py()
        if repeated or keys.null_count:
            raise InputError(
                f"match: column {match!r} of {name} has {repeated} repeated and {keys.null_count} missing keys; "
                "a key names one record"
            )
    keys = private.column(match).cast(pa.string())
    at = pc.index_in(keys, value_set=foreign.column(match).cast(pa.string()).combine_chunks())
    both = pc.is_valid(at)
    if pc.sum(both).as_py() is None or pc.sum(both).as_py() < 4:
        raise InputError(f"match: fewer than 4 keys of column {match!r} are in both tables")
    return private.filter(both), foreign.take(at.drop_null()).drop_columns([match])
