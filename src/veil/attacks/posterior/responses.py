"""Columns of categories behind a public channel, for the joint posterior (A28)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from veil.attacks.posterior.observations import Codes, Draft, Variable
from veil.data.blocks import Matrix, Vector
from veil.release.manifest import Part
from veil.release.models import ResponseModel


def add_responses(
    draft: Draft,
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
            encode = category_encoder(model.categories[j])
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
    every = tuple(range(first, first + len(names)))
    draft.variables.append(Variable(names, reports, channel, states, every, partial(_of_compound, model)))


def category_encoder(categories: tuple[object, ...]) -> Callable[[Matrix], Codes]:
    """What turns records of a sample into codes of the categories; it travels to other processes."""
    return partial(_of_category, categories)


def _of_category(categories: tuple[object, ...], x: Matrix) -> Codes:
    return category_codes(x[:, 0], categories)


def _of_compound(model: ResponseModel, x: Matrix) -> Codes:
    codes = np.column_stack([category_codes(c, known) for c, known in zip(x.T, model.categories, strict=True)])
    place = {cell: i for i, cell in enumerate(model.compound or ())}
    return np.array([place.get(cell, -1) for cell in map(tuple, codes.tolist())], dtype=np.int64)


def known_guesses(parts: Sequence[Part], known: Mapping[str, Vector]) -> dict[str, Vector]:
    """Known columns as they are guessed: categories in codes, NaN for a value that is none of them."""
    listings = {
        name: listing
        for part in parts
        for name, listing in zip(part.names, part.model.private_categories() or (), strict=False)
        if listing is not None
    }
    codes = {name: category_codes(v, listings[name]) for name, v in known.items() if name in listings}
    return {**known, **{name: np.where(each < 0, np.nan, each) for name, each in codes.items()}}


def category_codes(values: Vector, categories: Sequence[object]) -> Codes:
    """Granted values of a category: numbers stand for themselves, anything else is known by its code.

    >>> category_codes(np.array([5.0, 7.0, 6.0]), (5, 7)).tolist()
    [0, 1, -1]
    >>> category_codes(np.array([1.0, 0.0]), ("no", "yes")).tolist()
    [1, 0]
    """
    numbers = [float(v) for v in categories if isinstance(v, int | float)]
    numeric = len(numbers) == sum(value is not None for value in categories)
    # What is missing is listed last among sorted categories, wherever it is declared; as a number it is unlike any.
    listing = np.arange(len(categories)).astype(float)
    if numeric:
        listing = np.array([np.nan if v is None else float(v) for v in categories])  # type: ignore[arg-type]
    order = np.argsort(listing)
    at = np.clip(np.searchsorted(listing[order], values), 0, len(listing) - 1)
    return np.where(listing[order][at] == values, order[at], -1).astype(np.int64)
