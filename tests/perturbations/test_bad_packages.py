"""Methods of other packages that misbehave are refused in one line, and stop nothing else."""

import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import veil
from veil.errors import InputError
from veil.perturbations.registry import find_perturbation
from veil.release import extensions
from veil.release.models import Model

TABLE = np.random.default_rng(0).normal(size=(60, 3)) + 5.0


@dataclass(frozen=True, eq=False)
class StrangeModel(Model):
    """A model of any value."""

    name = "strange"
    value: object = 1.0

    def to_json(self):
        """The value."""
        return {"value": self.value}

    @classmethod
    def from_json(cls, raw):
        """Back from JSON."""
        return cls(raw["value"])


class StrangeNoise(veil.Perturbation):
    """Releases what a test wants, and learns what it wants."""

    catalogue = "P99"

    def __init__(self, *, random_state=None):
        self.random_state = random_state

    def learn(self, facts):
        """What the test sets."""
        return self.learned(facts)

    def perturb(self, block, draws):
        """What the test sets."""
        return self.released(block)


@pytest.fixture
def noise(monkeypatch):
    def set_up(released=lambda block: block + 1.0, learned=lambda facts: StrangeModel()):
        monkeypatch.setattr(StrangeNoise, "released", staticmethod(released), raising=False)
        monkeypatch.setattr(StrangeNoise, "learned", staticmethod(learned), raising=False)
        return StrangeNoise(random_state=1)

    return set_up


def nan_in_one_cell(block):
    released = block + 1.0
    released[0, 0] = np.nan
    return released


RELEASED = {
    "too few columns": lambda block: block[:2],
    "too few rows": lambda block: block[:, :5],
    "too many rows": lambda block: np.hstack([block, block]),
    "one axis": lambda block: block[0],
    "three axes": lambda block: block[None],
    "a number": lambda block: 1.0,
    "nothing": lambda block: None,
    "texts": lambda block: block.astype(str),
    "objects": lambda block: block.astype(object),
    "complex numbers": lambda block: block + 1j,
    "infinite": lambda block: block * np.inf,
    "one missing": nan_in_one_cell,
}


@pytest.mark.parametrize("what", RELEASED)
@pytest.mark.parametrize("how", ["publish", "transform"])
def test_a_release_that_is_no_matrix_of_the_same_rows_is_refused(noise, what, how):
    method = noise(RELEASED[what])
    with pytest.raises(InputError, match="StrangeNoise: perturb must return") as refused:
        veil.publish(TABLE, method) if how == "publish" else method.fit_transform(TABLE)
    assert "\n" not in str(refused.value)


def test_missing_cells_may_stay_missing(noise):
    table = TABLE.copy()
    table[3, 1] = np.nan
    release, _ = veil.publish(table, noise())
    assert np.isnan(release.to_numpy()).sum() == 1


def test_the_block_cannot_be_changed(noise):
    def change(block):
        block += 1.0
        return block

    with pytest.raises(ValueError, match="read-only"):
        veil.publish(TABLE, noise(change))


@pytest.mark.parametrize(
    "value",
    [np.arange(3.0), np.int64(3), float("nan"), float("inf"), {1}, b"x", "\udc00"],
    ids=["array", "numpy integer", "nan", "infinity", "set", "bytes", "half a pair"],
)
def test_a_model_that_a_manifest_cannot_hold_is_refused(noise, value):
    with pytest.raises(InputError, match="to_json of its model must be"):
        veil.publish(TABLE, noise(learned=lambda facts: StrangeModel(value)))


def test_a_model_cannot_hold_the_key_or_be_none(noise):
    with pytest.raises(InputError, match="leave keys out"):
        veil.publish(TABLE, noise(learned=lambda facts: StrangeModel(facts.secrets.key)))
    with pytest.raises(InputError, match="must return a veil Model"):
        veil.publish(TABLE, noise(learned=lambda facts: None))


def test_a_class_of_another_package_does_not_take_the_name_of_veils_own():
    twin = type("AdditiveNoise", (veil.Perturbation,), {"catalogue": "P99", "__module__": "other"})
    assert find_perturbation("additive-noise") is veil.AdditiveNoise is not twin


def test_a_package_that_ends_the_program_or_steers_the_terminal_is_a_warning(tmp_path, monkeypatch):
    (tmp_path / "veil_test_ends.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "veil_test_steers.py").write_text("raise ValueError('\\x1b[2Jgone')\n")
    monkeypatch.syspath_prepend(tmp_path)
    points = [EntryPoint(name, name, "test.group") for name in ("veil_test_ends", "veil_test_steers")]
    monkeypatch.setattr(extensions, "entry_points", lambda group: points)
    with pytest.warns(extensions.ExtensionWarning) as warned:
        assert extensions.load_extensions.__wrapped__("test.group") == frozenset()
    assert len(warned) == 2
    assert all(str(each.message).isprintable() for each in warned)
    assert "veil_test_ends" not in sys.modules
