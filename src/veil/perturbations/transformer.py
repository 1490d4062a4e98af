"""A perturbation as scikit-learn wants it: fit, transform, names of features, validation."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.data.blas import one_blas_thread
from veil.data.blocks import Matrix, column_block
from veil.data.passes import each_block, summed
from veil.data.sources import as_table
from veil.data.sums import Tree
from veil.data.tables import Table, as_frame
from veil.errors import InputError, listed
from veil.keys.key import key_from
from veil.keys.randomness import column_digests
from veil.keys.randomness import fingerprint as keyed_fingerprint
from veil.perturbations.draws import Place
from veil.perturbations.driving import fit_scan, perturbed, released_arrays, released_fields, scan_for
from veil.perturbations.estimator import Estimator
from veil.perturbations.scan import Summary
from veil.secret import revealed


class Transformer(Estimator):
    """The half of :class:`veil.Perturbation` that scikit-learn calls."""

    n_features_in_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the public parameters and take a key: fresh secret bits, or from ``random_state``."""
        if self.layout.tabular:
            self._fit_table(as_table(X))
            return self
        perturbation: Any = self
        array = perturbation._validated(X, reset=True)
        key, columns = key_from(revealed(perturbation.random_state)), self.column_names()
        scan = scan_for(perturbation, columns, key.derive("fingerprint"))
        total = Tree[Summary]()
        for summary in each_block(array, lambda rows, _: scan.summary(column_block(rows))):
            total.push(summary)
        fit_scan(perturbation, columns, scan.result(total.result()), key)
        return self

    def transform(self: Any, X: Any) -> Any:
        """Perturb a table. Noise is addressed by this table, not by the one given to ``fit``."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "n_features_in_")
        if self.layout.tabular:
            return self._in_container(self._transform_table(as_table(X)), X)
        secret = self.secrets().subkey("fingerprint", None)
        array = self._validated(X, reset=False, look=self.layout.passes_missing or self.layout.reduces)
        fingerprint = ""
        if self.layout.addressed:
            digests = b"".join(each_block(array, lambda rows, _: column_digests(secret, column_block(rows))))
            fingerprint = keyed_fingerprint(secret, self.column_names(), digests, len(array))

        def block_of(rows: Matrix, start: int) -> Matrix:
            released: Matrix = perturbed(self, column_block(rows), Place(fingerprint, start))
            return released

        if self.layout.reduces:
            return self._in_container(sum(each_block(array, block_of), np.zeros(())).T, X)
        out = np.empty((len(array), self.model_.n_released(self.n_features_in_)))

        def written(rows: Matrix, start: int) -> bool:
            part = out[start : start + len(rows)]
            part[:] = block_of(rows, start).T
            with np.errstate(over="ignore", invalid="ignore"):
                return self.layout.passes_missing or bool(np.isfinite(part.sum()))

        if not all(list(each_block(array, written))):
            self._validated(X, reset=False, look=True)  # says what is wrong; a large finite table may also come here
        return self._in_container(out, X)

    def get_feature_names_out(self: Any, input_features: Any = None) -> npt.NDArray[np.object_]:
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

    def column_names(self) -> list[str]:
        """Names of the private columns."""
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{j}" for j in range(self.n_features_in_)]

    def _validated(self: Any, X: Any, *, reset: bool, look: bool = True) -> npt.NDArray[np.float64]:
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
                ensure_min_samples=self.fewest_rows() if reset else 1,
            )
        except ValueError as error:
            # This one message of numpy's quotes a cell.
            if "could not convert" in str(error):
                raise InputError(
                    "X holds text, and only numbers can be perturbed; drop or encode its columns"
                ) from None
            raise
        return array

    # -- tables of categories and identifiers ---------------------------------------------------

    def _fit_table(self: Any, table: Table) -> None:
        columns, key = list(table.schema.names), key_from(revealed(self.random_state))
        scan = scan_for(self, columns, key.derive("fingerprint"))
        self.feature_names_in_ = np.array(columns, dtype=object)
        fit_scan(self, columns, scan.result(summed(scan.block_summary, table, columns)), key)

    def _transform_table(self: Any, table: Table) -> Any:
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
