"""What a table gives away before release: eigen-ratio and invariance (M14), correlation risk (M16)."""

import csv
import dataclasses
import gzip
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures import correlation_risk, effective_dimension, eigen_ratio, invariance, sample_risk

LIU = np.array([[1, 1.5, 0.5], [1.5, 3, 2.5], [0.5, 2.5, 75]])
DATA = Path(__file__).parents[3] / "shared" / "data"
SECRET = 8675309.25


def random_table(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


def test_eigen_ratio_of_the_paper() -> None:
    assert round(float(eigen_ratio(LIU)), 4) == 19.6003
    every_pair = np.divide.outer(np.linalg.eigvalsh(LIU), np.linalg.eigvalsh(LIU))
    assert every_pair.min() < 0.003  # the printed "any i ≠ j" (errata L-f)


@pytest.mark.parametrize(
    ("file", "columns", "expected"),
    [
        ("letter_recognition.csv.gz", [1, 2, 3, 4, 5, 6], 1.3109),
        ("adult_train.csv.gz", [0, 4, 12], 1.2734),
    ],
)
def test_eigen_ratio_of_the_papers_tables(file: str, columns: list[int], expected: float) -> None:
    path = DATA / file
    if not path.exists():
        pytest.skip("the papers' tables are not shipped; put them in ../shared/data to run this")
    with gzip.open(path, "rt") as lines:
        rows = list(csv.reader(lines))[1:]
    assert round(float(eigen_ratio([[float(row[j]) for j in columns] for row in rows])), 4) == expected


@given(b=st.floats(2.0, 1e3))
def test_eigen_ratio_of_liu_figure_4_14(b: float) -> None:
    """diag(.1, 2, b): 1 at b = 2, b/2 up to 40, then capped by the other pair."""
    assert eigen_ratio(np.diag([0.1, 2.0, b])) == pytest.approx(min(b / 2, 20), rel=1e-12)


@settings(deadline=None)
@given(seed=st.integers(0, 1000), scale=st.floats(1e-6, 1e6))
def test_tables_and_covariances_agree(seed: int, scale: float) -> None:
    x = random_table(50, 3, seed)
    ratio = float(eigen_ratio(np.cov(x.T)))
    assert ratio >= 1.0
    assert eigen_ratio(scale * x + 3) == pytest.approx(ratio, rel=1e-5)
    assert effective_dimension(x) == pytest.approx(float(effective_dimension(np.cov(x.T))), rel=1e-9)
    assert correlation_risk(x, 0.5).variance_left == pytest.approx(correlation_risk(np.cov(x.T), 0.5).variance_left)


def test_eigen_ratio_at_the_limits() -> None:
    assert eigen_ratio(np.eye(4)) == 1.0
    assert eigen_ratio([[5.0]]) == math.inf
    assert eigen_ratio(np.zeros((3, 3))) == math.inf
    collinear = np.random.default_rng(0).normal(size=(40, 2)) @ np.array([[1.0, 0, 1], [0, 3, 3]])
    plain = np.linalg.eigvalsh(np.cov(collinear.T))
    assert eigen_ratio(collinear) == pytest.approx(plain[2] / plain[1], rel=1e-9)
    assert eigen_ratio([[1.0, 2.0, 3.0], [2.0, 5.0, 1.0]]) == math.inf  # N = 2: one direction
    square = [[1.0, 0.5], [0.5, 1.0]]
    assert eigen_ratio(square) == pytest.approx(3.0)
    assert eigen_ratio(square, kind="table") == math.inf
    holes = random_table(30, 3, 1)
    holes[0, 1] = math.nan
    assert eigen_ratio(holes) == eigen_ratio(holes[1:])


def kl(mean_a: np.ndarray, cov_a: np.ndarray, mean_b: np.ndarray, cov_b: np.ndarray) -> float:
    """KL(N(a) ‖ N(b)), the general formula."""
    inverse = np.linalg.inv(cov_b)
    step = mean_b - mean_a
    logs = np.linalg.slogdet(cov_b)[1] - np.linalg.slogdet(cov_a)[1]
    return float(np.trace(inverse @ cov_a) + step @ inverse @ step - len(step) + logs) / 2


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_invariance_is_the_least_divergence_over_all_sign_matrices(n: int, seed: int) -> None:
    """f_D has mean WDZ′μ and covariance WΛW′ for any orthogonal W (theorem 4.5.3)."""
    rng = np.random.default_rng(10 * n + seed)
    factor = rng.normal(size=(n, n))
    covariance, mean = factor @ factor.T + 0.1 * np.eye(n), rng.normal(size=n)
    values, z = np.linalg.eigh(covariance)
    w = np.linalg.qr(rng.normal(size=(n, n)))[0]
    shared = w @ np.diag(values) @ w.T
    home = w @ z.T @ mean
    divergences = []
    for signs in itertools.product((1.0, -1.0), repeat=n):
        if min(signs) < 0:
            image = w @ (np.array(signs) * (z.T @ mean))
            divergences.append(kl(image, shared, home, shared) + kl(home, shared, image, shared))
    assert invariance(mean, covariance) == pytest.approx(min(divergences), rel=1e-8)


@given(alpha=st.floats(0, 10))
def test_invariance_of_liu_figure_4_15(alpha: float) -> None:
    """Mean α(1,1,1), covariance diag(.1, 2, 40): .1α²."""
    assert invariance([alpha] * 3, np.diag([0.1, 2.0, 40.0])) == pytest.approx(0.1 * alpha**2, abs=1e-12)


def test_invariance_at_the_limits() -> None:
    assert invariance(0.0, LIU) == 0.0
    assert invariance([1.0, 2.0], np.eye(2)) == 0.0  # free eigenvectors: one lies across the mean
    assert invariance([1.0, 1.0], np.diag([4.0, 0.0])) == pytest.approx(1.0)
    assert invariance([1.0, 1.0], np.zeros((2, 2))) == math.inf
    assert math.isnan(invariance([0.0, 0.0], np.zeros((2, 2))))
    assert invariance([3.0], [[4.0]]) == pytest.approx(9.0)


def test_effective_dimension() -> None:
    assert effective_dimension(np.diag([1.0, 100.0, 0.01])) == pytest.approx(3.0)
    assert effective_dimension(np.ones((4, 4))) == pytest.approx(1.0)
    for rho in (-0.3, 0.0, 0.5, 0.9):  # eigenvalues 1 ± ρ
        assert effective_dimension([[1, rho], [rho, 1]]) == pytest.approx(2 / (1 + rho * rho))
    assert effective_dimension(np.diag([1.0, 0.0, 2.0])) == pytest.approx(2.0)  # a constant column does not count
    assert effective_dimension(np.ones((5, 2)), kind="table") == 0.0
    assert effective_dimension([[1.0, 2.0, 7.0], [2.0, 5.0, 1.0]]) == pytest.approx(1.0)


@settings(deadline=None)
@given(seed=st.integers(0, 1000), d=st.integers(1, 6), s=st.floats(0.01, 10))
def test_correlation_risk_is_the_posterior_variance(seed: int, d: int, s: float) -> None:
    """diag(Σx − Σx(Σx+Σr)⁻¹Σx), and its mean in standard units mean_i λ_i s²/(λ_i + s²)."""
    x = random_table(60, d, seed)
    sx = np.atleast_2d(np.cov(x.T))
    variances = np.diag(sx)
    sr = s * s * np.diag(variances)
    posterior = np.diag(sx - sx @ np.linalg.solve(sx + sr, sx))
    risk = correlation_risk(x, [s])
    assert risk.of_variance[0] == pytest.approx(posterior / variances, rel=1e-6)
    assert risk.of_noise[0] == pytest.approx(posterior / (s * s * variances), rel=1e-6)
    eigenvalues = np.linalg.eigvalsh(sx / np.sqrt(np.outer(variances, variances)))
    assert risk.variance_left[0] == pytest.approx((eigenvalues * s * s / (eigenvalues + s * s)).mean(), rel=1e-6)
    assert risk.noise_left[0] == pytest.approx(risk.of_noise[0].mean(), rel=1e-6)
    assert risk.variance_left[0] <= risk.univariate[0] + 1e-12  # correlation never helps the owner


def test_correlation_risk_is_the_error_of_the_filter() -> None:
    """Normal table of 20,000 records: the filter's mean square error per column, 4 standard errors (√(2/N))."""
    rng = np.random.default_rng(60)
    x = random_table(20_000, 5, 6)
    s = np.array([0.3, 1.0])
    risk = correlation_risk(x, s)
    centre, sx = x - x.mean(axis=0), np.cov(x.T)
    for i, scale in enumerate(s):
        sr = scale**2 * np.diag(np.diag(sx))
        y = centre + rng.normal(size=x.shape) * np.sqrt(np.diag(sr))
        guess = y @ np.linalg.solve(sx + sr, sx)
        error = ((guess - centre) ** 2).mean(axis=0) / np.diag(sx)
        assert error == pytest.approx(risk.of_variance[i], rel=4 * math.sqrt(2 / 20_000))


def test_huangs_setting_in_closed_form() -> None:
    """m copies of one column: error s²/(1 + s²) alone, s²/(m + s²) together."""
    for m in (1, 10, 100):
        risk = correlation_risk(np.ones((m, m)), 0.5)
        assert risk.variance_left[0] == pytest.approx(0.25 / (m + 0.25), rel=1e-9)
        assert risk.univariate[0] == 0.2
        assert risk.effective_dimension == pytest.approx(1.0)
    assert correlation_risk(np.eye(7), 0.5).variance_left[0] == pytest.approx(0.2)


def test_correlation_risk_at_the_limits() -> None:
    x = random_table(40, 3, 2)
    x[:, 1] = 0.1
    risk = correlation_risk(x)
    assert risk.of_variance.shape == risk.of_noise.shape == (4, 3)
    assert np.isnan(risk.of_variance[:, 1]).all()
    assert np.isfinite(risk.of_variance[:, [0, 2]]).all()
    assert np.nanmean(risk.of_variance, axis=1) == pytest.approx(risk.variance_left)
    assert risk.spectrum.shape == (2,)
    assert (np.diff(risk.variance_left) > 0).all()
    two = correlation_risk([[1.0, 2.0, 7.0], [2.0, 5.0, 1.0]], [0.5])  # N = 2: rank one
    assert two.variance_left[0] == pytest.approx(0.25 * 3 / (3 + 0.25) / 3)
    wide = correlation_risk(np.random.default_rng(0).normal(size=(5, 30)), [1.0])  # more columns than records
    assert 0 < wide.variance_left[0] < 0.5
    collinear = np.hstack([random_table(40, 2, 3), random_table(40, 2, 3).sum(axis=1, keepdims=True)])
    assert correlation_risk(collinear, [1e-3]).noise_left[0] == pytest.approx(2 / 3, rel=1e-3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        risk.scales = np.ones(1)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: eigen_ratio([[SECRET, 1.0]]), "table"),
        (lambda: eigen_ratio([[1.0, SECRET], [SECRET, 1.0]]), "table"),
        (lambda: eigen_ratio(np.ones((4, 2)), kind="covariance"), "table"),
        (lambda: eigen_ratio(LIU, kind="matrix"), "kind"),
        (lambda: eigen_ratio([["8675309", "text"]]), "table"),
        (lambda: invariance([1.0], LIU), "mean"),
        (lambda: invariance([1.0, math.nan, 1.0], LIU), "mean"),
        (lambda: invariance([1.0, 1.0, 1.0], [[SECRET, math.nan], [math.nan, 1.0]]), "covariance"),
        (lambda: invariance([1.0, 1.0], [[1.0, 2.0], [3.0, 1.0]]), "covariance"),
        (lambda: correlation_risk(LIU, []), "scales"),
        (lambda: correlation_risk(LIU, [0.0, 1.0]), "scales"),
        (lambda: correlation_risk(LIU, [math.nan]), "scales"),
        (lambda: correlation_risk(LIU, [[1.0]]), "scales"),
        (lambda: correlation_risk(np.full((4, 2), SECRET), [1.0]), "table"),
        (lambda: effective_dimension([[SECRET, math.inf], [1.0, 2.0]]), "table"),
    ],
)
def test_refusals(call: object, name: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert message.startswith((f"{name}: ", f"{name} must be "))
    assert "\n" not in message
    assert "8675309" not in message
    assert "text" not in message


def test_sample_risk_follows_the_sampling_error_of_eigenvectors():
    """An eigenvector of n records has an angle of deviation √(λ₁λ₂/n)/(λ₁ − λ₂), and its sign a margin √(n·Inv)."""
    rng = np.random.default_rng(0)
    covariance, mean, n = np.diag([4.0, 1.0]), np.array([1.0, 0.5]), 400
    found = sample_risk(mean, covariance, n)
    angles = []
    for _ in range(800):
        vectors = np.linalg.eigh(np.cov((rng.normal(size=(n, 2)) * [2.0, 1.0]).T))[1]
        angles.append(np.arctan(vectors[1, 1] / vectors[0, 1]))
    # The standard error of a standard deviation of 800 values is 1/√1600; the formula itself holds up to O(1/n).
    assert np.std(angles) == pytest.approx(found.angle, rel=4 / np.sqrt(1_600) + 0.02)
    assert found.margin == pytest.approx(np.sqrt(n * 4 * min(1 / 4, 0.25 / 1)))
    assert found.at_risk
    assert "is at risk" in found.statement


def test_equal_eigenvalues_or_a_mean_across_an_axis_are_not_at_risk():
    assert not sample_risk([5.0, 5.0], np.eye(2), 10_000).at_risk
    assert not sample_risk([5.0, 0.0], np.diag([4.0, 1.0]), 10_000).at_risk
    assert "Only an audit can tell" in sample_risk([5.0, 0.0], np.diag([4.0, 1.0]), 10_000).statement
