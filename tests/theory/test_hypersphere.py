"""A17: what ranges and lengths alone give away (Liu 2007, §5.3; errata L-p, L-q; thm5.3.12)."""

import numpy as np
import pytest

from _tables import release_of, within_standard_errors
from veil.attacks.knowledge import KnownRanges
from veil.attacks.projection.hypersphere import HypersphereAttack, box_by_length, projected_mean, tilted_box
from veil.measures import sphere_breach_probability
from veil.release.models import OrthogonalModel, ProjectionModel


def projection(k, d, kind="gaussian", noise=0.0):
    return ProjectionModel(np.ones(d), k, kind, np.full(k, noise))


def orthogonal(d, *, unit=1.0, translated=False):
    return OrthogonalModel(np.full(d, unit), translation=float(translated))


def rms(guess, truth):
    return np.sqrt(((guess - truth) ** 2).mean())


BOXES = [
    (np.zeros(6), np.ones(6)),
    (np.array([-1.0, -1.0, 0.1, 1.0, -3.0, -2.0]), np.array([2.0, 1.0, 0.5, 3.0, 0.0, 2.0])),
    (np.zeros(25), np.ones(25)),
]


@pytest.mark.parametrize(("lower", "upper"), BOXES)
@pytest.mark.parametrize("level", [0.02, 0.5, 0.98])
def test_mean_given_the_length_against_drawn_records(lower, upper, level):
    """E[z | ‖z‖² = q] for a uniform z: within 2 % of the widest range of what 400,000 draws say."""
    z = np.random.default_rng(0).uniform(lower, upper, size=(400_000, len(lower)))
    square = (z**2).sum(axis=1)
    q = np.quantile(square, level)
    near = z[np.abs(square - q) < 0.03 * square.std()]
    error = near.std(axis=0) / np.sqrt(len(near))
    found = tilted_box(lower, upper).at(np.array([q]))[0]
    assert (np.abs(found - near.mean(axis=0)) < 0.02 * (upper - lower).max() + 4 * error).all()


FEW = [
    (np.array([-1.0]), np.array([2.0])),
    (np.array([-1.0, -0.5]), np.array([2.0, 1.0])),
    (np.array([-1.0, -0.8, -0.8]), np.array([1.0, 1.5, 1.5])),
    (np.array([1.0, -1.0, 0.0]), np.array([1.0, 2.0, 3.0])),  # the first is known
    (np.array([-1.0, -3.0, -2.0, 0.2]), np.array([2.0, 1.0, 2.0, 1.0])),
]


@pytest.mark.parametrize(("lower", "upper"), FEW)
def test_few_attributes_against_drawn_records(lower, upper):
    """Within 4.5 standard errors of 800,000 draws; tilting alone errs by up to a tenth of a range here."""
    z = np.random.default_rng(0).uniform(lower, upper, size=(800_000, len(lower)))
    square = (z**2).sum(axis=1)
    box, rough = box_by_length(lower, upper), tilted_box(lower, upper)
    away = []
    for level in (0.02, 0.2, 0.5, 0.8, 0.98):
        # Draws around q against the mean over the same lengths, so that the width of the band does not matter.
        band = np.abs(square - np.quantile(square, level)) < 0.02 * square.std()
        near, q = z[band], square[band]
        error = near.std(axis=0) / np.sqrt(len(near)) + 1e-4
        assert within_standard_errors(box.at(q).mean(axis=0), near.mean(axis=0), error, 4.5)
        away.append(np.abs(rough.at(q).mean(axis=0) - near.mean(axis=0)).max())
    assert max(away) > 0.03 * (upper - lower).max()


@pytest.mark.parametrize(("d", "mean"), [(1, 1.0), (2, 2 / np.pi), (3, 0.5), (4, 4 / (3 * np.pi))])
def test_inside_the_unit_cube_the_mean_is_that_of_a_sphere(d, mean):
    """For lengths below 1 the cube [0, 1]^d cuts nothing off: E z_j is a multiple of r, and q's density r^(d − 2)."""
    box = box_by_length(np.zeros(d), np.ones(d))
    r = np.linspace(0.1, 0.99, 40)
    np.testing.assert_allclose(box.at(r**2), np.tile(mean * r[:, None], d), atol=2e-4)
    inside = (box.square > 0.01) & (box.square < 0.98)
    exact = mean * np.sqrt(box.square[inside, None])
    np.testing.assert_allclose(box.mean[inside], np.tile(exact, d), rtol=1e-6)
    excess = box.log_density[inside] - (d - 2) / 2 * np.log(box.square[inside])
    np.testing.assert_allclose(excess, excess[0], atol=1e-6)


