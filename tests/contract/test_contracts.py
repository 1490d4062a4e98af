"""Every class keeps Veil's contracts and scikit-learn's."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import veil
from veil.attacks import attack_classes
from veil.checks import check_attack, check_perturbation
from veil.perturbations import PERTURBATIONS, Takes

WITH_SETTINGS = [
    veil.AdditiveNoise(2.0, relative=False, distribution="laplace"),
    veil.AdditiveNoise(distribution="uniform"),
    veil.AdditiveNoise(similarity=0.7),
    veil.MultiplicativeNoise(0.5, bounds=(0.7, 2.5)),
    veil.MultiplicativeNoise(notch=0.01),
    veil.OrthogonalTransform(scaling=None, proper=True, translation=1.0),
    veil.PairwiseRotation(normalize="minmax", thresholds=0.001),
    veil.LinearTransform(scaling=None, noise_scale=0.1),
    veil.RandomProjection(1, kind="sparse", scaling=None),
    veil.RandomProjection(3, axis="records"),
    veil.RandomProjection(3, kind="sparse", axis="records"),
    veil.TransformDomain(1, basis="dft"),
    veil.LaplaceMechanism(1.0, (-10.0, 10.0)),
    veil.GaussianMechanism(1.0, 1e-6, (-10.0, 10.0)),
    veil.BinaryProjection(8),
    veil.MarketBasket("select"),
    veil.MarketBasket("gamma"),
    veil.Discretize(4),
    veil.RandomizedResponse(epsilon=1.0),
    veil.RandomizedResponse(gamma=3.0, joint=True),
    veil.RandomizedResponse(epsilon=3.0, classes={"x1": [2]}),
    veil.GlobalRecoding(hierarchies={"x0": {"a": "A", "b": "A", "c": "C"}}),
    veil.GlobalRecoding(hierarchies={"x0": {"a": "A", "b": "A", "c": "C"}}, width={"x1": 2}),
    veil.LocalSuppression(20, width={"x1": 2}),
    veil.TopCoding(top=0.1),
]
# Bounds and strengths that a formal guarantee rests on have no default, nor have hierarchies of texts.
WITHOUT_DEFAULT = {veil.LaplaceMechanism, veil.GaussianMechanism, veil.RandomizedResponse, veil.GlobalRecoding}
ALL = [*(cls() for cls in PERTURBATIONS.values() if cls not in WITHOUT_DEFAULT), *WITH_SETTINGS]


def takes_arrays(estimator):
    """scikit-learn's checks have no tables of zeros and ones or of categories, and know no output of texts or of fewer
    rows."""
    layout = estimator.layout
    texts = isinstance(estimator, veil.Discretize)
    return layout.takes in (Takes.NUMBERS, Takes.POSITIVE) and not layout.reduces and not texts


ESTIMATORS = [estimator for estimator in ALL if takes_arrays(estimator)]
ADDRESSED_BY_TABLE = {
    "check_methods_subset_invariance": "noise is addressed by the whole table: a subset is another table",
    "check_methods_sample_order_invariance": "noise is addressed by the table in its order: reordered is another table",
}

NO_LOGARITHM = dict.fromkeys(
    (
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_pipeline_consistency",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
    ),
    "scikit-learn's data for positive_only estimators hold a zero, which has no logarithm",
)


def expected_failures(estimator):
    refused = NO_LOGARITHM if isinstance(estimator, veil.LogNormalNoise) else {}
    noisy = estimator.layout.addressed and getattr(estimator, "noise_scale", 1.0) > 0
    return {**refused, **(ADDRESSED_BY_TABLE if noisy else {})}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    with veil.allow_key_pickling():
        check(estimator)


def test_the_expected_failures_do_fail():
    """An expected failure that passes would hide a change."""
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(
        veil.AdditiveNoise(), expected_failed_checks=ADDRESSED_BY_TABLE, on_fail=None, on_skip=None
    )
    status = {result["check_name"]: result["status"] for result in results}
    assert {name for name, s in status.items() if s == "xfail"} == set(ADDRESSED_BY_TABLE)


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: e.describe())
def test_perturbation(estimator):
    check_perturbation(estimator)


@pytest.mark.parametrize("name", attack_classes())
def test_attack(name):
    check_attack(attack_classes()[name]())


def test_every_registered_class_is_public_and_checked():
    assert {type(e) for e in ALL} == set(PERTURBATIONS.values())
    for cls in [*PERTURBATIONS.values(), *attack_classes().values()]:
        assert getattr(veil, cls.__name__) is cls


def test_checks_can_fail():
    class Leaky(veil.AdditiveNoise):
        """A method that tells its seed."""

        threat = ""

        def disclose(self):
            return {**super().disclose(), "seed": self.random_state.reveal()}

    with pytest.raises(AssertionError, match="threat"):
        check_perturbation(Leaky())
    Leaky.threat = "all"
    with pytest.raises(AssertionError, match="seed"):
        check_perturbation(Leaky())
