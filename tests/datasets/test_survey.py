"""The survey has what makes surveys hard to release: households, sums, heaps, heavy incomes, gaps and weights."""

import numpy as np
import pandas as pd
import pytest

from veil import datasets
from veil.errors import InputError


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return datasets.survey(10_000, seed=2)


def test_the_same_seed_draws_the_same_table(people):
    pd.testing.assert_frame_equal(people, datasets.survey(10_000, seed=2))
    assert not people.equals(datasets.survey(10_000, seed=3))
    assert people.shape == (10_000, 25)


def test_members_share_what_is_the_households(people):
    for name in ("region", "postcode", "urban", "dwelling", "rent", "weight"):
        assert (people.groupby("household")[name].nunique() == 1).all()
    sizes = people.groupby("household").size()
    assert sizes.max() == 6
    assert 2.3 < sizes.mean() < 2.7


def test_incomes_are_sums_heaped_and_heavy(people):
    parts = people["wage"] + people["capital_income"] + people["benefits"]
    assert (people["income"] == parts).all()
    assert 0.4 < (people["wage"] == 0).mean() < 0.6
    assert (people["capital_income"] == 0).mean() > 0.6
    largest = people["income"].nlargest(10)
    assert largest.iloc[0] > 10 * people["income"].std() > 0


def test_gaps_depend_on_other_columns_and_weights_on_the_region(people):
    rich = people["income"] > people["income"].quantile(0.8)
    refused = people["wealth"].isna()
    gap = refused[rich].mean() - refused[~rich].mean()
    assert gap > 5 * np.sqrt(0.25 / rich.sum())
    assert people.groupby("region")["weight"].mean().max() > 3 * people.groupby("region")["weight"].mean().min()
    assert (people["weight"] > 0).all()


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="n must be"):
        datasets.survey(10)
    with pytest.raises(InputError, match="seed must be"):
        datasets.survey(1_000, seed=-1)
