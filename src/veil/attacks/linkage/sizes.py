"""How many members a group has, as a clue for record linkage (A22): pseudonyms hide who a household is, not its size.

*Model.* The release has s rows of a pseudonym, the external table e rows of the person's group. They agree with the
probability 1 − η, else s is that of any row, π(s)::

    P[s | e] = (1 − η)·[s = e] + η·π(s)

Both tables may lack members. Where as many rows agree as can, the shares of the sizes in both overlap by
Σ min(π(s), π'(s)), so that η is at least one less this overlap; it counts as that, and as at least 5 %.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veil.attacks.linkage.likelihood import Codes, TableClue
from veil.data.blocks import Matrix

FEWEST_DIFFER = 0.05
"""The least share of people whose groups count as having other sizes in the two tables."""
MOST_MEMBERS = 100
"""From where on sizes count as equal."""


def size_clue(people: Codes, rows: Codes) -> TableClue | None:
    """The clue of group sizes, by the groups of external people and of released rows; −1 for none.

    >>> clue = size_clue(np.array([0, 0, 1]), np.array([5, 5, 6]))
    >>> clue.score(slice(None)).round(1).tolist()
    [[0.4, 0.4, -3.0], [0.4, 0.4, -3.0], [-3.0, -3.0, 1.1]]
    """
    of_people, of_rows = _sizes(people), _sizes(rows)
    known, released = of_people[of_people >= 0], of_rows[of_rows >= 0]
    if not len(known) or len(np.unique(released)) < 2:
        return None
    return TableClue(_log_ratios(known, released), of_people, of_rows)


def size_ratios(households: Codes, groups: Codes) -> Callable[[slice], Matrix]:
    """The log-ratios of some households (rows) and all groups (columns), by how many members each has."""
    of_households, of_groups = (np.minimum(sizes, MOST_MEMBERS) for sizes in (households, groups))
    table = _log_ratios(of_households, of_groups)
    return lambda some: table[np.ix_(of_households[some], of_groups)]


def _log_ratios(known: Codes, released: Codes) -> Matrix:
    """ln P[s | e]/π(s) by the sizes e that are known and s that are released."""
    theirs, ours = (np.bincount(each, minlength=MOST_MEMBERS + 1) / len(each) for each in (known, released))
    differ = max(1.0 - float(np.minimum(theirs, ours).sum()), FEWEST_DIFFER)
    share = np.maximum(ours, 1.0 / len(released))
    return np.asarray(np.log(np.full((len(ours), len(ours)), differ) + np.diag((1.0 - differ) / share)))


def _sizes(groups: Codes) -> Codes:
    """How many rows the group of each row has; −1 for rows without one."""
    there = groups >= 0
    sizes = np.full(len(groups), -1, dtype=np.int64)
    sizes[there] = np.minimum(np.bincount(groups[there])[groups[there]], MOST_MEMBERS)
    return sizes
