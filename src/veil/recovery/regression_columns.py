"""The columns of a regression behind the noise on each: of several perturbations, of answers, and public ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from veil.data.blocks import Block, Vector, missing_in
from veil.errors import InputError, NotApplicableError, listed
from veil.numerics.gap_noise import GapNoise, ProductNoise, joined
from veil.recovery.clusters import Clusters
from veil.recovery.gap_columns import (
    MOST_CATEGORIES,
    MOST_COLUMNS,
    Answers,
    GapColumns,
    Public,
    cut_ends,
    levels,
    offset,
    public_columns,
)
from veil.recovery.gaps_of_numbers import known_law, noise_behind
from veil.recovery.report_counts import Reports
from veil.recovery.response_estimates import inverse_of
from veil.recovery.weights import Weights
from veil.release.models import AdditiveModel, LogNormalModel, MultiplicativeModel, ResponseModel
from veil.release.release import Release, moments_of_columns

_NUMBERS = (AdditiveModel, MultiplicativeModel, LogNormalModel)


@dataclass(frozen=True)
class Variable:
    """A column of moments: a number, or the indicator of one category of a column."""

    column: str
    category: Any = None

    @property
    def label(self) -> str:
        """As coefficients are called."""
        return self.column if self.category is None else f"{self.column}={self.category}"


@dataclass(frozen=True)
class RegressionProblem:
    """What is read of each record, the regression's own columns ``used`` first, and the noise on it.

    ``origin`` is what was taken off each used column; ``n_gaps`` records of ``n_rows`` lack a used column.
    ``known_laws`` says whether the fourth moments of all noise are known.
    """

    used: tuple[Variable, ...]
    columns: GapColumns
    noise: GapNoise
    origin: Vector
    clusters: Clusters | None
    known_laws: bool
    n_rows: int
    n_gaps: int


@dataclass(frozen=True)
class Gaps:
    """How many records there are, and how many lack one of some columns."""

    n_rows: int
    n_gaps: int

    def __add__(self, other: Gaps) -> Gaps:
        """Of both parts together."""
        return Gaps(self.n_rows + other.n_rows, self.n_gaps + other.n_gaps)


def count_missing(names: tuple[str, ...], block: Block) -> Gaps:
    """The records of a block, and those that lack one of some columns."""
    return Gaps(block.n_rows, int(np.any([missing_in(block.column(name)) for name in names], axis=0).sum()))


def regression_problem(
    release: Release, target: str, predictors: Sequence[str], weights: Weights, *, public: bool
) -> RegressionProblem:
    """The columns of a regression of ``target`` on ``predictors``."""
    places = _places(release)
    wanted = [_split(name, places) for name in (target, *predictors)]
    names = tuple(dict.fromkeys(name for name, _ in wanted))
    if len(names) < len(wanted):
        twice = next(name for name in names if [each for each, _ in wanted].count(name) > 1)
        raise InputError(f"column {twice!r} is named twice; named once, it stands for all its categories but the last")
    first = {name: category for name, category in wanted if category is not None}
    released = tuple(released for _, released in (places[name] for name in names))
    gaps = release.summed(partial(count_missing, released), list(released))
    at = sorted({i for i, _ in (places[name] for name in names) if i is not None})
    parts = [release.part(i) for i in at]
    room = MOST_COLUMNS if public and gaps.n_gaps else 0

    columns, noises, variables = GapColumns(), [], []
    for part in (p for p in parts if isinstance(p.only_part.model, _NUMBERS)):
        own = part.only_part
        kept = [j for j, name in enumerate(own.names) if name in names]
        beside = [j for j in range(len(own.names)) if j not in kept][: max(room - len(columns.numbers) - len(kept), 0)]
        kept += beside
        columns, noise = _with_numbers(columns, part, np.array(kept))
        noises.append(noise)
        variables += [Variable(own.names[j]) for j in kept]
    for part in (p for p in parts if isinstance(p.only_part.model, ResponseModel)):
        for answer, categories, name in _answers(part, names, first):
            columns = replace(columns, answers=(*columns.answers, answer))
            size = answer.size - 1
            noises.append(ProductNoise.of_answers(np.zeros(size, dtype=np.intp), np.ones(size, dtype=np.bool_)))
            variables += [Variable(name, category) for category in categories[:-1]]
    named = _named_public(release, [name for name in names if places[name][0] is None], first)
    beside_public = public_columns(release, room - len(variables), (*names, *weights.columns)) if room else Public()
    shown = named.with_others(beside_public)
    variables += [Variable(name) for name in shown.numbers]
    for name, categories in zip(shown.categories.columns, shown.categories.categories, strict=True):
        variables += [Variable(name, category) for category in categories[:-1]]
    extra = len(variables) - sum(len(noise.correction.linear) for noise in noises)
    if extra:
        noises.append(ProductNoise.of_factors((None,) * extra, np.zeros(extra)))

    used = [j for name, category in wanted for j in _indices(variables, name, category)]
    if variables[used[0]].category is not None and wanted[0][1] is None:
        raise InputError(f"column {target!r} has categories; name one of its categories, as in '{target}=yes'")
    order = [*used, *(j for j in range(len(variables)) if j not in used)] if room else used
    origin = np.zeros(len(variables))
    origin[: len(columns.origin)] = columns.origin
    origin[len(variables) - extra :][: len(shown.origin)] = shown.origin
    return RegressionProblem(
        tuple(variables[j] for j in used),
        replace(columns, public=shown, order=tuple(order)),
        joined(noises).of(np.array(order)),
        origin[used],
        clusters_of(release, parts),
        all(known_law(part.only_part.model) for part in parts),
        gaps.n_rows,
        gaps.n_gaps,
    )


def _places(release: Release) -> dict[str, tuple[int | None, str]]:
    """Of each column that a regression can take: its part (None of a public one), and its released name."""
    places: dict[str, tuple[int | None, str]] = {}
    for i, part in enumerate(release.manifest.parts):
        answered = isinstance(part.model, ResponseModel) and part.model.compound is None
        if isinstance(part.model, _NUMBERS) or answered:
            places |= {name: (i, released) for name, released in zip(part.names, part.released, strict=True)}
    places |= {column.name: (None, column.name) for column in release.manifest.public}
    return {name: place for name, place in places.items() if place[1] not in release.manifest.sums}


def _split(name: str, places: Mapping[str, Any]) -> tuple[str, str | None]:
    """A column, or a column and one of its categories."""
    if name in places:
        return name, None
    column, sign, category = name.rpartition("=")
    if sign and column in places:
        return column, category
    raise InputError(
        f"column {name!r} is not among those that a regression can take from this release: {listed(places) or 'none'}"
    )


def _indices(variables: Sequence[Variable], name: str, category: str | None) -> list[int]:
    """The places of a column's numbers or indicators."""
    at = [j for j, variable in enumerate(variables) if variable.column == name]
    return at if category is None else at[:1]  # the category that was asked for comes first


