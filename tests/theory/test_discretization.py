"""P17: every value lies in the class that is released for it, and the edges say what was applied."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil import publish_file
from veil.data.blocks import BLOCK_ROWS
from veil.errors import InputError
from veil.numerics.rounding import two_digits

NUMBER = r"-?[\d.]+(?:e[+-]?\d+)?"


def limits(name):
    """The interval that a class's name states, [low, high)."""
    if found := re.fullmatch(rf"< ({NUMBER})", name):
        return -np.inf, float(found[1])
    if found := re.fullmatch(rf">= ({NUMBER})", name):
        return float(found[1]), np.inf
    found = re.fullmatch(rf"\[({NUMBER}), ({NUMBER})\)", name)
    assert found, name
    return float(found[1]), float(found[2])


def classes(values, **settings):
    release, _ = veil.publish(pd.DataFrame({"x": values}), veil.Discretize(**settings))
    return release, release.table.read().column(0).to_pylist()


def inside(values, names):
    low, high = np.array([limits(name) for name in names]).T
    return (low <= values) & (values < high)


LAWS = {
    "normal": lambda rng: rng.normal(size=3_000),
    "skewed": lambda rng: rng.lognormal(10, 1, 3_000),
    "far from 0": lambda rng: 300 + 40 * rng.random(3_000),
    "small": lambda rng: 1e-7 * rng.normal(size=3_000),
    "large": lambda rng: 1e12 * rng.normal(size=3_000),
    "integers": lambda rng: rng.integers(0, 90, 3_000),
    "negative": lambda rng: -rng.exponential(5, 3_000),
    "few rows": lambda rng: rng.normal(size=5),
    "two values": lambda rng: rng.choice([3.0, 7.0], 200),
}


@pytest.mark.parametrize("strategy", ["width", "count"])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_every_value_lies_in_its_class(law, strategy):
    values = np.asarray(law(np.random.default_rng(1)))
    for n_bins in (2, 10, 37):
        release, names = classes(values, n_bins=n_bins, strategy=strategy)
        assert inside(values, names).all()
        edges = release.only_part.parameters["edges"][0]
        assert len(set(names)) <= len(edges) + 1 <= n_bins
        assert list(edges) == sorted(set(edges))
        stated = {edge for name in names for edge in limits(name) if np.isfinite(edge)}
        assert stated <= set(edges)  # what is published is what was applied
        gaps = np.diff(edges).min() if len(edges) > 1 else np.inf
        # Two digits, or as many as one digit of a class's width has.
        assert all(edge == two_digits(edge) or abs(two_digits(edge) - edge) > gaps / 20 for edge in edges)


def test_equal_width():
    release, _ = classes(np.random.default_rng(0).uniform(0, 100, 20_000), n_bins=10)
    edges = np.array(release.only_part.parameters["edges"][0])
    np.testing.assert_allclose(np.diff(edges), 10, atol=1.01)  # between the 1 % and 99 % points, two digits
    assert len(edges) == 9


def test_equal_count():
    values = np.random.default_rng(0).exponential(100, 50_000)
    release, names = classes(values, n_bins=8, strategy="count")
    edges = np.array(release.only_part.parameters["edges"][0])
    np.testing.assert_allclose(edges, np.quantile(values, np.arange(1, 8) / 8), rtol=0.055)  # two digits
    shares = np.array(list(pd.Series(names).value_counts())) / len(names)
    assert len(shares) == 8
    assert np.abs(shares - 1 / 8).max() < 0.03


