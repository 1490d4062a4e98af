"""Posterior minus prior (M8): how far a release moves what is believed about a property."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
import numpy.typing as npt

from veil.arguments import Array, as_table, number
from veil.errors import InputError
from veil.measures.measure import Measure


@dataclass(frozen=True)
class PosteriorGain:
    """What :func:`posterior_gain` found; each is a difference of probabilities.

    ``largest`` is max |posterior − prior|, ``mean`` its mean over records and properties,
    ``rise`` and ``fall`` the largest move up and the largest down (0 when there is none).
    """

    largest: Measure
    mean: Measure
    rise: Measure
    fall: Measure


def posterior_gain(
    prior: npt.ArrayLike, posterior: npt.ArrayLike, *, weights: npt.ArrayLike | None = None
) -> PosteriorGain:
    """Change of the probability of a property: after seeing the release, less before.

    Parameters
    ----------
    prior
        P(property): one number, one per property (a vector), or one per record and property.
    posterior
        P(property | release): a table of records (or of possible reports) × properties; a
        vector is one record when ``prior`` is a vector, else one property of many records.
    weights
        How probable each row of ``posterior`` is; all alike when left out. They weigh the
        mean only: the largest change is a promise about every record, however rare.

    A fall is a disclosure too: learning that someone does *not* have the property.
    Probabilities are exact, so the measures carry no interval; NaN is refused.

    >>> gain = posterior_gain(0.3, [0.5, 0.155])  # Warner's model, P = .7, "yes" and "no"
    >>> f"{gain.largest:.3f} {gain.rise:.3f} {gain.fall:.3f} {gain.mean:.4f}"
    '0.200 0.200 0.145 0.1725'
    """
    before = _probabilities(prior, "prior")
    after = _probabilities(posterior, "posterior")
    if before.ndim <= 1 and after.ndim == 1 and before.size == 1:
        after = after[:, None]
    after = np.atleast_2d(after)
    try:
        change = after - np.broadcast_to(before, after.shape)
    except ValueError:
        raise InputError(
            f"prior: has shape {before.shape} where posterior has {after.shape}; pass one probability per property"
        ) from None
    share = _weights(weights, len(after))
    size = np.abs(change)
    largest, mean, rise, fall = (
        Measure(float(value), higher_is="exposed")
        for value in (size.max(), share @ size.mean(axis=1), max(0.0, change.max()), max(0.0, -change.min()))
    )
    return PosteriorGain(largest, mean, rise, fall)


def _probabilities(values: npt.ArrayLike, name: str) -> Array:
    table = as_table([number(values, name)] if isinstance(values, Real) else values, name)
    if count := int((~((table >= 0.0) & (table <= 1.0))).sum()):
        raise InputError(f"{name}: {count} of {table.size} are no probabilities; pass numbers in [0, 1]")
    return table if np.ndim(values) == 2 else table.ravel()


def _weights(weights: npt.ArrayLike | None, rows: int) -> Array:
    if weights is None:
        return np.full(rows, 1.0 / rows)
    given = as_table(weights, "weights").ravel()
    if given.size != rows:
        raise InputError(f"weights: has {given.size} numbers for {rows} row(s); pass one per row of posterior")
    if not (given >= 0.0).all() or not given.sum() > 0.0:
        raise InputError("weights: must be numbers of at least 0, not all 0; pass how probable each row is")
    return np.asarray(given / given.sum())
