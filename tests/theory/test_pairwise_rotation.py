"""P5: Ketel's tables through the public door, thresholds as measured on the data, and what stays secret."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import veil
from _tables import within_standard_errors
from veil.errors import InputError, KeyRefusedError, VeilError
from veil.measures import conditional_privacy, privacy_loss

PEOPLE = pd.DataFrame(
    {"age": [36, 21, 32, 45, 33, 41], "salary": [72_000, 19_000, 36_000, 38_000, 42_000, 35_000]}, dtype=float
)
TABLE_2 = np.array(
    [
        [0.1757, 1.9939],
        [-1.8014, -1.3433],
        [-0.3515, -0.2729],
        [1.3621, -0.1469],
        [-0.2197, 0.1049],
        [0.8348, -0.3358],
    ]
)
TABLE_3 = np.array(
    [
        [1.8808, 0.6850],
        [-1.9796, 1.0633],
        [-0.3961, 0.2029],
        [0.4436, -1.2962],
        [0.0020, 0.2435],
        [0.0492, -0.8985],
    ]
)
PRINTED = 1e-4


def rotated(table, **parameters):
    return veil.publish(table, veil.PairwiseRotation(**parameters))[0].to_numpy()


def zscored(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def mixture(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    factor = np.eye(d) + 0.7 * rng.normal(size=(d, d))
    return rng.normal(size=(n, d)) @ factor * np.logspace(-2, 3, d) + np.linspace(-50, 900, d)


# -- Ketel's example ----------------------------------------------------------------------------


def test_table_2_is_the_normalized_table():
    """A quarter turn releases (b, −a), so the normalized table can be read off."""
    y = rotated(PEOPLE, pairs=[(0, 1)], angles=[math.pi / 2])
    np.testing.assert_allclose(np.column_stack([-y[:, 1], y[:, 0]]), TABLE_2, atol=PRINTED)
    sample = (PEOPLE - PEOPLE.mean()) / PEOPLE.std(ddof=1)
    assert np.abs(sample.to_numpy() - TABLE_2).max() > 0.05, "a sample deviation would pass too"


@pytest.mark.parametrize("pairs", [[(0, 1)], [("age", "salary")], np.array([[0, 1]]), (["age", "salary"],)])
def test_table_3_is_the_release(pairs):
    y = rotated(PEOPLE, pairs=pairs, angles=[13.7])
    np.testing.assert_allclose(y, TABLE_3, atol=PRINTED)
    np.testing.assert_allclose(y, rotated(PEOPLE, pairs=pairs, angles=[13.7 % (2 * math.pi)]), atol=1e-12)


def test_degrees_and_the_other_direction_are_not_his_table():
    assert np.abs(rotated(PEOPLE, pairs=[(0, 1)], angles=[math.radians(13.7)]) - TABLE_3).max() > 0.5
    assert np.abs(rotated(PEOPLE, pairs=[(0, 1)], angles=[-13.7]) - TABLE_3).max() > 0.5
    assert np.abs(rotated(PEOPLE, pairs=[(1, 0)], angles=[13.7]) - TABLE_3).max() > 0.5


def test_what_his_release_loses():
    """Errata K: variances 1.302 and .698, loss .270 and not the .094 of ρ = cos θ, changes .742 and 1.565."""
    y, z = rotated(PEOPLE, pairs=[(0, 1)], angles=[13.7]), zscored(PEOPLE.to_numpy())
    np.testing.assert_allclose(y.var(axis=0), [1.302, 0.698], atol=5e-4)
    np.testing.assert_allclose((y - z).var(axis=0), [0.742, 1.565], atol=5e-4)
    assert privacy_loss(PEOPLE["age"], y[:, 0], method="normal") == pytest.approx(0.270, abs=5e-4)
    assert privacy_loss(math.cos(13.7)) == pytest.approx(0.094, abs=5e-4)


def test_an_eighth_turn_of_uncorrelated_columns():
    """ρ = cos π/4: loss .2929 and privacy √(πe) = 2.9223 (printed 2.921), from the released column itself."""
    x = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)]) * [9.0, 800.0] + [40.0, 5_000.0]
    y = rotated(x, pairs=[(0, 1)], angles=[math.pi / 4])
    rho = np.corrcoef(x[:, 0], y[:, 0])[0, 1]
    assert privacy_loss(rho) == pytest.approx(0.2929, abs=1e-4)
    assert conditional_privacy(rho) == pytest.approx(2.9223, abs=1e-4)
    np.testing.assert_allclose(y.var(axis=0), 1.0, atol=1e-12)


# -- the law ------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", ["zscore", "minmax"])
@pytest.mark.parametrize("d", [2, 5, 6])
def test_one_rotation_of_the_normalized_table(d, normalize):
    x = mixture(d=d)
    y = rotated(x, normalize=normalize, thresholds=0.01)
    z = zscored(x) if normalize == "zscore" else (x - x.min(axis=0)) / (x.max(axis=0) - x.min(axis=0))
    turn = np.linalg.lstsq(z, y, rcond=None)[0].T
    np.testing.assert_allclose(z @ turn.T, y, atol=1e-11)
    np.testing.assert_allclose(turn @ turn.T, np.eye(d), atol=1e-10)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    first, second = np.random.default_rng(1).integers(0, len(x), size=(2, 500))
    np.testing.assert_allclose(
        np.linalg.norm(y[first] - y[second], axis=1), np.linalg.norm(z[first] - z[second], axis=1), atol=1e-11
    )


@pytest.mark.parametrize("thresholds", [0.3, (1.2, 0.4), 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_drawn_angles_reach_the_thresholds(seed, thresholds):
    """Disjoint pairs: Var(a − a') and Var(b − b') are those of released against normalized columns."""
    x = mixture(d=4, seed=seed)
    y = rotated(x, pairs=[(2, 0), (1, 3)], thresholds=thresholds, random_state=seed)
    change = (y - zscored(x)).var(axis=0)
    rho1, rho2 = np.broadcast_to(thresholds, 2)
    assert change[[2, 1]].min() >= rho1 - 1e-9
    assert change[[0, 3]].min() >= rho2 - 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_secret_pairs_reach_the_thresholds(seed):
    """An even number of columns: each is turned once, whatever the pairing."""
    x = mixture(d=6, seed=seed)
    assert (rotated(x, random_state=seed) - zscored(x)).var(axis=0).min() >= 0.3 - 1e-9


@pytest.mark.parametrize("seed", range(25))
def test_the_odd_column_reaches_them_with_one_already_rotated(seed):
    """Pairs (0, 1), (2, 0): the range of the second pair is that of the once rotated column.

    Columns 0 and 1 have correlation .98, so that column's variance is anything from .02 to 1.98 by then.
    """
    rng, rho = np.random.default_rng(seed), ((0.6, 0.2), (1.1, 0.8))
    a = rng.normal(size=300)
    x = np.column_stack([a, 0.98 * a + 0.2 * rng.normal(size=300), rng.normal(size=300)]) * [3.0, 50.0, 0.1]
    y, z = rotated(x, pairs=[(0, 1), (2, 0)], thresholds=rho, random_state=seed), zscored(x)
    # b' = −a sinθ + b cosθ is released as it is and tells θ.
    (minus_sine, cosine), *_ = np.linalg.lstsq(z[:, :2], y[:, 1], rcond=None)
    assert math.hypot(minus_sine, cosine) == pytest.approx(1.0)
    once = z[:, 0] * cosine - z[:, 1] * minus_sine
    assert (z[:, 0] - once).var() >= rho[0][0] - 1e-9
    assert (z[:, 1] - y[:, 1]).var() >= rho[0][1] - 1e-9
    assert (z[:, 2] - y[:, 2]).var() >= rho[1][0] - 1e-9
    assert (once - y[:, 0]).var() >= rho[1][1] - 1e-9


def test_angles_fill_the_security_range():
    """Uncorrelated columns, ρ = 2: a quarter of the circle on either side of π, evenly."""
    x = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    angles = []
    for seed in range(400):
        y = rotated(x, pairs=[(0, 1)], thresholds=2.0, random_state=seed)
        cosine, sine = np.linalg.lstsq(x, y[:, 0], rcond=None)[0]
        angles.append(math.atan2(sine, cosine) % (2 * math.pi))
    share = (np.array(angles) - math.pi / 2) / math.pi
    assert share.min() >= 0
    assert share.max() <= 1
    n = len(share)
    assert within_standard_errors(share.mean(), 0.5, math.sqrt(1 / 12 / n))
    assert within_standard_errors(share.var(), 1 / 12, math.sqrt(1 / 180 / n))


def test_correlated_columns_can_change_by_more_than_four_variances():
    """r = .9: Var(a − a') reaches 5.59, so a threshold of 5 has angles."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=5_000)
    x = np.column_stack([a, 0.9 * a + math.sqrt(0.19) * rng.normal(size=5_000)])
    change = (rotated(x, pairs=[(0, 1)], thresholds=(5.0, 0.0)) - zscored(x)).var(axis=0)
    assert change[0] >= 5.0 - 1e-9


def test_the_way_back():
    x = mixture(n=300, d=5)
    release, key = veil.publish(x, veil.PairwiseRotation(), shuffle=True)
    np.testing.assert_allclose(veil.restore(release, key), x, rtol=1e-11)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"n": rng.integers(0, 99, 300), "m": rng.integers(-5, 2**45, 300) // 7, "f": x[:, 0]})
    release, key = veil.publish(frame, veil.PairwiseRotation(normalize="minmax", thresholds=0.01), roles={"m": "quasi"})
    back = veil.restore(release, key)
    pd.testing.assert_frame_equal(back[["n", "m"]], frame[["n", "m"]])
    np.testing.assert_allclose(back["f"], frame["f"], rtol=1e-11)


def test_the_key_file_has_what_the_way_back_needs(tmp_path):
    x = mixture()
    release, key = veil.publish(x, veil.PairwiseRotation(pairs=[(0, 1), (2, 3), (4, 0)], angles=[1, 2, 3]))
    release.save(tmp_path / "release")
    key.save(tmp_path / "key")
    back = veil.restore(veil.Release.load(tmp_path / "release", kind="numpy"), veil.Key.load(tmp_path / "key"))
    np.testing.assert_allclose(back, x, rtol=1e-11)


# -- secrets ------------------------------------------------------------------------------------


def numbers_in(value):
    if isinstance(value, dict):
        return [n for v in value.values() for n in numbers_in(v)]
    if isinstance(value, list | tuple):
        return [n for v in value for n in numbers_in(v)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


@pytest.mark.parametrize("normalize", ["zscore", "minmax"])
def test_the_manifest_holds_no_number_of_the_table_and_no_angle(normalize):
    method = veil.PairwiseRotation(pairs=[(0, 1)], angles=[13.7], normalize=normalize)
    release, _ = veil.publish(PEOPLE, method)
    manifest = json.loads(release.manifest.to_json())
    assert set(manifest["parts"][0]["parameters"]) == {"normalize", "rotation"}
    assert set(numbers_in(manifest)) == {1, 2}, "only the release number and the format"
    text = release.manifest.to_json() + repr(method) + str(method.get_params()) + method.describe()
    for secret in ("13.7", "34.6", "7.58", "40333", "16", "72000", "19000"):
        assert secret not in text.replace(manifest["release_id"], "").replace(
            manifest["parts"][0]["parameters"]["rotation"], ""
        )


def test_the_keyed_name_tells_angles_apart_and_is_not_their_hash():
    """Under one key another angle is another release; under another key the same angle has another name."""
    release, key = veil.publish(PEOPLE, veil.PairwiseRotation(pairs=[(0, 1)], angles=[1.0]))
    with pytest.raises(KeyRefusedError):
        veil.publish(PEOPLE, veil.PairwiseRotation(pairs=[(0, 1)], angles=[1.5]), key=key)
    second, _ = veil.publish(PEOPLE, veil.PairwiseRotation(pairs=[(0, 1)], angles=[1.5]), key=key, again=True)
    assert second.manifest.release == 2
    assert np.abs(second.to_numpy() - release.to_numpy()).max() > 0.1
    same, _ = veil.publish(PEOPLE, veil.PairwiseRotation(pairs=[(0, 1)], angles=[1.0]), key=key)
    np.testing.assert_array_equal(same.to_numpy(), release.to_numpy())
    other, _ = veil.publish(PEOPLE, veil.PairwiseRotation(pairs=[(0, 1)], angles=[1.0]))
    assert other.only_part.parameters["rotation"] != release.only_part.parameters["rotation"]


def test_another_key_turns_otherwise():
    x = mixture()
    one, two, same = (rotated(x, random_state=seed) for seed in (1, 2, 1))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - two).max() > 0.1


# -- refusals -----------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
BAD = [
    *({"pairs": p} for p in (5, "ab", {"a": "b"}, [], [0, 1], [(0, 1), (2, 3, 4)], [(0, 0)], [(0, 1)], [("zz", 1)])),
    *({"pairs": p} for p in ([(0.0, 1.0)], [(0, -1)], [(0, 99)], [None])),
    *({"angles": a} for a in ("x", 13.7, [1.0], [1.0, NAN, 2.0], [1.0, INF, 2.0], [[1.0, 2.0, 3.0]], {})),
    *({"thresholds": t} for t in ("x", None, [1, 2, 3], -1, NAN, INF, {}, [[0.1, 0.2], [0.3]], [[0.1, 0.2]] * 2)),
    *({"normalize": n} for n in ("z", None, 1, ["zscore"])),
]


@pytest.mark.parametrize("parameters", BAD, ids=str)
def test_bad_parameters(parameters):
    with pytest.raises(VeilError, match=next(iter(parameters))) as caught:
        rotated(mixture(n=20), **parameters)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("thresholds", [9.0, (0.0, 9.0), (4.2, 4.2)])
def test_impossible_thresholds_name_the_pair_and_the_way_out(thresholds):
    x = PEOPLE.assign(age=PEOPLE["age"] + 0.123)
    with pytest.raises(InputError, match=r"thresholds .* leave no angle for 'age' and 'salary'; lower") as caught:
        rotated(x, pairs=[("age", "salary")], thresholds=thresholds)
    assert "36.1" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (mixture(d=1), "at least 2"),
        (np.column_stack([mixture(n=9, d=2), np.full(9, 7.125)]), "'x2': all 9 values are equal"),
        (np.where(np.arange(20).reshape(10, 2) == 7, NAN, mixture(n=10, d=2)), r"missing values: 'x1' \(1\)"),
        (mixture(n=1, d=3), "1 row"),
    ],
    ids=["one column", "constant", "missing", "one row"],
)
def test_tables_that_cannot_be_rotated(table, words):
    with pytest.raises(InputError, match=words) as caught:
        rotated(table)
    assert "7.125" not in str(caught.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {"pairs": [(np.int64(0), np.int64(1))]},
        {"pairs": [(0, 1)], "angles": [np.float32(1.0)]},
        {"pairs": [(0, 1)], "thresholds": np.float32(0.2)},
    ],
    ids=str,
)
def test_numbers_of_numpy_are_numbers(parameters):
    assert rotated(PEOPLE, **parameters).shape == (6, 2)


@pytest.mark.parametrize("parameters", [{"pairs": {(0, 1)}}, {"angles": [object()]}, {"thresholds": 1j}], ids=list)
def test_what_json_cannot_write_is_refused_in_words(parameters):
    with pytest.raises(InputError, match=next(iter(parameters))):
        rotated(PEOPLE, **parameters)


@pytest.mark.parametrize("angle", [0.0, 2 * math.pi, math.pi])
def test_an_angle_that_leaves_columns_as_they_are_is_refused(angle):
    with pytest.raises(InputError, match="angles"):
        rotated(PEOPLE, pairs=[(0, 1)], angles=[angle])
