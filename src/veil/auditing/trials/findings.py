"""What the runs of an audit come to: every candidate with its rows and failures, and what a reader should know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from veil.attacks import Attack, GuessingAttack
from veil.auditing.goals import Goals
from veil.auditing.grants import NOTHING, Level
from veil.auditing.membership import Membership
from veil.auditing.rows import AuditRow, Break, Candidate
from veil.auditing.trials.scoreboard import Scoreboard
from veil.auditing.trials.target import WHOLE, PartTarget
from veil.auditing.trials.trial import TrialRunner
from veil.auditing.utility import averaged
from veil.measures import Measure
from veil.perturbations import Perturbation
from veil.report.failures import OutOfTime, UntestedKnowledge
from veil.report.remarks import LargestTold


class Findings:
    """What a scoreboard comes to for the goals."""

    def __init__(self, runner: TrialRunner, board: Scoreboard, goals: Goals) -> None:
        self._runner, self._board, self._goals = runner, board, goals

    def candidate(
        self,
        index: int,
        breaks: tuple[Break, ...],
        utility: dict[str, Measure],
        membership: Membership | None,
    ) -> Candidate:
        """A candidate with its rows, what breaks it, and what else speaks against it."""
        plan, exposures = self._runner.candidates[index], self._runner.exposures
        manifest, rows = self._runner.manifest(index), self._board.rows(index, [each.level for each in breaks])
        skipped = self._board.skipped(index)
        untested = tuple(self._untested(index, rows))
        late = sum(trial.late for trial in skipped)
        not_run = [OutOfTime(late)] if late else []
        return Candidate(
            label=plan.describe(),
            method=manifest.method,
            catalogue=" + ".join(part.catalogue for part in manifest.parts),
            guarantee=manifest.guarantee,
            threat=" ".join(_threat(p) for p in plan.perturbations),
            rows=tuple(rows),
            skipped=tuple(skipped),
            levels=tuple(exposures.levels),
            utility=utility,
            other_failures=(
                *not_run,
                *self._goals.membership_failures(membership),
                *self._asked_for(untested),
                *self._goals.utility_failures(utility),
            ),
            breaks=breaks,
            untested=untested,
            membership=membership,
            keys=self._runner.keys(index),
        )

    def _asked_for(self, untested: Sequence[UntestedKnowledge]) -> list[UntestedKnowledge]:
        """What of the untested knowledge the owner asked for, by grants or goals: there the goal does not hold.

        What a sweep grants of itself is only said to be untested. A release that was not attacked at all is never safe.
        """
        exposures, named = self._runner.exposures, self._goals.against is not None
        failures = []
        for each in untested:
            kinds = [k for k in each.knowledge if named or k.kind == NOTHING or exposures.asked_for(k.kind)]
            failures += [replace(each, knowledge=tuple(kinds))] if kinds else []
        return failures

    def _untested(self, candidate: int, rows: Sequence[AuditRow]) -> list[UntestedKnowledge]:
        """Levels at which some part that can be guessed was not attacked at all."""
        failures: list[UntestedKnowledge] = []
        targets = self._runner.targets(candidate)
        private = [target for target in targets if (target.scored or target.sensitive) and not target.joins]
        for target in private or targets:
            joins = [other.index for other in targets if target.index in other.joins]
            joins += [WHOLE] if target.scored else []
            rows_on = [row for row in rows if row.part in (target.index, *joins)]
            method = target.part.method if len(targets) > 1 else ""
            exposures = self._runner.exposures
            levels = [level for level in exposures.levels if not target.is_known(exposures.known_columns(level))]
            failures += self._goals.untested(rows_on, levels, target.part.model, method)
        if not failures and not any(row.states_values for row in rows):  # keys alone, and nobody to link them
            failures.append(UntestedKnowledge((Level(NOTHING).view,)))
        return failures


def remarks_on_parts(targets: Sequence[PartTarget], attacks: Sequence[Attack]) -> tuple[str, ...]:
    """Parts that no attack looks at together with others: what others say about them is not used."""
    alone = [target for target in targets if target.scored and not target.joins]
    joined = {i for target in targets for i in target.joins}
    # What requires knowledge of its own is not run on every release.
    whole = [a for a in attacks if a.whole_release and isinstance(a, GuessingAttack) and not a.requires]
    apart = [target for target in alone if not any(attack.applies_to(target.part.model) for attack in whole)]
    if len(alone) < 2 or not apart or {target.index for target in alone} <= joined:
        return ()
    methods = ", ".join(dict.fromkeys(target.part.method for target in apart))
    return (
        f"Parts of the plan were attacked one by one, apart from linkage ({methods}): no attack weighs their columns "
        "together with the others. Columns that vary together and lie in such parts can betray each other: what holds "
        "here may break.",
    )


def remarks_on_largest(candidates: Sequence[Candidate], goals: Goals) -> tuple[str, ...]:
    """Columns of which the largest values are told, with what protects them."""
    remarks = []
    for candidate in candidates:
        rows = [r for r in candidate.rows if r.states_values and goals.counts(r.level, candidate.levels)]
        columns = dict.fromkeys(name for row in rows for name in goals.told_largest(row))
        if columns:
            label = candidate.label if len(candidates) > 1 else ""
            remarks.append(str(LargestTold(tuple(columns), goals.n_largest, goals.largest_share, label)))
    return tuple(remarks)


def over_keys(releases: Sequence[Mapping[str, Measure]]) -> dict[str, Measure]:
    """Utilities as means over releases with different keys, from the lowest end to the highest."""
    names = [name for name in (releases[0] if releases else {}) if all(name in each for each in releases)]
    return {name: averaged([(1, measured[name]) for measured in releases]) for name in names}


def _threat(perturbation: Perturbation) -> str:
    """What the method says of its threat, as plain text."""
    return perturbation.threat.replace("``", "")
