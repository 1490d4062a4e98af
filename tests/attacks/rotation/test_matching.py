"""Rows of known records by lengths and distances (A10): exact, rounded, duplicated and absent records."""

import itertools

import numpy as np
import pytest

from veil.attacks.rotation.consistent_sets import pairs_at_distance
from veil.attacks.rotation.matching import match_records, release_tolerance
from veil.errors import InputError, NotApplicableError


def haar(d, rng):
    q, r = np.linalg.qr(rng.normal(size=(d, d)))
    return q * np.sign(np.diag(r))


def rotated(z, rng, translated=False):
    return z @ haar(z.shape[1], rng).T + (rng.normal(size=z.shape[1]) if translated else 0.0)


@pytest.mark.parametrize("translated", [False, True])
@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_rows_are_found(d, translated):
    rng = np.random.default_rng(d)
    z = rng.gamma(2.0, size=(400, d))
    rows = rng.choice(400, size=6, replace=False)
    found = match_records(z[rows], rotated(z, rng, translated), translated=translated)
    np.testing.assert_array_equal(found.rows, rows)
    assert found.unique.all()
    assert found.alternatives == 1
    assert found.complete
    assert found.misfit < 1e-12


@pytest.mark.parametrize("translated", [False, True])
def test_records_that_are_not_in_the_release_fit_nowhere(translated):
    rng = np.random.default_rng(1)
    z = rng.gamma(2.0, size=(2_000, 4))
    rows = rng.choice(2_000, size=8, replace=False)
    known = z[rows]
    known[[1, 4, 5]] = rng.gamma(2.0, size=(3, 4))
    expected = rows.copy()
    expected[[1, 4, 5]] = -1
    found = match_records(known, rotated(z, rng, translated), translated=translated)
    np.testing.assert_array_equal(found.rows, expected)
    np.testing.assert_array_equal(found.unique, expected >= 0)


def test_none_of_the_records_is_in_the_release():
    rng = np.random.default_rng(2)
    z = rng.normal(size=(500, 4))
    found = match_records(rng.normal(size=(5, 4)), rotated(z, rng))
    assert (found.rows == -1).all()
    assert found.alternatives == 0
    moved = match_records(rng.normal(size=(5, 4)), rotated(z, rng, True), translated=True)
    assert (moved.rows == -1).all()


@pytest.mark.parametrize(("decimals", "translated"), [(4, False), (2, False), (4, True)])
def test_a_rounded_release_is_matched_too(decimals, translated):
    rng = np.random.default_rng(3)
    z = rng.gamma(2.0, size=(3_000, 5))
    rows = rng.choice(3_000, size=8, replace=False)
    known = z[rows]
    known[-1] = rng.gamma(2.0, size=5)
    released = np.round(rotated(z, rng, translated), decimals)
    found = match_records(known, released, translated=translated)
    np.testing.assert_array_equal(found.rows, [*rows[:-1], -1])
    assert found.tolerance == pytest.approx(0.5 * 10.0**-decimals * 5**0.5)
    assert 0 < found.misfit <= 2 * found.tolerance
    # Without the tolerance nothing fits.
    assert (match_records(known, released, translated=translated, tolerance=1e-9).rows == -1).all()


def test_tolerance_is_read_off_the_release():
    rng = np.random.default_rng(4)
    y = rng.normal(size=(50, 4))
    assert release_tolerance(y) == pytest.approx(2e-10 * np.abs(y).max())
    assert release_tolerance(np.round(y, 3)) == pytest.approx(0.001)
    assert release_tolerance(np.round(100 * y)) == pytest.approx(1.0)
    single = y.astype(np.float32).astype(np.float64)
    assert release_tolerance(single) == pytest.approx(2 * 2.0**-23 * np.abs(y).max(), rel=1e-6)
    assert release_tolerance(np.full((3, 2), np.nan)) == 0.0


