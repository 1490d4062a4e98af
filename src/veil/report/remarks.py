"""What a reader should know about an audit as a whole, as typed values; each prints as a sentence or two."""

from __future__ import annotations

from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class ReleasedKeys:
    """How many records of a release are alone, or nearly, with the keys that it shows, suppressed cells being values.

    >>> str(ReleasedKeys(("age",), 40, 12, 20, 61).external(20)).partition(": ")[2]
    'fewer than 20 records are alone, 20 in cells of fewer than 3, 61 of fewer than 5.'

    Attributes
    ----------
    columns
        Columns that outsiders may know, and that are released as they are, recoded or with coded ends.
    n_cells, unique, below_3, below_5
        Combinations that occur, records that are alone, and those in cells of fewer than 3 and 5. None for 1 to
        ``least`` − 1 records in the external edition.
    least
        The fewest records that the edition speaks of.
    weight, expected
        The column of weights, and the re-identifications that they let expect.
    """

    columns: tuple[str, ...]
    n_cells: int
    unique: int | None
    below_3: int | None
    below_5: int | None
    least: int = 1
    weight: str | None = None
    expected: float | None = None

    def external(self, least: int) -> ReleasedKeys:
        """The same without numbers of fewer than ``least`` records."""
        unique, below_3, below_5 = (
            None if n is not None and 0 < n < least else n for n in (self.unique, self.below_3, self.below_5)
        )
        return replace(self, unique=unique, below_3=below_3, below_5=below_5, least=least)

    def __str__(self) -> str:
        """Counts in a sentence."""
        alone, few, some = (f"fewer than {self.least}" if n is None else f"{n:,}" for n in self._counts)
        weights = (
            ""
            if self.expected is None
            else f" By the weights in {self.weight!r}, {self.expected:,.1f} re-identifications are expected."
        )
        one = len(self.columns) == 1
        return (
            f"The key{'' if one else 's'} {listed(self.columns)} as released {'has' if one else 'have'} "
            f"{self.n_cells:,} combinations: {alone} records are alone, {few} in cells of fewer than 3, {some} of "
            f"fewer than 5.{weights}"
        )

    @property
    def _counts(self) -> tuple[int | None, int | None, int | None]:
        return self.unique, self.below_3, self.below_5
