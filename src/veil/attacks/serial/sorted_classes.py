"""Classes of a sorted file: the place among the records of a class tells where in it a value lies (A18).

*Model.* A value is released as the class that holds it (P17). Along a file that is sorted by the column the classes
rise, or fall, without exception. The r-th of the n records of a class is then its ``(r − ½)/n`` quantile, up to
``√(q(1−q)/n)`` of the class in probability: the more records a class has, the nearer. The distribution within a class
is that of A2, from the counts of all classes. Classes of any other order leave the guess of A2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.knowledge.base import Rows
from veil.attacks.noise.classes import ClassColumn
from veil.attacks.noise.univariate import UnivariateBayesAttack
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.release.models import ClassModel
from veil.release.release import Release

FEWEST_CLASSES, FEWEST_ROWS = 3, 20
"""Classes and values without which an order may be chance."""


def guess_classes(release: Release, order: Rows, aim: str) -> tuple[Matrix, tuple[str, ...]]:
    """Guesses of all columns, and for each whether it is "sorted" or "white"."""
    model, part = release.only_part.model, release.only_part
    if not isinstance(model, ClassModel):
        raise NotApplicableError("the manifest does not describe classes")
    values = UnivariateBayesAttack(aim=aim).run(release).values.copy()
    names = []
    for j, (name, texts) in enumerate(zip(part.released, model.names, strict=True)):
        released = release.table.read([name]).column(0).combine_chunks()
        if pa.types.is_dictionary(released.type):
            released = released.cast(released.type.value_type)
        codes = pc.index_in(released, value_set=pa.array(list(texts), type=released.type)).fill_null(-1).to_numpy()
        rows = order[codes[order] >= 0]
        steps = np.diff(codes[rows])
        falling = bool((steps <= 0).all())
        counts = np.bincount(codes[rows], minlength=len(texts))
        rises_or_falls = falling or bool((steps >= 0).all())
        if not rises_or_falls or (counts > 0).sum() < FEWEST_CLASSES or len(rows) < FEWEST_ROWS:
            names.append("white")
            continue
        rows = rows[::-1] if falling else rows
        values[rows, j] = _quantiles(model.edges[j], counts, whole=part.columns[j].is_integer)
        names.append("sorted")
    return values, tuple(names)


def _quantiles(edges: Vector, counts: npt.NDArray[np.int64], *, whole: bool) -> Vector:
    """The values of rising records, class by class."""
    column = ClassColumn(edges=edges, counts=counts, whole=whole, limits=None, known=np.empty(0))
    rising = []
    for posterior, n in zip(column.posteriors(), counts.tolist(), strict=True):
        levels = (np.arange(n) + 0.5) / max(n, 1)
        if whole and posterior.points.size and (posterior.points == np.rint(posterior.points)).all():
            at = np.searchsorted(np.cumsum(posterior.weights), levels)
            rising.append(posterior.points[np.minimum(at, len(posterior.points) - 1)])
        else:
            rising.append(np.interp(levels, np.cumsum(posterior.weights) - posterior.weights / 2, posterior.points))
    return np.concatenate(rising)
