"""The papers again: every figure, table and numeric claim, run through the public API with the truth beside it.

One short file per experiment, in a folder per paper; each has an ``EXPERIMENT``. ``veil reproduce`` lists and runs
them.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from veil.errors import InputError
from veil_papers.experiment import PAPERS, Claim, Context, Experiment, Result, Table, save_result

__all__ = [
    "PAPERS",
    "Claim",
    "Context",
    "Experiment",
    "Result",
    "Table",
    "experiments",
    "find_experiments",
    "save_result",
]


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments by id, in the order of the papers and of their chapters."""
    by_id: dict[str, Experiment] = {}
    for paper in PAPERS:
        package = importlib.import_module(f"veil_papers.{paper}")
        own = [
            e for module in pkgutil.iter_modules(package.__path__) for e in _experiment(package.__name__, module.name)
        ]
        for experiment in sorted(own, key=lambda e: e.place):
            if experiment.paper != paper or experiment.id in by_id:
                rule = "is there already" if experiment.id in by_id else f"does not begin with {paper}-, as its folder"
                raise InputError(f"the id {experiment.id!r} of an experiment {rule}")
            by_id[experiment.id] = experiment
    return by_id


def _experiment(package: str, name: str) -> list[Experiment]:
    """The experiment of a file; a file without one is what several share."""
    try:
        module = importlib.import_module(f"{package}.{name}")
    except Exception as error:
        raise InputError(f"the experiments' file {package}.{name} cannot be read: {error}") from error
    return [module.EXPERIMENT] if hasattr(module, "EXPERIMENT") else []


def find_experiments(names: tuple[str, ...]) -> list[Experiment]:
    """Experiments by id, by the name of a figure or table, by paper, or "all"."""
    everything = experiments()
    chosen: list[Experiment] = []
    for name in names:
        wanted = name.lower().replace(" ", "").replace("figure", "fig")
        fitting = [e for e in everything.values() if wanted in ("all", e.paper)] or _called(name, wanted)
        chosen += [e for e in fitting if e not in chosen]
    return chosen


def _called(name: str, wanted: str) -> list[Experiment]:
    """The one experiment of that name."""
    everything = experiments()
    fitting = [e for e in everything.values() if e.called(wanted)]
    if len(fitting) > 1:
        raise InputError(f"{name!r} is in several papers: say {' or '.join(e.id for e in fitting)}")
    if not fitting:
        import difflib

        known = [f"{e.paper}-{own}" for e in everything.values() for own in e.names] + list(PAPERS)
        near = difflib.get_close_matches(wanted, known, n=1) or difflib.get_close_matches(
            wanted, [own for e in everything.values() for own in e.names], n=1
        )
        hint = f"; did you mean {near[0]!r}?" if near else "; veil reproduce lists them"
        raise InputError(f"there is no experiment {name!r}{hint}")
    return fitting
