"""A20: the posterior of the true categories, alone and with a record's other answers."""

import numpy as np
import pytest

from _tables import reported
from veil.attacks.categories.response_posterior import ResponsePosteriorAttack, sequential_posteriors
from veil.attacks.categories.response_prior import independent_prior, joint_prior, table_of
from veil.errors import InputError, NotApplicableError
from veil.numerics.response_likelihood import gradient, most_likely
from veil.numerics.response_matrix import cumulative, draw_reports, keep_matrix, posterior, warner
from veil.release.models import ResponseModel, UnknownModel


def answered(true, matrices, rng):
    """Every column answered by itself."""
    codes = [
        draw_reports(cumulative(p), x, rng.integers(0, 2**64, len(x), dtype=np.uint64))
        for p, x in zip(matrices, true.T, strict=True)
    ]
    labels = tuple(tuple(range(len(p))) for p in matrices)
    return reported(np.column_stack(codes), ResponseModel(labels, tuple(matrices)))


def bayes_rate(matrices, prior):
    """The share of right guesses per column of the exact posterior mode, and of the best constant."""
    whole = matrices[0] if len(matrices) == 1 else np.kron(*matrices)
    joint = (whole * prior.ravel()).reshape(-1, *prior.shape)
    rates, constant = [], []
    for j in range(prior.ndim):
        margin = joint.sum(axis=tuple(a + 1 for a in range(prior.ndim) if a != j))
        rates.append(margin.max(axis=1).sum())
        constant.append(margin.sum(axis=0).max())
    return np.array(rates), np.array(constant)


def error(rate, n):
    return 4.5 * np.sqrt(np.maximum(rate * (1 - rate), 1 / n) / n)


def test_posteriors_by_brute_force() -> None:
    """Without ever forming it, the same as Bayes' rule with the full Kronecker matrix."""
    rng = np.random.default_rng(0)
    matrices = [rng.dirichlet(np.ones(k), size=k).T for k in (2, 3, 4)]
    prior = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    codes = np.column_stack([rng.integers(0, k, 50) for k in (2, 3, 4)])
    found = sequential_posteriors(codes, matrices, prior)
    whole = posterior(np.kron(np.kron(matrices[0], matrices[1]), matrices[2]), prior.ravel())
    expected = whole[np.ravel_multi_index(tuple(codes.T), (2, 3, 4))].reshape(-1, 2, 3, 4)
    for j, column in enumerate(found):
        margin = expected.sum(axis=tuple(a + 1 for a in range(3) if a != j))
        assert column.posterior[column.rows] == pytest.approx(margin, abs=1e-12)
        assert column.weights.sum() == 50


def test_one_column() -> None:
    """Warner with π = .4, P = .8: posteriors .727 and .143, right with the exact Bayes rate."""
    rng = np.random.default_rng(1)
    n, shares = 20_000, np.array([0.4, 0.6])
    true = (rng.random((n, 1)) > 0.4).astype(int)
    guess = ResponsePosteriorAttack().run(answered(true, [warner(0.8)], rng))
    assert guess.columns == ("c0",)
    assert guess.ambiguity == "none"
    exact = posterior(warner(0.8), shares)
    for code in (0, 1):
        rows = guess.values[:, 0] == code
        assert guess.details["confidence"][rows, 0] == pytest.approx(exact[code].max(), abs=0.02)
    rate, _ = bayes_rate([warner(0.8)], shares)
    assert abs((guess.values == true).mean() - rate[0]) < error(rate[0], n)
    assert guess.details["expected_rate"][0] == pytest.approx(rate[0], abs=0.01)
    assert guess.details["prior"][0] == pytest.approx(shares, abs=4.5 * np.sqrt(0.25 / n) / 0.6)
    assert guess.details["gain"][0].largest == pytest.approx(0.8 * 0.4 / 0.44 - 0.4, abs=0.02)


def test_a_rare_category_is_never_guessed() -> None:
    """π = .05, P = .7: even a yes leaves it improbable, and reading reports as true is worse than a constant."""
    rng = np.random.default_rng(2)
    true = (rng.random((5_000, 1)) > 0.05).astype(int)
    release = answered(true, [warner(0.7)], rng)
    guess = ResponsePosteriorAttack().run(release)
    assert (guess.values == 1.0).all()
    assert (release.codes() == true).mean() < 0.75 < (guess.values == true).mean()


