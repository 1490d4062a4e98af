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

from veil._version import __version__
from veil.attacks import Attack, Guess, every_attack, find_attack
from veil.auditing.goals import Failure, Goals
from veil.auditing.grants import Grants, Level, as_grants
from veil.auditing.judge import Judge, Trial
from veil.auditing.result import Audit, AuditRow, Candidate, Skipped, strength
from veil.auditing.stage import Exposure, Stage
from veil.auditing.utility import plan_utilities
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.measures import repetition_interval
from veil.models import ResponseModel
from veil.parameters import whole_number
from veil.perturbations import Perturbation, find_perturbation
from veil.plan import Plan, as_plan
from veil.progress import Progress, silent
from veil.release import Step

FEWEST_REPETITIONS = 5


def audit(
    table: Any,
    perturbations: Perturbation | Plan | Sequence[Perturbation | Plan],
    *,
    attacks: Literal["all"] | Sequence[str | Attack] = "all",
    grants: Grants | None = None,
    goals: Goals | None = None,
    roles: Mapping[str, str] | None = None,
    target: str | None = None,
    n_clusters: int = 3,
    repetitions: int = 10,
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
        How often, at most, an attack that estimates one matrix is played, each time with a new key and
        newly dealt knowledge; its interval is over these. It stops early once it is shown to break the
        goal. To show that at most 5 % of keys break takes 73.
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
    candidates = [as_plan(p) for p in _as_candidates(perturbations)]
    repetitions = whole_number(repetitions, "repetitions", least=1)
    n_clusters = whole_number(n_clusters, "n_clusters", least=1)
    seed = None if seed is None else whole_number(seed, "seed")
    if goals is not None and not isinstance(goals, Goals):
        raise InputError("goals must be a veil.Goals object")
    goals, grants = goals or Goals(), as_grants(grants)
    chosen = _as_attacks(attacks)
    stage = Stage(table, candidates, roles=dict(roles or {}), grants=grants, seed=seed)
    labels = stage.labels(target)
    goals.check_against(stage.levels)
    total = len(candidates) * len(stage.levels) * len(chosen)
    found = []
    for i, perturbation in enumerate(candidates):
        run = _Run(stage, goals, chosen, repetitions, perturbation, i, progress, total)
        found.append(run.candidate(n_clusters=n_clusters, labels=labels))
    if attacks != "all":
        _check_all_ran(chosen, found)
    context = {
        "veil": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "seed": "fixed" if seed is not None else "fresh",
        "repetitions": repetitions,
        "sample_from": grants.sample_from,
        "attacks": [attack.label for attack in chosen],
    }
    return Audit(tuple(found), goals, len(stage.truth), stage.columns, context)


@dataclass
class _Run:
    """One candidate under every attack at every level."""

    stage: Stage
    goals: Goals
    attacks: Sequence[Attack]
    repetitions: int
    perturbation: Plan
    index: int
    progress: Progress
    total: int
    done: int = 0

    def candidate(self, *, n_clusters: int, labels: Any) -> Candidate:
        label, levels = self.perturbation.describe(), self.stage.levels
        base = self.stage.expose(self.perturbation, self.index, levels[0], 0)
        steps = base.release.manifest.steps
        parts = [_Part(i, step, self.stage, self.goals.tolerance, len(steps) > 1) for i, step in enumerate(steps)]
        rows: list[AuditRow] = []
        skipped: list[Skipped] = []
        players: dict[int, tuple[Attack, _Part]] = {}
        self.done = self.index * len(levels) * len(self.attacks)
        for level in levels:
            exposures: dict[int, Exposure] = {0: base} if level is levels[0] else {}
            for attack in self.attacks:
                self.progress(f"{label}: {level.label}", self.done, self.total)
                self.done += 1
                if not level.serves(attack.requires, attack.uses, records=self.stage.records_known):
                    continue
                for part in parts:
                    if not attack.applies_to(part.step.model):
                        reason = f"no theory for {part.step.method}"
                        skipped.append(Skipped(attack.label, level.label, reason, applies=False))
                        continue
                    try:
                        rows.append(self._row(label, level, attack, part, exposures))
                        players[id(rows[-1])] = attack, part
                    except (InputError, MissingKnowledgeError, NotApplicableError) as error:
                        skipped.append(Skipped(part.names(attack), level.label, str(error)))
        worst = max((row for row in rows if row.states_values), key=strength, default=None)
        if worst is not None:
            rows[rows.index(worst)] = self._pictured(worst, *players[id(worst)])
        worth = plan_utilities(self.stage.private, base.release, n_clusters=n_clusters, labels=labels)
        return Candidate(
            label=label,
            method=base.release.manifest.method,
            catalogue=" + ".join(step.catalogue for step in steps),
            guarantee=base.release.manifest.guarantee,
            threat=" ".join(_threat(p) for p in self.perturbation.perturbations),
            rows=tuple(rows),
            skipped=tuple(skipped),
            levels=tuple(levels),
            utility=worth,
            other_failures=(*self._untested(parts, rows), *self.goals.utility_failures(worth)),
        )

    def _untested(self, parts: Sequence[_Part], rows: Sequence[AuditRow]) -> list[Failure]:
        """Levels at which some part that can be guessed was not attacked at all."""
        found: list[Failure] = []
        scored = [part for part in parts if find_perturbation(part.step.method).scored]
        for part in scored or parts:
            mine = [row for row in rows if row.part == part.index]
            found += self.goals.untested(mine, self.stage.levels, part.step.method if len(parts) > 1 else "")
        return found

    def _expose(self, level: Level, repetition: int, exposures: dict[int, Exposure]) -> Exposure:
        if repetition not in exposures:
            exposures[repetition] = self.stage.expose(self.perturbation, self.index, level, repetition)
        return exposures[repetition]

    def _row(self, label: str, level: Level, attack: Attack, part: _Part, exposures: dict[int, Exposure]) -> AuditRow:
        trials: list[Trial] = []
        ambiguity, seconds = "none", 0.0
        up_to: tuple[str, ...] = ()
        judge = part.judge
        while not self._enough(trials, judge, one_matrix=attack.one_matrix):
            if trials:
                self.progress(f"{label}: {level.label}, run {len(trials) + 1}", self.done, self.total)
            exposure = self._expose(level, len(trials), exposures)
            began = time.perf_counter()
            guess = part.attacked(attack, exposure)
            seconds += time.perf_counter() - began
            ambiguity = guess.ambiguity if guess.ambiguity != "none" else ambiguity
            up_to = guess.up_to or up_to
            trials.append(judge.try_guess(guess, exposure.kept, exposure.deal.given))
        scores = judge.scores(trials, one_matrix=attack.one_matrix, goal=self.goals.max_advantage)
        row = AuditRow(
            perturbation=label,
            attack=part.names(attack),
            catalogue=attack.catalogue,
            attack_words=attack.words,
            level=level,
            nrmse=float(np.mean([t.nrmse for t in trials])),
            ambiguity=ambiguity,
            repetitions=len(trials),
            n_scored=trials[0].n_scored,
            seconds=seconds / len(trials),
            up_to=up_to,
            part=part.index,
            **scores,
        )
        return replace(row, failures=tuple(self.goals.failures(row, self.stage.levels)))

    def _enough(self, trials: list[Trial], judge: Judge, *, one_matrix: bool) -> bool:
        """Whether the attack was played often enough: once where records are independent trials."""
        if not one_matrix:
            return len(trials) == 1
        if len(trials) >= self.repetitions:
            return True
        if len(trials) < FEWEST_REPETITIONS:
            return False
        lowest, _ = repetition_interval([float(t.value) for t in trials])
        return (lowest - judge.value_baseline) / (1 - judge.value_baseline + 1e-12) > self.goals.max_advantage

    def _pictured(self, row: AuditRow, attack: Attack, part: _Part) -> AuditRow:
        exposure = self.stage.expose(self.perturbation, self.index, row.level, 0)
        guess = part.attacked(attack, exposure)
        kept, given = exposure.kept, exposure.deal.given
        picture = None if part.truth.categorical.any() else part.judge.picture(guess, kept, given)
        return replace(row, picture=picture, records=tuple(part.judge.worst_records(guess, kept, given)))


class _Part:
    """One perturbation of the release under attack: its columns, their truth and their judge."""

    def __init__(self, index: int, step: Step, stage: Stage, tolerance: float, several: bool) -> None:
        self.index, self.step, self._several = index, step, several
        self.at, self._d = stage.private.places(step.names), len(stage.columns)
        self.truth = stage.private.part(step.names)
        # Whole numbers that were randomized as categories are right or wrong, not near.
        exact = self.truth.categorical | isinstance(step.model, ResponseModel)
        self.judge = Judge(self.truth.values, self.truth.columns, tolerance, exact)

    def names(self, attack: Attack) -> str:
        """The attack, and which part it is on where there are several."""
        return f"{attack.label} on {self.step.method}" if self._several else attack.label

    def attacked(self, attack: Attack, exposure: Exposure) -> Guess:
        """The attack's guess of this part's columns, in the truth's numbers and codes."""
        release = exposure.release.part(self.index)
        guess = attack.run(release, *exposure.knowledge(self.index, self.at, self._d))
        return self.truth.stated(guess, release)


def _check_all_ran(attacks: Sequence[Attack], candidates: Sequence[Candidate]) -> None:
    """An attack that was asked for by name and never ran is an error, not a pass."""
    for attack in attacks:
        labels = [row.attack.partition(" on ")[0] for candidate in candidates for row in candidate.rows]
        if attack.label in labels:
            continue
        reasons = [s.reason for c in candidates for s in c.skipped if s.attack == attack.label]
        needs = ", ".join(kind.__name__ for kind in attack.requires)
        reason = reasons[0] if reasons else f"no level grants {needs}"
        raise InputError(f"attacks: {attack.label} was asked for and could not run: {reason}")


def _as_candidates(perturbations: Any) -> list[Perturbation | Plan]:
    found = list(perturbations) if isinstance(perturbations, Sequence) else [perturbations]
    if not found or not all(isinstance(p, Perturbation | Plan) for p in found):
        raise InputError("perturbations must be one perturbation or a list of them, for example AdditiveNoise()")
    return found


def _as_attacks(attacks: Literal["all"] | Sequence[str | Attack]) -> list[Attack]:
    if isinstance(attacks, str):
        attacks = every_attack() if attacks == "all" else [attacks]
    right = isinstance(attacks, Sequence) and bool(attacks) and all(isinstance(a, str | Attack) for a in attacks)
    if not right:
        raise InputError("attacks must be 'all', or a list of attacks or their names, for example ['bayes-estimate']")
    return [a if isinstance(a, Attack) else find_attack(a)() for a in attacks]


def _threat(perturbation: Perturbation) -> str:
    """The *Threat* paragraph of the method's docstring, as plain text."""
    text = inspect.getdoc(type(perturbation)) or ""
    _, _, after = text.partition("*Threat.*")
    return " ".join(after.partition("\n\n")[0].replace("``", "").split())
