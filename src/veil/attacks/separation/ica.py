"""A12 and A16: independent signals against rotations and projections (Liu 2007, §4.6 and §5.4.4).

*Model.* ``y = M z``, or ``y = R z + e`` with little noise. *Knowledge*: the private columns are independent and at most
one is normal. Independent component analysis finds them up to order and sign, and up to scale unless M is orthogonal;
a sample of the population then tells which is which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from veil.arguments import renamed, whole
from veil.attacks.base import Ambiguity, Details, Guess, GuessingAttack, check_width, full_guess, granted
from veil.attacks.knowledge import IndependentSignals, Knowledge, KnownSample
from veil.attacks.separation.independence import Separation, normal_signals, separate, separate_orthogonal
from veil.attacks.separation.overcomplete import SparseSeparation, separate_sparse
from veil.attacks.separation.pairing import Pairing, density_distances, mean_distances, pair, standardized
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError
from veil.numerics.ordering import by_name
from veil.release.models import Model, NormalizedRotationModel, OrthogonalModel, ProjectionModel
from veil.release.release import Release


class SeparationAttack(GuessingAttack):
    """Base of attacks that separate a release into independent signals, from several random starts."""

    one_matrix = True
    variants = ("best", "paper")

    @renamed("seed", "random_state")
    def __init__(self, *, variant: str = "best", starts: int = 6, random_state: int = 0) -> None:
        super().__init__(variant=variant)
        self.starts = starts
        self.random_state = random_state

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Linear maps of the columns with one matrix for all records."""
        return isinstance(model, OrthogonalModel | NormalizedRotationModel | ProjectionModel)


@dataclass(frozen=True, eq=False)
class ICADetails(Details):
    """The separated signals; margins and ``columns`` of their pairing where a sample assigned them."""

    signals: Matrix
    mixing: Matrix
    n_normal: int
    n_separable: int
    sparse: bool
    converged: bool | None = None
    starts_agreeing: int | None = None
    columns: npt.NDArray[np.intp] | None = None
    sign_margin: Vector | None = None
    order_margin: Vector | None = None