@pytest.mark.parametrize(("lower", "upper"), FEW)
def test_the_density_of_the_length_sums_to_the_volume(lower, upper):
    box = box_by_length(lower, upper)
    volume = np.prod((upper - lower)[upper > lower])
    assert np.trapezoid(np.exp(box.log_density), box.square) == pytest.approx(volume, rel=0.005)


@pytest.mark.parametrize("box", [BOXES[1], FEW[2], FEW[4]])
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_mean_given_a_projection_against_brute_force(box, k, noise):
    lower, upper = box
    rng = np.random.default_rng(1)
    z = rng.uniform(lower, upper, size=(200_000, len(lower)))
    y = rng.normal(size=(5, k)) * 2
    found = projected_mean(y, np.full(k, noise), box_by_length(lower, upper))
    variance = (z**2).sum(axis=1) / k + noise**2
    for i in range(5):
        log = -k / 2 * np.log(variance) - (y[i] ** 2).sum() / (2 * variance)
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        exact = weight @ z
        error = np.sqrt((weight**2) @ (z - exact) ** 2)
        assert (np.abs(found[i] - exact) < 0.02 * (upper - lower) + 4 * error).all()


def test_three_columns_are_guessed_by_the_exact_mean():
    """‖z‖² = 1.5 as a release shows it: the mean of the sphere's part inside the box, where tilting is far off."""
    lower, upper = np.array([-1.0, -1.0, -1.0]), np.array([1.0, 1.5, 2.0])
    x = np.random.default_rng(8).uniform(lower, upper, size=(2_000_000, 3))
    x = x[np.abs((x**2).sum(axis=1) - 1.5) < 0.01]
    y = np.linalg.qr(np.random.default_rng(9).normal(size=(3, 3)))[0] @ np.array([1.5**0.5, 0.0, 0.0])
    guess = HypersphereAttack()._run(release_of(y[None], orthogonal(3)), (KnownRanges(lower, upper),)).values[0]
    error = x.std(axis=0) / np.sqrt(len(x))
    assert (np.abs(guess - x.mean(axis=0)) < 4.5 * error + 1e-3).all()
    assert np.abs(tilted_box(lower, upper).at(np.array([1.5]))[0] - x.mean(axis=0)).max() > 8 * error.max()
    assert guess[1] == pytest.approx(guess[2], abs=1e-5), "their ranges differ only beyond the sphere"


def test_the_box_breaches_where_the_sphere_does_not():
    """Errata L-p, [0, 1]⁶, ε = .5: a point of the sphere .005; of the sphere inside the box .9 for x = (.7, …)."""
    rng = np.random.default_rng(2)
    x = np.tile(np.full(6, 0.7), (40_000, 1))
    release = release_of(x @ np.linalg.qr(rng.normal(size=(6, 6)))[0].T, orthogonal(6))
    length = np.linalg.norm(x[0])
    share = {}
    for variant in HypersphereAttack.variants:
        guess = HypersphereAttack(variant=variant, tolerance=0.5)._run(release, (KnownRanges(0, 1),))
        share[variant] = (np.linalg.norm(guess.values - x, axis=1) <= 0.5 * length).mean()
    exact = float(sphere_breach_probability(0.5, 6, radius_ratio=1.0))
    assert exact == pytest.approx(0.005, abs=5e-4)
    assert within_standard_errors(share["paper"], exact, np.sqrt(exact / 40_000))
    assert share["best"] == 1
    inside = np.abs(rng.normal(size=(200_000, 6)))
    inside *= length / np.linalg.norm(inside, axis=1)[:, None]
    inside = inside[(inside <= 1).all(axis=1)]
    assert (np.linalg.norm(inside - x[0], axis=1) <= 0.5 * length).mean() == pytest.approx(0.88, abs=0.02)


def test_paper_is_uniform_on_the_sphere():
    rng = np.random.default_rng(3)
    y = rng.normal(size=(20_000, 3)) * 2
    guess = HypersphereAttack(variant="paper")._run(release_of(y, projection(3, 5)), (KnownRanges(-3, 3),)).values
    radius = np.minimum(np.linalg.norm(y, axis=1), 3 * np.sqrt(5))
    np.testing.assert_allclose(np.linalg.norm(guess, axis=1), radius)
    unit = guess / radius[:, None]
    assert np.abs(unit.mean(axis=0)).max() < 4 / np.sqrt(5 * 20_000)
    np.testing.assert_allclose(unit.T @ unit / 20_000, np.eye(5) / 5, atol=4 / np.sqrt(20_000) / 5 * 1.5)


