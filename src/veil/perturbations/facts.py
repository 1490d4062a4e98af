"""What a method is told about a private table while it learns, and forgets afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veil.data.blocks import Vector
from veil.numerics.moments import Moments
from veil.perturbations.draws import Secrets
from veil.perturbations.scan import ScanResult

Fixed = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Facts:
    """The first pass over a table, as a method sees it.

    Attributes
    ----------
    columns
        Names of the private columns.
    scan
        Moments; where the layout asks for them, counts of categories and combinations, and quantiles.
    secrets
        The key's secret matrices and names.
    fixed
        By column, what an earlier release of the same cells has fixed (:meth:`veil.release.models.Model.column`).
    remarks
        Sentences for the owner's eyes; see :meth:`remark`.
    """

    columns: Sequence[str]
    scan: ScanResult = field(repr=False)
    secrets: Secrets = field(repr=False)
    fixed: Fixed = field(default_factory=dict, repr=False)
    remarks: list[str] = field(default_factory=list, repr=False)

    @property
    def moments(self) -> Moments:
        """Means, variances and extremes of the columns; their covariance where the layout asks for it."""
        return self.scan.moments

    @property
    def reach(self) -> Vector:
        """The largest absolute value of each column."""
        return np.maximum(np.abs(self.moments.minimum), np.abs(self.moments.maximum))

    @property
    def spread(self) -> Vector:
        """The standard deviation of each column without values that dominate it, as far as the layout asks for that."""
        spreads = self.scan.spreads or (None,) * len(self.columns)
        pairs = zip(self.moments.std.tolist(), spreads, strict=True)
        return np.array([std if robust is None else robust.std for std, robust in pairs])

    def remark(self, text: str) -> None:
        """Tell the owner something about the fit; it is not published and not kept."""
        self.remarks.append(text)
