"""What a trial attacks: a part of a release, several additive parts looked at together, or the whole release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from scipy.linalg import block_diag

from veil.attacks import Attack, Finding, Guess, Links
from veil.attacks.knowledge import Knowledge
from veil.attacks.knowledge.base import number_classes, private_names
from veil.auditing.exposure import Exposure, Exposures
from veil.auditing.judge import Judge
from veil.errors import NotApplicableError
from veil.measures.largest import USUAL_LARGEST, LargestRule
from veil.release.manifest import Part
from veil.release.models import AdditiveModel, ForeignModel, NumberClasses, PseudonymModel
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
        method=" + ".join(dict.fromkeys(part.method for part in parts)),
        catalogue=parts[0].catalogue,
        model=replace(model, distribution=models[0].distribution),
        columns=tuple(column for part in parts for column in part.columns),
        released=tuple(name for part in parts for name in part.released),
    )


def categorical_names(part: Part) -> tuple[str, ...]:
    """The columns of a part that are guessed as categories: right or wrong, not near."""
    listings = part.model.private_categories() or ()
    return tuple(name for name, known in zip(part.names, listings, strict=False) if known is not None)


Used = frozenset[type[Knowledge]]
"""Kinds of knowledge that an attack used."""
WHOLE = -1
"""The number of the target that is the whole release."""


class Target:
    """Columns of a release under attack, their truth and their judges.

    ``methods`` names the methods that made them, where the release has others as well. Whole numbers of the columns
    ``responses`` were randomized as categories: guesses of them are right or wrong, not near.

    Numbers that were reported by class (``classes``) are judged by it: the right class is a breach, whatever the value
    in it. A guess of the value that is within the tolerance lies in the value's class, unless an edge is between the
    two, and whoever has the right class need not be near. So this is stricter than the tolerance for every class whose
    released number is farther than the tolerance from the edges: then no wrong class is near.
    """

    def __init__(
        self,
        names: Sequence[str],
        exposures: Exposures,
        tolerance: float,
        largest: LargestRule = USUAL_LARGEST,
        *,
        methods: tuple[str, ...] = (),
        responses: Sequence[str] = (),
        classes: Mapping[str, NumberClasses] = MappingProxyType({}),
    ) -> None:
        self.methods = methods
        self.at, self._d = exposures.private.places(names), len(exposures.columns)
        self.truth = exposures.private.part(names).in_classes(classes)
        self._responses = np.array([name in responses for name in names], dtype=np.bool_)
        self._near, self._exposures = (tolerance, largest), exposures
        self._judges: dict[tuple[int, ...], Judge] = {}

    def judge(self, known: Sequence[int] = ()) -> Judge:
        """The judge of the columns that are secret to the attacker (``known``: columns of the table that are not)."""
        open_columns = {*known, *self._exposures.unscored}
        given = tuple(i for i, j in enumerate(self.at) if j in open_columns)
        if given not in self._judges:
            exact = self.truth.categorical | self._responses
            groups = self._exposures.groups.of_columns(self.truth.columns)
            tolerance, largest = self._near
            held = (self.truth.values, self.truth.columns, tolerance, exact, given, groups, largest)
            self._judges[given] = self._exposures.judge(*held)
        return self._judges[given]

    def is_known(self, known: Sequence[int]) -> bool:
        """Whether the attacker knows all of these columns already, or may, so that nothing is left to guess."""
        return len(self.at) > 0 and set(self.at) <= {*known, *self._exposures.unscored}

    def stated(self, attack: Attack, finding: Finding, release: Release) -> Guess | Links:
        """What an attack found: links, or a guess in the truth's numbers and codes."""
        if isinstance(finding, Links):
            return finding
        if not isinstance(finding, Guess):
            raise NotApplicableError(f"{attack.attack_name()} found neither values nor links")
        return self.truth.stated(finding, release)


class PartTarget(Target):
    """One part of a release; ``joins`` are the parts of one that is several additive ones looked at together."""

    def __init__(
        self,
        index: int,
        part: Part,
        exposures: Exposures,
        tolerance: float,
        largest: LargestRule = USUAL_LARGEST,
        *,
        methods: tuple[str, ...] = (),
        joins: tuple[int, ...] = (),
    ) -> None:
        responses = categorical_names(part)
        classes = number_classes([part])
        super().__init__(
            part.names, exposures, tolerance, largest, methods=methods, responses=responses, classes=classes
        )
        self.index, self.part, self.joins = index, part, joins

    @property
    def described(self) -> bool:
        """Whether anything is known about the method; attacks that need not know it are for the others."""
        return not isinstance(self.part.model, ForeignModel)

    @property
    def scored(self) -> bool:
        """Whether there is anything to guess: a pseudonym says nothing."""
        return not isinstance(self.part.model, PseudonymModel)

    @property
    def sensitive(self) -> bool:
        """Whether the owner calls a column sensitive: a pseudonym of it must be attacked, too."""
        return any(self._exposures.is_sensitive(name) for name in self.part.names)

    def attacked(self, attack: Attack, exposure: Exposure) -> tuple[Guess | Links, Used]:
        """What the attack finds out about this part, and the kinds of knowledge that it used."""
        if self.joins:
            part = joined(exposure.release.manifest.parts, self.joins)
            release = Release(exposure.release.table, replace(exposure.release.manifest, parts=(part,)))
        else:
            release = exposure.release.part(self.index)
        known = exposure.knowledge(None if self.joins else self.index, self.at, self._d)
        finding, used = attack.run_noting(release, *known)
        return self.stated(attack, finding, release), used


class WholeTarget(Target):
    """All parts of a release at once, and its public columns."""

    def __init__(self, parts: Sequence[Part], exposures: Exposures, tolerance: float, largest: LargestRule) -> None:
        guessable = [part for part in parts if not isinstance(part.model, PseudonymModel)] or parts
        responses = [name for part in guessable for name in categorical_names(part)]
        names = [name for part in guessable for name in part.names]
        classes = number_classes(guessable)
        super().__init__(names, exposures, tolerance, largest, responses=responses, classes=classes)

    def attacked(self, attack: Attack, exposure: Exposure) -> tuple[Guess | Links, Used]:
        """What the attack finds out about the whole release, and the kinds of knowledge that it used."""
        finding, used = attack.run_noting(exposure.release, *self._known(exposure))
        if isinstance(finding, Guess):
            finding = finding.of_columns(self.truth.columns)
        return self.stated(attack, finding, exposure.release), used

    def _known(self, exposure: Exposure) -> tuple[Knowledge, ...]:
        """What the attacker knows, in the order of the release's columns and in its codes."""
        names, private = private_names(exposure.release), self._exposures.private
        known = exposure.knowledge(None, private.places(names), self._d)
        codes = private.part(names).codes_in(exposure.release)
        return tuple(item.recoded(codes) for item in known) if codes else known
