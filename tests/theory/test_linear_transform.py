"""P7: y = R z + e. The matrix is used as given, noise is what the manifest says, and the key brings it all back."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import veil
from _tables import published, scaled_table, within_standard_errors
from veil.errors import InputError, KeyRefusedError, NotInvertibleError
from veil.keys.noise import grid_for
from veil.release.models import ProjectionModel

GIVEN = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.25], [-0.375, 1.0, 1.125]])


def transformed(x, *args, **parameters):
    return published(x, veil.LinearTransform(*args, **{"dither": False, **parameters})).to_numpy()


# -- the matrix -------------------------------------------------------------------------------------


@pytest.mark.parametrize("matrix", [GIVEN, GIVEN[:2], np.vstack([GIVEN, GIVEN[::-1] * [1, 2, 3]])], ids=["3", "2", "6"])
def test_a_given_matrix_is_used_exactly(matrix):
    x = scaled_table()
    np.testing.assert_array_equal(transformed(x, matrix, scaling=None), transformed(x, matrix.tolist(), scaling=None))
    np.testing.assert_allclose(transformed(x, matrix, scaling=None), x @ matrix.T, rtol=1e-13, atol=1e-12)
    release, _ = veil.publish(x, veil.LinearTransform(matrix))
    unit = np.array(release.only_part.parameters["unit"])
    np.testing.assert_allclose(release.to_numpy(), (x / unit) @ matrix.T, rtol=1e-13, atol=1e-12)
    assert release.only_part.model.kind == "given"


def test_the_slides_example():
    """The tutorial's rotation, R = ⅓[[1,2,2],[−2,2,−1],[−2,−1,2]], on records that its printed columns belong to."""
    matrix = np.array([[1, 2, 2], [-2, 2, -1], [-2, -1, 2]]) / 3
    x = np.array([[20.0, 120.0, 35.0], [80.0, 40.0, 15.0]])
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(transformed(x, matrix, scaling=None), x @ matrix.T, rtol=1e-14)


def test_a_drawn_matrix_keeps_lengths_on_average():
    """Entries are normal with variance 1/d: E|y|² = |z|², Var|y|² = 2|z|⁴/d; the mean of the entries is 0."""
    d, keys = 5, 500
    entries = np.array(
        [veil.LinearTransform(scaling=None, dither=False, random_state=s).fit_transform(np.eye(d)) for s in range(keys)]
    )
    n = entries.size
    assert abs(entries.mean()) < 4.5 / math.sqrt(d * n)
    assert within_standard_errors((entries**2).mean(), 1 / d, math.sqrt(2 / n) / d, 4.5)
    assert within_standard_errors((entries**4).mean(), 3 / d**2, math.sqrt(96 / n) / d**2, 4.5)
    lengths = (entries[:, 0] ** 2).sum(axis=1)
    assert within_standard_errors(lengths.mean(), 1, math.sqrt(2 / d / keys), 4.5)


def test_p6_and_p8_are_special_cases():
    x = scaled_table(d=4)
    orthogonal = veil.OrthogonalTransform(random_state=1).fit(x)
    m = orthogonal.transform(np.diag(orthogonal.unit_)).T
    np.testing.assert_allclose(transformed(x, m), orthogonal.transform(x), rtol=1e-10, atol=1e-10)
    projection = veil.RandomProjection(2, random_state=1).fit(x)
    r = projection.transform(np.diag(projection.unit_)).T
    np.testing.assert_allclose(transformed(x, r), projection.transform(x), rtol=1e-10, atol=1e-10)


