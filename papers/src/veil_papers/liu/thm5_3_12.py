"""Theorem 5.3.12: the records most likely to have given a projection are any with the release's inner products."""

from __future__ import annotations

import math

import numpy as np

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Histogram

K, M, N = 5, 3, 8
"""Released dimension, records, attributes."""
TOLERANCE, SLOPE, STEP = 1e-8, 1e-7, 1e-3
"""Of log-densities and lengths; of numerical slopes, against those at the truth; the step of their differences."""
BALL = 0.8
"""Radius, in units of ‖x‖, of the ball whose releases are counted."""


def run(context: Context) -> Result:
    """Gradient, rotated solutions and random others for several releases."""
    tries, others = context.pick(100, 10), context.pick(400, 200)
    rows, drops = [], []
    for t in range(tries):
        rng = context.rng(t)
        x = rng.normal(2.0, 1.0, (M, N))
        projection = veil.RandomProjection(K, scaling=None, dither=False, random_state=int(rng.integers(2**31)))
        release, _ = veil.publish(x, projection)
        y = release.to_numpy()
        root = np.linalg.cholesky(y @ y.T)
        solutions = [root @ frame(rng) for _ in range(5)]
        slope = max(steepest(s, y) for s in solutions) / steepest(x, y)
        heights = [log_density(s, y) for s in solutions]
        lower = [heights[0] - log_density(solutions[0] + rng.normal(0, 0.3, (M, N)), y) for _ in range(others)]
        guess = veil.HypersphereAttack(variant="paper", random_state=t).run(release, veil.KnownRanges(-1e3, 1e3))
        away = np.abs(np.linalg.norm(guess.values, axis=1) - np.linalg.norm(y, axis=1)).max()
        rows.append((t, slope, float(np.ptp(heights)), min(lower), heights[0] - log_density(x, y), float(away)))
        drops += lower
    slope, spread, lengths = (max(row[i] for row in rows) for i in (1, 2, 5))
    least, truth = (min(row[i] for row in rows) for i in (3, 4))
    constants = [integrals(context, k) for k in range(1, K + 1)]
    off = max(abs(row[3] - row[4]) / row[5] for row in constants)
    heights_at = np.linspace(0.5, 2.0, 3_001)
    peak = float(heights_at[np.argmax([log_density(np.array([[z]]), np.ones((1, 1))) for z in heights_at])])
    claims = (
        Claim(
            "the density is level where X̂′X̂ = Y′Y",
            "any such X can be the optimal solution",
            f"numerical slopes at most {slope:.0e} of those at the truth",
            agrees=slope < SLOPE,
            holds=slope < SLOPE,
        ),
        Claim(
            "all such X̂ are equally likely",
            "any",
            f"equal to {spread:.0e}",
            agrees=spread < TOLERANCE,
            holds=spread < TOLERANCE,
        ),
        Claim(
            "and no other X is more likely",
            "optimal",
            f"{len(drops)} others and the truth are lower by at least {min(least, truth):.2g}",
            agrees=least > 0 and truth > 0,
            holds=least > 0 and truth > 0,
        ),
        Claim(
            "for one record: any vector with x̂′x̂ = y′y",
            "the sphere",
            f"the attack's guesses lie on it to {lengths:.0e}, and the density of one record is highest there",
            agrees=lengths < TOLERANCE and abs(peak - 1) < 1e-3,
            holds=lengths < TOLERANCE and abs(peak - 1) < 1e-3,
        ),
        Claim(
            "Equation 5.4: the density of y",
            "k^(1/2)/(2πx′x)^(k/2)·exp(−ky′y/(2x′x))",
            "its integral is " + ", ".join(f"{row[1]:.3f}" for row in constants) + f" at k = 1 … {len(constants)}",
            "with k^(k/2) it is "
            + ", ".join(f"{row[2]:.3f}" for row in constants)
            + f"; releases with ‖y‖ ≤ {BALL:g}‖x‖ at most {off:.1f} standard errors from it",
            agrees=False,
            why="L-aa: the root of a determinant of k equal factors; the maximum does not move",
            holds=all(abs(row[2] - 1) < 1e-6 and (row[0] == 1 or row[1] < 0.8) for row in constants) and off < 4.5,
        ),
    )
    columns = ("release", "slope", "spread of solutions", "least drop", "drop at the truth", "length error")
    samples = (("others near X̂", drops),)
    figure = Histogram("How much less likely other records are", "drop of the log-density", samples, log=True)
    names = ("k", "integral as printed", "integral with k^(k/2)", "releases in the ball", "integral over it", "se")
    tables = (Table("releases", columns, tuple(rows)), Table("constants", names, tuple(constants)))
    return Result(claims, tables, (figure,))


def frame(rng: np.random.Generator) -> Matrix:
    """M orthonormal rows of length N."""
    return np.asarray(np.linalg.qr(rng.normal(size=(N, M)))[0].T)


def log_density(x: Matrix, y: Matrix) -> float:
    """Of Y given X under R with entries N(0, 1/k), up to a constant: columns of Y are N(0, XX′/k)."""
    gram = x @ x.T
    return float(-K / 2 * (np.linalg.slogdet(gram)[1] + np.trace(np.linalg.solve(gram, y @ y.T))))


def steepest(x: Matrix, y: Matrix) -> float:
    """The largest slope of the log-density in an entry of X, by differences of fourth order."""
    slopes = []
    for place in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[place] = STEP
        near, far = (log_density(x + m * step, y) - log_density(x - m * step, y) for m in (1, 2))
        slopes.append(abs(8 * near - far) / (12 * STEP))
    return max(slopes)


def integrals(context: Context, k: int) -> tuple[float, ...]:
    """Of the printed density and of the right one over all y, for ‖x‖ = 1; and over a ball, with releases' share."""
    from scipy.integrate import quad

    surface = 2 * math.pi ** (k / 2) / math.gamma(k / 2)

    def shell(r: float) -> float:
        return float(surface * r ** (k - 1) * (2 * math.pi) ** (-k / 2) * math.exp(-k * r * r / 2))

    whole, ball = (quad(shell, 0, end)[0] for end in (np.inf, BALL))
    # Unit vectors are projected to independent draws of y.
    unit = np.eye(context.pick(4_000, 800))
    projection = veil.RandomProjection(
        k, scaling=None, dither=False, random_state=int(context.rng(5, k).integers(2**31))
    )
    y = veil.publish(unit, projection)[0].to_numpy()
    right, share = k ** (k / 2) * ball, float((np.linalg.norm(y, axis=1) <= BALL).mean())
    return k, math.sqrt(k) * whole, k ** (k / 2) * whole, share, right, math.sqrt(right * (1 - right) / len(y))


EXPERIMENT = Experiment(
    id="liu-thm5.3.12",
    title="Most likely records of a projection",
    stated="any X with X′X = Y′Y maximises the matrix density of Y",
    chosen="k = 5, 3 records of 8 attributes, 100 releases with 5 solutions each; holds for every choice",
    run=run,
    errata=("L-aa",),
)
