"""A28 beside A2, A6, A7, A19 and A20 on their own ground, and beside Bayes' rule where that can be worked out.

For every setting: the error (mean squared, ``aim="mean"``) and the hits (within a tenth of a standard deviation, or the
right category) of A28, of the best rival that applies, and of the Bayes rule with the true law of the table. A28 may
be at most 1 % worse than any rival, and at most 5 % worse than Bayes' rule in its hits from 3,000 records on, each up
to two standard errors of the difference over records.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from claims import Claims
from scipy import stats

import veil
from veil.numerics.laws import LAWS

A28 = veil.JointPosteriorAttack
Truth = Callable[[np.ndarray, float], np.ndarray]
SETTINGS: dict[str, Callable[[int, int], Setting]] = {}


@dataclass
class Setting:
    """A release, what its records were, and what is known.

    ``bayes`` are the hits of every cell by the Bayes rule; ``rivals`` attacks by the aim that they have.
    """

    release: Any
    truth: np.ndarray
    knowledge: tuple[Any, ...] = ()
    rivals: tuple[Any, ...] = ()
    bayes: np.ndarray | None = None
    categories: bool = False
    columns: Sequence[int] = field(default_factory=list)

    def hits(self, values: np.ndarray) -> np.ndarray:
        """Whether each cell is right."""
        if self.categories:
            return 1.0 * (values == self.truth)
        return 1.0 * (np.abs(values - self.truth) <= 0.1 * self.truth.std(axis=0))

    def errors(self, values: np.ndarray) -> np.ndarray:
        """Squared errors in units of the columns."""
        return ((values - self.truth) / self.truth.std(axis=0)) ** 2


def setting(name: str) -> Callable[[Any], Any]:
    """List a function of the number of records and a seed as a setting."""

    def add(make: Any) -> Any:
        SETTINGS[name] = make
        return make

    return add


def published(x: np.ndarray, sigma: Any, seed: int, law: str = "normal", **settings: Any) -> Any:
    """Noise of a standard deviation in the table's own units."""
    method = veil.AdditiveNoise(sigma, relative=False, distribution=law, random_state=seed, **settings)
    return veil.publish(x, method)[0]


def of_numbers() -> tuple[Any, ...]:
    """The rivals for numbers behind additive noise."""
    a2, a6 = veil.UnivariateBayesAttack, veil.BayesEstimateAttack
    plain = a2(), a2(aim="hit"), a6(), a6(aim="hit"), veil.IntervalAttack()
    return (*plain, a6(prior="mixture"), a6(prior="mixture", aim="hit"))


def window_hits(
    y: np.ndarray, x: np.ndarray, weights: np.ndarray, means: np.ndarray, spreads: np.ndarray, sigma: float
) -> np.ndarray:
    """Hits of the Bayes rule under a known mixture of normals behind normal noise, cell by cell."""
    d, units = y.shape[1], 0.1 * x.std(axis=0)
    totals = spreads + sigma**2 * np.eye(d)
    logs = np.column_stack(
        [np.log(w) + stats.multivariate_normal(m, t).logpdf(y) for w, m, t in zip(weights, means, totals, strict=True)]
    )
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    gains = [spread @ np.linalg.inv(total) for spread, total in zip(spreads, totals, strict=True)]
    hits = np.empty(x.shape)
    for j in range(d):
        middles = np.column_stack([m[j] + (y - m) @ g[j] for m, g in zip(means, gains, strict=True)])
        left = np.array([np.sqrt(max(s[j, j] - g[j] @ s[:, j], 1e-12)) for s, g in zip(spreads, gains, strict=True)])
        # The best window lies between two posterior means: it is looked for on a grid of a twentieth of its width.
        low, high = middles.min(axis=1), middles.max(axis=1)
        best, middle = np.zeros(len(y)), np.zeros(len(y))
        for t in np.linspace(0.0, 1.0, max(int(np.median(high - low) / units[j] * 10), 2) + 200):
            c = (low + t * (high - low))[:, None]
            mass = (
                shares
                * (stats.norm.cdf((c + units[j] - middles) / left) - stats.norm.cdf((c - units[j] - middles) / left))
            ).sum(axis=1)
            better = mass > best
            best[better], middle[better] = mass[better], c[better, 0]
        hits[:, j] = np.abs(middle - x[:, j]) <= units[j]
    return hits


