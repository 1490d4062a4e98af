"""Registers of classes: who has a name, what is listed, and who is refused."""

import subprocess
import sys

import pytest

from veil.errors import InputError
from veil.release.registry import Register, kebab


def a_class(name, module):
    return type(name, (), {"__module__": module})


@pytest.fixture
def register():
    register = Register("thing", "veil.release.models", "veil.tests.nobody", parameter="which")
    register.add("a-thing", a_class("AThing", "veil.things"))
    return register


def test_words_of_a_name():
    assert [kebab(name) for name in ("AdditiveNoise", "PCAAttack", "KAnonymity", "AKICAAttack")] == [
        "additive-noise",
        "pca-attack",
        "k-anonymity",
        "akica-attack",
    ]


def test_own_classes_win_whatever_came_first(register):
    mine, own = a_class("BThing", "notebook"), a_class("BThing", "veil.things")
    register.add("b-thing", mine)
    assert register.find("b-thing") is mine
    register.check("b-thing", mine)
    register.add("b-thing", own)
    assert register.find("b-thing") is own
    with pytest.raises(InputError, match=r"^BThing: another thing has this name \(veil.things\); rename it$"):
        register.check("b-thing", mine)


def test_two_own_classes_of_one_name_are_refused(register):
    with pytest.raises(InputError, match="another thing has this name"):
        register.add("a-thing", a_class("AThing", "veil.other_things"))


def test_a_class_defined_anew_replaces_the_former(register):
    first, second = a_class("Mine", "notebook"), a_class("Mine", "notebook")
    register.add("mine", first)
    register.add("mine", second)
    assert register.find("mine") is second


def test_a_class_of_a_session_is_found_but_not_listed(register):
    register.add("mine", a_class("Mine", "notebook"))
    assert list(register) == ["a-thing"]


def test_an_unknown_name_is_refused_with_the_nearest(register):
    with pytest.raises(InputError, match="no thing is called 'a-thin'; did you mean 'a-thing'") as refusal:
        register.find("a-thin")
    assert refusal.value.parameter == "which"


SESSION = """
import numpy as np, veil
from veil.errors import InputError
class AdditiveNoise(veil.Perturbation):
    catalogue = "X1"
    def learn(self, facts): ...
    def perturb(self, block, draws): ...
class KnownPairs(veil.Knowledge):
    kind = "pairs"
assert veil.KnownPairs.__module__ == "veil.attacks.knowledge.records"
assert veil.AdditiveNoise.__module__ == "veil.perturbations.additive"
x = np.random.default_rng(0).normal(size=(20, 2))
release, key = veil.publish(x, veil.AdditiveNoise())
assert np.allclose(veil.restore(release, key), x, atol=1e-4)
try:
    AdditiveNoise.random_state = None
    veil.publish(x, AdditiveNoise())
except InputError as error:
    print(error)
"""


def test_a_session_may_use_names_of_veils_own():
    done = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (
        "AdditiveNoise: another perturbation has this name (veil.perturbations.additive); rename it"
    )


def test_kinds_of_knowledge_are_all_there_before_any_attack():
    code = "import veil.attacks.knowledge.registry as r; print(*r.GRANTABLE)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    exact = ["pairs", "records", "sample", "attributes", "ranges", "external", "matrix"]
    derived = [
        "pairs_and_sample",
        "columns_and_sample",
        "biased_sample",
        "older_sample",
        "rounded_pairs",
        "wrong_pairs",
        "results",
    ]
    assert done.stdout.split() == [*exact, *derived]
