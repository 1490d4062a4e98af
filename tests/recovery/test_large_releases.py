"""Recoveries R1 to R4 and `recover` read a release block by block: same bits however it is held, and no whole table."""

import pickle
import tracemalloc
from dataclasses import fields, is_dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from veil.attacks.knowledge.previous_releases import count_rows
from veil.data.blocks import BLOCK_ROWS, Block
from veil.data.passes import Threads
from veil.data.tables import MemoryTable, Table
from veil.errors import InputError, NotApplicableError
from veil.numerics.products import block_products
from veil.recovery import DistributionRecovery, JointRecovery, MomentRecovery, ProportionRecovery
from veil.recovery.bands import counted_interval, quantile_interval
from veil.recovery.column_counts import column_counts
from veil.recovery.counting import FineCounts, GridCounts, fine_counts
from veil.recovery.folders import recover
from veil.recovery.joint import joint_counts
from veil.recovery.noise import noisy_columns
from veil.recovery.report_counts import Reports, count_categories, count_cells, count_combinations
from veil.recovery.weights import Weights
from veil.release.release import Release

N = 2 * BLOCK_ROWS + 12_345
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def numbers(n=N):
    rng = np.random.default_rng(0)
    x = rng.gamma(2.0, size=(n, 2)) * [1.0, 50.0] + [1.0, 10.0]
    x[rng.random(n) < 0.01, 0] = np.nan
    x[7, 1] = 1e6
    return pd.DataFrame(x, columns=["a", "b"])


def answers(n=N):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"c": rng.choice(list("xyz"), n, p=[0.6, 0.3, 0.1]), "d": rng.random(n) < 0.3})
    return frame.assign(c=frame["c"].where(rng.random(n) > 0.02))


PUBLISHED = {
    "additive": (numbers, veil.AdditiveNoise(0.5, random_state=0)),
    "multiplicative": (numbers, veil.MultiplicativeNoise(random_state=0)),
    "lognormal": (numbers, veil.LogNormalNoise(0.2, random_state=0)),
    "one by one": (answers, veil.RandomizedResponse(keep=0.7, missing="category", random_state=0)),
    "as one": (answers, veil.RandomizedResponse(keep=0.7, missing="category", joint=True, random_state=0)),
}


@pytest.fixture(scope="module", params=PUBLISHED)
def releases(request, tmp_path_factory):
    """A release in odd chunks, on one thread and on three, and from its folder."""
    make, method = PUBLISHED[request.param]
    release, _ = veil.publish(make(), method)
    folder = tmp_path_factory.mktemp("release") / "r"
    release.save(folder)
    whole = release.table.read()
    cuts = [0, 1, 1_000, 65_535, 70_001, 131_073, whole.num_rows]
    odd = pa.concat_tables([whole.slice(a, b - a) for a, b in pairwise(cuts)])
    manifest = release.manifest
    return [
        Release(MemoryTable(odd), manifest, Threads(1)),
        Release(MemoryTable(odd), manifest, Threads(3)),
        Release.load(folder),
    ]


