"""A20: the posterior of the true categories given what was reported.

*Model.* Reports depend on the true categories by public matrices, ``P[reported, true]`` (P16; pkdd2006 tutorial,
"Disclosure Analysis with RR"). *Known*: the matrices, which the manifest publishes, and the release, which gives the
prior. By Bayes' rule P(true | reported) ∝ P[reported, true]·π_true. Answers to other questions tell as much as the
attributes depend on one another: with a joint prior the posterior of one attribute is given *all* reports of a record.

Columns are taken together up to 50,000 combinations. Where there are more, columns whose reports depend most (by their
chi-square) share a group, as long as the group has no more than that, and groups are taken as independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from veil.arguments import flag, renamed, whole
from veil.attacks.base import Details, Guess, GuessingAttack, full_guess
from veil.attacks.categories.response_prior import joint_prior, table_of
from veil.attacks.knowledge import Knowledge
from veil.attacks.recoded import likely_categories, recoded_columns
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.measures import PosteriorGain, posterior_gain
from veil.numerics.response_likelihood import most_likely
from veil.numerics.response_matrix import gamma_matrix, kron_apply, posterior
from veil.release.models import BasketModel, Model, RecodedModel, ResponseModel
from veil.release.release import Release

MOST_CELLS = 50_000
Codes = npt.NDArray[np.int64]


class ColumnPosterior(NamedTuple):
    """One column, by the distinct reports of its group.

    ``weights``: how often each came; ``posterior``: one row each; ``prior``; ``rows``: the report of every record.
    """

    weights: Matrix
    posterior: Matrix
    prior: Matrix
    rows: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ResponseDetails(Details):
    """What the posterior says beside its mode.

    Attributes
    ----------
    confidence, expected_rate
        The probability of each guess (N × d), and its mean per column: the share of right ones if the prior is right.
    prior
        One distribution per column.
    gain
        M8 per column.
    groups, steps
        Columns taken together, and the steps of EM away from independence in each group.
    """

    confidence: Matrix
    expected_rate: Vector
    prior: tuple[Vector, ...]
    gain: tuple[PosteriorGain, ...]
    groups: tuple[tuple[str, ...], ...]
    steps: tuple[int, ...]


class ResponsePosteriorAttack(GuessingAttack):
    """A20. Guess every true category as the most probable one given the reports of its record.

    *Knowledge.* The response matrices, as the manifest publishes them; no grant is needed.

    Parameters
    ----------
    joint : bool, default True
        Use all answers of a record, under a joint prior whose dependence is as strong as held-out reports support.
        False takes each column by itself, as the tutorial does. Columns that were randomized as one variable are
        always taken as one.
    random_state : int, default 0
        Chooses the held-out records.

    Notes
    -----
    A guess is a code, the place of the category in the model's list, as a float. It is the mode of each column's
    posterior, which is right most often per value. ``guess.details``: ``confidence`` (N × d, the probability of the
    guess), ``expected_rate`` (its mean per column: the share of right guesses if the estimated prior is right),
    ``prior`` (one distribution per column), ``gain`` (M8 per column), ``groups`` (columns taken together) and ``steps``
    (of EM away from independence, per group; 0 means that other answers told nothing).

    Examples
    --------
    >>> import numpy as np, veil
    >>> import pandas as pd
    >>> x = np.random.default_rng(0).choice(["no", "yes"], size=20_000, p=[0.8, 0.2])
    >>> release, _ = veil.publish(pd.DataFrame({"answer": x}), veil.RandomizedResponse(keep=0.6, random_state=0))
    >>> guess = veil.ResponsePosteriorAttack().run(release)
    >>> guess.details.prior[0].round(1).tolist()
    [0.8, 0.2]
    """

    catalogue = "A20"
    words = "weighs each report with how common the categories are and with the record's other answers"

    @renamed("seed", "random_state")
    def __init__(self, *, variant: str = "best", joint: bool = True, random_state: int = 0) -> None:
        super().__init__(variant=variant)
        self.joint = joint
        self.random_state = random_state

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Randomized response, market baskets that are one (items flipped by themselves, or whole patterns), and
        categories up a hierarchy.
        """
        if isinstance(model, RecodedModel):
            return any(column.categories is not None for column in model.columns)
        return isinstance(model, ResponseModel) or (isinstance(model, BasketModel) and model.kind != "select")

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        whole(self.random_state, "random_state")
        flag(self.joint, "joint")
        if isinstance(release.only_part.model, RecodedModel):
            return _of_labels(release, release.only_part.model)
        responses = response_posteriors(release, joint=self.joint, seed=self.random_state)
        columns = responses.columns
        confidence = np.column_stack([c.posterior.max(axis=1)[c.rows] for c in columns])
        return full_guess(
            release,
            np.column_stack([c.posterior.argmax(axis=1)[c.rows] for c in columns]).astype(np.float64),
            ResponseDetails(
                confidence=confidence,
                expected_rate=confidence.mean(axis=0),
                prior=tuple(c.prior for c in columns),
                gain=tuple(_gain(c) for c in columns),
                groups=tuple(tuple(release.only_part.names[j] for j in group) for group in responses.groups),
                steps=responses.steps,
            ),
        )


