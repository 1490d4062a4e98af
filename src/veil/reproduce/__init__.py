"""The papers again: every figure, table and numeric claim, run through the public API with the truth beside it.

One short file per experiment, in a folder per paper; each has an ``EXPERIMENT``. ``veil reproduce`` lists and runs
them.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from veil.errors import InputError
from veil.reproduce.experiment import PAPERS, Claim, Context, Experiment, Result, Table, save_result

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
    """All experiments by id, in the order of the papers."""
    found: dict[str, Experiment] = {}
    for paper in PAPERS:
        try:
            package = importlib.import_module(f"veil.reproduce.{paper}")
        except ModuleNotFoundError:
            continue
        modules = [
            importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)
        ]
        # A file without one is what several share.
        own: list[Experiment] = [module.EXPERIMENT for module in modules if hasattr(module, "EXPERIMENT")]
        found |= {experiment.id: experiment for experiment in sorted(own, key=lambda e: e.place)}
    return found


def find_experiments(names: tuple[str, ...]) -> list[Experiment]:
    """Experiments by id, by the name of a figure or table, by paper, or "all"."""
    everything = experiments()
    if "all" in names:
        return list(everything.values())
    chosen: list[Experiment] = []
    for name in names:
        fitting = [e for e in everything.values() if name == e.paper] or _called(name)
        chosen += [e for e in fitting if e not in chosen]
    return chosen


def _called(name: str) -> list[Experiment]:
    """The one experiment of that name."""
    everything = experiments()
    fitting = [e for e in everything.values() if e.called(name)]
    if len(fitting) > 1:
        raise InputError(f"{name!r} is in several papers: say {' or '.join(e.id for e in fitting)}")
    if not fitting:
        import difflib

        near = difflib.get_close_matches(name, [*everything, *PAPERS], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "; veil reproduce lists them"
        raise InputError(f"there is no experiment {name!r}{hint}")
    return fitting
