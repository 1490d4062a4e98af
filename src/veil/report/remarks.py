"""What a reader should know about an audit as a whole, as typed values; each prints as a sentence or two."""

from __future__ import annotations

from dataclasses import dataclass

from veil.errors import listed
from veil.report.words import percent


@dataclass(frozen=True)
class OrderTest:
    """Whether the data support that a row of a release belongs to the record that it was matched to.

    ``p_value`` is the probability of as close a fit where neighbouring rows are exchanged at random. Where the matching
    is not ``supported``, rows were matched by content as well, and the stronger result counts: ``by_content`` says
    which it is.
    """

    p_value: float
    supported: bool
    by_content: bool = False

    def __str__(self) -> str:
        """What the test says, and how rows were matched."""
        if self.supported:
            return f"The data support the matching of rows (permutation test, p = {self.p_value:.2g})."
        which = "that gives more away, and is what counts" if self.by_content else "that gives no more away"
        return (
            f"The data do not support the matching of rows (permutation test, p = {self.p_value:.2g}). They were "
            f"matched by content as well: {which}."
        )


@dataclass(frozen=True)
class PublicColumns:
    """The columns that are released unchanged, and the share of records that are unique on them; None for no columns.

    >>> print(PublicColumns(("sex", "city"), 0.25))
    Released unchanged: 'sex', 'city'. 25.0 % of the records are unique on these columns.

    ``weight`` is the column of weights beside them, which outsiders do not have.
    """

    columns: tuple[str, ...]
    unique: float | None
    weight: str | None = None

    def __str__(self) -> str:
        """Which columns, and how far they tell people apart."""
        weights = "" if self.weight is None else f" Weights are released as they are: {self.weight!r}."
        if self.unique is None:
            return weights.strip() or "No column is released unchanged."
        one = len(self.columns) == 1
        where = "this column" if one else "these columns"
        return (
            f"Released unchanged: {listed(self.columns)}. {percent(self.unique)} of the records are unique on {where}."
            + weights
        )
