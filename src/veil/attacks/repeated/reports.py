"""Several randomized responses of the same people, taken together (A24).

*Model.* Release k reports r_k with the public probability ``P_k[r, true]``. Draws that are independent given the truth
multiply: P(true | r_1, …, r_m) ∝ π_true Π_k P_k[r_k, true]. *Known*: the matrices, and the releases, which give the
prior: by columns of largest likelihood over all reports, jointly as in A20
(:mod:`veil.attacks.categories.response_prior`).

Where draws were kept (an unchanged answer is reported alike in every release), reports agree more often than
independent draws can, and of such releases only the most telling one is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from veil.attacks.categories.response_prior import FOLDS, STEPS
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.release.models import ResponseModel
from veil.release.release import Release

Places = npt.NDArray[np.intp]
Codes = npt.NDArray[np.int64]

REFUTED = 4.0
"""Standard errors by which reports must agree too often before their draws count as kept."""
MOST_TRUTHS = 2000
"""Combinations of true categories up to which columns are taken together."""
MOST_CELLS = 4_000_000
"""Records times combinations to which a joint prior is fitted, and which are held at a time."""
MOST_ENTRIES = 50_000_000
"""Distinct records times categories of one variable that are weighed at all."""
MOST_STEPS, MOST_WORK = 2000, 4e9
GAP = 1e-8


class Report(NamedTuple):
    """One variable as one release reports it: N codes (−1 for none), and reported × true probabilities.

    Codes number the categories that any release has, the current one's first; true categories are the current one's.
    """

    codes: Codes
    matrix: Matrix


class Posteriors(NamedTuple):
    """Posterior of each column (R × K), the fitted prior of each, and the steps away from independence."""

    posteriors: list[Matrix]
    priors: list[Vector]
    steps: int


def reports_of(current: Release, earlier: Sequence[tuple[Release, Places]]) -> tuple[list[list[Report]], Places]:
    """Every variable's reports, the current release's first, and of how many variables each release has some.

    ``earlier`` are parts of releases with one perturbation each, and their row for every row of the current one. The
    columns of a compound release are one variable, whose categories are combinations.
    """
    model = current.only_part.model
    if not isinstance(model, ResponseModel):
        raise NotApplicableError("the manifest does not describe randomized responses")
    names = current.only_part.names
    own = _variables(current, names, compound=model.compound is not None)
    truths = [tuple(labels) for _, labels, _ in own.values()]
    known = [dict(zip(labels, range(len(labels)), strict=True)) for labels in truths]
    reports = [[Report(codes, matrix)] for codes, _, matrix in own.values()]
    used = np.zeros(len(earlier), dtype=np.intp)
    for k, (part, rows) in enumerate(earlier):
        other = _variables(part, names, compound=model.compound is not None)
        for v, variable in enumerate(own):
            if variable not in other:
                continue
            codes, labels, matrix = other[variable]
            place = np.array([known[v].setdefault(label, len(known[v])) for label in labels])
            wide = np.zeros((len(known[v]), len(truths[v])))
            true = [(i, place[i]) for i in range(len(labels)) if place[i] < len(truths[v])]
            if not true:  # classes between other edges
                continue
            for here, there in true:
                wide[place, there] = matrix[:, here]
            reported = np.where((rows >= 0) & (codes[rows] >= 0), place[codes[rows]], -1)
            reports[v].append(Report(reported, wide))
            used[k] += 1
    return [[_padded(report, len(known[v])) for report in each] for v, each in enumerate(reports)], used


def _variables(
    part: Release, names: Sequence[str], *, compound: bool
) -> dict[tuple[str, ...], tuple[Codes, list[Any], Matrix]]:
    """Variables of a release by their columns' names: codes, categories and matrix."""
    model = part.only_part.model
    if not isinstance(model, ResponseModel):
        return {}
    codes = part.codes()
    if not compound:
        if model.compound is not None:
            return {}
        columns = zip(part.only_part.names, codes.T, _labels(model), model.matrices, strict=True)
        return {(name,): (column, labels, matrix) for name, column, labels, matrix in columns if name in names}
    if set(part.only_part.names) != set(names):
        return {}
    order = [part.only_part.names.index(name) for name in names]
    cells = model.compound
    if cells is None:
        if float(np.prod([len(labels) for labels in model.categories])) ** 2 > MOST_CELLS:
            return {}
        cells = tuple(product(*(range(len(labels)) for labels in model.categories)))
        matrix: Matrix = np.ones((1, 1))
        for each in model.matrices:
            matrix = np.asarray(np.kron(matrix, each), dtype=np.float64)
    else:
        (matrix,) = model.matrices
    place = {cell: i for i, cell in enumerate(cells)}
    reported = np.array([place.get(cell, -1) for cell in map(tuple, codes.tolist())], dtype=np.int64)
    known = _labels(model)
    labels = [tuple(known[j][cell[j]] for j in order) for cell in cells]
    return {tuple(names): (reported, labels, matrix)}


