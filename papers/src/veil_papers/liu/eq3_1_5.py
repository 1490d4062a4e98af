"""Equations 3.1 to 3.5: means, variances and covariances of the private table from a release of schemes I and II."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars

LOWER, UPPER, SIGMA, MU = 0.7, 2.5, 0.5, 1.0
C = 0.4
FEW = 3.0
"""Standard errors that an equation may be off."""
CENTRE, SPREAD, RHO = np.array([3.0, 2.0]), np.array([0.4, 0.6]), 0.5
READINGS = ("printed", "printed, Z = φ", "printed, Z = φ and the right mean")
"""As the paper defines Z, with 1/(√(2π)σ), which is what its density needs; or as the standard normal density."""
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
            recovery = veil.MomentRecovery().fit(release)
            y = release.to_numpy()
            factor = np.array(release.only_part.parameters["factor"]) if scheme == "II" else np.eye(2)
            ours = flat(recovery.mean_, recovery.covariance_), flat(recovery.mean_se_, recovery.covariance_se_)
            if scheme == "I":
                # Z as the paper defines it, and as the standard normal density; then eq 3.2 with the right mean.
                readings = [
                    printed_one(y, 1 / SIGMA),
                    printed_one(y, 1.0),
                    printed_one(y, 1.0, np.asarray(recovery.mean_)),
                ]
            else:
                readings = [printed_two(y, factor @ factor.T), *np.full((2, 5), np.nan)]
            gathered[scheme].append((truth, *ours, *readings))
        context.step("repetitions", r + 1, repeats)
    rows: list[tuple[Any, ...]] = []
    for scheme, runs in gathered.items():
        true, estimates, errors, *printed = (np.array(part) for part in zip(*runs, strict=True))
        # The error of the mean over repetitions, from each release's own standard error.
        error = np.sqrt((errors**2).sum(axis=0)) / repeats
        far = [(part - true).mean(axis=0) / error for part in (estimates, *printed)]
        means = (part.mean(axis=0) for part in (true, estimates, error[None], *printed))
        rows += list(zip((scheme,) * 5, QUANTITIES, *means, *far, strict=True))
    plain: list[tuple[Any, ...]] = [tuple(v if isinstance(v, str) else float(v) for v in row) for row in rows]
    off = ("ours off (SE)", *(f"{reading}, off (SE)" for reading in READINGS))
    columns = ("scheme", "quantity", "true", "ours", "standard error", *READINGS, *off)
    return Result(claims(plain), (Table("moments", columns, tuple(plain)),), (figure(plain),))


def flat(mean: Matrix, covariance: Matrix) -> Matrix:
    """Two means, two variances and the covariance."""
    return np.array([*mean, covariance[0, 0], covariance[1, 1], covariance[0, 1]])


def printed_one(y: Matrix, scale: float, mean: Matrix | None = None) -> Matrix:
    """Equations 3.1 and 3.2 as printed, Z = ``scale``·φ, or 3.2 with another mean. There is none for covariances."""
    a, b = (LOWER - MU) / SIGMA, (UPPER - MU) / SIGMA
    k = scale / (norm.cdf(b) - norm.cdf(a))
    shift = k * (norm.pdf(a) - norm.pdf(b))
    second = SIGMA**2 + MU**2 + SIGMA**2 * k * (a * norm.pdf(a) - b * norm.pdf(b)) + 2 * SIGMA * MU * shift
    square = MU**2 + SIGMA**2 * shift**2 + 2 * SIGMA * MU * shift
    mean = y.mean(axis=0) / (MU + shift) if mean is None else mean
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

    def claim(equation: str, formula: str, scheme: str, names: tuple[str, ...], why: str, right: bool = False) -> Claim:
        used = [by[scheme, name] for name in names]
        ours, printed, with_phi, mended = (max(abs(row[at]) for row in used) for at in (8, 9, 10, 11))
        values, truths, estimates = (", ".join(f"{row[at]:.2f}" for row in used) for at in (5, 2, 3))
        same = f"{values} for {truths}: off by {printed:.1f} standard errors"
        if scheme == "I":
            same += f"; with Z = φ by {with_phi:.1f}" + (
                f", and with the right mean by {mended:.1f}" * (equation == "3.2")
            )
        return Claim(
            f"Eq {equation}: {names[0].rstrip(' 12')} under scheme {scheme}",
            formula,
            same,
            f"{estimates}: off by {ours:.1f}",
            agrees=printed < FEW,
            why=why,
            holds=ours < FEW
            and (printed < FEW) == right
            and not with_phi < FEW
            and (mended < FEW or equation != "3.2"),
        )

    means, variances = ("mean 1", "mean 2"), ("variance 1", "variance 2")
    return (
        claim(
            "3.1",
            "E x = E y/(μ + K[Z(α) − Z(β)]), Z(t) = exp(−t²/2)/(√(2π)σ)",
            "I",
            means,
            "L-k: with Z as defined a σ² is missing, with the standard normal density φ a σ; seen where the truncation "
            "is lopsided",
        ),
        claim(
            "3.2",
            "Var y = E x²{σ² + μ² + σ²K[αZ(α) − βZ(β)] + 2σμK[Z(α) − Z(β)]} − (E x E r)²",
            "I",
            variances,
            "L-k: right with Z = φ and the right mean",
        ),
        claim("3.3", "E x = E y/exp(σ²/2)", "II", means, "", right=True),
        claim("3.4", "Var x = Var u/exp(2σ²) − (E x)²/exp(σ²) − (E x)²", "II", variances, "L-m: below zero"),
        claim(
            "3.5",
            "{Σyᵢyⱼ/exp[(σᵢ² + 2ρσᵢσⱼ + σⱼ²)/2] − m ȳᵢȳⱼ/exp[σᵢ² + σⱼ²]}/(m − 1)",
            "II",
            ("covariance",),
            "L-n: the second exponent is twice what it should be",
        ),
    )


def figure(rows: list[tuple[Any, ...]]) -> Bars:
    """Printed and corrected estimates over the truth."""
    used = [row for row in rows if np.isfinite(row[5])]
    labels = tuple(f"{row[0]}: {row[1]}" for row in used)
    series = (
        ("corrected", [row[3] / row[2] for row in used]),
        ("as printed", [row[5] / row[2] for row in used]),
        ("as printed, Z = φ", [row[6] / row[2] for row in used]),
    )
    return Bars("Moments of the private table from a release", labels, "estimate / true value", series, width=10.0)


EXPERIMENT = Experiment(
    id="liu-eq3.1-3.5",
    title="Moments under multiplicative noise",
    stated="equations 3.1 to 3.5 for the mean, variance and covariance of x from those of y",
    chosen="two lognormal columns (log spread .4 and .6, log correlation .5), n = 200,000; scheme I with A = .7, "
    "B = 2.5 and σ = .5, lopsided so that the slip of eq 3.1 shows: with symmetric bounds it agrees; Z read both as "
    "the paper defines it and as the standard normal density; scheme II with c = .4; 20 repetitions",
    run=run,
    errata=("L-k", "L-m", "L-n"),
    also=("eq3.1", "eq3.2", "eq3.3", "eq3.4", "eq3.5"),
)
