"""A21: a sample of the population against a random projection (beyond Liu 2007, §5.4.3).

*Model.* ``y = R z + e``, ``z = x / unit``, R a secret k × d matrix with k ≤ d. Known: an independent sample of the
population, and perhaps a few records with their rows. The paper's theorem that attacks by components do
not work is about averages over R (errata L-v); a release has one R, and its mean, covariance and shape
leak it. The sample says what they should look like, and the posterior of R says how far to trust that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.arguments import renamed, whole
from veil.attacks.base import Details, Guess, GuessingAttack, check_width, full_guess, granted, needed
from veil.attacks.knowledge import Knowledge, KnownPairs, KnownSample
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.numerics.ordering import by_name, row_order
from veil.release.models import Model, ProjectionModel
from veil.release.release import Release

CERTAIN = 0.9


@dataclass(frozen=True, eq=False)
class AlignmentDetails(Details):
    """How far the draws agree on the matrix (1: all do), the expected error of each column, and their mean matrix."""

    certainty: float
    expected_mse: Vector
    matrix: Matrix


class ProjectedSampleAttack(GuessingAttack):
    """A21. Find the secret projection by lining the release up with a known sample, and invert it.

    Parameters
    ----------
    islands : int, default 8
        Separate populations of candidate matrices; more of them cost time and steady the guess.
    particles : int, default 16
        Candidate matrices in each.
    random_state : int, default 0
        Seeds the candidates.

    Notes
    -----
    The guess is the mean, over draws of R from its posterior, of the conditional mean of a record given its
    row; :mod:`veil.attacks.projection.alignment` has the method. Known pairs hold exactly (with noise, as
    far as it allows). Where nothing tells the matrices apart, as for normal data without a mean, the guess
    is the sample's mean and no worse than it.

    ``guess.ambiguity`` is "matrix" unless the draws agree. ``guess.details``: ``certainty`` (1: all draws agree on
    every record; 0: they cancel), ``expected_mse`` per column as the posterior predicts it, and ``matrix``, the
    mean of the draws.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).gamma(2.0, size=(80, 3)) * [1, 2, 4]
    >>> release, _ = veil.publish(x[:60], veil.RandomProjection(2, random_state=0))
    >>> guess = veil.ProjectedSampleAttack(islands=1, particles=2).run(release, veil.KnownSample(x[60:]))
    >>> guess.values.shape, guess.details.matrix.shape
    ((60, 3), (2, 3))
    """

    catalogue = "A21"
    words = "finds the secret projection with a sample of the same population"
    requires = (KnownSample,)
    uses = (KnownPairs,)
    one_matrix = True

    @renamed("seed", "random_state")
    def __init__(self, *, variant: str = "best", islands: int = 8, particles: int = 16, random_state: int = 0) -> None:
        super().__init__(variant=variant)
        self.islands = islands
        self.particles = particles
        self.random_state = random_state

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Projections of attributes to at most as many columns."""
        return isinstance(model, ProjectionModel) and model.n_components <= len(model.unit)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        from veil.attacks.projection.alignment import align_projection  # numba compiles it on first use

        whole(self.islands, "islands", least=1)
        whole(self.particles, "particles", least=2)
        whole(self.random_state, "random_state")
        known = needed(knowledge, KnownSample)
        check_width(known.sample, release, "KnownSample.sample")
        model = release.only_part.model
        if not isinstance(model, ProjectionModel):
            raise NotApplicableError("the manifest does not describe a projection of attributes")
        y, sample = release.to_numpy(), model.scaled(known.sample)
        d, k = sample.shape[1], y.shape[1]
        if len(sample) < d + 2:
            raise InputError(
                f"KnownSample.sample has {len(sample)} records; {d} columns need at least {d + 2} for a covariance"
            )
        if len(y) < k + 2:
            raise InputError(f"the release has {len(y)} records; {k} columns need at least {k + 2} for a covariance")
        variance = 1.0 / k
        if model.kind == "given":  # the owner's matrix need not have the usual size, but the release shows it
            variance = float((y**2).sum() / len(y) / k / max((sample**2).sum() / len(sample), 1e-300))
        # Chains of draws amplify rounding: columns by name and rows by value give the same bits in any order.
        released, private = by_name(release.only_part.released), by_name(release.only_part.names)
        shown = y[:, released]
        pairs = self._pairs(release, knowledge, model, y)
        alignment = align_projection(
            shown[row_order(shown)],
            np.ascontiguousarray(sample[:, private]),
            entry_variance=variance,
            noise=np.broadcast_to(np.asarray(model.noise, dtype=np.float64), (k,))[released],
            pairs=None if pairs is None else (pairs[0][:, private], pairs[1][:, released]),
            islands=self.islands,
            particles=self.particles,
            seed=self.random_state,
        )
        back = np.argsort(private)
        return full_guess(
            release,
            model.private(alignment.recover(shown)[:, back]),
            AlignmentDetails(
                certainty=alignment.certainty,
                expected_mse=alignment.expected_mse[back] * model.unit**2,
                matrix=alignment.matrices.mean(axis=0)[np.ix_(np.argsort(released), back)],
            ),
            ambiguity="none" if alignment.certainty > CERTAIN else "matrix",
        )

    @staticmethod
    def _pairs(
        release: Release, knowledge: Sequence[Knowledge], model: ProjectionModel, y: Matrix
    ) -> tuple[Matrix, Matrix] | None:
        pairs = granted(knowledge, KnownPairs)
        if pairs is None or not len(pairs.rows):
            return None
        check_width(pairs.records, release, "KnownPairs.records")
        if pairs.rows.max() >= len(y):
            raise InputError(f"KnownPairs.rows must name rows of the release, which has {len(y)}")
        return model.scaled(pairs.records), y[pairs.rows]
