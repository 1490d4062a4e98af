"""How the time of every method and attack grows with the table and with what the attacker knows.

Each work is timed at a few sizes of one quantity, all others at their reference, by the least of up to three runs.
Printed are the seconds at the reference and the slope of log time over log size with its standard error: 1 is
proportional, 2 is quadratic. Where time is expected to double with each column (``2^d``), the slope is that of log₂
time over the number of columns. Methods are timed from a table in memory to a release in memory, attacks from a release
in memory to a guess.

``python benchmarks/cost_growth.py`` prints the table of docs/cost.md; ``--only A6,P1`` measures some, ``--quick`` two
sizes of each quantity.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import veil

Work = Callable[[], object]
ENOUGH = 0.4
"""A run of more seconds than this is not repeated."""


@dataclass(frozen=True)
class Case:
    """One work: how it is set up for given sizes, its reference, the sizes that grow, and what theory says."""

    id: str
    name: str
    setup: Callable[..., Work]
    reference: Mapping[str, int]
    growing: Mapping[str, tuple[int, ...]]
    theory: str
    doubling: frozenset[str] = field(default_factory=frozenset)


# -- tables -----------------------------------------------------------------------------------


def sources(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Independent positive columns, none of them normal."""
    rng = np.random.default_rng(seed)
    makes = (
        lambda: rng.exponential(1.0, n),
        lambda: rng.gamma(3.0, 1.0, n),
        lambda: rng.uniform(0.0, 4.0, n),
        lambda: rng.lognormal(0.0, 0.5, n),
    )
    return 1.0 + np.column_stack([makes[j % 4]() for j in range(d)])


