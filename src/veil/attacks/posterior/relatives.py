"""What other rows tell of a record (A28): rows of the same person or household, and neighbours in some order.

*Model.* Noise is drawn for every row anew, so that other rows show what a row has in common with them. Rows that share
a public value, or a mark that only rows have (:mod:`veil.attacks.posterior.row_marks`), are a group: with x = g + w, g
the group's own and w the row's, m others of the group with the mean z̄ predict x by their overall mean and m/(m + λ) of
z̄'s distance from it, λ the variance of z within groups over that of g (the best linear predictor: Robinson 1991). In
the order of the file, where it is not a secret one, and in that of a public number, it is the mean of the w rows before
and after; w is the one that predicts what was released best, each row left out of its own prediction (Stone 1974). Of a
category the reports of others are predicted so, and the response's matrix is taken out of their shares.

*Use.* A prediction has nothing of the row's own noise. Of a number it is a covariate for priors that are linear in what
is known, and of a category a variable: the one that others most probably have, and whether they are nearly sure. The
prior learns how much that tells. A column that others do not predict, by the correlation with what was released, gets
none. Within a group predictions and released values have a constant sum, noise included, which a prior that tells
groups apart would learn: the mixtures do not see the predictions of numbers, and groups that known columns tell apart
get none. Records of a sample whose public columns are known get predictions by the release's rows as well.

Columns with one noise per group say it once for each group (:mod:`veil.attacks.posterior.shared_noise`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.posterior.covariates import FEW_VALUES, exact_number, with_sampled
from veil.attacks.posterior.observations import Codes, Draft, Variable
from veil.attacks.posterior.row_marks import row_groups
from veil.attacks.posterior.shared_noise import Units, shared_by, unit_name, units_of
from veil.data.blocks import Matrix, Vector, to_float
from veil.data.schema import Kind, kind_of
from veil.release.manifest import RowOrder
from veil.release.release import Release

Rows = npt.NDArray[np.intp]
Predictor = Callable[[Matrix], Matrix | None]
"""From what is seen of some columns to what others say of them; None where they say nothing.

