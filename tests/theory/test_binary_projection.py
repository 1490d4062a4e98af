"""P9: Hamming distances after a binary projection follow their law, and h is found again by inverting it."""

import math
from functools import lru_cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veil
from _tables import within_standard_errors
from veil import publish_file
from veil.errors import InputError, NotInvertibleError
from veil.perturbations.binary import packed_bits
from veil.recovery.geometry import hamming_estimate
from veil.release.models import BinaryProjectionModel

N, L, EPSILON, K = 200, 20, 0.25, 2_000
P = EPSILON**2 / L


def staircase(d, distances):
    """Records that differ from the first in as many bits as ``distances`` says."""
    base = np.random.default_rng(0).integers(0, 2, size=d)
    rows = [base]
    for h in distances:
        row = base.copy()
        row[:h] ^= 1
        rows.append(row)
    return np.array(rows, dtype=float)


def chance(h):
    return (1 - (1 - 2 * P) ** h) / 2


@lru_cache
def projections(distances, keys=40):
    x = staircase(N, distances)
    return np.array(
        [
            veil.BinaryProjection(K, epsilon=EPSILON, scale=L, random_state=s).fit_transform(x).astype(np.int8)
            for s in range(keys)
        ]
    )


DISTANCES = (1, 2, 4, 8, 13, 20, 40, 80, 150, 200)


def test_expected_distances():
    """E|u − v|_H = k(1 − (1 − 2p)^h)/2: bits are independent over rows of R, so their number is binomial."""
    u = projections(DISTANCES)
    found = (u[:, 1:] != u[:, :1]).sum(axis=2)
    for j, h in enumerate(DISTANCES):
        q = chance(h)
        assert within_standard_errors(found[:, j].mean(), K * q, math.sqrt(K * q * (1 - q) / len(u)), 4.5)
        ratio = found[:, j].var(ddof=1) / (K * q * (1 - q))
        assert within_standard_errors(ratio, 1, math.sqrt(2 / (len(u) - 1)), 4.5)


def test_the_linear_guess_would_fail():
    """k·p·h, what one reads off for small h, is far off at h = 200."""
    u = projections(DISTANCES)
    found = (u[:, -1] != u[:, 0]).sum(axis=1)
    q = chance(200)
    assert abs(found.mean() - K * P * 200) > 20 * math.sqrt(K * q * (1 - q) / len(u))


def test_the_three_regimes():
    """Lemma 5.1.7 (Vempala, Lemma 7.2): short, middle and long distances stay apart around l.

    h < l/4 gives less than (1 + ε)·k·p·l/4; l/4 ≤ h ≤ l/(2ε) keeps (1 ± ε)·k·p·h; h > l/(2ε) gives more than
    (1 − ε)·k·p·l/(2ε). Each bound holds on average at n = 200, l = 20, ε = .25, k = 2,000, and in nearly every draw
    where it is not met with equality.
    """
    short, middle, long = (1, 2, 4), (5, 10, 20, 30, 40), (41, 80, 200)
    for h in short:
        assert K * chance(h) < (1 + EPSILON) * K * P * L / 4
    for h in middle:
        assert (1 - EPSILON) * K * P * h <= K * chance(h) <= (1 + EPSILON) * K * P * h
    for h in long:
        assert K * chance(h) > (1 - EPSILON) * K * P * L / (2 * EPSILON)
    u = projections(short + middle + long)
    found = (u[:, 1:] != u[:, :1]).sum(axis=2)
    least_long = found[:, -2:].min()
    assert found[:, :2].max() < (1 + EPSILON) * K * P * L / 4 + 4 * math.sqrt(K * chance(L / 4))
    assert least_long > found[:, 0].max(), "the far ones are never mistaken for the near ones"
    inside = np.abs(found[:, 5:8] / (K * P * np.array(middle[2:])) - 1) < EPSILON
    assert inside.mean() > 0.9


