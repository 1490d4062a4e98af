"""A28: the joint posterior of each record given all that is released and known about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from veil.arguments import choice, number
from veil.attacks.base import Guess, granted
from veil.attacks.blockwise import BlockwiseAttack, Reconstruction
from veil.attacks.knowledge import Knowledge, KnownAttributes, KnownRanges, KnownSample
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.posterior import learning_rows
from veil.attacks.posterior.others import known_others
from veil.attacks.posterior.reading import supported
from veil.data.blocks import Vector
from veil.release.models import Model
from veil.release.release import Release

if TYPE_CHECKING:
    from veil.attacks.posterior.fitting import Settings


class JointPosteriorAttack(BlockwiseAttack):
    """A28. Guess every private cell by its posterior given everything that is released or known of its record.

    *Model.* Every record is perturbed by itself, by published laws: added noise of any law, factors, log-normal noise,
    classes, randomized response; different methods on different columns are used together. With y all that is shown of
    a record and a what is known of it exactly (public columns, numbers or categories, and KnownAttributes)::

        p(x | y, a) ∝ p(x, a) · Π_parts f_part(y_part | x)

    Rows of the same pseudonym or public value, and neighbours in a file that was not shuffled, tell what a record has
    in common with them (:mod:`veil.attacks.posterior.relatives`).

    *Prior.* From the release alone a mixture over numbers and categories, fitted through all noises by
    expectation–maximisation, with as many components as held-out records of the release ask for
    (:mod:`veil.attacks.posterior.mixture`). One component is the filter of A6 and A19. With a KnownSample, the sample's
    records themselves as kernels, whose width held-out records of the release choose
    (:mod:`veil.attacks.posterior.sample`); for a category other kernels, or its classes as a linear discriminant sees
    them, where the sample's own records behind simulated noise are told better by these
    (:mod:`veil.attacks.posterior.discriminants`). Columns keep their own marginal: the deconvolved one of A2, heaps and
    whole numbers (:mod:`veil.attacks.posterior.grids`), and nothing lies outside KnownRanges.

    *Guess.* ``aim="hit"``: the middle of the window of half-width ``tolerance`` standard units that most probably
    holds the value; the most probable category. ``aim="mean"``: the posterior mean, of least squared error; categories
    as before.

    *Large releases.* Beyond 100,000 rows the prior is learned from as many, and every block is guessed by itself, in
    constant memory given the prior. Where other rows tell of a record, or KnownAttributes are granted, the whole table
    is read into memory (:mod:`veil.attacks.posterior.blocks`).

    *References.* Bovy, Hogg and Roweis (2011) for mixtures seen through noise; Silverman and Young (1987) for kernels
    with the population's covariance; Fisher (1936) for the discriminant; Trottini et al. (in Liu 2007, §3.3) for a
    Bayesian attacker with the noise's law.

    Parameters
    ----------
    prior : {"auto", "sample", "records", "mixture"}
        "mixture" leaves a sample's records aside; "sample" takes them as kernels around one component and "records"
        as they are; "auto" tries all of these.
    aim : {"hit", "mean"}
        What the guess is for.
    tolerance : float, default 0.1
        Half the width of a hit, in standard units of the private column as release and sample show it.

    Notes
    -----
    *Knowledge.* None is needed. KnownSample, KnownAttributes and KnownRanges are used; beside a sample records of
    KnownPairs count as more of it. Of a category, granted values are whole numbers as they are, and codes in the order
    of the manifest's list for anything else.

    A missing cell has no factor and stays missing in the guess; which cells a record lacks is a covariate like others.
    Noise that is not normal counts by its variance for the other columns, and by its law for its own
    (:mod:`veil.attacks.posterior.own_laws`).

    ``guess.details``: :class:`veil.attacks.posterior.guessing.PosteriorDetails`.

    Examples
    --------
    A curve that no covariance shows, and a sample of other people on it:

    >>> import numpy as np, veil
    >>> t = np.random.default_rng(0).uniform(0, 2 * np.pi, 2_300)
    >>> x = np.column_stack([np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t)])
    >>> release, _ = veil.publish(x[300:], veil.AdditiveNoise(0.5, random_state=0))
    >>> guesses = [veil.BayesEstimateAttack().run(release)]
    >>> guesses.append(veil.JointPosteriorAttack().run(release, veil.KnownSample(x[:300])))
    >>> [round(float((np.abs(guess.values - x[300:]) < 0.07).mean()), 1) for guess in guesses]
    [0.2, 0.5]
    """

    catalogue = "A28"
    words = "weighs for every record all that is released and known of it together"
    uses = (KnownSample, KnownAttributes, KnownRanges)
    whole_release = True

    def __init__(self, *, prior: str = "auto", aim: str = "hit", tolerance: float = 0.1, variant: str = "best") -> None:
        super().__init__(variant=variant)
        self.prior = prior
        self.aim = aim
        self.tolerance = tolerance

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Methods that perturb every record by itself, by a published law."""
        return supported(model)

    def learn(self, release: Release, knowledge: Sequence[Knowledge]) -> Reconstruction | None:
        """What some rows of a large release tell; None for one that is to be guessed as a whole."""
        settings = self._settled(release, knowledge)
        if count_rows(release) <= learning_rows.MOST_LEARNED or granted(knowledge, KnownAttributes) is not None:
            return None
        from veil.attacks.posterior.blocks import learn_blocks

        others, rows = known_others(release, knowledge), learning_rows.learning_rows(count_rows(release))
        return learn_blocks(release, knowledge, others, _places(release)[0], settings, rows)

    def _whole(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        from veil.attacks.posterior.guessing import guess_records

        others = known_others(release, knowledge)
        return guess_records(release, knowledge, others, _places(release)[0], self._settled(release, knowledge))

    def _settled(self, release: Release, knowledge: Sequence[Knowledge]) -> Settings:
        """The settings, checked."""
        from veil.attacks.posterior.fitting import Settings  # numba compiles it on first use

        choice(self.prior, "prior", ("auto", "sample", "records", "mixture"))
        choice(self.aim, "aim", ("hit", "mean"))
        tolerance = number(self.tolerance, "tolerance", least=1e-6, most=10.0, rule="a positive number of at most 10")
        return Settings(self.prior, self.aim, tolerance, _ranges(release, knowledge))


def _places(release: Release) -> tuple[list[int], int]:
    """Where the guessed columns stand among all private columns of a release, and how many these are."""
    parts = release.manifest.parts
    supports = [supported(part.model) for part in parts for _ in part.names]
    return [j for j, supported_here in enumerate(supports) if supported_here], len(supports)


def _ranges(release: Release, knowledge: Sequence[Knowledge]) -> tuple[Vector, Vector] | None:
    """The known ends of the guessed columns."""
    at, d = _places(release)
    known = granted(knowledge, KnownRanges)
    if known is None:
        return None
    lower, upper = known.for_columns(d)
    return lower[at], upper[at]
