"""A29: infer hidden columns from known ones, learned on the release itself (ours)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from veil.arguments import choice, number
from veil.attacks.base import Details, Guess, GuessingAttack
from veil.attacks.inference.learning import Inference, Learner, People
from veil.attacks.inference.reading import Table, is_columnwise, read
from veil.attacks.knowledge import ExternalTable, Knowledge, KnownAttributes, Rows
from veil.data.blocks import Matrix
from veil.errors import NotApplicableError
from veil.release.models import Model
from veil.release.release import Release

BEST = "best"
LEARNERS = (BEST, "forest", "neighbours", "chain", "nearest")


@dataclass(frozen=True, eq=False)
class InferenceDetails(Details):
    """What serves each hidden column, by name: ``learners``, the ``aims`` of their guesses, and the share of released
    rows, each without itself, that they hit (``held_out``)."""

    learners: dict[str, str]
    aims: dict[str, str]
    held_out: dict[str, float]


class AttributeInferenceAttack(GuessingAttack):
    """A29. Infer the hidden columns of people from what is known of them, as the release itself teaches it.

    *Model.* Any method that releases columns one by one, described or not: released values are taken as they are.
    People resemble the released rows, so a hidden column h is learned as P(h | known) on them, by a random forest, by
    the nearest rows, and by a chain of beliefs, in which the belief in one hidden column is known to the next. What
    hits most released values of rows that were left out serves a column (:mod:`veil.attacks.inference.learning`);
    never worse than the most frequent value.

    *Threat.* With an ExternalTable of people, the columns that it shares with the release are known of them; nobody
    need know which row is whose, or whether a person is in the release at all. Without one, everybody in the release is
    guessed from KnownAttributes and from the columns that are released unchanged. Most of what is guessed right is what
    the release teaches about people alike; what the same attack loses when a person's own row is taken out
    (``guess.without``) is about the person.

    *References.* Fredrikson et al. (2014) and Yeom et al. (2018) for attribute inference as a matter of membership;
    Read et al. (2011) for chains of beliefs; Giomi et al. (2023) for people who are not in the table as a control;
    Breiman (2001) for forests.

    Parameters
    ----------
    learner : {"best", "forest", "neighbours", "chain", "nearest"}
        "nearest" takes the values of the one row that is nearest, which the release holds if it remembers the person.
    tolerance : float, default 0.1
        Half the width of a hit, in standard deviations of the released column.

    Notes
    -----
    *Knowledge.* One of the following: columns that are released unchanged, KnownAttributes, an ExternalTable. With a
    table, ``guess.rows`` are the rows of the table and ``guess.of_people`` is true.

    ``guess.details``: :class:`InferenceDetails`.

    Examples
    --------
    Blood pressure rises with age, and the register knows the age of people who are not in the study:

    >>> import numpy as np, pandas as pd, veil
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 80, 3_000)
    >>> study = pd.DataFrame({"age": age, "pressure": 90 + 0.7 * age + rng.normal(size=3_000)})
    >>> release, _ = veil.publish(study[:2_000], veil.AdditiveNoise(0.05, random_state=0))
    >>> register = veil.ExternalTable(study[2_000:][["age"]])
    >>> guess = veil.AttributeInferenceAttack().run(release, register).of_columns(["pressure"])
    >>> bool(np.abs(guess.values[:, 0] - study["pressure"][2_000:]).mean() < 1.2)
    True
    """

    catalogue = "A29"
    words = "learns on the release how known columns go with hidden ones, and infers the hidden ones of people"
    uses = (KnownAttributes, ExternalTable)
    whole_release = True
    guesses_people = True
    settings_to_try = ({"learner": "nearest"},)

    def __init__(self, *, learner: str = BEST, tolerance: float = 0.1, variant: str = "best") -> None:
        super().__init__(variant=variant)
        self.learner = learner
        self.tolerance = tolerance
        self._settled: dict[str, tuple[str, str]] = {}

    def settled(self, guess: Guess) -> AttributeInferenceAttack:
        """The same attack, which serves every column by what a guess was served by."""
        attack = AttributeInferenceAttack(learner=self.learner, tolerance=self.tolerance, variant=self.variant)
        if isinstance(guess.details, InferenceDetails):
            learners, aims = guess.details.learners, guess.details.aims
            attack._settled = {name: (learner, aims[name]) for name, learner in learners.items()}
        return attack

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Methods whose released columns stand for the private columns of the same names."""
        return is_columnwise(model)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        choice(self.learner, "learner", LEARNERS)
        tolerance = number(self.tolerance, "tolerance", least=1e-6, most=10.0, rule="a positive number of at most 10")
        table = read(release, knowledge, tolerance)
        if self.learner == Learner.NEAREST and not table.of_people:
            raise NotApplicableError("the row that is nearest to a released row is that row; grant an ExternalTable")
        only = None if self.learner == BEST else Learner(self.learner)
        inference = Inference(table.rows, table.hidden, only, self._settled)
        choices = {column.name: each for column, each in zip(table.hidden, inference.choices, strict=True)}
        details = InferenceDetails(
            {name: str(each.learner) for name, each in choices.items()},
            {name: each.aim for name, each in choices.items()},
            {name: each.hits for name, each in choices.items()},
        )
        values = _placed(table, inference.guesses(table.people))
        rows = np.arange(len(values))
        without = partial(_without, table, inference)
        return Guess(
            values, table.names, rows, details=details, of_people=table.of_people, without=without, entangled=True
        )


def _without(table: Table, inference: Inference, rows: Rows) -> Matrix:
    """What is guessed of the people, each without the released row that is named (−1 for none)."""
    own = np.where(rows < 0, -1, table.places[rows])
    return _placed(table, inference.guesses(People(table.people.features, table.people.places, own)))


def _placed(table: Table, hidden: Matrix) -> Matrix:
    """Guesses of hidden columns beside what is known, in the order of the private columns; NaN for others."""
    columns = {column.name: values for column, values in zip(table.hidden, hidden.T, strict=True)} | table.given
    unknown = np.full(len(hidden), np.nan)
    return np.column_stack([columns.get(name, unknown) for name in table.names])
