"""R6, the owner's part: a linear model that was trained on a release, in the private table's coordinates.

*Model.* P5–P8 and P10 release ``y = A x + t``, one affine map for all records (noise and dither are left
aside: they move records, not the map). So a linear model ``ŵ·y + b`` of the release is a linear model ``w·x + b'`` of
the private table, with::

    w = Aᵀ ŵ        b' = b + ŵ·t

For a projection that is ``w = Rᵀŵ/(√k σ_r)``, in the scaled columns' units. Liu (2007, §5.2.3) says that ŵ is the
image of a model of the private table, ``ŵ = Rw/(√k σ_r)``: not so (errata L-ac). The mapping back is exact for every k;
what a projection costs is how well the trained model fits.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.data.blas import one_blas_thread
from veil.data.blocks import Matrix, Vector
from veil.data.tables import memory_table
from veil.errors import InputError, KeyRefusedError, NotApplicableError, listed
from veil.keys.key import Key, LedgerPart
from veil.perturbations import Perturbation, Place
from veil.perturbations.driving import perturbed
from veil.perturbations.linear import LinearPerturbation
from veil.perturbations.registry import rebuild
from veil.perturbations.rotation import PairwiseRotation
from veil.release.release import Release

FAR = 2.0**300
"""How far out the map is probed: a power of two, beside which any centre or translation is nothing."""
AGREEMENT = 1e-4
"""Relative difference between a model and its coefficients that single precision could make."""


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear model in the private table's units.

    Attributes
    ----------
    columns
        The private columns, in the order of the coefficients.
    coefficients
        One row per output, one column per private column.
    intercept
        One number per output.
    classes
        The labels of a classifier; None for a regression. Two classes share one output, positive for the second.
    pairwise
        Outputs are one per pair of classes, positive for the first, and the classes are voted for (``SVC``).

    Notes
    -----
    *Threat.* The model is made with the key. Who has the release can train ŵ, too, and compare: every published output
    gives d equations ``w = Aᵀŵ`` on the secret matrix, and k of them give all of it. So does a single output of many
    models. Keep it, or publish one.
    """

    columns: tuple[str, ...]
    coefficients: Matrix
    intercept: Vector
    classes: npt.NDArray[Any] | None = None
    pairwise: bool = False

    def decision(self, table: Any) -> Matrix:
        """The model's outputs for private records: N numbers for one output, else N × outputs.

        ``table`` is a frame with the private columns, or an N × d array in their order.
        """
        outputs = self._records(table) @ self.coefficients.T + self.intercept
        return np.asarray(outputs[:, 0] if len(self.intercept) == 1 else outputs)

    def predict(self, table: Any) -> npt.NDArray[Any]:
        """Classes of private records, or the values that a regression gives them."""
        outputs = self.decision(table)
        if self.classes is None:
            return outputs
        if outputs.ndim == 1:
            return np.asarray(self.classes[(outputs > 0).astype(np.intp)])
        scores = self._votes(outputs) if self.pairwise else outputs
        return np.asarray(self.classes[scores.argmax(axis=1)])

    def _votes(self, outputs: Matrix) -> Matrix:
        assert self.classes is not None  # noqa: S101 - pairs are pairs of classes
        first, second = np.triu_indices(len(self.classes), 1)
        votes = np.zeros((len(outputs), len(self.classes)))
        for column, i, j in zip(outputs.T, first, second, strict=True):
            votes[:, i] += column > 0
            votes[:, j] += column <= 0
        return votes

    def _records(self, table: Any) -> Matrix:
        held = memory_table(table)
        names = held.schema.names if held.kind == "numpy" else self.columns
        if len(names) != len(self.columns):
            raise InputError(
                f"table has {len(names)} columns and the model {len(self.columns)}; give {listed(self.columns)}, in "
                "this order"
            )
        lacking = [name for name in names if name not in held.schema.names]
        if lacking:
            raise InputError(f"table lacks {len(lacking)} of the model's columns: {listed(lacking)}")
        blocks = [block.matrix(names) for block in held.blocks(names)]
        records = np.hstack(blocks).T if blocks else np.empty((0, len(names)))
        n_missing = int((~np.isfinite(records)).any(axis=1).sum())
        if n_missing:
            raise InputError(f"table: {n_missing} record(s) have a missing or infinite value; leave them out")
        return np.asarray(records)


@dataclass(frozen=True)
class _Trained:
    """A trained model as numbers: outputs are ``weights @ y + bias``."""

    weights: Matrix
    bias: Vector
    size: Vector
    """What each bias was summed from, in absolute values: the measure of its rounding."""
    classes: npt.NDArray[Any] | None
    pairwise: bool