def test_other_answers_help_as_far_as_bayes_allows() -> None:
    """Two dependent columns: better than alone, and never beyond the exact rate."""
    rng = np.random.default_rng(3)
    n, matrices = 20_000, [keep_matrix(0.5, 3), keep_matrix(0.8, 3)]
    prior = np.full((3, 3), 0.02) + 0.82 / 3 * np.eye(3)
    cells = rng.choice(9, size=n, p=prior.ravel())
    true = np.column_stack(np.unravel_index(cells, (3, 3)))
    release = answered(true, matrices, rng)
    both, alone = (ResponsePosteriorAttack(joint=j).run(release) for j in (True, False))
    hits, hits_alone = ((g.values == true).mean(axis=0) for g in (both, alone))
    rate, _ = bayes_rate(matrices, prior)
    assert (hits < rate + error(rate, n)).all()
    assert (hits > rate - error(rate, n) - 0.005).all()
    assert hits[0] > hits_alone[0] + 0.15  # the weakly kept column gains most
    assert both.details["steps"][0] > 0
    assert both.details["groups"] == (("c0", "c1"),)
    assert alone.details["groups"] == (("c0",), ("c1",))
    # The rate it expects rests on its estimate of how often both agree, and moves by less than that does.
    whole, inverse = np.kron(*matrices), np.linalg.inv(np.kron(*matrices))
    agree = np.eye(3).ravel() @ inverse
    spread = np.sqrt((agree**2 @ whole @ prior.ravel() - np.trace(prior) ** 2) / n)
    assert both.details["expected_rate"] == pytest.approx(rate, abs=4.5 * spread)
    assert both.details["gain"][0].mean > alone.details["gain"][0].mean