def column(
    draw: Callable[[np.random.Generator, int], np.ndarray], law: str, sigma: float
) -> Callable[[int, int], Setting]:
    """One column by itself: the ground of A2 and A7."""

    def make(n: int, seed: int) -> Setting:
        x = draw(np.random.default_rng([seed, 1]), n)[:, None]
        return Setting(published(x, sigma * x.std(), seed, law), 1.0 * x, rivals=of_numbers())

    return make


DRAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "gamma": lambda rng, n: rng.gamma(2.0, size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "log-normal": lambda rng, n: np.exp(rng.normal(size=n)),
    "two modes": lambda rng, n: rng.choice([-2.0, 2.0], n) + 0.3 * rng.normal(size=n),
    "whole": lambda rng, n: rng.poisson(3.0, n),
    "zeros": lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, np.exp(rng.normal(size=n))),
}
for _name, _draw in DRAWS.items():
    for _law in LAWS:
        SETTINGS[f"one column, {_name}, {_law} noise"] = column(_draw, _law, 0.7)


@setting("normal, 4 columns")
def normal_4(n: int, seed: int, d: int = 4, sigma: float = 1.0) -> Setting:
    """Correlated normal columns: the ground of A6."""
    rng = np.random.default_rng([seed, 2])
    mixing = rng.normal(size=(d, d))
    x = rng.normal(size=(n, d)) @ mixing
    spread = mixing.T @ mixing
    release = published(x, sigma, seed)
    bayes = window_hits(release.to_numpy(), x, np.ones(1), np.zeros((1, d)), spread[None], sigma)
    return Setting(release, x, rivals=of_numbers(), bayes=bayes)


@setting("normal, 20 columns")
def normal_20(n: int, seed: int) -> Setting:
    """Many columns."""
    return normal_4(n, seed, 20, 3.0)


@setting("normal, noise like the data")
def normal_similar(n: int, seed: int) -> Setting:
    """Noise with the covariance of the data."""
    rng = np.random.default_rng([seed, 3])
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(n, 6))
    return Setting(
        veil.publish(x, veil.AdditiveNoise(1.5, similarity=1.0, random_state=seed))[0], x, rivals=of_numbers()
    )


def clusters(k: int, d: int, sigma: float = 1.0) -> Callable[[int, int], Setting]:
    """A mixture of known components."""

    def make(n: int, seed: int) -> Setting:
        rng = np.random.default_rng([seed, k, d])
        roots = rng.normal(size=(k, d, d)) * np.sqrt(0.3 / d)
        spreads = roots @ roots.transpose(0, 2, 1) + 0.0625 * np.eye(d)
        means, weights = 2 * rng.normal(size=(k, d)), rng.dirichlet(np.full(k, 5.0))
        label = rng.choice(k, n, p=weights)
        x = means[label] + np.einsum("nij,nj->ni", np.linalg.cholesky(spreads)[label], rng.normal(size=(n, d)))
        release = published(x, sigma, seed)
        bayes = window_hits(release.to_numpy(), x, weights, means, spreads, sigma)
        return Setting(release, x, rivals=of_numbers(), bayes=bayes)

    return make


for _k, _d in ((2, 1), (2, 2), (3, 2), (4, 3), (3, 5), (6, 4), (12, 4)):
    SETTINGS[f"{_k} clusters in {_d} columns"] = clusters(_k, _d)
SETTINGS["3 clusters in 3 columns, weak noise"] = clusters(3, 3, 0.4)
SETTINGS["3 clusters in 3 columns, strong noise"] = clusters(3, 3, 2.0)


@setting("known columns, normal")
def known_columns(n: int, seed: int) -> Setting:
    """Known attributes: the ground of A19."""
    rng = np.random.default_rng([seed, 5])
    x = rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6))
    known = veil.KnownAttributes(["a", "b"], x[:, 4:])
    return Setting(published(x[:, :4], 1.5, seed), x[:, :4], (known,), (veil.PartialDisclosureAttack(), *of_numbers()))


