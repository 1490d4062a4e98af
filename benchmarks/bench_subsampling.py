"""How an attack's gain moves with the number of records that an audit plays on.

An audit of a large table takes a uniform sample of it (``records``). An attack that learns from the release then learns
from fewer records, one that compares records finds fewer rivals, and a share of known records is fewer of them. For
every method this prints the strongest advantage of each attack over all levels of the default sweep, mean over seeds,
at three sizes of one population, and the direction: *down* where fewer records make the attack look weaker by more than
twice the standard error of the difference, which is the unsafe side.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
import pandas as pd

import veil

SIZES = (1_000, 4_000, 16_000)


def population(n: int, seed: int) -> pd.DataFrame:
    """Correlated numbers, skewed, whole and heaped, and two categories that go with them."""
    rng = np.random.default_rng([seed, 41])
    loadings = rng.normal(size=(2, 5))  # before anything that hangs on n, so that all sizes have one law
    x = rng.normal(size=(n, 2)) @ loadings + 0.6 * rng.normal(size=(n, 5))
    return pd.DataFrame(
        {
            "normal": x[:, 0],
            "skewed": np.exp(0.6 * x[:, 1]),
            "whole": np.round(5 * x[:, 2] + 40),
            "heaped": np.where(x[:, 3] < 0.3, 0.0, np.exp(x[:, 3])),
            "positive": np.exp(0.3 * x[:, 4]) + 1.0,
            "job": np.array(list("abcde"))[np.clip(np.round(x[:, 0] + 2), 0, 4).astype(int)],
            "sex": np.where(x[:, 1] + rng.normal(size=n) > 0, "f", "m"),
        }
    )


NUMBERS = ["normal", "skewed", "whole", "heaped", "positive"]
RESPONSES = ("job", "sex")


def methods() -> dict[str, veil.Plan]:
    """One plan for each kind of method: numbers by the method, categories by randomized response."""
    made = {
        "additive noise": veil.AdditiveNoise(1.0),
        "noise like the data": veil.AdditiveNoise(1.5, similarity=1.0),
        "factors": veil.MultiplicativeNoise(0.3),
        "classes": veil.Discretize(10),
        "pairs": veil.PairwiseRotation(),
        "orthogonal": veil.OrthogonalTransform(),
        "projection": veil.RandomProjection(3),
        "linear": veil.LinearTransform(),
    }
    response = (list(RESPONSES), veil.RandomizedResponse(epsilon=1.0))
    return {name: veil.Plan([(NUMBERS, method), response]) for name, method in made.items()}


def gains(plan: veil.Plan, n: int, seed: int) -> dict[str, float]:
    """The strongest advantage of every attack in a default audit of n records."""
    roles = dict.fromkeys(RESPONSES, "sensitive")
    audit = veil.audit(population(n, seed), plan, roles=roles, repetitions=2, seed=seed)
    best: dict[str, float] = defaultdict(float)
    for row in audit.rows:
        best[row.attack] = max(best[row.attack], row.value.advantage)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one method, two seeds, small tables")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--methods", nargs="+", choices=list(methods()), help="some methods; all by default")
    options = parser.parse_args()
    plans, sizes, seeds = methods(), SIZES, range(options.seeds)
    plans = {name: plans[name] for name in options.methods or plans}
    if options.quick:
        plans, sizes, seeds = dict([next(iter(plans.items()))]), (300, 600, 1_200), range(2)
    for name, plan in plans.items():
        print(f"\n{name}: advantage at {', '.join(f'{n:,}' for n in sizes)} records")
        runs = {n: [gains(plan, n, seed) for seed in seeds] for n in sizes}
        attacks = sorted({attack for each in runs.values() for run in each for attack in run})
        for attack in attacks:
            values = {n: np.array([run.get(attack, 0.0) for run in runs[n]]) for n in sizes}
            difference = values[sizes[0]] - values[sizes[-1]]
            error = difference.std(ddof=1) / np.sqrt(len(difference))
            far = abs(difference.mean()) > max(2.0 * error, 0.01)
            direction = "even" if not far else "down" if difference.mean() < 0 else "up"
            print(
                f"  {attack:48s} " + " ".join(f"{values[n].mean():6.3f}" for n in sizes) + f"  {direction}", flush=True
            )


if __name__ == "__main__":
    main()
