"""A28 beside the Bayes rule, where the law of the table is known and the rule can be worked out."""

import numpy as np
import pytest
from scipy import stats

import veil
from veil.attacks.posterior.components import Components
from veil.attacks.posterior.mixture import complete_records
from veil.attacks.posterior.reading import observe

A28 = veil.JointPosteriorAttack
N = 3_000


def published(x, sigma, seed, law="normal"):
    method = veil.AdditiveNoise(sigma, relative=False, distribution=law, random_state=seed)
    return veil.publish(x, method)[0]


def hits(values, x):
    """Whether each value is within a tenth of a standard deviation."""
    return 1.0 * (np.abs(values - x) <= 0.1 * x.std(axis=0))


def not_more_below(ours, rule, share):
    """Whether the rate is at least this share of the rule's, up to three standard errors over records."""
    short = share * rule.mean(axis=1) - ours.mean(axis=1)
    return short.mean() <= 3 * short.std() / np.sqrt(len(short))


def clusters(k, d, seed):
    """A mixture of normals, its parameters, and records of it."""
    rng = np.random.default_rng([seed, k, d])
    roots = rng.normal(size=(k, d, d)) * np.sqrt(0.3 / d)
    spreads = roots @ roots.transpose(0, 2, 1) + 0.0625 * np.eye(d)
    means, weights = 2 * rng.normal(size=(k, d)), rng.dirichlet(np.full(k, 5.0))
    label = rng.choice(k, N, p=weights)
    noise = np.einsum("nij,nj->ni", np.linalg.cholesky(spreads)[label], rng.normal(size=(N, d)))
    return means[label] + noise, weights, means, spreads


def rule_of_clusters(y, x, weights, means, spreads, sigma):
    """Hits of the window that most probably holds each value, under the true mixture."""
    d, reach = y.shape[1], 0.1 * x.std(axis=0)
    totals = spreads + sigma**2 * np.eye(d)
    density = [w * stats.multivariate_normal(m, t).pdf(y) for w, m, t in zip(weights, means, totals, strict=True)]
    shares = np.array(density) / np.sum(density, axis=0)
    out = np.empty(x.shape)
    for j in range(d):
        gains = [spread[j] @ np.linalg.inv(total) for spread, total in zip(spreads, totals, strict=True)]
        middles = np.array([m[j] + (y - m) @ g for m, g in zip(means, gains, strict=True)])
        left = np.array([np.sqrt(s[j, j] - g @ s[:, j]) for s, g in zip(spreads, gains, strict=True)])[:, None]
        places = np.linspace(middles.min(axis=0), middles.max(axis=0), 300)
        mass = sum(
            share * (stats.norm.cdf((places + reach[j] - m) / s) - stats.norm.cdf((places - reach[j] - m) / s))
            for share, m, s in zip(shares, middles, left, strict=True)
        )
        out[:, j] = np.take_along_axis(places, mass.argmax(axis=0)[None], axis=0)[0]
    return hits(out, x)


@pytest.mark.parametrize(("k", "d", "sigma"), [(2, 2, 0.4), (3, 3, 0.4), (3, 5, 1.0)])
def test_clusters_are_told_within_five_percent_of_the_rule(k, d, sigma):
    ours, rule = [], []
    for seed in range(2):
        x, *law = clusters(k, d, seed)
        release = published(x, sigma, seed)
        ours.append(hits(A28().run(release).values, x))
        rule.append(rule_of_clusters(release.to_numpy(), x, *law, sigma))
    assert not_more_below(np.vstack(ours), np.vstack(rule), 0.95)


