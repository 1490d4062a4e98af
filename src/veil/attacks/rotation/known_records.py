"""A10: known records without their rows against an orthogonal transformation (tutorial, "a-priori knowledge").

*Model.* ``y = M z + t``, M orthogonal. *Known*: some private records, not which rows are theirs, and perhaps not
even that they are in the release. M keeps lengths and distances, so that the rows are found by them
(:mod:`veil.attacks.rotation.matching`); the rest is A9: each direction of the matched records' span is known, the
others are guessed by their mean. The tutorial regresses X on Y with d records, and the inverse of an orthogonal matrix
comes out; here it is made orthogonal, so that rounding errors in one direction do not spread, and fewer than d records
do.

Coarse whole numbers have many matchings that are exact: a grid has symmetries. The manifest says which columns were
whole numbers; the matching is taken whose table is whole there and has the known records among its ordinary ones.
A table that has the grid's own symmetries, such as independent uniform columns of one width, keeps its secret order
and signs all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from veil.attacks.base import Details, Guess, GuessingAttack, check_width, full_guess, needed
from veil.attacks.knowledge import Knowledge, KnownRecords
from veil.attacks.rotation.consistent_sets import Rows
from veil.attacks.rotation.known_pairs import completed_rotation, dither_length, known_bases, rank_tolerance
from veil.attacks.rotation.matching import match_records, release_tolerance
from veil.data.blocks import Matrix, Vector
from veil.errors import InputError, NotApplicableError
from veil.numerics.ordering import size_order
from veil.release.models import Model, OrthogonalModel
from veil.release.release import Release

JUDGED_ROWS = 1_000


@dataclass(frozen=True, eq=False)
class MatchDetails(Details):
    """The rows of the known records.

    Attributes
    ----------
    matched
        The row of each known record, or −1.
    unique, ambiguous, unmatched
        How many of them have one row, several that would do as well, or none.
    rank
        Of the span in which the matrix is known.
    misfit
        The largest error of a length or distance, relative to the longest.
    complete
        Whether the search for the rows came to its end.
    """

    matched: Rows
    unique: int
    ambiguous: int
    unmatched: int
    rank: int
    misfit: float
    complete: bool


class KnownRecordsAttack(GuessingAttack):
    """A10. Find known records in the release by lengths and distances, then undo the transformation.

    Parameters
    ----------
    variant : {"best"}
        There is one.
    tolerance : None or float
        The largest error of a released or known record, as a length in the units that were rotated. None reads
        the release's rounding off its values and takes the known records for exact.

    Notes
    -----
    ``guess.details``: ``matched``, the row of each known record or −1; how many of them are ``unique``, ``ambiguous``
    (another row would do as well) and ``unmatched``; ``rank`` of the span in which the matrix is known, as for A9;
    ``misfit``, the largest error of a length or distance, relative to the longest; ``complete``, whether the search
    for the rows came to its end. ``guess.ambiguity`` is "match" when several matchings are equally good and mean
    different matrices: the one with the most plausible table is used, then the most consistent. Equal rows (duplicates)
    are ambiguous as rows, not for the matrix.

    Too few matched records leave the rest of the space open: 1 of 5 dimensions known is hardly better than a constant
    guess. When no record is found, the guess is the known records' mean.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> release, _ = veil.publish(x, veil.OrthogonalTransform(random_state=0))
    >>> guess = veil.KnownRecordsAttack().run(release, veil.KnownRecords(x[[7, 3, 5, 9]]))
    >>> guess.details.matched.tolist(), bool(np.abs(guess.values - x).max() < 1e-4)
    ([7, 3, 5, 9], True)
    """

    catalogue = "A10"
    words = "finds known records in the release by their lengths and distances and solves for the secret matrix"
    requires = (KnownRecords,)
    one_matrix = True

    def __init__(self, *, variant: str = "best", tolerance: float | None = None) -> None:
        super().__init__(variant=variant)
        self.tolerance = tolerance

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Orthogonal transformations, with or without translation."""
        return isinstance(model, OrthogonalModel)

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        records = needed(knowledge, KnownRecords).records
        check_width(records, release, "KnownRecords.records")
        if not len(records):
            raise InputError("KnownRecords.records has no records; at least 1 is needed")
        y, model = release.to_numpy(), release.only_part.model
        if not isinstance(model, OrthogonalModel):
            raise NotApplicableError("the manifest does not describe an orthogonal transformation")
        known = model.scaled(records)
        allowed = release_tolerance(y) + dither_length(model) if self.tolerance is None else self.tolerance
        whole = np.array([column.is_integer and model.dither is None for column in release.only_part.columns])
        complete = y[np.isfinite(y).all(axis=1)]
        complete = complete[size_order(complete)[:JUDGED_ROWS]]

        def judge(matched: Rows, rows: Rows) -> float:
            z, _ = _undone(complete, known[matched], y[rows], known, model, allowed)
            return strangeness(z, known, model.unit, whole)

        match = match_records(known, y, translated=model.translated, tolerance=allowed, judge=judge)
        there = match.rows >= 0
        z, rank = _undone(y, known[there], y[match.rows[there]], known, model, match.tolerance)
        longest = float(np.linalg.norm(known, axis=1).max())
        return full_guess(
            release,
            model.private(z),
            MatchDetails(
                matched=match.rows,
                unique=int(match.unique.sum()),
                ambiguous=int((there & ~match.unique).sum()),
                unmatched=int((~there).sum()),
                rank=rank,
                misfit=match.misfit / longest if longest > 0 else 0.0,
                complete=match.complete,
            ),
            ambiguity="match" if match.alternatives > 1 or not match.complete else "none",
        )


