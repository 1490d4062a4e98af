"""Where a verb runs: all cores of this machine, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

resume_option = click.option(
    "--resume",
    is_flag=True,
    help="Continue a run that was cut short, from its whole parts; without it they are removed.",
)


def engine_options(command: F) -> F:
    """``--workers`` and ``--scheduler``."""
    for option in (
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="Run on a Dask cluster, e.g. tcp://10.0.0.1:8786; its workers must see the same files.",
        ),
        click.option(
            "--workers",
            type=click.IntRange(min=1),
            help="Run on so many Dask worker processes of this machine (CSV is one task). Default: threads.",
        ),
    ):
        command = option(command)
    return command


@contextmanager
def chosen_engine(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """The engine that the options ask for; None is this machine's threads."""
    if workers is not None and scheduler is not None:
        raise click.UsageError("--workers starts workers here and --scheduler uses a cluster; give one of them")
    if workers is None and scheduler is None:
        yield None
        return
    from veil.data.cluster import Cluster

    with Cluster(scheduler, workers=workers) as cluster:
        yield cluster