@pytest.mark.parametrize("k", [1, 3, 12])
def test_best_is_better_than_the_centre_and_the_sphere(k):
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 4, size=(20_000, 6))
    y = np.einsum("nkd,nd->nk", rng.normal(size=(20_000, k, 6)) / np.sqrt(k), x)  # a fresh R per record: the average
    known = (KnownRanges(0, 4),)
    best = HypersphereAttack()._run(release_of(y, projection(k, 6)), known).values
    paper = HypersphereAttack(variant="paper")._run(release_of(y, projection(k, 6)), known).values
    assert best.min() >= 0
    assert best.max() <= 4
    assert rms(best, x) < rms(np.full_like(x, 2.0), x)
    assert rms(best, x) < 0.5 * rms(paper, x)


def test_a_box_around_the_origin_tells_nothing():
    """By symmetry the mean is the centre, whatever the length."""
    y = np.random.default_rng(5).normal(size=(50, 4))
    guess = HypersphereAttack()._run(release_of(y, projection(4, 7)), (KnownRanges(-2, 2),)).values
    np.testing.assert_allclose(guess, 0, atol=1e-9)


def test_the_ends_of_the_box_are_exact():
    """The farthest corner and the nearest point are the only records of their lengths."""
    rng = np.random.default_rng(6)
    lower, upper = np.array([1.0, -3.0, 2.0, -4.0]), np.array([2.0, -1.0, 5.0, 1.0])
    x = np.array([[2.0, -3.0, 5.0, -4.0], [1.0, -1.0, 2.0, 0.0]])
    m = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    model = orthogonal(4, unit=2.0)
    guess = HypersphereAttack()._run(release_of(x / 2 @ m.T, model), (KnownRanges(lower, upper),))
    np.testing.assert_allclose(guess.values, x, atol=1e-5)
    assert guess.details["feasible"] == 2


def test_a_box_of_one_point():
    y = np.ones((3, 2))
    for value in (0.0, 5.0):
        guess = HypersphereAttack()._run(release_of(y, projection(2, 3)), (KnownRanges(value, value),))
        np.testing.assert_allclose(guess.values, value)
        assert guess.details["feasible"] == 0


def test_details_bound_the_breach():
    """Errata L-q: .01537 for a projection at ε = .6, n = 6; .01195, the paper's, where lengths are kept exactly."""
    y = np.full((4, 6), 0.3)
    y[3] *= 100  # longer than any record of the box
    known = (KnownRanges(-1, 1),)
    attack = HypersphereAttack(tolerance=0.6)
    loose = attack._run(release_of(y, projection(6, 6)), known).details
    strict = attack._run(release_of(y, orthogonal(6)), known).details
    np.testing.assert_allclose(loose["breach_probability"][:3], 0.01537, atol=5e-6)
    np.testing.assert_allclose(strict["breach_probability"][:3], 0.01195, atol=5e-6)
    assert loose["feasible"] == strict["feasible"] == 3


def test_applies_where_lengths_are_kept():
    assert HypersphereAttack.applies_to(projection(2, 4))
    assert HypersphereAttack.applies_to(orthogonal(3))
    assert not HypersphereAttack.applies_to(orthogonal(3, translated=True))
    assert not HypersphereAttack.applies_to(projection(2, 4, kind="given"))


def test_any_matrix_with_the_same_inner_products_is_as_likely():
    """Theorem 5.3.12, k = 5 and m = 3 records: the density of Y given X is stationary where XᵀX = YᵀY, for any QX."""
    rng = np.random.default_rng(7)
    k, m = 5, 3
    y = rng.normal(size=(k, m))

    def log_density(x):
        gram = x.T @ x / k
        return -k / 2 * np.linalg.slogdet(gram)[1] - np.trace(np.linalg.solve(gram, y.T @ y)) / 2

    root = np.linalg.cholesky(y.T @ y).T
    turns = [np.linalg.qr(rng.normal(size=(7, 3)))[0] @ root for _ in range(3)]
    np.testing.assert_allclose([log_density(x) for x in turns], log_density(turns[0]), atol=1e-8)
    step = 1e-5
    for _ in range(20):
        way = rng.normal(size=(7, 3))
        slope = (log_density(turns[0] + step * way) - log_density(turns[0] - step * way)) / (2 * step)
        assert abs(slope) < 1e-6
        assert log_density(turns[0] + 0.3 * way) < log_density(turns[0])
