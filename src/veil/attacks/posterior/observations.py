"""What a release and granted attributes show of every record, as the joint posterior (A28) takes it.

Every column that says something is either a *number*, seen as ``z = u + e`` in a working scale u of its own with normal
noise e of a known covariance, or a *variable* of finitely many states, seen through a channel ``P[report, state]``:

=============================  =====================================================================================
additive noise (P1, P2, P21)   number, u = x; of uniform or Laplace noise e has the noise's variance
multiplicative (P3)            number, u = ln |x|, z = ln |y| − E ln r; sign and zeros are a variable without noise
combined (P22)                 number, u = x, z = y/E r; e has the mean variance of the error
log-normal (P4)                number, u = ln x
randomized response, baskets   variable; columns randomized as one are one variable of all combinations
classes (P17)                  number, z the middle of the class, e of the variance that values in it have
public and known columns       number or variable without noise
=============================  =====================================================================================

Where the noise is not normal, its own law is put in the place of the normal one when the column itself is guessed
(:mod:`veil.attacks.posterior.own_laws`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.base import granted
from veil.attacks.categories.response_posterior import basket_response
from veil.attacks.knowledge import LARGEST, Knowledge, KnownAttributes
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.noise.additive import with_grain
from veil.attacks.posterior.own_laws import FactorSum, Interval, OwnLaw, additive_law, factor_law
from veil.data.blocks import Matrix, Vector, to_float
from veil.data.schema import Kind, kind_of
from veil.errors import InputError, NotApplicableError
from veil.numerics.laws import NORMAL
from veil.release.manifest import Part
from veil.release.models import (
    AdditiveModel,
    BasketModel,
    ClassModel,
    LogNormalModel,
    MechanismModel,
    Model,
    MultiplicativeModel,
    ResponseModel,
)
from veil.release.release import Release

Codes = npt.NDArray[np.int64]
FEW_VALUES = 24
"""A public number with at most as many different values is taken as a variable, so that its groups may differ freely."""
FEWEST_PER_FEATURE = 20
"""Records for each function of a covariate that a prior learns."""
MOST_STATES = 64
"""Texts with more different values than this say nothing here: they name people rather than groups."""


@dataclass(frozen=True, eq=False)
class Number:
    """A column seen with noise.

    Attributes
    ----------
    name, place
        The column, and where it stands in the guess; −1 for a covariate.
    z
        What is seen, in the working scale; NaN where nothing is.
    logs
        Whether the working scale is that of ln |x|.
    sign
        Of the values of a column in logarithms: −1, 0 or 1 for each record.
    bounds
        Ends that the method itself put to the values.
    law
        The law of the noise where it is not normal.
    whole
        Whether the values are whole numbers.
    known
        The exact values, where they are known.
    feature
        Whether it is a function of a covariate, for a prior that is linear in what is known.
    """

    name: str
    place: int
    z: Vector
    logs: bool = False
    sign: Vector | None = None
    bounds: tuple[float, float] = (-np.inf, np.inf)
    law: OwnLaw | FactorSum | Interval | None = None
    whole: bool = False
    known: Vector | None = None
    feature: bool = False

    def working(self, x: Vector) -> Vector:
        """Private values in the working scale; NaN for a zero in logarithms."""
        if not self.logs:
            return np.clip(x, *self.bounds)
        size = np.abs(x)
        return np.log(size, out=np.full(len(x), np.nan), where=size > 0)


@dataclass(frozen=True, eq=False)
class Variable:
    """Some columns seen through a channel.

    Attributes
    ----------
    names
        The columns.
    reports
        The report of every record; −1 where nothing is seen.
    channel
        P[report, state].
    states
        One row of codes for each state, one column for each of ``names``.
    places
        Where the columns stand in the guess; −1 for a covariate.
    encode
        The states of private records (m × columns), −1 for what is no state; None for a covariate.
    """

    names: tuple[str, ...]
    reports: Codes
    channel: Matrix
    states: Codes
    places: tuple[int, ...]
    encode: Callable[[Matrix], Codes] | None = None


@dataclass(frozen=True, eq=False)
class Observations:
    """All that is seen of N records.

    ``names`` are the columns that are guessed; ``noise`` the covariance of the numbers' noise; ``given`` the columns of
    the guess that are known, with their values; ``codes`` what was reported in each column of categories.
    """

    n_rows: int
    names: tuple[str, ...]
    numbers: tuple[Number, ...]
    noise: Matrix
    variables: tuple[Variable, ...]
    given: dict[int, Vector]
    codes: dict[str, Codes]

    @property
    def z(self) -> Matrix:
        """What is seen of the numbers (N × q)."""
        return np.column_stack([number.z for number in self.numbers]) if self.numbers else np.empty((self.n_rows, 0))


@dataclass
class _Draft:
    """Numbers and variables on the way."""

    numbers: list[Number] = field(default_factory=list)
    blocks: list[Matrix] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    codes: dict[str, Codes] = field(default_factory=dict)

    def add(self, numbers: Sequence[Number], noise: Matrix) -> None:
        self.numbers += numbers
        self.blocks.append(noise)


def supported(model: Model) -> bool:
    """Whether every record has draws of its own, from a published law."""
    if isinstance(model, AdditiveModel):
        return True
    kinds = (MultiplicativeModel, LogNormalModel, ResponseModel, ClassModel)
    return isinstance(model, kinds) or (isinstance(model, BasketModel) and model.kind != "select")


def observe(release: Release, knowledge: Sequence[Knowledge]) -> Observations:
    """Read a release and the attributes that are known of everybody."""
    n_rows = count_rows(release)
    if not n_rows:
        raise NotApplicableError("the release has no rows")
    attributes = granted(knowledge, KnownAttributes)
    known: dict[str, Vector] = {}
    if attributes is not None:
        if len(attributes.values) != n_rows:
            raise InputError(f"KnownAttributes has {len(attributes.values)} records; the release has {n_rows}")
        known = dict(zip(attributes.columns, attributes.values.T, strict=True))
    parts = [i for i, part in enumerate(release.manifest.parts) if supported(part.model)]
    names = tuple(name for i in parts for name in release.manifest.parts[i].names)
    draft, place = _Draft(), 0
    for i in parts:
        part = release.manifest.parts[i]
        _add_part(draft, release.part(i), part, place, known)
        place += len(part.names)
    given = {j: known[name] for j, name in enumerate(names) if name in known}
    for name, values in known.items():
        if name not in names:
            _add_covariate(draft, name, values)
    for column in release.manifest.public:
        if column.name not in known:
            _add_public(draft, release, column.name)
    noise = np.zeros((len(draft.numbers), len(draft.numbers)))
    at = 0
    for block in draft.blocks:
        noise[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return Observations(n_rows, names, tuple(draft.numbers), noise, tuple(draft.variables), given, draft.codes)


def _add_part(draft: _Draft, single: Release, part: Part, first: int, known: dict[str, Vector]) -> None:
    """What one perturbation shows."""
    model = part.model
    if isinstance(model, ResponseModel | BasketModel):
        if isinstance(model, BasketModel):
            response, codes = basket_response(model), single.to_numpy().astype(np.int64)[:, : model.n_items]
        else:
            response, codes = model, single.codes()
        _add_responses(draft, response, codes, part.names, first, known)
        return
    if isinstance(model, ClassModel):
        for j, name in enumerate(part.names):
            if name in known:
                _add_covariate(draft, name, known[name], first + j)
            else:
                _add_class(draft, single, model, part, j, first + j)
        return
    y = single.to_numpy()
    numbers, noise = _noisy(draft, model, part, y, first)
    given = np.array([name in known for name in part.names])
    for j in np.flatnonzero(given):
        exact = known[part.names[j]]
        seen = numbers[j].working(exact)
        numbers[j] = Number(part.names[j], first + int(j), seen, numbers[j].logs, np.sign(exact), known=exact)
    if given.any():
        _condition(numbers, noise, y, given, known)
    draft.add(numbers, noise)


def _noisy(draft: _Draft, model: Model, part: Part, y: Matrix, first: int) -> tuple[list[Number], Matrix]:
    """The columns of a method of noise on numbers."""
    whole = [column.is_integer for column in part.columns]
    if isinstance(model, AdditiveModel):
        bounds = model.bounds.tolist() if isinstance(model, MechanismModel) else [(-np.inf, np.inf)] * len(whole)
        law = model.distribution
        laws = [None if law == NORMAL.name else additive_law(law, float(s)) for s in model.scale]
        return [
            Number(name, first + j, y[:, j], bounds=tuple(bounds[j]), law=laws[j], whole=whole[j])
            for j, name in enumerate(part.names)
        ], model.covariance.copy()
    if isinstance(model, MultiplicativeModel) and model.noise.any():
        m1, m2 = model.law.raw_moments()[:2]
        square = np.clip(np.nanmean(y**2, axis=0) - model.noise**2, 0.0, None) / m2
        variance = ((m2 - m1**2) * square + model.noise**2) / m1**2
        numbers = [
            Number(name, first + j, y[:, j] / m1, law=FactorSum(model.law, float(tau)), whole=whole[j])
            for j, (name, tau) in enumerate(zip(part.names, model.noise, strict=True))
        ]
        return numbers, np.diag(variance)
    size = np.abs(y)
    logs = np.log(size, out=np.full(y.shape, np.nan), where=size > 0)
    shift, noise, own = 0.0, np.zeros((len(whole), len(whole))), None
    if isinstance(model, MultiplicativeModel):
        shift, variance = model.law.log_moments()
        noise, own = np.eye(len(whole)) * variance, factor_law(model.law)
        for j, name in enumerate(part.names):
            if (y[:, j] <= 0).any():
                draft.variables.append(_signs(name, y[:, j], first + j))
    elif isinstance(model, LogNormalModel):
        noise = model.covariance.copy()
    return [
        Number(name, first + j, logs[:, j] - shift, True, np.sign(y[:, j]), law=own, whole=whole[j])
        for j, name in enumerate(part.names)
    ], noise


def _condition(
    numbers: list[Number], noise: Matrix, y: Matrix, given: npt.NDArray[np.bool_], known: dict[str, Vector]
) -> None:
    """Take known columns out of a noise that columns share: theirs is known, and tells as much of the others'."""
    across = noise[np.ix_(~given, given)]
    if across.any():
        logs = numbers[0].logs
        seen = np.log(y, out=np.full(y.shape, np.nan), where=y > 0) if logs else y
        exact = np.column_stack([numbers[j].z for j in np.flatnonzero(given)])
        deviation = np.nan_to_num(seen[:, given] - exact)
        share = across @ np.linalg.pinv(noise[np.ix_(given, given)], hermitian=True)
        for row, j in zip(share, np.flatnonzero(~given), strict=True):
            held = numbers[j]
            z = held.z - deviation @ row
            numbers[j] = Number(held.name, held.place, z, held.logs, held.sign, held.bounds, held.law, held.whole)
        own = noise[np.ix_(~given, ~given)]
        noise[np.ix_(~given, ~given)] = with_grain(own - share @ across.T, np.diag(own))
    noise[given] = 0.0
    noise[:, given] = 0.0


