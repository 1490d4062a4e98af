"""R5: trees on noisy values, on the functions of Agrawal and Srikant (2000)."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import veil
from veil.errors import InputError, NotApplicableError
from veil.recovery import NoisyTreeClassifier

SCALE = np.array([15.0, 32.5, 125.0])  # a quarter of each attribute's range


def people(n, seed, function):
    """Age, salary and loan, and group A by the authors' functions 1 and 2."""
    rng = np.random.default_rng(seed)
    age, salary, loan = rng.uniform(20, 80, n), rng.uniform(20, 150, n), rng.uniform(0, 500, n)
    if function == 1:
        group = (age < 40) | (age >= 60)
    else:
        low = np.select([age < 40, age < 60], [50, 75], 25)
        group = (salary >= low) & (salary <= low + 50)
    return np.column_stack([age, salary, loan]), np.where(group, "A", "B")


def scores(function, depth, seed):
    x, y = people(20_000, seed, function)
    test = people(20_000, seed + 100, function)
    noisy = x + np.random.default_rng(seed + 200).normal(size=x.shape) * SCALE
    return {
        kind: NoisyTreeClassifier(SCALE, reconstruction=kind, max_depth=depth, random_state=0)
        .fit(noisy, y)
        .score(*test)
        for kind in ("none", "global", "byclass")
    }


@pytest.mark.parametrize(("function", "depth", "margin"), [(1, 4, 0.25), (1, 6, 0.02), (2, 4, 0.08)])
def test_by_class_beats_the_noisy_values(function, depth, margin):
    """Gains ≈ .30, .07, .14 over four draws of 20,000; the margin holds three standard errors below their mean."""
    found = [scores(function, depth, seed) for seed in range(4)]
    for other in ("none", "global"):
        gains = [f["byclass"] - f[other] for f in found]
        assert np.mean(gains) - 3 * np.std(gains, ddof=1) / 2 > margin


def test_by_class_comes_near_the_clean_tree():
    assert scores(1, 6, 7)["byclass"] > 0.93


@parametrize_with_checks(
    [
        NoisyTreeClassifier(),
        NoisyTreeClassifier(0.5),
        NoisyTreeClassifier(0.5, distribution="laplace", reconstruction="global"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def frame(n=4_000):
    x, y = people(n, 0, 1)
    return pd.DataFrame(x, columns=["age", "salary", "loan"]).assign(group=y)


def test_fit_release_reads_the_law_from_the_manifest():
    table = frame()
    noise = veil.AdditiveNoise(SCALE, relative=False, random_state=0)
    release, _ = veil.publish(table, noise, roles={"group": "public"})
    told = NoisyTreeClassifier(random_state=0).fit_release(release, "group")
    x = release.data[["age", "salary", "loan"]]
    stated = NoisyTreeClassifier(SCALE, random_state=0).fit(x, table["group"])
    clean = table[["age", "salary", "loan"]]
    np.testing.assert_array_equal(told.predict_proba(clean), stated.predict_proba(clean))
    assert list(told.classes_) == ["A", "B"]
    assert told.score(clean, table["group"]) > 0.85
    with pytest.raises(InputError, match="target_column must be a public column of the release"):
        told.fit_release(release, "age")


def test_records_with_missing_values_are_left_out():
    table = frame()
    table.loc[:9, "age"] = np.nan
    table["group"] = (table["group"] == "A").astype(float)
    table.loc[5:14, "group"] = np.nan
    noise = veil.AdditiveNoise(SCALE, relative=False, random_state=0)
    release, _ = veil.publish(table, noise, roles={"group": "public"})
    assert NoisyTreeClassifier().fit_release(release, "group").n_left_out_ == 15


def test_other_methods_are_not_applicable():
    release, _ = veil.publish(frame(), veil.OrthogonalTransform(random_state=0), roles={"group": "public"})
    with pytest.raises(NotApplicableError, match="NoisyTreeClassifier has no theory"):
        NoisyTreeClassifier().fit_release(release, "group")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (NoisyTreeClassifier([1.0, 2.0]), "noise_scale must be"),
        (NoisyTreeClassifier(-1.0), "noise_scale must be"),
        (NoisyTreeClassifier("loud"), "noise_scale must be"),
        (NoisyTreeClassifier(1.0, distribution="cauchy"), "distribution must be"),
        (NoisyTreeClassifier(1.0, reconstruction="local"), "reconstruction must be"),
        (NoisyTreeClassifier(1.0, n_bins=0), "n_bins must be"),
    ],
)
def test_wrong_parameters(tree, message):
    x, y = people(50, 0, 1)
    with pytest.raises(InputError, match=message) as caught:
        tree.fit(x, y)
    assert "\n" not in str(caught.value)
