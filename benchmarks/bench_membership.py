"""A30 beside releases that guarantee nothing may be told, and beside some that tell everything.

For each method this prints the area under the curve over tables (half of the people are in the release, half are drawn
anew from the same law), its mean with two standard errors, and how many intervals hold one half:

* *guaranteed*: randomized responses and Laplace noise with ε ≤ 0.5 for a whole record. Of the intervals all but one in
  twenty should hold one half, up to chance.
* *drawn anew*: nobody who is asked about is in the release, by any method. The same.
* *identity*: the method so weak that the release is the table, turned or not. The area must be over 0.95. P21 is not
  among them: it refuses an ε over 15 for a value.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd
from claims import Claims
from scipy.stats import binom

import veil
from veil.measures import Measure, roc_area

MOST_EPSILON = 0.5
NUMBERS, CATEGORIES = 4, 10
LEAST_AREA = 0.95
Method = Callable[[int], veil.Plan]


def population(n: int, seed: int) -> pd.DataFrame:
    """Skewed numbers between 0 and 8 that hang together, categories that go with them, and a name."""
    rng = np.random.default_rng([seed, 30])
    x = np.minimum(np.exp(0.5 * rng.normal(size=(n, NUMBERS))) @ (np.eye(NUMBERS) + 0.3), 8.0)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(NUMBERS)])
    for j in range(CATEGORIES):
        frame[f"c{j}"] = np.array(list("abcd"))[np.digitize(x[:, j % NUMBERS] + rng.normal(size=n), [1.0, 1.5, 2.0])]
    frame["name"] = [f"{place:x}" for place in rng.integers(2**62, size=n)]
    return frame


X, C = [f"x{j}" for j in range(NUMBERS)], [f"c{j}" for j in range(CATEGORIES)]


def laplace(epsilon: float) -> Method:
    """Laplace noise of ε for a record: a share of it for each number."""
    return lambda seed: veil.Plan([(X, veil.LaplaceMechanism(epsilon / NUMBERS, (0.0, 8.0), random_state=seed))])


def gaussian(epsilon: float) -> Method:
    """The same with normal noise."""
    each = epsilon / NUMBERS
    return lambda seed: veil.Plan([(X, veil.GaussianMechanism(each, 1e-5, (0.0, 8.0), random_state=seed))])


def responses(epsilon: float) -> Method:
    """Randomized responses of ε for a record: a share of it for each category."""
    each = epsilon / CATEGORIES
    return lambda seed: veil.Plan([(C, veil.RandomizedResponse(epsilon=each, random_state=seed))])


def of_numbers(method: Callable[..., veil.Perturbation], *strength: float) -> Method:
    """Numbers by a method."""
    return lambda seed: veil.Plan([(X, method(*strength, random_state=seed))])


def pseudonyms(seed: int) -> veil.Plan:
    """Names by pseudonyms, beside numbers that are practically as they were."""
    noise = veil.AdditiveNoise(1e-4, random_state=seed)
    return veil.Plan([(["name"], veil.Pseudonymize(random_state=seed)), (X, noise)])


GUARANTEED = {
    "P16 responses, ε = 0.5": responses(0.5),
    "P16 responses, ε = 0.1": responses(0.1),
    "P21 Laplace, ε = 0.5": laplace(0.5),
    "P21 Laplace, ε = 0.1": laplace(0.1),
    "P21 normal, ε = 0.5": gaussian(0.5),
}
IDENTITY = {
    "P1 noise of 0.0001": of_numbers(veil.AdditiveNoise, 1e-4),
    "P3 factors of 0.0001": of_numbers(veil.MultiplicativeNoise, 1e-4),
    "P6 rotation": of_numbers(veil.OrthogonalTransform),
    "P16 responses, ε = 100": responses(100.0),
    "P20 pseudonyms beside numbers": pseudonyms,
}


def area(method: Method, n: int, seed: int, *, anew: bool = False) -> Measure:
    """The area for n members and n strangers; ``anew`` for two groups of strangers."""
    frame, plan = population(3 * n, seed), method(seed)
    roles = dict.fromkeys(C, "sensitive") | {"name": "key"}
    used = [name for name in frame if any(name in columns for columns, _ in plan.parts)]
    table = frame[used]
    release, _ = veil.publish(table[:n], plan, roles={name: roles[name] for name in used if name in roles})
    people = table[n:] if anew else table[: 2 * n]
    known = people[[name for name in used if name != "name"]]
    scores = veil.MembershipAttack().run(release, veil.ExternalTable(known)).scores
    return roc_area(scores[:n], scores[n:])


def measure(name: str, method: Method, n: int, seeds: int, claims: Claims, *, anew: bool, identity: bool) -> None:
    """Print one line and judge it."""
    areas = [area(method, n, seed, anew=anew) for seed in range(seeds)]
    values = np.array([float(each) for each in areas])
    outside = sum(not each.low <= 0.5 <= each.high for each in areas)
    error = values.std(ddof=1) / np.sqrt(seeds)
    said = f"{name}: area {values.mean():.4f} ± {2 * error:.4f}, {seeds - outside} of {seeds} intervals hold 0.5"
    kept = values.min() > LEAST_AREA if identity else outside <= binom.ppf(0.999, seeds, 0.05)
    claims.verdict(name, said, bool(kept))


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=400, help="members, and as many strangers")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="three seeds, 100 people, limits are only printed")
    options = parser.parse_args()
    n, seeds = (100, 3) if options.quick else (options.people, options.seeds)
    claims = Claims(judge=not options.quick)
    for name, method in GUARANTEED.items():
        measure(name, method, n, seeds, claims, anew=False, identity=False)
    for name, method in (GUARANTEED | IDENTITY).items():
        measure(f"drawn anew, {name}", method, n, seeds, claims, anew=True, identity=False)
    for name, method in IDENTITY.items():
        measure(f"identity, {name}", method, n, min(seeds, 5), claims, anew=False, identity=True)
    return claims.status()


if __name__ == "__main__":
    raise SystemExit(main())
