"""R4: proportions from randomized reports, their dispersion, and the test of association."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from _tables import reported, within_standard_errors
from veil.errors import InputError, NotApplicableError
from veil.numerics.response_likelihood import gradient, mean_log_likelihood
from veil.numerics.response_matrix import cumulative, draw_reports, keep_matrix, kron_apply, warner
from veil.recovery.proportions import ProportionRecovery
from veil.recovery.response_estimates import (
    constrained_proportions,
    dispersion,
    estimate_proportions,
    independence_test,
    joint_proportions,
)
from veil.release.models import ResponseModel, UnknownModel

SURVEY = np.array(
    [[0.60, 0.20, 0.00, 0.10], [0.20, 0.50, 0.20, 0.10], [0.15, 0.15, 0.70, 0.30], [0.05, 0.15, 0.10, 0.50]]
)
TRUE = np.array([0.10, 0.30, 0.20, 0.40])
REPLICATIONS = 1_000


def drawn(matrix, codes, rng):
    return draw_reports(cumulative(matrix), codes, rng.integers(0, 2**64, len(codes), dtype=np.uint64))


def test_warners_variance() -> None:
    """π = .3, P = .7, n = 1,000: 1.5225e−3 against 2.1e−4 of direct answers; T's own formula."""
    parts = dispersion(warner(0.7), [0.3, 0.7], 1_000)
    assert parts.total[0, 0] == pytest.approx(1.5225e-3, abs=1e-12)
    assert parts.sampling[0, 0] == pytest.approx(2.1e-4, abs=1e-12)
    assert parts.total[0, 0] == pytest.approx(0.21 / 1_000 + (1 / (16 * 0.2**2) - 0.25) / 1_000, abs=1e-12)
    yes = np.random.default_rng(0).binomial(1_000, 0.42, size=20_000)
    estimates = (0.7 - 1) / (2 * 0.7 - 1) + yes / (0.4 * 1_000)
    assert estimates.var() == pytest.approx(1.5225e-3, rel=4.5 * np.sqrt(2 / 20_000))
    assert estimate_proportions([420, 580], warner(0.7)).estimate[0] == pytest.approx(0.3)


def test_the_two_parts() -> None:
    """rr-4: dispersion = sampling + randomization, both non-negative definite, as T writes them."""
    parts, lam, inverse = dispersion(SURVEY, TRUE, 1_000), SURVEY @ TRUE, np.linalg.inv(SURVEY)
    whole = inverse @ (np.diag(lam) - np.outer(lam, lam)) @ inverse.T / 1_000
    second = inverse @ (np.diag(lam) - SURVEY @ np.diag(TRUE) @ SURVEY.T) @ inverse.T / 1_000
    assert parts.total == pytest.approx(whole, abs=1e-12)
    assert parts.randomization == pytest.approx(second, abs=1e-12)
    assert np.linalg.eigvalsh(parts.randomization).min() > -1e-12
    assert np.abs(dispersion(np.eye(4), TRUE, 10).randomization).max() < 1e-12


def test_unbiased_with_the_right_covariance() -> None:
    """1,000 surveys of 60 respondents: mean, covariance, and the mean of the estimated parts."""
    n, lam = 60, SURVEY @ TRUE
    surveys = np.random.default_rng(1).multinomial(n, lam, size=REPLICATIONS)
    found = [estimate_proportions(counts, SURVEY) for counts in surveys]
    estimates, law = np.array([f.estimate for f in found]), dispersion(SURVEY, TRUE, n)
    spread = np.sqrt(np.diag(law.total))
    assert within_standard_errors(estimates.mean(axis=0), TRUE, spread / np.sqrt(REPLICATIONS), 4.5)
    error = np.sqrt((np.outer(spread**2, spread**2) + law.total**2) / REPLICATIONS)
    assert within_standard_errors(np.cov(estimates.T), law.total, error, 4.5)
    for part in ("sampling", "randomization", "total"):
        guessed = np.array([getattr(f.dispersion, part) for f in found])
        slack = 4.5 * guessed.std(axis=0) / np.sqrt(REPLICATIONS)
        assert (np.abs(guessed.mean(axis=0) - getattr(law, part)) <= slack + 1e-15).all()


@given(st.lists(st.integers(0, 60), min_size=4, max_size=4).filter(any), st.floats(0.3, 1.0))
def test_the_constrained_estimate_is_always_the_likeliest_distribution(counts: list[int], keep: float) -> None:
    matrix, shares = keep_matrix(keep, 4), np.array(counts) / sum(counts)
    likely = constrained_proportions(counts, matrix)
    assert (likely >= 0.0).all()
    assert likely.sum() == pytest.approx(1.0)
    # For a concave likelihood the largest slope bounds what is missing.
    assert gradient(shares, [matrix], likely).max() <= 1 + 1e-8
    plain = estimate_proportions(counts, matrix).estimate
    if (plain >= 0.0).all():
        assert likely == pytest.approx(plain, abs=1e-9)


