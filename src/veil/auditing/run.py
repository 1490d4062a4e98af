"""The main job: publish, grant knowledge, attack, judge, collect.

Risk is the strongest attack found, never a distance between the release and the truth.
"""

from __future__ import annotations

import inspect
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from veil._version import __version__
from veil.attacks import ATTACKS, Attack, find_attack
from veil.auditing.goals import Goals
from veil.auditing.grants import Deal, Grants, Level, as_grants, deal
from veil.auditing.judge import Judge, Score, Trial, pooled
from veil.auditing.result import Audit, AuditRow, Candidate, strength
from veil.auditing.utility import utilities
from veil.blocks import Matrix
from veil.errors import InputError, NotApplicableError
from veil.key import Key
from veil.measures import Measure, wilson
from veil.perturbations import Perturbation
from veil.progress import Progress, silent
from veil.publication import publish, resolve_schema
from veil.release import Release
from veil.report.words import knowing, percent
from veil.schema import check_known_columns
from veil.sources import as_table
from veil.tables import MemoryTable


@dataclass(frozen=True)
class _Exposure:
    """One release under attack: which private rows it holds, and what the attacker was dealt."""

    release: Release
    kept: Any
    deal: Deal


def audit(
    table: Any,
    perturbations: Perturbation | Sequence[Perturbation],
    *,
    attacks: Literal["all"] | Sequence[str | Attack] = "all",
    grants: Grants | None = None,
    goals: Goals | None = None,
    roles: Mapping[str, str] | None = None,
    target: str | None = None,
    n_clusters: int = 3,
    repetitions: int = 5,
    seed: int | None = None,
    progress: Progress = silent,
) -> Audit:
    """Perturb, attack and judge: what would this release give away, and what is it good for?

    Parameters
    ----------
    table
        The private table.
    perturbations
        One candidate or several.
    attacks
        "all" that apply, or attacks by name or object.
    grants
        The knowledge levels to play through.
    goals
        The thresholds to hold.
    roles
        Column roles, as for :func:`veil.publish`.
    target
        A public column that analysts want to predict; adds the utility "classification".
    n_clusters
        Number of clusters for the utility "clusters".
    repetitions
        How often an attack that estimates one matrix is played, each time with a new key and newly
        dealt knowledge; its interval is over these.
    seed
        Makes the audit reproducible; None takes fresh keys and deals.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> found = veil.audit(x, veil.OrthogonalTransform(), grants=veil.Grants(pairs=3), seed=0)
    >>> found.passed, found.worst.attack, found.worst.knowledge
    (False, 'known-pairs-attack', '3 known records')
    """
    return _Auditor(
        table, perturbations, attacks, as_grants(grants), goals or Goals(), roles, target, n_clusters,
        repetitions, seed, progress,
    ).run()  # fmt: skip


