"""Figures 4.1 and 4.3: a turned cloud in the plane, and the two matrices that one known point leaves."""

from __future__ import annotations

import numpy as np

import veil
from veil.reproduce.data import Matrix
from veil.reproduce.experiment import Claim, Context, Experiment, Result, Table
from veil.reproduce.figures import Points

MEAN, COVARIANCE = (6.0, 3.0), ((4.0, 1.5), (1.5, 1.0))
N, KNOWN = 120, 0


def run(context: Context) -> Result:
    """Turn a cloud, and find the candidates from one known point by drawing many consistent matrices."""
    rng = context.rng(0)
    x = rng.multivariate_normal(MEAN, COVARIANCE, N)
    release, _ = veil.publish(x, veil.OrthogonalTransform(scaling=None, random_state=int(rng.integers(2**31))))
    y = release.to_numpy()
    found = candidates(release, x, [int(s) for s in rng.integers(2**31, size=context.pick(200, 40))])
    right = [bool(np.abs(guess - x).max() < 1e-9) for guess in found]
    agree = max(float(np.abs(guess[KNOWN] - x[KNOWN]).max()) for guess in found)
    turns = [float(np.linalg.det(np.linalg.lstsq(y, guess, rcond=None)[0])) for guess in found]
    kept = float(np.abs(np.linalg.norm(y[:, None] - y, axis=2) - np.linalg.norm(x[:, None] - x, axis=2)).max())
    claims = (
        Claim(
            "an orthogonal matrix keeps distances (figure 4.1)",
            "kept",
            f"largest change {kept:.0e}",
            holds=kept < 1e-9,
        ),
        Claim(
            "one known point leaves a rotation and a reflection (figure 4.3)",
            "two candidates",
            f"{len(found)} candidates, determinants {', '.join(f'{t:+.3f}' for t in turns)}",
            holds=len(found) == 2 and bool(np.allclose(np.sort(turns), [-1, 1])),
        ),
        Claim("both agree on the known point", "agree", f"to {agree:.0e}", holds=agree < 1e-9),
        Claim("one is the truth", "one", f"{sum(right)} of {len(found)}", holds=sum(right) == 1),
    )
    rows = tuple((i, *x[i], *y[i], *np.concatenate([guess[i] for guess in found])) for i in range(N))
    columns = ("record", "x", "y", "released x", "released y")
    table = Table("points", (*columns, *(f"candidate {i // 2 + 1} {'xy'[i % 2]}" for i in range(2 * len(found)))), rows)
    wrong = found[right.index(False)] if False in right else found[0]
    figures = (
        Points("A cloud and its image", "first attribute", "second attribute", (("private", x), ("released", y))),
        Points(
            "What one known point leaves open",
            "first attribute",
            "second attribute",
            (("private, and the right candidate", x), ("the mirrored candidate", wrong), ("known point", x[:1])),
        ),
    )
    return Result(claims, (table,), figures)


def candidates(release: veil.Release, x: Matrix, seeds: list[int]) -> list[Matrix]:
    """The different guesses of many draws from the consistent matrices."""
    found: list[Matrix] = []
    for seed in seeds:
        attack = veil.KnownPairsAttack(variant="paper", random_state=seed)
        guess = attack.run(release, veil.KnownPairs(x[[KNOWN]], [KNOWN])).values
        if all(np.abs(guess - other).max() > 1e-6 for other in found):
            found.append(guess)
    return found


EXPERIMENT = Experiment(
    id="liu-fig4.1",
    title="A turned cloud, and one known point (figures 4.1 and 4.3)",
    stated="pictures in two dimensions: an orthogonal map, and the rotation and reflection that fit one known point",
    chosen="120 normal points and a Haar matrix; any set of points shows the same",
    run=run,
    errata=("L-e",),
    also=("fig4.3",),
)
