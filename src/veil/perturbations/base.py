"""What every perturbation is: a scikit-learn transformer with one secret and an allow-list.

The life of a perturbation: ``fit`` learns public, rounded parameters and takes a key;
``transform`` perturbs canonical blocks; ``disclose`` lists what the manifest may say.
:func:`veil.publish` drives the same block kernels from frames and from files.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from veil.data.blocks import Block, Matrix, Words, column_block, from_float
from veil.data.passes import each_block
from veil.data.schema import Kind, Role
from veil.data.sums import Tree
from veil.errors import InputError, KeyRefusedError
from veil.keys.key import Key, LedgerPart, key_from
from veil.keys.randomness import Generator, cell_words, column_digests, row_words
from veil.keys.randomness import fingerprint as keyed_fingerprint
from veil.numerics.moments import Moments
from veil.perturbations.scan import Scan, ScanResult, Summary
from veil.secret import SecretParameter, key_pickling_allowed, revealed

Kept = Mapping[str, Mapping[str, Any]]


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
    headline
        Settings that are always named in reports, even at their default.
    boolean
        Releases true and false instead of numbers.
    makes_anew
        What :meth:`perturb_block` returns shares no memory with what it was given.
    scored
        Its columns hold values that an attacker can guess (a pseudonym is none).
    takes
        What its columns hold: "numbers", "bits" (0 and 1) or "categories".
    natural_role
        The role of a column that a plan gives to this method without saying one.
    """

    catalogue: ClassVar[str]
    covers: ClassVar[frozenset[Kind]] = frozenset({Kind.NUMERIC})
    element_wise: ClassVar[bool] = False
    addressed: ClassVar[bool] = False
    headline: ClassVar[tuple[str, ...]] = ()
    natural_role: ClassVar[Role] = Role.SENSITIVE
    scored: ClassVar[bool] = True
    takes: ClassVar[str] = "numbers"
    boolean: ClassVar[bool] = False
    makes_anew: ClassVar[bool] = False
    guarantee: ClassVar[str] = "none"

    random_state = SecretParameter()
    key_: Key
    _fitted_on: str

    # -- what a subclass writes -------------------------------------------------------------

    @abstractmethod
    def _learn(self, moments: Moments, columns: Sequence[str], kept: Kept) -> None:
        """Check the parameters and set the public fitted attributes, rounded before use.

        ``kept`` holds, by column, the parameters that an earlier release has fixed.
        """

    @abstractmethod
    def disclose(self) -> dict[str, Any]:
        """The public parameters: an allow-list of JSON values, enough to undo the method with the key."""

    @abstractmethod
    def _adopt(self, parameters: Mapping[str, Any]) -> None:
        """Set the fitted attributes from what :meth:`disclose` said."""

    def encoded(self, block: Block, columns: Sequence[str], *, lent: bool = False) -> Matrix:
        """A block of the private table as the matrix that :meth:`perturb_block` takes; see :meth:`Block.matrix`."""
        return block.matrix(columns, lent=lent)

    def released_arrays(self, block: Block, columns: Sequence[str], place: Place) -> list[pa.Array]:
        """The released columns of one block of the private table."""
        return self.decoded(self.perturb_block(self.encoded(block, columns, lent=self.makes_anew), place))

    def decoded(self, values: Matrix) -> list[pa.Array]:
        """What :meth:`perturb_block` made, as released columns."""
        return [from_float(row, pa.bool_() if self.boolean else None) for row in values]

    def released_fields(self, columns: Sequence[str], schema: pa.Schema) -> list[pa.Field]:
        """Names and types of the released columns."""
        return [pa.field(name, pa.bool_() if self.boolean else pa.float64()) for name in self.released_names(columns)]

    def formal_guarantee(self, *, consistent: bool = False) -> str:
        """The formal guarantee of these settings, or "none"; ``consistent``: an unchanged cell keeps its noise."""
        return self.guarantee

    @abstractmethod
    def perturb_block(self, block: Matrix, place: Place) -> Matrix:
        """Perturb one canonical block (d × n to k × n)."""

    def restore_block(self, block: Matrix, place: Place) -> Matrix:
        """Undo :meth:`perturb_block` with the key, where :meth:`invertible` says so."""
        raise NotImplementedError

    def invertible(self, *, consistent: bool) -> bool:
        """Whether the key brings the private values back."""
        return False

    @property
    def keeps_cells(self) -> bool:
        """Whether the noise of a single cell can be kept with an id (``consistent_on``)."""
        return self.addressed

    @property
    def reduces(self) -> bool:
        """Whether records are summed up into fewer rows, which are none: blocks add up to one d × k release."""
        return False

    @property
    def wants_covariance(self) -> bool:
        """Whether ``fit`` needs the covariance, not only variances."""
        return False

    def column_parameters(self, j: int) -> dict[str, Any]:
        """What the noise of the ``j``-th column depends on, for methods with addressed noise."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """What the owner should know about the fit, in sentences; for the owner's eyes, not the manifest."""
        return []

    def secret_matrix(self) -> Matrix | None:
        """The secret matrix that acts on scaled records, for audits that assume it has leaked; None without one."""
        return None

    def catalogue_id(self) -> str:
        """The catalogue's id for these settings."""
        return self.catalogue

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
        return {name: _setting(value) for name, value in public.items()}

    def describe(self) -> str:
        """The method and its settings that differ from the defaults, in one line."""
        defaults = inspect.signature(type(self)).parameters
        said = [f"{k} {v}" for k, v in self.settings().items() if k in self.headline or defaults[k].default != v]
        name = self.method_name().replace("-", " ")
        return f"{name} ({', '.join(said)})" if said else name

    def released_names(self, columns: Sequence[str]) -> list[str]:
        """Names of the columns that are made of these."""
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
        return np.array(self.released_names(columns), dtype=object)

    def _column_names(self) -> list[str]:
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{j}" for j in range(self.n_features_in_)]

    # -- scikit-learn -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the public parameters and take a key: fresh secret bits, or from ``random_state``."""
        array = self._validated(X, reset=True)
        key, columns = key_from(revealed(self.random_state)), self._column_names()
        scan = self.new_scan(columns, key.derive("fingerprint"))
        total = Tree[Summary]()
        for summary in each_block(array, lambda rows, _: scan.summary(column_block(rows))):
            total.push(summary)
        return self.fit_scan(columns, scan.result(total.result()), key)

    def transform(self, X: Any) -> Any:
        """Perturb a table. Noise is addressed by this table, not by the one given to ``fit``."""
        check_is_fitted(self, "n_features_in_")
        key = self._key()
        array = self._validated(X, reset=False, look=self.element_wise or self.reduces)
        fingerprint = ""
        if self.addressed:
            secret = key.derive("fingerprint")
            digests = b"".join(each_block(array, lambda rows, _: column_digests(secret, column_block(rows))))
            fingerprint = keyed_fingerprint(secret, self._column_names(), digests, len(array))
        if self.reduces:
            shares = each_block(array, lambda rows, at: self.perturb_block(column_block(rows), Place(fingerprint, at)))
            return sum(shares, np.zeros(())).T
        out = np.empty((len(array), self._n_released()))

        def perturb(rows: Matrix, start: int) -> bool:
            made = out[start : start + len(rows)]
            self.perturb_rows(rows, Place(fingerprint, start), made)
            with np.errstate(over="ignore", invalid="ignore"):
                return self.element_wise or bool(np.isfinite(made.sum()))

        if not all(list(each_block(array, perturb))):
            self._validated(X, reset=False, look=True)  # says what is wrong; a large finite table may also come here
        return out

    def perturb_rows(self, rows: Matrix, place: Place, out: Matrix) -> None:
        """:meth:`perturb_block` for records as rows, into ``out``."""
        out[:] = self.perturb_block(column_block(rows), place).T

    def _validated(self, X: Any, *, reset: bool, look: bool = True) -> npt.NDArray[np.float64]:
        """X as an array of numbers; ``look`` for values that are not finite, which takes a pass over it."""
        if isinstance(X, np.ma.MaskedArray):
            raise InputError("X is a masked array, whose mask would be lost; use X.filled(numpy.nan)")
        try:
            array: npt.NDArray[np.float64] = validate_data(
                self,
                X,
                reset=reset,
                dtype=np.float64,
                ensure_all_finite=("allow-nan" if self.element_wise else True) if look else False,
                ensure_min_samples=self._min_rows() if reset else 1,
            )
        except ValueError as error:
            # This one message of numpy's quotes a cell.
            if "could not convert" in str(error):
                raise InputError(
                    "X holds text, and only numbers can be perturbed; drop or encode its columns"
                ) from None
            raise
        return array

    def _min_rows(self) -> int:
        return 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.element_wise
        return tags

    # -- the owner's drive --------------------------------------------------------------------

    def new_scan(self, columns: Sequence[str], secret: bytes) -> Scan:
        """The first pass that this method needs over its columns."""
        return Scan(
            columns,
            secret=secret,
            covariance=self.wants_covariance,
            allow_missing=self.element_wise,
            method=type(self).__name__,
        )

    def fit_scan(self, columns: Sequence[str], scan: ScanResult, key: Key, kept: Kept | None = None) -> Self:
        """Fit from the first pass over a table."""
        if scan.moments.n_rows < self._min_rows():
            raise InputError(
                f"the table has {scan.moments.n_rows} row; {type(self).__name__} needs {self._min_rows()} to measure "
                "the spread of each column, or absolute units"
            )
        self.n_features_in_ = len(columns)
        self.key_, self._fitted_on = key, scan.fingerprint
        self._learn(scan.moments, columns, kept or {})
        return self

    @classmethod
    def rebuild(cls, part: LedgerPart, key: Key) -> Self:
        """The fitted perturbation behind a part of a key's ledger."""
        self = cls(**part.settings)
        self.n_features_in_ = len(part.columns)
        self.feature_names_in_ = np.array(part.columns, dtype=object)
        self._adopt(part.parameters)
        self.key_, self._fitted_on = key, part.fingerprint
        return self

    def _secret_matrix(self, part: str, make: Callable[[Generator], Matrix], said: Any = None) -> Matrix:
        """A secret matrix of this method, for the columns and the table it was fitted on.

        ``said`` are the public parameters that it depends on, all that are disclosed by default.
        """
        said = self.disclose() if said is None else said
        address = [self.method_name(), said, self._column_names(), self._fitted_on, part]
        return self._key().matrix(address, make)

    def _name_of(self, secret: Any) -> str:
        """A keyed name of a secret parameter: tells two of them apart and says nothing about either."""
        return self._key().derive("name of parameter", secret).hex()[:16]

    def _words(self, j: int, block_row: Matrix, place: Place, stream: str = "noise") -> Words:
        """The random words of the ``j``-th column of a block, one set per stream."""
        address = [self.method_name(), stream, self._column_names()[j], self.column_parameters(j)]
        key = self._key()
        if place.ids is not None:
            return cell_words(key.derive("cells", address), place.ids, block_row)
        return row_words(key.derive("rows", [*address, place.fingerprint]), place.start, len(block_row))

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

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin


def parameter_digest(parameters: Mapping[str, Any]) -> str:
    """A short name of disclosed parameters, for addresses that would otherwise repeat a whole matrix."""
    return hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()


def _setting(value: Any) -> Any:
    """A setting as a JSON value."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): _setting(item) for key, item in value.items()}
    return np.asarray(value).tolist()
