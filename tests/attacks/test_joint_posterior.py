"""A28: the joint posterior obeys Bayes' rule where it has a closed form, and uses what nobody else uses."""

import numpy as np
import pandas as pd
import pytest

import veil
from veil.errors import InputError
from veil.release.models import OrthogonalModel

A28 = veil.JointPosteriorAttack


def hits(guess, truth, columns=None):
    """The share of values within a tenth of a standard deviation; for categories, of right ones."""
    columns = range(truth.shape[1]) if columns is None else columns
    near = np.abs(guess.values - truth) <= 0.1 * np.nanstd(truth, axis=0)
    return float(near[:, columns].mean())


def curve(n, seed=0):
    t = np.random.default_rng(seed).uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t)])


def normals(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, 4)) + 0.5 * rng.normal(size=(n, 4))


def test_on_normal_data_it_is_the_normal_filter():
    """One component: the window around A6's mean; its stated probability is 2Φ(.1 s/√left) − 1 = the rate of hits."""
    x = normals(4_000)
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0, random_state=0))
    guess, filtered = A28().run(release), veil.BayesEstimateAttack().run(release)
    assert guess.details.components == 1
    assert np.abs(guess.values - filtered.values).max() < 0.05 * x.std(axis=0).max()
    error = np.sqrt(0.25 / x.size)
    assert abs(float(guess.details.probability.mean()) - hits(guess, x)) < 3 * error
    mean = A28(aim="mean").run(release)
    np.testing.assert_allclose(((mean.values - x) ** 2).mean(), ((filtered.values - x) ** 2).mean(), rtol=0.01)


def test_a_sample_on_a_curve_beats_every_covariance():
    """V6: noise as large as the column; a sample of other people shows where records can lie."""
    x, others = curve(3_000), curve(300, seed=1)
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0, random_state=0))
    best = max(
        hits(attack.run(release), x)
        for attack in (veil.UnivariateBayesAttack(aim="hit"), veil.BayesEstimateAttack(), veil.UnivariateBayesAttack())
    )
    with_sample = A28().run(release, veil.KnownSample(others))
    assert hits(with_sample, x) > 1.5 * best
    assert with_sample.details.share_of_sample > 0.5


def test_a_useless_sample_does_no_harm():
    x = normals(2_000)
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0, random_state=0))
    strange = np.random.default_rng(5).normal(loc=8.0, size=(50, 4))
    guess = A28().run(release, veil.KnownSample(strange))
    error = np.sqrt(0.25 / x.size)
    assert hits(guess, x) > hits(veil.BayesEstimateAttack().run(release), x) - 3 * error


@pytest.mark.parametrize("law", ["uniform", "laplace"])
def test_the_law_of_the_noise_is_used(law):
    """A column of two values: the posterior odds are the ratio of two densities of the published law."""
    rng = np.random.default_rng(2)
    x = rng.choice([0.0, 1.0], size=(3_000, 1))
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0, distribution=law, random_state=0))
    sigma = release.only_part.model.scale[0]
    y = release.to_numpy()[:, 0]
    guess = A28().run(release, veil.KnownSample(rng.choice([0.0, 1.0], size=(200, 1))))
    if law == "laplace":
        right = 1.0 - 0.5 * np.exp(-np.sqrt(2.0) / sigma * 0.5)
    else:  # one value is impossible unless y lies where both supports overlap
        right = 1.0 - 0.5 * max(2 * np.sqrt(3) * sigma - 1.0, 0.0) / (2 * np.sqrt(3) * sigma)
    assert abs(hits(guess, x) - right) < 3 * np.sqrt(right * (1 - right) / len(y)) + 0.01


def test_ranges_cut_the_posterior():
    rng = np.random.default_rng(3)
    x = rng.exponential(size=(3_000, 2))
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0, random_state=0))
    low, high = x.min(axis=0), x.max(axis=0)
    guess = A28().run(release, veil.KnownRanges(low, high))
    assert (guess.values >= low - 1e-6).all()
    assert (guess.values <= high + 1e-6).all()
    assert hits(guess, x) > hits(A28().run(release), x) + 2 * np.sqrt(0.25 / x.size)


def test_laplace_noise_is_not_taken_for_the_shape_of_the_data():
    """Normal data: two components would fit the noise's tails; the mean must not lose to A6's linear filter."""
    x = normals(3_000)
    release, _ = veil.publish(x, veil.AdditiveNoise(2.0, distribution="laplace", random_state=0))
    guess, linear = A28(aim="mean").run(release), veil.BayesEstimateAttack().run(release)
    assert guess.details.components == 1
    assert ((guess.values - x) ** 2).mean() < 1.01 * ((linear.values - x) ** 2).mean()


