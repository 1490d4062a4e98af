"""Attacks on additive noise where records lack values: each pattern of missing values is a group of its own."""

import numpy as np
import pandas as pd
import pytest

import veil

ATTACKS = [veil.SpectralFilterAttack(), veil.PCAAttack(), veil.SVDAttack(), veil.BayesEstimateAttack(prior="mixture")]


def households(rng, n=1_500):
    """Adults and children: who has no income is a child, and children are young."""
    child = rng.random(n) < 0.3
    common = rng.normal(size=(n, 1))
    columns = common + 0.3 * rng.normal(size=(n, 4))
    frame = pd.DataFrame(columns, columns=["a", "b", "c", "income"])
    frame["age"] = np.where(child, -3.0, 1.0) + 0.5 * rng.normal(size=n)
    frame.loc[child, "income"] = np.nan
    return frame, child


def error(guess, truth):
    return float(np.nanmean((guess - truth) ** 2))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.label)
def test_what_needs_whole_records_is_run_on_each_pattern(attack):
    """On complete records the guess is that of the same attack on a release of them alone, to rounding."""
    frame, child = households(np.random.default_rng(0))
    release, _ = veil.publish(frame, veil.AdditiveNoise(1.0, relative=False, random_state=1))
    guess = attack.run(release)
    assert np.array_equal(np.isnan(guess.values), np.isnan(frame.to_numpy()))
    adults = release.table.read().to_pandas()[~child]
    model = release.manifest.parts[0].model
    described = veil.KnownNoise(covariance=model.covariance, distribution="normal")
    alone, _ = veil.publish(adults, veil.AdditiveNoise(1e-9, relative=False, random_state=2))
    expected = attack.run(alone, described).values
    assert np.allclose(guess.values[~child], expected, atol=1e-4)


def test_a_pattern_tells_of_its_people():
    """The age of those without an income is learned from them: its error is the group's variance at any noise."""
    errors, pooled = [], []
    for seed in range(2):
        frame, child = households(np.random.default_rng(seed))
        release, _ = veil.publish(frame, veil.AdditiveNoise(5.0, relative=False, random_state=seed))
        truth = frame["age"].to_numpy()[child]
        for attack, results in (
            (veil.BayesEstimateAttack(prior="mixture"), errors),
            (veil.BayesEstimateAttack(), pooled),
        ):
            results.append(error(attack.run(release).values[child, 4], truth))
    # The group's variance is 0.25, and its mean of 450 noisy ages is known to 25/450; everybody's variance is 3.6.
    assert np.mean(errors) == pytest.approx(0.25 + 25 / 450, abs=0.2)
    assert np.mean(pooled) > 2.0


def test_two_constants_by_pattern_are_what_any_noise_leaves():
    """Noise of eight deviations hides every age, and not who has no income: the joint posterior guesses both groups."""
    gains = []
    for seed in range(3):
        frame, _ = households(np.random.default_rng(seed))
        release, _ = veil.publish(frame, veil.AdditiveNoise(8.0, relative=False, random_state=seed))
        age = frame["age"].to_numpy()
        reach = 0.1 * age.std()
        guess = veil.JointPosteriorAttack(aim="hit").run(release).values[:, 4]
        constant = max(np.mean(np.abs(age - middle) <= reach) for middle in np.linspace(-5.0, 3.0, 400))
        gains.append(np.mean(np.abs(guess - age) <= reach) - constant)
    assert np.mean(gains) > 0.02  # two constants known exactly gain 0.09


def test_rare_patterns_are_guessed_too():
    rng = np.random.default_rng(2)
    frame, _ = households(rng)
    frame.iloc[:5, 0] = np.nan
    release, _ = veil.publish(frame, veil.AdditiveNoise(1.0, random_state=1))
    guess = veil.PCAAttack().run(release)
    assert np.array_equal(np.isnan(guess.values), np.isnan(frame.to_numpy()))


def test_an_audit_of_a_table_with_gaps_runs_the_filters():
    frame, _ = households(np.random.default_rng(3), 600)
    audit = veil.audit(frame, veil.AdditiveNoise(1.0), grants=veil.Grants.only(), seed=0)
    run = {row.attack for row in audit.rows}
    assert {attack.label for attack in ATTACKS[:3]} <= run
    assert any(label.startswith("bayes-estimate-attack (prior mixture") for label in run)
    refused = {s.attack for s in audit.candidates[0].skipped if "whole records" in s.reason or "complete" in s.reason}
    assert not refused
