"""A15: the matrix is known (Liu 2007, §5.4.5): least length, the mean given y, and whole numbers (errata L-x, L-ae)."""

from pathlib import Path

import numpy as np
import pytest
from scipy.fft import dct

from _tables import release_of, within_standard_errors
from veil.attacks.knowledge import KnownMatrix, KnownRanges, KnownSample
from veil.attacks.projection.disclosed_matrix import DisclosedMatrixAttack, solve_disclosed, unprojected, whole_numbers
from veil.attacks.projection.linear_bayes import conditional_mean
from veil.data.schema import Column, Kind, Role
from veil.errors import InputError, MissingKnowledgeError
from veil.release.models import OrthogonalModel, PermutedTransformModel, ProjectionModel, RecordProjectionModel

LETTER = Path(__file__).parents[3] / "shared" / "data" / "letter_recognition.csv.gz"


def projection(k, d, noise=0.0, unit=1.0):
    return ProjectionModel(np.full(d, unit), k, "gaussian", np.full(k, noise))


def gaussian(rng, k, d):
    return rng.normal(size=(k, d)) / np.sqrt(k)


def integers(rng, n, d=6):
    return rng.integers(0, 16, size=(n, d)).astype(float)


def test_paper_is_the_shortest_solution():
    rng = np.random.default_rng(0)
    x, r = rng.normal(size=(50, 6)) + 3, gaussian(rng, 3, 6)
    release = release_of(x / 2 @ r.T, projection(3, 6, unit=2.0))
    z = DisclosedMatrixAttack(variant="paper")._run(release, (KnownMatrix(r),)).values / 2
    np.testing.assert_allclose(z @ r.T, x / 2 @ r.T)
    null = np.linalg.svd(r)[2][3:]
    np.testing.assert_allclose(z @ null.T, 0, atol=1e-12)
    same = DisclosedMatrixAttack()._run(release, (KnownMatrix(r),)).values / 2
    np.testing.assert_allclose(same, z, atol=1e-9)


def test_conditional_mean_has_the_error_that_theory_gives():
    """m.s.e. = tr(Σ − ΣRᵀ(RΣRᵀ + D)⁻¹RΣ), with and without noise."""
    rng = np.random.default_rng(1)
    n, d, k = 20_000, 6, 3
    root, r = rng.normal(size=(d, d)), gaussian(rng, 3, 6)
    mean, covariance = rng.normal(size=d) * 3, root @ root.T
    z = rng.multivariate_normal(mean, covariance, size=n)
    for noise in (0.0, 0.5):
        y = z @ r.T + noise * rng.normal(size=(n, k))
        guess = conditional_mean(y, r, (mean, covariance), np.full(k, noise))
        seen = r @ covariance
        left = covariance - seen.T @ np.linalg.solve(seen @ r.T + noise**2 * np.eye(k), seen)
        error = ((guess - z) ** 2).sum(axis=1)
        assert within_standard_errors(error.mean(), np.trace(left), error.std() / np.sqrt(n))


def test_a_sample_comes_near_the_bayes_error():
    rng = np.random.default_rng(2)
    root, r = rng.normal(size=(6, 6)), gaussian(rng, 3, 6)
    draw = lambda n: rng.normal(size=(n, 6)) @ root.T + 4  # noqa: E731
    z = draw(2_000)
    guess = DisclosedMatrixAttack()._run(
        release_of(z @ r.T, projection(3, 6)), (KnownMatrix(r), KnownSample(draw(800)))
    )
    bayes = conditional_mean(z @ r.T, r, (np.full(6, 4.0), root @ root.T), np.zeros(3))
    least = DisclosedMatrixAttack(variant="paper")._run(release_of(z @ r.T, projection(3, 6)), (KnownMatrix(r),))
    best = ((bayes - z) ** 2).mean()
    assert ((guess.values - z) ** 2).mean() < 1.1 * best
    assert ((least.values - z) ** 2).mean() > 2 * best


@pytest.mark.parametrize("k", [1, 2, 3])
def test_whole_numbers_are_recovered_exactly(k):
    """Errata L-x: the paper's "no element recoverable" fails for integers 0..15, six of them, from k = 1 on."""
    rng = np.random.default_rng(k)
    x, r = integers(rng, 1_000), gaussian(rng, k, 6)
    release = release_of(x / 2.5 @ r.T, projection(k, 6, unit=2.5), "int64")
    for known in (KnownRanges(0, 15), KnownSample(integers(rng, 50))):
        guess = DisclosedMatrixAttack()._run(release, (KnownMatrix(r), known))
        np.testing.assert_allclose(guess.values, x, atol=1e-9)
        assert guess.details["unique"] == 1_000
    floats = release_of(x / 2.5 @ r.T, projection(k, 6, unit=2.5))
    guess = DisclosedMatrixAttack()._run(floats, (KnownMatrix(r), KnownRanges(0, 15)))
    assert np.abs(guess.values - x).max() > 1