Rows of a sample stand below those of the release; nothing is seen of them."""
LEAST_GROUP = 2.0
"""Rows of a group, on average, from which groups are looked at."""
WIDTHS, STRETCH = tuple(2**k for k in range(9)), 256
"""Rows on either side whose mean is tried, and rows that share the best width."""
MOST_STATES = 32
"""States of a variable that others may tell."""
MOST_TOLD = 0.5
"""The share of all differences between groups that known columns may tell, for the others of a group to be asked."""
_NOBODY = np.empty(0, dtype=np.intp)
SURELY, MOST_PREDICTIONS = 4.0, 4
"""Standard errors by which a prediction must correlate with what was released, and how many are taken of a number."""


def of_others(name: str) -> str:
    """The name of the prediction of a column by other rows."""
    return f"others' {name}"


def add_relatives(
    draft: Draft,
    release: Release,
    known: Sequence[str],
    present: npt.NDArray[np.bool_],
    sampled: pa.Table | None = None,
) -> None:
    """Predictions of the guessed columns by other rows; ``known`` columns need none.

    ``present`` says which cells are not empty; ``sampled`` are public columns of a sample's records.
    """
    n, m = draft.n_rows, 0 if sampled is None else sampled.num_rows
    exact = [number.z for number in draft.numbers if number.known is not None]
    marks, shared, units = row_groups(release, draft, present), shared_by(release), units_of(release, m)
    told = {name: _Told.of(release, sampled, marks, exact, n, units.get(name)) for name in ("", *units)}
    numbers = [number for number in draft.numbers if number.place >= 0 and number.known is None]
    variables = [
        variable
        for variable in draft.variables
        if max(variable.places) >= 0 and variable.channel.shape[1] <= MOST_STATES and not set(variable.names) & {*known}
    ]
    for kind, own_row in enumerate((False, False, True)):
        for number in numbers:
            others = told[shared.get(number.name, "")]
            for prediction in others.predictions(kind, _below(number.z[:, None], m), MOST_PREDICTIONS):
                feature = exact_number(draft, of_others(number.name), prediction[:, 0], feature=True)
                draft.add([replace(feature, own_row=own_row)], np.zeros((1, 1)))
        for variable in variables:
            reports = np.equal.outer(variable.reports, np.arange(len(variable.channel))).astype(np.float64)
            reports[variable.reports < 0] = np.nan
            others = told[unit_name(shared, variable.names)]
            for prediction in others.predictions(kind, _below(reports, m), 1):
                draft.variables.append(replace(_told(variable, prediction, n), own_row=own_row))


@dataclass(frozen=True, eq=False)
class _Told:
    """What predicts a column: public groups, orders, and marks of rows; of rows, or of units that show one noise."""

    kinds: tuple[list[Predictor], list[Predictor], list[Predictor]]
    units: Units | None

    @classmethod
    def of(
        cls,
        release: Release,
        sampled: pa.Table | None,
        marks: Sequence[Codes],
        exact: Sequence[Vector],
        n: int,
        units: Units | None,
    ) -> _Told:
        groups, orders = list(_groups(release, sampled)), list(_orders(release, sampled))
        file = np.arange(n, dtype=np.intp)
        if units is not None:
            groups, marks = ([units.of_rows(each) for each in some] for some in (groups, marks))
            exact = [units.of_rows(each) for each in exact]
            orders = [(units.order(rows), units.codes[unplaced].astype(np.intp)) for rows, unplaced in orders]
            file, n = units.order(file), units.n_among(n)
        of_file = [] if release.manifest.row_order is RowOrder.SHUFFLED else [_of_neighbours(file, _NOBODY)]
        kinds = (
            [_of_group(codes, n) for codes in groups if not _is_told(codes[:n], exact)],
            [_of_neighbours(rows, unplaced) for rows, unplaced in orders],
            [*(_of_group(codes, n) for codes in marks if not _is_told(codes, exact)), *of_file],
        )
        return cls(kinds, units)

    def predictions(self, kind: int, z: Matrix, most: int) -> list[Matrix]:
        """What others say of some columns, by the predictors that say it most surely."""
        if self.units is None:
            return _surest(self.kinds[kind], z, most)
        return [each[self.units.codes] for each in _surest(self.kinds[kind], self.units.seen(z), most)]


def _below(z: Matrix, m: int) -> Matrix:
    """What is seen of the release, and nothing of m records below it."""
    return np.vstack([z, np.full((m, z.shape[1]), np.nan)])


def _is_told(codes: Codes, exact: Sequence[Vector]) -> bool:
    """Whether columns that are known exactly tell most groups' sums, and with the others' mean a row's own noise.

    The states of a category are 0/1 numbers, which have its groups' means: no prediction is needed there.
    """
    n_groups = len(np.unique(codes))
    if 1 + len(exact) <= MOST_TOLD * n_groups:
        return False
    counts = np.maximum(np.bincount(codes), 1)
    means = [np.bincount(codes, np.nan_to_num(z - np.nanmean(z))) / counts for z in exact]
    units = [np.ones(len(counts)), *(mean / max(float(np.abs(mean).max()), 1e-300) for mean in means)]
    return bool(np.linalg.matrix_rank(np.column_stack(units), tol=1e-6) > MOST_TOLD * n_groups)


def group_prediction(z: Matrix, codes: Codes) -> Matrix | None:
    """What the others of a row's group say of some columns; None where groups do not differ."""
    present = _complete(z)
    counts = np.bincount(codes, present)
    n, n_groups = float(counts.sum()), int((counts > 0).sum())
    if n_groups < 2 or n <= n_groups:
        return None
    mean = z[present].mean(axis=0)
    values = np.where(present[:, None], z - mean, 0.0)
    sums = np.column_stack([np.bincount(codes, column) for column in values.T])
    means = sums / np.maximum(counts, 1)[:, None]
    within = float(((values - means[codes]) ** 2)[present].sum()) / (n - n_groups)
    size = (n - float((counts**2).sum()) / n) / (n_groups - 1)
    between = (float((counts @ means**2).sum()) / (n_groups - 1) - within) / size
    if between <= 0.0:
        return None
    others = counts[codes] - present
    return np.asarray(mean + (sums[codes] - values) / (others + within / between)[:, None])


def neighbour_prediction(z: Matrix, rows: Rows) -> Matrix | None:
    """The mean of rows before and after, in every stretch of rows as many as predict best there, or of all rows."""
    present, n = _complete(z[rows]), len(rows)
    if present.sum() < 2 * LEAST_GROUP:
        return None
    mean = z[rows][present].mean(axis=0)
    values = np.where(present[:, None], z[rows] - mean, 0.0)
    sums = np.vstack([np.zeros(z.shape[1]), np.cumsum(values, axis=0)])
    counts = np.r_[0, np.cumsum(present)]
    place, stretch = np.arange(n), np.arange(n) // STRETCH
    best, least = np.zeros_like(values), _beside(np.bincount(stretch, (values**2).sum(axis=1)).astype(np.float64))
    for width in WIDTHS:
        half = np.maximum(np.minimum(width, np.minimum(place, n - 1 - place)), 1)  # a trend has no slope in the middle
        low, high = np.maximum(place - half, 0), np.minimum(place + half + 1, n)
        others = np.maximum(counts[high] - counts[low] - present, 1)
        prediction = (sums[high] - sums[low] - values) / others[:, None]
        square = np.where(present, ((prediction - values) ** 2).sum(axis=1), 0.0)
        error = _beside(np.bincount(stretch, square).astype(np.float64))
        better = (error < least)[stretch]
        best[better], least = prediction[better], np.minimum(error, least)
    placed = np.empty_like(values)
    placed[rows] = best + mean
    return placed