def _labels(model: ResponseModel) -> list[list[Any]]:
    """What is the same in two releases: a category, or a class between the same edges, whatever its number."""
    edges = model.edges or (None,) * len(model.categories)
    return [
        list(known) if own is None else [v if v is None else (*own.tolist(), i) for i, v in enumerate(known)]
        for own, known in zip(edges, model.categories, strict=True)
    ]


def independent_reports(reports: Sequence[Report]) -> list[int]:
    """Which reports of a variable to use: the most telling first, none whose draws were kept from a better one."""
    telling = [-float(report.matrix.max(axis=1).sum()) for report in reports]
    independent: list[int] = []
    for i in np.argsort(telling, kind="stable"):
        if not any(agree_too_often(reports[i], reports[k]) for k in independent):
            independent.append(int(i))
    return sorted(independent)


def agree_too_often(first: Report, second: Report) -> bool:
    """Whether two reports agree more often than independent draws ever would.

    Whatever the truth t, independent draws agree with probability Σ_r P_1[r, t]·P_2[r, t].
    """
    both = (first.codes >= 0) & (second.codes >= 0)
    n = int(both.sum())
    if not n:
        return False
    bound = min(float((first.matrix * second.matrix).sum(axis=0).max()), 1.0)
    often = float((first.codes == second.codes)[both].mean())
    return bool(often > bound + REFUTED * np.sqrt(bound * (1.0 - bound) / n))


def combined_posteriors(reports: Sequence[Sequence[Report]], *, seed: int = 0) -> tuple[list[Matrix], list[Vector]]:
    """Posterior of every record (N × K) and prior of each variable, given the reports to use.

    Variables are taken together, in their order, up to :data:`MOST_TRUTHS` combinations.
    """
    after: list[Matrix] = []
    before: list[Vector] = []
    sizes = [each[0].matrix.shape[1] for each in reports]
    start = 0
    while start < len(reports):
        stop = start + 1
        while stop < len(reports) and np.prod(sizes[start : stop + 1], dtype=float) <= MOST_TRUTHS:
            stop += 1
        rows, likelihoods = _distinct(reports[start:stop])
        posteriors = report_posteriors(likelihoods, rows, seed=seed)
        after += [each[rows] for each in posteriors.posteriors]
        before += posteriors.priors
        start = stop
    return after, before


def _distinct(reports: Sequence[Sequence[Report]]) -> tuple[Places, list[Matrix]]:
    """Which of the distinct records each record is, and the likelihoods of their reports, by variable."""
    stacked = np.column_stack([report.codes for each in reports for report in each])
    records, rows = np.unique(stacked, axis=0, return_inverse=True)
    widest = max(each[0].matrix.shape[1] for each in reports)
    if len(records) * widest > MOST_ENTRIES:
        raise NotApplicableError(f"{len(records)} distinct reports of {widest} categories are too many to weigh")
    likelihoods, column = [], 0
    for each in reports:
        product_of = np.ones((len(records), each[0].matrix.shape[1]))
        own = product_of
        for k, report in enumerate(each):
            code = records[:, column + k]
            product_of = product_of * np.where(code[:, None] >= 0, report.matrix[code], 1.0)
            if k == 0:
                own = product_of
        # An answer that was impossible earlier has changed since: then the first report stands alone.
        never = ~(product_of.sum(axis=1, keepdims=True) > 0.0)
        product_of = np.where(never, np.where(own.sum(axis=1, keepdims=True) > 0.0, own, 1.0), product_of)
        likelihoods.append(product_of / product_of.max(axis=1, keepdims=True))
        column += len(each)
    return rows.ravel(), likelihoods


def _padded(report: Report, size: int) -> Report:
    """A report over all categories that any release has."""
    wide = np.zeros((size, report.matrix.shape[1]))
    wide[: len(report.matrix)] = report.matrix
    return Report(report.codes, wide)


