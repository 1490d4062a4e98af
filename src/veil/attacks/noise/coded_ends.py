"""What lies beyond the limits of top and bottom coding (P24), for A2.

*Model.* A released value at or beyond a limit stands for one that lies further out; all others are exact. Values of a
sample that lie beyond say where; without any the published mean is the estimate, and the limit where no mean is
published. Densities fall towards the ends, so that most values within reach of one point lie just beyond the limit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veil.attacks.blockwise import BlockGuess
from veil.attacks.noise.classes import ClassPosterior
from veil.data.blocks import Block, Matrix, Vector
from veil.release.models import TopCodedModel


def coded_end_guesses(model: TopCodedModel, known: Matrix, reach: Vector | None) -> Matrix:
    """d × 2: the guess of a value below the lower and above the upper limit; ``reach`` where hits are wanted.

    >>> model = TopCodedModel(np.array([[-np.inf, 90.0]]), np.array([[-np.inf, 94.0]]), "mean")
    >>> nobody = np.empty((0, 1))
    >>> float(coded_end_guesses(model, nobody, None)[0, 1]), float(coded_end_guesses(model, nobody, np.ones(1))[0, 1])
    (94.0, 91.0)
    >>> float(coded_end_guesses(model, np.array([[92.0], [98.0], [50.0]]), None)[0, 1])
    95.0
    """
    guesses = model.stand_ins.copy()
    for j, limits in enumerate(model.limits):
        for end, sign in enumerate((-1.0, 1.0)):
            if not np.isfinite(limits[end]):
                continue
            beyond = np.sort(known[sign * known[:, j] > sign * limits[end], j])
            if len(beyond):
                posterior = ClassPosterior(beyond, np.full(len(beyond), 1.0 / len(beyond)))
                guesses[j, end] = posterior.mean if reach is None else posterior.hit(float(reach[j]))
            elif reach is not None:
                guesses[j, end] = limits[end] + sign * reach[j]
    return guesses


def coded_end_guess(columns: Sequence[str], model: TopCodedModel, guesses: Matrix, block: Block) -> BlockGuess:
    """Released values, and guesses of those that are coded."""
    y = block.matrix(columns).T
    below, above = (y == stand_in for stand_in in model.stand_ins.T)
    if model.kind == "mean":  # a value within the limits may be equal to a limit, never to a mean beyond it
        below, above = below & (y <= model.limits[:, 0]), above & (y >= model.limits[:, 1])
    return BlockGuess(np.where(above, guesses[:, 1], np.where(below, guesses[:, 0], y)))
