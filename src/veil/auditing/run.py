"""The main job: publish, grant knowledge, attack, judge, collect.

Risk is the strongest attack found, never a distance between the release and the truth.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from veil._version import __version__
from veil.arguments import duration, flag, whole
from veil.attacks import Attack, every_attack, find_attack
from veil.attacks.knowledge.previous_releases import PreviousReleases
from veil.auditing.elsewhere.foreign import ForeignExposures, ForeignPlan
from veil.auditing.elsewhere.matching import Attacked, attacked_either_way
from veil.auditing.exposure import Exposures
from veil.auditing.goals import Goals, as_goals
from veil.auditing.grants import Grants, as_grants
from veil.auditing.memory import Cache, default_folder
from veil.auditing.result import Audit
from veil.auditing.rows import Candidate
from veil.auditing.sampling import MOST_RECORDS
from veil.auditing.spread import KEYS, keys_for
from veil.auditing.trials.findings import remarks_on_largest
from veil.auditing.trials.schedule import Schedule
from veil.auditing.trials.trial import TrialRunner
from veil.data.schema import as_roles
from veil.errors import InputError
from veil.perturbations import Perturbation
from veil.progress import Course, Watch
from veil.publishing.plan import Plan, as_plan
from veil.release.release import Release
from veil.report.progress import watched

REPETITIONS = KEYS[0]
REPETITIONS_OF_GRANTS = 80
"""Runs with newly granted knowledge on one release: 73 that fail show that at most 5 % of grants break it."""


SHARE_OF_ORDER = 0.6
"""What attacks by the given matching are of an audit, where they may be run again by another one."""


def audit(
    table: Any,
    perturbations: Perturbation | Plan | Sequence[Perturbation | Plan] | None = None,
    *,
    release: Any = None,
    match: str | None = "order",
    previous: Sequence[Any] = (),
    previous_id: str | None = None,
    attacks: Literal["all"] | Sequence[str | Attack] = "all",
    grants: Grants | None = None,
    goals: Goals | str | Sequence[str] | None = None,
    roles: Mapping[str, str] | None = None,
    target: str | None = None,
    n_clusters: int = 3,
    repetitions: int | None = None,
    budget: float | str | None = None,
    seed: int | None = None,
    records: int | None = MOST_RECORDS,
    workers: int | None = None,
    cache: bool | str | Path = False,
    first_break: bool = False,
    progress: Watch = None,
) -> Audit:
    """Perturb, attack and judge: what would this release give away, and what is it good for?

    Parameters
    ----------
    table
        The private table: a frame, a 2-D numpy array, a file path, or a Dask frame, of which no more than ``records``
        are collected.
    perturbations
        One candidate or several. With ``release``, the description of the method that made it, if there is one.
    release
        A release that was made elsewhere, to be audited instead: a table or a file. The attacks that need no
        description are run then, too.
    match
        Which row of such a release is whose: "order", a column that both tables have, or None when it is not known.
        Scores are then held against strangers, and the report says that the matching was inferred. Where the data do
        not support what is given, that is done as well, and the stronger result counts.
    previous
        Earlier releases of the same people that the attacker has: releases, their folders, or
        :class:`veil.PreviousReleases` with rows, or tuples of a release, the private table that it was made of and, if
        its rows were shuffled, its key. Adds attacks that average and difference them.
    previous_id
        The column that names a person in the table and in the private tables of such tuples. It need not be released.
    attacks
        "all" that apply, or attacks by name or object.
    grants
        The knowledge levels to go through; a sweep over every kind by default.
    goals
        The thresholds to hold, or sentences that say them (:meth:`veil.Goals.from_words`).
    roles
        Column roles, as for :func:`veil.publish`.
    target
        A public column that analysts want to predict; adds the utility "classification".
    n_clusters
        Number of clusters for the utility "clusters".
    repetitions
        How often, at most, an attack is run with a new key and newly granted knowledge: one that estimates one
        matrix, whose interval is over these, and any whose interval does not settle the goal. It stops once it is shown
        to break the goal. To show that at most 5 % of keys break takes 73. By default 10, and of attacks on single
        records 30 or 100 where the table has fewer than 5,000 or 1,667; 80 for a release made elsewhere.
    budget
        Time to spend, in seconds or as "2m": attacks that could still change the verdict are run up to 100 times, as
        long as there is time. What could not be run at all is said.
    seed
        Makes the audit reproducible; None takes fresh keys and grants.
    records
        Records to work on: of a larger table a uniform sample, and the audit says so. None takes all of them, as do
        audits of a release made elsewhere or with ``previous``.
    workers
        Processes at most; None is one per processor. Short audits need none.
    cache
        Keep results for the next audit of the same table and candidate: True for the user's cache folder, or a folder.
        Its files are of mode 0600.
    first_break
        Stop at the first attack that is shown to break a goal, and say what was not tried: for tests that only ask
        whether a release may go out. Utilities are measured when no attack broke any.
    progress
        True for a bar on standard error, in a terminal or a notebook and only if it lasts; or a callback: what is done,
        and how much of a thousand.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> audit = veil.audit(x, veil.OrthogonalTransform(), grants=veil.Grants.only(pairs=3), seed=0)
    >>> audit.passed, audit.worst.attack, audit.worst.knowledge
    (False, 'known-pairs-attack', '3 known records')
    """
    began = time.monotonic()
    if release is None and match != "order":
        raise InputError("match says whose row is whose in a release that is there already; give release, too")
    asked = None if repetitions is None else whole(repetitions, "repetitions", least=1)
    repetitions = asked or (REPETITIONS if release is None else REPETITIONS_OF_GRANTS)
    n_clusters = whole(n_clusters, "n_clusters", least=1)
    seed = None if seed is None else whole(seed, "seed")
    workers = None if workers is None else whole(workers, "workers", least=1)
    seconds = None if budget is None else duration(budget, "budget")
    goals, grants, first_break = as_goals(goals), as_grants(grants), flag(first_break, "first_break")
    chosen = _as_attacks(attacks)
    candidates = _as_candidates(perturbations, foreign=release is not None)
    exposures: Exposures
    if release is None:
        exposures = Exposures(
            table,
            candidates,
            roles=as_roles(roles),
            grants=grants,
            seed=seed,
            previous=_listed(previous),
            previous_id=previous_id,
            most=None if records is None else whole(records, "records", least=4),
        )
    else:
        described = candidates[0] if candidates else None
        foreign = partial(ForeignExposures, table, release, described=described, grants=grants, seed=seed)
        exposures = foreign(
            match=_as_match(match), previous=_listed(previous), previous_id=previous_id, roles=as_roles(roles)
        )
        candidates = candidates or [ForeignPlan()]
    labels = exposures.labels(target)
    goals.check_against(exposures.levels, exposures.columns)
    answers, everything = _as_cache(cache), list[Candidate]()

    def attacked(exposures: Exposures, goals: Goals, began: float, seconds: float | None) -> Attacked:
        schedule = Schedule(
            TrialRunner(exposures, candidates, chosen, goals.tolerance, goals.largest),
            goals,
            repetitions=repetitions,
            seconds=seconds,
            workers=workers,
            uses={"n_clusters": n_clusters, "labels": labels},
            cache=answers,
            progress=course,
            first_break=first_break,
            of_records=asked or max(repetitions, keys_for(len(exposures.truth))),
        )
        audited = tuple(schedule.candidates(began))
        everything.extend(audited)
        course.next_step()
        return Attacked(
            audited,
            (*exposures.remarks(), *schedule.remarks(), *remarks_on_largest(audited, goals)),
            schedule.remembered,
        )

    with watched(progress, seconds=seconds) as report:
        course = Course(report, share=1.0 if release is None else SHARE_OF_ORDER)
        if isinstance(exposures, ForeignExposures):
            unmatched = partial(foreign, match=None, roles={**exposures.key_role, **as_roles(roles)})
            result = attacked_either_way(exposures, unmatched, goals, attacked, began, seconds)
        else:
            result = attacked(exposures, goals, began, seconds)
    if attacks != "all":
        _check_all_ran(chosen, everything)
    context = {**audit_context(seed, repetitions, seconds, grants, chosen), "remembered": result.remembered}
    return Audit(
        result.candidates,
        goals,
        len(exposures.truth),
        exposures.columns,
        context,
        result.matching,
        result.remarks,
        result.order,
        exposures.public_columns(),
        (exposures.table_rows, exposures.table_columns),
        exposures.group_sizes(),
    )


def audit_context(
    seed: int | None, repetitions: int, seconds: float | None, grants: Grants, attacks: Sequence[Attack]
) -> dict[str, Any]:
    """What is needed to repeat an audit: versions and settings, no secrets."""
    return {
        "veil": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "seed": "fixed" if seed is not None else "fresh",
        "repetitions": repetitions,
        "budget": seconds,
        "sample_from": grants.sample_from,
        "attacks": [attack.label for attack in attacks],
    }


def _check_all_ran(attacks: Sequence[Attack], candidates: Sequence[Candidate]) -> None:
    """An attack that was asked for by name and never ran is an error, not a pass."""
    ran = {row.attack for candidate in candidates for row in candidate.rows}
    told = [candidate.membership for candidate in candidates if candidate.membership is not None]
    ran |= {each.attack for each in told if each.alone is not None or each.all_but_one is not None}
    for attack in attacks:
        if attack.label in ran:
            continue
        reasons = [s.reason for c in candidates for s in c.skipped if s.attack == attack.label]
        reasons += [each.reason for each in told if each.attack == attack.label]
        needs = ", ".join(kind.__name__ for kind in attack.requires) or "public columns"
        reason = reasons[0] if reasons else f"no level grants {needs}"
        raise InputError(f"attacks: {attack.label} was asked for and could not run: {reason}")


def _as_candidates(perturbations: Any, *, foreign: bool) -> list[Plan]:
    if perturbations is None and foreign:
        return []
    methods = list(perturbations) if isinstance(perturbations, Sequence) else [perturbations]
    if not methods or not all(isinstance(p, Perturbation | Plan) for p in methods):
        raise InputError("perturbations must be one perturbation or a list of them, for example AdditiveNoise()")
    if foreign and len(methods) > 1:
        raise InputError(f"perturbations: a release was made by one method; got {len(methods)} descriptions of it")
    return [as_plan(p) for p in methods]


def _as_match(match: Any) -> str | None:
    if match is not None and not isinstance(match, str):
        raise InputError('match must be "order", the name of a column that both tables have, or None')
    return match


def _listed(previous: Any) -> list[Any]:
    if isinstance(previous, str | Path | Release | PreviousReleases):
        return [previous]
    if not isinstance(previous, Sequence):
        raise InputError("previous must be a list of earlier releases")
    return list(previous)


def _as_attacks(attacks: Literal["all"] | Sequence[str | Attack]) -> list[Attack]:
    if isinstance(attacks, str):
        attacks = every_attack() if attacks == "all" else [attacks]
    right = isinstance(attacks, Sequence) and bool(attacks) and all(isinstance(a, str | Attack) for a in attacks)
    if not right:
        raise InputError("attacks must be 'all', or a list of attacks or their names, for example ['bayes-estimate']")
    return [a if isinstance(a, Attack) else find_attack(a)() for a in attacks]


def _as_cache(cache: Any) -> Cache | None:
    if cache is False or cache is None:
        return None
    if cache is not True and not isinstance(cache, str | Path):
        raise InputError("cache must be True, False, or a folder")
    if cache == "":
        raise InputError("cache is empty; give a folder, or True for the user's own")
    return Cache(default_folder() if cache is True else Path(cache))
