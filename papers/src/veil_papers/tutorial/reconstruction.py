"""Slides "Works well": plateau and triangles, reconstructed from noisy values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import veil
from veil_papers.arrays import Vector
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves, Panels

N, BINS = 100_000, 40
LAWS = {"normal": 0.25, "uniform": 0.5 / np.sqrt(3)}
"""Standard deviations: N(0, .25²) and U(±.5)."""
STEPS = (5, 10, 20, 40, 80, 160, 300, 600)


def plateau(rng: np.random.Generator, n: int) -> Vector:
    """Uniform on the middle half."""
    return rng.uniform(0.25, 0.75, n)


def triangles(rng: np.random.Generator, n: int) -> Vector:
    """Two triangles of width one half, side by side."""
    return np.where(rng.random(n) < 0.5, rng.triangular(0, 0.25, 0.5, n), rng.triangular(0.5, 0.75, 1, n))


SHAPES: dict[str, Callable[[np.random.Generator, int], Vector]] = {"plateau": plateau, "triangles": triangles}


def run(context: Context) -> Result:
    """Total variation to the true histogram before and after, by shape, noise and number of steps, over draws."""
    rows: list[tuple[Any, ...]] = []
    drawn: list[Curves] = []
    rising = True
    steps, draws = context.pick(STEPS, (40, 300)), context.pick(10, 2)
    for s, shape in enumerate(SHAPES):
        for w, law in enumerate(LAWS):
            for n in (N, N // 10):
                for r in range(draws):
                    estimate, climbs, shown = one_draw(context, shape, law, n, (s, w, n, r), steps)
                    rows += [(shape, law, n, r, *row) for row in estimate]
                    rising &= climbs
                    if n == N and r == 0:
                        drawn.append(shown)
            context.step("shapes and noises", len(LAWS) * s + w + 1, len(LAWS) * len(SHAPES))
    columns = ("shape", "noise", "n", "draw", "stop", "steps", "noisy distance", "distance")
    figure = Panels(f"Densities, randomized and reconstructed (n = {N:,})", tuple(drawn), columns=2, height=5.2)
    return Result(claims(rows, rising), (Table("distances", columns, tuple(rows)),), (figure,))


def one_draw(
    context: Context, shape: str, law: str, n: int, address: tuple[int, ...], steps: tuple[int, ...]
) -> tuple[list[tuple[Any, ...]], bool, Curves]:
    """Distances by the stopping rule and after given numbers of steps, whether the likelihood climbs, the picture."""
    edges = np.linspace(0, 1, BINS + 1)
    rng = context.rng(*address)
    x = SHAPES[shape](rng, n)
    seed = int(rng.integers(2**31))
    noise = veil.AdditiveNoise(LAWS[law], relative=False, distribution=law, random_state=seed)
    release, _ = veil.publish(x[:, None], noise)
    (name,) = release.only_part.names
    true = np.histogram(x, edges)[0] / n
    noisy = histogram(release.to_numpy()[:, 0])
    before = 0.5 * float(np.abs(noisy - histogram(x)).sum())
    ruled = veil.DistributionRecovery(n_bins=BINS, support={name: (0, 1)}).fit(release).reconstructions_[name]
    rows: list[tuple[Any, ...]] = [("rule", ruled.iterations, before, distance(ruled.probabilities, true))]
    for step in steps:
        given = veil.DistributionRecovery(n_bins=BINS, support={name: (0, 1)}, stop=0.0, max_iter=step)
        rows.append(("fixed", step, before, distance(given.fit(release).reconstructions_[name].probabilities, true)))
    climbs = bool((np.diff(ruled.log_likelihood) > -1e-6 * n).all())
    return rows, climbs, picture(shape, law, edges, true, noisy, ruled.probabilities)


def claims(rows: list[tuple[Any, ...]], rising: bool) -> tuple[Claim, ...]:
    """How near the recovered histogram comes, and when to stop."""

    def of(shape: str, law: str, n: int, stop: str, steps: int | None = None, column: int = 7) -> Vector:
        wanted = (shape, law, n, stop)
        return np.array([row[column] for row in rows if (*row[:3], row[4]) == wanted and steps in (None, row[5])])

    settings = [(shape, law) for shape in SHAPES for law in LAWS]
    noisy = {key: of(*key, N, "rule", column=6) for key in settings}
    ruled = {key: of(*key, N, "rule") for key in settings}
    near = all(bool((noisy[key] > 2 * ruled[key]).all()) for key in settings)
    early, late = (of("plateau", "uniform", N // 10, "fixed", step) for step in (40, 300))
    rule, taken = (of("plateau", "uniform", N // 10, "rule", column=column) for column in (7, 5))
    listed = {"triangles": 0.09, "plateau": 0.16}
    distances = {shape: of(shape, "normal", N, "fixed", 300) for shape in listed}
    pairs = [(*span(distances[shape]), value) for shape, value in listed.items()]
    pairs += [(*span(early), 0.09), (*span(late), 0.18)]
    far = [f"{mean:.3f} ± {se:.3f} against {value:g}" for mean, se, value in pairs if _far(mean, se, len(early), value)]
    return (
        Claim(
            "The distribution is reconstructed",
            "“Works well”",
            "; ".join(
                f"{shape}, {law} noise {noisy[shape, law].mean():.2f} → {ruled[shape, law].mean():.3f} "
                f"({ruled[shape, law].min():.3f} to {ruled[shape, law].max():.3f})"
                for shape, law in settings
            ),
            agrees=near,
            why="total variation to the true histogram, mean and range over draws; normal noise leaves more behind",
            # An independent simulation has .34 to .50 before.
            holds=near and all(0.33 < part.mean() < 0.51 for part in noisy.values()),
        ),
        Claim(
            "The iteration climbs the likelihood",
            "“Converges to maximum likelihood estimate”",
            "never falls" if rising else "falls",
            agrees=rising,
            holds=rising,
        ),
        Claim(
            "When to stop: plateau, uniform noise, n = 10,000",
            "–",
            f"{early.mean():.3f} after 40 steps, {late.mean():.3f} after 300",
            f"{rule.mean():.3f} after {taken.min():.0f} to {taken.max():.0f} steps by the chi-square rule",
            agrees=None,
            why="the likelihood still rises while the estimate grows spikes: stopping matters",
            holds=bool((late > early).all() and (rule < late).all()),
        ),
        Claim(
            "Distances beside an independent simulation",
            "–",
            "; ".join(
                f"{shape}, normal noise, 300 steps {distances[shape].mean():.3f} ({listed[shape]:g})"
                for shape in listed
            )
            + f"; plateau, uniform noise, n = 10,000: {early.mean():.3f} (.09) after 40 steps, "
            f"{late.mean():.3f} (.18) after 300",
            agrees=None,
            why="beyond 4 standard errors: " + "; ".join(far) if far else "",
            holds=not far,
        ),
    )


def span(values: Vector) -> tuple[float, float]:
    """Mean and standard error over draws."""
    return float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5


def _far(mean: float, error: float, draws: int, value: float) -> bool:
    """Whether one draw of somebody else's, rounded to two digits, is out of reach."""
    return bool(abs(mean - value) > 4 * error * (1 + draws) ** 0.5 + 0.005)


