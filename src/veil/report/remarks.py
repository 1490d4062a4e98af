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
class GroupSizes:
    """How many groups a column names, how large they are, and how many have a size that no other has.

    ``sizes`` are pairs of a size and the number of groups that have it, ``other`` how many groups have sizes that are
    not told. ``constant`` are the columns that are constant within these groups.

    >>> sizes = GroupSizes("home", 63, ((1, 40), (2, 20), (3, 2), (9, 1)), unique=1)
    >>> print(sizes.external(10))
    'home' names 63 groups: 40 of 1 row, 20 of 2 rows, 3 of other sizes; 1 group has a size that no other has.
    """

    column: str
    n_groups: int
    sizes: tuple[tuple[int, int], ...]
    unique: int
    constant: tuple[str, ...] = ()
    other: int = 0

    def external(self, smallest_cell: int) -> GroupSizes:
        """Without sizes that fewer groups have, which would point to them."""
        kept = tuple((size, n) for size, n in self.sizes if n >= smallest_cell)
        return replace(self, sizes=kept, other=self.n_groups - sum(n for _, n in kept))

    def __str__(self) -> str:
        """Their number and sizes, how many a size gives away, and what is constant within them."""
        sizes = [f"{n:,} of {size:,} row{'s' if size != 1 else ''}" for size, n in self.sizes]
        sizes += [f"{self.other:,} of other sizes"] if self.other else []
        unique = f"{self.unique:,} group{'s have' if self.unique != 1 else ' has'} a size that no other has"
        constant = f" Constant within them: {listed(self.constant)}." if self.constant else ""
        return f"{self.column!r} names {self.n_groups:,} groups: {', '.join(sizes)}; {unique}.{constant}"
