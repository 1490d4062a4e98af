"""P10: an orthonormal transform, the strongest coefficients, one secret order for all records."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import fft

import veil
from _tables import published
from veil.errors import InputError, KeyRefusedError, NotInvertibleError
from veil.numerics.transforms import TRANSFORMS, orthonormal_transform
from veil.release.models import PermutedTransformModel


def series(n=200, d=8, seed=0):
    """Smooth records with a mean: energy sits in few coefficients, in other ones for other columns' units."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)).cumsum(axis=1) + np.linspace(3, 5, d)


def transformed(x, *args, **parameters):
    return published(x, veil.TransformDomain(*args, **parameters)).to_numpy()


# -- the transform --------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 8, 31, 64])
@pytest.mark.parametrize("kind", TRANSFORMS)
def test_orthonormal(kind, d):
    f = orthonormal_transform(kind, d)
    np.testing.assert_allclose(f @ f.T, np.eye(d), atol=1e-12)


@pytest.mark.parametrize("d", [2, 5, 8, 33])
def test_the_cosine_transform_is_scipys(d):
    x = np.random.default_rng(d).normal(size=(10, d))
    np.testing.assert_allclose(x @ orthonormal_transform("dct", d).T, fft.dct(x, norm="ortho"), atol=1e-12)


@pytest.mark.parametrize("d", [2, 5, 8, 33])
def test_the_fourier_transform_has_the_energy_of_the_fft(d):
    """Cosine and sine of one frequency together carry |X_f|² + |X_{d−f}|²; each is the real or imaginary part."""
    x = np.random.default_rng(d).normal(size=(10, d))
    y = x @ orthonormal_transform("dft", d).T
    spectrum = fft.fft(x, norm="ortho")
    np.testing.assert_allclose(y[:, 0], spectrum[:, 0].real, atol=1e-12)
    for f in range(1, (d + 1) // 2):
        np.testing.assert_allclose(y[:, 2 * f - 1], math.sqrt(2) * spectrum[:, f].real, atol=1e-12)
        np.testing.assert_allclose(y[:, 2 * f], -math.sqrt(2) * spectrum[:, f].imag, atol=1e-12)
    if d % 2 == 0:
        np.testing.assert_allclose(y[:, -1], spectrum[:, d // 2].real, atol=1e-12)
    np.testing.assert_allclose((y**2).sum(axis=1), (np.abs(spectrum) ** 2).sum(axis=1), rtol=1e-12)


# -- the release ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TRANSFORMS)
@pytest.mark.parametrize("scaling", ["std", None])
def test_all_coefficients_keep_distances_and_come_back(kind, scaling, tmp_path):
    x = series() * np.logspace(-2, 2, 8)
    release, key = veil.publish(x, veil.TransformDomain(basis=kind, scaling=scaling), shuffle=True)
    z = x / np.array(release.only_part.parameters["unit"])
    y = release.to_numpy()
    np.testing.assert_allclose(np.sort((y**2).sum(axis=1)), np.sort((z**2).sum(axis=1)), rtol=1e-12)
    key.save(tmp_path / "key")
    np.testing.assert_allclose(veil.restore(release, veil.Key.load(tmp_path / "key")), x, rtol=1e-10)
    y = transformed(x, basis=kind, scaling=scaling)
    first, second = np.random.default_rng(1).integers(0, len(x), size=(2, 300))
    np.testing.assert_allclose(
        np.linalg.norm(y[first] - y[second], axis=1), np.linalg.norm(z[first] - z[second], axis=1), rtol=1e-11
    )


@pytest.mark.parametrize("kind", TRANSFORMS)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_kept_energy_is_the_largest_possible(k, kind):
    """No other k coefficients hold more of the table's energy, mean and all."""
    x = series()
    y = transformed(x, k, basis=kind, scaling=None)
    energy = (x @ orthonormal_transform(kind, 8).T) ** 2
    most = max(energy[:, list(chosen)].sum() for chosen in combinations(range(8), k))
    assert (y**2).sum() == pytest.approx(most, rel=1e-12)
    weakest = np.sort(energy.sum(axis=0))[:k].sum()
    assert weakest < 0.9 * most, "any choice would pass"


def test_energy_counts_the_units_and_the_mean():
    """In raw units the large column decides, and a high mean makes its coefficients strong though they do not vary."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 6)) + 50.0
    y = transformed(x, 1, scaling=None)
    np.testing.assert_allclose(y[:, 0], x.sum(axis=1) / math.sqrt(6), rtol=1e-12)


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_one_set_and_one_order_for_all_records(kind):
    x = series(n=300)
    y = transformed(x, 5, basis=kind, scaling=None)
    coefficients = x @ orthonormal_transform(kind, 8).T
    match = np.abs(y[:, :, None] - coefficients[:, None, :]).max(axis=0) < 1e-9
    assert (match.sum(axis=1) == 1).all(), "each released column is one coefficient in every record"
    assert (match.sum(axis=0) <= 1).all(), "and no coefficient goes out twice"


def test_the_order_is_secret_and_uniform():
    """24 orders of four coefficients over 600 keys: chi-square at its 99.99 % point; the set is always the same."""
    x = series(d=4)
    coefficients = x @ orthonormal_transform("dct", 4).T
    orders = []
    for seed in range(600):
        y = veil.TransformDomain(scaling=None, random_state=seed).fit_transform(x)
        order = np.abs(y[0][:, None] - coefficients[0][None, :]).argmin(axis=1)
        assert sorted(order) == [0, 1, 2, 3]
        orders.append(tuple(order))
    counts = pd.Series(orders).value_counts().reindex(set(orders)).to_numpy()
    assert len(counts) == 24
    assert ((counts - 25) ** 2 / 25).sum() < 58.6  # χ² with 23 degrees of freedom


def test_seeds_keys_and_manifest():
    x = series()
    one, same = (transformed(x, 5, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(one, same)
    release, key = veil.publish(x, veil.TransformDomain(5))
    assert set(release.only_part.parameters) == {"unit", "basis", "n_components"}
    assert isinstance(release.only_part.model, PermutedTransformModel)
    np.testing.assert_array_equal(release.only_part.model.transform, orthonormal_transform("dct", 8))
    repeated, _ = veil.publish(x, veil.TransformDomain(5), key=key)
    np.testing.assert_array_equal(repeated.to_numpy(), release.to_numpy())
    with pytest.raises(KeyRefusedError):
        veil.publish(x, veil.TransformDomain(5, basis="dft"), key=key)
    with pytest.raises(NotInvertibleError, match=r"none of the 8 columns"):
        veil.restore(release, key)


def test_new_records_get_the_fitted_order():
    x = series()
    method = veil.TransformDomain(4, random_state=2).fit(x[:100])
    np.testing.assert_allclose(method.transform(x)[:100], method.transform(x[:100]), rtol=1e-13)


# -- refusals ---------------------------------------------------------------------------------------

BAD = [
    *({"n_components": k} for k in (0, -1, 1.5, "2", True, 9)),
    *({"basis": b} for b in ("fft", "DCT", None, 1, ["dct"])),
    *({"scaling": s} for s in ("STD", 1, ["std"])),
]


@pytest.mark.parametrize("parameters", BAD, ids=str)
def test_bad_parameters(parameters):
    with pytest.raises(InputError, match=next(iter(parameters))) as caught:
        transformed(series(), **parameters)
    assert "\n" not in str(caught.value)


def test_one_column_and_missing_values():
    with pytest.raises(InputError, match="at least 2"):
        transformed(series(d=1))
    x = series()
    x[3, 5] = np.nan
    with pytest.raises(InputError, match=r"missing values: 'x5' \(1\)"):
        transformed(x)


def test_constant_columns_are_no_trouble():
    x = series()
    x[:, 2] = 7.0
    release, key = veil.publish(x, veil.TransformDomain())
    np.testing.assert_allclose(veil.restore(release, key), x, rtol=1e-10)


def test_no_corrections_for_what_does_not_come_back():
    """The key file would hold a difference for every such value, to no end."""
    rng = np.random.default_rng(10)
    frame = pd.DataFrame(series(n=50, d=3), columns=list("abc")).assign(n=2 * rng.integers(2**44, 2**46, 50))
    _, key = veil.publish(frame, veil.TransformDomain(2), roles={"n": "sensitive"})
    assert not any(rows for rows, _ in key.ledger[0].corrections.values())
