"""A9 and A11 on rotations of normalized columns (P5) and on transforms in a secret order (P10)."""

import numpy as np
import pytest

import veil
from _tables import skewed_table
from veil.attacks.rotation.normalized import widths_from_pairs
from veil.auditing.exposure import secret_matrix


def relative(guess, x):
    return float(np.sqrt(np.mean(((guess.values - x) / x.std(axis=0)) ** 2)))


@pytest.mark.parametrize("normalize", ["zscore", "minmax"])
def test_a_few_more_records_than_the_root_of_2d_give_the_widths(normalize):
    """Five records have ten differences' products for six unknown widths: exact, though an affine map needs seven."""
    x = skewed_table()
    method = veil.PairwiseRotation(normalize=normalize, thresholds=0.01, random_state=1)
    release, _ = veil.publish(x, method)
    widths, determined = widths_from_pairs(x[:5], release.to_numpy()[:5])
    truth = x.std(axis=0) if normalize == "zscore" else np.ptp(x, axis=0)
    assert determined
    np.testing.assert_allclose(widths, truth, rtol=1e-6)
    assert not widths_from_pairs(x[:3], release.to_numpy()[:3])[1]


@pytest.mark.parametrize("normalize", ["zscore", "minmax"])
def test_d_records_undo_a_rotation_of_normalized_columns(normalize):
    """d records span d − 1 differences, and a rotation known on those is known."""
    x = skewed_table()
    release, _ = veil.publish(x, veil.PairwiseRotation(normalize=normalize, thresholds=0.01, random_state=2))
    guess = veil.KnownPairsAttack().run(release, veil.KnownPairs(x[:6], range(6)))
    assert relative(guess, x) < 1e-6
    assert guess.ambiguity == "none"
    fewer = veil.KnownPairsAttack().run(release, veil.KnownPairs(x[:3], range(3)))
    assert fewer.ambiguity == "scale"
    assert relative(fewer, x) > 0.2
    with pytest.raises(veil.NotApplicableError, match="1 known record does not show"):
        veil.KnownPairsAttack().run(release, veil.KnownPairs(x[:1], [0]))


def test_a_sample_undoes_a_rotation_of_normalized_columns():
    x = skewed_table(4_000, 4)
    release, _ = veil.publish(x[:3_600], veil.PairwiseRotation(random_state=3))
    guess = veil.KnownSampleAttack(replicates=8).run(release, veil.KnownSample(x[3_600:]))
    assert relative(guess, x[:3_600]) < 0.2
    constant = np.sqrt(np.mean(((x[:3_600] - x.mean(axis=0)) / x.std(axis=0)) ** 2))
    assert relative(guess, x[:3_600]) < 0.3 * constant


def test_normal_columns_of_equal_spectrum_tell_no_rotation():
    """Independent z-scores: every rotation of them looks alike, and no attack may gain."""
    x = np.random.default_rng(4).normal(size=(2_200, 3))
    release, _ = veil.publish(x[:2_000], veil.PairwiseRotation(random_state=4))
    guess = veil.KnownSampleAttack(replicates=8).run(release, veil.KnownSample(x[2_000:]))
    assert relative(guess, x[:2_000]) > 0.9
    assert guess.ambiguity == "sign"


@pytest.mark.parametrize("basis", ["dct", "dft"])
@pytest.mark.parametrize("k", [8, 5])
def test_one_known_record_gives_the_order_of_the_coefficients(basis, k):
    x = skewed_table(500, 8).cumsum(axis=1)
    release, _ = veil.publish(x, veil.TransformDomain(k, basis=basis, random_state=5))
    guess = veil.KnownPairsAttack().run(release, veil.KnownPairs(x[:1], [0]))
    model = release.only_part.model
    coefficients = model.scaled(x) @ model.transform.T
    np.testing.assert_allclose(coefficients[:, guess.details["order"]], release.to_numpy(), atol=1e-9)
    assert guess.ambiguity == "none"
    if k == 8:
        np.testing.assert_allclose(guess.values, x, rtol=1e-9)


@pytest.mark.parametrize("k", [6, 4])
def test_a_sample_recognises_coefficients_by_their_distribution(k):
    x = skewed_table(4_000, 6).cumsum(axis=1)
    release, _ = veil.publish(x[:3_000], veil.TransformDomain(k, random_state=6))
    guess = veil.KnownSampleAttack().run(release, veil.KnownSample(x[3_000:]))
    model = release.only_part.model
    coefficients = model.scaled(x[:3_000]) @ model.transform.T
    np.testing.assert_allclose(coefficients[:, guess.details["order"]], release.to_numpy(), atol=1e-9)
    if k == 6:
        np.testing.assert_allclose(guess.values, x[:3_000], rtol=1e-9)


def test_coefficients_of_white_records_are_all_alike():
    x = np.random.default_rng(7).normal(size=(1_200, 6))
    release, _ = veil.publish(x[:1_000], veil.TransformDomain(scaling=None, random_state=7))
    guess = veil.KnownSampleAttack().run(release, veil.KnownSample(x[1_000:]))
    assert guess.ambiguity == "order"


def test_outliers_do_not_turn_robust_eigenvectors():
    """Twenty gross errors in the release turn the covariance's eigenvectors, not those of the records' directions."""
    rng = np.random.default_rng(8)
    x = rng.normal([4.0, 7.0, 2.0], [1.0, 3.0, 9.0], size=(4_000, 3))
    dirty = x[:3_500].copy()
    dirty[:20] = rng.normal(size=(20, 3)) * [300.0, 300.0, 30.0]
    release, _ = veil.publish(dirty, veil.OrthogonalTransform(scaling=None, random_state=8))
    errors = {}
    for robust in (False, True):
        attack = veil.KnownSampleAttack(variant="paper", robust=robust)
        values = attack.run(release, veil.KnownSample(x[3_500:])).values
        errors[robust] = np.sqrt(np.mean((values[20:] - dirty[20:]) ** 2)) / 9.0
    assert errors[True] < 0.1 < 0.3 * errors[False]


@pytest.mark.parametrize(("d", "known"), [(12, 4), (20, 4), (7, 5)])
def test_a_handful_of_records_undo_pairwise_rotation_whatever_the_width(d, known):
    """A released column mixes two private ones (an odd one out three): its unknowns do not grow with d."""
    x = skewed_table(300, d)
    release, _ = veil.publish(x, veil.PairwiseRotation(random_state=9))
    guess = veil.KnownPairsAttack().run(release, veil.KnownPairs(x[:known], range(known)))
    assert relative(guess, x) < 1e-6
    assert guess.ambiguity == "none"


def test_a_leaked_rotation_gives_the_normalized_columns():
    x = skewed_table(500, 4)
    for normalize in ("zscore", "minmax"):
        release, key = veil.publish(x, veil.PairwiseRotation(normalize=normalize, random_state=9))
        leaked = veil.KnownMatrix(secret_matrix(release, key))
        ranges = veil.KnownRanges(x.min(axis=0), x.max(axis=0))
        guess = veil.DisclosedMatrixAttack().run(release, leaked, ranges)
        if normalize == "minmax":
            np.testing.assert_allclose(guess.values, x, rtol=1e-9)
        else:
            assert guess.up_to == ("scale",)
            np.testing.assert_allclose(guess.values, (x - x.mean(axis=0)) / x.std(axis=0), atol=1e-9)
