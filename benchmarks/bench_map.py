"""A14's maximum a posteriori guess: closed form against the paper's Nelder–Mead from 100 starts (L-t).

Both run in this process on the same whole-number records of six attributes, projected to k columns with p known
records. The search maximises the paper's density (Theorem 5.3.8) as Algorithm 5.4.2.1 does: 100 starts at the median of
the known records plus U(−2, 2), MATLAB's default tolerances, the best end kept. It is timed on some targets, the closed
form on many. Likelihoods are compared on all searched targets.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from claims import Claims, options
from scipy.optimize import minimize

from veil.attacks.projection.lattice import LatticeSearch
from veil.attacks.projection.maximum_posterior import log_likelihood, map_estimate

STARTS, SEARCHED, SOLVED = 100, 2, 20_000
CASES = ((3, 1), (4, 3), (6, 5))


def problem(k: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(10 * k + p)
    shared = rng.normal(size=(SOLVED + p, 1))
    x = np.clip(np.round(5 + 1.6 * shared + 1.4 * rng.normal(size=(SOLVED + p, 6))), 0, 15)
    y = x @ rng.normal(size=(k, 6)).T / np.sqrt(k)
    return x, y, rng.uniform(-2, 2, size=(SEARCHED, STARTS, 6))


def paper_density(z: np.ndarray, y: np.ndarray, known_z: np.ndarray, known_y: np.ndarray) -> float:
    """Log of the matrix density of Theorem 5.3.8, up to a constant."""
    k = len(y)
    records, images = np.vstack([z, known_z]), np.vstack([y, known_y])
    gram = records @ records.T / k
    sign, size = np.linalg.slogdet(gram)
    if sign <= 0:
        return -np.inf
    return float(-k / 2 * size - np.trace(np.linalg.solve(gram, images @ images.T)) / 2)


def searched(y: np.ndarray, known_z: np.ndarray, known_y: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """The best end of all starts."""
    middle = np.median(known_z, axis=0)
    options = {"maxiter": 1_200, "maxfev": 1_200, "xatol": 1e-4, "fatol": 1e-4}
    ends = [
        minimize(lambda z: -paper_density(z, y, known_z, known_y), middle + s, method="Nelder-Mead", options=options)
        for s in shifts
    ]
    return np.asarray(min(ends, key=lambda end: end.fun).x)


def main() -> int:
    quick, claims = options(__doc__).quick, Claims()
    for k, p in CASES[:1] if quick else CASES:
        x, y, shifts = problem(k, p)
        known = (x[:p], y[:p])
        start = time.perf_counter()
        guess = map_estimate(y[p:], *known, np.random.default_rng(0))
        fast = (time.perf_counter() - start) / SOLVED
        alone = np.inf
        for _ in range(20):
            start = time.perf_counter()
            map_estimate(y[p : p + 1], *known, np.random.default_rng(0))
            alone = min(alone, time.perf_counter() - start)
        start = time.perf_counter()
        ends = np.stack([searched(y[p + i], *known, shifts[i]) for i in range(SEARCHED)])
        slow = (time.perf_counter() - start) / SEARCHED
        targets = y[p : p + SEARCHED]
        gain = log_likelihood(guess[:SEARCHED], targets, *known) - log_likelihood(ends, targets, *known)
        name = f"A14 closed form, k {k}, p {p}, one record, against {STARTS} simplex starts"
        claims.speed_up(name, alone, slow, 1_000)
        print(f"  of {SOLVED:,} records at once {fast * 1e6:.2f} µs each: ratio {slow / fast:.0f}")
        print(f"  log-likelihood, closed form minus best search: {gain.min():.1e} to {gain.max():.1e}")
        assert gain.min() > -1e-8

    rng = np.random.default_rng(0)
    for k in (1, 3):
        r = rng.normal(size=(k, 6)) / np.sqrt(k)
        x = rng.integers(0, 16, size=(1_000, 6)).astype(float)
        LatticeSearch(r, np.zeros(6), np.full(6, 15.0)).solve(x[:1] @ r.T)
        start = time.perf_counter()
        found = LatticeSearch(r, np.zeros(6), np.full(6, 15.0)).solve(x @ r.T)
        took = time.perf_counter() - start
        print(f"1,000 records of 6 whole numbers 0..15 from k = {k}: {took * 1e3:.1f} ms, {found.unique.sum()} unique")
        assert (found.values == x).all()
    return claims.status()


if __name__ == "__main__":
    sys.exit(main())
