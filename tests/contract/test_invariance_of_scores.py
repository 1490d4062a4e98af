"""Order and units are arbitrary: no score depends on them.

Rows and columns are permuted, columns rescaled by positive factors: powers of two, which round nothing, and others.
The judge's scores must be equal, to the last digit.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from veil.attacks.base import Guess
from veil.auditing.judge import Judge
from veil.measures import far_out_rate, standard_units

FACTORS = {
    "powers of two": 2.0 ** np.array([3, -5, 0, 20, -11]),
    "other factors": np.array([3.7, 1e-6, 1e9, 0.1, 7 / 3]),
}


def judged_tables():
    rng = np.random.default_rng(0)
    wine = load_wine().data
    holes = np.where(rng.random(wine.shape) < 0.1, np.nan, wine)
    codes = np.column_stack([rng.normal(size=(400, 2)), rng.integers(0, 5, (400, 2))])
    return {
        "normal": rng.normal(size=(400, 4)),
        "heavy tails": rng.standard_t(1.2, size=(400, 4)),
        "skewed": np.exp(2 * rng.normal(size=(400, 3))),
        "whole numbers": rng.integers(0, 12, size=(400, 4)).astype(float),
        "breast cancer": load_breast_cancer().data,
        "wine": wine,
        "wine with missing values": holes,
        "duplicates": np.repeat(rng.normal(size=(50, 3)), 8, axis=0),
        "a constant column": np.column_stack([rng.normal(size=(300, 3)), np.full(300, 7.3)]),
        "codes": codes,
    }


JUDGED = judged_tables()
CODES = {"codes": np.array([False, False, True, True])}


def guesses(name, seed):
    """Guesses that are the nearer the lower the column's number, so that no two columns tie; codes right or wrong."""
    x, rng = JUDGED[name], np.random.default_rng(seed)
    noise = rng.normal(size=x.shape) * np.geomspace(0.1, 1.0, x.shape[1]) * np.nanstd(x, axis=0)
    guess = np.where(np.isnan(x), 0.0, x + noise)
    wrong = np.where(rng.random(x.shape) < 0.6, x, np.roll(x, 1, axis=0))
    guess = np.where(CODES.get(name, np.zeros(x.shape[1], dtype=bool)), wrong, guess)
    return np.where(rng.random(x.shape) < 0.02, np.nan, guess)


def scored(truth, guess, given, names, categorical=None, **open_parts):
    """Everything that the judge says of one guess, columns by name."""
    judge = Judge(truth, names, 0.1, categorical)
    trial = judge.try_guess(
        Guess(guess, tuple(names), np.arange(len(truth)), **open_parts), np.arange(len(truth)), given
    )
    scores = judge.scores([trial], one_matrix=False, goal=0.05)
    parts = {"value": trial.value, "record": trial.record, "far out": trial.far_out}
    numbers = {name: [part.rate, part.control, part.n] for name, part in parts.items()}
    errors = {f"error of {name}": [part.error] for name, part in parts.items()}
    for name in ("value", "record", "column", "far_out"):
        if (part := scores[name]) is not None:
            numbers[f"score on {name}"] = [part.baseline, part.control, float(part.rate)]
            errors[f"ends on {name}"] = [v for m in (part.rate, part.advantage) for v in (float(m), m.low, m.high)]
    numbers["counts"] = [trial.n_scored]
    numbers["baselines"] = [judge.value_baseline, judge.record_baseline, judge.far_out_baseline]
    for j, name in enumerate(names):
        numbers[name] = [trial.columns[j].rate, trial.columns[j].control, judge.column_baselines[j]]
    exact = {name: np.array(values) for name, values in numbers.items()}
    return exact, scores["worst_column"], np.array([trial.nrmse, *(v for ends in errors.values() for v in ends)])


