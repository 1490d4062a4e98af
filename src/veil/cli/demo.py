"""``veil demo``."""

from __future__ import annotations

from pathlib import Path

import click

from veil.cli.audits import deliver
from veil.cli.options import json_option


@click.command()
@click.option(
    "-o", "--output", default="veil-report.html", type=click.Path(path_type=Path), help="The report to write."
)
@json_option
def demo(output: Path, as_json: bool) -> None:
    """Run the whole loop on a real table: 569 patients × 30 measurements.

    Three candidate perturbations, every attack that applies, scores and a report. No network, no
    configuration.
    """
    from veil.auditing.demo import demo as run_demo

    answer = run_demo(progress=True)
    deliver(answer, output, as_json=as_json)
