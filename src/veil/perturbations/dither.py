"""Dither: what moves whole and decimal numbers off their grid before records are mixed, and back.

*Why.* Rows of ``y = R D⁻¹x`` with every column of x on a grid generate a lattice, and lattice reduction finds it from
the release alone (A26). With ``x + u``, u uniform over one grain g, the lattice is gone: the characteristic function of
u, ``sin(gω/2)/(gω/2)``, is 0 at every frequency ``2πk/g`` at which a grid shows (Schuchman 1964). What is left is a
density that is constant within a grain.

*Who gets which.* u is a keyed function of the record (its gridded columns): equal records stay equal, so nobody can
average over them, and a second release of the same key has the same u, so nobody can average over releases.

*The way back.* The value is the grid point nearest to ``x + u``. For that to hold in float64, the noise is narrower
than a grain by what rounding needs: a share of 2⁻²⁰, or more where columns have many digits.

*What it costs.* The mean squared distance of two records, ``2 Σ var_j/D_j²``, grows by ``2 Σ (g_j²/12)/D_j²``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, listed
from veil.keys.noise import add_dither
from veil.numerics.grids import COARSE, Steps, grid_of
from veil.numerics.rounding import two_digits
from veil.perturbations.draws import Draws
from veil.perturbations.facts import Facts
from veil.release.models.dither import Dither

LEAST_MARGIN: Final = 2.0**-20
MOST_MARGIN: Final = 2.0**-6
"""A grid that needs more is finer than mixing in float64 resolves."""


def wants_dither(dither: Any) -> bool:
    """Whether a setting asks for dither, once it is one."""
    if isinstance(dither, str) and dither == "auto":
        return True
    if dither is False or (isinstance(dither, np.bool_) and not dither):
        return False
    raise InputError(f"dither must be 'auto' or False; got {dither!r}")


def learned_dither(facts: Facts, unit: Vector, error: float) -> Dither | None:
    """The dither of the columns that vary on a grid; ``error``: that of scaled values on the way back."""
    grids = facts.scan.grids
    if grids is None:
        return None
    spreads = facts.scan.spreads or (None,) * len(grids)
    steps_of = [
        _dithered_steps(steps, dominated=spread is not None) for steps, spread in zip(grids, spreads, strict=True)
    ]
    grain, origin = (np.array(each) for each in zip(*steps_of, strict=True))
    margin = np.maximum(error * unit / np.where(grain > 0, grain, np.inf), LEAST_MARGIN)
    grain[margin > MOST_MARGIN] = 0.0
    if not grain.any():
        return None
    width = grain * (1.0 - 2.0 * margin)
    variance = (facts.spread / unit) ** 2
    added = (width / unit) ** 2 / 12.0
    distances = two_digits(float(added.sum() / max(variance.sum(), 1e-300)))
    return Dither(grain, np.where(grain > 0, origin, 0.0), width, distances)


def _dithered_steps(steps: Steps | None, *, dominated: bool) -> Steps:
    """The grid of a column as it may be published: where a few values dominate, the grain must not be one of them.

    Then it is the power of 2 and 5 in the grain: 0.01 for 12.34, and no dither where the grain is no decimal.
    """
    if steps is None:
        return Steps(0.0, 0.0)
    if not dominated:
        return steps
    scale = grid_of(np.array([steps.grain, steps.origin])).scale
    if not scale:
        return Steps(0.0, 0.0)
    whole, smooth = round(steps.grain * scale), 1
    for prime in (2, 5):
        while whole % (smooth * prime) == 0:
            smooth *= prime
    return Steps(smooth / scale, round(steps.origin * scale) % smooth / scale)


def remark_dither(facts: Facts, dither: Dither) -> None:
    """Tell the owner which columns are dithered, and what it costs."""
    columns, grain = list(facts.columns), dither.grain
    std = np.where(facts.spread > 0, facts.spread, facts.moments.std)
    names = [f"{columns[j]!r} by {two_digits(grain[j]):g}" for j in dither.columns]
    share = f"{100 * dither.distances:.2g} %"
    facts.remark(
        f"{len(names)} of {len(columns)} columns hold whole or decimal numbers and are dithered before mixing "
        f"({', '.join(names[:5])}{', …' if len(names) > 5 else ''}), so that no grid shows; mean squared distances of "
        f"records grow by {share}."
    )
    coarse = [columns[j] for j in dither.columns if grain[j] > COARSE * std[j]]
    if coarse:
        worst = max(grain[j] ** 2 / (12 * std[j] ** 2) for j in dither.columns)
        facts.remark(
            f"{listed(coarse)}: one grain is more than a third of the spread, so dither adds up to {100 * worst:.2g} % "
            "to the squared distances of a column and hides little; use RandomizedResponse for categories, or "
            "AdditiveNoise for counts."
        )


def dithered(block: Matrix, dither: Dither | None, columns: Sequence[str], draws: Draws) -> Matrix:
    """A block with its dither; the same one where there is none."""
    if dither is None:
        return block
    gridded = dither.columns
    words = draws.record_words(block[gridded], [columns[j] for j in gridded], "dither")
    out = block.copy()
    for j, row in zip(gridded, words, strict=True):
        add_dither(block[j], row, dither.width[j], out[j])
    return out
