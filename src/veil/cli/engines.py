"""Where a verb runs: the cores of this machine, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from veil.cli.options import F

resume_option = click.option(
    "--resume",
    is_flag=True,
    help="Continue a run that was cut short, from what is written already; without it that is removed.",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Cores of this machine to use at most. Default: all. Results do not depend on it.",
)


def engine_options(command: F) -> F:
    """``--workers`` and ``--scheduler``."""
    scheduler_option = click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Run on a Dask cluster instead, e.g. tcp://10.0.0.1:8786; its workers must see the same files.",
    )
    return workers_option(scheduler_option(command))


@contextmanager
def chosen_engine(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """The engine that the options ask for; None is all cores of this machine."""
    if workers is not None and scheduler is not None:
        raise click.UsageError("--workers is about this machine and --scheduler uses a cluster; give one of them")
    if workers is not None:
        from veil.data.passes import Threads

        yield Threads(workers)
    elif scheduler is not None:
        from veil.data.cluster import Cluster

        with Cluster(scheduler) as cluster:
            yield cluster
    else:
        yield None
