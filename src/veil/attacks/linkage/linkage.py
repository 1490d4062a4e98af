"""A22: link the rows of a release to the people of an external table (:mod:`veil.attacks.linkage.search`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veil.attacks.base import Attack, Guess, needed
from veil.attacks.knowledge import ExternalTable, Knowledge
from veil.attacks.knowledge.previous_releases import count_rows
from veil.release.models import Model, RecordProjectionModel
from veil.release.release import Release


class LinkageAttack(Attack):
    """A22. Link external records to the rows of a release.

    *Knowledge.* An external table that shares columns with the release; the laws in the manifest.

    Parameters
    ----------
    variant : {"best", "nearest"}
        "best": the posterior over rows under the published laws, weighed against the other people and strangers.
        "nearest": the nearest row in standard units of the released columns, whatever the law.
    overlap : float, default 1.0
        The share of the external people that the attacker takes to be in the release (at most N/m of them can be).

    Notes
    -----
    All parts of the release and its public columns are used. ``guess.details``: ``links``, the row of each external
    record or −1; ``probability``, ``present`` and ``columns`` as in :class:`veil.attacks.linkage.search.Links`. The
    guess itself is NaN: a link tells who a row is, and no new value.
    """

    catalogue = "A22"
    words = "looks for people of another table in the release and says which rows are theirs"
    requires = (ExternalTable,)
    whole_release = True
    variants = ("best", "nearest")

    def __init__(self, *, variant: str = "best", overlap: float = 1.0) -> None:
        super().__init__(variant=variant)
        self.overlap = overlap

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Whatever has records as rows: at least its public columns can be compared."""
        return not isinstance(model, RecordProjectionModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        from veil.attacks.linkage.search import link_records  # numba compiles it on first use

        found = link_records(release, needed(knowledge, ExternalTable), variant=self.variant, overlap=self.overlap)
        names = tuple(name for step in release.manifest.parts for name in step.names)
        n = count_rows(release)
        details = {
            "links": found.rows,
            "probability": found.probability,
            "present": found.present,
            "columns": found.columns,
        }
        return Guess(np.full((n, len(names)), np.nan), names, np.arange(n), "match", details)
