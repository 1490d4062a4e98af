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
from veil.attacks.posterior.alike import Alike, along, of_values
from veil.attacks.posterior.covariates import FEW_VALUES, exact_number, with_sampled
from veil.attacks.posterior.observations import Codes, Draft, Variable
from veil.attacks.posterior.predictions import complete, group_prediction, neighbour_prediction
from veil.attacks.posterior.row_marks import row_groups
from veil.attacks.posterior.shared_noise import Units, shared_by, unit_name, units_of
from veil.data.blocks import Matrix, Vector, one_array, to_float
from veil.data.schema import kind_of
from veil.release.manifest import RowOrder
from veil.release.release import Release

Rows = npt.NDArray[np.intp]
Predictor = Callable[[Matrix], tuple[Matrix, Alike | None] | None]
"""From what is seen of some columns to what others say of them, and for which other rows; None where they say nothing.

Rows of a sample stand below those of the release; nothing is seen of them."""
LEAST_GROUP = 2.0
"""Rows of a group, on average, from which groups are looked at."""
MOST_STATES = 32
"""States of a variable that others may tell."""
MOST_TOLD = 0.5
"""The share of all differences between groups that known columns may tell, for the others of a group to be asked."""
_NOBODY = np.empty(0, dtype=np.intp)
SURELY, MOST_PREDICTIONS = 4.0, 4
"""Standard errors by which a prediction must correlate with what was released, and how many are taken of a number."""
SURELY_BY_SOME = 8.0
"""The same for some rows of a large release, of which 100,000 show correlations of .025, too small to be of use.
Neighbours predict each other, so that each pair counts twice and the standard error is √2 times as large: one table of
twenty has a column of twenty that four of them find."""


def of_others(name: str) -> str:
    """The name of the prediction of a column by other rows."""
    return f"others' {name}"


def add_relatives(
    draft: Draft,
    release: Release,
    known: Sequence[str],
    present: npt.NDArray[np.bool_],
    sampled: pa.Table | None = None,
    surely: float = SURELY,
) -> None:
    """Predictions of the guessed columns by other rows; ``known`` columns need none.

    ``present`` says which cells are not empty; ``sampled`` are public columns of a sample's records. A prediction must
    correlate with what was released by ``surely`` standard errors.
    """
    n, m = draft.n_rows, 0 if sampled is None else sampled.num_rows
    exact = [number.z for number in draft.numbers if number.known is not None]
    marks, shared, units = row_groups(release, draft, present), shared_by(release.manifest), units_of(release, m)
    told_by = {name: _Told.of(release, sampled, marks, exact, n, units.get(name)) for name in ("", *units)}
    numbers = [number for number in draft.numbers if number.place >= 0 and number.known is None]
    variables = [
        variable
        for variable in draft.variables
        if max(variable.places) >= 0 and variable.channel.shape[1] <= MOST_STATES and not set(variable.names) & {*known}
    ]
    for kind, own_row in enumerate((False, False, True)):
        for number in numbers:
            others = told_by[shared.get(number.name, "")]
            for prediction, alike in others.predictions(kind, _below(number.z[:, None], m), MOST_PREDICTIONS, surely):
                read = None if alike is None else alike.numbers(prediction[:, 0])
                feature = exact_number(draft, of_others(number.name), prediction[:, 0], feature=True, read=read)
                draft.add([replace(feature, own_row=own_row)], np.zeros((1, 1)))
        for variable in variables:
            reports = np.equal.outer(variable.reports, np.arange(len(variable.channel))).astype(np.float64)
            reports[variable.reports < 0] = np.nan
            others = told_by[unit_name(shared, variable.names)]
            for prediction, alike in others.predictions(kind, _below(reports, m), 1, surely):
                told = _told(variable, prediction, n)
                read_codes = None if alike is None else alike.codes(told.reports)
                draft.variables.append(replace(told, own_row=own_row, read=read_codes))


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
        groups: list[tuple[Codes, Alike | None]] = list(_groups(release, sampled))
        orders: list[tuple[Rows, Rows, Alike | None]] = list(_orders(release, sampled))
        file = np.arange(n, dtype=np.intp)
        if units is not None:
            # A unit's prediction is that of its first row, which says nothing of which other rows are like it.
            groups = [(units.of_rows(codes), None) for codes, _ in groups]
            marks, exact = [units.of_rows(each) for each in marks], [units.of_rows(each) for each in exact]
            orders = [(units.order(rows), units.codes[unplaced].astype(np.intp), None) for rows, unplaced, _ in orders]
            file, n = units.order(file), units.n_among(n)
        of_file = [] if release.manifest.row_order is RowOrder.SHUFFLED else [_of_neighbours(file, _NOBODY)]
        kinds = (
            [_of_group(codes, n, alike) for codes, alike in groups if not _is_told(codes[:n], exact)],
            [_of_neighbours(*order) for order in orders],
            [*(_of_group(codes, n) for codes in marks if not _is_told(codes, exact)), *of_file],
        )
        return cls(kinds, units)

    def predictions(self, kind: int, z: Matrix, most: int, surely: float) -> list[tuple[Matrix, Alike | None]]:
        """What others say of some columns, by the predictors that say it most surely."""
        if self.units is None:
            return _surest(self.kinds[kind], z, most, surely)
        found = _surest(self.kinds[kind], self.units.seen(z), most, surely)
        return [(prediction[self.units.codes], None) for prediction, _ in found]


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