def test_whole_numbers_beside_real_ones():
    """Three of five columns are whole: one combination of k = 3 equations is free of the other two."""
    rng = np.random.default_rng(4)
    x = np.column_stack([integers(rng, 300, 3), rng.normal(size=(300, 2)) * 4])
    r = gaussian(rng, 3, 5)
    dtypes = ["int32", "int64", "uint8", "double", "double"]
    known = (KnownMatrix(r), KnownRanges([0, 0, 0, -20, -20], [15, 15, 15, 20, 20]))
    guess = DisclosedMatrixAttack()._run(release_of(x @ r.T, projection(3, 5), dtypes), known)
    np.testing.assert_allclose(guess.values[:, :3], x[:, :3], atol=1e-9)
    # Three equations are left for the two real columns.
    np.testing.assert_allclose(guess.values[:, 3:], x[:, 3:], atol=1e-6)


def test_a_rounded_release_needs_its_tolerance():
    rng = np.random.default_rng(5)
    x, r, grid = integers(rng, 200), gaussian(rng, 3, 6), 1e-4
    y = np.round(x @ r.T / grid) * grid
    known = (KnownMatrix(r), KnownRanges(0, 15))
    exact = [
        DisclosedMatrixAttack(tolerance=grid / 2)._run(release_of(y, projection(3, 6), "int64"), known),
        DisclosedMatrixAttack()._run(release_of(y, projection(3, 6), "int64", grid=[grid] * 3), known),
    ]
    for guess in exact:
        assert (np.abs(guess.values - x).max(axis=1) < 1e-6).mean() > 0.99
    assert DisclosedMatrixAttack()._run(release_of(y, projection(3, 6), "int64"), known).details["unique"] == 0


def test_noise_hides_whole_numbers_in_time():
    """Little noise is searched through and records still come back; much makes the search pointless."""
    rng = np.random.default_rng(6)
    x, r = integers(rng, 300), gaussian(rng, 5, 6)
    known = (KnownMatrix(r), KnownRanges(0, 15))
    exact = []
    for noise in (0.002, 3.0):
        y = x @ r.T + noise * rng.normal(size=(300, 5))
        guess = DisclosedMatrixAttack()._run(release_of(y, projection(5, 6, noise), "int64"), known)
        exact.append((np.abs(guess.values - x).max(axis=1) < 0.5).mean())
    assert exact[0] > 0.95
    assert exact[1] < 0.05


def test_equal_weights_stay_ambiguous():
    """One sum of six attributes determines none; the guess is the mean and no match is claimed."""
    rng = np.random.default_rng(7)
    x, r = integers(rng, 400), np.ones((1, 6))
    guess = DisclosedMatrixAttack()._run(
        release_of(x @ r.T, projection(1, 6), "int64"), (KnownMatrix(r), KnownRanges(0, 15))
    )
    assert guess.details["unique"] < 5
    spread = np.sqrt(((guess.values - x) ** 2).mean())
    assert spread == pytest.approx(np.sqrt(255 / 12 * 5 / 6), rel=0.05)


def test_sparse_rows_determine_attributes():
    """Errata L-ae: a unit vector in the row space is found, named, and its column exact in both variants."""
    rng = np.random.default_rng(8)
    r = np.array([[1.0, 1.0, 0.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0]])
    x = rng.normal(size=(100, 5)) + 2
    for variant, known in (("paper", ()), ("best", ()), ("best", (KnownSample(rng.normal(size=(80, 5))),))):
        attack = DisclosedMatrixAttack(variant=variant)
        guess = attack._run(release_of(x @ r.T, projection(3, 5)), (KnownMatrix(r), *known))
        assert guess.details["determined"] == ("c0", "c1")
        np.testing.assert_allclose(guess.values[:, :2], x[:, :2], atol=1e-9)
    # A continuous matrix determines none.
    g = gaussian(rng, 3, 5)
    guess = DisclosedMatrixAttack()._run(release_of(x @ g.T, projection(3, 5)), (KnownMatrix(g),))
    assert guess.details["determined"] == ()


def test_ranges_keep_guesses_inside():
    rng = np.random.default_rng(9)
    x, r = rng.uniform(2, 3, size=(500, 6)), gaussian(rng, 2, 6)
    known = KnownRanges(2, 3)
    guess = DisclosedMatrixAttack()._run(release_of(x @ r.T, projection(2, 6)), (KnownMatrix(r), known)).values
    assert guess.min() >= 2
    assert guess.max() <= 3
    assert ((guess - x) ** 2).mean() < 1 / 12


