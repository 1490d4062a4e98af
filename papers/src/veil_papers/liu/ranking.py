"""Section 4.5.3: which of the three tables the known-sample attack recovers best."""

from __future__ import annotations

from collections.abc import Mapping

from veil_papers.arrays import Matrix
from veil_papers.experiment import Claim, Context, Experiment, Result, Table
from veil_papers.figures import Bars
from veil_papers.liu.known_sample import STATED, Draw, normal_table, split
from veil_papers.liu.sample_errors import LIMIT, PAPER, Errors, repeated

SIMULATED, RUNS, ROUNDING = {"normal": 0.018, "letter": 0.107, "adult": 0.178}, 100, 0.0005
"""Medians of an independent simulation, and its runs."""
SHOWN = {"normal": "3-D normal", "letter": "Letter", "adult": "Adult"}


def run(context: Context) -> Result:
    """Medians over runs of the three tables."""
    real = context.source.real("letter") and context.source.real("adult")
    repeats = context.pick(200, 20)
    draws: Mapping[str, Draw] = {
        "normal": normal_table,
        "letter": splits(context.source.letter()),
        "adult": splits(context.source.adult()),
    }
    by_attack: dict[str, Errors] = {name: repeated(context, draw, repeats) for name, draw in draws.items()}
    medians = {name: errors.median for name, errors in by_attack.items()}
    ordered = medians["normal"] < medians["letter"] < medians["adult"]
    off = max(errors.off({50: SIMULATED[name]}, RUNS, ROUNDING) for name, errors in by_attack.items())
    shown = ", ".join(f"{SHOWN[name]} {value:.3f}" for name, value in medians.items())
    near = f"; at most {off:.1f} standard errors from an independent simulation's .018, .107, .178"
    claims = (
        Claim(
            "normal records are recovered best, then Letter, then Adult",
            " < ".join(f"{PAPER[name]}" for name in PAPER),
            shown + (near if real else ""),
            agrees=ordered if real else None,
            why="medians: single runs overlap" if real else "a stand-in was used",
            holds=ordered and off < LIMIT if real else None,
        ),
    )
    rows = tuple((SHOWN[n], PAPER[n], SIMULATED[n], e.median, *e.band()) for n, e in by_attack.items())
    table = Table("errors", ("table", "paper", "independent simulation", "median", "5 %", "95 %"), rows)
    series = (("ours, median", list(medians.values())), ("paper", list(PAPER.values())))
    title = f"Mean relative error with a 2 % sample ({repeats} runs)"
    return Result(claims, (table,), (Bars(title, tuple(SHOWN.values()), "relative error", series),))


def splits(table: Matrix) -> Draw:
    """Random disjoint splits of a table."""
    return lambda share, rng: split(table, share, rng)


EXPERIMENT = Experiment(
    id="liu-ranking",
    title="Three tables by how well they are recovered",
    stated=f"figures 4.4, 4.7 and 4.8; {STATED}",
    chosen="medians of 200 runs per table; the errors of single runs of Letter and Adult overlap",
    run=run,
    errata=("L-i",),
    data=("adult", "letter"),
    chapter=4,
)
