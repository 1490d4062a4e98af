"""The scoreboard of an audit: what every attack has achieved so far, and which trials are to be run again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veil.attacks import Attack, catalogue_place
from veil.attacks.knowledge import Unit
from veil.auditing.goals import Goals
from veil.auditing.grants import NOTHING, Level
from veil.auditing.rows import AuditRow, Skipped
from veil.auditing.scores import GuessScores, pooled
from veil.auditing.trials.trial import Outcome, Run, Trial, TrialRunner
from veil.report.values import Over

FEWEST_REPETITIONS = 5
PLAIN = 0.9
"""An advantage so high that two runs are enough to see it."""
MOST_REFUSALS = 3
FEW = 3
"""Runs after which an attack that is far from the goal is not run again, where others are or another breaks it."""
LOOKS = (1, 5, 10, 30, 100)
"""Runs after which an attack on single records is judged."""
MOST_REPETITIONS = 100
"""Runs of an attack at most, where a time budget allows more than the owner asked for."""


class Scoreboard:
    """Outcomes of runs, as rows of the audit."""

    def __init__(
        self,
        runner: TrialRunner,
        goals: Goals,
        repetitions: int,
        *,
        patient: bool = False,
        again: Callable[[AuditRow, Sequence[AuditRow]], bool] | None = None,
        of_records: int | None = None,
    ) -> None:
        self._runner, self._goals = runner, goals
        self._repetitions, self._patient, self._again = repetitions, patient, again
        self._of_records = repetitions if of_records is None else of_records
        self._outcomes: dict[Trial, list[Outcome]] = {}
        self._rows: dict[Trial, AuditRow] = {}
        self._skipped: dict[Trial, Skipped] = {}
        self._tries: dict[Trial, int] = {}

    def add(self, run: Run, outcome: Outcome) -> None:
        """Take in what a run brought."""
        trial = run.trial
        self._tries[trial] = run.repetition + 1
        if outcome.scores is None:
            self._note(trial, outcome.refusal, applies=outcome.applies)
            return
        self._outcomes.setdefault(trial, []).append(outcome)
        self._rows.pop(trial, None)

    def skip(self, trial: Trial, reason: str, *, applies: bool = True, late: bool = False) -> None:
        """Note that a trial was not run at all."""
        if trial not in self._outcomes:
            self._note(trial, reason, applies=applies, late=late)

    def _note(self, trial: Trial, reason: str, *, applies: bool, late: bool = False) -> None:
        attack = self._attack(trial)
        skipped = Skipped(attack.label, trial.level, reason, applies=applies, late=late, target=self._target(trial))
        self._skipped.setdefault(trial, skipped)

    def seconds(self, run: Run) -> float:
        """How long a run will take, from what its trial took before."""
        outcomes = self._outcomes.get(run.trial, [])
        return outcomes[-1].seconds if outcomes else 0.0

    def rows(self, candidate: int, searched: Sequence[Level] = ()) -> list[AuditRow]:
        """The rows of a candidate: by level as granted, by attack as in the catalogue (A1, A2, …), and by part.

        ``searched`` are levels that were not granted, and that a search came to; they come last.
        """
        levels = [*self._runner.exposures.levels, *searched]
        return [self.row(trial) for trial in self._ordered(self._outcomes, candidate) if trial.level in levels]

    def skipped(self, candidate: int) -> list[Skipped]:
        """What was not run on a candidate, in the same order."""
        return [self._skipped[trial] for trial in self._ordered(self._skipped, candidate)]

    def _ordered(self, trials: Iterable[Trial], candidate: int) -> list[Trial]:
        """A candidate's trials in the order of the report, whichever of them was done first."""
        levels = self._runner.exposures.levels
        places = {level: i for i, level in enumerate(levels)}

        def place(trial: Trial) -> tuple[Any, ...]:
            searched = (len(levels), trial.level.kind, trial.level.amount)
            level = (places[trial.level], "", 0.0) if trial.level in places else searched
            attack = self._attack(trial)
            return *level, catalogue_place(attack.attack_name(), type(attack)), attack.label, trial.attack, trial.part

        return sorted((trial for trial in trials if trial.candidate == candidate), key=place)

    def broken(self, candidate: int, level: Level) -> bool:
        """Whether some attack with this knowledge or less is shown to break a goal."""
        trials = (trial for trial in self._outcomes if trial.candidate == candidate and trial.level.within(level))
        return any(self.row(trial).broken for trial in trials)

    def has(self, trial: Trial) -> bool:
        """Whether a trial has found anything yet."""
        return trial in self._outcomes

    def breaks(self, trial: Trial) -> bool:
        """Whether a trial is shown to break a goal."""
        return trial in self._outcomes and bool(self.row(trial).broken)

    def breakers(self, candidate: int, level: Level) -> list[Trial]:
        """Who is shown to break a goal with this knowledge or less."""
        trials = [trial for trial in self._ordered(self._outcomes, candidate) if trial.level.within(level)]
        return [trial for trial in trials if self.row(trial).broken]

    def needs_nothing(self, trial: Trial) -> bool:
        """Whether an attack recovers a secret matrix from the release alone, so that knowledge cannot help it."""
        alone = replace(trial, level=Level(NOTHING))
        if not self._runner.one_matrix(trial) or alone not in self._outcomes:
            return False
        row = self.row(alone)
        return row.states_values and row.advantage > PLAIN

    def next_round(self) -> list[Run]:
        """The rows that matter, to be run once more: those that can still change a verdict."""
        lost = dict.fromkeys((trial.candidate for trial in self._outcomes), False)
        lost |= {trial.candidate: True for trial in self._outcomes if self.row(trial).broken}
        trials = [t for t in self._outcomes if self._open(t, self._tries[t], lost=lost[t.candidate])]
        waiting = [trial for trial in trials if self._waits(trial, trials)]
        runs = [run for trial in trials if trial not in waiting for run in self._until_look(trial)]
        runs += [Run(trial, n) for trial, n in self._tries.items() if self._unlucky(trial, n)]
        return sorted(runs, key=lambda run: (lost.get(run.trial.candidate, False), run.repetition))

    def _until_look(self, trial: Trial) -> list[Run]:
        """The next runs of a trial: those until it is judged again are made side by side."""
        first = self._tries[trial]
        if self._lottery(trial):
            return [Run(trial, first)]
        limit = self._repetitions if self._again else self._of_records
        until = next((look for look in LOOKS if look > first), limit)
        return [Run(trial, n) for n in range(first, max(min(until, limit), first + 1))]

    def _waits(self, trial: Trial, others: Sequence[Trial]) -> bool:
        """Whether an attack with less knowledge is about to break the candidate, which would spare this one."""
        return self._again is None and any(
            self._lottery(other) and self._is_below(other, trial) and self.gain(other) > 2 * self._goals.strictest
            for other in others
        )

    def _is_below(self, trial: Trial, other: Trial) -> bool:
        """Whether a trial needs less knowledge than another on the same candidate."""
        same = trial.candidate == other.candidate and trial.level != other.level
        return same and trial.level.within(other.level)

    def _unlucky(self, trial: Trial, n: int) -> bool:
        """Whether an attack was refused with what it was granted, and might not be with another grant.

        What it lacks with nothing as well, no grant brings.
        """
        if trial in self._outcomes or not self._lottery(trial) or n >= min(MOST_REFUSALS, self._repetitions):
            return False
        alone = replace(trial, level=Level(NOTHING))
        lacks = self._skipped[alone].reason if alone in self._skipped and alone not in self._outcomes else None
        return trial == alone or self._skipped[trial].reason != lacks

    def _lottery(self, trial: Trial) -> bool:
        """Whether the attack succeeds or fails on all records alike, by the key or by what is granted."""
        granted = trial.level.knowledge.unit in (Unit.RECORDS, Unit.SHARE)
        return self._runner.one_matrix(trial) and (self._runner.exposures.fresh or granted)

    def _open(self, trial: Trial, n: int, *, lost: bool) -> bool:
        if self._again is not None:
            return not lost and n < self._repetitions and self._again(self.row(trial), self._each_run(trial))
        row, lottery = self.row(trial), self._lottery(trial)
        limit = self._repetitions if lottery else self._of_records
        limit = max(MOST_REPETITIONS, limit) if self._patient and not lost else limit
        if n >= limit or not (lottery or self._runner.exposures.fresh):  # the same release would say the same
            return False
        if not row.states_values or not self._goals.counts(row.level, self._runner.exposures.levels):
            return lottery and n < min(2, limit)
        if not lottery and n > 1 and n not in LOOKS:  # a verdict that is looked at too often is right too seldom
            return True
        if lottery and any(self._is_below(each, trial) and self.row(each).broken for each in self._outcomes):
            return False  # less knowledge breaks a goal: more runs with this decide nothing
        if row.broken and not lottery:  # near the goal, one key may be an unlucky one
            return n < FEWEST_REPETITIONS and not self._is_plain(trial.candidate)
        if row.broken:
            return n < (2 if row.advantage > PLAIN else FEWEST_REPETITIONS)
        if self.broken(trial.candidate, trial.level):  # another attack decides here
            return lottery and n < min(2, limit) and not self._is_hopeless(trial)
        if lottery and lost and self._is_spared(trial, n):
            return False
        return bool(row.failures) or self._goals.is_in_doubt(row)

    def gain(self, trial: Trial) -> float:
        """The highest advantage that an attack has reached in anything, on average over its runs."""
        row = self.row(trial)
        scores = [row.value, row.record, *row.columns.values(), *([row.far_out] if row.far_out is not None else [])]
        scores += [each.score for each in row.largest.values()]
        return max((float(score.advantage) for score in scores if not math.isnan(score.advantage)), default=0.0)

    def _is_plain(self, candidate: int) -> bool:
        """Whether a candidate is broken by far, so that it does not matter what else breaks it a little."""
        plain, broken = 2 * self._goals.strictest, [t for t in self._outcomes if self.row(t).broken]
        return any(t.candidate == candidate and self.gain(t) > plain for t in broken)

    def _is_hopeless(self, trial: Trial) -> bool:
        """Whether an attack gained less than half of what breaks the goal."""
        return self.gain(trial) <= self._goals.strictest / 2

    def _is_spared(self, trial: Trial, n: int) -> bool:
        """Whether an attack on one matrix is run no more, since another breaks the candidate and it does not.

        Few runs are enough of one that is hopeless, and some of one that is near the goal, which no number of keys that
        an audit runs would settle. Who is hopeless with more knowledge of a kind is hopeless with less: there, one.
        """
        if n >= FEWEST_REPETITIONS and self.gain(trial) <= 2 * self._goals.strictest:
            return True
        return self._is_hopeless(trial) and (n >= FEW or any(map(self._is_hopeless, self._above(trial))))

    def _above(self, trial: Trial) -> list[Trial]:
        """The same attack with more knowledge of the same kind."""
        return [
            other
            for other in self._outcomes
            if (other.candidate, other.attack, other.part) == (trial.candidate, trial.attack, trial.part)
            and other.level.kind == trial.level.kind
            and other.level.amount > trial.level.amount
        ]

    def runs(self, candidate: int) -> list[list[AuditRow]]:
        """What each of a candidate's trials achieved in every single run, with a key of its own."""
        return [self._each_run(trial) for trial in self._ordered(self._outcomes, candidate)]

    def _each_run(self, trial: Trial) -> list[AuditRow]:
        return [self._scored(trial, [outcome]) for outcome in self._outcomes[trial]]

    def row(self, trial: Trial) -> AuditRow:
        """What a trial has achieved so far."""
        if trial not in self._rows:
            self._rows[trial] = self._scored(trial, self._outcomes[trial])
        return self._rows[trial]

    def _scored(self, trial: Trial, outcomes: Sequence[Outcome]) -> AuditRow:
        attack = self._attack(trial)
        guesses = [o.scores for o in outcomes if o.scores is not None]
        first, tested = outcomes[0], any(outcome.tested for outcome in outcomes)
        row = AuditRow(
            perturbation=self._runner.candidates[trial.candidate].describe(),
            attack=attack.label,
            target=self._target(trial),
            catalogue=attack.catalogue,
            attack_words=attack.words,
            level=trial.level,
            nrmse=float(np.mean([scores.nrmse for scores in guesses])),
            ambiguity=next((o.ambiguity for o in reversed(outcomes) if o.ambiguity != "none"), "none"),
            repetitions=len(guesses),
            n_scored=guesses[0].n_scored,
            seconds=sum(o.seconds for o in outcomes) / len(outcomes),
            up_to=next((o.up_to for o in reversed(outcomes) if o.up_to), ()),
            part=trial.part,
            one_matrix=self._lottery(trial),
            picture=first.picture,
            records=first.records,
            tested=tested,
            kinds=len({*attack.requires, *([trial.level.knowledge] if tested and trial.level.kind != NOTHING else [])}),
            **self._scores(trial, guesses),
        )
        return replace(row, failures=tuple(self._goals.failures(row, self._runner.exposures.levels)))

    def _scores(self, trial: Trial, guesses: Sequence[GuessScores]) -> dict[str, Any]:
        goal, over = self._goals.max_advantage, Over(self._goals.over)
        if all(scores.links for scores in guesses):
            runs, chance = [scores.record for scores in guesses], 1.0 / len(self._runner.exposures.truth)
            score = pooled(runs, chance, one_matrix=False, goal=goal, over=over)
            return {
                "value": score,
                "record": score,
                "worst_column": "",
                "column": score,
                "far_out": None,
                "links": True,
            }
        judge = self._runner.target(trial).judge(self._runner.exposures.known_columns(trial.level))
        return judge.scores(
            guesses, one_matrix=self._lottery(trial), goal=goal, over=over, columns=self._goals.column_limits
        )

    def _attack(self, trial: Trial) -> Attack:
        return self._runner.attacks[trial.attack]

    def _target(self, trial: Trial) -> tuple[str, ...]:
        return self._runner.target(trial).methods
