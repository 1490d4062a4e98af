"""A30: was this person in the table? (:mod:`veil.attacks.linkage.presence`)."""

from __future__ import annotations

from collections.abc import Sequence

from veil.attacks.base import Attack, Memberships, needed
from veil.attacks.knowledge import ExternalTable, Knowledge
from veil.data.blas import one_blas_thread
from veil.release.models import Model, RecordProjectionModel
from veil.release.release import Release


class MembershipAttack(Attack):
    """A30. Tell whether people whose records are known are in the table that was released.

    *Model.* Any release whose rows are records, made by methods that A22 has a likelihood for: noise, factors,
    randomized responses, classes, public columns, rotations that keep the length of a record, and tables from
    elsewhere, real or synthetic, whose noise may have any width. Each person is weighed by the likelihood ratio of the
    whole release with and without them, which is the mean over its rows of those of the pairs.

    *Threat.* The attacker has the record of a person, or some of its columns, and wants to know whether the person was
    among the patients, the debtors, the respondents. He may have records of other people too: they tell how usual a row
    is. ``memberships.beside(rows)`` gives the scores of who knows all records but one and whose they are, the attacker
    of differential privacy.

    *References.* Homer et al. (2008) and Sankararaman et al. (2009) for membership by likelihood ratios; Yeom et al.
    (2018) for its advantage; Zarifzadeh et al. (2024) for other people as the reference; van Breugel et al. (2023) for
    synthetic tables; Dwork et al. (2006) for the attacker who knows all records but one.

    *Knowledge.* An :class:`veil.ExternalTable` of people some of whom may be in the release.

    Notes
    -----
    The result is :class:`veil.attacks.Memberships`: log-odds, from even odds before the release. An audit withholds
    people from the release to see whether the attack tells them from those who are in it
    (:func:`veil.measures.roc_area`, :func:`veil.measures.membership_advantage`).

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(400, 6))
    >>> release, _ = veil.publish(x[:200], veil.AdditiveNoise(0.1, random_state=0))
    >>> scores = MembershipAttack().run(release, veil.ExternalTable(x)).scores
    >>> veil.measures.roc_area(scores[:200], scores[200:]) > 0.99
    True
    """

    catalogue = "A30"
    words = "weighs all rows of the release for and against a person's being in the table"
    requires = (ExternalTable,)
    whole_release = True
    finds_members = True

    def __init__(self, *, variant: str = "best") -> None:
        super().__init__(variant=variant)

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Whatever has records as rows: at least its public columns can be compared."""
        return not isinstance(model, RecordProjectionModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Memberships:
        from veil.attacks.linkage.presence import Presence  # numba compiles it on first use

        presence = Presence(release, needed(knowledge, ExternalTable))
        return Memberships(presence.odds()[0], presence.columns, presence.odds, presence.among)

    def run(self, release: Release, *knowledge: Knowledge) -> Memberships:
        """Say who seems to be in the table; see :meth:`veil.Attack.run`."""
        self._check(release, knowledge)
        with one_blas_thread():
            return self._run(release, knowledge)