def test_equal_counts_of_several_blocks_are_those_of_the_table():
    rng = np.random.default_rng(0)
    # Blocks of quite different values: quantiles are of the whole.
    values = np.r_[rng.normal(0, 1, BLOCK_ROWS), rng.normal(50, 1, BLOCK_ROWS), rng.normal(100, 1, 10_000)]
    release, _ = classes(values, n_bins=4, strategy="count")
    wanted = np.quantile(values, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(release.only_part.parameters["edges"][0], wanted, atol=0.6)


def test_given_edges():
    values = np.array([-5.0, 9.999, 10.0, 19.0, 20.0, 1e9])
    release, names = classes(values, edges=[10, 20])
    assert names == ["< 10", "< 10", "[10, 20)", "[10, 20)", ">= 20", ">= 20"]
    assert release.only_part.parameters["edges"] == [[10.0, 20.0]]
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    apart = veil.publish(table, veil.Discretize(edges={"a": [1.5], "b": [5]}))[0].data
    assert apart["a"].tolist() == ["< 1.5", ">= 1.5"]
    assert apart["b"].tolist() == ["< 5", "< 5"]


def test_given_edges_say_nothing_about_the_table():
    one, other = (classes(values, edges=[1, 2])[0] for values in ([0.0, 1.5], [9.0, 9.5]))
    assert one.only_part.parameters == other.only_part.parameters


def test_values_lie_in_classes_of_edges_with_many_digits():
    edge = 1 / 3
    values = np.array([np.nextafter(edge, 0), edge, np.nextafter(edge, 1), 0.33333333333333315])
    _, names = classes(values, edges=[edge])
    assert inside(values, names).all()


@pytest.mark.parametrize("strategy", ["width", "count"])
def test_no_extreme_is_among_the_edges(strategy):
    values = np.random.default_rng(2).normal(size=2_000)
    values[[5, 6]] = 47.0, -33.0  # two digits, so that rounding would not hide them
    release, _ = classes(values, n_bins=10, strategy=strategy)
    assert max(map(abs, release.only_part.parameters["edges"][0])) < 5


def test_no_extreme_is_among_the_edges_of_tied_values():
    values = np.r_[np.full(700, 12.0), np.linspace(13, 40, 300)]
    release, _ = classes(values, strategy="count")
    assert min(release.only_part.parameters["edges"][0]) > 12.0


@pytest.mark.parametrize(
    "values", [np.arange(1950, 2021), 1_000 + np.linspace(0, 1, 71)], ids=["years", "narrow and far from 0"]
)
def test_columns_far_from_zero_keep_their_classes(values):
    _, names = classes(np.repeat(values, 10).astype(float), n_bins=7)
    assert len(set(names)) >= 4


def test_missing_values_stay_missing():
    release, names = classes([1.0, np.nan, 30.0, np.nan], edges=[10])
    assert names == ["< 10", None, ">= 10", None]
    assert "pattern is public" in release.manifest.missing
    _, measured = classes([1.0, np.nan, 30.0, 4.0, np.nan] * 50)
    assert [m is None for m in measured] == [False, True, False, False, True] * 50


@pytest.mark.parametrize("strategy", ["width", "count"])
def test_files_and_memory_agree(strategy, tmp_path):
    rng = np.random.default_rng(4)
    table = pa.table({"a": rng.normal(size=BLOCK_ROWS + 500), "b": rng.integers(0, 50, BLOCK_ROWS + 500)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=5_000)
    made = publish_file(
        tmp_path / "t.parquet", veil.Discretize(6, strategy=strategy), tmp_path / "r", new_key=tmp_path / "k"
    )
    expected, _ = veil.publish(table, veil.Discretize(6, strategy=strategy))
    assert made.table.read().equals(expected.table.read())
    assert made.only_part == expected.only_part


def test_the_release_does_not_depend_on_the_key():
    values = np.random.default_rng(0).normal(size=100)
    assert classes(values)[1] == classes(values)[1]


@pytest.mark.parametrize(
    ("values", "settings", "words"),
    [
        ([3.0] * 9, {}, "column 'x': all its values are equal"),
        ([3.0] * 9, {"strategy": "count"}, "column 'x': all its values are equal"),
        ([3.0], {}, "column 'x': all its values are equal"),
        ([np.nan] * 3, {}, "'x': every value is missing"),
        ([1.0, np.inf], {}, "column 'x' has 1 infinite"),
        ([], {}, "no rows"),
        ([1.0, 2.0], {"n_bins": 1}, "n_bins must be a whole number of at least 2"),
        ([1.0, 2.0], {"n_bins": 2.5}, "n_bins must be a whole number"),
        ([1.0, 2.0], {"strategy": "kmeans"}, "strategy must be one of 'width', 'count'"),
        ([1.0, 2.0], {"edges": [2, 1]}, "edges must be finite numbers that rise, for column 'x'"),
        ([1.0, 2.0], {"edges": [1, 1]}, "edges must be finite numbers that rise"),
        ([1.0, 2.0], {"edges": []}, "edges must be finite numbers that rise"),
        ([1.0, 2.0], {"edges": [1, np.nan]}, "edges must be finite numbers that rise"),
        ([1.0, 2.0], {"edges": {"y": [1]}}, "edges must be finite numbers that rise, for column 'x'"),
        ([1.0, 2.0], {"edges": "ab"}, "edges must be finite numbers that rise"),
    ],
)
def test_faults_are_refused_by_name(values, settings, words):
    with pytest.raises(InputError, match=words):
        classes(np.array(values, dtype=float), **settings)


def test_a_column_of_one_value_may_have_given_edges():
    assert set(classes([3.0] * 9, edges=[1, 5])[1]) == {"[1, 5)"}


def test_text_columns_need_a_role():
    with pytest.raises(InputError, match=r"'x' \(text\)"):
        classes(["a", "b"])


def test_the_key_of_any_accepted_edges_can_be_saved(tmp_path):
    _, key = veil.publish(pd.DataFrame({"x": [1.0, 2.0]}), veil.Discretize(edges={"x": np.array([1.5])}))
    key.save(tmp_path / "key")


def test_as_a_transformer_it_gives_codes():
    x = np.array([[1.0], [15.0], [25.0], [np.nan]])
    codes = veil.Discretize(edges=[10, 20]).fit_transform(x)
    assert codes[:3, 0].tolist() == [0.0, 1.0, 2.0]
    assert np.isnan(codes[3, 0])


def test_a_release_of_classes_has_no_numbers():
    with pytest.raises(veil.NotApplicableError):
        classes([1.0, 2.0, 3.0])[0].to_numpy()


def test_there_is_no_promise():
    release, key = veil.publish(pd.DataFrame({"x": [1.0, 2.0, 3.0]}), veil.Discretize(2))
    assert release.manifest.guarantee == "none"
    with pytest.raises(veil.NotInvertibleError):
        veil.restore(release, key)