def records(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Correlated positive columns of one population."""
    mixing = np.random.default_rng(10_000 + d).uniform(0.0, 1.0, (d, d)) / math.sqrt(d) + np.eye(d)
    return sources(n, d, seed) @ mixing


def bits(n: int, d: int) -> np.ndarray:
    """Columns of 0 and 1."""
    return (np.random.default_rng(0).random((n, d)) < 0.3).astype(float)


def texts(n: int, d: int, c: int) -> pa.Table:
    """Text columns of ``c`` categories each."""
    rng, words = np.random.default_rng(0), np.array([f"category {i}" for i in range(c)])
    return pa.table({f"s{j}": pa.array(words[rng.integers(0, c, n)]) for j in range(d)})


# -- works ------------------------------------------------------------------------------------


def method(make: Callable[..., veil.Perturbation], table: Callable[..., Any] = records) -> Callable[..., Work]:
    """Publishing in memory; ``k`` goes to the method, all other sizes to the table."""

    def setup(k: int | None = None, **sizes: int) -> Work:
        private, how = table(**sizes), make() if k is None else make(k)
        return lambda: veil.publish(private, how)

    return setup


def attack(
    which: veil.Attack,
    how: Callable[..., veil.Perturbation],
    knowledge: Callable[..., veil.Knowledge] | None = None,
    table: Callable[..., Any] = records,
) -> Callable[..., Work]:
    """An attack on a release in memory. ``m`` is the size of the knowledge, ``k`` goes to the method."""

    def setup(n: int, d: int, m: int = 0, k: int | None = None, **sizes: int) -> Work:
        x = table(n, d, **sizes)
        release, _ = veil.publish(x, how() if k is None else how(k))
        granted = () if knowledge is None else (knowledge(x, m=m, d=d),)
        return lambda: which.run(release, *granted)

    return setup


def pairs(x: np.ndarray, m: int, **_: Any) -> veil.Knowledge:
    """``m`` records with their rows."""
    return veil.KnownPairs(x[:m], range(m))


def unplaced(x: np.ndarray, m: int, **_: Any) -> veil.Knowledge:
    """``m`` records without their rows."""
    return veil.KnownRecords(x[:m])


def sample(_: np.ndarray, m: int, d: int) -> veil.Knowledge:
    """A sample of ``m`` other records."""
    return veil.KnownSample(records(m, d, seed=1))


def people(x: np.ndarray, m: int, **_: Any) -> veil.Knowledge:
    """A register of ``m`` people with all columns."""
    return veil.ExternalTable(x[:m])


def attributes(x: np.ndarray, m: int, **_: Any) -> veil.Knowledge:
    """The first ``m`` columns of everybody."""
    return veil.KnownAttributes([f"x{j}" for j in range(m)], x[:, :m])


def earlier(x: np.ndarray, m: int, **_: Any) -> veil.Knowledge:
    """``m`` earlier releases of the same people."""
    return veil.PreviousReleases([veil.publish(x, veil.AdditiveNoise())[0] for _ in range(m)])


def ranges(x: np.ndarray, **_: Any) -> veil.Knowledge:
    """Least and greatest values."""
    return veil.KnownRanges(x.min(axis=0), x.max(axis=0))


def in_time(*_: Any, **__: Any) -> veil.Knowledge:
    """That rows are in time order."""
    return veil.TimeOrder()


def independent(*_: Any, **__: Any) -> veil.Knowledge:
    """That columns are independent."""
    return veil.IndependentSignals()


def leaked(d: int, k: int, n: int) -> Work:
    """A15 on a projection whose matrix is known."""
    matrix = np.random.default_rng(0).normal(size=(k, d))
    release, _ = veil.publish(records(n, d), veil.LinearTransform(matrix, scaling=None))
    known = veil.KnownMatrix(matrix)
    return lambda: veil.DisclosedMatrixAttack().run(release, known)


# -- cases ------------------------------------------------------------------------------------

BOUNDS = (0.0, 50.0)
MANY = {"n": 500_000, "d": 16}
ROWS = (62_500, 125_000, 250_000, 500_000, 1_000_000)
COLUMNS = (4, 8, 16, 32, 64)
USUAL = {"n": ROWS, "d": COLUMNS}
SOME = {"n": 200_000, "d": 16}
SOME_ROWS = (50_000, 100_000, 200_000, 400_000)
OFTEN = {"n": SOME_ROWS, "d": COLUMNS}

METHODS = (
    Case("P1", "additive noise, normal", method(veil.AdditiveNoise), MANY, USUAL, "N·d"),
    Case("P2", "additive noise, correlated", method(lambda: veil.AdditiveNoise(similarity=1.0)), MANY, USUAL, "N·d²"),
    Case("P3", "multiplicative noise", method(veil.MultiplicativeNoise), MANY, USUAL, "N·d"),
    Case("P4", "log-normal noise", method(veil.LogNormalNoise), MANY, USUAL, "N·d²"),
    Case("P5", "pairwise rotation", method(veil.PairwiseRotation), MANY, USUAL, "N·d²"),
    Case("P6", "orthogonal transform", method(veil.OrthogonalTransform), MANY, USUAL, "N·d²"),
    Case("P7", "linear transform", method(veil.LinearTransform), MANY, USUAL, "N·d²"),
    Case(
        "P8",
        "random projection",
        method(veil.RandomProjection),
        {"n": 200_000, "d": 64, "k": 16},
        {"n": SOME_ROWS, "d": (32, 64, 128, 256), "k": (4, 8, 16, 32, 64)},
        "N·d·k",
    ),
    Case(
        "P9",
        "binary projection",
        method(veil.BinaryProjection, bits),
        {"n": 100_000, "d": 64, "k": 32},
        {"n": (25_000, 50_000, 100_000, 200_000), "d": (32, 64, 128, 256), "k": (16, 32, 64, 128)},
        "N·d·k",
    ),
    Case(
        "P10",
        "transform domain",
        method(veil.TransformDomain),
        {"n": 200_000, "d": 64, "k": 16},
        {"n": SOME_ROWS, "d": (32, 64, 128, 256), "k": (4, 8, 16, 32, 64)},
        "N·d·k",
    ),
    Case(
        "P16",
        "randomized response",
        method(lambda: veil.RandomizedResponse(keep=0.8), texts),
        {"n": 500_000, "d": 8, "c": 12},
        {"n": ROWS, "d": (2, 4, 8, 16), "c": (2, 8, 32, 128)},
        "N·d",
    ),
    Case("P17", "discretize", method(veil.Discretize), SOME, OFTEN, "N·d"),
    Case(
        "P20",
        "pseudonymize",
        method(veil.Pseudonymize, texts),
        {"n": 200_000, "d": 4, "c": 10_000},
        {"n": SOME_ROWS, "d": (1, 2, 4, 8), "c": (100, 1_000, 10_000, 100_000)},
        "N·d",
    ),
    Case("P21", "Laplace mechanism", method(partial(veil.LaplaceMechanism, 1.0, BOUNDS)), SOME, OFTEN, "N·d"),
    Case("P21", "Gaussian mechanism", method(partial(veil.GaussianMechanism, 1.0, 1e-6, BOUNDS)), SOME, OFTEN, "N·d"),
)

NOISE, ROTATION, PROJECTION = veil.AdditiveNoise, veil.OrthogonalTransform, veil.RandomProjection
MIXTURE = veil.BayesEstimateAttack(prior="mixture")
SEPARATED = {"n": (12_500, 25_000, 50_000, 100_000, 200_000), "d": (3, 4, 6, 8)}

ATTACKS = (
    Case("A1", "noise distribution", attack(veil.NoiseDistributionAttack(), NOISE), MANY, USUAL, "N·d"),
    Case("A2", "univariate Bayes", attack(veil.UnivariateBayesAttack(), NOISE), SOME, OFTEN, "N·d"),
    Case("A3", "spectral filter", attack(veil.SpectralFilterAttack(), NOISE), MANY, USUAL, "N·d²"),
    Case("A4", "PCA", attack(veil.PCAAttack(), NOISE), MANY, USUAL, "N·d²"),
    Case("A5", "SVD", attack(veil.SVDAttack(), NOISE), MANY, USUAL, "N·d²"),
    Case("A6", "Bayes estimate", attack(veil.BayesEstimateAttack(), NOISE), MANY, USUAL, "N·d²"),
    Case(
        "A6",
        "Bayes estimate, mixture prior",
        attack(MIXTURE, NOISE),
        {"n": 20_000, "d": 8},
        {"n": (5_000, 10_000, 20_000, 40_000), "d": (2, 4, 8, 16)},
        "N·d²",
    ),
    Case("A7", "intervals", attack(veil.IntervalAttack(), NOISE), SOME, OFTEN, "N·d²"),
    Case("A8", "logarithms", attack(veil.LogAttack(), veil.MultiplicativeNoise), SOME, OFTEN, "N·d²"),
    Case(
        "A9",
        "known pairs",
        attack(veil.KnownPairsAttack(), ROTATION, pairs),
        {**SOME, "m": 16},
        {**OFTEN, "m": (4, 16, 64, 256, 1_024)},
        "N·d² + m·d²",
    ),
    Case(
        "A10",
        "known records",
        attack(veil.KnownRecordsAttack(), ROTATION, unplaced),
        {"n": 10_000, "d": 8, "m": 8},
        {"n": (2_500, 5_000, 10_000, 20_000, 40_000), "d": (4, 8, 16, 32), "m": (2, 4, 8, 16, 32)},
        "N·log N, or a search",
    ),
    Case(
        "A11",
        "known sample",
        attack(veil.KnownSampleAttack(), ROTATION, sample),
        {"n": 5_000, "d": 6, "m": 250},
        {"n": (1_250, 2_500, 5_000, 10_000, 20_000), "d": (4, 6, 8, 10), "m": (60, 125, 250, 500, 1_000)},
        "pairs·2^d, at most 500,000 pairs",
        doubling=frozenset("d"),
    ),
    Case(
        "A12",
        "independent signals",
        attack(veil.ICAAttack(), ROTATION, independent, sources),
        {"n": 25_000, "d": 4},
        SEPARATED,
        "N·d² a step",
    ),
    Case(
        "A16",
        "independent signals, projected",
        attack(veil.ICAAttack(), PROJECTION, independent, sources),
        {"n": 10_000, "d": 4, "k": 3},
        {"n": (5_000, 10_000, 20_000, 40_000), "d": (4, 6, 8)},
        "N·k² a step",
    ),
    Case(
        "A13",
        "AK-ICA",
        attack(veil.AKICAAttack(), veil.LinearTransform, sample, sources),
        {"n": 10_000, "d": 4, "m": 1_000},
        {"n": (5_000, 10_000, 20_000, 40_000), "d": (3, 4, 6, 8), "m": (500, 1_000, 2_000, 4_000)},
        "(N + m)·d² a step",
    ),
    Case(
        "A14",
        "projection MAP",
        attack(veil.ProjectionMAPAttack(), PROJECTION, pairs),
        {"n": 50_000, "d": 16, "k": 8, "m": 4},
        {"n": (12_500, 25_000, 50_000, 100_000), "d": (12, 16, 32, 64), "k": (5, 8, 12), "m": (1, 2, 4, 7)},
        "N·k·(d + 1,000)",
    ),
    Case(
        "A15",
        "disclosed matrix",
        leaked,
        {"n": 200_000, "d": 32, "k": 16},
        {"n": SOME_ROWS, "d": (16, 32, 64, 128), "k": (4, 8, 16, 32)},
        "N·d·k",
    ),
    Case("A17", "hypersphere", attack(veil.HypersphereAttack(), ROTATION, ranges), SOME, OFTEN, "N·d"),
    Case(
        "A18",
        "serial",
        attack(veil.SerialAttack(), NOISE, in_time),
        {"n": 20_000, "d": 8},
        {"n": (20_000, 40_000, 80_000, 160_000), "d": (2, 4, 8, 16)},
        "N·d",
    ),
    Case(
        "A19",
        "partial disclosure",
        attack(veil.PartialDisclosureAttack(), NOISE, attributes),
        {**SOME, "m": 4},
        {"n": SOME_ROWS, "d": (8, 16, 32, 64), "m": (1, 2, 4, 8)},
        "N·d²",
    ),
    Case(
        "A20",
        "response posterior",
        attack(veil.ResponsePosteriorAttack(), lambda: veil.RandomizedResponse(keep=0.8), table=texts),
        {"n": 100_000, "d": 3, "c": 8},
        {"n": (50_000, 100_000, 200_000, 400_000), "d": (1, 2, 3, 4), "c": (2, 4, 8, 16)},
        "N + c^d",
    ),
    Case(
        "A21",
        "projected sample",
        attack(veil.ProjectedSampleAttack(), PROJECTION, sample),
        {"n": 5_000, "d": 6, "k": 3, "m": 250},
        {"n": (2_500, 5_000, 10_000, 20_000), "d": (4, 6, 9), "k": (2, 3, 5), "m": (125, 250, 500)},
        "a search, then N·d·k",
    ),
    Case(
        "A22",
        "linkage",
        attack(veil.LinkageAttack(), lambda: veil.AdditiveNoise(0.2), people),
        {"n": 20_000, "d": 4, "m": 1_000},
        {"n": (5_000, 10_000, 20_000, 40_000), "d": (2, 4, 8, 16), "m": (250, 500, 1_000, 2_000)},
        "N·m·d",
    ),
    Case(
        "A24",
        "repeated releases",
        attack(veil.RepeatedReleaseAttack(), NOISE, earlier),
        {"n": 50_000, "d": 8, "m": 2},
        {"n": (25_000, 50_000, 100_000, 200_000), "d": (4, 8, 16, 32), "m": (1, 2, 4, 8)},
        "N·m·d²",
    ),
    Case(
        "A25",
        "regression",
        attack(veil.RegressionAttack(), NOISE, pairs),
        {"n": 20_000, "d": 8, "m": 64},
        {"n": (5_000, 10_000, 20_000, 40_000), "d": (4, 8, 16, 32), "m": (16, 32, 64, 128)},
        "N·d·(d + log N) + m²",
    ),
)


# -- measuring --------------------------------------------------------------------------------


def least(work: Work) -> float:
    """The least seconds of up to three runs."""
    best, spent = math.inf, 0.0
    for _ in range(3):
        gc.collect()
        began = time.perf_counter()
        work()
        took = time.perf_counter() - began
        best, spent = min(best, took), spent + took
        if spent > ENOUGH:
            break
    return best


def slope(sizes: tuple[int, ...], spent: list[float], doubling: bool) -> tuple[float, float]:
    """Least-squares slope and its standard error."""
    x = np.array(sizes, dtype=float) if doubling else np.log2(sizes)
    y = np.log2(spent)
    x = x - x.mean()
    found = float(x @ y / (x @ x))
    rest = y - y.mean() - found * x
    return found, math.sqrt(float(rest @ rest) / max(len(x) - 2, 1) / float(x @ x))


def measured(case: Case, quick: bool) -> str:
    """A line of the table."""
    case.setup(**{**case.reference, "n": min(case.growing["n"])})()  # compiled kernels are loaded
    seen: dict[tuple[tuple[str, int], ...], float] = {}

    def seconds(**sizes: int) -> float:
        at = tuple(sorted(sizes.items()))
        if at not in seen:
            seen[at] = least(case.setup(**sizes))
        return seen[at]

    found = []
    for name, sizes in case.growing.items():
        chosen = sizes[:2] if quick else sizes
        spent = [seconds(**{**case.reference, name: size}) for size in chosen]
        rate, error = slope(chosen, spent, name in case.doubling)
        power = f"2^({rate:.2f} d)" if name in case.doubling else f"{'N' if name == 'n' else name}^{rate:.2f}"
        found.append(f"{power} ± {error:.2f}")
    at = ", ".join(f"{'N' if name == 'n' else name} {size:,}" for name, size in case.reference.items())
    return f"| {case.id} | {case.name} | {at} | {seconds(**case.reference):.3g} | {', '.join(found)} | {case.theory} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="ids, separated by commas")
    parser.add_argument("--quick", action="store_true", help="two sizes of each quantity")
    given = parser.parse_args()
    wanted = None if given.only is None else set(given.only.split(","))
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    print(f"load {os.getloadavg()[0]:.2f}")
    print("| id | work | reference | seconds | grows as | theory |")
    print("|---|---|---|---|---|---|")
    for case in (*METHODS, *ATTACKS):
        if wanted is None or case.id in wanted:
            start = time.perf_counter()
            line = measured(case, given.quick)
            print(line, f"<!-- {time.perf_counter() - start:.0f} s -->", flush=True)
    print(f"{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