@setting("a known private column")
def known_private(n: int, seed: int) -> Setting:
    """One of the perturbed columns is known."""
    rng = np.random.default_rng([seed, 6])
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 4)) + 0.5 * rng.normal(size=(n, 4))
    known = veil.KnownAttributes(["x0"], x[:, :1])
    rivals = (veil.PartialDisclosureAttack(), *of_numbers())
    return Setting(published(x, 1.0, seed), x, (known,), rivals, columns=[1, 2, 3])


@setting("a sample, normal")
def with_sample(n: int, seed: int) -> Setting:
    """A sample of normal data: the release alone says as much."""
    rng = np.random.default_rng([seed, 7])
    mixing = rng.normal(size=(2, 4))
    x = rng.normal(size=(n + 300, 2)) @ mixing + 0.5 * rng.normal(size=(n + 300, 4))
    return Setting(published(x[300:], 1.0, seed), x[300:], (veil.KnownSample(x[:300]),), of_numbers())


@setting("a sample, skewed columns")
def with_skewed_sample(n: int, seed: int) -> Setting:
    """Independent skewed columns: the ground of A2 with a sample."""
    x = np.random.default_rng([seed, 8]).gamma(0.7, size=(n + 400, 3))
    return Setting(published(x[400:], 0.8, seed), x[400:], (veil.KnownSample(x[:400]),), of_numbers())