# -- the noise --------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [GIVEN, GIVEN[:2], None], ids=["square", "wide", "drawn"])
def test_noise_is_what_the_manifest_says(given):
    """Normal, independent over columns and records, its deviation ``noise_scale`` of the released column's own."""
    x, scale, n = scaled_table(n=20_000), 0.3, 20_000
    release, key = veil.publish(x, veil.LinearTransform(given, noise_scale=scale))
    noise = np.array(release.only_part.parameters["noise"])
    clean = transformed(x, given) if given is not None else None
    if clean is None:
        back = veil.restore(release, key) / np.array(release.only_part.parameters["unit"])
        matrix = np.linalg.lstsq(back, release.to_numpy(), rcond=None)[0]
        clean = back @ matrix
    e = (release.to_numpy() - clean) / noise
    np.testing.assert_allclose(noise, scale * clean.std(axis=0), rtol=0.06)  # two digits
    assert np.abs(e.mean(axis=0)).max() < 4.5 / math.sqrt(n)
    assert within_standard_errors(e.var(axis=0), 1, math.sqrt(2 / n), 4.5)
    assert within_standard_errors((e**4).mean(axis=0), 3, math.sqrt(96 / n), 4.5)
    others = np.corrcoef(np.column_stack([e, clean, np.roll(e, 1, axis=0)]).T) - np.eye(3 * e.shape[1])
    assert np.abs(others[: e.shape[1]]).max() < 5 / math.sqrt(n)
    assert isinstance(release.only_part.model, ProjectionModel)
    np.testing.assert_array_equal(release.only_part.model.noise, noise)


def test_released_values_are_on_the_grid():
    x = scaled_table()
    release, _ = veil.publish(x, veil.LinearTransform(noise_scale=0.2))
    for column, scale in zip(release.to_numpy().T, release.only_part.parameters["noise"], strict=True):
        steps = column / grid_for(scale)
        np.testing.assert_array_equal(steps, np.rint(steps))


def test_without_noise_there_is_none():
    release, _ = veil.publish(scaled_table(), veil.LinearTransform())
    assert release.only_part.parameters["noise"] == [0.0, 0.0, 0.0]


# -- the way back -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", [GIVEN, np.vstack([GIVEN, GIVEN[:1] * 2 + GIVEN[1:2]]), None], ids=["3", "4", "drawn"]
)
@pytest.mark.parametrize("noise_scale", [0.0, 0.5])
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_way_back(given, noise_scale, shuffle, tmp_path):
    """Exact without noise; with noise to within steps of the grid, so integers are exact."""
    x = scaled_table()
    release, key = veil.publish(x, veil.LinearTransform(given, noise_scale=noise_scale), shuffle=shuffle)
    key.save(tmp_path / "key")
    back = veil.restore(release, veil.Key.load(tmp_path / "key"))
    tolerance = 1e-4 if noise_scale else 1e-10
    assert (np.abs(back - x) / x.std(axis=0)).max() < tolerance
    whole = pd.DataFrame(np.rint(x).astype(int), columns=list("abc"))
    release, key = veil.publish(whole, veil.LinearTransform(given, noise_scale=noise_scale), shuffle=shuffle)
    pd.testing.assert_frame_equal(veil.restore(release, key), whole)


@pytest.mark.parametrize(
    "matrix", [GIVEN[:2], np.vstack([GIVEN[:2], GIVEN[:1] + GIVEN[1:2]])], ids=["wide", "singular"]
)
def test_what_the_matrix_loses_does_not_come_back(matrix):
    release, key = veil.publish(scaled_table(), veil.LinearTransform(matrix))
    with pytest.raises(NotInvertibleError, match=r"none of the 3 columns"):
        veil.restore(release, key)


# -- keys and secrets -------------------------------------------------------------------------------


def test_two_given_matrices_are_two_releases():
    x = scaled_table()
    release, key = veil.publish(x, veil.LinearTransform(GIVEN))
    with pytest.raises(KeyRefusedError):
        veil.publish(x, veil.LinearTransform(GIVEN + 0.5), key=key)
    second, _ = veil.publish(x, veil.LinearTransform(GIVEN + 0.5), key=key, again=True)
    assert [entry.number for entry in key.ledger] == [1, 2]
    np.testing.assert_allclose(veil.restore(release, key), x, rtol=1e-9)
    np.testing.assert_allclose(veil.restore(second, key), x, rtol=1e-9)
    same, _ = veil.publish(x, veil.LinearTransform(GIVEN.tolist()), key=key)
    assert same.manifest.release == 1
    np.testing.assert_array_equal(same.to_numpy(), release.to_numpy())


