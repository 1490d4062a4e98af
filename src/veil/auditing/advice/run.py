"""Advice: which method, and how strong, so that every goal holds at the best utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from veil.arguments import duration, whole
from veil.auditing import Goals, Grants
from veil.auditing.advice.result import Advice
from veil.auditing.advice.search import Search
from veil.auditing.goals import as_goals
from veil.auditing.grants import as_grants
from veil.auditing.processes import kept_processes
from veil.data.schema import as_roles
from veil.errors import InputError
from veil.perturbations import Perturbation
from veil.progress import Watch
from veil.publishing.plan import Plan
from veil.report.progress import watched


def advise(
    table: Any,
    candidates: Sequence[Perturbation | Plan | str] | None = None,
    *,
    goals: Goals | str | Sequence[str] | None = None,
    grants: Grants | None = None,
    roles: Mapping[str, str] | None = None,
    target: str | None = None,
    n_clusters: int = 3,
    budget: float | str | None = None,
    seed: int | None = None,
    workers: int | None = None,
    shuffle: bool | None = None,
    plan: Plan | None = None,
    progress: Watch = None,
) -> Advice:
    """Which method, and how strong, so that every goal holds at the best utility?

    Parameters
    ----------
    table
        The private table.
    candidates
        What to choose from: names of methods whose strength is searched ("additive-noise", "correlated-noise",
        "multiplicative-noise", "log-normal-noise"), and perturbations that are tried as they are. All by default.
    goals
        The thresholds to hold, or sentences that say them (:meth:`veil.Goals.from_words`). Utilities that they name
        are the ones that count, else the mean of all.
    grants, roles, target, n_clusters, seed, workers
        As for :func:`veil.audit`.
    shuffle
        Whether rows are to be released in a secret order. None shuffles them where neighbouring rows resemble each
        other, since their order then tells what noise hides; False keeps the order, for tables in which it matters.
    plan
        What the owner has decided: roles, a secret order of rows, and the methods of the columns that its parts name.
        These are kept in what is recommended; its method for all other columns is tried beside the others.
    budget
        Time to spend, in seconds or as "5m". When it is short, fewer settings are tried.
    progress
        As for :func:`veil.audit`.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(400, 3))
    >>> goals, grants = veil.Goals(max_advantage=0.2), veil.Grants.only()
    >>> advice = veil.advise(x, ["additive-noise"], goals=goals, grants=grants, seed=0)
    >>> advice.possible, advice.audit.passed, type(advice.recommendation).__name__
    (True, True, 'AdditiveNoise')
    """
    wanted = as_goals(goals)
    if plan is not None and not isinstance(plan, Plan):
        raise InputError(f"plan must be a veil.Plan; got a {type(plan).__name__}", parameter="plan")
    if wanted.max_membership is not None:
        raise InputError(
            "goals: advice does not search by max_membership; leave it out, and audit what is recommended with it",
            parameter="max_membership",
        )
    seconds = None if budget is None else duration(budget, "budget")
    with watched(progress, seconds=seconds) as report:
        search = Search(
            table,
            candidates,
            goals=wanted,
            grants=as_grants(grants),
            roles={**({} if plan is None else plan.roles), **as_roles(roles)},
            target=target,
            n_clusters=whole(n_clusters, "n_clusters", least=1),
            seconds=seconds,
            seed=None if seed is None else whole(seed, "seed"),
            workers=None if workers is None else whole(workers, "workers", least=1),
            shuffle=_as_shuffle(shuffle, plan),
            plan=plan,
            progress=report,
        )
        with kept_processes():
            return search.advice()


def _as_shuffle(shuffle: Any, plan: Plan | None) -> bool | None:
    """Whether rows are to be shuffled: as asked for, else as the plan says, else as the table decides."""
    if shuffle is not None and not isinstance(shuffle, bool):
        raise InputError("shuffle must be True, False, or None to let the table decide")
    return True if shuffle is None and plan is not None and plan.shuffle else shuffle
