"""Every perturbation, as scikit-learn wants it: fit, transform, names of features, validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blas import one_blas_thread
from veil.data.blocks import Matrix, column_block, room_for
from veil.data.passes import each_block, summed
from veil.data.sources import as_table
from veil.data.sums import Tree
from veil.data.tables import Table, as_frame
from veil.errors import InputError, listed
from veil.keys.key import Key, key_from
from veil.keys.randomness import column_digests
from veil.keys.randomness import fingerprint as keyed_fingerprint
from veil.perturbations.draws import Place
from veil.perturbations.driving import fit_scan, perturbed, released_arrays, released_fields, scan_for
from veil.perturbations.facts import Fixed
from veil.perturbations.method import Method
from veil.perturbations.scan import ScanResult, Summary
from veil.release.registry import Register
from veil.secret import revealed

PERTURBATIONS: Register[Perturbation] = Register(
    "perturbation", "veil.perturbations", "veil.perturbations", parameter="method"
)
"""All methods by their names on the command line."""


class Perturbation(Method):
    """Base of all perturbations.

    Class attributes
    ----------------
    catalogue
        The method's id.
    summary
        What it does, in one sentence for lists.
    threat
        What is released, what is secret, which knowledge breaks it. It becomes part of the class's documentation.
    layout
        The method's shape; a property where it depends on settings.
    headline
        Settings that are always named in reports, even at their default.

    Attributes
    ----------
    model_
        What was learned, public and frozen.
    key_
        The secret.
    """

    feature_names_in_: npt.NDArray[np.object_]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "catalogue" in cls.__dict__:
            PERTURBATIONS.add(cls.method_name(), cls)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the public parameters and take a key: fresh secret bits, or from ``random_state``."""
        if self.layout.tabular:
            self._fit_table(as_table(X))
            return self
        array = self._validated(X, reset=True)
        key, columns = key_from(revealed(self.random_state)), self.column_names()
        scan = scan_for(self, columns, key.derive("fingerprint"))
        total = Tree[Summary]()
        for summary in each_block(array, lambda rows, _: scan.summary(column_block(rows))):
            total.push(summary)
        self.fit_scan(columns, scan.result(total.result()), key)
        return self

    def transform(self, X: Any) -> Any:
        """Perturb a table. Noise is addressed by this table, not by the one given to ``fit``."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "n_features_in_")
        if self.layout.tabular:
            return self._in_container(self._transform_table(as_table(X)), X)
        array = self._validated(X, reset=False, look=self.layout.passes_missing or self.layout.reduces)
        fingerprint = ""
        if self.layout.addressed:
            secret = self.secrets().subkey("fingerprint", None)
            digests = b"".join(each_block(array, lambda rows, _: column_digests(secret, column_block(rows))))
            fingerprint = keyed_fingerprint(secret, self.column_names(), digests, len(array))
        return self._transform_array(array, fingerprint, X)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to a table, then perturb it; ``fit`` has seen by which fingerprint its noise is addressed."""
        self.fit(X, y, **fit_params)
        if self.layout.tabular:
            return self.transform(X)
        return self._transform_array(self._validated(X, reset=False, look=False), self._fitted_on, X)

    def _transform_array(self, array: Matrix, fingerprint: str, X: Any) -> Any:
        """Perturb an array block by block; records become columns and columns records again in lent memory."""
        if self.layout.reduces:
            shares = each_block(array, lambda rows, at: perturbed(self, column_block(rows), Place(fingerprint, at)))
            return self._in_container(sum(shares, np.zeros(())).T, X)
        out = np.empty((len(array), self.model_.n_released(self.n_features_in_)))

        def written(rows: Matrix, start: int) -> bool:
            part, place = out[start : start + len(rows)], Place(fingerprint, start)
            part[:] = perturbed(self, column_block(rows), place, room_for(part.shape[1], len(part), lent=True)).T
            with np.errstate(over="ignore", invalid="ignore"):
                return self.layout.passes_missing or bool(np.isfinite(part.sum()))

        if not all(list(each_block(array, written))):
            self._validated(X, reset=False, look=True)  # says what is wrong; a large finite table may also come here
        return self._in_container(out, X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the released columns."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "n_features_in_")
        columns = self.column_names()
        if input_features is not None and list(input_features) != columns:
            if hasattr(self, "feature_names_in_"):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(input_features) != self.n_features_in_:
                raise ValueError("input_features should have length equal to number of features")
            columns = list(input_features)
        return np.array(self.released_names(columns), dtype=object)

    def _validated(self, X: Any, *, reset: bool, look: bool = True) -> npt.NDArray[np.float64]:
        """X as an array of numbers; ``look`` for values that are not finite, which takes a pass over it."""
        from sklearn.utils.validation import validate_data

        if isinstance(X, np.ma.MaskedArray):
            raise InputError("X is a masked array, whose mask would be lost; use X.filled(numpy.nan)")
        try:
            array: npt.NDArray[np.float64] = validate_data(
                self,
                X,
                reset=reset,
                dtype=np.float64,
                ensure_all_finite=("allow-nan" if self.layout.passes_missing else True) if look else False,
                ensure_min_samples=self.layout.fewest_rows if reset else 1,
            )
        except ValueError as error:
            # This one message of numpy's quotes a cell.
            if "could not convert" in str(error):
                raise InputError(
                    "X holds text, and only numbers can be perturbed; drop or encode its columns"
                ) from None
            raise
        return array

    def fit_scan(self, columns: Sequence[str], scan: ScanResult, key: Key, fixed: Fixed | None = None) -> list[str]:
        """Fit from the first pass over a table; returns remarks for the owner."""
        PERTURBATIONS.check(self.method_name(), type(self))
        return fit_scan(self, columns, scan, key, fixed)

    # -- tables of categories and identifiers ---------------------------------------------------

    def _fit_table(self, table: Table) -> None:
        columns, key = list(table.schema.names), key_from(revealed(self.random_state))
        scan = scan_for(self, columns, key.derive("fingerprint"))
        self.feature_names_in_ = np.array(columns, dtype=object)
        self.fit_scan(columns, scan.result(summed(scan.block_summary, table, columns)), key)

    def _transform_table(self, table: Table) -> Any:
        """It comes out as the kind of frame it was."""
        secrets, columns = self.secrets(), self.column_names()
        if table.schema.names != columns:
            raise InputError(f"X has the columns {listed(table.schema.names)}; this was fitted on {listed(columns)}")
        scan = scan_for(self, columns, secrets.subkey("fingerprint", None))
        fingerprint = scan.result(summed(scan.block_summary, table, columns)).fingerprint
        fields = released_fields(self, columns, table.schema)
        arrays: list[list[pa.Array]] = []
        with one_blas_thread():
            for block in table.blocks(columns):
                place = Place(fingerprint, block.start)
                arrays.append(released_arrays(self, columns, fields, scan.read(block), place))
        chunks = [pa.chunked_array(column) for column in zip(*arrays, strict=True)]
        released = pa.table(dict(zip([f.name for f in fields], chunks, strict=True)))
        return as_frame(released, table.kind, table.native)