@pytest.mark.parametrize(("law", "sigma"), [("normal", 1.0), ("uniform", 1.5), ("laplace", 1.5)])
def test_few_types_and_a_sample_are_told_within_five_percent_of_the_rule(law, sigma):
    """Twenty types of five numbers, all of them in the sample: the rule weighs the types by the noise's law."""
    rng = np.random.default_rng(9)
    types, shares = rng.normal(size=(20, 5)), rng.dirichlet(np.full(20, 5.0))
    x = types[rng.choice(20, N + 300, p=shares)]
    x, sample = x[300:], x[:300]
    release = published(x, sigma, 0, law)
    y, laws = release.to_numpy(), {"normal": stats.norm(), "uniform": stats.uniform(-(3**0.5), 12**0.5)}
    noise = laws.get(law, stats.laplace(0, 0.5**0.5))
    density = shares * np.prod([noise.pdf((y[:, [j]] - types[:, j]) / sigma) for j in range(5)], axis=0)
    out = np.empty(x.shape)
    for j, width in enumerate(0.2 * x.std(axis=0)):
        inside = (types[:, j] >= types[:, j][:, None] - 1e-12) & (types[:, j] <= types[:, j][:, None] + width)
        best = types[(density @ inside.T).argmax(axis=1), j]
        out[:, j] = (x[:, j] >= best - 1e-12) & (x[:, j] <= best + width)
    assert not_more_below(hits(A28().run(release, veil.KnownSample(sample)).values, x), out, 0.95)


@pytest.mark.parametrize("law", ["normal", "uniform", "laplace"])
def test_a_heap_of_zeros_is_found_behind_noise(law):
    """Six of ten people have zero; whoever guesses zero for everybody gets six of ten right."""
    rng = np.random.default_rng(1)
    x = np.where(rng.random(N) < 0.6, 0.0, np.exp(rng.normal(size=N)))[:, None]
    ours = hits(A28().run(published(x, 0.7 * x.std(), 0, law)).values, x)
    assert ours.mean() > (x == 0).mean() - 3 * np.sqrt(0.24 / N)


@pytest.mark.parametrize("draw", ["laplace", "normal"])
def test_a_smooth_peak_at_zero_costs_little(draw):
    """A peak may be taken for a heap now and then: on average hardly a guess is lost by it."""
    ours, plain = [], []
    for seed in range(6):
        x = getattr(np.random.default_rng([seed, 2]), draw)(size=N)[:, None]
        release = published(x, 0.4 * x.std(), seed)
        ours.append(hits(A28().run(release).values, x))
        plain.append(hits(veil.UnivariateBayesAttack(aim="hit").run(release).values, x))
    assert not_more_below(np.vstack(ours), np.vstack(plain), 0.97)


@pytest.mark.parametrize("law", ["normal", "uniform", "laplace"])
def test_a_sample_of_another_population_of_the_same_spread_misleads_nobody(law):
    """Its records are none of the release's people; whoever took them for that would guess worse than without them."""
    ours, alone = [], []
    for seed in range(2):
        rng = np.random.default_rng([seed, 20])
        own, other = rng.normal(size=(2, 8, 8)) / np.sqrt(8)
        x, sample = rng.normal(size=(N, 8)) @ own, rng.normal(size=(400, 8)) @ other
        release = published(x, 2.0, seed, law)
        ours.append(hits(A28().run(release, veil.KnownSample(sample)).values, x))
        alone.append(hits(A28(prior="mixture").run(release, veil.KnownSample(sample)).values, x))
    assert not_more_below(np.vstack(ours), np.vstack(alone), 0.97)


def test_the_likelihood_of_classes_rises_with_every_step():
    """Middles of classes have the spread that values have in a class: no component may be narrower than it."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(N, 2)) * 0.4 + 3.0 * rng.integers(0, 2, N)[:, None]
    release, _ = veil.publish(x, veil.Discretize(8, random_state=0))
    observations = observe(release, ())
    records = complete_records(observations, np.ones(2, dtype=bool), np.arange(N))
    fit, values = Components.of_labels(records, (records.z > [0.0, 0.7]).sum(axis=1), 3), []
    for _ in range(12):
        total, shares = fit.shares(records)
        values.append(total.mean())
        fit = fit.maximised(records, shares)
    assert (np.diff(values) > -1e-6).all()
    assert values[-1] > values[0] + 0.01
    best, value = fit.climbed(records)
    assert value == pytest.approx(best.shares(records)[0].mean(), abs=1e-12)
