"""Equations 3.1 to 3.5: means, variances and covariances of the private table from a release of schemes I and II."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

import veil
from veil.reproduce.experiment import Claim, Context, Experiment, Result, Table
from veil.reproduce.figures import Bars

Matrix = npt.NDArray[np.float64]
LOWER, UPPER, SIGMA, MU = 0.7, 2.5, 0.5, 1.0
C = 0.4
CENTRE, SPREAD, RHO = np.array([3.0, 2.0]), np.array([0.4, 0.6]), 0.5
QUANTITIES = ("mean 1", "mean 2", "variance 1", "variance 2", "covariance")


def run(context: Context) -> Result:
    """Estimates of both schemes, by the corrected equations (the product) and as printed."""
    n, repeats = context.pick(200_000, 100_000), context.pick(20, 3)
    covariance = np.array([[1.0, RHO], [RHO, 1.0]]) * np.outer(SPREAD, SPREAD)
    gathered: dict[str, list[Any]] = {"I": [], "II": []}
    for r in range(repeats):
        rng = context.rng(r)
        x = np.exp(rng.multivariate_normal(CENTRE, covariance, size=n))
        truth = flat(x.mean(axis=0), np.cov(x, rowvar=False, ddof=0))
        for scheme in gathered:
            seed = int(rng.integers(2**31))
            first = veil.MultiplicativeNoise(SIGMA, mean=MU, bounds=(LOWER, UPPER), random_state=seed)
            release, _ = veil.publish(x, first if scheme == "I" else veil.LogNormalNoise(C, random_state=seed))
            found = veil.MomentRecovery().fit(release)
            y = release.to_numpy()
            factor = np.array(release.step.parameters["factor"]) if scheme == "II" else np.eye(2)
            as_printed = printed_one(y) if scheme == "I" else printed_two(y, factor @ factor.T)
            ours = flat(found.mean_, found.covariance_), flat(found.mean_se_, found.covariance_se_)
            gathered[scheme].append((truth, *ours, as_printed))
        context.step("repetitions", r + 1, repeats)
    rows: list[tuple[Any, ...]] = []
    for scheme, runs in gathered.items():
        true, estimates, errors, printed = (np.array(part) for part in zip(*runs, strict=True))
        # The error of the mean over repetitions, from each release's own standard error.
        error = np.sqrt((errors**2).sum(axis=0)) / repeats
        far, far_printed = ((part - true).mean(axis=0) / error for part in (estimates, printed))
        means = (part.mean(axis=0) for part in (true, estimates, error[None], printed))
        rows += list(zip((scheme,) * 5, QUANTITIES, *means, far, far_printed, strict=True))
    plain: list[tuple[Any, ...]] = [tuple(v if isinstance(v, str) else float(v) for v in row) for row in rows]
    columns = ("scheme", "quantity", "true", "ours", "standard error", "printed", "ours off (SE)", "printed off (SE)")
    return Result(claims(plain), (Table("moments", columns, tuple(plain)),), (figure(plain),))


def flat(mean: Matrix, covariance: Matrix) -> Matrix:
    """Two means, two variances and the covariance."""
    return np.array([*mean, covariance[0, 0], covariance[1, 1], covariance[0, 1]])


def printed_one(y: Matrix) -> Matrix:
    """Equations 3.1 and 3.2 as printed, Z the standard normal density; 3.1 lacks a σ. There is none for covariances."""
    a, b = (LOWER - MU) / SIGMA, (UPPER - MU) / SIGMA
    k = 1 / (norm.cdf(b) - norm.cdf(a))
    shift = k * (norm.pdf(a) - norm.pdf(b))
    second = SIGMA**2 + MU**2 + SIGMA**2 * k * (a * norm.pdf(a) - b * norm.pdf(b)) + 2 * SIGMA * MU * shift
    square = MU**2 + SIGMA**2 * shift**2 + 2 * SIGMA * MU * shift
    mean = y.mean(axis=0) / (MU + shift)
    variance = (y.var(axis=0) + mean**2 * square) / second - mean**2
    return np.array([*mean, *variance, np.nan])


def printed_two(y: Matrix, noise: Matrix) -> Matrix:
    """Equations 3.3 to 3.5 as printed, with the covariance of the noise as published."""
    s, m = np.diag(noise), len(y)
    mean = y.mean(axis=0) / np.exp(s / 2)
    variance = s / C / np.exp(2 * s) - mean**2 / np.exp(s) - mean**2
    rho = float(np.asarray(np.corrcoef(y, rowvar=False))[0, 1])
    both = (y[:, 0] @ y[:, 1]) / np.exp((s.sum() + 2 * rho * np.sqrt(s.prod())) / 2)
    covariance = (both - m * y.mean(axis=0).prod() / np.exp(s.sum())) / (m - 1)
    return np.array([*mean, *variance, covariance])


def claims(rows: list[tuple[Any, ...]]) -> tuple[Claim, ...]:
    """One claim per equation."""
    by = {(row[0], row[1]): row for row in rows}

    def claim(equation: str, scheme: str, names: tuple[str, ...], why: str, right: bool = False) -> Claim:
        used = [by[scheme, name] for name in names]
        ours = max(abs(row[6]) for row in used)
        printed = max(abs(row[7]) for row in used)
        values, truths, estimates = (", ".join(f"{row[at]:.2f}" for row in used) for at in (5, 2, 3))
        return Claim(
            f"Eq {equation}: {names[0].rstrip(' 12')} under scheme {scheme}",
            f"a formula, which gives {values} for {truths}",
            f"printed form off by {printed:.1f} standard errors",
            f"{estimates}, off by {ours:.1f}",
            agrees=right,
            why=why,
            holds=ours < 3 and (printed < 3) == right,
        )

    return (
        claim("3.1", "I", ("mean 1", "mean 2"), "L-k: a σ is missing; seen where the truncation is lopsided"),
        claim("3.2", "I", ("variance 1", "variance 2"), "L-k: right but for the mean that it uses"),
        claim("3.3", "II", ("mean 1", "mean 2"), "", right=True),
        claim("3.4", "II", ("variance 1", "variance 2"), "L-m: below zero"),
        claim("3.5", "II", ("covariance",), "L-n: the second exponent is twice what it should be"),
    )


def figure(rows: list[tuple[Any, ...]]) -> Bars:
    """Printed and corrected estimates over the truth."""
    used = [row for row in rows if np.isfinite(row[5])]
    labels = tuple(f"{row[0]}: {row[1]}" for row in used)
    series = (("corrected", [row[3] / row[2] for row in used]), ("as printed", [row[5] / row[2] for row in used]))
    return Bars("Moments of the private table from a release", labels, "estimate / true value", series, width=10.0)


EXPERIMENT = Experiment(
    id="liu-eq3.1-3.5",
    title="Moments under multiplicative noise",
    stated="equations 3.1 to 3.5 for the mean, variance and covariance of x from those of y",
    chosen="two lognormal columns (log spread .4 and .6, log correlation .5), n = 200,000; scheme I with A = .7, "
    "B = 2.5 and σ = .5, lopsided so that the slip of eq 3.1 shows: with symmetric bounds it agrees; scheme II with "
    "c = .4; 20 repetitions",
    run=run,
    errata=("L-k", "L-m", "L-n"),
    also=("eq3.1", "eq3.2", "eq3.3", "eq3.4", "eq3.5"),
)
