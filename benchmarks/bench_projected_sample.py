"""A known sample against a projection: the shipped posterior mean and three plug-in alignments (A21).

All see the same release, sample and pairs. Every alignment seeks Q with orthonormal rows such that the
whitened release is ``Q`` times the whitened sample, with the means and the known pairs as further
equations, and inverts with the conditional mean. The rivals plug their best Q in:

* *ica*: independent components of release and sample, matched by the distance of their marginals;
* *energy*: the energy distance, lowered on the Stiefel manifold from the best of many starts;
* *cumulants*: third cumulants, lowered likewise from many starts at once.

Printed is the root mean squared error in standard deviations of each attribute, mean over seeds (worst
seed of the shipped one in brackets). 1 is guessing the mean; *oracle* knows R.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance

from veil.attacks.projection.alignment import align_projection
from veil.attacks.projection.features import random_frame

Array = np.ndarray


def population(name: str, seed: int, letters: Array | None) -> tuple[Array, Array]:
    """Private table and sample of 2 %, each attribute in units of its standard deviation."""
    rng = np.random.default_rng([seed, 77])
    if name.startswith("letter"):
        assert letters is not None
        x = letters[rng.permutation(len(letters)), : int(name.removeprefix("letter"))]
    else:
        d = 6
        loading = rng.standard_normal((d, d)) / np.sqrt(d) + 0.7 * np.eye(d)
        covariance = loading @ loading.T + 0.3 + 0.15 * np.eye(d)
        scale = np.sqrt(np.diag(covariance))
        root = np.linalg.cholesky(covariance / np.outer(scale, scale))
        x = rng.standard_normal((20_400, d)) @ root.T
        if name == "lognormal":
            x = np.exp(rng.uniform(0.5, 0.8, d) * x + rng.normal(0.0, 1.0, d))
        elif name == "normal":
            x = x + rng.uniform(1.0, 4.0, d)
    sample, private = x[:400], x[400:]
    return private / private.std(axis=0), sample / private.std(axis=0)


class Whitened:
    """Both tables white, and the equations Q a = b that mean and pairs give."""

    def __init__(self, y: Array, s: Array, pairs: tuple[Array, Array]) -> None:
        self.mean, self.covariance, self.mean_y = s.mean(axis=0), np.cov(s.T), y.mean(axis=0)
        self.root_y, inverse_y = roots(np.atleast_2d(np.cov(y.T)))
        _, self.inverse_s = roots(self.covariance)
        self.y, self.s = (y - self.mean_y) @ inverse_y, (s - self.mean) @ self.inverse_s
        self.a = np.vstack([self.mean, pairs[0]]) @ self.inverse_s
        self.b = np.vstack([self.mean_y, pairs[1]]) @ inverse_y

    def start(self, rng: np.random.Generator) -> Array:
        """A random Q that meets the equations as well as a Q can."""
        k, d = self.y.shape[1], self.s.shape[1]
        return polar(
            self.b.T @ np.linalg.pinv(self.a).T
            + random_frame(k, d, rng) @ (np.eye(d) - np.linalg.pinv(self.a) @ self.a)
        )

    def misfit(self, q: Array) -> tuple[Array, Array]:
        """Squared misfit of the equations and its gradient, for a stack of Q."""
        rest = q @ self.a.T - self.b.T
        return (rest**2).sum(axis=(-2, -1)), 2 * rest @ self.a

    def guess(self, q: Array, y: Array) -> Array:
        return conditional_mean(self.root_y @ q @ self.inverse_s, y, self.mean, self.covariance)


def roots(covariance: Array) -> tuple[Array, Array]:
    size, axes = np.linalg.eigh(covariance)
    size = np.maximum(size, 1e-9 * size[-1])
    return (axes * np.sqrt(size)) @ axes.T, (axes / np.sqrt(size)) @ axes.T


def polar(q: Array) -> Array:
    u, _, v = np.linalg.svd(q, full_matrices=False)
    return u @ v


def conditional_mean(r: Array, y: Array, mean: Array, covariance: Array) -> Array:
    gain = np.linalg.solve(r @ covariance @ r.T, r @ covariance).T
    return mean + (y - r @ mean) @ gain.T


def descend(q: Array, objective: Callable[[Array], tuple[Array, Array]], steps: int) -> tuple[Array, Array]:
    """Riemannian descent of a stack of Q, each with its own step."""
    value, gradient = objective(q)
    rate = np.full(len(q), 0.1)
    for _ in range(steps):
        inner = gradient @ q.swapaxes(1, 2)
        tangent = gradient - (inner + inner.swapaxes(1, 2)) / 2 @ q
        norm = np.sqrt((tangent**2).sum(axis=(1, 2)))[:, None, None] + 1e-12
        trial = polar(q - rate[:, None, None] * tangent / norm)
        new, slope = objective(trial)
        better = new < value
        q, gradient = (np.where(better[:, None, None], a, b) for a, b in ((trial, q), (slope, gradient)))
        value, rate = np.where(better, new, value), np.where(better, 1.3 * rate, 0.5 * rate)
    return q, value


def ica(w: Whitened, rng: np.random.Generator) -> Array:
    from sklearn.decomposition import FastICA

    def axes(table: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = FastICA(whiten="unit-variance", max_iter=300, random_state=int(rng.integers(1 << 30))).fit(table)
        return polar(found.components_)

    there, here = axes(w.y[:4000]), axes(w.s)
    released, known = w.y[:4000] @ there.T, w.s @ here.T
    cost = np.empty((2, len(there), len(here)))
    for sign in (0, 1):
        for i in range(len(there)):
            for j in range(len(here)):
                flipped = (1 - 2 * sign) * known[:, j]
                misfit = w.b @ there[i] - (1 - 2 * sign) * w.a @ here[j]
                cost[sign, i, j] = wasserstein_distance(released[:, i], flipped) + 0.1 * np.sum(misfit**2)
    best = cost.min(axis=0)
    rows, columns = linear_sum_assignment(best)
    signs = np.where(cost[0] <= cost[1], 1.0, -1.0)[rows, columns]
    return polar(there[rows].T @ (signs[:, None] * here[columns]))


def energy(w: Whitened, rng: np.random.Generator) -> Array:
    y, s = w.y[:400], w.s[:300]

    def objective(stack: Array) -> tuple[Array, Array]:
        misfit, slope = w.misfit(stack)
        value, gradient = misfit.copy(), slope.copy()
        for i, q in enumerate(stack):
            mapped = s @ q.T
            cross, within = cdist(y, mapped) + 1e-9, cdist(mapped, mapped) + 1e-9
            value[i] += 2 * cross.mean() - within.mean()
            pull = 2 * (mapped * (1 / cross).sum(axis=0)[:, None] - (1 / cross).T @ y) / cross.size
            inside = 2 * (mapped * (1 / within).sum(axis=0)[:, None] - (1 / within) @ mapped) / within.size
            gradient[i] += (pull - inside).T @ s
        return value, gradient

    starts = np.array([w.start(rng) for _ in range(40)])
    best = starts[np.argsort(objective(starts)[0])[:5]]
    found, value = descend(best, objective, 40)
    return found[np.argmin(value)]


def cumulants(w: Whitened, rng: np.random.Generator) -> Array:
    third_s = np.einsum("na,nb,nc->abc", w.s, w.s, w.s, optimize=True) / len(w.s)
    third_y = np.einsum("na,nb,nc->abc", w.y, w.y, w.y, optimize=True) / len(w.y)

    def objective(stack: Array) -> tuple[Array, Array]:
        once = np.einsum("pka,abc->pkbc", stack, third_s)
        twice = np.einsum("plb,pkbc->pklc", stack, once)
        rest = np.einsum("pmc,pklc->pklm", stack, twice) - third_y
        misfit, slope = w.misfit(stack)
        return (rest**2).sum(axis=(1, 2, 3)) + misfit, 6 * np.einsum("pklm,pklc->pmc", rest, twice) + slope

    found, value = descend(np.array([w.start(rng) for _ in range(40)]), objective, 80)
    return found[np.argmin(value)]


RIVALS: dict[str, Callable[[Whitened, np.random.Generator], Array]] = {
    "ica": ica, "energy": energy, "cumulants": cumulants,
}  # fmt: skip


def one_case(name: str, k: int, known: int, seed: int, letters: Array | None) -> dict[str, float]:
    x, sample = population(name, seed, letters)
    rng = np.random.default_rng([seed, k, 5])
    r = rng.standard_normal((k, x.shape[1])) / np.sqrt(k)
    y = x @ r.T
    rows = rng.choice(len(x), known, replace=False)
    pairs = x[rows], y[rows]

    def error(guess: Array) -> float:
        return float(np.sqrt(np.mean((guess - x) ** 2)))

    white = Whitened(y, sample, pairs)
    errors = {"mean": error(white.mean), "oracle": error(conditional_mean(r, y, white.mean, white.covariance))}
    for rival, method in RIVALS.items():
        errors[rival] = error(white.guess(method(white, rng), y))
    began = time.perf_counter()
    found = align_projection(y, sample, entry_variance=1 / k, pairs=pairs if known else None, seed=seed)
    errors["seconds"] = time.perf_counter() - began
    errors["shipped"], errors["certainty"] = error(found.recover(y)), found.certainty
    errors["expected"] = float(np.sqrt(found.expected_mse.mean()))
    return errors


COLUMNS = ("mean", "oracle", "ica", "energy", "cumulants", "shipped", "expected", "certainty", "seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with letter_recognition.csv.gz; generated data without it")
    parser.add_argument("--names", help="populations, separated by commas: lognormal,normal,zero,letter6,letter16")
    parser.add_argument("--pairs", default="0,1,2", help="numbers of known pairs")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="first seed; settings were chosen on seeds 0 to 11")
    parser.add_argument("--quick", action="store_true", help="2 seeds, one k, no pairs and one")
    options = parser.parse_args()
    letters = None
    if options.data is not None:
        import pandas as pd

        table = pd.read_csv(options.data / "letter_recognition.csv.gz")
        letters = table.select_dtypes("number").to_numpy(float)
    names = (options.names or "lognormal,normal,zero" + (",letter6,letter16" if letters is not None else "")).split(",")
    known = [0, 1] if options.quick else [int(m) for m in options.pairs.split(",")]
    seeds = 2 if options.quick else options.seeds
    print(f"{'population':12}{'k':>3}{'pairs':>6}" + "".join(f"{c:>10}" for c in COLUMNS) + f"   [worst] of {seeds}")
    for name in names:
        d = int(name.removeprefix("letter")) if name.startswith("letter") else 6
        sizes = [d // 2 + 1] if options.quick else [d // 2, (3 * d) // 4, d - 1]
        for k in sizes:
            for m in known:
                cases = [one_case(name, k, m, seed, letters) for seed in range(options.first, options.first + seeds)]
                means = "".join(f"{np.mean([c[column] for c in cases]):10.3f}" for column in COLUMNS)
                print(f"{name:12}{k:3}{m:6}{means}   [{max(c['shipped'] for c in cases):.2f}]", flush=True)


if __name__ == "__main__":
    main()
