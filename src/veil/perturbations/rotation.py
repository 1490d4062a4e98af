"""P5: rotation-based transformation (RBT).

*Model.* Normalize each attribute (z-score with the population standard deviation, or min-max), then rotate attribute
pairs one after the other, clockwise by θ: ``a' = a cosθ + b sinθ``, ``b' = −a sinθ + b cosθ`` (Ketel and Homaifar;
thresholds after Oliveira and Zaïane 2004). Altogether ``y = R (x − centre)/width`` with R a rotation.

Angles come from the pair's *security range*, where ``Var(a − a') ≥ ρ1`` and ``Var(b − b') ≥ ρ2``, computed exactly from
the pair's variances and covariance as they are when its turn comes. It says how far one rotation moves a column (one
that is rotated twice may come back part of the way), and bounds no attack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from veil.arguments import choice
from veil.data.blocks import Matrix, tiles
from veil.errors import InputError, listed
from veil.keys.randomness import Generator
from veil.measures.pair_rotation import point_in, security_range
from veil.numerics.moments import Moments
from veil.perturbations.base import Perturbation
from veil.perturbations.draws import Draws, Secrets
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, MadeOf, Noise
from veil.release.models import NormalizedRotationModel
from veil.secret import SecretParameter, revealed

NORMALIZATIONS = ("zscore", "minmax")
MOST_DRAWS = 50
Pairs = list[tuple[int, int]]


class PairwiseRotation(Perturbation):
    """P5. Normalize the columns and rotate them in pairs by secret angles.

    Parameters
    ----------
    pairs : list of pairs of columns, optional
        Which columns are rotated together, in this order, by name or number. By default a secret pairing of all
        columns; an odd one goes with a column that was already rotated.
    angles : list of float, optional
        One angle per pair, in radians. By default drawn from each pair's security range.
    thresholds : float, pair of floats, or one pair per pair, default 0.3
        ρ1 and ρ2: the least variance of the change of the pair's first and second column, in units of the normalized
        column's variance (1 for z-scores). Only drawn angles are held to them.
    normalize : {"zscore", "minmax"}, default "zscore"
        Mean 0 and population variance 1, or minimum 0 and maximum 1.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal([40, 5], [9, 1], size=(100, 2))
    >>> y = veil.PairwiseRotation(pairs=[(0, 1)], angles=[np.pi / 2], random_state=0).fit_transform(x)
    >>> bool(np.allclose(y[:, 1], -(x[:, 0] - x[:, 0].mean()) / x[:, 0].std()))
    True
    """

    threat = (
        "Released: ``y`` and how columns were normalized. Secret: pairs, angles, and each column's centre and "
        "width, which stay in the key unrounded. Distances between normalized records are kept exactly. Each "
        "released column mixes two private ones, and normalized columns have variances or ranges that are known: "
        "the release alone gives all normalized values up to order and sign in a pair, and three known records, or "
        "the ranges, the rest (A27); a sample of the population gives the rotation too (A11). The thresholds say "
        "how far each rotation moves its columns, not what is safe. There is no formal guarantee."
    )
    catalogue = "P5"
    summary = "Normalize the columns and rotate them in pairs by secret angles."
    layout = Layout(made_of=MadeOf.RECORD, noise=Noise.NONE, covariance=True, spread=True)
    pairs = SecretParameter()
    angles = SecretParameter()
    model_: NormalizedRotationModel

    def __init__(
        self,
        *,
        pairs: Any = None,
        angles: Any = None,
        thresholds: Any = 0.3,
        normalize: str = "zscore",
        random_state: Any = None,
    ) -> None:
        self.pairs = pairs
        self.angles = angles
        self.thresholds = thresholds
        self.normalize = normalize
        self.random_state = random_state

    def learn(self, facts: Facts) -> NormalizedRotationModel:
        """How columns are normalized; centres, widths and the rotation are secrets of the key."""
        choice(self.normalize, "normalize", NORMALIZATIONS)
        moments, columns = facts.moments, facts.columns
        if len(columns) < 2:
            raise InputError("PairwiseRotation rotates pairs of columns and needs at least 2; there is n_features=1")
        constant = [n for n, low, high in zip(columns, moments.minimum, moments.maximum, strict=True) if low == high]
        if constant:
            raise InputError(
                f"column {listed(constant)}: all {moments.n_rows} values are equal and cannot be normalized; give the "
                "role public or drop"
            )
        model = NormalizedRotationModel(self.normalize, facts.secrets.name_of(self._checked(columns)))
        about = model.to_json()
        width = facts.secrets.matrix("normalization", about, lambda _: _measured(self.normalize, moments))[1]
        covariance = moments.covariance / np.outer(width, width)
        facts.secrets.matrix("rotation", about, lambda source: self._turned(columns, covariance, source))
        return model

    def _checked(self, columns: Sequence[str]) -> list[Any]:
        """Pairs (None: drawn), angles (None: drawn) and thresholds, checked and plain."""
        given = revealed(self.pairs)
        pairs = None if given is None else _checked_pairs(given, list(columns))
        n_pairs = -(-len(columns) // 2) if pairs is None else len(pairs)
        return [pairs, _angles(revealed(self.angles), n_pairs), _thresholds(self.thresholds, n_pairs)]

    def _turned(self, columns: Sequence[str], covariance: Matrix, source: Generator) -> Matrix:
        """The rotation of all columns, as the product of the pairs' rotations."""
        for _ in range(MOST_DRAWS - 1):  # angles drawn first may leave a column that is rotated twice no room
            with suppress(InputError):
                return self._turned_once(columns, covariance, source)
        return self._turned_once(columns, covariance, source)

    def _turned_once(self, columns: Sequence[str], covariance: Matrix, source: Generator) -> Matrix:
        given, angles, thresholds = self._checked(columns)
        pairs = given if given is not None else _drawn_pairs(len(columns), source)
        unit = np.diag(covariance)
        rotation = np.eye(len(columns))
        for (i, j), (rho1, rho2), angle in zip(pairs, thresholds, angles, strict=True):
            now = rotation @ covariance @ rotation.T
            if angle is None:
                secure = security_range(now[i, i], now[j, j], now[i, j], rho1 * unit[i], rho2 * unit[j])
                if not secure:
                    raise InputError(
                        f"thresholds ({rho1:g}, {rho2:g}) leave no angle for {columns[i]!r} and {columns[j]!r}; "
                        "lower them, or pair other columns (veil.measures.choose_rotation_pairs)"
                    )
                angle = point_in(secure, float(source.words(1)[0] >> np.uint64(11)) * 2.0**-53)
            rotation = _givens(len(columns), i, j, angle) @ rotation
        return rotation

    def _secret_parts(self, secrets: Secrets) -> tuple[Matrix, Matrix, Matrix]:
        """Centre and width of every column, and the rotation, as the key keeps them."""
        about = self.model_.to_json()
        centre, width = secrets.matrix("normalization", about)
        return centre[:, None], width[:, None], secrets.matrix("rotation", about)

    def secret_matrix(self) -> Matrix:
        """The rotation of the normalized columns."""
        return self._secret_parts(self.secrets())[2]

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Normalize and rotate."""
        centre, width, rotation = self._secret_parts(draws.secrets)
        out = np.empty_like(block)
        for tile in tiles(block.shape[1]):
            np.matmul(rotation, (block[:, tile] - centre) / width, out=out[:, tile])
        return out

    def restore(self, block: Matrix, draws: Draws) -> Matrix:
        """Rotate back and undo the normalization."""
        centre, width, rotation = self._secret_parts(draws.secrets)
        return np.asarray((rotation.T @ block) * width + centre)


def _measured(normalize: str, moments: Moments) -> Matrix:
    """Centre and width of every column (2 × d)."""
    if normalize == "zscore":
        return np.array([moments.mean, moments.std])
    return np.array([moments.minimum, moments.maximum - moments.minimum])


def _drawn_pairs(d: int, source: Generator) -> Pairs:
    """A secret pairing of all columns; an odd one goes with one that was already rotated."""
    order = [int(c) for c in source.permutation(d)]
    pairs = list(zip(order[::2], order[1::2], strict=False))
    return pairs if d % 2 == 0 else [*pairs, (order[-1], order[0])]


def _givens(d: int, i: int, j: int, angle: float) -> Matrix:
    """The clockwise rotation of columns i and j."""
    turn = np.eye(d)
    turn[i, i] = turn[j, j] = math.cos(angle)
    turn[i, j], turn[j, i] = math.sin(angle), -math.sin(angle)
    return turn


def _checked_pairs(given: Any, columns: list[str]) -> Pairs:
    rule = "pairs must be a list of pairs of columns, by name or number, for example [('age', 'salary')]"
    if not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise InputError(rule)
    pairs: Pairs = []
    for pair in given:
        if not isinstance(pair, Sequence | np.ndarray) or isinstance(pair, str) or len(pair) != 2:
            raise InputError(rule)
        places = []
        for column in pair:
            if isinstance(column, str) and column in columns:
                places.append(columns.index(column))
            elif isinstance(column, int | np.integer) and 0 <= column < len(columns):
                places.append(int(column))
            else:
                raise InputError(f"{rule}; a column of some pair is not in the table")
        if places[0] == places[1]:
            raise InputError("pairs must have two different columns each")
        pairs.append((places[0], places[1]))
    left = sorted(set(range(len(columns))) - {place for pair in pairs for place in pair})
    if left:
        raise InputError(f"pairs leave {listed(columns[i] for i in left)} unrotated, released as normalized; add them")
    return pairs


def _angles(given: Any, n_pairs: int) -> list[float | None]:
    if given is None:
        return [None] * n_pairs
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (n_pairs,) or not np.isfinite(values).all():
        raise InputError(f"angles must be one finite number per pair ({n_pairs}), in radians")
    still = int((np.abs(np.sin(values)) < 1e-9).sum())
    if still:
        raise InputError(f"angles: {still} is a multiple of π, which releases its columns as they are; turn them")
    return [float(a) for a in values]


def _thresholds(given: Any, n_pairs: int) -> list[tuple[float, float]]:
    try:
        values = np.array(given, dtype=np.float64)
        values = np.broadcast_to(values, (n_pairs, 2))
    except (TypeError, ValueError):
        values = np.full((1, 2), np.nan)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise InputError(f"thresholds must be one number of at least 0, two, or two for each of the {n_pairs} pairs")
    return [(float(a), float(b)) for a, b in values]