@pytest.mark.parametrize("translated", [False, True])
def test_orthogonal_matrix_gives_everything_but_the_translation(translated):
    rng = np.random.default_rng(10)
    x = integers(rng, 3_000, 4)
    m = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    model = OrthogonalModel(np.full(4, 3.0), translation=float(translated))
    y = x / 3 @ m.T + (7.7 if translated else 0.0)
    known = (KnownMatrix(m), KnownSample(integers(rng, 1_000, 4)))
    guess = DisclosedMatrixAttack()._run(release_of(y, model, "int64"), known)
    np.testing.assert_allclose(guess.values, x, atol=1e-8)
    paper = DisclosedMatrixAttack(variant="paper")._run(release_of(y, model, "int64"), known).values
    if translated:  # the sample's mean is off by its standard error
        assert 1e-6 < np.abs(paper - x).max() < 5 * 4.6 / np.sqrt(1_000) * np.sqrt(4 / 3)
        with pytest.raises(MissingKnowledgeError, match="KnownSample"):
            DisclosedMatrixAttack()._run(release_of(y, model), (KnownMatrix(m),))
    else:
        np.testing.assert_allclose(paper, x, atol=1e-8)


def test_permuted_transform():
    rng = np.random.default_rng(11)
    x, f = rng.normal(size=(60, 8)).cumsum(axis=1), dct(np.eye(8), axis=0, norm="ortho")
    kept = rng.permutation(8)[:5]
    release = release_of(x @ f[kept].T, PermutedTransformModel(np.ones(8), 5, "dct"))
    guess = DisclosedMatrixAttack()._run(release, (KnownMatrix(f[kept]),)).values
    np.testing.assert_allclose(guess @ f[kept].T, x @ f[kept].T, atol=1e-9)
    sampled = (KnownMatrix(f[kept]), KnownSample(rng.normal(size=(300, 8)).cumsum(axis=1)))
    better = DisclosedMatrixAttack()._run(release, sampled).values
    assert ((better - x) ** 2).mean() < ((guess - x) ** 2).mean()


def test_projected_records():
    """E[Z | Y] = 1μᵀ + R⁺(Y − R1μᵀ): the share k/N of the variance is explained, whatever the covariance."""
    rng = np.random.default_rng(12)
    n, k = 2_000, 500
    z, r = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)) + [5, 0, -2], gaussian(rng, k, n)
    release = release_of(r @ z, RecordProjectionModel(np.ones(3), k, n, "gaussian"))
    best = DisclosedMatrixAttack()._run(release, (KnownMatrix(r),))
    assert best.values.shape == (n, 3)
    error = ((best.values - z) ** 2).mean(axis=0) / z.var(axis=0)
    np.testing.assert_allclose(error, 1 - k / n, rtol=0.1)
    least = DisclosedMatrixAttack(variant="paper")._run(release, (KnownMatrix(r),)).values
    np.testing.assert_allclose(r @ least, r @ z, atol=1e-8)
    assert ((least - z) ** 2).mean() > 2 * ((best.values - z) ** 2).mean()
    square = rng.normal(size=(40, 40))
    np.testing.assert_allclose(unprojected(square @ z[:40], square), z[:40], atol=1e-6)


def test_the_search_says_what_it_did_not_do():
    """Too little information for the box: nothing is searched and the reason is a number."""
    rng = np.random.default_rng(13)
    x, r = integers(rng, 20, 20), gaussian(rng, 1, 20)
    whole = whole_numbers(
        [Column("c", Kind.NUMERIC, Role.SENSITIVE, "int8")] * 20, np.ones(20), KnownRanges(0, 15), None
    )
    z, details = solve_disclosed(x @ r.T, r, (np.full(20, 7.5), np.eye(20) * 20), np.zeros(1), whole)
    assert details["expected_matches"] > 1e3
    assert details["unique"] == details["ambiguous"] == 0
    np.testing.assert_allclose(z @ r.T, x @ r.T)


def test_what_does_not_fit_is_refused():
    release = release_of(np.ones((5, 3)), projection(3, 6), "int64")
    with pytest.raises(InputError, match="3 × 6"):
        DisclosedMatrixAttack()._run(release, (KnownMatrix(np.ones((6, 3))),))
    with pytest.raises(InputError, match="no whole number"):
        DisclosedMatrixAttack()._run(release, (KnownMatrix(np.ones((3, 6))), KnownRanges(0.2, 0.8)))
    with pytest.raises(InputError, match="tolerance"):
        DisclosedMatrixAttack(tolerance=-1.0)._run(release, (KnownMatrix(np.ones((3, 6))),))


@pytest.mark.skipif(not LETTER.exists(), reason="the Letter table is not here")
def test_letter_records_come_back_from_one_column():
    """Errata L-x on the data of the paper: 20,000 records of six attributes from k = 1."""
    letter = np.genfromtxt(LETTER, delimiter=",", skip_header=1, usecols=range(1, 7))
    r = gaussian(np.random.default_rng(0), 1, 6)
    release = release_of(letter @ r.T, projection(1, 6), "int64")
    guess = DisclosedMatrixAttack()._run(release, (KnownMatrix(r), KnownRanges(0, 15)))
    np.testing.assert_array_equal(np.round(guess.values, 9), letter)
