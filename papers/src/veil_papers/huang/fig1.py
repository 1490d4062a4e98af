"""Figure 1: the error falls as more attributes share the same few directions."""

from __future__ import annotations

from functools import partial

import numpy as np

import veil
from veil_papers.arrays import Vector
from veil_papers.experiment import Context, Experiment, Result
from veil_papers.figures import Curve
from veil_papers.huang.attribute_claims import ATTRIBUTES, falling, larger, limits
from veil_papers.huang.spectrum import (
    NOISE,
    VARIANCE,
    errors,
    fourier_basis,
    spectrum,
    udr_over_bases,
)
from veil_papers.huang.sweep import REPEATS, bayes_below_pca, curves, near_theory, sweep, table, unclipped_claim

P = 5


def at_m(m: float, small: float) -> tuple[Vector, int]:
    """Eigenvalues of m attributes, five of them large."""
    return spectrum(int(m), P, small), P


def run(context: Context) -> Result:
    """Errors over m for two sizes of the small eigenvalues and two of the table."""
    sizes = context.pick((50_000, 1_000), (20_000, 1_000))
    points = {1.0: context.pick(ATTRIBUTES, (5, 10, 100)), 10.0: context.pick(ATTRIBUTES, (10, 100))}
    rows = {e: sweep(context, at, partial(at_m, small=e), sizes) for e, at in points.items()}
    values, basis = spectrum(100, P, 10.0), fourier_basis(100, P)
    middle = [errors(context, values, basis, 10_000, (r,), ("SF",))["SF"] for r in range(context.pick(REPEATS, 2))]
    gaps = [by_largest_gap(context, sizes[0], r) for r in range(context.pick(20, 4))]
    random = [float(udr_over_bases(context, at_m(m, 1.0)[0], 20).mean()) for m in points[1.0]]
    title, label = "Five directions among m attributes, e = {e:g} (N = {n:,})", "number of attributes m"
    shown = ((1.0, sizes[0]), (1.0, sizes[1]), (10.0, sizes[0]), (10.0, sizes[1]))
    gap = Curve("PCA-DR at m = 5, by the largest gap", [P], [float(np.mean(gaps))], kind="points", colour=1)
    figures = tuple(curves(rows[e], n, title.format(e=e, n=n), label, gap, log="y") for e, n in shown)
    tables = tuple(table(part, f"errors-e{e:g}") for e, part in rows.items())
    claims = [
        *falling(rows[1.0], points[1.0], sizes[0]),
        *limits(rows[1.0], sizes[0], gaps, random),
        *larger(rows[10.0], points[10.0], sizes, np.array(middle)),
    ]
    for e, part in rows.items():
        claims += [near_theory(part, sizes[0]), bayes_below_pca(part, sizes, f" (e = {e:g})")]
        claims.append(unclipped_claim(part, f" (e = {e:g})"))
    return Result(tuple(claims), tables, figures)


def by_largest_gap(context: Context, n: int, r: int) -> float:
    """PCA-DR at m = p = 5 with as many directions as the largest gap says, though all are alike."""
    rng = context.rng(P, r)
    x = rng.normal(0, VARIANCE**0.5, (n, P))
    noise = veil.AdditiveNoise(NOISE**0.5, relative=False, random_state=int(rng.integers(2**31)))
    release, _ = veil.publish(x, noise)
    eigenvalues = np.asarray(veil.PCAAttack(P, variant="paper").run(release).details["eigenvalues"])
    n_directions = 1 + int(np.argmax(eigenvalues[:-1] - eigenvalues[1:]))
    return float(((veil.PCAAttack(n_directions, variant="paper").run(release).values - x) ** 2).mean())


EXPERIMENT = Experiment(
    id="huang-fig1",
    title="Error against the number of attributes",
    stated="5 large eigenvalues, number of attributes m grows from 5; the attributes' mean variance stays the same",
    chosen="N = 50,000 and 1,000; noise variance 25, mean variance 100, small eigenvalues 1 and 10, a Fourier basis, "
    "20 repetitions (10 of the 50,000, which differ by .1 %). Under equal noise only UDR depends on the basis. “BE-DR” "
    "is the paper's plug-in with negative eigenvalues of Σy − σ²I clipped at 0; as printed it is “unclipped”. At m = 5 "
    "there is no gap between eigenvalues, and PCA-DR keeps all directions",
    run=run,
    errata=("H-a", "H-c", "H-d", "H-e"),
    chapter=7,
)