def test_independent_answers_do_not_help() -> None:
    """The joint prior stays the product: guesses are those of the single columns."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        true = rng.choice(3, size=(2_000, 4), p=[0.5, 0.3, 0.2])
        release = answered(true, [keep_matrix(0.6, 3)] * 4, rng)
        both, alone = (ResponsePosteriorAttack(joint=j).run(release) for j in (True, False))
        hits, hits_alone = ((g.values == true).mean() for g in (both, alone))
        assert hits > hits_alone - 0.01
        rate, _ = bayes_rate([keep_matrix(0.6, 3)], np.array([0.5, 0.3, 0.2]))
        assert abs(hits - rate[0]) < error(rate[0], true.size)


def test_the_likeliest_joint_prior_would_overfit() -> None:
    """Steps chosen on held-out reports come closer to the true joint distribution than 256 of them."""
    rng = np.random.default_rng(5)
    n, k, d = 400, 3, 4
    cause = rng.integers(0, k, n)
    true = np.column_stack([np.where(rng.random(n) < 0.7, cause, rng.integers(0, k, n)) for _ in range(d)])
    matrices = [keep_matrix(0.6, k)] * d
    codes = answered(true, matrices, rng).codes()
    found = joint_prior(codes, matrices, seed=0)
    assert 0 < found.steps < 256
    same = 0.7 * np.eye(k) + 0.1
    law = np.einsum("ca,cb,cd,ce->abde", same, same, same, same) / k
    counts = table_of(codes, (k,) * d)
    distances = [
        np.abs(p - law).sum()
        for p in (found.proportions, most_likely(counts, matrices), independent_prior(counts, matrices))
    ]
    assert distances[0] < min(distances[1:])


@pytest.mark.parametrize("keep", [0.8, 0.3])
def test_the_most_likely_proportions_leave_no_likelihood_to_gain(keep) -> None:
    """Inside the simplex they are P⁻¹λ̂; on its border no direction leads up (Karush, Kuhn and Tucker)."""
    rng, k = np.random.default_rng(3), 4
    matrix = keep_matrix(keep, k)
    for _ in range(20):
        counts = rng.multinomial(200, matrix @ rng.dirichlet(np.full(k, 0.5))).astype(float)
        likely = most_likely(counts, [matrix])
        direct = np.linalg.solve(matrix, counts / counts.sum())
        assert gradient(counts / counts.sum(), [matrix], likely).max() < 1.0 + 1e-6
        assert likely.sum() == pytest.approx(1.0)
        if direct.min() >= 0.0:
            np.testing.assert_allclose(likely, direct, atol=1e-12)


def test_the_ends_of_the_scale() -> None:
    """Nothing is learnt from uniform reports, and everything from true ones."""
    rng = np.random.default_rng(6)
    true = rng.integers(0, 3, (3_000, 2))
    nothing = ResponsePosteriorAttack().run(answered(true, [np.full((3, 3), 1 / 3)] * 2, rng))
    assert np.ptp(nothing.values, axis=0).tolist() == [0.0, 0.0]
    assert nothing.details["gain"][0].largest == pytest.approx(0.0, abs=1e-6)
    everything = ResponsePosteriorAttack().run(answered(true, [np.eye(3)] * 2, rng))
    assert (everything.values == true).all()
    assert everything.details["confidence"].min() == pytest.approx(1.0)


def test_columns_randomized_as_one() -> None:
    """One matrix over the combinations that occur: the posterior never names another."""
    rng = np.random.default_rng(7)
    compound, shares = ((0, 1), (1, 0), (1, 1)), np.array([0.45, 0.15, 0.4])
    matrix, n = keep_matrix(0.6, 3), 10_000
    cells = rng.choice(3, size=n, p=shares)
    reports = draw_reports(cumulative(matrix), cells, rng.integers(0, 2**64, n, dtype=np.uint64))
    true = np.array(compound)[cells]
    model = ResponseModel((("man", "woman"), ("yes", "no")), (matrix,), compound)
    guess = ResponsePosteriorAttack().run(reported(np.array(compound)[reports], model))
    after = posterior(matrix, shares)
    for j, fold in enumerate((np.array([[1, 0], [0, 1], [0, 1]]), np.array([[0, 1], [1, 0], [0, 1]]))):
        rate = ((matrix @ shares) * (after @ fold).max(axis=1)).sum()
        hits = (guess.values[:, j] == true[:, j]).mean()
        assert rate - 0.02 < hits < rate + error(rate, n)
    with pytest.raises(NotApplicableError, match="does not list"):
        ResponsePosteriorAttack().run(reported(np.zeros((4, 2), dtype=int), model))


def test_too_many_combinations_are_taken_in_groups() -> None:
    """Eighteen yes/no columns are 262,144 combinations: dependent ones share a group."""
    rng = np.random.default_rng(8)
    n = 1_500
    causes = rng.integers(0, 2, (n, 2))
    true = np.column_stack([np.where(rng.random(n) < 0.9, causes[:, j % 2], rng.integers(0, 2, n)) for j in range(18)])
    release = answered(true, [warner(0.8)] * 18, rng)
    guess = ResponsePosteriorAttack().run(release)
    sizes = [len(group) for group in guess.details["groups"]]
    assert sum(sizes) == 18
    assert max(sizes) <= 15
    assert len(guess.details["steps"]) == len(sizes)
    alone = ResponsePosteriorAttack(joint=False).run(release)
    assert (guess.values == true).mean() > (alone.values == true).mean() + 0.05


def test_refusals() -> None:
    release = reported(np.array([[0], [1]]), ResponseModel((("a", "b"),), (warner(0.7),)))
    for wrong in ({"joint": 1}, {"random_state": -1}, {"variant": "paper"}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            ResponsePosteriorAttack(**wrong).run(release)
    with pytest.raises(NotApplicableError, match="no theory"):
        ResponsePosteriorAttack().run(reported(np.array([[0]]), UnknownModel()))
    with pytest.raises(NotApplicableError, match="no rows"):
        ResponsePosteriorAttack().run(reported(np.empty((0, 1), dtype=int), release.only_part.model))
    tiny = ResponsePosteriorAttack().run(
        reported(np.array([[0, 1]]), ResponseModel((("a", "b"),) * 2, (warner(0.7),) * 2))
    )
    assert tiny.values.tolist() == [[0.0, 1.0]]
