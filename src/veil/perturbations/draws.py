"""The one source of randomness of a method: it asks by column and purpose, and never meets an address.

Noise is a pure function of the key, the method and all its public values, the column and the table (or the id and the
cell); a secret matrix is made once and then kept in the key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from veil.data.blocks import Matrix, Words, room_for
from veil.errors import KeyRefusedError
from veil.keys.key import Key
from veil.keys.noise import open_uniform, standard_normal
from veil.keys.randomness import Generator, cell_words, record_words, row_words
from veil.release.models import Model


@dataclass(frozen=True)
class Place:
    """Where a block is: the table's fingerprint and first row, or the ids of its rows."""

    fingerprint: str
    start: int
    ids: npt.NDArray[np.uint8] | None = None


class Secrets:
    """What a method may ask of the key while it learns.

    Parameters
    ----------
    key
        The key.
    method, columns, table
        The method's name, the private columns, and the fingerprint of the table that it is fitted on.
    """

    def __init__(self, key: Key, method: str, columns: Sequence[str], table: str) -> None:
        self.key, self.method, self.columns, self.table = key, method, list(columns), table

    def matrix(self, name: str, about: Any, make: Callable[[Generator], Matrix] | None = None) -> Matrix:
        """A secret matrix: made once, then kept in the key. ``about`` are the public values that it depends on."""
        return self.key.matrix([self.method, about, self.columns, self.table, name], make or _not_kept)

    def name_of(self, secret: Any) -> str:
        """A keyed name of a secret parameter: tells two of them apart and says nothing about either."""
        return self.key.derive("name of parameter", secret).hex()[:16]

    def generator(self, purpose: str, about: Any, *address: Any) -> Generator:
        """A source of numbers that are made anew each time."""
        return self.key.generator(purpose, [self.method, about, self.columns, self.table, *address])

    def subkey(self, purpose: str, address: Any) -> bytes:
        """A key of its own for one purpose."""
        return self.key.derive(purpose, address)


def _not_kept(_: Generator) -> Matrix:
    raise KeyRefusedError("the key does not hold the secret matrix of this release; use the key that made it")


class Draws:
    """The randomness of one block.

    Attributes
    ----------
    start
        The block's first row in the table.
    secrets
        Keyed names, generators and sub-keys.
    """

    def __init__(self, secrets: Secrets, model: Model, place: Place, block: Any, *, room: Matrix | None = None) -> None:
        self.secrets, self._model, self._place, self._block, self._room = secrets, model, place, block, room

    @property
    def start(self) -> int:
        """The block's first row in the table."""
        return self._place.start

    @property
    def table(self) -> str:
        """The table's fingerprint."""
        return self._place.fingerprint

    def room(self, k: int) -> Matrix:
        """Memory for the k released columns of the block, where they are to end up if that is known."""
        return self._room if self._room is not None else room_for(k, self._block.shape[1])

    def words(self, j: int, stream: str = "noise") -> Words:
        """Random 64-bit words of the ``j``-th column, one per row; ``stream`` keeps purposes apart."""
        secrets = self.secrets
        address = self._model.address(secrets.method, stream, secrets.columns, j)
        if self._place.ids is not None:
            return cell_words(secrets.subkey("cells", address), self._place.ids, self._block[j])
        subkey = secrets.subkey("rows", [*address, self._place.fingerprint])
        return row_words(subkey, self._place.start, self._block.shape[1])

    def record_words(self, records: Matrix, columns: Sequence[str], stream: str) -> Words:
        """Random words of some columns of a record, which depend on its values there alone: equal ones get equal words.

        They are the same in every release of this key, so that neither equal records nor releases average them out.
        """
        return record_words(self.secrets.subkey("records", [stream, list(columns)]), records, len(columns))

    def normal(self, j: int, stream: str = "noise") -> Matrix:
        """Standard normal numbers of the ``j``-th column, one per row."""
        return standard_normal(self.words(j, stream))

    def uniform(self, j: int, stream: str = "noise") -> Matrix:
        """Numbers uniform in (0, 1) of the ``j``-th column, one per row."""
        return open_uniform(self.words(j, stream))

    def matrix(self, name: str, make: Callable[[Generator], Matrix] | None = None, about: Any = None) -> Matrix:
        """A secret matrix: made once, then kept in the key. It depends on ``about``, by default the whole model."""
        return self.secrets.matrix(name, self._model.to_json() if about is None else about, make)

    def generator(self, purpose: str, *address: Any) -> Generator:
        """A source of numbers that are made anew each time."""
        return self.secrets.generator(purpose, self._model.to_json(), *address)

    def tile(self, part: slice) -> Draws:
        """The randomness of some rows of the block."""
        place = Place(self._place.fingerprint, self._place.start + part.start)
        return Draws(self.secrets, self._model, place, self._block[:, part])
