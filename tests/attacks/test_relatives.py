"""What other rows tell of a record: pseudonyms, neighbours in a file, and public numbers (A28)."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import veil
from veil.attacks.posterior.predictions import group_prediction, neighbour_prediction

N = 3_000


def hits(guess, x, tolerance=0.1):
    return float((np.abs(guess - x) <= tolerance * x.std()).mean())


def test_the_others_of_a_group_predict_like_the_best_linear_predictor():
    """Var g = 1, within 2: nine others leave 1 − 9/(9 + 2) = 0.182 of g's variance.

    Of 2,000 groups the share is known to √(2/2,000) = 3 % of itself; a mean without shrinkage would leave 2/9 = 0.222.
    """
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(2_000), 10)
    g = rng.normal(size=2_000)[codes]
    z = g + np.sqrt(2.0) * rng.normal(size=len(g))
    prediction = group_prediction(z[:, None], codes)[:, 0]
    assert np.mean((prediction - g) ** 2) == pytest.approx(2.0 / 11.0, rel=0.1)


def test_a_prediction_has_nothing_of_the_rows_own_noise():
    rng = np.random.default_rng(0)
    codes, z = np.repeat(np.arange(50), 20), rng.normal(size=(1_000, 1))
    z += rng.normal(size=50)[codes][:, None]
    changed = z.copy()
    changed[7] += 1.0
    before, after = (neighbour_prediction(each, np.arange(1_000))[0] for each in (z, changed))
    assert before[7] == pytest.approx(after[7])
    assert before[6] != pytest.approx(after[6])


def test_groups_that_do_not_differ_and_rows_in_no_order_say_nothing():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    kept, _ = veil.publish(x, veil.AdditiveNoise(1.0, random_state=0))
    shuffled = x[rng.permutation(N)]
    other, _ = veil.publish(shuffled, veil.AdditiveNoise(1.0, random_state=0))
    for release, truth in ((kept, x), (other, shuffled)):
        plain = hits(veil.BayesEstimateAttack().run(release).values, truth)
        assert hits(veil.JointPosteriorAttack().run(release).values, truth) == pytest.approx(plain, abs=0.01)


def test_equal_pseudonyms_take_off_noise_that_is_drawn_for_every_row():
    """30 rows of a person leave a deviation of about 1.5/√30: a hit with probability 2Φ(0.1·√30/1.5) − 1 = 0.28.

    Rows of one of the 200 persons stand and fall together: three standard errors are 3·√(0.28·0.72/200) = 0.1.
    """
    rng = np.random.default_rng(0)
    person = rng.permutation(np.repeat(np.arange(200), 30))
    weight = rng.normal(size=200)
    weight = ((weight - weight.mean()) / weight.std())[person]
    frame = pd.DataFrame({"name": [f"p{i}" for i in person], "weight": weight})
    parts = [(["name"], veil.Pseudonymize()), (["weight"], veil.AdditiveNoise(1.5, random_state=0))]
    roles = dict.fromkeys(frame.columns, "sensitive")
    with_names, _ = veil.publish(frame, veil.Plan(parts), roles=roles)
    without, _ = veil.publish(frame[["weight"]], veil.AdditiveNoise(1.5, random_state=0), roles={"weight": "sensitive"})
    rates = [hits(veil.JointPosteriorAttack().run(release).values[:, -1], weight) for release in (with_names, without)]
    assert rates[0] == pytest.approx(2.0 * ndtr(0.1 * np.sqrt(30) / 1.5) - 1.0, abs=0.1)
    assert rates[1] < 0.15


@pytest.mark.parametrize(
    ("method", "least"),
    [
        (veil.AdditiveNoise(1.5, random_state=0), 0.35),
        (veil.MultiplicativeNoise(0.5, bounds=(0.1, 2.5), random_state=0), 0.68),
        (veil.LogNormalNoise(0.7, random_state=0), 0.77),
    ],
)
def test_a_sorted_file_is_read_through_every_noise(method, least):
    """In a file sorted by a column its neighbours say nearly all of it."""
    x = np.sort(np.random.default_rng(0).lognormal(3.0, 0.5, N))[:, None]
    release, _ = veil.publish(x, method)
    assert hits(veil.JointPosteriorAttack().run(release).values, x) > least


def test_neighbours_answers_tell_a_randomized_one():
    """In a file sorted by the answer nearly all neighbours have the same one: ε = 1 of four categories is no cover."""
    answer = np.sort(np.random.default_rng(0).integers(0, 4, N))
    frame = pd.DataFrame({"answer": [f"v{k}" for k in answer]})
    method = veil.RandomizedResponse(epsilon=1.0, random_state=0)
    release, _ = veil.publish(frame, method, roles={"answer": "sensitive"})
    alone = veil.ResponsePosteriorAttack().run(release).values[:, 0]
    joint = veil.JointPosteriorAttack().run(release).values[:, 0]
    assert np.mean(alone == answer) < 0.55
    assert np.mean(joint == answer) > 0.95


def test_a_public_number_is_smoothed_over():
    """y follows a wave of a public number that no line and no bend at quartiles has."""
    rng = np.random.default_rng(0)
    age = rng.uniform(0.0, 20.0, N)
    frame = pd.DataFrame({"age": age, "dose": np.sin(2.0 * age)})
    release, _ = veil.publish(
        frame, veil.AdditiveNoise(1.5, random_state=0), roles={"age": "public", "dose": "sensitive"}, shuffle=True
    )
    public = release.table.read(["age"]).column(0).to_numpy()
    assert hits(veil.JointPosteriorAttack().run(release).values[:, 0], np.sin(2.0 * public)) > 0.2


def households(n=1_000, members=4, seed=0):
    rng = np.random.default_rng(seed)
    home, income = np.repeat(np.arange(n), members), rng.normal(size=n)
    return pd.DataFrame({"home": home, "income": income[home], "age": rng.normal(size=n * members)})


@pytest.mark.parametrize("shuffled", [False, True])
def test_one_noise_per_group_is_no_evidence_of_its_members(shuffled):
    """Income and noise of variance 1 leave 1/2 of it, to √(2/1,000) of itself; members taken for others leave 0.9."""
    frame = households()
    release, _ = veil.publish(frame, veil.AdditiveNoise(1.0, random_state=0), roles={"home": "group"}, shuffle=shuffled)
    guess = veil.JointPosteriorAttack(aim="mean").run(release)
    truth = frame["income"]
    if shuffled:
        other, key = veil.publish(frame, veil.AdditiveNoise(1.0, random_state=0), roles={"home": "group"}, shuffle=True)
        truth = truth.to_numpy()[key.row_order(key.ledger[0])]
        assert other.data.equals(release.data)
    error = (guess.values[:, 0] - truth) ** 2
    assert error.mean() == pytest.approx(0.5, abs=4 * 0.5 * np.sqrt(2 / 1_000))
    assert guess.details.probability[:, 0].mean() == pytest.approx(2 * ndtr(0.1 / np.sqrt(0.5)) - 1, abs=0.02)


def test_one_report_per_group_is_one_report():
    """A report that is kept with probability 0.75 tells that much; the most frequent of three is right in 84 %."""
    frame = households(1_000, 3)
    frame["tenure"] = np.where(frame["income"] > 0, "owner", "tenant")
    shares = {}
    for role in ("group", "quasi"):
        parts = [("home", veil.Pseudonymize()), ("tenure", veil.RandomizedResponse(keep=0.75, random_state=0))]
        release, _ = veil.publish(frame[["home", "tenure"]], veil.Plan(parts), roles={"home": role})
        guess = veil.JointPosteriorAttack().run(release)
        listing = release.manifest.parts[1].model.categories[0]
        shares[role] = float((np.array(listing)[guess.values[:, 0].astype(int)] == frame["tenure"]).mean())
    error = np.sqrt(0.75 * 0.25 / 1_000)
    assert shares["group"] == pytest.approx(0.75, abs=4 * error)
    assert shares["quasi"] == pytest.approx(0.84375, abs=4 * error)  # 0.75³ + 3·0.75²·0.25


def test_other_groups_with_the_same_mark_still_tell_of_one():
    """Incomes that differ by the size of the household are told by it, which the pseudonyms show."""
    rng = np.random.default_rng(0)
    size = rng.integers(1, 7, 1_000)
    home = np.repeat(np.arange(1_000), size)
    income = 3.0 * size + rng.normal(size=1_000)
    frame = pd.DataFrame({"home": home, "income": income[home], "age": rng.normal(size=len(home))})
    release, _ = veil.publish(frame, veil.AdditiveNoise(3.0, random_state=0), roles={"home": "group"}, shuffle=True)
    _, key = veil.publish(frame, veil.AdditiveNoise(3.0, random_state=0), roles={"home": "group"}, shuffle=True)
    truth = frame["income"].to_numpy()[key.row_order(key.ledger[0])]
    plain = veil.BayesEstimateAttack().run(release.part(0)).values[:, 0]
    guess = veil.JointPosteriorAttack(aim="mean").run(release).values[:, 0]
    assert ((guess - truth) ** 2).mean() < 0.2 * ((plain - truth) ** 2).mean()
