"""One heat of an audit: a release is made, knowledge is dealt, attacks are played and judged.

A heat depends on nothing but its address (candidate, level, repetition), so heats can be played in any order, in other
processes, and remembered.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import block_diag

from veil.attacks import Attack, Guess
from veil.auditing.exposure import Exposure, Stage
from veil.auditing.grants import Level
from veil.auditing.judge import Judge, Trial
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.measures import Measure
from veil.perturbations import find_perturbation
from veil.publishing.plan import Plan
from veil.release.models import AdditiveModel, ForeignModel, ResponseModel
from veil.release.release import Manifest, Part, Release
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


def together(parts: Sequence[Part]) -> tuple[int, ...]:
    """Steps that add independent noise of one law: whoever has the release can look at their columns as one."""
    models = [part.model for part in parts]
    laws = [model.distribution for model in models if isinstance(model, AdditiveModel)]
    law = max(laws, key=laws.count, default="")
    found = tuple(i for i, m in enumerate(models) if isinstance(m, AdditiveModel) and m.distribution == law)
    return found if len(found) > 1 else ()


def joined(parts: Sequence[Part], chosen: Sequence[int]) -> Part:
    """Several additive parts as one, whose noise is correlated within each of them alone."""
    parts = [parts[i] for i in chosen]
    models = [part.model for part in parts]
    covariances = [model.covariance for model in models if isinstance(model, AdditiveModel)]
    power, basis = np.linalg.eigh(block_diag(*covariances))
    return Part(
        method="additive-noise",
        catalogue=parts[0].catalogue,
        parameters={
            "factor": (basis * np.sqrt(np.clip(power, 0.0, None))).tolist(),
            "distribution": parts[0].parameters["distribution"],
        },
        columns=tuple(column for part in parts for column in part.columns),
        released=tuple(name for part in parts for name in part.released),
    )


class Target:
    """One perturbation of the release under attack: its columns, their truth and their judges.

    ``joins`` are the parts of a part that is several additive ones looked at together.
    """

    def __init__(
        self, index: int, part: Part, stage: Stage, tolerance: float, several: bool, joins: tuple[int, ...] = ()
    ) -> None:
        self.index, self.part, self._several, self.joins = index, part, several, joins
        self.at, self._d = stage.private.places(part.names), len(stage.columns)
        self.truth = stage.private.part(part.names)
        self._tolerance, self._stage = tolerance, stage
        self._judges: dict[tuple[int, ...], Judge] = {}

    def judge(self, known: Sequence[int] = ()) -> Judge:
        """The judge of the columns that the attacker does not know already (``known``: columns of the table)."""
        given = tuple(i for i, j in enumerate(self.at) if j in known)
        if given not in self._judges:
            # Whole numbers that were randomized as categories are right or wrong, not near.
            exact = self.truth.categorical | isinstance(self.part.model, ResponseModel)
            held = (self.truth.values, self.truth.columns, self._tolerance, exact, given)
            self._judges[given] = self._stage.judge(*held)
        return self._judges[given]

    @property
    def described(self) -> bool:
        """Whether anything is known about the method; attacks that need not know it are for the others."""
        return not isinstance(self.part.model, ForeignModel)

    @property
    def scored(self) -> bool:
        """Whether there is anything to guess: a pseudonym says nothing."""
        return not self.described or find_perturbation(self.part.method).scored

    def names(self, attack: Attack) -> str:
        """The attack, and which part it is on where there are several."""
        if not self._several or attack.whole_release:
            return attack.label
        return f"{attack.label} on {f'{len(self.joins)} parts together' if self.joins else self.part.method}"

    def attacked(self, attack: Attack, exposure: Exposure) -> Guess:
        """The attack's guess of this part's columns, in the truth's numbers and codes."""
        if self.joins:
            part = joined(exposure.release.manifest.parts, self.joins)
            release = Release(exposure.release.table, replace(exposure.release.manifest, parts=(part,)))
        else:
            release = exposure.release.part(self.index)
        guess = attack.run(release, *exposure.knowledge(None if self.joins else self.index, self.at, self._d))
        return self.truth.stated(guess, release)


class Arena:
    """Everything that a heat needs: the stage, the candidates and the attacks."""

    def __init__(self, stage: Stage, candidates: Sequence[Plan], attacks: Sequence[Attack], tolerance: float) -> None:
        self.stage, self.candidates, self.attacks = stage, tuple(candidates), tuple(attacks)
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
            self._manifests[candidate] = self._exposed(candidate, self.stage.levels[0], 0).release.manifest
            parts = self._manifests[candidate].parts
            several = len(parts) > 1
            targets = [Target(i, part, self.stage, self.tolerance, several) for i, part in enumerate(parts)]
            chosen = together(parts)
            if chosen:
                whole = joined(parts, chosen)
                targets.append(Target(len(parts), whole, self.stage, self.tolerance, several, chosen))
            self._parts[candidate] = targets
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
