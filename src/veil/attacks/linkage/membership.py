"""A30: was this person in the table? (:mod:`veil.attacks.linkage.presence`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from veil.attacks.base import Attack, Memberships, needed
from veil.attacks.knowledge import ExternalTable, Knowledge
from veil.data.blas import one_blas_thread
from veil.release.models import Model, RecordProjectionModel
from veil.release.release import Release

if TYPE_CHECKING:
    from veil.attacks.linkage.presence import Presence


class MembershipAttack(Attack):
    """A30. Tell whether people whose records are known are in the table that was released.

    *Model.* Any release whose rows are records: noise, factors, randomized responses, classes and public columns by
    their published laws, as A22 has them; tables from elsewhere, real or synthetic, by laws that are learned; and
    columns that a secret matrix mixes as the attacks that have a sample restore them (A11, A13, A21, A27). Parities of
    bits (P9) and pseudonyms cannot be compared with a record. Each person is weighed by the likelihood ratio of the
    whole release with and without them, which is the mean over its rows of those of the pairs.

    *Threat.* The attacker has the record of a person, or some of its columns, and wants to know whether the person was
    among the patients, the debtors, the respondents. He may have records of other people too: they tell how usual a row
    is. Who knows all records but one, and their rows, is the attacker of differential privacy (:meth:`weigh`, and
    ``of_rows`` of what it returns); rotations, projections and other secret matrices hide nothing from him.

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

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Whatever has records as rows: at least its public columns can be compared."""
        return not isinstance(model, RecordProjectionModel)

    def weigh(self, release: Release, external: ExternalTable) -> Presence:
        """A release beside people, to be weighed by all rows or by some; for who knows all records but one, too."""
        from veil.attacks.linkage.presence import Presence  # numba compiles it on first use

        return Presence(release, needed(self._checked(release, [external]), ExternalTable))

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Memberships:
        presence = self.weigh(release, needed(knowledge, ExternalTable))
        return Memberships(presence.scores(), presence.columns)

    def run(self, release: Release, *knowledge: Knowledge) -> Memberships:
        """Say who seems to be in the table; see :meth:`veil.Attack.run`."""
        checked = self._checked(release, knowledge)
        with one_blas_thread():
            return self._run(release, checked)
