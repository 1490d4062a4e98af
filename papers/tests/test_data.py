"""The tables of the experiments: the real ones where they are, and their stand-ins everywhere."""

from pathlib import Path

import numpy as np
import pytest

from veil_papers.data import CHARTS, Source

DATA = Path(__file__).parents[3] / "shared" / "data"
COLUMNS = ("age", "sex", "race", "education", "hours-per-week", "income")


@pytest.fixture(params=["stand-in", "real"])
def source(request):
    if request.param == "stand-in":
        return Source()
    if not Source(DATA).real("control") or not Source(DATA).real("adult"):
        pytest.skip("the papers' tables are not shipped; put them in ../shared/data to run this")
    return Source(DATA)


def test_control_charts_come_with_their_classes(source):
    charts, classes = source.control_charts()
    assert charts.shape == (600, 60)
    assert np.isfinite(charts).all()
    assert classes.dtype == np.int64
    assert np.bincount(classes).tolist() == [100] * len(CHARTS)


def test_the_classes_are_those_of_the_shapes(source):
    """Ends against beginnings: trends and shifts go their way, charts without one stay."""
    charts, classes = source.control_charts()
    moved = charts[:, 45:].mean(axis=1) - charts[:, :15].mean(axis=1)
    by_class = {name: moved[classes == i] for i, name in enumerate(CHARTS)}
    assert all((by_class[name] > 3).all() for name in ("increasing_trend", "upward_shift"))
    assert all((by_class[name] < -3).all() for name in ("decreasing_trend", "downward_shift"))
    assert (np.abs(by_class["normal"]) < 6).all()
    spread = [charts[classes == i].std(axis=1).mean() for i in range(2)]
    assert spread[1] > 1.5 * spread[0]  # a cycle of 10 to 15 units on top of the noise


def test_columns_of_adult_as_they_are(source):
    columns = source.adult_columns(COLUMNS)
    assert [len(column) for column in columns] == [32_561] * len(COLUMNS)
    assert [len(set(column.tolist())) for column in columns[1:3]] == [2, 5]
    assert len(set(columns[-1].tolist())) == 2
    numbers = source.adult(("age", "hours-per-week"))
    assert np.array_equal(numbers[:, 0], columns[0])
    assert np.array_equal(numbers[:, 1], columns[4])
