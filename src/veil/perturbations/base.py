"""What every perturbation is: a scikit-learn transformer with one secret and an allow-list.

The life of a perturbation: ``fit`` learns public, rounded parameters and takes a key;
``transform`` perturbs canonical blocks; ``disclose`` lists what the manifest may say.
:func:`veil.publish` drives the same block kernels from frames and from files.
"""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from veil.blocks import Matrix, array_blocks
from veil.errors import InputError, KeyRefusedError
from veil.key import Key, key_from
from veil.moments import Moments
from veil.randomness import Fingerprint, Words, cell_words, row_words
from veil.scan import Scan
from veil.schema import Kind
from veil.secret import SecretParameter, key_pickling_allowed, revealed
from veil.threads import one_blas_thread


@dataclass(frozen=True)
class Place:
    """Where a block is: the table's fingerprint and first row, or the ids of its rows."""

    fingerprint: str
    start: int
    ids: npt.NDArray[np.uint8] | None = None


class Perturbation(TransformerMixin, BaseEstimator, ABC):
    """Base of all perturbations. A subclass states its model and *Threat* in its docstring.

    Class attributes
    ----------------
    catalogue
        The method's id.
    covers
        Kinds of columns it can change.
    element_wise
        Each released cell depends on one private cell: missing values pass through and
        columns keep their names.
    addressed
        Its noise is addressed by the table's fingerprint.
    wants_covariance
        ``fit`` needs the covariance, not only variances.
    """

    catalogue: ClassVar[str]
    covers: ClassVar[frozenset[Kind]] = frozenset({Kind.NUMERIC})
    element_wise: ClassVar[bool] = False
    addressed: ClassVar[bool] = False
    wants_covariance: ClassVar[bool] = False
    guarantee: ClassVar[str] = "none"

    random_state = SecretParameter()
    key_: Key

    # -- what a subclass writes -------------------------------------------------------------

    @abstractmethod
    def _learn(self, moments: Moments, columns: Sequence[str]) -> None:
        """Check the parameters and set the public fitted attributes, rounded before use."""

    @abstractmethod
    def disclose(self) -> dict[str, Any]:
        """The public parameters: an allow-list of JSON values, enough to undo the method with the key."""

    @abstractmethod
    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        """Set the fitted attributes from what :meth:`disclose` said."""

    @abstractmethod
    def _perturb(self, block: Matrix, place: Place) -> Matrix:
        """Perturb one canonical block (d × n to k × n)."""

    def _restore(self, block: Matrix, place: Place) -> Matrix:
        """Undo :meth:`_perturb` with the key; methods that cannot raise NotInvertibleError."""
        raise NotImplementedError

    def invertible(self, *, consistent: bool) -> bool:
        """Whether the key brings the private values back."""
        return False

    # -- names ------------------------------------------------------------------------------

    @classmethod
    def method_name(cls) -> str:
        """The name on the command line and in manifests.

        >>> from veil import AdditiveNoise
        >>> AdditiveNoise.method_name()
        'additive-noise'
        """
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()

    def settings(self) -> dict[str, Any]:
        """The owner's public settings as JSON values: constructor parameters that are not secret."""
        public = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if not isinstance(getattr(type(self), name, None), SecretParameter)
        }
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in public.items()}

    def describe(self) -> str:
        """The method and its settings that differ from the defaults, in one line."""
        defaults = type(self)().settings() if _has_defaults(type(self)) else {}
        said = [f"{k} {v}" for k, v in self.settings().items() if defaults.get(k, object()) != v or k == "scale"]
        return " ".join([self.method_name().replace("-", " "), *([f"({', '.join(said)})"] if said else [])])

    def _released_names(self, columns: Sequence[str]) -> list[str]:
        if self.element_wise:
            return list(columns)
        return [f"{type(self).__name__.lower()}{i}" for i in range(self._n_released())]

    def _n_released(self) -> int:
        return int(self.n_features_in_)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the released columns."""
        check_is_fitted(self, "n_features_in_")
        columns = self._column_names()
        if input_features is not None and list(input_features) != columns:
            if hasattr(self, "feature_names_in_"):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(input_features) != self.n_features_in_:
                raise ValueError("input_features should have length equal to number of features")
            columns = list(input_features)
        return np.array(self._released_names(columns), dtype=object)

    def _column_names(self) -> list[str]:
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{j}" for j in range(self.n_features_in_)]

    # -- scikit-learn -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the public parameters and take a key: fresh secret bits, or from ``random_state``."""
        array = self._validated(X, reset=True)
        key = key_from(revealed(self.random_state))
        scan = self.new_scan(self._column_names(), None)
        for _, block in array_blocks(array):
            scan.update(block)
        self.settle(self._column_names(), scan.result().moments, key)
        return self

    def transform(self, X: Any) -> Any:
        """Perturb a table. Noise is addressed by this table, not by the one given to ``fit``."""
        check_is_fitted(self, "n_features_in_")
        key = self._key()
        array = self._validated(X, reset=False)
        fingerprint = ""
        if self.addressed:
            tree = Fingerprint(key.derive("fingerprint"), self._column_names())
            for _, block in array_blocks(array):
                tree.update(block)
            fingerprint = tree.digest()
        out = np.empty((len(array), self._n_released()))
        with one_blas_thread():
            for start, block in array_blocks(array):
                out[start : start + block.shape[1]] = self._perturb(block, Place(fingerprint, start)).T
        return out

    def _validated(self, X: Any, *, reset: bool) -> npt.NDArray[np.float64]:
        array: npt.NDArray[np.float64] = validate_data(
            self,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite="allow-nan" if self.element_wise else True,
            ensure_min_samples=self._min_rows() if reset else 1,
        )
        return array

    def _min_rows(self) -> int:
        return 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.element_wise
        return tags

    # -- the owner's drive --------------------------------------------------------------------

    def new_scan(self, columns: Sequence[str], key: Key | None) -> Scan:
        """The first pass that this method needs over its columns."""
        return Scan(
            columns,
            key=key if self.addressed else None,
            covariance=self.wants_covariance,
            allow_missing=self.element_wise,
            method=type(self).__name__,
        )

    def settle(
        self,
        columns: Sequence[str],
        moments: Moments,
        key: Key,
        parameters: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit from moments and a key; ``parameters`` of an earlier release are kept as they were."""
        if moments.n_rows < self._min_rows():
            raise InputError(
                f"the table has {moments.n_rows} row; {type(self).__name__} needs {self._min_rows()} to measure "
                "the spread of each column, or absolute units"
            )
        self.n_features_in_ = len(columns)
        if parameters is None:
            self._learn(moments, columns)
        else:
            self._adopt(parameters)
        self.key_ = key
        return self

    @classmethod
    def rebuild(
        cls, settings: Mapping[str, Any], parameters: Mapping[str, Any], columns: Sequence[str], key: Key
    ) -> Self:
        """The fitted perturbation behind a ledger entry."""
        self = cls(**settings)
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array(columns, dtype=object)
        self._adopt(parameters)
        self.key_ = key
        return self

    def address(self) -> dict[str, Any]:
        """Everything but key, table and column that its randomness depends on."""
        return {"method": self.method_name(), "parameters": self.disclose()}

    def _words(self, column: str, block_row: Matrix, place: Place) -> Words:
        """The random words of one column of a block."""
        address = {**self.address(), "column": column}
        key = self._key()
        if place.ids is not None:
            return cell_words(key.derive("cells", address), place.ids, block_row)
        address["fingerprint"] = place.fingerprint
        return row_words(key.derive("rows", address), place.start, len(block_row))

    def _key(self) -> Key:
        try:
            return self.key_
        except AttributeError:
            raise KeyRefusedError(
                f"this {type(self).__name__} was pickled without its key; fit it anew, or pickle it "
                "inside veil.allow_key_pickling()"
            ) from None

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if not key_pickling_allowed():
            state.pop("key_", None)
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin


def _has_defaults(cls: type[Perturbation]) -> bool:
    try:
        cls()
    except TypeError:
        return False
    return True


def rounded(value: float) -> float:
    """A data-derived parameter rounded to two significant digits, before it is used or published.

    >>> rounded(0.12345), rounded(9876.0)
    (0.12, 9900.0)
    """
    return float(f"{value:.1e}")
