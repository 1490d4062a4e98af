"""Membership in an audit: can people who are in the table be told from people who are not (A30)?

*People.* A fifth of the records is withheld from a release that is made for this, and the attack weighs as many people
who are in it as people who are not, by their whole records. From a release that is there already nobody can be
withheld: there everybody is weighed with the own row and without it. Where nobody knows whose row is whose, people are
weighed a twentieth at a time, by the released rows and by as many private records of others among these, which stand
in for fresh draws of the population (:mod:`veil.auditing.elsewhere.people`). Were all of them fresh draws, which are
which would be chance: how the area varies when these labels are shuffled is its least error, since people resemble each
other and one sample of rows suits many of them better than another.

*All but one.* Who knows all other records and their rows has to decide about one row: of members their own, of
strangers somebody else's. Where a method has a secret matrix, the other people who are weighed give it to him.

*What counts.* Membership is told beside the verdict and counts only where a goal is set (``Goals(max_membership=…)``).
In most tables to be in them is no secret (the people of a town, the employees of a firm), and whoever can say that a
person is in the table has the person's whole record already: that harms where the table itself tells something, as one
of patients or debtors does, and that only its owner knows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from veil import measures
from veil.attacks.knowledge import ExternalTable, Rows
from veil.attacks.linkage.membership import MembershipAttack
from veil.data.blas import one_blas_thread
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.measures import Measure
from veil.release.release import Release

if TYPE_CHECKING:
    from veil.attacks.linkage.presence import Presence

WITHHELD: Final = 0.2
"""The share of the records that is withheld."""
MOST_PAIRS: Final = 16_000_000
"""Pairs of a person and a released row that are weighed."""
FEWEST: Final = 2
GROUPS: Final = 20
"""Groups of people whom others stand in for, one after the other."""
SHUFFLES: Final = 19
QUANTILE: Final = 2.1
"""Standard errors in half of a 95 % interval, where the error is known from that many shuffles."""
ADDRESS: Final = 0x4D454D42
"""Where the randomness of membership comes from under a seed; no level of knowledge has this number."""


@dataclass(frozen=True)
class Roc:
    """How well members are told from strangers: the area under the ROC curve, and the advantage TPR − FPR."""

    area: Measure
    advantage: Measure


@dataclass(frozen=True)
class Membership:
    """What an attack tells about who is in the table.

    Attributes
    ----------
    attack
        Its label.
    alone
        With the records of people who may be in the table; None where it was not measured, and ``reason`` says why.
    all_but_one
        For who knows all other records and their rows; None where it was not measured, or nobody knows whose row is
        whose.
    n_members, n_strangers
        The people who were weighed.
    """

    attack: str
    alone: Roc | None = None
    all_but_one: Roc | None = None
    n_members: int = 0
    n_strangers: int = 0
    reason: str = ""


@dataclass(frozen=True)
class People:
    """People beside a release that some or all of them are in.

    Attributes
    ----------
    release, table
        The release, and what is known of the people.
    rows
        Their rows in it, −1 for people who are not.
    others
        Rows of somebody else, one for each person.
    fresh
        Which rows of the release are private records of others, and the same after the labels were shuffled, S + 1 × N;
        None where all rows are the release's.
    """

    release: Release
    table: ExternalTable
    rows: Rows
    others: Rows
    fresh: npt.NDArray[np.bool_] | None = None


def n_people(n_rows: int, n_there: int) -> int:
    """How many people of a kind are weighed against a release of n rows."""
    return max(FEWEST, min(n_there, MOST_PAIRS // max(2 * n_rows, 1)))


def other_rows(rows: Rows, n_rows: int, rng: np.random.Generator) -> Rows:
    """A row of somebody else for each person."""
    others = rng.integers(0, n_rows, len(rows))
    return np.where(others == rows, (others + 1) % n_rows, others).astype(np.intp)


def membership(attack: MembershipAttack, groups: Sequence[People]) -> Membership:
    """Run an attack on groups of people, and hold members against strangers."""
    with one_blas_thread():
        try:
            if groups[0].fresh is None:
                return _with_and_without(attack, groups[0])
            return _beside_fresh(attack, groups)
        except (InputError, NotApplicableError) as error:
            return Membership(attack.label, reason=str(error))


def _with_and_without(attack: MembershipAttack, people: People) -> Membership:
    """People in a release against people withheld from it or, where everybody is in it, against themselves."""
    presence, inside = attack.weigh(people.release, people.table), people.rows >= 0
    paired = bool(inside.all())
    rocs, reason = list[Roc | None](), ""
    for scores in (_alone, _all_but_one):
        try:
            members, strangers = scores(presence, people, paired=paired)
            rocs.append(_roc(members[inside], strangers if paired else strangers[~inside], paired=paired))
        except NotApplicableError as error:
            rocs.append(None)
            reason = reason or str(error)
    n = int(inside.sum())
    return Membership(attack.label, rocs[0], rocs[1], n, len(inside) if paired else len(inside) - n, reason)


def _alone(presence: Presence, people: People, *, paired: bool) -> tuple[Vector, Vector]:
    """Scores of everybody; of the same people as strangers, with the own row taken out."""
    scores = presence.scores()
    return scores, presence.without(people.rows) if paired else scores


def _all_but_one(presence: Presence, people: People, *, paired: bool) -> tuple[Vector, Vector]:
    """Scores of members by the own row, and of strangers by somebody else's."""
    scores = presence.of_rows(np.where(people.rows >= 0, people.rows, people.others), people.rows)
    return scores, presence.of_rows(people.others, people.rows) if paired else scores


