"""Weights of a release's records: its column with the role weight, another public column, or one number per row.

A record of weight w stands for w people of the population, as in a survey that draws people with unequal
probabilities: w is the inverse of the probability. Means are those of Hájek (1971), Σwx/Σw. Standard errors for the
population are those of drawing with replacement, linearised; strata would make them smaller, draws of whole groups
larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.data.blocks import Block, Vector
from veil.errors import InputError
from veil.release.release import Release


@dataclass(frozen=True)
class Weights:
    """The weights of each block's records: ``column`` names a public column, else ``values`` has one number per row."""

    column: str | None = None
    values: Vector | None = None

    @property
    def given(self) -> bool:
        """Whether records differ in weight."""
        return self.column is not None or self.values is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the release to be read."""
        return () if self.column is None else (self.column,)

    def of(self, block: Block) -> Vector:
        """Weights of the records of a block; 1 where none are given."""
        if self.column is None and self.values is None:
            return np.ones(block.n_rows)
        if self.values is not None:
            weights = self.values[block.start : block.start + block.n_rows]
            short = block.n_rows - len(weights)
            if short:
                raise InputError(f"weights: {short} or more records of the release have none; give one per row")
        else:
            weights = block.matrix(self.columns)[0]
        if wrong := int((~(np.isfinite(weights) & (weights >= 0.0))).sum()):
            raise InputError(
                f"weights of column {self.column!r}: {wrong} are missing, negative or infinite; give every record a "
                "number from 0 on, or pass weights=False"
            )
        return np.asarray(weights)


def as_weights(weights: Any, release: Release) -> Weights:
    """Weights as an analyst gives them: the name of a public column of numbers, or one number per row.

    None stands for the release's own column of weights, if it has one, and False for none.
    """
    if weights is False or (weights is None and release.manifest.weight is None):
        return Weights()
    if weights is None:
        return Weights(column=release.manifest.weight)
    if isinstance(weights, str):
        public = {column.name for column in release.manifest.public} & set(release.table.numeric())
        if weights not in public:
            known = ", ".join(repr(name) for name in sorted(public)) or "none"
            raise InputError(f"weights: no public column of numbers is called {weights!r}; there are: {known}")
        return Weights(column=weights)
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("weights must be the name of a public column, one number per row, or False") from None
    n_rows = release.table.n_rows
    if values.ndim != 1 or (n_rows is not None and len(values) != n_rows):
        raise InputError(f"weights must have one number per row of the release; got shape {values.shape}")
    if not np.isfinite(values).all() or not (values >= 0.0).all() or not values.sum() > 0.0:
        raise InputError("weights must be finite numbers of at least 0, not all of them 0")
    return Weights(values=values)
