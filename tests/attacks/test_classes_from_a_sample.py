"""A28: what a category has to do with numbers, as a sample shows it, behind noise that hides it from single records."""

import numpy as np
import pandas as pd
import pytest

import veil
from veil.attacks.posterior.discriminants import discriminant, posteriors
from veil.attacks.posterior.mixture import one_normal
from veil.attacks.posterior.reading import observe
from veil.attacks.posterior.sample import read_sample

N, SAMPLE, D, CLASSES = 4_000, 400, 6, 3
MIX = np.random.default_rng(7).normal(size=(2, D))
MIDDLES = np.array([[-1.2, 0.0], [0.0, 1.0], [1.2, -0.4]])
SHARES = np.array([0.45, 0.3, 0.25])


def people(n, seed):
    """Numbers that are normal in every class, with one covariance, and the class."""
    rng = np.random.default_rng(seed)
    state = rng.choice(CLASSES, size=n, p=SHARES)
    x = (MIDDLES[state] + 0.6 * rng.normal(size=(n, 2))) @ MIX + 0.5 * rng.normal(size=(n, D))
    return x, state


def released(x, state, scale, seed):
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(D)]).assign(kind=np.array(list("abc"))[state])
    plan = veil.Plan(
        [
            (None, veil.AdditiveNoise(scale, random_state=seed)),
            (["kind"], veil.RandomizedResponse(epsilon=0.1, random_state=seed)),
        ]
    )
    return veil.publish(table, plan, roles={"kind": "sensitive"})[0]


def best_possible(release, state):
    """The Bayes rule by the true classes and the published noise: nobody guesses more of them right."""
    numbers, noise = release.part(0).to_numpy(), release.manifest.parts[0].model.covariance
    middles, within = MIDDLES @ MIX, 0.36 * MIX.T @ MIX + 0.25 * np.eye(D) + noise
    inverse = np.linalg.inv(within)
    odds = numbers @ inverse @ middles.T - 0.5 * np.einsum("kd,de,ke->k", middles, inverse, middles) + np.log(SHARES)
    (channel,) = release.manifest.parts[1].model.matrices
    odds += np.log(channel[release.part(1).codes()[:, 0]])
    return (odds.argmax(axis=1) == state).mean()


@pytest.mark.parametrize("scale", [1.5, 2.5])
def test_a_sample_of_400_comes_near_the_bayes_rule_with_every_key(scale):
    """Kernels alone, chosen by what they say of noisy numbers, found the link with some keys and not with others."""
    chance, gains, best = SHARES.max(), [], []
    for seed in range(4):
        x, state = people(N, seed)
        others = np.column_stack([*people(SAMPLE, 100 + seed)])
        release = released(x, state, scale, seed)
        guess = veil.JointPosteriorAttack().run(release, veil.KnownSample(others))
        gains.append((guess.values[:, D] == state).mean() - chance)
        best.append(best_possible(release, state) - chance)
    assert np.mean(best) > 0.04  # there is something to be told
    error = np.sqrt(0.25 / N)
    assert (np.array(gains) < np.array(best) + 3 * error).all()
    assert (np.array(gains) > 0.6 * np.array(best) - 3 * error).all()


def test_the_classes_have_the_posterior_of_fishers_discriminant():
    """Of 4,000 records, as many as are used of a sample: means and covariance are the law's, up to their errors."""
    x, state = people(N, 0)
    release = released(x, state, 1.5, 0)
    observations = observe(release, ())
    sample = read_sample(observations, np.column_stack([*people(20_000, 1)]))
    classes = discriminant(observations, one_normal(observations), sample, 0)
    assert classes is not None
    reports = [variable.reports for variable in observations.variables]
    probability = np.empty((N, CLASSES))
    for rows, _, part in posteriors(classes, [0], observations.z, reports, observations.variables):
        probability[rows] = part
    (channel,) = release.manifest.parts[1].model.matrices
    middles, noise = MIDDLES @ MIX, release.manifest.parts[0].model.covariance
    inverse = np.linalg.inv(0.36 * MIX.T @ MIX + 0.25 * np.eye(D) + noise)
    apart = release.part(0).to_numpy()[:, None, :] - middles
    odds = SHARES * channel[reports[0]] * np.exp(-0.5 * np.einsum("nkd,de,nke->nk", apart, inverse, apart))
    expected = odds / odds.sum(axis=1, keepdims=True)
    assert np.abs(probability - expected).max() < 0.05
    assert np.abs(probability - expected).mean() < 0.006


def test_a_sample_that_says_nothing_seldom_does_harm():
    """Categories that have nothing to do with the numbers: with 9 of 10 samples the mode remains the guess."""
    harmed = 0
    for seed in range(10):
        x, state = people(1_000, 10 + seed)
        state = np.random.default_rng(30 + seed).permutation(state)
        others, kinds = people(SAMPLE, 50 + seed)
        sample = np.column_stack([others, np.random.default_rng(70 + seed).permutation(kinds)])
        guess = veil.JointPosteriorAttack().run(released(x, state, 1.5, seed), veil.KnownSample(sample))
        harmed += (guess.values[:, D] == state).mean() < np.bincount(state).max() / 1_000 - 3 * np.sqrt(0.25 / 1_000)
    assert harmed <= 1
