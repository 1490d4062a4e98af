"""One run of an audit: a release is made, knowledge is granted, attacks are run and judged.

A run depends on nothing but its address (candidate, level, repetition), so runs can be made in any order and in other
processes, and their outcomes remembered.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from veil.attacks import Attack, Guess, GuessingAttack, Links
from veil.attacks.knowledge import Rows
from veil.attacks.linkage.membership import MembershipAttack
from veil.auditing.exposure import Exposure, Exposures
from veil.auditing.grants import Level
from veil.auditing.membership import Membership, membership
from veil.auditing.released_keys import released_keys
from veil.auditing.scores import GuessScores
from veil.auditing.trials.target import WHOLE, PartTarget, WholeTarget, joined, together
from veil.data.blocks import Matrix
from veil.errors import InputError, MissingKnowledgeError, NotApplicableError
from veil.measures import Measure
from veil.measures.largest import USUAL_LARGEST, LargestRule
from veil.publishing.plan import Plan
from veil.release.manifest import Manifest
from veil.report.model import Picture
from veil.report.remarks import ReleasedKeys


@dataclass(frozen=True)
class Trial:
    """An attack on one part of a candidate's releases with one level of knowledge; candidate and attack by number.

    ``part`` is the number of a target, or :data:`veil.auditing.trials.target.WHOLE`.
    """

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
    tested: bool = True
    """Whether the attack used the knowledge of its level."""


class TrialRunner:
    """Everything that a run needs: the exposures, the candidates and the attacks."""

    def __init__(
        self,
        exposures: Exposures,
        candidates: Sequence[Plan],
        attacks: Sequence[Attack],
        tolerance: float,
        largest: LargestRule = USUAL_LARGEST,
    ) -> None:
        self.exposures, self.candidates, self.attacks = exposures, tuple(candidates), tuple(attacks)
        self.tolerance, self.largest = tolerance, largest
        self._targets: dict[int, list[PartTarget]] = {}
        self._whole: dict[int, WholeTarget] = {}
        self._manifests: dict[int, Manifest] = {}
        self._keys: dict[int, ReleasedKeys | None] = {}
        self._last: tuple[tuple[int, Level, int], Exposure] | None = None

    def manifest(self, candidate: int) -> Manifest:
        """What a candidate's first release says about itself."""
        return self._manifests[candidate]

    def keys(self, candidate: int) -> ReleasedKeys | None:
        """How many records are alone with the keys of a candidate's first release."""
        return self._keys[candidate]

    def targets(self, candidate: int) -> list[PartTarget]:
        """The parts of a candidate's releases, and those that can be looked at together."""
        if candidate not in self._targets:
            release = self._exposed(candidate, self.exposures.levels[0], 0).release
            self._manifests[candidate], self._keys[candidate] = release.manifest, released_keys(release)
            parts, near = self._manifests[candidate].parts, (self.tolerance, self.largest)
            targets = [
                PartTarget(i, part, self.exposures, *near, methods=(part.method,) if len(parts) > 1 else ())
                for i, part in enumerate(parts)
            ]
            chosen = together(parts)
            if chosen:
                methods, several = tuple(parts[i].method for i in chosen), joined(parts, chosen)
                targets.append(PartTarget(len(parts), several, self.exposures, *near, methods=methods, joins=chosen))
            self._targets[candidate] = targets
        return self._targets[candidate]

    def target(self, trial: Trial) -> PartTarget | WholeTarget:
        """What a trial is on."""
        targets = self.targets(trial.candidate)
        if trial.part != WHOLE:
            return targets[trial.part]
        if trial.candidate not in self._whole:
            parts = self._manifests[trial.candidate].parts
            self._whole[trial.candidate] = WholeTarget(parts, self.exposures, self.tolerance, self.largest)
        return self._whole[trial.candidate]

    def one_matrix(self, trial: Trial) -> bool:
        """Whether the attack finds one matrix, which the method drew for all records, and so all of them or none."""
        target = self.target(trial)
        drawn = not (isinstance(target, PartTarget) and target.part.model.independent_records)
        return self.attacks[trial.attack].one_matrix and drawn

    def _exposed(self, candidate: int, level: Level, repetition: int) -> Exposure:
        """A release under attack; the last one is kept, since several attacks are run on each."""
        address = (candidate, level, repetition)
        if self._last is None or self._last[0] != address:
            self._last = address, self.exposures.expose(self.candidates[candidate], level, repetition)
        return self._last[1]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_last": None}

    def prepare(self, run: Run) -> None:
        """Make the release that a run attacks, and what guesses are held against; what is wrong, the run says."""
        with suppress(InputError, MissingKnowledgeError, NotApplicableError):
            exposure = self._exposed(run.trial.candidate, run.trial.level, run.repetition)
            target, known = self.target(run.trial), exposure.grant.columns
            if isinstance(self.attacks[run.trial.attack], GuessingAttack) and not target.is_known(known):
                target.judge(known).prepare()

    def outcome(self, run: Run) -> Outcome:
        """Make the release, grant the knowledge, run and judge the attack."""
        trial, attack = run.trial, self.attacks[run.trial.attack]
        target = self.target(trial)
        try:
            exposure = self._exposed(trial.candidate, trial.level, run.repetition)
            if isinstance(attack, GuessingAttack) and target.is_known(exposure.grant.columns):
                raise NotApplicableError("what is known leaves no column of this part to guess")
            began = time.perf_counter()
            finding, used = target.attacked(attack, exposure)
        except (InputError, MissingKnowledgeError, NotApplicableError) as error:
            # An attack that is better with knowledge may have nothing to go on without it: that is no omission.
            needless = isinstance(error, NotApplicableError) and trial.level.kind == "nothing" and bool(attack.uses)
            # Nor is it one where the owner calls no column of a part secret, as of recoded keys.
            return Outcome(refusal=str(error), applies=not (needless or target.is_known(())))
        seconds = time.perf_counter() - began
        tested = self.exposures.tested(trial.level, used)
        if isinstance(finding, Links):
            return Outcome(self._links(finding, exposure), seconds=seconds, tested=tested)
        judge, first = target.judge(exposure.grant.columns), run.repetition == 0
        private_rows, given = exposure.private_rows, exposure.grant.given
        if finding.of_people:
            private_rows, given = self._people(exposure)
        absent = self._absent(target, attack, finding, exposure)
        pictured = first and not target.truth.categorical.any()
        return Outcome(
            judge.try_guess(finding, private_rows, given, self.exposures.features(trial.level), absent),
            ambiguity=finding.ambiguity,
            up_to=finding.up_to,
            seconds=seconds,
            picture=judge.picture(finding, private_rows, given) if pictured else None,
            records=tuple(judge.worst_records(finding, private_rows, given)) if first else (),
            tested=tested,
        )

    def _people(self, exposure: Exposure) -> tuple[Rows, Rows]:
        """The private rows of the people of an external table, and which of these people are not scored."""
        people = exposure.people(len(self.exposures.truth))
        return people, np.flatnonzero(np.isin(people, exposure.grant.withheld))

    def _absent(
        self, target: PartTarget | WholeTarget, attack: Attack, guess: Guess, exposure: Exposure
    ) -> Matrix | None:
        """What the same attack guesses of the same people without their own rows, where it learns from others'."""
        if guess.without is None:
            return None
        control, own = self.exposures.control(exposure)
        rows = own[exposure.people(len(own))] if guess.of_people else guess.rows
        if control is exposure:
            return guess.without(rows)
        other, _ = target.attacked(attack.settled(guess) if isinstance(attack, GuessingAttack) else attack, control)
        return other.without(rows) if isinstance(other, Guess) and other.without is not None else None

    def _links(self, links: Links, exposure: Exposure) -> GuessScores:
        """Links of an external table to rows of the release, which are right or wrong."""
        own = np.full(len(self.exposures.truth), -1, dtype=np.intp)
        own[exposure.private_rows] = np.arange(len(exposure.private_rows))
        people = exposure.grant.people
        return GuessScores.of_links(own if people is None else own[people], links.rows)

    def membership(self, candidate: int, attack: int) -> Membership:
        """What an attack tells about who is in the table of one of a candidate's releases."""
        tool = self.attacks[attack]
        assert isinstance(tool, MembershipAttack)  # noqa: S101 - the schedule gives no other
        try:
            people = self.exposures.members_and_strangers(self.candidates[candidate])
        except (InputError, NotApplicableError) as error:
            return Membership(tool.label, reason=str(error))
        return membership(tool, people)

    def utilities(self, candidate: int, repetition: int, *, n_clusters: int, labels: object) -> dict[str, Measure]:
        """The utility of one of a candidate's releases."""
        exposure = self._exposed(candidate, self.exposures.levels[0], repetition)
        return self.exposures.utilities(exposure, n_clusters=n_clusters, labels=labels)