class _Auditor:
    def __init__(
        self,
        table: Any,
        perturbations: Perturbation | Sequence[Perturbation],
        attacks: Literal["all"] | Sequence[str | Attack],
        grants: Grants,
        goals: Goals,
        roles: Mapping[str, str] | None,
        target: str | None,
        n_clusters: int,
        repetitions: int,
        seed: int | None,
        progress: Progress,
    ) -> None:
        candidates = [perturbations] if isinstance(perturbations, Perturbation) else list(perturbations)
        if not candidates:
            raise InputError("perturbations is empty; give at least one")
        if repetitions < 1:
            raise InputError("repetitions must be at least 1")
        self.perturbations = candidates
        self.attacks = _as_attacks(attacks)
        self.grants, self.goals, self.roles = grants, goals, dict(roles or {})
        self.target, self.n_clusters, self.repetitions = target, n_clusters, repetitions
        self.seed, self.progress = seed, progress
        source = as_table(table)
        self.table: pa.Table = source.read()
        self._source = MemoryTable(self.table)
        schemas = [resolve_schema(self._source, p, self.roles) for p in candidates]
        self.columns = schemas[0].perturbed
        blocks = [b.matrix(self.columns) for b in self._source.blocks(self.columns)]
        self.truth: Matrix = np.ascontiguousarray(np.hstack(blocks).T) if blocks else np.empty((0, len(self.columns)))
        if len(self.truth) < 3:
            raise InputError(f"the table has {len(self.truth)} rows; an audit needs at least 3")
        self.labels = self._labels(schemas[0].public)
        self.levels = grants.levels(len(self.truth))
        goals.check_against(self.levels)
        self.judge = Judge(self.truth, self.columns, goals.tolerance)
        self._done, self._total = 0, len(candidates) * len(self.levels) * len(self.attacks)

    def _labels(self, public: Sequence[str]) -> Any:
        if self.target is None:
            return None
        check_known_columns([self.target], self.table.column_names, "target")
        if self.target not in public:
            raise InputError(f"target {self.target!r} must have the role public, so that the analyst has it too")
        return np.array([str(v) for v in self.table.column(self.target).to_pylist()])

    def run(self) -> Audit:
        candidates = tuple(self._candidate(i, p) for i, p in enumerate(self.perturbations))
        context = {
            "veil": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "seed": "fixed" if self.seed is not None else "fresh",
            "repetitions": self.repetitions,
            "sample_from": self.grants.sample_from,
            "attacks": [attack.attack_name() for attack in self.attacks],
        }
        return Audit(candidates, self.goals, len(self.truth), self.columns, context)

    def _candidate(self, index: int, perturbation: Perturbation) -> Candidate:
        rows: list[AuditRow] = []
        label = perturbation.describe()
        exposures: dict[tuple[Level, int], _Exposure] = {}
        for level in self.levels:
            for attack in self.attacks:
                self._done += 1
                self.progress(f"{label}: {level.label}", self._done, self._total)
                row = self._attacked(perturbation, label, level, attack, exposures, index)
                if row is not None:
                    rows.append(row)
        base = self._exposure(perturbation, self.levels[0], 0, exposures, index)
        worth = utilities(self.truth, base.release, n_clusters=self.n_clusters, labels=self.labels)
        failures = tuple(
            f"utility {name} is {worth[name]:.2f}, under the goal of {least:.2f}"
            if name in worth
            else f"utility {name} could not be measured (is there a target, and are there enough records?)"
            for name, least in self.goals.min_utility.items()
            if not worth.get(name, Measure(float("nan"), higher_is="useful")) >= least
        )
        step = base.release.step
        worst = max(rows, key=strength, default=None)
        rows = [self._with_pictures(row, exposures) if row is worst else row for row in rows]
        return Candidate(
            label=label,
            method=step.method,
            catalogue=step.catalogue,
            guarantee=step.guarantee,
            threat=_threat(perturbation),
            rows=tuple(rows),
            levels=tuple(self.levels),
            utility=worth,
            utility_failures=failures,
        )

    def _attacked(
        self,
        perturbation: Perturbation,
        label: str,
        level: Level,
        attack: Attack,
        exposures: dict[tuple[Level, int], _Exposure],
        index: int,
    ) -> AuditRow | None:
        first = self._exposure(perturbation, level, 0, exposures, index)
        kinds = tuple(type(k) for k in first.deal.knowledge)
        # An attack that makes no use of the level's knowledge was already played with nothing.
        if not attack.applies_to(first.release.step) or set(attack.requires) != set(kinds):
            return None
        repetitions = self.repetitions if attack.one_matrix else 1
        trials: list[Trial] = []
        began = time.perf_counter()
        ambiguity = "none"
        for repetition in range(repetitions):
            exposure = self._exposure(perturbation, level, repetition, exposures, index)
            try:
                guess = attack.run(exposure.release, *exposure.deal.knowledge)
            except NotApplicableError:
                return None
            ambiguity = guess.ambiguity if guess.ambiguity != "none" else ambiguity
            trials.append(self.judge.try_guess(guess, exposure.kept, exposure.deal.given))
        seconds = (time.perf_counter() - began) / repetitions
        return self._row(label, level, attack, trials, ambiguity, seconds)

    def _row(
        self, label: str, level: Level, attack: Attack, trials: list[Trial], ambiguity: str, seconds: float
    ) -> AuditRow:
        judge, one_matrix = self.judge, attack.one_matrix
        value = Score.of(pooled([t.value for t in trials], one_matrix=one_matrix), judge.value_baseline)
        record = Score.of(pooled([t.record for t in trials], one_matrix=one_matrix), judge.record_baseline)
        far_out = None
        if not np.isnan(float(trials[0].far_out)) and not np.isnan(judge.far_out_baseline):
            far_out = Score.of(pooled([t.far_out for t in trials], one_matrix=one_matrix), judge.far_out_baseline)
        worst, column = self._worst_column(trials)
        row = AuditRow(
            perturbation=label,
            attack=attack.attack_name(),
            catalogue=attack.catalogue,
            attack_words=attack.words,
            level=level,
            value=value,
            record=record,
            worst_column=worst,
            column=column,
            far_out=far_out,
            nrmse=float(np.mean([t.nrmse for t in trials])),
            ambiguity=ambiguity,
            repetitions=len(trials),
            seconds=seconds,
        )
        return replace(row, failures=tuple(self._failures(row)))

    def _worst_column(self, trials: list[Trial]) -> tuple[str, Score]:
        """The column with the highest advantage; its interval allows for having looked at all of them."""
        rates = np.mean([t.columns for t in trials], axis=0)
        gains = (rates - self.judge.column_baselines) / np.maximum(1 - self.judge.column_baselines, 1e-12)
        j = int(np.nanargmax(gains)) if np.isfinite(gains).any() else 0
        confidence = 1 - 0.05 / len(rates)
        n = trials[0].n_scored
        low, high = wilson(float(rates[j]) * n, n, confidence)
        rate = Measure(float(rates[j]), low=low, high=high, higher_is="exposed")
        return self.columns[j], Score.of(rate, float(self.judge.column_baselines[j]))

    def _failures(self, row: AuditRow) -> list[str]:
        """Overall scores must be shown to be safe; single columns and far-out values must not be shown broken."""
        if not self.goals.counts(row.level, self.levels):
            return []
        goal = self.goals.max_advantage
        by = f"{row.attack} with {knowing(row.knowledge)}"
        failures = []
        for what, score in (("values", row.value), ("records", row.record)):
            if not score.advantage.high <= goal:
                failures.append(
                    f"{by}: advantage on {what} up to {percent(score.advantage.high)}, over the goal of {percent(goal)}"
                )
        for what, broken in ((f"column {row.worst_column!r}", row.column), ("far-out values", row.far_out)):
            if broken is not None and broken.advantage.low > goal:
                failures.append(
                    f"{by}: advantage on {what} at least {percent(broken.advantage.low)}, "
                    f"over the goal of {percent(goal)}"
                )
        return failures

    def _with_pictures(self, row: AuditRow, exposures: dict[tuple[Level, int], _Exposure]) -> AuditRow:
        exposure = exposures[(row.level, 0)]
        attack = next(a for a in self.attacks if a.attack_name() == row.attack)
        guess = attack.run(exposure.release, *exposure.deal.knowledge)
        return replace(
            row,
            picture=self.judge.picture(guess, exposure.kept, exposure.deal.given),
            records=tuple(self.judge.worst_records(guess, exposure.kept, exposure.deal.given)),
        )

    def _exposure(
        self,
        perturbation: Perturbation,
        level: Level,
        repetition: int,
        exposures: dict[tuple[Level, int], _Exposure],
        index: int,
    ) -> _Exposure:
        """A release and a deal for one repetition; made once and shared by the attacks of a level."""
        place = (level, repetition)
        if place not in exposures:
            words = [self.levels.index(level), repetition]
            entropy = None if self.seed is None else [self.seed, *words]
            dealt = deal(level, self.truth, np.random.default_rng(entropy), sample_from=self.grants.sample_from)
            kept = np.delete(np.arange(len(self.truth)), dealt.withheld)
            key = Key() if self.seed is None else Key.from_seed(_mixed(self.seed, index, *words))
            rows = self.table.take(pa.array(kept)) if len(dealt.withheld) else self.table
            release, _ = publish(rows, perturbation, key=key, roles=self._all_roles(perturbation))
            exposures[place] = _Exposure(release, kept, dealt)
        return exposures[place]

    def _all_roles(self, perturbation: Perturbation) -> dict[str, str]:
        """Roles as resolved on the whole table: a part of it may look different."""
        schema = resolve_schema(self._source, perturbation, self.roles)
        return {column.name: str(column.role) for column in schema.columns}


def _as_attacks(attacks: Literal["all"] | Sequence[str | Attack]) -> list[Attack]:
    if isinstance(attacks, str):
        if attacks == "all":
            return [cls() for cls in ATTACKS.values()]
        attacks = [attacks]
    return [a if isinstance(a, Attack) else find_attack(a)() for a in attacks]


def _mixed(*words: int) -> int:
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])


def _threat(perturbation: Perturbation) -> str:
    """The *Threat* paragraph of the method's docstring, as plain text."""
    text = inspect.getdoc(type(perturbation)) or ""
    _, _, after = text.partition("*Threat.*")
    return " ".join(after.partition("\n\n")[0].replace("``", "").split())