def report_posteriors(likelihoods: Sequence[Matrix], rows: Places, *, seed: int = 0) -> Posteriors:
    """Posteriors of each column from the likelihoods of distinct records' reports.

    Parameters
    ----------
    likelihoods
        For each column, R × K: P(reports of a distinct record | true category). With several columns the joint prior
        starts from independence and takes the steps of EM that foretell held-out records best; of many records it is
        fitted to a random part.
    rows
        For each record, which of the R it is.
    """
    counts = np.bincount(rows, minlength=len(likelihoods[0])).astype(np.float64)
    margins = [_margin(likelihood, counts) for likelihood in likelihoods]
    sizes, axes = tuple(len(margin) for margin in margins), range(len(margins))
    start = _product([margin[None] for margin in margins])[0]
    order = np.random.default_rng(seed).permutation(len(rows))[: max(MOST_CELLS // len(start), FOLDS)]
    prior, steps = (start, 0) if len(margins) == 1 else _joint_prior(likelihoods, np.sort(rows)[order], start)
    posteriors = [np.empty((len(counts), size)) for size in sizes]
    block = max(MOST_CELLS // len(start), 1)
    for at in range(0, len(counts), block):
        joint = _product([likelihood[at : at + block] for likelihood in likelihoods])
        weights = joint * prior
        total = weights.sum(axis=1, keepdims=True)
        # What the fitted prior excludes is left to independence.
        weights = np.where(total > 0.0, weights, joint * (start + 1e-12))
        table = (weights / weights.sum(axis=1, keepdims=True)).reshape(-1, *sizes)
        for j in axes:
            posteriors[j][at : at + block] = table.sum(axis=tuple(i + 1 for i in axes if i != j))
    whole = prior.reshape(sizes)
    return Posteriors(posteriors, [whole.sum(axis=tuple(i for i in axes if i != j)) for j in axes], steps)


def _joint_prior(likelihoods: Sequence[Matrix], rows: Places, start: Vector) -> tuple[Vector, int]:
    """The prior over combinations that some records support, and its steps from independence."""
    patterns, rows = np.unique(rows, return_inverse=True)
    joint = _product([likelihood[patterns] for likelihood in likelihoods])
    # The records come in random order, so that their numbers make random folds.
    fold = np.arange(len(rows)) % FOLDS
    parts = np.column_stack([np.bincount(rows[fold == f], minlength=len(patterns)) for f in range(FOLDS)])
    steps = _best_steps(joint, parts.astype(np.float64), start)
    prior, counts = start[:, None], parts.sum(axis=1, keepdims=True).astype(np.float64)
    for _ in range(steps):
        prior = _em_step(joint, counts, prior)
    return prior[:, 0], steps


def _product(tables: Sequence[Matrix]) -> Matrix:
    """Row by row, the product over all combinations of columns' entries, the last column fastest."""
    joint = tables[0]
    for table in tables[1:]:
        joint = (joint[:, :, None] * table[:, None, :]).reshape(len(joint), -1)
    return joint


def _best_steps(joint: Matrix, folds: Matrix, start: Vector) -> int:
    """The number of EM steps on the other folds that make a fold most likely; none within a standard error."""
    rests = folds.sum(axis=1, keepdims=True) - folds
    if not (rests.sum(axis=0) > 0).all():
        return 0
    priors = np.column_stack([start] * folds.shape[1])
    before = joint @ priors
    done, best, peak, worse = 0, 0, 0.0, 0
    for steps in STEPS:
        for _ in range(steps - done):
            priors = _em_step(joint, rests, priors)
        done = steps
        positive = (folds > 0.0) & (before > 0.0)
        with np.errstate(divide="ignore"):  # a report that became impossible: an infinite loss
            gains = np.log((joint @ priors)[positive] / before[positive])
        weights = folds[positive] / folds[positive].sum()
        gain = float(weights @ gains) if np.isfinite(gains).all() else -np.inf
        error = float(np.sqrt(weights @ (gains - gain) ** 2 / folds.sum())) if np.isfinite(gain) else 0.0
        if gain > peak:
            best, peak, worse = (steps if gain > error else best), gain, 0
        else:
            worse += 1
        if worse == 2:
            break
    return best


def _em_step(likelihood: Matrix, counts: Matrix, priors: Matrix) -> Matrix:
    evidence = likelihood @ priors
    step = priors * (likelihood.T @ np.divide(counts, evidence, out=np.zeros_like(evidence), where=evidence > 0.0))
    return np.asarray(step / step.sum(axis=0))


def _margin(likelihood: Matrix, counts: Vector) -> Vector:
    """The distribution of largest likelihood, by EM."""
    likelihood, place = np.unique(likelihood, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), counts).astype(np.float64)
    at = np.full(likelihood.shape[1], 1.0 / likelihood.shape[1])
    for _ in range(min(MOST_STEPS, int(MOST_WORK / likelihood.size))):
        evidence = likelihood @ at
        ratio = np.divide(counts, evidence, out=np.zeros_like(evidence), where=evidence > 0.0)
        slope = likelihood.T @ ratio / counts.sum()
        at = at * slope / (at * slope).sum()
        if slope.max() - 1.0 <= GAP:
            break
    return at