def linear_model_to_original(model: Any, key: Key, release: Release | None = None) -> LinearModel:
    """A linear model trained on a release's perturbed columns, in the private table's coordinates.

    Parameters
    ----------
    model
        A fitted scikit-learn model with ``coef_`` and ``intercept_`` whose outputs are linear (LinearSVC,
        ``SVC(kernel="linear")``, LogisticRegression, Perceptron, LinearRegression, Ridge, ...), or a pipeline of
        StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler and such a model.
    key
        The key of the release.
    release
        Which release of the key, where it made several.

    Returns
    -------
    LinearModel
        Gives a private record what ``model`` gives its released image (without the noise, if noise was added),
        up to rounding: also for P7 and P8, whose releases do not keep distances.

    Raises
    ------
    NotApplicableError
        When records were not released by one linear map (noise, P9, projected records), or the model's outputs are
        not linear (a link function, for example).

    Notes
    -----
    *Reference.* Liu 2007, §5.2.3 with errata L-ac. Read the *Threat* of :class:`LinearModel` before publishing one.

    Examples
    --------
    >>> import numpy as np, veil
    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.random.default_rng(0).normal(40, 9, size=(100, 3))
    >>> income = x @ [1.0, -2.0, 3.0] + 5
    >>> release, key = veil.publish(x, veil.OrthogonalTransform())
    >>> trained = LinearRegression().fit(release.to_numpy(), income)
    >>> mapped = linear_model_to_original(trained, key)
    >>> print(mapped.coefficients.round(6)[0], mapped.intercept.round(6))
    [ 1. -2.  3.] [5.]
    """
    if not isinstance(key, Key):
        raise KeyRefusedError("key must be a veil.Key; load one with veil.Key.load(path)")
    part = _ledger_part(key, release)
    method = _affine(part, key)
    matrix, offset = _map_of(method, part)
    released = method.released_names(part.columns)
    trained = _read(model)
    if trained.weights.shape[1] != len(matrix):
        raise InputError(
            f"model has {trained.weights.shape[1]} coefficients per output where the release has {len(matrix)} "
            "perturbed columns; train it on release.to_numpy()"
        )
    _check_linear(model, trained)
    order = _order(model, released)
    weights = np.empty_like(trained.weights)
    weights[:, order] = trained.weights
    return LinearModel(
        columns=tuple(part.columns),
        coefficients=weights @ matrix,
        intercept=trained.bias + weights @ offset,
        classes=trained.classes,
        pairwise=trained.pairwise,
    )


# -- the release ----------------------------------------------------------------------------


def _ledger_part(key: Key, release: Release | None) -> LedgerPart:
    """The ledger's part behind the release, or behind the key's only one."""
    if release is None:
        if len(key.ledger) != 1:
            raise InputError(f"release must say which one is meant: this key made {len(key.ledger)} releases")
        parts, columns = key.ledger[0].parts, None
    elif isinstance(release, Release):
        parts, columns = key.entry(release.manifest.release_id).parts, list(release.only_part.names)
    else:
        raise InputError("release must be a veil.Release; load one with veil.Release.load(folder)")
    fitting = [part for part in parts if columns is None or part.columns == columns]
    if len(fitting) != 1:
        raise InputError(f"release must say which of {len(parts)} perturbations is meant: pass release.part(i)")
    return fitting[0]


def _affine(part: LedgerPart, key: Key) -> Perturbation:
    """The method behind a part, without its noise and its dither."""
    noiseless = {"noise": [0.0] * len(part.parameters["noise"])} if "noise" in part.parameters else {}
    parameters = {name: value for name, value in part.parameters.items() if name != "dither"}
    method = rebuild(replace(part, parameters={**parameters, **noiseless}), key)
    if not isinstance(method, LinearPerturbation | PairwiseRotation):
        raise NotApplicableError(
            f"{part.method} does not release every record by one linear map; linear models map back from "
            "pairwise-rotation, orthogonal-transform, linear-transform, random-projection and transform-domain"
        )
    if method.layout.reduces:
        raise NotApplicableError(
            "the rows of this release are projections of all records, not records: its columns are the private ones, "
            "and a linear model of them needs no mapping"
        )
    return method


