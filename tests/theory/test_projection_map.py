"""A14 on random projections (Liu 2007, §5.4.2): the closed-form MAP, and what a prior adds (errata L-t, L-z, L-aa)."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from _tables import release_of
from veil.attacks.knowledge import KnownPairs, KnownRanges, KnownSample
from veil.attacks.projection.linear_bayes import mixture_mean
from veil.attacks.projection.maximum_posterior import (
    ProjectionMAPAttack,
    known_span,
    log_likelihood,
    map_estimate,
    matrix_belief,
)
from veil.errors import InputError
from veil.release.models import ProjectionModel

LETTER = Path(__file__).parents[3] / "shared" / "data" / "letter_recognition.csv.gz"


def model_of(k, d, kind="gaussian", noise=0.0, unit=1.0):
    return ProjectionModel(np.full(d, unit), k, kind, np.full(k, noise))


def draw(rng, k, d, kind="gaussian"):
    if kind == "gaussian":
        return rng.normal(size=(k, d)) / np.sqrt(k)
    s = {"achlioptas1": 1.0, "achlioptas3": 3.0, "sparse": np.sqrt(d)}[kind]
    return np.sqrt(s / k) * rng.choice([1.0, -1.0, 0.0], p=[0.5 / s, 0.5 / s, 1 - 1 / s], size=(k, d))


def integers(rng, n, d=6):
    """Correlated whole numbers 1..15, like the Letter table's."""
    shared = rng.normal(size=(n, 1))
    return np.clip(np.round(5 + 1.6 * shared + 1.4 * rng.normal(size=(n, d))), 1, 15)


def relative(guess, truth):
    return np.linalg.norm(guess - truth, axis=1) / np.linalg.norm(truth, axis=1)


def median_errors(table, k, p, matrices, rng, *, targets=400):
    """Median relative error over targets, one per matrix: paper, best, best with a sample of 400."""
    found = []
    for seed in range(matrices):
        rows = rng.choice(len(table), p + targets + 400, replace=False)
        x, sample = table[rows[:-400]], KnownSample(table[rows[-400:]])
        release = release_of(x @ draw(rng, k, x.shape[1]).T, model_of(k, x.shape[1]))
        pairs = KnownPairs(x[:p], np.arange(p))
        paper = ProjectionMAPAttack(variant="paper", random_state=seed)._run(release, (pairs,))
        best = [ProjectionMAPAttack()._run(release, known) for known in ((pairs,), (pairs, sample))]
        found.append([np.median(relative(g.values[p:], x[p:])) for g in (paper, *best)])
    return np.median(found, axis=0)


def test_likelihood_is_the_papers():
    """Theorem 5.3.8 with k^(kp/2) for the constant (errata L-aa): the same up to a constant in z."""
    rng = np.random.default_rng(0)
    k, d, p = 4, 6, 2
    r, known_z = rng.normal(size=(k, d)) / np.sqrt(k), rng.normal(size=(p, d))
    z, known_y = rng.normal(size=(5, d)), known_z @ r.T
    y = np.tile(r @ rng.normal(size=d), (5, 1))
    for i, mine in enumerate(log_likelihood(z, y, known_z, known_y) - log_likelihood(z, y, known_z, known_y)[0]):
        theirs = []
        for j in (i, 0):
            gram = np.vstack([z[j], known_z]) @ np.vstack([z[j], known_z]).T / k
            both = np.vstack([y[j], known_y])
            theirs.append(-k / 2 * np.linalg.slogdet(gram)[1] - np.trace(np.linalg.solve(gram, both @ both.T)) / 2)
        assert mine == pytest.approx(theirs[0] - theirs[1], abs=1e-9)


@pytest.mark.parametrize(("k", "p"), [(3, 1), (3, 2), (5, 3)])
def test_no_search_finds_a_higher_likelihood(k, p):
    """Errata L-t: Nelder–Mead from several starts ends at the closed form, never above it."""
    rng = np.random.default_rng(k)
    x = integers(rng, p + 1)
    y = x @ draw(rng, k, 6).T
    known = (x[:p], y[:p])
    guess = map_estimate(y[p:], *known, np.random.default_rng(0))
    top = log_likelihood(guess, y[p:], *known)[0]
    options = {"maxiter": 6_000, "maxfev": 6_000, "xatol": 1e-9, "fatol": 1e-12, "adaptive": True}
    ends = [
        -minimize(
            lambda z: -log_likelihood(z[None], y[p:], *known)[0],
            np.median(x[:p], axis=0) + rng.uniform(-2, 2, size=6),
            method="Nelder-Mead",
            options=options,
        ).fun
        for _ in range(5)
    ]
    assert max(ends) <= top + 1e-8
    assert max(ends) > top - 1e-3


