"""``random_state`` was called ``seed`` in version 0.1: it still works, with a warning, and shows nowhere."""

import inspect

import pytest

import veil
from veil.attacks import attack_classes

FORMER = (
    veil.AKICAAttack,
    veil.ICAAttack,
    veil.KnownSampleAttack,
    veil.ProjectedSampleAttack,
    veil.ResponsePosteriorAttack,
)


@pytest.mark.parametrize("cls", FORMER)
def test_the_former_name_works_with_a_warning(cls):
    with pytest.warns(DeprecationWarning, match="seed is now random_state"):
        attack = cls(seed=3)
    assert attack.random_state == 3
    assert attack.label == cls(random_state=3).label == f"{cls.attack_name()} (random_state 3)"


def test_no_attack_has_a_parameter_called_seed():
    assert [name for name, cls in attack_classes().items() if "seed" in inspect.signature(cls).parameters] == []
