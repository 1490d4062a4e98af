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
    """All experiments by id, in the order of the papers and of their files."""
    found: dict[str, Experiment] = {}
    for paper in PAPERS:
        try:
            package = importlib.import_module(f"veil.reproduce.{paper}")
        except ModuleNotFoundError:
            continue
        for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            experiment: Experiment | None = getattr(loaded, "EXPERIMENT", None)
            if experiment is not None:  # a file without one is what several share
                found[experiment.id] = experiment
    return found


def find_experiments(names: tuple[str, ...]) -> list[Experiment]:
    """Experiments by id, by paper, or "all"."""
    everything = experiments()
    if "all" in names:
        return list(everything.values())
    chosen: list[Experiment] = []
    for name in names:
        fitting = [e for e in everything.values() if name in (e.id, e.paper)]
        if not fitting:
            import difflib

            near = difflib.get_close_matches(name, [*everything, *PAPERS], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; veil reproduce lists them"
            raise InputError(f"there is no experiment {name!r}{hint}")
        chosen += [e for e in fitting if e not in chosen]
    return chosen