class ICAAttack(SeparationAttack):
    """A12 (A16 where the release has fewer columns than the table). Separate a release into independent signals.

    *Model.* Orthogonal transformations, rotations of normalized columns, and linear maps or projections of columns.

    *Knowledge.* That columns are independent, at most one of them normal (L §4.6). A ``KnownSample`` fixes order, sign
    and scale: each signal gets the column whose density (and mean, where the release kept the origin) is nearest.

    *paper*: FastICA on whitened data, so the scale is lost. *best*: likelihood steps after it; an orthogonal matrix
    fixes the scale and the origin (errata, A12); with fewer released columns than signals, sparse signals are
    separated by the lines that they draw (:mod:`veil.attacks.separation.overcomplete`).

    Parameters
    ----------
    variant : {"best", "paper"}
        See above.
    starts : int, default 6
        Random starts of the separation.
    random_state : int, default 0
        Seeds them.

    Notes
    -----
    ``guess.values`` has the signals in the first columns, and NaN in the others, unless a sample assigned them. Without
    a sample they are in the transformed units ``x / unit``, or in the private ones if all units are the same; signs are
    then such that means are positive. ``guess.ambiguity`` and ``guess.up_to`` name what is arbitrary: order, sign,
    scale.

    ``guess.details``: ``signals`` (N × r), ``mixing`` (k × r), ``n_normal`` signals that look normal (two or more of
    those stay mixed, unless an orthogonal matrix left them different variances), ``n_separable``, how many a
    linear filter can separate at most,
    ``converged``, ``starts_agreeing``, ``sparse`` (whether lines were found where k < d), and with a sample
    ``columns``, ``sign_margin``, ``order_margin`` of the pairing.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).random((500, 2))
    >>> release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    >>> guess = veil.ICAAttack(starts=2).run(release, veil.IndependentSignals())
    >>> guess.up_to, guess.details.n_separable
    (('order', 'sign'), 2)
    """

    catalogue = "A12"
    words = "separates the release into statistically independent signals"
    requires = (IndependentSignals,)
    uses = (KnownSample,)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        whole(self.starts, "starts", least=1)
        whole(self.random_state, "random_state")
        known = granted(knowledge, KnownSample)
        if known is not None:
            check_width(known.sample, release, "KnownSample.sample")
            if len(known.sample) < 2:
                raise InputError(f"KnownSample.sample has {len(known.sample)} record(s); matching needs at least 2")
        y, model, d = release.to_numpy(), release.only_part.model, len(release.only_part.names)
        order = by_name(release.only_part.released)
        separation = self._separation(y[:, order], model, d)
        linear = separation if isinstance(separation, Separation) else None
        details = ICADetails(
            signals=separation.signals,
            mixing=separation.mixing[np.argsort(order)],
            n_normal=len(normal_signals(separation.signals)),
            n_separable=n_separable(y.shape[1], d),
            sparse=linear is None,
            converged=None if linear is None else linear.converged,
            starts_agreeing=None if linear is None else linear.starts_agreeing,
        )
        # A linear filter's outputs are mixtures when k < d: no column has their density, so a sample is no help.
        if known is None or (y.shape[1] < d and linear is not None):
            return self._unassigned(release, separation.signals, details)
        return self._assigned(release, separation.signals, known.sample, details)

    def _separation(self, y: Matrix, model: Model, d: int) -> Separation | SparseSeparation:
        if self.variant == "paper":
            return separate(y, most=d, refine=False, starts=self.starts, seed=self.random_state)
        if keeps_lengths(model):
            return separate_orthogonal(y, starts=self.starts, seed=self.random_state)
        sparse = separate_sparse(y, d, seed=self.random_state) if y.shape[1] < d else None
        return sparse if sparse is not None else separate(y, most=d, starts=self.starts, seed=self.random_state)

    def _unassigned(self, release: Release, signals: Matrix, details: ICADetails) -> Guess:
        """Signals in arbitrary order, with positive means by convention."""
        model = release.only_part.model
        signals = signals * np.where(signals.mean(axis=0) < 0, -1.0, 1.0)
        scaled = keeps_lengths(model) and self.variant == "best"
        # In [0, 1] only the sign with a positive mean is possible.
        signed = scaled and isinstance(model, NormalizedRotationModel) and model.normalize == "minmax"
        units = None
        if scaled and isinstance(model, OrthogonalModel) and not model.translated:
            ambiguity, units = Ambiguity.ORDER_SIGN, model.unit
            if np.ptp(model.unit) == 0:
                signals, units = signals * model.unit[0], None
        else:
            ambiguity = Ambiguity.ORDER_SCALE if signed else Ambiguity.ORDER_SIGN_SCALE
        values = np.full((len(signals), len(release.only_part.names)), np.nan)
        values[:, : signals.shape[1]] = signals
        details = replace(details, signals=signals)
        return full_guess(release, values, details, ambiguity=ambiguity, up_to=ambiguity.parts, units=units)

    def _assigned(self, release: Release, signals: Matrix, sample: Matrix, details: ICADetails) -> Guess:
        """Signals as the columns whose laws they have, in private units."""
        model = release.only_part.model
        z = model.scaled(sample) if isinstance(model, OrthogonalModel | ProjectionModel) else sample
        exact = isinstance(model, OrthogonalModel) and self.variant == "best"
        pairing = self._pairing(signals, z, model, exact=exact)
        values = np.full((len(signals), z.shape[1]), np.nan)
        mean, size = z.mean(axis=0)[pairing.columns], z.std(axis=0)[pairing.columns]
        if exact and not loses_origin(model):
            values[:, pairing.columns] = signals * pairing.signs
        elif exact:
            values[:, pairing.columns] = mean + (signals - signals.mean(axis=0)) * pairing.signs
        else:
            values[:, pairing.columns] = mean + size * standardized(signals) * pairing.signs
        if isinstance(model, OrthogonalModel | ProjectionModel):
            values = model.private(values)
        sign, order = pairing.sign_margin, pairing.order_margin
        details = replace(details, columns=pairing.columns, sign_margin=sign, order_margin=order)
        return full_guess(release, values, details, ambiguity=pairing.ambiguity)

    def _pairing(self, signals: Matrix, z: Matrix, model: Model, *, exact: bool) -> Pairing:
        n = min(len(signals), len(z))
        if exact and not loses_origin(model):
            return pair(density_distances(signals, z), n)
        if exact:
            return pair(density_distances(signals - signals.mean(axis=0), z - z.mean(axis=0)), n)
        distances = density_distances(standardized(signals), standardized(z))
        if not loses_origin(model):
            distances = distances + mean_distances(_mean_in_deviations(signals), _mean_in_deviations(z))
        return pair(distances, n)


def keeps_lengths(model: Model) -> bool:
    """Whether the secret matrix is orthogonal."""
    return isinstance(model, OrthogonalModel | NormalizedRotationModel)


def n_separable(k: int, d: int) -> int:
    """How many signals independence alone can separate by a linear filter (Liu 2007, §5.4.4; errata L-w).

    All d of k ≥ d columns, if at most one is normal. Of fewer, at most k − 1, and none if the matrix has a continuous
    law; sparse signals may be separated by other means.
    """
    return d if k >= d else k - 1


def loses_origin(model: Model) -> bool:
    """Whether the release says nothing about the private columns' origin."""
    return isinstance(model, NormalizedRotationModel) or (isinstance(model, OrthogonalModel) and model.translated)


def _mean_in_deviations(columns: Matrix) -> Matrix:
    size = columns.std(axis=0)
    return np.asarray(columns.mean(axis=0) / np.where(size > 0, size, 1.0))