def _with_numbers(columns: GapColumns, part: Release, kept: Any) -> tuple[GapColumns, GapNoise]:
    """Some numbers of a part beside those that there are, and the noise on them."""
    own, model = part.only_part, part.only_part.model
    released = [own.released[j] for j in kept]
    moved = isinstance(model, AdditiveModel)  # else the noise depends on where 0 is
    origin = (
        offset(part.summed(partial(moments_of_columns, tuple(released)), released).mean)
        if moved
        else (0.0,) * len(kept)
    )
    start = len(columns.numbers)
    cut = [replace(end, place=start + list(kept).index(end.place)) for end in cut_ends(part) if end.place in kept]
    columns = replace(
        columns,
        numbers=(*columns.numbers, *released),
        origin=(*columns.origin, *origin),
        cut=(*columns.cut, *cut),
    )
    return columns, noise_behind(own, 0).of(kept)


def _answers(
    part: Release, names: Collection[str], first: Mapping[str, str]
) -> list[tuple[Answers, tuple[Any, ...], str]]:
    """The randomized answers among some columns, the category that was asked for before the others."""
    own, model = part.only_part, part.only_part.model
    assert isinstance(model, ResponseModel)  # noqa: S101 - chosen by the caller
    found = []
    for name, released, categories, matrix in zip(
        own.names, own.released, model.categories, model.matrices, strict=True
    ):
        if name in names:
            turned = _turned(name, categories, first.get(name))
            at = [categories.index(category) for category in turned]
            answer = Answers(Reports((released,), (turned,)), None, inverse_of(matrix)[np.ix_(at, at)])
            found.append((answer, turned, name))
    return found


def _named_public(release: Release, names: Sequence[str], first: Mapping[str, str]) -> Public:
    """The public columns of a regression."""
    numeric = [name for name in names if name in release.table.numeric() and name not in first]
    others = tuple(name for name in names if name not in numeric)
    origin = release.summed(partial(moments_of_columns, tuple(numeric)), numeric).mean if numeric else np.zeros(0)
    categories = []
    for name, known in (
        zip(others, release.summed(partial(levels, others), list(others)).values, strict=True) if others else ()
    ):
        if known is None or len(known) < 2:
            size = "one category" if known is not None else f"more than {MOST_CATEGORIES} categories"
            raise NotApplicableError(f"column {name!r} has {size}; a regression takes 2 to {MOST_CATEGORIES}")
        categories.append(_turned(name, tuple(sorted(known, key=str)), first.get(name)))
    return Public(tuple(numeric), offset(origin), Reports(others, tuple(categories)))


def _turned(name: str, categories: tuple[Any, ...], first: str | None) -> tuple[Any, ...]:
    """The categories with one of them before the others."""
    if first is None:
        return categories
    at = [j for j, category in enumerate(categories) if str(category) == first]
    if not at:
        raise InputError(f"column {name!r} has no category {first!r}; it has {listed(map(str, categories))}")
    return (categories[at[0]], *categories[: at[0]], *categories[at[0] + 1 :])


def clusters_of(release: Release, parts: Sequence[Release]) -> Clusters | None:
    """The groups of records: those by which noise was drawn, else those that the release names as groups."""
    named = [clusters for part in parts or (release,) if (clusters := Clusters.of(part)) is not None]
    return min(named, key=lambda each: (not each.shared, len(each.sizes)), default=None)