def _of_labels(release: Release, model: RecodedModel) -> Guess:
    """Of recoded categories: nothing tells those of one label apart, so any is as good; numbers are left out."""
    guesses = []
    for column, places in zip(model.columns, recoded_columns(release), strict=True):
        if column.categories is None or places is None:
            guesses.append(np.full(release.table.read().num_rows, np.nan))
        else:
            guesses.append(np.append(likely_categories(column), np.nan)[places])
    return full_guess(release, np.column_stack(guesses))


class ResponsePosteriors(NamedTuple):
    """The posterior of every column, with the responses' model, the reports, and columns taken together."""

    model: ResponseModel
    codes: Codes
    columns: list[ColumnPosterior]
    groups: list[list[int]]
    steps: tuple[int, ...]


def response_posteriors(release: Release, *, joint: bool = True, seed: int = 0) -> ResponsePosteriors:
    """Learn the prior of every group of columns, and give each column's posterior."""
    model = release.only_part.model
    if isinstance(model, BasketModel):
        model, codes = basket_response(model), release.to_numpy().astype(np.int64)
    elif isinstance(model, ResponseModel):
        codes = release.codes()
    else:
        raise NotApplicableError("the manifest does not describe randomized responses")
    if not len(codes):
        raise NotApplicableError("the release has no rows")
    groups = _groups(codes, model, joint=joint)
    if model.compound is None:
        groups = [sorted(group, key=release.only_part.names.__getitem__) for group in groups]
    posteriors: dict[int, ColumnPosterior] = {}
    steps = []
    for group in groups:
        if model.compound is None:
            prior = joint_prior(codes[:, group], [model.matrices[j] for j in group], seed=seed)
            columns = sequential_posteriors(codes[:, group], [model.matrices[j] for j in group], prior.proportions)
            steps.append(prior.steps)
        else:
            columns = _compound_posteriors(codes, model, model.compound)
            steps.append(0)
        posteriors.update(zip(group, columns, strict=True))
    return ResponsePosteriors(model, codes, [posteriors[j] for j in range(codes.shape[1])], groups, tuple(steps))


def basket_response(model: BasketModel) -> ResponseModel:
    """Market baskets as randomized responses of 0/1 items: one by one, or the whole pattern as one variable."""
    binary = ((False, True),) * model.n_items
    if model.kind == "mask" and model.keep is not None:
        insert = 1.0 - model.keep if model.insert is None else model.insert
        matrix = np.array([[1.0 - insert, 1.0 - model.keep], [insert, model.keep]])
        return ResponseModel(binary, (matrix,) * model.n_items)
    if model.kind == "gamma" and model.gamma is not None:
        patterns = tuple(product((0, 1), repeat=model.n_items))
        return ResponseModel(binary, (gamma_matrix(model.gamma, len(patterns)),), patterns)
    raise NotApplicableError(f"baskets of kind {model.kind!r} are no randomized responses")