def histogram(values: Vector) -> Vector:
    """Shares on the grid of 40 bins per unit from −2 to 3."""
    return np.asarray(np.histogram(values, np.linspace(-2, 3, 5 * BINS + 1))[0] / len(values))


def distance(probabilities: Vector, true: Vector) -> float:
    """Total variation."""
    return 0.5 * float(np.abs(probabilities - true).sum())


def picture(shape: str, law: str, edges: Vector, true: Vector, noisy: Vector, estimate: Vector) -> Curves:
    """Original, noisy and reconstructed densities, as in the slides."""
    middles, wide = (edges[1:] + edges[:-1]) / 2, np.linspace(-2, 3, 5 * BINS + 1)
    outer = (wide[1:] + wide[:-1]) / 2
    visible = (outer > -0.75) & (outer < 1.75)
    curves = (
        Curve("original", middles, true * BINS, kind="thin", colour=0),
        Curve("randomized", outer[visible], noisy[visible] * BINS, kind="thin", colour=5),
        Curve("reconstructed", middles, estimate * BINS, kind="thin", colour=1),
    )
    return Curves(f"{shape} under {law} noise", "value", "density", curves)


EXPERIMENT = Experiment(
    id="tutorial-reconstruction",
    title="Reconstructing a distribution from noisy values",
    stated="plateau and triangles densities, Gaussian and uniform noise, the iterative Bayes algorithm",
    chosen="n = 100,000 (and 10,000) on [0, 1]: plateau U(.25, .75), two triangles of width ½; noise N(0, .25²) and "
    "U(±.5); 40 bins; stopped by the chi-square change rule; 10 draws each. Distances depend on the stop and on n, the "
    "order does not",
    run=run,
)