def test_duplicates_in_the_table_are_one_point():
    """Two equal rows: either may be the record's. The matrix is settled, the row is not."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=(200, 3))
    z[150] = z[7]
    y = rotated(z, rng)
    found = match_records(z[[7, 20, 30]], y)
    assert found.rows[0] in (7, 150)
    assert found.rows[1:].tolist() == [20, 30]
    assert found.unique.tolist() == [False, True, True]
    assert found.alternatives == 1
    twice = match_records(z[[7, 150, 20]], y)
    assert set(twice.rows[:2].tolist()) == {7, 150}
    assert twice.rows[2] == 20
    thrice = match_records(z[[7, 7, 7, 20]], y)
    assert (thrice.rows[:3] == -1).sum() == 1, "three records, two rows"


def test_mirror_images_are_ambiguous():
    """A table that is its own mirror image has two matchings, and says so."""
    rng = np.random.default_rng(6)
    half = rng.normal(size=(100, 3))
    z = np.vstack([half, half * [-1, 1, 1]])
    found = match_records(z[:4], rotated(z, rng))
    assert found.alternatives == 2
    assert not found.unique.any()
    assert found.rows.tolist() in ([0, 1, 2, 3], [100, 101, 102, 103])


@pytest.mark.parametrize("image", [0, 100])
def test_a_judge_decides_between_equally_good_matchings(image):
    rng = np.random.default_rng(6)
    half = rng.normal(size=(100, 3))
    y = rotated(np.vstack([half, half * [-1, 1, 1]]), rng)
    found = match_records(half[:4], y, judge=lambda records, rows: float((rows != records + image).sum()))
    assert found.rows.tolist() == [image + i for i in range(4)]
    assert found.alternatives == 2
    assert not found.unique.any()


def test_coarse_whole_numbers_are_searched_to_the_end():
    """Thousands of triangles fit three of the records; with few rows all of them are followed."""
    rng = np.random.default_rng(1)
    z = rng.integers(0, 5, size=(300, 4)).astype(float)
    rows = rng.choice(300, size=9, replace=False)
    found = match_records(z[rows], rotated(z, rng, True), translated=True)
    assert found.complete
    assert found.alternatives == 1
    np.testing.assert_array_equal(z[found.rows], z[rows])


def test_two_records_can_be_exchanged_under_a_translation():
    rng = np.random.default_rng(7)
    z = rng.normal(size=(300, 4))
    found = match_records(z[[10, 20]], rotated(z, rng, True), translated=True)
    assert set(found.rows.tolist()) == {10, 20}
    assert found.alternatives == 2
    assert not found.unique.any()
    one = match_records(z[[10]], rotated(z, rng, True), translated=True)
    assert one.rows.tolist() == [-1]


def test_a_single_length_among_many_is_no_proof():
    """One rounded length fits a row by chance when rows are dense there; alone it is never called unique."""
    rng = np.random.default_rng(8)
    z = rng.normal(size=(5_000, 3))
    y = np.round(rotated(z, rng), 2)
    stranger = rng.normal(size=(1, 3))
    assert not match_records(stranger, y).unique.any()
    assert match_records(z[[17]], rotated(z, rng)).unique.all(), "to ten digits it is proof"


def test_integer_records_with_many_equal_lengths():
    """Grid data: hundreds of rows share a length, and distances tell them apart."""
    rng = np.random.default_rng(9)
    z = rng.integers(0, 16, size=(5_000, 6)).astype(float)
    rows = rng.choice(5_000, size=10, replace=False)
    y = rotated(z, rng)
    lengths = np.linalg.norm(z, axis=1)
    assert np.median([(np.abs(lengths - lengths[row]) < 1e-9).sum() for row in rows]) > 5
    found = match_records(z[rows], y)
    np.testing.assert_array_equal(z[found.rows], z[rows])
    assert found.alternatives == 1


def test_rows_with_missing_values_are_passed_over():
    rng = np.random.default_rng(10)
    z = rng.normal(size=(50, 3))
    y = rotated(z, rng)
    y[[0, 3], 1] = np.nan
    found = match_records(z[[0, 1, 2, 4]], y)
    assert found.rows.tolist() == [-1, 1, 2, 4]


def test_the_budget_ends_the_search():
    rng = np.random.default_rng(11)
    z = rng.normal(size=(3_000, 3))
    y = np.round(rotated(z, rng), 1)
    found = match_records(z[:12], y, budget=20)
    assert not found.complete
    assert not found.unique.any()


def test_ten_among_twenty_thousand():
    rng = np.random.default_rng(12)
    z = rng.gamma(2.0, size=(20_000, 6))
    rows = rng.choice(20_000, size=10, replace=False)
    found = match_records(z[rows], rotated(z, rng))
    np.testing.assert_array_equal(found.rows, rows)


def test_pairs_at_a_distance():
    points = np.random.default_rng(13).normal(size=(700, 3))
    expected = [
        (i, j)
        for i, j in itertools.combinations(range(700), 2)
        if abs(np.sqrt(((points[i] - points[j]) ** 2).sum()) - 1.5) <= 0.001
    ]
    found = pairs_at_distance(points, 1.5, 0.001)
    assert sorted(map(tuple, found.tolist())) == expected
    assert pairs_at_distance(points[:1], 1.0, 0.1).shape == (0, 2)


def test_refusals():
    known = np.ones((2, 3))
    with pytest.raises(InputError, match="tolerance"):
        match_records(known, known, tolerance=-1.0)
    with pytest.raises(InputError, match="budget"):
        match_records(known, known, budget=0)
    with pytest.raises(NotApplicableError, match="at most 50000"):
        match_records(known, np.ones((50_001, 3)), translated=True)
