"""What a reader should know about an audit as a whole, as typed values; each prints as a sentence or two."""

from __future__ import annotations

from dataclasses import dataclass, replace

from veil.errors import listed
from veil.report.words import goal, percent


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
        weights = ""
        if self.weight is not None:
            weights = (
                f" Weights are released as they are: {self.weight!r}. Risks count every record once; utilities are "
                "those of the people that records stand for."
            )
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


@dataclass(frozen=True)
class UniqueGroups:
    """How many of a column's groups are alone with the released keys of all their members.

    ``unique`` is None for 1 to ``least`` − 1 groups in the external edition.

    >>> print(UniqueGroups("home", 400, 380))
    Of 400 groups in 'home', 380 are alone with the keys of all their members.
    """

    column: str
    n_groups: int
    unique: int | None
    least: int = 1

    def external(self, least: int) -> UniqueGroups:
        """The same without a number of fewer than ``least`` groups."""
        few = self.unique is not None and 0 < self.unique < least
        return replace(self, unique=None if few else self.unique, least=least)

    def __str__(self) -> str:
        """The count in a sentence."""
        alone = f"fewer than {self.least}" if self.unique is None else f"{self.unique:,}"
        return f"Of {self.n_groups:,} groups in {self.column!r}, {alone} are alone with the keys of all their members."


@dataclass(frozen=True)
class LargestTold:
    """Columns of which an attack is shown to tell more of the ``n`` largest values than the goal allows.

    ``candidate`` says in which release, where there are several.

    >>> print(str(LargestTold(("income",), 10, 0.1)).partition(". ")[0])
    Of the 10 largest values of 'income' more are told within 10 % than without the people's own rows
    """

    columns: tuple[str, ...]
    n: int
    share: float
    candidate: str = ""

    def __str__(self) -> str:
        """Which columns, and what protects their largest values."""
        where = f"{self.candidate}: of" if self.candidate else "Of"
        return (
            f"{where} the {self.n} largest values of {listed(self.columns)} more are told within {goal(self.share)} "
            f"than without the people's own rows. Top coding of at least these {self.n} (top-coding) hides them; so "
            "does noise that grows with the value (multiplicative-noise, log-normal-noise: factors with a standard "
            "deviation of 0.5 are within 10 % of 1 in 16 % of all cases), where noise of one scale for all is small "
            "beside them."
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
    groups
        How many are alone with the keys of all their members, by column of groups.
    """

    columns: tuple[str, ...]
    n_cells: int
    unique: int | None
    below_3: int | None
    below_5: int | None
    least: int = 1
    weight: str | None = None
    expected: float | None = None
    groups: tuple[UniqueGroups, ...] = ()

    def external(self, least: int) -> ReleasedKeys:
        """The same without numbers of fewer than ``least`` records."""
        unique, below_3, below_5 = (
            None if n is not None and 0 < n < least else n for n in (self.unique, self.below_3, self.below_5)
        )
        groups = tuple(each.external(least) for each in self.groups)
        return replace(self, unique=unique, below_3=below_3, below_5=below_5, least=least, groups=groups)

    def __str__(self) -> str:
        """Counts in a sentence, and one for each column of groups."""
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
            f"fewer than 5.{weights}{''.join(f' {each}' for each in self.groups)}"
        )

    @property
    def _counts(self) -> tuple[int | None, int | None, int | None]:
        return self.unique, self.below_3, self.below_5
