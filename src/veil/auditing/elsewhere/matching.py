"""An audit of a release from elsewhere by the matching that is given and, where the data do not support it, by content.

A wrong order makes every attack look harmless. So copies of private records are counted first, whatever the order; and
where the matching is not supported (:mod:`veil.auditing.elsewhere.order`) the audit is run both ways. A test that fails
does not show that the order is wrong, so neither way is left out: the one that gives more away counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from veil.auditing.elsewhere.foreign import ForeignExposures
from veil.auditing.exposure import Exposures
from veil.auditing.goals import Goals
from veil.auditing.rows import Candidate
from veil.auditing.summary import gives_more_away
from veil.report.remarks import OrderTest
from veil.report.values import Matching


@dataclass(frozen=True)
class Attacked:
    """What a course of attacks has brought: candidates, remarks, remembered runs, and how rows were matched."""

    candidates: tuple[Candidate, ...]
    remarks: tuple[str, ...]
    remembered: int
    matching: Matching = Matching.KNOWN
    order: OrderTest | None = None


Attacks = Callable[[Exposures, Goals, float, float | None], Attacked]
"""Runs the attacks on exposures for goals, from a time on for so many seconds."""


def attacked_either_way(
    exposures: ForeignExposures,
    unmatched: Callable[[], ForeignExposures],
    goals: Goals,
    attacked: Attacks,
    began: float,
    seconds: float | None,
) -> Attacked:
    """Count copies, attack by the given matching and, where it is in doubt, by content; ``unmatched`` forgets it."""
    copied, order = exposures.copied(goals), exposures.order
    if order is None or order.supported:
        result = attacked(exposures, goals, began, seconds)
        matching = Matching.KNOWN if exposures.matched else Matching.INFERRED
    else:
        half = None if seconds is None else seconds / 2.0
        by_order = attacked(exposures, goals, began, half)
        content = unmatched()
        by_content = attacked(content, goals.among(content.levels), time.monotonic(), half)
        order = replace(order, by_content=gives_more_away(by_content.candidates[0], by_order.candidates[0]))
        result = by_content if order.by_content else by_order
        result = replace(
            result, remarks=(str(order), *result.remarks), remembered=by_order.remembered + by_content.remembered
        )
        matching = Matching.INFERRED if order.by_content else Matching.KNOWN
    candidates = tuple(replace(each, other_failures=(*copied, *each.other_failures)) for each in result.candidates)
    return replace(result, candidates=candidates, matching=matching, order=order)
