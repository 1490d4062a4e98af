"""Inspections point out codes for missing values, codes for categories and duplicates, and say how to declare them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from veil.data.blocks import BLOCK_ROWS

N = 1_000
RNG = np.random.default_rng(0)


def spoiled(values, *codes, share=0.03):
    values = np.array(values, dtype=float)
    for code in codes:
        values[RNG.random(len(values)) < share] = code
    return values


SUSPECTS = {
    "age": (spoiled(RNG.integers(18, 95, N), 99), {"99"}),
    "two codes": (spoiled(RNG.integers(18, 90, N), 98, 99), {"98", "99"}),
    "income": (spoiled(RNG.lognormal(10, 0.3, N).round(), 99_999), {"99999"}),
    "scale of five": (spoiled(RNG.integers(1, 6, N), 9), {"9"}),
    "flag": (spoiled(RNG.integers(0, 2, N), -9, -1), {"-9", "-1"}),
    "words": (RNG.choice(["a", "?", "NA", "Namibia"], N), {"?", "NA"}),
}
FINE = {
    "percent": RNG.integers(0, 101, N),
    "cents": RNG.integers(0, 100, N),
    "scale of nine": RNG.integers(1, 10, N),
    "hours": RNG.integers(0, 10, N),
    "noise": RNG.normal(size=N),
    "signed": RNG.integers(-9, 10, N),
    "one top": np.append(RNG.integers(0, 60, N - 1), 99),
    "words": RNG.choice(["a", "b-c", "n", "none"], N),
}


@pytest.mark.parametrize("name", SUSPECTS)
def test_codes_of_missing_values_are_pointed_out(name):
    values, wanted = SUSPECTS[name]
    inspection = veil.inspect(pd.DataFrame({"x": values, "y": RNG.normal(size=N)}))
    (column, _) = inspection.columns
    assert column.note.count("a missing value?") == len(wanted)
    for code in wanted:
        assert f"{code} {(values == type(values[0])(code)).sum()} times" in column.note
    assert sum("--missing" in sentence for sentence in inspection.advice) == 1


@pytest.mark.parametrize("name", FINE)
def test_ends_of_scales_are_no_codes(name):
    inspection = veil.inspect(pd.DataFrame({"x": FINE[name], "y": RNG.normal(size=N)}))
    assert "missing value" not in inspection.columns[0].note
    assert not any("--missing" in sentence for sentence in inspection.advice)


def test_codes_are_counted_across_blocks():
    x = np.tile(np.arange(1.0, 6.0), BLOCK_ROWS // 2)
    x[[5, -5]] = 9
    assert "9 2 times" in veil.inspect(pa.table({"x": x})).columns[0].note


def test_declared_codes_are_pointed_out_no_more():
    table = pa.table({"age": SUSPECTS["age"][0], "word": SUSPECTS["words"][0]})
    inspection = veil.inspect(veil.read_table(table, missing={"age": 99, "word": ["?", "NA"]}))
    assert not any("--missing" in sentence for sentence in inspection.advice)
    assert [column.missing > 0 for column in inspection.columns] == [True, True]


@pytest.mark.parametrize(
    ("name", "values", "code"),
    [
        ("home", RNG.choice(RNG.integers(10_000, 99_999, 60), N), True),
        ("zip", RNG.integers(1, 5, N), True),
        ("isic_rev4", RNG.integers(1, 5, N), True),
        ("zipper", RNG.integers(1, 5, N), False),
        ("pay", RNG.integers(100, 999, N) * 100, False),
        ("year", RNG.integers(1_950, 2_020, N), False),
        ("count", RNG.poisson(5_000, N), False),
        ("age", RNG.integers(18, 90, N), False),
    ],
)
def test_numbers_that_look_like_codes_are_pointed_out(name, values, code):
    inspection = veil.inspect(pd.DataFrame({name: values, "y": RNG.normal(size=N)}))
    assert ("looks like a code" in inspection.columns[0].note) == code
    assert any(f"--kind {name}=category" in sentence for sentence in inspection.advice) == code
    declared = veil.inspect(veil.read_table(pd.DataFrame({name: values}), kinds={name: "category"}))
    assert declared.columns[0].kind == "category"
    assert not any("--kind" in sentence for sentence in declared.advice)


def test_duplicates_of_whole_records_are_counted():
    table = pd.DataFrame({"a": [1, 1, 2, 1, 3], "b": ["x", "x", "y", "z", "x"], "c": [0.5, 0.5, np.nan, 0.5, 1.0]})
    assert "2 of 5 records are the same as another in every column." in veil.inspect(table).advice
    assert not any("the same as another" in sentence for sentence in veil.inspect(table.drop(index=1)).advice)
