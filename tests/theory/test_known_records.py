"""A10: known records without rows undo an orthogonal transformation (tutorial, a-priori knowledge)."""

import numpy as np
import pytest

import veil
from _tables import published, release_of, within_standard_errors
from veil.attacks.rotation.known_records import KnownRecordsAttack
from veil.attacks.rotation.matching import match_records
from veil.release.models import OrthogonalModel

# The slide's five records (balance, income, interest), those of which its released columns were computed.
SLIDES = np.array([[10, 85, 2], [15, 70, 18], [20, 120, 35], [45, 23, 134], [80, 40, 15]], dtype=float)
SLIDE_R = np.array([[1, 2, 2], [-2, 2, -1], [-2, -1, 2]]) / 3


def rotated(x, seed=0, **options):
    return published(x, veil.OrthogonalTransform(random_state=seed, **options))


def by_hand(y, *, translated=False, unit=None, dtype="float64"):
    """A release with these rows and an orthogonal manifest."""
    model = OrthogonalModel(np.ones(y.shape[1]) if unit is None else np.array(unit), False, float(translated))
    return release_of(y, model, dtype, method="orthogonal-transform")


def test_the_tutorials_example():
    """Three known records, found by length; regression gives the other two exactly."""
    y = SLIDES @ SLIDE_R.T
    np.testing.assert_allclose(y[0], [61.333, 49.333, -33.667], atol=1e-3)
    guess = KnownRecordsAttack().run(by_hand(y), veil.attacks.knowledge.KnownRecords(SLIDES[[1, 3, 4]]))
    np.testing.assert_allclose(guess.values, SLIDES, atol=1e-10)
    assert guess.details["matched"].tolist() == [1, 3, 4]
    assert (guess.details["unique"], guess.details["unmatched"], guess.details["rank"]) == (3, 0, 3)
    assert guess.ambiguity == "none"


def test_the_printed_example_with_two_decimals():
    y = np.round(SLIDES @ SLIDE_R.T, 2)
    guess = KnownRecordsAttack().run(by_hand(y), veil.attacks.knowledge.KnownRecords(SLIDES[[4, 0, 2]]))
    assert guess.details["matched"].tolist() == [4, 0, 2]
    np.testing.assert_allclose(guess.values, SLIDES, atol=0.05)


@pytest.mark.parametrize("scaling", ["std", None])
@pytest.mark.parametrize("translation", [0.0, 2.0])
def test_d_records_recover_everything(scaling, translation):
    rng = np.random.default_rng(0)
    x = rng.lognormal(size=(500, 5)) * [1, 10, 100, 0.1, 3]
    rows = rng.choice(500, size=6 if translation else 5, replace=False)
    release = rotated(x, scaling=scaling, translation=translation)
    guess = KnownRecordsAttack().run(release, veil.attacks.knowledge.KnownRecords(x[rows]))
    np.testing.assert_array_equal(guess.details["matched"], rows)
    assert np.abs(guess.values - x).max() < 1e-8 * np.abs(x).max()
    assert guess.details["misfit"] < 1e-12


def test_the_same_as_known_pairs_when_the_rows_are_found():
    """A10 is A9 after the matching; with fewer records than columns too."""
    rng = np.random.default_rng(1)
    x = rng.gamma(2.0, size=(300, 6))
    for known in (1, 3, 6):
        release = rotated(x, seed=known)
        ours = KnownRecordsAttack().run(release, veil.attacks.knowledge.KnownRecords(x[:known]))
        pairs = veil.KnownPairsAttack().run(release, veil.KnownPairs(x[:known], np.arange(known)))
        np.testing.assert_allclose(ours.values, pairs.values, atol=1e-9)
        assert ours.details["rank"] == pairs.details["rank"] == known


def test_a_rotation_needs_one_record_less():
    x = np.random.default_rng(2).gamma(2.0, size=(200, 4))
    proper = KnownRecordsAttack().run(rotated(x, proper=True), veil.attacks.knowledge.KnownRecords(x[:3]))
    assert np.abs(proper.values - x).max() < 1e-9
    other = KnownRecordsAttack().run(rotated(x), veil.attacks.knowledge.KnownRecords(x[:3]))
    assert np.abs(other.values - x).max() > 0.1


def test_strangers_among_the_known_records_do_no_harm():
    rng = np.random.default_rng(3)
    x = rng.gamma(2.0, size=(1_000, 4))
    known = np.vstack([rng.gamma(2.0, size=(3, 4)), x[:5]])
    guess = KnownRecordsAttack().run(rotated(x), veil.attacks.knowledge.KnownRecords(known))
    assert guess.details["matched"].tolist() == [-1, -1, -1, 0, 1, 2, 3, 4]
    assert (guess.details["unmatched"], guess.details["unique"], guess.details["ambiguous"]) == (3, 5, 0)
    assert np.abs(guess.values - x).max() < 1e-9


def test_rounded_releases_and_rounded_knowledge():
    rng = np.random.default_rng(4)
    x = rng.gamma(2.0, size=(2_000, 4)) * 10
    q, r = np.linalg.qr(rng.normal(size=(4, 4)))
    y = x @ (q * np.sign(np.diag(r))).T
    guess = KnownRecordsAttack().run(by_hand(np.round(y, 2)), veil.attacks.knowledge.KnownRecords(x[:10]))
    assert guess.details["matched"].tolist() == list(range(10))
    assert np.abs(guess.values - x).max() < 0.1
    # Known to one decimal: the attacker says so.
    coarse = veil.attacks.knowledge.KnownRecords(np.round(x[:10], 1))
    assert KnownRecordsAttack().run(by_hand(y), coarse).details["unmatched"] == 10
    told = KnownRecordsAttack(tolerance=0.1).run(by_hand(y), coarse)
    assert told.details["matched"].tolist() == list(range(10))
    assert np.abs(told.values - x).max() < 1.0