def _signs(name: str, y: Vector, place: int) -> Variable:
    """The signs of a column whose noise leaves them as they are; they are no guess of their own."""

    def encode(x: Matrix) -> Codes:
        return (np.sign(x[:, 0]) + 1).astype(np.int64)

    codes = np.where(np.isnan(y), -1, np.sign(np.nan_to_num(y)) + 1).astype(np.int64)
    return Variable((name,), codes, np.eye(3), np.arange(3)[:, None], (-1 - place - 1,), encode)


def _add_class(draft: _Draft, single: Release, model: ClassModel, part: Part, j: int, place: int) -> None:
    """A column of classes: the middle of each with the error of a value spread evenly over it."""
    texts = single.table.read([part.released[j]]).column(0).combine_chunks()
    if pa.types.is_dictionary(texts.type):
        texts = texts.cast(texts.type.value_type)
    codes = pc.index_in(texts, value_set=pa.array(list(model.names[j]), type=texts.type)).fill_null(-1).to_numpy()
    edges = model.edges[j]
    width = float(np.diff(edges).mean()) if len(edges) > 1 else abs(float(edges[0])) or 1.0
    ends = np.r_[edges[0] - width, edges, edges[-1] + width]
    middle, there = (ends[1:] + ends[:-1]) / 2, codes >= 0
    z = np.where(there, middle[np.maximum(codes, 0)], np.nan)
    variance = float((np.diff(ends)[codes[there]] ** 2).mean()) / 12 if there.any() else 1.0
    open_ends = np.r_[-np.inf, edges, np.inf]
    law = Interval(open_ends[np.maximum(codes, 0)], open_ends[np.maximum(codes, 0) + 1], width)
    number = Number(part.names[j], place, z, law=law, whole=part.columns[j].is_integer)
    draft.add([number], np.array([[variance]]))


