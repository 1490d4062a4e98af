"""A31: public columns that are coarse copies of private ones, against a secret matrix.

*Model.* ``y = M z (+ t)``, ``z = x / unit`` (P6), or ``y = R z + e`` with as many columns as private ones (P7, P8).
Some columns are released as they are beside y: bands, groups, ranks, rounded or noisy values of private columns.

*Knowledge.* The release alone; a sample, best with its people's public columns, known records and ranges help.

*Method.* A copy p of z_j rises along one direction of y, m_j, and n records tell it to ``sqrt((1 − r²) / (n r²))``
along each other direction (r² the share that z_j explains of p), or, where p is a band of z_j, to the order of d / n
(:mod:`veil.attacks.columns.single_index`). ``m_j · y`` is then the private column itself, and no longer its band. Which
one it is, say :mod:`veil.attacks.columns.copies` and, where these do not, shapes, ranges and known records. Copies of
several columns give several rows of Mᵀ, at right angles to each other; the rest is undone as with known columns (A9).
Public columns that are no copies line a sample up with the release.

*Reference.* The regression is that of Liu (2007, §4.2) of the known on the released columns; the maximum rank
correlation is Cavanagh and Sherman's (Journal of Econometrics 84, 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from veil.attacks.base import Details, Guess, GuessingAttack
from veil.attacks.columns.copies import Copies, Copy, calibrated, find_copies
from veil.attacks.columns.known_columns import polar_rows, undo
from veil.attacks.columns.public_numbers import PublicNumbers, public_numbers
from veil.attacks.columns.single_index import whitening
from veil.attacks.columns.situation import Columns
from veil.attacks.knowledge import Knowledge, KnownAttributes, KnownPairs, KnownRanges, KnownSample
from veil.data.blocks import Matrix, Vector
from veil.errors import NotApplicableError
from veil.numerics.ordering import by_name
from veil.release.models import Model, OrthogonalModel, ProjectionModel
from veil.release.release import Release

_ROUNDED: Final = 0.013
"""By how much two digits of a number miss it on average, relatively."""


@dataclass(frozen=True, eq=False)
class PublicCopiesDetails(Details):
    """What public columns tell of the secret matrix.

    Attributes
    ----------
    copies
        Names of the public columns that were taken for copies, the sharpest first.
    of
        The private column of each; None where that was left open, or to what else is known.
    errors
        The standard error of each direction, along each other direction of unit variance.
    how
        What settled the rest, as in A9; "public copies" where shapes did.
    """

    copies: tuple[str, ...]
    of: tuple[str | None, ...]
    errors: tuple[float, ...]
    how: str


class PublicCopiesAttack(GuessingAttack):
    """A31. Undo a secret matrix with public columns that are coarse or noisy copies of private ones.

    *Knowledge.* None beside the release. KnownSample (with its public columns), KnownPairs and KnownRanges are used.

    Notes
    -----
    ``guess.ambiguity`` and ``guess.up_to`` say what is arbitrary, as in A9: with the release alone mostly which column
    is which. ``guess.details``: ``copies``, ``of``, ``errors`` and ``how``.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, veil
    >>> x = np.random.default_rng(0).gamma(2.0, size=(2000, 3)) @ [[3.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    >>> table = pa.table({"x0": x[:, 0], "x1": x[:, 1], "x2": x[:, 2], "band": np.digitize(x[:, 0], [3.0, 6.0, 9.0])})
    >>> release, _ = veil.publish(table, veil.OrthogonalTransform(random_state=0), roles={"band": "public"})
    >>> sample = veil.KnownSample(x[:200], public=table.select(["band"]).slice(0, 200))
    >>> guess = veil.PublicCopiesAttack().run(release, sample)
    >>> guess.details.of, bool(np.std(guess.values[:, 0] - x[:, 0]) < 0.02 * x[:, 0].std())
    (('x0',), True)
    """

    catalogue = "A31"
    words = "solves for the secret matrix with public columns that are coarse copies of private ones"
    uses = (KnownSample, KnownPairs, KnownRanges)
    one_matrix = True
    needs_public = True

    @classmethod
    def applies_to(cls, model: Model) -> bool:
        """Secret matrices that act on records in public units, and lose no column."""
        whole = isinstance(model, ProjectionModel) and model.n_components >= len(model.unit)
        return isinstance(model, OrthogonalModel) or whole

    def _run(self, release: Release, knowledge: Sequence[Knowledge]) -> Guess:
        bare = Columns(release, None, knowledge)
        y, model = bare.y, bare.model
        root = whitening(y)
        if root.shape[1] < y.shape[1]:
            raise NotApplicableError("released columns depend on each other, or are constant")
        public = public_numbers(release, knowledge, (y - y.mean(axis=0)) @ root)
        orthogonal = isinstance(model, OrthogonalModel)
        origin = not (isinstance(model, OrthogonalModel) and model.translated)
        found = find_copies(y, public, bare.sample, bare.unit, orthogonal=orthogonal, origin=origin)
        beside = _beside(found.others, bare.sample) if orthogonal else None
        if not found.copies and beside is None:
            raise NotApplicableError("no public column is a copy of a private one, as far as the release shows")
        maps = _Rotation(bare, found, origin) if orthogonal else _Map(bare, found)
        columns = Columns(release, maps.attributes(), knowledge)
        columns.axes, columns.beside = maps.open_axes(), beside
        undone = undo(columns)
        turned = undone.turned if maps.settled else replace(undone.turned, order=False, sign=False)
        details = PublicCopiesDetails(
            tuple(copy.public.name for copy in found.copies),
            tuple(None if copy.place is None else bare.names[copy.place] for copy in found.copies),
            tuple(copy.index.error for copy in found.copies),
            turned.how,
        )
        return columns.guess(turned, details, scale=undone.scale and maps.scale)


class _Rotation:
    """Copies as rows of Mᵀ: unit vectors at right angles, the sharper ones turned less."""

    settled, scale = True, True

    def __init__(self, columns: Columns, found: Copies, origin: bool) -> None:
        self._columns, self._copies = columns, found.copies
        signs = np.array([copy.sign for copy in found.copies])
        weights = [copy.index.weights / np.linalg.norm(copy.index.weights) for copy in found.copies]
        errors = np.array([max(copy.index.error, 1e-6) for copy in found.copies])
        raw = np.array(weights).reshape(len(weights), columns.y.shape[1]).T * signs
        self._axes = polar_rows(raw * (errors.min() / errors) ** 2) if len(weights) else raw
        self._origin = origin

    def _named(self) -> list[int]:
        return [i for i, copy in enumerate(self._copies) if copy.place is not None and self._shift(i) is not None]

    def _shift(self, i: int) -> float | None:
        """What to add to the release along a copy, by the sample or by the copy's own units; None if unknown."""
        copy, columns = self._copies[i], self._columns
        if copy.place is None:
            return None
        if copy.public.sampled is not None and columns.sample is not None:
            scale = 1.0 / float(np.linalg.norm(copy.index.weights))
            return calibrated(copy, columns.y, columns.sample[:, copy.place], scale=scale, origin=self._origin)[1]
        if self._origin:
            return 0.0
        if not copy.by_units:
            return None
        rows = copy.public.rows
        return float(copy.public.values[rows].mean() / columns.unit[copy.place] - self._along(i)[rows].mean())

    def _along(self, i: int) -> Vector:
        return np.asarray(self._columns.y @ self._axes[:, i])

    def attributes(self) -> KnownAttributes | None:
        """The copies whose columns are named, as the columns themselves."""
        values: dict[int, Vector] = {}
        for i in self._named():
            place = self._copies[i].place
            if place is not None:
                values[place] = self._along(i) + (self._shift(i) or 0.0)
        return _attributes(self._columns, values)

    def open_axes(self) -> Matrix | None:
        """The directions of copies that are not named."""
        named = self._named()
        others = [i for i in range(len(self._copies)) if i not in named]
        return self._axes[:, others] if others else None


class _Map:
    """Copies behind a general map: columns in a scale that a sample, their own units or the manifest's say."""

    def __init__(self, columns: Columns, found: Copies) -> None:
        self._columns, self._copies = columns, found.copies
        self.settled = all(copy.place is not None for copy in found.copies)
        self.scale = True

    def attributes(self) -> KnownAttributes | None:
        """The copies as columns; those that are not named take the places that are left, in the order of names."""
        columns = self._columns
        taken = {copy.place for copy in self._copies}
        free = [int(j) for j in by_name(columns.names) if j not in taken]
        values: dict[int, Vector] = {}
        for copy in self._copies:
            place = free.pop(0) if copy.place is None else copy.place
            values[place] = self._scaled(copy)
        return _attributes(columns, values)

    def _scaled(self, copy: Copy) -> Vector:
        columns, v = self._columns, copy.along(self._columns.y)
        if copy.place is not None and copy.public.sampled is not None and columns.sample is not None:
            rounding = _ROUNDED if np.any(columns.unit != 1.0) else np.inf
            sampled = columns.sample[:, copy.place]
            factor, shift = calibrated(copy, columns.y, sampled, scale=1.0, rounding=rounding)
            return np.asarray(factor * v + shift)
        if copy.place is not None and copy.by_units:
            rows = copy.public.rows
            p, own = copy.public.values[rows], v[rows]
            slope = ((p - p.mean()) @ (own - own.mean())) / ((own - own.mean()) ** 2).sum()
            return np.asarray(v * float(slope) / columns.unit[copy.place])
        self.scale = self.scale and bool(np.any(columns.unit != 1.0))
        return v

    def open_axes(self) -> Matrix | None:
        """None: all copies have places."""
        return None


def _attributes(columns: Columns, values: dict[int, Vector]) -> KnownAttributes | None:
    """Columns in transformed units by their places, as attributes that are known of everybody."""
    at = sorted(values)
    if not at:
        return None
    stacked = np.column_stack([values[j] * columns.unit[j] for j in at])
    return KnownAttributes(tuple(columns.names[j] for j in at), stacked)


def _beside(others: Sequence[PublicNumbers], sample: Matrix | None) -> tuple[Matrix, Matrix] | None:
    """Public columns that say something, of the release and of a sample, in standard units; unknown ones as average."""
    pairs = []
    for column in sorted(others, key=lambda each: each.name):
        if sample is not None and column.sampled is not None:
            mean, spread = np.nanmean(column.values), np.nanstd(column.values)
            pairs.append([np.nan_to_num((v - mean) / spread) for v in (column.values, column.sampled)])
    if not pairs:
        return None
    return np.column_stack([pair[0] for pair in pairs]), np.column_stack([pair[1] for pair in pairs])
