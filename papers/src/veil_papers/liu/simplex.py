"""Algorithm 5.4.2.1 as the paper runs it: a simplex search for the most likely record, beside the closed form."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Context

K, P, PAPER_STARTS = 6, 5, 100


@dataclass(frozen=True)
class Searches:
    """Errors of the closed form and of the search by case, how much higher the former's log-density is, and how many
    times faster it is."""

    closed: Matrix
    searched: Matrix
    gaps: Matrix
    ratio: float


def log_density(x: Matrix, y: Matrix, known: Matrix, released: Matrix) -> float:
    """Of Ȳ = [y Y_p] given X̄ = [x X_p], up to a constant (Equation 5.10)."""
    # By a triangular factor of X̄: its inner products square the condition, and searches climb rounding errors.
    root = np.linalg.qr(np.vstack([known, x]).T)[1]
    scaled = np.linalg.solve(root.T, np.vstack([released, y]))
    return float(-len(y) / 2 * (2 * np.log(np.abs(np.diag(root))).sum() + (scaled**2).sum()))


def down(at: Matrix, *given: Matrix) -> float:
    """What the search makes small."""
    return -log_density(at, *given)


def search(context: Context, letter: Matrix, cases: int) -> Searches:
    """Both guesses of one record at k = 6, p = 5: the search from the known records' median, its best end refined."""
    from scipy.optimize import minimize

    starts = context.pick(5, 2)
    closed, searched, gaps, ratios = [], [], [], []
    for r in range(cases):
        rng = context.rng(9, r)
        x = letter[rng.permutation(len(letter))[: P + 1]]
        projection = veil.RandomProjection(K, scaling=None, dither=False, random_state=int(rng.integers(2**31)))
        release, _ = veil.publish(x, projection)
        y = release.to_numpy()
        attack = veil.ProjectionMAPAttack(variant="paper", random_state=r)
        began = time.process_time()
        guess = attack.run(release, veil.KnownPairs(x[:P], np.arange(P))).values[P]
        took = [time.process_time() - began]
        given = y[P], x[:P], y[:P]
        began, middle = time.process_time(), np.median(x[:P], axis=0)
        ends = [minimize(down, middle + rng.uniform(-2, 2, K), given, method="Nelder-Mead") for _ in range(starts)]
        took.append(time.process_time() - began)
        best = minimize(
            down,
            min(ends, key=lambda end: end.fun).x,
            given,
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000},
        )
        length = float(np.linalg.norm(x[P]))
        closed.append(float(np.linalg.norm(guess - x[P])) / length)
        searched.append(float(np.linalg.norm(best.x - x[P])) / length)
        gaps.append(float(best.fun) - down(guess, *given))
        ratios.append(took[1] * PAPER_STARTS / starts / max(took[0], 1e-9))
    return Searches(np.array(closed), np.array(searched), np.array(gaps), float(np.median(ratios)))