def _add_responses(
    draft: _Draft,
    model: ResponseModel,
    codes: Codes,
    names: tuple[str, ...],
    first: int,
    known: dict[str, Vector],
) -> None:
    """Columns of categories: each by itself, or all as one variable."""
    draft.codes.update(zip(names, codes.T, strict=True))
    given = {j: category_codes(known[name], model.categories[j]) for j, name in enumerate(names) if name in known}
    if model.compound is None:
        for j, name in enumerate(names):
            n, places = len(model.categories[j]), (first + j,)
            channel, reports = (np.eye(n), given[j]) if j in given else (model.matrices[j], codes[:, j])
            encode = _category_encoder(model.categories[j])
            draft.variables.append(Variable((name,), reports, channel, np.arange(n)[:, None], places, encode))
        return
    states = np.array(model.compound, dtype=np.int64)
    place = {cell: i for i, cell in enumerate(model.compound)}
    reports = np.array([place.get(cell, -1) for cell in map(tuple, codes.tolist())], dtype=np.int64)
    (channel,) = model.matrices
    if given:
        # A report together with what is known: as many reports as there are different ones.
        keys = np.column_stack([reports, *given.values()])
        pairs, reports = np.unique(keys, axis=0, return_inverse=True)
        fits = ((pairs[:, None, 1:] == states[:, list(given)]) | (pairs[:, None, 1:] < 0)).all(axis=2)
        channel = np.where(pairs[:, :1] < 0, 1.0, channel[pairs[:, 0]]) * fits
        reports = reports.ravel().astype(np.int64)
    places = tuple(range(first, first + len(names)))
    draft.variables.append(Variable(names, reports, channel, states, places, _compound_encoder(model)))


