"""Rotation of a pair: Ketel's tables, the closed forms, and the security range against a fine grid (P5)."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.errors import InputError
from veil.measures import conditional_privacy, privacy_loss, rotated_correlation
from veil.measures.pair_rotation import (
    choose_rotation_pairs,
    difference_variances,
    point_in,
    range_length,
    rotated_variance,
    security_range,
)

PEOPLE = np.array([[36, 72_000], [21, 19_000], [32, 36_000], [45, 38_000], [33, 42_000], [41, 35_000]], dtype=float)
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
TURN = 2 * math.pi


def normalized(ddof=0):
    return (PEOPLE - PEOPLE.mean(axis=0)) / PEOPLE.std(axis=0, ddof=ddof)


def rotated(pair, theta):
    a, b = pair.T
    return np.column_stack([a * np.cos(theta) + b * np.sin(theta), -a * np.sin(theta) + b * np.cos(theta)])


def test_ketels_tables_need_radians_and_the_population_deviation():
    np.testing.assert_allclose(normalized(), TABLE_2, atol=1e-4)
    np.testing.assert_allclose(rotated(normalized(), 13.7), TABLE_3, atol=1e-4)
    assert np.abs(normalized(ddof=1) - TABLE_2).max() > 0.05
    assert np.abs(rotated(normalized(), math.radians(13.7)) - TABLE_3).max() > 0.5


def test_what_ketels_table_loses():
    """Errata K: r = .394, so the variances are 1.302 and .698 and the loss is .270, not the .094 of ρ = cosθ."""
    z = normalized()
    r = float(np.mean(z[:, 0] * z[:, 1]))
    assert r == pytest.approx(0.394, abs=5e-4)
    variances = rotated(z, 13.7).var(axis=0)
    np.testing.assert_allclose(variances, [rotated_variance(13.7, r), rotated_variance(13.7, -r)], atol=1e-12)
    np.testing.assert_allclose(variances, [1.302, 0.698], atol=5e-4)
    assert privacy_loss(rotated_correlation(13.7, r)) == pytest.approx(0.270, abs=5e-4)
    assert privacy_loss(math.cos(13.7)) == pytest.approx(0.094, abs=5e-4)
    assert difference_variances(1.0, 1.0, r, 13.7) == pytest.approx((0.742, 1.565), abs=5e-4)
    np.testing.assert_allclose((z - rotated(z, 13.7)).var(axis=0), difference_variances(1.0, 1.0, r, 13.7), atol=1e-12)


def test_an_eighth_turn_keeps_privacy_of_root_pi_e():
    """Printed as 2.921; √(πe) = 2.9223."""
    rho = rotated_correlation(math.pi / 4)
    assert privacy_loss(rho) == pytest.approx(0.2929, abs=1e-4)
    assert conditional_privacy(rho) == pytest.approx(2.9223, abs=1e-4)


@given(st.floats(-10, 10), st.floats(0.01, 5), st.floats(0.01, 5), st.floats(-1, 1))
def test_differences_are_those_of_rotated_records(theta, va, vb, r):
    cov = r * math.sqrt(va * vb)
    factor = np.array([[math.sqrt(va), 0.0], [r * math.sqrt(vb), math.sqrt((1 - r * r) * vb)]])
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) @ factor.T  # covariance exactly va, vb, cov
    expected = (corners - rotated(corners, theta)).var(axis=0)
    np.testing.assert_allclose(difference_variances(va, vb, cov, theta), expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=150)
@given(
    st.floats(0, 4),
    st.floats(0, 4),
    st.sampled_from([-1.0, -0.999, -0.5, 0.0, 0.3, 1.0]),
    st.floats(0, 9),
    st.floats(0, 9),
)
def test_the_range_is_right_at_every_angle_of_a_grid(va, vb, r, rho1, rho2):
    cov = r * math.sqrt(va * vb)
    found = security_range(va, vb, cov, rho1, rho2)
    assert all(0 <= low < high <= TURN for low, high in found)
    assert all(one[1] < two[0] for one, two in pairwise(found))
    grid = np.linspace(0, TURN, 721)
    s, h = np.sin(grid / 2), np.cos(grid / 2)
    margin = np.minimum(
        4 * s**2 * (va * s**2 - 2 * cov * s * h + vb * h**2) - rho1,
        4 * s**2 * (vb * s**2 + 2 * cov * s * h + va * h**2) - rho2,
    )
    inside = np.zeros(len(grid), dtype=bool)
    for low, high in found:
        inside |= (grid >= low) & (grid <= high)
    clear = np.abs(margin) > 1e-9
    np.testing.assert_array_equal(inside[clear], margin[clear] > 0)


def test_ends_meet_the_thresholds():
    """Inner ends lie on a threshold, to the last bits."""
    for rho in [(0.3, 0.4), (2.0, 0.1), (1.0, 3.0)]:
        found = security_range(1.3, 0.7, 0.5, *rho)
        assert found
        for end in (end for interval in found for end in interval):
            excess = np.subtract(difference_variances(1.3, 0.7, 0.5, end), rho)
            assert excess.min() == pytest.approx(0, abs=1e-13)


def test_closed_form_for_uncorrelated_columns_of_one_variance():
    """Var(a − a') = 2v(1 − cosθ), so the range is |θ − π| ≤ π − arccos(1 − ρ/2v)."""
    for v, rho in [(1.0, 0.25), (2.5, 9.9), (1.0, 1e-12), (1.0, 3.999)]:
        [(low, high)] = security_range(v, v, 0.0, rho, rho / 3)
        start = 2 * math.asin(math.sqrt(rho / v) / 2)
        assert low == pytest.approx(start, rel=1e-9)
        assert high == pytest.approx(TURN - start, rel=1e-12)


def test_limit_cases():
    assert security_range(1.0, 2.0, 0.5, 0.0, 0.0) == [(0.0, TURN)]
    assert security_range(0.0, 0.0, 0.0, 0.0, 0.0) == [(0.0, TURN)]
    assert security_range(0.0, 0.0, 0.0, 1e-9, 0.0) == []
    assert security_range(1.0, 1.0, 0.0, 4.0, 0.0) == []  # reached at π alone
    assert security_range(1.0, 1.0, 0.0, 4.1, 0.0) == []
    # One constant column: Var(a − a') = v(1 − cosθ)², Var(b − b') = v·sin²θ; two arcs.
    arcs = security_range(1.0, 0.0, 0.0, 1.0, 0.5)
    np.testing.assert_allclose(arcs, [(math.pi / 2, 3 * math.pi / 4), (5 * math.pi / 4, 3 * math.pi / 2)], atol=1e-12)
    assert security_range(1.0, 0.0, 1e-17, 1.0, 0.5) == arcs  # a constant column's covariance, rounded
    # Equal columns: a' = a√2·sin(θ + π/4), so neither changes much at both ends of the diagonal.
    assert 0 < range_length(security_range(1.0, 1.0, 1.0, 1.0, 1.0)) < TURN


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e12, 1e200])
def test_units_do_not_matter(scale):
    one = security_range(1.3, 0.7, 0.5, 0.6, 0.9)
    np.testing.assert_allclose(
        security_range(1.3 * scale, 0.7 * scale, 0.5 * scale, 0.6 * scale, 0.9 * scale), one, atol=1e-12
    )


