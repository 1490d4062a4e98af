"""Every class keeps Veil's contracts and scikit-learn's."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import veil
from veil.attacks import ATTACKS
from veil.checks import check_attack, check_perturbation
from veil.perturbations import PERTURBATIONS

ESTIMATORS = [
    veil.AdditiveNoise(),
    veil.AdditiveNoise(2.0, relative=False, distribution="laplace"),
    veil.AdditiveNoise(distribution="uniform"),
    veil.OrthogonalTransform(),
    veil.OrthogonalTransform(scaling=None, proper=True, translation=1.0),
]
ADDRESSED_BY_TABLE = {
    "check_methods_subset_invariance": "noise is addressed by the whole table: a subset is another table",
    "check_methods_sample_order_invariance": "noise is addressed by the table in its order: reordered is another table",
}


def expected_failures(estimator):
    return ADDRESSED_BY_TABLE if estimator.addressed else {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    with veil.allow_key_pickling():
        check(estimator)


def test_the_expected_failures_do_fail():
    """An expected failure that passes would hide a change."""
    from sklearn.utils.estimator_checks import check_estimator

    found = check_estimator(veil.AdditiveNoise(), expected_failed_checks=ADDRESSED_BY_TABLE, on_fail=None, on_skip=None)
    status = {result["check_name"]: result["status"] for result in found}
    assert {name for name, s in status.items() if s == "xfail"} == set(ADDRESSED_BY_TABLE)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.describe())
def test_perturbation(estimator):
    check_perturbation(estimator)


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(name):
    check_attack(ATTACKS[name]())


def test_every_registered_class_is_public_and_checked():
    tested = {type(e) for e in ESTIMATORS}
    assert set(PERTURBATIONS.values()) == tested
    for cls in [*PERTURBATIONS.values(), *ATTACKS.values()]:
        assert getattr(veil, cls.__name__) is cls


def test_checks_can_fail():
    class Leaky(veil.AdditiveNoise):
        """No threat stated."""

        def disclose(self):
            return {**super().disclose(), "seed": self.random_state.reveal()}

    with pytest.raises(AssertionError, match="Threat"):
        check_perturbation(Leaky())
    Leaky.__doc__ = "*Threat.* all"
    with pytest.raises(AssertionError, match="seed"):
        check_perturbation(Leaky())