def test_map_explains_y_and_keeps_the_known_part():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 8))
    y = x @ draw(rng, 5, 8).T
    u, image = known_span(x[:3], y[:3])
    guess = map_estimate(y, x[:3], y[:3], rng)
    inside = guess @ u
    np.testing.assert_allclose(inside, y @ np.linalg.pinv(image).T, atol=1e-9)
    outside = np.linalg.norm(guess - inside @ u.T, axis=1)
    np.testing.assert_allclose(outside, np.linalg.norm(y - inside @ image.T, axis=1), atol=1e-9)
    # From p = k on the likelihood is unbounded at w = 0, which is taken: y is explained exactly.
    full = map_estimate(y, x[:6], y[:6], rng)
    u, image = known_span(x[:6], y[:6])
    np.testing.assert_allclose(full @ u @ image.T, y, atol=1e-9)


def test_known_rows_come_back_as_known():
    rng = np.random.default_rng(2)
    x = integers(rng, 100)
    release = release_of(x @ draw(rng, 3, 6).T, model_of(3, 6))
    for variant in ProjectionMAPAttack.variants:
        guess = ProjectionMAPAttack(variant=variant, starts=5)._run(release, (KnownPairs(x[[7, 3]], [7, 3]),))
        np.testing.assert_allclose(guess.values[[7, 3]], x[[7, 3]])
        assert guess.details["rank"] == 2


def test_prior_and_sample_lower_the_error():
    """k = 3, p = 1: the errata's prior takes the median from .47 to .28 of the record's length, six tenths."""
    rng = np.random.default_rng(3)
    paper, best, sampled = median_errors(integers(rng, 5_000), 3, 1, 15, rng)
    assert best < 0.95 * paper
    assert sampled < 0.6 * paper


@pytest.mark.parametrize(("k", "kind"), [(6, "gaussian"), (8, "gaussian"), (6, "given")])
def test_d_known_records_and_a_full_matrix_give_everything(k, kind):
    rng = np.random.default_rng(4)
    x = rng.lognormal(size=(200, 6))
    r = draw(rng, k, 6) * (5.0 if kind == "given" else 1.0)
    release = release_of(x / 2 @ r.T, model_of(k, 6, kind, unit=2.0))
    guess = ProjectionMAPAttack()._run(release, (KnownPairs(x[:6], np.arange(6)),))
    assert np.abs(guess.values - x).max() < 1e-8 * np.abs(x).max()
    assert guess.details["exact_rows"] == k


def test_d_known_records_give_whole_numbers_from_fewer_equations():
    """With p = d the matrix is known and L-x applies: k = 2 of 6 columns, every record exact."""
    rng = np.random.default_rng(5)
    x = integers(rng, 400)
    release = release_of(x @ draw(rng, 2, 6).T, model_of(2, 6), dtypes="int64")
    pairs = KnownPairs(x[:6], np.arange(6))
    guess = ProjectionMAPAttack()._run(release, (pairs, KnownRanges(0, 15)))
    np.testing.assert_allclose(guess.values, x, atol=1e-9)
    assert guess.details["unique"] == 400
    loose = ProjectionMAPAttack()._run(release_of(x @ draw(rng, 2, 6).T, model_of(2, 6)), (pairs, KnownRanges(0, 15)))
    assert np.abs(loose.values - x).max() > 0.5


@pytest.mark.parametrize("kind", ["achlioptas1", "achlioptas3", "sparse"])
def test_one_record_betrays_a_matrix_of_few_values(kind):
    """3⁸ candidate rows share no image of a continuous record: one pair gives all of R, then z where k = d."""
    rng = np.random.default_rng(6)
    x = rng.lognormal(size=(100, 8))
    r = draw(rng, 5, 8, kind)
    pairs = KnownPairs(x[:1], [0])
    found = ProjectionMAPAttack()._run(release_of(x @ r.T, model_of(5, 8, kind)), (pairs,))
    assert found.details["exact_rows"] == 5
    continuous = ProjectionMAPAttack()._run(release_of(x @ r.T, model_of(5, 8)), (pairs,))
    assert continuous.details["exact_rows"] == 0
    assert np.median(relative(found.values[1:], x[1:])) < np.median(relative(continuous.values[1:], x[1:]))


def test_posterior_mean_against_brute_force():
    """E[z | y] under a normal prior, by weighting 400,000 of its draws with the likelihood."""
    rng = np.random.default_rng(7)
    k, d = 4, 5
    root = rng.normal(size=(d, d))
    prior = (rng.normal(size=d) * 2, root @ root.T)
    known = rng.multivariate_normal(*prior, size=2)
    z = rng.multivariate_normal(*prior, size=20)
    r = draw(rng, k, d)
    belief = matrix_belief(known, known @ r.T, model_of(k, d))
    y = z @ r.T
    draws = rng.multivariate_normal(*prior, size=400_000)
    square = np.maximum(((draws @ belief.spread[-1]) * draws).sum(axis=1), 1e-12)
    guess = belief.posterior_mean(y, prior, rng.multivariate_normal(*prior, size=1_000), np.zeros(k))
    exact = np.empty_like(guess)
    for i in range(20):
        log = -k / 2 * np.log(square) - ((y[i] - draws @ belief.mean.T) ** 2).sum(axis=1) / (2 * square)
        weight = np.exp(log - log.max())
        exact[i] = weight @ draws / weight.sum()
    worst = np.sqrt(((z - prior[0]) ** 2).mean())
    assert np.sqrt(((guess - exact) ** 2).mean()) < 0.1 * worst
    assert np.mean((guess - z) ** 2) < 1.1 * np.mean((exact - z) ** 2)


