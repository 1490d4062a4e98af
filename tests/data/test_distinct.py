"""Keyed hashes of cells and samples of different values: exact up to the cap, unbiased with the stated error beyond."""

import datetime as dt
from decimal import Decimal
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa
import pytest

from veil.data.distinct import integer_run, sampled, sampled_values
from veil.data.hashing import LONG_TEXT, column_hashes, new_hash_key, present_hashes, record_hashes

KEY = 0x0123456789ABCDEF
CAP = 256
N_VALUES = 6000
N_TRIALS = 400


def trials(values):
    """The sample of the values under many keys."""
    rng = np.random.default_rng(5)
    keys = rng.integers(2**64, size=N_TRIALS, dtype=np.uint64).tolist()
    return [sampled(column_hashes(values, key), cap=CAP) for key in keys]


def test_the_number_of_values_is_unbiased_and_has_the_stated_error():
    estimates = np.array([sample.n_values for sample in trials(pa.array(range(N_VALUES)))])
    error = 1.20 / np.sqrt(CAP) * N_VALUES
    assert abs(estimates.mean() - N_VALUES) < 4 * error / np.sqrt(N_TRIALS)
    assert abs(estimates.std() / error - 1) < 4 * np.sqrt(0.5 / N_TRIALS) + 0.05  # 1.20 itself wanders by a few percent


def test_records_in_small_cells_are_unbiased_and_their_interval_covers():
    sizes = np.repeat([1, 2, 4, 7], [3000, 1500, 1000, 500])
    samples = trials(pa.array(np.repeat(np.arange(len(sizes)), sizes)))
    for k, truth in ((2, 3000), (5, 3000 + 3000 + 4000)):
        estimates, errors = np.array([sample.records_in_cells_below(k) for sample in samples]).T
        assert abs(estimates.mean() - truth) < 4 * estimates.std() / np.sqrt(N_TRIALS)
        covered = np.mean(abs(estimates - truth) < 1.96 * errors)
        assert abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / N_TRIALS) + 0.01


def test_a_sample_does_not_depend_on_how_records_are_cut_and_ordered():
    rng = np.random.default_rng(1)
    hashes = column_hashes(pa.array(rng.integers(0, N_VALUES, 20_000)), KEY)
    whole = sampled(hashes, cap=CAP)
    for n_parts in (2, 7, 40):
        parts = [sampled(part, cap=CAP) for part in np.array_split(rng.permutation(hashes), n_parts)]
        joined = reduce(add, parts)
        assert joined.level == whole.level > 0
        np.testing.assert_array_equal(joined.hashes, whole.hashes)
        np.testing.assert_array_equal(joined.sizes, whole.sizes)
        assert len(joined.hashes) <= CAP


def test_up_to_the_cap_everything_is_exact():
    values = np.repeat(np.arange(CAP), np.arange(CAP) % 3 + 1)
    sample = sampled(column_hashes(pa.array(values), KEY), cap=CAP)
    assert sample.exact
    assert sample.n_values == CAP
    assert sample.records_in_cells_below(2) == ((np.arange(CAP) % 3 == 0).sum(), None)
    one_more = sample + sampled(column_hashes(pa.array([CAP]), KEY), cap=CAP)
    assert not one_more.exact
    assert len(one_more.hashes) < CAP


def test_nothing_is_a_sample_too():
    none = sampled_values(np.empty(0, dtype=np.uint64))
    assert (none + none).n_values == 0
    assert (none + sampled_values(np.array([3], dtype=np.uint64))).n_values == 1


