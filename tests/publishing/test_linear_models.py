"""R6: a linear model trained on a release gives private records what it gives their released images."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC, OneClassSVM

import veil
from veil.errors import InputError, KeyRefusedError, NotApplicableError
from veil.keys.key import Key
from veil.publishing.linear_models import LinearModel, linear_model_to_original

METHODS = {
    "P5 zscore": veil.PairwiseRotation(random_state=0),
    "P5 minmax": veil.PairwiseRotation(normalize="minmax", thresholds=0.001, random_state=0),
    "P6": veil.OrthogonalTransform(dither=False, random_state=0),
    "P6 raw, translated": veil.OrthogonalTransform(scaling=None, translation=3.0, dither=False, random_state=0),
    "P7": veil.LinearTransform(dither=False, random_state=0),
    "P7 given": veil.LinearTransform(
        [[1.0, 1, 0, 0], [0, 0, 1, -1], [2, 0, 0, 1]], scaling=None, dither=False, random_state=0
    ),
    "P8": veil.RandomProjection(2, dither=False, random_state=0),
    "P8 sparse": veil.RandomProjection(3, kind="sparse", scaling=None, dither=False, random_state=0),
    "P10": veil.TransformDomain(3, random_state=0),
}
CLASSIFIERS = [
    LinearSVC(),
    SVC(kernel="linear"),
    NuSVC(kernel="linear", nu=0.2),
    LogisticRegression(max_iter=1000),
    Perceptron(),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
    LinearDiscriminantAnalysis(),
    LinearSVC(fit_intercept=False),
    make_pipeline(StandardScaler(), LinearSVC()),
    make_pipeline(MinMaxScaler((-1, 3)), "passthrough", LogisticRegression()),
    make_pipeline(MaxAbsScaler(), RobustScaler(), SVC(kernel="linear")),
    make_pipeline(StandardScaler(with_mean=False), RobustScaler(with_scaling=False), Perceptron()),
]


def iris():
    return load_iris(return_X_y=True)


def fitted(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence is of no matter here
        return model.fit(*data)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_linear_classifier_predicts_the_same_from_private_records(method, n_classes):
    x, species = iris()
    labels = np.array(["setosa", "versicolor", "virginica"])[species]
    labels = labels if n_classes == 3 else np.where(species == 2, "virginica", "other")
    release, key = veil.publish(x, method)
    y = release.to_numpy()
    for model in CLASSIFIERS:
        fitted(model, y, labels)
        mapped = linear_model_to_original(model, key)
        if n_classes == 2 or not mapped.pairwise:
            expected = model.decision_function(y)
            np.testing.assert_allclose(mapped.decision(x), expected, atol=1e-9 * np.abs(expected).max())
        sure = np.abs(mapped.decision(x)).reshape(len(x), -1).min(axis=1) > 1e-9
        assert sure.mean() > 0.98
        np.testing.assert_array_equal(mapped.predict(x)[sure], model.predict(y)[sure], err_msg=str(model))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(3.0), Lasso(0.01), make_pipeline(RobustScaler(), Ridge())])
def test_every_linear_regression_predicts_the_same_from_private_records(method, model):
    x, _ = iris()
    target = np.exp(x[:, 0] / 3) + x[:, 3]
    release, key = veil.publish(x, method)
    y = release.to_numpy()
    mapped = linear_model_to_original(fitted(model, y, target), key)
    assert mapped.classes is None
    np.testing.assert_allclose(mapped.predict(x), model.predict(y), rtol=1e-10)
    two = linear_model_to_original(LinearRegression().fit(y, np.column_stack([target, -target])), key)
    assert two.predict(x).shape == (len(x), 2)


def test_least_squares_comes_back_as_what_the_owner_would_have_found():
    """The fit of all d columns does not depend on their coordinates: the same coefficients, in private units."""
    x, diagnosis = load_breast_cancer(return_X_y=True)
    own = LinearRegression().fit(x, diagnosis)
    for method in (veil.PairwiseRotation(), veil.OrthogonalTransform(translation=2.0, dither=False)):
        release, key = veil.publish(x, method)
        mapped = linear_model_to_original(LinearRegression().fit(release.to_numpy(), diagnosis), key)
        np.testing.assert_allclose(mapped.coefficients[0] * x.std(axis=0), own.coef_ * x.std(axis=0), atol=1e-8)
        np.testing.assert_allclose(mapped.intercept, own.intercept_, atol=1e-8)


def test_noise_is_no_part_of_the_map():
    """P7 with noise: the model of noisy records is mapped by the matrix alone."""
    x, _ = iris()
    matrix = np.random.default_rng(0).normal(size=(4, 4))
    target = x @ [1.0, 2.0, 3.0, 4.0]
    release, key = veil.publish(x, veil.LinearTransform(matrix, scaling=None, noise_scale=0.5))
    model = Ridge().fit(release.to_numpy(), target)
    mapped = linear_model_to_original(model, key)
    np.testing.assert_allclose(mapped.coefficients[0], matrix.T @ model.coef_, rtol=1e-12)
    np.testing.assert_allclose(mapped.predict(x), model.predict(x @ matrix.T), rtol=1e-12)


def test_units_and_centres_of_any_size_come_back():
    x = np.random.default_rng(0).normal(size=(200, 3)) * [1e-12, 1.0, 1e12] + [1e-9, -5.0, 3e15]
    for method in (veil.PairwiseRotation(), veil.OrthogonalTransform(translation=1.0)):
        release, key = veil.publish(x, method)
        y = release.to_numpy()
        model = LinearRegression().fit(y, np.arange(200))
        mapped = linear_model_to_original(model, key)
        said, spread = model.predict(y), np.abs(model.coef_).sum()
        # The offsets are 3,000 deviations: that many roundings are lost in y already.
        np.testing.assert_allclose(mapped.predict(x), said, atol=1e-11 * spread)


def test_a_wide_sparse_projection_maps_back():
    """From 256 columns on, sparse signs are added by another kernel."""
    rng = np.random.default_rng(5)
    x, labels = rng.normal(size=(60, 300)) + 3.0, rng.integers(0, 2, size=60)
    release, key = veil.publish(x, veil.RandomProjection(20, kind="sparse"))
    model = Ridge().fit(release.to_numpy(), labels)
    np.testing.assert_allclose(
        linear_model_to_original(model, key).predict(x), model.predict(release.to_numpy()), atol=1e-10
    )


def test_the_papers_mapping_fails_where_ours_is_exact():
    """Errata L-ac: ŵ is not Rw/√k; not even at full rank, unless R is orthogonal."""
    x, diagnosis = load_breast_cancer(return_X_y=True)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    own = Ridge(fit_intercept=False).fit(z, 2.0 * diagnosis - 1)

    def trained(method):
        release, key = veil.publish(z, method)
        model = Ridge(fit_intercept=False).fit(release.to_numpy(), 2.0 * diagnosis - 1)
        mapped = linear_model_to_original(model, key)
        np.testing.assert_allclose(mapped.decision(z), model.predict(release.to_numpy()), atol=1e-12)
        image = np.linalg.lstsq(z, release.to_numpy(), rcond=None)[0].T @ own.coef_  # the paper's R w
        return model.coef_, image

    for method in (
        veil.RandomProjection(15, scaling=None, dither=False),
        veil.LinearTransform(scaling=None, dither=False),
    ):
        found, paper = trained(method)
        assert np.linalg.norm(found - paper) > 0.3 * np.linalg.norm(found)
    found, paper = trained(veil.OrthogonalTransform(scaling=None, dither=False))
    np.testing.assert_allclose(found, paper, atol=1e-9)


def test_mapped_models_give_the_secret_away():
    """The threat that the docstring states: k mapped outputs are k·d equations for A."""
    x, _ = iris()
    release, key = veil.publish(x, veil.OrthogonalTransform(dither=False))
    y = release.to_numpy()
    targets = np.random.default_rng(0).normal(size=(150, 4))
    model = LinearRegression().fit(y, targets)
    mapped = linear_model_to_original(model, key)
    stolen = np.linalg.solve(model.coef_, mapped.coefficients)
    np.testing.assert_allclose(np.linalg.solve(stolen, y.T).T, x, atol=1e-8)


def test_frames_are_read_by_name():
    x, species = iris()
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(x, columns=names).assign(species=species)
    release, key = veil.publish(frame, veil.RandomProjection(3, dither=False), roles={"species": "public"})
    released = release.data[list(release.only_part.released)]
    model = LogisticRegression(max_iter=1000).fit(released, species)
    turned = LogisticRegression(max_iter=1000).fit(released.iloc[:, ::-1], species)
    for trained, table in ((model, released), (turned, released.iloc[:, ::-1])):
        mapped = linear_model_to_original(trained, key, release)
        assert mapped.columns == ("a", "b", "c", "d")
        for private in (frame, frame[names[::-1]], pl.from_pandas(frame), x):
            np.testing.assert_allclose(mapped.decision(private), trained.decision_function(table), atol=1e-10)
    with pytest.raises(InputError, match=r"lacks 1 of the model's columns: 'b'"):
        mapped.decision(frame.drop(columns="b"))
    with pytest.raises(InputError, match="table has 3 columns and the model 4"):
        mapped.decision(x[:, :3])
    with pytest.raises(InputError, match="2 record"):
        mapped.decision(np.where(np.arange(150)[:, None] < 2, np.nan, x))
    with pytest.raises(InputError, match=r"trained on 'a', 'b', 'c'; train it on the perturbed columns"):
        linear_model_to_original(LogisticRegression(max_iter=1000).fit(frame[["a", "b", "c"]], species), key)
    assert mapped.predict(x[:0]).shape == (0,)


def test_which_release_is_meant():
    x, species = iris()
    first, key = veil.publish(x, veil.OrthogonalTransform(dither=False))
    second, _ = veil.publish(x, veil.RandomProjection(2, dither=False), key=key, again=True)
    model = LinearSVC().fit(second.to_numpy(), species)
    with pytest.raises(InputError, match="this key made 2 releases"):
        linear_model_to_original(model, key)
    mapped = linear_model_to_original(model, key, second)
    np.testing.assert_array_equal(mapped.predict(x), model.predict(second.to_numpy()))
    with pytest.raises(InputError, match="2 coefficients per output where the release has 4"):
        linear_model_to_original(model, key, first)
    with pytest.raises(InputError, match="made 0 releases"):
        linear_model_to_original(model, Key())
    with pytest.raises(KeyRefusedError, match="did not make"):
        linear_model_to_original(model, Key(), first)
    with pytest.raises(KeyRefusedError, match=r"veil\.Key"):
        linear_model_to_original(model, "secret")
    with pytest.raises(InputError, match=r"veil\.Release"):
        linear_model_to_original(model, key, x)


def test_a_loaded_key_maps_alike(tmp_path):
    x, species = iris()
    release, key = veil.publish(x, veil.PairwiseRotation(), shuffle=True)
    key.save(tmp_path / "key")
    model = LinearSVC().fit(release.to_numpy(), species)
    one, two = (linear_model_to_original(model, k) for k in (key, Key.load(tmp_path / "key")))
    np.testing.assert_array_equal(one.coefficients, two.coefficients)
    assert isinstance(one, LinearModel)
    assert one.columns == ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (veil.AdditiveNoise(), "additive-noise does not release every record by one linear map"),
        (veil.RandomProjection(5, axis="records"), "projections of all records"),
    ],
)
def test_releases_that_are_no_linear_map_of_records(method, reason):
    x, _ = iris()
    release, key = veil.publish(x, method)
    model = LinearRegression().fit(release.to_numpy(), np.arange(len(release.to_numpy())))
    with pytest.raises(NotApplicableError, match=reason):
        linear_model_to_original(model, key)


def test_models_that_are_not_linear_are_refused():
    x, species = iris()
    release, key = veil.publish(x, veil.OrthogonalTransform(dither=False))
    y = release.to_numpy()
    for model in (
        PoissonRegressor().fit(y, species),
        OneClassSVM(kernel="linear").fit(y),
        RidgeClassifier().fit(y, np.column_stack([species == 1, species == 2]).astype(int)),
        SVC(kernel="linear", break_ties=True).fit(y, species),
    ):
        with pytest.raises(NotApplicableError):
            linear_model_to_original(model, key)
    for model in (SVC().fit(y, species), LinearSVC(), make_pipeline(StandardScaler(), PCA(2)).fit(y), "model"):
        with pytest.raises(InputError, match="fitted linear model with coef_ and intercept_"):
            linear_model_to_original(model, key)
    for scaler in (PCA(4), MinMaxScaler(clip=True)):
        with pytest.raises(InputError, match="without clipping"):
            linear_model_to_original(make_pipeline(scaler, LinearSVC()).fit(y, species), key)