def test_noise_without_end_leaves_the_prior_mean():
    rng = np.random.default_rng(8)
    x = integers(rng, 600)
    noise = 1e6
    y = x[:200] @ draw(rng, 4, 6).T + noise * rng.normal(size=(200, 4))
    known = (KnownPairs(x[:3], np.arange(3)), KnownSample(x[200:]))
    guess = ProjectionMAPAttack()._run(release_of(y, model_of(4, 6, noise=noise)), known)
    np.testing.assert_allclose(guess.values[3:], np.tile(x[200:].mean(axis=0), (197, 1)), atol=0.05)


def test_small_noise_is_regressed_away():
    """p ≫ d noisy pairs: the error falls to that of the noise itself, carried back through R."""
    rng = np.random.default_rng(9)
    x, r, noise = rng.normal(size=(2_000, 4)), draw(rng, 4, 4), 0.01
    y = x @ r.T + noise * rng.normal(size=(2_000, 4))
    known = (KnownPairs(x[:1_500], np.arange(1_500)), KnownSample(rng.normal(size=(500, 4))))
    guess = ProjectionMAPAttack()._run(release_of(y, model_of(4, 4, noise=noise)), known)
    error = np.sqrt(((guess.values[1_500:] - x[1_500:]) ** 2).mean())
    assert error < 1.1 * noise * np.sqrt((np.linalg.inv(r) ** 2).sum() / 4)


def test_little_knowledge_of_many_columns_is_worth_nothing():
    """One centred record of 60 columns and k = 2: no better than the mean."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(1_000, 60))
    known = (KnownPairs(x[:1], [0]), KnownSample(rng.normal(size=(500, 60))))
    guess = ProjectionMAPAttack()._run(release_of(x @ draw(rng, 2, 60).T, model_of(2, 60)), known)
    assert np.sqrt(((guess.values[1:] - x[1:]) ** 2).mean()) > 0.97


def test_mixture_mean_explains_y_exactly():
    """A known matrix without noise: every component's mean solves the equations."""
    rng = np.random.default_rng(11)
    sample, r = integers(rng, 300), draw(rng, 3, 6)
    y = integers(rng, 50) @ r.T
    guess = mixture_mean(y, r, (sample.mean(axis=0), np.cov(sample.T)), sample, np.zeros(3))
    np.testing.assert_allclose(guess @ r.T, y, atol=1e-9)


def test_many_known_records_are_a_sample():
    """100 known records of clustered data: as good as a sample of 100 others with them."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=(800, 5)) * 0.3 + 4 * rng.integers(0, 2, size=(800, 1)) + 2
    release = release_of(x[:700] @ draw(rng, 2, 5).T, model_of(2, 5))
    pairs = KnownPairs(x[:100], np.arange(100))
    alone, helped = (ProjectionMAPAttack()._run(release, k) for k in ((pairs,), (pairs, KnownSample(x[700:]))))
    assert relative(alone.values, x[:700]).mean() < 1.1 * relative(helped.values, x[:700]).mean()


@pytest.mark.parametrize(
    ("records", "rows", "message"),
    [(np.ones((1, 5)), [0], "columns"), (np.ones((1, 6)), [30], "rows"), (np.ones((0, 6)), np.empty(0, int), "rows")],
)
def test_knowledge_that_does_not_fit_is_refused(records, rows, message):
    release = release_of(np.ones((30, 3)), model_of(3, 6))
    with pytest.raises(InputError, match=message):
        ProjectionMAPAttack()._run(release, (KnownPairs(records, rows),))


@pytest.mark.skipif(not LETTER.exists(), reason="the Letter table is not here")
@pytest.mark.parametrize(
    ("k", "p", "low", "high"),
    [(6, 5, 0.075, 0.236), (6, 3, 0.197, 0.305), (6, 1, 0.389, 0.573), (4, 2, 0.272, 0.455), (3, 1, 0.384, 0.674)],
)
def test_letter_tables(k, p, low, high):
    """tables5.5–5.8: medians over matrices lie in the 5–95 % bands (errata L-z), and best beats them."""
    letter = np.genfromtxt(LETTER, delimiter=",", skip_header=1, usecols=range(1, 7))
    paper, best, sampled = median_errors(letter, k, p, 40, np.random.default_rng(k))
    assert low < paper < high
    assert best < 1.05 * paper
    assert sampled < 0.75 * paper