ALIKE = {
    "integer": ([3, 3, -3, None, None, 0], pa.int16()),
    "unsigned": ([2**64 - 1, 2**64 - 1, 1, None, None, 0], pa.uint64()),
    "float": ([0.0, -0.0, 1.5, float("nan"), None, 2.5], pa.float32()),
    "text": (["ab", "ab", "ab\0", None, None, ""], pa.string()),
    "long text": (
        ["x" * LONG_TEXT * 2] * 2 + ["x" * LONG_TEXT * 2 + "y", None, None, "x" * LONG_TEXT],
        pa.large_string(),
    ),
    "view": (["a word of more than twelve"] * 2 + ["b", None, None, ""], pa.string_view()),
    "boolean": ([True, True, False, None, None], pa.bool_()),
    "date": ([dt.date(2020, 1, 1)] * 2 + [dt.date(2020, 1, 2), None, None], pa.date32()),
    "time": ([dt.time(1)] * 2 + [dt.time(2), None, None], pa.time32("s")),
    "timestamp": ([dt.datetime(2020, 1, 1)] * 2 + [dt.datetime(2021, 1, 1), None, None], pa.timestamp("s")),
    "duration": ([dt.timedelta(1)] * 2 + [dt.timedelta(2), None, None], pa.duration("us")),
    "decimal": ([Decimal("1.50")] * 2 + [Decimal("1.51"), None, None], pa.decimal128(9, 2)),
    "category": (["b", "b", "a", None, None, "c"], pa.dictionary(pa.int8(), pa.string())),
    "numbers as categories": ([2, 2, 1, None, None, 0], pa.dictionary(pa.int32(), pa.int64())),
    "nothing": ([None, None], pa.null()),
}


@pytest.mark.parametrize(("values", "dtype"), ALIKE.values(), ids=ALIKE)
def test_equal_cells_have_equal_hashes_and_others_do_not(values, dtype):
    array = pa.array(values, dtype)
    hashes = column_hashes(array, KEY)
    assert hashes[0] == hashes[1]
    assert hashes[-2 if len(values) == 2 else 3] == hashes[-1 if len(values) == 2 else 4]
    alike = 1 if len(values) == 2 else len(values) - 2
    assert len(set(hashes.tolist())) == alike
    joined = pa.concat_arrays([array, array]).slice(3, len(values))
    np.testing.assert_array_equal(column_hashes(joined, KEY), np.tile(hashes, 2)[3 : 3 + len(values)])
    assert len(present_hashes(array, KEY)) <= alike
    if not pa.types.is_null(dtype):
        assert not set(hashes.tolist()) & set(column_hashes(array, KEY + 1).tolist())


def test_a_category_hashes_as_its_text_whatever_its_dictionary():
    texts = pa.array(["x", None, "yy", "x"])
    other = pa.DictionaryArray.from_arrays(pa.array([2, None, 1, 2]), pa.array(["unused", "yy", "x"]))
    np.testing.assert_array_equal(column_hashes(texts, KEY), column_hashes(other, KEY))


def test_records_are_alike_where_all_cells_are_in_their_columns():
    first, second = pa.array(["a", "ab", "b", "a", None]), pa.array(["b", "", "a", "b", "b"])
    hashes = record_hashes([first, second], KEY)
    assert hashes[0] == hashes[3]
    assert len(set(hashes.tolist())) == 4


@pytest.mark.parametrize("as_text", [False, True])
def test_hashes_of_neighbours_are_uniform(as_text):
    values = pa.array(range(64_000))
    hashes = column_hashes(values.cast(pa.string()) if as_text else values, KEY)
    assert len(set(hashes.tolist())) == len(values)
    for shift in (58, 29, 0):  # high, middle and low bits
        counts = np.bincount((hashes >> np.uint64(shift)).astype(np.int64) & 63, minlength=64)
        assert abs(((counts - 1000) ** 2 / 1000).sum() - 63) < 5 * np.sqrt(2 * 63)


def test_keys_differ_from_run_to_run():
    assert new_hash_key() != new_hash_key()


def runs(values, n_parts=8):
    return reduce(add, [integer_run(pa.array(part), KEY, cap=CAP) for part in np.array_split(values, n_parts)])


def test_integers_that_ascend_are_different_for_certain():
    run = runs(np.arange(-500, 4000) ** 3)
    assert not run.repeats
    assert run.certain
    assert not run.sample.exact


def test_integers_in_no_order_are_judged_by_a_sample():
    values = np.random.default_rng(2).permutation(4000)
    run = runs(values)
    assert not run.repeats
    assert not run.certain
    assert not runs(values[:CAP]).repeats
    assert runs(values[:CAP]).certain
    repeating = np.concatenate([values, values[:400]])
    assert runs(repeating).repeats
    assert runs(repeating).certain


def test_one_repetition_inside_a_block_or_one_missing_value_is_always_found():
    assert integer_run(pa.array([5, 1, 7, 1]), KEY).repeats
    assert integer_run(pa.array([1, 2, None]), KEY).repeats
    assert (integer_run(pa.array([3, 1]), KEY) + integer_run(pa.array([4, 3]), KEY)).repeats