def _of_group(codes: Codes, n: int, alike: Alike | None = None) -> Predictor:
    """By the group; nothing for records below the release's n rows that are in none of its groups."""
    strangers = n + np.flatnonzero(~np.isin(codes[n:], codes[:n]))

    def predict(z: Matrix) -> tuple[Matrix, Alike | None] | None:
        prediction = group_prediction(z[: len(codes)], codes)
        return None if prediction is None else (_padded(prediction, len(z), strangers), alike)

    return predict


def _of_neighbours(rows: Rows, unplaced: Rows, alike: Alike | None = None) -> Predictor:
    """By neighbours in an order; nothing for records that have no place in it."""

    def predict(z: Matrix) -> tuple[Matrix, Alike | None] | None:
        of_rows = neighbour_prediction(z[: len(rows)], rows)
        return None if of_rows is None else (_padded(of_rows[0], len(z), unplaced), alike if of_rows[1] else None)

    return predict


def _padded(prediction: Matrix, n: int, unknown: Rows) -> Matrix:
    """A prediction of the release and of a sample below it, or of the release alone; NaN for records of the sample."""
    prediction[unknown] = np.nan
    return _below(prediction, n - len(prediction))


def _surest(predictors: Sequence[Predictor], z: Matrix, most: int, surely: float) -> list[tuple[Matrix, Alike | None]]:
    """The predictions that correlate best with what was released, of those that surely do."""
    present = complete(z)
    least, sure = surely / np.sqrt(max(int(present.sum()), 1)), list[tuple[float, Matrix, Alike | None]]()
    for predictor in predictors:
        predicted = predictor(z)
        if predicted is None:
            continue
        prediction, alike = predicted
        a, b = (each[present] - each[present].mean(axis=0) for each in (prediction, z))
        correlation = float((a * b).sum() / max(np.sqrt((a * a).sum() * (b * b).sum()), 1e-300))
        if correlation > least:
            sure.append((correlation, prediction, alike))
    sure.sort(key=lambda each: -each[0])
    return [(prediction, alike) for _, prediction, alike in sure[:most]]


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


def _groups(release: Release, sampled: pa.Table | None) -> Iterator[tuple[Codes, Alike | None]]:
    """Rows of one household or firm: equal public values that are too many to be states."""
    n = count_rows(release)
    for column in release.manifest.public:
        array = with_sampled(release, column.name, sampled)
        coded = pc.dictionary_encode(array)
        codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy().astype(np.int64)
        codes[n:] += codes[n:] == len(coded.dictionary)  # nothing is known of a sample's record, not that it is missing
        if FEW_VALUES < len(np.unique(codes[:n])) <= n / LEAST_GROUP:
            yield codes, of_values(column.name, array[:n], codes[:n])


def values_repeat(release: Release, share: float) -> bool:
    """Whether a public value is likely to have LEAST_GROUP rows on average in a release of which this is a share.

    Where these rows have as many of a value themselves, groups are looked at. Of g rows of a value, m of n rows show
    each other's by chance m²(g − 1)/2n times, and neighbours more often; a quarter of that is enough to say so. Three
    rows of a value count at most: heaps are no groups.
    """
    n = count_rows(release)
    for column in release.manifest.public:
        array = one_array(release.table.read([column.name]).column(0)).drop_null()
        counts = pc.value_counts(array).field("counts").to_numpy()
        repeated = np.minimum(counts, 3)
        pairs = int((repeated * (repeated - 1) // 2).sum())
        if max(FEW_VALUES, n / LEAST_GROUP) < len(counts) and pairs > (LEAST_GROUP - 1.0) * n * share / 8.0:
            return True
    return False


def _orders(release: Release, sampled: pa.Table | None) -> Iterator[tuple[Rows, Rows, Alike]]:
    """Orders in which neighbours may resemble each other, those of public numbers.

    With each the records of the sample that have no place in it, and which rows others are like.
    """
    n = count_rows(release)
    for column in release.manifest.public:
        array = with_sampled(release, column.name, sampled)
        if kind_of(array.type).is_number:
            values = to_float(array, column.name)
            if len(np.unique(values[np.isfinite(values)])) > FEW_VALUES:
                rows = np.argsort(values, kind="stable").astype(np.intp)
                yield rows, n + np.flatnonzero(np.isnan(values[n:])), along(column.name, values, rows[rows < n])
