"""Links of people to rows, as an attack finds or writes them, held against whose row is whose."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import veil
from _program import call
from _tables import mixed_table
from veil.errors import InputError
from veil.measures import linkage_rate


@pytest.fixture(scope="module")
def table():
    """Sixty people with two quasi-identifiers."""
    x = mixed_table(60, 3, seed=4)
    return pa.table({"age": x[:, 0], "height": x[:, 1], "income": x[:, 2]})


@pytest.fixture(scope="module")
def links(table):
    roles = {"age": "quasi", "height": "quasi"}
    release, _ = veil.publish(table, veil.AdditiveNoise(0.3, random_state=0), roles=roles)
    return veil.attack(release, "linkage", veil.ExternalTable(table.select(["age", "height"])))


def test_links_in_memory_and_in_a_file_are_scored_alike(table, links, tmp_path):
    found = veil.measure(table, links).links
    right = int((links.rows == np.arange(60)).sum())
    assert 0 < right < 60
    assert (found.n_people, found.n_right, found.n_strangers) == (60, right, 0)
    assert found.rate == linkage_rate(np.arange(60), links.rows)
    assert found.baseline == 1 / 60
    assert found.precision == right / found.n_linked
    columns = {"record": np.arange(60), "row": pa.array(links.rows, mask=links.rows < 0)}
    pacsv.write_csv(pa.table({**columns, "probability": links.probability}), tmp_path / "links.csv")
    assert veil.measure(table, tmp_path / "links.csv").links == found


def test_people_in_another_order_and_strangers_are_told_by_a_column_of_rows(links):
    own = np.arange(60)[::-1]
    turned = replace(links, rows=links.rows[::-1], probability=links.probability[::-1])
    truth = pa.table({"row": pa.array(own, mask=own < 10)})
    found = veil.measure(truth, turned).links
    assert (found.n_people, found.n_strangers) == (50, 10)
    assert found.n_right == int((links.rows == np.arange(60))[10:].sum())
    assert found.n_false == int((links.rows[:10] >= 0).sum())


def test_what_is_printed(table, links, tmp_path):
    text = repr(veil.measure(table, links))
    assert text.startswith("The other table beside the private table: 60 records")
    assert "a row at random finds 1.7 %" in text
    assert "<table" in veil.measure(table, links)._repr_html_()
    assert '"n_people": 60' in veil.measure(table, links).to_json()
    pacsv.write_csv(table, tmp_path / "people.csv")
    pacsv.write_csv(table.select(["age", "height"]), tmp_path / "outside.csv")
    roles = ("--role", "age=quasi", "--role", "height=quasi")
    method = ("--method", "additive-noise:scale=0.3", "-o", "release", "--key", "key")
    call("perturb", "people.csv", *method, *roles, cwd=tmp_path)
    known = ("--attack", "linkage", "--external-table", "outside.csv")
    call("attack", "release", *known, "-o", "links.csv", cwd=tmp_path)
    assert "of people found" in call("measure", "people.csv", "links.csv", cwd=tmp_path).output


def test_links_that_fit_no_table_are_refused(table):
    def with_links(record, row):
        return pa.table({"record": record, "row": row, "probability": [0.5] * len(record)})

    with pytest.raises(InputError, match="1 of 2 links are of records that the private table of 60 rows"):
        veil.measure(table, with_links([0, 60], [0, 1]))
    with pytest.raises(InputError, match="1 of the links' row numbers are not whole numbers from 0"):
        veil.measure(table, with_links([0, 1], [0.5, 1.0]))
    none = veil.measure(table, with_links([0, 1], pa.array([None, None], pa.int64()))).links
    assert (none.n_linked, float(none.rate)) == (0, 0.0)
    assert math.isnan(none.precision)


def test_links_of_households_are_measured_too(tmp_path):
    """What A32 writes is what A22 writes."""
    rng = np.random.default_rng(0)
    home = np.repeat(np.arange(40), 3)
    people = pa.table({"home": home, "age": rng.normal(size=120), "income": rng.normal(size=120)})
    pacsv.write_csv(people, tmp_path / "people.csv")
    pacsv.write_csv(people.select(["home", "age"]), tmp_path / "outside.csv")
    roles = ("--role", "home=group", "--role", "age=quasi")
    method = ("--method", "additive-noise:scale=0.05", "-o", "release", "--key", "key")
    call("perturb", "people.csv", *method, *roles, cwd=tmp_path)
    known = ("--attack", "household-linkage", "--external-table", "outside.csv")
    call("attack", "release", *known, "-o", "links.csv", cwd=tmp_path)
    found = veil.measure(people, tmp_path / "links.csv").links
    assert found.n_linked == 120
    assert float(found.rate) > 0.8
    assert "of people found" in call("measure", "people.csv", "links.csv", cwd=tmp_path).output
