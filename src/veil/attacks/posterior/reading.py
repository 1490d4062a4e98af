"""Read a release and granted attributes as observations of every record (A28)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.attacks.base import granted
from veil.attacks.categories.response_posterior import basket_response
from veil.attacks.knowledge import Knowledge, KnownAttributes
from veil.attacks.knowledge.base import private_names
from veil.attacks.knowledge.previous_releases import count_rows
from veil.attacks.noise.additive import with_grain
from veil.attacks.posterior.covariates import add_covariate, add_pattern, add_public
from veil.attacks.posterior.observations import Codes, Draft, Number, Observations, Variable
from veil.attacks.posterior.others import Others
from veil.attacks.posterior.own_laws import FactorSum, Interval, additive_law, factor_law
from veil.attacks.posterior.relatives import SURELY, SURELY_BY_SOME, add_relatives
from veil.attacks.posterior.responses import add_responses, category_codes, category_encoder, known_guesses
from veil.attacks.recoded import released_places
from veil.data.blocks import Matrix, Vector, to_float
from veil.errors import InputError, NotApplicableError
from veil.numerics.laws import NORMAL, is_law
from veil.release.manifest import Manifest, Part
from veil.release.models import (
    AdditiveModel,
    BasketModel,
    ClassModel,
    LogNormalModel,
    MechanismModel,
    Model,
    MultiplicativeModel,
    RecodedColumn,
    RecodedModel,
    ResponseModel,
)
from veil.release.release import Release

_EXACT = 1e-3
"""Of its spread, the noise that a number without any is taken to have."""


def supported(model: Model) -> bool:
    """Whether every record has draws of its own, from a published law."""
    if isinstance(model, AdditiveModel):
        return is_law(model.distribution)
    kinds = (MultiplicativeModel, LogNormalModel, ResponseModel, ClassModel, RecodedModel)
    return isinstance(model, kinds) or (isinstance(model, BasketModel) and model.kind != "select")


def observe(
    release: Release, knowledge: Sequence[Knowledge], others: Others | None = None, rows: Codes | None = None
) -> Observations:
    """Read a release and the attributes that are known of everybody; of a sample what it knows of covariates.

    ``rows`` are the numbers of its rows in the file, if these are some of a large one; None for all of a file.
    """
    n_rows = count_rows(release)
    if not n_rows:
        raise NotApplicableError("the release has no rows")
    attributes = granted(knowledge, KnownAttributes)
    known: dict[str, Vector] = {}
    if attributes is not None:
        if len(attributes.values) != n_rows:
            raise InputError(f"KnownAttributes has {len(attributes.values)} records; the release has {n_rows}")
        known = dict(zip(attributes.columns, attributes.values.T, strict=True))
    names = guessed_columns(release.manifest)
    draft = draft_parts(release, n_rows, np.arange(n_rows) if rows is None else rows, known)
    guesses = known_guesses(release.manifest.parts, known)
    given = {j: guesses[name] for j, name in enumerate(names) if name in known}
    for name, values in known.items():
        if name not in names:
            add_covariate(draft, name, np.r_[values, _of_others(others, name, release)])
    for column in release.manifest.public:
        if column.name not in known:
            add_public(draft, release, column.name, None if others is None else others.public)
    present = present_cells(release)
    add_pattern(draft, present)
    surely = SURELY if rows is None else SURELY_BY_SOME
    add_relatives(draft, release, tuple(known), present, None if others is None else others.public, surely)
    noise = np.zeros((len(draft.numbers), len(draft.numbers)))
    at = 0
    for block in draft.blocks:
        noise[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return Observations(
        n_rows, names, tuple(draft.numbers), noise, tuple(draft.variables), given, draft.codes, tuple(draft.labels)
    )


def guessed_columns(manifest: Manifest) -> tuple[str, ...]:
    """The private columns that are guessed."""
    return tuple(name for part in manifest.parts if supported(part.model) for name in part.names)


def read_columns(manifest: Manifest) -> tuple[str, ...]:
    """The released columns that tell of a record by itself."""
    released = (name for part in manifest.parts if supported(part.model) for name in part.released)
    return (*released, *(column.name for column in manifest.public))


def draft_parts(release: Release, n_rows: int, rows: Codes, known: dict[str, Vector]) -> Draft:
    """What the perturbed columns of a release of n rows show; ``rows`` are their numbers in the file."""
    draft, place = Draft(n_rows, rows), 0
    for i, part in enumerate(release.manifest.parts):
        if supported(part.model):
            _add_part(draft, release.part(i), part, place, known)
            place += len(part.names)
    return draft


def present_cells(release: Release) -> npt.NDArray[np.bool_]:
    """Which perturbed cells are not empty (N × d)."""
    parts = [i for i, part in enumerate(release.manifest.parts) if supported(part.model)]
    return np.column_stack([_present(release.part(i)) for i in parts])


def _of_others(others: Others | None, name: str, release: Release) -> Vector:
    """A known column of other people: NaN where it is none of the columns that are known of them."""
    if others is None:
        return np.empty(0)
    private = private_names(release)
    return others.values[:, private.index(name)] if name in private else np.full(len(others.values), np.nan)


def _present(single: Release) -> npt.NDArray[np.bool_]:
    """Which cells of a part are not empty."""
    table = single.table.read(list(single.only_part.released))
    return np.column_stack([pc.is_valid(column).to_numpy() for column in table.columns])


def _add_part(draft: Draft, single: Release, part: Part, first: int, known: dict[str, Vector]) -> None:
    """What one perturbation shows."""
    model = part.model
    if isinstance(model, ResponseModel | BasketModel):
        if isinstance(model, BasketModel):
            response, codes = basket_response(model), single.to_numpy().astype(np.int64)[:, : model.n_items]
        else:
            response, codes = model, single.codes()
        add_responses(draft, response, codes, part.names, first, known)
        return
    if isinstance(model, ClassModel):
        for j, name in enumerate(part.names):
            if name in known:
                add_covariate(draft, name, known[name], first + j)
            else:
                _add_class(draft, single, model, part, j, first + j)
        return
    if isinstance(model, RecodedModel):
        for j, (name, column) in enumerate(zip(part.names, model.columns, strict=True)):
            if name in known and column.categories is None:
                add_covariate(draft, name, known[name], first + j)
            else:
                _add_recoded(draft, single, column, part, j, first + j, known)
        return
    y = single.to_numpy()
    numbers, noise = _noisy(draft, model, part, y, first)
    given = np.array([name in known for name in part.names])
    for j, name in enumerate(part.names):
        if name in known:
            exact = known[name]
            exact_working = numbers[j].working(exact)
            numbers[j] = Number(name, first + j, exact_working, numbers[j].logs, np.sign(exact), known=exact)
    if given.any():
        _condition(numbers, noise, y, given)
    draft.add(numbers, noise)


def _noisy(draft: Draft, model: Model, part: Part, y: Matrix, first: int) -> tuple[list[Number], Matrix]:
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
                draft.variables.append(signs(name, y[:, j], first + j))
    elif isinstance(model, LogNormalModel):
        noise = model.covariance.copy()
    return [
        Number(name, first + j, logs[:, j] - shift, True, np.sign(y[:, j]), law=own, whole=whole[j])
        for j, name in enumerate(part.names)
    ], noise


def _condition(numbers: list[Number], noise: Matrix, y: Matrix, given: npt.NDArray[np.bool_]) -> None:
    """Take known columns out of a noise that columns share: theirs is known, and tells as much of the others'."""
    across = noise[np.ix_(~given, given)]
    if across.any():
        logs = numbers[0].logs
        released = np.log(y, out=np.full(y.shape, np.nan), where=y > 0) if logs else y
        exact = np.column_stack([numbers[j].z for j in np.flatnonzero(given)])
        deviation = np.nan_to_num(released[:, given] - exact)
        share = across @ np.linalg.pinv(noise[np.ix_(given, given)], hermitian=True)
        for row, j in zip(share, np.flatnonzero(~given), strict=True):
            numbers[j] = replace(numbers[j], z=numbers[j].z - deviation @ row)
        own = noise[np.ix_(~given, ~given)]
        noise[np.ix_(~given, ~given)] = with_grain(own - share @ across.T, np.diag(own))
    noise[given] = 0.0
    noise[:, given] = 0.0


