"""Membership in words: can somebody tell who is in the table?"""

from __future__ import annotations

from veil.report.model import MembershipView
from veil.report.values import Estimate
from veil.report.words import interval, percent


def membership_words(view: MembershipView) -> str:
    """One sentence for everybody: what the attacker has, and how often he is right.

    >>> from veil.report.values import AttackView, Estimate, RocView
    >>> attack, roc = AttackView("membership-attack"), RocView(Estimate(0.521, 0.498, 0.544), Estimate(0.03, 0.0, 0.06))
    >>> print(membership_words(MembershipView(attack, roc, None, 500, 500, False)))
    An attacker who has the records of two people, one of them in the table, tells by the release which one it is in \
52.1 % of cases (49.8 to 54.4 %); a coin gets 50 %.
    >>> print(membership_words(MembershipView(attack, None, roc, 500, 500, False, "nothing can be compared")))
    Whether people whose records are known are in the table was not measured: nothing can be compared; an attacker who \
knows everybody else's record and row tells which of two people is in it in 52.1 % of cases (49.8 to 54.4 %).
    """
    if view.alone is None:
        text = f"Whether people whose records are known are in the table was not measured: {view.reason}"
        strongest = "an attacker who knows everybody else's record and row tells which of two people is in it in"
    else:
        text = (
            "An attacker who has the records of two people, one of them in the table, tells by the release which one "
            f"it is in {_cases(view.alone.area)}; a coin gets 50 %"
        )
        strongest = "one who also knows everybody else's record and row is right in"
    return f"{text}." if view.all_but_one is None else f"{text}; {strongest} {_cases(view.all_but_one.area)}."


def _cases(area: Estimate) -> str:
    return f"{percent(area.value)} of cases ({interval(area.low, area.high)})"