def test_mechanisms_never_leave_their_bounds():
    x = np.random.default_rng(4).uniform(0, 1, size=(1_000, 2))
    method = veil.LaplaceMechanism(epsilon=2.0, bounds=(0, 1), random_state=0)
    guess = A28().run(veil.publish(x, method)[0])
    assert guess.values.min() >= -1e-6
    assert guess.values.max() <= 1 + 1e-6


def test_heaps_inside_classes_are_named():
    """V11: heaps that a sample shows, and not the middles of the classes."""
    rng = np.random.default_rng(5)
    x = rng.choice([18.0, 23.5, 27.5, 38.5, 41.5, 67.0], size=(2_000, 1), p=[0.3, 0.2, 0.1, 0.2, 0.1, 0.1])
    release, _ = veil.publish(x[200:], veil.Discretize(random_state=0))
    guess = A28().run(release, veil.KnownSample(x[:200]))
    middle = veil.NoiseDistributionAttack().run(release)
    inside = release.only_part.model.edges[0]
    classes = np.searchsorted(inside, x[200:, 0], side="right")
    best = sum(np.unique(x[200:][classes == c], return_counts=True)[1].max() for c in np.unique(classes))
    assert hits(guess, x[200:]) == pytest.approx(best / 1_800, abs=0.02)
    assert hits(guess, x[200:]) > hits(middle, x[200:]) + 0.3


def profiles(n, d, seed=0):
    """Answers that hang together by a profile of the person."""
    rng = np.random.default_rng(seed)
    answers = np.random.default_rng(99).dirichlet(np.full(3, 0.3), size=(3, d))
    kind = rng.integers(0, 3, n)
    return np.column_stack([[rng.choice(3, p=answers[k, j]) for k in kind] for j in range(d)])


def responses(x, **settings):
    frame = pd.DataFrame(x, columns=[f"q{j}" for j in range(x.shape[1])])
    return veil.publish(frame, veil.RandomizedResponse(categories=[0, 1, 2], random_state=0, **settings))[0]


def test_other_answers_and_a_known_column_tell_of_randomized_ones():
    x = profiles(3_000, 10)
    release = responses(x, keep=0.6)
    alone = A28().run(release)
    rest = range(1, 10)
    error = np.sqrt(0.25 / x[:, 1:].size)
    assert hits(alone, x, rest) > hits(veil.ResponsePosteriorAttack().run(release), x, rest) - 2 * error
    known = A28().run(release, veil.KnownAttributes("q0", x[:, 0].astype(float)))
    assert (known.values[:, 0] == x[:, 0]).all()
    assert hits(known, x, rest) > hits(alone, x, rest) + 2 * error


@pytest.mark.parametrize("joint", [False, True])
def test_one_answer_by_itself_is_bayes_rule(joint):
    """A sample of the truth as the prior: the guess is the mode of P[r, s] π(s), up to the error of π."""
    rng = np.random.default_rng(6)
    x = rng.choice(3, size=(4_000, 1), p=[0.5, 0.3, 0.2])
    release = responses(x, keep=0.5, joint=joint)
    guess = A28().run(release, veil.KnownSample(rng.choice(3, size=(500, 1), p=[0.5, 0.3, 0.2]).astype(float)))
    reports = release.codes()[:, 0]
    odds = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]) * [0.5, 0.3, 0.2]
    expected = odds / odds.sum(axis=1, keepdims=True)
    assert (guess.values[:, 0] == expected[reports].argmax(axis=1)).mean() > 0.99 or joint
    assert np.abs(guess.details.probability[:, 0] - expected[reports].max(axis=1)).mean() < 0.05


@pytest.mark.parametrize(
    "method",
    [
        veil.MultiplicativeNoise(std=0.4, random_state=0),
        veil.LogNormalNoise(0.6, random_state=0),
        veil.CombinedNoise(random_state=0),
    ],
    ids=lambda method: method.describe(),
)
def test_factors_give_way_to_a_known_column_and_a_sample(method):
    """A column that repeats another one: whoever knows that one, knows this; a sample shows that they are equal."""
    rng = np.random.default_rng(7)
    first = rng.choice([5.0, 10.0, 20.0, 40.0], size=2_300)
    x = np.column_stack([first, 3.0 * first, rng.exponential(size=2_300) + 1.0])
    release, _ = veil.publish(x[300:], method)
    truth, middle = x[300:], [1]
    alone = hits(A28().run(release), truth, middle)
    known = A28().run(release, veil.KnownAttributes(("x0",), truth[:, :1]), veil.KnownSample(x[:300]))
    assert hits(known, truth, middle) > max(alone + 0.2, 0.9)
    assert hits(A28().run(release, veil.KnownAttributes(("x0",), truth[:, :1])), truth, middle) > alone
    assert hits(A28().run(release, veil.KnownSample(x[:300])), truth, middle) > alone


