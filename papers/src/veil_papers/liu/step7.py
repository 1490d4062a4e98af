"""Algorithm 4.4.3.1, step 7: a draw from the matrices that fit the known pairs, without the matrix that is sought."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import ks_2samp

import veil
from veil_papers.arrays import Matrix
from veil_papers.bases import haar_basis
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves

N, KNOWN, RECORDS = 6, 3, 60
"""Attributes, known records and all records."""
EXACT, RARE = 1e-9, 1e-5


def run(context: Context) -> Result:
    """Draws of the attacker, of an owner who follows the paper with M_T, and the projection on the known span."""
    rng = context.rng(0)
    x = rng.normal(size=(RECORDS, N)) * rng.uniform(0.1, 2.0, (RECORDS, 1)) + 3 * (np.arange(N) < KNOWN)
    release, _ = veil.publish(
        x, veil.OrthogonalTransform(scaling=None, dither=False, random_state=int(rng.integers(2**31)))
    )
    known, y = veil.KnownPairs(x[:KNOWN], list(range(KNOWN))), release.to_numpy()
    seeds = [int(seed) for seed in rng.integers(2**31, size=context.pick(1_000, 150))]
    guesses = [veil.KnownPairsAttack(variant="paper", random_state=s).run(release, known).values for s in seeds]
    # A guess is x̂ = M̂′y for every record, so guesses and release together show M̂.
    drawn = [np.linalg.lstsq(y, guess, rcond=None)[0] for guess in guesses]
    truth: Matrix = np.asarray(np.linalg.lstsq(x, y, rcond=None)[0].T, dtype=np.float64)
    span = np.linalg.qr(x[:KNOWN].T)[0]
    outside = np.linalg.svd(span.T)[2][KNOWN:].T
    theirs = [printed(truth, span, outside, rng) for _ in seeds]
    length = np.linalg.norm(x, axis=1)
    ours, with_truth = (np.array([np.linalg.norm(y @ m - x, axis=1) for m in ms]) / length for ms in (drawn, theirs))
    projected = np.linalg.norm(veil.KnownPairsAttack().run(release, known).values - x, axis=1) / length
    # d(x, X_k) from the release alone: step 3 of the algorithm.
    image = np.linalg.qr(y[:KNOWN].T)[0]
    distance = np.linalg.norm(y - y @ image @ image.T, axis=1) / np.linalg.norm(y, axis=1)
    rest = slice(KNOWN, None)
    rows = [
        tuple(float(v) for v in (i, distance[i], projected[i], root(ours[:, i]), root(with_truth[:, i])))
        for i in range(KNOWN, RECORDS)
    ]
    needed = [float(np.linalg.norm((a - b) @ outside)) for a, b in pairwise(drawn)]
    fit = max(float(np.abs(m.T @ m - np.eye(N)).max()) for m in drawn)
    maps = max(float(np.abs(x[:KNOWN] @ m.T - y[:KNOWN]).max()) for m in drawn)
    # Errors of one draw share a matrix; the record farthest out stands for all.
    far = int(distance.argmax())
    same = ks_2samp(ours[:, far], with_truth[:, far])
    ratio = (ours[:, rest] ** 2).mean(axis=1) / (2 * (distance[rest] ** 2).mean())
    error = float(ratio.std(ddof=1)) / len(seeds) ** 0.5
    off = float(np.abs(projected - distance).max())
    claims = (
        Claim(
            "step 7 draws M̂ from the attacker's inputs",
            "M̂ = L⁻¹(P) = M_T U_k U_k′ + M_T U_⊥ P U_⊥′",
            f"needs M_T U_⊥, which the inputs leave open: {len(seeds):,} matrices fit them, neighbours "
            f"{np.mean(needed):.1f} apart there",
            f"M̂ = (Y_k X_k⁺ U_k)U_k′ + V_⊥ P U_⊥′: orthogonal to {fit:.0e}, known records mapped to {maps:.0e}",
            agrees=False,
            why="L-c: any basis V_⊥ of the complement of the known rows will do, since P is uniform",
            holds=fit < EXACT and maps < EXACT and min(needed) > 1e-3,
        ),
        Claim(
            "and its law is the one meant",
            "“chosen uniformly” from the matrices that fit",
            f"drawn without M_T: errors of the farthest record have the same law as with it (p = {same.pvalue:.2f})",
            agrees=bool(same.pvalue > RARE),
            why="L-c: the law is right, the way to it is not the attacker's",
            holds=bool(same.pvalue > RARE),
        ),
        Claim(
            "error of the guess U_kU_k′x",
            "–",
            f"a draw: mean squared error {ratio.mean():.2f} ± {error:.2f} times 2d²",
            f"projection: d/‖x‖ for all {RECORDS - KNOWN} records to {off:.0e}, from the release alone",
            agrees=None,
            why="L-c: x̂ = U_k(Y_k X_k⁺ U_k)′y needs no draw and errs by exactly d, √2 times less",
            holds=bool(off < EXACT and abs(ratio.mean() - 1) < 4.5 * error),
        ),
    )
    columns = ("record", "d/‖x‖", "projection", "draws, r.m.s.", "draws with M_T, r.m.s.")
    return Result(claims, (Table("errors", columns, tuple(rows)),), (figure(rows, ours[:, rest]),))


def printed(truth: Matrix, span: Matrix, outside: Matrix, rng: np.random.Generator) -> Matrix:
    """Part 7 as the paper has it, which only the owner of M_T can follow."""
    return np.asarray(truth @ (span @ span.T + outside @ haar_basis(N - KNOWN, rng) @ outside.T))


def root(errors: Matrix) -> float:
    """Root mean square."""
    return float(np.sqrt((errors**2).mean()))


def figure(rows: list[tuple[Any, ...]], ours: Matrix) -> Curves:
    """Errors against the distance from the known span."""
    order = np.argsort([row[1] for row in rows])
    at, projected, draws, owner = (np.array([rows[i][c] for i in order]) for c in (1, 2, 3, 4))
    low, high = np.quantile(ours[:, order], (0.05, 0.95), axis=0)
    line = np.array([0.0, at[-1]])
    return Curves(
        f"Guesses from {KNOWN} known records of {N} attributes",
        "distance from the known records' span, d/‖x‖",
        "relative error",
        (
            Curve("step 7, drawn by the attacker (r.m.s., 5–95 %)", at, draws, low, high, kind="points", colour=1),
            Curve("step 7 with M_T, drawn by the owner", at, owner, kind="paper", colour=5),
            Curve("√2 d/‖x‖", line, line * 2**0.5, kind="dashed", colour=1),
            Curve("projection on the span", at, projected, kind="points", colour=0),
            Curve("d/‖x‖", line, line, kind="dashed", colour=0),
        ),
        width=8.4,
    )


EXPERIMENT = Experiment(
    id="liu-alg4.4.3.1",
    title="Part 7 of the known input–output attack",
    stated="choose M̂ uniformly from the matrices that fit the known pairs, by L⁻¹(P); L is defined with M_T",
    chosen="60 records of 6 attributes, 3 of them known with their rows; 1,000 draws. Exact for every choice",
    run=run,
    errata=("L-c",),
)
