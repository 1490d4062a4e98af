"""Dither of columns on a grid before they are mixed: the lattice is gone, the key brings values back exactly."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import kstest

import veil

METHODS = {
    "P6": lambda key: veil.OrthogonalTransform(random_state=key),
    "P6 translated": lambda key: veil.OrthogonalTransform(translation=1.0, random_state=key),
    "P7": lambda key: veil.LinearTransform(random_state=key),
    "P8": lambda key: veil.RandomProjection(3, random_state=key),
    "P8 square": lambda key: veil.RandomProjection(6, random_state=key),
}


def table(seed, d=6, n=400):
    """Correlated whole numbers, tenths and hundredths; the grain is at most a tenth of the spread."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d)))
    x = np.rint((mixed / mixed.std(axis=0) + 5) * np.geomspace(11, 900, d))
    x[:, 1] /= 10
    x[:, 2] /= 100
    return x


def model_of(release):
    return release.only_part.model


@pytest.mark.parametrize(
    ("name", "keys"),
    [(name, 4 if name.startswith("P6") else 1) for name in METHODS]
    + [pytest.param(name, 20, marks=pytest.mark.slow) for name in METHODS],
)
def test_no_lattice_is_left_and_values_come_back_to_the_last_bit(name, keys):
    for key in range(keys):
        x = table(key)
        release, secret = veil.publish(x, METHODS[name](key))
        for known in (0, 3):
            with pytest.raises(veil.NotApplicableError, match="6 columns were dithered"):
                veil.LatticeAttack().run(release, *([veil.KnownPairs(x[:known], range(known))] if known else []))
        if name != "P8":
            assert (veil.restore(release, secret) == x).all()


def test_the_law_of_the_dither_and_what_distances_gain():
    """Noise is uniform of one grain, and the mean squared distance grows by Σ(g²/12u²)/Σ(var/u²)."""
    x = table(0, n=3000)
    method = veil.OrthogonalTransform(random_state=0).fit(x)
    model = method.model_
    np.testing.assert_allclose(model.dither.grain, [1, 0.1, 0.01, 1, 1, 1])
    z = method.transform(x) @ method.secret_matrix()
    u = (z * model.unit - x) / model.dither.grain
    assert np.abs(u).max() < 0.5
    for column in u.T:
        assert kstest(column, "uniform", (-0.5, 1)).pvalue > 1e-4
    assert np.abs(np.corrcoef(u.T) - np.eye(6)).max() < 5 / np.sqrt(len(x))
    plain = veil.OrthogonalTransform(dither=False, random_state=0).fit_transform(x)
    before, after = ((pdist(y[:1000]) ** 2).mean() for y in (plain, z))
    expected = ((model.dither.grain / model.unit) ** 2 / 12).sum() / ((x.std(axis=0) / model.unit) ** 2).sum()
    assert model.dither.distances == pytest.approx(expected, rel=0.05)
    assert expected < 0.01
    # The cross term 2·(x_i − x_j)·(u_i − u_j) has mean 0; its deviation over 1,000 records is far below 0.005.
    assert after / before - 1 == pytest.approx(expected, abs=0.005)


def test_equal_records_stay_equal_and_so_does_a_record_in_a_second_release():
    """Averages over equal rows, or over releases of one key, tell nothing about the grid."""
    x = np.repeat(table(1, n=60), 10, axis=0)
    release, key = veil.publish(x, veil.OrthogonalTransform(random_state=1))
    y = release.to_numpy()
    np.testing.assert_allclose(y.reshape(60, 10, 6).std(axis=1), 0, atol=1e-12)
    changed = x.copy()
    changed[:50] += 1
    second, _ = veil.publish(changed, veil.OrthogonalTransform(), key=key, again=True)
    a, b = y[50:], second.to_numpy()[50:]
    turn = np.linalg.lstsq(a, b, rcond=None)[0]
    np.testing.assert_allclose(a @ turn, b, atol=1e-9)


def test_without_dither_the_seed_gives_what_it_always_gave():
    x = table(2)
    plain = veil.OrthogonalTransform(dither=False, random_state=3).fit(x)
    dithered = veil.OrthogonalTransform(random_state=3).fit(x)
    np.testing.assert_array_equal(plain.secret_matrix(), dithered.secret_matrix())
    assert "dither" not in plain.disclose()
    full = x + np.random.default_rng(0).normal(size=x.shape)
    for method in (veil.OrthogonalTransform, veil.LinearTransform):
        one, two = (method(random_state=3, dither=dither).fit_transform(full) for dither in ("auto", False))
        assert one.tobytes() == two.tobytes()


def test_the_manifest_keeps_it_and_a_loaded_release_comes_back(tmp_path):
    frame = pd.DataFrame(np.rint(table(3)).astype(int), columns=list("abcdef")).assign(
        g=np.random.default_rng(0).random(400)
    )
    release, key = veil.publish(frame, veil.OrthogonalTransform(translation=0.5), shuffle=True)
    release.save(tmp_path / "release")
    key.save(tmp_path / "key")
    loaded = veil.Release.load(tmp_path / "release", kind="pandas")
    dither = model_of(loaded).dither
    assert dither.columns.tolist() == [0, 1, 2, 3, 4, 5]
    assert json.loads(loaded.manifest.to_json())["parts"][0]["parameters"]["dither"]["law"] == "uniform"
    back = veil.restore(loaded, veil.Key.load(tmp_path / "key"))
    pd.testing.assert_frame_equal(back[list("abcdef")], frame[list("abcdef")])
    np.testing.assert_allclose(back["g"], frame["g"], atol=1e-12)


def test_coarse_columns_are_named_and_another_method_is_suggested(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"smokes": (rng.random(300) < 0.3).astype(int), "income": rng.normal(40, 9, 300).round(2)})
    frame.to_csv(tmp_path / "table.csv", index=False)
    remarks = []
    veil.publish_file(
        tmp_path / "table.csv",
        veil.OrthogonalTransform(),
        tmp_path / "release",
        new_key=tmp_path / "key",
        remark=remarks.append,
    )
    text = "\n".join(remarks)
    assert "2 of 2 columns hold whole or decimal numbers" in text
    assert "'smokes': one grain is more than a third of the spread" in text
    assert "RandomizedResponse" in text


def test_noise_of_more_than_a_grain_needs_no_dither():
    x = table(4)
    assert model_of(veil.publish(x, veil.LinearTransform(noise_scale=1.0, random_state=0))[0]).dither is None
    little, key = veil.publish(x, veil.LinearTransform(noise_scale=1e-6, random_state=0))
    assert model_of(little).dither is not None
    assert (veil.restore(little, key) == x).all()


@pytest.mark.parametrize("dither", [True, 1, "none", None])
def test_other_settings_are_refused(dither):
    with pytest.raises(veil.InputError, match="dither must be 'auto' or False"):
        veil.publish(table(0), veil.OrthogonalTransform(dither=dither))


@pytest.mark.parametrize("method", [veil.OrthogonalTransform, veil.LinearTransform])
def test_the_published_scale_does_not_tell_a_lone_value(method):
    x = np.random.default_rng(5).normal(50, 9, size=(600, 4))
    plain = method(random_state=0).fit(x).unit_
    np.testing.assert_array_equal(plain, [float(f"{s:.1e}") for s in x.std(axis=0)])
    x[17, 2] = 1e6
    fitted = method(random_state=0).fit(x)
    np.testing.assert_allclose(fitted.unit_, plain, rtol=0.03)
