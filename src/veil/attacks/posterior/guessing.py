"""Guesses of a whole release in memory (A28)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.attacks.base import Details, Guess
from veil.attacks.knowledge import Knowledge
from veil.attacks.posterior.candidates import Rows
from veil.attacks.posterior.fitting import Posterior, Settings, fit_posterior
from veil.attacks.posterior.others import Others
from veil.attacks.posterior.own_rows import people_are_known, told_by_others, without_own_rows
from veil.attacks.posterior.reading import observe
from veil.data.blocks import Matrix
from veil.release.release import Release


@dataclass(frozen=True, eq=False)
class PosteriorDetails(Details):
    """What the posterior says beside the guess.

    Attributes
    ----------
    probability
        The posterior probability of each guess (N × d): that the value lies within the tolerance of it, or that the
        category is right. 1 for what is known. Empty where the guess is a file that was written block by block.
    components
        Components of the prior.
    share_of_sample
        ρ: how far candidates keep to the records of the sample; 0 where they do not, or there is none.
    held_out
        Mean log density of held-out records of the release, by number of components.
    by_records
        Columns that are guessed by the sample's bare records.
    """

    probability: Matrix
    components: int
    share_of_sample: float
    held_out: dict[int, float]
    by_records: tuple[str, ...] = ()


def details_of(posterior: Posterior, names: Sequence[str], probability: Matrix) -> PosteriorDetails:
    """What is said beside the guess of these columns."""
    by_records = tuple(names[j] for j in posterior.by_records)
    return PosteriorDetails(probability, posterior.components, posterior.rho, posterior.held_out, by_records)


def guess_records(
    release: Release, knowledge: Sequence[Knowledge], others: Others | None, at: Sequence[int], settings: Settings
) -> Guess:
    """Guess every cell of a release; see :class:`veil.attacks.posterior.joint_posterior.JointPosteriorAttack`.

    ``at`` says where the guessed columns stand among all private ones.
    """
    observations = observe(release, knowledge, others)
    posterior = fit_posterior(observations, others, release.manifest, at, settings)

    def without(rows: Rows) -> Matrix:
        return posterior.guessed(without_own_rows(observations))[0][rows]

    values, probability = posterior.guessed(observations)
    return Guess(
        values,
        observations.names,
        np.arange(observations.n_rows),
        details=details_of(posterior, observations.names, probability),
        without=without if people_are_known(observations) else None,
        entangled=told_by_others(observations),
    )
