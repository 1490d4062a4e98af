"""A method for categories with a model of its own: the model says what codes stand for."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import veil
from veil.errors import InputError
from veil.perturbations import Layout, Noise, Takes
from veil.release import Model


@dataclass(frozen=True, eq=False)
class NextModel(Model):
    """Every category is released as the next one."""

    name = "next"
    listing: tuple

    def to_json(self):
        return {"listing": [list(c) for c in self.listing]}

    @classmethod
    def from_json(cls, raw):
        return cls(tuple(tuple(c) for c in raw["listing"]))

    def private_categories(self):
        return self.listing


@dataclass(frozen=True, eq=False)
class SilentModel(NextModel):
    """It does not say what codes stand for."""

    name = "silent"

    def private_categories(self):
        return None


class Next(veil.Perturbation):
    """Releases the next category."""

    catalogue = "X7"
    threat = "Everything is released."
    layout = Layout(Takes.CATEGORIES, noise=Noise.NONE)
    model = NextModel

    def __init__(self, *, step=1, random_state=None):
        self.step = step
        self.random_state = random_state

    def learn(self, facts):
        return self.model(tuple(tuple(sorted(c)) for c in facts.scan.categories))

    def perturb(self, block, draws):
        sizes = np.array([[len(c)] for c in self.model_.listing])
        return (block + self.step) % sizes if self.step else block + sizes


class Silent(Next):
    """Its model lists no categories."""

    model = SilentModel


class Texts(Next):
    """Takes numbers and makes texts of them, which its model does not announce."""

    layout = Layout(noise=Noise.NONE)

    def learn(self, facts):
        return SilentModel(())

    def perturb(self, block, draws):
        return np.full(block.shape, "secret cell")


class Lengths(Texts):
    """Takes identifiers and makes numbers of them, which its model does not announce."""

    layout = Layout(Takes.IDENTIFIERS, noise=Noise.NONE)

    def perturb(self, block, draws):
        return [pc.utf8_length(column.cast(pa.string())) for column in block]


TABLE = pd.DataFrame({"blood": list("AB0A"), "children": [0, 1, 2, 2]})


def test_categories_come_out_in_their_own_types():
    release, _ = veil.publish(TABLE, Next())
    assert release.data["blood"].tolist() == ["B", "0", "A", "B"]
    assert release.data["children"].tolist() == [1, 2, 0, 0]
    assert release.data["children"].dtype == TABLE["children"].dtype
    np.testing.assert_array_equal(release.codes(), [[2, 1], [0, 2], [1, 0], [2, 0]])


def refusal(method, table):
    with pytest.raises(InputError) as error:
        veil.publish(table, method)
    line = str(error.value)
    assert "\n" not in line
    assert "secret cell" not in line
    return line


def test_refusals_name_the_column_and_the_fix():
    assert "private_categories()" in refusal(Silent(), TABLE)
    assert refusal(Next(step=0), TABLE) == (
        "column 'blood' was perturbed into 4 codes outside its 3 categories; count them from 0"
    )
    assert "perturb must return a matrix of numbers" in refusal(Texts(), TABLE[["children"]])
    assert refusal(Lengths(), TABLE).startswith("column 'blood' was perturbed into int32, and its model")