def _category_encoder(categories: tuple[object, ...]) -> Callable[[Matrix], Codes]:
    def encode(x: Matrix) -> Codes:
        return category_codes(x[:, 0], categories)

    return encode


def _compound_encoder(model: ResponseModel) -> Callable[[Matrix], Codes]:
    def encode(x: Matrix) -> Codes:
        codes = np.column_stack([category_codes(c, known) for c, known in zip(x.T, model.categories, strict=True)])
        place = {cell: i for i, cell in enumerate(model.compound or ())}
        return np.array([place.get(cell, -1) for cell in map(tuple, codes.tolist())], dtype=np.int64)

    return encode


def category_codes(values: Vector, categories: Sequence[object]) -> Codes:
    """Granted values of a category: whole numbers stand for themselves, anything else is known by its code.

    >>> category_codes(np.array([5.0, 7.0, 6.0]), (5, 7)).tolist()
    [0, 1, -1]
    >>> category_codes(np.array([1.0, 0.0]), ("no", "yes")).tolist()
    [1, 0]
    """
    numeric = all(isinstance(value, int) for value in categories)
    listing = np.array([float(v) for v in categories if isinstance(v, int)]) if numeric else np.arange(len(categories))
    order = np.argsort(listing)
    at = np.clip(np.searchsorted(listing[order], values), 0, len(listing) - 1)
    return np.where(listing[order][at] == values, order[at], -1).astype(np.int64)


def _add_public(draft: _Draft, release: Release, name: str) -> None:
    """A column that is released as it is."""
    array = release.table.read([name]).column(0).combine_chunks()
    kind = kind_of(array.type)
    if kind is Kind.NUMERIC:
        values = to_float(array, name)
        _add_covariate(draft, name, np.where(np.abs(values) <= LARGEST, values, np.nan))
    elif kind in (Kind.TEXT, Kind.CATEGORY, Kind.BOOLEAN):
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        listing = pc.unique(array).drop_null()
        listing = listing.take(pc.sort_indices(listing))
        codes = pc.index_in(array, value_set=listing, skip_nulls=True).fill_null(-1)
        _add_states(draft, name, codes.to_numpy().astype(np.int64), len(listing))


def _add_covariate(draft: _Draft, name: str, values: Vector, place: int = -1) -> None:
    """Numbers that are known exactly; as a covariate also by its groups, or bent at its quartiles."""
    there = ~np.isnan(values)
    levels, codes = np.unique(values[there], return_inverse=True)
    if len(levels) < 2:
        return
    draft.add([Number(name, place, values, known=values)], np.zeros((1, 1)))
    if place >= 0 or len(levels) == 2:
        return
    if len(levels) <= FEW_VALUES:
        everybody = np.full(len(values), -1, dtype=np.int64)
        everybody[there] = codes
        _add_states(draft, name, everybody, len(levels), first=2)
    else:
        for quartile in np.quantile(values[there], (0.25, 0.5, 0.75)):
            _add_feature(draft, name, np.maximum(values - quartile, 0.0))


def _add_states(draft: _Draft, name: str, codes: Codes, n: int, first: int = 1) -> None:
    """A covariate of few states: as a variable, and the states from ``first`` on as 0/1 numbers."""
    if not 1 < n <= min(MOST_STATES, max(len(codes) // FEWEST_PER_FEATURE, 2)):
        return
    draft.variables.append(Variable((name,), codes, np.eye(n), np.arange(n)[:, None], (-1,)))
    draft.codes[name] = codes
    for state in range(first, n):
        _add_feature(draft, name, np.where(codes < 0, np.nan, codes == state))


def _add_feature(draft: _Draft, name: str, values: Vector) -> None:
    features = sum(number.feature for number in draft.numbers)
    if np.nanmin(values) < np.nanmax(values) and features < len(values) // FEWEST_PER_FEATURE:
        draft.add([Number(name, -1, values, known=values, feature=True)], np.zeros((1, 1)))
