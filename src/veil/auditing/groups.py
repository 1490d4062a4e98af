"""Groups in an audit: whose rows tell a secret, and how many secrets there are.

*Model.* What is constant within a household is one secret, told by the rows of all members. The harm is what the
release tells about this household beyond households like it, so the absent attacker has none of its rows: where he
learns from others' guesses (:mod:`veil.auditing.absent`), people are dealt into folds by whole groups. A household is
counted once, as the mean of its rows, and errors are over households. What varies within groups is a person's own, whom
the attacker misses alone while the mates stay.

Rates over all columns, records and far-out values mix both. Their errors are over the largest groups in which anything
is constant, and they count as many records as independent ones of the same error would be (design effect, Kish 1965).

Whoever holds a record of a household, as a known record or in a sample, was told by it what is constant in it: the
grant tells that of the mates, not the release, and they are not scored on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.knowledge import Rows
from veil.auditing.absent import FOLDS, Fold
from veil.data.blocks import one_array
from veil.data.groups import constant_in
from veil.data.schema import Role
from veil.report.remarks import GroupSizes

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a private table's rows, for the columns that are constant within them.

    ``codes`` are the groups of all rows by column of groups, those of the fewest groups first; ``columns`` the column
    of groups of each column that is constant in them.
    """

    codes: Mapping[str, Codes] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, table: pa.Table, roles: Mapping[str, str], columns: Sequence[str]) -> Groups:
        """The groups of a table by the roles of its columns."""
        names = [name for name, role in roles.items() if role == Role.GROUP and name in table.column_names]
        secrets = [name for name in columns if name not in names]
        constant = constant_in(table, names, secrets).groups
        return cls({name: group_codes(table, name) for name in dict.fromkeys(constant.values())}, constant)

    def mates(self, rows: Rows) -> Rows:
        """Some rows, and all others of their groups."""
        chosen = np.zeros(len(next(iter(self.codes.values()), rows)), dtype=np.bool_)
        if not self.codes:
            return rows
        chosen[rows] = True
        for codes in self.codes.values():
            chosen |= np.isin(codes, codes[rows])
        return np.flatnonzero(chosen)

    def of_columns(self, names: Sequence[str]) -> tuple[Codes | None, ...]:
        """For each column the groups in which it is constant; None where it varies within all."""
        return tuple(self.codes[self.columns[name]] if name in self.columns else None for name in names)


def group_codes(table: pa.Table, name: str) -> Codes:
    """A number for the group of each row; rows without one are groups by themselves."""
    array = one_array(table.column(name))
    codes: Codes = pc.dictionary_encode(array).indices.fill_null(-1).to_numpy().astype(np.intp)
    alone = codes < 0
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return codes


def group_folds(codes: Codes) -> Fold:
    """The fold of each row, the same for all rows of a group; groups are dealt in the order of their first rows."""
    _, first, at = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[at] % FOLDS, dtype=np.intp)


def group_sizes(table: pa.Table, roles: Mapping[str, str], groups: Groups) -> tuple[GroupSizes, ...]:
    """Of each column of groups how many it names, and how many have which size; rows without a group are in none."""
    told = []
    for name in (name for name, role in roles.items() if role == Role.GROUP and name in table.column_names):
        array = one_array(table.column(name))
        _, counts = np.unique(
            group_codes(table, name)[pc.is_valid(array).to_numpy(zero_copy_only=False)], return_counts=True
        )
        sizes, n = np.unique(counts, return_counts=True)
        constant = tuple(column for column, group in groups.columns.items() if group == name)
        pairs = tuple(zip(sizes.tolist(), n.tolist(), strict=True))
        told.append(GroupSizes(name, len(counts), pairs, int((n == 1).sum()), constant))
    return tuple(told)
