"""Run experiments, one after the other or in processes, and keep what they found."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from veil.errors import ClusterError, UnwritableError, VeilError
from veil_papers import Context, Experiment, Result, find_experiments, save_result
from veil_papers.data import Source
from veil_papers.figures import figure_names
from veil_papers.progress import Progress, silent


@dataclass(frozen=True)
class Finished:
    """An experiment that was run; ``error`` says why where it could not be."""

    experiment: Experiment
    result: Result
    seconds: float
    stand_ins: dict[str, str]
    quick: bool = False
    error: str = ""

    @property
    def pictures(self) -> list[str]:
        """Names of its figures' files, without ending."""
        return figure_names(self.experiment.id, len(self.result.figures))

    @property
    def failed(self) -> list[str]:
        """Claims that do not hold."""
        return [claim.what for claim in self.result.claims if claim.holds is False]


def run_experiment(
    name: str, folder: Path | None, data: Path | None, *, quick: bool, progress: Progress = silent
) -> tuple[str, Result, float]:
    """Run one experiment and write what it found, if there is a folder to write to."""
    (experiment,) = find_experiments((name,))
    began = time.monotonic()
    context = Context(experiment.id, quick, Source(data), progress)
    result = experiment.run(context)
    if folder is not None:
        save_result(experiment, result, folder, context)
    return name, result, time.monotonic() - began


def _attempt(
    name: str, folder: Path | None, data: Path | None, quick: bool, progress: Progress = silent
) -> tuple[str, Result, float, str]:
    """The same, but what goes wrong with one experiment is told instead of ending all."""
    try:
        return *run_experiment(name, folder, data, quick=quick, progress=progress), ""
    except UnwritableError:
        raise
    except VeilError as error:
        return name, Result(()), 0.0, str(error)
    except Exception as error:
        if os.environ.get("VEIL_TRACEBACK"):
            raise
        return name, Result(()), 0.0, f"internal error ({type(error).__name__}); set VEIL_TRACEBACK=1 to see where"


def run_all(
    chosen: Sequence[Experiment],
    folder: Path | None,
    data: Path | None,
    *,
    quick: bool,
    workers: int = 1,
    progress: Progress = silent,
) -> Iterator[Finished]:
    """Run experiments and hand each over when it is done, in their order."""
    source = Source(data)
    by_id = {experiment.id: experiment for experiment in chosen}

    def finished(run: tuple[str, Result, float, str], done: int) -> Finished:
        progress("experiments", done, len(by_id))
        name, result, seconds, error = run
        return Finished(by_id[name], result, seconds, source.stand_ins(by_id[name].data), quick, error)

    progress("experiments", 0, len(by_id))
    workers = min(workers, len(by_id))
    if workers < 2:
        for i, name in enumerate(by_id):
            yield finished(_attempt(name, folder, data, quick, progress if len(by_id) == 1 else silent), i + 1)
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    jobs = (delayed(_attempt)(name, folder, data, quick) for name in by_id)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped")  # one that has grown is replaced by a new one
        warnings.filterwarnings("ignore", message=".*tasks which were still being processed")  # nobody reads on
        try:
            for i, run in enumerate(Parallel(n_jobs=workers, return_as="generator")(jobs)):
                yield finished(run, i + 1)
        except TerminatedWorkerError:
            raise ClusterError("a worker process was ended from outside, perhaps for lack of memory") from None