def sequential_posteriors(codes: Codes, matrices: Sequence[Matrix], prior: Matrix) -> list[ColumnPosterior]:
    """Posteriors of each column given all reports of a record, each column answered by itself.

    With the prior carried through every matrix but the j-th, ``T[y without j, a]``, the posterior of a in column j is
    proportional to ``P_j[y_j, a] T[y without j, a]``: no table over reports and truths is formed.
    """
    cells, rows, n = np.unique(
        np.ravel_multi_index(tuple(codes.T), prior.shape), return_inverse=True, return_counts=True
    )
    counts = n.astype(np.float64)
    reports = np.unravel_index(cells, prior.shape)
    posteriors = []
    for j, matrix in enumerate(matrices):
        others = [np.eye(len(m)) if i == j else m for i, m in enumerate(matrices)]
        carried = np.moveaxis(kron_apply(others, prior), j, -1)[tuple(r for i, r in enumerate(reports) if i != j)]
        margin = prior.sum(axis=tuple(i for i in range(prior.ndim) if i != j))
        posteriors.append(ColumnPosterior(counts, _normal(matrix[reports[j]] * carried, margin), margin, rows))
    return posteriors


def _compound_posteriors(
    codes: Codes, model: ResponseModel, compound: tuple[tuple[int, ...], ...]
) -> list[ColumnPosterior]:
    """Posteriors of each column where all were randomized as one variable."""
    (matrix,) = model.matrices
    reports, rows, n = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    place = {cell: i for i, cell in enumerate(compound)}
    try:
        cells = np.array([place[cell] for cell in map(tuple, reports.tolist())])
    except KeyError:
        raise NotApplicableError("the release has combinations that its manifest does not list") from None
    counts = np.zeros(len(compound))
    counts[cells] = n
    prior = most_likely(counts, [matrix])
    after = posterior(matrix, prior)[cells]
    posteriors = []
    for j, labels in enumerate(model.categories):
        fold = np.equal.outer([cell[j] for cell in compound], np.arange(len(labels))).astype(np.float64)
        posteriors.append(ColumnPosterior(counts[cells], after @ fold, prior @ fold, rows.ravel()))
    return posteriors


def _groups(codes: Codes, model: ResponseModel, *, joint: bool) -> list[list[int]]:
    """Columns to take together."""
    d, sizes = codes.shape[1], [len(labels) for labels in model.categories]
    if model.compound is not None or (joint and np.prod(sizes, dtype=float) <= MOST_CELLS):
        return [list(range(d))]
    groups = [[j] for j in range(d)]
    if not joint:
        return groups
    pairs = [(i, j) for i, j in combinations(range(d), 2) if sizes[i] * sizes[j] <= MOST_CELLS]
    strength = {(i, j): _dependence(codes[:, [i, j]], (sizes[i], sizes[j])) for i, j in pairs}
    for i, j in sorted(pairs, key=lambda pair: -strength[pair]):
        if strength[i, j] <= 0.0:
            break
        a, b = (next(g for g in groups if c in g) for c in (i, j))
        if a is not b and np.prod([sizes[c] for c in a + b], dtype=float) <= MOST_CELLS:
            groups.remove(b)
            a += b
    return groups


def _dependence(codes: Codes, shape: tuple[int, int]) -> float:
    """Pearson's chi-square per record, less what independent reports have on average."""
    table = table_of(codes, shape)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(codes)
    there = expected > 0.0
    degrees = ((table.sum(axis=1) > 0).sum() - 1) * ((table.sum(axis=0) > 0).sum() - 1)
    return float(((table - expected)[there] ** 2 / expected[there]).sum() - degrees) / len(codes)


def _normal(weights: Matrix, margin: Matrix) -> Matrix:
    """Rows with the sum 1; the prior where a report is impossible under it."""
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), margin)


def _gain(column: ColumnPosterior) -> PosteriorGain:
    after, before = np.clip(column.posterior, 0.0, 1.0), np.clip(column.prior, 0.0, 1.0)
    return posterior_gain(before, after, weights=column.weights)