def test_zeros_and_signs_of_factors_come_back():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(500, 2)) * (rng.random((500, 2)) < 0.7)
    release, _ = veil.publish(x, veil.MultiplicativeNoise(random_state=0))
    guess = A28().run(release, veil.KnownSample(rng.normal(size=(40, 2))))
    assert (np.sign(guess.values) == np.sign(x)).all()


def plan_table(n=1_500, seed=9):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    city = np.where(rng.random(n) < 0.9, kind, rng.integers(0, 3, n))
    return kind, pd.DataFrame(
        {
            "b": rng.normal(size=n) + 3.0 * kind,
            "city": np.array(["ulm", "bonn", "aachen"])[city],
            "a": rng.normal(size=n) + 4.0 * (kind == 1),
            "group": np.array(["x", "y", "z"])[kind],
        }
    )


PLAN = veil.Plan(
    [
        ("city", veil.RandomizedResponse(keep=0.5, categories=["ulm", "bonn", "aachen"], random_state=0)),
        (["b", "a"], veil.AdditiveNoise(0.5, random_state=0)),
    ]
)


def test_parts_of_a_plan_and_public_columns_are_used_together():
    """V7, V12: the city follows from the noisy numbers, and all from a public category."""
    _, table = plan_table()
    truth = np.column_stack([table["city"].map({"ulm": 0, "bonn": 1, "aachen": 2}), table["b"], table["a"]])
    rates = {}
    for role in ("drop", "public"):
        release, _ = veil.publish(table, PLAN, roles={"group": role})
        guess = A28().run(release)
        assert guess.columns == ("city", "b", "a")
        rates[role] = hits(guess, truth, [0]), float(np.sqrt(((guess.values[:, 2] - truth[:, 2]) ** 2).mean()))
    alone = hits(veil.ResponsePosteriorAttack().run(release.part(0)), truth[:, :1])
    error = np.sqrt(0.25 / len(table))
    assert rates["drop"][0] > alone + 2 * error
    assert rates["public"][0] > rates["drop"][0] + 2 * error
    assert rates["public"][1] < 0.9 * rates["drop"][1]


def test_missing_cells_say_nothing_and_stay_missing():
    x = normals(1_000)
    holes = np.random.default_rng(10).random(x.shape) < 0.1
    release, _ = veil.publish(np.where(holes, np.nan, x), veil.AdditiveNoise(0.5, random_state=0))
    guess = A28().run(release, veil.KnownSample(normals(100, seed=3)))
    np.testing.assert_array_equal(np.isnan(guess.values), holes)
    np.testing.assert_array_equal(np.isnan(guess.details.probability), holes)
    filtered = veil.BayesEstimateAttack().run(release)
    ours, theirs = (np.nanmean((A.values - x) ** 2) for A in (guess, filtered))
    assert ours < 1.05 * theirs


def test_known_noise_of_a_column_is_taken_out_of_the_others():
    """Noise that columns share: who knows one column knows its noise, and with it most of the next one's."""
    x = normals(2_000)
    release, _ = veil.publish(x, veil.AdditiveNoise(1.0, similarity=0.9, random_state=0))
    known = veil.KnownAttributes(("x0",), x[:, :1])
    ours = A28(aim="mean").run(release, known)
    theirs = veil.PartialDisclosureAttack().run(release, known)
    ratio = ((ours.values[:, 1:] - x[:, 1:]) ** 2).mean() / ((theirs.values[:, 1:] - x[:, 1:]) ** 2).mean()
    assert ratio < 1.02


def test_what_does_not_fit_is_refused():
    x = normals(100)
    release, _ = veil.publish(x, veil.AdditiveNoise(random_state=0))
    with pytest.raises(InputError, match=r"KnownSample\.sample has 3 columns; the private table has 4"):
        A28().run(release, veil.KnownSample(x[:, :3]))
    with pytest.raises(InputError, match="KnownAttributes has 99 records; the release has 100"):
        A28().run(release, veil.KnownAttributes("x0", x[:99, 0]))
    with pytest.raises(InputError, match="tolerance"):
        A28(tolerance=0).run(release)
    with pytest.raises(InputError, match="prior"):
        A28(prior="guess").run(release)
    assert not A28.applies_to(OrthogonalModel.__new__(OrthogonalModel))


def test_an_audit_grants_in_the_order_and_codes_of_the_release():
    """The plan lists the city first and its categories unsorted; a sample in the table's order would mislead."""
    _, table = plan_table(900)
    audit = veil.audit(
        table, PLAN, roles={"group": "drop"}, attacks=[A28()], grants=veil.Grants.only(sample=[0.3]), seed=1
    )
    row = next(row for row in audit.candidates[0].rows if row.level.kind == "sample")
    assert row.tested
    assert row.value.advantage > 0.02