def test_the_estimate_covers():
    """Clopper–Pearson is conservative: at least 95 % of intervals hold the true distance."""
    u = projections(DISTANCES)
    holds = []
    for key in u:
        found = hamming_estimate(np.repeat(key[:1], len(DISTANCES), axis=0), key[1:], p=P, d=N)
        holds.append((found.low <= DISTANCES) & (np.array(DISTANCES) <= found.high))
    covered, total = np.sum(holds), np.size(holds)
    assert covered / total > 0.95 - 4.5 * math.sqrt(0.95 * 0.05 / total)


def test_the_estimate_inverts():
    """Averaged over keys, ĥ is h up to the curvature of the logarithm."""
    u = projections(DISTANCES)
    share = (u[:, 1:] != u[:, :1]).mean(axis=(0, 2))
    h = np.log1p(-2 * share) / math.log1p(-2 * P)
    q = np.array([chance(x) for x in DISTANCES])
    slope = 2 / ((1 - 2 * q) * -math.log1p(-2 * P))
    assert within_standard_errors(h, DISTANCES, slope * np.sqrt(q * (1 - q) / (K * len(u))), 4.5)


# -- the arithmetic -------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 63, 64, 65, 100, 128, 130])
def test_packed_parities_are_the_product_modulo_2(d):
    rng = np.random.default_rng(d)
    x = rng.integers(0, 2, size=(70, d)).astype(float)
    method = veil.BinaryProjection(37, epsilon=0.5, scale=1.0, random_state=d).fit(x)
    u = method.transform(x)
    matrix = method.transform(np.eye(d)).T
    assert matrix.any()
    np.testing.assert_array_equal(u, x @ matrix.T % 2)
    np.testing.assert_array_equal(method.transform(np.zeros((3, d))), 0.0)


