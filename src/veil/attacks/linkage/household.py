"""A32: link whole households of an external table to those of a release (:mod:`veil.attacks.linkage.members`)."""

from __future__ import annotations

from collections.abc import Sequence

from veil.attacks.base import Attack, Links, needed
from veil.attacks.knowledge import ExternalTable, Knowledge
from veil.data.blas import one_blas_thread
from veil.release.models import Model, PseudonymModel
from veil.release.release import Release


class HouseholdLinkageAttack(Attack):
    """A32. Link households, and so their members, to the rows of a release that keeps members together.

    *Model.* Any release with a column of groups (households, firms, patients) as pseudonyms (P20), and other columns
    that A22 can compare. Equal pseudonyms say which rows belong together, and the ages and sexes of all members are far
    more unique than those of one.

    *Threat.* The attacker knows who lives with whom, and something of each: a neighbour, a register of addresses.

    *References.* Fellegi and Sunter (1969) for the likelihood ratios; Fu, Christen and Boot (2011) for linking
    households by all of their members.

    *Knowledge.* An :class:`veil.ExternalTable` with the column of groups, in names of its own: only who shares one
    counts.

    Notes
    -----
    The result is :class:`veil.attacks.Links`, as of :class:`veil.LinkageAttack`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, veil
    >>> rng = np.random.default_rng(0)
    >>> home = np.repeat(np.arange(100), 3)
    >>> people = pd.DataFrame({"home": home, "age": rng.normal(40.0, 20.0, 300)})
    >>> release, _ = veil.publish(people, veil.AdditiveNoise(0.1, random_state=0), roles={"home": "group"})
    >>> right = {}
    >>> for attack in (HouseholdLinkageAttack(), veil.LinkageAttack()):
    ...     links = attack.run(release, veil.ExternalTable(people))
    ...     right[attack.label] = round(float((links.rows == np.arange(300)).mean()), 2)
    >>> right["household-linkage-attack"] > 5 * right["linkage-attack"]
    True
    """

    catalogue = "A32"
    words = "looks for whole households of another table in the release, by all of their members together"
    requires = (ExternalTable,)
    whole_release = True
    needs_groups = True

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Pseudonyms, which say which rows belong together."""
        return isinstance(model, PseudonymModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Links:
        from veil.attacks.linkage.members import link_households  # numba compiles it on first use

        return link_households(release, needed(knowledge, ExternalTable))

    def run(self, release: Release, *knowledge: Knowledge) -> Links:
        """Link the people of an external table to the rows of a release; see :meth:`veil.Attack.run`."""
        checked = self._checked(release, knowledge)
        with one_blas_thread():
            return self._run(release, checked)
