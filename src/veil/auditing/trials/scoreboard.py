"""The scoreboard of an audit: what every attack has achieved so far, and who is to play again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veil.attacks import Attack
from veil.auditing.goals import Goals
from veil.auditing.grants import Level
from veil.auditing.judge import Score, Trial, pooled
from veil.auditing.rows import AuditRow, Skipped
from veil.auditing.trials.trial import Arena, Heat, Outcome, Player

FEWEST_REPETITIONS = 5
PLAIN = 0.9
"""An advantage so high that two runs are enough to see it."""
MOST_REFUSALS = 3
FEW = 3
"""Runs after which an attack that is far from the goal is not played again, where others are."""
LOOKS = (1, 5, 10, 30, 100)
"""Runs after which an attack on single records is judged."""
MOST_REPETITIONS = 100
"""Runs of an attack at most, where a time budget allows more than the owner asked for."""


class Scoreboard:
    """Outcomes of heats, as rows of the audit."""

    def __init__(
        self, arena: Arena, goals: Goals, repetitions: int, *, patient: bool = False, exactly: bool = False
    ) -> None:
        self._arena, self._goals = arena, goals
        self._repetitions, self._patient, self._exactly = repetitions, patient, exactly
        self._outcomes: dict[Player, list[Outcome]] = {}
        self._rows: dict[Player, AuditRow] = {}
        self._skipped: dict[Player, Skipped] = {}
        self._tries: dict[Player, int] = {}

    def add(self, heat: Heat, outcome: Outcome) -> None:
        """Take in what a heat brought."""
        player = heat.player
        self._tries[player] = heat.repetition + 1
        if outcome.trial is None:
            said = Skipped(self._name(player), player.level.label, outcome.refusal, applies=outcome.applies)
            self._skipped.setdefault(player, said)
            return
        self._outcomes.setdefault(player, []).append(outcome)
        self._rows.pop(player, None)

    def skip(self, player: Player, reason: str, *, applies: bool = True, late: bool = False) -> None:
        """Note that a player was not played at all."""
        if player not in self._outcomes:
            said = Skipped(self._name(player), player.level.label, reason, applies=applies, late=late)
            self._skipped.setdefault(player, said)

    def seconds(self, heat: Heat) -> float:
        """How long a heat will take, from what its player took before."""
        outcomes = self._outcomes.get(heat.player, [])
        return outcomes[-1].seconds if outcomes else 0.0

    def rows(self, candidate: int) -> list[AuditRow]:
        """The rows of a candidate, in the order of levels, attacks and parts."""
        levels = self._arena.stage.levels
        order = [p for p in self._outcomes if p.candidate == candidate and p.level in levels]
        return [self.row(p) for p in sorted(order, key=lambda p: (levels.index(p.level), p.attack, p.part))]

    def skipped(self, candidate: int) -> list[Skipped]:
        """What was not played on a candidate."""
        return [said for player, said in self._skipped.items() if player.candidate == candidate]

    def broken(self, candidate: int, level: Level) -> bool:
        """Whether some attack with this knowledge or less is shown to break a goal."""
        return bool(self.breakers(candidate, level))

    def breakers(self, candidate: int, level: Level) -> list[Player]:
        """Who is shown to break a goal with this knowledge or less."""
        players = [p for p in self._outcomes if p.candidate == candidate and p.level.within(level)]
        return [p for p in players if self.row(p).broken]

    def next_round(self) -> list[Heat]:
        """The rows that matter, to be played once more: those that can still change a verdict."""
        lost = {c: any(self.row(p).broken for p in self._outcomes if p.candidate == c) for c in self._candidates()}
        heats = [
            Heat(player, self._tries[player])
            for player in self._outcomes
            if self._open(player, self._tries[player], lost=lost[player.candidate])
        ]
        heats += [Heat(player, n) for player, n in self._tries.items() if self._unlucky(player, n)]
        return sorted(heats, key=lambda heat: (lost.get(heat.player.candidate, False), heat.repetition))

    def _unlucky(self, player: Player, n: int) -> bool:
        """Whether an attack was refused with what it was dealt, and might not be with another deal."""
        return player not in self._outcomes and self._lottery(player) and n < min(MOST_REFUSALS, self._repetitions)

    def _lottery(self, player: Player) -> bool:
        """Whether the attack succeeds or fails on all records alike, by the key or by what is dealt."""
        dealt = player.level.kind in ("pairs", "records", "sample")
        return self._attack(player).one_matrix and (self._arena.stage.fresh or dealt)

    def _candidates(self) -> set[int]:
        return {player.candidate for player in self._outcomes}

    def _open(self, player: Player, n: int, *, lost: bool) -> bool:
        if self._exactly:
            return n < self._repetitions and (n < FEW or self._matters(player))
        row, lottery = self.row(player), self._lottery(player)
        limit = max(MOST_REPETITIONS, self._repetitions) if self._patient and not lost else self._repetitions
        if n >= limit or not (lottery or self._arena.stage.fresh):  # the same release would say the same
            return False
        if not row.states_values or not self._goals.counts(row.level, self._arena.stage.levels):
            return lottery and n < min(2, limit)
        if not lottery and n > 1 and n not in LOOKS:  # a verdict that is looked at too often is right too seldom
            return True
        if row.broken:
            return lottery and n < (2 if row.advantage > PLAIN else FEWEST_REPETITIONS)
        if self.broken(player.candidate, player.level):  # another attack decides here
            return lottery and n < min(2, limit)
        return not row.upper <= self._goals.max_advantage

    def _matters(self, player: Player) -> bool:
        """Whether an attack is anywhere near the goal, so that more runs could say something."""
        row = self.row(player)
        scores = [row.value, row.record, row.column, *([row.far_out] if row.far_out is not None else [])]
        gains = [max(float(s.advantage), s.advantage.low) for s in scores if not math.isnan(s.advantage)]
        upper = [s.advantage.high for s in scores[:2] if not math.isnan(s.advantage)]
        return max([*upper, *gains], default=1.0) > self._goals.max_advantage / 2

    def run_rows(self, candidate: int, run: int) -> list[AuditRow]:
        """What a candidate's players achieved in one run alone, each with a key of its own."""
        players = [p for p, outcomes in self._outcomes.items() if p.candidate == candidate and len(outcomes) > run]
        return [self._scored(p, self._outcomes[p][run : run + 1]) for p in players]

    def row(self, player: Player) -> AuditRow:
        """What a player has achieved so far."""
        if player not in self._rows:
            self._rows[player] = self._scored(player, self._outcomes[player])
        return self._rows[player]

    def _scored(self, player: Player, outcomes: Sequence[Outcome]) -> AuditRow:
        attack = self._attack(player)
        trials = [o.trial for o in outcomes if o.trial is not None]
        first = outcomes[0]
        row = AuditRow(
            perturbation=self._arena.candidates[player.candidate].describe(),
            attack=self._name(player),
            catalogue=attack.catalogue,
            attack_words=attack.words,
            level=player.level,
            nrmse=float(np.mean([t.nrmse for t in trials])),
            ambiguity=next((o.ambiguity for o in reversed(outcomes) if o.ambiguity != "none"), "none"),
            repetitions=len(trials),
            n_scored=trials[0].n_scored,
            seconds=sum(o.seconds for o in outcomes) / len(outcomes),
            up_to=next((o.up_to for o in reversed(outcomes) if o.up_to), ()),
            part=player.part,
            one_matrix=self._lottery(player),
            picture=first.picture,
            records=first.records,
            **self._scores(player, trials, attack),
        )
        return replace(row, failures=tuple(self._goals.failures(row, self._arena.stage.levels)))

    def _scores(self, player: Player, trials: Sequence[Trial], attack: Attack) -> dict[str, Any]:
        goal = self._goals.max_advantage
        if attack.whole_release:
            score: Score = pooled(
                [t.record for t in trials],
                1.0 / len(self._arena.stage.truth),
                one_matrix=False,
                goal=goal,
                n=[t.n_scored for t in trials],
            )
            return {
                "value": score,
                "record": score,
                "worst_column": "",
                "column": score,
                "far_out": None,
                "links": True,
            }
        part = self._arena.parts(player.candidate)[player.part]
        judge = part.judge(self._arena.stage.known_columns(player.level))
        return judge.scores(trials, one_matrix=self._lottery(player), goal=goal)

    def _attack(self, player: Player) -> Attack:
        return self._arena.attacks[player.attack]

    def _name(self, player: Player) -> str:
        return self._arena.parts(player.candidate)[player.part].names(self._attack(player))