def test_points_fill_the_range_evenly():
    arcs = security_range(1.0, 0.0, 0.0, 1.0, 0.5)
    points = np.array([point_in(arcs, u) for u in (np.arange(1000) + 0.5) / 1000])
    inside = [(points >= low) & (points <= high) for low, high in arcs]
    assert [int(part.sum()) for part in inside] == [500, 500]
    np.testing.assert_allclose(np.diff(points[:500]), range_length(arcs) / 1000, atol=1e-12)
    assert point_in(arcs, 0.0) == arcs[0][0]
    assert point_in(arcs, 1.0) == arcs[-1][1]
    for point in points:
        assert min(np.subtract(difference_variances(1.0, 0.0, 0.0, point), (1.0, 0.5))) >= -1e-12


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: security_range(-1.0, 1.0, 0.0, 1.0, 1.0), "va"),
        (lambda: security_range(1.0, 1.0, 1.1, 1.0, 1.0), "cov"),
        (lambda: security_range(1.0, 1.0, 0.0, -0.1, 1.0), "rho1"),
        (lambda: security_range(1.0, 1.0, 0.0, 0.1, math.nan), "rho2"),
        (lambda: difference_variances(1.0, 1.0, 0.0, math.inf), "theta"),
        (lambda: point_in([], 0.5), "intervals"),
        (lambda: point_in([(0.0, 1.0)], 1.5), "u"),
        (lambda: rotated_variance(0.0, 2.0), "r"),
    ],
)
def test_refusals(call, name):
    with pytest.raises(InputError, match=rf"^{name}(:| must be) "):
        call()


def test_chosen_pairs_cover_all_columns_and_beat_a_bad_pairing():
    """Two pairs of columns that nearly repeat each other: pairing within them leaves less room than across."""
    r = 0.98
    covariance = np.array([[1, r, 0, 0], [r, 1, 0, 0], [0, 0, 1, r], [0, 0, r, 1.0]])
    within = range_length(security_range(1, 1, r, 0.8, 0.8))
    pairs = choose_rotation_pairs(covariance, 0.8, 0.8)
    assert sorted(i for pair in pairs for i in pair[:2]) == [0, 1, 2, 3]
    assert all(range_length(pair.intervals) > within for pair in pairs)
    assert len(choose_rotation_pairs(np.eye(5), 0.3, 0.3)) == 3
    with pytest.raises(InputError, match="leave no angle for 1 of 1 pairs"):
        choose_rotation_pairs(np.eye(2), 5.0, 5.0)