def test_constrained_at_the_border() -> None:
    """Two categories: the unbiased estimate cut to [0, 1]. More: clipping it is not the likeliest."""
    assert constrained_proportions([90, 10], warner(0.7)) == pytest.approx([1.0, 0.0], abs=1e-6)
    assert constrained_proportions([10, 90], warner(0.7)) == pytest.approx([0.0, 1.0], abs=1e-6)
    counts = np.array([2.0, 30, 40, 28])
    likely, plain = constrained_proportions(counts, SURVEY), np.linalg.solve(SURVEY, counts / 100)
    assert plain.min() < 0
    clipped = np.clip(plain, 0, None) / np.clip(plain, 0, None).sum()
    better, worse = (mean_log_likelihood(counts / 100, [SURVEY], p) for p in (likely, clipped))
    assert better > worse + 1e-4
    assert constrained_proportions([7, 3], np.full((2, 2), 0.5)) == pytest.approx([0.5, 0.5])  # tells nothing
    assert constrained_proportions([7, 3], [[1, 1], [0, 0]]).sum() == pytest.approx(1.0)  # 3 impossible reports


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_joint_tables(seed: int) -> None:
    """Solved axis by axis as by the full Kronecker matrix, errors included; the constrained one a distribution."""
    rng = np.random.default_rng(seed)
    matrices = [keep_matrix(0.7, 2), keep_matrix(0.6, 3)]
    counts = rng.integers(0, 40, size=(2, 3)) + 1
    found, whole = joint_proportions(counts, matrices), estimate_proportions(counts.ravel(), np.kron(*matrices))
    assert found.unconstrained.ravel() == pytest.approx(whole.estimate, abs=1e-9)
    assert found.standard_errors.ravel() ** 2 == pytest.approx(np.diag(whole.dispersion.total), abs=1e-9)
    noise = np.clip(np.diag(whole.dispersion.randomization), 0, None)
    assert found.randomization_se.ravel() ** 2 == pytest.approx(noise, abs=1e-9)
    likely = constrained_proportions(counts.ravel(), np.kron(*matrices))
    assert found.proportions.ravel() == pytest.approx(likely, abs=1e-3)
    assert found.proportions.sum() == pytest.approx(1.0)
    assert found.proportions.min() >= 0.0


def test_association_has_the_right_level_and_less_power() -> None:
    """rr-association: independence of π is independence of λ."""
    rng = np.random.default_rng(2)
    matrices = [warner(0.8), keep_matrix(0.7, 3)]
    apart = np.outer([0.3, 0.7], [0.2, 0.3, 0.5])
    lam = kron_apply(matrices, apart)
    assert lam == pytest.approx(np.outer(lam.sum(axis=1), lam.sum(axis=0)), abs=1e-12)
    together = apart + 0.05 * np.array([[1, 0, -1], [-1, 0, 1]])

    def rejected(table: np.ndarray, runs: int) -> float:
        draws = rng.multinomial(400, table.ravel(), size=runs).reshape(runs, 2, 3)
        return float(np.mean([independence_test(t).p_value < 0.05 for t in draws]))

    assert within_standard_errors(rejected(lam, 3_000), 0.05, np.sqrt(0.05 * 0.95 / 3_000), 4.5)
    assert rejected(together, 200) > 0.9 > rejected(kron_apply(matrices, together), 200) + 0.2


def test_independence_test_is_pearsons() -> None:
    from scipy.stats import chi2_contingency

    table = np.array([[10, 20, 30], [20, 15, 5]])
    known, found = chi2_contingency(table), independence_test(table)
    assert (found.statistic, found.degrees, found.p_value) == pytest.approx((known[0], known[2], known[1]))
    wide = np.insert(table, 1, 0, axis=1)
    assert independence_test(wide) == found  # nobody reported it
    three = np.arange(1, 13).reshape(2, 3, 2)
    known, found = chi2_contingency(three), independence_test(three)
    assert (found.statistic, found.degrees, found.p_value) == pytest.approx((known[0], known[2], known[1]))


def test_recovery_of_a_release() -> None:
    rng = np.random.default_rng(3)
    n = 4_000
    first = rng.choice(4, size=n, p=TRUE)
    second = np.where(rng.random(n) < 0.7, first % 2, rng.integers(0, 2, n))
    codes = np.column_stack([drawn(SURVEY, first, rng), drawn(warner(0.8), second, rng)])
    model = ResponseModel((("a", "b", "c", None), ("no", "yes")), (SURVEY, warner(0.8)))
    found = ProportionRecovery().fit(reported(codes, model, ("x", "y")))
    for j, (name, labels) in enumerate(zip(("x", "y"), model.categories, strict=True)):
        assert sum(found.proportions_[name].values()) == pytest.approx(1.0)
        for code, label in enumerate(labels):
            own = np.mean([first, second][j] == code)
            assert abs(found.unconstrained_[name][label] - own) < 4.5 * found.randomization_se_[name][label]
            parts = found.sampling_se_[name][label] ** 2 + found.randomization_se_[name][label] ** 2
            assert found.standard_errors_[name][label] ** 2 == pytest.approx(parts)
    assert found.proportions_["x"][None] == pytest.approx(0.4, abs=5 * found.standard_errors_["x"][None])
    joint = found.joint(["y", "x"])
    assert joint.proportions.shape == (2, 4)
    own = np.array([[np.mean((second == b) & (first == a)) for a in range(4)] for b in range(2)])
    assert (np.abs(joint.unconstrained - own) < 4.5 * joint.randomization_se).all()
    assert joint.unconstrained.sum(axis=0) == pytest.approx(list(found.unconstrained_["x"].values()))
    assert found.association(["x", "y"]).p_value < 1e-6