def test_duplicates_leave_the_row_open_but_not_the_matrix():
    x = np.random.default_rng(5).gamma(2.0, size=(200, 3))
    x[100] = x[0]
    guess = KnownRecordsAttack().run(rotated(x), veil.attacks.knowledge.KnownRecords(x[:3]))
    assert (guess.details["unique"], guess.details["ambiguous"]) == (2, 1)
    assert guess.ambiguity == "none"
    assert np.abs(guess.values - x).max() < 1e-9


def test_mirror_images_are_called_ambiguous():
    """Every record has a mirror image: the attack recovers the table or its mirror image, and says so."""
    half = np.random.default_rng(6).normal(size=(100, 3))
    x = np.vstack([half, half * [-1, 1, 1]])
    guess = KnownRecordsAttack().run(rotated(x, scaling=None), veil.attacks.knowledge.KnownRecords(x[:5]))
    assert guess.ambiguity == "match"
    assert guess.details["unique"] == 0
    error = min(np.abs(guess.values - image).max() for image in (x, x * [-1, 1, 1]))
    assert error < 1e-9


def haar(d, seed):
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))
    return q * np.sign(np.diag(r))


@pytest.mark.parametrize("seed", range(8))
def test_of_exact_matchings_the_one_inside_the_known_range_is_taken(seed):
    """The known records' mirror images are in the table too; only the other records tell which is which."""
    rng = np.random.default_rng(seed)
    x = rng.gamma(2.0, size=(100, 3))
    x = np.vstack([x[:6] * [-1, 1, 1], x])[rng.permutation(106)]
    known = x[x[:, 0] < 0] * [-1, 1, 1]
    guess = KnownRecordsAttack().run(by_hand(x @ haar(3, seed).T), veil.attacks.knowledge.KnownRecords(known))
    assert guess.ambiguity == "match"
    assert np.abs(guess.values - x).max() < 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_of_exact_matchings_the_whole_one_is_taken(seed):
    """H/2 of order 4 maps records with an even sum to whole numbers, and only those: a float column cannot tell."""
    rng = np.random.default_rng(seed)
    turn = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    even = 2 * rng.integers(-2, 3, size=(6, 4)) + [[1, 1, 0, 0]]
    x = np.vstack([even, even @ turn.T, rng.integers(-4, 5, size=(120, 4))])[rng.permutation(132)]
    y = x @ haar(4, seed).T
    known = veil.attacks.knowledge.KnownRecords(even)
    guess = KnownRecordsAttack().run(by_hand(y, dtype="int64"), known)
    np.testing.assert_allclose(guess.values, x, atol=1e-9)


def test_of_a_grids_symmetries_the_most_ordinary_is_taken():
    """Correlated answers 0 to 4 have several exact matchings: the right one is taken far more often than by chance."""
    right, chances = 0, []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        answers = 2.3 + rng.normal(size=(300, 1)) * [1, 0.8, 0.6, -0.5] + 0.7 * rng.normal(size=(300, 4))
        x = np.clip(np.round(answers), 0, 4).astype(int)
        known = x[rng.choice(300, size=7, replace=False)]
        release = rotated(x, seed, translation=2.0, dither=False)
        guess = KnownRecordsAttack().run(release, veil.attacks.knowledge.KnownRecords(known))
        right += bool((np.abs(guess.values - x) < 0.5).all())
        scaled = release.only_part.model.scaled(known)
        chances.append(1 / match_records(scaled, release.to_numpy(), translated=True).alternatives)
    p = np.array(chances)
    assert right > p.sum() + 3 * np.sqrt((p * (1 - p)).sum())


def test_too_few_records_are_no_better_than_guessing():
    """One of eight centred dimensions known: what remains of the squared error is 7/8 on average."""
    d, runs = 8, 200
    left = []
    for seed in range(runs):
        x = np.random.default_rng(seed).normal(size=(60, d))
        guess = KnownRecordsAttack().run(rotated(x, seed, scaling=None), veil.attacks.knowledge.KnownRecords(x[:1]))
        left.append(np.sum((guess.values[1:] - x[1:]) ** 2) / np.sum(x[1:] ** 2))
    assert within_standard_errors(np.mean(left), 1 - 1 / d, np.std(left) / np.sqrt(runs), 4.5)


def test_without_any_match_the_guess_is_the_known_records_mean():
    rng = np.random.default_rng(7)
    x, others = rng.normal(size=(100, 3)), rng.normal(size=(4, 3))
    guess = KnownRecordsAttack().run(rotated(x, scaling=None), veil.attacks.knowledge.KnownRecords(others))
    np.testing.assert_allclose(guess.values, np.tile(others.mean(axis=0), (100, 1)))
    assert (guess.details["rank"], guess.details["unmatched"]) == (0, 4)


def test_what_is_refused():
    x = np.random.default_rng(8).normal(size=(50, 3))
    with pytest.raises(veil.MissingKnowledgeError, match="KnownRecords"):
        KnownRecordsAttack().run(rotated(x))
    with pytest.raises(veil.InputError, match="2 columns"):
        KnownRecordsAttack().run(rotated(x), veil.attacks.knowledge.KnownRecords(x[:3, :2]))
    with pytest.raises(veil.InputError, match="tolerance"):
        KnownRecordsAttack(tolerance=-1.0).run(rotated(x), veil.attacks.knowledge.KnownRecords(x[:3]))
    noisy = veil.publish(x, veil.AdditiveNoise(1.0))[0]
    with pytest.raises(veil.NotApplicableError):
        KnownRecordsAttack().run(noisy, veil.attacks.knowledge.KnownRecords(x[:3]))