def types(k: int, law: str, sigma: float) -> Callable[[int, int], Setting]:
    """Few different records, and a sample of a tenth: the Bayes rule knows all types and their shares."""

    def make(n: int, seed: int) -> Setting:
        rng = np.random.default_rng([seed, 9, k])
        table, shares = rng.normal(size=(k, 5)), rng.dirichlet(np.ones(k))
        x = table[rng.choice(k, n + n // 10, p=shares)]
        x, sample = x[n // 10 :], x[: n // 10]
        release = veil.publish(x, veil.AdditiveNoise(sigma, distribution=law, random_state=seed))[0]
        scale, y = release.only_part.model.scale, release.to_numpy()
        logs = np.log(shares) + sum(
            np.log(np.maximum(LAWS[law].pdf((y[:, [j]] - table[:, j]) / scale[j]), 1e-300)) for j in range(5)
        )
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        hits = np.empty(x.shape)
        for j, width in enumerate(0.2 * x.std(axis=0)):
            low = table[:, j][:, None]
            best = (weights @ ((table[:, j] >= low - 1e-12) & (table[:, j] <= low + width)).T).argmax(axis=1)
            hits[:, j] = (x[:, j] >= table[best, j] - 1e-12) & (x[:, j] <= table[best, j] + width)
        return Setting(release, x, (veil.KnownSample(sample),), of_numbers(), hits)

    return make


for _law, _sigma in (("normal", 1.0), ("normal", 1.7), ("uniform", 2.3), ("laplace", 2.3)):
    for _k in (20, 60, 150):
        SETTINGS[f"{_k} types and a sample, {_law} noise {_sigma}"] = types(_k, _law, _sigma)


def answers(d: int, k: int, keep: float, sample: int = 0) -> Callable[[int, int], Setting]:
    """Categories that hang together by a latent class, randomized: the ground of A20; the Bayes rule sums over all."""

    def make(n: int, seed: int) -> Setting:
        rng = np.random.default_rng([seed, 10, d, k])
        tables, shares = rng.dirichlet(np.full(k, 0.5), size=(3, d)), rng.dirichlet(np.full(3, 5.0))
        label = rng.choice(3, n + sample, p=shares)
        x = np.column_stack(
            [(rng.random(n + sample)[:, None] > np.cumsum(tables[label, j], axis=1)).sum(axis=1) for j in range(d)]
        )
        x = np.minimum(x, k - 1)
        frame = pd.DataFrame(x[sample:], columns=[f"q{j}" for j in range(d)])
        method = veil.RandomizedResponse(keep=keep, categories=list(range(k)), random_state=seed)
        release = veil.publish(frame, method)[0]
        codes, matrices = release.codes(), release.only_part.model.matrices
        logs = np.log(shares) + sum(
            np.log(np.maximum(tables[:, j] @ matrices[j].T, 1e-300))[:, codes[:, j]].T for j in range(d)
        )
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        hits = np.empty((n, d))
        for j in range(d):
            # Given the class the answers are independent: the class by all reports, the answer by its own.
            own = tables[None, :, j] * matrices[j][codes[:, j]][:, None, :]
            own /= np.maximum(own.sum(axis=2, keepdims=True), 1e-300)
            share = weights / weights.sum(axis=1, keepdims=True)
            hits[:, j] = np.einsum("nc,ncs->ns", share, own).argmax(axis=1) == x[sample:, j]
        knowledge = (veil.KnownSample(x[:sample].astype(float)),) if sample else ()
        rivals = (veil.ResponsePosteriorAttack(),)
        return Setting(release, x[sample:].astype(float), knowledge, rivals, hits, categories=True)

    return make


for _d, _k, _keep in ((1, 4, 0.5), (3, 3, 0.6), (6, 3, 0.4), (10, 3, 0.6), (8, 2, 0.7), (4, 6, 0.5)):
    SETTINGS[f"{_d} answers of {_k}, kept {_keep}"] = answers(_d, _k, _keep)
SETTINGS["6 answers of 3, kept 0.4, and a sample"] = answers(6, 3, 0.4, 300)


def compared(name: str, n: int, seeds: int, claims: Claims) -> None:
    """Print one setting's line."""
    ours: dict[str, list[np.ndarray]] = {"hits": [], "errors": []}
    others: dict[str, dict[str, list[np.ndarray]]] = {"hits": {}, "errors": {}}
    bayes: list[np.ndarray] = []
    for seed in range(seeds):
        case = SETTINGS[name](n, seed)
        columns = list(case.columns) or list(range(case.truth.shape[1]))

        def scored(attack: Any, case: Setting = case, columns: list[int] = columns) -> dict[str, np.ndarray]:
            usable = [k for k in case.knowledge if isinstance(k, (*attack.uses, *attack.requires))]
            values = attack.run(case.release, *usable).values
            scores = {"hits": case.hits(values)[:, columns].mean(axis=1)}
            if not case.categories:
                scores["errors"] = case.errors(values)[:, columns].mean(axis=1)
            return scores

        ours["hits"].append(scored(A28())["hits"])
        if not case.categories:
            ours["errors"].append(scored(A28(aim="mean"))["errors"])
        for rival in case.rivals:
            try:
                scores = scored(rival)
            except veil.VeilError:
                continue
            for kind, values in scores.items():
                others[kind].setdefault(rival.label, []).append(values)
        if case.bayes is not None:
            bayes.append(case.bayes[:, columns].mean(axis=1))
    hits = np.concatenate(ours["hits"])
    words, kept = [f"hits {hits.mean():.4f}"], True
    if bayes:
        rule = np.concatenate(bayes)
        ratio, error = hits.mean() / rule.mean(), (hits - rule).std() / np.sqrt(len(hits)) / rule.mean()
        kept &= n < 3_000 or ratio >= 0.95 - 2 * error
        words.append(f"of Bayes' {rule.mean():.4f} {ratio:.3f} ± {error:.3f}")
    for kind, own in (("hits", hits), ("errors", np.concatenate(ours["errors"]) if ours["errors"] else None)):
        rates = {label: np.concatenate(values) for label, values in others[kind].items() if len(values) == seeds}
        if own is None or not rates:
            continue
        sign = 1.0 if kind == "hits" else -1.0
        label = max(rates, key=lambda label: sign * rates[label].mean())
        rival = rates[label]
        ratio, error = own.mean() / rival.mean(), (own - rival).std() / np.sqrt(len(own)) / rival.mean()
        kept &= ratio >= 0.99 - 2 * error if kind == "hits" else ratio <= 1.01 + 2 * error
        words.append(f"{kind} over {label} {ratio:.3f} ± {error:.3f}")
    claims.verdict(name, f"{name}, {n:,} records: " + ", ".join(words), bool(kept))


def main() -> int:
    """Run all settings, or those whose name has a word in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=3_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default="", help="settings with these words in their names")
    parser.add_argument("--quick", action="store_true", help="one seed, and limits are only printed")
    options = parser.parse_args()
    claims = Claims(judge=not options.quick)
    for name in SETTINGS:
        if options.only in name:
            compared(name, options.records, 1 if options.quick else options.seeds, claims)
    return claims.status()


if __name__ == "__main__":
    raise SystemExit(main())
