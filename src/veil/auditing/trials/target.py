"""What a trial attacks: one part of a release, or several additive parts looked at together, with their judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from veil.attacks import Attack, Guess
from veil.auditing.exposure import Exposure, Exposures
from veil.auditing.judge import Judge
from veil.errors import NotApplicableError
from veil.release.manifest import Part
from veil.release.models import AdditiveModel, ForeignModel, PseudonymModel, ResponseModel
from veil.release.release import Release


def together(parts: Sequence[Part]) -> tuple[int, ...]:
    """Parts that add independent noise of one law: whoever has the release can look at their columns as one."""
    models = [part.model for part in parts]
    laws = [model.distribution for model in models if isinstance(model, AdditiveModel)]
    law = max(laws, key=laws.count, default="")
    same = tuple(i for i, m in enumerate(models) if isinstance(m, AdditiveModel) and m.distribution == law)
    return same if len(same) > 1 else ()


def joined(parts: Sequence[Part], chosen: Sequence[int]) -> Part:
    """Several additive parts as one, whose noise is correlated within each of them alone."""
    parts = [parts[i] for i in chosen]
    models = [part.model for part in parts if isinstance(part.model, AdditiveModel)]
    power, basis = np.linalg.eigh(block_diag(*[model.covariance for model in models]))
    grid = np.concatenate([model.grid for model in models])
    model = AdditiveModel.correlated(basis * np.sqrt(np.clip(power, 0.0, None)), grid)
    return Part(
        method="additive-noise",
        catalogue=parts[0].catalogue,
        model=replace(model, distribution=models[0].distribution),
        columns=tuple(column for part in parts for column in part.columns),
        released=tuple(name for part in parts for name in part.released),
    )


class Target:
    """One perturbation of the release under attack: its columns, their truth and their judges.

    ``joins`` are the parts of a part that is several additive ones looked at together.
    """

    def __init__(
        self, index: int, part: Part, exposures: Exposures, tolerance: float, several: bool, joins: tuple[int, ...] = ()
    ) -> None:
        self.index, self.part, self._several, self.joins = index, part, several, joins
        self.at, self._d = exposures.private.places(part.names), len(exposures.columns)
        self.truth = exposures.private.part(part.names)
        self._tolerance, self._exposures = tolerance, exposures
        self._judges: dict[tuple[int, ...], Judge] = {}

    def judge(self, known: Sequence[int] = ()) -> Judge:
        """The judge of the columns that the attacker does not know already (``known``: columns of the table)."""
        given = tuple(i for i, j in enumerate(self.at) if j in known)
        if given not in self._judges:
            # Whole numbers that were randomized as categories are right or wrong, not near.
            exact = self.truth.categorical | isinstance(self.part.model, ResponseModel)
            held = (self.truth.values, self.truth.columns, self._tolerance, exact, given)
            self._judges[given] = self._exposures.judge(*held)
        return self._judges[given]

    @property
    def described(self) -> bool:
        """Whether anything is known about the method; attacks that need not know it are for the others."""
        return not isinstance(self.part.model, ForeignModel)

    @property
    def scored(self) -> bool:
        """Whether there is anything to guess: a pseudonym says nothing."""
        return not self.described or not isinstance(self.part.model, PseudonymModel)

    def methods(self, attack: Attack) -> tuple[str, ...]:
        """The methods of the parts that an attack is on, where the release has several and it does not take all."""
        if not self._several or attack.whole_release:
            return ()
        return (self.part.method,) * max(1, len(self.joins))

    def attacked(self, attack: Attack, exposure: Exposure) -> Guess:
        """The attack's guess of this part's columns, in the truth's numbers and codes."""
        if self.joins:
            part = joined(exposure.release.manifest.parts, self.joins)
            release = Release(exposure.release.table, replace(exposure.release.manifest, parts=(part,)))
        else:
            release = exposure.release.part(self.index)
        guess = attack.run(release, *exposure.knowledge(None if self.joins else self.index, self.at, self._d))
        if not isinstance(guess, Guess):
            raise NotApplicableError(f"{attack.attack_name()} guesses no values")
        return self.truth.stated(guess, release)