def strangeness(z: Matrix, known: Matrix, unit: Vector, whole: npt.NDArray[np.bool_]) -> float:
    """How little a recovered table looks like the private one, as far as known records and column types tell.

    The distance of ``whole`` columns from whole numbers (0: all are, 1: as far as values at random), less the mean
    logarithm of the table's density at the known records (normal kernel, Scott's width): they should be ordinary
    records of it, neither outside its range nor where few others are. ``z`` and ``known`` are in units of ``unit``.
    """
    parts = (z * unit)[:, whole]
    uneven = 4.0 * float(np.abs(parts - np.round(parts)).mean()) if parts.size else 0.0
    n, d = z.shape
    width = float(np.sqrt(z.var(axis=0).mean())) * n ** (-1.0 / (d + 4))
    near = np.exp(-0.5 * (cdist(known, z) / width) ** 2).sum(axis=1) if width > 0 else np.zeros(len(known))
    return uneven - float(np.log1p(near).mean())


def _undone(
    y: Matrix, known_z: Matrix, known_y: Matrix, records: Matrix, model: OrthogonalModel, tolerance: float
) -> tuple[Matrix, int]:
    """All records as far as the matched ones say, and the rank of the span in which they do."""
    if not len(known_z):
        missing = np.isnan(y).any(axis=1, keepdims=True)
        return np.where(missing, np.nan, records.mean(axis=0)), 0
    origin_z, origin_y = np.zeros(y.shape[1]), np.zeros(y.shape[1])
    if model.translated:  # differences to the mean are free of the translation
        origin_z, origin_y = known_z.mean(axis=0), known_y.mean(axis=0)
    inner, outer = known_z - origin_z, known_y - origin_y
    longest = float(np.linalg.norm(inner, axis=1).max())
    # A direction in which the records differ by less than the rounding is not known.
    share = max(1e-9, tolerance / longest) if longest > 0 else 1e-9
    if model.dither is not None:
        share = rank_tolerance(inner, dither_length(model))
    u, v = known_bases(inner, outer, tolerance=share, weighted=model.dither is not None)
    rank = u.shape[1]
    if model.proper and rank == len(u) - 1:
        u, v = completed_rotation(u, v)
        rank = len(u)
    return np.asarray((y - origin_y) @ v @ u.T + origin_z), rank
