"""A22: link the rows of a release to the people of an external table (:mod:`veil.attacks.linkage.search`)."""

from __future__ import annotations

from collections.abc import Sequence

from veil.attacks.base import Attack, Links, needed
from veil.attacks.knowledge import ExternalTable, Knowledge
from veil.data.blas import one_blas_thread
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
    All parts of the release and its public columns are used. The result is :class:`veil.attacks.Links`, and no guess: a
    link tells who a row is, and no new value.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> release, _ = veil.publish(x, veil.AdditiveNoise(0.01, random_state=0))
    >>> LinkageAttack().run(release, veil.ExternalTable(x[[5, 17]])).rows.tolist()
    [5, 17]
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

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Links:
        from veil.attacks.linkage.search import link_records  # numba compiles it on first use

        return link_records(release, needed(knowledge, ExternalTable), variant=self.variant, overlap=self.overlap)

    def run(self, release: Release, *knowledge: Knowledge) -> Links:
        """Link the people of an external table to the rows of a release; see :meth:`veil.Attack.run`."""
        checked = self._checked(release, knowledge)
        with one_blas_thread():
            return self._run(release, checked)