@pytest.mark.parametrize("d", [1, 63, 64, 65, 200])
def test_packed_bits_unpack(d):
    rows = np.random.default_rng(d).integers(0, 2, size=(5, d)).astype(float)
    words = packed_bits(rows)
    assert words.shape == (5, -(-d // 64))
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    np.testing.assert_array_equal(bits[:, :d], rows)
    assert not bits[:, d:].any()


def test_entries_of_the_matrix_have_probability_p():
    x = np.eye(N)
    ones = [veil.BinaryProjection(500, scale=L, random_state=s).fit_transform(x).mean() for s in range(4)]
    assert within_standard_errors(np.mean(ones), P, math.sqrt(P * (1 - P) / (4 * 500 * N)), 4.5)


# -- doors and types ------------------------------------------------------------------------------

BITS = np.random.default_rng(1).integers(0, 2, size=(90, 12))
NAMES = [f"c{j}" for j in range(12)]
FRAMES = {
    "numpy integers": BITS,
    "numpy floats": BITS.astype(float),
    "numpy booleans": BITS.astype(bool),
    "pandas integers": pd.DataFrame(BITS, columns=NAMES),
    "pandas booleans": pd.DataFrame(BITS.astype(bool), columns=NAMES),
    "pandas nullable": pd.DataFrame(BITS.astype(bool), columns=NAMES).astype("boolean"),
    "polars": pl.DataFrame(BITS.astype(bool), schema=NAMES),
    "arrow": pa.table({name: pa.array(column.astype(bool)) for name, column in zip(NAMES, BITS.T, strict=True)}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_zeros_and_ones_of_any_type(kind):
    method = veil.BinaryProjection(50, epsilon=0.5, random_state=3)
    release, key = veil.publish(FRAMES[kind], method)
    u = release.to_numpy()
    assert type(release.data) is type(FRAMES[kind])
    assert {c.type for c in release.manifest.schema} == {"bool"}
    matrix = veil.BinaryProjection(50, epsilon=0.5, random_state=3)
    named = pd.DataFrame(BITS, columns=NAMES) if not kind.startswith("numpy") else BITS
    np.testing.assert_array_equal(u, matrix.fit_transform(named))
    assert isinstance(release.only_part.model, BinaryProjectionModel)
    assert release.only_part.parameters == {"n_components": 50, "p": 0.25 / 3}
    with pytest.raises(NotInvertibleError):
        veil.restore(release, key)


def test_a_file_gives_the_same_bits(tmp_path):
    frame = pd.DataFrame(BITS.astype(bool), columns=NAMES)
    frame.to_parquet(tmp_path / "t.parquet")
    method = veil.BinaryProjection(50, random_state=3)
    file = publish_file(tmp_path / "t.parquet", method, tmp_path / "r", new_key=tmp_path / "k")
    np.testing.assert_array_equal(file.to_numpy(), veil.publish(frame, method)[0].to_numpy())


def test_other_values_are_counted_and_not_shown():
    x = BITS.astype(float)
    x[3, 2], x[5, 2], x[8, 7] = 0.625, -1.0, 7_321.5
    method = veil.BinaryProjection(5)
    for call in (lambda: veil.publish(x, method), lambda: method.fit(x)):
        with pytest.raises(InputError, match=r"0 and 1 .*'x2' \(2\), 'x7' \(1\)") as caught:
            call()
        assert "7321" not in str(caught.value).replace(",", "")
        assert ".625" not in str(caught.value)
    with pytest.raises(InputError, match="3 values are neither"):
        method.fit(BITS).transform(x)


@pytest.mark.parametrize("missing", [np.nan, None], ids=["nan", "null"])
def test_missing_values_are_refused_with_counts(missing):
    frame = pd.DataFrame(BITS, columns=NAMES).astype("boolean")
    frame.loc[4, "c3"] = pd.NA if missing is None else np.nan
    with pytest.raises(InputError, match=r"missing values: 'c3' \(1\)"):
        veil.publish(frame, veil.BinaryProjection(5))
    x = BITS.astype(float)
    x[4, 3] = np.nan
    with pytest.raises(InputError, match=r"missing values: 'x3' \(1\)"):
        veil.publish(x, veil.BinaryProjection(5))


NAN = float("nan")
BAD = [
    *({"n_components": k} for k in (0, -1, 1.5, "x", None, True)),
    *({"epsilon": e} for e in (0, -1, 0.51, "x", None, NAN, True)),
    *({"scale": s} for s in (0, -1, 0.9, 13, "x", NAN, True)),
]


@pytest.mark.parametrize("parameters", BAD, ids=str)
def test_bad_parameters(parameters):
    with pytest.raises(InputError, match=next(iter(parameters))) as caught:
        veil.publish(BITS, veil.BinaryProjection(**parameters))
    assert "\n" not in str(caught.value)


def test_one_column_is_refused():
    with pytest.raises(InputError, match="at least 2"):
        veil.publish(BITS[:, :1], veil.BinaryProjection(5))


def test_how_often_a_private_column_goes_out_as_it_is():
    """Rows of R with a single one: d·p(1 − p)^(d−1) of them, 19 % at the defaults, where p·d = 4ε² = ¼.

    Of the released columns that vary at all they are 88 %: the method is no veil over single columns.
    """
    d, keys, k = 40, 20, 200
    x = np.random.default_rng(2).integers(0, 2, size=(60, d)).astype(float)
    raw = varying = 0
    for seed in range(keys):
        u = veil.BinaryProjection(k, random_state=seed).fit_transform(x)
        raw += sum((u[:, [i]] == x).all(axis=0).any() for i in range(k))
        varying += int((u.max(axis=0) > u.min(axis=0)).sum())
    p = EPSILON**2 / (d / 4)
    share, some = d * p * (1 - p) ** (d - 1), 1 - (1 - p) ** d
    assert within_standard_errors(raw / (keys * k), share, math.sqrt(share * (1 - share) / (keys * k)), 4.5)
    assert share == pytest.approx(0.196, abs=1e-3)
    assert raw / varying == pytest.approx(share / some, abs=0.05)
