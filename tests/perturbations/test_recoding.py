"""Global recoding: classes and parents as they are stated, models that say so, hierarchies in every form, refusals."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veil
from veil.perturbations.recoding_rules import Width
from veil.release.models import ClassModel, RecodedModel

TOWNS = {"Graz": "Styria", "Leoben": "Styria", "Wien": "Vienna", "Styria": "Austria", "Vienna": "Austria"}
FRAME = pd.DataFrame({"age": [31.0, 38.0, np.nan, 52.0], "town": ["Graz", "Leoben", "Wien", None]})


def recoded(frame=FRAME, **settings):
    columns = [name for name in frame if name != "id"]
    plan = veil.Plan([(columns, veil.GlobalRecoding(**settings))], roles=dict.fromkeys(columns, "key"))
    return veil.publish(frame, plan)[0]


def listed(release, name):
    return release.table.read([name]).column(0).to_pylist()


def test_numbers_become_classes_and_categories_their_parents():
    release = recoded(width={"age": 10}, hierarchies={"town": TOWNS})
    assert listed(release, "age") == ["< 40", "< 40", None, ">= 50"]
    assert listed(release, "town") == ["Styria", "Styria", "Vienna", None]
    assert isinstance(release.only_part.model, RecodedModel)
    assert release.manifest.missing == "pattern is public"


def test_levels_go_up_by_column():
    release = recoded(edges={"age": [35, 50]}, hierarchies={"town": TOWNS}, levels={"town": 2})
    assert listed(release, "age") == ["< 35", "[35, 50)", None, ">= 50"]
    assert listed(release, "town") == ["Austria", "Austria", "Austria", None]


def test_level_zero_leaves_a_column_as_it_is():
    release = recoded(width={"age": 10}, hierarchies={"town": TOWNS}, levels=0)
    assert listed(release, "town") == ["Graz", "Leoben", "Wien", None]


def test_numbers_alone_have_the_model_of_classes():
    release = recoded(FRAME[["age"]], width=10)
    assert isinstance(release.only_part.model, ClassModel)
    assert release.only_part.model.edges[0].tolist() == [40.0, 50.0]
    by_edges, _ = veil.publish(FRAME[["age"]], veil.Discretize(edges=[40, 50]))
    assert listed(by_edges, "age") == listed(release, "age")


def test_without_a_setting_numbers_get_about_ten_classes_of_a_round_width():
    x = np.random.default_rng(0).normal(50, 10, 500)
    model = recoded(pd.DataFrame({"x": x})).only_part.model
    assert set(np.diff(model.edges[0]).tolist()) == {5.0}


@pytest.mark.parametrize("width", [0.1, 0.3, 7.0, 1e-7])
def test_edges_belong_to_the_class_above_however_floats_round(width):
    rule = Width(width)
    edges = rule.edge(np.arange(-50.0, 50.0))
    assert rule.places(edges).tolist() == list(range(-50, 50))
    assert rule.places(np.nextafter(edges, -np.inf)).tolist() == list(range(-51, 49))


def test_a_file_of_a_hierarchy_is_read_with_semicolons_or_commas(tmp_path):
    for separator in ";,":
        path = tmp_path / "towns.csv"
        rows = [["Graz", "Styria", "*"], ["Leoben", "Styria", "*"], ["Wien", "Vienna", "*"]]
        path.write_text("\n".join(separator.join(row) for row in rows))
        release = recoded(width={"age": 10}, hierarchies={"town": str(path)})
        assert listed(release, "town") == ["Styria", "Styria", "Vienna", None]


def test_whole_numbers_may_have_a_hierarchy():
    codes = pd.DataFrame({"code": [11, 12, 21, 21]})
    release = recoded(codes, hierarchies={"code": {11: 1, 12: 1, 21: 2, 22: 2}})
    assert listed(release, "code") == ["1", "1", "2", "2"]
    assert release.only_part.model.private_categories() == ((11, 12, 21, 22),)


def test_truth_values_may_have_a_hierarchy():
    release = recoded(pd.DataFrame({"flag": [True, False]}), hierarchies={"flag": {True: "any", False: "any"}})
    assert listed(release, "flag") == ["any", "any"]


def test_the_model_lists_the_hierarchy_and_no_more():
    """A value of the hierarchy that nobody has is listed: the list says nothing about the table."""
    release = recoded(FRAME[["town"]].iloc[:2], hierarchies={"town": TOWNS})
    assert release.only_part.model.private_categories() == (tuple(sorted(TOWNS)),)


def test_files_and_frames_are_recoded_alike(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 300), "town": rng.choice(["Graz", "Leoben", "Wien"], 300)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    settings = {"width": {"age": 10}, "hierarchies": {"town": TOWNS}}
    one, other = (
        recoded(frame, **settings),
        veil.publish(
            tmp_path / "people.csv",
            veil.Plan([(["age", "town"], veil.GlobalRecoding(**settings))], roles={"age": "key", "town": "key"}),
        )[0],
    )
    assert one.table.read().equals(other.table.read())
    one.save(tmp_path / "release")
    assert veil.Release.load(tmp_path / "release").only_part.model == one.only_part.model


def test_a_dictionary_of_arrow_is_read_by_its_values():
    table = pa.table({"town": pa.array(["Graz", "Wien", "Graz"]).dictionary_encode()})
    plan = veil.Plan([("town", veil.GlobalRecoding(hierarchies={"town": TOWNS}))])
    assert listed(veil.publish(table, plan)[0], "town") == ["Styria", "Vienna", "Styria"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": {"age": 10}}, "'town': a column of categories has no hierarchy"),
        ({"width": {"town": 10}, "hierarchies": {"town": TOWNS}}, "'town' is in more than one of"),
        ({"width": {"age": 0}, "hierarchies": {"town": TOWNS}}, "width of column 'age' must be above 0"),
        ({"width": {"age": 1e-9}, "hierarchies": {"town": TOWNS}}, "width makes more than 1,000 classes"),
        ({"width": {"height": 1}}, "does not have: 'height'"),
        ({"hierarchies": {"town": {"Graz": "Styria"}}}, "'town' has 2 values that its hierarchy does not list"),
        ({"hierarchies": {"town": {"Graz": "a", "a": "b", "b": "Graz"}}}, "above themselves"),
        ({"hierarchies": {"town": "nowhere.csv"}}, "the file of column 'town' cannot be read"),
        ({"hierarchies": {"town": [["Graz", "x"], ["Wien", "y"]]}, "levels": 2}, "rows of one length above 2"),
        ({"hierarchies": [TOWNS]}, "hierarchies must be a mapping"),
    ],
)
def test_refusals_name_the_column_and_no_cell(settings, message):
    with pytest.raises(veil.InputError, match=message) as refused:
        recoded(**settings)
    assert "Leoben" not in str(refused.value)