def _map_of(method: Perturbation, part: LedgerPart) -> tuple[Matrix, Vector]:
    """The matrix A (k × d) and the offset t of ``y = A x + t``."""
    d = len(part.columns)
    with one_blas_thread():
        images: Matrix = perturbed(method, np.hstack([np.zeros((d, 1)), FAR * np.eye(d)]), Place(part.fingerprint, 0))
    return np.asarray(images[:, 1:] / FAR), np.asarray(images[:, 0])


# -- the trained model ----------------------------------------------------------------------


def _read(model: Any) -> _Trained:
    from sklearn.pipeline import Pipeline
    from sklearn.svm import SVC, NuSVC

    scalers: list[Any] = []
    if isinstance(model, Pipeline):
        scalers, model = [scaler for _, scaler in model.steps[:-1]], model.steps[-1][1]
    coefficients, intercept = getattr(model, "coef_", None), getattr(model, "intercept_", None)
    if coefficients is None or intercept is None:
        raise InputError(
            "model must be a fitted linear model with coef_ and intercept_, or a pipeline of scalers that ends with "
            f"one; got a {type(model).__name__}"
        )
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    raw = np.atleast_2d(np.array(dense, dtype=np.float64))
    bias = np.broadcast_to(np.array(intercept, dtype=np.float64).reshape(-1), (len(raw),))
    gain, shift = _scaling(scalers, raw.shape[1])
    classes = getattr(model, "classes_", None)
    pairwise = isinstance(model, SVC | NuSVC) and len(model.classes_) > 2
    if pairwise and model.break_ties:
        raise NotApplicableError("break_ties=True settles votes by a function that is not linear; train without it")
    return _Trained(
        weights=raw * gain,
        bias=bias + raw @ shift,
        size=np.abs(bias) + np.abs(raw) @ np.abs(shift),
        classes=None if classes is None else np.asarray(classes),
        pairwise=pairwise,
    )


def _scaling(scalers: Sequence[Any], k: int) -> tuple[Vector, Vector]:
    """Gain and shift of scalers one after the other: ``gain * y + shift``."""
    gain, shift = np.ones(k), np.zeros(k)
    for scaler in scalers:
        own_gain, own_shift = _one_scaling(scaler)
        gain, shift = gain * own_gain, shift * own_gain + own_shift
    return gain, shift


def _one_scaling(scaler: Any) -> tuple[Any, Any]:
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    if scaler is None or scaler == "passthrough":
        return 1.0, 0.0
    if isinstance(scaler, MinMaxScaler) and not scaler.clip:
        return scaler.scale_, scaler.min_
    if isinstance(scaler, StandardScaler | RobustScaler | MaxAbsScaler) and not getattr(scaler, "clip", False):
        centre = getattr(scaler, "mean_" if isinstance(scaler, StandardScaler) else "center_", None)
        centred = getattr(scaler, "with_mean", getattr(scaler, "with_centering", False))
        width = 1.0 if scaler.scale_ is None else scaler.scale_
        return 1.0 / width, -centre / width if centred and centre is not None else 0.0
    raise InputError(
        "a pipeline may scale columns by StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler without clipping "
        f"before its linear model; got a {type(scaler).__name__}"
    )


def _check_linear(model: Any, trained: _Trained) -> None:
    """Compare a model with its coefficients at the origin and the unit vectors: links and other centres show."""
    if trained.pairwise:
        return
    k = trained.weights.shape[1]
    probes = np.vstack([np.zeros(k), np.eye(k)])
    ask = getattr(model, "predict" if trained.classes is None else "decision_function", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model trained on a frame wants names
        answers = np.empty(0) if ask is None else np.asarray(ask(probes), dtype=np.float64)
        if trained.classes is not None and np.ndim(model.predict(probes)) != 1:
            raise NotApplicableError("the model gives a record several labels at once; map one model per label")
    expected = probes @ trained.weights.T + trained.bias
    size = probes @ np.abs(trained.weights).T + trained.size
    if answers.size != expected.size or (np.abs(answers.reshape(expected.shape) - expected) > AGREEMENT * size).any():
        raise NotApplicableError(
            f"the outputs of {type(model).__name__} are not coef_·y + intercept_; map a linear classifier, or a "
            "regression without a link function"
        )


def _order(model: Any, released: Sequence[str]) -> npt.NDArray[np.intp]:
    """Which released column each coefficient is for, by name where the model was trained on a frame."""
    names = [str(name) for name in getattr(model, "feature_names_in_", released)]
    if sorted(names) != sorted(released):
        raise InputError(f"model was trained on {listed(names)}; train it on the perturbed columns {listed(released)}")
    return np.array([list(released).index(name) for name in names], dtype=np.intp)
