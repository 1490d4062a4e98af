"""A30: who is in the table? Likelihood ratios of whole releases, with and without a person."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from _tables import described
from veil import MembershipAttack
from veil.errors import NotApplicableError
from veil.measures import membership_advantage, membership_bound, roc_area
from veil.release.models import ForeignModel


def population(rng, n, d=4):
    return np.exp(0.5 * rng.normal(size=(n, d))) @ (np.eye(d) + 0.3)


def elsewhere(x):
    table = pa.table({f"x{j}": column for j, column in enumerate(x.T)})
    return described(table, ForeignModel(), names=table.column_names, unknown=True)


def area(release, x, n):
    scores = MembershipAttack().run(release, veil.ExternalTable(x)).scores
    return roc_area(scores[:n], scores[n:])


def test_of_one_person_the_score_is_the_mean_likelihood_ratio_over_the_rows():
    """Λ = (1/N) Σ P(y_i | x)/λ(y_i), for answers of a public matrix P and the release's own shares λ."""
    frame = pd.DataFrame({"answer": ["a"] * 30 + ["b"] * 50 + ["c"] * 20})
    release, _ = veil.publish(frame, veil.RandomizedResponse(keep=0.5, random_state=0))
    model, reports = release.only_part.model, release.table.read().column("answer").to_pylist()
    categories, matrix = model.categories[0], model.matrices[0]
    codes = np.array([categories.index(value) for value in reports])
    shares = np.bincount(codes, minlength=3) / 100
    for x, person in enumerate(categories):
        known = veil.ExternalTable({"answer": [person]})
        presence, ratio = MembershipAttack().weigh(release, known), matrix[codes, x] / shares[codes]
        assert MembershipAttack().run(release, known).scores[0] == pytest.approx(np.log(ratio.mean()), abs=1e-9)
        row, nobody = np.array([7]), np.array([-1])
        assert presence.of_rows(row, nobody)[0] == pytest.approx(np.log(ratio[7]), abs=1e-9)
        assert presence.without(row)[0] == pytest.approx(np.log(np.delete(ratio, 7).mean()), abs=1e-9)
        some = np.arange(100) < 40
        expected = [np.log(ratio[some].mean()), np.log(ratio[~some].mean())]
        np.testing.assert_allclose(presence.among(np.array([some, ~some]))[:, 0], expected, atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_copies_tell_everybody(d):
    x = population(np.random.default_rng(d), 1_000, d)
    assert area(elsewhere(x[:500]), x, 500) > 0.99


@pytest.mark.parametrize(
    "perturbation",
    [
        veil.AdditiveNoise(1e-4, random_state=0),
        veil.OrthogonalTransform(random_state=0),
        veil.MultiplicativeNoise(1e-3, random_state=0),
    ],
)
def test_so_do_releases_with_hardly_any_noise_and_lengths_that_rotations_keep(perturbation):
    x = population(np.random.default_rng(7), 800)
    release, _ = veil.publish(x[:400], perturbation)
    assert area(release, x, 400) > 0.95


@pytest.mark.parametrize("release", ["fresh draws", "noise", "laplace, ε = 0.5 for a record"])
def test_where_nothing_is_told_the_area_is_one_half(release):
    """20 tables: the mean area is 1/2 to four standard errors, and the intervals hold it."""
    areas = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = population(rng, 600)
        if release == "fresh draws":
            areas.append(area(elsewhere(population(rng, 300)), x, 300))
            continue
        key = {"random_state": seed}
        method = (
            veil.AdditiveNoise(50.0, **key) if release == "noise" else veil.LaplaceMechanism(0.125, (0.0, 8.0), **key)
        )
        areas.append(area(veil.publish(x[:300], method)[0], x, 300))
    values = np.array([float(each) for each in areas])
    assert values.mean() == pytest.approx(0.5, abs=4 * np.sqrt(601 / (12 * 300 * 300)) / np.sqrt(20))
    assert sum(not each.low <= 0.5 <= each.high for each in areas) <= 4


def test_who_knows_all_records_but_one_learns_as_much_as_epsilon_allows():
    """A yes or no with even odds: the own row agrees with p = e^ε/(1 + e^ε), another's with 1/2.

    So TPR − FPR is p − 1/2 = tanh(ε/2)/2, and the area 1/2 + tanh(ε/2)/4; the bound is tanh(ε/2), for neighbours that
    differ. Among all rows nothing is left of it.
    """
    epsilon, n, rng = 1.0, 4_000, np.random.default_rng(0)
    frame = pd.DataFrame({"yes": rng.choice(["no", "yes"], 2 * n)})
    release, _ = veil.publish(frame[:n], veil.RandomizedResponse(epsilon=epsilon, random_state=0))
    presence = MembershipAttack().weigh(release, veil.ExternalTable(frame[: n + 1_000]))
    own = np.r_[np.arange(n), np.full(1_000, -1)]
    scores, alone = presence.scores(), presence.of_rows(np.r_[np.arange(n), rng.integers(0, n, 1_000)], own)
    advantage = membership_advantage(alone[:n], alone[n:])
    error = np.sqrt(0.25 / n + 0.25 / 1_000)
    assert float(advantage) == pytest.approx(np.tanh(epsilon / 2) / 2, abs=4 * error)
    assert float(advantage) < membership_bound(epsilon)
    assert float(roc_area(alone[:n], alone[n:])) == pytest.approx(0.5 + np.tanh(epsilon / 2) / 4, abs=4 * error / 2)
    assert float(roc_area(scores[:n], scores[n:])) == pytest.approx(0.5, abs=4 * error / 2)


def test_who_is_left_out_scores_like_a_stranger():
    """The own row taken out, against people who were never in; with it left in, nobody would be a stranger."""
    x = population(np.random.default_rng(3), 1_200)
    release, _ = veil.publish(x[:600], veil.AdditiveNoise(0.05, random_state=3))
    presence = MembershipAttack().weigh(release, veil.ExternalTable(x))
    scores, without = presence.scores(), presence.without(np.r_[np.arange(600), np.full(600, -1)])
    np.testing.assert_allclose(without[600:], scores[600:], atol=1e-9)
    assert float(roc_area(without[:600], scores[600:])) == pytest.approx(0.5, abs=4 * np.sqrt(1 / (6 * 600)))
    withheld, left_out = roc_area(scores[:600], scores[600:]), roc_area(scores[:600], without[:600], paired=True)
    assert float(left_out) == pytest.approx(float(withheld), abs=4 * (withheld.high - withheld.low) / 3.92)
    assert withheld.low > 0.9


def test_other_people_tell_how_usual_a_row_is():
    """With a reference the attack is stronger than with each person alone, as Neyman and Pearson have it."""
    x = population(np.random.default_rng(4), 1_000)
    release, _ = veil.publish(x[:500], veil.AdditiveNoise(0.3, random_state=4))
    together = float(area(release, x, 500))
    alone = np.array(
        [MembershipAttack().run(release, veil.ExternalTable(x[[i]])).scores[0] for i in range(0, 1_000, 5)]
    )
    assert together > float(roc_area(alone[:100], alone[100:]))


MATRICES = [
    veil.PairwiseRotation(random_state=0),
    veil.OrthogonalTransform(translation=1.0, random_state=0),
    veil.LinearTransform(random_state=0),
    veil.RandomProjection(2, random_state=0),
    veil.TransformDomain(random_state=0),
]


@pytest.mark.parametrize("method", MATRICES, ids=lambda method: type(method).__name__)
def test_who_knows_all_records_but_one_has_the_matrix(method):
    """Members by their own row against people who are not in it, and against everybody by the row of another."""
    x = population(np.random.default_rng(1), 400)
    release, _ = veil.publish(x[:300], method)
    presence = MembershipAttack().weigh(release, veil.ExternalTable(x))
    own = np.r_[np.arange(300), np.full(100, -1)]
    scores = presence.of_rows(np.r_[np.arange(300), np.arange(100)], own)
    assert float(roc_area(scores[:300], scores[300:])) > 0.99
    others = presence.of_rows(np.roll(np.arange(400), 1) % 300, own)
    assert float(roc_area(scores[:300], others)) > 0.99


@pytest.mark.parametrize(
    ("method", "least"),
    [(veil.OrthogonalTransform(translation=1.0, random_state=0), 0.9), (veil.PairwiseRotation(random_state=0), 0.6)],
)
def test_people_at_hand_undo_a_rotation(method, least):
    """Half of the 800 people are in the release: a sample, by which A11 and A27 turn it back."""
    x = population(np.random.default_rng(2), 800)
    assert area(veil.publish(x[:400], method)[0], x, 400).low > least


def test_what_has_no_rows_of_records_is_refused():
    x = population(np.random.default_rng(5), 100) > 2.0
    release, _ = veil.publish(x.astype(float), veil.BinaryProjection(3, random_state=0))
    with pytest.raises(NotApplicableError, match="compared with"):
        MembershipAttack().run(release, veil.ExternalTable(x.astype(float)))


def test_the_probability_is_that_of_even_odds():
    x = population(np.random.default_rng(6), 50)
    release, _ = veil.publish(x, veil.AdditiveNoise(0.5, random_state=6))
    found = MembershipAttack().run(release, veil.ExternalTable(x[:5]))
    np.testing.assert_allclose(np.log(found.probability / (1 - found.probability)), found.scores, atol=1e-4)
    assert "5 people by 4 columns" in repr(found)