def _beside(errors: Vector) -> Vector:
    """For each stretch the errors of others near it.

    A width that is chosen by a stretch's own errors fits their chance: rows without any order would seem to predict
    each other. The stretches right beside it share rows of the widest means with it, so those beyond are taken.
    """
    if len(errors) < 3:
        return errors
    weights = [1.0, 0.0, 0.0, 0.0, 1.0] if len(errors) > 4 else [1.0, 0.0, 1.0]
    return np.convolve(errors, weights, mode="full")[len(weights) // 2 : -(len(weights) // 2)]


def _complete(z: Matrix) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isfinite(z).all(axis=1), dtype=bool)


def _of_group(codes: Codes, n: int) -> Predictor:
    """By the group; nothing for records below the release's n rows that are in none of its groups."""
    strangers = n + np.flatnonzero(~np.isin(codes[n:], codes[:n]))
    return lambda z: _padded(group_prediction(z[: len(codes)], codes), len(z), strangers)


def _of_neighbours(rows: Rows, unplaced: Rows) -> Predictor:
    """By neighbours in an order; nothing for records that have no place in it."""
    return lambda z: _padded(neighbour_prediction(z[: len(rows)], rows), len(z), unplaced)


def _padded(prediction: Matrix | None, n: int, unknown: Rows) -> Matrix | None:
    """A prediction of the release and of a sample below it, or of the release alone; NaN for records of the sample."""
    if prediction is None:
        return None
    prediction[unknown] = np.nan
    return _below(prediction, n - len(prediction))


def _surest(predictors: Sequence[Predictor], z: Matrix, most: int) -> list[Matrix]:
    """The predictions that correlate best with what was released, of those that surely do."""
    present = _complete(z)
    least, sure = SURELY / np.sqrt(max(int(present.sum()), 1)), list[tuple[float, Matrix]]()
    for predictor in predictors:
        prediction = predictor(z)
        if prediction is None:
            continue
        a, b = (each[present] - each[present].mean(axis=0) for each in (prediction, z))
        correlation = float((a * b).sum() / max(np.sqrt((a * a).sum() * (b * b).sum()), 1e-300))
        if correlation > least:
            sure.append((correlation, prediction))
    sure.sort(key=lambda each: -each[0])
    return [prediction for _, prediction in sure[:most]]


def _told(variable: Variable, reports: Matrix, n: int) -> Variable:
    """The state that others most probably have, and whether that is more probable than with most of the n rows."""
    shares = np.nan_to_num(reports) @ np.linalg.pinv(variable.channel).T
    certainty = shares.max(axis=1)
    codes = 2 * shares.argmax(axis=1) + (certainty > np.median(certainty[:n]))
    listing = np.unique(codes[:n])
    at = np.minimum(np.searchsorted(listing, codes), len(listing) - 1)
    unknown = np.isnan(reports).any(axis=1) & (np.arange(len(codes)) >= n)
    told = np.where((listing[at] == codes) & ~unknown, at, -1).astype(np.int64)
    states = np.arange(len(listing))[:, None]
    names = (of_others(variable.names[0]),)
    return Variable(names, told[:n], np.eye(len(listing)), states, (-1,), sampled=told[n:] if len(told) > n else None)


def _groups(release: Release, sampled: pa.Table | None) -> Iterator[Codes]:
    """Rows of one household or firm: equal public values that are too many to be states."""
    n = count_rows(release)
    for column in release.manifest.public:
        array = with_sampled(release, column.name, sampled)
        coded = pc.dictionary_encode(array)
        codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy().astype(np.int64)
        codes[n:] += codes[n:] == len(coded.dictionary)  # nothing is known of a sample's record, not that it is missing
        if FEW_VALUES < len(np.unique(codes[:n])) <= n / LEAST_GROUP:
            yield codes


def _orders(release: Release, sampled: pa.Table | None) -> Iterator[tuple[Rows, Rows]]:
    """Orders in which neighbours may resemble each other, those of public numbers.

    With each the records of the sample that have no place in it.
    """
    n = count_rows(release)
    for column in release.manifest.public:
        array = with_sampled(release, column.name, sampled)
        if kind_of(array.type) is Kind.NUMERIC:
            values = to_float(array, column.name)
            if len(np.unique(values[np.isfinite(values)])) > FEW_VALUES:
                yield np.argsort(values, kind="stable").astype(np.intp), n + np.flatnonzero(np.isnan(values[n:]))
