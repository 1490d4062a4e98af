"""P6 is Haar and keeps distances; A9 solves what theory says it can, and no more (Liu 2007, ch. 4)."""

import numpy as np
import pytest

import veil
from _tables import within_standard_errors
from veil.keys.key import Key
from veil.measures import breach_probability
from veil.perturbations.orthogonal import haar_orthogonal


def draws(d, n, **options):
    return np.array([haar_orthogonal(Key.from_seed(i).generator("m"), d, **options) for i in range(n)])


@pytest.mark.parametrize("d", [2, 3, 5])
def test_haar_trace_moments_and_determinant(d):
    """E tr M = 0, E (tr M)² = 1 for every d ≥ 2; det = ±1 equally often."""
    n = 4_000
    m = draws(d, n)
    trace = np.trace(m, axis1=1, axis2=2)
    assert within_standard_errors(trace.mean(), 0, trace.std() / np.sqrt(n))
    square = trace**2
    assert within_standard_errors(square.mean(), 1, square.std() / np.sqrt(n))
    balance = np.linalg.det(m).mean()
    assert abs(balance) < 4 / np.sqrt(n)
    np.testing.assert_allclose(m @ m.transpose(0, 2, 1), np.broadcast_to(np.eye(d), m.shape), atol=1e-12)


def test_plain_qr_would_fail_the_determinant_test():
    """Errata L-d: without the sign correction the determinant is always (−1)^(d−1)."""
    rng = np.random.default_rng(0)
    dets = [np.linalg.det(np.linalg.qr(rng.normal(size=(3, 3)))[0]) for _ in range(50)]
    np.testing.assert_allclose(dets, 1.0)


def test_proper_keeps_to_rotations():
    np.testing.assert_allclose(np.linalg.det(draws(4, 50, proper=True)), 1.0)


@pytest.mark.parametrize("translation", [0.0, 3.0])
def test_distances_are_kept(translation):
    x = np.random.default_rng(0).normal(size=(200, 5)) * [1, 10, 100, 0.1, 3] + 7
    release, _ = veil.publish(x, veil.OrthogonalTransform(translation=translation))
    y, z = release.to_numpy(), x / np.array(release.only_part.parameters["unit"])
    pairs = np.random.default_rng(1).integers(0, 200, size=(500, 2))
    np.testing.assert_allclose(
        np.linalg.norm(y[pairs[:, 0]] - y[pairs[:, 1]], axis=1),
        np.linalg.norm(z[pairs[:, 0]] - z[pairs[:, 1]], axis=1),
        atol=1e-10,
    )
    assert (np.linalg.norm(y, axis=1) - np.linalg.norm(z, axis=1)).std() < 1e-10 or translation


@pytest.mark.parametrize("scaling", ["std", None])
@pytest.mark.parametrize("variant", ["best", "paper"])
@pytest.mark.parametrize("translation", [0.0, 2.0])
def test_d_known_pairs_recover_everything(scaling, variant, translation):
    rng = np.random.default_rng(2)
    x = rng.lognormal(size=(300, 6)) * [1, 10, 100, 0.1, 3, 5]
    release, _ = veil.publish(x, veil.OrthogonalTransform(scaling=scaling, translation=translation))
    rows = rng.choice(300, size=7 if translation else 6, replace=False)
    guess = veil.KnownPairsAttack(variant=variant).run(release, veil.KnownPairs(x[rows], rows))
    assert np.abs(guess.values - x).max() < 1e-8 * np.abs(x).max()
    assert guess.details["rank"] == 6


@pytest.mark.parametrize("translation", [0.0, 2.0])
def test_a_rotation_needs_one_pair_less(translation):
    """The determinant is +1, so d − 1 axes give the last one."""
    rng = np.random.default_rng(2)
    x = rng.lognormal(size=(100, 5))
    known = 5 if translation else 4
    proper, _ = veil.publish(x, veil.OrthogonalTransform(proper=True, translation=translation))
    any_matrix, _ = veil.publish(x, veil.OrthogonalTransform(translation=translation))
    pairs = veil.KnownPairs(x[:known], np.arange(known))
    assert np.abs(veil.KnownPairsAttack().run(proper, pairs).values - x).max() < 1e-8
    assert np.abs(veil.KnownPairsAttack().run(any_matrix, pairs).values - x).max() > 1e-2


