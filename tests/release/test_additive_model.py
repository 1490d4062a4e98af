"""What a manifest tells of the data that additive noise was relative to."""

from dataclasses import replace

import numpy as np
import pytest

import veil
from veil.numerics.rounding import two_digit_step, two_digits
from veil.release.models import AdditiveModel, model_from

DRAWS = np.random.default_rng(0)


def table(seed, n, d, rank):
    """Correlated columns of many sizes, with ``rank`` directions that vary much."""
    rng = np.random.default_rng([seed, d])
    mixed = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + 0.01 * rng.normal(size=(n, d))
    return mixed * 10 ** rng.uniform(-3, 3, size=d)


def model_of(x, **settings):
    return veil.AdditiveNoise(1.5, random_state=0, **settings).fit(x).model_


def test_two_digits_err_by_half_a_step_at_most():
    values = DRAWS.choice([-1, 1], size=2_000) * 10 ** DRAWS.uniform(-8, 8, size=2_000)
    rounded = np.array([two_digits(v) for v in values])
    error = np.abs(rounded - values) / two_digit_step(rounded)
    assert error.max() <= 0.5 * (1 + 1e-9)
    # Uniform within a step: the mean square is 1/12, with a standard error of 1/(√180·√n), but for values below a
    # power of ten that round up to it.
    assert np.mean(error**2) == pytest.approx(1 / 12, abs=4 / np.sqrt(180 * 2_000))


@pytest.mark.parametrize(
    "settings", [{}, {"similarity": 1.0}, {"similarity": -0.5}, {"distribution": "laplace"}], ids=str
)
def test_fields_come_back_and_are_in_no_address(settings):
    model = model_of(table(0, 200, 3, 2), **settings)
    raw = model.to_json()
    assert set(raw) - {"factor"} == {"distribution", "scale", "grid", "unit"} | ({"similarity"} & set(settings))
    assert model_from(raw, method="additive-noise", name="additive") == model
    bare = replace(model, unit=None, similarity=None)
    assert set(bare.to_json()) - {"factor"} == {"distribution", "scale", "grid"}
    assert [bare.column(j) for j in range(3)] == [model.column(j) for j in range(3)]
    assert bare.ledger_json() == model.ledger_json() == bare.to_json()


def test_nothing_is_told_where_scales_are_the_owners():
    x = table(0, 200, 3, 3)
    for settings in ({"relative": False}, {"covariance": np.eye(3)}):
        model = model_of(x, **settings)
        assert (model.unit, model.similarity, model.data_covariance, model.data_covariance_se) == (None,) * 4
    model = model_of(x, relative=False, similarity=1.0)
    assert (model.unit, model.similarity, model.data_covariance) == (None, 1.0, None)


def test_scales_that_an_earlier_release_fixed_tell_nothing_of_a_later_table():
    import pandas as pd

    first = pd.DataFrame({"id": range(100), "a": DRAWS.normal(size=100), "b": DRAWS.normal(size=100)})
    later = first.assign(a=first.a * 5)
    key, options = veil.Key.from_seed(3), {"roles": {"id": "identifier"}, "consistent_on": "id", "again": True}
    models = [
        veil.publish(frame, veil.AdditiveNoise(1.0), key=key, **options)[0].only_part.model for frame in (first, later)
    ]
    assert models[0].unit is not None
    assert models[1].unit is None
    np.testing.assert_array_equal(models[0].scale, models[1].scale)


@pytest.mark.parametrize(
    "wrong",
    [{"unit": [1.0]}, {"unit": [1.0, 0.0]}, {"unit": [1.0, float("nan")]}, {"similarity": 2}, {"similarity": "much"}],
    ids=str,
)
def test_values_that_do_not_fit_are_refused(wrong):
    raw = {"distribution": "normal", "scale": [1.0, 1.0], "grid": [0.5, 0.5], **wrong}
    with pytest.raises(ValueError, match="do not fit"):
        AdditiveModel.from_json(raw).check(2, 2)


@pytest.mark.parametrize("similarity", [None, 0.5, 0.0])
def test_independent_noise_tells_variances(similarity):
    x = table(1, 300, 4, 4)
    model = model_of(x, similarity=similarity)
    np.testing.assert_array_equal(np.isnan(model.data_covariance), ~np.eye(4, dtype=bool))
    np.testing.assert_array_equal(np.isnan(model.data_covariance_se), ~np.eye(4, dtype=bool))
    error = np.diag(model.data_covariance) - x.var(axis=0)
    # Half a step is a bound to first order; the second adds a fortieth, as a step is at most a tenth.
    assert (np.abs(error) <= np.diag(model.data_covariance_se) * 1.025).all()


@pytest.mark.parametrize(("d", "rank"), [(2, 2), (3, 3), (8, 8), (25, 25), (4, 1), (8, 2), (25, 3)])
def test_similar_noise_tells_covariances_as_exactly_as_it_says(d, rank):
    """40 tables: errors have a mean square of at most 1 in standard errors, and nearly all are within two.

    A third comes from units at their bounds, and the lift of flat directions (rank under d) is a bound, too.
    """
    ratios = []
    for seed in range(40):
        x = table(seed, 100, d, rank)
        model = model_of(x, similarity=1.0)
        ratio = (model.data_covariance - np.cov(x.T, ddof=0)) / model.data_covariance_se
        ratios.append(ratio[np.triu_indices(d)])
    assert np.mean(np.square(ratios)) < 1
    assert np.mean(np.abs(ratios) > 2) < 0.02


def test_gaps_leave_variances_of_present_values():
    x = table(2, 5_000, 3, 3)
    x[DRAWS.uniform(size=len(x)) < 0.3, 1] = np.nan
    model = model_of(x, similarity=1.0)
    complete = x[~np.isnan(x).any(axis=1)]
    size = np.nanstd(x, axis=0)
    truth = np.corrcoef(complete.T) * np.outer(size, size)
    assert (np.abs(model.data_covariance - truth) <= 2 * model.data_covariance_se).all()
