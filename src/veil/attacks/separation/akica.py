"""A13 (AK-ICA): a known subset against any linear map (tutorial T; Guo and Wu 2006).

*Model.* ``y = R z + e`` with R square and noise e; z a mixture ``A s`` of independent signals s that are not normal,
so columns may be correlated. *Knowledge*: some records of the population. The release and the known records hold the
same signals, mixed by R A and by A: separating both and pairing the signals gives ``x̂ = mean + A J (s_y − mean)``
without ever estimating R.

*R = I* (the tutorial's case of additive noise, ``y = x + e``). Nothing is to be paired: the release's columns are the
private ones. The paper's guess keeps all noise there, since ``A J s_y`` has the variance of the records and not of
their estimate. What the sample tells beyond the covariance is how the signals are mixed and what densities they have;
the Bayes estimate under these is in :mod:`veil.attacks.separation.noisy_signals`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.arguments import whole
from veil.attacks.base import Details, Guess, check_width, full_guess, needed
from veil.attacks.knowledge import Knowledge, KnownNoise, KnownSample
from veil.attacks.noise.additive import noise_covariance
from veil.attacks.rotation.normalized import normalization_of_sample
from veil.attacks.separation.ica import SeparationAttack, loses_origin
from veil.attacks.separation.independence import normal_signals, separate, whiten
from veil.attacks.separation.noisy_signals import recover_noisy
from veil.attacks.separation.pairing import Pairing, density_distances, mean_distances, pair, standardized
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.numerics.ordering import by_name
from veil.release.models import AdditiveModel, Model, NormalizedRotationModel, OrthogonalModel, ProjectionModel
from veil.release.release import Release


@dataclass(frozen=True, slots=True, eq=False)
class LinearRecovery:
    """Records recovered from a linear map: ``values = mean(sample) + (signals − mean) Jᵀ mixingᵀ``, J the pairing's."""

    values: Matrix
    mixing: Matrix
    signals: Matrix
    pairing: Pairing
    converged: bool


@dataclass(frozen=True, eq=False)
class AKICADetails(Details):
    """The release's signals, A in private units, the pairing J with its margins, and how sure they are.

    With R = I there is no pairing; ``risk`` is then Stein's estimate of the squared error per record in units of the
    noise, and ``linear_risk`` that of the linear filter.
    """

    signals: Matrix
    mixing: Matrix
    n_normal: int
    converged: bool
    pairing: Matrix | None = None
    sign_margin: Vector | None = None
    order_margin: Vector | None = None
    risk: float | None = None
    linear_risk: float | None = None