def test_ill_conditioned_records_are_recovered_too():
    """The demo's 30 columns are nearly collinear; the error follows the condition number, not its square."""
    from sklearn.datasets import load_breast_cancer

    x = load_breast_cancer().data
    release, _ = veil.publish(x, veil.OrthogonalTransform(dither=False))
    rows = np.random.default_rng(0).choice(len(x), size=30, replace=False)
    guess = veil.KnownPairsAttack().run(release, veil.KnownPairs(x[rows], rows))
    assert np.abs((guess.values - x) / x.std(axis=0)).max() < 1e-8


@pytest.mark.parametrize("known", [1, 3])
def test_fewer_pairs_give_their_span_exactly_and_the_rest_not_at_all(known):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(100, 5))
    inside = rng.normal(size=(20, known)) @ x[:known]
    table = np.vstack([x, inside])
    release, _ = veil.publish(table, veil.OrthogonalTransform(scaling=None, dither=False))
    guess = veil.KnownPairsAttack().run(release, veil.KnownPairs(table[:known], np.arange(known)))
    np.testing.assert_allclose(guess.values[100:], inside, atol=1e-9)
    u = np.linalg.qr(table[:known].T)[0]
    np.testing.assert_allclose(guess.values, table @ u @ u.T, atol=1e-9)
    assert guess.details["rank"] == known


def test_one_draw_errs_root_two_times_more_than_the_posterior_mean():
    """Outside the known span a Haar draw has twice the squared error of the projection."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 6))
    best, paper = [], []
    for seed in range(200):
        release, _ = veil.publish(x, veil.OrthogonalTransform(scaling=None, random_state=seed))
        pairs = veil.KnownPairs(x[:2], [0, 1])
        best.append(((veil.KnownPairsAttack().run(release, pairs).values - x) ** 2).sum())
        draw = veil.KnownPairsAttack(variant="paper", random_state=seed).run(release, pairs)
        paper.append(((draw.values - x) ** 2).sum())
    ratio = np.mean(paper) / np.mean(best)
    se = np.std(paper) / np.mean(best) / np.sqrt(len(paper))
    assert within_standard_errors(ratio, 2, se)


@pytest.mark.parametrize(
    ("p", "g"),
    [(1, 0.3), (3, 0.5), pytest.param(2, 0.3, marks=pytest.mark.slow), pytest.param(6, 0.5, marks=pytest.mark.slow)],
)
def test_breach_probability_is_what_the_paper_attack_achieves(p, g):
    """The exact cap formula against the attack itself: one target, many secret matrices (errata L-a).

    400 runs put the paper's formula 12 standard errors away for both p at which it is rejected.
    """
    d, known, runs, target = p + 2, 2, 400, 5
    x = np.random.default_rng(10 + p).normal(size=(12, d)) + 1.0
    u = np.linalg.qr(x[:known].T)[0]
    rest = np.linalg.norm(x[target] - u @ (u.T @ x[target]))
    epsilon = 2 * g * rest / np.linalg.norm(x[target])
    hits, probability = 0, None
    for seed in range(runs):
        release, _ = veil.publish(x, veil.OrthogonalTransform(scaling=None, random_state=seed))
        attack = veil.KnownPairsAttack(variant="paper", epsilon=epsilon, random_state=seed)
        guess = attack.run(release, veil.KnownPairs(x[:known], np.arange(known)))
        hits += np.linalg.norm(guess.values[target] - x[target]) <= epsilon * np.linalg.norm(x[target])
        probability = guess.details["breach_probability"][target]
    rate, se = hits / runs, np.sqrt(probability * (1 - probability) / runs)
    assert within_standard_errors(rate, probability, se)
    assert probability == pytest.approx(float(breach_probability(g, p)), rel=1e-9)
    if p in (1, 6):
        assert abs(rate - float(breach_probability(g, p, variant="paper"))) > 4 * se, "the paper's formula passes too"


def test_the_worked_example_of_the_dissertation():
    """Liu Table 4.1 (errata L-b): x3 at distance 9.4868 from the known span; probability 50 %, not 3.84 %."""
    x = np.array([[30.0, 90.0], [36.0, 108.0], [45.0, 105.0]])
    release, _ = veil.publish(x, veil.OrthogonalTransform(scaling=None, dither=False, random_state=0))
    guess = veil.KnownPairsAttack(epsilon=0.01).run(release, veil.KnownPairs(x[:1], [0]))
    assert guess.details["breach_probability"][1] == pytest.approx(1.0)
    assert guess.details["breach_probability"][2] == pytest.approx(0.5)
    rest = np.linalg.norm(x[2] - guess.values[2])
    assert rest == pytest.approx(9.4868, abs=1e-4)
    assert guess.details["target"] == 1