def signs(name: str, y: Vector, place: int) -> Variable:
    """The signs of a column whose noise leaves them as they are; they are no guess of their own."""
    codes = np.where(np.isnan(y), -1, np.sign(np.nan_to_num(y)) + 1).astype(np.int64)
    return Variable((name,), codes, np.eye(3), np.arange(3)[:, None], (-1 - place - 1,), _sign_codes)


def _sign_codes(x: Matrix) -> Codes:
    return (np.sign(x[:, 0]) + 1).astype(np.int64)


def _add_class(draft: Draft, single: Release, model: ClassModel, part: Part, j: int, place: int) -> None:
    """A column of classes."""
    texts = single.table.read([part.released[j]]).column(0).combine_chunks()
    if pa.types.is_dictionary(texts.type):
        texts = texts.cast(texts.type.value_type)
    codes = pc.index_in(texts, value_set=pa.array(list(model.names[j]), type=texts.type)).fill_null(-1).to_numpy()
    _add_classes(draft, model.edges[j], codes, part, j, place)


def _add_classes(draft: Draft, edges: Vector, codes: Codes, part: Part, j: int, place: int) -> None:
    """The middle of each class with the error of a value spread evenly over it."""
    width = float(np.diff(edges).mean()) if len(edges) > 1 else abs(float(edges[0])) or 1.0
    ends = np.r_[edges[0] - width, edges, edges[-1] + width]
    middle, there = (ends[1:] + ends[:-1]) / 2, codes >= 0
    z = np.where(there, middle[np.maximum(codes, 0)], np.nan)
    variance = float((np.diff(ends)[codes[there]] ** 2).mean()) / 12 if there.any() else 1.0
    open_ends = np.r_[-np.inf, edges, np.inf]
    law = Interval(open_ends[np.maximum(codes, 0)], open_ends[np.maximum(codes, 0) + 1], width)
    number = Number(part.names[j], place, z, law=law, whole=part.columns[j].is_integer)
    draft.add([number], np.array([[variance]]))


def _add_recoded(
    draft: Draft, single: Release, column: RecodedColumn, part: Part, j: int, place: int, known: dict[str, Vector]
) -> None:
    """A recoded column: classes, categories through their labels, or what is left as it is."""
    name = part.names[j]
    released = single.table.read([part.released[j]]).column(0).combine_chunks()
    if column.edges is not None:
        _add_classes(draft, column.edges, released_places(released, column), part, j, place)
    elif column.categories == ():
        return  # every cell is suppressed
    elif column.categories is not None:
        listing, n = column.categories, len(column.categories)
        if not n:  # every cell was suppressed
            return
        channel, reports = column.channel, released_places(released, column)
        draft.codes[name] = reports
        if name in known:
            channel, reports = np.eye(n), category_codes(known[name], listing)
        encode = category_encoder(listing)
        states, places = np.arange(n)[:, None], (place,)
        draft.variables.append(Variable((name,), reports, channel, states, places, encode, hidden=True))
    else:
        z = np.array(to_float(released, name))
        if np.isnan(z).all():
            return  # every cell is suppressed
        grain = (_EXACT * max(float(np.nanstd(z)), 1e-12)) ** 2
        draft.add([Number(name, place, z, whole=part.columns[j].is_integer)], np.array([[grain]]))
