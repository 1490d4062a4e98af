"""P9: binary projection.

*Model.* ``u = R x mod 2`` on records of 0 and 1, R k × d with independent ones of probability ``p = ε²/l``
(Vempala 2004, Lemma 7.2; Liu 2007, §5.1.3). Two records at Hamming distance h differ in a released bit with probability
``(1 − (1 − 2p)^h)/2``, so ``E|u − v|_H = k (1 − (1 − 2p)^h)/2``: distances around l are kept, small and large ones
pushed apart, and h is estimated by inverting (:func:`veil.recovery.hamming_estimate`).

Bits are packed into 64-bit words: one released bit costs d/64 operations.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from veil.arguments import number, whole
from veil.data.blocks import Matrix
from veil.errors import InputError
from veil.keys.randomness import Generator
from veil.perturbations.base import Perturbation
from veil.perturbations.draws import Draws, Secrets
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, MadeOf, Noise, Takes
from veil.perturbations.method import Learned
from veil.release.models import BinaryProjectionModel

Bits = npt.NDArray[np.uint64]
MOST_BITS = 50_000_000


class BinaryProjection(Perturbation):
    """P9. Release parities of secret subsets of a record's bits.

    Parameters
    ----------
    n_components : int
        k, the number of released bits.
    epsilon : float in (0, 0.5], default 0.25
        How sharply distances are told apart around ``scale``.
    scale : float, optional
        l, the Hamming distance around which distances are kept; a quarter of the columns by default, at least 1.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    p_ : float
        The probability of a one in R: ε²/l.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).integers(0, 2, size=(100, 40))
    >>> u = veil.BinaryProjection(200, random_state=0).fit_transform(x)
    >>> sorted(set(u.ravel().tolist()))
    [0.0, 1.0]
    """

    threat = (
        "Released: ``u``, k and p. Secret: ``R``. Each released bit is one linear equation modulo 2 with the same "
        "coefficients for all records. R is sparse by design: a row with a single one releases an attribute as it is, "
        "and a dozen known records with their rows tell which (A9); d of them give all of R. There is no formal "
        "guarantee."
    )
    catalogue = "P9"
    summary = "Release parities of secret subsets of a record's bits."
    layout = Layout(Takes.BITS, MadeOf.RECORD, Noise.NONE)
    headline = ("n_components",)
    model_: BinaryProjectionModel
    p_ = Learned("p")

    def __init__(
        self,
        n_components: int = 64,
        *,
        epsilon: float = 0.25,
        scale: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.scale = scale
        self.random_state = random_state

    def learn(self, facts: Facts) -> BinaryProjectionModel:
        """The probability of a one in R."""
        k = whole(self.n_components, "n_components", least=1)
        epsilon = number(
            self.epsilon, "epsilon", least=1e-6, most=0.5, rule="above 0 and at most 0.5, for example 0.25"
        )
        d = len(facts.columns)
        if d < 2:
            raise InputError(
                "BinaryProjection hides columns among each other and needs at least 2; there is n_features=1"
            )
        if k * d > MOST_BITS:
            raise InputError(
                f"n_components must be at most {MOST_BITS // d:,} for {d} columns: the secret matrix is kept in the key"
            )
        scale = max(1.0, d / 4) if self.scale is None else self.scale
        scale = number(scale, "scale", least=1.0, most=float(d), rule=f"from 1 to the number of columns ({d})")
        model = BinaryProjectionModel(int(k), epsilon**2 / scale)
        single = int((unpacked_bits(_packed_matrix(facts.secrets, model, d), d).sum(axis=1) == 1).sum())
        if single:
            facts.remark(f"Warning: {single} of {k} released bits are private columns as they are.")
        return model

    def secret_matrix(self) -> Matrix:
        """The k × d matrix of zeros and ones."""
        d = int(self.n_features_in_)
        return unpacked_bits(_packed_matrix(self.secrets(), self.model_, d), d)

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Parities of the block's bits."""
        other = int(((block != 0) & (block != 1)).sum())
        if other:
            raise InputError(f"BinaryProjection takes 0 and 1 only; {other} values are neither")
        out = np.empty((self.model_.n_components, block.shape[1]))
        _parities(_packed_matrix(draws.secrets, self.model_, len(block)), packed_bits(block.T), out)
        return out


def _packed_matrix(secrets: Secrets, model: BinaryProjectionModel, d: int) -> Bits:
    """The secret matrix, packed; the key keeps the words as they are."""

    def drawn(source: Generator) -> Matrix:
        uniform = source.words(model.n_components * d).astype(np.float64) * 2.0**-64
        return packed_bits((uniform < model.p).reshape(model.n_components, d)).view(np.float64)

    return secrets.matrix("matrix", model.to_json(), drawn).view(np.uint64)


def packed_bits(rows: npt.NDArray[Any]) -> Bits:
    """Rows of zeros and ones as 64-bit words.

    >>> packed_bits(np.array([[1.0, 0.0, 1.0]]))
    array([[5]], dtype=uint64)
    """
    n, d = rows.shape
    padded = np.zeros((n, -(-d // 64) * 64), dtype=np.uint8)
    padded[:, :d] = rows
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


def unpacked_bits(words: Bits, d: int) -> Matrix:
    """What :func:`packed_bits` packed."""
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :d].astype(np.float64)


@numba.njit(cache=True, nogil=True)
def _parities(matrix: Any, records: Any, out: Any) -> None:
    words = matrix.shape[1]
    for i in range(matrix.shape[0]):
        for j in range(records.shape[0]):
            both = np.uint64(0)
            for w in range(words):
                both ^= matrix[i, w] & records[j, w]
            for shift in (32, 16, 8, 4, 2, 1):
                both ^= both >> np.uint64(shift)
            out[i, j] = float(both & np.uint64(1))
