"""Whose row is whose: an order is believed where the data support it, and else rows are matched by content too."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import binom

import veil
from veil.auditing.elsewhere.order import LEVEL, order_test
from veil.report.values import Matching, Risk, Unmeasured

NONE = veil.Grants.only()
ALONE = veil.Goals(against="nothing")


def people(rng, n=300, d=4):
    values = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(d)])


def outcome(private, released):
    return order_test(*(pa.Table.from_pandas(frame, preserve_index=False) for frame in (private, released)))


def mixed(frame, rng):
    """Columns that a secret linear map has mixed, with noise."""
    values = frame.to_numpy() @ np.linalg.qr(rng.normal(size=(frame.shape[1],) * 2))[0]
    return pd.DataFrame(values + 0.5 * rng.normal(size=values.shape), columns=list("pqrstuvw")[: frame.shape[1]])


def classed(frame, rng):
    return frame.apply(lambda column: pd.qcut(column, 5, labels=list("abcde")).astype(str))


RELEASES = {
    "noise": lambda x, rng: x + 2.0 * rng.normal(size=x.shape) * x.std().to_numpy(),
    "mixed": mixed,
    "classes": classed,
    "factors": lambda x, rng: x * rng.normal(1.0, 0.5, x.shape),
}


@pytest.mark.parametrize("kind", RELEASES)
def test_a_right_order_is_supported_and_a_wrong_one_is_not_for_many_keys(kind):
    for seed in range(20 if kind == "noise" else 6):
        rng = np.random.default_rng(seed)
        private = people(rng, 1_000 if seed == 0 else 100)
        released = RELEASES[kind](private, rng)
        assert outcome(private, released).supported, seed
        assert not outcome(private, released.sample(frac=1, random_state=seed)).supported, seed


def test_the_p_value_of_a_wrong_order_is_uniform():
    """Share of p-values under a level over 100 unrelated tables: binomial."""
    rng = np.random.default_rng(0)
    p_values = np.array([outcome(people(rng, 60, 2), people(rng, 60, 2)).p_value for _ in range(100)])
    for level in (0.05, 0.2):
        assert (p_values <= level).sum() <= binom.ppf(0.9999, 100, level)
    assert (p_values <= 0.5).sum() > 5
    assert LEVEL <= 0.001


def test_tables_that_were_sorted_alike_are_not_in_one_order():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        private = people(rng).sort_values("x0").reset_index(drop=True)
        noised = private + 0.3 * rng.normal(size=private.shape) * private.std().to_numpy()
        other = noised.sort_values("x0").reset_index(drop=True)
        other[["x1", "x2", "x3"]] = rng.permutation(other[["x1", "x2", "x3"]])
        assert not outcome(private, other).supported, seed


@pytest.mark.parametrize("seed", range(2))
def test_weak_noise_in_another_order_breaks_by_content_and_says_so(seed):
    rng = np.random.default_rng(seed)
    private = people(rng, 300)
    noisy = private + 0.05 * rng.normal(size=private.shape) * private.std().to_numpy()
    audit = veil.audit(private, release=noisy.sample(frac=1, random_state=seed), goals=ALONE, grants=NONE, seed=0)
    assert not audit.passed
    assert audit.matching == Matching.INFERRED
    assert audit.order.by_content
    assert not audit.order.supported
    assert str(audit.order) == audit.remarks[0]
    in_order = veil.audit(private, release=noisy, goals=ALONE, grants=NONE, seed=0)
    assert (in_order.matching, in_order.order.supported) == (Matching.KNOWN, True)
    assert not in_order.passed


def test_a_key_that_names_other_people_is_not_believed():
    """A tool that shuffles rows and numbers them anew leaves a key that fits nobody."""
    rng = np.random.default_rng(5)
    private = people(rng).assign(id=range(300))
    noisy = private.drop(columns="id") + 0.02 * rng.normal(size=(300, 4))
    released = noisy.sample(frac=1, random_state=1).assign(id=range(300))
    audit = veil.audit(private, release=released, match="id", goals=ALONE, grants=NONE, seed=0)
    assert audit.order.by_content
    assert not audit.passed


def test_strong_noise_is_not_misjudged():
    """Noise of five deviations, right order or not, gives nothing away, and small tables are not called broken."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        private = people(rng, 1_000)
        noisy = private + 5.0 * rng.normal(size=private.shape) * private.std().to_numpy()
        for released in (noisy, noisy.sample(frac=1, random_state=seed)):
            audit = veil.audit(private, release=released, goals=ALONE, grants=NONE, seed=0)
            assert not [f for f in audit.candidates[0].failures if f.shown], seed


def test_risks_that_are_not_measured_have_their_true_reason():
    rng = np.random.default_rng(6)
    private = people(rng, 200)
    noisy = private + rng.normal(size=private.shape)

    def reason(**how):
        view = veil.audit(private, release=noisy, grants=NONE, seed=0, **how).model().candidates[0]
        return next(risk.unmeasured for risk in view.risks if risk.risk == Risk.LINKABILITY)

    assert reason() == Unmeasured.NO_TABLE
    assert reason(match=None) == Unmeasured.UNMATCHED
    assert reason(match=None, roles={"x0": "quasi"}) == Unmeasured.UNMATCHED
