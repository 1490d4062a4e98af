"""Tables 5.5–5.8 (algorithm 5.4.2.1): the most likely record, from p known ones, behind a projection of Letter."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import veil
from veil_papers.arrays import Matrix
from veil_papers.experiment import Context, Experiment, Result, Table
from veil_papers.figures import Curve, Curves, Panels
from veil_papers.liu.known_sample import relative_errors
from veil_papers.liu.letter_claims import PAPER, Numbers, search_claim, table_claims
from veil_papers.liu.simplex import search

NAMES = ("median", "mean", "variance", "min", "max", "rho(.2)", "rho(.3)", "median, centred")
RECORDS, TARGETS = 120, 4


def run(context: Context) -> Result:
    """Each table's numbers over matrices, in both variants; the simplex search beside the closed form."""
    letter, real = context.source.letter(), context.source.real("letter")
    matrices, sets, improved = context.pick((150, 25, 15), (10, 10, 1))
    plain = {case: cases(context, letter, case, matrices, sets, "paper") for case in PAPER}
    best = {case: cases(context, letter, case, improved, sets, "best") for case in PAPER}
    rows: list[tuple[Any, ...]] = []
    for (k, p), values in plain.items():
        for i, name in enumerate(NAMES):
            band = [float(v) for v in np.percentile(values[:, i], (5, 50, 95))]
            printed = PAPER[k, p][i] if i < len(PAPER[k, p]) else "–"
            rows.append((k, p, name, printed, *band, float(np.median(best[k, p][:, i]))))
    table = Table("errors", ("k", "p", "number", "paper", "5 %", "median", "95 %", "best, median"), tuple(rows))
    parts = tuple(part(plain, best, k) for k in (6, 5, 4, 3))
    figure = Panels("Letter projected to k dimensions, p records known", parts, columns=2, width=8.0, height=5.6)
    searches = search(context, letter, context.pick(40, 2))
    claims = (*table_claims(context, plain, best, real=real), search_claim(searches))
    centred = ", ".join(f"{np.median(plain[6, p][:, 7]):.2f}" for p in (5, 4, 3, 2, 1))
    notes = (f"Median errors relative to the record's distance from the mean, k = 6, p = 5 … 1: {centred}.",)
    return Result(claims, (table,), (figure,), notes)


def cases(
    context: Context, letter: Matrix, case: tuple[int, int], matrices: int, sets: int, variant: str
) -> npt.NDArray[np.float64]:
    """The numbers of about 100 cases per matrix (matrices × 8)."""
    k, p = case
    numbers = np.empty((matrices, len(NAMES)))
    for r in range(matrices):
        rng = context.rng(k, p, r)
        x = letter[rng.permutation(len(letter))[:RECORDS]]
        projection = veil.RandomProjection(k, scaling=None, dither=False, random_state=int(rng.integers(2**31)))
        release, _ = veil.publish(x, projection)
        errors, centred = [], []
        for _ in range(sets):
            chosen = rng.permutation(RECORDS)[: p + TARGETS]
            attack = veil.ProjectionMAPAttack(variant=variant, random_state=int(rng.integers(2**31)))
            guess = attack.run(release, veil.KnownPairs(x[chosen[:p]], chosen[:p])).values
            truth, guessed, mean = x[chosen[p:]], guess[chosen[p:]], x.mean(axis=0)
            errors.append(relative_errors(truth, guessed))
            centred.append(relative_errors(truth - mean, guessed - mean))
        e = np.concatenate(errors)
        numbers[r, :5] = (np.median(e), e.mean(), e.var(), e.min(), e.max())
        numbers[r, 5:] = ((e <= 0.2).mean(), (e <= 0.3).mean(), np.median(np.concatenate(centred)))
        context.step(f"k = {k}, p = {p}, {variant}", r + 1, matrices)
    return numbers


def part(plain: Numbers, best: Numbers, k: int) -> Curves:
    """One of the four tables: median errors over p."""
    known = [p for other, p in PAPER if other == k]
    low, middle, high = np.array([np.percentile(plain[k, p][:, 0], (5, 50, 95)) for p in known]).T
    curves = (
        Curve("most likely record, 5–95 % over matrices", known, middle, low, high, colour=0),
        Curve("best variant", known, [float(np.median(best[k, p][:, 0])) for p in known], colour=2),
        Curve("paper", known, [PAPER[k, p][0] for p in known], kind="paper", colour=1),
    )
    return Curves(f"k = {k} (table 5.{11 - k})", "known records p", "median relative error", curves)


EXPERIMENT = Experiment(
    id="liu-tables5.5",
    title="Known records against a projection of Letter (tables 5.5–5.8, algorithm 5.4.2.1)",
    stated="Letter, first 6 features; k = 6 to 3, p = k − 1 to 1 known records; 100 cases, 100 simplex "
    "starts each; Y = RX",
    chosen="R fixed per k with normal entries (the natural reading), 150 matrices for the band, 15 in the best "
    "variant; 120 records per matrix and, of those, 25 sets of known records with 4 targets each, instead of 100 sets "
    "with one of 20,000; the closed form instead of the simplex, which is run on 40 cases from 5 starts",
    run=run,
    errata=("L-t", "L-z"),
    data=("letter",),
    also=("table5.5", "table5.6", "table5.7", "table5.8", "tables5.5-5.8", "alg5.4.2.1"),
)