def transformed_table(x, guess, given, categorical, transformation, seed):
    rng = np.random.default_rng(seed + 100)
    n, d = x.shape
    names = [f"x{j}" for j in range(d)]
    categorical = np.zeros(d, dtype=bool) if categorical is None else categorical
    if transformation == "rows":
        order = rng.permutation(n)
        return x[order], guess[order], np.argsort(order)[given], names, categorical
    if transformation == "columns":
        order = rng.permutation(d)
        return x[:, order], guess[:, order], given, [names[j] for j in order], categorical[order]
    # A category's code has no unit.
    factor = np.where(categorical, 1.0, rng.choice(FACTORS[transformation], d))
    return x * factor, guess * factor, given, names, categorical


@pytest.mark.parametrize("transformation", ["rows", "columns", *FACTORS])
@pytest.mark.parametrize("name", JUDGED)
def test_scores_are_equal(name, transformation):
    x = JUDGED[name]
    for seed in range(2):
        guess, given = guesses(name, seed), np.random.default_rng(seed).choice(len(x), 5, replace=False)
        names, categorical = [f"x{j}" for j in range(x.shape[1])], CODES.get(name)
        before, worst, nrmse = scored(x, guess, given, names, categorical)
        after, still, error = scored(*transformed_table(x, guess, given, categorical, transformation, seed))
        assert worst == still
        assert before.keys() == after.keys()
        for part, values in before.items():
            np.testing.assert_array_equal(after[part], values, err_msg=part)
        assert error == pytest.approx(nrmse, rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("transformation", ["rows", "columns", *FACTORS])
def test_scores_of_signals_in_open_order_sign_and_scale_are_equal(transformation):
    x, given = JUDGED["wine"][:, :5], np.arange(3)
    names = [f"x{j}" for j in range(5)]
    signals = (guesses("wine", 0)[:, [3, 1, 4, 0, 2]] - 1.0) * [1.0, -2.0, 0.1, -1.0, 5.0]
    signals = np.nan_to_num(signals)
    before, worst, _ = scored(x, signals, given, names, up_to=("order", "sign", "scale"))
    table, _, given, names, categorical = transformed_table(x, x, given, None, transformation, 0)
    if transformation == "rows":
        signals = signals[np.random.default_rng(100).permutation(len(x))]
    after, still, _ = scored(table, signals, given, names, categorical, up_to=("order", "sign", "scale"))
    assert worst == still
    for part, values in before.items():
        np.testing.assert_array_equal(after[part], values, err_msg=part)


@pytest.mark.parametrize("factor", FACTORS["other factors"])
def test_a_guess_at_the_very_edge_of_the_tolerance_counts_in_every_unit(factor):
    x = np.array([[-1.0], [1.0]])
    scores, _, _ = scored(x * factor, (x + 0.1) * factor, np.empty(0, dtype=int), ["x"])
    assert scores["value"][0] == scores["record"][0] == 1.0


def test_the_record_baseline_of_a_long_table_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2_000, 3))
    baselines = {Judge(x[rng.permutation(2_000)], "abc", 0.3).record_baseline for _ in range(6)}
    assert len(baselines) == 1


def test_of_two_equally_exposed_columns_the_same_is_named_in_any_order():
    """The smallest example: two columns that are guessed exactly."""
    x = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [3.0, 2.0]])
    first = scored(x, x, np.empty(0, dtype=int), ["a", "b"])[1]
    assert scored(x[:, ::-1], x[:, ::-1], np.empty(0, dtype=int), ["b", "a"])[1] == first


def test_a_value_exactly_three_units_out_is_far_out_in_every_unit_or_in_none():
    """The smallest example: 16 zeros, 3 and −3 have the standard deviation 1."""
    x = np.concatenate([np.zeros(16), [3.0, -3.0]])[:, None]
    assert standard_units(x)[0] == 1.0
    rates = [
        float(far_out_rate(x * factor, x * factor, 0.1)) for factor in np.random.default_rng(0).uniform(1, 10, 200)
    ]
    assert len(set(np.isnan(rates))) == 1