@pytest.fixture
def no_whole_tables(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the whole table was read")

    for owner, name in [(Release, "to_numpy"), (Release, "codes"), (Release, "data"), (Table, "read")]:
        monkeypatch.setattr(owner, name, refuse)
    monkeypatch.setattr(MemoryTable, "read", refuse)


def plain(value):
    """Everything that a result holds, as something that == compares bit by bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if is_dataclass(value):
        return [plain(getattr(value, f.name)) for f in fields(value)]
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    return value


def findings(release):
    """What each recovery of these releases finds."""
    model = type(release.only_part.model).__name__
    if model == "ResponseModel":
        found = ProportionRecovery().fit(release)
        yield {k: v for k, v in vars(found).items() if k.endswith("_")}
        yield found.joint(["d", "c"])
        if release.only_part.model.compound is None:
            yield found.association(["c", "d"])
    else:
        found = MomentRecovery().fit(release)
        yield {k: v for k, v in vars(found).items() if k != "_release"}
        yield found.interval(target="population")
    if model == "AdditiveModel":
        for recovery in (
            DistributionRecovery(n_bins=30).fit(release),
            JointRecovery(["a", "b"], n_bins=8).fit(release),
        ):
            yield {k: v for k, v in vars(recovery).items() if k.endswith("_")}
    yield recover(release, n_bins=30)


@pytest.mark.usefixtures("no_whole_tables")
def test_the_same_bits_however_the_release_is_held(releases):
    first, *others = [[plain(found) for found in findings(release)] for release in releases]
    assert len(first) >= 2
    for other in others:
        assert other == first
    assert recover(releases[0]).n_rows == count_rows(releases[2]) == N


@pytest.mark.parametrize("name", ["additive", "multiplicative", "one by one"])
def test_rows_are_counted_where_only_reading_tells(name, tmp_path):
    make, method = PUBLISHED[name]
    release, _ = veil.publish(make(500), method)
    release.save(tmp_path / "r", format="csv")
    loaded = Release.load(tmp_path / "r")
    assert recover(loaded).n_rows == count_rows(loaded) == 500


class Endless(Table):
    """A table that is made while it is read."""

    def __init__(self, schema, n_blocks):
        self.schema, self.kind, self.native, self.label = schema, "pyarrow", {}, "the table"
        self.n_rows = n_blocks * BLOCK_ROWS

    def batches(self, columns=None, start=0, stop=None):
        names = list(self.schema.names if columns is None else columns)
        for i in range(start // BLOCK_ROWS, (stop or self.n_rows) // BLOCK_ROWS):
            rng = np.random.default_rng(i)
            yield pa.record_batch([rng.normal(size=BLOCK_ROWS) for _ in names], names=names)


def test_memory_does_not_grow_with_the_release():
    small, _ = veil.publish(np.random.default_rng(0).normal(size=(1_000, 2)), veil.AdditiveNoise(0.5))
    peaks = []
    for n_blocks in (4, 32):  # 4 MB and 32 MB of numbers
        release = Release(Endless(small.table.schema, n_blocks), small.manifest, Threads(1))
        tracemalloc.start()
        recover(release)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 2**20
    assert peaks[1] < 16 * 2**20


def test_leaves_and_their_sums_can_travel():
    release, _ = veil.publish(numbers(100), veil.AdditiveNoise(0.5, random_state=0))
    told, _ = veil.publish(
        answers(100), veil.RandomizedResponse(keep=0.7, missing="category", joint=True, random_state=0)
    )
    columns = tuple(noisy_columns(release, None, "test"))
    reports = Reports(told.only_part.released, told.only_part.model.categories)
    leaves = [
        (release, partial(column_counts, columns, 512)),
        (release, partial(joint_counts, columns, 64, Weights(), 1.0)),
        (release, partial(block_products, release.only_part.released, (1.0, 2.0))),
        (told, partial(count_categories, reports)),
        (told, partial(count_cells, reports)),
        (told, partial(count_combinations, reports, told.only_part.model.compound)),
    ]
    for source, leaf in leaves:
        (block,) = source.table.blocks()
        here, there = leaf(block), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(leaf))(block)))
        assert _state(here) == _state(there)
        _ = here + there


def _state(found):
    """What a sum holds, whether it is an array, a dataclass or a grid."""
    return plain(found if is_dataclass(found) or isinstance(found, np.ndarray) else vars(found))


VALUES = st.lists(
    st.one_of(
        st.floats(-20, 20, allow_subnormal=False), st.sampled_from([np.nan, 1e6, -3e9, 5e12, 0.0]), st.integers(-3, 3)
    ),
    max_size=40,
)


def grid(*rows, most=64):
    table = GridCounts([1.0] * len(rows), most, list("xyz")[: len(rows)])
    table.update(np.array(rows, dtype=np.float64))
    return table


def fine(values, most=16):
    return fine_counts(np.array(values, dtype=np.float64), 1.0, "x", most)


@given(VALUES, VALUES, VALUES)
@settings(max_examples=150, deadline=None)
def test_counts_add_up_in_any_order(a, b, c):
    """Far-out values make the grid coarser, missing ones are counted; sums are the counts of all values at once."""
    for count in (grid, fine):
        x, y, z = count(a), count(b), count(c)
        before = [_state(part) for part in (x, y, z)]
        for total in ((x + y) + z, x + (y + z), (z + x) + y, z + (y + x)):
            assert _state(total) == _state(count(a + b + c))
        assert [_state(part) for part in (x, y, z)] == before


@given(VALUES, st.integers(0, 40))
@settings(max_examples=100, deadline=None)
def test_pairs_add_up(values, cut):
    pairs = np.array([values, values[::-1]], dtype=np.float64).reshape(2, -1)
    whole, left, right = grid(*pairs, most=8), grid(*pairs[:, :cut], most=8), grid(*pairs[:, cut:], most=8)
    assert _state(left + right) == _state(right + left) == _state(whole)
    assert whole.n_missing + whole.n_counted == len(values)


@given(VALUES, st.sampled_from([8, 64]))
@settings(max_examples=100, deadline=None)
def test_fine_counts_hold_the_grid(values, most):
    found = fine(values, 64)
    assert len(found.places) <= 64
    assert found.n_missing + found.n_counted == len(values)
    assert _state(GridCounts.of_fine(found, most)) == _state(grid(values, most=most))


def test_far_out_values_cost_fine_counts_no_accuracy():
    x = np.random.default_rng(0).normal(size=100_000)
    x[:3] = 1e9, -1e12, 1e15
    found = sum((fine_counts(part, 1.0, "x") for part in np.split(x[5:-5], 9)), fine_counts(x[:5], 1.0, "x"))
    found = fine_counts(x[-5:], 1.0, "x") + found
    assert found.step == 1 / 16
    assert found.n_counted == len(x)
    lower, upper = found.edges()
    assert (lower[0], upper[-1]) == (-1e12, 1e15)
    with pytest.raises(InputError, match="infinite"):
        fine_counts(np.array([1.0, np.inf]), 1.0, "x")


def test_what_is_too_large_does_not_depend_on_the_order():
    far = GridCounts([1.0], 64, ["x"])
    far.update(np.array([[2.0**50]]))
    for table in (far, GridCounts([1.0], 64, ["x"])):
        with pytest.raises(InputError, match="so large"):
            table.update(np.array([[2.0**61]]))


SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_t(1.5, size=n),
    "whole numbers": lambda rng, n: rng.integers(0, 4, n).astype(float),
}


@pytest.mark.parametrize("law", ["normal", "uniform", "laplace"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("most", [2**14, 256])
def test_counted_intervals_hold_the_exact_ones(law, shape, most):
    """Never narrower, wider by a bin at each end at most; so it covers wherever the exact one does."""
    covered = {"exact": 0, "counted": 0}
    for seed in range(8):
        x = SHAPES[shape](np.random.default_rng(seed), 1_500)[:, None]
        release, _ = veil.publish(x, veil.AdditiveNoise(0.5, distribution=law, random_state=seed))
        noise = (law, release.only_part.parameters["scale"][0])
        y = release.to_numpy()[:, 0]
        counts = fine_counts(y, noise[1], "x0", most)
        assert most < 1_500 or counts.step <= noise[1] / 16
        for q in QUANTILES:
            exact, counted = quantile_interval(y, q, noise), counted_interval(counts, q, noise)
            assert exact[0] - counts.step <= counted[0] <= exact[0] or exact[0] == counted[0] == -np.inf
            assert exact[1] <= counted[1] <= exact[1] + counts.step or exact[1] == counted[1] == np.inf
            left, right = np.quantile(x, q, method="inverted_cdf"), np.quantile(x, q, method="higher")
            for name, (low, high) in (("exact", exact), ("counted", counted)):
                covered[name] += bool(low <= right and left <= high)
            if most == 2**14:
                recovery = DistributionRecovery(max_iter=1).fit(release)
                assert recovery.quantile_interval(q) == counted
    assert 8 * len(QUANTILES) >= covered["counted"] >= covered["exact"]


def test_intervals_are_refused_as_before():
    release, _ = veil.publish(np.random.default_rng(0).normal(size=(50, 1)), veil.AdditiveNoise(0.5))
    with pytest.raises(InputError, match="fit"):
        DistributionRecovery().quantile_interval(0.5)
    found = DistributionRecovery().fit(release)
    with pytest.raises(InputError, match="q must"):
        found.quantile_interval(2.0)
    assert found.quantile_interval(0.05)[0] == -np.inf
    with pytest.raises(InputError, match="no values"):
        counted_interval(fine([np.nan]), 0.5, ("normal", 1.0))
    assert isinstance(fine([]) + fine([1.0]), FineCounts)


def test_products_of_powers_are_those_of_the_table():
    x = np.random.default_rng(3).gamma(2.0, size=(20_000, 3))
    x[::100, 1] = np.nan
    table = pa.table(dict(zip("abc", x.T, strict=True)))
    (block,) = MemoryTable(table).blocks()
    origin = (1.0, 2.0, 3.0)
    found = block_products(("a", "b", "c"), origin, block).means()
    y = x[~np.isnan(x).any(axis=1)] - origin
    assert (found.n_rows, found.n) == (len(x), len(y))
    np.testing.assert_allclose(found.power, [(y**p).mean(axis=0) for p in range(5)], rtol=1e-12)
    for table, (p, q) in zip((found.one_one, found.one_two, found.two_two), ((1, 1), (1, 2), (2, 2)), strict=True):
        np.testing.assert_allclose(table, (y**p).T @ y**q / len(y), rtol=1e-12)


@pytest.mark.parametrize("dictionary", [False, True])
def test_counts_of_combinations(dictionary):
    """As many columns as overflow a number per combination; unlisted combinations are counted apart."""
    rng = np.random.default_rng(4)
    known = tuple(("p", "q", None) for _ in range(41))  # 3^41 is more than 2^63
    compound = tuple(tuple(int(c) for c in row) for row in rng.integers(0, 3, size=(30, 41)))
    drawn = rng.integers(0, 30, size=2_000)
    codes = np.array(compound)[drawn]
    other = rng.random(len(codes)) < 0.1
    codes[other, 40] = (codes[other, 40] + 1) % 3
    columns = [pa.array([known[0][c] for c in column], pa.string()) for column in codes.T]
    if dictionary:
        columns = [column.dictionary_encode() for column in columns]
    names = tuple(f"c{j}" for j in range(41))
    leaf = partial(count_combinations, Reports(names, known), compound)
    found = leaf(Block(0, pa.record_batch(columns, names=names)))
    np.testing.assert_array_equal(found, [*np.bincount(drawn[~other], minlength=30), other.sum()])


def test_reports_that_the_manifest_does_not_list():
    release, _ = veil.publish(answers(200), veil.RandomizedResponse(keep=0.7, missing="category", random_state=0))
    told = release.table.read().to_pydict()
    told["c"][3] = told["c"][9] = "elsewhere"
    odd = Release(MemoryTable(pa.table(told)), release.manifest)
    with pytest.raises(NotApplicableError, match="column 'c': 2 reports are none of the categories"):
        ProportionRecovery().fit(odd)
    with pytest.raises(NotApplicableError, match="no rows"):
        ProportionRecovery().fit(Release(MemoryTable(pa.table(told).slice(0, 0)), release.manifest))
