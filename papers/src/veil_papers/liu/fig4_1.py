"""Figures 4.1 and 4.3: a turned cloud in the plane, and the two matrices that one known point leaves."""

from __future__ import annotations

import numpy as np

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Points

MEAN, COVARIANCE = (6.0, 3.0), ((4.0, 1.5), (1.5, 1.0))
N, KNOWN = 120, 0


def run(context: Context) -> Result:
    """Turn a cloud, and find the candidates from one known point by drawing many consistent matrices."""
    rng = context.rng(0)
    x = rng.multivariate_normal(MEAN, COVARIANCE, N)
    release, _ = veil.publish(
        x, veil.OrthogonalTransform(scaling=None, dither=False, random_state=int(rng.integers(2**31)))
    )
    y = release.to_numpy()
    guesses = candidates(release, x, [int(s) for s in rng.integers(2**31, size=context.pick(200, 40))])
    right = [bool(np.abs(guess - x).max() < 1e-9) for guess in guesses]
    agree = max(float(np.abs(guess[KNOWN] - x[KNOWN]).max()) for guess in guesses)
    turns = [float(np.linalg.det(np.linalg.lstsq(y, guess, rcond=None)[0])) for guess in guesses]
    change = float(np.abs(np.linalg.norm(y[:, None] - y, axis=2) - np.linalg.norm(x[:, None] - x, axis=2)).max())
    turned = context.pick(2_000, 200)
    wrong_angle, wrong_signed, wrong_mirror = angles(context, turned)
    share, spread = wrong_angle / turned, 0.5 / turned**0.5
    claims = (
        Claim(
            "an orthogonal matrix keeps distances (figure 4.1)",
            "“distance preserving data perturbation (with origin fixed)”",
            f"largest change {change:.0e}",
            agrees=change < 1e-9,
            holds=change < 1e-9,
        ),
        Claim(
            "one known point leaves a rotation and a reflection (figure 4.3)",
            "“only two elements”: a rotation or a reflection",
            f"{len(guesses)} candidates, determinants {', '.join(f'{t:+.3f}' for t in turns)}; one is the truth, both "
            f"map the known point (to {agree:.0e})",
            agrees=len(guesses) == 2,
            holds=len(guesses) == 2 and bool(np.allclose(np.sort(turns), [-1, 1])) and sum(right) == 1 and agree < 1e-9,
        ),
        Claim(
            "the rotation's angle, from the known point x and its image y",
            "θ = arccos(⟨x, y⟩/‖x‖‖y‖)",
            f"does not map x to y in {share:.3f} of {turned:,} matrices",
            f"signed angle by atan2: in {wrong_signed}",
            agrees=False,
            why="L-e: arccos is between 0 and π and cannot tell left from right",
            holds=abs(share - 0.5) < 4.5 * spread and wrong_signed == 0,
        ),
        Claim(
            "the reflection, from the known point x and its image y",
            "across u = (x + y)/2",
            f"does not map x to y in {wrong_mirror} of {turned:,} matrices",
            agrees=wrong_mirror == 0,
            holds=wrong_mirror == 0,
        ),
    )
    rows = tuple((i, *x[i], *y[i], *np.concatenate([guess[i] for guess in guesses])) for i in range(N))
    columns = ("record", "x", "y", "released x", "released y")
    table = Table(
        "points", (*columns, *(f"candidate {i // 2 + 1} {'xy'[i % 2]}" for i in range(2 * len(guesses)))), rows
    )
    wrong = guesses[right.index(False)] if False in right else guesses[0]
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


def angles(context: Context, draws: int) -> tuple[int, int, int]:
    """How often the known point is not mapped on its image: by arccos, by atan2, and by the paper's reflection."""
    wrong = np.zeros(3, dtype=np.int64)
    for r in range(draws):
        rng = context.rng(1, r)
        x = rng.multivariate_normal(MEAN, COVARIANCE, 2)
        release, _ = veil.publish(
            x, veil.OrthogonalTransform(scaling=None, dither=False, random_state=int(rng.integers(2**31)))
        )
        known, image = x[0], release.to_numpy()[0]
        cosine = known @ image / (np.linalg.norm(known) * np.linalg.norm(image))
        signed = np.arctan2(image[1], image[0]) - np.arctan2(known[1], known[0])
        middle = (known + image) / 2
        mirror = 2 * np.outer(middle, middle) / (middle @ middle) - np.eye(2)
        maps = (rotation(float(np.arccos(cosine))), rotation(float(signed)), mirror)
        wrong += [bool(np.abs(m @ known - image).max() > 1e-6) for m in maps]
    by_arccos, by_atan2, mirrored = wrong.tolist()
    return by_arccos, by_atan2, mirrored


def rotation(angle: float) -> Matrix:
    """Of the plane."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def candidates(release: veil.Release, x: Matrix, seeds: list[int]) -> list[Matrix]:
    """The different guesses of many draws from the consistent matrices."""
    guesses: list[Matrix] = []
    for seed in seeds:
        attack = veil.KnownPairsAttack(variant="paper", random_state=seed)
        guess = attack.run(release, veil.KnownPairs(x[[KNOWN]], [KNOWN])).values
        if all(np.abs(guess - other).max() > 1e-6 for other in guesses):
            guesses.append(guess)
    return guesses


EXPERIMENT = Experiment(
    id="liu-fig4.1",
    title="A turned cloud, and one known point (figures 4.1 and 4.3)",
    stated="pictures in two dimensions: an orthogonal map, and the rotation and reflection that fit one known point",
    chosen="120 normal points and a Haar matrix; any set of points shows the same. The angle from 2,000 new points and "
    "matrices",
    run=run,
    errata=("L-e",),
    also=("fig4.3",),
)