class AKICAAttack(SeparationAttack):
    """A13. Undo a linear map by separating release and known records into the same independent signals.

    *paper*: FastICA, and J by the distance of densities alone, which turns symmetric signals at random (errata,
    AK-ICA). *best*: likelihood steps after FastICA, and J by densities and uncentred means, where the release kept
    the origin. Of additive noise (R = I), the Bayes estimate of the signals under their own densities, or the linear
    filter if that has the smaller risk by Stein's estimate. On five non-normal signals with noise of .2, .5 and 1
    deviations the relative error is .168, .361 and .600, against .179, .389 and .626 of A6 and .199, .498 and .996 of
    the release itself.

    Parameters
    ----------
    variant : {"best", "paper"}
        See above.
    starts : int, default 6
        Random starts of each separation.
    random_state : int, default 0
        Seeds them.

    Notes
    -----
    ``guess.ambiguity``: "none", "sign", "order" or "order, sign", by the margins of the pairing.

    ``guess.details``: ``signals`` (of the release, N × r), ``mixing`` (A, d × r, in private units), ``pairing`` (J),
    ``sign_margin``, ``order_margin``, ``n_normal`` signals of the release that look normal, ``converged``; with R = I
    ``risk`` and ``linear_risk`` instead of the pairing.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).gamma([0.5, 4.0], size=(5000, 2)) @ [[2.0, 1.0], [0.0, 1.0]]
    >>> release, _ = veil.publish(x[:4000], veil.LinearTransform(random_state=0))
    >>> guess = veil.AKICAAttack().run(release, veil.KnownSample(x[4000:]))
    >>> bool(np.mean((guess.values - x[:4000]) ** 2) < 0.1 * x.var())
    True
    """

    catalogue = "A13"
    words = "separates the release and a known sample into the same independent signals"
    requires = (KnownSample,)
    uses = (KnownNoise,)

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Linear maps of the columns with one matrix for all records, and additive noise: the matrix is then I."""
        return super().applies_to(model) or isinstance(model, AdditiveModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        whole(self.starts, "starts", least=1)
        whole(self.random_state, "random_state")
        known = needed(knowledge, KnownSample)
        check_width(known.sample, release, "KnownSample.sample")
        y, model, d = release.to_numpy(), release.only_part.model, len(release.only_part.names)
        if y.shape[1] < d:
            raise NotApplicableError(
                f"the release has {y.shape[1]} columns for {d} private ones; AK-ICA needs as many as there were"
            )
        if len(known.sample) <= d:
            raise NotApplicableError(
                f"the sample has {len(known.sample)} records; separating {d} signals needs more than {d}"
            )
        if isinstance(model, AdditiveModel):
            return self._without_mixing(release, knowledge, known.sample)
        released, private = by_name(release.only_part.released), by_name(release.only_part.names)
        if isinstance(model, NormalizedRotationModel):
            centre, width = normalization_of_sample(model, known.sample)
        elif isinstance(model, OrthogonalModel | ProjectionModel):
            centre, width = np.zeros(d), model.unit
        else:
            raise NotApplicableError("the manifest does not describe a linear map of the columns")
        sample = ((known.sample - centre) / width)[:, private]
        best = self.variant == "best"
        means = best and not loses_origin(model)
        recovery = recover_linear(
            y[:, released], sample, refine=best, means=means, starts=self.starts, seed=self.random_state
        )
        back = np.argsort(private)
        values, mixing = recovery.values[:, back] * width + centre, recovery.mixing[back] * width[:, None]
        return full_guess(
            release,
            values,
            AKICADetails(
                signals=recovery.signals,
                mixing=mixing,
                pairing=recovery.pairing.matrix,
                sign_margin=recovery.pairing.sign_margin,
                order_margin=recovery.pairing.order_margin,
                n_normal=len(normal_signals(recovery.signals)),
                converged=recovery.converged,
            ),
            ambiguity=recovery.pairing.ambiguity,
        )

    def _without_mixing(self, release: Release, knowledge: Sequence[Knowledge], sample: Matrix) -> Guess:
        """R = I: the release's columns are the private ones with noise on them."""
        order, sample = by_name(release.only_part.names), sample[~np.isnan(sample).any(axis=1)]
        back, width = np.argsort(order), sample.std(axis=0)
        if not width.all() or len(sample) <= len(order):
            raise NotApplicableError("the sample has too few complete records, or a column without variation")
        y, known = (release.to_numpy() / width)[:, order], (sample / width)[:, order]
        if self.variant == "paper":
            linear = recover_linear(y, known, refine=False, means=False, starts=self.starts, seed=self.random_state)
            details = AKICADetails(
                signals=linear.signals,
                mixing=linear.mixing[back] * width[:, None],
                n_normal=len(normal_signals(linear.signals)),
                converged=linear.converged,
                pairing=linear.pairing.matrix,
                sign_margin=linear.pairing.sign_margin,
                order_margin=linear.pairing.order_margin,
            )
            values, ambiguity = linear.values, linear.pairing.ambiguity
            return full_guess(release, values[:, back] * width, details, ambiguity=ambiguity)
        noise = (noise_covariance(release, knowledge) / np.outer(width, width))[np.ix_(order, order)]
        recovery = recover_noisy(y, noise, known, starts=self.starts, seed=self.random_state)
        details = AKICADetails(
            signals=recovery.signals,
            mixing=recovery.mixing[back] * width[:, None],
            n_normal=len(normal_signals(recovery.signals[~np.isnan(y).any(axis=1)])),
            converged=recovery.converged,
            risk=recovery.risk,
            linear_risk=recovery.linear_risk,
        )
        return full_guess(release, recovery.values[:, back] * width, details)


def recover_linear(
    y: Matrix, sample: Matrix, *, refine: bool = True, means: bool = True, starts: int = 6, seed: int = 0
) -> LinearRecovery:
    """Recover the records behind a linear map from a sample of their population.

    Parameters
    ----------
    y, sample
        Release (N × k) and sample (n × d, k ≥ d), records as rows.
    refine
        Whether FastICA is followed by the likelihood step.
    means
        Whether uncentred means help to pair the signals; not if the release was centred or translated.
    starts, seed
        Random starts of each separation, and their seed.
    """
    d = sample.shape[1]
    if not np.ptp(sample, axis=0).any() or not np.ptp(y, axis=0).any():
        raise NotApplicableError(
            "all records of the sample or of the release are equal; there are no signals to separate"
        )
    rank = whiten(sample).rank
    if whiten(y, most=d).rank != rank:
        raise NotApplicableError(f"the sample spans {rank} dimensions and the release another number; both must agree")
    here = separate(y, most=rank, refine=refine, starts=starts, seed=seed)
    there = separate(sample, refine=refine, starts=starts, seed=seed)
    distances = density_distances(standardized(here.signals), standardized(there.signals))
    if means:
        distances = distances + mean_distances(here.signals.mean(axis=0), there.signals.mean(axis=0))
    pairing = pair(distances, min(len(y), len(sample)))
    centred = here.signals - here.signals.mean(axis=0)
    values = sample.mean(axis=0) + centred @ (there.mixing @ pairing.matrix).T
    return LinearRecovery(values, there.mixing, here.signals, pairing, here.converged and there.converged)
