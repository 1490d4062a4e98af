"""One run of an audit: a release is made, knowledge is granted, attacks are run and judged.

A run depends on nothing but its address (candidate, level, repetition), so runs can be run in any order, in other
processes, and remembered.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from veil.attacks import Attack, Links
from veil.auditing.exposure import Exposure, Exposures
from veil.auditing.grants import Level
from veil.auditing.scores import GuessScores
from veil.auditing.trials.target import Target, joined, together
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.measures import Measure
from veil.publishing.plan import Plan
from veil.release.manifest import Manifest
from veil.report.model import Picture


@dataclass(frozen=True)
class Trial:
    """An attack on one part of a candidate's releases with one level of knowledge; candidate and attack by number."""

    candidate: int
    level: Level
    attack: int
    part: int


@dataclass(frozen=True)
class Run:
    """One run of a trial, each with another key and other grants."""

    trial: Trial
    repetition: int


@dataclass(frozen=True)
class Outcome:
    """What one attack did to one part of one release, or why it was not run."""

    scores: GuessScores | None = None
    refusal: str = ""
    applies: bool = True
    ambiguity: str = "none"
    up_to: tuple[str, ...] = ()
    seconds: float = 0.0
    picture: Picture | None = field(default=None, repr=False)
    records: tuple[tuple[int, float], ...] = field(default=(), repr=False)


class TrialRunner:
    """Everything that a run needs: the exposures, the candidates and the attacks."""

    def __init__(
        self, exposures: Exposures, candidates: Sequence[Plan], attacks: Sequence[Attack], tolerance: float
    ) -> None:
        self.exposures, self.candidates, self.attacks = exposures, tuple(candidates), tuple(attacks)
        self.tolerance = tolerance
        self._parts: dict[int, list[Target]] = {}
        self._manifests: dict[int, Manifest] = {}
        self._last: tuple[tuple[int, Level, int], Exposure] | None = None

    def manifest(self, candidate: int) -> Manifest:
        """What a candidate's first release says about itself."""
        return self._manifests[candidate]

    def parts(self, candidate: int) -> list[Target]:
        """The parts of a candidate's releases."""
        if candidate not in self._parts:
            self._manifests[candidate] = self._exposed(candidate, self.exposures.levels[0], 0).release.manifest
            parts = self._manifests[candidate].parts
            several = len(parts) > 1
            targets = [Target(i, part, self.exposures, self.tolerance, several) for i, part in enumerate(parts)]
            chosen = together(parts)
            if chosen:
                whole = joined(parts, chosen)
                targets.append(Target(len(parts), whole, self.exposures, self.tolerance, several, chosen))
            self._parts[candidate] = targets
        return self._parts[candidate]

    def _exposed(self, candidate: int, level: Level, repetition: int) -> Exposure:
        """A release under attack; the last one is kept, since several attacks are run on each."""
        address = (candidate, level, repetition)
        if self._last is None or self._last[0] != address:
            self._last = address, self.exposures.expose(self.candidates[candidate], level, repetition)
        return self._last[1]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_last": None}

    def outcome(self, run: Run) -> Outcome:
        """Make the release, grant the knowledge, run and judge the attack."""
        trial, attack = run.trial, self.attacks[run.trial.attack]
        part = self.parts(trial.candidate)[trial.part]
        try:
            exposure = self._exposed(trial.candidate, trial.level, run.repetition)
            began = time.perf_counter()
            if attack.whole_release:
                return self._linked(attack, exposure)
            guess = part.attacked(attack, exposure)
        except (InputError, MissingKnowledgeError, NotApplicableError) as error:
            # An attack that is better with knowledge may have nothing to go on without it: that is no omission.
            needless = isinstance(error, NotApplicableError) and trial.level.kind == "nothing" and bool(attack.uses)
            return Outcome(refusal=str(error), applies=not needless)
        seconds = time.perf_counter() - began
        judge, given = part.judge(exposure.grant.columns), exposure.grant.given
        first = run.repetition == 0
        pictured = first and not part.truth.categorical.any()
        return Outcome(
            judge.try_guess(guess, exposure.kept, given),
            ambiguity=guess.ambiguity,
            up_to=guess.up_to,
            seconds=seconds,
            picture=judge.picture(guess, exposure.kept, given) if pictured else None,
            records=tuple(judge.worst_records(guess, exposure.kept, given)) if first else (),
        )

    def _linked(self, attack: Attack, exposure: Exposure) -> Outcome:
        """Links of an external table to the whole release, which are right or wrong."""
        began = time.perf_counter()
        links = attack.run(exposure.release, *exposure.grant.knowledge)
        seconds = time.perf_counter() - began
        own = np.full(len(self.exposures.truth), -1, dtype=np.intp)
        own[exposure.kept] = np.arange(len(exposure.kept))
        if not isinstance(links, Links):
            raise NotApplicableError(f"{attack.attack_name()} takes the whole release and found no links")
        return Outcome(GuessScores.of_links(own, links.rows), seconds=seconds)

    def utilities(self, candidate: int, repetition: int, *, n_clusters: int, labels: object) -> dict[str, Measure]:
        """The utility of one of a candidate's releases."""
        release = self._exposed(candidate, self.exposures.levels[0], repetition).release
        return self.exposures.utilities(release, n_clusters=n_clusters, labels=labels)
