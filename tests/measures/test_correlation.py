"""Canonical privacy (M2) and correlation dissimilarity (M9)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from _tables import mixed_table
from veil.errors import InputError
from veil.measures import canonical_privacy, correlation_dissimilarity

SECRET = 8675309.25


def by_inverses(x: np.ndarray, y: np.ndarray, middle: str = "xy") -> float:
    """The formula as written, with explicit inverses."""
    d = x.shape[1]
    c = np.cov(np.hstack([x, y]).T)
    cxx, cxy, cyy = c[:d, :d], c[:d, d:], c[d:, d:]
    first = cxy if middle == "xy" else cyy
    return 1 - float(np.linalg.eigvals(np.linalg.inv(cxx) @ first @ np.linalg.inv(cyy) @ cxy.T).real.max())


def test_canonical_privacy_is_the_formula() -> None:
    x = mixed_table()
    y = x + 0.7 * np.random.default_rng(1).normal(size=x.shape)
    assert canonical_privacy(x, y) == pytest.approx(by_inverses(x, y), abs=1e-10)
    assert canonical_privacy(x, y[:, :2]) == pytest.approx(by_inverses(x, y[:, :2]), abs=1e-10)


def test_the_papers_matrix_is_another_thing() -> None:
    """Errata L-o: C_XX⁻¹C_YY C_YY⁻¹C_YX = C_XX⁻¹C_YX is no share of variance; scale y and it changes."""
    x = mixed_table()
    y = x + 0.7 * np.random.default_rng(1).normal(size=x.shape)
    assert canonical_privacy(x, 10 * y) == pytest.approx(float(canonical_privacy(x, y)), abs=1e-12)
    assert abs(by_inverses(x, 10 * y, "yy") - by_inverses(x, y, "yy")) > 1
    assert abs(by_inverses(x, y, "yy") - canonical_privacy(x, y)) > 0.05


def test_closed_form_for_noise_on_independent_columns() -> None:
    """y = x + r with variances v and s²: the worst column has 1 − v/(v + s²); the standard error is below .003."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(50_000, 3)) * np.array([1.0, 2.0, 4.0])
    y = x + rng.normal(size=x.shape)
    privacy = canonical_privacy(x, y)
    assert privacy == pytest.approx(1 / 17, abs=0.005)
    assert privacy.low < 1 / 17 < privacy.high


