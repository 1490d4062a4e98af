"""Chapter 3, its opening: factors of the Energy Information Administration, N(1, .0225) with .01 ≤ |r − 1| ≤ .6."""

from __future__ import annotations

import numpy as np

import veil
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Histogram

STD, NOTCH, BOUND = 0.15, 0.01, 0.6
PAPER = 0.0225
RIGHT = {"variance": 0.02374, "acceptance": 0.947}
"""By another implementation of the closed forms."""


def run(context: Context) -> Result:
    """Factors from a release, with the private table beside it; the law's own numbers; and plain normal draws."""
    n = context.pick(1_000_000, 200_000)
    rng = context.rng(0)
    x = rng.uniform(1.0, 2.0, size=(n, 1))
    method = veil.MultiplicativeNoise(
        STD, bounds=(1 - BOUND, 1 + BOUND), notch=NOTCH, random_state=int(rng.integers(2**31))
    )
    release, _ = veil.publish(x, method)
    factors = (release.to_numpy() / x).ravel()
    law = method.fit(x[:100]).law_
    away = np.abs(rng.normal(0.0, STD, n))
    share = float(((away >= NOTCH) & (away <= BOUND)).mean())
    variance = float(factors.var())
    error = float(np.sqrt((((factors - factors.mean()) ** 2).var()) / n))
    share_error = float(np.sqrt(share * (1 - share) / n))
    rounding = float(release.only_part.parameters["grid"][0])
    inside = np.abs(factors - 1)
    bounded = bool(inside.min() > NOTCH - rounding and inside.max() < BOUND + rounding)
    claims = (
        Claim(
            "variance of the factors",
            f"“variance {PAPER}”",
            f"{variance:.5f} ± {error:.5f} (closed form {law.variance:.5f})",
            agrees=False,
            why="L-l: the notch takes out factors near 1",
            holds=abs(variance - law.variance) < 3 * error
            and abs(law.variance - RIGHT["variance"]) < 1e-5
            and variance - PAPER > 10 * error,
        ),
        Claim(
            "share of normal draws that are kept",
            "–",
            f"{share:.4f} (closed form {law.acceptance:.4f})",
            agrees=None,
            holds=abs(share - law.acceptance) < 3 * share_error and abs(law.acceptance - RIGHT["acceptance"]) < 5e-4,
        ),
        Claim(
            "factors stay in the bounds",
            ".01 ≤ |r − 1| ≤ .6",
            f"{inside.min():.4f} to {inside.max():.4f}",
            agrees=bounded,
            why="up to the grid that values are released on",
            holds=bounded,
        ),
    )
    rows = (
        ("variance", PAPER, variance, error, law.variance),
        ("acceptance", None, share, share_error, law.acceptance),
        ("mean", 1.0, float(factors.mean()), float(factors.std() / n**0.5), law.expectation),
    )
    table = Table("factors", ("quantity", "paper", "measured", "standard error", "closed form"), rows)
    shown = (("released factors", factors[:100_000]), ("N(1, .0225)", rng.normal(1, STD, 100_000)))
    figure = Histogram("Factors with a notch at 1", "factor r", shown, bins=140)
    return Result(claims, (table,), (figure,))


EXPERIMENT = Experiment(
    id="liu-eia",
    title="Factors of the Energy Information Administration",
    stated="r ~ N(1, .0225) kept to .01 ≤ |r − 1| ≤ .6",
    chosen="1,000,000 factors on values between 1 and 2; the values do not matter",
    run=run,
    errata=("L-l",),
    chapter=3,
)