def test_recovery_of_columns_randomized_as_one() -> None:
    """The tutorial's structural zero: of (man, woman) × (pregnant, not) three combinations occur."""
    rng = np.random.default_rng(4)
    compound = ((0, 1), (1, 0), (1, 1))
    matrix, true = keep_matrix(0.7, 3), np.array([0.5, 0.1, 0.4])
    cells = rng.choice(3, size=3_000, p=true)
    codes = np.array(compound)[drawn(matrix, cells, rng)]
    model = ResponseModel((("man", "woman"), ("yes", "no")), (matrix,), compound)
    found = ProportionRecovery().fit(reported(codes, model, ("sex", "pregnant")))
    assert found.unconstrained_["sex"]["man"] == pytest.approx(0.5, abs=4.5 * found.standard_errors_["sex"]["man"])
    expected = dispersion(matrix, true, 3_000).total
    assert found.standard_errors_["sex"]["man"] ** 2 == pytest.approx(expected[0, 0], rel=0.05)
    assert found.standard_errors_["pregnant"]["yes"] ** 2 == pytest.approx(expected[1, 1], rel=0.15)
    assert found.standard_errors_["sex"]["woman"] == pytest.approx(found.standard_errors_["sex"]["man"])
    joint = found.joint(["pregnant", "sex"])
    assert joint.proportions[0, 0] == joint.unconstrained[0, 0] == joint.standard_errors[0, 0] == 0.0
    assert joint.proportions.sum() == pytest.approx(1.0)
    assert joint.proportions.sum(axis=0) == pytest.approx(list(found.proportions_["sex"].values()))
    with pytest.raises(NotApplicableError, match="one variable"):
        found.association(["sex", "pregnant"])
    with pytest.raises(NotApplicableError, match="does not list"):
        ProportionRecovery().fit(reported(np.zeros((5, 2), dtype=int), model, ("sex", "pregnant")))


def test_refusals() -> None:
    model = ResponseModel((("a", "b"), ("c", "d")), (warner(0.7), warner(0.7)))
    codes = np.array([[0, 1], [1, 1], [0, 0]])
    found = ProportionRecovery().fit(reported(codes, model, ("x", "y")))
    for columns in (["z"], [], ["x", "x"]):
        with pytest.raises(InputError, match="columns"):
            found.joint(columns)
    with pytest.raises(InputError, match="two or more attributes"):
        found.association("x")
    with pytest.raises(InputError, match="takes a release"):
        ProportionRecovery().fit(codes)
    with pytest.raises(NotApplicableError, match="no randomized"):
        ProportionRecovery().fit(reported(codes, UnknownModel(), ("x", "y")))
    with pytest.raises(NotApplicableError, match="no rows"):
        ProportionRecovery().fit(reported(codes[:0], model, ("x", "y")))
    with pytest.raises(NotApplicableError, match="singular"):
        estimate_proportions([3, 4], warner(0.5))
    with pytest.raises(InputError, match="2 × 2; 3 categories"):
        joint_proportions(np.ones((2, 3)), [warner(0.7), warner(0.7)])
    with pytest.raises(InputError, match="n must be"):
        dispersion(warner(0.7), [0.3, 0.7], 0)
    for counts in ([0, 0], [-1, 2], ["a", "b"], [[1, 2], [3, 4]]):
        with pytest.raises(InputError, match="counts"):
            estimate_proportions(counts, warner(0.7))


def test_reports_of_an_invariant_matrix_are_read_off():
    """P π = π: the released shares are the private ones on average, and inverting P would only add noise."""
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"c": rng.choice(list("abc"), 4_000, p=[0.85, 0.1, 0.05])})
    release, _ = veil.publish(frame, veil.RandomizedResponse(keep=0.7, invariant=True, random_state=6))
    found = veil.ProportionRecovery().fit(release)
    for category, share in frame["c"].value_counts(normalize=True).items():
        # Proportions behind the matrix are rounded to two digits.
        assert abs(found.proportions_["c"][category] - share) < 4.5 * found.randomization_se_["c"][category] + 0.01
        assert found.standard_errors_["c"][category] >= found.randomization_se_["c"][category]