def _beside_fresh(attack: MembershipAttack, groups: Sequence[People]) -> Membership:
    """People by released rows against the same people by records of others, with the luck of the two samples."""
    weighed = list[tuple[Matrix, Matrix]]()
    for people in groups:
        presence, fresh = attack.weigh(people.release, people.table), people.fresh
        assert fresh is not None  # noqa: S101 - for the type checker
        weighed.append((presence.among(~fresh), presence.among(fresh)))
    members, strangers = (np.hstack(sides) for sides in zip(*weighed, strict=True))
    roc, *shuffled = (_roc(*sides, paired=True) for sides in zip(members, strangers, strict=True))
    n = members.shape[1]
    return Membership(attack.label, _with_luck(roc, [each.area for each in shuffled]), None, n, n)


def _with_luck(roc: Roc, shuffled: Sequence[Measure]) -> Roc:
    """Intervals no narrower than how the area varies when labels are shuffled; the advantage's in proportion."""
    luck = QUANTILE * math.sqrt(float(np.mean([(float(area) - 0.5) ** 2 for area in shuffled])))
    half = max((roc.area.high - roc.area.low) / 2.0, 1e-9)
    wider = max(1.0, luck / half)
    area, advantage = (
        Measure(
            float(each),
            low=max(0.0, float(each) - wider * (float(each) - each.low)),
            high=min(1.0, float(each) + wider * (each.high - float(each))),
            higher_is="exposed",
        )
        for each in (roc.area, roc.advantage)
    )
    return Roc(area, advantage)


def _roc(members: Vector, strangers: Vector, *, paired: bool) -> Roc:
    area = measures.roc_area(members, strangers, paired=paired)
    return Roc(area, measures.membership_advantage(members, strangers, paired=paired))


def to_json(found: Membership) -> dict[str, Any]:
    """A result as JSON values, to be remembered."""
    rocs = {
        name: None if roc is None else [[float(m), m.low, m.high] for m in (roc.area, roc.advantage)]
        for name, roc in (("alone", found.alone), ("all_but_one", found.all_but_one))
    }
    numbers = {"n_members": found.n_members, "n_strangers": found.n_strangers}
    return {"attack": found.attack, "reason": found.reason, **numbers, **rocs}


def from_json(value: Mapping[str, Any]) -> Membership:
    """Back from :func:`to_json`."""
    rocs = {
        name: None
        if value[name] is None
        else Roc(*(Measure(float(v), low=float(a), high=float(b), higher_is="exposed") for v, a, b in value[name]))
        for name in ("alone", "all_but_one")
    }
    return Membership(
        str(value["attack"]),
        rocs["alone"],
        rocs["all_but_one"],
        int(value["n_members"]),
        int(value["n_strangers"]),
        str(value["reason"]),
    )