@given(seed=st.integers(0, 50), scale=st.floats(1e-6, 1e6), shift=st.floats(-1e3, 1e3))
def test_units_origins_and_mixtures_do_not_matter(seed: int, scale: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    x = mixed_table(80, 3, seed)
    y = x + rng.normal(size=x.shape)
    mixed = x * np.array([1.0, scale, 1.0]) + shift
    turned = (y + 3.0) @ (rng.normal(size=(3, 3)) + 3 * np.eye(3))
    assert canonical_privacy(mixed, turned) == pytest.approx(float(canonical_privacy(x, y)), abs=1e-6)


def test_public_columns_count() -> None:
    """A public column that determines a private one exposes it, whatever was released."""
    rng = np.random.default_rng(3)
    x = mixed_table()
    released = x + 10 * rng.normal(size=x.shape)
    public = 2 * x[:, :1] - 5
    assert canonical_privacy(x, released) > 0.5
    assert canonical_privacy(x, np.hstack([released, public])) == 0.0


def test_collinear_and_constant_columns() -> None:
    rng = np.random.default_rng(4)
    x = mixed_table()
    y = x + rng.normal(size=x.shape)
    plain = float(canonical_privacy(x, y))
    redundant = np.hstack([x, x[:, :1] + x[:, 1:2], np.full((len(x), 1), SECRET)])
    doubled = np.hstack([y, 3 * y, np.ones((len(y), 1))])
    assert canonical_privacy(redundant, doubled) == pytest.approx(plain, abs=1e-10)
    assert math.isnan(canonical_privacy(np.ones((10, 2)), y[:10]))
    assert canonical_privacy(x, np.full((len(x), 1), 0.1)) == 1.0


def test_few_records_explain_anything() -> None:
    """With as many columns as records the value is 0 by counting; the interval says that nothing is known."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(6, 4)), rng.normal(size=(6, 4))
    privacy = canonical_privacy(x, y)
    assert privacy == pytest.approx(0.0, abs=1e-12)
    assert (privacy.low, privacy.high) == (0.0, 1.0)
    two = canonical_privacy([[1.0], [2.0]], [[5.0], [3.0]])
    assert two == pytest.approx(0.0, abs=1e-12)
    assert two.high == 1.0


def test_missing_records_are_left_out() -> None:
    x = mixed_table()
    y = x + np.random.default_rng(1).normal(size=x.shape)
    holes_x, holes_y = x.copy(), y.copy()
    holes_x[::10, 0] = math.nan
    holes_y[5::10, 1] = math.nan
    kept = np.arange(len(x)) % 5 != 0
    assert canonical_privacy(holes_x, holes_y) == canonical_privacy(x[kept], y[kept])


def test_dissimilarity_both_forms() -> None:
    x, r = mixed_table(seed=6), mixed_table(seed=7)
    difference = np.corrcoef(x.T) - np.corrcoef(r.T)
    square = float((difference**2).sum())
    assert correlation_dissimilarity(x, r) == pytest.approx(math.sqrt(square) / 12, abs=1e-12)
    assert correlation_dissimilarity(x, r, "rms") == pytest.approx(math.sqrt(square / 12), abs=1e-12)
    assert correlation_dissimilarity(np.corrcoef(x.T), r, "rms") == pytest.approx(math.sqrt(square / 12), abs=1e-12)
    assert correlation_dissimilarity(x, x[:100] * 5 + 1) > 0
    assert correlation_dissimilarity(x, x) == 0.0


def test_the_papers_form_shrinks_with_the_number_of_columns() -> None:
    """Every correlation .5 against none: .5 by RMS at any width, less and less as printed."""
    printed = []
    for m in (2, 5, 20):
        x, r = np.full((m, m), 0.5) + 0.5 * np.eye(m), np.eye(m)
        assert correlation_dissimilarity(x, r, "rms") == pytest.approx(0.5, abs=1e-12)
        printed.append(float(correlation_dissimilarity(x, r, form="paper")))
        assert printed[-1] == pytest.approx(0.5 / math.sqrt(m * m - m), abs=1e-12)
    assert printed == sorted(printed, reverse=True)


def test_dissimilarity_of_huang_figure_4_at_finite_size() -> None:
    """Noise with the data's own law is not at 0: two samples' correlations differ by about √(2/N)(1 − ρ²)."""
    rng = np.random.default_rng(8)
    x, r = rng.normal(size=(1_000, 30)), rng.normal(size=(1_000, 30))
    assert correlation_dissimilarity(x, r, "rms") == pytest.approx(math.sqrt(2 / 1_000), rel=0.15)


def test_dissimilarity_leaves_out_what_does_not_vary() -> None:
    x, r = mixed_table(seed=6), mixed_table(seed=7)
    still = r.copy()
    still[:, 2] = 0.1
    kept = [0, 1, 3]
    expected = correlation_dissimilarity(x[:, kept], r[:, kept])
    assert correlation_dissimilarity(x, still) == pytest.approx(float(expected), abs=1e-12)
    holes = x.copy()
    holes[0, 0] = math.nan
    assert correlation_dissimilarity(holes, r) == pytest.approx(float(correlation_dissimilarity(x[1:], r)), abs=1e-12)
    wide = np.random.default_rng(0).normal(size=(3, 8))  # more columns than records
    assert 0 < correlation_dissimilarity(wide, wide[:2]) < 1


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: canonical_privacy(np.ones((3, 2)), np.ones((4, 2))), "y"),
        (lambda: canonical_privacy([[SECRET], [math.nan]], [[1.0], [2.0]]), "x"),
        (lambda: canonical_privacy([[SECRET], [math.inf]], [[1.0], [2.0]]), "x"),
        (lambda: canonical_privacy([[1.0], [2.0]], [["8675309"], ["text"]]), "y"),
        (lambda: correlation_dissimilarity(np.ones((3, 2)), np.ones((3, 3))), "r"),
        (lambda: correlation_dissimilarity(np.eye(3) * SECRET, np.full((4, 3), SECRET)), "x"),
        (lambda: correlation_dissimilarity([[SECRET, 1.0]], np.eye(2)), "x"),
        (lambda: correlation_dissimilarity(np.eye(2), np.eye(2), "mean"), "form"),
    ],
)
def test_refusals(call: object, name: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith((f"{name}: ", f"{name} must be "))
    assert "8675309" not in str(caught.value)
