"""One heat of an audit: a release is made, knowledge is dealt, attacks are played and judged.

A heat depends on nothing but its address (candidate, level, repetition), so heats can be played in any order, in other
processes, and remembered.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from veil.attacks import Attack, Guess
from veil.auditing.grants import Level
from veil.auditing.judge import Judge, Trial
from veil.auditing.stage import Exposure, Stage
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.measures import Measure
from veil.models import ForeignModel, ResponseModel
from veil.perturbations import find_perturbation
from veil.plan import Plan
from veil.release import Manifest, Step
from veil.report.model import Picture


@dataclass(frozen=True)
class Player:
    """An attack on one part of a candidate's releases with one level of knowledge; candidate and attack by number."""

    candidate: int
    level: Level
    attack: int
    part: int


@dataclass(frozen=True)
class Heat:
    """One run of a player, each with another key and other deals."""

    player: Player
    repetition: int


@dataclass(frozen=True)
class Outcome:
    """What one attack did to one part of one release, or why it was not played."""

    trial: Trial | None = None
    refusal: str = ""
    applies: bool = True
    ambiguity: str = "none"
    up_to: tuple[str, ...] = ()
    seconds: float = 0.0
    picture: Picture | None = field(default=None, repr=False)
    records: tuple[tuple[int, float], ...] = field(default=(), repr=False)


class Part:
    """One perturbation of the release under attack: its columns, their truth and their judges."""

    def __init__(self, index: int, step: Step, stage: Stage, tolerance: float, several: bool) -> None:
        self.index, self.step, self._several = index, step, several
        self.at, self._d = stage.private.places(step.names), len(stage.columns)
        self.truth = stage.private.part(step.names)
        self._tolerance, self._stage = tolerance, stage
        self._judges: dict[tuple[int, ...], Judge] = {}

    def judge(self, known: Sequence[int] = ()) -> Judge:
        """The judge of the columns that the attacker does not know already (``known``: columns of the table)."""
        given = tuple(i for i, j in enumerate(self.at) if j in known)
        if given not in self._judges:
            # Whole numbers that were randomized as categories are right or wrong, not near.
            exact = self.truth.categorical | isinstance(self.step.model, ResponseModel)
            held = (self.truth.values, self.truth.columns, self._tolerance, exact, given)
            self._judges[given] = self._stage.judge(*held)
        return self._judges[given]

    @property
    def described(self) -> bool:
        """Whether anything is known about the method; attacks that need not know it are for the others."""
        return not isinstance(self.step.model, ForeignModel)

    @property
    def scored(self) -> bool:
        """Whether there is anything to guess: a pseudonym says nothing."""
        return not self.described or find_perturbation(self.step.method).scored

    def names(self, attack: Attack) -> str:
        """The attack, and which part it is on where there are several."""
        whole = not self._several or attack.whole_release
        return attack.label if whole else f"{attack.label} on {self.step.method}"

    def attacked(self, attack: Attack, exposure: Exposure) -> Guess:
        """The attack's guess of this part's columns, in the truth's numbers and codes."""
        release = exposure.release.part(self.index)
        guess = attack.run(release, *exposure.knowledge(self.index, self.at, self._d))
        return self.truth.stated(guess, release)


class Arena:
    """Everything that a heat needs: the stage, the candidates and the attacks."""

    def __init__(self, stage: Stage, candidates: Sequence[Plan], attacks: Sequence[Attack], tolerance: float) -> None:
        self.stage, self.candidates, self.attacks = stage, tuple(candidates), tuple(attacks)
        self.tolerance = tolerance
        self._parts: dict[int, list[Part]] = {}
        self._manifests: dict[int, Manifest] = {}
        self._last: tuple[tuple[int, Level, int], Exposure] | None = None

    def manifest(self, candidate: int) -> Manifest:
        """What a candidate's first release says about itself."""
        return self._manifests[candidate]

    def parts(self, candidate: int) -> list[Part]:
        """The parts of a candidate's releases."""
        if candidate not in self._parts:
            self._manifests[candidate] = self._exposed(candidate, self.stage.levels[0], 0).release.manifest
            steps = self._manifests[candidate].steps
            several = len(steps) > 1
            self._parts[candidate] = [
                Part(i, step, self.stage, self.tolerance, several) for i, step in enumerate(steps)
            ]
        return self._parts[candidate]

    def _exposed(self, candidate: int, level: Level, repetition: int) -> Exposure:
        """A release under attack; the last one is kept, since several attacks are played on each."""
        address = (candidate, level, repetition)
        if self._last is None or self._last[0] != address:
            self._last = address, self.stage.expose(self.candidates[candidate], level, repetition)
        return self._last[1]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_last": None}

    def play(self, heat: Heat) -> Outcome:
        """Make the release, deal the knowledge, run and judge the attack."""
        player, attack = heat.player, self.attacks[heat.player.attack]
        part = self.parts(player.candidate)[player.part]
        try:
            exposure = self._exposed(player.candidate, player.level, heat.repetition)
            began = time.perf_counter()
            if attack.whole_release:
                return self._linked(attack, exposure)
            guess = part.attacked(attack, exposure)
        except (InputError, MissingKnowledgeError, NotApplicableError) as error:
            # An attack that is better with knowledge may have nothing to go on without it: that is no omission.
            needless = isinstance(error, NotApplicableError) and player.level.kind == "nothing" and bool(attack.uses)
            return Outcome(refusal=str(error), applies=not needless)
        seconds = time.perf_counter() - began
        judge, given = part.judge(exposure.deal.columns), exposure.deal.given
        first = heat.repetition == 0
        seen = first and not part.truth.categorical.any()
        return Outcome(
            judge.try_guess(guess, exposure.kept, given),
            ambiguity=guess.ambiguity,
            up_to=guess.up_to,
            seconds=seconds,
            picture=judge.picture(guess, exposure.kept, given) if seen else None,
            records=tuple(judge.worst_records(guess, exposure.kept, given)) if first else (),
        )

    def _linked(self, attack: Attack, exposure: Exposure) -> Outcome:
        """Links of an external table to the whole release, which are right or wrong."""
        began = time.perf_counter()
        guess = attack.run(exposure.release, *exposure.deal.knowledge)
        seconds = time.perf_counter() - began
        own = np.full(len(self.stage.truth), -1, dtype=np.intp)
        own[exposure.kept] = np.arange(len(exposure.kept))
        return Outcome(Trial.of_links(own, guess.details["links"]), seconds=seconds)

    def worth(self, candidate: int, repetition: int, *, n_clusters: int, labels: object) -> dict[str, Measure]:
        """The utility of one of a candidate's releases."""
        release = self._exposed(candidate, self.stage.levels[0], repetition).release
        return self.stage.worth(release, n_clusters=n_clusters, labels=labels)
