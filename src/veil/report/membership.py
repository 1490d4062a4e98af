"""Membership in words: can somebody tell who is in the table?"""

from __future__ import annotations

from veil.report.model import MembershipView
from veil.report.words import interval, percent


def membership_words(view: MembershipView) -> str:
    """One sentence for everybody.

    >>> from veil.report.values import AttackView, Estimate, RocView
    >>> roc = RocView(Estimate(0.521, 0.498, 0.544), Estimate(0.03, 0.0, 0.06))
    >>> print(membership_words(MembershipView(AttackView("membership-attack"), roc, None, 500, 500, False)))
    Of two people whose records are known, one of them in the table, an attacker picks the right one in 52.1 % of \
cases (49.8 to 54.4 %); a coin gets 50 %.
    """
    if view.alone is None:
        return f"Whether somebody is in the table was not measured: {view.reason}."
    area = view.alone.area
    text = (
        "Of two people whose records are known, one of them in the table, an attacker picks the right one in "
        f"{percent(area.value)} of cases ({interval(area.low, area.high)}); a coin gets 50 %"
    )
    if view.all_but_one is None:
        return f"{text}."
    return f"{text}, and who knows all other records {percent(view.all_but_one.area.value)}."
