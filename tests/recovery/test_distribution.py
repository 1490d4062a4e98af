"""DistributionRecovery and JointRecovery on releases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from veil.errors import InputError, NotApplicableError
from veil.recovery import DistributionRecovery, JointRecovery
from veil.recovery.counting import GridCounts


def publish(x, scale=0.25, *, distribution="normal", seed=0):
    noise = veil.AdditiveNoise(scale, relative=False, distribution=distribution, random_state=seed)
    return veil.publish(x, noise)[0]


@pytest.mark.parametrize("distribution", ["normal", "uniform", "laplace"])
@pytest.mark.parametrize("method", ["bayes", "em"])
def test_quantiles_come_back(distribution, method):
    """A skewed attribute under noise of half its deviation: the shape returns."""
    x = np.random.default_rng(0).gamma(2.0, 1.0, size=(100_000, 1))
    release = publish(x, 0.7, distribution=distribution)
    recovery = DistributionRecovery(method).fit(release)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    recovered = np.abs(recovery.quantile(levels) - np.quantile(x, levels))
    noisy = np.abs(np.quantile(release.to_numpy(), levels) - np.quantile(x, levels))
    assert recovered.max() < noisy.max() / 2
    assert recovered.max() < 0.15


def test_default_support_is_nearly_as_good_as_the_known_one():
    x = np.random.default_rng(1).uniform(0.25, 0.75, size=(100_000, 1))
    release = publish(x, 0.5 / np.sqrt(3), distribution="uniform")
    grid = np.linspace(0, 1, 101)
    error = [
        np.abs(DistributionRecovery(support=s).fit(release).cdf(grid) - np.clip(2 * grid - 0.5, 0, 1)).max()
        for s in (None, {"x0": (0, 1)})
    ]
    assert max(error) < 0.02


def test_columns_are_recovered_one_by_one_and_any_blocks_give_the_same():
    x = np.random.default_rng(2).normal(size=(150_000, 3)) * [1, 10, 100] + [0, 50, -1000]
    release = publish(x, [1.0, 5.0, 100.0])
    all_of_them = DistributionRecovery(n_bins=50).fit(release)
    assert set(all_of_them.edges_) == {"x0", "x1", "x2"}
    alone = DistributionRecovery(n_bins=50, columns=["x1"]).fit(release)
    np.testing.assert_array_equal(alone.probabilities_["x1"], all_of_them.probabilities_["x1"])
    assert alone.quantile(0.5) == pytest.approx(50, abs=0.5)
    with pytest.raises(InputError, match="column must be one of the 3"):
        all_of_them.quantile(0.5)
    with pytest.raises(InputError, match="column must be"):
        all_of_them.cdf(0.5, column="age")


def test_cdf_and_quantile_are_inverse():
    x = np.random.default_rng(3).normal(size=(5_000, 1))
    recovery = DistributionRecovery(n_bins=40).fit(publish(x))
    levels = np.linspace(0, 1, 201)
    np.testing.assert_allclose(recovery.cdf(recovery.quantile(levels)), levels, atol=1e-12)
    edges = recovery.edges_["x0"]
    assert recovery.cdf(edges[0] - 1) == 0
    assert recovery.cdf(edges[-1] + 1) == 1
    assert recovery.pdf(edges[[0, -1]] + [-1, 1]).tolist() == [0, 0]
    middle = (edges[1:] + edges[:-1]) / 2
    assert (recovery.pdf(middle) * np.diff(edges)).sum() == pytest.approx(1)
    assert np.ndim(recovery.quantile(0.5)) == np.ndim(recovery.cdf(0.0)) == np.ndim(recovery.pdf(0.0)) == 0


def test_given_edges_are_the_intervals():
    x = np.random.default_rng(4).uniform(0, 8, size=(50_000, 1))
    edges = [0, 1, 3, 4, 8]
    recovery = DistributionRecovery("em", support={"x0": edges}).fit(publish(x, 0.5))
    np.testing.assert_array_equal(recovery.edges_["x0"], edges)
    se = np.sqrt(np.array([1, 2, 1, 4]) / 8 / 50_000)
    np.testing.assert_allclose(recovery.probabilities_["x0"], np.array([1, 2, 1, 4]) / 8, atol=10 * se.max())


@pytest.mark.parametrize("x", [np.array([[1.0], [3.0]]), np.full((1000, 1), 7.0), np.array([[5.0]])])
def test_few_or_equal_values(x):
    recovery = DistributionRecovery().fit(publish(x, 0.5))
    p = recovery.probabilities_["x0"]
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1)
    assert abs(recovery.quantile(0.5) - np.median(x)) < 2.5


def test_a_constant_column_becomes_a_narrow_peak():
    recovery = DistributionRecovery().fit(publish(np.full((20_000, 1), 7.0), 1.0))
    low, high = recovery.quantile([0.05, 0.95])
    assert 6.5 < low < 7 < high < 7.5


def test_missing_values_are_left_out_and_counted():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(20_000, 2))
    holes = x.copy()
    holes[rng.random(20_000) < 0.1, 0] = np.nan
    release = publish(holes)
    recovery = DistributionRecovery().fit(release)
    assert recovery.n_missing_ == {"x0": int(np.isnan(holes[:, 0]).sum()), "x1": 0}
    assert recovery.quantile(0.5, column="x0") == pytest.approx(0, abs=0.05)
    assert JointRecovery(["x0", "x1"], n_bins=10).fit(release).n_missing_ == recovery.n_missing_["x0"]


@given(
    # Released values lie on a grid, so none is as small as a subnormal number.
    values=st.lists(st.one_of(st.floats(-1e6, 1e6, allow_subnormal=False), st.just(np.nan)), min_size=1, max_size=80),
    cut=st.integers(0, 80),
    scale=st.sampled_from([1e-3, 1.0, 1e4]),
)
@settings(max_examples=80, deadline=None)
def test_grid_counts_are_histograms_however_cut(values, cut, scale):
    x = np.array([values])
    whole, parts = (GridCounts([scale], 64, ["x"]) for _ in range(2))
    whole.update(x)
    for part in (x[:, cut:], x[:, :cut]):
        parts.update(part)
    np.testing.assert_array_equal(whole.counts, parts.counts)
    assert whole.n_missing == parts.n_missing == np.isnan(x).sum()
    if whole.counts.size:
        np.testing.assert_array_equal(whole.edges(), parts.edges())
        assert len(whole.counts) <= 64
        assert whole.counts.sum() == np.isfinite(x).sum()
        assert whole.edges()[0] <= np.nanmin(x) <= np.nanmax(x) < whole.edges()[-1]


def test_grid_counts_in_two_dimensions():
    x = np.random.default_rng(6).normal(size=(2, 5_000)) * [[1], [300]]
    table = GridCounts([1.0, 1.0], 64, ["a", "b"])
    for part in np.array_split(x, 7, axis=1):
        table.update(part)
    expected = np.histogram2d(*x, bins=[table.edges(0), table.edges(1)])[0]
    np.testing.assert_array_equal(table.counts, expected)


def test_infinite_values_are_refused():
    with pytest.raises(InputError, match="infinite"):
        GridCounts([1.0], 64, ["x"]).update(np.array([[1.0, np.inf]]))


def test_joint_recovery_sees_the_correlation():
    """Closer to the true cells than the product of recovered marginals, and than the noisy cells."""
    x = np.random.default_rng(7).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=100_000)
    release = publish(x, 0.7)
    support = {"x0": (-4.0, 4.0), "x1": (-4.0, 4.0)}
    joint = JointRecovery(("x0", "x1"), n_bins=20, support=support).fit(release)
    single = DistributionRecovery(n_bins=20, support=support).fit(release)

    def distance(p):
        true = np.histogram2d(*x.T, bins=joint.edges_)[0] / len(x)
        return 0.5 * np.abs(p - true).sum()

    product = np.outer(single.probabilities_["x0"], single.probabilities_["x1"])
    noisy = np.histogram2d(*release.to_numpy().T, bins=joint.edges_)[0] / len(x)
    assert joint.probabilities_.sum() == pytest.approx(1)
    assert (joint.probabilities_ >= 0).all()
    assert distance(joint.probabilities_) < 0.4 * distance(product)
    assert distance(joint.probabilities_) < 0.5 * distance(noisy)
    assert joint.correlation() == pytest.approx(0.8, abs=0.05)
    cell = 0.4**2
    middle = np.stack(np.meshgrid(*[np.linspace(-3.8, 3.8, 20)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(joint.pdf(middle) * cell, joint.probabilities_.ravel())
    assert joint.pdf([[9.0, 0.0]]) == 0


RELEASE = publish(np.random.default_rng(8).uniform(0, 1, size=(500, 2)), distribution="uniform")


@pytest.mark.parametrize(
    ("recovery", "message"),
    [
        (DistributionRecovery("magic"), "method must be"),
        (DistributionRecovery(n_bins=0), "n_bins must be"),
        (DistributionRecovery(n_bins=2.5), "n_bins must be"),
        (DistributionRecovery(stop=-1), "stop must be"),
        (DistributionRecovery(max_iter=0), "max_iter must be"),
        (DistributionRecovery(columns=["age"]), "'age' is not among them"),
        (DistributionRecovery(columns=[]), "columns must be"),
        (DistributionRecovery(columns=["x0", "x0"]), "columns must be"),
        (DistributionRecovery(support=(0, 1)), "support must map"),
        (DistributionRecovery(support={"age": (0, 1)}), "'age' among them"),
        (DistributionRecovery(support={"x0": (1, 0)}), "support of column 'x0' must be"),
        (DistributionRecovery(support={"x0": "ab"}), "support of column 'x0' must be"),
        (DistributionRecovery(support={"x0": (0.4, 0.6)}), "widen it"),
        (JointRecovery(["x0"]), "columns must be two"),
        (JointRecovery(["x0", "x1"], n_bins=0), "n_bins must be"),
    ],
)
def test_wrong_parameters(recovery, message):
    with pytest.raises(InputError, match=message) as caught:
        recovery.fit(RELEASE)
    assert "\n" not in str(caught.value)


def test_wrong_calls():
    with pytest.raises(InputError, match="fit"):
        DistributionRecovery().cdf(0.5)
    with pytest.raises(InputError, match="fit"):
        JointRecovery(["x0", "x1"]).pdf([[0, 0]])
    with pytest.raises(InputError, match="reads a release"):
        DistributionRecovery().fit(np.zeros((3, 1)))
    with pytest.raises(InputError, match="from 0 to 1"):
        DistributionRecovery(columns="x0").fit(RELEASE).quantile(1.5)


@pytest.mark.parametrize("recovery", [DistributionRecovery(), JointRecovery(("x0", "x1"))])
def test_other_methods_are_not_applicable(recovery):
    x = np.random.default_rng(9).normal(size=(100, 2))
    release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    with pytest.raises(NotApplicableError, match=f"{type(recovery).__name__} has no theory for a orthogonal-transform"):
        recovery.fit(release)