def test_noise_of_two_tables_cannot_be_subtracted():
    x = scaled_table(n=2_000)
    release, key = veil.publish(x, veil.LinearTransform(GIVEN, noise_scale=0.5, scaling=None))
    second, _ = veil.publish(x + 1e-9, veil.LinearTransform(GIVEN, noise_scale=0.5, scaling=None), key=key, again=True)
    e, f = (r.to_numpy() - x @ GIVEN.T for r in (release, second))
    assert np.abs(np.corrcoef(e.T, f.T)[:3, 3:]).max() < 5 / math.sqrt(len(x))


@pytest.mark.parametrize("given", [GIVEN, None], ids=["given", "drawn"])
def test_the_matrix_is_secret(given):
    method = veil.LinearTransform(given, scaling=None)
    x = scaled_table()
    release, _ = veil.publish(x, method)
    parameters = json.loads(release.manifest.to_json())["parts"][0]["parameters"]
    assert set(parameters) == {"unit", "noise", "given"}
    assert parameters["unit"] == [1.0, 1.0, 1.0]
    assert (parameters["given"] is None) == (given is None)
    other, _ = veil.publish(x, method)
    if given is not None:
        assert other.only_part.parameters["given"] != parameters["given"], "a name without a key could be guessed at"
    assert parameters["noise"] == [0.0, 0.0, 0.0]
    text = release.manifest.to_json() + repr(method) + str(method.get_params()) + method.describe()
    assert not any(digits in text for digits in ("1.25", ".375", "1.125", "0.75"))


# -- refusals -----------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
BAD = [
    *(
        {"matrix": m}
        for m in ("x", 5, [1, 2, 3], [[1, 2]], np.ones((3, 4)), np.full((3, 3), NAN), [[1, 2, 3], [4]], {})
    ),
    *({"matrix": m} for m in (np.zeros((3, 3)), np.eye(3), np.diag([2.0, -1.0, 5.0]), np.ones((0, 3)))),
    *({"noise_scale": s} for s in ("x", None, -0.1, NAN, INF, True, [0.1])),
    *({"scaling": s} for s in ("STD", 1, True, ["std"])),
]


@pytest.mark.parametrize("parameters", BAD, ids=lambda p: str(p)[:40].replace("\n", " "))
def test_bad_parameters(parameters):
    x = scaled_table(n=20)
    for call in (lambda: transformed(x, **parameters), lambda: veil.LinearTransform(**parameters).fit(x)):
        with pytest.raises(InputError, match=next(iter(parameters))) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "matrix",
    [np.eye(3)[[1, 2, 0]], np.eye(3)[:2], np.vstack([np.eye(3), np.eye(3)]), np.vstack([np.eye(3)[:2], np.ones(3)])],
    ids=["permutation", "some columns", "twice", "two of three"],
)
def test_a_matrix_that_releases_columns_as_they_are_is_refused(matrix):
    with pytest.raises(InputError, match="matrix must mix"):
        transformed(scaled_table(), matrix)


@pytest.mark.parametrize(("shift", "noise_scale"), [(1e9, 0.01), (0.0, 1e-12)], ids=["far from 0", "hardly any noise"])
def test_noise_that_float64_cannot_hold_is_refused(shift, noise_scale):
    """As additive noise does (veil.AdditiveNoise refuses the same table)."""
    x = np.random.default_rng(3).normal(size=(50, 3)) + shift
    with pytest.raises(InputError, match="so much larger than the noise"):
        veil.publish(x, veil.AdditiveNoise(noise_scale))
    with pytest.raises(InputError, match="so much larger than the noise"):
        transformed(x, noise_scale=noise_scale)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_matrix_that_overflows_is_refused_in_words():
    with pytest.raises(InputError, match="matrix"):
        transformed(scaled_table(), GIVEN * 1e305)


def test_tables_that_cannot_be_mixed():
    with pytest.raises(InputError, match="at least 2"):
        transformed(scaled_table(d=1))
    x = scaled_table()
    x[0, 1] = np.nan
    with pytest.raises(InputError, match=r"missing values: 'x1' \(1\)"):
        transformed(x)
    with pytest.raises(InputError, match="noise_scale: 3 released"):
        transformed(np.full((20, 3), 4.5), noise_scale=0.1)
    frame = pd.DataFrame(scaled_table(), columns=list("abc")).assign(id=range(400))
    with pytest.raises(InputError, match="consistent_on"):
        veil.publish(frame, veil.LinearTransform(noise_scale=0.1), consistent_on="id")
