"""P8: random projection of attributes or of records.

*Model.* ``y = R z/(√k σ_r)`` with ``z = x / unit`` and R k × d of independent entries (Liu 2007, §5.1): normal, or
``√s·{+1, 0, −1}`` with probabilities ``1/(2s), 1 − 1/s, 1/(2s)`` (Achlioptas 2003: s = 1 and s = 3; Li, Hastie and
Church 2006: s = √d), σ_r = 1. Distances and inner products are kept on average over R, with variances that fall as 1/k.
On records, R is k × N and ``Y = R Z/√k``: the few rows are no records, and inner products *of attributes* are kept.

A sparse R may have a unit vector in its row space: that attribute (or record) would be released exactly, up to a
factor. Such draws are thrown away (errata L-ae).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from veil.arguments import choice, whole
from veil.data.blocks import Matrix, tiles
from veil.errors import InputError
from veil.keys.randomness import Generator
from veil.perturbations.dither import wants_dither
from veil.perturbations.draws import Draws, Secrets
from veil.perturbations.facts import Facts
from veil.perturbations.layout import Layout, MadeOf, Noise
from veil.perturbations.linear import LinearPerturbation, check_digits, record_size
from veil.perturbations.projection_entries import KINDS, MOST_DRAWS, hides_all, mean_square, projection_entries
from veil.perturbations.record_projection import first_attempt, projected_share, record_matrix
from veil.perturbations.signs import FEWEST_COLUMNS, SignMatrix
from veil.release.models import ProjectionModel, RecordProjectionModel
from veil.release.models.linear import no_noise

AXES = ("attributes", "records")


class RandomProjection(LinearPerturbation):
    """P8. Project records on fewer dimensions by one secret random matrix.

    Parameters
    ----------
    n_components : int
        k, the number of released columns (``axis="attributes"``) or rows (``axis="records"``).
    scaling : {"std", None}, default "std"
        Divide each attribute by its standard deviation, rounded to two digits, first; None keeps raw units.
    kind : {"gaussian", "achlioptas1", "achlioptas3", "sparse"}
        The law of the entries.
    axis : {"attributes", "records"}
        What is reduced. With records, no released row is a record, and public columns cannot go along.
    dither : {"auto", False}, default "auto"
        Move columns of whole or decimal numbers off their grid by keyed noise of one grain first. False does not;
        neither is it done to records that are projected, whose sums show no grid.
    random_state : None or int
        None draws 256 secret bits. A seed is for tests and papers: the release says so.

    Attributes
    ----------
    unit_ : array of shape (d,)
        What each attribute was divided by.

    Examples
    --------
    >>> import numpy as np, veil
    >>> x = np.random.default_rng(0).normal(size=(50, 20))
    >>> veil.RandomProjection(8, random_state=0).fit_transform(x).shape
    (50, 8)
    """

    threat = (
        "Released: ``y``, the units, k and the kind. Secret: ``R``. It is one matrix for all records, so known "
        "records with their rows pin it down (A14: p of them give p of k dimensions, and with the Achlioptas and "
        "sparse kinds one to three often give all of R), a sample of the population gives its covariance and more "
        "(A21), independent columns give some of themselves (A16). If R leaks, integers come back exactly (A15); "
        "also with R secret and without dither, three or four known records often give all whole numbers (A26). There "
        "is no formal guarantee."
    )
    catalogue = "P8"
    summary = "Project records on fewer dimensions by one secret random matrix."
    headline = ("n_components",)
    model_: ProjectionModel | RecordProjectionModel

    def __init__(
        self,
        n_components: int = 2,
        *,
        scaling: str | None = "std",
        kind: str = "gaussian",
        axis: str = "attributes",
        dither: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.scaling = scaling
        self.kind = kind
        self.axis = axis
        self.dither = dither
        self.random_state = random_state

    @property
    def layout(self) -> Layout:
        """Attributes of each record are mixed, or records are summed up."""
        records = isinstance(self.axis, str) and self.axis == "records"
        made_of, grids = (MadeOf.TABLE, False) if records else (MadeOf.RECORD, self.dither is not False)
        return Layout(made_of=made_of, noise=Noise.NONE, spread=True, grids=grids, extremes=True)

    def learn(self, facts: Facts) -> ProjectionModel | RecordProjectionModel:
        """Units and dimensions; the matrix is drawn once it determines nothing."""
        k = whole(self.n_components, "n_components", least=1)
        choice(self.kind, "kind", KINDS)
        choice(self.axis, "axis", AXES)
        records, n, d = self.layout.reduces, facts.moments.n_rows, len(facts.columns)
        unit = self._units(facts, fewest=1 if records else 2)
        if not records:
            check_digits(facts, unit)
        most, what = (n - 1, "records") if records else (d, "columns")
        if k > most:
            raise InputError(
                f"n_components must be at most {most} for {n} records of {d} columns when {what} are projected; got {k}"
            )
        wants_dither(self.dither)
        if records:
            summed = RecordProjectionModel(unit, int(k), n, self.kind)
            first_attempt(facts.secrets, summed)
            return summed
        model = ProjectionModel(unit, int(k), self.kind, no_noise(int(k)))
        matrix = _attribute_matrix(facts.secrets, model)
        condition = float(np.linalg.cond(matrix)) if k == d else 0.0
        return replace(model, dither=self._dither(facts, unit, size=condition * record_size(facts, unit)))

    def transform(self, X: Any) -> Any:
        """Project a table; with records projected, the one that it was fitted on (or another of as many records)."""
        model = getattr(self, "model_", None)
        if isinstance(model, RecordProjectionModel) and np.ndim(X) == 2 and len(X) != model.n_records:
            raise InputError(
                f"RandomProjection was fitted on {model.n_records} records and its matrix has a column for each; X has "
                f"{len(X)}: fit it on the table that it is to project"
            )
        return super().transform(X)

    def _matrix(self, secrets: Secrets) -> Matrix:
        if isinstance(self.model_, RecordProjectionModel):
            return record_matrix(secrets, self.model_)
        return _attribute_matrix(secrets, self.model_)

    def perturb(self, block: Matrix, draws: Draws) -> Matrix:
        """Project the block's attributes; or its share of the projected records, d × k."""
        model = self.model_
        if isinstance(model, RecordProjectionModel):
            return projected_share(draws.secrets, model, block, draws.start)
        if model.kind != "sparse" or len(model.unit) < FEWEST_COLUMNS:
            return super().perturb(block, draws)
        signs = SignMatrix.of(self._matrix(draws.secrets))
        out = np.empty((model.n_components, block.shape[1]))
        for tile in tiles(block.shape[1]):
            out[:, tile] = signs.product(self._dithered(block[:, tile], draws) / model.unit[:, None])
        return out

    def restore(self, block: Matrix, draws: Draws) -> Matrix:
        """Solve, where nothing was reduced."""
        return self._private(np.asarray(np.linalg.solve(self._matrix(draws.secrets), block)))

    def invertible(self, *, consistent: bool) -> bool:
        """Only when as many columns were released as there were."""
        model = self.model_
        return isinstance(model, ProjectionModel) and model.n_components == len(model.unit)


def _attribute_matrix(secrets: Secrets, model: ProjectionModel) -> Matrix:
    """The secret k × d matrix: the first draw that hides every attribute."""
    k, d = model.n_components, len(model.unit)

    def drawn(source: Generator) -> Matrix:
        for _ in range(MOST_DRAWS):
            entries = projection_entries(source, k, d, model.kind, d)
            if hides_all(entries, model.kind):
                return entries / math.sqrt(k * mean_square(model.kind, k, d))
        raise InputError(
            f"kind {model.kind!r} released some attribute exactly in each of {MOST_DRAWS} draws of a {k} × {d} matrix; "
            "use kind='gaussian', or fewer components"
        )

    return secrets.matrix("matrix", model.undithered.to_json(), drawn)
