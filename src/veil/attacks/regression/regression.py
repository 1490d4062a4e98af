"""A25: known records against a release made by nobody knows what (ours).

*Model.* Rows of the release are records; nothing else is known of the method. *Knowledge.* k records with their rows,
and perhaps a sample of the population. The attack learns the map from released to private columns, one private column
at a time, by averaging over what could be (:mod:`veil.attacks.regression.learned_map`).

*Reach.* More noise-free pairs of a linear map than unknowns (p + 2 for p released columns) always give every record to
rounding. With p + 1 any data fit exactly and only the size of the coefficients speaks: from 5 columns on all of 60
rotations and 56 to 60 of 60 general matrices were solved, at the price that 0 to 8 of 60 unrelated releases, and most
linear maps with some noise and without names, were taken for exact too. Additive noise is filtered within 20 % of the
linear Bayes error from 30 pairs and 10 % from 60, without knowing its law. Where nothing is to be learned the error is
within 6 % of that of the known records' mean. What is not linear (classes, signs, parities) is only approximated, and
a released column with a private name but quite another unit misleads until there are three pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veil.attacks.base import Details, Guess, GuessingAttack, check_width, full_guess, granted, needed
from veil.attacks.knowledge import Knowledge, KnownPairs, KnownSample
from veil.attacks.regression.learned_map import learn_map
from veil.data.blocks import Vector
from veil.errors import InputError
from veil.release.models import (
    ClassModel,
    Model,
    PseudonymModel,
    RecodedModel,
    RecordProjectionModel,
    ResponseModel,
    UnknownModel,
)
from veil.release.release import Release


@dataclass(frozen=True, eq=False)
class RegressionDetails(Details):
    """Of each private column, the share of its variance that the map explains, and whether the map is ``exact``."""

    explained: Vector
    exact: npt.NDArray[np.bool_]


class RegressionAttack(GuessingAttack):
    """A25. Learn the map from released to private columns from records whose rows are known.

    Needs no description of the method. A sample of the population, where granted, tells the columns' mean and spread
    and, where released columns have the private columns' names, what the release should look like.

    Notes
    -----
    Missing released values count as the column's mean. ``guess.details``: ``explained`` per private column, the share
    of what the default leaves that the attack believes the release explains, and ``exact``, whether it takes the map
    for exact.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> release, _ = veil.publish(x, veil.LinearTransform(random_state=0))
    >>> guess = veil.RegressionAttack().run(release, veil.KnownPairs(x[:20], range(20)))
    >>> bool(guess.details.exact.all()), bool(np.abs(guess.values - x).max() < 1e-3)
    (True, True)
    """

    catalogue = "A25"
    words = "learns the way back from records whose rows are known, whatever the method was"
    requires = (KnownPairs,)
    uses = (KnownSample,)
    one_matrix = True
    blind = True

    def __init__(self, *, variant: str = "best") -> None:
        super().__init__(variant=variant)

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Everything whose rows are records of numbers, described or not (pseudonyms are not)."""
        others = RecordProjectionModel | ResponseModel | ClassModel | PseudonymModel | RecodedModel
        return type(model) is not UnknownModel and not isinstance(model, others)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        pairs, sample = needed(knowledge, KnownPairs), granted(knowledge, KnownSample)
        check_width(pairs.records, release, "KnownPairs.records")
        if sample is not None:
            check_width(sample.sample, release, "KnownSample.sample")
        y = release.to_numpy()
        if not len(pairs.rows) or pairs.rows.max() >= len(y):
            raise InputError(
                f"KnownPairs.rows must be rows of the release, from 0 to {len(y) - 1}; "
                + ("none was given" if not len(pairs.rows) else f"{int((pairs.rows >= len(y)).sum())} are beyond")
            )
        released = list(release.only_part.released)
        own = [released.index(name) if name in released else None for name in release.only_part.names]
        learned = learn_map(y, pairs.records, pairs.rows, own, None if sample is None else sample.sample)
        return full_guess(release, learned.values, RegressionDetails(learned.explained, learned.exact))
