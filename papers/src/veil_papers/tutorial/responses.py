"""Randomized response as the tutorial's second part has it: surveys drawn, released, and counted again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import veil
from veil_papers.arrays import Matrix, Vector
from veil_papers.experiment import Context

Codes = npt.NDArray[np.int64]


def survey(context: Context, shares: Mapping[str, Vector], n: int, *address: int) -> dict[str, Codes]:
    """Independent answers of n people per question, as codes."""
    rng = context.rng(*address)
    return {name: rng.choice(len(p), n, p=p).astype(np.int64) for name, p in shares.items()}


def reported(
    context: Context, truth: Mapping[str, Codes], matrices: Mapping[str, Matrix], *address: int
) -> tuple[veil.Release, dict[str, Codes]]:
    """The release of a survey by randomized response, and its reports as codes."""
    names = {name: [f"{name}{i + 1}" for i in range(len(p))] for name, p in matrices.items()}
    table = pa.table(
        {name: pa.DictionaryArray.from_arrays(truth[name].astype(np.int32), names[name]) for name in truth}
    )
    seed = int(context.rng(*address).integers(2**31))
    response = veil.RandomizedResponse(matrix=dict(matrices), categories=names, random_state=seed)
    release, _ = veil.publish(table, response)
    return release, {name: _codes(release.data[name], names[name]) for name in truth}


def _codes(column: pa.ChunkedArray, names: Sequence[str]) -> Codes:
    coded = column.combine_chunks()
    if not pa.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode()
    places = {name: i for i, name in enumerate(names)}
    order = np.array([places[str(value)] for value in coded.dictionary.to_pylist()], dtype=np.int64)
    return np.asarray(order[np.asarray(coded.indices)])


def counts(codes: Codes, k: int, surveys: int) -> Codes:
    """Counts of each category in surveys of equal size that follow each other, surveys × k."""
    which = np.repeat(np.arange(surveys), len(codes) // surveys)
    return np.bincount(which * k + codes[: len(which)], minlength=surveys * k).reshape(surveys, k)
