"""A11: a sample of the population against an orthogonal transformation (Liu 2007, §4.5).

*Model.* ``y = M z + t``, M orthogonal. Known: an independent sample of the population that the private
table was drawn from. Release and sample have second moments with the same eigenvalues, so the
eigenvectors of both give M up to the sign of each; the two-sample energy statistic chooses the signs.

*paper*: eigenvectors of both covariances and the best of all sign patterns (beyond 13 columns the best
found by flips). *best*: eigenvectors about the origin too, energy–Procrustes refinement from many starts,
and shrinkage of what the sample does not determine; see :mod:`veil.attacks.rotation.alignment`. Where the manifest says
that M is a rotation, *best* keeps to rotations: a sign that nothing else tells follows from the others.

Rotations of normalized columns (P5) are lined up with the sample normalized by its own mean and spread. Of a transform
with coefficients in a secret order (P10), each coefficient is recognised by its distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.arguments import flag, renamed, whole
from veil.attacks.base import Details, Guess, GuessingAttack, check_width, full_guess, needed
from veil.attacks.knowledge import Knowledge, KnownSample
from veil.attacks.rotation.alignment import align_sample
from veil.attacks.rotation.normalized import normalization_of_sample
from veil.attacks.rotation.permuted import OrderDetails, from_coefficients, order_from_sample
from veil.attacks.rotation.principal_axes import spectral_start
from veil.attacks.rotation.signs import SignChoice
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.numerics.ordering import by_name, is_odd
from veil.release.models import Model, NormalizedRotationModel, OrthogonalModel, PermutedTransformModel
from veil.release.release import Release

IDENTIFIED = 2.0
CERTAIN = 0.99


@dataclass(frozen=True, eq=False)
class SampleDetails(Details):
    """How well a sample settles the matrix.

    Attributes
    ----------
    margins
        By how many standard errors a flip of each axis loses.
    stability
        1 where resampled samples agree on the matrix; None for the paper's variant.
    twins
        Sample records that fall on a released one.
    """

    margins: Vector
    stability: float | None = None
    twins: int | None = None


class KnownSampleAttack(GuessingAttack):
    """A11. Undo an orthogonal transformation by lining the release up with a known sample.

    Parameters
    ----------
    variant : {"best", "paper"}
        The refined alignment, or eigenvectors and signs alone.
    replicates : int, default 32
        Resampled samples of ``best``: more starts and a steadier shrinkage, for more time.
    random_state : int, default 0
        Seeds the resampling.
    robust : bool, default False
        Use eigenvectors that outliers in release or sample do not turn (``best``: as further starts).

    Notes
    -----
    ``guess.ambiguity`` is "sign" when some axis could as well point the other way: its flip changes the
    energy by less than two standard errors. ``guess.details``: ``margins`` per axis in standard errors,
    and for ``best`` ``stability`` (1: the resampled samples agree on the matrix) and ``twins`` (sample records
    that fall on a released one; more than d of them, with a stability near 1 and no translation, certify the matrix).

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).gamma(2.0, size=(600, 2)) @ [[2.0, 1.0], [0.0, 1.0]]
    >>> release, _ = veil.publish(x[:400], veil.OrthogonalTransform(random_state=0))
    >>> guess = veil.KnownSampleAttack(replicates=4).run(release, veil.KnownSample(x[400:]))
    >>> bool(np.mean((guess.values - x[:400]) ** 2) < 0.1 * x.var())
    True
    """

    catalogue = "A11"
    words = "lines the release up with a sample of the same population"
    requires = (KnownSample,)
    one_matrix = True
    variants = ("best", "paper")

    @renamed("seed", "random_state")
    def __init__(
        self, *, variant: str = "best", replicates: int = 32, random_state: int = 0, robust: bool = False
    ) -> None:
        super().__init__(variant=variant)
        self.replicates = replicates
        self.random_state = random_state
        self.robust = robust

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Orthogonal transformations, rotations of normalized columns, transforms in a secret order."""
        return isinstance(model, OrthogonalModel | NormalizedRotationModel | PermutedTransformModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        whole(self.replicates, "replicates")
        whole(self.random_state, "random_state")
        flag(self.robust, "robust")
        known = needed(knowledge, KnownSample)
        check_width(known.sample, release, "KnownSample.sample")
        part, model, y, sample = release.only_part, release.only_part.model, release.to_numpy(), known.sample
        if len(sample) < 2 or len(y) < 2:
            raise InputError(
                f"KnownSample.sample has {len(sample)} records and the release {len(y)}; both need at least 2"
            )
        if isinstance(model, PermutedTransformModel):
            return _permuted(release, model, y, model.scaled(sample))
        if isinstance(model, NormalizedRotationModel):
            centre, width = normalization_of_sample(model, sample)
            translated, proper = False, True
        elif isinstance(model, OrthogonalModel):
            centre, width = np.zeros(y.shape[1]), model.unit
            translated, proper = model.translated, model.proper
        else:
            raise NotApplicableError("the manifest does not describe an orthogonal transformation")
        # Searches amplify rounding: columns by name give the same bits in any order.
        released, private = by_name(part.released), by_name(part.names)
        back = np.argsort(private)
        y, sample = np.ascontiguousarray(y[:, released]), np.ascontiguousarray(((sample - centre) / width)[:, private])
        if proper and is_odd(released) != is_odd(private):  # a rotation has to stay one
            y[:, 0] *= -1.0
        if self.variant == "paper":
            z, signs = _paper(y, sample, translated=translated, robust=self.robust)
            values = z[:, back] * width + centre
            return full_guess(release, values, SampleDetails(signs.margin), ambiguity=_ambiguity(signs.margin))
        alignment = align_sample(
            y,
            sample,
            translation=translated,
            replicates=self.replicates,
            seed=self.random_state,
            robust=self.robust,
            proper=proper,
        )
        # Twins alone leave a symmetry of the value grid, or an offset by its steps, open.
        certain = alignment.twins > y.shape[1] and alignment.stability > CERTAIN and not translated
        return full_guess(
            release,
            alignment.recover(y)[:, back] * width + centre,
            SampleDetails(alignment.margin, alignment.stability, alignment.twins),
            ambiguity="none" if certain else _ambiguity(alignment.margin),
        )


def _permuted(release: Release, model: PermutedTransformModel, y: Matrix, sample: Matrix) -> Guess:
    """The secret order of the coefficients by their distributions, then the records."""
    order, margins = order_from_sample(model, sample, y)
    covariance = np.cov(sample.T, ddof=0).reshape(sample.shape[1], -1)
    z = from_coefficients(model, y, order, sample.mean(axis=0), covariance)
    ambiguity = "order" if np.min(margins) < IDENTIFIED else "none"
    return full_guess(release, model.private(z), OrderDetails(order, margins=margins), ambiguity=ambiguity)


def _paper(y: Matrix, sample: Matrix, *, translated: bool, robust: bool) -> tuple[Matrix, SignChoice]:
    here, there = (y.mean(axis=0), sample.mean(axis=0)) if translated else (0.0, 0.0)
    matrix, signs = spectral_start(y - here, sample - there, centred=True, robust=robust)
    return np.asarray((y - here) @ matrix + there), signs


def _ambiguity(margin: Matrix) -> str:
    return "sign" if np.min(margin) < IDENTIFIED else "none"
